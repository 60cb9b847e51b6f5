"""Differences of paired results, with confidence intervals.

Systems that were simulated with the same seeds differ less between each other than between seeds.
So what is compared is the difference within each seed.
"""

import math
from collections.abc import Iterable, Sequence
from statistics import mean, stdev


def interval(values: Sequence[float], alone: float = math.nan) -> tuple[float, float]:
    """Return the mean and half of its 95 % confidence interval; `alone` is that of one value.

    Of values that are not all finite, half is not a number.

    Example:
        >>> middle, half = interval([1.0, 2.0, 3.0])
        >>> middle, round(half, 3)
        (2.0, 2.484)
        >>> interval([1.0, math.inf])
        (inf, nan)
    """
    n = len(values)
    # Of values that are not numbers, `stdev` fails.
    spread = stdev(values) if n > 1 and all(map(math.isfinite, values)) else math.nan
    half = student(n - 1) * spread / n**0.5 if n > 1 else alone
    return float(mean(values)), half


def student(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's distribution with these degrees of freedom."""
    # `scipy.stats` has the same function, but takes a second to import.
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.975))


def known(before: Iterable[float | None], after: Iterable[float | None]) -> tuple[list[float], list[float]]:
    """Return the values of the pairs of which both are known."""
    pairs = [(a, b) for a, b in zip(before, after, strict=True) if a is not None and b is not None]
    return [a for a, _ in pairs], [b for _, b in pairs]


def difference(before: Sequence[float], after: Sequence[float]) -> tuple[float, float]:
    """Return the mean of ``after - before`` by pairs, and half of its 95 % confidence interval.

    Raises:
        ValueError: the two are not of one length.
    """
    return interval([b - a for a, b in zip(before, after, strict=True)])
