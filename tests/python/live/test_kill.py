"""What fio wrote and flushed is there after `kill -9` of the server, at any instant."""

import os
import struct
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest
from conftest import ROOT, THOROUGH

pytestmark = pytest.mark.linux

BLOCK = 4096
#: Of the header with which fio verifies a block: magic, kind, length, seed, offset.
HEADER = struct.Struct("<HHIQQ")
MAGIC = 0xACCA


def flushed(log: Path) -> list[int]:
    """Offsets of the writes after which a flush ended, in fio's log of latencies.

    A line is time, latency, direction (1: write; 3: sync), block size, offset.
    """
    offsets: list[int] = []
    pending: list[int] = []
    for line in log.read_text().splitlines():
        _, _, direction, _, offset, *_ = (int(part, 0) for part in line.split(","))
        if direction == 1:
            pending.append(offset)
    # With a flush after each write, the last write of the log may not have been flushed.
    offsets += pending[:-1]
    return offsets


@pytest.mark.needs("fio:nbd")
def test_what_fio_flushed_survives_kill_9(tmp_path):
    seed = 27
    print("seed", seed)
    rng, found = Random(seed), 0
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    for kill in range(3 if THOROUGH <= 1 else 200):
        store, path = tmp_path / f"disk-{kill}", tmp_path / f"socket-{kill}"
        server = subprocess.Popen(
            [sys.executable, "-m", "headstack", "emulate", "constellation-es3-2tb",
             "--nbd", f"unix:{path}", "--store", str(store), "--speed", "0"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, cwd=ROOT,
        )  # fmt: skip
        with server:
            assert server.stdout is not None
            uri = server.stdout.readline().decode().strip()
            fio = subprocess.Popen(
                ["fio", "--name=w", "--ioengine=nbd", f"--uri={uri}", "--rw=randwrite",
                 f"--bs={BLOCK}", "--size=64M", "--fsync=1", "--verify=crc32c", "--do_verify=0",
                 f"--randseed={kill}", "--write_lat_log=log", "--log_offset=1",
                 "--per_job_logs=0", "--verify_state_save=0"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path,
            )  # fmt: skip
            until = time.monotonic() + 30
            while not store.stat().st_blocks and time.monotonic() < until:
                time.sleep(0.01)
            time.sleep(0.3 * rng.random())
            server.kill()
            fio.wait(timeout=60)
        log = tmp_path / "log_clat.log"
        with store.open("rb") as file:
            for offset in flushed(log):
                file.seek(offset)
                magic, _, length, _, at = HEADER.unpack(file.read(HEADER.size))
                assert (magic, length, at) == (MAGIC, BLOCK, offset), (kill, offset)
                found += 1
        log.unlink()
        store.unlink()
    assert found > 20
