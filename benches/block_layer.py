"""The block layer of a real kernel on an emulated drive, and the simulated host queue beside it.

Prints a table: for each case the rate and the response times of random 4 KiB requests, as fio in
the guest measures them and as the simulation gives them. A case takes 15 s, booting 20 s.

    .venv/bin/python benches/block_layer.py

Simulated: the same threads, elevator, places and depth. A completion is noticed late by the time
that the guest needs between the end of a request and the arrival of the next one, which is measured
with one thread (`completion_time`); in cases with one request at a time at the drive, in the case
itself, since it varies with what else the machine does. The emulated processor is slow: 0.7 ms
or more.
"""

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from typing import Any

import guest

import headstack

DRIVE = "exos-x18"
#: Nearly all of it.
FOOTPRINT = "18000 GB"
QUEUE = "/sys/block/sda/queue"
DEPTH = "/sys/block/sda/device/queue_depth"
FIO = (
    "fio --name=c --filename=/dev/sda --direct=1 --bs=4k --thread --time_based --group_reporting "
    "--norandommap --random_generator=tausworthe64 --output-format=json --percentile_list=50:99"
)
#: A flush, after which nothing is left in the drive's buffer, and a read of another size than those
#: of fio: what separates the cases of a session.
MARK = (
    "dd if=/dev/null of=/dev/sda conv=fsync,notrunc 2>/dev/null\n"
    "dd if=/dev/sda of=/dev/null bs=16k count=1 2>/dev/null; sleep 0.3\n"
)


@dataclass(frozen=True)
class Case:
    """A load and the settings of the queue that serves it.

    Attributes:
        elevator: as in ``queue/scheduler``.
        places: ``queue/nr_requests``.
        depth: ``device/queue_depth``.
        threads: of fio, each with one request at a time.
        reads: the share of reads.
        retake: share of the places promised to a woken thread that another one takes.
        in_advance: of the simulated `mq-deadline`, as in Linux 5.14 to 6.4.
        low_latency: of `bfq`.
    """

    elevator: str
    places: int
    depth: int
    threads: int
    reads: float = 1.0
    retake: float = 0.3
    in_advance: bool = True
    low_latency: bool = True

    @property
    def is_alone(self) -> bool:
        """Whether the drive has one request at a time."""
        return self.threads == 1 or self.depth == 1

    @property
    def starves(self) -> bool:
        """Whether there are fewer places than threads."""
        return self.places < self.threads

    def settings(self) -> str:
        """Return commands that set the queue of the guest's disk.

        Under `none` the number of places is also that of the driver's tags, and stays so under
        another elevator. So it is 32 before the elevator changes.
        """
        own = f"echo {self.low_latency:d} > {QUEUE}/iosched/low_latency\n"
        return (
            f"echo none > {QUEUE}/scheduler; echo 32 > {QUEUE}/nr_requests\n"
            f"echo {self.depth} > {DEPTH}; echo {self.elevator} > {QUEUE}/scheduler\n"
            f"echo {self.places} > {QUEUE}/nr_requests\n"
            f"{own if self.elevator == 'bfq' else ''}"
        )

    def job(self, seconds: float, output: str) -> str:
        """Return the command that makes the load."""
        kind = "randread" if self.reads == 1 else f"randrw --rwmixread={self.reads * 100:.0f}"
        return f"{FIO} --rw={kind} --numjobs={self.threads} --runtime={seconds} --output={output}\n"


@dataclass(frozen=True)
class Request:
    """A request as the drive saw it, times in seconds."""

    arrival: float
    completion: float


@dataclass(frozen=True)
class Times:
    """What a load got.

    Attributes:
        rate: requests per second.
        response: for `read` and `write`, if there are any: mean, median, 99th percentile and
            longest response time in milliseconds.
    """

    rate: float
    response: dict[str, tuple[float, float, float, float]]


def sessions(record: Path) -> list[list[Request]]:
    """Return the requests of each case: those of 4 KiB between requests of other sizes."""
    rows = [line.split(",") for line in record.read_text().splitlines()[1:]]
    rows.sort(key=lambda row: int(row[0]))
    cases: list[list[Request]] = [[]]
    for row in rows:
        if row[3] != "8":
            cases.append([])
        else:
            at = int(row[0])
            cases[-1].append(Request(at / 1e9, (at + int(row[5])) / 1e9))
    return [case for case in cases if len(case) > 20]


