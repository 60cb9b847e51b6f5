"""Feed-forward against PCAP, and PCAP against throttling, with confidence intervals.

``python -m headstack.studies.pcap.ours --seeds 10`` prints the tables of
``docs/models/capping.md``.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from headstack.studies.runs import Run, Store

from . import loads, runs

#: Student's t for 95 % and 1 to 30 degrees of freedom.
T = (
    12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13,
    2.12, 2.11, 2.10, 2.09, 2.09, 2.08, 2.07, 2.07, 2.06, 2.06, 2.06, 2.05, 2.05, 2.05, 2.04,
)  # fmt: skip

#: Policies by name. PCAP in throughput mode starts at the open queues, as feed-forward does.
PCAP_FAST = ("pcap-agile", {"mode": "throughput"})
PCAP_TAIL = runs.TAIL
THROTTLE = runs.THROTTLE
OURS_FAST: tuple[str, dict[str, Any]] = ("feed-forward", {})
OURS_TAIL = ("feed-forward", {"latency_target": "250 ms"})

#: What is compared: name in the table, key of the result, form.
Value = Callable[[Mapping[str, Any]], float]
VALUES: dict[str, tuple[Value, str]] = {
    "over the cap (J)": (lambda r: r["capping"]["over_cap_j"], "{:.0f}"),
    "requests/s": (lambda r: r["throughput_iops"], "{:.1f}"),
    "p50 (ms)": (lambda r: 1e3 * r["capping"]["admitted_response_time_s"]["p50"], "{:.0f}"),
    "p99 (ms)": (lambda r: 1e3 * r["capping"]["admitted_response_time_s"]["p99"], "{:.0f}"),
}


def _mixed(name: str, policy: tuple[str, Mapping[str, Any]], seed: int) -> Run:
    jobs = [runs.job(64, duration="1200 s")]
    jobs[0]["requests"] = {**jobs[0]["requests"], "reads": 0.7, "size": "16 KiB", "zipf": 0.8}
    return runs.capped(name, *policy, ((120.0, 9.0), (600.0, 8.5)), jobs=jobs, seed=seed)


def _open(name: str, policy: tuple[str, Mapping[str, Any]], seed: int) -> Run:
    run = _mixed(name, policy, seed)
    synthetic = {
        "n_requests": 150_000,
        "rate": "125/s",
        "reads": 1.0,
        "size": "8 KiB",
        "local": 0.3,
        "footprint": f"{runs.CAPACITY} B",
    }
    return Run({"name": "open", "synthetic": synthetic}, run.system, seed=seed)


def _trace(name: str, policy: tuple[str, Mapping[str, Any]], seed: int) -> Run:
    run = _mixed(name, policy, seed)
    path = Path(__file__).resolve().parents[4] / "examples" / "traces" / "pgbench.csv.zst"
    workload = {"name": "pgbench", "trace": str(path), "arrivals": {"closed": {"outstanding": 64}}}
    return Run(workload, run.system, seed=seed)


def _figure_10(name: str, policy: tuple[str, Mapping[str, Any]], seed: int) -> Run:
    run = loads.shelf_run(seed)
    capping = {
        **run.system["capping"],
        "policy": policy[0],
        "parameters": {"tiers": list(loads.TIERS), **policy[1]},
    }
    return Run(run.workload, {**run.system, "name": name, "capping": capping}, seed=seed)


def _capped(**more: Any) -> Callable[[str, tuple[str, Mapping[str, Any]], int], Run]:
    return lambda name, policy, seed: runs.capped(name, *policy, seed=seed, **more)


#: Experiments by name, and the two policies that are compared: reference first.
Make = Callable[[str, tuple[str, Mapping[str, Any]], int], Run]
SHELF_OURS: tuple[str, dict[str, Any]] = ("feed-forward", {"latency_target": "250 ms"})
EXPERIMENTS: dict[str, tuple[Make, tuple[Any, Any], tuple[str, str]]] = {
    "Figures 5, 6: PCAP, throughput": (_capped(), (THROTTLE, PCAP_FAST), ("throttle", "PCAP")),
    "Figures 5, 6: PCAP, tail latency": (_capped(), (THROTTLE, PCAP_TAIL), ("throttle", "PCAP")),
    "Figure 5, throughput": (_capped(), (PCAP_FAST, OURS_FAST), ("PCAP", "feed-forward")),
    "Figure 5, tail latency": (_capped(), (PCAP_TAIL, OURS_TAIL), ("PCAP", "feed-forward")),
    "Figure 7, 32 threads, 9 W": (
        _capped(schedule=((60.0, 9.0),), threads=32, seconds=900),
        (PCAP_FAST, OURS_FAST),
        ("PCAP", "feed-forward"),
    ),
    "Figure 8, 8.5 W": (
        _capped(schedule=((0.0, 8.5),), jobs=[runs.job(128, volume=f"{loads.BATCH_BYTES} B")]),
        (PCAP_FAST, OURS_FAST),
        ("PCAP", "feed-forward"),
    ),
    "Figure 9, 8.5 W": (
        _capped(schedule=((0.0, 8.5),), jobs=loads._bursts(True)),
        (PCAP_FAST, OURS_FAST),
        ("PCAP", "feed-forward"),
    ),
    "Figure 10": (_figure_10, (("pcap-s", {}), SHELF_OURS), ("PCAP/S", "feed-forward")),
    "mixed: 70 % reads of 16 KiB, skewed": (
        _mixed,
        (PCAP_FAST, OURS_FAST),
        ("PCAP", "feed-forward"),
    ),
    "open arrivals, 125/s": (_open, (PCAP_FAST, OURS_FAST), ("PCAP", "feed-forward")),
    "bundled trace, 64 outstanding": (_trace, (PCAP_FAST, OURS_FAST), ("PCAP", "feed-forward")),
}


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and half of its 95 % confidence interval."""
    n = len(values)
    half = T[min(n - 2, len(T) - 1)] * stdev(values) / n**0.5 if n > 1 else float("nan")
    return mean(values), half


def compare(store: Store, name: str, seeds: Sequence[int]) -> list[list[str]]:
    """Return the rows of one experiment: value, both policies, and the paired difference."""
    make, policies, names = EXPERIMENTS[name]
    results: list[list[Mapping[str, Any]]] = []
    for policy, title in zip(policies, names, strict=True):
        results.append(
            [store.get([make(title, policy, seed)], f"{name}, seed {seed}")[0] for seed in seeds]
        )
    rows = []
    for title, (value, form) in VALUES.items():
        before, after = ([value(r) for r in found] for found in results)
        pairs = [b - a for a, b in zip(before, after, strict=True)]
        (old, _), (new, _), (gap, half) = interval(before), interval(after), interval(pairs)
        texts = [form.format(v) for v in (old, new)]
        rows.append(
            [
                name,
                " against ".join(names[::-1]),
                title,
                *texts,
                f"{form.format(gap)} ± {form.format(half)}",
            ]
        )
    return rows


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("out/reproduce"))
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    store = Store(given.out / "runs")
    seeds = range(1, given.seeds + 1)
    print("| experiment | policies | value | reference | other | difference |")
    print("|---|---|---|---:|---:|---:|")
    for name in EXPERIMENTS:
        if given.only.lower() in name.lower():
            for row in compare(store, name, seeds):
                print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
