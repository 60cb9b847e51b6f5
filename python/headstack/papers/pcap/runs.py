"""Runs of the paper's set-up: fio's threads over a host queue, a SATA drive, a meter and caps."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import pandas as pd

from headstack.papers.runs import Run
from headstack.papers.study import Study
from headstack.schema import System, Workload
from headstack.schema.capping import Cap
from headstack.schema.layers import LayerHostQueue
from headstack.schema.words import ElevatorName
from headstack.schema.workload import Job

#: The drive of the paper, HDD-C of its Figure 1.
DRIVE = "ultrastar-7k4000-pcap"

#: Bytes of the drive; requests go to all of them.
CAPACITY = 4_000_787_030_016

#: Time from the end of a request to the next one of its thread. A process that waited for a place
#: in the host's queue submits a little earlier, so that the places go to waiting processes.
THINK, WAKE = "60 us", "50 us"

#: The meter: one value a second in tenths of a watt.
METER = {"noise": "0.05 W", "resolution": "0.1 W"}

#: Tolerance of Table 1: a power above cap plus tolerance is a violation.
EPSILON_W = 0.2

#: Caps of Figures 4 to 6, watts by seconds after the load has begun (minute 5 of the paper). The
#: text has the caps up to minute 25. The later ones were chosen from six guesses, because they give
#: the three means of the text.
CAPS = ((300, 9.0), (600, 8.5), (900, 7.5), (1200, 10.5), (1500, 9.5), (1800, 9.0), (2100, 10.0))
CAPS_END = 2400

#: Laws of the energy of seeks that give the powers of the text, as changes of the drive's power:
#: its own, and one in which the arm needs no power while it coasts.
LAWS: Mapping[str, Mapping[str, Any]] = {
    "coast from the end of acceleration": {},
    "coasting is free": {
        "acceleration_power": "1.444 W",
        "acceleration_time": "8.0254 ms",
        "speed_energy": "55.7 mJ",
        "coast_power": "0 W",
        "coast_from": 0.40,
    },
}

#: Queues of the system, and the shortest ones, as (drive, host).
OPEN, START = (32, 128), (1, 4)


def job(threads: int = 128, *, footprint: str = f"{CAPACITY} B", **more: Any) -> Job:
    """Return threads that read 4 KiB at random places of the first `footprint` of the drive."""
    requests = {"reads": 1.0, "size": "4 KiB", "footprint": footprint}
    return cast("Job", {"threads": threads, "think_time": THINK, "requests": requests, **more})


def queue(drive: int, host: int, elevator: ElevatorName = "deadline") -> LayerHostQueue:
    """Return a host queue with these numbers of places and of commands at the drive."""
    return {
        "name": "host-queue",
        "elevator": elevator,
        "places": "legacy",
        "nr_requests": host,
        "depth": drive,
        "merge": False,
        "wake_time": WAKE,
    }


def caps(schedule: Sequence[tuple[float, float | None]]) -> list[Cap]:
    """Return a schedule of caps in watts as an experiment has it."""
    return [{"at": f"{at} s"} if watts is None else {"at": f"{at} s", "cap": f"{watts} W"} for at, watts in schedule]


def run(
    name: str,
    jobs: Sequence[Job],
    *,
    queues: tuple[int, int] = OPEN,
    throttle: Mapping[str, Any] | None = None,
    capping: Mapping[str, Any] | None = None,
    warm_up_s: float = 0.0,
    count: int = 1,
    drive: Any = DRIVE,
    system: Mapping[str, Any] | None = None,
    elevator: ElevatorName = "deadline",
    seed: int = 1,
) -> Run:
    """Return a run of jobs on one or more drives, each under a queue and perhaps a throttle."""
    workload: Workload = {"name": "random reads", "jobs": list(jobs)}
    if warm_up_s:
        workload["warm_up"] = f"{warm_up_s} s"
    has_limit = throttle is not None or (capping or {}).get("policy") == "throttle"
    limit = [{"name": "throttle", **(throttle or {})}] if has_limit else []
    table: dict[str, Any] = {
        "name": name,
        "drive": drive,
        "count": count,
        "layers": [*limit, queue(*queues, elevator)],
        **(system or {}),
    }
    if capping is not None:
        table["capping"] = {**METER, "tolerance": f"{EPSILON_W} W", **capping}
    return Run(workload, cast("System", table), seed=seed)


def of(study: Study, wanted: Iterable[Run]) -> dict[str, dict[str, Any]]:
    """Return the results of runs by name, with the drive as the study's choices have it."""
    c = study.choices
    changes = {f"power.seek_energy.{key}": value for key, value in LAWS[c.law].items()}
    if c.channel != "1 s":
        changes["power.conditions.idle_a.timer"] = c.channel
    if not changes:
        return study.run(wanted)

    def changed(run: Run) -> Run:
        if run.system["drive"] != DRIVE:
            return run
        own = {**run.system.get("set", {}), **changes}
        return replace(run, system=cast("System", {**run.system, "set": own}))

    return study.run(map(changed, wanted))


