"""Prints how time and memory of one run grow with drives and requests, as a table in Markdown.

`python benches/many_drives.py [MOST]`: open requests of 4 KiB, 50 a second on each drive, up to
MOST of them (10^7 unless given). Seconds are processor time on one thread.
"""

from __future__ import annotations

import json
import subprocess
import sys

from run import bench_binary

#: Requests per second on one drive, about half of what it can do.
RATE = 50


def main() -> None:
    """Run each number of drives with each number of requests."""
    binary = bench_binary()
    most = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**7
    print("| drives | requests | seconds | memory, MiB |")
    print("|---|---|---|---|")
    for drives in (100, 1_000, 10_000):
        requests = 10**5
        while requests <= most:
            command = [str(binary), "open", str(requests), str(drives), str(RATE * drives), "1"]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found = json.loads(done.stdout)
            seconds, memory = requests / found["per_s"], found["peak_rss_bytes"] / 2**20
            print(f"| {drives:,} | {requests:,} | {seconds:.2f} | {memory:.0f} |", flush=True)
            requests *= 10


if __name__ == "__main__":
    main()
