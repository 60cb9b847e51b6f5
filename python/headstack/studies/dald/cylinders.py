"""Why the Cheetah gains less: claim DALD-6 says cylinders and surfaces, not rotation."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from headstack.studies.study import Study

from .latency import TABLES
from .systems import CHEETAH, ETAS, IBM, WRITES, measured

#: Write frequencies over which the difference is averaged.
BETWEEN = WRITES[1:-1]

#: Surfaces of drives of about the 18ES's capacity.
SURFACES = (20, 12, 8, 5, 2)


def mean_gap(
    study: Study, drive: str, eta: float, changes: Mapping[str, Any] | None = None
) -> float:
    """Return by how much DALD is faster than the log in ms, on average over w between 0 and 1."""
    found = measured(study, drive, [(n, w, eta) for n in ("log", "DALD") for w in BETWEEN], changes)
    gaps = [found["log", w, eta].mean - found["DALD", w, eta].mean for w in BETWEEN]
    return sum(gaps) / len(gaps)


def geometry(cylinders: int, surfaces: int, *, slope: bool) -> dict[str, Any]:
    """Return the changes that give the 18ES other cylinders and surfaces.

    With `slope` a seek over a number of cylinders takes as long as before. Otherwise a seek over
    the whole disk does.
    """
    single, full, _, _, before, _, sectors = TABLES[IBM]
    if slope:
        full = single + (full - single) / (before - 2) * (cylinders - 2)
    zone = {
        "first_cylinder": 0,
        "last_cylinder": cylinders - 1,
        "sectors_per_track": sectors,
    }
    return {
        "geometry.cylinders": cylinders,
        "geometry.surfaces": surfaces,
        "geometry.zones": [zone],
        "seek.cylinders": cylinders,
        "seek.full": f"{full:.6f} ms",
    }


def reason(study: Study) -> dict[str, pd.DataFrame]:
    """Return how the difference between the logging disks depends on the drive."""
    cylinders, surfaces = TABLES[CHEETAH][4:6]
    variants: dict[str, tuple[str, dict[str, Any] | None]] = {
        "IBM 18ES": (IBM, None),
        "Cheetah 9LP": (CHEETAH, None),
        "18ES at 10045 rpm": (IBM, {"geometry.rotation_speed": "10045 rpm"}),
        "18ES, Cheetah's cylinders, slope kept": (IBM, geometry(cylinders, surfaces, slope=True)),
        "18ES, Cheetah's cylinders, stroke kept": (IBM, geometry(cylinders, surfaces, slope=False)),
    }
    gaps = [
        {"drive": name, "eta": eta, "ms": mean_gap(study, drive, eta, changes)}
        for name, (drive, changes) in variants.items()
        for eta in ETAS[1:]
    ]
    tables = {"gaps": pd.DataFrame(gaps)}
    return tables if study.varied else {**tables, "sweep": _sweep(study)}


def _sweep(study: Study) -> pd.DataFrame:
    """Vary the cylinders alone, at equal capacity."""
    tracks = TABLES[IBM][4] * TABLES[IBM][5]
    rows = []
    for surfaces in SURFACES:
        cylinders = tracks // surfaces
        row: dict[str, float] = {"cylinders": cylinders, "surfaces": surfaces}
        for key, slope in (("slope_ms", True), ("stroke_ms", False)):
            changes = geometry(cylinders, surfaces, slope=slope)
            found = measured(study, IBM, [("log", 0.5, 1.0), ("DALD", 0.5, 1.0)], changes)
            row[key] = found["log", 0.5, 1.0].mean - found["DALD", 0.5, 1.0].mean
        rows.append(row)
    return pd.DataFrame(rows)
