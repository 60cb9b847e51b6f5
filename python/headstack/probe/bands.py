"""Bands: successive tracks of one surface with the same number of sectors and the same skew.

# Method
The first track's boundary gives sectors and skew. Then the first and the last sector of a track
farther and farther ahead are read, then its middle: all are where they are predicted only if the
track begins and ends where it should, so an error of one sector, or another skew, shows at once.
The last track that fits is bisected. A band that is expected costs a few reads: its first boundary,
its last track, and the track behind it, which must not fit.

On drives that use all heads of a cylinder in turn, the tracks of a cylinder are such a band.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .angle import Angles
from .period import forward, middle, wrap
from .track import LEAST_SECTORS, boundary, slope

#: Factor from one track that is tried to the next.
GROWTH = 1.5

#: Share of the tolerance of one read that is left to the middle of several.
NEAR = 0.6


class Shape(NamedTuple):
    """What is expected of a band: sectors of a track, its tracks (None: unknown), and its skew."""

    sectors: int
    tracks: int | None
    skew: float | None


@dataclass(frozen=True)
class Band:
    """Successive tracks of one surface.

    Attributes:
        first_lba: its first address.
        blocks: its addresses.
        sectors_per_track: physical sectors of each track.
        tracks: whole tracks.
        skew_turns: angle between the first sectors of successive tracks.
        angle_turns: angle at which its first sector begins.
        head: in the order in which heads are found; -1: unknown.
        direction: 1 if its tracks go inward, -1 outward, 0 if that is unknown.
        reads: reads that it took.
    """

    first_lba: int
    blocks: int
    sectors_per_track: int
    tracks: int
    skew_turns: float
    angle_turns: float
    head: int = -1
    direction: int = 0
    reads: int = 0

    @property
    def shape(self) -> Shape:
        """What another band like this one is expected to be."""
        return Shape(self.sectors_per_track, self.tracks, self.skew_turns)

    @property
    def last_angle(self) -> float:
        """Angle at which the first sector of its last track begins."""
        return self.angle_turns + (self.tracks - 1) * self.skew_turns


class _Ladder:
    """Tracks ahead of a band's first one: which of them are as predicted."""

    def __init__(self, angles: Angles, start: int, end: float, n: int, skew: tuple[float, bool]) -> None:
        self.angles, self.start, self.end, self.n = angles, start, end, n
        # Whether the skew is that of another band, which is exact.
        self.skew, self.known = skew
        self.good = 0

    def fits(self, track: int) -> bool:
        """Tell whether a track is where it should be; the skew is refined if so."""
        first = self.start + track * self.n
        last, half = first + self.n - 1, self.n // 2
        if last >= self.angles.session.sectors:
            return False
        about = self.end + track * self.skew
        # The middle would come from the buffer if it was not read before the begin.
        after = [last] if self.angles.session.described["fua"] else [last, first + half]
        at = [first, *after]
        left = self.angles.rest(at, [about + (s - first) / self.n for s in at], "bands")
        # A new slope is not tried by what is as far off as the noise allows.
        # The skew is as exact as the track is far over which it was found.
        far = track / max(self.good, 1) if self.good or not self.known else 0.0
        bound = NEAR * self.angles.tolerance * (1 + 0.2 * far)
        if not bool((np.abs(left) < bound).all()):
            return False
        # Both may be right by chance where a skew makes good for other sectors; not the middle too.
        good = True
        if len(at) == 2:
            within = self.angles.rest([first + half], [about + half / self.n], "bands")
            good = bool(abs(within[0]) < bound)
        if good and track > self.good:
            # One read of the boundary, or the last track that fitted, has told it already.
            before = max(self.good, 1) ** 2
            self.skew += float(left.mean()) / track * track**2 / (track**2 + before / 2)
            self.good = track
        return good

    def tracks(self, expected: int | None) -> int:
        """Return the number of tracks that fit."""
        if expected is not None:
            # Bands are rounded to whole tracks: one more or less than those of another zone.
            if expected > 1 and self.fits(expected - 1):
                for count in (expected, expected + 1):
                    if not self.fits(count):
                        return count
            elif expected > 2 and self.fits(expected - 2) and not self.fits(expected - 1):
                return expected - 1
        while True:
            bad = self._first_bad()
            # Not to be told by noise: the track after the last one must fail again.
            if not self.fits(bad):
                return bad

    def _first_bad(self) -> int:
        """Return the track after the last one that fits."""
        bad = None
        while bad is None:
            further = max(self.good + 1, int(self.good * GROWTH))
            if not self.fits(further):
                bad = further
        while bad - self.good > 1:
            mid = (bad + self.good) // 2
            if not self.fits(mid):
                bad = mid
        return bad


