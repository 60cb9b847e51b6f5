"""RAID-0 arrays of HC-SD, SA(2) and SA(4) drives: the paper's section 7.3."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import altair as alt

from headstack import plots
from headstack.studies.runs import Run
from headstack.studies.study import Outcome, Part, Study, Table, number, relation

from .systems import LARGE, dash, watts

#: Mean inter-arrival time in ms, and the conventional array whose p90 is to be met.
LOADS = {8: 4, 4: 8, 1: 16}

#: Kinds of drives by arm assemblies.
KINDS = {"HC-SD": 1, "SA(2)": 2, "SA(4)": 4}

#: Sizes of arrays in figure 8.
COUNTS = (1, 2, 3, 4, 6, 8, 12, 16)

PROFILES = ("main", "table-1", "raid-fitted")

#: One volume of this size is striped over the whole array, whatever its number of drives. The paper
#: names no size; its break-even counts come out for 80 to 125 GB, and not for the whole capacity.
FOOTPRINT = "100 GB"

#: A system that answers fewer than this share of the arriving requests per second falls behind.
STABLE = 0.97

#: Why the watts of section 7.3 do not follow from Table 1.
WATTS = (
    "The break-even arrays are the paper's; its watts are not those of drives as its Table 1 has "
    "them: 61.4 W for four need 15.4 W each, above the table's 13 W, and 26.2 W for one SA(4) of "
    "which one arm moves need a standing draw per arm, which the paper denies; the profile "
    "raid-fitted assumes one and comes within 5 %."
)

#: Requests that tell whether an array can carry a load at all.
TRIAL = 20_000


@dataclass(frozen=True)
class Cell:
    """One array on one load: kind of drive, number of drives, inter-arrival time in ms."""

    kind: str
    count: int
    gap_ms: int

    def system(self, profile: str = "main") -> dict[str, Any]:
        """Return the array as a system."""
        changes = {} if profile == "main" else {"power": {"model": "modes", "profile": profile}}
        return {
            "name": f"{self.count} {self.kind}, {self.gap_ms} ms, {profile}",
            "drive": LARGE,
            "dash": dash(KINDS[self.kind]),
            "count": self.count,
            "organisation": {"name": "raid0", "footprint": FOOTPRINT, "stripe_unit": "64 KiB"},
            "scheduler": "sptf",
            "set": changes,
        }

    def run(self, requests: int, profile: str = "main") -> Run:
        """Return the run of the cell: 60 % reads, 20 % sequential, Poisson arrivals."""
        synthetic = {
            "n_requests": requests,
            "reads": 0.6,
            "sequential": 0.2,
            "size": {"distribution": "exponential", "mean": "4 KiB"},
            "arrivals": "poisson",
            "rate": f"{1000 / self.gap_ms:g}/s",
            "footprint": FOOTPRINT,
        }
        return Run({"synthetic": synthetic}, self.system(profile))


def simulate(
    study: Study, cells: Mapping[Cell, str] | list[Cell], requests: int
) -> dict[Cell, dict[str, Any]]:
    """Return the results of those cells that can carry their load."""
    listed = [(c, "main") for c in cells] if isinstance(cells, list) else list(cells.items())
    trial = study.run(c.run(min(TRIAL, requests), p) for c, p in listed)
    stable = [(c, p) for c, p in listed if _carries(trial[c.system(p)["name"]], c)]
    found = study.run(c.run(requests, p) for c, p in stable)
    return {c: found[c.system(p)["name"]] for c, p in stable}


def _carries(result: Mapping[str, Any], cell: Cell) -> bool:
    return float(result["throughput_iops"]) >= STABLE * 1000 / cell.gap_ms


def p90_ms(result: Mapping[str, Any]) -> float:
    """90th percentile of the response time in ms."""
    return float(result["response_time_s"]["p90"]) * 1e3


def break_even(found: Mapping[Cell, Mapping[str, Any]], kind: str, gap_ms: int) -> int | None:
    """Return the smallest power-of-two array of a kind that is not slower than HC-SD's."""
    target = p90_ms(found[Cell("HC-SD", LOADS[gap_ms], gap_ms)])
    sizes = sorted(c.count for c in found if c.kind == kind and c.gap_ms == gap_ms)
    fit = (n for n in sizes if n & (n - 1) == 0 and p90_ms(found[Cell(kind, n, gap_ms)]) <= target)
    return next(fit, None)


def arrays(study: Study) -> Outcome:
    """Judge figure 8: p90 by number of drives, break-even arrays, and their power."""
    outcome = Outcome()
    requests = 100_000 if study.quick else 1_000_000
    counts = [n for n in COUNTS if not study.quick or n & (n - 1) == 0]
    found: dict[Cell, dict[str, Any]] = {}
    for gap in LOADS:
        cells = [Cell(kind, n, gap) for kind in KINDS for n in counts]
        found |= simulate(study, cells, requests)
    for gap, n in LOADS.items():
        outcome.parts += _break_even_parts(found, gap, n)
        outcome.tables.append(_table(found, counts, gap))
    outcome.parts += _power_parts(study, requests, outcome)
    outcome.tables.append(_other_footprint(study))
    if outcome.verdict == "deviates":
        outcome.why = WATTS
    for gap in LOADS:
        outcome.figures.append(study.figure(f"idp-9-p90-{gap}ms", _p90_chart(found, gap)))
    return outcome


