"""What policies lose against the best fixed setting in hindsight, on simulated drives and loads.

``python -m headstack.papers.pcap.regret`` prints the second table of regret in
``docs/models/capping.md``. For each load all settings of a grid run without a policy: places,
depths and, with elevators that have one, an expiry of reads of 2 s. The fastest of which the mean
power is at most the cap is the best in hindsight. *Regret* is the part of its requests that a
policy did not serve.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, cast

import headstack
from headstack.schema import System, Workload

from . import runs

#: Places and depths of the fixed settings, and expiries of reads where the elevator has one.
#: The 3 s that `learning` has besides are its own gain.
PLACES, DEPTHS, EXPIRIES = (4, 16, 32, 64, 128), (1, 2, 4, 8, 16, 32), ("", "2 s")

#: Seconds without a cap, of each cap, and of each fixed setting after a tenth as long.
FREE_S, STRETCH_S, FIXED_S = 60, 150, 200

#: Caps, as parts of the range of power of the fixed settings, from the lowest.
PARTS = (0.7, 0.45, 0.2, 0.6)

#: The cap falls so often.
FALLS = 3

#: A range of power below this cannot be capped by queues, in watts.
LEAST_RANGE_W = 0.4


@dataclass(frozen=True)
class Load:
    """A load of a drive.

    Attributes:
        name: its name in the table.
        drive: the drive's file.
        elevator: of the host's queue.
        requests: changes of the random reads of 4 KiB.
        arrivals: open arrivals per second; 0: 128 threads of each drive.
        count: number of drives behind one meter.
    """

    name: str
    drive: str = runs.DRIVE
    elevator: str = "mq-deadline"
    requests: Mapping[str, Any] = field(default_factory=dict)
    arrivals: float = 0.0
    count: int = 1

    def has_expiry(self) -> bool:
        """Return whether the elevator has an expiry of reads."""
        return "deadline" in self.elevator

    def workload(self, seconds: float, warm_up_s: float = 0.0) -> Workload:
        """Return the load for so long."""
        bytes_of = headstack.drives.overview().set_index("name")["capacity_bytes"]
        footprint = int(bytes_of[self.drive]) * 99 // 100 // 4096 * 4096
        requests = {"reads": 1.0, "size": "4 KiB", "footprint": f"{footprint} B", **self.requests}
        table: dict[str, Any] = {"name": self.name}
        if warm_up_s:
            table["warm_up"] = f"{warm_up_s} s"
        if self.arrivals:
            n = int(self.arrivals * (seconds + warm_up_s))
            table["synthetic"] = {"n_requests": n, "rate": f"{self.arrivals:g}/s", **requests}
        else:
            job: dict[str, Any] = {"threads": 128, "think_time": runs.THINK, "requests": requests}
            job |= {"devices": self.count} if self.count > 1 else {}
            table["jobs"] = [{**job, "duration": f"{seconds + warm_up_s} s"}]
        return cast("Workload", table)

    def system(self, name: str, queues: tuple[int, int], expiry: str, capping: Mapping[str, Any]) -> System:
        """Return the drives with these places and depth."""
        queue: dict[str, Any] = {
            "name": "host-queue",
            "elevator": self.elevator,
            "nr_requests": queues[0],
            "depth": queues[1],
        }
        if expiry and self.has_expiry():
            queue["elevator_parameters"] = {"read_expire": expiry}
        layers = ["throttle", queue] if capping["policy"] in LIMITING else [queue]
        table = {"name": name, "drive": self.drive, "count": self.count, "layers": layers}
        return cast("System", {**table, "capping": {**runs.METER, **capping}})


_MIXED = {"reads": 0.7, "size": "16 KiB"}

#: Rows of the table.
LOADS = (
    Load("reads"),
    Load("70 % reads of 16 KiB", requests=_MIXED),
    Load("70 % reads, open arrivals, 100/s", requests={"reads": 0.7}, arrivals=100.0),
    Load("reads, open arrivals, 150/s", arrivals=150.0),
    Load("reads, `bfq`", elevator="bfq"),
    Load("reads, no elevator", elevator="none"),
    Load("reads, Exos X18", drive="exos-x18"),
    Load("reads, Constellation ES.3 4 TB", drive="constellation-es3-4tb"),
    Load("reads, WD Re 2 TB", drive="wd-re-2tb"),
    Load("reads, Barracuda ES 750 GB", drive="barracuda-es-750"),
    Load("reads, shelf of 16", count=16),
)


@dataclass(frozen=True)
class Policy:
    """A policy of the comparison; its own cap is lower by `below_w` for each drive."""

    name: str
    policy: str
    parameters: Mapping[str, Any]
    expiry: str = ""
    below_w: float = 0.0


#: Policies that get a throttle.
LIMITING = ("throttle", "learning")


def policies(count: int) -> list[Policy]:
    """Return the columns of the table for so many drives."""
    aim = runs.EPSILON_W
    mode: dict[str, Any] = {"mode": "throughput"}
    shared: dict[str, Any] = {}
    if count == 1:
        pcap, own = "pcap-agile", mode
    else:
        shared = {"efficiency": 1.0, "tolerance": f"{aim * count} W"}
        pcap, own = "pcap-s", shared
    first = [Policy("throttle", "throttle", {})] if count == 1 else []
    return [
        *first,
        Policy("PCAP", pcap, own),
        Policy("PCAP, 2 s, aim", pcap, own, "2 s", aim),
        Policy("feed-forward", "feed-forward", shared),
        Policy("learning", "learning", shared),
    ]


def _run(workload: Workload, systems: Sequence[System], seed: int) -> list[Mapping[str, Any]]:
    result = headstack.run(workload=workload, systems=systems, seed=seed, log_requests=False)
    return list(result.document["systems"])


def fixed(load: Load, seed: int) -> list[tuple[float, float]]:
    """Return power and throughput of each fixed setting."""
    capping = {"policy": "none"}
    expiries = EXPIRIES if load.has_expiry() else EXPIRIES[:1]
    systems = [
        load.system(f"{n}/{d}/{e}", (n, d), e, capping) for n in PLACES for d in DEPTHS for e in expiries if d <= n
    ]
    workload = load.workload(FIXED_S, FIXED_S / 10)
    return [(float(r["power_w"]["mean"]), float(r["throughput_iops"])) for r in _run(workload, systems, seed)]


def caps(settings: Sequence[tuple[float, float]]) -> list[float]:
    """Return the caps of a load, in watts."""
    least, most = min(w for w, _ in settings), max(w for w, _ in settings)
    return [round(least + part * (most - least), 2) for part in PARTS]


def best(settings: Sequence[tuple[float, float]], cap_w: float) -> float:
    """Return the throughput of the fastest setting of which the power is at most the cap."""
    return max(iops for watts, iops in settings if watts <= cap_w)


def measure(load: Load, policy: Policy, caps_w: Sequence[float], seed: int) -> list[list[float]]:
    """Return requests per second and seconds over the cap of each stretch."""
    lower = [(FREE_S + i * STRETCH_S, cap - policy.below_w * load.count) for i, cap in enumerate(caps_w)]
    capping = {"policy": policy.policy, "parameters": dict(policy.parameters), "caps": runs.caps(lower)}
    system = load.system(policy.name, (128, 32), policy.expiry, capping)
    workload = load.workload(FREE_S + STRETCH_S * len(caps_w))
    series = _run(workload, [system], seed)[0]["capping"]["series"]
    columns = [series[k] for k in ("t_s", "power_w", "throughput_iops")]
    found = []
    for i, cap in enumerate(caps_w):
        begin = FREE_S + i * STRETCH_S
        rows = [r for r in zip(*columns, strict=True) if begin < r[0] <= begin + STRETCH_S]
        over = sum(watts > cap + runs.EPSILON_W * load.count for _, watts, _ in rows)
        found.append([fmean(iops for *_, iops in rows), float(over)])
    return found


def row(load: Load, seeds: Sequence[int]) -> list[str]:
    """Return the cells of a load: caps, then regret and seconds over of each policy."""
    settings = fixed(load, 1000 + seeds[0])
    caps_w = caps(settings)
    if max(w for w, _ in settings) - min(w for w, _ in settings) < LEAST_RANGE_W * load.count:
        return [load.name, "queues change the power by less than 0.4 W", *[""] * len(policies(1))]
    most = sum(best(settings, cap) for cap in caps_w)
    cells = [load.name, ", ".join(f"{cap:g}" for cap in caps_w)]
    if load.count > 1:
        cells.append("")
    for policy in policies(load.count):
        outcomes = [measure(load, policy, caps_w, seed) for seed in seeds]
        regrets = [1 - sum(iops for iops, _ in o) / most for o in outcomes]
        over = [sum(s for _, s in o) for o in outcomes]
        cells.append(f"{100 * fmean(regrets):.1f} %, {fmean(over):.0f} s")
    return cells


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", default="", help="loads with this in their names")
    given = parser.parse_args()
    heads = ["drive and load", "caps (W)", *(p.name for p in policies(1))]
    print("| " + " | ".join(heads) + " |")
    print("| " + " | ".join(["---"] * len(heads)) + " |")
    for load in LOADS:
        if given.only in load.name:
            print("| " + " | ".join(row(load, range(1, given.seeds + 1))) + " |", flush=True)


if __name__ == "__main__":
    main()
