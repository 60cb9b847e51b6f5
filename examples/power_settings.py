"""Which setting keeps a power cap at the least cost in random reads, on a drive of today?

128 threads read 4 KiB at random over a 22 TB drive whose seeks draw energy by distance. The
settings are the depth of the drive's queue, the expiry of reads of the host's elevator, the drive's
active level (slower seeks that draw less) and a limit on the rate. A setting in watts is the fastest
level that keeps it. The last table has what idle conditions save under a light load.

    python examples/power_settings.py
    python examples/power_settings.py --drive exos-x18 --seconds 300 --figure out/power-settings
"""

import argparse
from pathlib import Path
from typing import Any

import pandas as pd

import headstack
from headstack.drives import active_level
from headstack import drives
from headstack.show import plots
from headstack.cli import _terminal
from headstack.show.plots import figure
from headstack.papers import evaluate

DEPTHS = (32, 16, 8, 4, 2, 1)

#: Shares of current and speed. Drives have four levels; a setting in watts chooses among more.
LEVELS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)

#: Limits on the rate, reads per second.
RATES = (200, 160, 120, 80, 40, 20)

EXPIRIES = {"500 ms": "", "2 s": ", expiry 2 s"}

CAPS_W = (8.5, 8.0, 7.5, 7.0, 6.5)

#: Timers of idle conditions: none, those with which such drives ship, and deeper ones.
TIMERS: dict[str, dict[str, str]] = {
    "none": {},
    "idle_a, idle_b": {"idle_a": "100 ms", "idle_b": "2 min"},
    "and idle_c": {"idle_a": "100 ms", "idle_b": "2 min", "idle_c": "10 min"},
    "and standby": {
        "idle_a": "100 ms",
        "idle_b": "2 min",
        "idle_c": "10 min",
        "standby": "15 min",
    },
}

#: Reads per hour of the light loads.
LIGHT = (1, 6, 60)


