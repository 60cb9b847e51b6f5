"""Random writes to shingled drives: fast until the media cache is full, then a fraction.

Random writes of 4 KiB, always some in flight, to a conventional drive and to the same drive with
shingled bands and a media cache on its platters, for two sizes of the cache. The drive's own buffer
completes writes before they are on the medium in all of them. Real caches have some 20 GB and more.

    python examples/shingled.py
    python examples/shingled.py --caches "256 MiB" "4 GiB" --minutes 2 --figure out/shingled
"""

import argparse
from pathlib import Path
from typing import Any

import altair as alt

import headstack
from headstack.show import plots
from headstack.cli import _terminal

CONVENTIONAL = "conventional"


def system(name: str, cache: str | None) -> dict[str, Any]:
    """Return a drive of 18 TB, with written bands and a media cache if that has a size."""
    settings: dict[str, Any] = {"cache.write_on_arrival": False}
    if cache is not None:
        settings["mapping"] = {"model": "media-cache", "cache_size": cache, "initial": "full"}
    return {"name": name, "drive": "exos-x18", "set": settings}


def smooth(times: list[float], rates: list[float]) -> list[tuple[float, float]]:
    """Return the mean rates of at most 100 equal times, by their minutes, without those of 0."""
    group = -(-len(rates) // 100)
    starts = range(0, len(rates), group)
    points = [(times[i] / 60, mean(rates[i : i + group])) for i in starts]
    return [point for point in points if point[1] > 0]


def mean(values: list[float]) -> float:
    """Return the mean, 0 of nothing."""
    return sum(values) / len(values) if values else 0.0


def main() -> None:
    """Run all drives, print the table, and draw the figure if asked for."""
    ask = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    ask.add_argument(
        "--caches", nargs="+", default=["2 GiB", "8 GiB"], help="sizes of the media cache"
    )
    ask.add_argument("--minutes", type=float, default=3.0, help="simulated time")
    ask.add_argument("--outstanding", type=int, default=8, help="requests in flight")
    ask.add_argument("--figure", type=Path, help="write PATH.png and PATH.svg")
    asked = ask.parse_args()

    named = {CONVENTIONAL: None} | {f"media cache of {size}": size for size in asked.caches}
    workload: dict[str, Any] = {
        "synthetic": {
            "n_requests": 100_000_000,
            "reads": 0.0,
            "size": "4 KiB",
            "arrivals": "closed",
            "outstanding": asked.outstanding,
            "footprint": "10 TB",
        },
    }
    result = headstack.run(
        workload=workload,
        systems=[system(name, size) for name, size in named.items()],
        run={"duration": f"{asked.minutes} min"},
        log_requests=False,
    )
    lines: dict[str, list[tuple[float, float]]] = {}
    rows = []
    for found in result.document["systems"]:
        series = found["series"]
        # After the end there are no new writes; the last ones are left out.
        times = [t for t in series["t_s"] if t < 60 * asked.minutes]
        rates = [float(rate) for rate in series["throughput_iops"][: len(times)]]
        lines[found["name"]] = smooth(times, rates)
        first, last = rates[: len(rates) // 20], rates[-len(rates) // 4 :]
        cleaning = found["drives"][0]["background"]["cleaning"]["time_s"]
        rows.append(
            [
                found["name"],
                f"{mean(first):.0f}",
                f"{mean(last):.1f}",
                f"{cleaning / (60 * asked.minutes):.0%}",
                f"{found['power_w']['mean']:.1f}",
            ]
        )
    headings = ("drive", "first 5 % /s", "last quarter /s", "cleaning", "power W")
    _terminal.print_table([(h, h == "drive") for h in headings], rows)
    if asked.figure is not None:
        chart = plots.lines(
            lines,
            alt.X(
                "x:Q", title="time (min)", scale=alt.Scale(nice=False), axis=alt.Axis(format="~g")
            ),
            alt.Y(
                "y:Q",
                title="writes per second (logarithmic)",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(format="~g", tickCount=8),
            ),
            "Random writes of 4 KiB to a drive-managed shingled drive",
            series="drive",
            levels={},
        )
        _terminal.say_written(plots.save(chart, asked.figure), as_json=False)


if __name__ == "__main__":
    main()
