"""Volumes of the real kernel's md on emulated drives, and the simulated volumes beside them.

Prints two tables: the requests that each member gets for the same list of requests, and rates and
response times of random loads on healthy arrays, without a member, and while one is rebuilt.

    .venv/bin/python benches/md.py [LEVEL...]
    .venv/bin/python benches/md.py --simulated [--gap MS] [LEVEL...]

The members are SCSI disks over iSCSI without a write cache, under mq-deadline; Linux is that of
Debian's backports. Simulated: the same organisation above the same host queues, with the time that
the guest needs between the end of a request and the next one as `completion_time`. With
`--simulated` only that is run, with the time that is given; it needs neither guest nor QEMU.
"""

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import block_layer
import guest

import headstack
from headstack import drives

DRIVE = "ultrastar-7k4000"
CHUNK = 64 << 10
MODULES = (*guest.SCSI_MODULES, "raid0", "raid1", "raid10", "crc32c_generic", "raid456")
#: Rate at which a member is rebuilt, KiB/s: the kernel's least and most.
REBUILD = 10_000
#: The member that is gone.
GONE = 1
#: Time of the guest's processor for each 4 KiB of a rebuild, before its write and after it, us: as
#: records showed it without `completion_time` (docs/models/md.md). RAID-10 has that of RAID-1.
HOST_TIME = {1: 9, 10: 9, 5: 32}
#: Blocks of 512 bytes in front of the data of a member.
OFFSET = 1 << 18
SIZES = {0: 4, 1: 2, 10: 4, 5: 5}
#: Members' worth of data of each level.
DATA = {0: 4, 1: 1, 10: 2, 5: 4}


@dataclass(frozen=True)
class Case:
    """A load on an array.

    Attributes:
        level: of the array: 0, 1, 10 or 5.
        state: ``healthy``, ``gone`` or ``rebuilding``.
        reads: whether it reads.
        bytes: of a request, aligned.
        threads: of fio, each with one request at a time.
    """

    level: int
    state: str
    reads: bool
    bytes: int = 4096
    threads: int = 16

    @property
    def name(self) -> str:
        """What it is, for people."""
        kind = "reads" if self.reads else "writes"
        kib = self.bytes >> 10
        return f"RAID-{self.level}, {self.state}, {kind} of {kib} KiB, {self.threads}"


@dataclass(frozen=True)
class Got:
    """What a load got.

    Attributes:
        rate: requests per second.
        mean: response time in ms.
        p99: the same.
        per_request: reads and writes of members for each request.
    """

    rate: float
    mean: float
    p99: float
    per_request: tuple[float, float]


def stripe(level: int) -> int:
    """Return the bytes of a full stripe."""
    return CHUNK * DATA[level]


def cases(level: int) -> list[Case]:
    """Return the loads of a level."""
    healthy = Case(level, "healthy", True)
    found = [healthy, replace(healthy, reads=False)]
    if level == 1:
        found.append(replace(healthy, threads=1))
    if level in (0, 5):
        found.append(Case(level, "healthy", False, stripe(level), 4))
    if level == 0:
        return found
    found += [Case(level, "gone", reads) for reads in (True, False)]
    if level == 5:
        found.append(Case(5, "gone", False, stripe(5), 4))
    return [*found, Case(level, "rebuilding", True, threads=4)]


def drive_file(folder: Path) -> Path:
    """Write the drive without its write cache."""
    text = drives.find(DRIVE).read_text()
    file = folder / f"{DRIVE}.toml"
    file.write_text(text.replace("write_back = true", "write_back = false"))
    return file


def disks(level: int, members: int = 0) -> str:
    """Return the names of the members, of which there may be others than usual."""
    return " ".join(f"/dev/sd{'abcdefghijkl'[i]}" for i in range(members or SIZES[level]))


#: The kernel looks for partitions, and marks the members: both are not counted.
WRITTEN = """dd if=/dev/md0 of=/dev/null bs=64k count=1 2>/dev/null
dd if=/dev/zero of=/dev/md0 bs=4k count=1 oflag=direct 2>/dev/null; sleep 1
"""


