"""Sweeps: points, results against single runs, what is kept, interruptions at any point."""

import contextlib
import importlib
import json
import math
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from conftest import HEADSTACK, ROOT, THOROUGH, command, process

import headstack
from headstack import ConfigError, HeadstackError
from headstack.runs import processes, store, worker
from headstack.runs.sweeps import axes, figures, plan, running

LOAD = {"n_requests": 300, "rate": "60/s", "size": "4 KiB", "footprint": "10 GB"}
SYSTEM = {"name": "one", "drive": "cheetah-10k-19g", "scheduler": "sptf"}

SWEEP = """
experiment = "small.toml"
seeds = 3

[[axis]]
key = "system.0.queue_depth"
values = [1, 4, 16]
"""


@pytest.fixture
def sweep_file(experiment: Path) -> Path:
    path = experiment.with_name("sweep.toml")
    path.write_text(SWEEP)
    return path


def test_rows_are_those_of_single_runs(tmp_path):
    found = headstack.sweep(
        workload={"synthetic": LOAD},
        systems=[SYSTEM, {**SYSTEM, "name": "two", "scheduler": "fcfs"}],
        axes={"system.0.queue_depth": [1, 8], "workload.synthetic.rate": ["40/s", "90/s"]},
        seeds=[5, 6],
        jobs=2,
    )
    rows = iter(found.rows)
    for depth in (1, 8):
        for rate in ("40/s", "90/s"):
            for seed in (5, 6):
                run = headstack.run(
                    workload={"synthetic": {**LOAD, "rate": rate}},
                    systems=[{**SYSTEM, "queue_depth": depth}, {**SYSTEM, "name": "two", "scheduler": "fcfs"}],
                    seed=seed,
                    log_requests=False,
                )
                for system in run:
                    row = next(rows)
                    assert row["system.0.queue_depth"] == depth
                    assert row["workload.synthetic.rate"] == rate
                    assert (row["seed"], row["name"]) == (seed, system.name)
                    assert row["response_time_p99_s"] == system.response_time_s.p99
                    assert row["power_mean_w"] == system.power_w.mean
    assert next(rows, None) is None
    assert len(found.frame) == 16


def test_points_of_a_grid_and_of_keys_that_move_together():
    one = axes.read_axis({"key": "a", "values": [1, 2]}, "axis[0]")
    both = axes.read_axis({"keys": ["b", "c"], "values": [["x", 8], ["y", 4]]}, "axis[1]")
    assert axes.points([one, both], axes.Sample(), 1) == [
        {"a": 1, "b": "x", "c": 8},
        {"a": 1, "b": "y", "c": 4},
        {"a": 2, "b": "x", "c": 8},
        {"a": 2, "b": "y", "c": 4},
    ]


@pytest.mark.parametrize(
    ("given", "want"),
    [
        ({"from": 1, "to": 32, "steps": 6, "scale": "log"}, [1, 2, 4, 8, 16, 32]),
        ({"from": 1, "to": 2, "steps": 4}, [1, 2]),
        ({"from": 0.5, "to": 2.0, "steps": 4}, [0.5, 1.0, 1.5, 2.0]),
        ({"from": "10 ms", "to": "40 ms", "steps": 3}, ["10 ms", "25 ms", "40 ms"]),
        ({"from": "100/s", "to": "400/s", "steps": 3, "scale": "log"}, ["100/s", "200/s", "400/s"]),
    ],
)
def test_ranges(given, want):
    (key,) = {"axis"}
    values = axes.read_axis({"key": key, **given}, "axis[0]").places("axis[0]")
    got = [v[key] for v in values]
    if isinstance(want[0], str):
        assert got == want
    else:
        assert got == pytest.approx(want)
        assert all(type(a) is type(b) for a, b in zip(got, want, strict=True))


def test_a_latin_hypercube_uses_each_stratum_once_and_is_no_diagonal():
    from scipy import stats

    n = 64
    two = [axes.read_axis({"key": k, "from": 0.0, "to": 1.0}, "axis") for k in "ab"]
    found = axes.points(two, axes.Sample("latin-hypercube", n, 3), 1)
    for key in "ab":
        assert sorted(int(p[key] * n) for p in found) == list(range(n))
    # Independent orders: Spearman's rank correlation of 64 pairs is below 0.4 with 99.9 %.
    rank = stats.spearmanr([p["a"] for p in found], [p["b"] for p in found]).statistic
    assert abs(rank) < 0.4


