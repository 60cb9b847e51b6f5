"""What queues, the expiry of reads and the aim below the cap do, each alone, under caps.

``python -m headstack.studies.pcap.effects`` prints the tables of ``docs/models/capping.md``: each
row adds one thing to the row before it. The last rows are a setting that never changes, and
feed-forward.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import headstack
from headstack import paired

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


_PCAP = Setting("PCAP", ours.PCAP_OPEN[1:])
_LONG = replace(_PCAP, name="PCAP, expiry of 2 s", expiry=EXPIRY)
_AIMED = replace(_LONG, name="PCAP, expiry of 2 s, aim 0.2 W below the cap", below_w=AIM_W)
_FORWARD = Setting("feed-forward", ours.OURS[1:])


def fixed(depth: int) -> Setting:
    """Return the setting of the long expiry with this depth, which nothing changes."""
    return Setting(f"fixed: expiry of 2 s, depth {depth}", runs.NONE, EXPIRY, depth)


@dataclass(frozen=True)
class Load:
    """A load under caps, and the settings that are compared on it, each with the one before."""

    name: str
    jobs: Sequence[Mapping[str, Any]]
    caps: Sequence[tuple[float, float]]
    settings: Sequence[Setting]


def _batch(cap_w: float, depth: int) -> Load:
    jobs = [runs.job(128, volume=f"{loads.BATCH_BYTES} B")]
    settings = (_PCAP, _LONG, _AIMED, fixed(depth), _FORWARD)
    return Load(f"Figure 8: {cap_w:g} W", jobs, ((0.0, cap_w),), settings)


LOADS = (
    _batch(9.0, 8),
    _batch(8.5, 4),
    _batch(8.0, 2),
    Load(
        "Figures 5, 6",
        [runs.job(128, duration=f"{runs.CAPS_END} s")],
        runs.CAPS,
        (Setting("throttling", runs.THROTTLE), _PCAP, _LONG, _AIMED, _FORWARD),
    ),
)


def system(setting: Setting, caps: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Return the system of a setting: its caps are those of the load less its aim."""
    policy, parameters = setting.policy
    lower = [(at, watts - setting.below_w) for at, watts in caps]
    capping = {"policy": policy, "parameters": dict(parameters), "caps": runs.caps(lower)}
    run = runs.run(setting.name, [], queues=(setting.depth, runs.OPEN[1]), capping=capping)
    table = {**run.system}
    if setting.expiry:
        layers = [dict(layer) for layer in table["layers"]]
        layers[-1]["elevator_parameters"] = {"read_expire": setting.expiry}
        table["layers"] = layers
    return table


#: Numbers of a result: heading and form.
COLUMNS = (
    ("reads/s", "{:.0f}"),
    ("p99 (ms)", "{:.0f}"),
    ("over (s)", "{:.0f}"),
    ("mean (W)", "{:.2f}"),
)


def values(result: Mapping[str, Any], setting: Setting) -> list[float]:
    """Return the numbers of `COLUMNS`; the time over counts against the cap of the load."""
    capping = result["capping"]
    series = capping["series"]
    bound = setting.below_w + runs.EPSILON_W
    over = sum(
        w > cap + bound
        for w, cap in zip(series["power_w"], series["cap_w"], strict=True)
        if w is not None and cap is not None
    )
    return [
        result["throughput_iops"],
        1e3 * capping["admitted_response_time_s"]["p99"],
        float(over),
        capping["power_mean_w"],
    ]


def measure(load: Load, seeds: Sequence[int]) -> dict[str, list[list[float]]]:
    """Return the numbers of each setting by seed."""
    found: dict[str, list[list[float]]] = {s.name: [] for s in load.settings}
    for seed in seeds:
        result = headstack.run(
            workload={"name": "random reads", "jobs": [dict(j) for j in load.jobs]},
            systems=[system(s, load.caps) for s in load.settings],
            seed=seed,
            log_requests=False,
        )
        for setting, of in zip(load.settings, result.document["systems"], strict=True):
            found[setting.name].append(values(of, setting))
    return found


def table(load: Load, found: Mapping[str, Sequence[Sequence[float]]]) -> list[str]:
    """Return the lines of a table in Markdown: means with their 95 % confidence intervals."""
    lines = [f"| {load.name} | " + " | ".join(title for title, _ in COLUMNS) + " |"]
    lines.append("|---" * (len(COLUMNS) + 1) + "|")
    for name, rows in found.items():
        cells = []
        for (_, form), numbers in zip(COLUMNS, zip(*rows, strict=True), strict=True):
            mean, half = paired.interval(list(numbers))
            cells.append(form.format(mean) + (f" ± {form.format(half)}" if half == half else ""))
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    given = parser.parse_args()
    for load in LOADS:
        print("\n".join(table(load, measure(load, range(1, given.seeds + 1)))), flush=True)
        print()


if __name__ == "__main__":
    main()
