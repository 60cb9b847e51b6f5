"""Limits axes so that an overloaded system does not make the others unreadable."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from headstack.show.plots.systems import labels


class Cut(NamedTuple):
    """The end of an axis, and the values beyond it."""

    end: float
    beyond: list[bool]


def overloaded(systems: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the labels of the systems that are marked as overloaded."""
    named = zip(labels(systems), systems, strict=True)
    return {name for name, s in named if s.get("overloaded")}


def cut(values: Sequence[float], marked: Sequence[bool] = (), *, ratio: float = 10) -> Cut:
    """Return the largest value that an axis shows, and which values are beyond it.

    Beyond it are values more than `ratio` times the next smaller one, all above these, and marked
    values larger than all others. On an axis with space for them, the others could not be read.

    Example:
        >>> cut([9.0, 12.0, 80000.0])
        Cut(end=12.0, beyond=[False, False, True])
    """
    marks = list(marked) or [False] * len(values)
    kept = [v for v, m in zip(values, marks, strict=True) if not m] or list(values)
    end = 0.0
    for value in sorted(kept):
        if 0 < end * ratio < value:
            break
        end = value
    # A marked system that does not stand out needs no cut.
    end = max([end, *(v for v, m in zip(values, marks, strict=True) if m and v <= 2 * end)])
    return Cut(end, [v > end for v in values])
