"""Sectors of a track: the next boundary between tracks, exactly, and the skew over it.

# Method
The angle advances by 1/n from sector to sector and jumps by the skew at a boundary. Reads at
growing distances give the slope; the first one off the line has passed the boundary, which is then
bisected. Each decision is whether a read is on the line or on the line after the jump.
"""

from typing import NamedTuple

from .angle import Angles
from .period import wrap

#: Turns after which tracks without a jump are taken to have no skew, and least sectors of a track.
MOST_TURNS, LEAST_SECTORS = 3.0, 12


class Boundary(NamedTuple):
    """The end of a track that begins at a known sector.

    Attributes:
        sectors: of the track.
        skew: angle between its first sector and that of the next track, turns; 0 if none is seen.
    """

    sectors: int
    skew: float


def slope(angles: Angles, start: int, end: float, guess: int, step: str) -> float:
    """Return the sectors of a track, about, from one read at 0.8 of its guessed length."""
    away = max(4, int(0.8 * guess))
    if start + away >= angles.session.sectors:
        return float(guess)
    left = float(angles.rest([start + away], [end + away / guess], step)[0])
    return away / (away / guess + left)


def boundary(
    angles: Angles, start: int, end: float, step: str, guess: float | None = None, *, whole: bool = True
) -> Boundary | None:
    """Return the boundary after a sector of a track; None if the target ends before.

    Args:
        angles: of the target.
        start: the first sector of the track, or one inside it.
        end: angle at which it ends.
        step: name for the log.
        guess: sectors of the track, if they are known about.
        whole: whether it is the first one, so that the boundary ends a turn.
    """
    total = angles.session.sectors
    tolerance = 1.5 * angles.tolerance
    good = 4 if guess is None else max(4, int(guess / 8))
    if start + 2 * good >= total:
        return None
    expected = 0.0 if guess is None else good / guess
    turns = expected + float(angles.rest([start + good], [end + expected], step)[0])
    if guess is None and turns < -tolerance:
        turns += 1
    bad, jump = 0, 0.0
    while bad == 0:
        further = min(2 * good, total - 1 - start)
        if further <= good:
            return None
        predicted = turns * further / good
        left = float(angles.rest([start + further], [end + predicted], step)[0])
        if abs(left) > tolerance:
            bad, jump = further, left
        else:
            good, turns = further, predicted + left
            if turns > MOST_TURNS and good / turns * angles.tolerance < 0.3 * turns:
                return Boundary(round(good / turns), 0.0)
    return _bisected(angles, (start, whole), end, step, (good, turns), (bad, jump))


def _bisected(
    angles: Angles, begin: tuple[int, bool], end: float, step: str, before: tuple[int, float], after: tuple[int, float]
) -> Boundary | None:
    """Return the boundary between a sector on the line and one past the jump."""
    (start, whole), (good, turns), (bad, jump) = begin, before, after
    rate = turns / good
    while bad - good > 1:
        # Near the end of the turn, if that is known well enough, else the middle.
        width = int(angles.tolerance / 2 / turns / rate) + 1
        about = round(1 / rate)
        mid = next(
            (m for m in (about + width, about - width) if 4 * width < bad - good and good < m < bad), (good + bad) // 2
        )
        left = float(angles.rest([start + mid], [end + rate * mid], step)[0])
        if abs(left) < abs(float(wrap(left - jump))):
            good, turns = mid, rate * mid + left
            rate = turns / good
        else:
            bad, jump = mid, left
    if whole and bad < LEAST_SECTORS:
        return None
    if whole:
        rate = 1 / bad
    ends = [end + (bad - 1) * rate, end + bad * rate]
    first, second = angles.rest([start + bad - 1, start + bad], ends, step)
    if abs(first) > angles.tolerance or abs(second) < angles.tolerance:
        return None
    return Boundary(bad, float(second) % 1.0)
