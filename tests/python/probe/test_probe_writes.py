"""What a probe writes and changes: what it finds, and that all of it is as before afterwards."""

import hashlib
import random
import re
import signal
import subprocess
import sys
import tomllib

import probe_oracle as oracle
import pytest

import headstack
from headstack import _core
from headstack.cli import main
from headstack.errors import ConfigError
from headstack.probe import guard, settings

SEED = 83
FIRST, BLOCKS = 8000, 4096

#: A probe of nothing but writes at random, which somebody ends.
CHILD = """
import sys, numpy
from headstack import _core
from headstack.probe import guard, log, session, settings
target, first, blocks, change = sys.argv[1], *map(int, sys.argv[2:4]), sys.argv[4:]
opened = lambda: _core.ProbeTarget.open(target, allow_writes=True)
core = opened()
watch = guard.Guard(target, core, opened, (first, blocks), settings.wanted(change))
rng = numpy.random.default_rng(1)
try:
    watch.begin()
    live = session.Session(core, log.Log({"seed": 1, "described": core.described, "options": {}}))
    while True:
        lbas = first + rng.integers(0, blocks // 8, 20) * 8
        live.write("writes", lbas, blocks=8, fua=bool(rng.integers(2)), depth=8)
        print("wrote", flush=True)
finally:
    watch.end()
"""


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "headstack"


@pytest.mark.parametrize("number", [4, 8])
def test_settling_and_the_write_cache_are_found(number, tmp_path):
    """FACTS: overhead and seek within 30 us; the size of the cache is that of the file."""
    rng = random.Random(SEED + number)
    spec = oracle.drawn(SEED, number, zones=2)
    spec["positioning"]["write_settle"] = f"{(settle := rng.uniform(0.05, 0.6)):.3f} ms"
    cached = number == 8
    spec["cache"] = {"enabled": True, "segments": 32, "segment_sectors": 256, "write_back": cached}
    if cached:
        spec["cache"] |= {"destage": "idle", "destage_after": "0.1 s", "dirty_limit": "2 MiB"}
    out = tmp_path / "mine.toml"
    found = headstack.probe(
        oracle.written(spec, tmp_path),
        budget="180 s", steps=["writes", "buffer"] if cached else ["writes"], seed=SEED,
        lateness="15 us", disturbed=0.02, allow_writes="80000+262144", log=tmp_path / "log",
    )  # fmt: skip
    wrote = found.found.writes
    assert float(wrote.settle.value) * 1e3 == pytest.approx(settle, abs=0.03), (SEED, spec)
    assert float(wrote.settle.low) * 1e3 < settle < float(wrote.settle.high) * 1e3, (SEED, spec)
    assert wrote.write_back.value == cached
    assert wrote.shingled.value is False
    if cached:
        assert float(wrote.dirty_limit.value) == pytest.approx(2 << 20, rel=0.02)
        assert wrote.plain.value > 3 * wrote.forced.value
    mine = tomllib.loads(found.write_drive(out).read_text())
    assert oracle._ms(mine["positioning"]["write_settle"]) == pytest.approx(settle, abs=0.03)
    assert mine["cache"].get("write_back", False) == cached
    again = headstack.probe(None, from_log=tmp_path / "log").write_drive(tmp_path / "again.toml")
    assert again.read_bytes() == out.read_bytes()
    assert re.search(r"^write_settle = .* # measured: .* s, \d+ reads$", out.read_text(), re.M)


def test_a_shingled_drive_is_told(tmp_path):
    """Skylight: a write in the middle of a band lies in the cache, at another angle."""
    spec = oracle.drawn(SEED, 8, zones=2)
    spec["mapping"] = {
        "model": "media-cache", "cache_size": "64 MiB", "band_size": "4 MiB", "initial": "full",
    }  # fmt: skip
    found = headstack.probe(
        oracle.written(spec, tmp_path),
        budget="120 s", steps=["writes"], lateness="15 us", allow_writes="80000+65536",
    )  # fmt: skip
    assert found.found.writes.shingled.value is True


def served(tmp_path, *args):
    words = [sys.executable, "-m", "headstack", "emulate", *map(str, args)]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    return server, server.stdout.readline().strip()


def child(target, *change):
    words = [sys.executable, "-c", CHILD, target, str(FIRST), str(BLOCKS), *change]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("wire", ["nbd", "iscsi"])
def test_a_killed_probe_leaves_what_it_wrote_whole(wire, number, tmp_path, state):
    store = tmp_path / "store"
    address = f"unix:{tmp_path / 'disk'}" if wire == "nbd" else "127.0.0.1:0"
    # Faster than life, because times do not matter here.
    server, target = served(tmp_path, "ibm-18es", f"--{wire}", address, "--store", store, "--speed", 20)
    try:
        contents = random.Random(SEED).randbytes((BLOCKS + 32) * 512)
        core = _core.ProbeTarget.open(target, allow_writes=True)
        core.hold(FIRST - 16, contents)
        core.write([FIRST - 16 + i for i in range(0, BLOCKS + 32, 8)], 8, fua=True)
        core.close()
        process = child(target)
        for _ in range(random.Random(number).randrange(3, 12)):
            assert process.stdout.readline() == "wrote\n"
        process.send_signal(number)
        process.wait()
        left = list(state.glob("*"))
        assert len(left) == (number == signal.SIGKILL)
        core = _core.ProbeTarget.open(target, allow_writes=True)
        watch = guard.Guard(target, core, lambda: core, (FIRST, BLOCKS), {})
        watch.begin()
        assert ["as before" in n for n in watch.notes] == [True] * len(left)
        core.close()
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()
    with store.open("rb") as file:
        file.seek((FIRST - 16) * 512)
        assert file.read(len(contents)) == contents


