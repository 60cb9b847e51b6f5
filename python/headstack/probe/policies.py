"""Read policies of the buffer that no single test shows: those whose simulation fits best.

# Method
A mixed load is read once more, with the buffer in use, and simulated on the drive as far as it is
known, some times. One policy after the other is switched; a change stays if it fits better. What
counts is the continuous ranked probability score of each read's times (Gneiting & Raftery,
Journal of the American Statistical Association 102, 2007): a read that waits for many others is
compared with itself.

# Limits
A policy that changes none of these reads keeps the value of the class.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .replay import Trace, mixed, times_of

Floats = NDArray[np.float64]

#: Policies in the order in which they are tried.
TRIED = ("read_on_arrival", "almost_hits", "discard_requested", "keep_passing_sectors",
         "stop_read_ahead_in_sector", "keep_whole_track")  # fmt: skip

#: Share of single reads, and of the times of a class that count: the slowest were disturbed.
_ALONE, _COUNTS = 0.4, 0.95

#: Requests, and the share by which a fit is clearly another.
REQUESTS, _CLEARLY = 1500, 0.03

#: Simulates a trace, closed or open, on a drive with some policies; returns the times of reads, s.
Simulate = Callable[[dict[str, bool], Trace, str], Floats]


class Policies(NamedTuple):
    """What fits best.

    Attributes:
        values: policies by their names in drive files.
        told: those that made a clear difference.
        misfit: mean score that is left, s.
        reads: reads that it took.
    """

    values: dict[str, bool]
    told: tuple[str, ...]
    misfit: float
    reads: int


def measure(session: Any, rng: np.random.Generator, simulate: Simulate, mean_s: float, count: int) -> Policies:
    """Read a mixed load, closed and open, and find the policies that fit it."""
    loads = []
    for way in ("wait_s", "at_s"):
        trace = mixed(session, rng, count, mean_s, _ALONE)
        times = times_of(partial(session.read, "policies"), trace, way)
        loads.append((trace, way, times, _classes(trace)))
    found = dict.fromkeys(TRIED, False) | {"read_on_arrival": True, "almost_hits": True}

    @cache
    def misfit_of(chosen: tuple[bool, ...]) -> float:
        values = dict(zip(TRIED, chosen, strict=True))
        total = 0.0
        for trace, way, target, classes in loads:
            runs = simulate(values, trace, way).reshape(-1, len(target))
            for c in classes:
                most = float(np.quantile(target[c], _COUNTS))
                ours = np.minimum(runs[:, c], most)
                total += _score(np.minimum(target[c], most), ours) * float(c.mean())
        return total

    def misfit(values: dict[str, bool]) -> float:
        return misfit_of(tuple(values[name] for name in TRIED))

    best, told = misfit(found), set()
    for _ in range(2):
        for name in TRIED:
            other = {**found, name: not found[name]}
            reached = misfit(other)
            if abs(reached - best) > _CLEARLY * abs(best):
                told.add(name)
            if reached < best:
                found, best = other, reached
    reads = sum(len(target) for _, _, target, _ in loads)
    return Policies(found, tuple(n for n in TRIED if n in told), best, reads)


def _score(target: Floats, runs: Floats) -> float:
    """Return the mean score of reads' times, of which each run has one."""
    off = np.abs(runs - target).mean()
    apart = np.abs(runs[:, None] - runs).mean() * len(runs) / max(1, len(runs) - 1)
    return float(off - apart / 2)


def _classes(trace: Trace) -> list[NDArray[np.bool_]]:
    """Return which reads follow another and which do not, large and small ones apart."""
    lbas, blocks = np.array(trace.lbas), np.array(trace.blocks)
    follows = np.concatenate([[False], lbas[1:] == lbas[:-1] + blocks[:-1]])
    large = blocks > np.median(blocks)
    each = [follows & large, follows & ~large, ~follows & large, ~follows & ~large]
    return [c for c in each if c.any()]
