"""Tracks of a drive with adaptive zoning, for studies that need their places.

The rule is that of the layout ``adaptive``: a track holds ``round(sectors_per_track * bpi)``
sectors, a band ``round(band_cylinders * tpi)`` tracks of a surface. A test compares it with the
engine.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstack import _bridge

Ints = NDArray[np.int64]


def track_bytes(spec: Mapping[str, Any], density: NDArray[np.float64]) -> tuple[Ints, Ints]:
    """Return bytes of a track (zones, surfaces), and tracks of a band on each surface.

    Args:
        spec: description of the nominal drive.
        density: factors of bits and tracks per inch of each surface, shaped (surfaces, 2).
    """
    geometry = spec["geometry"]
    sector = int(_bridge.quantity("size", geometry.get("sector_size", "512 B")))
    sectors = np.array([z["sectors_per_track"] for z in geometry["zones"]], np.float64)
    per_track = np.floor(sectors[:, None] * density[None, :, 0] + 0.5)
    tracks = np.floor(geometry["band_cylinders"] * density[:, 1] + 0.5)
    return per_track.astype(np.int64) * sector, tracks.astype(np.int64)
