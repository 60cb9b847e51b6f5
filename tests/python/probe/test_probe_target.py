"""Targets of a probe as Python has them: what they describe, the shape of answers, refusals."""

import itertools
import os
import signal
import threading

import pytest

from headstack import _core
from headstack.errors import ConfigError, HeadstackError

pytestmark = pytest.mark.linux

KEYS = {
    *("kind", "blocks", "block_bytes", "physical_bytes", "model", "firmware", "serial_sha256"),
    *("rotational", "fua", "queue_depth", "ranges", "zoned", "mounted", "caveats"),
}


def sim(name: str = "wd-re-2tb", **given: float) -> _core.ProbeTarget:
    return _core.ProbeTarget.open(f"sim:{name}", **given)


def test_a_target_says_what_it_is_and_answers_in_order():
    target = sim("exos-2x18-sata", lateness_s=0.0)
    described = target.described
    assert set(described) == KEYS
    half = described["blocks"] // 2
    assert described["ranges"] == [(0, half), (half, half)]
    issued, done, status = target.read([0, 8, 16], wait_s=[0.0, 0.5, 0.25])
    assert status == [0, 0, 0]
    # Of waits in seconds, exactly.
    assert [b - a for a, b in zip(done, issued[1:], strict=False)] == [500_000_000, 250_000_000]
    assert target.now_ns() == done[-1]
    target.sleep(1.5)
    assert target.now_ns() == done[-1] + 1_500_000_000
    start = target.now_ns()
    assert target.read([80, 160], 8, at_s=[0.1, 0.2])[0] == [start + 10**8, start + 2 * 10**8]
    assert target.read([], [])[1] == []


def test_what_is_wrong_is_refused():
    target = sim()
    for key, given in {
        "read: got several kinds of times": {"depth": 2, "together": True},
        "probe.time: got -1": {"wait_s": -1.0},
        "probe.time: got NaN": {"at_s": [float("nan")]},
        "read.depth: got 0": {"depth": 0},
        "read.blocks: got 0": {"blocks": 0},
    }.items():
        with pytest.raises(ConfigError, match=key):
            target.read([0], **given)
    with pytest.raises(ConfigError, match="need allow_writes"):
        target.hold(0, bytes(512))
    with pytest.raises(ConfigError, match="whose contents are held"):
        target.write([0])
    with pytest.raises(ConfigError, match="disturbed: got 2"):
        sim(disturbed=2.0)
    target.close()
    target.close()
    with pytest.raises(HeadstackError, match="is closed"):
        target.read([0])


def test_writes_are_for_targets_that_allow_them():
    target = sim(allow_writes=True, lateness_s=0.0)
    target.hold(8000, target.fetch(8000, 8))
    _, done, status = target.write([8000] * 3, fua=True)
    with pytest.raises(ConfigError, match="need the scratch range, 8 blocks from 8000 on"):
        target.write([7999])
    assert status == [0, 0, 0]
    # A forced write of the same place waits for its next pass.
    turn = 60e9 / 7200
    assert [(b - a) / turn for a, b in itertools.pairwise(done)] == pytest.approx([1, 1])


def test_ctrl_c_ends_a_long_batch():
    target = sim()
    lba = [i * 8 for i in range(3_000_000)]
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        target.read(lba, 8, together=True)
    assert target.read([0])[2] == [0]
