"""The number of heads, their order, and the direction of their tracks.

# Method
Sectors and skews repeat after all heads had their turn, or earlier if some heads are alike. The
least time to get from the first track of the drive to the first and the last track of each band
tells the rest: bands of equal radius take equally long, and the next ones longer. The end of a band
that is reached sooner is the outer one.

# Limits
Which head is which physically, and whether all directions are mirrored, cannot be told. Where a
head switch takes no longer than a step to the next cylinder, `cylinder-major` and `serpentine` look
alike; where it takes as long and all skews are equal, the heads cannot be counted.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstack.errors import HeadstackError

from .angle import Angles
from .bands import Band
from .geometry import MOST_HEADS, Heads
from .moves import ADDRESSES, Bisection, Place
from .zones import Zone, divided, regrouped

Floats = NDArray[np.float64]

#: Least times to the first and the last track of a band, s.
Reach = tuple[float, float]

#: Times to reach a track that differ by less are equal, in s and in errors of one read; trials for
#: each, and the error of a read, s, above which there are more of them, at most so many times.
EQUAL_S, ERRORS, TRIALS, QUIET_S, MOST_TRIALS = 40e-6, 1.5, 16, 30e-6, 4.0

#: The same in errors of the mean of both ways, where these differ by more than they should.
APART = 4.0

#: Bands that are measured at once, and in all, how often these are measured again in real time, and
#: numbers of the first one.
AT_ONCE, MOST, MOST_AGAIN = 6, 48, 2
BEGINS = (1, 8, 24, 48)

#: Bands of a head after which directions are looked for.
FURTHER = (5, 8)

#: Share of the times that may be wrong.
OUTLIERS = 0.15

#: What a group of equal times costs, and a lower time, in wrong times; how clear the best must be.
GROUP, DIP, CLEAR = 0.5, 0.2, 0.5

#: A band with this share of the drive is a whole zone, in which nothing tells the heads.
WHOLE = 0.025


class Found(NamedTuple):
    """The zones with whole cycles of heads, and what was told of the heads.

    Attributes:
        zones: in which each head has its turn.
        heads: number, order and directions.
        order: layout if all heads of a cylinder are used in turn.
        sure: whether the order was told from times.
        reach_s: least times to the first and the last track of each band, s.
    """

    zones: list[Zone]
    heads: Heads
    order: str
    sure: bool
    reach_s: list[Reach]


class _Search(NamedTuple):
    """What all parts of the search need.

    Attributes:
        angles: of the target.
        until_s: time of the target at which to stop.
        apart_s: by how much times there and back differ, for all pairs so far.
    """

    angles: Angles
    until_s: float
    apart_s: list[float]

    @property
    def equal_s(self) -> float:
        """By how much equal times may differ, s."""
        equal_s = max(EQUAL_S, ERRORS * self.angles.period.sigma_s)
        if self.steady or not self.apart_s:
            return equal_s
        # The median of normal errors' sizes is two thirds of their deviation.
        return max(equal_s, APART * 1.48 * float(np.median(np.abs(self.apart_s))) / 2)

    @property
    def steady(self) -> bool:
        """Whether as many reads stay late as now: in real time other programs come and go."""
        return bool(self.angles.session.described["kind"] == "sim")

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return self.angles.session.clock_s > self.until_s

    def place(self, band: Band, turn_blocks: int, track: int) -> Place:
        """Return addresses of a track of a band, which lies so many blocks further on."""
        n, block = band.sectors_per_track, self.angles.session.sector_blocks
        # Near the track's begin: what is read ahead then stays on the track for nearly a turn.
        sectors = np.arange(min(ADDRESSES, n // 16 + 1))[::-1] * 2
        lbas = band.first_lba + turn_blocks + (track * n + sectors) * block
        return Place(lbas.astype(np.int64), (sectors - sectors[0]) / n, 0.0, 0)

    def times(self, pairs: list[tuple[Place, Place]]) -> Floats:
        """Return the least times between places, the mean of both ways by their intervals, s."""
        period = self.angles.period
        test = Bisection(self.angles.session, period.turn_s, "heads", pairs, period.disturbed)
        # Reads that wait for others tell nothing, late ones less.
        more = min(MOST_TRIALS, max(1.0, period.sigma_s / QUIET_S))
        values = test.run(round(TRIALS * more * (1 + 3 * period.disturbed))).values()
        found = np.array([[v.value for v in both] for both in values])
        self.apart_s.extend(float(d) for d in found[:, 0] - found[:, 1])
        weights = 1 / np.array([[v.high - v.low + 1e-6 for v in both] for both in values]) ** 2
        return np.asarray((found * weights).sum(axis=1) / weights.sum(axis=1))

    def reached(self, chain: list[tuple[Band, int]], begin: int, count: int) -> list[Reach]:
        """Return the least times from the first track to both ends of some bands, s."""
        origin = self.place(chain[0][0], 0, 0)
        pairs = []
        for band, blocks in chain[begin : begin + count]:
            ends = (0, band.tracks - 1)
            pairs += [(origin, self.place(band, blocks, track)) for track in ends]
        times = self.times(pairs)
        return [(float(a), float(z)) for a, z in zip(times[::2], times[1::2], strict=True)]


def find(angles: Angles, zones: list[Zone], until_s: float = float("inf")) -> Found:
    """Return the heads of a target, those of its first actuator if it has several.

    Args:
        angles: of the target.
        zones: that were surveyed.
        until_s: time of the target at which to stop.
    """
    parts = [[z for z in zones if first <= z.first_lba < past] for first, past in angles.session.ranges]
    found = _find(_Search(angles, until_s, []), parts[0])
    if found.zones is parts[0]:
        return found._replace(zones=zones)
    count, bound = found.heads.count, 2 * angles.tolerance
    alone = found.order != "adaptive"
    rest = []
    for part in parts[1:]:
        whole = [divided(z, count) if alone and z.cycles == 1 else z for z in part]
        rest += whole if alone else regrouped(part, count, bound)
    return found._replace(zones=[*found.zones, *rest])


def _find(search: _Search, zones: list[Zone]) -> Found:
    cycle, error_s = zones[0].cycle, search.angles.period.sigma_s
    if error_s > QUIET_S and zones[0].cycles == cycle[0].tracks == 1:
        raise HeadstackError(
            f"probe: too noisy: ends of reads are off by {error_s * 1e6:.0f} us, need less than "
            "the skew shows; the host's scheduling or the link delays them"
        )
    if len(cycle) == 1 and cycle[0].tracks <= MOST_HEADS:
        return _of_cylinders(search, zones)
    alone = all(len(z.cycle) == 1 and z.cycles == 1 for z in zones)
    sectors = [z.cycle[0].sectors_per_track for z in zones]
    alone = alone and all(a != b for a, b in pairwise(sectors))
    if alone and (len(zones) == 1 or cycle[0].blocks > WHOLE * zones[-1].past_lba):
        return _of_a_row(search, zones)
    return _of_bands(search, zones)


def _of_cylinders(search: _Search, zones: list[Zone]) -> Found:
    """Tell the order of heads where a cylinder uses all of them in turn."""
    zone, band = zones[0], zones[0].cycle[0]
    tracks = band.tracks
    heads = Heads(tracks, "same", (0,) * tracks, tracks > 1 or zone.cycles >= 8)
    if tracks == 1 or zone.cycles < 8 or search.late:
        return Found(zones, heads, "cylinder-major", tracks == 1, [])
    pairs = []
    for cylinder in range(0, 6, 2):
        here, there = cylinder * zone.cycle_blocks, (cylinder + 1) * zone.cycle_blocks
        # From the first head to the next cylinder's first track, and from the last head to it.
        for track in (0, tracks - 1):
            pairs.append((search.place(band, here, track), search.place(band, there, 0)))
    times = search.times(pairs)
    first, last = float(np.median(times[::2])), float(np.median(times[1::2]))
    apart = times[::2] - times[1::2]
    sure = abs(first - last) > search.equal_s and abs(float(np.sign(apart).sum())) == len(apart)
    order = "cylinder-major" if sure and first < last else "serpentine"
    return Found(zones, heads, order, sure, [(first, last)])


def _of_a_row(search: _Search, zones: list[Zone]) -> Found:
    """Tell the heads where all skews of a zone are alike.

    A step to the next cylinder takes longer or shorter than a switch to the next head.
    """
    band = zones[0].cycle[0]
    row = min(MOST_HEADS + 2, band.tracks - 1)
    pairs = [(search.place(band, 0, k), search.place(band, 0, k + 1)) for k in range(row)]
    late = search.late
    heads = None if late else _spacing(search.times(pairs), 1, search.equal_s)
    order = "serpentine"
    if heads is None and not late:
        # On one surface again after all heads: no switch of heads.
        pairs = [(search.place(band, 0, 0), search.place(band, 0, k)) for k in range(2, row)]
        heads, order = _spacing(search.times(pairs), 2, search.equal_s), "cylinder-major"
    count = heads or 1
    found = [divided(z, count) for z in zones]
    told = Heads(count, "same", (0,) * count, heads is not None)
    if heads is not None and order == "serpentine" and count > 1:
        return _of_cylinders(search, found)
    return Found(found, told, order, heads is not None, [])


def _spacing(times_s: Floats, first: int, equal_s: float) -> int | None:
    """Return the heads if every so many steps take longer or shorter than the others.

    Args:
        times_s: of steps.
        first: number of the first one.
        equal_s: by how much equal times may differ.
    """
    number = first + np.arange(len(times_s))
    for heads in range(2, min(MOST_HEADS, len(times_s) // 2) + 1):
        on, off = times_s[number % heads == 0], times_s[number % heads != 0]
        apart = abs(float(np.median(on) - np.median(off)))
        if apart > equal_s and _alike(on, equal_s) and _alike(off, equal_s):
            return heads
    return None


def _alike(times_s: Floats, equal_s: float) -> bool:
    """Tell whether times are equal but for a share of them."""
    return bool(np.mean(np.abs(times_s - np.median(times_s)) > equal_s) <= OUTLIERS)


def _chain(zones: list[Zone]) -> list[tuple[Band, int]]:
    """Return the first bands in order of address, with the blocks by which they lie further."""
    chain = []
    for zone in zones:
        for turn in range(zone.cycles):
            chain += [(band, turn * zone.cycle_blocks) for band in zone.cycle]
            if len(chain) > (FURTHER[-1] + 1) * MOST_HEADS:
                return chain
        chain += [(band, 0) for band in zone.tail]
    return chain


def _of_bands(search: _Search, zones: list[Zone]) -> Found:
    """Tell number, order and directions of heads whose bands follow each other."""
    cycle = zones[0].cycle
    period = 1 if zones[0].cycles == 1 else len(cycle)
    chain = _chain(zones)
    begin = _first_apart(search, chain) if not search.late else len(chain)
    reach: list[Reach] = []
    found, agreed = None, False
    while not agreed and begin + len(reach) < len(chain) and len(reach) < MOST:
        if search.late:
            break
        reach += search.reached(chain, begin + len(reach), AT_ONCE)
        nearest, equal_s = np.array(reach).min(axis=1), search.equal_s
        before, found = found, _count(nearest / equal_s, begin, period, _mirrored(zones[0]))
        # Late reads might agree by chance, but not twice; a short drive has no more bands.
        once = search.steady or begin + len(reach) >= len(chain)
        agreed = found is not None and (found == before or (equal_s == EQUAL_S and once))
    told = [found if agreed else None]
    for _ in range(0 if search.steady else MOST_AGAIN):
        # Busy times of the host look like heads, which must be told at two times.
        again: list[Reach] = []
        while len(again) < len(reach) and not search.late:
            again += search.reached(chain, begin + len(again), AT_ONCE)
        agreed = False
        if not reach or len(again) < len(reach):
            break
        found = _count(np.array(again).min(axis=1) / search.equal_s, begin, period, _mirrored(zones[0]))
        agreed = found is not None and found in told
        told.append(found)
        if agreed or not any(told):
            break
    if found is None or not agreed:
        return Found(zones, Heads(len(cycle), measured=False), "adaptive", False, reach)
    heads, order = found
    ways = _directions(reach, begin, heads, order, search.equal_s)
    for around in FURTHER:
        late = search.late
        if late or all(ways) or (around + 1) * heads > len(chain):
            break
        # Far enough for a step over a band's width not to be hidden by the switch of heads.
        more = search.reached(chain, around * heads, heads)
        found_there = _directions(more, around * heads, heads, order, search.equal_s)
        ways = tuple(a or b for a, b in zip(ways, found_there, strict=True))
    grouped = regrouped(zones, heads, 2 * search.angles.tolerance)
    return Found(grouped, Heads(heads, order, ways), "adaptive", True, reach)


def _first_apart(search: _Search, chain: list[tuple[Band, int]]) -> int:
    """Return the first band of which both ends are reached in unlike times.

    A switch of heads hides steps that take less time than it.
    """
    for begin in BEGINS:
        if begin + AT_ONCE > len(chain):
            break
        times = np.array(search.reached(chain, begin, 3))
        if float(np.median(np.abs(times[:, 0] - times[:, 1]))) > 1.5 * search.equal_s:
            return begin
    return BEGINS[0]


def _directions(reach: list[Reach], begin: int, heads: int, order: str, equal_s: float) -> tuple[int, ...]:
    """Return the direction of each head, the first one's being inward."""
    votes = np.zeros(heads)
    for i, (first, last) in enumerate(reach):
        around, at = divmod(begin + i, heads)
        head = heads - 1 - at if order == "alternate" and around % 2 else at
        if abs(last - first) > equal_s:
            votes[head] += 1 if last > first else -1
    votes[0] = 1
    return tuple(int(v) for v in np.sign(votes))


