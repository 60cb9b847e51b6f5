"""RAID-0 arrays of HC-SD, SA(2) and SA(4) drives: the paper's section 7.3."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import pandas as pd

from headstack.papers.evaluate import HALF
from headstack.papers.rules import Kind
from headstack.papers.runs import Run
from headstack.papers.study import Study
from headstack.results.paired import interval
from headstack.schema import System
from headstack.schema.system import OrganisationRaid0
from headstack.schema.workload import Synthetic

from . import results
from .systems import Choices, Systems, keeps_up, watts

#: Mean inter-arrival time in ms, and the drives of the conventional array with the target p90.
LOADS = {8: 4, 4: 8, 1: 16}

#: Kinds of drives by arm assemblies.
KINDS = {"HC-SD": 1, "SA(2)": 2, "SA(4)": 4}

#: Sizes of arrays in figure 8, and sizes between them, for full runs only.
POWERS, BETWEEN = (1, 2, 4, 8, 16), (3, 6, 12)

#: Drives of the largest array.
MOST = max(POWERS)

#: Break-even arrays of the text by gap in ms: drives of each kind instead of `LOADS`.
BREAK_EVEN = {8: {"SA(2)": 2, "SA(4)": 1}, 1: {"SA(2)": 8, "SA(4)": 4}}

#: The profile whose constants were fitted to these watts.
FITTED_PROFILE = "raid-fitted"

#: Requests for alternative choices: enough for the p90 of an array within 2 %.
VARIED = 50_000

#: Requests of a trial that finds out whether an array can carry a load.
TRIAL = 20_000


@dataclass(frozen=True, order=True)
class Cell:
    """One array on one load: kind of drive, number of drives, inter-arrival time in ms."""

    kind: str
    count: int
    gap_ms: int

    @property
    def name(self) -> str:
        """Name of the system in a run."""
        return f"{self.count} {self.kind}, {self.gap_ms} ms"

    @property
    def rate(self) -> float:
        """Mean arrivals, requests/s."""
        return 1000 / self.gap_ms

    def system(self, choices: Choices) -> System:
        """Return the array as a system: drives of one kind, one volume striped over all."""
        drive = Systems(choices).sa(KINDS[self.kind], name=self.name)
        organisation: OrganisationRaid0 = {"name": "raid0", "stripe_unit": "64 KiB"}
        if choices.footprint:
            organisation["footprint"] = choices.footprint
        return {**drive, "count": self.count, "organisation": organisation}

    def run(self, choices: Choices, requests: int) -> Run:
        """Return the run of the cell: 60 % reads, 20 % sequential, Poisson arrivals."""
        synthetic: Synthetic = {
            "n_requests": requests,
            "reads": 0.6,
            "sequential": 0.2,
            "size": {"distribution": "exponential", "mean": "4 KiB"},
            "rounding": "up",
            "arrivals": "poisson",
            "rate": f"{self.rate:g}/s",
            "footprint": choices.footprint or f"{750 * self.count} GB",
        }
        return Run({"synthetic": synthetic}, self.system(choices), seed=choices.seed)


#: Results of each cell that can carry its load, one per seed.
Found = dict[Cell, list[Mapping[str, Any]]]


def simulate(study: Study, cells: Iterable[Cell], requests: int) -> Found:
    """Return the results of those cells that can carry their load."""
    listed = list(cells)
    trial = study.run(c.run(study.choices, min(TRIAL, requests)) for c in listed)
    stable = [c for c in listed if keeps_up(trial[c.name])]
    found: Found = {c: [] for c in stable}
    for seed in study.seeds():
        choices = replace(study.choices, seed=seed)
        r = study.run(c.run(choices, requests) for c in stable)
        for c in stable:
            found[c].append(r[c.name])
    # A short trial does not detect every overload.
    return {c: results for c, results in found.items() if all(map(keeps_up, results))}


def p90s_ms(results: Sequence[Mapping[str, Any]]) -> list[float]:
    """90th percentile of the response time in ms, for each seed."""
    return [float(r["response_time_s"]["p90"]) * 1e3 for r in results]


def p90_ms(results: Sequence[Mapping[str, Any]]) -> float:
    """90th percentile of the response time in ms, mean over the seeds."""
    return fmean(p90s_ms(results))


def break_even(found: Found, kind: str, gap_ms: int) -> int | None:
    """Return the smallest power-of-two array of a kind that is not slower than HC-SD's."""
    target = p90_ms(found[Cell("HC-SD", LOADS[gap_ms], gap_ms)])
    sizes = [n for n in POWERS if Cell(kind, n, gap_ms) in found]
    return next((n for n in sizes if p90_ms(found[Cell(kind, n, gap_ms)]) <= target), None)


