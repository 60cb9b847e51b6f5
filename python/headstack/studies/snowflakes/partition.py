"""Dividing work over unequal drives: equal parts, or pieces that a drive takes when it is free.

Each of n drives reads at its own mean rate; the whole work could be read by any of them (it is
replicated, or is computed from what each drive holds). The ideal is that all end at once.
"""

import heapq
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def ideal_s(rates: Sequence[float] | Floats, work: float) -> float:
    """Return the time in which drives that all end at once read `work` bytes."""
    return float(work / np.sum(rates))


def equal_parts_s(rates: Sequence[float] | Floats, work: float) -> float:
    """Return the time until the slowest drive has read its equal part."""
    return float(work / len(rates) / np.min(rates))


def stealing_s(rates: Sequence[float] | Floats, work: float, chunk: float) -> float:
    """Return the time until the last of the chunks is read that drives take when they are free.

    It is at most the ideal time and that of one chunk on the slowest drive.

    Args:
        rates: of the drives, bytes/s.
        work: bytes in all.
        chunk: bytes of a piece; the last one may be smaller.

    """
    return _dealt(rates, work, lambda left: min(chunk, left))


def guided_s(rates: Sequence[float] | Floats, work: float, least: float) -> float:
    """Return the same for chunks that shrink.

    A chunk is half of an equal share of what is left, and at least `least` bytes.
    """
    count = 2 * len(rates)
    return _dealt(rates, work, lambda left: min(left, max(least, left / count)))


def _dealt(rates: Sequence[float] | Floats, work: float, size: Callable[[float], float]) -> float:
    """Return the end of the last piece; `size` gives the next one's, by what is left."""
    free = [(0.0, i) for i in range(len(rates))]
    heapq.heapify(free)
    left, end = float(work), 0.0
    # What is left after the last whole chunk may be a rounding error.
    while left > 1e-9 * work:
        piece = size(left)
        at, drive = heapq.heappop(free)
        at += piece / float(rates[drive])
        end = max(end, at)
        heapq.heappush(free, (at, drive))
        left -= piece
    return end
