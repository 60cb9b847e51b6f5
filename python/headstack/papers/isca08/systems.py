"""Workloads and systems of the paper: its Table 2, and the drives that it compares.

MD is the array on which a trace was recorded; HC-SD is one large drive with the data of all drives
of MD, one after the other; SA(n) is HC-SD with n arm assemblies around the platters, and SA(1) is
HC-SD. A system has the same configuration in all claims: `Systems` makes them.

Drives with one arm assembly order their queues by address (C-LOOK), SA(n) with more by positioning
time (SPTF). The paper names SPTF for SA(n) only. Under SPTF a conventional drive is not bound by
rotation, and its share of requests with a seek is 80 to 85 % instead of the paper's 55 %.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from headstack import _bridge, drives
from headstack.papers.rules import Kind
from headstack.papers.runs import Run
from headstack.papers.study import Study
from headstack.schema import System, Workload
from headstack.schema.words import SchedulerName
from headstack.schema.workload import Synthetic

#: The large drive of the paper.
LARGE = "barracuda-es-750"

#: Its speed. In the paper, names of designs with this speed do not contain it.
FULL_RPM = 7200

#: Mean rate of the whole Websearch trace, requests/s. The rate of its first minute is higher; the
#: paper's 55 % of requests with a seek occur only near this rate.
WEBSEARCH_RATE = 297.0


@dataclass(frozen=True)
class Original:
    """A workload and the array on which it was recorded: a row of the paper's Table 2.

    Attributes:
        title: the paper's name for it.
        drive: the array's drive.
        count: number of drives.
        capacity_gb: capacity of each drive, 10^9 bytes.
        requests: number in the whole trace.
        stand_in: synthetic workload, used without the trace.
    """

    title: str
    drive: str
    count: int
    capacity_gb: float
    requests: int
    stand_in: Mapping[str, Any]


#: Table 2. The stand-ins have the array's number of devices and, if published, the rate. All other
#: values are chosen, because the paper does not state them.
ORIGINALS = {
    # 5.3 million requests in 12 hours, 77 % writes: statistics published with the trace.
    "financial": Original(
        "Financial",
        "cheetah-10k-19g",
        24,
        19.07,
        5_334_945,
        {
            "reads": 0.23,
            "sequential": 0.1,
            "local": 0.3,
            "size": {"distribution": "exponential", "mean": "3.5 KiB"},
            "rounding": "up",
            "block": "512 B",
            "rate": "122/s",
            "devices": 24,
            "footprint": "19 GB",
        },
    ),
    # Similar to the first minute of the trace: reads of 8 to 32 KiB on the first three of six
    # drives, 58 % of them within 1 MB of a recent one. HC-SD can carry this rate.
    "websearch": Original(
        "Websearch",
        "cheetah-10k-19g",
        6,
        19.07,
        4_579_809,
        {
            "reads": 1.0,
            "local": 0.58,
            "local_distance": {"deviation": "1 MB"},
            "size": {"distribution": "uniform", "min": "8 KiB", "max": "24 KiB"},
            "rounding": "up",
            "block": "8 KiB",
            "rate": "190/s",
            "devices": 3,
            "footprint": "17 GB",
        },
    ),
    # 20 warehouses on four drives; the rate is low for four drives and near the limit of one.
    "tpc-c": Original(
        "TPC-C",
        "cheetah-10k-37g",
        4,
        37.17,
        6_155_547,
        {"reads": 0.66, "local": 0.3, "size": "4 KiB", "rate": "170/s", "devices": 4, "footprint": "5 GB"},
    ),
    # One request every 8.76 ms (section 7.1). Sizes and the share of sequential reads are fitted to
    # the means of MD and HC-SD, 3.99 and 4.86 ms.
    "tpc-h": Original(
        "TPC-H",
        "server-7200-36g",
        15,
        35.96,
        4_228_725,
        {
            "reads": 0.97,
            "sequential": 0.79,
            "size": "8 KiB",
            "interarrival": {"distribution": "exponential", "mean": "8.76 ms"},
            "devices": 15,
            "footprint": "35 GB",
        },
    ),
}


@dataclass(frozen=True)
class Choices:
    """Choices that the paper leaves open and that affect verdicts.

    Attributes:
        conventional: scheduler of drives with one arm assembly, including MD's.
        rate: rate of Websearch, requests/s; 0 for the trace's own.
        stretch: the part of a trace that is used, as shares of its requests.
        footprint: size of the volume of an array; empty for its whole capacity.
        profile: name of the power model's constants; with ", arms" each further arm adds 1.5 W.
        local: share of the stand-ins' requests near a recent one; None for each one's own.
        streams: interleaved streams on each drive in Websearch's stand-in; 0 for none.
        seed: seed of every random stream.
    """

    conventional: SchedulerName = "c-look"
    rate: float = WEBSEARCH_RATE
    stretch: Sequence[float] = ()
    footprint: str = "100 GB"
    profile: str = "table-1"
    local: float | None = None
    streams: int = 0
    seed: int = 1


@dataclass(frozen=True)
class Load:
    """A workload in the form in which it is run.

    Attributes:
        key: its key in `ORIGINALS`.
        title: the paper's name, with a mark if it is a stand-in or a part of the trace.
        table: the workload's table in the experiment.
        stand_in: whether it is not the paper's workload but only resembles it.
        rate: mean arrivals, requests/s.
        note: a remark for readers.
        seed: seed of every random stream.
    """

    key: str
    title: str
    table: Workload
    stand_in: bool
    rate: float
    note: str = ""
    seed: int = 1

    def marks(self, results: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Return the marks of the parts of a claim that compare these results."""
        behind = [name for name, r in results.items() if not keeps_up(r)]
        note = f"{', '.join(behind)}: {BEHIND}" if behind else ""
        kind = Kind.STAND_IN if self.stand_in else Kind.RESULT
        return {"kind": kind, "workload": ORIGINALS[self.key].title, "note": note}


