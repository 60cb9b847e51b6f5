"""Zones: the cycle of bands that repeats in each of them, and where the next one begins.

# Method
Bands are followed until their order has repeated. Then cycles farther and farther ahead are read
at two places of two bands; the last cycle that is as predicted is bisected. What is left of the
zone, narrower bands, is followed band by band. In the next zone the first band gives the ratio of
sectors, and the others are expected at that ratio. So every boundary of the drive is known from
some thousand reads, without reading it.

Where skews at the end of a cylinder differ from those within it by less than a band shows, 48
tracks in a row are read several times.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .angle import Angles
from .bands import Band, Shape, follow, joined
from .period import forward, middle, wrap
from .track import boundary

Floats = NDArray[np.float64]

#: Bands that must be as predicted before a cycle is believed; the same before a zone's early end.
CONFIRMED, EARLY = 24, 7

#: Most bands of a cycle, and the share of a drive that is a zone by itself if one band fills it.
MOST_CYCLE, LARGE = 64, 0.015

#: Tracks that are skipped where no boundary is as it should be.
MOST_SKIPPED = 8

#: Places at which single tracks are measured where the time was too short for zones.
PLACES = 12

#: Factor from one cycle that is tried to the next.
GROWTH = 2.5

#: Tracks that are read in a row for differences of skew, and how often each.
ROW, TIMES = 48, 4

STEP = "zones"


@dataclass(frozen=True)
class Zone:
    """Addresses whose bands repeat.

    Attributes:
        first_lba: its first address.
        past_lba: the address after its last one.
        cycle: the bands of its first cycle.
        cycles: whole cycles.
        cycle_turns: angle from the begin of a cycle to that of the next.
        tail: bands after the last whole cycle.
        whole: whether it was followed; else one track of it was measured.
    """

    first_lba: int
    past_lba: int
    cycle: tuple[Band, ...]
    cycles: int
    cycle_turns: float
    tail: tuple[Band, ...] = ()
    whole: bool = True

    @property
    def cycle_blocks(self) -> int:
        """Addresses of a cycle."""
        return sum(b.blocks for b in self.cycle)


def survey(angles: Angles, until_s: float) -> list[Zone]:
    """Return the zones of a target in order of address, as many as there is time for.

    Ranges of other actuators are surveyed apart: their surfaces are others.

    Args:
        angles: of the target.
        until_s: time of the target at which to stop.
    """
    zones: list[Zone] = []
    first_of_all: _Surveyor | None = None
    ranges = angles.session.ranges
    begin = angles.session.clock_s
    for number, (first, past) in enumerate(ranges):
        share = (until_s - begin) * (number + 1) / len(ranges)
        surveyor = _Surveyor(angles, begin + share, first, past)
        if first_of_all is not None:
            # Its surfaces are likely to have the same formats.
            surveyor.row, surveyor.model = first_of_all.row, first_of_all.zones[:1]
        while surveyor.more():
            surveyor.next()
        zones += [*surveyor.zones, *surveyor.sampled()]
        first_of_all = first_of_all or (surveyor if surveyor.zones else None)
    return zones


def cycle_of(bands: list[Band], tolerance: float) -> int:
    """Return the smallest number of bands after which all of them repeat; 0 if they do not."""
    jumps = [float(wrap(b.angle_turns - a.last_angle)) for a, b in pairwise(bands)]
    for p in range(1, len(bands)):
        pairs = range(p, len(bands))
        if all(_alike(bands[i], bands[i - p], tolerance) for i in pairs) and all(
            abs(float(wrap(jumps[i] - jumps[i - p]))) < 2 * tolerance for i in range(p, len(jumps))
        ):
            return p
    return 0


def _alike(a: Band, b: Band, tolerance: float) -> bool:
    skews = abs(float(wrap(np.asarray(a.skew_turns - b.skew_turns))))
    return a.sectors_per_track == b.sectors_per_track and a.tracks == b.tracks and (a.tracks == 1 or skews < tolerance)


def _spacing(skews: Floats) -> int | None:
    """Return the tracks after which skews are unlike the others; None if there are none."""
    noise = 1.48 * float(np.median(np.abs(skews - np.median(skews)))) + 1e-4
    number = np.arange(1, len(skews) + 1)
    for tracks in range(2, len(skews) // 2 + 1):
        on, off = skews[number % tracks == 0], skews[number % tracks != 0]
        apart = float(np.median(on) - np.median(off))
        far = np.abs(skews - np.median(off)) > abs(apart) / 2
        if (
            abs(apart) > 4 * noise
            and np.mean(far[number % tracks == 0]) >= 0.8
            and np.mean(far[number % tracks != 0]) <= 0.1
        ):
            return tracks
    return None


def _one(before: Zone, after: Zone) -> bool:
    """Tell whether two successive zones are one."""
    cycle, tail, others = ([b.shape[:2] for b in x] for x in (before.cycle, before.tail, after.cycle))
    whole = tail == cycle * (len(tail) // len(cycle))
    return before.past_lba == after.first_lba and whole and cycle == others


def _is_like(cycle: tuple[Band, ...], bands: list[Band]) -> bool:
    """Tell whether the last bands are a cycle with other sectors, after something else."""
    count = len(cycle)
    if count < 2 or len(bands) <= count:
        return False
    pairs = list(zip(bands[-count:], cycle, strict=True))
    ratio = pairs[0][0].sectors_per_track / pairs[0][1].sectors_per_track
    return ratio < 1 and all(
        abs(a.tracks - b.tracks) <= 1
        and abs(a.sectors_per_track - ratio * b.sectors_per_track) <= 0.01 * b.sectors_per_track + 1
        for a, b in pairs
    )


def _ends(band: Band, bands: list[Band], cycle: int) -> bool:
    """Tell whether a band is none of those so far: a zone ends there, and not only the order."""
    return band.shape[:2] not in {b.shape[:2] for b in bands} and (
        band.sectors_per_track != bands[-cycle].sectors_per_track or band.tracks < bands[-cycle].tracks
    )


class _Surveyor:
    def __init__(self, angles: Angles, until_s: float, first: int = 0, past: int | None = None) -> None:
        self.angles, self.until_s = angles, until_s
        self.block = angles.session.sector_blocks
        #: The addresses that are surveyed.
        self.first = first
        self.total = angles.session.sectors * self.block if past is None else past
        self.zones: list[Zone] = []
        self.model: list[Zone] = []
        self.at = self.regular = first
        self.row: Band | None = None
        self.stopped = self.flat = False
        self.known: dict[int, Band] = {}
        self.skipped = 0

    def more(self) -> bool:
        return not self.stopped and self.at < self.total and self.angles.session.clock_s < self.until_s

    def follow(self, at: int, expected: list[Shape]) -> Band | None:
        if at in self.known:
            return self.known[at]
        found = follow(self.angles, at // self.block, expected)
        found = found or follow(self.angles, at // self.block, ())
        if found is not None:
            self.known[at] = found
        return found

    def next(self) -> None:
        """Add the next zone."""
        # The last zone with the longest cycle: another one may have been cut short.
        before = max(reversed(self.zones or self.model), key=lambda z: len(z.cycle), default=None)
        found = None
        if before is not None and not self.flat:
            found = self._like(before) or self._again(before)
        bands = found or self._search(before)
        if self.zones and self.regular > self.at:
            self._join()
            return
        if not bands:
            self._skip()
            return
        self.skipped = 0
        zone = self._extent(tuple(bands), before)
        left = self.total - zone.past_lba
        if left > 0 and not self.flat and (self.row is None or left < zone.cycle_blocks):
            zone = self._tail(zone)
        self.at = zone.past_lba
        last = self.zones[-1] if self.zones else None
        if last is not None and self.flat:
            whole = joined(last.cycle[-1], zone.cycle[0], self.angles.tolerance)
            if whole is not None and last.cycles == len(last.cycle) == 1 and not last.tail:
                zone = replace(last, cycle=(whole,), past_lba=zone.past_lba)
                self.zones.pop()
        elif last is not None and _one(last, zone):
            # A late read had cut it in two; the longer part tells the angle of a cycle.
            turns = max(last, zone, key=lambda z: z.cycles).cycle_turns
            cycles = last.cycles + len(last.tail) // len(last.cycle) + zone.cycles
            past, tail = zone.past_lba, zone.tail
            zone = replace(last, cycles=cycles, past_lba=past, tail=tail, cycle_turns=turns)
            self.zones.pop()
        self.zones.append(zone)

    def _join(self) -> None:
        """Leave what precedes a zone that is like the others to the end of the last one."""
        bands = []
        while self.at < self.regular:
            bands.append(self.known[self.at])
            self.at += bands[-1].blocks
        last = self.zones[-1]
        self.zones[-1] = replace(last, tail=(*last.tail, *bands), past_lba=self.at)

    def sampled(self) -> list[Zone]:
        """Return zones of the addresses that were not reached: of single tracks at some places."""
        left = self.total - self.at
        if not self.zones or left < self.block * ROW:
            return []
        model = self.zones[-1].cycle
        if len(model) == 1 and model[0].blocks > left // (4 * PLACES):
            model = (replace(model[0], tracks=1, blocks=model[0].sectors_per_track * self.block),)
        mean = sum(b.blocks for b in model) / sum(b.tracks for b in model) / self.block
        found: list[Zone] = []
        edges = [self.at + left * i // PLACES for i in range(PLACES + 1)]
        begun = self.angles.session.clock_s
        for first, past in pairwise(edges):
            if self.angles.session.clock_s - begun > 0.2 * self.until_s:
                break
            n = self._sectors((first + past) // 2 // self.block)
            if n is None:
                continue
            bands, at = [], found[-1].past_lba if found else self.at
            begin = at
            for b in model:
                sectors = max(1, round(b.sectors_per_track * n / mean))
                blocks = b.tracks * sectors * self.block
                bands.append(replace(b, first_lba=at, blocks=blocks, sectors_per_track=sectors))
                at += blocks
            cycles = max(1, (past - begin) // (at - begin))
            turns = self.zones[-1].cycle_turns
            end = begin + cycles * (at - begin)
            found.append(Zone(begin, end, tuple(bands), cycles, turns, whole=False))
        return found

    def _sectors(self, start: int) -> int | None:
        """Return the sectors of the track after the one on which a sector lies."""
        for number in (0, 1):
            end = float(self.angles.read([start * self.block], STEP)[0])
            edge = boundary(self.angles, start, end, STEP, whole=bool(number))
            if edge is None or number:
                return None if edge is None else edge.sectors
            start += edge.sectors
        return None

    def _skip(self) -> None:
        """Go to the next boundary between tracks: defects may hide the one that was expected."""
        start = self.at // self.block + 16
        self.skipped += 1
        self.stopped = self.skipped > MOST_SKIPPED or start + 1 >= self.total // self.block
        if self.stopped:
            return
        end = float(self.angles.read([start * self.block], STEP)[0])
        edge = boundary(self.angles, start, end, STEP, whole=False)
        self.at = (start + (edge.sectors if edge is not None else 0)) * self.block

    def _like(self, before: Zone) -> list[Band] | None:
        """Return the first cycle of a zone that is like the one before, with other sectors."""
        if self.row is not None:
            return self._row_like(before)
        bands: list[Band] = []
        at, ratio = self.at, 0.0
        for old in before.cycle:
            n = old.sectors_per_track
            likely = round(n * ratio) if ratio else n
            near = [Shape(likely + d, old.tracks, old.skew_turns) for d in (0, 1, -1)]
            band = self.follow(at, near)
            if band is None or abs(band.tracks - old.tracks) > 1:
                return None
            if ratio and abs(band.sectors_per_track - likely) > 0.01 * n + 1:
                return None
            ratio = ratio or band.sectors_per_track / n
            bands.append(band)
            at += band.blocks
        return bands

    def _again(self, before: Zone) -> list[Band] | None:
        """Try once more to find a zone like the one before: reads may have been late."""
        for at in [at for at in self.known if at >= self.at]:
            del self.known[at]
        return self._like(before)

    def _row_like(self, before: Zone) -> list[Band] | None:
        old = before.cycle[0]
        first = self.follow(self.at, [Shape(old.sectors_per_track, None, old.skew_turns)])
        if first is None:
            return None
        n = first.sectors_per_track
        blocks = n * old.tracks * self.block
        return [replace(old, first_lba=self.at, blocks=blocks, sectors_per_track=n, angle_turns=first.angle_turns)]

    def _search(self, before: Zone | None) -> list[Band]:
        """Follow bands until they repeat; return the first cycle, or the first band."""
        bands: list[Band] = []
        at = self.at
        known = [b.shape for b in before.cycle] if before else []
        tolerance = 2 * self.angles.tolerance
        if self.flat:
            # The shapes of the last bands, those of another head first.
            known = [z.cycle[0].shape for z in self.zones[-2 * MOST_CYCLE :]][::-1]
            band = self.follow(at, known[:1] + known)
            return [band] if band else []
        while at < self.total and self.angles.session.clock_s < self.until_s:
            p = cycle_of(bands, tolerance) if len(bands) > 1 else 0
            if p and len(bands) - p >= max(p, CONFIRMED):
                return bands[:p]
            likely = [bands[-p].shape] if p else []
            band = self.follow(at, likely + known)
            if band is None:
                break
            whole = joined(bands[-1], band, self.angles.tolerance) if bands else None
            if whole is not None:
                bands[-1] = whole
                at += band.blocks
                continue
            if p and len(bands) - p >= max(p, EARLY) and _ends(band, bands, p):
                return bands[:p]
            bands.append(band)
            at += band.blocks
            if before is not None and _is_like(before.cycle, bands):
                # What comes before is the odd end of the last zone.
                self.regular = bands[-len(before.cycle)].first_lba
                return bands[:1]
            if len(bands) == 1 and not self.zones and self.row is None:
                row = self._row(band)
                if row is not None:
                    self.row = row
                    return [row]
            if band.blocks > LARGE * (self.total - self.first) or len(bands) > 2 * MOST_CYCLE + CONFIRMED:
                self.flat = True
                return bands[:1]
            known = [band.shape] + [s for s in known if s != band.shape]
        p = cycle_of(bands, tolerance) if len(bands) > 1 else 0
        if not p and self.angles.session.clock_s < self.until_s:
            self.flat = True
        return bands[: p or 1]

    def _row(self, band: Band) -> Band | None:
        """Return the band of one cylinder if some skews of successive tracks are unlike."""
        n = band.sectors_per_track
        lbas = [band.first_lba + k * n * self.block for k in range(ROW)]
        reads = np.array([self.angles.read(lbas, STEP) for _ in range(TIMES)])
        at = np.array([middle(r[np.isfinite(r)]) for r in reads.T])
        skews = wrap(np.diff(at) - band.skew_turns)
        tracks = _spacing(skews) if np.isfinite(at).all() else None
        if tracks is None:
            return None
        k = np.arange(ROW)
        last = k[1:] % tracks == 0
        # About, lest what is left wraps; then both at once: the skew of tracks, and what ends of cylinders add.
        within = band.skew_turns + float(np.median(skews[~last]))
        apart = float(np.median(skews[last]) - np.median(skews[~last]))
        left = wrap(at - at[0] - k * within - (k // tracks) * apart)
        columns = np.stack([np.ones(ROW), k, k // tracks], axis=1)
        within += float(np.linalg.lstsq(columns, left, rcond=None)[0][1])
        return replace(band, tracks=tracks, blocks=tracks * n * self.block, skew_turns=forward(within))

    def _extent(self, cycle: tuple[Band, ...], before: Zone | None) -> Zone:
        """Return the zone of a cycle that begins here, with its number of cycles."""
        blocks = sum(b.blocks for b in cycle)
        zone = Zone(self.at, self.at + blocks, cycle, 1, 0.0)
        if self.flat:
            return zone
        at = (self.at + blocks) // self.block
        if at + 1 >= self.total // self.block:
            return zone
        n = cycle[0].sectors_per_track
        reads = self.angles.read([at * self.block] * 3, STEP)
        turns = middle(reads[np.isfinite(reads)]) - 1 / n - cycle[0].angle_turns
        if not np.isfinite(turns):
            return zone  # Its reads failed.
        expected = None
        if before is not None:
            drift = float(wrap(np.asarray(turns - before.cycle_turns)))
            if abs(drift) < 1.5 * self.angles.tolerance:
                # That of the zone before is known from all of its cycles.
                turns, expected = before.cycle_turns, before.cycles
        ladder = _Cycles(self.angles, zone, turns % 1.0, expected)
        count = ladder.count(expected)
        return replace(zone, cycles=count, cycle_turns=ladder.turns % 1.0, past_lba=self.at + count * blocks)

    def _tail(self, zone: Zone) -> Zone:
        """Return the zone with the bands after its last whole cycle."""
        tail: list[Band] = []
        at, share = zone.past_lba, 1.0
        for i in range(MOST_CYCLE):
            if at >= self.total:
                break
            # Heads that are alike make a cycle of fewer bands than there are heads.
            like = zone.cycle[i % len(zone.cycle)]
            expected = Shape(like.sectors_per_track, max(1, round(like.tracks * share)), like.skew_turns)
            band = self.follow(at, [expected])
            if band is None or band.sectors_per_track != like.sectors_per_track:
                break
            # Only the next zone's bands are wider than those at this one's end.
            if band.tracks > max(1, round(like.tracks * share)) + 1:
                break
            tail.append(band)
            share = band.tracks / like.tracks
            at += band.blocks
        return replace(zone, tail=tuple(tail), past_lba=at)


class _Cycles:
    """Cycles ahead of a zone's first one: which of them are as predicted."""

    def __init__(self, angles: Angles, zone: Zone, turns: float, known: int | None = None) -> None:
        self.angles, self.zone, self.turns = angles, zone, turns
        # Cycles over which the angle is known already.
        self.known = known or 0
        self.block = angles.session.sector_blocks
        self.good = 0
        cycle = zone.cycle
        ends = [0, len(cycle) // 2] if len(cycle) > 1 else [0]
        self.bands = [cycle[i] for i in dict.fromkeys(ends)]

    def fits(self, cycle: int) -> bool:
        """Tell whether a cycle is where it should be; its angle is refined if so."""
        sectors, predicted = [], []
        for band in self.bands:
            n = band.sectors_per_track
            for track in sorted({0, band.tracks - 1}):
                first = band.first_lba + cycle * self.zone.cycle_blocks
                first = first // self.block + track * n
                if first + n > self.angles.session.sectors:
                    return False
                angle = band.angle_turns + track * band.skew_turns + cycle * self.turns
                sectors += [first, first + n - 1]
                predicted += [angle + 1 / n, angle + 1]
        left = self.angles.rest(sectors, predicted, STEP)
        good = bool((np.abs(left) < 1.1 * self.angles.tolerance).all())
        if good and cycle > self.known:
            self.turns += float(np.median(left)) / cycle
            self.known = cycle
        if good:
            self.good = max(self.good, cycle)
        return good

    def count(self, expected: int | None) -> int:
        """Return the number of cycles that fit."""
        if not self.fits(1):
            return 1
        while True:
            bad = self._first_bad(expected)
            if not self.fits(bad):
                return bad

    def _first_bad(self, expected: int | None) -> int:
        """Return the cycle after the last one that fits."""
        bad = None
        while bad is None:
            further = max(self.good + 1, int(self.good * GROWTH))
            if expected and self.good < expected - 1 < 4 * further:
                further = expected - 1
            elif expected and self.good == expected - 1:
                further = expected
            if not self.fits(further):
                bad = further
        while bad - self.good > 1:
            mid = (bad + self.good) // 2
            if not self.fits(mid):
                bad = mid
        return bad


def regrouped(zones: list[Zone], heads: int, tolerance: float) -> list[Zone]:
    """Return zones of single bands as zones in which each head has its turn.

    Args:
        zones: of one band each, if they are to be put together; others stay as they are.
        heads: number of heads.
        tolerance: difference of skews that is none.
    """
    if any(len(z.cycle) > 1 or z.cycles > 1 or z.tail for z in zones):
        return zones
    found: list[Zone] = []
    for i in range(0, len(zones), heads):
        bands = tuple(z.cycle[0] for z in zones[i : i + heads])
        first, past = bands[0].first_lba, bands[-1].first_lba + bands[-1].blocks
        before = found[-1] if found else None
        if before is not None and _goes_on(before, bands):
            whole = len(bands) == heads and not before.tail
            if whole and all(_alike(a, b, tolerance) for a, b in zip(before.cycle, bands, strict=True)):
                turns = before.cycle_turns
                if before.cycles == 1:
                    turns = (bands[0].angle_turns - before.cycle[0].angle_turns) % 1.0
                found[-1] = replace(before, cycles=before.cycles + 1, past_lba=past, cycle_turns=turns)
            else:
                found[-1] = replace(before, tail=(*before.tail, *bands), past_lba=past)
            continue
        found.append(Zone(first, past, bands, 1, 0.0))
    return found


def _goes_on(zone: Zone, bands: tuple[Band, ...]) -> bool:
    """Tell whether bands have the sectors of a zone's bands, and no more tracks."""
    if len(zone.tail) >= len(zone.cycle):
        return False
    return all(
        a.sectors_per_track == b.sectors_per_track and b.tracks <= a.tracks
        for a, b in zip(zone.cycle, bands, strict=False)
    )


def divided(zone: Zone, heads: int) -> Zone:
    """Return a zone of one band of alike tracks as cylinders of so many heads."""
    whole = zone.cycle[0]
    of_track = whole.blocks // whole.tracks
    count, rest = divmod(whole.tracks, heads)
    band = replace(whole, tracks=heads, blocks=heads * of_track)
    turns = (heads * whole.skew_turns) % 1.0
    tail: tuple[Band, ...] = ()
    if rest:
        tail = (
            replace(
                whole,
                first_lba=whole.first_lba + count * band.blocks,
                tracks=rest,
                blocks=rest * of_track,
                angle_turns=(whole.angle_turns + count * turns) % 1.0,
            ),
        )
    return replace(zone, cycle=(band,), cycles=count, cycle_turns=turns, tail=tail)
