"""How many random reads per second does a drive serve for each of its terabytes?

Drives grow, and their arms do not get faster. For drives of 4 to 36 TB with the order of today's
firmware, this finds the most open random reads per second at which the 99th percentile stays below
100 ms, and what raises it: a second arm, a part of the stroke, a cache in front. And what each costs.

    python examples/iops_per_tb.py
    python examples/iops_per_tb.py --limit 50 --requests 40000 --figure out/iops-per-tb
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

import headstack
from headstack import drives, plots
from headstack.cli import _terminal
from headstack.picture import Axis, Layer, Picture
from headstack.plots import tidy
from headstack.studies import evaluate

#: Terabytes, platters and outer MB/s, chosen near drives of each size; seeks as those of the 22 TB
#: drive that was measured.
SIZES = (
    (4, 4, 200),
    (8, 6, 230),
    (12, 8, 250),
    (18, 9, 270),
    (22, 10, 291),
    (30, 10, 300),
    (36, 10, 320),
)
SEEK = "7.5/0.25/15.2 ms"

#: Half of the heads is on each arm of a drive with two: its seeks are shorter, as fitted for such
#: drives (`drives/exos-2x18-sata.toml`), in the proportion to those of one arm.
TWO_ARM_SEEK = "6.4/0.25/13.2 ms"

#: Bytes of a read.
SIZE = 65_536

#: Percentiles that a result has, for caches: what misses have to keep so that all reads keep their
#: p99 is a lower one.
PERCENTILES = {0.0: "p99", 0.8: "p95", 0.9: "p90"}

#: Steps by which the rate is searched.
STEPS = 8


@dataclass(frozen=True)
class Remedy:
    """What is done about a drive that is too slow for its size.

    Attributes:
        arms: of the drive.
        used: share of its addresses that hold data, from the outer edge.
        hits: share of the reads that a cache in front serves.

    """

    arms: int = 1
    used: float = 1.0
    hits: float = 0.0


REMEDIES = {
    "as it is": Remedy(),
    "two arms": Remedy(arms=2),
    "outer half": Remedy(used=0.5),
    "outer quarter": Remedy(used=0.25),
    "cache, 80 % hits": Remedy(hits=0.8),
    "cache, 90 % hits": Remedy(hits=0.9),
}


@dataclass(frozen=True)
class Prices:
    """US dollars: for a terabyte of disk and of flash, and what a second arm adds as a share."""

    disk: float
    flash: float
    second_arm: float
    flash_share: float

    def of(self, terabytes: float, remedy: Remedy) -> float:
        """Return the price of a drive with its remedy."""
        drive = self.disk * terabytes * (1 + self.second_arm * (remedy.arms - 1))
        cache = self.flash * self.flash_share * terabytes if remedy.hits else 0.0
        return drive + cache


def drive(terabytes: int, platters: int, rate: int, arms: int) -> dict[str, Any]:
    """Return a drive of a size, with one arm or two that have half of the heads each."""
    spec: dict[str, Any] = dict(
        drives.from_datasheet(
            f"drive-{terabytes}tb",
            capacity=f"{terabytes / arms:g} TB",
            rpm=7200,
            heads=2 * platters // arms,
            rate=f"{rate} MB/s",
            seek=SEEK if arms == 1 else TWO_ARM_SEEK,
            head_switch="0.25 ms",
            cache="256 MB",
            link="600 MB/s",
            year=2022,
        )
    )
    if arms == 2:
        # Both halves are behind one queue; the addresses of one follow those of the other.
        spec["dash"] = "D1A2S1H1"
        spec["parallelism"] = {"arm_share": "own-share", "arms_in_motion": 0, "channels": 0}
        spec["geometry"]["surfaces"] *= 2
        spec["geometry"]["capacity_blocks"] *= 2
    return spec


def tails(
    cases: list[tuple[dict[str, Any], Remedy]], rates: list[float], requests: int
) -> list[float]:
    """Return for each drive the percentile in seconds that decides, at a rate of reads at it."""
    systems, workloads = [], []
    for i, ((spec, remedy), rate) in enumerate(zip(cases, rates, strict=True)):
        held = spec["geometry"]["capacity_blocks"] * 512
        workloads.append(
            {
                "name": f"load {i}",
                "warm_up": requests // 10,
                "synthetic": {
                    "n_requests": requests,
                    "reads": 1.0,
                    "sequential": 0.0,
                    "size": f"{SIZE} B",
                    "arrivals": "poisson",
                    "rate": f"{rate:.6g}/s",
                    "footprint": f"{int(held * remedy.used) // SIZE * SIZE} B",
                },
            }
        )
        systems.append({"name": f"drive {i}", "drive": spec})
    found = []
    for system, workload, (_, remedy) in zip(systems, workloads, cases, strict=True):
        result = headstack.run(workload=workload, systems=[system], log_requests=False)
        times = result.document["systems"][0]["response_time_s"]
        found.append(float(times[PERCENTILES[remedy.hits]]))
    return found


def most_rates(
    cases: list[tuple[dict[str, Any], Remedy]], limit_s: float, requests: int
) -> list[float]:
    """Return the most reads per second at each drive that keep its percentile below a limit."""
    low, high = [1.0] * len(cases), [800.0] * len(cases)
    for _ in range(STEPS):
        # In proportion: the rates of small and large drives are found equally well.
        middle = [(a * b) ** 0.5 for a, b in zip(low, high, strict=True)]
        for i, tail in enumerate(tails(cases, middle, requests)):
            if tail < limit_s:
                low[i] = middle[i]
            else:
                high[i] = middle[i]
    return low


def study(limit_s: float, requests: int, prices: Prices) -> pd.DataFrame:
    """Return a row for each size and remedy.

    Columns: ``TB, remedy, reads_per_s, per_TB, dollars_per_TB, reads_per_dollar``; per terabyte
    that holds data.
    """
    named, cases = [], []
    for size in SIZES:
        for name, remedy in REMEDIES.items():
            named.append((size[0], name, remedy))
            cases.append((drive(*size, remedy.arms), remedy))
    rows = []
    for (terabytes, name, remedy), at_drive in zip(
        named, most_rates(cases, limit_s, requests), strict=True
    ):
        reads = at_drive / (1 - remedy.hits)
        used = terabytes * remedy.used
        dollars = prices.of(terabytes, remedy)
        rows.append(
            {
                "TB": terabytes,
                "remedy": name,
                "reads_per_s": reads,
                "per_TB": reads / used,
                "dollars_per_TB": dollars / used,
                "reads_per_dollar": reads / dollars,
            }
        )
    return pd.DataFrame(rows)


FIGURE = Picture(
    "iops-per-tb",
    "Random reads per second for each terabyte, p99 below 100 ms",
    "reads",
    Axis("TB", "capacity of the drive (TB)", log=2, values=tuple(s[0] for s in SIZES)),
    Axis("per_TB", "reads per second and TB with data", log=10),
    colour="remedy",
    layers=(Layer("line", markers=True),),
    width=520,
    height=320,
)


def main() -> None:
    """Print the tables, and draw the figure if asked for."""
    ask = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    ask.add_argument("--limit", type=float, default=100.0, help="of the p99, in ms")
    ask.add_argument("--requests", type=int, default=10_000, help="of each run")
    ask.add_argument("--disk", type=float, default=16.0, help="US dollars for a TB of disk")
    ask.add_argument("--flash", type=float, default=80.0, help="US dollars for a TB of flash")
    ask.add_argument("--second-arm", type=float, default=0.15, help="more for a second arm")
    ask.add_argument("--flash-share", type=float, default=0.04, help="size of the cache")
    ask.add_argument("--figure", type=Path, help="write PATH.png and PATH.svg")
    asked = ask.parse_args()
    prices = Prices(asked.disk, asked.flash, asked.second_arm, asked.flash_share)
    found = study(asked.limit / 1e3, asked.requests, prices)
    sizes = [str(s[0]) for s in SIZES]
    for title, column, form in (
        ("reads/s per TB", "per_TB", "{:.3g}"),
        ("reads/s per dollar", "reads_per_dollar", "{:.2g}"),
    ):
        table = found.pivot(index="remedy", columns="TB", values=column)
        rows = [[r, *(form.format(v) for v in table.loc[r])] for r in REMEDIES]
        _terminal.print_table([(title, True), *((f"{s} TB", False) for s in sizes)], rows)
        print()
    # The same for all sizes.
    dollars = found.groupby("remedy", sort=False)["dollars_per_TB"].first()
    rows = [[r, f"{dollars[r]:.3g}"] for r in REMEDIES]
    _terminal.print_table([("remedy", True), ("US dollars per TB", False)], rows)
    if asked.figure:
        chart = tidy.draw(FIGURE, evaluate.rows_of({"reads": found}))
        _terminal.say_written(plots.save(chart, asked.figure), as_json=False)


if __name__ == "__main__":
    main()
