"""Goals: what a system must reach to be an answer, as in ``p99=20ms`` or ``mean<8ms, power<12W``.

A goal is one bound, or several with commas between them; a system meets it if it keeps all of
them. The mark ``=`` means at most, as ``<`` and ``<=`` do. ``read.p99<15ms`` is about reads alone.
What can be bounded: ``mean``, ``p50``, ``p90``, ``p95``, ``p99``, ``p999`` (99.9 %), ``p9999`` and
``max`` of the response time, and ``power``, the mean power of the drives. ``iops>200`` is a least
throughput.

Example:
    >>> goal = parse("p99=20ms, power<12W")
    >>> str(goal)
    'p99 <= 20 ms, power <= 12 W'
    >>> system = {"n_requests": 9, "response_time_s": {"p99": 0.015}, "power_w": {"mean": 13.0}}
    >>> met(goal, system)
    False
    >>> [bound.shown(bound.value(system)) for bound in goal]
    ['15.00 ms', '13.00 W']
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from headstack import _bridge
from headstack.errors import ConfigError
from headstack.results.paired import interval
from headstack.suggest import need_one_of

#: Measures of the response time: the key in results.
TIMES = ("mean", "p50", "p90", "p95", "p99", "p999", "p9999", "max")

#: Other spellings of measures.
_ALSO = {"p99.9": "p999", "p99.99": "p9999", "avg": "mean", "median": "p50", "watts": "power"}

#: Operations of which a response time can be bounded apart.
OPERATIONS = ("read", "write", "flush")

#: Every measure, with the kind of quantity that bounds it.
_KINDS = {**dict.fromkeys(TIMES, "time"), "power": "power", "iops": "frequency"}

_BOUND = re.compile(r"\s*(?:(\w+)\.)?([A-Za-z]\w*(?:\.\d+)?)\s*(<=|>=|[=<>])\s*([^=<>]*?)\s*")

#: The form of a goal, for messages.
FORM = 'a goal such as "p99=20ms", "mean<8ms, power<12W" or "read.p99<15ms"'


class Bound(NamedTuple):
    """One bound of a goal."""

    #: One of `OPERATIONS`, or None: all requests.
    operation: str | None
    #: One of `TIMES`, ``power`` or ``iops``.
    measure: str
    #: The bound in seconds, watts or requests per second.
    limit: float

    @property
    def name(self) -> str:
        """What is bounded, as in ``read.p99``."""
        return f"{self.operation}.{self.measure}" if self.operation else self.measure

    @property
    def at_least(self) -> bool:
        """Whether a system must reach the limit rather than stay below it."""
        return self.measure == "iops"

    @property
    def unit(self) -> str:
        """The unit in which values are shown."""
        return "ms" if self.measure in TIMES else {"power": "W"}.get(self.measure, "IOPS")

    def value(self, system: Mapping[str, Any]) -> float | None:
        """Return what a system of a result document has; None if there is no such number."""
        part = system
        if self.operation is not None:
            part = (system.get("operations") or {}).get(self.operation) or {}
        if self.measure in TIMES:
            found = (part.get("response_time_s") or {}).get(self.measure)
        elif self.measure == "power":
            found = (system.get("power_w") or {}).get("mean")
        else:
            found = part.get("throughput_iops")
        return None if found is None else float(found)

    def kept(self, value: float) -> bool:
        """Return whether a value is within the bound."""
        return value >= self.limit if self.at_least else value <= self.limit

    def shown(self, value: float) -> str:
        """Return a value with its unit, as tables show it."""
        return f"{self.number(value)} {self.unit}"

    def number(self, value: float) -> str:
        """Return a value as tables show it under a heading with the unit."""
        scale, digits = (1e3, 2) if self.unit == "ms" else (1.0, 2 if self.unit == "W" else 1)
        return f"{value * scale:,.{digits}f}"

    def __str__(self) -> str:
        """Return the bound as it can be parsed again."""
        scale = 1e3 if self.unit == "ms" else 1.0
        mark = ">=" if self.at_least else "<="
        return f"{self.name} {mark} {self.limit * scale:.12g} {self.unit}"


class Goal(tuple[Bound, ...]):
    """The bounds of a goal; `str` gives the text that `parse` reads."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return the goal as it can be parsed again."""
        return ", ".join(map(str, self))


def parse(text: object, where: str = "goal") -> Goal:
    """Return the goal that a text states.

    Args:
        text: as in the description of this module; a `Goal` is returned as it is.
        where: name of the option or key, for messages.

    Raises:
        ConfigError: it is no goal.
    """
    if isinstance(text, Goal):
        return text
    if not isinstance(text, str) or not text.strip():
        raise ConfigError(f"{where}: got {text!r}, need {FORM}")
    bounds = [_bound(part, where) for part in re.split(r",|\band\b", text)]
    names = [b.name for b in bounds]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise ConfigError(f'{where}: got "{twice}" twice, need it once')
    return Goal(bounds)


