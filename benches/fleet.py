"""Runs a fleet of unlike drives, each under a day of its own load, and says what larger ones cost.

`python benches/fleet.py [--drives N] [--hours H] [--jobs J] [--dask ADDRESS | --workers W]
[--out DIR] [--grow]`: drive i of the population `helium-20tb` with a load drawn for it: a mean
rate, a share of reads and of sequential requests, and a rate that changes four times a day.

`--grow` measures how the cost grows with drives, requests and workers, and draws it. The plan for
10,000 and 1,000,000 drives comes from the measured costs of a drive and of a request. Costs are
processor time of all processes, which other work on the machine changes less than wall time.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import resource
import time
from pathlib import Path
from typing import Any

from headstack.drives import population
from headstack.runs import store, worker
from headstack.runs.processes import Processes
from headstack.runs.sweeps import running
from headstack.runs.sweeps.plan import Sweep

#: The population that drives are drawn from, and its seed.
PRESET, SEED = "helium-20tb", 7

#: Median of the mean rates of drives in requests per second, and the deviation of their logarithm.
RATE, SPREAD = 5.0, 0.6

#: Rate in each quarter of the day, relative to the mean.
QUARTERS = (0.4, 1.2, 1.6, 0.8)


def load(drive: int, hours: float) -> dict[str, Any]:
    """Return the synthetic workload of one drive."""
    draw = random.Random(f"fleet/{drive}").random
    # Box and Muller: a normal number from two uniform ones.
    normal = math.sqrt(-2 * math.log(1 - draw())) * math.cos(2 * math.pi * draw())
    rate = RATE * math.exp(SPREAD * normal)
    quarter = f"{hours / 4:.6g} h"
    return {
        "n_requests": max(100, round(rate * hours * 3600)),
        "reads": round(0.3 + 0.65 * draw(), 3),
        "sequential": round(0.4 * draw(), 3),
        "size": "64 KiB",
        "footprint": "15 TB",
        "rate": f"{rate:.4f}/s",
        "phases": [{"duration": quarter, "rate": f"{rate * q:.4f}/s"} for q in QUARTERS],
    }


def fleet(drives: int, hours: float) -> Sweep:
    """Return the runs of a fleet: one point for each drive."""
    drawn = population.draw(PRESET, n=drives, seed=SEED)
    document = {"workload": {"synthetic": load(0, hours)}, "system": [{"name": "drive"}]}
    document["system"][0]["drive"] = PRESET
    points = tuple(
        {"system.0.drive": population.description(drawn, i), "workload.0.synthetic": load(i, hours), "run.seed": i}
        for i in range(drives)
    )
    return Sweep({"file": None, "text": json.dumps(document), "places": {}}, (), points)


def processor_s() -> float:
    """Return the processor time of this process and of those that it has ended."""
    both = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(u.ru_utime + u.ru_stime for u in both)


def run(whole: Sweep, jobs: int, dask: str | None = None, out: Path | None = None) -> tuple[float, float, list[Any]]:
    """Return processor seconds and seconds of a fleet, and its records, which a folder keeps.

    The processor time of workers of Dask is that of their cluster's end.
    """
    names = running.keys(whole)
    used, begun = processor_s(), time.perf_counter()

    def pool() -> Any:
        if dask is None:
            return Processes(jobs, worker.prepare, (whole.base,))
        from headstack.runs.sweeps import cluster

        return cluster.connect(dask, whole.base, [])

    with store.opened(out, whole.base, alone=True) as records:
        found, _ = running.carry_out(whole, names, records, pool, jobs)
        took = processor_s() - used, time.perf_counter() - begun
        if out is not None:
            records.publish([], running.table([]), {})
    return *took, found


def clustered(whole: Sweep, workers: int) -> tuple[float, float, list[Any]]:
    """Return the same of workers of Dask on this machine, their start included."""
    import distributed

    used = processor_s()
    with distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as local:
        _, seconds, found = run(whole, workers, local.scheduler_address)
    return processor_s() - used, seconds, found


def requests_of(records: list[Any]) -> int:
    """Return the number of simulated requests."""
    return sum(r["rows"][0]["n_requests"] for r in records)


def summary(records: list[Any], used: float, seconds: float) -> dict[str, Any]:
    """Return what a fleet did: its slowest drives, its power, its cost."""
    rows = [r["rows"][0] for r in records]
    tails = sorted(row["response_time_p99_s"] for row in rows)
    busy = sorted(row["utilisation"] for row in rows)
    n = len(rows)
    return {
        "drives": n,
        "requests": requests_of(records),
        "processor_s": used,
        "seconds": seconds,
        "power_w": sum(row["power_mean_w"] for row in rows),
        "p99_s": {q: tails[min(n - 1, int(q * n))] for q in (0.5, 0.9, 0.99)},
        "utilisation": {q: busy[min(n - 1, int(q * n))] for q in (0.5, 0.9, 0.99)},
        "n_overloaded": sum(bool(row.get("overloaded")) for row in rows),
    }


def costs(small: tuple[int, int, float], large: tuple[int, int, float]) -> tuple[float, float]:
    """Return seconds of one drive and of one request from two fleets: drives, requests, seconds."""
    # seconds = drives * a + requests * b
    (n, r, t), (m, s, u) = small, large
    determinant = n * s - m * r
    return (t * s - u * r) / determinant, (n * u - m * t) / determinant


def plan(per_drive: float, per_request: float, drives: int, hours: float) -> dict[str, Any]:
    """Return what a fleet costs on one processor, from measured costs."""
    mean = RATE * math.exp(SPREAD**2 / 2) * hours * 3600
    seconds = drives * (per_drive + per_request * mean)
    return {"drives": drives, "requests": drives * mean, "processor_hours": seconds / 3600}


def grow(folder: Path, jobs: int) -> list[dict[str, Any]]:
    """Measure how the cost grows, and draw it."""
    import altair as alt

    from headstack.show import plots

    rows: list[dict[str, Any]] = []
    cases = [("drives", d, 1.0, jobs) for d in (25, 50, 100, 200)]
    cases += [("requests", 50, h, jobs) for h in (1.0, 4.0, 12.0, 24.0)]
    cases += [("workers", 50, 12.0, j) for j in (1, 2)] + [("workers of Dask", 50, 12.0, 2)]
    for what, drives, hours, workers in cases:
        whole = fleet(drives, hours)
        dask = what == "workers of Dask"
        used, seconds, found = clustered(whole, workers) if dask else run(whole, workers)
        one = {"what": what, "drives": drives, "workers": workers, "processor_s": used}
        rows.append({**one, "seconds": seconds, "requests": requests_of(found)})
        print(json.dumps(rows[-1]), flush=True)
    names = {
        "drives": "more drives, an hour each",
        "requests": "50 drives, more hours each",
        "workers": "1 and 2 processes",
        "workers of Dask": "2 workers of Dask",
    }
    lines = {n: [r for r in rows if r["what"] == what] for what, n in names.items()}
    chart = plots.lines(
        {name: [(r["requests"] / 1e6, r["processor_s"]) for r in of] for name, of in lines.items()},
        alt.X("x:Q", title="requests (million)", scale=alt.Scale(type="log")),
        alt.Y("y:Q", title="processor time (s)", scale=alt.Scale(type="log")),
        "What a fleet of unlike drives costs",
        series="fleet",
        markers=True,
    )
    plots.save(chart, folder / "fleet-cost")
    return rows


def main() -> None:
    """Run the fleet that was asked for, and print what it did and what others would cost."""
    ask = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    ask.add_argument("--drives", type=int, default=200)
    ask.add_argument("--hours", type=float, default=24.0)
    ask.add_argument("--jobs", type=int, default=2)
    ask.add_argument("--dask", help="address of a scheduler")
    ask.add_argument("--workers", type=int, help="as many workers of Dask on this machine")
    ask.add_argument("--out", type=Path, help="folder of the records: a killed fleet goes on")
    ask.add_argument("--grow", action="store_true", help="measure how the cost grows, and draw it")
    asked = ask.parse_args()
    if asked.grow:
        grow(asked.out or Path("out"), asked.jobs)
        return
    small, _, few = run(fleet(20, 1.0), 1)
    large, _, long = run(fleet(20, 24.0), 1)
    per_drive, per_request = costs((20, requests_of(few), small), (20, requests_of(long), large))
    told: dict[str, Any] = {"seconds_per_drive": per_drive, "seconds_per_request": per_request}
    sizes = (asked.drives, 10**4, 10**6)
    told["plan"] = [plan(per_drive, per_request, n, asked.hours) for n in sizes]
    print(json.dumps(told), flush=True)
    whole = fleet(asked.drives, asked.hours)
    if asked.workers is not None:
        used, seconds, found = clustered(whole, asked.workers)
    else:
        used, seconds, found = run(whole, asked.jobs, asked.dask, asked.out)
    print(json.dumps(summary(found, used, seconds), indent=2))


if __name__ == "__main__":
    main()