#: Remark on an overloaded system.
BEHIND = "overloaded, so the mean grows with the length of the run"


def keeps_up(result: Mapping[str, Any]) -> bool:
    """Return whether a system carried its load, by the mark in its result."""
    return not result["overloaded"]


def load(study: Study, key: str) -> Load:
    """Return a workload: its trace if there is one, else the stand-in."""
    if key in study.traces:
        return _recorded(study, key, study.traces[key])
    original, choices = ORIGINALS[key], study.choices
    count = 20_000 if study.quick else 200_000
    title = f"{original.title} (stand-in)"
    if choices.streams and key == "websearch":
        rate = choices.rate or WEBSEARCH_RATE
        streams = _streams(original, choices.streams, rate, count)
        return Load(key, title, streams, True, rate, "", choices.seed)
    most = 1.0 - original.stand_in.get("sequential", 0.0)
    places = {} if choices.local is None else {"local": min(choices.local, most)}
    table: Workload = {
        "name": key,
        "synthetic": cast("Synthetic", {**original.stand_in, **places, "n_requests": count}),
        "device_blocks": _blocks(original),
    }
    return Load(key, title, table, True, _stand_in_rate(original), "", choices.seed)


def _streams(original: Original, streams: int, rate: float, count: int) -> Workload:
    """Return a stand-in each of whose streams goes on near its own last request, as threads do.

    As in Websearch's first minute 58 % are near a recent one. That a tenth continues it was
    selected of four shares: with it 4 and 16 streams give MD and SA(n) that minute's means to 7 %.
    """
    like = original.stand_in
    requests = {k: like[k] for k in ("reads", "local_distance", "size", "rounding", "block")}
    requests |= {"sequential": 0.1, "local": 0.48, "footprint": like["footprint"]}
    gap = {"distribution": "exponential", "mean": f"{like['devices'] * streams / rate} s"}
    job = {"threads": streams, "devices": like["devices"], "think_time": gap, "blocking": 0.0}
    jobs = [{**job, "duration": f"{count / rate} s", "requests": requests}]
    sizes = [_blocks(original)] * original.count
    return cast("Workload", {"name": "websearch", "jobs": jobs, "device_blocks": sizes})


def _stand_in_rate(original: Original) -> float:
    if "rate" in original.stand_in:
        return float(original.stand_in["rate"].removesuffix("/s"))
    return 1e3 / float(original.stand_in["interarrival"]["mean"].removesuffix(" ms"))


def _blocks(original: Original) -> int:
    return int(original.capacity_gb * 1e9) // 512


def loads(study: Study, *keys: str) -> list[Load]:
    """Return workloads, by default all of them; if a choice is varied, only those that count."""
    wanted = keys or tuple(ORIGINALS)
    if study.varied and set(wanted) & study.traces.keys():
        wanted = tuple(k for k in wanted if k in study.traces)
    if study.choices.streams:
        wanted = tuple(k for k in wanted if k == "websearch")
    return [load(study, key) for key in wanted]


def _recorded(study: Study, key: str, path: Path) -> Load:
    original, choices = ORIGINALS[key], study.choices
    info = _info(path, path.stat().st_mtime_ns)
    rate, requests = float(info["rate_per_s"]), int(info["n_requests"])
    table: Workload = {"name": key, "trace": str(path), "device_blocks": _blocks(original)}
    note = ""
    wanted = choices.rate if key == "websearch" and choices.rate else rate
    scale = round(rate / wanted, 2)
    if abs(scale - 1.0) > 0.02:
        table["time_scale"] = scale
        rate /= scale
        note = f"gaps times {scale:g}, {rate:.0f} requests/s"
    if choices.stretch:
        first, end = (round(share * requests) for share in choices.stretch)
        table |= {"skip": first, "count": end - first, "start_at_zero": True}
    if study.quick:
        table["count"] = min(table.get("count", QUICK), QUICK)
    title = original.title if requests >= original.requests else f"{original.title} (prefix)"
    return Load(key, title, table, False, rate, note, choices.seed)


