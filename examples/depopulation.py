"""A head of a drive in a pool has failed: replace the drive, or go on without the head?

The pool's data are coded (8 data and 2 parity blocks unless said otherwise) and spread evenly over
all drives, with room to spare. Ways to get whole again:

- "rebuild, replace": the drive is taken out at once, and all its data are computed from the others;
  a new drive gets its share back.
- "copy, replace": what the other heads read is copied off first; only the failed head's data are
  computed.
- "drain, depopulate, refill": the same, but the drive removes its head (one write of the medium)
  and comes back smaller.
- "keep zones": a host-managed drive keeps its addresses; the data of zones that went offline are
  computed, and nothing else moves.

Rates are the mean rates of long reads and writes of the drive file, of which the pool gives a share
to such work; a drive that serves nothing else gives all.

    python examples/depopulation.py
    python examples/depopulation.py --drive exos-x18 --drives 60 --full 0.9 --figure out/depopulation
"""

import argparse
import math
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from headstack.drives import depopulation
from headstack import drives
from headstack.show import plots
from headstack.cli import _terminal
from headstack.drives.depopulation import Depopulation
from headstack.show.plots import figure
from headstack.papers import evaluate

#: Failures per drive and year: Backblaze, all drives of 2024.
AFR = 0.0157

HOURS_A_YEAR = 8766.0


@dataclass(frozen=True)
class Pool:
    """Drives that hold coded data, spread evenly.

    Attributes:
        drives: how many.
        data: blocks that are read to compute one.
        full: share of the capacity that holds data.
        share: of a drive's rate that copies and computed blocks get beside the pool's other work.
    """

    drives: int
    data: int
    full: float
    share: float


@dataclass(frozen=True)
class Way:
    """What one way costs.

    Attributes:
        name: of the way.
        phases: hours of each phase.
        exposed_h: until all data have their full redundancy again.
        exposed_bytes: data that have less until then.
        moved_bytes: bytes read and written on all drives.
        capacity_bytes: of the drive afterwards.
    """

    name: str
    phases: dict[str, float]
    exposed_h: float
    exposed_bytes: float
    moved_bytes: float
    capacity_bytes: float

    @property
    def hours(self) -> float:
        """Return the hours until everything is in place."""
        return sum(self.phases.values())

    def second_failure(self, pool: Pool) -> float:
        """Return the probability that another drive fails before the redundancy is full again."""
        return 1 - math.exp(-(pool.drives - 1) * AFR * self.exposed_h / HOURS_A_YEAR)


def ways(pool: Pool, found: Depopulation) -> list[Way]:
    """Return what each way costs for a drive whose head has failed.

    With `B` bytes on the drive, `n` drives, `k` data blocks, rate `R` and share `s`, blocks are
    computed in `(k + 1) B / ((n - 1) s R)` and copied from the drive in the longer of `B / R` and
    `B / ((n - 1) s R)`.
    """
    before, after = (float(c) for c in found.capacity_bytes)
    held = found.zone_bytes.sum(axis=0)
    times = (found.zone_bytes / found.zone_rates).sum(axis=0)
    rate, rate_after = held / times
    bytes_on = pool.full * before
    on_head = bytes_on * (1 - after / before)
    left = bytes_on - on_head
    spare = (pool.drives - 1) * pool.share * rate

    def computed(size: float) -> float:
        return (pool.data + 1) * size / spare / 3600

    def copied(size: float, own_rate: float) -> float:
        return max(size / own_rate, size / spare) / 3600

    refill = pool.full * after
    removal = found.seconds / 3600
    kept, of = found.zones
    offline = bytes_on * (of - kept) / of
    per_computed = pool.data + 1
    return [
        Way(
            "rebuild, replace",
            {"compute": computed(bytes_on), "refill": copied(bytes_on, rate)},
            computed(bytes_on),
            bytes_on,
            per_computed * bytes_on + 2 * bytes_on,
            before,
        ),
        Way(
            "copy, replace",
            {
                "compute": computed(on_head),
                "copy": copied(left, rate_after),
                "refill": copied(bytes_on, rate),
            },
            computed(on_head),
            on_head,
            per_computed * on_head + 2 * left + 2 * bytes_on,
            before,
        ),
        Way(
            "drain, depopulate, refill",
            {
                "compute": computed(on_head),
                "copy": copied(left, rate_after),
                "depopulate": removal,
                "refill": copied(refill, rate_after),
            },
            computed(on_head),
            on_head,
            per_computed * on_head + 2 * left + after + 2 * refill,
            after,
        ),
        Way(
            "keep zones",
            {"compute": computed(offline)},
            computed(offline),
            offline,
            per_computed * offline,
            before * kept / of,
        ),
    ]


PHASES = ["compute", "copy", "depopulate", "refill"]


def picture(most_hours: float) -> dict[str, object]:
    """Return the figure: a bar for each way, with its phases after one another."""
    step = 10 ** math.floor(math.log10(most_hours)) / (1 if most_hours > 5 else 5)
    ticks = [step * i for i in range(math.ceil(most_hours / step) + 1)]
    return {
        "title": "Hours until a pool is whole after a head has failed",
        "data": {"name": "phases"},
        "mark": "bar",
        "encoding": {
            "x": {"field": "hours", "title": "hours", "axis": {"values": ticks}},
            "y": {"field": "way"},
            "color": {"field": "phase"},
            "order": {"field": "number"},
        },
        "width": 520,
        "height": 160,
    }


def main() -> None:
    """Print the table, and draw the figure if asked for."""
    ask = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    ask.add_argument("--drive", default="helium-20tb", help="name or file")
    ask.add_argument("--head", type=int, default=7, help="that has failed")
    ask.add_argument("--drives", type=int, default=24, help="of the pool")
    ask.add_argument("--data", type=int, default=8, help="blocks that are read to compute one")
    ask.add_argument("--full", type=float, default=0.7, help="share of the capacity with data")
    ask.add_argument("--share", type=float, default=0.1, help="of a drive's rate for this work")
    ask.add_argument("--figure", type=Path, help="write PATH.png and PATH.svg")
    asked = ask.parse_args()
    pool = Pool(asked.drives, asked.data, asked.full, asked.share)
    found = depopulation.depopulate(drives.load(asked.drive), asked.head)
    costs = ways(pool, found)
    headings = [
        ("way", True),
        *((name, False) for name in ("hours", "exposed h", "of TB", "moved TB", "second failure")),
        ("drive TB", False),
    ]
    rows = [
        [
            way.name,
            f"{way.hours:.1f}",
            f"{way.exposed_h:.2f}",
            f"{way.exposed_bytes / 1e12:.2f}",
            f"{way.moved_bytes / 1e12:.1f}",
            f"{way.second_failure(pool):.1e}",
            f"{way.capacity_bytes / 1e12:.2f}",
        ]
        for way in costs
    ]
    _terminal.print_table(headings, rows)
    if asked.figure:
        phases = [
            {"way": way.name, "phase": p, "number": i, "hours": way.phases[p]}
            for way in costs
            for i, p in enumerate(PHASES)
            if p in way.phases
        ]
        # Colours are given in the order of the rows; the way with all phases is the first.
        phases.sort(key=lambda row: row["way"] != costs[2].name)
        drawn = picture(max(way.hours for way in costs))
        chart = figure.draw(drawn, evaluate.rows_of({"phases": pd.DataFrame(phases)}))
        _terminal.say_written(plots.save(chart, asked.figure), as_json=False)


if __name__ == "__main__":
    main()
