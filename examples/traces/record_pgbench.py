#!/usr/bin/env python3
"""Record the block I/O of PostgreSQL under pgbench into a Headstack trace.

A file becomes a loop device with a file system and a PostgreSQL cluster of its own. The
kernel's tracepoint ``block:block_rq_issue`` of that device is the record: what the block layer
handed to the device, merged, with the device's own addresses. Reads that the page cache would
have absorbed reach the device because the cluster's files are dropped from it every second.

Needs Linux, root, PostgreSQL with pgbench, the user ``postgres``, ``losetup``, ``mkfs.ext4``
and ``zstd``. Touches nothing but the scratch folder, one loop device and one tracefs instance
of its own, and removes all three.

    sudo ./record_pgbench.py --scratch /var/tmp/pgbench-record --output pgbench.csv.zst
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

TRACEFS = Path("/sys/kernel/tracing")
ISSUE = re.compile(
    r"\s(?P<seconds>\d+)\.(?P<micros>\d{6}): block_rq_issue: \d+,\d+ (?P<kind>\S+) "
    r"(?P<bytes>\d+) \(.*?\) (?P<sector>\d+) \+ (?P<blocks>\d+) "
)
SETTINGS = """\
listen_addresses = ''
unix_socket_directories = '{socket}'
shared_buffers = 128MB
max_wal_size = 512MB
checkpoint_timeout = 60s
wal_recycle = on
autovacuum = on
"""


def run(*command: object, **options: object) -> str:
    """Run a command and return what it printed; its failure ends the recording."""
    text = [str(word) for word in command]
    done = subprocess.run(text, check=True, text=True, stdout=subprocess.PIPE, **options)
    return done.stdout.strip()


def as_postgres(*command: object) -> str:
    """Run a command as the database's user."""
    return run("runuser", "-u", "postgres", "--", *command, cwd="/")


@contextlib.contextmanager
def loop_device(image: Path, size_bytes: int) -> Iterator[str]:
    """A sparse file as a block device; direct I/O, so that it is not cached a second time."""
    with image.open("wb") as file:
        file.truncate(size_bytes)
    device = run("losetup", "--find", "--show", "--direct-io=on", image)
    try:
        yield device
    finally:
        run("losetup", "--detach", device)
        image.unlink()


@contextlib.contextmanager
def mounted(device: str, point: Path) -> Iterator[Path]:
    """The device's file system at a mount point."""
    point.mkdir(exist_ok=True)
    run("mount", device, point)
    try:
        yield point
    finally:
        run("umount", point)


@contextlib.contextmanager
def cluster(binaries: Path, data: Path) -> Iterator[None]:
    """A running PostgreSQL cluster."""
    control = binaries / "pg_ctl"
    as_postgres(control, "-D", data, "-l", data / "server.log", "-w", "-s", "start")
    try:
        yield
    finally:
        as_postgres(control, "-D", data, "-m", "fast", "-w", "-s", "stop")


class Uncached:
    """Drops the clean pages of a folder's files from the page cache, once a second."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.work)

    def work(self) -> None:
        while not self.over.wait(1.0):
            for path in self.folder.rglob("*"):
                with contextlib.suppress(OSError):
                    if path.is_file():
                        handle = os.open(path, os.O_RDONLY | os.O_NOATIME)
                        try:
                            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
                        finally:
                            os.close(handle)

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()


@contextlib.contextmanager
def recording(device: str, log: Path) -> Iterator[None]:
    """Write the device's block_rq_issue events to a text file."""
    if not (TRACEFS / "events").exists():
        run("mount", "-t", "tracefs", "none", TRACEFS)
    number = os.stat(device).st_rdev
    kernel_number = os.major(number) << 20 | os.minor(number)
    instance = TRACEFS / "instances" / f"headstack-{os.getpid()}"
    instance.mkdir()
    event = instance / "events/block/block_rq_issue"
    try:
        (instance / "trace_clock").write_text("mono")
        (instance / "buffer_size_kb").write_text("65536")
        (event / "filter").write_text(f"dev == {kernel_number}")
        (event / "enable").write_text("1")
        try:
            yield
        finally:
            (event / "enable").write_text("0")
        with (instance / "trace").open() as events, log.open("w") as out:
            shutil.copyfileobj(events, out)
        for cpu in instance.glob("per_cpu/cpu*/stats"):
            lost = re.search(r"overrun: (\d+)", cpu.read_text())
            if lost and int(lost[1]):
                sys.exit(f"{cpu}: got {lost[1]} lost events, need 0; record for a shorter time")
    finally:
        instance.rmdir()


