"""Synchronized spindles: where a block stands on each drive, and how long an array waits for it.

A read of one block on each of N drives ends when the last drive has turned to it. If the block
stands at one angle on all drives and spindles turn as one, that is half a revolution on average;
if angles have nothing to do with each other, N/(N+1).
"""

import numpy as np
from numpy.typing import NDArray

from headstack.population import Population

Floats = NDArray[np.float64]

#: Positions are taken so far apart that their angles are spread evenly.
STEP_BYTES, POSITIONS = 61_234_176, 3000


def angles(drawn: Population, rotation_s: float) -> Floats:
    """Return the angle in turns of positions of each drive, shaped (drives, positions).

    A sweep from the first byte on turns the platter by its time; it begins at angle 0.
    """
    last = min(STEP_BYTES * POSITIONS, drawn.capacity_bytes)
    rates = drawn.sweep(STEP_BYTES, 0, last, noise=False)[:, 0]
    # Factors on times are no slower spindles: retries and pauses of whole turns.
    turns = np.cumsum(STEP_BYTES / rates, axis=1) / (rotation_s * drawn.factors[:, None])
    return np.asarray(turns % 1.0)


def largest_wait(places: Floats, width: int, *, synchronized: bool, seed: int = 0) -> float:
    """Return the mean over positions and times of the longest wait of `width` drives, in turns.

    Args:
        places: angles, shaped (drives, positions).
        width: drives of an array.
        synchronized: whether their spindles turn as one.
        seed: of the choice of drives and phases.

    """
    random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(width,))))
    count = places.shape[1]
    drives = np.argsort(random.random((count, len(places))), axis=1)[:, :width]
    stand = places[drives, np.arange(count)[:, None]]
    phases = random.random((count, 1 if synchronized else width))
    # The time of arrival is uniform too: every position is asked for at eight of them.
    waits = [((stand - phases - k / 8) % 1.0).max(axis=1).mean() for k in range(8)]
    return float(np.mean(waits))
