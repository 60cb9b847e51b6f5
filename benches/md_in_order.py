"""Writes in order to RAID-5 of the real kernel's md on emulated drives, and simulated beside them.

Prints requests of the members, rates and response times of writes of 64 KiB, for arrays of 5 and of
12 members with chunks of 64 and of 512 KiB, as `md.py` does for other loads.

    .venv/bin/python benches/md_in_order.py [MEMBERS...]
"""

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import block_layer
import guest
import md

import headstack

SIZE = 64 << 10
#: Chunks in KiB.
CHUNKS = (64, 512)


@dataclass(frozen=True)
class Load:
    """Writes one behind the other.

    Attributes:
        name: for people, and of files.
        count: of writes.
        first: GiB before the first of them.
        outstanding: at once, or none.
        rate: per second, equally spaced, if there is no number outstanding.
    """

    name: str
    count: int
    first: int
    outstanding: int = 0
    rate: int = 0

    @property
    def fio(self) -> str:
        """Options of fio."""
        if self.rate:
            return f"--ioengine=libaio --iodepth=256 --rate_iops={self.rate}"
        return f"--ioengine=libaio --iodepth={self.outstanding}"


LOADS = (
    Load("one", 352, 1, outstanding=1),
    Load("16 at once", 1408, 2, outstanding=16),
    Load("100/s", 800, 5, rate=100),
    Load("400/s", 3200, 6, rate=400),
)


@dataclass(frozen=True)
class Got:
    """What a load got: rate, mean and 99th percentile in ms, reads and writes of each member."""

    rate: float
    mean: float
    p99: float
    members: list[tuple[int, int]]


def measure(members: int, kib: int, loads: tuple[Load, ...] = LOADS) -> list[Got]:
    """Return what loads get in the guest."""
    script = md.created(5, members, kib)
    base = block_layer.FIO.replace("/dev/sda", "/dev/md0").replace("--bs=4k", f"--bs={SIZE}")
    base = base.replace("--time_based", "--rw=write")
    for n, load in enumerate(loads):
        size = f"--offset={load.first}g --size={load.count * SIZE}"
        script += md.counted(5, f"b{n}", members)
        script += f"{base} {size} {load.fio} --output=c{n}\nsleep 1\n"
        script += md.counted(5, f"a{n}", members)
    files = md.in_guest(script, members, seconds=600)
    found = []
    for n in range(len(loads)):
        part = json.loads(files[f"c{n}"])["jobs"][0]["write"]
        took = part["clat_ns"]
        p99 = took["percentile"]["99.000000"] / 1e6
        counts = md.counts(files[f"b{n}"], files[f"a{n}"])
        found.append(Got(part["iops"], took["mean"] / 1e6, p99, counts))
    return found


def simulate(members: int, kib: int, load: Load, late: float = 1e-3) -> Got:
    """Return what the simulated array gives; the requests of each member are reads and writes."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        at = [round(i * 1e9 / load.rate) if load.rate else 0 for i in range(load.count)]
        writes = ((t, "write", (load.first << 30) + i * SIZE, SIZE) for i, t in enumerate(at))
        array = md.system(5, "healthy", md.drive_file(folder), late)
        array |= {"count": members, "organisation": {"name": "raid5", "chunk": f"{kib} KiB"}}
        closed = {"arrivals": {"closed": {"outstanding": load.outstanding}}}
        file = md.trace(folder / "writes.csv", writes)
        workload = {"trace": file, **({} if load.rate else closed)}
        one = headstack.run(workload=workload, systems=array).document["systems"][0]
    took, counts = one["response_time_s"], one["layers"][0]["counts"]
    all_ = [(counts["member_reads"], counts["member_writes"])]
    return Got(one["throughput_iops"], took["mean"] * 1e3, took["p99"] * 1e3, all_)


def main(sizes: list[int]) -> None:
    """Print the table."""
    print("| members, chunk, load | rate, 1/s | mean, ms | p99, ms | reads, writes of members |")
    print("|---|---|---|---|---|")
    for members in sizes:
        for kib in CHUNKS:
            for load, real in zip(LOADS, measure(members, kib), strict=True):
                both = (real, simulate(members, kib, load))
                cells = [", ".join(f"{getattr(got, name):.0f}" for got in both)
                         for name in ("rate", "mean", "p99")]  # fmt: skip
                sums = [sum(m[i] for m in got.members) for got in both for i in (0, 1)]
                per = "{} + {}, {} + {}".format(*sums)
                print(f"| {members}, {kib} KiB, {load.name} | {' | '.join(cells)} | {per} |")


if __name__ == "__main__":
    try:
        guest.need("fio", "mdadm", kernel=guest.BACKPORTS)
        main([int(n) for n in sys.argv[1:]] or [5, 12])
    except guest.AbsentError as reason:
        sys.exit(str(reason))