def test_random_points_are_uniform_over_values_and_ranges():
    from scipy import stats

    whole = axes.read_axis({"key": "a", "from": 1, "to": 1000, "scale": "log"}, "axis")
    listed = axes.read_axis({"key": "b", "values": ["x", "y", "z"]}, "axis")
    found = axes.points([whole, listed], axes.Sample("random", 3000, 1), 1)
    shares = [math.log(p["a"]) / math.log(1000) for p in found]
    assert stats.kstest(shares, "uniform").statistic < 0.1  # whole numbers: 2 are 0.1 of the range
    counts = [sum(p["b"] == v for p in found) for v in "xyz"]
    assert stats.chisquare(counts).pvalue > 1e-3
    more = axes.points([whole, listed], axes.Sample("random", 3000, 2), 1)
    assert found != more
    assert found == axes.points([whole, listed], axes.Sample("random", 3000, 1), 1)


def test_a_mean_has_the_interval_of_students_distribution():
    rows = [{"k": 1, "name": "a", "workload": "w", "m_s": v} for v in (0.010, 0.012, 0.017)]
    (row,) = figures.averaged(rows, ["k"], ["m_s"])
    # t = 4.303 of two degrees of freedom, times the deviation over the root of 3.
    assert row["m_s"] == pytest.approx(0.013)
    assert row["m_s_half"] == pytest.approx(4.302653 * (13e-6 / 3) ** 0.5, rel=1e-6)
    assert row["n_seeds"] == 3


def files(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in (store.TABLE, store.RECORDS)}


def kept(folder: Path) -> int:
    """Return how many records a sweep's database has, which it keeps locked: of a copy."""
    with tempfile.TemporaryDirectory() as copy, contextlib.suppress(sqlite3.Error, OSError):
        for file in folder.glob(f"{store.DATABASE}*"):
            shutil.copy(file, copy)
        with contextlib.closing(sqlite3.connect(Path(copy) / store.DATABASE)) as found:
            return int(found.execute("SELECT count(*) FROM runs").fetchone()[0])
    return 0


def test_any_number_of_processes_gives_the_same_bytes(sweep_file, tmp_path):
    for jobs in (1, 2):
        headstack.sweep(sweep_file, out=tmp_path / str(jobs), jobs=jobs)
    assert files(tmp_path / "1") == files(tmp_path / "2")


def test_a_second_sweep_computes_only_what_is_new(sweep_file, tmp_path):
    out = tmp_path / "out"
    assert headstack.sweep(sweep_file, out=out).n_computed == 9
    whole = files(out)
    assert headstack.sweep(sweep_file, out=out).n_computed == 0
    assert files(out) == whole
    # Another text of the same sweep, in another order, is the same runs.
    sweep_file.write_text(SWEEP.replace("[1, 4, 16]", "[16, 1, 4, 8]"))
    more = headstack.sweep(sweep_file, out=out)
    assert more.n_computed == 3
    assert [r["system.0.queue_depth"] for r in more.rows[::3]] == [16, 1, 4, 8]
    # What is not asked for now is kept for later.
    sweep_file.write_text(SWEEP.replace("seeds = 3", "seeds = 2"))
    assert headstack.sweep(sweep_file, out=out).n_computed == 0
    assert len((out / store.TABLE).read_bytes()) < len(whole[store.TABLE])
    sweep_file.write_text(SWEEP)
    assert headstack.sweep(sweep_file, out=out).n_computed == 0
    assert (out / store.TABLE).read_bytes() == whole[store.TABLE]


def trace(path: Path, first: int) -> None:
    lines = [f"{i * 20},{(first + i * 7919) % 30_000_000},8,R" for i in range(200)]
    path.write_text("time_ms,lba,blocks,op\n" + "\n".join(lines) + "\n")


def test_what_decides_a_run_decides_whether_it_is_known(tmp_path, monkeypatch):
    trace(tmp_path / "t.csv", 0)
    drive = tmp_path / "mine.toml"
    text = headstack.drives.find("cheetah-10k-19g").read_text()
    drive.write_text(text)
    path = tmp_path / "x.toml"
    path.write_text('[workload]\ntrace = "t.csv"\n[[system]]\nname = "a"\ndrive = "mine.toml"\nscheduler = "fcfs"\n')

    def computed(**more):
        asked = {"axes": {"system.0.queue_depth": [1, 2]}, "out": tmp_path / "out", "jobs": 1}
        return headstack.sweep(path, **{**asked, **more}).n_computed

    assert computed() == 2
    assert computed() == 0
    trace(tmp_path / "t.csv", 5)
    assert computed() == 2
    drive.write_text(text + "\n# other bytes\n")
    assert computed() == 2
    assert computed(set={"system.0.scheduler": "sptf"}) == 2
    assert computed(seed=4) == 2
    path.write_text(path.read_text() + "count = 2\norganisation = 'raid0'\n")
    assert computed() == 2
    assert computed() == 0
    monkeypatch.setattr(worker, "identity", lambda: {"version": "0.0.9", "build": "0"})
    assert computed() == 2


