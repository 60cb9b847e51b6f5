"""What an initiator wrote to the medium is there after `kill -9` of the server, at any instant."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from random import Random

import pytest
from conftest import ROOT, THOROUGH
from iscsi_peers import Initiator

pytestmark = pytest.mark.linux

BLOCK = 4096
BLOCKS = 4096


def written(url: str, kill: int, ended: dict[int, bytes], open_: dict[int, bytes]) -> None:
    """Write blocks one after another until the server is gone; note those that have ended.

    The last one, which has not, may be there, or not, or in part.
    """
    rng = Random(kill)
    try:
        session = Initiator(url)
        session.run(bytes(16), 0, 1)
        while True:
            block, data = rng.randrange(BLOCKS), rng.randbytes(BLOCK)
            open_.clear()
            open_[block] = data
            assert session.write(block * (BLOCK // 512), data) == 0
            ended[block] = data
    except OSError:
        return


def test_what_was_written_to_the_medium_survives_kill_9(tmp_path: Path) -> None:
    seed = 29
    print("seed", seed)
    rng, found = Random(seed), 0
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    for kill in range(2 if THOROUGH <= 1 else 200):
        store = tmp_path / f"disk-{kill}"
        server = subprocess.Popen(
            [sys.executable, "-m", "headstack", "emulate", "ibm-18es", "--iscsi", "127.0.0.1:0",
             "--store", str(store), "--speed", "0"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, cwd=ROOT,
        )  # fmt: skip
        ended: dict[int, bytes] = {}
        open_: dict[int, bytes] = {}
        with server:
            assert server.stdout is not None
            url = server.stdout.readline().decode().strip()
            client = threading.Thread(target=written, args=(url, kill, ended, open_))
            client.start()
            until = time.monotonic() + 30
            while not ended and time.monotonic() < until:
                time.sleep(0.01)
            time.sleep(0.3 * rng.random())
            server.kill()
            client.join(timeout=60)
        assert not client.is_alive()
        with store.open("rb") as file:
            for block, data in ended.items():
                file.seek(block * BLOCK)
                if block not in open_:
                    assert file.read(BLOCK) == data, (kill, block)
                    found += 1
        store.unlink()
    assert found > 20
