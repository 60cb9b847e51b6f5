"""Power of drives, of rates and of queues: PCAP-1 to PCAP-3."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import pandas as pd

from headstack import drives
from headstack.papers.seeds import over_seeds
from headstack.papers.study import Study
from headstack.schema.workload import Job, Synthetic

from . import runs

#: Rates of Figure 2.
RATES_MB = (6.25, 12.5, 25.0, 50.0, 75.0, 100.0, 150.0, 200.0)
RATES_IOPS = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 150, 200)

#: Queue sizes of Figure 3.
HOST, DRIVE = (4, 8, 16, 32, 64, 128), (1, 2, 4, 8, 16, 32)


class Sample(NamedTuple):
    """A drive of Figure 1 that has a file here."""

    drive: str
    #: Why its dynamic power is what it is.
    note: str


#: By name. Of the Western Digital Re with 4 TB no powers were found.
SAMPLES = {
    "HDD-C, Ultrastar 7K4000": Sample(runs.DRIVE, "its own powers were fitted to the paper's text"),
    "a Seagate drive of 4 TB": Sample(
        "constellation-es3-4tb", "its file has the currents of its manual; the paper prints no number for it"
    ),
}


def seconds(study: Study) -> float:
    """Return for how many seconds a constant load is measured."""
    return 120.0 if study.quick else 570.0


#: Sequential reads need a buffer that reads ahead: without one each request waits for a turn of the
#: platter.
BUFFER = {
    "enabled": True,
    "segments": 16,
    "segment_sectors": 4096,
    "read_ahead": "limit",
    "read_ahead_sectors": 4096,
    "read_on_arrival": True,
    "almost_hits": True,
}


def _sequential(name: str, length: float, drive: str = runs.DRIVE, **more: Any) -> Any:
    """Return a run of two threads that read one after the other through the drive."""
    if drive == runs.DRIVE:
        more["system"] = {"cache": BUFFER}
    requests: Synthetic = {"reads": 1.0, "size": "1 MiB", "block": "1 MiB", "sequential": 1.0, "footprint": "400 GB"}
    jobs: list[Job] = [{"threads": 2, "duration": f"{length + 5} s", "requests": requests}]
    return runs.run(name, jobs, drive=drive, warm_up_s=5, **more)


def static_w(drive: str) -> float:
    """Return the power without load, as the paper has it: spindle and electronics, heads unloaded.

    That is the condition `idle_b` of the drive's file, with its currents at 5 V and 12 V.
    """
    power: Mapping[str, Any] = drives.load(drive)["power"]
    at_5_v, at_12_v = power["idle_b"]
    return 5 * float(at_5_v) + 12 * float(at_12_v)


@over_seeds("drives")
def four_drives(study: Study) -> dict[str, pd.DataFrame]:
    """Return figure 1: the power of random and sequential loads beyond the static power."""
    seed = study.choices.seed
    length = seconds(study) / 4
    wanted = []
    for title, sample in SAMPLES.items():
        wanted += [
            runs.settled(f"{title}, random", length, queues=runs.START, drive=sample.drive, seed=seed),
            _sequential(f"{title}, sequential", length, sample.drive, seed=seed),
        ]
    found = runs.of(study, wanted)
    rows, bars = [], []
    for title, sample in SAMPLES.items():
        power = {k: found[f"{title}, {k}"]["power_w"]["mean"] for k in ("random", "sequential")}
        static = static_w(sample.drive)
        dynamic = {f"{k}_w": v - static for k, v in power.items()}
        rows.append({"drive": title, "static_w": static, **dynamic, "remark": sample.note})
        parts = {"static": static, "dynamic, random": dynamic["random_w"]}
        bars += [{"drive": title, "of": k, "watts": v, "order": i}
                 for i, (k, v) in enumerate(parts.items())]  # fmt: skip
    return {"drives": pd.DataFrame(rows), "bars": pd.DataFrame(bars)}


@over_seeds("sequential", "random", "peak")
def throttling(study: Study) -> dict[str, pd.DataFrame]:
    """Return figure 2: power at throttled rates."""
    length, seed = seconds(study) / 2, study.choices.seed
    wanted = [_sequential(f"{mb} MB/s", length, throttle={"bandwidth": f"{mb} MB/s"}, seed=seed) for mb in RATES_MB]
    wanted += [runs.settled(f"{r} /s", length, throttle={"iops": f"{r}/s"}, seed=seed) for r in RATES_IOPS]
    wanted.append(runs.settled("no limit", length, seed=seed))
    found = runs.of(study, wanted)
    sequential = [
        {
            "asked_mb_per_s": mb,
            "mb_per_s": found[f"{mb} MB/s"]["throughput_bytes_per_s"] / 1e6,
            "power_w": found[f"{mb} MB/s"]["power_w"]["mean"],
        }
        for mb in RATES_MB
    ]
    limits: list[float | str] = [*RATES_IOPS, "no limit"]
    random = [
        {
            "limit": limit,
            "iops": float(limit if limit in RATES_IOPS else r["throughput_iops"]),
            "power_w": r["power_w"]["mean"],
            "idle": 1 - r["utilisation"],
        }
        for limit in limits
        for r in (found[f"{limit} /s" if limit in RATES_IOPS else "no limit"],)
    ]
    throttled = random[:-1]
    highest = max(throttled, key=lambda r: r["power_w"])
    peak = {
        "rate": float(highest["iops"]),
        "power_w": highest["power_w"],
        "lowest_w": min(r["power_w"] for r in throttled),
        "random_range_w": highest["power_w"] - min(r["power_w"] for r in throttled),
        "sequential_range_w": max(r["power_w"] for r in sequential) - min(r["power_w"] for r in sequential),
        "at_150_w": found["150 /s"]["power_w"]["mean"],
        **{f"idle_at_{r}": 1 - found[f"{r} /s"]["utilisation"] for r in (40, 60, 80, 90)},
    }
    return {"sequential": pd.DataFrame(sequential), "random": pd.DataFrame(random), "peak": pd.DataFrame([peak])}


@over_seeds("queues", "summary")
def queues(study: Study) -> dict[str, pd.DataFrame]:
    """Return figure 3: power, throughput and service time over both queues."""
    length, c = seconds(study), study.choices
    wanted = [runs.settled(f"({n}, {i})", length, c.threads, queues=(n, i), seed=c.seed) for i in HOST for n in DRIVE]
    found = runs.of(study, wanted)
    rows: list[dict[str, Any]] = []
    for i in HOST:
        for n in DRIVE:
            result = found[f"({n}, {i})"]
            host = next(x for x in result["layers"] if x["layer"] == "host-queue")
            rows.append(
                {
                    "depth": n,
                    "places": i,
                    "drive": f"drive's queue {n}",
                    "host": f"{i} places",
                    "power_w": float(result["power_w"]["mean"]),
                    "iops": float(result["throughput_iops"]),
                    "wait_ms": 1e3 * float(host["from_admission_mean_s"]),
                }
            )
    at = {(r["depth"], r["places"]): r for r in rows}
    power = {k: r["power_w"] for k, r in at.items()}
    drops = {i: at[1, i]["wait_ms"] - at[32, i]["wait_ms"] for i in HOST}
    steps = [power[n, b] - power[n, a] for n in DRIVE for a, b in pairwise(HOST)]
    summary = {
        "largest_step_w": max(*steps, 0.0),
        "rise_w": power[32, 128] - power[1, 128],
        **{f"first_fall_{n}_w": power[n, 4] - power[n, 8] for n in (1, 32)},
        **{f"last_fall_{n}_w": power[n, 64] - power[n, 128] for n in (1, 32)},
        "drop_128_ms": drops[128],
        "drop_elsewhere_ms": max(v for k, v in drops.items() if k != 128),
        "wait_ratio": at[32, 128]["wait_ms"] / at[32, 32]["wait_ms"],
        # Threads that have one request each fill no more places than there are threads.
        "used_ratio": min(128, c.threads) / 32,
        "range_w": max(power.values()) - power[1, 128],
    }
    return {"queues": pd.DataFrame(rows), "summary": pd.DataFrame([summary])}
