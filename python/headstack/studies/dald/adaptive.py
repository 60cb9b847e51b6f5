"""The drive that changes between DALD and DAD, on loads that change: claim DALD-8.

The paper only proposes this drive, at the end of section 3. So the rule for changes and the loads
are chosen here. The role policy ``adaptive`` documents the rule and the cost of a switch.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import numpy.typing as npt
import pandas as pd

from headstack import plots
from headstack.plots import look
from headstack.studies.as_code import Outcome, Study, Table
from headstack.studies.rules import Kind, Rule, relation
from headstack.studies.runs import Run

from .systems import CHEETAH, IBM, INITIAL, TITLES, measured, system

MS = "{:.3f} ms"

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


def _load(study: Study, writes: Sequence[float]) -> tuple[dict[str, Any], float]:
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
        Run(
            workload,
            {"name": s, **system(s, drive, study.choices)},
            seed=study.choices.seed,
            interval=each,
        )
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


def judged(study: Study) -> Outcome:
    """Judge the adaptive drive on loads that step, ramp and oscillate."""
    outcome = Outcome()
    rows = []
    for drive in (IBM, CHEETAH):
        for name in LOADS:
            found = _runs(study, drive, name)
            bound = _bound(name, found)
            ours = found["adaptive"].mean
            outcome.parts += [
                relation(
                    f"{TITLES[drive]}, {name}: at most the better of DAD and DALD, chosen anew "
                    "for each write frequency, and the cost of switching",
                    "performs just as well for all workloads",
                    ("adaptive", ours),
                    Rule.NOT_HIGHER,
                    ("better of both and cost", bound.best + bound.cost + 3 * bound.error),
                    MS,
                    note=f"cost {bound.cost:.4f} ms, three standard errors {3 * bound.error:.4f}",
                ),
                relation(
                    f"{TITLES[drive]}, {name}: below DAD and DALD",
                    "high performance for all workloads",
                    ("adaptive", ours),
                    Rule.LOWER,
                    ("better of both", min(found["DAD"].mean, found["DALD"].mean)),
                    MS,
                    kind=Kind.CONTROL,
                ),
            ]
            rows.append(
                [
                    TITLES[drive],
                    name,
                    *(f"{found[s].mean:.3f}" for s in SYSTEMS),
                    f"{bound.best:.3f}",
                    f"{bound.cost:.4f}",
                    f"{found['adaptive'].switches}",
                ]
            )
            outcome.figures.append(_figure(study, drive, name, found))
    outcome.tables += [
        Table(
            f"Mean access latency in ms on loads that change, eta = {ETA:g}",
            [
                "drive",
                "load",
                *(NAMES.get(s, s) for s in SYSTEMS),
                "best by w",
                "cost of switching",
                "switches",
            ],
            rows,
        ),
        _constant(study),
    ]
    return outcome


def _constant(study: Study) -> Table:
    """Return the mean access latencies of fixed divisions on constant loads."""
    writes = (0.0, 0.5, 0.8, 0.9, 1.0)
    names = (*FIXED, "sooner reads")
    found = measured(study, IBM, [(n, w, ETA) for n in names for w in writes])
    return Table(
        f"IBM 18ES, eta = {ETA:g}: mean access latency in ms with fixed roles",
        ["w", *(NAMES.get(n, n) for n in FIXED), "log, both read, the first writes"],
        [[f"{w:g}", *(f"{found[n, w, ETA].mean:.2f}" for n in names)] for w in writes],
    )


def _figure(study: Study, drive: str, name: str, found: Mapping[str, Measured]) -> str:
    """Draw the mean access latency over time."""
    _, each = _load(study, LOADS[name])
    minutes = [(i + 0.5) * each / 60 for i in range(len(found["DAD"].n))]

    def chart() -> Any:
        rows = [
            {"x": x, "y": float(m / n), "system": NAMES.get(s, s)}
            for s in SYSTEMS
            for x, m, n in zip(minutes, found[s].ms, found[s].n, strict=True)
        ]
        names = [NAMES.get(s, s) for s in SYSTEMS]
        x = alt.X("x:Q", title="time (min)")
        latency = (
            alt.Chart(pd.DataFrame(rows))
            .mark_line(strokeWidth=2.2)
            .encode(
                x=alt.X("x:Q", title=None),
                y=alt.Y("y:Q", title="mean access latency (ms)", scale=alt.Scale(zero=True)),
                color=look.colour(names, "architecture"),
                strokeDash=look.dash(names, "architecture"),
            )
        )
        load = [{"x": x, "w": w} for x, w in zip(minutes, LOADS[name], strict=False)]
        writes = (
            alt.Chart(pd.DataFrame(load))
            .mark_line(strokeWidth=1.5, interpolate="step", color=look.INK)
            .encode(x=x, y=alt.Y("w:Q", title="write frequency w", scale=alt.Scale(domain=[0, 1])))
        )
        title = f"{TITLES[drive]}, {name}: access latency over time, eta = {ETA:g}"
        return plots.style(
            alt.vconcat(
                latency.properties(width=plots.WIDTH, height=plots.HEIGHT),
                writes.properties(width=plots.WIDTH, height=90),
                title=title,
                description=title,
            )
        )

    return study.figure(f"dald-adaptive-{drive}-{name}", chart)
