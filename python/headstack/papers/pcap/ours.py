"""Comparison of policies over several seeds: throttling, PCAP, and feed-forward.

``headstack reproduce pcap --seeds 10`` adds the table to the page and to the document. With each
seed the policies of an experiment get the same requests, caps and noise, so differences are
computed seed by seed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from headstack.papers.evaluate import Table
from headstack.papers.runs import Run
from headstack.papers.study import Study
from headstack.results import paired
from headstack.schema import Capping, System, Workload
from headstack.schema.layers import LayerHostQueue
from headstack.schema.workload import Arrival, Synthetic

from . import loads, runs

#: A policy: its name in tables, its name in experiments, its parameters.
Policy = tuple[str, str, Mapping[str, Any]]

THROTTLE: Policy = ("throttle", *runs.THROTTLE)

#: The throughput mode, started with queues of (1, 4), and started with long queues as feed-forward
#: is.
PCAP_PAPER: Policy = ("PCAP from (1, 4)", *runs.throughput(runs.START))
PCAP_OPEN: Policy = ("PCAP from (32, 128)", "pcap-agile", {"mode": "throughput"})
PCAP_TAIL: Policy = ("PCAP, tail latency", *runs.TAIL)
PCAP_S: Policy = ("PCAP/S", "pcap-s", {})

OURS: Policy = ("feed-forward", "feed-forward", {})

#: For comparison with the tail-latency mode. The limit is near the p99 of PCAP's lowest setting,
#: (1, 32); where a cap allows, the p99 is kept at the shorter target.
OURS_TAIL: Policy = (
    "feed-forward, p99 bounded",
    "feed-forward",
    {"response_time": "p99", "latency_target": "450 ms", "latency_limit": "750 ms"},
)

#: The limit is near PCAP's p99 on the mixed load.
OURS_MIXED: Policy = (
    "feed-forward, p99 below 1.3 s",
    "feed-forward",
    {"response_time": "p99", "latency_target": "450 ms", "latency_limit": "1300 ms"},
)

#: The compared values: name, key in a result, form.
Value = Callable[[Mapping[str, Any]], float | None]
VALUES: tuple[tuple[str, Value, str], ...] = (
    ("over (s)", lambda r: r["capping"]["violation_s"], "{:.1f}"),
    ("over (W s)", lambda r: r["capping"]["over_cap_j"], "{:.0f}"),
    ("IOPS", lambda r: r["throughput_iops"], "{:.1f}"),
    ("p50 (ms)", lambda r: 1e3 * r["capping"]["admitted_response_time_s"]["p50"], "{:.0f}"),
    ("p99 (ms)", lambda r: 1e3 * r["capping"]["admitted_response_time_s"]["p99"], "{:.0f}"),
    ("max (ms)", lambda r: 1e3 * r["capping"]["admitted_response_time_s"]["max"], "{:.0f}"),
    ("p99 submitted (ms)", lambda r: 1e3 * r["capping"]["response_time_s"]["p99"], "{:.0f}"),
    ("settles (s)", lambda r: r["capping"]["settling_s"]["mean"], "{:.1f}"),
    ("swings (W)", lambda r: r["capping"]["power_deviation_w"], "{:.3f}"),
    ("changes", lambda r: r["capping"]["n_changes"], "{:.0f}"),
)

#: Makes the run of an experiment under a policy with a seed.
Make = Callable[[Policy, int], Run]


@dataclass(frozen=True)
class Experiment:
    """One load under caps, and the policies that are compared on it: reference first.

    Attributes:
        name: name in tables.
        make: function that makes its runs.
        pairs: policies to compare.
        designed_for: whether PCAP or the map of feed-forward was designed for its load.
    """

    name: str
    make: Make
    pairs: Sequence[tuple[Policy, Policy]]
    designed_for: bool = True


def _response_time(policy: Policy) -> dict[str, str]:
    """Return which response time the readings contain: the one that the policy's target means."""
    told = policy[2].get("response_time")
    return {"response_time": told} if told else {}


def _capped(**more: Any) -> Make:
    def make(policy: Policy, seed: int) -> Run:
        run = runs.capped(*policy, seed=seed, **more)
        return _told(run, policy)

    return make


def _told(run: Run, policy: Policy) -> Run:
    capping = cast("Capping", {**run.system["capping"], **_response_time(policy)})
    return Run(run.workload, {**run.system, "capping": capping}, seed=run.seed)


#: Caps of the loads for which no policy was designed.
LATER = ((120.0, 9.0), (600.0, 8.5))


