"""Batch and bursty loads, and a shelf of drives: PCAP-8 to PCAP-10."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pandas as pd

from headstack.papers.seeds import over_seeds
from headstack.papers.study import Study
from headstack.schema.workload import Job

from . import runs

#: Caps of Figure 8 in watts; none first.
BATCH_CAPS = (None, 9.0, 8.75, 8.5, 8.25, 8.0)
BATCH_BYTES = 122_070 * 4096

#: Caps of Figure 9 in watts.
BURST_CAPS = (None, 9.0, 8.5, 8.0)

#: Caps of Figure 10 in watts: the first ten minutes are without one.
SHELF_CAPS = tuple(zip(range(600, 3301, 300), (200, 190, 185, 170, 195, 150, 150, 180, 205), strict=False))
SHELF_END = 3300
TIERS = (5, 5, 6)

#: Efficiency of the power supply: without a cap 16 drives draw 205 W at the meter.
EFFICIENCY = 0.83


@over_seeds("caps", "steps", "capped")
def batch(study: Study) -> dict[str, pd.DataFrame]:
    """Return figure 8: the time of a batch job under caps."""
    volume = BATCH_BYTES // (4 if study.quick else 1)
    jobs = [runs.job(study.choices.threads, volume=f"{volume} B")]
    found = runs.of(study, [runs.under(study.choices, cap, jobs) for cap in BATCH_CAPS])
    time = {n: float(r["duration_s"]) for n, r in found.items()}
    ratio = {n: t / time["no cap"] for n, t in time.items()}
    rows = [
        {
            "cap": name,
            "cap_w": cap,
            "time_s": time[name],
            "minutes": time[name] * BATCH_BYTES / volume / 60,
            "ratio": ratio[name],
            "iops": float(found[name]["throughput_iops"]),
            "power_w": float(found[name]["capping"]["power_mean_w"]),
        }
        for name, cap in ((runs.cap_name(cap), cap) for cap in BATCH_CAPS)
    ]
    falls = {
        f"{a:g} to {b:g} W": ratio[runs.cap_name(b)] - ratio[runs.cap_name(a)] for a, b in pairwise(BATCH_CAPS[1:])
    }
    steps = {
        "largest": max(falls.values()),
        "smallest": max(min(falls.values()), 1e-3),
        "first": falls["9 to 8.75 W"],
        "second": falls["8.75 to 8.5 W"],
        "where": max(falls, key=lambda k: falls[k]),
    }
    table = pd.DataFrame(rows)
    return {
        "caps": table,
        "steps": pd.DataFrame([steps]),
        "capped": table.dropna(subset="cap_w").assign(mode="throughput mode"),
    }


def _bursts(together: bool) -> list[Job]:
    """Return the three parts of the load: a constant one, and bursts of 40 MB and 20 MB."""
    more: dict[str, Any] = {"rate": "1/s", "together": together, "duration": "3300 s"}
    constant = runs.job(64, name="constant", **more)
    first = runs.job(60, name="40 MB", start="300 s", volume="40 MB", every="900 s", bursts=3)
    second = runs.job(60, name="20 MB", start="600 s", volume="20 MB", every="900 s", bursts=3)
    return [constant, first, second]


@over_seeds("parts", "totals", "lost", "summary")
def bursty(study: Study) -> dict[str, pd.DataFrame]:
    """Return figure 9: bursts under caps."""
    jobs = _bursts(study.choices.together)
    found = runs.of(study, [runs.under(study.choices, cap, jobs) for cap in BURST_CAPS])
    busy = {n: _in_bursts(r) for n, r in found.items()}
    parts = [
        {"cap": n, "part": part, "iops": iops, "order": i}
        for n, by_part in busy.items()
        for i, (part, iops) in enumerate(by_part.items())
    ]
    totals = [
        {"cap": n, "iops": sum(busy[n].values()), "burst_s": _length(r, "40 MB"), "duration_s": float(r["duration_s"])}
        for n, r in found.items()
    ]
    lost = {j: 100 * (1 - busy["8 W"][j] / busy["no cap"][j]) for j in ("40 MB", "20 MB")}
    summary = {
        "trough_w": runs.mean(found["8 W"], "power_w", 150, 290),
        "bound_w": 8.0 + runs.EPSILON_W,
        "burst_w": runs.mean(found["8 W"], "power_w", 305, 330),
        "at_8_5": sum(busy["8.5 W"].values()),
    }
    two = {n: found[n] for n in ("no cap", "8 W")}
    return {
        "parts": pd.DataFrame(parts),
        "totals": pd.DataFrame(totals).assign(at_8_5=summary["at_8_5"]),
        "lost": pd.DataFrame([{"burst": k, "percent": v} for k, v in lost.items()]),
        "summary": pd.DataFrame([summary]),
        "throughput": runs.course(two, {"throughput_iops": "throughput"}),
    }


def _in_bursts(result: Mapping[str, Any]) -> dict[str, float]:
    """Return the throughput of each part during bursts; for a burst, during this burst only."""
    iops = result["capping"]["series"]["job_iops"]
    seconds = range(len(iops["constant"]))
    lasting = {j: [i for i in seconds if iops[j][i] > 20] for j in ("40 MB", "20 MB")}
    either = sorted({*lasting["40 MB"], *lasting["20 MB"]})
    whole = {j: sum(iops[j][i] for i in at) / max(1, len(at)) for j, at in lasting.items()}
    weight: dict[str, float] = {j: len(at) / max(1, len(either)) for j, at in lasting.items()}
    constant = sum(iops["constant"][i] for i in either) / max(1, len(either))
    return {"constant": constant, **{j: whole[j] * weight[j] for j in whole}}


def _length(result: Mapping[str, Any], job: str) -> float:
    """Return the mean length of the bursts of a part in seconds."""
    series = result["capping"]["series"]
    return float(sum(v > 0 for v in series["job_iops"][job]) / 3)


@over_seeds("summary", "settled", "tiers")
def shelf(study: Study) -> dict[str, pd.DataFrame]:
    """Return figure 10: PCAP/S over sixteen drives in three tiers."""
    c = study.choices
    found = runs.of(study, [shelf_run(c.seed, threads=c.shelf_threads)])["pcap-s"]
    series, power = found["capping"]["series"], _tiers(found)

    def mean(tier: Sequence[float], start: float, end: float) -> float:
        at = [i for i, t in enumerate(series["t_s"]) if start + 100 < t <= end]
        return float(sum(tier[i] for i in at) / len(at))

    settled = [
        {
            "start": start,
            "minute": start // 60,
            "cap": cap,
            "tier": i + 1,
            "power_w": mean(tier, start, end),
            "free_w": mean(tier, 0, 600),
            "less_w": mean(tier, 0, 600) - 0.3,
            "cut_w": mean(tier, 0, 600) - mean(tier, start, end),
        }
        for (start, cap), (end, _) in pairwise([*SHELF_CAPS, (SHELF_END, 0)])
        for i, tier in enumerate(power)
    ]
    drives = found["capping"]["drives"]
    shares, p80 = _by_tier(drives, "within_100_ms"), _by_tier(drives, "admitted_p80_s")
    tiers = [
        {"tier": i + 1, "share": share, "percent": 100 * share, "p80_ms": 1e3 * s}
        for i, (share, s) in enumerate(zip(shares, p80, strict=True))
    ]
    lowest = runs.mean(found, "power_w", 2250, 2700)
    whole = runs.mean(found, "power_w", 100, 600)
    summary = {
        "free_w": whole, "lowest_w": lowest, "cut_percent": 100 * (1 - lowest / whole)
    }  # fmt: skip
    courses = [
        {"tier": f"tier {i + 1}", "minutes": t, "watts": v}
        for i, tier in enumerate(power)
        for t, v in runs.means(series, tier)
    ]
    return {
        "summary": pd.DataFrame([summary]),
        "settled": pd.DataFrame(settled),
        "tiers": pd.DataFrame(tiers),
        "courses": pd.DataFrame(courses),
        "meter": runs.course({"pcap-s": found}, {"power_w": "power", "cap_w": "cap"}),
    }


def shelf_run(seed: int = 1, threads: int = 128, **more: Any) -> Any:
    """Return the run of Figure 10."""
    jobs = [runs.job(threads, devices=sum(TIERS), duration=f"{SHELF_END} s")]
    capping = {
        "policy": "pcap-s",
        "parameters": {"tiers": list(TIERS)},
        "efficiency": EFFICIENCY,
        "tolerance": "1 W",
        "caps": runs.caps(SHELF_CAPS),
    }
    return runs.run("pcap-s", jobs, capping=capping, count=sum(TIERS), seed=seed, **more)


def _tiers(result: Mapping[str, Any]) -> list[list[float]]:
    """Return the power of one drive of each tier over time."""
    drives, first, found = result["capping"]["series"]["drive_power_w"], 0, []
    for n in TIERS:
        mine = drives[first : first + n]
        found.append([sum(at) / n for at in zip(*mine, strict=True)])
        first += n
    return found


def _by_tier(drives: Sequence[Mapping[str, Any]], key: str) -> list[float]:
    first, found = 0, []
    for n in TIERS:
        found.append(sum(float(d[key]) for d in drives[first : first + n]) / n)
        first += n
    return found