def test_settings_are_set_back(tmp_path, state):
    server, target = served(tmp_path, "wd-re3-2009", "--iscsi", "127.0.0.1:0", "--speed", 20)

    def cached():
        core = _core.ProbeTarget.open(target)
        return bool(settings.page(core, 0x08)[2] & 0x04)  # SBC: WCE

    try:
        assert cached()
        for number in (signal.SIGTERM, signal.SIGKILL):
            process = child(target, "write-cache=off")
            assert process.stdout.readline() == "wrote\n"
            assert not cached()
            process.send_signal(number)
            process.wait()
            assert cached() == (number == signal.SIGTERM)
        core = (opened := lambda: _core.ProbeTarget.open(target, allow_writes=True))()
        watch = guard.Guard(target, core, opened, None, {})
        watch.begin()
        assert cached()
        # Only blocks are left, which are checked where they may be written.
        assert "with --allow-writes" in watch.notes[0]
        with pytest.raises(ConfigError, match="read-ahead, which this target cannot change"):
            guard.Guard(target, core, opened, (FIRST, BLOCKS), {"read-ahead": False}).begin()
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()


class Fake:
    """A disk that answers commands as told, and has blocks that cannot be read."""

    def __init__(self, sense=b"", log=b""):
        self.described = {
            "kind": "iscsi", "block_bytes": 512, "physical_bytes": 512, "blocks": 1000,
            "serial_sha256": "ab", "model": "M", "mounted": False, "zoned": None,
        }  # fmt: skip
        self.answers = {0x03: sense, 0x4D: log}
        self.blocks = {i: bytes([i]) * 512 for i in range(64)}
        self.held = {}

    def command(self, cdb, data, size):
        return (0, b"", self.answers[cdb[0]]) if cdb[0] in self.answers else (2, b"", b"")

    def fetch(self, lba, blocks):
        parts = [self.blocks.get(i) for i in range(lba, lba + blocks)]
        return None if None in parts else b"".join(parts)

    def hold(self, first, contents):
        self.held = {first + i: contents[i * 512 :][:512] for i in range(len(contents) // 512)}

    def write(self, lba, blocks, *, fua):
        assert fua
        for i in range(lba[0], lba[0] + blocks):
            self.blocks[i] = self.held[i]

    def close(self):
        pass


@pytest.mark.parametrize(
    ("sense", "degrees", "error"),
    [
        ((0, 0x5E, 0x02), (30, 60), "stands still"),
        ((2, 0x04, 0x02), (30, 60), "stands still"),
        ((0, 0, 0), (51, 60), "a disk at 51 C, need at most 50 C"),
        ((0, 0x5E, 0x01), (50, 60), None),
        ((0, 0, 0), (255, 60), None),
    ],
)
def test_a_disk_that_sleeps_or_is_too_warm_is_left_alone(sense, degrees, error):
    data = bytearray(18)
    data[0], data[2], data[12], data[13] = 0x70, *sense
    # SPC: parameters 0 and 1 of page 0Dh.
    log = bytes([0x0D, 0, 0, 12, 0, 0, 3, 2, 0, degrees[0], 0, 1, 3, 2, 0, degrees[1]])
    core = Fake(bytes(data), log)
    watch = guard.Guard("iscsi://x", core, lambda: core, None, {})
    if error is None:
        watch.begin()
    else:
        with pytest.raises(ConfigError, match=error):
            watch.begin()


def test_after_a_loss_of_power_unreadable_blocks_are_written_and_those_of_others_stay(state):
    core = Fake()
    watch = guard.Guard("iscsi://x", core, lambda: core, (8, 32), {})
    watch.begin()
    del core.blocks[9]
    core.blocks[20] = b"somebody's " * 46 + b"data.."
    again = guard.Guard("iscsi://x", core, lambda: core, (8, 32), {})
    again.begin()
    assert core.blocks[9] == bytes([9]) * 512
    assert core.blocks[20].startswith(b"somebody's")
    assert "1 blocks from 20 on have other contents" in again.notes[0]
    # What is other at the end of the same probe was this probe's.
    core.blocks[21] = bytes(512)
    again.end()
    assert core.blocks[21] == bytes([21]) * 512
    assert not list(state.glob("*"))
    for n in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(n, signal.SIG_DFL)


def test_writes_need_a_range_and_the_name_of_the_disk(capsys):
    described = Fake().described | {"serial_sha256": hashlib.sha256(b"S1").hexdigest()[:16]}
    guard.check_confirmed("iscsi://x", described, "M S1")
    for more, given, error in [
        ({}, "M S2", '--confirm: got "M S2", need "M SERIAL"'),
        ({}, None, "--confirm: got null"),
        ({"mounted": True}, "M S1", "mounted or held"),
        ({"zoned": "host-managed"}, "M S1", "not supported"),
        ({"serial_sha256": ""}, "M S1", 'need "iscsi://x"'),
    ]:
        with pytest.raises(ConfigError, match=error):
            guard.check_confirmed("iscsi://x", described | more, given)
    for args, error in [
        (["--allow-writes", "5"], '--allow-writes: got "5", need FIRST+BLOCKS'),
        (["--allow-writes", "99999999999+8"], "need at most 256 MiB of blocks below"),
        (["--steps", "writes"], "--steps: got writes, need --allow-writes"),
        (["--change-settings", "write-cache=off"], "which this target cannot change"),
        (["--change-settings", "cache=off"], "--change-settings: got"),
    ]:
        assert main(["probe", "sim:wd-re3-2009", *args]) == 2
        assert error in capsys.readouterr().err
