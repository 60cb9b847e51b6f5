"""The logging disks: relations that a separate simulator of this model satisfies.

In `make test-all` each run has the paper's 500,000 requests after 125,000 initial blocks. Bounds in
the tests are of that simulator's runs with several seeds, widened by their spread. A tenth of the
requests is enough for what does not depend on how much was newly written before; the rest is
`thorough`.
"""

import math

import pytest
import verdicts
from conftest import QUICK, THOROUGH

from headstack.papers.dald.cylinders import geometry
from headstack.papers.dald.latency import TABLES, crossing, expected_read
from headstack.papers.dald.systems import CHEETAH, ETAS, IBM, WRITES, Access, Choices, Point, load, measured, system
from headstack.papers.runs import Run

DRIVES = (IBM, CHEETAH)

#: Points at which the drives without a log are run: they depend little on both frequencies.
FEW = [(w, eta) for w in (0.0, 0.5, 1.0) for eta in ETAS]

BETWEEN = WRITES[1:-1]

#: Mean access times in ms of the log and of DALD in the separate simulator.
SEPARATE = {
    (IBM, 0.1, 0.0): (5.24, 5.24),
    (IBM, 0.5, 0.0): (3.27, 3.24),
    (IBM, 0.9, 0.0): (1.26, 1.21),
    (IBM, 1.0, 0.0): (0.73, 0.73),
    (IBM, 0.1, 0.5): (5.28, 5.26),
    (IBM, 0.5, 0.5): (3.60, 3.28),
    (IBM, 0.9, 0.5): (1.60, 1.26),
    (IBM, 1.0, 0.5): (0.75, 0.75),
    (IBM, 0.3, 1.0): (4.56, 4.28),
    (IBM, 0.5, 1.0): (3.67, 3.28),
    (IBM, 0.7, 1.0): (2.62, 2.23),
    (IBM, 1.0, 1.0): (0.60, 0.60),
    (CHEETAH, 0.5, 0.0): (2.60, 2.59),
    (CHEETAH, 0.9, 0.5): (1.56, 1.31),
    (CHEETAH, 0.5, 1.0): (2.94, 2.62),
    (CHEETAH, 1.0, 1.0): (0.85, 0.85),
}


class Found(dict[Point, Access]):
    """Access times of a drive by point, each run when it is first asked for."""

    def __init__(self, study, drive):
        super().__init__()
        self.study, self.drive = study, drive

    def __missing__(self, point):
        self.add([point])
        return self[point]

    def add(self, points):
        """Run points side by side."""
        self |= measured(self.study, self.drive, points)


class Means:
    """Results by drive and point."""

    def __init__(self, once):
        self.study = verdicts.of(once, "dald", QUICK)
        self.found = {drive: Found(self.study, drive) for drive in DRIVES}
        if not QUICK:
            grid = [(w, e) for w in WRITES for e in ETAS]
            for found in self.found.values():
                found.add([(n, w, e) for n in ("log", "DALD", "DAD") for w, e in grid])

    def mean(self, drive, name, w, eta):
        return self.found[drive][name, w, eta].mean

    def gap(self, drive, w, eta):
        """Return by which share DALD is faster than the log."""
        log, dald = (self.mean(drive, n, w, eta) for n in ("log", "DALD"))
        return (log - dald) / log


@pytest.fixture(scope="module")
def means(once):
    return Means(once)


@pytest.mark.thorough
def test_logging_disks_agree_with_a_separate_simulator(means):
    for (drive, w, eta), wanted in SEPARATE.items():
        for name, want in zip(("log", "DALD"), wanted, strict=True):
            got = means.mean(drive, name, w, eta)
            assert got == pytest.approx(want, abs=0.05), (drive, name, w, eta)


@pytest.mark.parametrize("drive", DRIVES)
def test_a_random_read_takes_mean_seek_half_a_turn_and_the_transfer(means, drive):
    """Relation 1, a closed form."""
    assert means.mean(drive, "normal", 0.0, 0.0) == pytest.approx(expected_read(drive), rel=0.005)