def systems(spec: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return for each setting the systems that have its values, by the name of the value."""

    def system(value: str, depth: int, expiry: str, level: float = 1.0, **more: Any) -> Any:
        queue = {
            "name": "host-queue",
            "elevator": "mq-deadline",
            "elevator_parameters": {"read_expire": expiry},
            "nr_requests": 128,
            "depth": depth,
        }
        limit = [{"name": "throttle", "iops": f"{more['rate']}/s"}] if more else []
        drive = active_level.at_level(spec, level)
        return {"name": value, "drive": drive, "layers": [*limit, queue]}

    found: dict[str, list[dict[str, Any]]] = {}
    for expiry, said in EXPIRIES.items():
        found[f"queue depth{said}"] = [system(f"{d}", d, expiry) for d in DEPTHS]
    found["active level"] = [system(f"{x:g}", 32, "500 ms", x) for x in LEVELS]
    found["level, expiry 2 s, depth 8"] = [system(f"{x:g}", 8, "2 s", x) for x in LEVELS]
    found["rate limit"] = [system(f"{r}/s", 32, "500 ms", rate=r) for r in RATES]
    return found


def measure(spec: dict[str, Any], seconds: float) -> pd.DataFrame:
    """Return a row for each value: ``setting, value, number, watts, iops, p99_ms``."""
    blocks = spec["geometry"]["capacity_blocks"]
    requests = {"reads": 1.0, "size": "4 KiB", "footprint": f"{blocks * 512} B"}
    job = {"threads": 128, "think_time": "60 us", "duration": f"{seconds + 10} s"}
    named = systems(spec)
    listed = [
        {**system, "name": f"{setting}: {system['name']}"}
        for setting, of in named.items()
        for system in of
    ]
    result = headstack.run(
        workload={"jobs": [{**job, "requests": requests}], "warm_up": "10 s"},
        systems=listed,
        log_requests=False,
    )
    rows = []
    for system in result.document["systems"]:
        setting, _, value = system["name"].rpartition(": ")
        rows.append(
            {
                "setting": setting,
                "value": value,
                "number": len(rows),
                "watts": system["power_w"]["mean"],
                "iops": system["throughput_iops"],
                "p99_ms": 1e3 * system["response_time_s"]["p99"],
            }
        )
    return pd.DataFrame(rows)


def best(table: pd.DataFrame, cap_w: float) -> dict[str, tuple[str, float]]:
    """Return for each setting the value with the most reads under a cap, and the reads."""
    found = {}
    for setting, rows in table.groupby("setting", sort=False):
        fits = rows[rows.watts <= cap_w]
        if len(fits):
            row = fits.loc[fits.iops.idxmax()]
            found[str(setting)] = (str(row.value), float(row.iops))
    return found


def idle(spec: dict[str, Any], reads: int) -> list[list[str]]:
    """Return the rows of the table of idle conditions."""
    rows = []
    blocks = spec["geometry"]["capacity_blocks"]
    for rate in LIGHT:
        synthetic = {
            "n_requests": reads,
            "reads": 1.0,
            "sequential": 0.0,
            "size": "4 KiB",
            "arrivals": "poisson",
            "rate": f"{rate / 60}/min",
            "footprint": f"{blocks * 512 // 4096 * 4096} B",
        }
        listed = [
            {
                "name": name,
                "drive": spec,
                "set": {f"power.conditions.{k}.timer": v for k, v in timers.items()},
            }
            for name, timers in TIMERS.items()
        ]
        result = headstack.run(
            workload={"synthetic": synthetic}, systems=listed, log_requests=False
        )
        for system in result.document["systems"]:
            mean = 1e3 * system["response_time_s"]["mean"]
            watts = system["power_w"]["mean"]
            rows.append([f"{rate}", system["name"], f"{watts:.2f}", f"{mean:,.0f}"])
    return rows


FIGURE = {
    "title": "Random reads and power of a 22 TB drive, by setting; 128 readers",
    "data": {"name": "settings"},
    "mark": {"type": "line", "point": True},
    "encoding": {
        "x": {"field": "watts", "title": "power (W)"},
        "y": {"field": "iops", "title": "random reads per second", "scale": {"zero": True}},
        "color": {"field": "setting"},
        "order": {"field": "number"},
    },
    "width": 520,
}


def main() -> None:
    """Print the tables, and draw the figure if asked for."""
    ask = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    ask.add_argument("--drive", default="ultrastar-hc570", help="name or file")
    ask.add_argument("--seconds", type=float, default=60.0, help="of each run")
    ask.add_argument("--reads", type=int, default=1000, help="of each light load")
    ask.add_argument("--figure", type=Path, help="write PATH.png and PATH.svg")
    asked = ask.parse_args()
    spec = active_level.by_distance(drives.load(asked.drive))
    table = measure(spec, asked.seconds)
    rows = [
        [r.setting, r.value, f"{r.watts:.2f}", f"{r.iops:.0f}", f"{r.p99_ms:.0f}"]
        for r in table.itertuples()
    ]
    headings = [("setting", True), ("value", True), ("W", False), ("reads/s", False)]
    _terminal.print_table([*headings, ("p99 ms", False)], rows)
    print()
    settings = list(dict.fromkeys(table.setting))
    cells = []
    for cap in CAPS_W:
        found = best(table, cap)
        told = [f"{found[s][1]:.0f} ({found[s][0]})" if s in found else "-" for s in settings]
        cells.append([f"{cap:g}", *told])
    _terminal.print_table([("cap W", False), *((s, False) for s in settings)], cells)
    print()
    headings = [("reads/h", False), ("timers", True), ("W", False), ("mean ms", False)]
    _terminal.print_table(headings, idle(spec, asked.reads))
    if asked.figure:
        chart = figure.draw(FIGURE, evaluate.rows_of({"settings": table}))
        _terminal.say_written(plots.save(chart, asked.figure), as_json=False)


if __name__ == "__main__":
    main()
