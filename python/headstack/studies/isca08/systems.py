"""Workloads and systems of the paper: its Table 2, and the drives that it compares.

MD is the array that a trace was taken from; HC-SD is one large drive that holds the data of all of
MD's drives, one after the other; SA(n) is HC-SD with n arm assemblies round the platters.

The large conventional drive orders its queue by address (C-LOOK), as MD does; SA(n) orders it by
positioning time (SPTF). The paper names SPTF for SA(n) only. Under SPTF a conventional drive is not
bound by rotation, and its share of requests with a seek is 80 to 85 % instead of the paper's 55 %.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headstack import _bridge, drives
from headstack.errors import ConfigError
from headstack.studies.runs import Run
from headstack.studies.study import STAND_IN, Study

#: The large drive of the paper.
LARGE = "barracuda-es-750"

#: Mean rate of the whole Websearch trace, requests/s. Its first minute is quicker; the paper's
#: 55 % of requests with a seek hold near this rate only.
WEBSEARCH_RATE = 297.0


@dataclass(frozen=True)
class Original:
    """A workload and the array that it was taken from: a row of the paper's Table 2.

    Attributes:
        title: the paper's name of it.
        drive: the array's drive.
        count: how many of them.
        capacity_gb: of each drive, 10^9 bytes.
        stand_in: synthetic workload for those who have no trace.

    """

    title: str
    drive: str
    count: int
    capacity_gb: float
    stand_in: Mapping[str, Any]


#: Table 2. The stand-ins have the array's number of devices and, where it was published, the rate;
#: all other values are chosen: the paper prints none.
ORIGINALS = {
    # 5.3 million requests in 12 hours, 77 % writes: statistics published with the trace.
    "financial": Original(
        "Financial",
        "cheetah-10k-19g",
        24,
        19.07,
        {
            "reads": 0.23,
            "sequential": 0.1,
            "local": 0.3,
            "size": {"distribution": "exponential", "mean": "3.5 KiB"},
            "block": "512 B",
            "rate": "122/s",
            "devices": 24,
            "footprint": "19 GB",
        },
    ),
    # The measured prefix: reads of 8 to 32 KiB on the first three of six drives, 58 % of them
    # within 1 MB of a recent one.
    "websearch": Original(
        "Websearch",
        "cheetah-10k-19g",
        6,
        19.07,
        {
            "reads": 1.0,
            "local": 0.58,
            "local_distance": {"deviation": "1 MB"},
            "size": {"distribution": "uniform", "min": "8 KiB", "max": "24 KiB"},
            "block": "8 KiB",
            "rate": f"{WEBSEARCH_RATE:g}/s",
            "devices": 3,
            "footprint": "17 GB",
        },
    ),
    # 20 warehouses on four drives; a rate that four drives carry with ease and one barely.
    "tpc-c": Original(
        "TPC-C",
        "cheetah-10k-37g",
        4,
        37.17,
        {
            "reads": 0.66,
            "local": 0.3,
            "size": "4 KiB",
            "rate": "170/s",
            "devices": 4,
            "footprint": "5 GB",
        },
    ),
    # One request each 8.76 ms (section 7.1); nearly sequential reads, without which no drive of
    # 7200 rpm answers in the paper's 3.99 and 4.86 ms.
    "tpc-h": Original(
        "TPC-H",
        "server-7200-36g",
        15,
        35.96,
        {
            "reads": 0.97,
            "sequential": 0.8,
            "size": "16 KiB",
            "interarrival": {"distribution": "exponential", "mean": "8.76 ms"},
            "devices": 15,
            "footprint": "35 GB",
        },
    ),
}


@dataclass(frozen=True)
class Load:
    """A workload as it is run.

    Attributes:
        key: as in `ORIGINALS`.
        title: the paper's name, with a mark if it is a stand-in.
        table: of the experiment.
        stand_in: whether it only resembles the paper's.
        note: what a reader must know of it.

    """

    key: str
    title: str
    table: Mapping[str, Any]
    stand_in: bool
    note: str

    @property
    def marks(self) -> dict[str, Any]:
        """How parts of a claim are marked that were judged on it."""
        return {"note": self.note if self.stand_in else "", "counts": not self.stand_in}


def shared_prefix() -> Path | None:
    """Return the first minute of Websearch in MQSim's columns, if it is where tests look for it.

    It may not be distributed with the simulator. It is looked for under ``$HEADSTACK_SHARED``, and
    in a folder ``shared`` beside the source tree.
    """
    roots = [Path(__file__).resolve().parents[5] / "shared"]
    if os.environ.get("HEADSTACK_SHARED"):
        roots.insert(0, Path(os.environ["HEADSTACK_SHARED"]))
    files = [root / "data" / "traces" / "wsrch-small.trace" for root in roots]
    return next((f for f in files if f.is_file()), None)


def load(study: Study, key: str, time_scale: float | None = None) -> Load:
    """Return a workload: the user's trace, for Websearch the prefix, else the stand-in.

    `time_scale` replaces the one that brings Websearch to `WEBSEARCH_RATE`.
    """
    original = ORIGINALS[key]
    blocks = int(original.capacity_gb * 1e9) // 512
    path, title = study.traces.get(key), original.title
    if path is None and key == "websearch":
        path, title = shared_prefix(), f"{title} (prefix)"
    if path is None:
        count = 20_000 if study.quick else 200_000
        stand_in = {**original.stand_in, "n_requests": count}
        table: dict[str, Any] = {"name": key, "synthetic": stand_in, "device_blocks": blocks}
        if time_scale is not None:
            raise ConfigError(f"{key}: got a time scale for a stand-in, need a trace")
        return Load(key, f"{original.title} (stand-in)", table, True, STAND_IN)
    table = {"name": key, "trace": str(path), "device_blocks": blocks}
    note = ""
    if key == "websearch":
        rate = _rate(path)
        scale = round(rate / WEBSEARCH_RATE, 2) if time_scale is None else time_scale
        if abs(scale - 1.0) > 0.02:
            table["time_scale"] = scale
            note = f"gaps times {scale:g}, {rate / scale:.0f} requests/s"
    if study.quick:
        table["count"] = 100_000
    return Load(key, title, table, False, note)


def _rate(path: Path) -> float:
    info = _bridge.call("trace_info", str(path), None, "fail")
    return float(info["rate_per_s"])


def md(key: str, scheduler: str = "c-look") -> dict[str, Any]:
    """Return the array that the workload was taken from."""
    original = ORIGINALS[key]
    return {
        "name": "MD",
        "drive": original.drive,
        "count": original.count,
        "organisation": "independent",
        "scheduler": scheduler,
    }


def large(name: str, scheduler: str, **changes: Any) -> dict[str, Any]:
    """Return one large drive that holds all of MD's data; `changes` are keys of a system."""
    return {
        "name": name,
        "drive": LARGE,
        "organisation": "concatenate",
        "scheduler": scheduler,
        **changes,
    }


