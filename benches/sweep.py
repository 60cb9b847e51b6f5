"""Prints what a sweep costs beside its runs, as one JSON document.

`python benches/sweep.py [RUNS]`: so many runs (1,000 unless given) of 10,000 requests each, with one
process and with two, beside the same runs by direct calls of the core and by `headstack run`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import headstack
from headstack.sweeps import worker

EXPERIMENT = """
[workload]
synthetic = { n_requests = 10_000, reads = 0.6, rate = "90/s", size = "4 KiB", footprint = "10 GB" }

[[system]]
name = "one"
drive = "cheetah-10k-19g"
scheduler = "sptf"
queue_depth = 32
"""

#: Runs of the command that are timed; the rest would take as long each.
COMMANDS = 20


def direct(file: Path, seeds: int) -> float:
    """Return the seconds of a run by calls of the core alone."""
    base = {"file": str(file)}
    worker._document(base, {"seed": 0})
    begun = time.perf_counter()
    for seed in range(seeds):
        worker._document(base, {"seed": seed})
    return (time.perf_counter() - begun) / seeds


def swept(file: Path, seeds: int, jobs: int, out: Path) -> float:
    """Return the seconds of a whole sweep, start and writing included."""
    begun = time.perf_counter()
    headstack.sweep(file, seeds=seeds, jobs=jobs, out=out)
    return time.perf_counter() - begun


def commands(file: Path) -> float:
    """Return the seconds of one `headstack run --json` in a loop of a shell."""
    begun = time.perf_counter()
    for seed in range(COMMANDS):
        subprocess.run(
            [sys.executable, "-m", "headstack", "run", file, "--json", "--seed", str(seed)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    return (time.perf_counter() - begun) / COMMANDS


def main() -> None:
    """Time each way once."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "x.toml"
        file.write_text(EXPERIMENT)
        swept(file, 4, 2, folder / "warm")
        alone = direct(file, min(runs, 200))
        one = swept(file, runs, 1, folder / "one")
        two = swept(file, runs, 2, folder / "two")
        again = swept(file, runs, 2, folder / "two")
        loop = commands(file)
    print(
        json.dumps(
            {
                "runs": runs,
                "core_s_per_run": alone,
                "sweep_jobs_1_s": one,
                "sweep_jobs_2_s": two,
                "speed_up_of_two": one / two,
                "overhead_s_per_run": one / runs - alone,
                "known_s": again,
                "shell_loop_s": loop * runs,
                "version": headstack.__version__,
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
