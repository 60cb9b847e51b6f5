"""What writes of a scratch range tell: settling, the write cache, and whether tracks are shingled.

# Method
Forced writes end on the medium, so accesses of writes are bisected as those of reads are
(`headstack.probe.moves`): what a movement costs a write more than a read is the settling. Writes
that are not forced and end at once are in a write cache; how many in a row do so is its size. A
sector that is at another angle after it was written lies elsewhere: that is what shingled drives do
to a write in the middle of a band (Skylight, FAST 2015).

# Limits
A bound of write positioning (`minimum_write`) and settling before writes without a movement cannot
be told from the overhead. Shingled drives that write a band again at once are not seen.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from . import seek
from .moves import Bisection, Place, centre, place_at
from .value import Value, exact, less, measured

#: Distances at which settling is measured, and the least number of them that tell it.
_DISTANCES, _LEAST = 6, 2

#: Writes that tell whether there is a write cache, and of each rate.
_PLAIN, _RATED = 24, 100

#: Bursts; writes of one sector of a burst; larger writes, and their bytes; late ones of a full
#: cache.
_BURSTS, _NUMBER, _LARGE, _BYTES, _IN_A_ROW = 3, 96, 8192, 8192, 8

#: Writes of a burst that are asked for at once.
_PORTION = 64

#: So much slower than the first ones, and at least so slow, are writes that wait for room.
_SLOWER, _SLOW_S = 3.0, 2e-4

#: Sectors that are written to see whether they move, and by how much of a turn that is.
_MOVED, _ELSEWHERE = 16, 0.01

#: Time in which a write cache comes to rest, s.
_REST_S = 1.0


class Writes(NamedTuple):
    """What was measured of writes; what is None is not identifiable.

    Attributes:
        settle: time by which a movement before a write is longer, s.
        still: least time of a forced write without a movement, s.
        cached: time of a write that ends in the buffer, s.
        write_back: whether writes that are not forced end in the buffer.
        write_segments: writes of distant places that it takes in a row, if their number counts.
        dirty_limit: what it takes in a row, bytes, if that counts.
        forced: random forced writes per second.
        plain: random writes per second that are not forced.
        shingled: whether sectors lie elsewhere after a write.
    """

    settle: Value | None
    still: Value | None
    cached: Value | None
    write_back: Value
    write_segments: Value | None
    dirty_limit: Value | None
    forced: Value
    plain: Value
    shingled: Value

    def overheads(self, still_s: float, cached_s: float) -> dict[str, Value]:
        """Return overheads of writes, s: times without those of sector, link and host."""
        given = {"write_miss": (self.still, still_s), "write_hit": (self.cached, cached_s)}
        return {key: less(value, known) for key, (value, known) in given.items() if value}

    def text(self) -> list[str]:
        """Return what a person reads, line by line."""
        settle = "not identifiable" if self.settle is None else self.settle.shown
        cache = "no write cache"
        if self.write_back.value:
            size = "unknown size"
            if self.write_segments is not None:
                size = f"{self.write_segments.value} writes"
            elif self.dirty_limit is not None:
                size = f"{self.dirty_limit.value / 1024:.0f} KiB"
            cache = f"write cache of {size}"
        kind = {True: "shingled", False: "not shingled", None: "shingled or not: unknown"}
        return [
            f"writes: settling {settle}; {cache}; {float(self.plain.value):.0f} random writes/s, "
            f"forced {float(self.forced.value):.0f}; {kind[self.shingled.value]}"
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return it as a dictionary for JSON."""
        return {k: None if v is None else v.as_dict() for k, v in self._asdict().items()}