def hc_sd(name: str = "HC-SD", scheduler: str = "c-look", **changes: Any) -> dict[str, Any]:
    """Return the conventional large drive."""
    return large(name, scheduler, **changes)


def dash(arms: int) -> str:
    """Return the taxonomy's name of a drive with so many arm assemblies."""
    return f"D1A{arms}S1H1"


def sa(arms: int, rpm: int = 7200, **changes: Any) -> dict[str, Any]:
    """Return HC-SD-SA(n), at a lower speed if wanted."""
    name = f"SA({arms})" if rpm == 7200 else f"SA({arms})/{rpm}"
    changes = {"dash": dash(arms), **changes}
    if rpm != 7200:
        changes["set"] = {**slower(rpm), **changes.get("set", {})}
    return large(changes.pop("name", name), changes.pop("scheduler", "sptf"), **changes)


def slower(rpm: int) -> dict[str, Any]:
    """Return what a lower speed changes: the same tracks, and skews that last as long as before."""
    geometry = drives.load(LARGE)["geometry"]
    scale = rpm / float(geometry["rotation_speed"].removesuffix(" rpm"))
    changes: dict[str, Any] = {"geometry.rotation_speed": f"{rpm} rpm"}
    offset = 0.0
    for i, zone in enumerate(geometry["zones"]):
        key = f"geometry.zones[{i}]"
        track, cylinder = zone["track_skew"] * scale, zone["cylinder_skew"] * scale
        changes[f"{key}.track_skew"] = track
        changes[f"{key}.cylinder_skew"] = cylinder
        # Where the zone before left off.
        changes[f"{key}.offset"] = offset % 1.0
        cylinders = zone["last_cylinder"] - zone["first_cylinder"] + 1
        offset += cylinders * ((geometry["surfaces"] - 1) * track + cylinder)
    return changes


def runs(load: Load, *systems: Mapping[str, Any], rotation: bool = False) -> list[Run]:
    """Return one run of each system on the workload."""
    return [Run(load.table, system, rotation) for system in systems]


def mean_ms(result: Mapping[str, Any]) -> float:
    """Mean response time in ms."""
    return float(result["response_time_s"]["mean"]) * 1e3


def within(result: Mapping[str, Any], seconds: float) -> float:
    """Share of requests answered within a time."""
    return max((f for t, f in result["response_time_cdf"] if t <= seconds), default=0.0)


def nonzero_seeks(result: Mapping[str, Any]) -> float:
    """Share of the requests that reached the mechanism for which the arm moved."""
    return float(result["nonzero_seek_ratio"]) / (1.0 - float(result["cache_hit_ratio"]))


def mode_share(result: Mapping[str, Any], mode: str) -> float:
    """Share of time that the system's drives spend in a mode."""
    times = [d["time_s"] for d in result["drives"]]
    return sum(float(t[mode]) for t in times) / sum(sum(map(float, t.values())) for t in times)


def watts(result: Mapping[str, Any], mode: str = "mean") -> float:
    """Mean power of all drives of a system, or what a mode adds to it."""
    return float(result["power_w"][mode])