def _mirrored(zone: Zone) -> bool:
    """Tell whether the second half of a cycle is the first one backwards."""
    shapes = [(b.sectors_per_track, b.tracks) for b in zone.cycle]
    return len(shapes) % 2 == 0 and shapes == shapes[::-1]


def _count(nearest: Floats, begin: int, cycle: int, mirrored: bool) -> tuple[int, str] | None:
    """Return heads and order for which bands of equal radius take equally long; None: not yet.

    Args:
        nearest: least times to the nearer end of successive bands, by what equal ones may differ.
        begin: number of the first of these bands.
        cycle: bands after which sectors and skews repeat.
        mirrored: whether the second half of the cycle is the first one backwards.
    """
    band = begin + np.arange(len(nearest))
    tried = [(cycle * k, "same") for k in range(1, MOST_HEADS // cycle + 1)]
    if mirrored and cycle > 1:
        tried.append((cycle // 2, "alternate"))
    # That all have equal radius, so that nothing is told.
    found = [(_misfit(nearest, np.zeros(len(nearest))) - CLEAR, 0, "")]
    for heads, order in tried:
        around, at = np.divmod(band, heads)
        turned = (order == "alternate") & (around % 2 == 1)
        same = np.where(turned, at == heads - 1, at == 0).astype(bool)
        fits = min(_misfit(nearest, around), _dips(nearest, same, around))
        found.append((fits, heads, order))
    best, *others = sorted(found)
    clear = all(o[0] > best[0] + CLEAR for o in others)
    # The next bands must have been seen too, or another number may fit as well.
    return best[1:] if clear and best[1] > 0 and best[1] + 3 <= len(nearest) else None


def _dips(times: Floats, same: NDArray[np.bool_], around: Floats) -> float:
    """Return the misfit if only the first head's own bands differ from all others.

    A head is at its next band sooner than the others if a switch takes longer than that.
    """
    lower = np.median(times) - times[same] > 1
    if lower.sum() < 2 or same.all():
        return float("inf")
    others = _misfit(times[~same], np.zeros(int((~same).sum())))
    return others + DIP * len(np.unique(around[same]))


def _misfit(times: Floats, groups: Floats) -> float:
    """Return how badly times are equal within groups, and later ones less; each group costs too."""
    values = np.unique(groups)
    each = np.array([np.median(times[groups == g]) for g in values])
    off = np.abs(times - each[np.searchsorted(values, groups)])
    shorter = np.maximum(-np.diff(each), 0)
    return float(np.minimum(np.concatenate([off, shorter]), 1).sum()) + GROUP * len(values)