def start(sweep_file: Path, out: Path, *more: str, pipe: int = subprocess.DEVNULL) -> Any:
    words = [*HEADSTACK, "sweep", sweep_file, "--out", out, "--no-figures", *more]
    return subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True)


def test_a_sweep_that_is_killed_goes_on_with_the_same_bytes(sweep_file, tmp_path):
    sweep_file.write_text(SWEEP.replace("seeds = 3", "seeds = 12"))
    whole = tmp_path / "whole"
    begun = time.monotonic()
    assert start(sweep_file, whole, "--jobs", "2").wait(timeout=240) == 0
    took = time.monotonic() - begun
    seed = int(os.environ.get("HEADSTACK_SEED", "36"))
    print("seed", seed)
    rng = random.Random(seed)
    kills = 2 if THOROUGH <= 1 else 50
    in_mid_run = 0
    for kill in range(kills):
        out = tmp_path / f"kill-{kill}"
        child = start(sweep_file, out, "--jobs", str(1 + kill % 2))
        # The first from a record on, the others at any time.
        until = time.monotonic() + 240
        while kill < 2 and time.monotonic() < until and not kept(out):
            time.sleep(0.001)
        time.sleep(rng.random() * took if kill >= 2 else 0)
        child.kill()
        child.wait(timeout=240)
        in_mid_run += kept(out) > 0
        found = headstack.sweep(sweep_file, out=out, jobs=2)
        assert files(out) == files(whole), kill
        assert found.n_computed <= 36
        assert not [*out.glob(f"{store.DATABASE}*")]
    assert in_mid_run > 0


def test_an_interrupted_sweep_says_how_to_go_on(sweep_file, tmp_path):
    sweep_file.write_text(SWEEP.replace("seeds = 3", "seeds = 2000"))
    out = tmp_path / "out"
    child = start(sweep_file, out, pipe=subprocess.PIPE)
    until = time.monotonic() + 240
    while time.monotonic() < until and not kept(out):
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    shown, said = child.communicate(timeout=240)
    assert child.returncode == 130
    assert shown == ""
    assert "of 6,000 runs" in said
    assert "the same command goes on" in said
    assert not (out / store.TABLE).exists()
    sweep_file.write_text(SWEEP)
    assert headstack.sweep(sweep_file, out=out).n_computed < 9


def test_two_sweeps_do_not_write_to_one_folder(sweep_file, tmp_path):
    whole = plan.make(**{k: v for k, v in plan.read(sweep_file).items()})
    with store.opened(tmp_path / "out", whole.base, alone=True):
        done = command("sweep", sweep_file, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "another sweep is writing" in done.stderr


def test_no_room_is_an_error_and_nothing_is_taken_for_whole(sweep_file, tmp_path):
    whole, out = tmp_path / "whole", tmp_path / "out"
    headstack.sweep(sweep_file, out=whole)
    least = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))  # noqa: E731
    done = process("sweep", sweep_file, "--out", out, "--no-figures", preexec_fn=least)
    assert done.returncode == 1
    assert "need room" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (out / store.TABLE).exists()
    assert headstack.sweep(sweep_file, out=out).n_computed < 9
    assert files(out) == files(whole)


DEATHS = """
import os, sys
from pathlib import Path

def die_once(mark):
    path = Path(mark)
    if not path.exists():
        path.touch()
        os._exit(9)
    return "answered"

def always_die():
    os._exit(9)
"""


def test_a_process_that_dies_is_replaced(tmp_path, monkeypatch):
    (tmp_path / "deaths.py").write_text(DEATHS)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'python'}{os.pathsep}{tmp_path}")
    monkeypatch.syspath_prepend(tmp_path)
    deaths = importlib.import_module("deaths")
    with processes.Processes(2) as pool:
        assert pool.submit(deaths.die_once, str(tmp_path / "mark")).result(240) == "answered"
        with pytest.raises(HeadstackError, match=r"ended 3 times.*9, -?9, -?9"):
            pool.submit(deaths.always_die).result(240)


PARENT = """
import os, sys
from headstack.runs.processes import Processes
pool = Processes(2)
print(*{pool.submit(os.getpid).result() for _ in range(20)}, flush=True)
sys.stdin.read()
"""


def test_processes_end_with_a_parent_that_is_killed():
    with subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        parent.kill()
    until = time.monotonic() + 240
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < until:
        time.sleep(0.01)
    assert pids
    assert time.monotonic() < until


