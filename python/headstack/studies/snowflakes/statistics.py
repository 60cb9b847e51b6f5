"""SNOW-4: averages and extremes of drives over the first quarter, Figure 5."""

import numpy as np
from numpy.typing import NDArray

from headstack.studies.as_code import Outcome, Study, Table
from headstack.studies.rules import Kind, Part, Rule, number, relation

from . import charts, sets
from .sets import Changes, Spread

Floats = NDArray[np.float64]

#: Standard deviation over sweeps, and zones of the first quarter, in the paper's words.
TRIAL_BOUND, ZONES = 1.0, 3


def zones_crossed(name: str) -> int:
    """Return the number of zones in the first quarter of a set's drives."""
    drawn = sets.draw(name, 1)
    return int(np.searchsorted(np.cumsum(drawn.zone_bytes()), sets.quarter(drawn)) + 1)


def extremes(rates: Floats) -> tuple[float, float]:
    """Return how the slowest and the fastest block vary over drives: deviations over the mean."""
    low, high = rates.min(axis=1), rates.max(axis=1)
    return float(low.std(ddof=1) / low.mean()), float(high.std(ddof=1) / high.mean())


def averages(study: Study) -> Outcome:
    """Judge SNOW-4."""
    changes, seeds = study.choices.changes(), study.choices.seeds(study)
    many = sets.many(sets.SPREAD, seeds, changes)
    shares = sets.shares(many)
    seed = sets.closest_seed(seeds, changes)
    new, old = sets.draw(sets.SPREAD, None, seed, changes), sets.draw(sets.CLASSIC)
    swept = {
        name: sets.block_rates(d, trials=sets.TRIALS, noise=True) / 1e6
        for name, d in ((sets.CLASSIC, old), (sets.SPREAD, new))
    }
    rates = {name: r.mean(axis=1) for name, r in swept.items()}
    parts = [
        *_blocks(*rates.values()),
        *_inputs(swept, seed),
        *_controls(shares, seeds),
    ]
    tables = [_distribution(many), _acceptance(shares, seeds)]
    panels = {
        "nine drives of 2002, first 9 GB": rates[sets.CLASSIC],
        "25 drives of 2008, first 250 GB": rates[sets.SPREAD],
    }
    title = [
        "Figure 5: each drive over its first quarter",
        "point: average; line: slowest to fastest block of 128 MiB",
    ]
    figures = [study.figure("snow-5-statistics", lambda: charts.statistics(panels, title))]
    beside = (
        f"{shares['all four']:.0%} of {seeds} seeds meet mean, deviation and both extremes of 2008"
    )
    return Outcome(parts, figures=figures, tables=tables, beside=beside)


def _blocks(old: Floats, new: Floats) -> list[Part]:
    """Compare extremes of blocks of 2002 and 2008; rates in MB/s (drives, blocks)."""
    (low_2002, high_2002), (low_2008, high_2008) = extremes(old), extremes(new)
    return [
        relation(
            "slowest block of a drive: its deviation over drives, 2008 against 2002",
            "considerably more variation (significantly higher)",
            ("2008", 100 * low_2008),
            Rule.SIGNIFICANTLY_HIGHER,
            ("2002", 100 * low_2002),
            "{:.2f} %",
        ),
        relation(
            "fastest block of a drive: its deviation over drives, 2008 against 2002",
            "considerably more variation (significantly higher)",
            ("2008", 100 * high_2008),
            Rule.SIGNIFICANTLY_HIGHER,
            ("2002", 100 * high_2002),
            "{:.2f} %",
        ),
    ]


