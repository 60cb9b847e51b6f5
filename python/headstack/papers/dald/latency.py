"""Access latencies: figures 2 to 12 and the text about them, claims DALD-1 to DALD-5."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pandas as pd

from headstack.papers import rules
from headstack.papers.runs import Run
from headstack.papers.study import Study
from headstack.schema import System

from . import related, today
from .systems import (
    ARCHITECTURES,
    CHEETAH,
    ETAS,
    IBM,
    INITIAL,
    READINGS,
    TITLES,
    WRITES,
    Access,
    Choices,
    Point,
    Spread,
    access,
    choices_by_seed,
    compared,
    grid,
    load,
    measured,
    system,
)

#: Write frequencies of figures 5 to 9, and the steps of eta.
SWEEPS = {5: 1.0, 6: 0.7, 7: 0.5, 8: 0.3, 9: 0.0}
STEPS = tuple(i / 10 for i in range(11))

#: Those of them at which a disk both reads and writes.
MIXED = (0.7, 0.5, 0.3)

#: The paper's words on what is best, by write frequency.
WORDS = {
    0.2: "for read-intensive patterns a two-arm disk is preferable",
    0.8: "as w increases, a logging disk becomes preferable",
}

#: Figures of w by drive.
FIGURES = {IBM: (2, 3, 4), CHEETAH: (10, 11, 12)}

DRIVES = (IBM, CHEETAH)

#: Of tables 1 and 2, in ms: seek over one cylinder and over all, rotation, write settling;
#: cylinders, surfaces, sectors of a track.
TABLES = {
    IBM: (1.086, 12.742, 60e3 / 7200, 0.126, 11474, 5, 312),
    CHEETAH: (0.831, 10.627, 60e3 / 10045, 0.461, 6962, 12, 232),
}

Found = Mapping[Point, Access]


def expected_read(drive: str, stroke: float = 1.0) -> float:
    """Return the mean access time of a random read on the normal disk in ms, by its table.

    Mean seek between uniform places of the cylinders that hold the initial blocks, half a turn and
    the transfer of 8 sectors. `stroke` multiplies the seek over all cylinders.
    """
    single, full, turn, _, cylinders, surfaces, sectors = TABLES[drive]
    full *= stroke
    slope = (full - single) / (cylinders - 2)
    used = INITIAL * 8 / (surfaces * sectors)
    whole = math.floor(used)
    shares = [1 / used] * whole + [1 - whole / used]
    distance = sum(p * q * abs(i - j) for i, p in enumerate(shares) for j, q in enumerate(shares))
    same = sum(p * p for p in shares)
    seek = (single - slope) * (1 - same) + slope * distance
    return seek + turn / 2 + 8 * turn / sectors


def setting(study: Study) -> dict[str, pd.DataFrame]:
    """Return the access times of the normal disk, simulated and by the tables of the paper."""
    rows = []
    for drive in DRIVES:
        found = measured(study, drive, [("normal", 0.0, 0.0), ("normal", 1.0, 0.0)])
        read, write = (found["normal", w, 0.0].mean for w in (0.0, 1.0))
        rows.append(
            {
                "title": TITLES[drive],
                "read_ms": read,
                "formula_ms": expected_read(drive),
                "longer_stroke_ms": expected_read(drive, 2.0),
                "longer_ms": write - read,
                "settle_ms": TABLES[drive][3],
            }
        )
    return {"normal": pd.DataFrame(rows)}


def _worst(
    study: Study, drive: str, found: Found, names: tuple[str, str], writes: Sequence[float], etas: Sequence[float]
) -> dict[str, Any]:
    """Return the point at which the first of two is highest compared with the second, and both."""
    ours, other = names
    points = [(w, e) for w in writes for e in etas]
    w, e = max(points, key=lambda p: found[ours, *p].mean / found[other, *p].mean)
    pair = compared(study, drive, (ours, w, e), (other, w, e), found)
    return {"title": TITLES[drive], "ours": ours, "other": other, "w": w, "eta": e, **pair.row()}


#: Where an advantage is looked for: at every write frequency that writes, and at none.
RANGES = {"w from 0.1": WRITES[1:], "w = 0": WRITES[:1]}


def shortest_read(study: Study, drive: str) -> float:
    """Return the reads of two arms half a turn apart, if all seeks were the table's shortest.

    No policy that does not know the next request has shorter seeks, and none waits less for the
    turn. So no use of two arms reads sooner, wherever they wait.
    """
    point = ("DAD", 0.0, 0.0)
    return measured(study, drive, [point], {"seek.full": f"{TABLES[drive][0]} ms"})[point].mean


def figures(study: Study) -> dict[str, pd.DataFrame]:
    """Return figures 2 to 4 and 10 to 12: access latency by write frequency."""
    every, worst, halved = [], [], []
    for drive in DRIVES:
        found, title = grid(study, drive), TITLES[drive]
        every += [
            {"title": title, "figure": figure, "eta": eta, "w": w, "architecture": n,
             "ms": found[n, w, eta].mean}
            for figure, eta in zip(FIGURES[drive], ETAS, strict=True)
            for w in WRITES
            for n in ARCHITECTURES
        ]  # fmt: skip
        worst += [
            {"range": where, **_worst(study, drive, found, (ours, other), writes, ETAS)}
            for where, writes in RANGES.items()
            for ours in ("DAD", "log", *READINGS.values())
            for other in ("normal", "array")
        ]
        read = found["normal", 0.0, 0.0].mean
        share = found["DAD", 0.0, 0.0].mean / read
        halved.append({"title": title, "share": share, "least": shortest_read(study, drive) / read})
    return {"grid": pd.DataFrame(every), "worst": pd.DataFrame(worst), "halved": pd.DataFrame(halved)}


def new_writes(study: Study) -> dict[str, pd.DataFrame]:
    """Return figures 5 to 9: the two logging disks by new write frequency."""
    names = ("log", *READINGS.values())
    found = measured(study, IBM, [(n, w, e) for w in SWEEPS.values() for n in names for e in STEPS])
    pairs = [row for reading in READINGS for row in _pairs(study, found, reading)]
    sweeps = [
        {"figure": figure, "w": w, "architecture": n, "eta": e, "ms": found[n, w, e].mean}
        for figure, w in SWEEPS.items()
        for n in names
        for e in STEPS
    ]
    met = pd.DataFrame([_met(study, found, r) for r in READINGS])
    return {
        "pairs": pd.DataFrame(pairs),
        "added": pd.DataFrame([_added(study, r, w) for r in READINGS for w in MIXED]),
        "met": met,
        "sweeps": pd.DataFrame(sweeps),
        "beside": pd.DataFrame([{"points": met["points"].max()}]),
    }


def _pairs(study: Study, found: Found, reading: str) -> list[dict[str, Any]]:
    """Return the log and DALD where they differ most and least, and without new writes."""
    name, rows = READINGS[reading], []
    for w in SWEEPS.values():

        def over(eta: float, w: float = w) -> float:
            return found["log", w, eta].mean / found[name, w, eta].mean

        places = {
            "differ most": max(STEPS, key=lambda e, over=over: abs(math.log(over(e)))),  # type: ignore[misc]
            "differ least": min(STEPS[1:], key=over),
            "no new writes": STEPS[0],
        }
        for at, eta in places.items():
            pair = compared(study, IBM, (name, w, eta), ("log", w, eta), found)
            rows.append({"reading": reading, "w": w, "at": at, "eta": eta, **pair.row()})
    return rows


def _added(study: Study, reading: str, w: float) -> dict[str, Any]:
    """Return what the first tenth of new writes adds to the difference of log and DALD."""
    points = [(n, w, e) for n in ("log", READINGS[reading]) for e in STEPS[:2]]

    def gaps(choices: Choices) -> tuple[float, float]:
        found = measured(study, IBM, points, choices=choices)
        none, first = (found["log", w, e].mean - found[READINGS[reading], w, e].mean for e in STEPS[:2])
        return none, first - none

    every = [gaps(choices) for choices in choices_by_seed(study)]
    none, added = (Spread.of(values) for values in zip(*every, strict=True))
    return {
        "reading": reading,
        "w": w,
        "none_ms": abs(none.mean),
        "added_ms": added.mean,
        "added_ms_half": added.half,
        "seeds": len(every),
    }


def _met(study: Study, found: Found, reading: str) -> dict[str, Any]:
    """Return at how many points of the figures the second arm helps substantially."""
    name = READINGS[reading]
    ratios = [found["log", w, e].mean / found[name, w, e].mean for w in MIXED for e in STEPS[1:]]
    if not study.varied:
        for drive in DRIVES:
            every = grid(study, drive)
            points = [(w, e) for w in WRITES[1:-1] for e in ETAS[1:]]
            ratios += [every["log", *p].mean / every[name, *p].mean for p in points]
    most = max(ratios)
    met = sum(rules.holds(rules.Rule.SIGNIFICANTLY_HIGHER, r, 1.0) for r in ratios)
    return {"reading": reading, "met": met, "points": len(ratios), "most": most}


def crossing(found: Found, name: str, eta: float) -> float:
    """Return the write frequency above which a logging disk is better than DAD; 1 if it never is.

    Between the frequencies that were run, means are interpolated linearly.
    """
    gaps = [(w, found[name, w, eta].mean - found["DAD", w, eta].mean) for w in WRITES]
    for (w0, g0), (w1, g1) in pairwise(gaps):
        if g0 > 0 >= g1:
            return w0 + (w1 - w0) * g0 / (g0 - g1)
    return 1.0


def reads_and_writes(study: Study) -> dict[str, pd.DataFrame]:
    """Return the cost of reads and writes of DALD, and which architecture is best when."""
    costs, best, crossings = [], [], []
    for drive in DRIVES:
        found, title = grid(study, drive), TITLES[drive]
        for reading in READINGS:
            costs.append({"title": title, "reading": reading, **_reads(study, drive, found, reading)})
            costs += [{"title": title, "reading": reading, **row} for row in _writes(drive, found, reading)]
        best += _best(study, drive, found)
        crossings += [
            {"title": title, "eta": e, "architecture": n, "w": crossing(found, n, e)}
            for e in ETAS
            for n in ("log", *READINGS.values())
        ]
    tables = {"costs": pd.DataFrame(costs), "best": pd.DataFrame(best), "crossings": pd.DataFrame(crossings)}
    if not study.varied:
        tables |= {"related": related.table(study), **today.tables(study)}
    return tables


def _best(study: Study, drive: str, found: Found) -> list[dict[str, Any]]:
    """Return where what is best comes nearest to the others; and the same at the other w."""
    logs = ("log", *READINGS.values())
    cases = [(0.2, 0.8, "DAD", n) for n in logs] + [(0.8, 0.2, n, "DAD") for n in logs]
    rows = []
    for w, opposite, ours, other in cases:
        row = _worst(study, drive, found, (ours, other), [w], ETAS)
        there = {
            f"{key}_there_ms": found[name, opposite, row["eta"]].mean
            for key, name in (("ours", ours), ("other", other))
        }
        rows.append({"words": WORDS[w], "there": opposite, **row, **there})
    return rows


def _reads(study: Study, drive: str, found: Found, reading: str) -> dict[str, Any]:
    """Return the point at which reads of DALD and of the normal disk differ most."""
    name = READINGS[reading]
    points = [(w, e) for w in WRITES if w < 1 for e in ETAS]

    def apart(p: tuple[float, float]) -> float:
        return abs(math.log(found[name, *p].read / found["normal", *p].read))

    at = max(points, key=apart)
    pair = compared(study, drive, (name, *at), ("normal", *at), found, Access.of_reads)
    return {
        "of": "reads",
        "w": at[0],
        "eta": at[1],
        "dald_ms": pair.ours,
        "dald_ms_half": pair.apart.half,
        "normal_ms": pair.other,
        "dad_ms": found["DAD", *at].read,
    }


def _writes(drive: str, found: Found, reading: str) -> list[dict[str, Any]]:
    """Return the point at which writes of DALD are slowest against those of the normal disk.

    Once the whole access, and once without settling and transfer, which no arm can avoid.
    """
    name = READINGS[reading]
    _, _, turn, settle, _, _, sectors = TABLES[drive]
    points, rows = [(w, e) for w in WRITES if w > 0 for e in ETAS], []
    for of, fixed in (("writes", 0.0), ("positioning", settle + 8 * turn / sectors)):

        def ms(name: str, p: tuple[float, float], fixed: float = fixed) -> float:
            return found[name, *p].write - fixed

        def slowest(name: str, ms: Any = ms) -> tuple[float, float]:
            return max(points, key=lambda p: ms(name, p) / ms("normal", p))

        at, log = slowest(name), slowest("log")
        rows.append(
            {
                "of": of,
                "w": at[0],
                "eta": at[1],
                "dald_ms": ms(name, at),
                "normal_ms": ms("normal", at),
                "log_ms": ms("log", log),
                "log_normal_ms": ms("normal", log),
            }
        )
    return rows


#: Pairs of disks out of step, each for a short time: their angle is drawn once for each.
PAIRS, PAIR_REQUESTS = 60, 500


def array(study: Study) -> dict[str, pd.DataFrame]:
    """Return where the array of two synchronised disks differs most from the normal disk."""
    rows = []
    for drive in DRIVES:
        found = grid(study, drive)
        points = [(w, e) for w in WRITES for e in ETAS]

        def apart(p: tuple[float, float], found: Found = found) -> float:
            return abs(math.log(found["array", *p].mean / found["normal", *p].mean))

        w, e = max(points, key=apart)
        pair = compared(study, drive, ("array", w, e), ("normal", w, e), found)
        free = _out_of_step(study, drive)
        rows.append(
            {
                "title": TITLES[drive],
                "w": w,
                "eta": e,
                **pair.row(),
                "free_ms": free.mean,
                "free_ms_half": free.half,
                "synchronised_ms": found["array", 0.0, 0.0].mean,
                "normal_ms": found["normal", 0.0, 0.0].mean,
            }
        )
    return {"array": pd.DataFrame(rows)}


def _out_of_step(study: Study, drive: str) -> Spread:
    """Return the reads of an array whose spindles are not synchronised, over their angles.

    Requests are far apart, because the disks of the array queue on their own.
    """
    free: System = {**system("array", drive, study.choices), "spindles": "free"}
    workload = load(study, 0.0, 0.0)
    workload["synthetic"] |= {"n_requests": PAIR_REQUESTS, "rate": "0.2/s"}
    seeds = range(study.choices.seed, study.choices.seed + PAIRS)
    found = study.run(Run(workload, {"name": f"pair {s}", **free}, seed=s) for s in seeds)
    return Spread.of([access(result).mean for result in found.values()])