def _break_even_parts(found: dict[Cell, dict[str, Any]], gap: int, n: int) -> list[Part]:
    parts = []
    target = p90_ms(found[Cell("HC-SD", n, gap)])
    for kind, said in (("SA(2)", n // 2), ("SA(4)", n // 4)):
        got = break_even(found, kind, gap)
        values = [f"{n} HC-SD {target:.2f} ms"]
        for size in (said, said // 2):
            cell = Cell(kind, size, gap)
            if size:
                shown = f"{p90_ms(found[cell]):.2f} ms" if cell in found else "overloaded"
                values.append(f"{size} {kind} {shown}")
        parts.append(
            relation(
                f"{gap} ms: smallest {kind} array (powers of two) with the p90 of {n} HC-SD",
                str(said),
                f"{got}; {', '.join(values)}",
                got == said,
            )
        )
    return parts


def _table(found: dict[Cell, dict[str, Any]], counts: list[int], gap: int) -> Table:
    def text(cell: Cell) -> str:
        return f"{p90_ms(found[cell]):,.1f}" if cell in found else "overloaded"

    return Table(
        f"p90 in ms by number of drives, {gap} ms between arrivals, {FOOTPRINT} volume",
        ["drive", *map(str, counts)],
        [[kind, *(text(Cell(kind, n, gap)) for n in counts)] for kind in KINDS],
    )


def _power_parts(study: Study, requests: int, outcome: Outcome) -> list[Part]:
    parts = []
    rows = []
    bars: list[dict[str, Any]] = []
    said = {"HC-SD": 61.4, "SA(2)": 37.1, "SA(4)": 26.2}
    for profile in PROFILES:
        for gap, n in LOADS.items():
            cells = {Cell(k, n // a, gap): profile for k, a in KINDS.items()}
            found = simulate(study, cells, requests)
            w = {c.kind: watts(r) for c, r in found.items()}
            saved = {k: 1 - w[k] / w["HC-SD"] for k in ("SA(2)", "SA(4)")}
            rows.append(
                [
                    profile,
                    f"{gap} ms",
                    *(f"{w[k]:.1f}" for k in KINDS),
                    *(f"{s:.1%}" for s in saved.values()),
                ]
            )
            if profile == "main":
                bars += [
                    {**r, "name": f"{c.count} {c.kind}, {gap} ms", "workload": ""}
                    for c, r in found.items()
                ]
            fitted = profile == "raid-fitted"
            if gap == 8:
                note = "fitted to these watts: a standing 3 W per further arm" if fitted else ""
                parts += [
                    number(
                        f"8 ms, profile {profile}: power of {n // KINDS[k]} {k}",
                        said[k],
                        w[k],
                        0.05,
                        "{:.1f} W",
                        note=note,
                        counts=profile == "main",
                    )
                    for k in KINDS
                ]
            parts += [
                relation(
                    f"{gap} ms, profile {profile}: {k} saves at least {least:.0%} (two points off "
                    "allowed)",
                    f"{least:.0%}",
                    f"{saved[k]:.1%}",
                    saved[k] >= least - 0.02,
                    counts=not fitted,
                )
                for k, least in (("SA(2)", 0.41), ("SA(4)", 0.60))
            ]
    outcome.tables.append(
        Table(
            "Power in W of the break-even arrays by profile, and what they save",
            ["profile", "load", *KINDS, "SA(2) saves", "SA(4) saves"],
            rows,
        )
    )
    title = "Figure 8: power by mode of the break-even arrays (profile main)"
    outcome.figures.append(
        study.figure("idp-9-power", plots.power({"systems": bars}).properties(title=title))
    )
    return parts


def _other_footprint(study: Study) -> Table:
    """Return what the data over the whole capacity, instead of one volume, would give."""
    rows = []
    for kind, arms in KINDS.items():
        cell = Cell(kind, 16 // arms, 1)
        run = cell.run(100_000)
        synthetic = {**run.workload["synthetic"], "footprint": f"{750 * cell.count} GB"}
        organisation = {"name": "raid0", "stripe_unit": "64 KiB"}
        system = {**run.system, "organisation": organisation}
        found = study.run([Run({"synthetic": synthetic}, system)])
        rows.append([f"{cell.count} {kind}", f"{p90_ms(found[system['name']]):,.1f}"])
    return Table(
        "Control: 1 ms, data over the whole capacity of each array: the break-even is lost, so the "
        "paper's arrays must hold one volume of fixed size",
        ["array", "p90 ms"],
        rows,
    )


def _p90_chart(found: dict[Cell, dict[str, Any]], gap: int) -> Any:
    points = {
        kind: sorted(
            (float(c.count), p90_ms(r))
            for c, r in found.items()
            if c.kind == kind and c.gap_ms == gap
        )
        for kind in KINDS
    }
    target = p90_ms(found[Cell("HC-SD", LOADS[gap], gap)])
    return plots.lines(
        points,
        alt.X(
            "x:Q",
            title="drives in the array",
            scale=alt.Scale(type="log", base=2, domain=[1, max(COUNTS)], nice=False),
            axis=alt.Axis(values=list(COUNTS)),
        ),
        alt.Y(
            "y:Q",
            title="p90 response time (ms, logarithmic)",
            scale=alt.Scale(type="log", nice=False),
            axis=alt.Axis(format="~g", tickCount=8),
        ),
        f"Figure 8: {gap} ms between arrivals",
        series="drive",
        markers=True,
        levels={f"{LOADS[gap]} HC-SD": target},
    )
