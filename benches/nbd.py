"""Requests per second of NBD servers without service times, in turn, with the same client.

`python benches/nbd.py [--program target/release/headstack-target] [--runs 3] [--seconds 2]` prints
a table and one JSON document. Servers: `headstack-target --speed 0` (which simulates every
request), nbdkit's memory plugin and nbd-server on a file in memory; client: fio's engine `nbd`,
over a port of this machine. Those that are absent are left out. Figures are medians of the runs.
"""

import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SIZE = 256 << 20
#: Pattern, bytes of a request, outstanding requests of a job, jobs.
CASES = [
    ("randread", "4k", 1, 1),
    ("randread", "4k", 32, 1),
    ("randwrite", "4k", 32, 1),
    ("randread", "4k", 32, 4),
    ("read", "256k", 8, 1),
    ("write", "256k", 8, 1),
]


def free_port() -> int:
    """Return a port that nobody uses."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(port: int) -> None:
    """Wait until somebody listens."""
    for _ in range(500):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    sys.exit(f"port {port}: nobody listens after 10 s")


@contextmanager
def server(name: str, program: Path) -> Iterator[str]:
    """Start a server that ends with the block; its URI."""
    port = free_port()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        if name == "headstack-target":
            drive = str(ROOT / "drives/exos-x18.toml")
            command = [str(program), drive, "--speed", "0", "--nbd", f"127.0.0.1:{port}"]
        elif name == "nbdkit memory":
            command = ["nbdkit", "-f", "-i", "127.0.0.1", "-p", str(port), "memory", "1G"]
        else:
            data = Path(folder, "data")
            with data.open("wb") as file:
                file.truncate(1 << 30)
            config = Path(folder, "config")
            config.write_text(f"[generic]\nlistenaddr = 127.0.0.1\nport = {port}\n[0]\nexportname = {data}\n")
            # It leaves the foreground, and writes its number.
            command = ["nbd-server", "-C", str(config), "-p", str(Path(folder, "pid"))]
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)
        try:
            wait_for(port)
            yield f"nbd://127.0.0.1:{port}" + ("/0" if name == "nbd-server" else "")
        finally:
            process.terminate()
            process.wait(timeout=60)
            if name == "nbd-server":
                os.kill(int(Path(folder, "pid").read_text()), signal.SIGTERM)


def fio(uri: str, pattern: str, size: str, depth: int, jobs: int, *more: str) -> float:
    """Return requests per second."""
    done = subprocess.run(
        ["fio", "--name=n", "--ioengine=nbd", f"--uri={uri}", f"--rw={pattern}", f"--bs={size}",
         f"--size={SIZE}", f"--iodepth={depth}", f"--numjobs={jobs}", "--thread",
         "--group_reporting", "--output-format=json", *more],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    (job,) = json.loads(done.stdout[done.stdout.index("\n{") :])["jobs"]
    return job["read"]["iops"] + job["write"]["iops"]


def main() -> None:
    """Measure every case on every server, in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, default=ROOT / "target/release/headstack-target")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=2)
    given = parser.parse_args()
    if shutil.which("fio") is None:
        sys.exit("fio: absent, need it as client")
    names = ["headstack-target"]
    for name in ("nbdkit memory", "nbd-server"):
        if shutil.which(name.split()[0]):
            names.append(name)
    found: dict[tuple[str, ...], dict[str, list[float]]] = {}
    limit = ["--time_based", f"--runtime={given.seconds}"]
    for _ in range(given.runs):
        for name in names:
            with server(name, given.program) as uri:
                # What was never written is quicker to read.
                fio(uri, "write", "1m", 4, 1)
                for case in CASES:
                    rates = found.setdefault(tuple(map(str, case)), {})
                    rates.setdefault(name, []).append(fio(uri, *case, *limit))
    print("| load | " + " | ".join(names) + " |")
    print("|---|" + "---|" * len(names))
    table = []
    for case, rates in found.items():
        pattern, size, depth, jobs = case
        medians = {name: round(statistics.median(rates[name])) for name in names}
        load = f"{pattern} {size}, {jobs} x {depth}"
        print(f"| {load} | " + " | ".join(f"{medians[name]:,}" for name in names) + " |")
        table.append({"load": load, "requests_per_s": medians})
    print(json.dumps(table))


if __name__ == "__main__":
    main()