def settled(
    name: str,
    seconds: float,
    threads: int = 128,
    *,
    warm_up_s: float = 30.0,
    footprint: str = f"{CAPACITY} B",
    **more: Any,
) -> Run:
    """Return a run of constant random load, measured for `seconds` after the warm-up."""
    jobs = [job(threads, footprint=footprint, duration=f"{warm_up_s + seconds} s")]
    return run(name, jobs, warm_up_s=warm_up_s, **more)


def capped(
    name: str,
    policy: str,
    parameters: Mapping[str, Any],
    schedule: Sequence[tuple[float, float | None]] = CAPS,
    *,
    threads: int = 128,
    seconds: float = CAPS_END,
    seed: int = 1,
    **more: Any,
) -> Run:
    """Return a run of constant random load under a schedule of caps."""
    capping = {"policy": policy, "parameters": dict(parameters), "caps": caps(schedule)}
    jobs = more.pop("jobs", None) or [job(threads, duration=f"{seconds} s")]
    return run(name, jobs, capping=capping, seed=seed, **more)


#: A policy and its parameters.
Policy = tuple[str, dict[str, Any]]


def throughput(start: tuple[int, int], snap_back: str = "drive") -> Policy:
    """Return the throughput mode with its queues at the start."""
    drive, host = start
    begin = {"start_nr_requests": host, "start_queue_depth": drive}
    snap = {} if snap_back == "drive" else {"snap_back": snap_back}
    return "pcap-agile", {"mode": "throughput", **begin, **snap}


#: The other policies of Figures 4 to 6.
TAIL: Policy = ("pcap-agile", {"mode": "tail-latency"})
BASE: Policy = ("pcap-base", {})
THROTTLE: Policy = ("throttle", {})

#: No policy: the queues of the system.
NONE: Policy = ("none", {})


def modes(choices: Any, start: tuple[int, int]) -> dict[str, Policy]:
    """Return both modes of PCAP; `start` has the queues where the throughput mode begins."""
    return {"throughput": throughput(start, choices.snap_back), "tail-latency": TAIL}


def cap_name(watts: float | None) -> str:
    """Return what a cap is called."""
    return "no cap" if watts is None else f"{watts:g} W"


def under(choices: Any, watts: float | None, jobs: Sequence[Job], load: str = "") -> Run:
    """Return a run of Figures 7 to 9: the throughput mode under one cap, or the system without."""
    policy = NONE if watts is None else modes(choices, choices.open_start)["throughput"]
    schedule = () if watts is None else ((0.0, watts),)
    return capped(f"{load}{cap_name(watts)}", *policy, schedule, jobs=jobs, seed=choices.seed)


def mean(result: Mapping[str, Any], column: str, start_s: float, end_s: float) -> float:
    """Return the mean of a column of the capping series over a time."""
    series = result["capping"]["series"]
    chosen = [v for t, v in zip(series["t_s"], series[column], strict=True) if start_s < t <= end_s and v is not None]
    return float(sum(chosen) / len(chosen))


#: Most points of a curve over time.
MOST = 600


def course(results: Mapping[str, Mapping[str, Any]], columns: Mapping[str, str], minutes: float = 0.0) -> pd.DataFrame:
    """Return columns of the capping series over time: ``run, of, minutes, value``.

    Args:
        results: results by the name of the run.
        columns: what the columns of the series are called.
        minutes: added to the times.
    """
    return pd.DataFrame(
        [
            {"run": name, "of": of, "minutes": t, "value": v}
            for name, result in results.items()
            for column, of in columns.items()
            for t, v in means(result["capping"]["series"], column, minutes)
        ]
    )


def means(
    series: Mapping[str, Sequence[Any]], column: str | Sequence[float], minutes: float = 0.0
) -> list[tuple[float, float]]:
    """Return pairs of minutes and values, as means of equal pieces so that no point is chosen."""
    values = series[column] if isinstance(column, str) else column
    both = [(t / 60 + minutes, v) for t, v in zip(series["t_s"], values, strict=True) if v is not None]
    step = max(1, -(-len(both) // MOST))
    pieces = [both[i : i + step] for i in range(0, len(both), step)]
    return [(sum(t for t, _ in piece) / len(piece), sum(v for _, v in piece) / len(piece)) for piece in pieces]
