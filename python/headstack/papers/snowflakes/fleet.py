"""A fleet of thousands of drives: the rates of arrays of N of its drives, by N.

Rates are those of the first quarter (`Population.quarter_rates`). N drives are taken at random. As
rate of their array N times that of the slowest drive is used, an upper bound (see `stripes`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Widths of arrays.
WIDTHS = (2, 4, 8, 16, 25, 64, 256)

#: Number of arrays that are drawn for each width.
ARRAYS = 20_000


@dataclass(frozen=True)
class Array:
    """Arrays of one width.

    Attributes:
        width: number of drives N.
        mean: mean of N times the slowest rate, divided by the rate of N average drives.
        low: its 5 % quantile.
        high: its 95 % quantile.
        matched: the mean if drives of similar rates are put together.
    """

    width: int
    mean: float
    low: float
    high: float
    matched: float


def expected_slowest(rates: Floats, width: int) -> float:
    """Return the expected rate of the slowest of `width` drives that are taken at random.

    This is exact for drawing with replacement, and a good approximation for a fleet of n drives
    that is large compared with the array: all drives of the array are at least as fast as the k-th
    slowest of the fleet with the probability (1 - (k-1)/n)^width.
    """
    ordered = np.sort(rates)
    at_least = (1 - np.arange(len(ordered)) / len(ordered)) ** width
    return float(ordered[0] + (np.diff(ordered) * at_least[1:]).sum())


def arrays(rates: Floats, width: int, seed: int = 0) -> Array:
    """Return the rates of arrays of a width, relative to the same number of average drives."""
    mean = float(rates.mean())
    random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(width,))))
    count = max(1, min(ARRAYS, 4_000_000 // width))
    slowest = rates[random.integers(0, len(rates), (count, width))].min(axis=1) / mean
    low, high = (float(q) for q in np.quantile(slowest, (0.05, 0.95)))
    ordered = np.sort(rates)[len(rates) % width :].reshape(-1, width)
    return Array(width, expected_slowest(rates, width) / mean, low, high, float(ordered.min(axis=1).mean()) / mean)


def width_of_loss(rates: Floats, loss: float, most: int = 10_000) -> int | None:
    """Return the smallest width at which random arrays lose more than a share, or None."""
    mean = float(rates.mean())
    low, high = 1, most
    if 1 - expected_slowest(rates, high) / mean <= loss:
        return None
    while low < high:
        middle = (low + high) // 2
        if 1 - expected_slowest(rates, middle) / mean > loss:
            high = middle
        else:
            low = middle + 1
    return low
