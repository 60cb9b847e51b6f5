"""Every process writes the same bytes, with any number of threads, also for layers with changes."""

import os
import subprocess
import sys
from pathlib import Path

#: As a command does, without a page.
RUN = """
import sys, headstack
found = headstack.run(sys.argv[1], out=sys.argv[2], threads=int(sys.argv[3]))
print(found.to_json())
"""

WORKLOADS = """
[[workload]]
name = "open"
[workload.synthetic]
n_requests = 2000
reads = 0.6
size = "16 KiB"
rate = "150/s"
footprint = "5 GB"
[[workload]]
name = "closed"
[workload.synthetic]
n_requests = 2000
size = "8 KiB"
arrivals = "closed"
outstanding = 12
think = "1 ms"
footprint = "5 GB"
[run]
seed = 5
"""

SYSTEMS = """
[[system]]
name = "rebuilt"
drive = "cheetah-9lp"
count = 5
layers = [
  { name = "host-queue", elevator = "deadline" },
  { name = "raid5", chunk = "64 KiB" },
  "host-queue",
]
[[system.change]]
at = "1 s"
layer = "raid5"
member_gone = 3
[[system.change]]
at = "3 s"
layer = "raid5"
member_replaced = 3
[[system.change]]
at = "4 s"
layer = "raid5"
rebuild_rate = "5 MB/s"
[[system.change]]
at = "5 s"
layer = 0
nr_requests = 16
[[system]]
name = "mirrors behind links"
drive = "cheetah-9lp"
count = 8
layers = [
  "raid0",
  { name = "raid1", of = 1 },
  { name = "host-queue", nr_requests = 8, depth = 2 },
  { name = "link", bandwidth = "100 MB/s", of = 2 },
]
[[system]]
name = "raid10"
drive = "cheetah-9lp"
count = 6
layers = [{ name = "raid10", near = 1, far = 2, chunk = "64 KiB" }]
"""


def files(experiment: Path, out: Path, threads: int, **env: str) -> dict[str, bytes]:
    """The files that a separate process writes: the document, the request logs and the series."""
    words = [sys.executable, "-c", RUN, experiment, out, str(threads)]
    env = {**os.environ, **env}
    done = subprocess.run(words, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    # The manifest contains date and command.
    tables = [*out.glob("*.parquet"), out / "result.json"]
    found = {p.name: p.read_bytes() for p in tables}
    return found | {"standard output": done.stdout.encode()}


def test_two_processes_give_the_same_bytes(tmp_path):
    experiment = tmp_path / "layers.toml"
    experiment.write_text(WORKLOADS + SYSTEMS, encoding="utf-8")
    # Differences between processes: seeds of hash tables, folders, language, time zone.
    first = files(experiment, tmp_path / "a", 1, PYTHONHASHSEED="1", TZ="UTC", LC_ALL="C")
    other = {"PYTHONHASHSEED": "2", "TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8", "HOME": str(tmp_path)}
    second = files(experiment, tmp_path / "b", 2, **other)
    # A log and a series for each of three systems on two workloads, and two documents.
    assert len(first) == 3 * 2 * 2 + 2
    assert first.keys() == second.keys()
    for name, data in first.items():
        assert data == second[name], name
