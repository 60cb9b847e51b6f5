"""The drive that changes between DALD and DAD, on loads that change: claim DALD-8.

The paper only proposes this drive, at the end of section 3. So the rule for changes and the loads
are chosen here. The role policy ``adaptive`` documents the rule and the cost of a switch.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from headstack.papers.runs import Run
from headstack.papers.study import Study
from headstack.schema import Workload

from .systems import CHEETAH, IBM, INITIAL, TITLES, measured, system

#: Requests of a load at 10/s, and with ``--quick``.
REQUESTS, QUICK = 200_000, 50_000

#: The new write frequency of all loads.
ETA = 0.5

#: Parameters of the policy: its defaults.
WINDOW, DWELL, TO_SHARED, TO_SPLIT = 200, 200, 0.7, 0.85

#: Write fractions of each load, one after another, in intervals of equal length.
_UP = tuple(i / 20 for i in range(21))
LOADS: Mapping[str, Sequence[float]] = {
    "step": (0.05,) * 10 + (0.95,) * 10 + (0.0,) * 10 + (1.0,) * 10,
    "ramp": (*_UP, *reversed(_UP)),
    "oscillation": (0.1, 0.95) * 20,
}

#: The drives that are compared. ``shared`` is a log of which both arms always read and write.
FIXED = ("DAD", "DALD", "shared")
SYSTEMS = (*FIXED, "adaptive")

#: Names in tables and figures.
NAMES = {"shared": "log, both arms do both"}
BOTH_READ = "log, both read, the first writes"

Sums = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Measured:
    """Service times of one system on one load, by interval.

    Attributes:
        n: number of requests.
        ms: sum of their service times.
        squares: sum of the squares of their service times.
        switches: how often the roles changed.
    """

    n: Sums
    ms: Sums
    squares: Sums
    switches: int

    def of(self, where: npt.NDArray[np.bool_]) -> tuple[float, float, float]:
        """Return the number, the sum and the variance of the sum over some intervals."""
        n, ms, squares = (float(x[where].sum()) for x in (self.n, self.ms, self.squares))
        return n, ms, squares - ms * ms / n

    @property
    def mean(self) -> float:
        """The mean service time."""
        return float(self.ms.sum() / self.n.sum())


def until_noticed(w: float) -> float:
    """Return the mean number of requests until a change to the write fraction `w` is noticed.

    This is the formula of the policy; infinite where the roles in force stay.
    """
    if w < TO_SHARED:
        return DWELL + WINDOW * math.log((1 - w) / (TO_SHARED - w))
    if w > TO_SPLIT:
        return DWELL + WINDOW * math.log(w / (w - TO_SPLIT))
    return math.inf


def _load(study: Study, writes: Sequence[float]) -> tuple[Workload, float]:
    """Return a workload and the length of its intervals in seconds."""
    requests = QUICK if study.quick else REQUESTS
    each = requests / 10 / len(writes)
    return {
        "synthetic": {
            "n_requests": requests,
            "rate": "10/s",
            "size": "4 KiB",
            "footprint": "4 GB",
            "growth": {"initial": INITIAL, "new": ETA},
            "phases": [{"duration": f"{each:.9g} s", "reads": round(1 - w, 6)} for w in writes],
        }
    }, each


def _runs(study: Study, drive: str, name: str) -> dict[str, Measured]:
    workload, each = _load(study, LOADS[name])
    runs = [
        Run(workload, {"name": s, **system(s, drive, study.choices)}, seed=study.choices.seed, interval=each)
        for s in SYSTEMS
    ]
    found = study.run(runs)
    made = {}
    for s in SYSTEMS:
        roles = found[s]["drives"][0].get("roles")
        # The last arrivals may come after the last interval, or end before it.
        sums = [np.array(found[s]["services"][k], float) for k in ("n", "ms", "squares")]
        n, ms, squares = (x[: len(LOADS[name])] for x in sums)
        made[s] = Measured(n, ms, squares, roles["n_switches"] if roles else 0)
    return made


@dataclass(frozen=True)
class Bound:
    """The reference values for the adaptive drive, per request in ms.

    Attributes:
        best: the better of DAD and DALD, chosen anew for each write fraction.
        cost: the stated cost of switching.
        error: the standard error of the difference.
    """

    best: float
    cost: float
    error: float


def _bound(name: str, found: Mapping[str, Measured]) -> Bound:
    pieces = np.array(LOADS[name][: len(found["DAD"].n)])
    best = variance = 0.0
    lost = {}
    for w in np.unique(pieces):
        dad, dald, shared, own = (found[s].of(pieces == w) for s in SYSTEMS)
        best += min(dad[1], dald[1])
        variance += own[2] + max(dad[2], dald[2])
        means = [x[1] / x[0] for x in (dad, dald, shared)]
        old, new = (means[1], means[2]) if w < TO_SHARED else (means[2], means[1])
        lost[float(w)] = max(0.0, old - min(new, means[0]))
    cost = sum(n * lost[w] for w, n in _unnoticed(pieces, found["DAD"].n))
    requests = float(found["adaptive"].n.sum())
    return Bound(best / requests, cost / requests, math.sqrt(variance) / requests)


def _unnoticed(pieces: Sums, n: Sums) -> Iterator[tuple[float, float]]:
    """Yield, for each change that the policy has to notice, w and how many requests that takes."""
    starts = np.flatnonzero(np.diff(pieces, prepend=-1.0))
    # Whether the roles for many reads are surely in force, or those for many writes.
    settled: bool | None = None
    for start, end in zip(starts, [*starts[1:], len(pieces)], strict=True):
        w, served = float(pieces[start]), float(n[start:end].sum())
        reads, noticed = w < TO_SHARED, until_noticed(w)
        if math.isinf(noticed):
            settled = None
        elif settled is not reads:
            yield w, min(noticed, served)
            settled = reads if served > noticed else None


#: Write fractions of the step that are read-intensive, and write-intensive.
INTENSIVE = {"reads": (0.0, 0.05), "writes": (0.95, 1.0)}


def _intensive(drive: str, found: Mapping[str, Measured]) -> list[dict[str, Any]]:
    """Return the mean access times of all drives where the step mostly reads, or mostly writes."""
    pieces = np.array(LOADS["step"][: len(found["DAD"].n)])
    rows = []
    for of, writes in INTENSIVE.items():
        sums = {s: found[s].of(np.isin(pieces, writes)) for s in SYSTEMS}
        means = {s: ms / n for s, (n, ms, _) in sums.items()}
        n, _, variance = sums["adaptive"]
        rows.append({"title": TITLES[drive], "mostly": of, **means, "adaptive_half": 1.96 * math.sqrt(variance) / n})
    return rows


def judged(study: Study) -> dict[str, pd.DataFrame]:
    """Return the adaptive drive on loads that step, ramp and oscillate."""
    rows, courses, intensive = [], [], []
    for drive in (IBM, CHEETAH):
        for name in LOADS:
            found = _runs(study, drive, name)
            bound = _bound(name, found)
            means = {s: found[s].mean for s in SYSTEMS}
            rows.append(
                {
                    "title": TITLES[drive],
                    "load": name,
                    **means,
                    "better": min(means["DAD"], means["DALD"]),
                    "best": bound.best,
                    "cost": bound.cost,
                    "errors": 3 * bound.error,
                    "bound": bound.best + bound.cost + 3 * bound.error,
                    "switches": found["adaptive"].switches,
                }
            )
            courses.append(_course(study, drive, name, found))
            if name == "step":
                intensive += _intensive(drive, found)
    tables = {"loads": pd.DataFrame(rows), "intensive": pd.DataFrame(intensive)}
    if not study.varied:
        tables |= {"course": pd.concat(courses), "constant": _constant(study)}
    return tables


def _course(study: Study, drive: str, name: str, found: Mapping[str, Measured]) -> pd.DataFrame:
    """Return the mean access latency over time, and the write frequency."""
    _, each = _load(study, LOADS[name])
    return pd.concat(
        pd.DataFrame(
            {
                "drive": drive,
                "title": TITLES[drive],
                "load": name,
                "architecture": NAMES.get(s, s),
                "minutes": (np.arange(len(found[s].n)) + 0.5) * each / 60,
                "ms": found[s].ms / found[s].n,
                "w": LOADS[name][: len(found[s].n)],
            }
        )
        for s in SYSTEMS
    )


def _constant(study: Study) -> pd.DataFrame:
    """Return the mean access latencies of fixed divisions on constant loads."""
    writes = (0.0, 0.5, 0.8, 0.9, 1.0)
    names = {**{n: NAMES.get(n, n) for n in FIXED}, "sooner reads": BOTH_READ}
    found = measured(study, IBM, [(n, w, ETA) for n in names for w in writes])
    return pd.DataFrame(
        [{"w": w, "roles": title, "ms": found[n, w, ETA].mean} for w in writes for n, title in names.items()]
    )
