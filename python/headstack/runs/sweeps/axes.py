"""The points of a sweep: grids, lists that move together, ranges, and samples.

# Model
An axis is one key of the experiment, or several keys that change together, with values: a list, or
a range of numbers that are all plain or all have one unit. A grid has all combinations, the last
axis changes fastest. A sample has `n` points: of a *random* one each coordinate is uniform and
independent; of a *Latin hypercube* each axis is cut into `n` equal strata, and each stratum is used
once, in an order of its own.

# Source
M. D. McKay, R. J. Beckman, W. J. Conover, "A comparison of three methods for selecting values of
input variables in the analysis of output from a computer code", Technometrics 21(2), 1979.

# Validity
The numbers of samples come from `random.Random(seed).random()`, whose sequence Python guarantees.
"""

import itertools
import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headstack import _bridge
from headstack.errors import ConfigError
from headstack.plain import plain, shown, whole
from headstack.suggest import need_one_of

#: Most runs of a sweep, seeds included.
MOST_RUNS = 1_000_000

#: One point: values by dotted key.
Point = dict[str, Any]

#: How points are taken from the axes.
METHODS = "grid", "random", "latin-hypercube"

#: Scales of a range.
SCALES = "linear", "log"


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, all plain or all with one unit.

    Attributes:
        low: the first number.
        high: the last number.
        unit: what stands after each number; empty for plain numbers.
        log: whether steps are equal ratios instead of equal differences.
        whole: whether numbers are rounded to integers.
        steps: number of values in a grid; None if it can only be sampled.
    """

    low: float
    high: float
    unit: str
    log: bool
    whole: bool
    steps: int | None

    def at(self, share: float) -> Any:
        """Return the value at a share of the range, from 0 to 1."""
        if share in (0, 1):  # the ends are as given, not rounded
            number = self.high if share else self.low
        elif self.log:
            number = self.low * (self.high / self.low) ** share
        else:
            number = self.low + (self.high - self.low) * share
        return self._value(number)

    def _value(self, number: float) -> Any:
        if self.whole:
            number = math.floor(number + 0.5)
        if not self.unit:
            return number
        # As many digits as tell two values apart, without exponents, which units do not take.
        text = format(number, ".12g") if abs(math.log10(abs(number) or 1)) < 12 else repr(number)
        return f"{text}{self.unit if self.unit.startswith('/') else ' ' + self.unit}"

    def values(self, where: str) -> list[Any]:
        """Return the values of a grid.

        Raises:
            ConfigError: the range has no number of steps.
        """
        if self.steps is None:
            raise ConfigError(f"{where}.steps: got none, need the number of values, or a [sample] with its n")
        found = [self.at(i / (self.steps - 1)) for i in range(self.steps)]
        return list(dict.fromkeys(found))


@dataclass(frozen=True)
class Axis:
    """One axis of a sweep.

    Attributes:
        keys: the dotted keys that it changes, together.
        values: one tuple for each place, with a value for each key; or a range.
    """

    keys: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...] | Range

    @property
    def name(self) -> str:
        """The keys as one text."""
        return ", ".join(self.keys)

    def places(self, where: str) -> list[Point]:
        """Return the settings of each place of a grid."""
        if isinstance(self.values, Range):
            return [{self.keys[0]: v} for v in self.values.values(where)]
        return [dict(zip(self.keys, v, strict=True)) for v in self.values]

    def at(self, share: float) -> Point:
        """Return the settings at a share of the axis, below 1."""
        if isinstance(self.values, Range):
            return {self.keys[0]: self.values.at(share)}
        chosen = self.values[min(int(share * len(self.values)), len(self.values) - 1)]
        return dict(zip(self.keys, chosen, strict=True))


@dataclass(frozen=True)
class Sample:
    """How many points are drawn, and how.

    Attributes:
        method: one of `METHODS`.
        n: number of points.
        seed: of the random numbers.
    """

    method: str = "grid"
    n: int = 0
    seed: int = 0


def quantity(given: object, where: str) -> tuple[float, str]:
    """Return the number and the unit of an end of a range.

    Raises:
        ConfigError: it is no number, with or without a unit.

    Example:
        >>> quantity("2.5 ms", "x"), quantity("80/s", "x"), quantity(3, "x")
        ((2.5, 'ms'), (80.0, '/s'), (3.0, ''))
    """
    if isinstance(given, int | float) and not isinstance(given, bool):
        return float(given), ""
    found: tuple[float, str] | None = _bridge.call("split_quantity", given) if isinstance(given, str) else None
    if found is None:
        raise ConfigError(f"{where}: got {shown(given)}, need a number, with its unit if it has one")
    return found


def read_range(given: Mapping[str, Any], where: str) -> Range:
    """Return a range from its table: ``from``, ``to``, ``steps``, ``scale``.

    Raises:
        ConfigError: a key is missing or does not fit.
    """
    low, unit = quantity(given.get("from"), f"{where}.from")
    high, other = quantity(given.get("to"), f"{where}.to")
    if unit != other:
        raise ConfigError(f'{where}.to: got the unit "{other}", need "{unit}", the unit of {where}.from')
    scale = given.get("scale", "linear")
    if scale not in SCALES:
        raise ConfigError(need_one_of(f"{where}.scale", str(scale), SCALES))
    if scale == "log" and (low <= 0 or high <= 0):
        raise ConfigError(f"{where}.from: got {low:g} to {high:g}, need both above 0 with scale log")
    if low == high:
        raise ConfigError(f"{where}.to: got {high:g}, need another number than {where}.from")
    steps = given.get("steps")
    steps = None if steps is None else whole(steps, f"{where}.steps", 2)
    integers = all(isinstance(given[k], int) for k in ("from", "to"))
    return Range(low, high, unit, scale == "log", integers, steps)


def read_axis(given: object, where: str) -> Axis:
    """Return an axis from its table: ``key`` or ``keys``, and ``values`` or a range.

    Raises:
        ConfigError: a key is missing, unknown, or does not fit.
    """
    if not isinstance(given, Mapping):
        raise ConfigError(f"{where}: got {shown(plain(given))}, need a table with key and values")
    known = ("key", "keys", "values", "from", "to", "steps", "scale")
    for key in given:
        if key not in known:
            raise ConfigError(need_one_of(where, str(key), known))
    if ("key" in given) == ("keys" in given):
        raise ConfigError(f"{where}: got no key or both key and keys, need one of them")
    keys = [given["key"]] if "key" in given else given["keys"]
    if not isinstance(keys, list) or not keys or not all(isinstance(k, str) and k for k in keys):
        raise ConfigError(f"{where}.keys: got {shown(plain(keys))}, need dotted keys")
    if len(set(keys)) != len(keys):
        raise ConfigError(f"{where}.keys: got one key twice, need it once")
    if ("values" in given) == ("from" in given or "to" in given):
        raise ConfigError(f"{where}: got no values or two kinds, need values, or from and to")
    if "values" not in given:
        if len(keys) > 1:
            raise ConfigError(f"{where}: got a range for {len(keys)} keys, need one key")
        for end in ("from", "to"):
            if end not in given:
                raise ConfigError(f"{where}.{end}: got none, need both ends of the range")
        return Axis(tuple(keys), read_range(given, where))
    for extra in ("steps", "scale"):
        if extra in given:
            raise ConfigError(f"{where}.{extra}: got it beside values, need from and to")
    return Axis(tuple(keys), _values(given["values"], keys, where, several="keys" in given))


def _values(given: object, keys: Sequence[str], where: str, *, several: bool) -> tuple[tuple[Any, ...], ...]:
    values = plain(given, f"{where}.values")
    if not isinstance(values, list) or not values:
        raise ConfigError(f"{where}.values: got {shown(values)}, need a list with at least one value")
    if not several:
        return tuple((v,) for v in values)
    for i, one in enumerate(values):
        if not isinstance(one, list) or len(one) != len(keys):
            raise ConfigError(f"{where}.values[{i}]: got {shown(one)}, need {len(keys)} values, one for each key")
    return tuple(tuple(v) for v in values)


def read_sample(given: object, where: str = "sample") -> Sample:
    """Return how points are drawn, from the table ``sample``: ``method``, ``n``, ``seed``.

    Raises:
        ConfigError: a key is missing, unknown, or does not fit.
    """
    if not isinstance(given, Mapping):
        raise ConfigError(f"{where}: got {shown(plain(given))}, need a table with method and n")
    for key in given:
        if key not in ("method", "n", "seed"):
            raise ConfigError(need_one_of(where, str(key), ("method", "n", "seed")))
    method = given.get("method", "latin-hypercube")
    if method not in METHODS[1:]:
        raise ConfigError(need_one_of(f"{where}.method", str(method), METHODS[1:]))
    n, seed = (whole(given.get(key, 0), f"{where}.{key}", least) for key, least in (("n", 1), ("seed", 0)))
    return Sample(method, n, seed)


def _count(axes: Sequence[Axis], wheres: Sequence[str]) -> list[int]:
    """Return the number of places of each axis, without making them."""
    found = []
    for axis, where in zip(axes, wheres, strict=True):
        if not isinstance(axis.values, Range):
            found.append(len(axis.values))
        elif axis.values.steps is None:
            axis.values.values(where)  # raises
        else:
            found.append(axis.values.steps)
    return found


def points(axes: Sequence[Axis], sample: Sample, n_seeds: int) -> list[Point]:
    """Return the points of a sweep, in order.

    Args:
        axes: at least one.
        sample: how points are taken.
        n_seeds: runs of each point, for the limit on all runs.

    Raises:
        ConfigError: there are too many runs, or two axes change one key.
    """
    keys = [k for axis in axes for k in axis.keys]
    for key in keys:
        if keys.count(key) > 1:
            raise ConfigError(f'axis: got "{key}" on two axes, need it once')
    wheres = [f"axis[{i}]" for i in range(len(axes))]
    grid = sample.method == "grid"
    counts = _count(axes, wheres) if grid else [sample.n]
    total = math.prod(counts) * n_seeds
    if total > MOST_RUNS:
        raise ConfigError(
            f"sweep: got {total:,} runs ({' x '.join(f'{c:,}' for c in counts)} points, "
            f"{n_seeds:,} seeds), need at most {MOST_RUNS:,}; hint: draw points with [sample]"
        )
    combined: Iterable[tuple[Point, ...]]
    if grid:
        places = [axis.places(where) for axis, where in zip(axes, wheres, strict=True)]
        combined = itertools.product(*places)
    else:
        columns = [_column(axis, sample, i) for i, axis in enumerate(axes)]
        combined = zip(*columns, strict=True)
    return [{k: v for part in parts for k, v in part.items()} for parts in combined]


def _column(axis: Axis, sample: Sample, number: int) -> list[Point]:
    """Return the settings of one axis for each point of a sample."""
    # A stream for each axis: a further axis does not change the values of the others.
    draw = random.Random(f"{sample.seed}/{number}").random
    if sample.method == "random":
        return [axis.at(draw()) for _ in range(sample.n)]
    keyed = sorted((draw(), stratum) for stratum in range(sample.n))
    return [axis.at((stratum + draw()) / sample.n) for _, stratum in keyed]
