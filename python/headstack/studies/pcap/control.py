"""PCAP at work on one drive: PCAP-4 to PCAP-7."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pandas as pd

from headstack.studies.study import Study

from . import runs
from .power import seconds

#: Threads and caps of Figure 7a.
THREADS = (1, 2, 4, 8, 16, 32, 64, 128)
MODES: dict[str, tuple[tuple[str, dict[str, Any]], tuple[float, ...]]] = {
    "throughput": (runs.THROUGHPUT, (9.0, 8.0)),
    "tail-latency": (runs.TAIL, (10.0, 9.0, 8.0)),
}

#: Rates of all 32 threads together, Figure 7b.
LOADS = (32, 64, 80, 96, 112, 128, 160, 192)


def policies(study: Study) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Return the policies of Figures 4 to 6 by name."""
    rounding = study.choices.rounding
    rounded = {"rounding": rounding} if rounding != "down" else {}
    return {
        "base": (runs.BASE[0], rounded),
        "throughput": (runs.THROUGHPUT[0], {**runs.THROUGHPUT[1], **rounded}),
        "tail-latency": (runs.TAIL[0], {**runs.TAIL[1], **rounded}),
        "throttling": runs.THROTTLE,
    }


def compared(study: Study) -> dict[str, dict[str, Any]]:
    """Return the runs of Figures 4 to 6 by policy."""
    c = study.choices
    wanted = [
        runs.capped(n, policy, parameters, threads=c.threads, seed=c.seed)
        for n, (policy, parameters) in policies(study).items()
    ]
    return study.run(wanted)


def reach_s(result: Mapping[str, Any], watts: float, after_s: float = 1200) -> float:
    """Return the time from the rise of the cap until the mean of five seconds passes a power."""
    series = result["capping"]["series"]
    power = series["power_w"]
    for i, t in enumerate(series["t_s"]):
        if t > after_s and sum(power[max(0, i - 4) : i + 1]) / 5 >= watts:
            return float(t - after_s)
    return float("inf")


