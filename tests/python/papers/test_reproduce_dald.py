"""The dual-actuator logging disk: its five architectures against a second simulator's values.

Brackets hold mean access times in ms of a separate simulator of the same model at 500,000 requests.
"""

import numpy as np
import pytest
import verdicts
from conftest import QUICK

from headstack.papers.dald import adaptive, cleaning, related
from headstack.papers.dald.latency import TABLES, shortest_read
from headstack.papers.dald.systems import AT_END, CHEETAH, IBM, Spread, compared, measured

#: Mean access times by architecture, write frequency and share of new writes.
SEPARATE = {
    IBM: {
        ("normal", 0.0, 0.0): 5.68,
        ("normal", 1.0, 0.0): 5.80,
        ("DAD", 0.0, 0.0): 3.60,
        ("DAD", 0.5, 0.5): 3.75,
        ("array", 0.0, 0.0): 5.45,
        ("array", 0.5, 0.5): 5.55,
    },
    CHEETAH: {
        ("normal", 0.0, 0.0): 4.19,
        ("normal", 0.5, 0.5): 4.49,
        ("DAD", 0.0, 0.0): 2.69,
        ("array", 0.0, 0.0): 4.00,
    },
}


@pytest.fixture(scope="module")
def study(once):
    return verdicts.of(once, "dald")


@pytest.mark.thorough
@pytest.mark.parametrize("drive", [IBM, CHEETAH])
def test_drives_without_a_log_agree_with_a_separate_simulator(once, drive):
    """At full length, because new writes extend the area: standard errors are up to 0.005 ms."""
    whole = verdicts.of(once, "dald", quick=False)
    found = measured(whole, drive, SEPARATE[drive])
    for point, want in SEPARATE[drive].items():
        assert found[point].mean == pytest.approx(want, abs=0.025), point


def test_writes_that_choose_their_place_are_faster_than_those_that_do_not(study):
    """Reads are as slow as the normal disk's; writes are several times faster."""
    points = [("normal", 0.5, 0.0), ("log", 0.5, 0.0), ("DALD", 0.5, 0.0)]
    found = measured(study, IBM, points)
    normal, log, dald = (found[p] for p in points)
    for logging in (log, dald):
        assert logging.read == pytest.approx(normal.read, rel=0.05)
        # The write of a slot takes no less than settling and its transfer: 0.13 and 0.21 ms.
        assert 0.34 < logging.write < normal.write / 4


def test_writes_at_the_end_take_what_a_separate_simulator_says(study):
    """0.52 ms on the 18ES and 0.80 on the Cheetah, whatever the reads do; it appends too."""
    for drive, want in ((IBM, 0.52), (CHEETAH, 0.80)):
        points = [(AT_END, w, eta) for w in (0.3, 1.0) for eta in (0.0, 1.0)]
        for point, found in measured(study, drive, points).items():
            assert found.write == pytest.approx(want, abs=0.02), (drive, point)


@pytest.mark.parametrize("drive", [IBM, CHEETAH])
def test_no_policy_of_two_arms_halves_a_read(study, drive):
    """Shortest seek, a quarter of a turn, transfer: 0.595 and 0.604 of the normal disk's read."""
    single, _, turn, _, _, _, sectors = TABLES[drive]
    least = shortest_read(study, drive)
    assert least == pytest.approx(single + turn / 4 + 8 * turn / sectors, rel=0.005)
    found = measured(study, drive, [("normal", 0.0, 0.0), ("DAD", 0.0, 0.0)])
    normal, dad = (a.mean for a in found.values())
    assert 0.59 < least / normal < 0.61 < dad / normal


def test_near_means_are_compared_over_seeds_and_others_are_not(study):
    """DAD reads in less than two thirds of the time; the log as the normal disk."""
    points = [(n, 0.0, 0.0) for n in ("normal", "log", "DAD")]
    found = measured(study, IBM, points)
    normal, log, dad = points
    far = compared(study, IBM, dad, normal, found)
    assert (far.seeds, far.ours) == (1, found[dad].mean)
    near = compared(study, IBM, log, normal, found)
    assert near.seeds == 5
    assert 0 < near.apart.half < 0.05
    # Student's t of four degrees of freedom is 2.776; the deviation of 1 to 5 is sqrt(2.5).
    spread = Spread.of([1.0, 2.0, 3.0, 4.0, 5.0])
    assert spread.mean == 3.0
    assert spread.half == pytest.approx(2.776 * (2.5 / 5) ** 0.5, rel=2e-4)


