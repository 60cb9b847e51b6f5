"""Synchronized spindles: the angle of a block on each drive, and the wait of an array for it.

A read of one block on each of N drives ends when the last drive has turned to its block. If the
block has the same angle on all drives and the spindles are synchronized, the mean wait is half a
revolution. If the angles are independent of each other, it is N/(N+1).
"""

import numpy as np
from numpy.typing import NDArray

from headstack.drives.population import Population

Floats = NDArray[np.float64]

#: Distance and number of positions; at this distance their angles are spread evenly.
STEP_BYTES, POSITIONS = 61_234_176, 3000


def angles(drawn: Population, rotation_s: float) -> Floats:
    """Return the angle in turns of positions of each drive, shaped (drives, positions).

    The angle is that of the platter during a sweep which begins at the first byte and at angle 0.
    """
    last = min(STEP_BYTES * POSITIONS, drawn.capacity_bytes)
    rates = drawn.sweep(STEP_BYTES, 0, last, noise=False)[:, 0]
    # A factor on times is not a slower spindle: it stands for retries and pauses of whole turns.
    turns = np.cumsum(STEP_BYTES / rates, axis=1) / (rotation_s * drawn.factors[:, None])
    return np.asarray(turns % 1.0)


def largest_wait(places: Floats, width: int, *, synchronized: bool, seed: int = 0) -> float:
    """Return the mean over positions and times of the longest wait of `width` drives, in turns.

    Args:
        places: angles, shaped (drives, positions).
        width: number of drives of an array.
        synchronized: whether their spindles are synchronized.
        seed: seed of the choice of drives and phases.
    """
    random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(width,))))
    count = places.shape[1]
    drives = np.argsort(random.random((count, len(places))), axis=1)[:, :width]
    stand = places[drives, np.arange(count)[:, None]]
    phases = random.random((count, 1 if synchronized else width))
    # The time of arrival is uniform too: every position is read at eight times.
    waits = [((stand - phases - k / 8) % 1.0).max(axis=1).mean() for k in range(8)]
    return float(np.mean(waits))
