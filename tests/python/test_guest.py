"""A stock kernel on emulated drives, and the simulated host queue beside it."""

import sys
from collections.abc import Sequence

import pytest
from conftest import ROOT

import headstack

sys.path.insert(0, str(ROOT / "benches"))
import block_layer
import guest
from block_layer import Case, Request

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="real time needs Linux")


def most_at_once(requests: Sequence[Request]) -> int:
    """Return the largest number of requests that were in the drive at a time."""
    steps = [(r.arrival, 1) for r in requests] + [(r.completion, -1) for r in requests]
    now = most = 0
    for _, step in sorted(steps):
        now += step
        most = max(most, now)
    return most


@pytest.fixture(scope="module", autouse=True)
def _guest() -> None:
    try:
        guest.need()
    except guest.AbsentError as reason:
        pytest.skip(str(reason))


def test_the_kernel_limits_what_the_drive_sees(tmp_path):
    """The drive holds as many as `device/queue_depth` or the places of `none` say, never more."""
    record = tmp_path / "session.csv"
    cases = [
        Case("none", 32, 1, threads=8),
        Case("mq-deadline", 64, 3, threads=8),
        Case("none", 5, 32, threads=8),
        Case("bfq", 64, 2, threads=8),
    ]
    script = ""
    for n, case in enumerate(cases):
        facts = f"cat {block_layer.QUEUE}/rotational {block_layer.DEPTH} >> facts\n"
        script += case.settings() + facts + case.job(2, f"c{n}") + block_layer.MARK
    # Data survive the way through both.
    script += (
        "fio --name=v --filename=/dev/sda --direct=1 --rw=randwrite --bs=16k --size=1M "
        "--verify=crc32c --fsync=16 --verify_state_save=0 --output=v\n"
    )
    with headstack.emulate("exos-x18", record=record) as disk:
        files = guest.run([guest.socket_of(disk.uri)], script)
    depths = [depth for case in cases for depth in (1, case.depth)]
    assert [int(n) for n in files["facts"].split()] == depths
    seen = [most_at_once(case) for case in sessions(record)[: len(cases)]]
    assert seen == [
        min(places, depth) if name == "none" else depth for name, places, depth in cases
    ]
    assert b"err= 0" in files["v"]