class _Forced:
    """A session whose reads are forced writes."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self.described = {**session.described, "fua": True}

    def read(self, step: str, lba: Any, *, wait_s: Any = 0.0) -> Any:
        return self._session.write(step, lba, wait_s=wait_s, fua=True)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


def measure(
    session: Any, geometry: Any, curve: seek.SeekCurve, rng: np.random.Generator, *, disturbed: float = 0.02
) -> Writes:
    """Measure writes in the scratch range of a session."""
    block = int(session.sector_blocks)
    first, blocks = session.scratch
    low, past = -(-first // block), (first + blocks) // block
    settle, still = _settling(session, geometry, curve, (low * block, past * block), disturbed)

    def at_random(count: int) -> Any:
        return rng.integers(low, past, count) * block

    answer = session.write("writes", at_random(_PLAIN), wait_s=[0.05] * _PLAIN)
    times = _taken(answer)
    quick = times[times < curve.turn_s / 4]
    write_back = exact(bool(len(quick) >= _PLAIN / 2), "writes", _PLAIN)
    cached = None
    if write_back.value:
        ends = (float(t) for t in np.quantile(quick, [0.5, 0.3, 0.7]))
        cached = measured(ends, len(quick), "writes", "s")
    sizes = _size(session, (low, past)) if write_back.value else (None, None)
    return Writes(
        settle,
        still,
        cached,
        write_back,
        *sizes,
        _rate(session.write("writes", at_random(_RATED), fua=True)),
        _rate(session.write("writes", at_random(_RATED))),
        _shingled(session, curve.turn_s, at_random(_MOVED)),
    )


def _taken(answer: Any) -> Any:
    return (np.asarray(answer.done_ns) - np.asarray(answer.issued_ns)) / 1e9


def _rate(answer: Any) -> Value:
    """Return writes per second, one after the other."""
    times = _taken(answer)
    mean = float(times.mean())
    room = 1.96 * float(times.std()) / len(times) ** 0.5
    found = (1 / mean, 1 / (mean + room), 1 / max(mean - room, 0.1 * mean))
    return measured(found, len(times), "writes", "1/s")


def _settling(
    session: Any, geometry: Any, curve: seek.SeekCurve, scratch: tuple[int, int], disturbed: float
) -> tuple[Value | None, Value | None]:
    """Return the settling of writes, and the least time of a write without a movement."""
    pairs = _pairs(session, geometry, scratch)
    if not pairs:
        return None, None
    done = Bisection(_Forced(session), curve.turn_s, "writes", pairs, disturbed).run(seek.TRIALS)
    values = [[v for v in both if v.origin == "measured"] for both in done.values()]
    if not values[0]:
        return None, None
    still = seek.together(values[0])
    reads: list[list[Value]] = []
    if session.described["fua"]:
        both = Bisection(session, curve.turn_s, "writes", pairs, disturbed).run(seek.TRIALS)
        reads = [[v for v in each if v.origin == "measured"] for each in both.values()]
    extra = []
    for number in range(1, len(pairs)):
        moved = abs(pairs[number][1].cylinder - pairs[number][0].cylinder)
        if reads and reads[0] and reads[number]:
            read, unmoved = seek.together(reads[number]), seek.together(reads[0])
        else:
            seen = float(curve.access_s(np.array([moved]))[0])
            read = Value(seen, seen, seen, "measured", 0, "seek", "s")
            unmoved = curve.turnaround
        if not values[number]:
            continue
        write = seek.together(values[number])
        moving = float(read.value) - float(unmoved.value)
        found = float(write.value) - float(still.value) - moving
        room = sum(((float(v.high) - float(v.low)) / 2) ** 2 for v in (write, read)) ** 0.5
        extra.append(Value(found, found - room, found + room, "measured", write.reads, "writes", "s"))
    if len(extra) < _LEAST:
        return None, still
    # The host's lateness of writes need not be that of reads.
    mean, room = seek.together(extra), curve.lateness_s
    return replace(mean, low=mean.low - room, high=mean.high + room), still


def _pairs(session: Any, geometry: Any, scratch: tuple[int, int]) -> list[tuple[Place, Place]]:
    """Return places on tracks of one head that are wholly in the range; the first ones are one."""
    block = int(session.sector_blocks)
    low, past = scratch
    if low >= past or past > session.described["blocks"]:
        return []
    step = int(geometry.locate(np.array([low])).sectors_per_track[0]) * block
    lbas = np.arange(low, past, max(step, (past - low) // seek.SAMPLED // block * block))
    found = seek.located(geometry, lbas)
    places = [
        place
        for lba in found.lbas[found.heads == found.heads[len(lbas) // 2]][:400]
        if (place := place_at(geometry, int(lba), block)).lbas.min() >= low and place.lbas.max() + block <= past
    ]
    if len(places) < _LEAST + 1:
        return []
    start = places[0]
    apart = np.array([abs(p.cylinder - start.cylinder) for p in places])
    chosen = {0}
    for distance in np.geomspace(1, max(apart.max(), 1), _DISTANCES):
        off = np.where(apart > 0.5, np.abs(apart - distance), np.inf)
        chosen.add(int(np.argmin(off)))
    return [(start, places[i]) for i in sorted(chosen) if i == 0 or apart[i] > 0.5]


def _burst(session: Any, scratch: tuple[int, int], sectors: int, most: int) -> Value | None:
    """Return how many writes of so many sectors end in the buffer, one after the other."""
    block = int(session.sector_blocks)
    low, past = scratch
    count = min(most, (past - low) // (2 * sectors))
    if count < _PORTION:
        return None
    # In no order, so that one that waits for room waits for a movement.
    places = session.rng("burst").permutation(count)
    lbas = (low + places * ((past - low) // count)) * block
    each = []
    for _ in range(_BURSTS):
        session.sleep(_REST_S)
        times, full = np.zeros(0), []
        for start in range(0, count, _PORTION):
            part = lbas[start : start + _PORTION]
            answer = session.write("writes", part, blocks=sectors * block)
            times = np.append(times, _taken(answer))
            # A single late write waited for something else.
            runs = np.lib.stride_tricks.sliding_window_view(times, _IN_A_ROW)
            slow = max(_SLOWER * float(np.median(runs[0])), _SLOW_S)
            late = (np.median(runs, axis=1) > slow) & (times[: len(runs)] > slow)
            full = np.flatnonzero(late).tolist()
            if full:
                break
        each.append(int(full[0]) if len(full) else count)
    session.sleep(_REST_S)
    middle = int(np.median(each))
    if middle in (0, count):
        return None
    return Value(middle, min(each), max(each), "measured", _BURSTS * count, "writes")


def _size(session: Any, scratch: tuple[int, int]) -> tuple[Value | None, Value | None]:
    """Return how many writes the write cache takes, or how many bytes."""
    number = _burst(session, scratch, 1, _NUMBER)
    if number is not None:
        return number, None
    each = max(1, _BYTES // int(session.described["physical_bytes"]))
    found = _burst(session, scratch, each, _LARGE)
    if found is None:
        return None, None
    sizes = (int(n) * _BYTES for n in (found.value, found.low, found.high + 1))
    return None, measured(sizes, found.reads, "writes", "B")


def _shingled(session: Any, turn_s: float, lbas: Any) -> Value:
    """Return whether sectors are at other angles after they were written."""
    moved = []
    for lba in (int(x) for x in lbas):
        before = _read(session, lba)
        session.write("writes", [lba], fua=True)
        after = _read(session, lba)
        if before is not None and after is not None:
            turns = (after - before) / turn_s
            moved.append(abs(centre(np.array([turns + 0.5])) - 0.5) > _ELSEWHERE)
    share = float(np.mean(moved)) if moved else 0.5
    if len(moved) < _MOVED / 2 or 0.25 < share < 0.5:
        return Value(None, None, None, "not identifiable", len(moved), "writes")
    return exact(share >= 0.5, "writes", len(moved))


def _read(session: Any, lba: int) -> float | None:
    """Return when a read of the medium ended, s; None if the buffer answered, or none."""
    if session.described["fua"]:
        answer = session.read("writes", [lba])
    else:
        answer = session.past_others("writes", lba, [lba])
        if float(_taken(answer)[0]) < 1e-3:
            return None
    return float(answer.done_ns[0]) / 1e9 if answer.status[0] == 0 else None