def created(level: int, members: int = 0, kib: int = CHUNK >> 10) -> str:
    """Return the commands that make a healthy array, whose member GONE may leave."""
    chunk = "" if level == 1 else f"--chunk={kib}"
    data = f"--data-offset={OFFSET // 2}"
    clean = "" if level == 0 else "--assume-clean --bitmap=none"
    return f"""
for d in {disks(level, members)}; do
    while [ ! -b $d ]; do sleep 0.1; done
    n=${{d#/dev/}}
    echo none > /sys/block/$n/queue/scheduler; echo 64 > /sys/block/$n/queue/nr_requests
    echo 32 > /sys/block/$n/device/queue_depth; echo mq-deadline > /sys/block/$n/queue/scheduler
    mdadm --zero-superblock $d 2>/dev/null
done
mdadm --create /dev/md0 --run {clean} --level={level} {chunk} {data} --metadata=1.2 \\
    --raid-devices={members or SIZES[level]} {disks(level, members)} >> mdadm 2>&1 || exit 1
echo {REBUILD} > /sys/block/md0/md/sync_speed_min 2>/dev/null
echo {REBUILD} > /sys/block/md0/md/sync_speed_max 2>/dev/null
# Without it the members' marks that the array is dirty are counted, too.
echo 0 > /sys/block/md0/md/safe_mode_delay 2>/dev/null
{WRITTEN}"""


def entered(state: str) -> str:
    """Return the commands that bring an array into a state, from the one before."""
    member = f"/dev/sd{'abcdefgh'[GONE]}"
    return {
        "healthy": "",
        "gone": f"mdadm /dev/md0 --fail {member} >> mdadm 2>&1; sleep 0.5\n"
        f"mdadm /dev/md0 --remove {member} >> mdadm 2>&1\n{WRITTEN}",
        "rebuilding": f"mdadm --zero-superblock {member}\nmdadm /dev/md0 --add {member} >> mdadm 2>&1; sleep 1\n",
    }[state]


STOPPED = "mdadm --stop /dev/md0 >> mdadm 2>&1\n"


def counted(level: int, name: str, members: int = 0) -> str:
    """Return the commands that note the counts of the members."""
    names = disks(level, members).replace("/dev/", "")
    return f"for n in {names}; do cat /sys/block/$n/stat; done > {name}\n"


def fio(case: Case, seconds: float, output: str) -> str:
    """Return the command that makes a load."""
    base = block_layer.FIO.replace("/dev/sda", "/dev/md0").replace("--bs=4k", f"--bs={case.bytes}")
    kind = "randread" if case.reads else "randwrite"
    return f"{base} --rw={kind} --numjobs={case.threads} --runtime={seconds} --output={output}\n"


def counts(before: bytes, after: bytes) -> list[tuple[int, int]]:
    """Return reads and writes of each member between two notes of `stat`."""
    rows = []
    for old, new in zip(before.splitlines(), after.splitlines(), strict=True):
        a, b = ([int(n) for n in line.split()] for line in (old, new))
        rows.append((b[0] - a[0], b[4] - a[4]))
    return rows


def measure(level: int, seconds: float) -> tuple[list[Got], float]:
    """Return what the loads of a level get in the guest, and the guest's gap."""
    script, state = created(level), "healthy"
    script += fio(Case(level, "healthy", True, threads=1), 4, "alone")
    for n, case in enumerate(cases(level)):
        if case.state != state:
            script += entered(case.state)
            state = case.state
        script += counted(level, f"b{n}") + fio(case, seconds, f"c{n}") + counted(level, f"a{n}")
        script += "cat /proc/mdstat >> mdstat; sleep 0.5\n"
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "session.csv"
        most = 120 + len(cases(level)) * (seconds + 20)
        files = in_guest(script, SIZES[level], {"record": record}, seconds=most)
        late = gap(record, json.loads(files["alone"])["jobs"][0]["read"]["total_ios"])
    found = []
    for n, case in enumerate(cases(level)):
        part = json.loads(files[f"c{n}"])["jobs"][0]["read" if case.reads else "write"]
        done = part["total_ios"]
        clat = part["clat_ns"]
        of_members = counts(files[f"b{n}"], files[f"a{n}"])
        per = tuple(sum(row[i] for row in of_members) / done for i in (0, 1))
        p99 = clat["percentile"]["99.000000"]
        found.append(Got(part["iops"], clat["mean"] / 1e6, p99 / 1e6, (per[0], per[1])))
    return found, late


def gap(record: Path, n: int) -> float:
    """Return the usual time between a completion and the next arrival of one thread, seconds."""
    rows = [line.split(",") for line in record.read_text().splitlines()[1:]]
    rows = sorted((r for r in rows if r[3] == "8"), key=lambda row: int(row[0]))[: n - 5]
    requests = [block_layer.Request(int(r[0]) / 1e9, (int(r[0]) + int(r[5])) / 1e9) for r in rows[20:]]
    return block_layer.gap(requests)


