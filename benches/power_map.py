"""Power and rates over both queues, on a real kernel and in the simulation: Figure 3 of PCAP.

Prints a table and writes a figure: random reads of 4 KiB by 128 threads on `ultrastar-7k4000-pcap`
as a SCSI disk, under mq-deadline, with 4 to 128 places of the host and 1 to 32 of the drive.

    .venv/bin/python benches/power_map.py [--depths 1 32] [--rows FILE] [--figure PATH]

A point takes 15 s. Rates and power are those of the emulated drive, in simulated time; response
times are those that fio measures in the guest. Simulated: the same threads and settings, and the
time that the guest needs between the end of a request and the next one as `completion_time`. The
rows are kept in a file, so that the map can be measured in parts.
"""

import argparse
import json
import re
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import altair as alt
import block_layer
import guest
import pandas as pd

import headstack
from headstack.show import plots

DRIVE = "ultrastar-7k4000-pcap"
PLACES = (4, 8, 16, 32, 64, 128)
DEPTHS = (1, 2, 4, 8, 16, 32)
THREADS = 128
#: Seconds of a load, and those at its beginning that are left out.
SECONDS, BEGIN = 14.0, 3.0


@dataclass(frozen=True)
class Point:
    """What was found with one setting of both queues.

    Attributes:
        depth: of the drive's queue.
        places: of the host.
        who: ``kernel`` or ``simulation``.
        watts: mean power of the drive.
        rate: requests per second.
        p99: response time in ms.
    """

    depth: int
    places: int
    who: str
    watts: float
    rate: float
    p99: float


class Meter(threading.Thread):
    """Notes simulated time and energy of a drive four times a second, until it is stopped."""

    def __init__(self, disk: Any) -> None:
        """Begin with this emulation."""
        super().__init__(daemon=True)
        self._disk, self._ends = disk, threading.Event()
        self.notes: list[tuple[float, float]] = []
        self.start()

    def run(self) -> None:
        """Read the page of metrics."""
        while not self._ends.wait(0.25):
            page = self._disk.metrics
            now = re.search(r"(?m)^headstack_simulated_seconds (\S+)", page)
            joules = re.findall(r"(?m)^headstack_energy_joules_total\S* (\S+)", page)
            assert now is not None
            self.notes.append((float(now[1]), sum(map(float, joules))))

    def stop(self) -> None:
        """Note no more."""
        self._ends.set()
        self.join()

    def watts(self, begin: float, end: float) -> float:
        """Return the mean power between two simulated times, of the notes between them."""
        inside = [note for note in self.notes if begin <= note[0] <= end]
        (a, before), (b, after) = inside[0], inside[-1]
        return (after - before) / (b - a)


def case(depth: int, places: int) -> block_layer.Case:
    """Return the load with these settings."""
    return block_layer.Case("mq-deadline", places, depth, THREADS, in_advance=False)


def measure(depth: int) -> tuple[list[Point], list[float]]:
    """Return the points of a depth in the guest, and the guest's gap of each. One boot serves all.

    The gap is that of one thread; with one command at a time in the drive, that of the load itself.
    """
    script = ""
    loads = [block_layer.Case("none", 32, 32, 1), *(case(depth, p) for p in PLACES)]
    for n, load in enumerate(loads):
        job = load.job(SECONDS if n else 3, f"c{n}").replace("--filename", "--size=100% --filename")
        script += load.settings() + job + block_layer.MARK
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "session.csv"
        with headstack.emulate(DRIVE, iscsi=True, record=record) as disk:
            meter = Meter(disk)
            files = guest.run([disk.url], script, modules=guest.SCSI_MODULES, seconds=400,
                              kernel=guest.BACKPORTS)  # fmt: skip
            meter.stop()
        seen = block_layer.sessions(record)
    assert len(seen) == len(loads), f"{len(seen)} loads are in the record"
    points, late = [], []
    for n, (places, requests) in enumerate(zip(PLACES, seen[1:], strict=True), 1):
        begin, end = requests[0].arrival + BEGIN, requests[0].arrival + SECONDS
        rate = sum(begin <= r.completion < end for r in requests) / (end - begin)
        clat = json.loads(files[f"c{n}"])["jobs"][0]["read"]["clat_ns"]
        p99 = clat["percentile"]["99.000000"] / 1e6
        points.append(Point(depth, places, "kernel", meter.watts(begin, end), rate, p99))
        late.append(block_layer.gap(requests if depth == 1 else seen[0][20:]))
    return points, late


