"""The number of heads, their order, and the direction of their tracks.

# Method
Sectors and skews repeat after all heads had their turn, or earlier if some heads are alike. The least
time to get from the first track of the drive to the first and the last track of each band tells the
rest: bands of equal radius take equally long, and the next ones longer. The end of a band that is
reached sooner is the outer one.

# Limits
Which head is which physically, and whether all directions are mirrored, cannot be told. Where a head
switch takes as long as a step to the next cylinder, `cylinder-major` and `serpentine` look alike.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .angle import Angles
from .bands import Band
from .geometry import MOST_HEADS, Heads
from .moves import Bisection, Place
from .zones import Zone

Floats = NDArray[np.float64]

#: Times to reach a track that differ by less are equal, in s, and trials for each.
EQUAL_S, TRIALS = 60e-6, 12

#: Bands that are measured at once, and in all.
AT_ONCE, MOST = 6, 46


class Found(NamedTuple):
    """The heads, the layout if a cylinder uses all in turn, and times to reach tracks of bands.

    Attributes:
        heads: number, order and directions.
        order: "cylinder-major" or "serpentine".
        sure: whether the order was told from times.
        reach_s: least times to the first and the last track of each band, s.

    """

    heads: Heads
    order: str
    sure: bool
    reach_s: list[tuple[float, float]]


def find(angles: Angles, zones: list[Zone]) -> Found:
    """Return the heads of a target."""
    cycle = zones[0].cycle
    if len(cycle) == 1 and cycle[0].tracks <= MOST_HEADS:
        return _of_cylinders(angles, zones[0])
    return _of_bands(angles, zones)


def place(angles: Angles, band: Band, turn_blocks: int, track: int, count: int = 24) -> Place:
    """Return addresses of a track of a band, which lies so many blocks further on."""
    n, block = band.sectors_per_track, angles.session.sector_blocks
    sectors = n - 2 - np.arange(min(count, n // 3)) * 2
    lbas = band.first_lba + turn_blocks + (track * n + sectors) * block
    return Place(lbas.astype(np.int64), (sectors - sectors[0]) / n, 0.0, 0)


def _times(angles: Angles, pairs: list[tuple[Place, Place]], trials: int = TRIALS) -> Floats:
    """Return the least times between places, the mean of both ways, s."""
    test = Bisection(angles.session, angles.period.turn_s, "heads", pairs, angles.period.disturbed)
    values = test.run(trials).values()
    return np.array([(there.value + back.value) / 2 for there, back in values])


def _of_cylinders(angles: Angles, zone: Zone) -> Found:
    """Tell the order of heads where a cylinder uses all of them in turn."""
    band = zone.cycle[0]
    tracks = band.tracks
    heads = Heads(tracks, "same", (0,) * tracks)
    if tracks == 1 or zone.cycles < 8:
        return Found(heads, "cylinder-major", tracks == 1, [])
    pairs = []
    for cylinder in range(0, 6, 2):
        here, there = cylinder * zone.cycle_blocks, (cylinder + 1) * zone.cycle_blocks
        # From the first head to the next cylinder's first track, and from the last head to it.
        for track in (0, tracks - 1):
            pairs.append((place(angles, band, here, track), place(angles, band, there, 0)))
    times = _times(angles, pairs)
    first, last = float(np.median(times[::2])), float(np.median(times[1::2]))
    sure = abs(first - last) > EQUAL_S / 2
    order = "cylinder-major" if sure and first < last else "serpentine"
    return Found(heads, order, sure, [(first, last)])


def _of_bands(angles: Angles, zones: list[Zone]) -> Found:
    """Tell number, order and directions of heads whose bands follow each other."""
    zone = zones[0]
    count = zone.cycles * len(zone.cycle)
    reach: list[tuple[float, float]] = []
    found = None
    while found is None and len(reach) < min(count - 1, MOST):
        chosen = range(len(reach) + 1, min(len(reach) + 1 + AT_ONCE, count))
        origin = place(angles, zone.cycle[0], 0, 0)
        pairs = []
        for b in chosen:
            turn, i = divmod(b, len(zone.cycle))
            band = zone.cycle[i]
            pairs += [
                (origin, place(angles, band, turn * zone.cycle_blocks, track))
                for track in (0, band.tracks - 1)
            ]
        times = _times(angles, pairs)
        reach += [(float(a), float(z)) for a, z in zip(times[::2], times[1::2], strict=True)]
        found = _count(np.array(reach).min(axis=1), len(zone.cycle), _mirrored(zone))
    if found is None:
        return Found(Heads(len(zone.cycle), measured=False), "adaptive", False, reach)
    heads, order = found
    ways = [1]
    for first, last in reach[: heads - 1]:
        apart = last - first
        ways.append(0 if abs(apart) < EQUAL_S else 1 if apart > 0 else -1)
    return Found(Heads(heads, order, tuple(ways)), "adaptive", True, reach)


def _mirrored(zone: Zone) -> bool:
    """Tell whether the second half of a cycle is the first one backwards."""
    shapes = [(b.sectors_per_track, b.tracks) for b in zone.cycle]
    return len(shapes) % 2 == 0 and shapes == shapes[::-1]


def _count(nearest_s: Floats, cycle: int, mirrored: bool) -> tuple[int, str] | None:
    """Return heads and order for which bands of equal radius take equally long; None: not yet.

    Args:
        nearest_s: least times to the nearer end of bands 1, 2, ...
        cycle: bands after which sectors and skews repeat.
        mirrored: whether the second half of the cycle is the first one backwards.

    """
    band = np.arange(1, len(nearest_s) + 1)
    tried = [(cycle * k, "same") for k in range(1, MOST // cycle + 1)]
    if mirrored and cycle > 1:
        tried.append((cycle // 2, "alternate"))
    good = []
    for heads, order in tried:
        if heads + 2 > len(nearest_s) or heads > MOST_HEADS:
            continue
        around, place_in = np.divmod(band, heads)
        same = (around % 2 == 1) & (place_in == 0) if order == "alternate" else place_in == 0
        if order == "alternate":
            same = np.where(around % 2 == 1, place_in == heads - 1, place_in == 0)
        groups = 2 * around + same
        spread = max(float(np.ptp(nearest_s[groups == g])) for g in np.unique(groups))
        inner = nearest_s[(around == 1) & ~same] if heads > 1 else nearest_s[around == 1]
        outer = nearest_s[(around == 0) & ~same]
        step = (
            abs(float(np.median(inner)) - float(np.median(outer)))
            if len(outer) and len(inner)
            else 0.0
        )
        if heads == 1:
            step = float(nearest_s[1:3].min() - nearest_s[0])
        if spread < EQUAL_S and step > EQUAL_S:
            good.append((heads, order))
    return max(good) if good else None
