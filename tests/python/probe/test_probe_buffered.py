"""Probes whose reads cannot by-pass the buffer, as over NBD."""

import numpy as np
import probe_oracle as oracle
import pytest

from headstack import _core, drives, probe
from headstack.probe import log, moves, period, plan, session


class Buffered:
    """A simulated drive without a way around its buffer."""

    lateness_s = 15e-6

    def __init__(self, name: str) -> None:
        self.core = _core.ProbeTarget.open(f"sim:{name}", lateness_s=self.lateness_s, disturbed=0.02, seed=1)
        self.described = {**self.core.described, "fua": False, "kind": "nbd"}

    def read(self, lba, blocks, **options):
        return self.core.read(lba, blocks, **{**options, "fua": False})

    def __getattr__(self, name):
        return getattr(self.core, name)


def opened(name: str, kind: type[Buffered] = Buffered, seed: int = 1) -> session.Session:
    target = kind(name)
    header = {"seed": seed, "described": probe._plain(target.described)}
    return session.Session(target, log.Log(header))


def test_geometry_and_seeks_are_found_past_a_buffer(tmp_path):
    spec = drives.load("wd-re3-2009")
    assert spec["cache"]["enabled"]
    probed = plan.run(opened("wd-re3-2009"), 300.0, ("seek", "switches"), None)
    figures = oracle.figures(probed, spec)
    assert not figures.wrong(), figures
    mine = probed.write_drive(tmp_path / "mine.toml")
    assert oracle.access_off(probed, spec, drives.load(str(mine))) <= 1


def test_a_page_that_a_server_prefers_is_no_sector():
    """The ends of a page's and of a block's reads are 7 sectors apart: that is no part of turns."""

    class Preferring(Buffered):
        def __init__(self, name):
            super().__init__(name)
            self.described["physical_bytes"] = 4096

    probed = plan.run(opened("conner-cp3100", Preferring, 2), 120.0, (), None)
    figures = oracle.figures(probed, drives.load("conner-cp3100"))
    assert probed.described["physical_bytes"] == 512
    assert not figures.wrong(), figures
    turns = [np.diff(times) / probed.period.turn_s for times in probed.period.times.values()]
    assert np.abs(period.wrap(np.concatenate(turns))).max() < 0.1


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_skews_that_a_read_does_not_show_make_no_track_of_several(seed):
    """Its skew within cylinders is 1.2 % of a turn; ends of reads are off by 0.1 %."""

    class Late(Buffered):
        lateness_s = 25e-6

    probed = plan.run(opened("conner-cp3100", Late, seed), 120.0, (), None)
    figures = oracle.figures(probed, drives.load("conner-cp3100"))
    assert not figures.wrong(), figures


def test_a_drive_without_a_buffer_goes_on_with_reads_that_wait():
    """Its link takes no time of its own: a default made each of a run of reads that wait lose a turn."""
    probed = plan.run(opened("conner-cp3100"), 200.0, ("seek", "switches", "buffer", "queue", "replay"), None)
    assert probed.replay.off < 0.05
    assert probed.found.buffer.sector_s.value == 0


@pytest.mark.parametrize("status", [0, 1])
def test_accesses_without_answers_of_the_medium_are_not_identifiable(status):
    """A buffer answers, or reads fail."""

    class Hits(Buffered):
        def read(self, lba, blocks, **options):
            ends = [150_000 * (i + 1) for i in range(len(lba))]
            # One pair's reads are three, those of other places more.
            return [e - 150_000 for e in ends], ends, [status * (len(lba) <= 3)] * len(lba)

    live = opened("wd-re3-2009", Hits)
    lbas = np.arange(24, dtype=np.int64) * 40
    places = [moves.Place(lbas + at, np.arange(24) / 48, 0.0, 0) for at in (0, 9_000_000)]
    done = moves.Bisection(live, 60 / 7200, "seek", [(places[0], places[1])]).run(12)
    assert {v.origin for v in done.values()[0]} == {"not identifiable"}


def test_a_drive_that_does_not_by_pass_its_buffer_is_told():
    class Ignoring(Buffered):
        def __init__(self, name):
            super().__init__(name)
            self.described["fua"] = True

    live = opened("wd-re3-2009", Ignoring)
    assert period.find(live).turn_s == pytest.approx(60 / 7200, rel=1e-5)
    assert not live.described["fua"]
    assert "do not by-pass the buffer" in live.described["caveats"][-1]


def test_accesses_are_found_over_a_resume():
    """The clock begins anew between two rounds, at another angle."""

    class Resumed(Buffered):
        later_ns = 0

        def read(self, lba, blocks, **options):
            issued, done, status = self.core.read(lba, blocks, **options)
            return [t + self.later_ns for t in issued], [t + self.later_ns for t in done], status

    found = []
    for later_ns in (0, 123_456_789):
        target = Resumed("wd-re3-2009")
        target.described["fua"] = True
        live = session.Session(target, log.Log({"seed": 1, "described": target.described}))
        lbas = np.arange(24, dtype=np.int64)[::-1] * 2
        places = [moves.Place(lbas + at, (lbas - lbas[0]) / 2019, 0.0, 0) for at in (0, 2019 * 50)]
        test = moves.Bisection(live, 60 / 7200, "seek", [(places[0], places[1])]).run(12)
        target.later_ns = later_ns
        live.epoch += later_ns > 0
        found.append(test.run(12).values()[0])
    for a, b in zip(*found, strict=True):
        assert a.origin == b.origin == "measured"
        assert float(a.value) == pytest.approx(float(b.value), abs=20e-6)
