"""Edges of zones in a sweep: where the mean rate takes a step.

# Method
The step at a boundary of blocks is the difference of the mean logarithm of time between windows on
both sides, which average over the bands of all heads. The largest step is an edge; the parts on
both sides are searched in turn, with windows that end at edges, until no step is large enough.

# Limits
A zone must be longer than twice the shortest window, and the pattern of the heads must average out
over it: blocks should be about as large as a band, or larger.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Blocks of a window, and the fewest that one near an edge may have.
WINDOW, LEAST_WINDOW = 40, 30

#: The smallest step of the logarithm of time that is an edge.
THRESHOLD = 0.015


def zone_edges(times: Floats, *, threshold: float = THRESHOLD) -> list[int]:
    """Return the blocks at which a zone begins, without the first one, in order.

    Args:
        times: of the blocks of a sweep, in order, in s.
        threshold: smallest step of the logarithm of time that is an edge.

    """
    logs = np.log(times)
    sums = np.concatenate([[0.0], np.cumsum(logs)])
    edges: list[int] = []
    parts = [(0, len(logs))]
    while parts:
        begin, end = parts.pop()
        found = _largest(sums, begin, end)
        if found is None or found[1] < threshold:
            continue
        edge = found[0]
        edges.append(edge)
        parts += [(begin, edge), (edge, end)]
    return sorted(edges)


def _largest(sums: Floats, begin: int, end: int) -> tuple[int, float] | None:
    """Return the boundary of the largest step within a part, and the step."""
    at = np.arange(begin + LEAST_WINDOW, end - LEAST_WINDOW + 1)
    if not len(at):
        return None
    left, right = np.maximum(begin, at - WINDOW), np.minimum(end, at + WINDOW)
    before = (sums[at] - sums[left]) / (at - left)
    after = (sums[right] - sums[at]) / (right - at)
    steps = np.abs(after - before)
    best = int(np.argmax(steps))
    return int(at[best]), float(steps[best])
