"""Differences of paired results, with confidence intervals.

Systems that were simulated with the same seeds differ less between each other than between seeds.
So what is compared is the difference within each seed.
"""

from collections.abc import Sequence
from statistics import mean, stdev

#: Student's t for 95 % and 1 to 30 degrees of freedom.
T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and half of its 95 % confidence interval; half of one value is not a number.

    Beyond 31 values Student's t of 30 degrees of freedom is used, which is slightly too wide.

    Example:
        >>> middle, half = interval([1.0, 2.0, 3.0])
        >>> middle, round(half, 3)
        (2.0, 2.484)

    """
    n = len(values)
    half = T[min(n - 2, len(T) - 1)] * stdev(values) / n**0.5 if n > 1 else float("nan")
    return float(mean(values)), half


def difference(before: Sequence[float], after: Sequence[float]) -> tuple[float, float]:
    """Return the mean of ``after - before`` by pairs, and half of its 95 % confidence interval.

    Raises:
        ValueError: the two are not of one length.

    """
    return interval([b - a for a, b in zip(before, after, strict=True)])
