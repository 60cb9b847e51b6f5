"""A probe that is killed with `kill -9` and resumed finds the same, to the byte."""

import random
import subprocess
import sys
import time
from pathlib import Path

import probe_oracle as oracle
import pytest
from conftest import THOROUGH

from headstack.cli import main

SEED = 41

#: Least share of the kills that must meet a probe that has not ended.
MET = 0.5


def started(*args: object) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "headstack", "probe", *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def killed(process: "subprocess.Popen[bytes]", log: Path, size: int, later_s: float) -> bool:
    """Kill a probe some time after its log has so many bytes; tell whether that met it."""
    while process.poll() is None and (not log.exists() or log.stat().st_size < size):
        time.sleep(0.002)
    time.sleep(later_s)
    process.kill()
    return process.wait() != 0


def test_a_killed_probe_goes_on_to_the_same_file(tmp_path):
    target = oracle.written(oracle.drawn(SEED, 8, zones=2), tmp_path)
    options = ["--lateness", "15us", "--disturbed", "0.02", "--budget", "60s", "--steps", "seek"]
    log, whole = tmp_path / "killed.log", tmp_path / "whole.log"
    out = {log: tmp_path / "killed.toml", whole: tmp_path / "whole.toml"}
    assert started(target, *options, "--log", whole, "-o", out[whole]).wait() == 0
    chance = random.Random(SEED)
    # Past the log's end, the fit or the writing of the file is met.
    sizes = sorted(chance.randrange(int(1.1 * whole.stat().st_size)) for _ in range(min(4 * THOROUGH, 50)))
    met = 0
    for size in sizes:
        process = started(target, *options, "--log", log, "--resume", "-o", out[log])
        size = min(size, whole.stat().st_size)
        met += killed(process, log, size, chance.uniform(0, 0.05))
        assert whole.read_bytes().startswith(log.read_bytes() if log.exists() else b"")
    assert met >= MET * len(sizes), (SEED, sizes)
    assert started(target, *options, "--log", log, "--resume", "-o", out[log]).wait() == 0
    assert log.read_bytes() == whole.read_bytes(), (SEED, sizes)
    assert out[log].read_bytes() == out[whole].read_bytes(), (SEED, sizes)


@pytest.mark.parametrize("left", ["", '{"headstack_pro'])
def test_a_log_without_a_whole_line_is_begun_anew(left, tmp_path):
    target = oracle.written(oracle.drawn(SEED, 8, zones=1), tmp_path)
    for name, text in (("part.log", left), ("whole.log", None)):
        log = tmp_path / name
        if text is not None:
            log.write_text(text)
        options = ["--budget", "30s", "--steps", "seek", "--log", str(log), "--resume"]
        assert main(["probe", target, *options]) == 0
    assert (tmp_path / "part.log").read_bytes() == (tmp_path / "whole.log").read_bytes()
