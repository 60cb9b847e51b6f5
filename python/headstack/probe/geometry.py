"""Where every address of a target lies, from its zones and the order of its heads.

Angles are of the begin of sectors, in the frame of `Period.phase` less the usual lateness of reads.
Radial places are in nominal tracks: those of a surface of mean density, counted from the outside.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import cycle, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .bands import Band
from .period import wrap
from .zones import Zone

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Sectors of the innermost tracks, as a share of those of the outermost, are seldom less.
LEAST_INNER = 0.4

#: Error of the angle between two heads, turns.
MOST_OFF = 0.01

#: A cycle of one band with no more tracks than this is a cylinder of so many heads.
MOST_HEADS = 24


class Places(NamedTuple):
    """Places of addresses, one entry for each.

    Attributes:
        band: number of the band, counted from the zone's first one.
        track: in the band, in order of address.
        sector: physical sector on the track.
        angle_turns: where the sector begins.
        cylinder: radial place, in nominal tracks from the outside.
        head: in the order in which heads are found.
        sectors_per_track: of the track.
        known: whether it lies in what was measured.
    """

    band: Ints
    track: Ints
    sector: Ints
    angle_turns: Floats
    cylinder: Floats
    head: Ints
    sectors_per_track: Ints
    known: NDArray[np.bool_]


@dataclass(frozen=True)
class Heads:
    """The heads and their order.

    Attributes:
        count: number of heads.
        order: "same" if every band begins with the first head, "alternate" if every other one
            begins with the last.
        directions: of each head: 1 inward, -1 outward, 0 unknown; the first one's is 1.
        measured: whether the number of heads was found, or one is assumed.
    """

    count: int
    order: str = "same"
    directions: tuple[int, ...] = (1,)
    measured: bool = True


class ZoneView(NamedTuple):
    """A zone as drive files have it.

    Attributes:
        first_lba: its first address.
        blocks: its addresses.
        sectors: of a track, for each head.
        tracks: of a full band, for each head; 1 where a cylinder uses all heads in turn.
        skew_turns: the schema's `cylinder_skew`: from a track to the next one of its surface in
            bands, from the last track of a cylinder to the next cylinder elsewhere.
        switch_turns: the schema's `track_skew`: from a head's last track to the next head's first.
        begin_turns: angle of its first sector.
        origin: "measured", or how else it is known.
    """

    first_lba: int
    blocks: int
    sectors: tuple[int, ...]
    tracks: tuple[int, ...]
    skew_turns: float
    switch_turns: float
    begin_turns: float
    origin: str


class Geometry:
    """Zones, bands and heads of a target."""

    def __init__(
        self,
        found: Sequence[Zone],
        heads: Heads,
        blocks: int,
        sector_blocks: int,
        order: str,
        ranges: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        """Put zones and heads together.

        Args:
            found: zones in order of address, from address 0 on.
            heads: the heads.
            blocks: addresses of the target.
            sector_blocks: addresses of a physical sector.
            order: layout if all heads of a cylinder are used in turn.
            ranges: first addresses of several actuators, and those after their last ones.
        """
        self.found, self.order_of_heads = tuple(found), heads
        self.ranges, self.head_order = list(ranges or [(0, blocks)]), heads.order
        #: Heads of an actuator, and of all.
        self.each, self.heads = heads.count, heads.count * len(self.ranges)
        self.total, self.block = blocks, sector_blocks
        self.head_first = len(found[0].cycle) == 1 and found[0].cycle[0].tracks == self.each
        self.layout = order if self.head_first else "adaptive"
        odd = heads.directions[1::2]
        self.direction = "serpentine" if sum(odd) < 0 else "inward"

    @cached_property
    def _widths(self) -> list[tuple[float, float, float]]:
        """Of each zone: its first radial place, and the widths of a full band and of the last."""
        widths, at = [], 0.0
        for i, zone in enumerate(self.found):
            if self._range(i) != self._range(i - 1):
                at = 0.0  # the other actuator's surfaces begin outside again
            if self.head_first:
                widths.append((at, 1.0, 1.0))
                at += zone.cycles + len(zone.tail)
                continue
            full = sum(b.tracks for b in zone.cycle) / len(zone.cycle)
            last = self._last_width(zone, full)
            widths.append((at, full, last))
            count = zone.cycles * len(zone.cycle)
            at += -(-count // self.each) * full
            whole = sum(1 for b, c in zip(zone.tail, cycle(zone.cycle), strict=False) if b.tracks == c.tracks)
            at += whole / self.each * full + (len(zone.tail) - whole) / self.each * last
        return [*widths, (at, 0.0, 0.0)]

    @property
    def order_told(self) -> bool:
        """Whether bands tell the order of heads: backwards they are others."""
        cycle = self.found[0].cycle
        shapes = [cycle[i % len(cycle)].shape[:2] for i in range(self.each)]
        same = self.head_order == "same" and not self.head_first
        return not (same and self.each > 1 and shapes == shapes[::-1])

    def _range(self, zone: int) -> int:
        """Return the number of the actuator to which a zone belongs."""
        starts = [first for first, _ in self.ranges]
        return int(np.searchsorted(starts, self.found[zone].first_lba, side="right")) - 1

    def _last_width(self, zone: Zone, full: float) -> float:
        narrow = [
            b.tracks / c.tracks for b, c in zip(zone.tail, cycle(zone.cycle), strict=False) if b.tracks < c.tracks
        ]
        return full * (sum(narrow) / len(narrow)) if narrow else full

    @property
    def cylinders(self) -> float:
        """Nominal tracks of a surface."""
        first, past = self.ranges[-1]
        reached = self.found[-1].past_lba - first
        return self._widths[-1][0] * max(1.0, (past - first) / reached)

    @property
    def cylinder_bounds(self) -> tuple[float, float]:
        """Fewest and most nominal tracks: those of zones that were followed are counted.

        Where one track stands for a zone, others of it have at least the sectors of the next one
        and at most those of the one before. Beyond all, sectors are at most those of the last zone
        and at least the least share of the first zone's.
        """
        alone = [z for i, z in enumerate(self.found) if self._range(i) == len(self.ranges) - 1]
        widths = [w for i, (w, _, _) in enumerate(self._widths[:-1]) if self.found[i] in alone]
        spans = np.diff([*widths, self._widths[-1][0]])
        mean = [z.cycle_blocks / sum(b.tracks for b in z.cycle) for z in alone]
        least = [*mean[1:], min(mean[-1], LEAST_INNER * mean[0])]
        low = high = 0.0
        for i, (zone, span) in enumerate(zip(alone, spans, strict=True)):
            before = mean[max(i - 1, 0)]
            low += span * (1.0 if zone.whole else mean[i] / max(before, mean[i]))
            high += span * (1.0 if zone.whole else mean[i] / min(least[i], mean[i]))
        past, each = self.ranges[-1][1], mean[-1] * self.each
        left = past - alone[-1].past_lba
        if left >= each:
            low, high = low + left / each, high + left / (least[-1] * self.each)
        value = self.cylinders
        return min(low, value), max(high, value)

    @cached_property
    def bands(self) -> list[Band]:
        """The bands that were followed, with heads and directions."""
        named = []
        for number, zone in enumerate(self.found):
            for i, band in enumerate((*zone.cycle, *zone.tail)):
                index = i if i < len(zone.cycle) else zone.cycles * len(zone.cycle) + i - len(zone.cycle)
                head = self._head(index)
                way = self.order_of_heads.directions[head % len(self.order_of_heads.directions)]
                named.append(
                    replace(band, head=head + self._range(number) * self.each, direction=0 if self.head_first else way)
                )
        return named

    def _head(self, band: int) -> int:
        around, place = divmod(band, self.each)
        if self.head_first:
            return 0
        turned = self.head_order == "alternate" and around % 2
        return self.each - 1 - place if turned else place

    @cached_property
    def of_first(self) -> list[Zone]:
        """Zones of the first actuator; those of the others have the same formats."""
        return [zone for i, zone in enumerate(self.found) if not self._range(i)]

    @cached_property
    def zones(self) -> list[ZoneView]:
        """Zones as drive files have them."""
        views = []
        arms = len(self.ranges)
        for zone in self.of_first:
            cycle = zone.cycle
            blocks = (zone.past_lba - zone.first_lba) * arms
            if self.head_first:
                band = cycle[0]
                end = zone.cycle_turns - (band.tracks - 1) * band.skew_turns
                skews = (end, band.skew_turns)
                sectors = (band.sectors_per_track,) * self.heads
                tracks: tuple[int, ...] = (1,) * self.heads
            else:
                of = {self._head(j): cycle[j % len(cycle)] for j in range(self.each)}
                sectors = tuple(of[h].sectors_per_track for h in range(self.each)) * arms
                tracks = tuple(of[h].tracks for h in range(self.each)) * arms
                skew = _middle(b.skew_turns for b in cycle)
                skews = (skew, self._switch(zone, skew))
            origin = "measured" if zone.whole else "one track of it was measured"
            begin = cycle[0].angle_turns
            views.append(ZoneView(zone.first_lba, blocks, sectors, tracks, *skews, begin, origin))
        return views

    def _switch(self, zone: Zone, skew: float) -> float:
        """Return the angle between heads with which a cycle of bands turns by what it does."""
        cycle = zone.cycle
        jumps = [b.angle_turns - a.last_angle for a, b in pairwise(cycle)]
        if zone.cycles > 1:
            jumps.append(cycle[0].angle_turns + zone.cycle_turns - cycle[-1].last_angle)
        elif zone.tail:
            jumps.append(zone.tail[0].angle_turns - cycle[-1].last_angle)
        switch = _middle(jumps) if jumps else 0.0
        whole = sum((b.tracks - 1) * skew + switch for b in cycle)
        off = float(wrap(zone.cycle_turns - whole)) / len(cycle)
        # Tracks in list order may have skews of both signs: those have no such angle.
        return switch + off if zone.cycles > 1 and abs(off) < MOST_OFF else switch

    def locate(self, lbas: Sequence[int] | Ints) -> Places:
        """Return the places of addresses; beyond the last zone as if that went on."""
        at = np.asarray(lbas, dtype=np.int64)
        starts = np.array([z.first_lba for z in self.found])
        number = np.searchsorted(starts, at, side="right") - 1
        places = Places(*(np.zeros(len(at), dtype=t) for t in (int, int, int, float, float, int, int, bool)))
        for i in np.unique(number):
            here = number == i
            for whole, part in zip(places, self._inside(int(i), at[here]), strict=True):
                whole[here] = part
        return places

    def _inside(self, number: int, at: Ints) -> Places:
        zone = self.found[number]
        first_tail = zone.first_lba + zone.cycles * zone.cycle_blocks
        in_tail = (at >= first_tail) & (len(zone.tail) > 0)
        turn, rest = np.divmod(at - zone.first_lba, zone.cycle_blocks)
        ends = np.cumsum([b.blocks for b in zone.cycle])
        index = np.searchsorted(ends, rest, side="right")
        bands = (*zone.cycle, *zone.tail)
        if in_tail.any():
            past = np.array([b.first_lba + b.blocks for b in zone.tail])
            which = np.minimum(np.searchsorted(past, at, side="right"), len(zone.tail) - 1)
            index = np.where(in_tail, len(zone.cycle) + which, index)
            turn = np.where(in_tail, 0, turn)
        first = np.array([b.first_lba for b in bands])[index] + turn * zone.cycle_blocks
        n = np.array([b.sectors_per_track for b in bands])[index]
        track, sector = np.divmod((at - first) // self.block, n)
        skew = np.array([b.skew_turns for b in bands])[index]
        begin = np.array([b.angle_turns for b in bands])[index]
        angle = (begin + turn * zone.cycle_turns + track * skew + sector / n) % 1.0
        known = (at < zone.past_lba) & zone.whole
        band = np.where(
            in_tail, zone.cycles * len(zone.cycle) + index - len(zone.cycle), turn * len(zone.cycle) + index
        )
        tracks = np.array([b.tracks for b in bands])[index]
        cylinder, head = self._radius(number, band, track, tracks, in_tail)
        return Places(band, track, sector, angle, cylinder, head, n, known)

    def _radius(
        self, number: int, band: Ints, track: Ints, tracks: Ints, in_tail: NDArray[np.bool_]
    ) -> tuple[Floats, Ints]:
        """Return radial places and heads of tracks of bands of a zone."""
        begin, full, last = self._widths[number]
        arm = self._range(number) * self.each
        if self.head_first:
            back = (band % 2 == 1) & (self.layout == "serpentine")
            head = np.where(back, self.each - 1 - track, track)
            return begin + band.astype(float), head + arm
        around, place = np.divmod(band, self.each)
        turned = (around % 2 == 1) & (self.head_order == "alternate")
        head = np.where(turned, self.each - 1 - place, place)
        ways = np.array([d or 1 for d in self.order_of_heads.directions])
        inward = ways[head % len(ways)] > 0
        share = (np.where(inward, track, tracks - 1 - track) + 0.5) / tracks
        narrow = np.where(in_tail & (tracks < 0.95 * full), last, full)
        return begin + around * full + share * narrow, head + arm


def _middle(turns: Iterable[float]) -> float:
    """Return the median of angles that are near each other."""
    x = np.array(list(turns), dtype=np.float64)
    return float((x[0] + np.median(wrap(x - x[0]))) % 1.0)