@pytest.mark.parametrize("drive", DRIVES)
def test_writes_of_the_normal_disk_settle_before_each(means, drive):
    """Relation 2."""
    longer = means.mean(drive, "normal", 1.0, 0.0) - means.mean(drive, "normal", 0.0, 0.0)
    assert longer == pytest.approx(TABLES[drive][3], abs=0.02)


@pytest.mark.parametrize("drive", DRIVES)
def test_a_synchronised_array_is_as_fast_as_a_disk(means, drive):
    """Relation 3."""
    for w, eta in FEW:
        ratio = means.mean(drive, "array", w, eta) / means.mean(drive, "normal", w, eta)
        assert 0.93 <= ratio <= 0.99, (w, eta)


def test_halves_on_disks_out_of_step_take_a_sixth_of_a_turn_longer(means):
    """Relation 3, a closed form: with the angle d between the spindles it is d (1 - d) turns.

    So many pairs of disks are run for a short time. Requests are far apart, because the disks of
    the array queue on their own. The bound is three standard errors: d (1 - d) of a random d has
    the deviation 1 / sqrt(180).
    """
    pairs = 75 * min(THOROUGH, 8)
    free = {**system("array", IBM, means.study.choices), "spindles": "free"}
    workload = load(means.study, 0.0, 0.0)
    workload["synthetic"] |= {"n_requests": 500, "rate": "0.2/s"}
    runs = [Run(workload, {"name": f"{s}", **free}, seed=s) for s in range(1, pairs + 1)]
    found = means.study.run(runs).values()
    mean = math.fsum(1e3 * r["service_time_s"]["mean"] for r in found) / pairs
    turns = (mean - means.mean(IBM, "array", 0.0, 0.0)) / TABLES[IBM][2]
    assert turns == pytest.approx(1 / 6, abs=3 / math.sqrt(180 * pairs))


@pytest.mark.parametrize("drive", DRIVES)
def test_a_second_arm_is_worth_its_angle(means, drive):
    """Relation 4: an arm chosen by seek distance alone gains next to nothing."""
    for w, eta in FEW:
        if eta <= 0.5:
            ratio = means.mean(drive, "DAD", w, eta) / means.mean(drive, "normal", w, eta)
            assert 0.60 <= ratio <= 0.70, (w, eta)
    nearest = {"parallelism.arm_choice": "seek"}
    blind = measured(means.study.vary(), drive, [("DAD", 0.0, 0.0)], nearest)
    normal = means.mean(drive, "normal", 0.0, 0.0)
    assert blind["DAD", 0.0, 0.0].mean >= 0.95 * normal


@pytest.mark.parametrize("drive", DRIVES)
def test_without_writes_a_log_is_a_normal_disk(means, drive):
    """Relation 5."""
    normal, log, dald = (means.mean(drive, n, 0.0, 0.0) for n in ("normal", "log", "DALD"))
    assert log == pytest.approx(normal, rel=0.02)
    assert dald == pytest.approx(normal, rel=0.02)
    assert dald == pytest.approx(log, rel=0.01)


@pytest.mark.parametrize("drive", DRIVES)
def test_without_reads_the_second_arm_does_nothing(means, drive):
    """Relation 6: exactly, because both disks see the same requests."""
    for eta in ETAS:
        assert means.mean(drive, "log", 1.0, eta) == means.mean(drive, "DALD", 1.0, eta)


@pytest.mark.thorough
@pytest.mark.parametrize("drive", DRIVES)
def test_without_new_writes_two_arms_gain_little(means, drive):
    """Relation 7."""
    for w in WRITES:
        log, dald = (means.mean(drive, n, w, 0.0) for n in ("log", "DALD"))
        assert abs(log - dald) <= min(0.06 * log, 0.10), w