def _power(found: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Return the power of runs over time, and their cap."""
    first = next(iter(found.values()))
    power = runs.course(found, {"power_w": "power"}, 5)
    return pd.concat([power, runs.course({"cap": first}, {"cap_w": "cap"}, 5)])


def controllers(study: Study) -> dict[str, pd.DataFrame]:
    """Return figure 4: the base controller and the agile one."""
    found = compared(study)
    base, agile = found["base"], found["tail-latency"]
    idle = study.run([runs.run("idle", [runs.job(1, rate="0.02/s", duration="301 s")])])["idle"]
    summary = {
        "uncapped_w": runs.mean(agile, "power_w", 30, 300),
        "idle_w": idle["power_w"]["idle"],
        "longest_queue": max(base["capping"]["series"]["nr_requests"]),
        "lowest_w": runs.mean(agile, "power_w", 1000, 1200),
    }
    both = {"base": base, "agile": agile}
    released = [
        {
            "controller": name,
            "delay_s": reach_s(r, 9.0),
            "iops": runs.mean(r, "throughput_iops", 1200, 1260),
        }
        for name, r in both.items()
    ]
    kept = [
        {
            "watts": watts,
            "minute": start_s // 60 + 5,
            "power_w": runs.mean(agile, "power_w", end_s - 180, end_s),
            "bound_w": watts + runs.EPSILON_W,
        }
        for (start_s, watts), (end_s, _) in pairwise((*runs.CAPS, (runs.CAPS_END, 0.0)))
        if watts not in (7.5, 10.5)
    ]
    columns = {"nr_requests": "host", "queue_depth": "drive"}
    sizes = runs.course(both, columns, 5).assign(queue=lambda t: t["run"] + ", " + t["of"])
    return {
        "summary": pd.DataFrame([summary]),
        "released": pd.DataFrame(released),
        "kept": pd.DataFrame(kept),
        "power": _power(both),
        "sizes": sizes,
    }


def _policies(found: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Return one row per policy under the caps of figures 4 to 6."""
    return pd.DataFrame(
        [
            {
                "policy": name,
                "power_w": r["capping"]["power_mean_w"],
                "iops": float(r["throughput_iops"]),
                "most_iops": max(_smooth(r, "throughput_iops")),
                "share": float(r["capping"]["within_100_ms"]),
                "percent": 100 * float(r["capping"]["within_100_ms"]),
                "longest_s": float(r["capping"]["admitted_response_time_s"]["max"]),
                "open_w": runs.mean(r, "power_w", 1300, 1500),
                "above_s": r["capping"]["violation_s"],
                "above_j": r["capping"]["over_cap_j"],
                "submitted_p50_s": r["capping"]["response_time_s"]["p50"],
            }
            for name, r in found.items()
        ]
    )


def modes(study: Study) -> dict[str, pd.DataFrame]:
    """Return figure 5: throughput and tail-latency mode."""
    found = compared(study)
    two = {f"{n} mode": found[n] for n in ("throughput", "tail-latency")}
    times = [
        {"policy": name, "ms": 1e3 * max(t, 1e-4), "percent": 100 * share}
        for name, r in found.items()
        if name != "base"
        for t, share in r["capping"]["admitted_cdf"]
    ]
    return {
        "policies": _policies(found),
        "throughput": runs.course(two, {"throughput_iops": "throughput"}, 5),
        "times": pd.DataFrame(times),
    }


def _smooth(result: Mapping[str, Any], column: str, n: int = 30) -> list[float]:
    values = result["capping"]["series"][column]
    return [sum(values[i : i + n]) / n for i in range(len(values) - n)]


def throttled(study: Study) -> dict[str, pd.DataFrame]:
    """Return figure 6: PCAP against throttling at the same caps."""
    found = compared(study)
    others = {n: r for n, r in found.items() if n != "base"}
    return {
        "policies": _policies(found),
        "power": _power({"throttling": found["throttling"]}),
        "throughput": runs.course(others, {"throughput_iops": "throughput"}, 5),
    }


def concurrency(study: Study) -> dict[str, pd.DataFrame]:
    """Return figure 7: threads and load."""
    length = 120.0 + seconds(study) / 2
    cases = [(mode, cap, n) for mode, (_, caps) in MODES.items() for cap in caps for n in THREADS]
    found = study.run(
        runs.capped(
            f"{mode}, {cap:g} W, {n} threads",
            *MODES[mode][0],
            ((0.0, cap),),
            threads=n,
            seconds=length,
        )
        for mode, cap, n in cases
    )
    rows = [
        {
            "mode": mode,
            "cap_w": cap,
            "threads": n,
            "curve": f"{mode}, {cap:g} W",
            "power_w": runs.mean(found[f"{mode}, {cap:g} W, {n} threads"], "power_w", 60, length),
            "bound_w": cap + runs.EPSILON_W,
        }
        for mode, cap, n in cases
    ]
    table = pd.DataFrame(rows)
    needed = [
        {"cap_w": cap, "threads": held["threads"].min() if len(held) else 2 * max(THREADS)}
        for cap in MODES["throughput"][1]
        for held in (
            table[
                (table["mode"] == "throughput")
                & (table["cap_w"] == cap)
                & (table["power_w"] <= table["bound_w"])
            ],
        )
    ]
    return {"threads": table, "needed": pd.DataFrame(needed), **_loads(study, length)}


def _loads(study: Study, length: float) -> dict[str, pd.DataFrame]:
    """Return figure 7b: 32 threads whose rate is limited, together and apart."""
    together = study.choices.together
    cases = [(x, cap) for x in LOADS for cap in (None, 9.0, 8.0)]

    def name(cap: float | None) -> str:
        return "no cap" if cap is None else f"{cap:g} W"

    def one(load: int, cap: float | None) -> Any:
        jobs = [runs.job(32, rate=f"{load / 32}/s", together=together, duration=f"{length} s")]
        schedule = () if cap is None else ((0.0, cap),)
        named = f"{load} /s, {name(cap)}"
        return runs.capped(named, *runs.THROUGHPUT, schedule, jobs=jobs, queues=runs.START)

    found = study.run([one(x, cap) for x, cap in cases])
    rows = [
        {
            "cap": name(cap),
            "load": x,
            "utilisation": r["utilisation"],
            "power_w": runs.mean(r, "power_w", 60, length),
        }
        for x, cap in cases
        for r in (found[f"{x} /s, {name(cap)}"],)
    ]
    middle = [r["power_w"] for r in rows if r["cap"] == "8 W" and 0.4 <= r["utilisation"] <= 0.95]
    note = (
        "only with threads that are due at the same moments; with threads apart power reaches 10 W"
    )
    summary = {
        "highest_9_w": max(r["power_w"] for r in rows if r["cap"] == "9 W"),
        "highest_8_w": max(middle),
        "lowest_load_w": next(r["power_w"] for r in rows if r["cap"] == "8 W"),
        "bound_9_w": 9.0 + runs.EPSILON_W,
        "bound_8_w": 8.0 + runs.EPSILON_W,
        "remark": note if together else "",
    }
    return {"loads": pd.DataFrame(rows), "summary": pd.DataFrame([summary])}