def _on(workload: Callable[[], Workload], caps: Sequence[tuple[float, float]]) -> Make:
    def make(policy: Policy, seed: int) -> Run:
        run = _capped(schedule=caps)(policy, seed)
        return Run(workload(), run.system, seed=seed)

    return make


def _mixed() -> Workload:
    job = runs.job(64, duration="1200 s")
    job["requests"] = {**job["requests"], "reads": 0.7, "size": "16 KiB", "zipf": 0.8}
    return {"name": "mixed", "jobs": [job]}


def _open() -> Workload:
    synthetic: Synthetic = {
        "n_requests": 150_000,
        "rate": "125/s",
        "reads": 1.0,
        "size": "8 KiB",
        "local": 0.3,
        "footprint": f"{runs.CAPACITY} B",
    }
    return {"name": "open", "synthetic": synthetic}


def _pgbench(outstanding: int) -> Workload:
    """Return the bundled trace in a closed loop, its 7 GB stretched over the drive."""
    path = Path(__file__).resolve().parents[4] / "examples" / "traces" / "pgbench.csv.zst"
    arrivals: Arrival = {"closed": {"outstanding": outstanding}}
    return {"name": "pgbench", "trace": str(path), "arrivals": arrivals, "space_scale": 400.0}


def _figure_10(policy: Policy, seed: int) -> Run:
    run = loads.shelf_run(seed)
    parameters = {"tiers": list(loads.TIERS), **policy[2]}
    capping = {**run.system["capping"], "policy": policy[1], "parameters": parameters}
    system = {**run.system, "name": policy[0], "capping": capping}
    return _told(Run(run.workload, cast("System", system), seed=seed), policy)


def _batch(cap_w: float) -> Make:
    jobs = [runs.job(128, volume=f"{loads.BATCH_BYTES} B")]
    return _capped(schedule=((0.0, cap_w),), jobs=jobs)


def _bursts(cap_w: float) -> Make:
    return _capped(schedule=((0.0, cap_w),), jobs=loads._bursts(True))


def _rate(rate: int, cap_w: float) -> Make:
    """Return the load of Figure 7b: 32 threads that are due at the same moments."""
    jobs = [runs.job(32, rate=f"{rate / 32}/s", together=True, duration="600 s")]
    return _capped(schedule=((60.0, cap_w),), jobs=jobs)


def _long_expiry() -> Make:
    """Return the load of Figure 5 with an expiry of 2 s from the start, which PCAP leaves alone."""

    def make(policy: Policy, seed: int) -> Run:
        run = _capped()(policy, seed)
        *above, last = run.system["layers"]
        queue = cast("LayerHostQueue", {**cast("LayerHostQueue", last)})
        queue["elevator_parameters"] = {"read_expire": "2 s"}
        return Run(run.workload, {**run.system, "layers": [*above, queue]}, seed=seed)

    return make


def _threads(threads: int, cap_w: float) -> Make:
    return _capped(schedule=((60.0, cap_w),), threads=threads, seconds=600)


FAST, TAIL = ((PCAP_OPEN, OURS),), ((PCAP_TAIL, OURS_TAIL),)
EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment("Figures 5, 6: throughput", _capped(), ((THROTTLE, PCAP_PAPER), (PCAP_PAPER, OURS))),
    Experiment("Figures 5, 6: throughput, open start", _capped(), FAST),
    Experiment("Figures 5, 6: throughput, expiry of 2 s from the start", _long_expiry(), FAST),
    Experiment("Figures 5, 6: tail latency", _capped(), ((THROTTLE, PCAP_TAIL), *TAIL)),
    Experiment("Figure 7a: 64 threads, 8 W", _threads(64, 8.0), FAST),
    Experiment("Figure 7a: 32 threads, 9 W", _threads(32, 9.0), FAST),
    Experiment("Figure 7a: 16 threads, 9 W, tail latency", _threads(16, 9.0), TAIL),
    Experiment("Figure 7b: 64 requests/s, 8 W", _rate(64, 8.0), FAST),
    Experiment("Figure 7b: 96 requests/s, 8 W", _rate(96, 8.0), FAST),
    Experiment("Figure 8: 9 W", _batch(9.0), FAST),
    Experiment("Figure 8: 8.5 W", _batch(8.5), FAST),
    Experiment("Figure 8: 8 W", _batch(8.0), FAST),
    Experiment("Figure 9: 8.5 W", _bursts(8.5), FAST),
    Experiment("Figure 9: 8 W", _bursts(8.0), FAST),
    Experiment("Figure 10", _figure_10, ((PCAP_S, OURS_TAIL),)),
    Experiment(
        "70 % reads of 16 KiB, skewed", _on(_mixed, LATER), (*FAST, *TAIL, (PCAP_TAIL, OURS_MIXED)), designed_for=False
    ),
    Experiment("open arrivals, 125/s", _on(_open, LATER), FAST, designed_for=False),
    Experiment(
        "pgbench trace, 64 outstanding",
        _on(lambda: _pgbench(64), ((10.0, 8.4), (80.0, 8.0))),
        (*FAST, *TAIL),
        designed_for=False,
    ),
)

