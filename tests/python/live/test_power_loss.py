"""Losses of power of emulated drives find the bug of a journal that was written wrong."""

import socket
import struct
from dataclasses import dataclass, field
from random import Random
from urllib.parse import unquote

import pytest
from conftest import THOROUGH

import headstack
from headstack.errors import ConfigError, HeadstackError
from headstack.live.emulation import Emulation

pytestmark = pytest.mark.linux

READ, WRITE, FLUSH = 0, 1, 3
BLOCK = 4096
KEYS = 6


class Disk:
    """A disk over NBD: one request after another."""

    def __init__(self, emulation: Emulation) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(unquote(emulation.uri.partition("socket=")[2]))
        self.take(18)
        self.socket.sendall(struct.pack(">I8sII", 3, b"IHAVEOPT", 1, 0))
        self.take(10)

    def take(self, n: int) -> bytes:
        found = b""
        while len(found) < n:
            more = self.socket.recv(n - len(found))
            if not more:
                raise ConnectionError("the power is gone")
            found += more
        return found

    def ask(self, command: int, offset: int = 0, length: int = 0, data: bytes = b"") -> bytes:
        head = struct.pack(">IHHQQI", 0x25609513, 0, command, 7, offset, length)
        self.socket.sendall(head + data)
        _, error, _ = struct.unpack(">IIQ", self.take(16))
        if error:
            raise OSError(error, "the drive failed")
        return self.take(length if command == READ else 0)

    def write(self, block: int, data: bytes) -> None:
        self.ask(WRITE, block * BLOCK, len(data), data)

    def read(self, block: int) -> bytes:
        return self.ask(READ, block * BLOCK, BLOCK)

    def flush(self) -> None:
        self.ask(FLUSH)


class Journal:
    """A key-value store of a block per key, with a journal of two entries.

    A value goes to the journal, then a commit record of one sector says that it counts, then it
    goes to its place. `careful` flushes before the commit record, so that a record never counts
    without its value. Otherwise both are flushed at once, which is the bug.
    """

    def __init__(self, disk: Disk, *, careful: bool) -> None:
        """Open it, and carry out what was committed."""
        self.disk, self.careful = disk, careful
        self.number, key = struct.unpack(">QQ", disk.read(0)[:16])
        if self.number:
            disk.write(16 + key, disk.read(1 + self.number % 2))
            disk.flush()

    def put(self, key: int, value: bytes) -> None:
        """Set a value; it is durable when this returns."""
        self.number += 1
        self.disk.write(1 + self.number % 2, value)
        if self.careful:
            self.disk.flush()
        self.disk.write(0, struct.pack(">QQ", self.number, key).ljust(512, b"\0"))
        self.disk.flush()
        self.disk.write(16 + key, value)

    def get(self, key: int) -> bytes:
        return self.disk.read(16 + key)


@dataclass
class Model:
    """What must be there: of the key that is written, the old or the new value."""

    values: dict[int, bytes] = field(default_factory=lambda: dict.fromkeys(range(KEYS), bytes(BLOCK)))
    under_way: tuple[int, bytes] | None = None

    def allows(self, key: int, value: bytes) -> bool:
        return value == self.values[key] or self.under_way == (key, value)


def survives(seed: int, *, careful: bool) -> bool:
    """Whether a store is right after a loss of power; the seed says when, and what is lost."""
    rng = Random(seed)
    model = Model()
    with headstack.emulate(
        "exos-x18", speed=0, power_loss_at_write=[rng.randrange(1, 40)], power_loss_seed=seed
    ) as emulation:
        try:
            store = Journal(Disk(emulation), careful=careful)
            while True:
                key, value = rng.randrange(KEYS), rng.randbytes(BLOCK)
                model.under_way = (key, value)
                store.put(key, value)
                model.values[key], model.under_way = value, None
        except ConnectionError:
            pass
        store = Journal(Disk(emulation), careful=careful)
        right = all(model.allows(key, store.get(key)) for key in range(KEYS))
    assert emulation.served["power_losses"] == 1
    return right


SEEDS = range(40 * THOROUGH)


def test_a_journal_that_is_right_survives_every_loss():
    for seed in SEEDS:
        assert survives(seed, careful=True), f"seed {seed}"


def test_a_commit_record_that_is_not_flushed_apart_is_found_again_and_again():
    found = [seed for seed in SEEDS if not survives(seed, careful=False)]
    # About a tenth of the seeds lose power before the flush has ended, and keep the record alone.
    assert len(found) >= len(SEEDS) // 40, found
    for seed in found[:3]:
        assert not survives(seed, careful=False), f"seed {seed}"


def test_by_hand_and_by_time():
    with headstack.emulate("exos-x18", speed=0, torn_writes=True) as emulation:
        disk = Disk(emulation)
        disk.write(0, bytes([1]) * BLOCK)
        disk.flush()
        disk.write(0, bytes([2]) * BLOCK)
        kept, lost = emulation.lose_power()
        assert kept + lost == 8
        with pytest.raises(ConnectionError):
            disk.flush()
        data = Disk(emulation).read(0)
        assert (data.count(2), data.count(1)) == (512 * kept, 512 * lost)
    assert emulation.served["unwritten_sectors"] == {"kept": kept, "lost": lost}
    with headstack.emulate("exos-x18", speed=0, power_loss_at=["50 ms"], after_power_loss="continue") as emulation:
        disk, failed = Disk(emulation), 0
        for i in range(20):
            try:
                disk.read(200_000_000 * (i * 7 % 20))
            except OSError:
                failed += 1
    # Twenty seeks over the whole drive take far more than 50 ms, and no two are under way at once.
    assert (failed, emulation.served["power_losses"]) == (1, 1)


def test_what_was_not_started_for_it_loses_no_power():
    with headstack.emulate("exos-x18", speed=0) as emulation:  # noqa: SIM117
        with pytest.raises(ConfigError, match="need one that was started with it"):
            emulation.lose_power()
    with pytest.raises(HeadstackError, match="need one that runs"):
        emulation.lose_power()
