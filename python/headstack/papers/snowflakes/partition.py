"""Dividing work among unequal drives: equal parts, or pieces that a drive takes when it is free.

Each of n drives reads at its own mean rate. Any of them could read the whole work, because the data
are replicated. In the ideal case all drives end at the same time.
"""

import heapq
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def ideal_s(rates: Sequence[float] | Floats, work: float) -> float:
    """Return the time in which the drives read `work` bytes if all end at the same time."""
    return float(work / np.sum(rates))


def equal_parts_s(rates: Sequence[float] | Floats, work: float) -> float:
    """Return the time until the slowest drive has read its equal part."""
    return float(work / len(rates) / np.min(rates))


def stealing_s(rates: Sequence[float] | Floats, work: float, chunk: float) -> float:
    """Return the time until all chunks are read, if each drive takes a new one when it is free.

    It is at most the ideal time plus the time of one chunk on the slowest drive.

    Args:
        rates: rates of the drives, bytes/s.
        work: bytes in all.
        chunk: bytes of a chunk; the last one may be smaller.
    """
    return _dealt(rates, work, lambda left: min(chunk, left))


def guided_s(rates: Sequence[float] | Floats, work: float, least: float) -> float:
    """Return the same for chunks that shrink.

    A chunk is half of an equal share of the remaining work, and at least `least` bytes.
    """
    count = 2 * len(rates)
    return _dealt(rates, work, lambda left: min(left, max(least, left / count)))


def _dealt(rates: Sequence[float] | Floats, work: float, size: Callable[[float], float]) -> float:
    """Return the end of the last piece; `size` gives the next size for the remaining work."""
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