@pytest.mark.thorough
@pytest.mark.parametrize(("drive", "most"), [(IBM, 0.18), (CHEETAH, 0.14)])
def test_with_new_writes_two_arms_gain(means, drive, most):
    """Relation 8."""
    for eta in ETAS[1:]:
        assert all(means.gap(drive, w, eta) > 0 for w in BETWEEN), eta
        assert all(means.gap(drive, w, eta) >= 0.05 for w in WRITES[4:-1]), eta
    assert max(means.gap(drive, w, e) for w in BETWEEN for e in ETAS[1:]) >= most


@pytest.mark.thorough
def test_few_new_writes_are_enough(means):
    """Relation 9."""
    for w in (0.5, 0.7):
        assert means.gap(IBM, w, 0.1) >= 2.5 * means.gap(IBM, w, 0.0), w


@pytest.mark.thorough
@pytest.mark.parametrize("drive", DRIVES)
def test_the_second_arm_moves_the_breakeven(means, drive):
    """Relation 10: the share of writes from which on a logging disk beats two arms."""
    log, dald = ({eta: crossing(means.found[drive], n, eta) for eta in ETAS} for n in ("log", "DALD"))
    assert all(0.38 <= w <= 0.46 for w in dald.values()), dald
    assert abs(log[0.0] - dald[0.0]) <= 0.02
    assert log[0.5] - dald[0.5] >= 0.03
    assert log[1.0] - dald[1.0] >= 0.05


@pytest.mark.parametrize(("drive", "most"), [(IBM, 0.16), (CHEETAH, 0.26)])
def test_writes_of_the_dual_actuator_logging_disk(means, drive, most):
    """Relation 11."""
    for w, eta in FEW:
        if w > 0:
            found = means.found[drive]
            assert found["DALD", w, eta].write <= most * found["normal", w, eta].write, (w, eta)


@pytest.mark.parametrize("drive", DRIVES)
def test_reads_of_the_dual_actuator_logging_disk(means, drive):
    """Relation 12."""
    for w, eta in FEW:
        if w < 1:
            found = means.found[drive]
            ratio = found["DALD", w, eta].read / found["normal", w, eta].read
            assert 0.94 <= ratio <= 1.03, (w, eta)


def test_the_cheetah_gains_less(means):
    """Relation 13: the mean difference over w in ms."""
    for eta in ETAS[2 if QUICK else 1 :]:
        ibm, cheetah = (
            math.fsum(means.mean(d, "log", w, eta) - means.mean(d, "DALD", w, eta) for w in BETWEEN) for d in DRIVES
        )
        assert 0.70 <= cheetah / ibm <= 0.90, eta


@pytest.mark.thorough
def test_new_writes_burden_the_single_arm(means):
    """Relation 16."""
    found = means.found[IBM]
    assert found["log", 0.5, 0.5].write >= 1.4 * found["log", 0.5, 0.0].write


def test_a_writer_that_looks_at_its_own_cylinder_first_needs_the_second_arm(means):
    """Relation 18, a negative control: in a dense area such a writer often has to leave."""
    dense = Choices(policy="current-cylinder", initial="in-order")
    points = [("log", 0.5, 0.0), ("DALD", 0.5, 0.0)]
    found = measured(means.study, IBM, points, choices=dense)
    log, dald = (found[p].mean for p in points)
    assert (log - dald) / log >= 0.25


def test_the_end_of_the_disk_costs_both_alike(means):
    """Relation 17: cylinders that the data just fit, the time of a seek over each kept."""
    for cylinders in (660, 1000):
        changes = geometry(cylinders, 5, slope=True)
        for w in (0.3, 0.7):
            points = [("log", w, 0.0), ("DALD", w, 0.0)]
            found = measured(means.study, IBM, points, changes)
            log, dald = (found[p].mean for p in points)
            assert dald <= 1.005 * log, (cylinders, w)
            if cylinders == 660:
                assert dald == pytest.approx(log, rel=0.005), w
