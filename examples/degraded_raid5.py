"""What a RAID-5 loses when a member is gone: conventional drives against drives with two actuators.

PostgreSQL under pgbench on five drives, at several speeds of the same recording. A read of data that were
on the missing member reads the other four; a small write into its rows rebuilds what it needs from them.
Drives whose two arm assemblies work at once have more to give when that happens.

    python examples/degraded_raid5.py
    python examples/degraded_raid5.py --speeds 1 2 --figure out/degraded-raid5
"""

import argparse
from pathlib import Path
from typing import Any

import altair as alt

import headstack
from headstack.show import plots
from headstack.cli import _terminal

TRACE = Path(__file__).parent / "traces" / "pgbench.csv.zst"

DRIVES: dict[str, dict[str, Any]] = {
    "conventional": {"drive": "barracuda-es-750"},
    "two actuators at once": {
        "drive": "barracuda-es-750",
        "dash": "D1A2S1H1",
        "parallelism": {"arms_in_motion": 2, "channels": 2},
    },
}


def system(name: str, drive: dict[str, Any], members: int, gone: list[int]) -> dict[str, Any]:
    """Return a RAID-5 with the given members gone, under a host queue as Linux sets it up."""
    return {
        "name": name,
        "count": members,
        "organisation": "concatenate",
        "scheduler": "sptf",
        "queue_depth": 32,
        "layers": [
            {"name": "raid5", "chunk": "64 KiB", "gone": gone},
            {"name": "host-queue", "elevator": "mq-deadline", "nr_requests": 256},
        ],
        **drive,
    }


def main() -> None:
    """Run all arrays at all speeds, print the table, and draw the figure if asked for."""
    ask = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    ask.add_argument("--members", type=int, default=5, help="drives of the array")
    ask.add_argument(
        "--speeds",
        type=float,
        nargs="+",
        default=[0.5, 1.0, 1.5, 2.0, 2.5, 3.0],
        help="how many times as fast as recorded",
    )
    ask.add_argument("--requests", type=int, help="stop after so many")
    ask.add_argument("--figure", type=Path, help="write PATH.png and PATH.svg")
    asked = ask.parse_args()

    systems = [
        system(f"{kind}, {state}", drive, asked.members, gone)
        for kind, drive in DRIVES.items()
        for state, gone in (("healthy", []), ("one member gone", [0]))
    ]
    lines: dict[str, list[tuple[float, float]]] = {s["name"]: [] for s in systems}
    rows = []
    for speed in asked.speeds:
        workload: dict[str, Any] = {"trace": str(TRACE), "time_scale": 1.0 / speed}
        if asked.requests is not None:
            workload["count"] = asked.requests
        result = headstack.run(workload=workload, systems=systems, log_requests=False)
        for found in result.document["systems"]:
            times = found["response_time_s"]
            p99_ms = float(times["p99"]) * 1e3
            lines[found["name"]].append((speed, p99_ms))
            watts = f"{found['power_w']['mean']:.1f}"
            mean = f"{float(times['mean']) * 1e3:.2f}"
            rows.append([f"{speed:g}", found["name"], mean, f"{p99_ms:.1f}", watts])
    headings = ("speed", "array", "mean ms", "p99 ms", "power W")
    _terminal.print_table([(h, h == "array") for h in headings], rows)
    if asked.figure is not None:
        chart = plots.lines(
            lines,
            alt.X(
                "x:Q",
                title="speed of the recording",
                scale=alt.Scale(nice=False, zero=False),
                axis=alt.Axis(format="~g"),
            ),
            plots.logarithmic_ms("p99 response time"),
            "What a RAID-5 loses with a member",
            series="array",
            levels={},
        )
        _terminal.say_written(plots.save(chart, asked.figure), as_json=False)


if __name__ == "__main__":
    main()