def _inputs(swept: dict[str, Floats], seed: int) -> list[Part]:
    """Compare the fitted values; rates in MB/s (drives, trials, blocks) of 2002 and 2008."""
    trial = max(float(np.median(r.std(axis=1, ddof=1))) for r in swept.values())
    was, is_ = (sets.spread(1e6 * r.mean(axis=1)) for r in swept.values())
    return [
        number(
            "2002: mean", 67.8, was.mean, "{:.1f} MB/s", note="the nominal rate", kind=Kind.INPUT
        ),
        number(
            "2002: deviation", 0.2, was.deviation, "{:.2f} MB/s", note="the factor", kind=Kind.INPUT
        ),
        *_fitted(is_, seed),
        number(
            "2008: from the slowest to the fastest drive",
            21,
            is_.mean * (is_.fastest - is_.slowest) / 100,
            "{:.1f} MB/s",
            note="follows from mean and extremes",
            kind=Kind.INPUT,
        ),
        *(
            number(
                f"zones in the first quarter, {name}",
                ZONES,
                float(zones_crossed(name)),
                "{:.0f}",
                note="the number of zones was chosen for it",
                kind=Kind.INPUT,
            )
            for name in (sets.CLASSIC, sets.SPREAD)
        ),
        relation(
            "deviation of a block over ten sweeps, the larger of 2002 and 2008",
            "less than 1 MB/s",
            ("ours", trial),
            Rule.LOWER,
            ("bound", TRIAL_BOUND),
            "{:.2f} MB/s",
            note="the noise was chosen for it",
            kind=Kind.INPUT,
        ),
    ]


def _fitted(found: Spread, seed: int) -> list[Part]:
    said = f"seed {seed}, the closest to the paper"
    return [
        number("2008: mean", sets.MEAN, found.mean, "{:.1f} MB/s", note=said, kind=Kind.INPUT),
        number(
            "2008: deviation",
            sets.DEVIATION,
            found.deviation,
            "{:.2f} MB/s",
            note=said,
            kind=Kind.INPUT,
        ),
        number(
            "2008: slowest drive below the mean",
            -sets.SLOWEST,
            -found.slowest,
            "{:.1f} %",
            note=said,
            kind=Kind.INPUT,
        ),
        number(
            "2008: fastest drive above the mean",
            sets.FASTEST,
            found.fastest,
            "{:.1f} %",
            note=said,
            kind=Kind.INPUT,
        ),
    ]


def _controls(shares: dict[str, float], seeds: int) -> list[Part]:
    plain = sets.many(sets.SPREAD, seeds, Changes(weak=False, damage=False))
    reached = sum(s.slowest <= sets.SLOWEST for s in plain) / len(plain)
    return [
        relation(
            f"sets of {seeds} seeds that meet all four numbers of 2008",
            "one set was measured",
            ("ours", 100 * shares["all four"]),
            Rule.HIGHER,
            ("none", 0.0),
            "{:.0f} %",
            kind=Kind.CONTROL,
        ),
        relation(
            "sets without weak drives and damage that reach the slowest drive",
            "one set was measured",
            ("ours", 100 * reached),
            Rule.NOT_HIGHER,
            ("none", 0.0),
            "{:.1f} %",
            kind=Kind.CONTROL,
            note="normal heads cannot give the paper's extremes",
        ),
    ]


def _distribution(many: tuple[Spread, ...]) -> Table:
    """Return where the paper's values lie in the distribution of ours."""
    rows = []
    wanted = Spread(sets.MEAN, sets.DEVIATION, sets.SLOWEST, sets.FASTEST)
    names = ("mean, MB/s", "deviation, MB/s", "slowest, %", "fastest, %")
    for i, name in enumerate(names):
        values = np.array([s[i] for s in many])
        low, middle, high = np.quantile(values, (0.05, 0.5, 0.95))
        rank = sets.percentile(values, wanted[i])
        rows.append(
            [name, f"{wanted[i]:g}", f"{middle:.2f}", f"{low:.2f}", f"{high:.2f}", f"{rank:.0f} %"]
        )
    headings = [
        "25 drives of 2008",
        "paper",
        "median",
        "5 %",
        "95 %",
        "sets that are not above the paper's",
    ]
    return Table(f"Where the paper's values lie among {len(many)} drawn sets", headings, rows)


def _acceptance(shares: dict[str, float], seeds: int) -> Table:
    rows = [[name, f"{share:.0%}"] for name, share in shares.items()]
    return Table(
        f"Share of {seeds} seeds that meet the paper's numbers of 2008",
        ["condition", "share"],
        rows,
    )
