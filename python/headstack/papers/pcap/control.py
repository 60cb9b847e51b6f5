"""PCAP at work on one drive: PCAP-4 to PCAP-7."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, cast

import pandas as pd

from headstack.papers.seeds import averaged, of_one_run, over_seeds
from headstack.papers.study import Study

from . import runs
from .power import seconds

#: Threads and caps of Figure 7a.
THREADS = (1, 2, 4, 8, 16, 32, 64, 128)
CAPS = {"throughput": (9.0, 8.0), "tail-latency": (10.0, 9.0, 8.0)}

#: Rates of all 32 threads together, Figure 7b.
LOADS = (32, 48, 56, 64, 72, 80, 88, 96, 112, 128, 144, 160, 192)


def policies(study: Study) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Return the policies of Figures 4 to 6 by name."""
    rounding = study.choices.rounding
    rounded = {"rounding": rounding} if rounding != "down" else {}
    modes = {"base": runs.BASE, **runs.modes(study.choices, study.choices.start)}
    found = {name: (policy, {**given, **rounded}) for name, (policy, given) in modes.items()}
    return {**found, "throttling": runs.THROTTLE}


def compared(study: Study) -> dict[str, dict[str, Any]]:
    """Return the runs of Figures 4 to 6 by policy."""
    c = study.choices
    wanted = [
        runs.capped(n, policy, parameters, threads=c.threads, seed=c.seed)
        for n, (policy, parameters) in policies(study).items()
    ]
    return runs.of(study, wanted)


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


@over_seeds("summary", "released", "kept")
def controllers(study: Study) -> dict[str, pd.DataFrame]:
    """Return figure 4: the base controller and the agile one."""
    found = compared(study)
    base, agile = found["base"], found["tail-latency"]
    idler = runs.run("idle", [runs.job(1, rate="0.02/s", duration="301 s")])
    idle = runs.of(study, [idler])["idle"]
    summary = {
        "uncapped_w": runs.mean(agile, "power_w", 30, 300),
        "idle_w": idle["power_w"]["idle"],
        "longest_queue": float(max(base["capping"]["series"]["nr_requests"])),
        "bounded_queue": float(max(agile["capping"]["series"]["nr_requests"])),
        "lowest_w": runs.mean(agile, "power_w", 1000, 1200),
        "bound_w": 7.5 + runs.EPSILON_W,
    }
    both = {"base": base, "agile": agile}
    released = [
        {
            "controller": name,
            "delay_s": reach_s(r, 9.0),
            "undelayed_s": reach_s(agile, 9.0),
            "iops": runs.mean(r, "throughput_iops", 1200, 1260),
        }
        for name, r in both.items()
    ]
    kept = [
        {
            "watts": watts,
            "minute": start_s // 60 + 5,
            "power_w": runs.mean(agile, "power_w", end_s - 180, end_s),
            "before_w": runs.mean(agile, "power_w", 30, 300),
            "bound_w": watts + runs.EPSILON_W,
        }
        for (start_s, watts), (end_s, _) in pairwise((*runs.CAPS, (runs.CAPS_END, 0.0)))
        # The caps after minute 25 are not the paper's, and 7.5 W is out of reach.
        if start_s < 900
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
    throttled = found["throttling"]["throughput_iops"]
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
                "above_s": float(r["capping"]["violation_s"]),
                "above_j": r["capping"]["over_cap_j"],
                "submitted_p50_s": r["capping"]["response_time_s"]["p50"],
                "submitted_longest_s": r["capping"]["response_time_s"]["max"],
                "more_percent": 100 * (r["throughput_iops"] / throttled - 1),
                "less_percent": 100 * (1 - r["throughput_iops"] / throttled),
            }
            for name, r in found.items()
        ]
    )


def modes(study: Study) -> dict[str, pd.DataFrame]:
    """Return figure 5: throughput and tail-latency mode."""
    return _single(study, averaged(study, _modes, ("policies",)))


