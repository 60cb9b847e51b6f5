"""The five architectures of the paper, its workload, and runs of both."""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headstack.papers.runs import Run
from headstack.papers.study import Study
from headstack.results import paired
from headstack.schema import System, Workload

#: Blocks of 4 KB that are written before the run: 1,000,000 sectors.
INITIAL = 125_000

#: Requests of a run: the paper's, and those of ``--quick``.
REQUESTS, QUICK = 500_000, 50_000

#: Write frequencies w, and new write frequencies eta of figures 2 to 4 and 10 to 12.
WRITES = tuple(i / 10 for i in range(11))
ETAS = (0.0, 0.5, 1.0)

#: The drives of tables 1 and 2.
IBM, CHEETAH = "ibm-18es", "cheetah-9lp"
TITLES = {IBM: "IBM 18ES", CHEETAH: "Cheetah 9LP"}

#: DALD by the paper's other rule for writes: they go to the end of the written area. ``DALD`` alone
#: writes as the log does, to the slot that is reached soonest.
AT_END = "DALD at the end"

#: The architectures in the order of the paper's text; the last two are one, by two rules.
ARCHITECTURES = ("normal", "DAD", "log", "array", "DALD", AT_END)

#: Both readings of the paper's rule for writes of DALD, with the architecture of each.
READINGS = {"soonest slot": "DALD", "end of the written area": AT_END}

#: One arm writes and one reads.
ROLES = [["write"], ["read"]]


@dataclass(frozen=True)
class Choices:
    """What the paper leaves open.

    Attributes:
        policy: which free slot a logging disk takes; DALD also runs by its other rule, `AT_END`.
        ties: which of several slots that pass at the same time.
        initial: how the initial blocks were written.
        every: whether write settling is added before every write, or only after a movement.
        seed: of the workload and of the initial writes.
    """

    policy: str = "eager"
    ties: str = "any"
    initial: str = "written"
    every: bool = True
    seed: int = 1


def _log(choices: Choices, policy: str) -> dict[str, Any]:
    ties = {"mapping.policy_parameters.ties": choices.ties} if policy == "eager" else {}
    return {
        "mapping.model": "log",
        "mapping.policy": policy,
        "mapping.initial": choices.initial,
        "mapping.initial_blocks": INITIAL,
        **ties,
    }


def system(name: str, drive: str, choices: Choices, changes: Mapping[str, Any] | None = None) -> System:
    """Return one of `ARCHITECTURES`, or another division of a two-arm log.

    `AT_END` writes to the end of the written area. The other divisions are ``sooner reads``, a DALD
    whose writing arm also reads; ``shared``, where both arms read and write; ``adaptive``, which
    changes between DALD and ``shared``.

    Args:
        name: name of the architecture or division.
        drive: a drive of the paper.
        choices: what the paper leaves open.
        changes: values of the drive to change, by dotted key.
    """
    fixed = {"positioning.settle_before_every_write": choices.every, **(changes or {})}
    made: System = {"drive": drive, "set": fixed}
    if name in ("log", "DALD", AT_END, "sooner reads", "shared", "adaptive"):
        policy = "append" if name == AT_END else choices.policy
        made["set"] = {**fixed, **_log(choices, policy)}
    if name in ("DAD", "DALD", AT_END, "sooner reads", "shared", "adaptive"):
        made["dash"] = "D1A2S1H1"
    if name in ("DALD", AT_END):
        made["parallelism"] = {"roles": ROLES}
    if name == "sooner reads":
        made["parallelism"] = {"roles": [["read", "write"], ["read"]]}
    if name == "adaptive":
        made["parallelism"] = {"roles": {"policy": "adaptive"}}
    if name == "array":
        made |= {"count": 2, "spindles": "synchronized", "organisation": {"name": "raid0", "stripe_unit": "2 KiB"}}
    return made


