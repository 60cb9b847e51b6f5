"""The buffer: hits, their time by size, how many addresses it remembers, how far it reads ahead.

# Method
A hit takes less than a quarter of a turn where the medium would need more: reads that test for hits
are issued when their target has just passed. The time of hits of several sizes is a straight line:
its slope is the link, its beginning the overhead. Addresses are read until the first one of them is
forgotten. After a read and a wait, a place behind it is read; the farthest hit is the read-ahead.

# Limits
Replacement need not be the oldest first, and segments may change their size: the share of hits by
number of addresses is given beside the one number.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .seek import sampled
from .value import Value, exact, measured

Floats = NDArray[np.float64]

#: Sizes of hits, sectors; numbers of addresses; waits before a place behind a read is read, turns.
_SIZES, _ADDRESSES, _WAITS = (1, 4, 16, 32, 64), (1, 2, 4, 8, 16, 32, 64, 128, 256), (1, 4, 12)

#: Farthest read-ahead that is looked for, sectors, repeats of each test, and pairs of neighbours.
_FARTHEST, _REPEATS, _PAIRS = 16_384, 3, 12


class Buffer(NamedTuple):
    """What was measured of the buffer.

    Attributes:
        enabled: whether a read that follows the same read is a hit.
        hit_overhead_s: time of a hit of no sectors.
        sector_s: link time of a sector; without a buffer 0 if a read that waits begins where the one before ends.
        segments: addresses that are remembered.
        hits: share of hits by number of addresses read since.
        read_ahead: sectors after a read that are hits, by wait in turns.
        kind: `none`, `track-end` or `limit`.
        trigger: `always` or `sequential`.
    """

    enabled: Value
    hit_overhead_s: Value | None = None
    sector_s: Value | None = None
    segments: Value | None = None
    hits: tuple[tuple[int, float], ...] = ()
    read_ahead: tuple[tuple[int, int], ...] = ()
    kind: str = "none"
    trigger: str = "always"


class _Probe:
    """Reads that use the buffer, and the time below which they are hits."""

    def __init__(self, session: Any, geometry: Any, turn_s: float, rng: np.random.Generator):
        self.session, self.geometry, self.rng = session, geometry, rng
        self.turn_s = turn_s
        self.reads = 0

    def read(self, lbas: list[int], blocks: Any = None, waits: Any = 0.0) -> Floats:
        issued, done, _ = self.session.read("buffer", lbas, blocks, wait_s=waits, fua=False)
        self.reads += len(lbas)
        return np.asarray((np.asarray(done) - np.asarray(issued)) / 1e9)

    def fresh(self, count: int) -> list[int]:
        """Return addresses that were not read before, with room behind them."""
        most = self.session.described["blocks"] - (_FARTHEST + 256) * self.session.sector_blocks
        return [int(x) for x in np.minimum(sampled(self.session, self.rng, count), most)]

    def hits_after(self, lba: int, first: list[int], sectors: int, turns: int) -> bool:
        """Whether a place behind a read is a hit after some turns, when it has just passed."""
        block = self.session.sector_blocks
        target = lba + sectors * block
        at = self.geometry.locate(np.array([first[-1], target]))
        apart = float(at.angle_turns[1] - at.angle_turns[0]) % 1.0
        waits = [0.0] * len(first) + [(turns + apart + 0.1) * self.turn_s]
        return bool(self.read([*first, target], waits=waits)[-1] < 0.25 * self.turn_s)

    def hit(self, lead: int, sectors: int, turns: int, starts: list[int]) -> bool:
        """Whether a test is a hit; each reads `lead` sectors one after the other first.

        What disturbs makes a hit late, but nothing makes the medium early.
        """
        block = self.session.sector_blocks
        return any(
            self.hits_after(lba, [lba + i * block for i in range(lead)], lead - 1 + sectors, turns) for lba in starts
        )

    def farthest(self, lead: int, turns: int, start: int | None = None) -> int:
        """Return the farthest hit behind a read, sectors; 0 if there is none."""
        low, high = 0, 1
        while high <= _FARTHEST and self.hit(lead, high, turns, self._starts(start)):
            low, high = high, high * 2
        high = min(high, _FARTHEST)
        while high - low > max(1, low // 64):
            middle = (low + high) // 2
            if self.hit(lead, middle, turns, self._starts(start)):
                low = middle
            else:
                high = middle
        return low

    def _starts(self, sector: int | None) -> list[int]:
        """Return fresh addresses, at a given sector of their tracks if one is given."""
        lbas = self.fresh(_REPEATS)
        if sector is None:
            return lbas
        at = self.geometry.locate(np.array(lbas))
        back = (np.asarray(at.sector) - sector) * self.session.sector_blocks
        return [int(max(0, x)) for x in np.array(lbas) - back]


def measure(session: Any, geometry: Any, turn_s: float, rng: np.random.Generator, *, brief: bool = False) -> Buffer:
    """Measure the buffer with reads that use it; in brief, read-ahead after one wait."""
    probe = _Probe(session, geometry, turn_s, rng)
    overhead, sector = _hit_line(probe)
    if overhead is None:
        sector = _nothing_between(probe)
        return Buffer(exact(False, "buffer", probe.reads), sector_s=sector)
    segments, curve = _segments(probe)
    waits = _WAITS[1:2] if brief else _WAITS
    ahead = [(w, probe.farthest(1, w)) for w in waits]
    trigger, kind = "always", "limit"
    if ahead[-1][1] == 0:
        after = probe.farthest(3, waits[-1])
        if after:
            trigger, ahead = "sequential", [*ahead[:-1], (waits[-1], after)]
        else:
            kind = "none"
    if kind == "limit" and not brief:
        lead = 1 if trigger == "always" else 3
        # To the track's end, a read near it has less behind it.
        n = int(geometry.locate(np.array([0])).sectors_per_track[0])
        early, late = (probe.farthest(lead, _WAITS[1], s) for s in (n // 8, n - n // 4))
        if late <= n // 2 < early <= n:
            kind = "track-end"
    return Buffer(
        exact(True, "buffer", probe.reads), overhead, sector, segments, curve, tuple(ahead), kind,
        trigger,
    )  # fmt: skip


def _hit_line(probe: _Probe) -> tuple[Value | None, Value | None]:
    """Return the overhead of hits and the link time of a sector; None where nothing hits."""
    block = probe.session.sector_blocks
    sizes, times = [], []
    for size in _SIZES:
        for lba in probe.fresh(8):
            # The read comes round at once otherwise: a tenth of a turn after its first sector.
            waits = [0.0, 0.1 * probe.turn_s]
            taken = probe.read([lba, lba], size * block, waits)[1]
            if taken < 0.25 * probe.turn_s + size * 2e-5:
                sizes.append(size)
                times.append(taken)
    if len(times) < 10:
        return None, None
    x, y = np.array(sizes, dtype=float), np.array(times)
    # The lower half is without delays of the host.
    groups = [(s, float(np.median(y[x == s])), int((x == s).sum())) for s in sorted(set(sizes))]
    s, t, _ = (np.array(column, dtype=float) for column in zip(*groups, strict=True))
    if len(s) < 2:
        return Value(t[0], t[0], t[0], "measured", len(y), "buffer", "s"), None
    slope, start = (float(v) for v in np.polyfit(s, t, 1))
    left = float(np.std(t - (start + slope * s))) + 2e-6
    room = 1.96 * left / float(np.sqrt(len(s)))
    per = room / float(np.std(s))
    reads = len(y)
    sector = [max(v, 0.0) for v in (slope, slope - per, slope + per)]
    return (
        Value(start, start - room, start + room, "measured", reads, "buffer", "s"),
        measured(sector, reads, "buffer", "s"),
    )


def _nothing_between(probe: _Probe) -> Value | None:
    """Return 0 as the link time of a sector if a read that waits loses no turn, as by any such time; else None."""
    session, size = probe.session, probe.session.sector_blocks
    ends = [session.read("buffer", [lba, lba + size], together=True, fua=False).done_ns for lba in probe.fresh(_PAIRS)]
    probe.reads += 2 * _PAIRS
    apart_s = float(np.median(np.abs(np.diff(ends)))) / 1e9
    return exact(0.0, "buffer", 2 * _PAIRS, "s") if apart_s < probe.turn_s / 2 else None


def _segments(probe: _Probe) -> tuple[Value, tuple[tuple[int, float], ...]]:
    """Return the number of addresses that are remembered, and the share of hits by number."""

    def share(count: int) -> float:
        hits = 0
        for _ in range(_REPEATS):
            lbas = probe.fresh(count)
            # The first address has just passed when it is read again.
            at = probe.geometry.locate(np.array([lbas[-1], lbas[0]])).angle_turns
            wait = (float(at[1] - at[0]) % 1.0 + 0.1) * probe.turn_s
            taken = probe.read([*lbas, lbas[0]], waits=[0.0] * count + [wait])[-1]
            hits += bool(taken < 0.25 * probe.turn_s)
        return hits / _REPEATS

    curve, low, high = [], 0, 2 * _ADDRESSES[-1]
    for count in _ADDRESSES:
        curve.append((count, share(count)))
        if not curve[-1][1]:
            high = count
            break
        low = count
    while low and high <= _ADDRESSES[-1] and high - low > max(1, low // 32):
        middle = (low + high) // 2
        curve.append((middle, share(middle)))
        if curve[-1][1]:
            low = middle
        else:
            high = middle
    found = max(low, 1)
    return (Value(found, found, max(high - 1, found), "measured", probe.reads, "buffer"), tuple(sorted(curve)))