def in_guest(script: str, members: int, emulated: Mapping[str, Any] | None = None, **options: Any) -> dict[str, bytes]:
    """Return the files that a script leaves in a guest with so many emulated members.

    `emulated` are more options of `headstack.emulate`, `options` those of `guest.run`.
    """
    with tempfile.TemporaryDirectory() as folder:
        drive, file = drive_file(Path(folder)), Path(folder) / "shelf.toml"
        file.write_text(
            "[workload]\nsynthetic = { n_requests = 1, reads = 1.0, sequential = 0.0, "
            'size = "4 KiB", arrivals = "poisson", rate = "1/s", footprint = "1 GB" }\n'
            f'[[system]]\nname = "shelf"\ndrive = "{drive}"\ncount = {members}\n'
        )
        with headstack.emulate(file, iscsi=True, **(emulated or {})) as disk:
            return guest.run(disk.urls, script + STOPPED, programs=("fio", "mdadm"),
                             modules=MODULES, kernel=guest.BACKPORTS, **options)  # fmt: skip


def trace(file: Path, requests: Iterable[tuple[int, str, int, int]]) -> str:
    """Write requests as a trace: ns, kind, first byte, bytes; return its path."""
    rows = [f"{at},{kind},{first // 512},{size // 512}" for at, kind, first, size in requests]
    file.write_text("\n".join(["time_ns,op,lba,blocks", *rows]) + "\n")
    return str(file)


def system(level: int, state: str, drive: Path, late: float) -> dict[str, Any]:
    """Return the simulated array."""
    queue = {
        "name": "host-queue",
        "elevator": "mq-deadline",
        "places": "blk-mq",
        "nr_requests": 64,
        "depth": 32,
        "sync_writes": True,
        "completion_time": f"{late * 1e9:.0f} ns",
    }
    if level == 0:
        organisation: dict[str, Any] = {"name": "raid0", "stripe_unit": f"{CHUNK} B"}
    else:
        organisation = {"name": f"raid{level}"}
        if level != 1:
            organisation["chunk"] = f"{CHUNK} B"
        if state != "healthy":
            organisation["gone"] = [GONE]
    found: dict[str, Any] = {
        "drive": str(drive),
        "count": SIZES[level],
        "organisation": organisation,
        "layers": [queue],
    }
    if state == "rebuilding":
        organisation["rebuild_rate"] = f"{REBUILD} KiB/s"
        organisation["rebuild_host_time"] = f"{HOST_TIME[level]} us"
        if level == 5:
            organisation["rebuild_grows_to"] = "64 MiB"
        found["change"] = [{"at": "0 s", "layer": f"raid{level}", "member_replaced": GONE}]
    return found


def simulate(case: Case, late: float, seconds: float, folder: Path, seeds: int = 3) -> Got:
    """Return what the simulated array gives; means over seeds."""
    drive = drive_file(folder)
    found = []
    for seed in range(1, seeds + 1):
        result = headstack.run(
            workload=load(case, seconds, folder, seed), systems=system(case.level, case.state, drive, late), seed=seed
        )
        one = result.document["systems"][0]
        took, n = one["response_time_s"], one["n_requests"]
        layer = one["layers"][0]["counts"]
        if "member_reads" in layer:
            per = (layer["member_reads"] / n, layer["member_writes"] / n)
        else:
            all_ = sum(d["n_requests"] for d in one["drives"]) / n
            per = (all_ * case.reads, all_ * (not case.reads))
        rate = one["throughput_iops"]
        found.append((rate, took["mean"] * 1e3, took["p99"] * 1e3, *per))
    rate, mean, p99, reads, writes = (fmean(column) for column in zip(*found, strict=True))
    return Got(rate, mean, p99, (reads, writes))