def arrays(study: Study) -> dict[str, pd.DataFrame]:
    """Return figure 8: p90 by number of drives, break-even arrays, and their power."""
    counts = POWERS if study.quick else tuple(sorted((*POWERS, *BETWEEN)))
    cells = [Cell(kind, n, gap) for gap in LOADS for kind in KINDS for n in counts]
    if study.varied:
        # Only the cells that the parts use.
        cells = [c for c in cells if c.kind != "HC-SD" or c.count == LOADS[c.gap_ms]]
        found = simulate(study, cells, VARIED)
    else:
        found = simulate(study, cells, 60_000 if study.quick else 1_000_000)
    volume = study.choices.footprint or "whole capacity"
    rows = [
        {
            "gap": c.gap_ms,
            "drive": c.kind,
            "count": c.count,
            **_with_half("p90_ms", p90s_ms(found[c]) if c in found else None),
            "low": min(p90s_ms(found[c])) if c in found else None,
            "high": max(p90s_ms(found[c])) if c in found else None,
            "text": _p90_text(found[c]) if c in found else "overloaded",
            "volume": volume,
            "seeds": len(study.seeds()),
        }
        for c in cells
    ]
    table = pd.DataFrame(rows)
    carried = table.dropna(subset="p90_ms").sort_values(["drive", "count"], kind="stable")
    levels = [(gap, n) for gap, n in LOADS.items() if Cell("HC-SD", n, gap) in found]
    reference = [
        {"gap": gap, "p90_ms": p90_ms(found[Cell("HC-SD", n, gap)]), "text": f"{n} HC-SD"} for gap, n in levels
    ]
    same = [Cell(k, n // arms, gap) for gap, n in LOADS.items() for k, arms in KINDS.items()]
    return {
        "arrays": table,
        "carried": carried,
        "reference": pd.DataFrame(reference),
        "break even": pd.DataFrame(_break_even_rows(found)),
        "powers": pd.DataFrame(_powers(study, found)),
        **results.power({c.name: found[c][0] for c in same if c in found}),
    }


def _with_half(name: str, values: Sequence[float] | None) -> dict[str, float | None]:
    """Return a column with the mean over the seeds, and one with half of its interval."""
    middle, half = interval(values) if values else (None, None)
    return {name: middle, f"{name}{HALF}": half}


def _break_even_rows(found: Found) -> list[dict[str, Any]]:
    rows = []
    for gap, n in LOADS.items():
        for kind in ("SA(2)", "SA(4)"):
            said = BREAK_EVEN.get(gap, {}).get(kind)
            got = break_even(found, kind, gap) if Cell("HC-SD", n, gap) in found else None
            if got is None:
                # No size is enough: at least the next one would be needed.
                got = 2 * MOST
            note = _values(found, kind, n, said or got, gap)
            rows.append({"gap": gap, "drive": kind, "drives": n, "got": got, "said": said,
                         "note": note})  # fmt: skip
    return rows


def _values(found: Found, kind: str, n: int, size: int, gap: int) -> str:
    """Return the p90s that decide a break-even: of the arrays, and of one half as large."""
    cells = [Cell("HC-SD", n, gap), *(Cell(kind, s, gap) for s in (size, size // 2) if s)]
    said = []
    for c in cells:
        text = _p90_text(found[c]) if c in found else "overloaded"
        said.append(f"{c.count} {c.kind} {text}")
    return "p90: " + ", ".join(said)


def _p90_text(results: Sequence[Mapping[str, Any]]) -> str:
    low, high = min(p90s_ms(results)), max(p90s_ms(results))
    spread = f" ({low:,.2f} to {high:,.2f})" if len(results) > 1 else ""
    return f"{p90_ms(results):,.2f} ms{spread}"


def _powers(study: Study, found: Found) -> list[dict[str, Any]]:
    """Return the power of the arrays that break even in the paper, and what they save."""
    fitted = study.choices.profile == FITTED_PROFILE
    rows = []
    for gap, n in LOADS.items():
        cells = {kind: Cell(kind, n // arms, gap) for kind, arms in KINDS.items()}
        missing = ", ".join(c.name for c in cells.values() if c not in found)
        base = None if missing else [watts(r) for r in found[cells["HC-SD"]]]
        for kind, cell in cells.items():
            own = None if base is None else [watts(r) for r in found[cell]]
            saved = [1 - b / a for a, b in zip(base or (), own or (), strict=True)]
            rows.append(
                {
                    "gap": gap,
                    "drive": kind,
                    "count": cell.count,
                    "drives": n,
                    **_with_half("watts", own),
                    **_with_half("saved", saved),
                    "missing": missing,
                    "kind": Kind.INPUT if fitted else Kind.RESULT,
                }
            )
    return rows
