"""Sequential reads of a target in blocks, several times, and what they say of the drive.

# Method
Each block is read by commands of at most 1 MiB, one after the other, as the paper's program did:
the drive reads ahead in the meantime. The time of a block is from the end of the block before to
its own. Medians over the trials leave out what was late. `headstack.probe.sweep_fit` finds zones,
bands and rates of heads.

# Source
Krevat, Tucek and Ganger, "Disks Are Like Snowflakes", CMU-PDL-11-102, section 3.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstack.errors import ConfigError

from . import sweep_fit

Floats = NDArray[np.float64]

#: Largest command, bytes.
_COMMAND = 1 << 20

#: Blocks that take so many times as long as the median of their neighbours are outliers.
_OUTLIER = 1.3


class Sweep(NamedTuple):
    """Rates of blocks.

    Attributes:
        block_bytes: of a block.
        first_byte: of the first block.
        rates: bytes/s, shaped (trials, blocks).
    """

    block_bytes: int
    first_byte: int
    rates: Floats

    @property
    def summary(self) -> dict[str, Any]:
        """Mean rate and its deviations, and blocks that are slow in most trials."""
        each = np.median(self.rates, axis=0)
        around = np.array([np.median(each[max(0, i - 20) : i + 21]) for i in range(len(each))])
        between = self.rates.mean(axis=1)
        return {
            "mean_bytes_per_s": float(self.rates.mean()),
            "deviation_of_blocks": float(each.std()),
            "deviation_of_trials": float(between.std(ddof=1)) if len(between) > 1 else 0.0,
            "outliers": np.flatnonzero(each * _OUTLIER < around).tolist(),
        }


def measure(
    session: Any, block_bytes: int, *, trials: int = 10, first_byte: int = 0, last_byte: int | None = None
) -> Sweep:
    """Read a part of a target, or all of it, in blocks.

    Args:
        session: of the probe, or a target.
        block_bytes: size of a block; a smaller rest at the end is not read.
        trials: number of sweeps.
        first_byte: where to begin.
        last_byte: where to end; None: at the capacity.

    Raises:
        ConfigError: no block fits, or a block is no multiple of a logical block.
    """
    unit = int(session.described["block_bytes"])
    capacity = int(session.described["blocks"]) * unit
    last = capacity if last_byte is None else min(last_byte, capacity)
    count = (last - first_byte) // block_bytes
    if block_bytes % unit or first_byte % unit or block_bytes <= 0:
        raise ConfigError(f"sweep: got blocks of {block_bytes} B, need a multiple of {unit} B")
    if count < 1:
        raise ConfigError(f"sweep: got {last - first_byte} B, need at least {block_bytes} B")
    size = min(_COMMAND, block_bytes)
    starts = np.arange(0, block_bytes, size)
    sizes = np.minimum(size, block_bytes - starts) // unit
    lbas = (first_byte + np.arange(count)[:, None] * block_bytes + starts) // unit
    rates = np.empty((trials, count))
    for trial in range(trials):
        issued, done, _ = session.read("sweep", lbas.ravel().tolist(), np.tile(sizes, count).tolist(), fua=False)
        ends = np.asarray(done).reshape(count, -1).max(axis=1)
        rates[trial] = block_bytes * 1e9 / np.diff(ends, prepend=np.asarray(issued)[0])
    return Sweep(block_bytes, first_byte, rates)


def inferred(whole: Sweep, fine: Sweep, *, surfaces: int | None = None, step: float | None = None) -> sweep_fit.Found:
    """Return zones, bands and heads from a sweep with large blocks and one with small blocks.

    The number of heads is looked for in the small blocks unless it is given.
    """
    return sweep_fit.infer(
        whole.rates, whole.block_bytes, surfaces=surfaces, fine=(fine.rates, fine.block_bytes),
        step=step,
    )  # fmt: skip