def load(study: Study, w: float, eta: float) -> Workload:
    """Return the paper's workload for a write frequency and a new write frequency."""
    return {
        "synthetic": {
            "n_requests": QUICK if study.quick else REQUESTS,
            "reads": round(1 - w, 6),
            "rate": "10/s",
            "size": "4 KiB",
            "footprint": "4 GB",
            "growth": {"initial": INITIAL, "new": eta},
        }
    }


#: A point: architecture, w, eta.
Point = tuple[str, float, float]


@dataclass(frozen=True)
class Access:
    """Mean times of a run in ms: of all requests, of reads and of writes."""

    mean: float
    read: float
    write: float

    def of_all(self) -> float:
        """Return the mean of all requests."""
        return self.mean

    def of_reads(self) -> float:
        """Return the mean of the reads."""
        return self.read


def access(result: Mapping[str, Any], times: str = "service_time_s") -> Access:
    """Return the means of a run; of its service times, or of other ones."""

    def of(part: Mapping[str, Any] | None) -> float:
        if not part or not part["n_requests"]:
            return float("nan")
        return 1e3 * float(part[times]["mean"])

    operations = result["operations"]
    return Access(of(result), of(operations.get("read")), of(operations.get("write")))


def measured(
    study: Study,
    drive: str,
    points: Iterable[Point],
    changes: Mapping[str, Any] | None = None,
    *,
    choices: Choices | None = None,
) -> dict[Point, Access]:
    """Run points on a drive; return their access times."""
    taken = choices or study.choices
    wanted: Sequence[Point] = list(dict.fromkeys(points))
    runs = [
        Run(
            load(study, w, eta),
            {"name": f"{name} {w:g} {eta:g}", **system(name, drive, taken, changes)},
            seed=taken.seed,
        )
        for name, w, eta in wanted
    ]
    found = study.run(runs)
    return {(n, w, e): access(found[f"{n} {w:g} {e:g}"]) for n, w, e in wanted}


def choices_by_seed(study: Study) -> list[Choices]:
    """Return the choices with each seed; one where a claim is judged with another choice."""
    return [replace(study.choices, seed=s) for s in study.seeds()]


@dataclass(frozen=True)
class Spread:
    """A value over several seeds.

    Attributes:
        mean: its mean.
        half: half of the 95 % confidence interval of the mean; not a number with one seed.
    """

    mean: float
    half: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Return mean and interval of the values of the seeds."""
        return cls(*paired.interval(values))


#: Two means nearer than this are compared over several seeds.
NEAR = 0.10


@dataclass(frozen=True)
class Pair:
    """The mean access times of two architectures at one point, in ms.

    Attributes:
        ours: of the first.
        other: of the second.
        apart: of the first minus the second, over the seeds.
        seeds: number of seeds.
    """

    ours: float
    other: float
    apart: Spread
    seeds: int

    def row(self) -> dict[str, Any]:
        """Return columns: both means; the first has the interval of the difference."""
        return {"ours_ms": self.ours, "ours_ms_half": self.apart.half, "other_ms": self.other, "seeds": self.seeds}


def compared(
    study: Study,
    drive: str,
    ours: Point,
    other: Point,
    found: Mapping[Point, Access],
    value: Callable[[Access], float] = Access.of_all,
) -> Pair:
    """Compare two points; over several seeds if they are nearer than `NEAR`.

    `found` has both points with the study's own seed; `value` is the mean that is compared.
    """
    a, b = value(found[ours]), value(found[other])
    if study.varied or abs(a / b - 1) > NEAR:
        return Pair(a, b, Spread(a - b, math.nan), 1)
    every = [measured(study, drive, [ours, other], choices=choices) for choices in choices_by_seed(study)]
    means = [(value(e[ours]), value(e[other])) for e in every]
    first, second = (statistics.fmean(m) for m in zip(*means, strict=True))
    return Pair(first, second, Spread.of([x - y for x, y in means]), len(means))


def grid(study: Study, drive: str) -> dict[Point, Access]:
    """Run all points of the figures of a drive: `ARCHITECTURES`, w from 0 to 1, three eta."""
    return measured(study, drive, [(n, w, e) for n in ARCHITECTURES for w in WRITES for e in ETAS])
