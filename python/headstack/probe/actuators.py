"""Independent actuators: what the drive declares, and which addresses really are read at once.

# Method
Two reads are sent together, once both to one part of the addresses and once to two parts. One
actuator serves them one after the other; two serve them at the same time, so the later one ends
earlier. Where no ranges are declared the parts are halves, and the boundary is bisected.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .value import Value, exact

Floats = NDArray[np.float64]

#: Pairs of each kind, pairs and steps of the search for the boundary.
_PAIRS, _FEWER, _STEPS = 150, 40, 10

#: Two parts are independent if a pair in both takes less than this share of a pair in one.
_PARALLEL = 0.8


class Actuators(NamedTuple):
    """What was found of actuators.

    Attributes:
        number: independent actuators behind this unit.
        ranges: first block and number of blocks of each.
        ratio: time of a pair in two parts over that of a pair in one part.
    """

    number: Value
    ranges: tuple[tuple[int, int], ...]
    ratio: Value


def measure(session: Any, rng: np.random.Generator) -> Actuators:
    """Measure whether parts of the addresses are read at the same time."""
    blocks = int(session.described["blocks"])
    declared = tuple((int(a), int(b)) for a, b in session.described.get("ranges") or ())
    parts = declared if len(declared) > 1 else ((0, blocks // 2), (blocks // 2, blocks // 2))
    one = _pairs(session, rng, parts[0], parts[0], _PAIRS)
    two = _pairs(session, rng, parts[0], parts[1], _PAIRS)
    ratio = _ratio(two, one, rng)
    parallel = float(ratio.value) < _PARALLEL
    if not parallel:
        # A declared range that is not served by an arm of its own is none.
        return Actuators(exact(1, "actuators", 4 * _PAIRS), ((0, blocks),), ratio)
    if len(declared) > 1:
        return Actuators(exact(len(declared), "actuators", 4 * _PAIRS), declared, ratio)
    boundary = _boundary(session, rng, blocks, float(np.median(one)) * _PARALLEL)
    return Actuators(exact(2, "actuators", 4 * _PAIRS), ((0, boundary), (boundary, blocks - boundary)), ratio)


def _pairs(session: Any, rng: np.random.Generator, a: tuple[int, int], b: tuple[int, int], count: int) -> Floats:
    """Return the times after which both reads of pairs are done, s."""
    block = session.sector_blocks
    taken = []
    for _ in range(count):
        lbas = [int(f + rng.integers(0, max(1, n // block - 1)) * block) for f, n in (a, b)]
        issued, done, _ = session.read("actuators", lbas, together=True)
        taken.append((max(done) - min(issued)) / 1e9)
    return np.array(taken)


def _ratio(two: Floats, one: Floats, rng: np.random.Generator) -> Value:
    """Return the ratio of medians, with the interval of resampled ones."""
    draws = [float(np.median(rng.choice(two, len(two))) / np.median(rng.choice(one, len(one)))) for _ in range(200)]
    low, high = np.percentile(draws, [2.5, 97.5])
    value = float(np.median(two) / np.median(one))
    return Value(value, float(low), float(high), "measured", 2 * (len(one) + len(two)), "actuators")


def _boundary(session: Any, rng: np.random.Generator, blocks: int, limit_s: float) -> int:
    """Return the first block of the second part."""
    low, high = 0, blocks

    def with_first(at: int) -> bool:
        span = max(blocks // 64, session.sector_blocks)
        near = (max(0, min(at, blocks - span)), span)
        taken = _pairs(session, rng, (0, blocks // 16), near, _FEWER)
        return float(np.median(taken)) > limit_s

    for _ in range(_STEPS):
        middle = (low + high) // 2
        if with_first(middle):
            low = middle
        else:
            high = middle
    return (low + high) // 2
