"""RAID-0 arrays of HC-SD, SA(2) and SA(4) drives: the paper's section 7.3."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import Any

import altair as alt
import pandas as pd

from headstack import plots
from headstack.studies.as_code import SEEDS, Outcome, Study, Table
from headstack.studies.rules import Kind, Part, Rule, not_run, number, relation
from headstack.studies.runs import Run

from . import charts
from .systems import Choices, Systems, keeps_up, watts

#: Mean inter-arrival time in ms, and the drives of the conventional array with the target p90.
LOADS = {8: 4, 4: 8, 1: 16}

#: Kinds of drives by arm assemblies.
KINDS = {"HC-SD": 1, "SA(2)": 2, "SA(4)": 4}

#: Sizes of arrays in figure 8, and sizes between them, for full runs only.
POWERS, BETWEEN = (1, 2, 4, 8, 16), (3, 6, 12)

#: Drives of the arrays that are steady at 8 ms, and of the largest array.
STEADY, MOST = {"SA(2)": 2, "SA(4)": 2}, max(POWERS)

#: Break-even arrays of the text by gap in ms: drives of each kind instead of `LOADS`.
BREAK_EVEN = {8: {"SA(2)": 2, "SA(4)": 1}, 1: {"SA(2)": 8, "SA(4)": 4}}

#: Watts of the break-even arrays at 8 ms, and the savings of the others compared with HC-SD.
WATTS_8_MS = {"HC-SD": 61.4, "SA(2)": 37.1, "SA(4)": 26.2}
SAVED = {"SA(2)": 0.41, "SA(4)": 0.60}

#: The profile whose constants were fitted to these watts.
FITTED_PROFILE = "raid-fitted"

#: Requests for alternative choices: enough for the p90 of an array within 2 %.
VARIED = 50_000

#: Requests of a trial that finds out whether an array can carry a load.
TRIAL = 20_000

MS, W = "{:,.2f} ms", "{:,.1f} W"


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

    def system(self, choices: Choices) -> dict[str, Any]:
        """Return the array as a system: drives of one kind, one volume striped over all."""
        drive = Systems(choices).sa(KINDS[self.kind], name=self.name)
        organisation = {"name": "raid0", "stripe_unit": "64 KiB"}
        if choices.footprint is not None:
            organisation["footprint"] = choices.footprint
        return {**drive, "count": self.count, "organisation": organisation}

    def run(self, choices: Choices, requests: int) -> Run:
        """Return the run of the cell: 60 % reads, 20 % sequential, Poisson arrivals."""
        synthetic = {
            "n_requests": requests,
            "reads": 0.6,
            "sequential": 0.2,
            "size": {"distribution": "exponential", "mean": "4 KiB"},
            "arrivals": "poisson",
            "rate": f"{self.rate:g}/s",
            "footprint": choices.footprint or f"{750 * self.count} GB",
        }
        return Run({"synthetic": synthetic}, self.system(choices), seed=choices.seed)


#: Results of each cell that can carry its load, one per seed.
Found = dict[Cell, list[Mapping[str, Any]]]


def simulate(study: Study, cells: Iterable[Cell], requests: int, seeds: int = SEEDS) -> Found:
    """Return the results of those cells that can carry their load."""
    listed, first = list(cells), study.choices.seed
    trial = study.run(c.run(study.choices, min(TRIAL, requests)) for c in listed)
    stable = [c for c in listed if keeps_up(trial[c.name])]
    found: Found = {c: [] for c in stable}
    for seed in range(first, first + seeds):
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


def mean_watts(results: Sequence[Mapping[str, Any]]) -> float:
    """Power of all drives in W, mean over the seeds."""
    return fmean(watts(r) for r in results)


def break_even(found: Found, kind: str, gap_ms: int) -> int | None:
    """Return the smallest power-of-two array of a kind that is not slower than HC-SD's."""
    target = p90_ms(found[Cell("HC-SD", LOADS[gap_ms], gap_ms)])
    sizes = [n for n in POWERS if Cell(kind, n, gap_ms) in found]
    return next((n for n in sizes if p90_ms(found[Cell(kind, n, gap_ms)]) <= target), None)


