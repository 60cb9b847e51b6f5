"""Access latencies: figures 2 to 12 and the text about them, claims DALD-1 to DALD-5."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import pandas as pd

from headstack.studies.study import Study

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

#: Write frequencies of figures 5 to 9, and the steps of eta.
SWEEPS = {5: 1.0, 6: 0.7, 7: 0.5, 8: 0.3, 9: 0.0}
STEPS = tuple(i / 10 for i in range(11))

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
                "longer_ms": write - read,
                "settle_ms": TABLES[drive][3],
            }
        )
    return {"normal": pd.DataFrame(rows)}


def _worst(
    found: Found, ours: str, other: str, writes: Sequence[float], etas: Sequence[float]
) -> dict[str, Any]:
    """Return the point at which ours is highest compared with the other, and both means."""
    points = [(w, e) for w in writes for e in etas]
    w, e = max(points, key=lambda p: found[ours, *p].mean / found[other, *p].mean)
    a, b = found[ours, w, e].mean, found[other, w, e].mean
    return {"ours": ours, "other": other, "w": w, "eta": e, "ours_ms": a, "other_ms": b}


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
        for ours in ("DAD", "log", "DALD"):
            for other in ("normal", "array"):
                worst.append({"title": title, **_worst(found, ours, other, WRITES[1:], ETAS)})
        share = found["DAD", 0.0, 0.0].mean / found["normal", 0.0, 0.0].mean
        halved.append({"title": title, "share": share})
    return {
        "grid": pd.DataFrame(every),
        "worst": pd.DataFrame(worst),
        "halved": pd.DataFrame(halved),
    }


def new_writes(study: Study) -> dict[str, pd.DataFrame]:
    """Return figures 5 to 9: the two logging disks by new write frequency."""
    names = ("log", "DALD")
    found = measured(study, IBM, [(n, w, e) for w in SWEEPS.values() for n in names for e in STEPS])

    def pair(w: float, at: str, etas: Sequence[float], how: Callable[[float], float]) -> None:
        eta = max(etas, key=how)
        log, dald = found["log", w, eta].mean, found["DALD", w, eta].mean
        pairs.append({"w": w, "at": at, "eta": eta, "log_ms": log, "dald_ms": dald})

    pairs: list[dict[str, Any]] = []
    for w in SWEEPS.values():

        def over(e: float, w: float = w) -> float:
            return found["log", w, e].mean / found["DALD", w, e].mean

        pair(w, "differ most", STEPS, lambda e, over=over: abs(over(e) - 1))  # type: ignore[misc]
        pair(w, "differ least", STEPS[1:], lambda e, over=over: -over(e))  # type: ignore[misc]
        pair(w, "no new writes", (0.0,), over)
    sweeps = [
        {"figure": figure, "w": w, "architecture": n, "eta": e, "ms": found[n, w, e].mean}
        for figure, w in SWEEPS.items()
        for n in names
        for e in STEPS
    ]
    return {"pairs": pd.DataFrame(pairs), "sweeps": pd.DataFrame(sweeps)}


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
        costs.append({"title": title, **_reads(found)})
        costs.append({"title": title, **_writes(found)})
        for w, ours, others in ((0.2, "DAD", ("log", "DALD")), (0.8, "log", ("DAD",)),
                                (0.8, "DALD", ("DAD",))):  # fmt: skip
            best += [
                {"title": title, "words": WORDS[w], **_worst(found, ours, o, [w], ETAS)}
                for o in others
            ]
        crossings += [
            {"title": title, "eta": e, "architecture": n, "w": crossing(found, n, e)}
            for e in ETAS
            for n in ("log", "DALD")
        ]
    tables = {
        "costs": pd.DataFrame(costs),
        "best": pd.DataFrame(best),
        "crossings": pd.DataFrame(crossings),
    }
    if not study.varied:
        tables |= {"related": related.table(study), **today.tables(study)}
    return tables


def _reads(found: Found) -> dict[str, Any]:
    """Return the point at which reads of DALD and of the normal disk differ most."""
    points = [(w, e) for w in WRITES if w < 1 for e in ETAS]

    def apart(p: tuple[float, float]) -> float:
        return abs(math.log(found["DALD", *p].read / found["normal", *p].read))

    w, e = max(points, key=apart)
    dald, normal = found["DALD", w, e].read, found["normal", w, e].read
    return {"of": "reads", "w": w, "eta": e, "dald_ms": dald, "normal_ms": normal}


def _writes(found: Found) -> dict[str, Any]:
    """Return the point at which writes of DALD are slowest against those of the normal disk."""
    points = [(w, e) for w in WRITES if w > 0 for e in ETAS]
    w, e = max(points, key=lambda p: found["DALD", *p].write / found["normal", *p].write)
    dald, normal = found["DALD", w, e].write, found["normal", w, e].write
    return {"of": "writes", "w": w, "eta": e, "dald_ms": dald, "normal_ms": normal}


def array(study: Study) -> dict[str, pd.DataFrame]:
    """Return where the array of two synchronised disks differs most from the normal disk."""
    rows = []
    for drive in DRIVES:
        found = grid(study, drive)
        points = [(w, e) for w in WRITES for e in ETAS]

        def apart(p: tuple[float, float], found: Found = found) -> float:
            return abs(math.log(found["array", *p].mean / found["normal", *p].mean))

        w, e = max(points, key=apart)
        array_ms, normal_ms = found["array", w, e].mean, found["normal", w, e].mean
        rows.append({"title": TITLES[drive], "w": w, "eta": e, "array_ms": array_ms,
                     "normal_ms": normal_ms})  # fmt: skip
    return {"array": pd.DataFrame(rows)}
