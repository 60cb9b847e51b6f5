"""What is no single disk is told, with the reason, and nothing is written."""

import copy
import random
import re
import socket
import subprocess
import time
from bisect import bisect_right
from collections.abc import Container
from pathlib import Path

import probe_oracle as oracle
import pytest
from conftest import command

from headstack import _core, drives, probe
from headstack.errors import HeadstackError
from headstack.probe import log, plan, session

CHUNK = 128


class Raid:
    """Two simulated drives as RAID-0, as RAID-1 that reads from both in turn, or as a row."""

    def __init__(self, kind: str, phase_s: float, fua: bool, chunk: int = CHUNK, second: str = "wd-re3-2009") -> None:
        self.members = [
            _core.ProbeTarget.open(f"sim:{name}", lateness_s=15e-6, seed=s)
            for s, name in ((1, "wd-re3-2009"), (2, second))
        ]
        self.members[1].sleep(phase_s)
        self.ahead_ns = self.members[1].now_ns() - self.members[0].now_ns()
        self.kind, self.chunk, self.turn = kind, chunk, 0
        self.described = {**self.members[0].described, "fua": fua}
        if kind == "row":
            self.chunk = self.described["blocks"]
            self.described["blocks"] *= 2
        self.now = self.members[0].now_ns()

    def _one(self, lba: int, blocks: int, begin: int, fua: bool) -> int:
        number, inside = divmod(lba, self.chunk)
        member, at = number % 2, number // 2 * self.chunk + inside
        if self.kind == "raid1":
            self.turn += 1
            member, at = self.turn % 2, lba
        target, ahead = self.members[member], member * self.ahead_ns
        target.sleep(max(0, begin - (target.now_ns() - ahead)) / 1e9)
        return target.read([at], blocks, fua=fua)[1][0] - ahead

    def read(self, lba, blocks, wait_s=0.0, together=False, fua=True):
        waits = [wait_s] * len(lba) if isinstance(wait_s, float) else wait_s
        issued, done = [], []
        for address, wait in zip(lba, waits, strict=True):
            issued.append(self.now if together else self.now + int(wait * 1e9))
            done.append(self._one(address, blocks, issued[-1], fua and self.described["fua"]))
            self.now = self.now if together else done[-1]
        self.now = max(done)
        return issued, done, [0] * len(lba)


def live(target) -> session.Session:
    header = {"seed": 1, "described": probe._plain(target.described)}
    return session.Session(target, log.Log(header))


@pytest.mark.parametrize("fua", [True, False])
@pytest.mark.parametrize("phase_s", [0.0, 0.0031])
@pytest.mark.parametrize(("kind", "chunk"), [("raid0", CHUNK), ("raid0", 8192), ("raid1", 1)])
def test_drives_that_share_addresses_are_told(kind, chunk, phase_s, fua):
    """Equal turns or not: their angles never tell them from one drive, if they are in phase."""
    with pytest.raises(HeadstackError, match=r"several drives|too noisy") as raised:
        plan.run(live(Raid(kind, phase_s, fua, chunk)), 60.0, (), None)
    said = re.search("in parts of (.*) of them", str(raised.value))
    assert said is None or (kind, said[1]) == ("raid0", f"{chunk // 2} KiB on 2")
    assert said is not None or kind == "raid1" or "too noisy" in str(raised.value)


@pytest.mark.parametrize("ppm", [3, 40])
def test_drives_one_after_the_other_are_told_by_their_turns(ppm, tmp_path):
    spec = copy.deepcopy(dict(drives.load("wd-re3-2009")))
    spec["geometry"]["rotation_speed"] = f"{7200 * (1 + ppm * 1e-6):.5f} rpm"
    oracle.written({**spec, "name": "second"}, tmp_path)
    row = Raid("row", 0.002, True, second=str(tmp_path / "second.toml"))
    with pytest.raises(HeadstackError, match="one after the other"):
        plan.run(live(row), 60.0, (), None)


@pytest.mark.parametrize(("disturbed", "seeds"), [(0.02, range(28, 40)), (0.2, range(20))])
def test_ends_of_tracks_and_late_reads_are_no_second_drive(disturbed, seeds, monkeypatch):
    """A sector before the first of a track has another angle; a read that waits ends turns later.

    With seed 38 a fifth of the pairs are such as meet the end of a track.
    """

    class TakenError(Exception):
        """The target was taken for a drive."""

    def survey(*_: object) -> None:
        raise TakenError

    monkeypatch.setattr(plan.zone_search, "survey", survey)
    options = {"steps": (), "lateness": "15us", "disturbed": disturbed}
    for seed in seeds:
        with pytest.raises(TakenError):
            probe.probe("sim:wd-re3-2009", seed=seed, **options)


