"""Ctrl-C: the first one keeps the results so far, the second one ends at once."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import headstack

#: More requests than any machine can simulate during a test.
ENDLESS = """
[workload]
synthetic = { n_requests = 1_000_000_000_000, size = "4 KiB", rate = "50/s", footprint = "10 GB" }

[[system]]
name = "one"
drive = "barracuda-es-750"
"""


@contextmanager
def running(folder: Path, *options: str) -> Iterator["subprocess.Popen[str]"]:
    """Yield a run that has begun to write its requests."""
    experiment, out = folder / "endless.toml", folder / "out"
    experiment.write_text(ENDLESS)
    command = [sys.executable, "-m", "headstack", "run", str(experiment), "--out", str(out)]
    command += ["--requests"]
    pipe = subprocess.PIPE
    with subprocess.Popen([*command, *options], stdout=pipe, stderr=pipe, text=True) as process:
        try:
            # They are first written into a separate folder.
            while not any(f.stat().st_size for f in out.rglob("requests-*")):
                assert process.poll() is None, process.communicate()
                time.sleep(0.02)
            yield process
        finally:
            process.kill()


def test_an_interrupt_keeps_what_there_is(tmp_path):
    with running(tmp_path, "--json", "--no-figures") as process:
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate()
    assert process.returncode == 130, stderr
    assert "endless.toml: partial results" in stderr
    assert "Traceback" not in stderr
    printed = json.loads(stdout)
    assert printed["partial"] is True
    assert printed["systems"][0]["partial"] is True
    kept = headstack.load(tmp_path / "out")
    assert kept.partial
    assert len(kept.requests) == kept.summary["n_requests"][0] > 0
    assert "This run was interrupted" in (tmp_path / "out" / "report.html").read_text()


def test_a_second_interrupt_ends_at_once(tmp_path):
    with running(tmp_path) as process:
        # Two signals sent before the first is handled are delivered as one.
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.2)
        stdout, stderr = process.communicate()
    assert process.returncode == -signal.SIGINT, stderr
    assert stdout == ""
    assert "Traceback" not in stderr


def test_a_second_interrupt_ends_the_report(tmp_path):
    """Drawing takes seconds, in which nothing of Python's runs."""
    with running(tmp_path) as process:
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        said = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert "the report is made of what was done until then, a second Ctrl-C ends it" in said
    assert process.returncode == -signal.SIGINT
    assert not (tmp_path / "out" / "report.html").exists()


def test_a_run_from_python_keeps_what_there_is(tmp_path):
    calls = []

    def progress(done: int, total: int | None) -> None:
        calls.append(done)
        if done > 0:
            signal.raise_signal(signal.SIGINT)

    load = {"n_requests": 10**12, "size": "4 KiB", "rate": "50/s", "footprint": "10 GB"}
    result = headstack.run(
        workload={"synthetic": load},
        systems=[{"name": "one", "drive": "barracuda-es-750"}],
        out=tmp_path,
        progress=progress,
    )
    assert calls
    assert result.partial
    assert headstack.load(tmp_path).partial
    with pytest.raises(headstack.ConfigError):
        headstack.run()


def test_a_terminal_is_told_the_time_left_and_json_stands_alone(tmp_path):
    experiment = tmp_path / "two.toml"
    experiment.write_text(ENDLESS + ENDLESS.partition("\n\n")[2].replace("one", "two"))
    command = [sys.executable, "-m", "headstack", "run", str(experiment), "--json"]
    terminal, end = pty.openpty()
    shown = b""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=end, text=True) as process:
        os.close(end)
        while not re.search(rb"left\W[^\r]*\d:\d\d:\d\d", shown):
            shown += os.read(terminal, 4096)
        process.send_signal(signal.SIGINT)
        # The terminal must be read until it is closed; otherwise it would be full and stop the run.
        with suppress(OSError):
            while os.read(terminal, 4096):
                pass
        stdout, _ = process.communicate()
    os.close(terminal)
    assert process.returncode == 130
    assert [s["name"] for s in json.loads(stdout)["systems"]] == ["one", "two"]


@contextmanager
def reading(trace: Path, *command: object) -> Iterator["subprocess.Popen[str]"]:
    """Yield a command that has opened a trace."""
    whole = [sys.executable, "-m", "headstack", *map(str, command)]
    pipe = subprocess.PIPE
    with subprocess.Popen(whole, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            files = Path(f"/proc/{process.pid}/fd")
            while str(trace) not in {os.path.realpath(f) for f in files.iterdir()}:
                assert process.poll() is None, process.communicate()
                time.sleep(0.02)
            yield process
        finally:
            process.kill()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
@pytest.mark.parametrize("kind", ["silent", "blank lines", "/dev/zero", "bomb"])
@pytest.mark.parametrize("name", ["trace-info", "convert"])
def test_an_interrupt_ends_what_reads_a_trace_without_requests(name, kind, tmp_path):
    trace, target = tmp_path / "trace", tmp_path / "out.csv"
    if kind == "/dev/zero":
        trace = Path(kind)
    elif kind == "bomb":
        trace.write_bytes(zstd_of_blank_lines(2**37))
    else:
        os.mkfifo(trace)
    given = [trace, *([target] if name == "convert" else [])]
    # Opened for reading and writing, the pipe neither blocks the opening nor ends.
    held = os.open(trace, os.O_RDWR | os.O_NONBLOCK) if trace.is_fifo() else None
    with reading(trace, name, *given, "--from", "csv") as process:
        written = 0
        while kind == "blank lines" and written < 1_000_000:
            assert process.poll() is None, process.communicate()
            with suppress(BlockingIOError):
                written += os.write(held, b"\n" * 4096)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    if held is not None:
        os.close(held)
    assert (process.returncode, stdout) == (130, "")
    assert stderr == "headstack: got an interrupt, stopped\n"
    assert [f for f in tmp_path.iterdir() if f != trace] == []


def zstd_of_blank_lines(n_bytes: int) -> bytes:
    """Blank lines compressed by zstd (RFC 8878), in blocks with one repeated byte each."""
    block = 128 * 1024
    # Magic number; no checksum and no size; a window of 128 KiB.
    frame = bytes.fromhex("28b52ffd") + bytes([0, 7 << 3])
    # 3 bytes of header: last block or not, type 1 (repeated byte), size; then the byte.
    one = (block << 3 | 1 << 1).to_bytes(3, "little") + b"\n"
    last = (block << 3 | 1 << 1 | 1).to_bytes(3, "little") + b"\n"
    return frame + one * (n_bytes // block - 1) + last
