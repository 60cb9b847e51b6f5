"""The four sets of drives of the paper, drawn, and how often a drawn set is like the paper's."""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstack.drives import population, streaming
from headstack.drives.population import FIRST_QUARTER, Population

Floats = NDArray[np.float64]

#: The sets, by the paper's years.
CLASSIC, DIAMONDS, SPREAD, ENTERPRISE = (
    "cheetah-10k6-2002",
    "barracuda-7200.9-2006",
    "barracuda-es2-2008",
    "wd-re3-2009",
)

#: Bytes of a block of the paper's sweeps ("128 MB") and of its Figure 4; powers of two are chosen.
BLOCK, SMALL_BLOCK = 128 * 2**20, 12 * 2**20

#: Sweeps of each drive.
TRIALS = 10

#: Number of sets from which the share of sets like the paper's is computed.
SEEDS = 200

#: What the paper states of its drives of 2008: mean and deviation in MB/s, extremes in per cent.
MEAN, DEVIATION, SLOWEST, FASTEST = 105.0, 4.4, -14.5, 5.8


class Spread(NamedTuple):
    """Averages of drives over the first quarter.

    Attributes:
        mean: mean over drives, MB/s.
        deviation: sample standard deviation, MB/s.
        slowest: the slowest drive against the mean, per cent, negative.
        fastest: the fastest one, per cent.
    """

    mean: float
    deviation: float
    slowest: float
    fastest: float

    @property
    def accepted(self) -> bool:
        """Whether a set of 2008 is like the paper's: mean, deviation and both extremes."""
        return (
            abs(self.mean / MEAN - 1) < 0.01
            and abs(self.deviation / DEVIATION - 1) < 0.2
            and abs(self.slowest - SLOWEST) < 3
            and abs(self.fastest - FASTEST) < 1.5
        )


@dataclass(frozen=True)
class Changes:
    """Changes of the set of 2008 for a study.

    Attributes:
        head_sd: standard deviation of the heads of a drive; None: the preset's.
        drive_sd: standard deviation of what they have in common; None: the preset's.
        weak: whether there are weak drives.
        damage: whether there are damaged areas.
    """

    head_sd: float | None = None
    drive_sd: float | None = None
    weak: bool = True
    damage: bool = True


def draw(name: str, n: int | None = None, seed: int = 0, changes: Changes | None = None) -> Population:
    """Draw a set; `changes` are made to its preset."""
    made = changes or Changes()
    preset = population.preset(name)
    heads = preset.heads
    if made.head_sd is not None:
        heads = replace(heads, head_sd=made.head_sd)
    if made.drive_sd is not None:
        heads = replace(heads, drive_sd=made.drive_sd)
    if not made.weak:
        heads = replace(heads, weak_probability=0.0)
    drawn = population.draw(preset, n, seed, heads=heads)
    return drawn if made.damage else drawn.undamaged()


def quarter(drawn: Population) -> int:
    """Return the bytes of the first quarter, in whole blocks."""
    return int(FIRST_QUARTER * drawn.capacity_bytes) // BLOCK * BLOCK


def block_rates(drawn: Population, *, trials: int = 1, noise: bool = False, seed: int = 0) -> Floats:
    """Return rates of the first quarter's blocks in bytes/s (drives, trials, blocks)."""
    return drawn.sweep(BLOCK, 0, quarter(drawn), trials=trials, noise=noise, seed=seed)


def spread(rates: Floats) -> Spread:
    """Return how drives differ; `rates` are of blocks, the drive along the first axis."""
    each = rates.reshape(len(rates), -1).mean(axis=1) / 1e6
    mean = float(each.mean())
    deviation = float(each.std(ddof=1))
    low, high = (100 * (float(v) / mean - 1) for v in (each.min(), each.max()))
    return Spread(mean, deviation, low, high)


@cache
def many(name: str, seeds: int = SEEDS, changes: Changes | None = None) -> tuple[Spread, ...]:
    """Return the spread of sets of many seeds, without noise."""
    return tuple(spread(block_rates(draw(name, None, seed, changes))) for seed in range(seeds))


def closest_seed(seeds: int = SEEDS, changes: Changes | None = None) -> int:
    """Return the seed whose set of 2008 is most like the paper's.

    Sets that meet all four numbers come first; among them, or else among all, the smallest sum of
    relative differences decides. The set is selected, so its four numbers are no evidence.
    """
    found = many(SPREAD, seeds, changes)
    pool = [i for i, s in enumerate(found) if s.accepted] or list(range(len(found)))

    def distance(i: int) -> float:
        paper = (MEAN, DEVIATION, SLOWEST, FASTEST)
        return sum(abs(a / b - 1) for a, b in zip(found[i], paper, strict=True))

    return min(pool, key=distance)


def shares(found: tuple[Spread, ...]) -> dict[str, float]:
    """Return the share of sets that meets each condition, and all of them."""
    count = len(found)
    conditions: dict[str, Any] = {
        "mean within 1 %": lambda s: abs(s.mean / MEAN - 1) < 0.01,
        "deviation within 20 %": lambda s: abs(s.deviation / DEVIATION - 1) < 0.2,
        "slowest drive within 3 points": lambda s: abs(s.slowest - SLOWEST) < 3,
        "fastest drive within 1.5 points": lambda s: abs(s.fastest - FASTEST) < 1.5,
        "all four": lambda s: s.accepted,
    }
    return {name: sum(map(met, found)) / count for name, met in conditions.items()}


def percentile(values: Floats, value: float) -> float:
    """Return the share of values, in per cent, that are not above a value."""
    return 100 * float((np.asarray(values) <= value).mean())


def head_rates(drawn: Population) -> Floats:
    """Return the rate of each head in each zone, bytes/s, shaped (drives, zones, heads).

    Each surface is streamed as a drive of its own.
    """
    n, surfaces = drawn.classes.shape
    one = {**drawn.spec, "geometry": {**drawn.spec["geometry"], "surfaces": 1}}
    one["geometry"]["density"] = one["geometry"]["density"][:1]
    one["geometry"].pop("capacity_blocks", None)
    factors = np.repeat(drawn.factors, surfaces)
    rates = streaming.zone_rates(one, densities=drawn.densities.reshape(n * surfaces, 1, 2), factors=factors)
    return np.asarray(rates.reshape(n, surfaces, -1).transpose(0, 2, 1))