class Failing:
    """A drive of which a part of the reads fail."""

    def __init__(self, bad: Container[int]) -> None:
        self.core = _core.ProbeTarget.open("sim:wd-re3-2009", lateness_s=15e-6, seed=1)
        self.described, self.bad = self.core.described, bad

    def read(self, lba, blocks, **options):
        issued, done, status = self.core.read(lba, blocks, **options)
        return issued, done, [s or int(a in self.bad) for a, s in zip(lba, status, strict=True)]


class Head:
    """The addresses of a head, by the rules of the layout."""

    def __init__(self, number: int) -> None:
        self.number, self.runs = number, oracle.runs(dict(drives.load("wd-re3-2009")))

    def __contains__(self, lba: int) -> bool:
        return self.runs[bisect_right(self.runs, (lba, 1 << 40)) - 1].head == self.number


@pytest.mark.parametrize("bad", [range(4096), range(1 << 40), Head(0), Head(3)])
def test_reads_that_fail_end_a_probe_in_words(bad):
    with pytest.raises(HeadstackError, match="reads failed"):
        plan.run(live(Failing(bad)), 60.0, (), None)


def test_places_that_fail_are_passed_over():
    probed = plan.run(live(Failing(range(0, 1 << 40, 97))), 60.0, (), None)
    assert probed.geometry.heads == 6
    assert any("reads failed" in note for note in probed.notes)


class Slow(Failing):
    """A drive of which a share of the reads take 300 ms more."""

    def __init__(self, share: float) -> None:
        super().__init__(())
        self.share, self.random = share, random.Random(2)

    def __getattr__(self, name):
        return getattr(self.core, name)

    def read(self, lba, blocks, wait_s=0.0, **options):
        if options.get("together"):
            return self.core.read(lba, blocks, **options)
        waits = [wait_s] * len(lba) if isinstance(wait_s, float) else wait_s
        answer = ([], [], [])
        for address, wait in zip(lba, waits, strict=True):
            for times, (time_ns,) in zip(
                answer, self.core.read([address], blocks, wait_s=wait, **options), strict=True
            ):
                times.append(time_ns)
            if self.random.random() < self.share:
                self.core.sleep(0.3)
                answer[1][-1] += 300_000_000
        return answer


class Memory(Slow):
    """Memory on a busy machine: a share of the answers are late by up to 20 ms."""

    def read(self, lba, blocks, **options):
        issued, done = [], []
        for _ in lba:
            issued.append(self.core.now_ns())
            self.core.sleep(50e-6 + (self.random.random() < self.share) * self.random.uniform(1e-3, 20e-3))
            done.append(self.core.now_ns())
        return issued, done, [0] * len(lba)


@pytest.mark.parametrize("late", [0.0, 0.3, 0.6])
def test_memory_is_told_on_a_busy_machine_too(late):
    with pytest.raises(HeadstackError, match=r"no rotating disk: .* memory"):
        plan.run(live(Memory(late)), 60.0, (), None)


def test_slow_reads_make_no_wrong_turnaround():
    """They leave no time for the inner zones, whose angles are then not known."""
    probed = plan.run(live(Slow(0.05)), 90.0, ("seek",), None)
    found = probed.found.curve.turnaround
    # Overhead 0.1 ms, a sector of 512 bytes, and the usual lateness.
    assert found.value == pytest.approx(0.135e-3, abs=30e-6), found


def _listens(at: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(at)) == 0


@pytest.mark.linux
@pytest.mark.needs("nbdkit")
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["memory", "10G"], "no rotating disk: .* memory"),
        (["--filter=delay", "memory", "10G", "rdelay=9ms"], "no rotating disk: .* a delay"),
        (["--filter=error", "memory", "10G", "error-rate=100%"], "reads failed"),
        pytest.param(
            ["--filter=spinning", "memory", "10G"], "no rotating disk", marks=pytest.mark.needs("nbdkit:spinning")
        ),
    ],
)
def test_servers_without_a_disk_are_told(options, reason, tmp_path):
    """The times of a filter are those of this machine: another one may see only noise."""
    at, out = tmp_path / "socket", tmp_path / "drive.toml"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(["nbdkit", "-f", "-U", str(at), *options], **quiet)
    try:
        # The name is there a moment before somebody listens.
        while not _listens(at):
            assert server.poll() is None
            time.sleep(0.01)
        uri = f"nbd+unix:///?socket={at}"
        done = command("probe", uri, "--budget", "30s", "-o", out)
    finally:
        server.kill()
        server.wait()
    assert done.returncode == 1
    assert re.search(f"{reason}|too noisy", done.stderr), done.stderr
    assert not out.exists()