def _single(study: Study, tables: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of policies with the longest times as those of one run."""
    longest = ("longest_s", "submitted_longest_s")
    return {**tables, "policies": of_one_run(tables["policies"], longest, len(study.seeds()))}


def _modes(study: Study) -> dict[str, pd.DataFrame]:
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
    return _single(study, averaged(study, _throttled, ("policies",)))


def _throttled(study: Study) -> dict[str, pd.DataFrame]:
    found = compared(study)
    others = {n: r for n, r in found.items() if n != "base"}
    return {
        "policies": _policies(found),
        "power": _power({"throttling": found["throttling"]}),
        "throughput": runs.course(others, {"throughput_iops": "throughput"}, 5),
    }


def concurrency(study: Study) -> dict[str, pd.DataFrame]:
    """Return figure 7: threads and load."""
    averages = averaged(study, _concurrency, ("threads", "loads"))
    threads, loads = averages["threads"], averages["loads"]
    # What the means say; the mean of a number of threads would be none that was run.
    return {**averages, "needed": _needed(threads), "summary": _load_summary(study, loads)}


def _concurrency(study: Study) -> dict[str, pd.DataFrame]:
    length, c = 120.0 + seconds(study) / 2, study.choices
    cases = [(mode, cap, n) for mode, caps in CAPS.items() for cap in caps for n in THREADS]
    modes = runs.modes(c, c.open_start)
    wanted = [
        runs.capped(
            f"{mode}, {cap:g} W, {n} threads", *modes[mode], ((0.0, cap),), threads=n, seconds=length, seed=c.seed
        )
        for mode, cap, n in cases
    ]
    found = runs.of(study, wanted)
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
    return {"threads": pd.DataFrame(rows), "loads": _loads(study, length)}


def _needed(threads: pd.DataFrame) -> pd.DataFrame:
    """Return from how many threads on each cap is held; twice the most if with none."""
    rows = []
    for (mode, cap), of in threads.groupby(["mode", "cap_w"], sort=False):
        watts = zip(of["threads"], of["power_w"], strict=True)
        held = [n for n, w in watts if w <= cast(float, cap) + 0.2]
        least = min(held, default=2 * max(THREADS))
        said = f"{least}" if held else "none"
        rows.append({"mode": mode, "cap_w": cap, "threads": float(least), "said": said})
    return pd.DataFrame(rows)


def _loads(study: Study, length: float) -> pd.DataFrame:
    """Return figure 7b: 32 threads whose rate is limited, together or apart."""
    c = study.choices
    cases = [(x, cap) for x in LOADS for cap in (None, 9.0, 8.0)]

    def one(load: int, cap: float | None) -> Any:
        jobs = [runs.job(32, rate=f"{load / 32}/s", together=c.together, duration=f"{length} s")]
        return runs.under(c, cap, jobs, f"{load} /s, ")

    found = runs.of(study, [one(x, cap) for x, cap in cases])
    rows = [
        {
            "cap": runs.cap_name(cap),
            "load": x,
            "utilisation": float(r["utilisation"]),
            "power_w": runs.mean(r, "power_w", 60, length),
        }
        for x, cap in cases
        for r in (found[f"{x} /s, {runs.cap_name(cap)}"],)
    ]
    return pd.DataFrame(rows)


def _load_summary(study: Study, loads: pd.DataFrame) -> pd.DataFrame:
    rows = cast(list[dict[str, Any]], loads.to_dict("records"))

    def highest(cap: str, most: float = 1.0) -> Mapping[str, Any]:
        return max((r for r in rows if r["cap"] == cap and r["utilisation"] <= most), key=lambda r: float(r["power_w"]))

    above = [r["utilisation"] for r in rows if r["cap"] == "8 W" and r["power_w"] > 8.2]
    low = next(r for r in rows if r["cap"] == "8 W")
    found = {
        "lowest_load_w": low["power_w"],
        "lowest_load_w_half": low.get("power_w_half", 0.0),
        "full_load_w": next(r["power_w"] for r in reversed(rows) if r["cap"] == "8 W"),
        "free_w": highest("no cap")["power_w"],
        "from_utilisation": min(above, default=1.0),
        "to_utilisation": max(above, default=0.0),
        "bound_9_w": 9.0 + runs.EPSILON_W,
        "bound_8_w": 8.0 + runs.EPSILON_W,
    }
    for cap in ("9 W", "8 W"):
        of = highest(cap)
        found[f"highest_{cap[0]}_w"] = of["power_w"]
        found[f"highest_{cap[0]}_w_half"] = of.get("power_w_half", 0.0)
    note = "only with threads that are due at the same moments"
    return pd.DataFrame([{**found, "remark": note if study.choices.together else ""}])


def live(study: Study) -> dict[str, pd.DataFrame]:
    """Return nothing: the live system is measured on a real kernel (docs/studies/live-caps.md)."""
    return {}
