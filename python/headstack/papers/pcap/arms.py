"""Power, throughput and p99 of dual-actuator drives, by queue depth and arms that may move.

``python -m headstack.papers.pcap.arms --out DIR`` writes the figure and prints the numbers.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import headstack
from headstack.schema import System
from headstack.schema.workload import Job

from . import runs

#: Depths of the drive's queue, and seconds of each run.
DEPTHS, SECONDS = (1, 2, 4, 8, 16, 32), 120

#: Bytes of the drives.
CAPACITY = 18_000_207_937_536

#: An Exos 2X18, whose arms have half of the surfaces each, and similar drives whose arms reach all
#: surfaces. These have one queue, so the number of arms in motion can be limited.
DRIVES: dict[str, System] = {
    "own halves, both arms": {"drive": "exos-2x18-sata"},
    "shared surfaces, two arms": {"drive": "exos-2x18-sata", "parallelism": {"arm_share": "all", "arms_in_motion": 2}},
    "shared surfaces, one arm": {"drive": "exos-2x18-sata", "parallelism": {"arm_share": "all", "arms_in_motion": 1}},
}


def measure(depths: Sequence[int] = DEPTHS, seconds: int = SECONDS) -> pd.DataFrame:
    """Return one row per drive and depth: ``system, depth, watts, iops, p99_ms``."""
    jobs: list[Job] = [
        {
            "threads": 128,
            "think_time": runs.THINK,
            "duration": f"{seconds} s",
            "requests": {"reads": 1.0, "size": "4 KiB", "footprint": f"{CAPACITY * 99 // 100} B"},
        }
    ]
    systems: list[System] = [
        {"name": f"{name}/{depth}", **drive, "layers": [runs.queue(depth, 128)], "capping": {"policy": "none"}}
        for name, drive in DRIVES.items()
        for depth in depths
    ]
    result = headstack.run(workload={"jobs": jobs, "warm_up": "10 s"}, systems=systems, log_requests=False)
    rows = []
    for system in result.document["systems"]:
        name, _, depth = system["name"].partition("/")
        rows.append(
            {
                "system": name,
                "depth": int(depth),
                "watts": system["power_w"]["mean"],
                "iops": system["throughput_iops"],
                "p99_ms": 1e3 * system["capping"]["admitted_response_time_s"]["p99"],
            }
        )
    return pd.DataFrame(rows)


#: Power and throughput, one line per drive, with the depth at each point; and p99 by depth.
FIGURE: dict[str, Any] = {
    "name": "capping-arms",
    "title": "Dual-actuator drives under 128 random readers; numbers: depth of the queue",
    "data": {"name": "drives"},
    "hconcat": [
        {
            "encoding": {
                "x": {"field": "watts", "title": "power (W)"},
                "y": {"field": "iops", "title": "random reads per second"},
                "color": {"field": "system"},
            },
            "layer": [
                {"mark": {"type": "line", "point": True}, "encoding": {"order": {"field": "depth"}}},
                {"mark": {"type": "text", "dy": -10}, "encoding": {"text": {"field": "depth"}}},
            ],
            "width": 380,
            "height": 300,
        },
        {
            "mark": {"type": "line", "point": True},
            "encoding": {
                "x": {"field": "depth", "title": "depth of the queue", "scale": {"type": "log", "base": 2}},
                "y": {"field": "p99_ms", "title": "p99 from admission (ms)"},
                "color": {"field": "system"},
            },
            "width": 300,
            "height": 300,
        },
    ],
}


def cheapest(table: pd.DataFrame, cap_w: float) -> Mapping[str, Any]:
    """Return the setting with the highest throughput under a cap."""
    fits = table[table.watts <= cap_w]
    best = fits.sort_values("iops").tail(1)
    return {str(k): v for row in best.to_dict("records") for k, v in row.items()}


def main() -> None:
    """Write the figure, print the table."""
    from headstack.papers import evaluate
    from headstack.show import plots
    from headstack.show.plots import figure

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/img"))
    given = parser.parse_args()
    table = measure()
    chart = figure.draw(FIGURE, evaluate.rows_of({"drives": table}))
    plots.save(chart, given.out / "capping-arms")
    print(table.to_string(index=False))
    for cap in (9.0, 10.0, 11.0, 12.0, 13.0):
        print(cap, cheapest(table, cap))


if __name__ == "__main__":
    main()