def joined(before: Band, band: Band, tolerance: float) -> Band | None:
    """Return two successive bands as one if the second goes on where the first one was cut."""
    jumps = wrap(np.array([band.angle_turns - before.last_angle, band.skew_turns]) - before.skew_turns)
    if band.sectors_per_track != before.sectors_per_track or (np.abs(jumps) > tolerance).any():
        return None
    # The longer part tells the line.
    line = max(before, band, key=lambda b: b.tracks)
    back = before.tracks if line is band else 0
    return replace(
        line,
        first_lba=before.first_lba,
        blocks=before.blocks + band.blocks,
        tracks=before.tracks + band.tracks,
        angle_turns=(line.angle_turns - back * line.skew_turns) % 1.0,
        reads=before.reads + band.reads,
    )


def follow(angles: Angles, start: int, expected: Sequence[Shape]) -> Band | None:
    """Return the band that begins at a sector; None if no boundary is found after it.

    Args:
        angles: of the target.
        start: the first sector of a track.
        expected: what it may be, likeliest first.
    """
    session = angles.session
    before = session.commands
    block = session.sector_blocks
    if start + LEAST_SECTORS >= session.sectors:
        return None
    end = _begin(angles, start)
    found = _first(angles, start, end, expected)
    if found is None:
        return None
    n, skew, tracks = found
    known = any(shape.skew == skew for shape in expected)
    ladder = _Ladder(angles, start, end, n, (skew, known))
    count = ladder.tracks(tracks)
    if count == 1 and expected and expected[0].tracks != 1:
        # A read that was late at the wrong place; two of them are unlikely.
        return follow(angles, start, ())
    return Band(
        start * block,
        count * n * block,
        n,
        count,
        forward(ladder.skew),
        (end - 1 / n) % 1.0,
        reads=session.commands - before,
    )


def _begin(angles: Angles, start: int) -> float:
    """Return the angle of a sector from which a whole band is predicted; 0 if its reads fail."""
    reads = np.zeros(0)
    for more in (3, 4):
        again = angles.read([start * angles.session.sector_blocks] * more, "bands")
        reads = np.append(reads, again[np.isfinite(again)])
        if len(reads) == 0:
            return 0.0
        # Two of three may be late; not if all agree.
        if (np.abs(wrap(reads - middle(reads))) < angles.tolerance / 2).all():
            break
    return middle(reads)


def _first(angles: Angles, start: int, end: float, expected: Sequence[Shape]) -> tuple[int, float, int | None] | None:
    """Return sectors and skew of the first track, and the tracks that are expected."""
    tried: set[int] = set()
    if expected:
        found = _as_expected(angles, start, end, expected[:1])
        if found is not None:
            return found
        tried.add(expected[0].sectors)
        about = slope(angles, start, end, expected[0].sectors, "bands")
        near = sorted(
            (s for s in expected[1:] if abs(s.sectors / about - 1) < 0.02), key=lambda s: abs(s.sectors - about)
        )
        found = _as_expected(angles, start, end, _unlike(near, tried)[:3])
        if found is not None:
            return found
        guess: float | None = about if about > 0 else None
    else:
        guess = None
    for _ in range(2):
        edge = boundary(angles, start, end, "bands", guess)
        if edge is not None:
            same = next((s for s in expected if s.sectors == edge.sectors), None)
            return edge.sectors, edge.skew, same.tracks if same else None
        guess = None
    return None


def _unlike(shapes: Iterable[Shape], tried: set[int]) -> list[Shape]:
    kept = []
    for shape in shapes:
        if shape.sectors not in tried:
            tried.add(shape.sectors)
            kept.append(shape)
    return kept


def _as_expected(
    angles: Angles, start: int, end: float, expected: Sequence[Shape]
) -> tuple[int, float, int | None] | None:
    for shape in expected:
        n = shape.sectors
        if start + 2 * n >= angles.session.sectors:
            continue
        skew = 0.0 if shape.skew is None else shape.skew
        last, first = angles.rest([start + n - 1, start + n], [end + (n - 1) / n, end + skew], "bands")
        bound = angles.tolerance
        if abs(last) > bound or not abs(first) < 0.5:
            continue
        if shape.skew is not None and abs(first) < bound:
            return n, skew, shape.tracks
        # Another skew, or the next track of another surface: a jump, at least.
        if abs(((skew + first + 0.5) % 1.0) - 0.5) > bound and _again(angles, start, (end, n), float(skew + first)):
            return n, float(skew + first), shape.tracks
    return None


def _again(angles: Angles, start: int, line: tuple[float, int], jump: float) -> bool:
    """Tell whether a boundary that was not expected is there when it is read again."""
    end, n = line
    places = [start + n // 2, start + n - 1, start + n]
    left = angles.rest(places, [end + (n // 2) / n, end + (n - 1) / n, end + jump], "bands")
    return bool((np.abs(left) < angles.tolerance).all())