def _bound(text: str, where: str) -> Bound:
    found = _BOUND.fullmatch(text)
    if found is None:
        raise ConfigError(f'{where}: got "{text.strip()}", need {FORM}')
    operation, measure, mark, limit = found.groups()
    # `p99.9` without an operation, and `read.p99.9` with one.
    measure = _ALSO.get(measure.lower(), measure.lower())
    if measure not in _KINDS:
        raise ConfigError(need_one_of(f"{where}: measure", measure, _KINDS))
    if operation is not None and operation not in OPERATIONS:
        raise ConfigError(need_one_of(f"{where}: operation", operation, OPERATIONS))
    if operation is not None and measure == "power":
        raise ConfigError(f'{where}: got "{operation}.power", need power: it is of all requests')
    # A rate may be a plain number.
    plain = measure == "iops" and (split := _bridge.call("split_quantity", limit)) is not None and not split[1]
    value = _bridge.quantity(_KINDS[measure], f"{limit}/s" if plain else limit, f"{where}: {measure}")
    if value <= 0:
        raise ConfigError(f'{where}: {measure}: got "{limit}", need a number above 0')
    bound = Bound(operation, measure, value)
    if mark != "=" and mark.startswith(">") != bound.at_least:
        need = ">" if bound.at_least else "<"
        raise ConfigError(f'{where}: {bound.name}: got "{mark}", need "{need}" or "="')
    return bound


def of(document: Mapping[str, Any]) -> Goal | None:
    """Return the goal of a result document; None if its experiment has none."""
    text = (document.get("experiment") or {}).get("goal")
    return None if text is None else parse(text)


def met(goal: Goal, system: Mapping[str, Any]) -> bool | None:
    """Return whether a system of a result document meets a goal; None if it cannot be said.

    It cannot be said if the system lacks one of the numbers and keeps the other bounds. A system
    that cannot keep up with its requests (`overloaded`) meets no bound of a time: its times grow
    with the length of the run. One that failed all its requests meets none either.

    With several seeds (`headstack.runs.replications`) the bounds are of the means over them, and it
    cannot be said either if a bound lies within the 95 % interval of its mean.
    """
    seeds = system.get("over_seeds") or [system]
    if all(one.get("n_requests") and one.get("n_errors") == one.get("n_requests") for one in seeds):
        return False
    found = [_kept(bound, seeds) for bound in goal]
    return False if False in found else None if None in found else True


def _kept(bound: Bound, seeds: Sequence[Mapping[str, Any]]) -> bool | None:
    """Return whether a bound is kept with several seeds, or one; None if it cannot be said."""
    known = [value for one in seeds if (value := bound.value(one)) is not None]
    if len(known) < len(seeds):
        return None
    middle, half = interval(known, 0.0)
    ends = {bound.kept(middle - half), bound.kept(middle + half)}
    if bound.measure in TIMES:
        late = {not one.get("overloaded") for one in seeds}
        ends = late if late == {False} else ends | (late - {True})
    return ends.pop() if len(ends) == 1 else None


class Headroom(NamedTuple):
    """Up to which load a system meets a goal."""

    #: The greatest load at which it was seen to meet the goal, in times the given one; 0: none.
    meets: float
    #: The least load above it at which it was seen to miss the goal; infinite: none up to `MOST`.
    misses: float
    #: Number of runs.
    n_runs: int


#: The greatest and the least load that are tried, in times the given one.
MOST, LEAST = 64.0, 1 / 64.0


def headroom(meets: Callable[[float], bool], *, at_one: bool | None = None, precision: float = 0.02) -> Headroom:
    """Return at which load a goal stops to be met, by bisection of the load.

    First the load is doubled or halved until the answer changes, then bisected in equal ratios. If
    the answer changes several times with the load, one of the changes is found.

    Args:
        meets: returns whether the goal is met at a load, in times the given one.
        at_one: the answer for 1, if it is known.
        precision: the ratio of the two loads returned is at most one plus this.

    Example:
        >>> found = headroom(lambda load: load < 3)
        >>> found.meets < 3 <= found.misses < found.meets * 1.02
        True
    """
    runs = 0

    def ask(load: float) -> bool:
        nonlocal runs
        runs += 1
        return meets(load)

    good = ask(1.0) if at_one is None else at_one
    low = high = 1.0
    if good:
        while good and high < MOST:
            low, high = high, high * 2
            good = ask(high)
        if good:
            return Headroom(high, math.inf, runs)
    else:
        while not good and low > LEAST:
            high, low = low, low / 2
            good = ask(low)
        if not good:
            return Headroom(0.0, low, runs)
    while high > low * (1 + precision):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if ask(middle) else (low, middle)
    return Headroom(low, high, runs)
