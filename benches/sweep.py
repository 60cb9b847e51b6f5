"""Prints what a sweep costs beside its runs, as one JSON document.

`python benches/sweep.py [RUNS [TURNS]]`: so many runs (1,000) of 10,000 requests each, with one
process and with two, beside the same runs by direct calls of the core and by `headstack run`.

What two processes gain depends on what else the machine does. So the same runs are also done by
programs that share nothing, one and then two at once, in turns with the sweeps; the best of three
turns counts unless another number is given. Processor time depends less on the load of the
machine: that of the process that hands out the runs, and that of those that do them.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import headstack
from headstack.runs import worker

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
    worker.document(base, {"seed": 0})
    begun = time.perf_counter()
    for seed in range(seeds):
        worker.document(base, {"seed": seed})
    return (time.perf_counter() - begun) / seeds


def apart(file: Path, seeds: int, programs: int) -> float:
    """Return the seconds in which programs that share nothing do so many runs, without starting."""
    code = (
        "import sys\nfrom headstack.runs import worker\n"
        f"base = {{'file': {str(file)!r}}}\nworker.document(base, {{'seed': 0}})\n"
        "print(flush=True)\nsys.stdin.readline()\n"
        f"for seed in range({seeds // programs}): worker.document(base, {{'seed': seed}})"
    )
    pipe = subprocess.PIPE
    started = [subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe) for _ in range(programs)]
    for one in started:
        assert one.stdout is not None
        one.stdout.readline()
    begun = time.perf_counter()
    for one in started:
        assert one.stdin is not None
        one.stdin.close()
    for one in started:
        one.wait()
    return time.perf_counter() - begun


def processor_s(file: Path, seeds: int, out: Path) -> tuple[float, float]:
    """Return the processor seconds of a sweep with two processes: of this process, of its own."""
    kinds = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    before = [resource.getrusage(kind) for kind in kinds]
    swept(file, seeds, 2, out)
    after = [resource.getrusage(kind) for kind in kinds]
    here, there = (b.ru_utime + b.ru_stime - a.ru_utime - a.ru_stime for a, b in zip(before, after, strict=True))
    return here, there


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
    """Time each way."""
    runs, n_turns = (int(n) for n in [*sys.argv[1:], *["1000", "3"][len(sys.argv) - 1 :]])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "x.toml"
        file.write_text(EXPERIMENT)
        swept(file, 4, 2, folder / "warm")
        alone = direct(file, min(runs, 200))
        turns = [
            (
                swept(file, runs, 1, folder / f"one-{i}"),
                swept(file, runs, 2, folder / f"two-{i}"),
                apart(file, runs, 1),
                apart(file, runs, 2),
            )
            for i in range(n_turns)
        ]
        one, two, alone_1, alone_2 = (min(times) for times in zip(*turns, strict=True))
        here, there = processor_s(file, runs, folder / "processors")
        again = swept(file, runs, 2, folder / "two-0")
        loop = commands(file)
    print(
        json.dumps(
            {
                "runs": runs,
                "core_s_per_run": alone,
                "sweep_jobs_1_s": one,
                "sweep_jobs_2_s": two,
                "speed_up_of_two": one / two,
                "speed_up_of_two_programs_that_share_nothing": alone_1 / alone_2,
                "processor_s_per_run_handing_out": here / runs,
                "processor_s_per_run_of_workers": there / runs,
                "most_speed_up_by_processor_time": 2 * there / (here + there),
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