def simulate(depth: int, places: int, late: float, seeds: int = 3) -> Point:
    """Return the same of the simulation; means over seeds."""
    queue = {
        "name": "host-queue",
        "elevator": "mq-deadline",
        "places": "blk-mq",
        "nr_requests": places,
        "depth": depth,
        "sync_writes": True,
        "completion_time": f"{late * 1e9:.0f} ns",
    }
    requests = {"reads": 1.0, "size": "4 KiB", "sequential": 0.0, "local": 0.0, "footprint": "4000 GB"}
    job = {"threads": THREADS, "duration": "60 s", "requests": requests}
    found = []
    for seed in range(1, seeds + 1):
        result = headstack.run(
            workload={"jobs": [job], "warm_up": f"{BEGIN} s"}, systems={"drive": DRIVE, "layers": [queue]}, seed=seed
        )
        one = result.document["systems"][0]
        p99 = one["response_time_s"]["p99"] * 1e3
        found.append((one["power_w"]["mean"], one["throughput_iops"], p99))
    watts, rate, p99 = (fmean(column) for column in zip(*found, strict=True))
    return Point(depth, places, "simulation", watts, rate, p99)


def figure(points: Sequence[Point]) -> alt.Chart:
    """Return power and rate over the drive's queue, a line for each number of places."""
    frame = pd.DataFrame([asdict(p) for p in points])
    frame["places"] = frame["places"].astype(str)
    order = [str(p) for p in PLACES]

    def panel(column: str, title: str) -> alt.Chart:
        scale = alt.Scale(type="log", base=2)
        color = alt.Color("places:N", sort=order, title="places of the host")
        base = alt.Chart(frame).encode(
            x=alt.X("depth:Q", scale=scale, title="places of the drive"),
            y=alt.Y(f"{column}:Q", title=title, scale=alt.Scale(zero=False)),
            color=color,
        )
        lines = base.transform_filter("datum.who == 'simulation'").mark_line()
        dots = base.transform_filter("datum.who == 'kernel'").mark_point(filled=True, size=50)
        return (lines + dots).properties(width=300, height=260)

    return panel("watts", "power, W") | panel("rate", "requests per second")


def table(points: Sequence[Point]) -> str:
    """Return the table: measured, then simulated."""
    at = {(p.places, p.depth, p.who): p for p in points}
    lines = ["| places, depth | power, W | rate, 1/s | p99, s |", "|---|---|---|---|"]
    for depth in DEPTHS:
        for places in PLACES:
            real, ours = (at.get((places, depth, who)) for who in ("kernel", "simulation"))
            if real is None or ours is None:
                continue
            lines.append(
                f"| {places}, {depth} | {real.watts:.2f}, {ours.watts:.2f} | "
                f"{real.rate:.0f}, {ours.rate:.0f} | {real.p99 / 1e3:.2f}, {ours.p99 / 1e3:.2f} |"
            )
    return "\n".join(lines)


def main() -> None:
    """Measure, print the table, and draw the figure if asked for."""
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    ask.add_argument("--depths", type=int, nargs="*", default=list(DEPTHS))
    ask.add_argument("--rows", type=Path, help="keep the points in this file, and use those there")
    ask.add_argument("--figure", type=Path, help="write PATH.png and PATH.svg")
    asked = ask.parse_args()
    rows = []
    if asked.rows is not None and asked.rows.exists():
        rows = json.loads(asked.rows.read_text())
    points = [Point(**row) for row in rows if row["depth"] not in asked.depths]
    for depth in asked.depths:
        measured, late = measure(depth)
        gaps = ", ".join(f"{gap * 1e3:.2f}" for gap in late)
        print(f"depth {depth}: ms between a completion and the next: {gaps}", file=sys.stderr)
        ours = [simulate(depth, p, gap) for p, gap in zip(PLACES, late, strict=True)]
        points += measured + ours
    points.sort(key=lambda p: (p.depth, p.places, p.who))
    if asked.rows is not None:
        asked.rows.write_text(json.dumps([asdict(p) for p in points], indent=1) + "\n")
    print(table(points))
    if asked.figure is not None:
        plots.save(figure(points), asked.figure)


if __name__ == "__main__":
    try:
        guest.need(kernel=guest.BACKPORTS)
        main()
    except guest.AbsentError as reason:
        sys.exit(str(reason))