def parse(log: Path) -> list[tuple[int, int, int, str]]:
    """Time in microseconds, first block, blocks, and R, W or F of each request, in time order."""
    found = []
    for line in log.open():
        if line.startswith("#"):
            continue
        event = ISSUE.search(line)
        if not event:
            sys.exit(f"{log}: got {line.strip()!r}, need a block_rq_issue event")
        micros = int(event["seconds"]) * 1_000_000 + int(event["micros"])
        kind, blocks = event["kind"], int(event["blocks"])
        if blocks == 0 and "F" in kind:
            found.append((micros, 0, 0, "F"))
        elif kind[0] in "RW" or kind.startswith("FW"):
            # FW is a write whose flush before the kernel issues as a request of its own.
            operation = "R" if kind[0] == "R" else "W"
            found.append((micros, int(event["sector"]), blocks, operation))
        elif kind[0] != "D":
            sys.exit(f"{log}: got {line.strip()!r}, need a read, write, flush or discard")
    found.sort(key=lambda request: request[0])
    return found


def statistics(requests: list[tuple[int, int, int, str]]) -> dict[str, object]:
    """What the note beside the trace says about it."""
    duration_s = (requests[-1][0] - requests[0][0]) / 1e6
    count = {kind: sum(r[3] == kind for r in requests) for kind in "RWF"}
    data = [r for r in requests if r[3] != "F"]
    touched = {block // 8 for _, lba, blocks, _ in data for block in range(lba, lba + blocks, 8)}
    ends, sequential = {}, 0
    for _, lba, blocks, kind in data:
        sequential += ends.get(kind) == lba
        ends[kind] = lba + blocks
    return {
        "n_requests": len(requests),
        "n_reads": count["R"],
        "n_writes": count["W"],
        "n_flushes": count["F"],
        "duration_s": duration_s,
        "requests_per_s": len(requests) / duration_s,
        "mean_read_bytes": 512 * sum(r[2] for r in data if r[3] == "R") / max(1, count["R"]),
        "mean_write_bytes": 512 * sum(r[2] for r in data if r[3] == "W") / max(1, count["W"]),
        "sequential_ratio": sequential / len(data),
        "touched_bytes": 4096 * len(touched),
        "last_block": max(r[1] + r[2] for r in data),
    }


def write(requests: list[tuple[int, int, int, str]], output: Path) -> None:
    """The trace as CSV with named columns, compressed."""
    start = requests[0][0]
    lines = ["time_us,device,lba,blocks,op"]
    lines += [f"{t - start},0,{lba},{blocks},{op}" for t, lba, blocks, op in requests]
    text = "\n".join(lines) + "\n"
    run("zstd", "-19", "-q", "-f", "-o", output, input=text)


def main() -> None:
    """Build, run, record, convert, clean up."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scratch", type=Path, required=True, help="folder to make and remove")
    parser.add_argument("--output", type=Path, default=Path("pgbench.csv.zst"))
    parser.add_argument("--device-gib", type=int, default=8, help="size of the recorded device")
    parser.add_argument("--scale", type=int, default=300, help="pgbench scale; 15 MB each")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--rate", type=float, default=40.0, help="transactions per second")
    parser.add_argument("--seconds", type=int, default=240)
    options = parser.parse_args()
    options.output = options.output.resolve()
    if os.geteuid() != 0:
        sys.exit("user: got an ordinary one, need root")
    binaries = Path(run("pg_config", "--bindir"))
    scratch: Path = options.scratch.resolve()
    scratch.mkdir()
    scratch.chmod(0o755)
    socket = scratch / "socket"
    socket.mkdir()
    shutil.chown(socket, "postgres", "postgres")
    log = scratch / "events.txt"
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, scratch)
        device = stack.enter_context(
            loop_device(scratch / "device", options.device_gib << 30))
        run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", device)
        point = scratch / "mount"
        pgbench = [binaries / "pgbench", "-h", socket]
        with mounted(device, point):
            data = point / "data"
            data.mkdir()
            shutil.chown(data, "postgres", "postgres")
            as_postgres(binaries / "initdb", "-D", data, "-A", "trust", "-N")
            with (data / "postgresql.conf").open("a") as conf:
                conf.write(SETTINGS.format(socket=socket))
            with cluster(binaries, data):
                as_postgres(*pgbench, "-i", "-q", "-s", options.scale, "postgres")
        # A fresh mount has nothing of the database in the page cache.
        with mounted(device, point), cluster(binaries, data), Uncached(data):
            load = ["-c", options.clients, "-j", 2, "-R", options.rate, "-n", "postgres"]
            as_postgres(*pgbench, "-T", 20, *load)  # shared buffers fill
            with recording(device, log):
                report = as_postgres(*pgbench, "-T", options.seconds, *load)
        requests = parse(log)
        write(requests, options.output)
    print(report, file=sys.stderr)
    print(json.dumps(statistics(requests), indent=2))
    print(f"{options.output}: {options.output.stat().st_size} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
