"""What queues, the expiry of reads and the aim below the cap do, each added to the one before.

``python -m headstack.papers.pcap.effects`` prints the table of ``docs/models/capping.md``. Its
last columns are a setting that never changes, feed-forward, and learning.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import headstack
from headstack.results import paired
from headstack.schema import System
from headstack.schema.workload import Job

from . import loads, ours, runs

#: Expiry of reads of the rows that have a long one; the drives' own is 500 ms.
EXPIRY = "2 s"

#: PCAP tolerates 0.2 W above its target. With a target so much below the cap it keeps the cap.
AIM_W = runs.EPSILON_W


@dataclass(frozen=True)
class Setting:
    """What is set, in a row.

    Attributes:
        name: its name in tables.
        policy: the policy and its parameters.
        expiry: the expiry of reads from the start; the elevator's own if empty.
        depth: the depth of the drive's queue from the start.
        below_w: how far below the cap the policy's cap is.
    """

    name: str
    policy: tuple[str, Mapping[str, Any]]
    expiry: str = ""
    depth: int = runs.OPEN[0]
    below_w: float = 0.0


_THROTTLE = Setting("throttling", runs.THROTTLE)
_PCAP = Setting("queues: PCAP", ours.PCAP_OPEN[1:])
_LONG = replace(_PCAP, name="and expiry: 2 s", expiry=EXPIRY)
_AIMED = replace(_LONG, name="and aim: 0.2 W lower", below_w=AIM_W)
_FORWARD = Setting("feed-forward", ours.OURS[1:])
_LEARNING = Setting("learning", ("learning", {}))

#: Columns of the table: those of the settings.
FIXED = "fixed: 2 s and a depth"
_QUEUES = (_THROTTLE.name, _PCAP.name, _LONG.name, _AIMED.name)
HEADINGS = (*_QUEUES, FIXED, _FORWARD.name, _LEARNING.name)


def fixed(depth: int) -> Setting:
    """Return the setting of the long expiry with this depth, which nothing changes."""
    return Setting(FIXED, runs.NONE, EXPIRY, depth)


@dataclass(frozen=True)
class Load:
    """A load under caps, and the settings that are compared on it, each with the one before."""

    name: str
    jobs: Sequence[Job]
    caps: Sequence[tuple[float, float]]
    settings: Sequence[Setting]


def _batch(cap_w: float, depth: int) -> Load:
    jobs = [runs.job(128, volume=f"{loads.BATCH_BYTES} B")]
    settings = (_PCAP, _LONG, _AIMED, fixed(depth), _FORWARD, _LEARNING)
    return Load(f"Figure 8: {cap_w:g} W", jobs, ((0.0, cap_w),), settings)


LOADS = (
    _batch(9.0, 8),
    _batch(8.5, 4),
    _batch(8.0, 2),
    Load(
        "Figures 5, 6",
        [runs.job(128, duration=f"{runs.CAPS_END} s")],
        runs.CAPS,
        (_THROTTLE, _PCAP, _LONG, _AIMED, _FORWARD, _LEARNING),
    ),
)


def system(setting: Setting, caps: Sequence[tuple[float, float]]) -> System:
    """Return the system of a setting: its caps are those of the load less its aim."""
    policy, parameters = setting.policy
    lower = [(at, watts - setting.below_w) for at, watts in caps]
    # What is over counts against the cap of the load.
    tolerance = f"{runs.EPSILON_W + setting.below_w} W"
    capping = {"policy": policy, "parameters": dict(parameters), "caps": runs.caps(lower), "tolerance": tolerance}
    run = runs.run(setting.name, [], queues=(setting.depth, runs.OPEN[1]), capping=capping)
    table = cast("System", {**run.system})
    if setting.expiry:
        queue = runs.queue(setting.depth, runs.OPEN[1])
        queue["elevator_parameters"] = {"read_expire": setting.expiry}
        table["layers"] = [*table["layers"][:-1], queue]
    return table


#: How the numbers of a result are written: reads per second, time over the cap, p99.
FORMS = ("{} /s", "{} s over", "p99 {} ms")


def values(result: Mapping[str, Any]) -> list[float]:
    """Return the numbers of `FORMS`."""
    capping = result["capping"]
    p99_ms = 1e3 * float(capping["admitted_response_time_s"]["p99"])
    return [float(result["throughput_iops"]), float(capping["violation_s"]), p99_ms]


def measure(load: Load, seeds: Sequence[int]) -> dict[str, list[list[float]]]:
    """Return the numbers of each setting by seed."""
    found: dict[str, list[list[float]]] = {s.name: [] for s in load.settings}
    for seed in seeds:
        result = headstack.run(
            workload={"name": "random reads", "jobs": load.jobs},
            systems=[system(s, load.caps) for s in load.settings],
            seed=seed,
            log_requests=False,
        )
        for setting, of in zip(load.settings, result.document["systems"], strict=True):
            found[setting.name].append(values(of))
    return found


def cell(setting: Setting, rows: Sequence[Sequence[float]]) -> str:
    """Return the means of a setting with half of their 95 % confidence intervals."""
    texts = []
    for form, numbers in zip(FORMS, zip(*rows, strict=True), strict=True):
        mean, half = paired.interval(list(numbers))
        bar = f" ± {half:.0f}" if half == half else ""
        texts.append(form.format(f"{mean:.0f}{bar}"))
    depth = f" (depth {setting.depth})" if setting.name == FIXED else ""
    return ", ".join(texts) + depth


def row(load: Load, found: Mapping[str, Sequence[Sequence[float]]]) -> list[str]:
    """Return the cells of a load, in the order of `HEADINGS`."""
    settings = {s.name: s for s in load.settings}
    return [load.name, *(cell(settings[h], found[h]) if h in found else "" for h in HEADINGS)]


def lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the table in Markdown."""
    heads = ("load", *HEADINGS)
    return ["| " + " | ".join(r) + " |" for r in (heads, ["---"] * len(heads), *rows)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    given = parser.parse_args()
    seeds = range(1, given.seeds + 1)
    print("\n".join(lines([row(load, measure(load, seeds)) for load in LOADS])))


if __name__ == "__main__":
    main()
