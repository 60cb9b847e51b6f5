"""Sectors of a track: the next boundary between tracks, exactly, and the skew over it.

# Method
The angle advances by 1/n from sector to sector and jumps by the skew at a boundary. Reads at
growing distances give the slope; the first one off the line has passed the boundary, which is then
bisected. Each decision is whether a read is on the line or on the line after the jump.

The slope tells the turns before that boundary. If they are several, or no jump is seen, single reads
do not show the skew s. Then many reads are fitted by a line with a jump after each n sectors: other n
and s have the same slope, (1 + s) / n, but only the true ones have the jumps where they are.
"""

import math
from typing import NamedTuple

import numpy as np

from headstack.errors import HeadstackError

from .angle import Angles
from .period import forward, wrap

#: Turns after which tracks without a jump are taken to have no skew, and least sectors of a track.
MOST_TURNS, LEAST_SECTORS = 3.0, 12

#: Reads over tracks whose skew single reads do not show: fewest, most, and those for sectors as
#: long as the error of a read. By how much the square of errors must be less than that of others.
FEWEST, MOST, EACH, CLEAR = 96, 1000, 1600, 16.0

#: Their largest skew, and the largest error of the fit, in what a read may be and is usually off.
FLAT, BAD_FIT = 3.0, 2.5


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
                return _counted(angles, (start, good), end, turns / good, step)
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
    if whole and rate * bad > 1.5:
        return _counted(angles, (start, bad), end, rate, step)
    if whole:
        rate = 1 / bad
    ends = [end + (bad - 1) * rate, end + bad * rate]
    first, second = angles.rest([start + bad - 1, start + bad], ends, step)
    if abs(first) > angles.tolerance or abs(second) < angles.tolerance:
        return None
    return Boundary(bad, float(second) % 1.0)


def _counted(angles: Angles, line: tuple[int, int], end: float, rate: float, step: str) -> Boundary | None:
    """Return sectors and skew of tracks on a line of so many sectors, of about a rate of turns; None: they are none.

    Raises:
        HeadstackError: other sectors and skews fit as well.
    """
    start, sectors = line
    error, widest = angles.period.sigma_s / angles.period.turn_s, FLAT * angles.tolerance
    count = int(np.clip(EACH * (error / rate) ** 2, FEWEST, MOST))
    at = np.unique(np.linspace(0, sectors - 1, count).astype(np.int64))
    off = wrap(angles.read((start + at) * angles.session.sector_blocks, step) - end - rate * at)
    near = np.abs(off) < widest
    at, off = at[near], off[near]
    if len(at) < count / 2 and len(at) < sectors / 2:
        return None

    def left(n: int, *, skewed: bool = True) -> tuple[float, int, float, float]:
        """Return the square of errors of tracks of n sectors, n, the skew, and the size of errors."""
        columns = np.stack([np.ones(len(at)), at // n], axis=1)[:, : 1 + skewed]
        y = off - at * (1 / n - rate)
        fit = np.linalg.lstsq(columns, y, rcond=None)[0]
        rest = y - columns @ fit
        return float(rest @ rest), n, float(fit[-1]) * skewed, 1.48 * float(np.median(np.abs(rest)))

    tried = range(max(LEAST_SECTORS, math.floor((1 - widest) / rate)), math.ceil((1 + widest) / rate) + 1)
    found = sorted(left(n) for n in tried)
    flat = min(left(n, skewed=False) for n in tried)
    alike = found[0][0] * (1 + CLEAR / len(at))
    # Tracks without a skew are likelier than those with one that shows no better.
    _, n, skew, size = flat if flat[0] < alike else found[0]
    if size > BAD_FIT * error:
        return None
    if skew and len(found) > 1 and found[1][0] < alike:
        if abs(skew) > angles.tolerance:
            return None  # One that shows: a late read hid it.
        raise HeadstackError(
            f"probe: too noisy: the sectors of a track are not identifiable, {n} or {found[1][1]}: ends of reads "
            f"are off by {angles.period.sigma_s * 1e6:.0f} us, and the skew, {skew:.2%} of a turn, is too small to show"
        )
    return Boundary(n, forward(skew))