def test_a_point_that_cannot_be_run_is_named(experiment):
    with pytest.raises(ConfigError, match=r"system.*count.*sweep: system.0.count = 0, seed 1"):
        headstack.sweep(experiment, {"system.0.count": [0, 1]}, seeds=[1], jobs=1)
    found = headstack.sweep(experiment, {"system.0.count": [0, 1]}, seeds=2, jobs=1, keep_going=True)
    assert [r["error"] is None for r in found.rows] == [False, False, True, True]
    assert "count" in found.rows[0]["error"]
    (wrong, right) = found.mean("p99").to_dict("records")
    assert (wrong["n_seeds"], right["n_seeds"]) == (2, 2)
    assert right["response_time_p99_s"] > 0


def test_scan_prints_means_and_one_document(experiment, tmp_path):
    args = ("--scan", "system.0.queue_depth=1:16:3", "--scan", "system.0.scheduler=sptf,look")
    shown = command("run", experiment, *args, "--seeds", "2", "--format", "csv")
    assert shown.returncode == 0, shown.stderr
    lines = [line.split(",") for line in shown.stdout.splitlines()]
    assert [line[:2] for line in lines[1:3]] == [["1", "sptf"], ["1", "look"]]
    assert len(lines) == 7
    done = command("run", experiment, *args, "--seeds", "2", "--json", "--seed", "9")
    document = json.loads(done.stdout)
    assert document["axes"] == [["system.0.queue_depth"], ["system.0.scheduler"]]
    assert document["seeds"] == [9, 10]
    assert [r["system.0.queue_depth"] for r in document["rows"][::4]] == [1, 9, 16]
    assert len(document["rows"]) == 12


def test_figures_of_one_and_two_axes(sweep_file, tmp_path):
    found = headstack.sweep(sweep_file, out=tmp_path / "out", jobs=1)
    curve = found.plot().to_dict()  # validated
    (band, line, _) = curve["layer"]
    assert (band["mark"]["type"], line["mark"]["type"]) == ("area", "line")
    assert "3 seeds" in curve["title"]
    depths = {"system.0.queue_depth": [1, 4]}
    both = headstack.sweep(sweep_file.with_name("small.toml"), {**depths, "system.0.scheduler": ["fcfs", "sptf"]})
    assert "vconcat" in both.plot("mean").to_dict()
    with pytest.raises(ConfigError, match="got 0 axes, need one or two"):
        headstack.sweep(sweep_file.with_name("small.toml"), seeds=2).plot()


def test_the_folder_gets_a_figure_and_a_manifest(sweep_file, tmp_path):
    out = tmp_path / "out"
    done = command("sweep", sweep_file, "--out", out, "--measure", "power")
    assert done.returncode == 0, done.stderr
    assert (out / "figure.png").read_bytes().startswith(b"\x89PNG")
    listed = json.loads((out / "manifest.json").read_text())["files"]
    assert {f["file"] for f in listed} == {
        "figure.png", "figure.svg", "results.parquet", "runs.parquet",
    }  # fmt: skip
    import pandas as pd

    frame = pd.read_parquet(out / "results.parquet")
    assert list(frame.columns[:3]) == ["system.0.queue_depth", "seed", "name"]
    assert len(frame) == 9


def test_a_folder_of_a_run_is_refused(experiment, sweep_file, tmp_path):
    headstack.run(experiment, out=tmp_path / "out", log_requests=False)
    done = command("sweep", sweep_file, "--out", tmp_path / "out", "--no-figures")
    assert done.returncode == 2
    assert "results of headstack run" in done.stderr


def test_all_points_have_the_same_seeds(sweep_file):
    """Common random numbers: the arrivals of a seed are the same at each point."""
    found = headstack.sweep(sweep_file, seeds=4)
    durations = {}
    for row in found.rows:
        # The last arrival bounds the run from below, whatever the depth.
        durations.setdefault(row["seed"], []).append(row["duration_s"])
    for same in durations.values():
        assert all(abs(a - b) < 0.2 for a, b in pairwise(same))
    means = [sum(d) / len(d) for d in durations.values()]
    assert max(means) - min(means) > 0.2


def test_a_table_has_one_kind_of_value_in_each_column():
    rows = [{"a": 1, "b": 1, "c": "x"}, {"a": 2.5, "b": 2, "c": 3}, {"b": None}]
    table = running.table(rows)
    assert table.column("a").to_pylist() == [1.0, 2.5, None]
    assert table.column("b").to_pylist() == [1, 2, None]
    assert table.column("c").to_pylist() == ["x", "3", None]


def test_requests_are_not_logged_in_a_scan(experiment):
    done = command("run", experiment, "--scan", "system.0.queue_depth=1", "--requests")
    assert done.returncode == 2
    assert "--requests: got it with --scan" in done.stderr
