"""Costs of replacing an array by one large drive, and their causes: section 7.1."""

from typing import Any

import pandas as pd

from headstack.papers import rules
from headstack.papers.study import Study
from headstack.schema import System

from . import results
from .systems import ORIGINALS, Load, Systems, loads, runs

#: 64 MB in twice as many segments as the 8 MB have. With segments of the same size there would be
#: eight times as many, and more streams would have read-ahead: a different change.
CACHE_64_MB = {"segments": 32, "segment_sectors": 3906, "read_ahead_sectors": 1953}


def _pair(study: Study, workload: Load) -> dict[str, dict[str, Any]]:
    systems = Systems(study.choices)
    return study.run(runs(workload, systems.md(workload.key), systems.hc_sd()))


def gap(study: Study) -> dict[str, pd.DataFrame]:
    """Return figure 2: response times of MD and HC-SD."""
    found = [(load, _pair(study, load)) for load in loads(study)]
    tables = results.joined({"runs": results.numbers(load, r), **results.responses(load, r)} for load, r in found)
    gaps = [{"load": load.key, "gap_ms": 1e3 / load.rate} for load, _ in found]
    return {**tables, "loads": pd.DataFrame(gaps)}


def power(study: Study) -> dict[str, pd.DataFrame]:
    """Return figure 3: power by mode of MD and HC-SD."""
    found = [(load, _pair(study, load)) for load in loads(study)]
    bars = {f"{load.title} {name}": x for load, r in found for name, x in r.items()}
    tables = results.joined({"runs": results.numbers(load, r)} for load, r in found)
    runs_of = tables["runs"]
    one = runs_of["power_w"] / runs_of["drives_of_md"]
    bounds = {"most_w": _most() * one, "two_w": 2 * one}
    return {"runs": runs_of.assign(**bounds), **results.power(bars)}


def _most() -> float:
    """Return how many times the power of one drive of MD a large drive may draw.

    The paper's order of magnitude is of all arrays together: 49 drives against four.
    """
    drives = [original.count for original in ORIGINALS.values()]
    return sum(drives) / len(drives) / rules.MAGNITUDE


def _scaled(what: str, factor: float) -> tuple[str, dict[str, Any]]:
    letter = {"seek": "S", "rotation": "R"}[what]
    name = f"{letter}=0" if factor == 0 else f"(1/{round(1 / factor)}){letter}"
    return name, {f"positioning.{what}_scale": factor}


#: The drives of the limit study: seek or rotational latency times a half, a quarter, zero.
LIMITS = dict(_scaled(what, f) for what in ("seek", "rotation") for f in (0.5, 0.25, 0.0))


def limited(systems: Systems, name: str) -> System:
    """Return a drive of the limit study by its name in the paper: ``(1/2)R``, ``S=0``."""
    return systems.hc_sd(name, set=LIMITS[name])


def limits(study: Study) -> dict[str, pd.DataFrame]:
    """Return figure 4: the costs of seeks, rotation and buffer size."""
    parts, systems = [], Systems(study.choices)
    for load in loads(study):
        drives = [limited(systems, name) for name in LIMITS]
        big = systems.hc_sd("64 MB", cache=CACHE_64_MB)
        md = systems.md(load.key)
        r = study.run(runs(load, md, systems.hc_sd(), *drives, big, rotation=True))
        parts.append({"runs": results.numbers(load, r), **results.responses(load, r)})
    return results.joined(parts)
