"""The common prefix of systems of which some were interrupted: numbers of the time that all cover.

The time series of a result give rates, means and power of any of its first buckets. They do not
give quantiles of a part. The prefix ends at a boundary of buckets, before the first system stopped.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

System = Mapping[str, Any]


class Prefix(NamedTuple):
    """What several systems have in common."""

    #: Its length.
    seconds: float
    #: The systems with the numbers of that time only, in the form of results.
    systems: list[dict[str, Any]]


def common(systems: Sequence[System]) -> Prefix | None:
    """Return the numbers of the longest time that all systems cover; None if there is no such time.

    Args:
        systems: of result documents with time series, all on the same workload.
    """
    series = [s.get("series") or {} for s in systems]
    if not series or not all(len(s.get("t_s") or ()) > 1 for s in series):
        return None
    begin = max(s["t_s"][0] for s in series)
    end = min(map(_end, systems))
    # Buckets of all series have widths that are multiples of each other, from about the same start.
    coarsest = max(series, key=lambda s: s["t_s"][1] - s["t_s"][0])
    end = max((t for t in coarsest["t_s"] if t <= end), default=begin)
    if end <= begin:
        return None
    cut = [_cut(one, begin, end) for one in systems]
    return Prefix(end - begin, cut)


def _end(system: System) -> float:
    """Return the time until which a system has seen all requests and completions."""
    covered = system.get("covered")
    if covered:
        return float(covered["until_s"])
    return float(system["series"]["t_s"][0] + system["duration_s"])


def _cut(system: System, begin: float, end: float) -> dict[str, Any]:
    """Return a system with the numbers of the whole buckets from `begin` to `end`."""
    series = system["series"]
    times = series["t_s"]
    # A rounding error must not move a bucket out of the prefix.
    slack = 1e-9 * max(1.0, end)
    inside = [i for i in range(len(times) - 1) if times[i] >= begin - slack and times[i + 1] <= end + slack]
    width = [times[i + 1] - times[i] for i in inside]
    seconds = sum(width)

    def mean(key: str) -> float | None:
        values = [(series.get(key) or [])[i] for i in inside] if series.get(key) else []
        known = [(v, w) for v, w in zip(values, width, strict=False) if v is not None]
        return sum(v * w for v, w in known) / seconds if known else None

    rates = [series["throughput_iops"][i] for i in inside]
    done = [rate * w for rate, w in zip(rates, width, strict=True)]
    times_of = [series["response_time_mean_s"][i] for i in inside]
    spent = sum(n * t for n, t in zip(done, times_of, strict=True) if n and t is not None)
    return {
        "name": system["name"],
        "workload": system.get("workload"),
        "n_requests": round(sum(done)),
        "throughput_iops": sum(done) / seconds,
        "response_time_s": {"mean": spent / sum(done) if sum(done) else None},
        "queue_depth_mean": mean("queue_depth"),
        "power_w": {"mean": mean("power_w")},
    }