#: Experiments that are quick to simulate, for ``--quick``.
QUICK = 2


def websearch(path: Path) -> tuple[Experiment, ...]:
    """Return the experiments on the Websearch trace: as recorded but slower, and in a closed loop.

    The address ranges of its drives follow each other on one drive, and addresses are stretched
    over its 4 TB, as in the paper. The trace has more requests per second than one drive can serve,
    so the gaps between requests are made three times as long.
    """
    table: Workload = {"name": "websearch", "trace": str(path), "concatenate": "measured", "space_scale": 36.0}
    slower: Workload = {**table, "time_scale": 3.0}
    closed: Workload = {**table, "arrivals": {"closed": {"outstanding": 64}}}
    both = (*FAST, *TAIL)
    return (
        Experiment(
            "Websearch, a third of its rate", _on(lambda: slower, ((20.0, 8.7), (100.0, 8.4))), both, designed_for=False
        ),
        Experiment(
            "Websearch, 64 outstanding", _on(lambda: closed, ((20.0, 8.4), (60.0, 8.0))), both, designed_for=False
        ),
    )


def compare(study: Study, experiment: Experiment, seeds: Sequence[int]) -> list[dict[str, Any]]:
    """Return one row per pair of policies of an experiment.

    A row has ``experiment, reference, other, designed_for`` and ``values``. For each name,
    ``values`` has the means of both policies, the mean difference ``change``, and half of its 95 %
    confidence interval, ``half``. Values that a run does not have are left out.
    """
    policies = {p[0]: p for pair in experiment.pairs for p in pair}
    found: dict[str, list[Mapping[str, Any]]] = {name: [] for name in policies}
    for seed in seeds:
        study.label = f"{experiment.name}, seed {seed}"
        for name, result in study.run([experiment.make(policy, seed) for policy in policies.values()]).items():
            found[name].append(result)
    rows = []
    for reference, other in experiment.pairs:
        values = {}
        for title, value, _ in VALUES:
            before, after = paired.known(*(map(value, found[p[0]]) for p in (reference, other)))
            if not before:
                continue
            change, half = paired.difference(before, after)
            values[title] = {
                "reference": paired.interval(before)[0],
                "other": paired.interval(after)[0],
                "change": change,
                "half": None if half != half else half,
            }
        rows.append(
            {
                "experiment": experiment.name,
                "reference": reference[0],
                "other": other[0],
                "designed_for": experiment.designed_for,
                "values": values,
            }
        )
    return rows


def cell(value: Mapping[str, Any] | None, form: str) -> str:
    """Return both means, and in brackets the mean difference with its confidence interval."""
    if value is None:
        return ""
    half = "" if value["half"] is None else f" ± {form.format(value['half'])}"
    return f"{form.format(value['reference'])} → {form.format(value['other'])} ({form.format(value['change'])}{half})"


def policies(study: Study, seeds: Sequence[int]) -> tuple[list[dict[str, Any]], Table]:
    """Compare the policies in every experiment; return the rows and their table."""
    listed = list(EXPERIMENTS[:QUICK] if study.quick else EXPERIMENTS)
    trace = study.traces.get("websearch")
    if trace is not None and not study.quick:
        listed += websearch(trace)
    rows = [row for experiment in listed for row in compare(study, experiment, seeds)]
    heads = ["experiment", "policies", *(title for title, _, _ in VALUES)]
    texts = [
        [
            row["experiment"],
            f"{row['reference']} → {row['other']}",
            *(cell(row["values"].get(title), form) for title, _, form in VALUES),
        ]
        for row in rows
    ]
    title = (
        f"Policies over {len(seeds)} seeds: means of the first and the second policy, and in "
        "brackets the mean difference by seed with its 95 % confidence interval"
    )
    return rows, Table(title, heads, texts)