def gap(requests: Sequence[Request]) -> float:
    """Return the usual time between the end of a request and the next arrival, of one thread."""
    return median(b.arrival - a.completion for a, b in pairwise(requests))


def mean_gap(requests: Sequence[Request]) -> float:
    """Return the mean time between the end of a request and the next arrival, of one at a time."""
    return fmean(b.arrival - a.completion for a, b in pairwise(requests))


def measure(cases: Sequence[Case], seconds: float = 15) -> tuple[list[Times], list[float]]:
    """Return what fio measures in the guest, and the guest's gap for each case.

    One boot serves all cases in order, after one with a single thread.
    """
    script = ""
    for n, case in enumerate([Case("none", 32, 32, 1), *cases]):
        script += case.settings() + case.job(seconds if n else 3, f"c{n}") + MARK
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "session.csv"
        most = 120 + len(cases) * (seconds + 30)
        with headstack.emulate(DRIVE, iscsi=True, record=record) as disk:
            files = guest.run(disk.urls, script, modules=guest.SCSI_MODULES, seconds=most)
        seen = sessions(record)
    assert len(seen) == len(cases) + 1, f"{len(seen)} cases are in the record"
    # The kernel reads the disk before the first case.
    alone = gap(seen[0][20:])
    measured, gaps = [], []
    for n, (case, requests) in enumerate(zip(cases, seen[1:], strict=True), 1):
        measured.append(times(json.loads(files[f"c{n}"]), requests, seconds))
        gaps.append(mean_gap(requests) if case.is_alone else alone)
    return measured, gaps


def times(said: Any, requests: Sequence[Request], seconds: float) -> Times:
    """Return the response times that fio says, and the rate at the drive."""
    end = requests[0].arrival + seconds
    response = {}
    for kind in ("read", "write"):
        part = said["jobs"][0][kind]["clat_ns"]
        if part["N"]:
            found = part["percentile"]
            values = (part["mean"], found["50.000000"], found["99.000000"], part["max"])
            response[kind] = tuple(value / 1e6 for value in values)
    return Times(sum(r.completion < end for r in requests) / seconds, response)


def simulate(case: Case, late: float, seconds: float = 15, seeds: int = 5) -> Times:
    """Return what the simulated host queue gives; means over seeds."""
    runs = (simulated(case, late, seconds, seed) for seed in range(seeds))
    return mean_of([of_simulation(run, seconds) for run in runs])


def simulated(
    case: Case, late: float, seconds: float, seed: int, changes: Sequence[Mapping[str, Any]] = ()
) -> headstack.Result:
    """Run a case in the simulation."""
    queue = {
        "name": "host-queue",
        "elevator": case.elevator,
        "places": "blk-mq",
        "nr_requests": case.places,
        "depth": case.depth,
        "sync_writes": True,
        "retake": case.retake,
        "completion_time": f"{late * 1e9:.0f} ns",
    }
    if case.elevator == "bfq":
        queue["elevator_parameters"] = {"low_latency": case.low_latency}
    if case.elevator == "mq-deadline":
        queue["elevator_parameters"] = {"in_advance": case.in_advance}
    requests = {"reads": case.reads, "size": "4 KiB", "sequential": 0.0, "local": 0.0, "footprint": FOOTPRINT}
    job = {"threads": case.threads, "duration": f"{seconds} s", "requests": requests}
    system = {"drive": DRIVE, "layers": [queue], "change": list(changes)}
    return headstack.run(workload={"jobs": [job]}, systems=system, seed=seed)


def of_simulation(result: headstack.Result, seconds: float) -> Times:
    """Return the same of a simulated run."""
    log = result.requests
    took = (log["completion_ns"] - log["arrival_ns"]) / 1e6
    rate = float((log["completion_ns"] - log["arrival_ns"].min() < seconds * 1e9).sum()) / seconds
    response = {}
    for kind in ("read", "write"):
        part = took[log["op"] == kind]
        if len(part):
            values = (part.mean(), part.quantile(0.5), part.quantile(0.99), part.max())
            response[kind] = tuple(map(float, values))
    return Times(rate, response)


