"""Why the Cheetah gains less: claim DALD-6 says cylinders and surfaces, not rotation."""

import statistics
from collections.abc import Mapping
from typing import Any

import pandas as pd

from headstack.papers.study import Study

from .latency import TABLES
from .systems import CHEETAH, ETAS, IBM, READINGS, Choices, Spread, choices_by_seed, measured

#: Write frequencies over which the difference is averaged.
BETWEEN = (0.2, 0.5, 0.8)

#: Surfaces of drives of about the 18ES's capacity.
SURFACES = (20, 12, 8, 5, 2)


#: Log minus DALD in ms, and as a share of the log in per cent.
Gap = tuple[float, float]


def mean_gap(
    study: Study,
    drive: str,
    eta: float,
    changes: Mapping[str, Any] | None = None,
    *,
    choices: Choices | None = None,
    dald: str = "DALD",
) -> Gap:
    """Return by how much DALD is faster than the log, on average over `BETWEEN`."""
    points = [(n, w, eta) for n in ("log", dald) for w in BETWEEN]
    found = measured(study, drive, points, changes, choices=choices)
    log, ours = (statistics.fmean(found[n, w, eta].mean for w in BETWEEN) for n in ("log", dald))
    return log - ours, 100 * (log - ours) / log


def geometry(cylinders: int, surfaces: int, *, slope: bool) -> dict[str, Any]:
    """Return the changes that give the 18ES other cylinders and surfaces.

    With `slope` a seek over a number of cylinders takes as long as before. Otherwise a seek over
    the whole disk does.
    """
    single, full, _, _, before, _, sectors = TABLES[IBM]
    if slope:
        full = single + (full - single) / (before - 2) * (cylinders - 2)
    zone = {"first_cylinder": 0, "last_cylinder": cylinders - 1, "sectors_per_track": sectors}
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
    gaps = [row for reading in READINGS for eta in ETAS[1:] for row in _gaps(study, variants, reading, eta)]
    tables = {"gaps": pd.DataFrame(gaps)}
    return tables if study.varied else {**tables, "sweep": _sweep(study)}


def _gaps(
    study: Study, variants: Mapping[str, tuple[str, Mapping[str, Any] | None]], reading: str, eta: float
) -> list[dict[str, Any]]:
    """Return the difference of the logging disks by drive, and by how much less it is than first.

    Errors are those of the difference from the first drive, seed by seed.
    """
    every: dict[str, list[Gap]] = {
        name: [
            mean_gap(study, drive, eta, changes, choices=choices, dald=READINGS[reading])
            for choices in choices_by_seed(study)
        ]
        for name, (drive, changes) in variants.items()
    }
    first, rows = next(iter(every.values())), []
    for name, gaps in every.items():
        row: dict[str, Any] = {"drive": name, "reading": reading, "eta": eta, "seeds": len(gaps)}
        for i, unit in enumerate(("ms", "percent")):
            less = Spread.of([a[i] - b[i] for a, b in zip(first, gaps, strict=True)])
            base = statistics.fmean(g[i] for g in first)
            row |= {unit: base - less.mean, f"{unit}_half": less.half}
            row |= {f"{unit}_less": less.mean, f"{unit}_less_half": less.half}
        rows.append(row)
    return rows


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