def load(case: Case, seconds: float, folder: Path, seed: int) -> dict[str, Any]:
    """Return the simulated load: threads, or a list of full stripes with as many in flight."""
    if case.bytes == 4096:
        requests = {
            "reads": float(case.reads),
            "size": "4 KiB",
            "sequential": 0.0,
            "local": 0.0,
            "footprint": f"{4000 * DATA[case.level]} GB",
        }
        return {"jobs": [{"threads": case.threads, "duration": f"{seconds} s", "requests": requests}]}
    draw = random.Random(seed)
    places = 4_000_000_000_000 * DATA[case.level] // case.bytes
    kind = "read" if case.reads else "write"
    requests = ((0, kind, draw.randrange(places) * case.bytes, case.bytes)
                for _ in range(int(seconds * 100)))  # fmt: skip
    closed = {"closed": {"outstanding": case.threads}}
    return {"trace": trace(folder / "stripes.csv", requests), "arrivals": closed}


def listed(level: int, n: int = 150) -> list[tuple[str, int, int]]:
    """Return requests one after another: kind, first byte, bytes. Few members' blocks repeat."""
    draw = random.Random(level)
    found = []
    for i in range(n):
        size = draw.choice((4096, 4096, 16 << 10, CHUNK, stripe(level), stripe(level)))
        places = 1_000_000_000_000 // size
        kind = "read" if i % 3 == 0 else "write"
        found.append((kind, draw.randrange(places) * size, size))
    return found


def iolog(requests: Sequence[tuple[str, int, int]]) -> bytes:
    """Return the list in fio's format."""
    lines = ["fio version 2 iolog", "/dev/md0 add", "/dev/md0 open"]
    lines += [f"/dev/md0 {kind} {at} {size}" for kind, at, size in requests]
    return "\n".join([*lines, "/dev/md0 close", ""]).encode()


#: States in which the same list of requests is carried out.
STATES = ("healthy", "gone")


def count(level: int) -> dict[str, list[tuple[int, int]]]:
    """Return reads and writes of each member in the guest, of the list in each state."""
    states = STATES if level else STATES[:1]
    script = created(level)
    for state in states:
        script += entered(state) + "sleep 0.3\n" + counted(level, f"b-{state}")
        script += "fio --name=l --read_iolog=/list --direct=1 --ioengine=psync --output=l || exit 1\n"
        script += counted(level, f"a-{state}")
    files = in_guest(script, SIZES[level], {"speed": 0}, files={"list": iolog(listed(level))})
    return {state: counts(files[f"b-{state}"], files[f"a-{state}"]) for state in states}


def count_simulated(level: int, state: str) -> list[int]:
    """Return the requests of each simulated member, of the same list."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        file = trace(folder / "list.csv", ((0, *request) for request in listed(level)))
        result = headstack.run(
            workload={"trace": file, "arrivals": {"closed": {"outstanding": 1}}},
            systems=system(level, state, drive_file(folder), 1e-3),
        )
    return [drive["n_requests"] for drive in result.document["systems"][0]["drives"]]


def row(case: Case, *found: Got) -> str:
    """Return a row of the table: what was measured, if it was, and what is simulated."""
    cells = [", ".join(f"{getattr(one, name):.0f}" for one in found)
             for name in ("rate", "mean", "p99")]  # fmt: skip
    per = ", ".join(f"{x:.2f}" for one in found for x in one.per_request)
    return f"| {case.name} | {' | '.join(cells)} | {per} |"


def main(levels: Sequence[int], gap_s: float | None, seconds: float = 20) -> None:
    """Print the table; measured too if no gap of the guest is given."""
    print("| array, load, threads | rate | mean ms | p99 ms | reads, writes of members |")
    print("|---|---|---|---|---|")
    for level in levels:
        measured, late = measure(level, seconds) if gap_s is None else ([], gap_s)
        print(f"gap {late * 1e3:.2f} ms", file=sys.stderr)
        with tempfile.TemporaryDirectory() as folder:
            for n, case in enumerate(cases(level)):
                ours = simulate(case, late, seconds, Path(folder))
                print(row(case, *measured[n : n + 1], ours), flush=True)


def parsed() -> argparse.Namespace:
    """Return what was asked for."""
    ask = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    ask.add_argument("levels", type=int, nargs="*", metavar="LEVEL", help=f"of {list(SIZES)}")
    ask.add_argument("--simulated", action="store_true", help="without a guest")
    ask.add_argument("--gap", type=float, default=0.9, help="of the guest, ms, with --simulated")
    return ask.parse_args()


if __name__ == "__main__":
    asked = parsed()
    try:
        if not asked.simulated:
            guest.need("fio", "mdadm", kernel=guest.BACKPORTS)
        main(asked.levels or list(SIZES), asked.gap / 1e3 if asked.simulated else None)
    except guest.AbsentError as reason:
        sys.exit(str(reason))
