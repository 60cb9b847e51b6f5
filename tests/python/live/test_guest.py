"""A stock kernel on emulated drives, and the simulated host queue beside it."""

import itertools
import operator
from collections.abc import Sequence

import block_layer
import database
import guest
import pytest
from block_layer import Case, Request

import headstack

pytestmark = [pytest.mark.needs("guest"), pytest.mark.linux]


def most_at_once(requests: Sequence[Request]) -> int:
    """Return the largest number of requests that were in the drive at a time."""
    steps = [(r.arrival, 1) for r in requests] + [(r.completion, -1) for r in requests]
    now = most = 0
    for _, step in sorted(steps):
        now += step
        most = max(most, now)
    return most


def test_the_kernel_limits_what_the_drive_sees(tmp_path):
    """The drive never holds more than `device/queue_depth` or the places of `none` say.

    Without the limits eight threads have up to eight there. A guest that gets little time from its
    machine does not always reach the limit.
    """
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
    seen = [most_at_once(case) for case in block_layer.sessions(record)[: len(cases)]]
    limits = [1, 3, 5, 2]
    assert all((most + 1) // 2 <= n <= most for n, most in zip(seen, limits, strict=True)), seen
    assert b"err= 0" in files["v"]


@pytest.mark.thorough
@pytest.mark.needs("qemu:iscsi")
def test_the_simulated_host_queue_agrees_with_the_kernel():
    """Rates within 5 %, means within 10 and p99 within 20 %, where no thread starves.

    The figures of one run are in docs/models/host-queue.md: 3 and 8 %. A run of 15 s has 100 to 200
    requests a second: its p99 alone varies by 5 to 10 %. The page says what differs more: the few
    writes of mixed loads, loads with one request at a time, in which the guest's own time varies,
    loads whose threads starve, and how long each part of a load under `bfq` lasts.
    """
    # Mixed loads have 1,200 writes in a run, whose mean varies by 7 %; where threads starve, 20
    # reads of up to 15 s decide the 99th percentile: four runs.
    cases = [c for c in block_layer.CASES for _ in range(4 if c.reads < 1 or c.starves else 1)]
    measured, gaps = block_layer.measure(cases)
    print("gaps", gaps)
    runs = zip(cases, measured, gaps, strict=True)
    for case, group in itertools.groupby(runs, key=operator.itemgetter(0)):
        _, seen, (late, *_) = zip(*group, strict=True)
        real, ours = block_layer.mean_of(seen), block_layer.simulate(case, late)
        print(case, real, ours)
        rate, mean, p99 = (0.05, 0.1, 0.2)
        if case.starves:
            rate, mean, p99 = (0.1, 0.15, 0.5)
        elif case.reads < 1:
            rate, mean, p99 = (0.05, 0.15, 0.3)
        elif case.is_alone:
            p99 = 0.3
        elif case.elevator == "bfq":
            # How the threads start decides how long the drive is kept idle for each, and who waits.
            rate, mean, p99 = (0.5, 0.5, None)
        assert ours.rate == pytest.approx(real.rate, rel=rate), case
        for kind, values in real.response.items():
            assert ours.response[kind][0] == pytest.approx(values[0], rel=mean), case
            if p99 is not None:
                assert ours.response[kind][2] == pytest.approx(values[2], rel=p99), case


@pytest.mark.thorough
@pytest.mark.needs("qemu:iscsi")
def test_the_queue_is_changed_while_it_runs():
    windows = block_layer.measure_changes()
    assert [most_at_once(window) for window in windows] == [8, 2, 2]
    seen = [len(window) / (b - a) for window, (a, b) in zip(windows, block_layer.WINDOWS, strict=True)]
    ours = block_layer.simulate_changes(1.3e-3)
    print(seen, ours)
    # 500 to 1,000 requests each: two standard deviations of a rate are about 5 %.
    assert ours == pytest.approx(seen, rel=0.1)


@pytest.mark.thorough
@pytest.mark.needs("nbdfuse", "root", "fuse", *database.PROGRAMS)
def test_a_database_uses_both_arms(tmp_path):
    got = {drive: database.ran(drive, tmp_path) for drive in database.DRIVES}
    for drive, ran in got.items():
        # To the microsecond: the record has times in nanoseconds.
        assert database.replayed(ran.record, drive) == pytest.approx(ran.response_s, abs=1e-6)
    one, two = (got[drive] for drive in database.DRIVES)
    print(one.one, one.two, two.one, two.two)
    # Two databases share one arm of the conventional drive, and have an arm each on the other.
    assert two.two > 1.3 * one.two
    assert two.two > two.one