@pytest.mark.parametrize("w", [0.0, 0.3, 0.5, 0.65, 0.9, 0.95, 1.0])
def test_the_formula_says_when_a_change_of_the_load_is_noticed(w):
    """The mean of the policy's estimate, step by step from the worst start."""
    to_shared = w < adaptive.TO_SHARED
    estimate, n = float(to_shared), 0
    while estimate > adaptive.TO_SHARED if to_shared else estimate < adaptive.TO_SPLIT:
        estimate += (w - estimate) / adaptive.WINDOW
        n += 1
    # Logarithms for a continuous time are up to 1 / (2 window) too long.
    formula = adaptive.until_noticed(w) - adaptive.DWELL
    assert formula * (1 - 1 / adaptive.WINDOW) - 1 <= n <= formula + 1


def test_only_changes_that_need_other_roles_have_to_be_noticed():
    """A change within the same roles, or within the band between the thresholds, costs nothing."""
    each = 5000.0

    def noticed(*writes):
        found = adaptive._unnoticed(np.array(writes), np.full(len(writes), each))
        return [w for w, _ in found]

    assert noticed(0.0, 0.3, 0.5) == [0.0]
    assert noticed(0.0, 0.95, 1.0, 0.1) == [0.0, 0.95, 0.1]
    assert noticed(0.0, 0.8, 0.0) == [0.0, 0.0]
    # Pieces that are over before they are noticed cost no more than their length.
    short = adaptive._unnoticed(np.array([0.1, 0.95] * 3), np.full(6, 50.0))
    assert [n for _, n in short] == [50.0] * 6


def test_the_adaptive_drive_reads_as_a_dad_and_writes_as_a_dald(study):
    """Constant loads of reads or writes only, after the policy has noticed them."""
    names = ("DAD", "DALD", "adaptive")
    found = measured(study, CHEETAH, [(n, w, 0.0) for n in names for w in (0.0, 1.0)])
    assert found["adaptive", 0.0, 0.0].mean == pytest.approx(found["DAD", 0.0, 0.0].mean, rel=0.03)
    assert found["adaptive", 1.0, 0.0].mean == found["DALD", 1.0, 0.0].mean


def test_related_designs_read_as_their_disk_and_write_as_their_log(study):
    """Trail reads as a normal disk and writes as its log: 0.52 ms in the separate simulator."""
    found = related.compared(study)
    for i in range(len(related.FEW)):
        of = {name: row[i] for name, row in found.items()}
        assert of["Trail-like, two disks"].read == of["normal, write cache"].read
        assert of["Trail-like, two disks"].write == pytest.approx(0.52, abs=0.02)
        assert of["Loge-like, 96 % full"].write < of["normal"].write / 4
        # Its reads are those of a normal disk that is as full.
        assert of["Loge-like, 96 % full"].read == pytest.approx(of["normal"].read, rel=0.05)


def test_cleaning_moves_blocks_only_where_it_is_on_and_costs_head_time(study, monkeypatch):
    """A moved block is read and written: two transfers of 8 of 312 sectors at least."""
    monkeypatch.setattr(cleaning, "REQUESTS", cleaning.REQUESTS // (8 if QUICK else 1))
    found = cleaning.runs(study)
    for (name, state, cleaned), result in found.items():
        drive = result["drives"][0]
        moved, spent = drive["n_moved_blocks"], drive["background"]["cleaning"]
        assert (moved > 0) == cleaned, (name, state)
        least = moved * 2 * 8 / 312 * 60 / 7200
        assert spent["time_s"] >= least, (name, state)
        assert (spent["energy_j"] > 0) == cleaned, (name, state)
        # A twentieth of the slots stays free.
        assert drive["n_in_place_writes"] == 0, (name, state)
