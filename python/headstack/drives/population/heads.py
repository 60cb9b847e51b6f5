"""How heads differ: the widths of their sensors and poles, and their margins of quality.

# Model
The logarithm of a head's width, relative to the nominal head, is ``u = B + D + s N(0, 1)``. B is
common to the drives of a batch, and D to the heads of a drive; the last term differs for each head
and has the standard deviation s. A wide head (u > 0) reads and writes with more signal, so it can
have more bits per inch along the track (BPI); it needs more room, so it has fewer tracks per inch
(TPI). ``q`` is the head's margin of quality (signal-to-noise ratio): the largest difference between
u and the logarithm of its format's width without read errors. With a small probability all heads of
a drive are weak: then D is lower by a uniformly distributed amount.

# Source
E. Krevat, J. Tucek, G. R. Ganger, "Disks Are Like Snowflakes: No Two Are Alike", CMU-PDL-11-102,
section 2, names the properties that differ. The paper gives no distribution. Normal distributions
are chosen; the weak drives were added because these alone never give the paper's slowest drive.
"""

from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstack.errors import ConfigError

Floats = NDArray[np.float64]

#: Bound of logarithms of width. At 1, widths differ by a factor of e, far above any real spread.
_MOST = 1.0

#: The largest number of drives that can be drawn at once.
MOST_DRIVES = 1_000_000

#: Kinds of random streams. Each kind has its own, so more draws of one do not change the others.
_BATCH, _DRIVE, _WEAK, _HEAD, _QUALITY, _FACTOR, _DAMAGE = range(7)


def stream(seed: int, kind: int, *more: int) -> np.random.Generator:
    """Return the random stream of a kind; equal arguments give equal numbers."""
    entropy = np.random.SeedSequence(seed, spawn_key=(kind, *more))
    return np.random.Generator(np.random.PCG64(entropy))


@dataclass(frozen=True)
class HeadModel:
    """Distribution of heads. Widths and margins are natural logarithms of ratios of widths.

    Attributes:
        head_sd: standard deviation among the heads of a drive.
        drive_sd: standard deviation of D, which the heads of a drive have in common.
        batch_sd: standard deviation of B, which the drives of a batch have in common.
        batch_drives: number of successive drives in a batch.
        quality_mean: mean of the margin q.
        quality_sd: standard deviation of q among heads.
        weak_probability: probability that all heads of a drive are narrow.
        weak_least: lower bound of the amount by which these heads are narrower.
        weak_most: upper bound of this amount.
    """

    head_sd: float = 0.035
    drive_sd: float = 0.01
    batch_sd: float = 0.0
    batch_drives: int = 25
    quality_mean: float = 0.03
    quality_sd: float = 0.005
    weak_probability: float = 0.0
    weak_least: float = 0.12
    weak_most: float = 0.18

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            most = MOST_DRIVES if field.name == "batch_drives" else _MOST
            least = 1 if field.name == "batch_drives" else 0
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ConfigError(f"heads.{field.name}: got {value!r}, need a number")
            if not least <= value <= most:
                raise ConfigError(f"heads.{field.name}: got {value:g}, need {least} to {most:g}")
        if self.batch_drives != int(self.batch_drives):
            raise ConfigError(f"heads.batch_drives: got {self.batch_drives:g}, need a whole number")
        if self.weak_least > self.weak_most:
            raise ConfigError(f"heads.weak_least: got {self.weak_least:g}, need at most weak_most, {self.weak_most:g}")

    def drives(self, n: int, seed: int, attempt: int = 0) -> tuple[Floats, NDArray[np.bool_]]:
        """Return B + D of each of `n` drives, and which drives are weak.

        The numbers of a drive do not depend on `n`.
        """
        batches = -(-n // int(self.batch_drives))
        batch = self.batch_sd * stream(seed, _BATCH).standard_normal(batches)
        own = self.drive_sd * stream(seed, _DRIVE, attempt).standard_normal(n)
        chance = stream(seed, _WEAK, attempt).random((n, 2))
        weak = chance[:, 0] < self.weak_probability
        loss = self.weak_least + (self.weak_most - self.weak_least) * chance[:, 1]
        shared = np.repeat(batch, int(self.batch_drives))[:n] + own
        return shared - np.where(weak, loss, 0.0), weak

    def heads(self, shared: Floats, count: int, seed: int, *draw: int) -> "Heads":
        """Return `count` heads for each drive, given the B + D of its heads."""
        shape = (len(shared), count)
        own = self.head_sd * stream(seed, _HEAD, *draw).standard_normal(shape)
        spare = self.quality_sd * stream(seed, _QUALITY, *draw).standard_normal(shape)
        return Heads(shared[:, None] + own, self.quality_mean + spare)

    def document(self) -> dict[str, Any]:
        """Return the parameters by name."""
        return asdict(self)


class Heads(NamedTuple):
    """Heads of drives: widths u and margins q, shaped (drives, heads)."""

    width: Floats
    quality: Floats


def factors(n: int, sd: float, seed: int) -> Floats:
    """Return the factor on all times of each of `n` drives, of mean 1."""
    return np.asarray(1.0 + sd * stream(seed, _FACTOR).standard_normal(n))


def damage_stream(seed: int) -> np.random.Generator:
    """Return the random stream of damaged areas."""
    return stream(seed, _DAMAGE)