def mean_of(all_times: Sequence[Times]) -> Times:
    """Return the mean of each number."""
    kinds = all_times[0].response
    response = {kind: tuple(map(fmean, zip(*(t.response[kind] for t in all_times), strict=True))) for kind in kinds}
    return Times(fmean(t.rate for t in all_times), response)


#: While it runs, the depth changes after 8 s and the number of places after 16 s.
CHANGING = Case("mq-deadline", 64, 8, 64, retake=0.95)
CHANGES = ({"at": "8 s", "layer": 0, "depth": 2}, {"at": "16 s", "layer": 0, "nr_requests": 16})
#: Seconds in which each setting is in force; fio needs up to a second to start.
WINDOWS = ((2.0, 7.0), (10.0, 15.0), (18.0, 23.0))


def rates(ends: Sequence[float]) -> list[float]:
    """Return the rate of each window."""
    return [sum(a <= end < b for end in ends) / (b - a) for a, b in WINDOWS]


def measure_changes() -> list[list[Request]]:
    """Return the requests in the drive of each window, while the queue of a guest is changed."""
    script = (
        f"{MARK}{CHANGING.settings()}{CHANGING.job(24, 'c').strip()} &\n"
        f"sleep 8; echo 2 > {DEPTH}; sleep 8; echo 16 > {QUEUE}/nr_requests; wait\n{MARK}"
    )
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "session.csv"
        with headstack.emulate(DRIVE, iscsi=True, record=record) as disk:
            guest.run(disk.urls, script, modules=guest.SCSI_MODULES)
        requests = max(sessions(record), key=len)
    start = requests[0].arrival
    return [[r for r in requests if a <= r.completion - start < b] for a, b in WINDOWS]


def simulate_changes(late: float, seeds: int = 5) -> list[float]:
    """Return the rates of the windows in the simulation; means over seeds."""
    found = []
    for seed in range(seeds):
        log = simulated(CHANGING, late, 24, seed, CHANGES).requests
        found.append(rates(list((log["completion_ns"] - log["arrival_ns"].min()) / 1e9)))
    return [fmean(window) for window in zip(*found, strict=True)]


CASES = [
    *(Case("none", 32, 32, threads) for threads in (1, 2, 4, 8, 16, 32)),
    *(Case("mq-deadline", 64, depth, 64) for depth in (1, 4, 8, 32)),
    *(Case("mq-deadline", 64, depth, 64, reads=0.7) for depth in (8, 32)),
    Case("none", 64, 32, 64, reads=0.7),
    *(Case("bfq", 64, 8, threads, low_latency=False) for threads in (4, 64)),
    Case("bfq", 64, 8, 64),
    # One processor and the scheduler of Linux 6.1: the thread that goes on is nearly always first.
    Case("none", 32, 8, 64, retake=0.95),
    Case("mq-deadline", 8, 8, 64, retake=0.95),
]


def main() -> None:
    """Print the table."""
    measured, gaps = measure(CASES)
    shown = ", ".join(f"{gap * 1e3:.2f}" for gap in gaps)
    print(f"between the end of a request and the next arrival, ms: {shown}")
    print("| elevator, places, depth, threads | kind | rate | mean | p50 | p99 | longest |")
    print("|---|---|---|---|---|---|---|")
    for case, real, late in zip(CASES, measured, gaps, strict=True):
        ours = simulate(case, late)
        for kind, values in real.response.items():
            pairs = [(real.rate, ours.rate), *zip(values, ours.response[kind], strict=True)]
            cells = " | ".join(f"{r:.0f}, {s:.0f}" for r, s in pairs)
            own = " (low_latency 0)" if not case.low_latency else ""
            name = f"{case.elevator}{own}, {case.places}, {case.depth}, {case.threads}"
            print(f"| {name} | {kind} | {cells} |", flush=True)
    seen = [len(w) / (b - a) for w, (a, b) in zip(measure_changes(), WINDOWS, strict=True)]
    pairs = zip(seen, simulate_changes(gaps[1]), strict=True)
    print("depth 8, then 2, then 16 places:", ", then ".join(f"{r:.0f}, {s:.0f}" for r, s in pairs))


if __name__ == "__main__":
    try:
        guest.need()
        guest.need_iscsi()
        main()
    except guest.AbsentError as reason:
        sys.exit(str(reason))