def arrays(study: Study) -> Outcome:
    """Judge figure 8: p90 by number of drives, break-even arrays, and their power."""
    outcome = Outcome()
    counts = POWERS if study.quick else tuple(sorted((*POWERS, *BETWEEN)))
    cells = [Cell(kind, n, gap) for gap in LOADS for kind in KINDS for n in counts]
    if study.varied:
        # Only the cells that the parts use.
        cells = [c for c in cells if c.kind != "HC-SD" or c.count == LOADS[c.gap_ms]]
        found = simulate(study, cells, VARIED, seeds=1)
    else:
        found = simulate(study, cells, 100_000 if study.quick else 1_000_000)
    outcome.parts += [*_break_even_parts(found), *_steady_parts(found), *_power_parts(study, found)]
    for gap in LOADS:
        name = f"idp-9-p90-{gap}ms"
        outcome.figures.append(study.figure(name, partial(_p90_chart, found, gap)))
        outcome.tables.append(_table(study, found, counts, gap))
    outcome.figures.append(study.figure("idp-9-power", lambda: _power_chart(found)))
    return outcome


def _reference(found: Found, gap: int) -> Cell | None:
    """Return the conventional array of a load, if it can carry it."""
    cell = Cell("HC-SD", LOADS[gap], gap)
    return cell if cell in found else None


def _break_even_parts(found: Found) -> list[Part]:
    parts = []
    for gap, n in LOADS.items():
        for kind in SAVED:
            what = f"{gap} ms: {kind} drives (powers of two) that reach the p90 of {n} HC-SD"
            said = BREAK_EVEN.get(gap, {}).get(kind)
            got = break_even(found, kind, gap) if _reference(found, gap) else None
            if got is None:
                # No size is enough: at least the next one would be needed.
                got = 2 * MOST
            note = _values(found, kind, n, said or got, gap)
            if said is None:
                fewer = (f"{kind} drives", float(got))
                hc_sd = ("HC-SD drives", float(n))
                parts.append(
                    relation(what, "fewer disks", fewer, Rule.LOWER, hc_sd, "{:.0f}", note=note)
                )
            else:
                parts.append(number(what, said, got, "{:.0f}", note=note))
    return parts


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
    return MS.format(p90_ms(results)) + spread


def _steady_parts(found: Found) -> list[Part]:
    parts = []
    steady = "the performance is steady (p90 close to that of the largest array)"
    for kind, n in STEADY.items():
        what = f"8 ms: with {n} {kind} {steady}"
        parts.append(_p90_part(found, what, "steady-state", (kind, n), (kind, MOST), Rule.CLOSE))
    what = "8 ms: 4 HC-SD against 2 SA(2) (p90)"
    pair = ("HC-SD", 4), ("SA(2)", 2)
    parts.append(_p90_part(found, what, "comparable", *pair, Rule.LITTLE_HIGHER))
    return parts


def _p90_part(
    found: Found, what: str, paper: str, a: tuple[str, int], b: tuple[str, int], rule: Rule
) -> Part:
    cells = [Cell(kind, n, 8) for kind, n in (a, b)]
    if any(c not in found for c in cells):
        return not_run(what, paper, "an array of these is overloaded")
    ours, other = ((f"{c.count} {c.kind}", p90_ms(found[c])) for c in cells)
    return relation(what, paper, ours, rule, other, MS)