#: Requests of a trace in a quick run.
QUICK = 100_000


@cache
def _info(path: Path, _: int) -> dict[str, Any]:
    """Return the description of a trace; its time of modification is part of the cache key."""
    info: dict[str, Any] = _bridge.call("trace_info", str(path), None, "fail")
    return info


@dataclass(frozen=True)
class Systems:
    """All systems of the paper, each in its one configuration under some choices."""

    choices: Choices

    def scheduler(self, arms: int) -> SchedulerName:
        """Return the scheduler of a drive with this number of arm assemblies."""
        return self.choices.conventional if arms == 1 else "sptf"

    def _power(self) -> dict[str, Any]:
        profile, _, arms = self.choices.profile.partition(", ")
        named = {} if profile == "main" else {"power.profile": profile}
        return {**named, "power.per_extra_arm": "1.5 W"} if arms else named

    def md(self, key: str) -> System:
        """Return the array on which the workload was recorded."""
        original = ORIGINALS[key]
        return {
            "name": "MD",
            "drive": original.drive,
            "count": original.count,
            "organisation": "independent",
            "scheduler": self.scheduler(1),
            "set": self._power(),
        }

    def hc_sd(self, name: str = "HC-SD", **changes: Any) -> System:
        """Return the conventional large drive; `changes` are keys of a system."""
        return self._large(name, 1, changes)

    def sa(self, arms: int, rpm: int = FULL_RPM, name: str | None = None, **changes: Any) -> System:
        """Return HC-SD-SA(n), optionally at a lower speed; SA(1) is HC-SD, by its DASH name."""
        own = f"SA({arms})" if rpm == FULL_RPM else f"SA({arms})/{rpm}"
        if rpm != FULL_RPM:
            changes["set"] = {**slower(rpm), **changes.get("set", {})}
        return self._large(name or own, arms, {"dash": dash(arms), **changes})

    def _large(self, name: str, arms: int, changes: Mapping[str, Any]) -> System:
        whole = {
            "name": name,
            "drive": LARGE,
            "organisation": "concatenate",
            "scheduler": self.scheduler(arms),
            **changes,
            "set": {**self._power(), **changes.get("set", {})},
        }
        return cast("System", whole)


#: The systems with the default choices.
TAKEN = Systems(Choices())


def dash(arms: int) -> str:
    """Return the taxonomy's name of a drive with this number of arm assemblies."""
    return f"D1A{arms}S1H1"


def slower(rpm: int) -> dict[str, Any]:
    """Return the changes for a lower speed: the same tracks, and skews of the same duration."""
    geometry = drives.load(LARGE)["geometry"]
    scale = rpm / float(geometry["rotation_speed"].removesuffix(" rpm"))
    changes: dict[str, Any] = {"geometry.rotation_speed": f"{rpm} rpm"}
    offset = 0.0
    for i, zone in enumerate(geometry["zones"]):
        key = f"geometry.zones[{i}]"
        track, cylinder = zone["track_skew"] * scale, zone["cylinder_skew"] * scale
        changes[f"{key}.track_skew"] = track
        changes[f"{key}.cylinder_skew"] = cylinder
        # Continues the skew of the zone before.
        changes[f"{key}.offset"] = offset % 1.0
        cylinders = zone["last_cylinder"] - zone["first_cylinder"] + 1
        offset += cylinders * ((geometry["surfaces"] - 1) * track + cylinder)
    return changes


def runs(load: Load, *systems: System, rotation: bool = False) -> list[Run]:
    """Return one run of each system on the workload."""
    return [Run(load.table, system, rotation, load.seed) for system in systems]


def mean_ms(result: Mapping[str, Any]) -> float:
    """Mean response time in ms."""
    return float(result["response_time_s"]["mean"]) * 1e3


def within(result: Mapping[str, Any], seconds: float) -> float:
    """Share of requests answered within this time."""
    return max((f for t, f in result["response_time_cdf"] if t <= seconds), default=0.0)


def nonzero_seeks(result: Mapping[str, Any]) -> float:
    """Share of the requests that reached the mechanism for which the arm moved."""
    return float(result["nonzero_seek_ratio"]) / (1.0 - float(result["cache_hit_ratio"]))


def mode_share(result: Mapping[str, Any], mode: str) -> float:
    """Share of time of the system's drives in a mode."""
    times = [d["time_s"] for d in result["drives"]]
    return sum(float(t[mode]) for t in times) / sum(sum(map(float, t.values())) for t in times)


def idle_share(result: Mapping[str, Any]) -> float:
    """Share of a system's energy in idle drives."""
    return watts(result, "idle") / watts(result)


def watts(result: Mapping[str, Any], mode: str = "mean") -> float:
    """Mean power of all drives of a system, or the part of a mode in it."""
    return float(result["power_w"][mode])
