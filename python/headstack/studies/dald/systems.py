"""The five architectures of the paper, its workload, and runs of both."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headstack.studies.runs import Run
from headstack.studies.study import Study

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

#: The architectures in the order of the paper's text.
ARCHITECTURES = ("normal", "DAD", "log", "array", "DALD")

#: One arm writes and one reads.
ROLES = [["write"], ["read"]]


@dataclass(frozen=True)
class Choices:
    """What the paper leaves open.

    Attributes:
        policy: which free slot a logging disk takes.
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


def _log(choices: Choices) -> dict[str, Any]:
    ties = {"mapping.policy_parameters.ties": choices.ties} if choices.policy == "eager" else {}
    return {
        "mapping.model": "log",
        "mapping.policy": choices.policy,
        "mapping.initial": choices.initial,
        "mapping.initial_blocks": INITIAL,
        **ties,
    }


def system(
    name: str, drive: str, choices: Choices, changes: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return one of `ARCHITECTURES`, or another division of a two-arm log.

    The other divisions are ``sooner reads``, a DALD whose writing arm also reads; ``shared``, where
    both arms read and write; ``adaptive``, which changes between DALD and ``shared``.

    Args:
        name: name of the architecture or division.
        drive: a drive of the paper.
        choices: what the paper leaves open.
        changes: values of the drive to change, by dotted key.

    """
    fixed = {"positioning.settle_before_every_write": choices.every, **(changes or {})}
    made: dict[str, Any] = {"drive": drive, "set": fixed}
    if name in ("log", "DALD", "sooner reads", "shared", "adaptive"):
        made["set"] = {**fixed, **_log(choices)}
    if name in ("DAD", "DALD", "sooner reads", "shared", "adaptive"):
        made["dash"] = "D1A2S1H1"
    if name == "DALD":
        made["parallelism"] = {"roles": ROLES}
    if name == "sooner reads":
        made["parallelism"] = {"roles": [["read", "write"], ["read"]]}
    if name == "adaptive":
        made["parallelism"] = {"roles": {"policy": "adaptive"}}
    if name == "array":
        made |= {
            "count": 2,
            "spindles": "synchronized",
            "organisation": {"name": "raid0", "stripe_unit": "2 KiB"},
        }
    return made


def load(study: Study, w: float, eta: float) -> dict[str, Any]:
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


def grid(study: Study, drive: str) -> dict[Point, Access]:
    """Run all points of the figures of a drive: five architectures, w from 0 to 1, three eta."""
    return measured(study, drive, [(n, w, e) for n in ARCHITECTURES for w in WRITES for e in ETAS])
