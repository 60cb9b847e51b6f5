"""How many random reads per second does a drive serve for each of its terabytes?

Drives grow, and their arms do not get faster. For drives of 4 to 36 TB with the order of today's
firmware, this finds the most open random reads per second at which the 99th percentile stays below
100 ms, and what raises it: a second arm, a part of the stroke, a cache in front, duration limits
for a fifth of the reads. And what each costs.

    python examples/iops_per_tb.py
    python examples/iops_per_tb.py --limit 50 --requests 40000 --figure out/iops-per-tb
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

import headstack
from headstack import drives
from headstack.show import plots
from headstack.cli import _terminal
from headstack.show.plots import figure
from headstack.papers import evaluate

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

#: Share of the reads that have a duration limit, where there is one. Its tail has to keep the limit
#: of the study; that of the others may take `PATIENCE` times as long.
LIMITED = 0.2
PATIENCE = 5.0

#: Steps by which the rate is searched.
STEPS = 8


@dataclass(frozen=True)
class Remedy:
    """What is done about a drive that is too slow for its size.

    Attributes:
        arms: of the drive.
        used: share of its addresses that hold data, from the outer edge.
        hits: share of the reads that a cache in front serves.
        guideline_ms: the duration limit of `LIMITED` of the reads; 0 for none.
    """

    arms: int = 1
    used: float = 1.0
    hits: float = 0.0
    guideline_ms: int = 0


REMEDIES = {
    "as it is": Remedy(),
    "two arms": Remedy(arms=2),
    "outer half": Remedy(used=0.5),
    "outer quarter": Remedy(used=0.25),
    "cache, 80 % hits": Remedy(hits=0.8),
    "cache, 90 % hits": Remedy(hits=0.9),
    "limit of 20 ms for a fifth": Remedy(guideline_ms=20),
    "limit of 50 ms for a fifth": Remedy(guideline_ms=50),
    "limit of 100 ms for a fifth": Remedy(guideline_ms=100),
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


def ran(spec: dict[str, Any], remedy: Remedy, rate: float, requests: int) -> dict[str, Any]:
    """Return the results of a drive with its remedy, at a rate of reads at the drive."""
    held = spec["geometry"]["capacity_blocks"] * 512
    workload: dict[str, Any] = {
        "name": "load",
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
    system: dict[str, Any] = {"name": "drive", "drive": spec}
    if remedy.guideline_ms:
        workload["classes"] = [{"name": "limited", "share": LIMITED, "ioprio_hint": 1}]
        limits = [{"guideline": f"{remedy.guideline_ms} ms"}]
        system["set"] = {"duration_limits": {"enabled": "limits", "reads": limits}}
    result = headstack.run(workload=workload, systems=[system], log_requests=False)
    return dict(result.document["systems"][0])


def tails(
    cases: list[tuple[dict[str, Any], Remedy]], rates: list[float], requests: int
) -> list[float]:
    """Return for each drive the percentile in seconds that decides, at a rate of reads at it."""
    found = []
    for (spec, remedy), rate in zip(cases, rates, strict=True):
        system = ran(spec, remedy, rate, requests)
        if remedy.guideline_ms:
            limited, others = (c["response_time_s"]["p99"] for c in system["classes"])
            found.append(max(limited, others / PATIENCE))
        else:
            found.append(float(system["response_time_s"][PERCENTILES[remedy.hits]]))
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


def classes(limit_s: float, requests: int) -> pd.DataFrame:
    """Return what limits do to a drive of 22 TB: a row for each, at the rate that it allows.

    Columns: ``limit, reads_per_s, limited_ms, others_ms, without_ms``: the 99th percentile of the
    reads with the limit and of the others, and of all at the same rate without limits.
    """
    size = next(s for s in SIZES if s[0] == 22)
    spec = drive(*size, arms=1)
    rows = []
    for remedy in (r for r in REMEDIES.values() if r.guideline_ms):
        (rate,) = most_rates([(spec, remedy)], limit_s, requests)
        limited, others = ran(spec, remedy, rate, requests)["classes"]
        without = ran(spec, Remedy(), rate, requests)
        rows.append(
            {
                "limit": f"{remedy.guideline_ms} ms",
                "reads_per_s": rate,
                "limited_ms": limited["response_time_s"]["p99"] * 1e3,
                "others_ms": others["response_time_s"]["p99"] * 1e3,
                "without_ms": without["response_time_s"]["p99"] * 1e3,
            }
        )
    return pd.DataFrame(rows)


FIGURE = {
    "title": "Random reads per second for each terabyte, p99 below 100 ms",
    "data": {"name": "reads"},
    "mark": {"type": "line", "point": True},
    "encoding": {
        "x": {"field": "TB", "title": "capacity of the drive (TB)", "scale": {"type": "log", "base": 2}},
        "y": {"field": "per_TB", "title": "reads per second and TB with data", "scale": {"type": "log"}},
        "color": {"field": "remedy"},
    },
    "width": 520,
}


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
    print()
    seen = classes(asked.limit / 1e3, asked.requests)
    title = ("limit of a fifth, 22 TB", True)
    heads = ("reads/s", "p99 with it, ms", "p99 without, ms", "p99 if none has it, ms")
    rows = [[r[0], *(f"{v:.0f}" for v in r[1:])] for r in seen.itertuples(index=False)]
    _terminal.print_table([title, *((h, False) for h in heads)], rows)
    if asked.figure:
        # The lines of different limits lie on each other.
        shown = found[found["remedy"].map(lambda r: REMEDIES[r].guideline_ms in (0, 50))]
        chart = figure.draw(FIGURE, evaluate.rows_of({"reads": shown}))
        _terminal.say_written(plots.save(chart, asked.figure), as_json=False)


if __name__ == "__main__":
    main()