def _power_parts(study: Study, found: Found) -> list[Part]:
    """Compare the arrays that break even in the paper: their watts, and their savings."""
    fitted = study.choices.profile == FITTED_PROFILE
    of: dict[str, Any] = {"kind": Kind.INPUT if fitted else Kind.RESULT}
    parts = []
    for gap, n in LOADS.items():
        cells = {kind: Cell(kind, n // arms, gap) for kind, arms in KINDS.items()}
        missing = [c.name for c in cells.values() if c not in found]
        for kind in KINDS if gap == 8 else ():
            what = f"8 ms: power of {cells[kind].count} {kind}"
            if missing:
                parts.append(not_run(what, W.format(WATTS_8_MS[kind]), f"overloaded: {missing}"))
            else:
                watts_ = mean_watts(found[cells[kind]])
                parts.append(number(what, WATTS_8_MS[kind], watts_, W, **of))
        for kind, said in SAVED.items():
            what = f"{gap} ms: power that {cells[kind].count} {kind} save against {n} HC-SD"
            if missing:
                parts.append(not_run(what, f"{said:.0%}", f"overloaded: {', '.join(missing)}"))
            else:
                saved = 1 - mean_watts(found[cells[kind]]) / mean_watts(found[cells["HC-SD"]])
                parts.append(number(what, said, saved, "{:.1%}", **of))
    return parts


def _table(study: Study, found: Found, counts: Sequence[int], gap: int) -> Table:
    def text(cell: Cell) -> str:
        return _p90_text(found[cell]) if cell in found else "overloaded"

    volume = study.choices.footprint or "whole capacity"
    return Table(
        f"p90 by number of drives, {gap} ms between arrivals, {volume}: mean of {SEEDS} seeds, "
        "lowest and highest",
        ["drive", *map(str, counts)],
        [[kind, *(text(Cell(kind, n, gap)) for n in counts)] for kind in KINDS],
    )


def _power_chart(found: Found) -> Any:
    cells = [Cell(kind, n // arms, gap) for gap, n in LOADS.items() for kind, arms in KINDS.items()]
    shown = {c.name: found[c][0] for c in cells if c in found}
    return charts.power("Figure 8: power by mode of the break-even arrays", shown)


def _p90_chart(found: Found, gap: int) -> Any:
    """Draw p90 by number of drives, with the range over the seeds."""
    rows = [
        {
            "drive": c.kind,
            "drives": c.count,
            "p90": p90_ms(r),
            "low": min(p90s_ms(r)),
            "high": max(p90s_ms(r)),
        }
        for c, r in sorted(found.items())
        if c.gap_ms == gap
    ]
    frame, kinds = pd.DataFrame(rows), list(KINDS)
    x = alt.X(
        "drives:Q",
        title="drives in the array",
        scale=alt.Scale(type="log", base=2, domain=[1, MOST], nice=False),
        axis=alt.Axis(values=sorted({c.count for c in found})),
    )
    title = "p90 response time (ms, logarithmic)"
    y = alt.Y("p90:Q", title=title, scale=alt.Scale(type="log", nice=False), axis=_axis())
    colours = alt.Scale(domain=kinds, range=list(plots.PALETTE[: len(kinds)]))
    base = alt.Chart(frame)
    # Markers would cover the dashes.
    legend = alt.Legend(symbolType="stroke")
    colour = alt.Color("drive:N", sort=kinds, scale=colours, legend=legend)
    line = base.mark_line(strokeWidth=2.2, point=alt.OverlayMarkDef(size=45)).encode(
        x=x,
        y=y,
        color=colour,
        strokeDash=alt.StrokeDash(
            "drive:N", sort=kinds, scale=alt.Scale(domain=kinds), legend=legend
        ),
        tooltip=["drive:N", "drives:Q", alt.Tooltip("p90:Q", format=".4~g", title="ms")],
    )
    bars = base.mark_errorbar(ticks=True).encode(
        x=x, y=alt.Y("low:Q", title=title), y2="high:Q", color=colour
    )
    layers = [line, bars]
    reference = _reference(found, gap)
    if reference is not None:
        level = pd.DataFrame(
            [{"p90": p90_ms(found[reference]), "text": f"{reference.count} HC-SD"}]
        )
        layers += [
            alt.Chart(level).mark_rule(color="#888888", strokeDash=[3, 3]).encode(y="p90:Q"),
            alt.Chart(level)
            .mark_text(align="left", baseline="bottom", dx=4, dy=-2, color="#444444")
            .encode(y="p90:Q", x=alt.value(0), text="text:N"),
        ]
    chart = alt.layer(
        *layers, title=f"Figure 8: {gap} ms between arrivals; mean and range of {SEEDS} seeds"
    )
    return plots.style(chart.properties(width=plots.WIDTH, height=plots.HEIGHT))


def _axis() -> alt.Axis:
    return alt.Axis(format="~g", tickCount=8)
