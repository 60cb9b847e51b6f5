"""Access latencies: figures 2 to 12 and the text about them, claims DALD-1 to DALD-5."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import altair as alt

from headstack import plots
from headstack.studies.as_code import Outcome, Study, Table
from headstack.studies.rules import Part, Rule, number, relation

from . import related, today
from .systems import (
    ARCHITECTURES,
    CHEETAH,
    ETAS,
    IBM,
    INITIAL,
    TITLES,
    WRITES,
    Access,
    Point,
    grid,
    measured,
)

MS = "{:.3f} ms"

#: Write frequencies of figures 5 to 9, and the steps of eta.
SWEEPS = {5: 1.0, 6: 0.7, 7: 0.5, 8: 0.3, 9: 0.0}
STEPS = tuple(i / 10 for i in range(11))

#: Figures of w by drive.
FIGURES = {IBM: (2, 3, 4), CHEETAH: (10, 11, 12)}

#: Of tables 1 and 2, in ms: seek over one cylinder and over all, rotation, write settling;
#: cylinders, surfaces, sectors of a track.
TABLES = {
    IBM: (1.086, 12.742, 60e3 / 7200, 0.126, 11474, 5, 312),
    CHEETAH: (0.831, 10.627, 60e3 / 10045, 0.461, 6962, 12, 232),
}

Found = Mapping[Point, Access]


def expected_read(drive: str) -> float:
    """Return the mean access time of a random read on the normal disk in ms, by its table.

    Mean seek between uniform places of the cylinders that hold the initial blocks, half a turn and
    the transfer of 8 sectors.
    """
    single, full, turn, _, cylinders, surfaces, sectors = TABLES[drive]
    slope = (full - single) / (cylinders - 2)
    used = INITIAL * 8 / (surfaces * sectors)
    whole = math.floor(used)
    shares = [1 / used] * whole + [1 - whole / used]
    distance = sum(p * q * abs(i - j) for i, p in enumerate(shares) for j, q in enumerate(shares))
    same = sum(p * p for p in shares)
    seek = (single - slope) * (1 - same) + slope * distance
    return seek + turn / 2 + 8 * turn / sectors


def setting(study: Study) -> Outcome:
    """Judge whether the normal disk is the one of the tables."""
    outcome = Outcome()
    for drive in (IBM, CHEETAH):
        found = measured(study, drive, [("normal", 0.0, 0.0), ("normal", 1.0, 0.0)])
        read, write = (found["normal", w, 0.0].mean for w in (0.0, 1.0))
        title = TITLES[drive]
        outcome.parts += [
            relation(
                f"{title}: reads of the normal disk take seek, half a turn and transfer",
                "the values of the table, linear seeks",
                ("simulated", read),
                Rule.SAME,
                ("by formula", expected_read(drive)),
                MS,
            ),
            number(
                f"{title}: what writes of the normal disk take longer than reads",
                TABLES[drive][3],
                write - read,
                MS,
            ),
        ]
    return outcome


def _worst(
    found: Found, ours: str, other: str, writes: Sequence[float], etas: Sequence[float]
) -> tuple[Point, float, float]:
    """Return the point at which ours is highest compared with the other, and both means."""
    points = [(w, e) for w in writes for e in etas]
    w, e = max(points, key=lambda p: found[ours, *p].mean / found[other, *p].mean)
    return (ours, w, e), found[ours, w, e].mean, found[other, w, e].mean


def figures(study: Study) -> Outcome:
    """Judge figures 2 to 4 and 10 to 12: access latency by write frequency."""
    outcome = Outcome()
    for drive in (IBM, CHEETAH):
        found, title = grid(study, drive), TITLES[drive]
        for ours in ("DAD", "log", "DALD"):
            for other in ("normal", "array"):
                point, a, b = _worst(found, ours, other, WRITES[1:], ETAS)
                outcome.parts.append(
                    relation(
                        f"{title}: {ours} below {other} for every w from 0.1 and every eta (where "
                        "it comes nearest)",
                        "clear advantage over a normal disk and an array",
                        (f"{ours} at w = {point[1]:g}, eta = {point[2]:g}", a),
                        Rule.LOWER,
                        (other, b),
                        MS,
                    )
                )
        halved = found["DAD", 0.0, 0.0].mean / found["normal", 0.0, 0.0].mean
        outcome.parts.append(
            number(
                f"{title}: access time of DAD as a share of the normal disk's, reads",
                0.5,
                halved,
                "{:.2f}",
                note="the second arm halves the rotational latency, and the seek less",
            )
        )
        for figure, eta in zip(FIGURES[drive], ETAS, strict=True):
            outcome.figures.append(_by_writes(study, found, figure, drive, eta))
            outcome.tables.append(_table(found, f"Figure {figure}: {title}, eta = {eta:g}", eta))
    return outcome


def _table(found: Found, title: str, eta: float) -> Table:
    rows = [[f"{w:g}", *(f"{found[n, w, eta].mean:.2f}" for n in ARCHITECTURES)] for w in WRITES]
    return Table(f"{title}: mean access latency in ms", ["w", *ARCHITECTURES], rows)


def _by_writes(study: Study, found: Found, figure: int, drive: str, eta: float) -> str:
    points = {n: [(w, found[n, w, eta].mean) for w in WRITES] for n in ARCHITECTURES}
    title = f"Figure {figure}: {TITLES[drive]}, access latency, eta = {eta:g}"
    return study.figure(f"dald-{figure}", lambda: _chart(points, "write frequency w", title))


def _chart(points: Mapping[str, Sequence[tuple[float, float]]], x: str, title: str) -> Any:
    return plots.lines(
        points,
        alt.X("x:Q", title=x),
        alt.Y("y:Q", title="mean access latency (ms)", scale=alt.Scale(zero=True)),
        title,
        series="architecture",
        markers=True,
    )


def new_writes(study: Study) -> Outcome:
    """Judge figures 5 to 9: the two logging disks by new write frequency."""
    outcome = Outcome()
    names = ("log", "DALD")
    found = measured(study, IBM, [(n, w, e) for w in SWEEPS.values() for n in names for e in STEPS])

    def furthest(w: float, etas: Sequence[float]) -> tuple[float, Access, Access]:
        def apart(e: float) -> float:
            return abs(found["log", w, e].mean / found["DALD", w, e].mean - 1)

        e = max(etas, key=apart)
        return e, found["log", w, e], found["DALD", w, e]

    for figure, w in SWEEPS.items():
        if w in (0.0, 1.0):
            e, log, dald = furthest(w, STEPS)
            outcome.parts.append(
                _pair(f"w = {w:g}, where they differ most", e, log, dald, Rule.SAME)
            )
        else:
            e = min(STEPS[1:], key=lambda e: found["log", w, e].mean / found["DALD", w, e].mean)
            log, dald = found["log", w, e], found["DALD", w, e]
            outcome.parts.append(
                _pair(f"w = {w:g}, eta above 0, where they differ least", e, log, dald, Rule.LOWER)
            )
            log, dald = found["log", w, 0.0], found["DALD", w, 0.0]
            outcome.parts.append(_pair(f"w = {w:g}", 0.0, log, dald, Rule.SAME))
        points = {n: [(e, found[n, w, e].mean) for e in STEPS] for n in names}
        outcome.figures.append(_by_etas(study, points, figure, w))
    outcome.tables.append(
        Table(
            "Figures 5 to 9: mean access latency in ms, log / DALD",
            ["eta", *(f"w = {w:g}" for w in SWEEPS.values())],
            [
                [
                    f"{e:g}",
                    *(
                        " / ".join(f"{found[n, w, e].mean:.2f}" for n in names)
                        for w in SWEEPS.values()
                    ),
                ]
                for e in STEPS
            ],
        )
    )
    return outcome


def _by_etas(
    study: Study, points: Mapping[str, Sequence[tuple[float, float]]], figure: int, w: float
) -> str:
    title = f"Figure {figure}: access latency varying eta, w = {w:g}"
    return study.figure(f"dald-{figure}", lambda: _chart(points, "new write frequency eta", title))


def _pair(what: str, eta: float, log: Access, dald: Access, rule: Rule) -> Part:
    words = {
        Rule.SAME: "no substantial difference",
        Rule.LOWER: "the second arm reduces the access time",
    }
    return relation(
        f"DALD and log at {what}",
        words[rule],
        (f"DALD at eta = {eta:g}", dald.mean),
        rule,
        ("log", log.mean),
        MS,
    )


def crossing(found: Found, name: str, eta: float) -> float:
    """Return the write frequency above which a logging disk is better than DAD; 1 if it never is.

    Between the frequencies that were run, means are interpolated linearly.
    """
    gaps = [(w, found[name, w, eta].mean - found["DAD", w, eta].mean) for w in WRITES]
    for (w0, g0), (w1, g1) in pairwise(gaps):
        if g0 > 0 >= g1:
            return w0 + (w1 - w0) * g0 / (g0 - g1)
    return 1.0


def reads_and_writes(study: Study) -> Outcome:
    """Judge the cost of reads and writes of DALD, and which architecture is best when."""
    outcome = Outcome()
    for drive in (IBM, CHEETAH):
        found, title = grid(study, drive), TITLES[drive]
        outcome.parts += [
            *_costs(found, title),
            *_best(found, title),
        ]
        rows = [
            [f"{e:g}", *(f"{crossing(found, n, e):.2f}" for n in ("log", "DALD"))] for e in ETAS
        ]
        outcome.tables.append(
            Table(f"{title}: w from which on it is better than DAD", ["eta", "log", "DALD"], rows)
        )
    if not study.varied:
        outcome.figures += today.figures(study)
        outcome.tables += [related.table(study), *today.tables(study)]
    return outcome


def _costs(found: Found, title: str) -> list[Part]:
    points = [(w, e) for w in WRITES for e in ETAS]
    reading = [p for p in points if p[0] < 1]
    writing = [p for p in points if p[0] > 0]

    def apart(p: tuple[float, float]) -> float:
        return abs(math.log(found["DALD", *p].read / found["normal", *p].read))

    far = max(reading, key=apart)
    slow = max(writing, key=lambda p: found["DALD", *p].write / found["normal", *p].write)
    at = "w = {:g}, eta = {:g}"
    return [
        relation(
            f"{title}: reads of DALD and of a normal disk (where they differ most)",
            "equivalent to a normal disk",
            (f"DALD at {at.format(*far)}", found["DALD", *far].read),
            Rule.SAME,
            ("normal", found["normal", *far].read),
            MS,
        ),
        relation(
            f"{title}: writes of DALD and of a normal disk (where they are slowest)",
            "near-zero-access writes regardless of the reads",
            (f"DALD at {at.format(*slow)}", found["DALD", *slow].write),
            Rule.FAR_LOWER,
            ("normal", found["normal", *slow].write),
            MS,
        ),
    ]


def _best(found: Found, title: str) -> list[Part]:
    parts = []
    for w, ours, others, words in (
        (0.2, "DAD", ("log", "DALD"), "for read-intensive patterns a two-arm disk is preferable"),
        (0.8, "log", ("DAD",), "as w increases, a logging disk becomes preferable"),
        (0.8, "DALD", ("DAD",), "as w increases, a logging disk becomes preferable"),
    ):
        for other in others:
            point, a, b = _worst(found, ours, other, [w], ETAS)
            parts.append(
                relation(
                    f"{title}: {ours} below {other} at w = {w:g} (where it comes nearest)",
                    words,
                    (f"{ours} at eta = {point[2]:g}", a),
                    Rule.LOWER,
                    (other, b),
                    MS,
                )
            )
    parts += [
        relation(
            f"{title}: breakeven with DAD at eta = {eta:g}",
            "lower for the two-arm logging disk",
            ("DALD", crossing(found, "DALD", eta)),
            Rule.LOWER,
            ("log", crossing(found, "log", eta)),
            "w = {:.2f}",
        )
        for eta in ETAS[1:]
    ]
    return parts


def array(study: Study) -> Outcome:
    """Judge the array of two synchronised disks."""
    outcome = Outcome()
    for drive in (IBM, CHEETAH):
        found = grid(study, drive)
        points = [(w, e) for w in WRITES for e in ETAS]

        def apart(p: tuple[float, float], found: Found = found) -> float:
            return abs(math.log(found["array", *p].mean / found["normal", *p].mean))

        w, e = max(points, key=apart)
        outcome.parts.append(
            relation(
                f"{TITLES[drive]}: array and normal disk (where they differ most)",
                "comparable to a single disk",
                (f"array at w = {w:g}, eta = {e:g}", found["array", w, e].mean),
                Rule.CLOSE,
                ("normal", found["normal", w, e].mean),
                MS,
            )
        )
    return outcome
