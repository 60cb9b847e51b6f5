"""Striping over unequal drives: the rate of an array that reads stripes in lock-step.

An array in lock-step begins a stripe when all drives have ended the one before. A drive may run
ahead only within a stripe, so a larger unit averages over more of its heads. A drive is given by
the time that it needs for each number of bytes, from a sweep without noise.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headstack.errors import ConfigError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sweeps:
    """The times at which drives have read certain numbers of bytes.

    Attributes:
        block_bytes: bytes of a block of the sweep.
        until_s: time at which each drive has read 0, 1, 2, ... blocks, shaped (drives, blocks + 1).
    """

    block_bytes: int
    until_s: Floats

    @classmethod
    def of(cls, rates: Floats, block_bytes: int) -> "Sweeps":
        """Return those of sweeps whose block rates (drives, blocks) are in bytes/s."""
        until = np.cumsum(block_bytes / rates, axis=1)
        return cls(block_bytes, np.pad(until, ((0, 0), (1, 0))))

    def __len__(self) -> int:
        """Return the number of drives."""
        return len(self.until_s)

    @property
    def span_bytes(self) -> int:
        """Bytes that each drive has read at the end."""
        return int(self.block_bytes * (self.until_s.shape[1] - 1))

    def rates(self) -> Floats:
        """Return bytes over time of each drive."""
        return np.asarray(self.span_bytes / self.until_s[:, -1])

    def at(self, drive: int, offset_bytes: Floats) -> Floats:
        """Return when a drive has read a number of bytes; within a block, in proportion."""
        edges = np.arange(self.until_s.shape[1], dtype=np.float64) * self.block_bytes
        return np.asarray(np.interp(offset_bytes, edges, self.until_s[drive]))

    def part(self, drives: slice) -> "Sweeps":
        """Return some of the drives."""
        return Sweeps(self.block_bytes, self.until_s[drives])

    def whole(self, unit_bytes: int) -> "Sweeps":
        """Return the sweeps up to the last whole unit, so that rates are of the same bytes."""
        step = unit_bytes // self.block_bytes
        blocks = (self.until_s.shape[1] - 1) // step * step
        return Sweeps(self.block_bytes, self.until_s[:, : blocks + 1])


def sum_of_rates(sweeps: Sweeps) -> float:
    """Return the rate of all drives together if none waits, bytes/s."""
    return float(sweeps.rates().sum())


def n_times_slowest(sweeps: Sweeps) -> float:
    """Return the number of drives times the rate of the slowest, bytes/s."""
    return len(sweeps) * float(sweeps.rates().min())


def lock_step(sweeps: Sweeps, unit_bytes: int, *, parity: int = 0) -> float:
    """Return the rate of user data of an array in lock-step, bytes/s.

    Args:
        sweeps: sweeps of its drives.
        unit_bytes: bytes of a stripe on each drive; a multiple of the sweeps' block.
        parity: number of units of a stripe that hold no user data; they are read too.

    Raises:
        ConfigError: the unit is no multiple of the block, or is larger than the sweep.
    """
    step, rest = divmod(unit_bytes, sweeps.block_bytes)
    if rest or not 1 <= step < sweeps.until_s.shape[1]:
        raise ConfigError(
            f"stripe unit: got {unit_bytes} bytes, need a multiple of {sweeps.block_bytes} of at "
            f"most {sweeps.span_bytes}"
        )
    if not 0 <= parity < len(sweeps):
        raise ConfigError(f"parity: got {parity} units, need 0 to {len(sweeps) - 1}")
    ends = sweeps.until_s[:, ::step]
    slowest = np.diff(ends, axis=1).max(axis=0).sum()
    stripes = ends.shape[1] - 1
    return float((len(sweeps) - parity) * stripes * unit_bytes / slowest)


def weighted(sweeps: Sweeps, stripe_bytes: float, periods: int = 1) -> float:
    """Return the rate of an array whose units are in proportion to each drive's measured rate.

    Args:
        sweeps: sweeps of its drives.
        stripe_bytes: bytes of all units of a stripe together.
        periods: number of equal parts of the range; the rates are measured again in each.
    """
    span, count = sweeps.span_bytes, len(sweeps)
    window = span / periods
    done, time = 0.0, 0.0
    place = np.zeros(count)
    for _ in range(periods):
        if (place >= span).any():
            break
        speed = _speeds(sweeps, place, window)
        units = stripe_bytes * speed / speed.sum()
        # As many stripes as the window and the drives have room for.
        stripes = int(min(window * count / stripe_bytes, float(((span - place) / units).min())))
        if stripes < 1:
            break
        steps = place[:, None] + units[:, None] * np.arange(stripes + 1)
        ends = np.stack([sweeps.at(i, steps[i]) for i in range(count)])
        time += float(np.diff(ends, axis=1).max(axis=0).sum())
        done += stripes * float(units.sum())
        place = steps[:, -1]
    if not done:
        raise ConfigError(f"stripe: got {stripe_bytes:.0f} bytes, need at most what is read in a period")
    return done / time


def _speeds(sweeps: Sweeps, place: Floats, window: float) -> Floats:
    """Return each drive's rate over a window from its place on."""
    ends = np.minimum(place + window, sweeps.span_bytes)
    pairs = np.stack([place, ends], axis=1)
    took = [float(np.diff(sweeps.at(i, pair))[0]) for i, pair in enumerate(pairs)]
    return np.asarray((ends - place) / np.array(took))


def rotated(sweeps: Sweeps, unit_bytes: int) -> float:
    """Return the rate in lock-step if drive i begins i/N of the range further on.

    So the drives of a stripe are in different zones.
    """
    step = unit_bytes // sweeps.block_bytes
    times = np.diff(sweeps.until_s[:, ::step], axis=1)
    count = times.shape[1]
    moved = np.stack([np.roll(t, -(i * count // len(sweeps))) for i, t in enumerate(times)])
    return float(len(sweeps) * count * unit_bytes / moved.max(axis=0).sum())
