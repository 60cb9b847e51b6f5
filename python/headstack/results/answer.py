"""The answer of a result: one sentence and a ranking of its systems at a goal.

With a goal, the systems that meet it come first, the one with the least power at their head.
Without one, the system with the lowest 99th percentile of the response time does. A system that ran
several workloads counts with the worst number of all of them.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from headstack import _bridge
from headstack.errors import ConfigError
from headstack.results import goal as goals
from headstack.results.goal import Bound, Goal
from headstack.results.paired import interval
from headstack.runs import replications
from headstack.show import table
from headstack.show.table import Column

#: Most systems that the sentence names.
_MOST_NAMED = 3

#: What helps where the interval over seeds is too wide.
_MORE_SEEDS = "more seeds may"

#: Most different drives of a system for which the capacity is computed.
_MOST_DRIVES = 32

#: Verdicts in words; the last: a bound lies within the interval of the mean over seeds.
MEETS, MISSES, UNKNOWN, UNSURE = "yes", "no", "unknown", "unsure"


class Ranked(NamedTuple):
    """A system of a result with what its ranking depends on."""

    name: str
    #: Its entry in the result document for each workload.
    runs: Sequence[Mapping[str, Any]]
    #: Its table in the experiment; empty if the document has none.
    given: Mapping[str, Any]
    #: Whether it meets the goal on all workloads; None: it cannot be said, or there is no goal.
    meets: bool | None

    def worst(self, bound: Bound) -> float | None:
        """Return the worst value of all workloads; None if one of them has none."""
        found = self.interval(bound)
        return None if found is None else found[0]

    def interval(self, bound: Bound) -> tuple[float, float] | None:
        """Return the worst mean over seeds of all workloads, and half of its 95 % interval.

        None if a number is missing; half is 0 for one seed.
        """
        found = []
        for run in self.runs:
            values = [bound.value(one) for one in run.get("over_seeds") or [run]]
            known = [v for v in values if v is not None]
            if len(known) < len(values):
                return None
            found.append(interval(known, 0.0))
        return min(found) if bound.at_least else max(found)

    def unsure(self, goal: Goal) -> bool:
        """Return whether all numbers are known, but are too near the goal to say if it is met."""
        return self.meets is None and all(self.interval(bound) is not None for bound in goal)

    @property
    def overloaded(self) -> bool:
        """Whether it cannot keep up with a workload, with one of the seeds at least."""
        return any(one.get("overloaded") for run in self.runs for one in run.get("over_seeds") or [run])

    @property
    def watts(self) -> float | None:
        """The mean power of the workload that needs most, in watts."""
        return self.worst(_POWER)

    @property
    def capacity_bytes(self) -> int | None:
        """The usable capacity, see `usable_bytes`."""
        return usable_bytes(self.runs[0], self.given)

    @property
    def headroom(self) -> tuple[float, float] | None:
        """The greatest load that meets the goal and the least that misses it, where asked for."""
        found = [run["headroom"] for run in self.runs if run.get("headroom")]
        if not found:
            return None
        least = min(found, key=lambda h: float(h["meets"]))
        return float(least["meets"]), float(least["misses"] or math.inf)


_POWER = Bound(None, "power", math.inf)
_P99 = Bound(None, "p99", math.inf)
_MEAN = Bound(None, "mean", math.inf)


def ranking(document: Mapping[str, Any], goal: Goal | None = None) -> list[Ranked]:
    """Return the systems of a result document, the best answer first.

    Args:
        document: a result document.
        goal: instead of the goal of its experiment.
    """
    goal = goals.of(document) if goal is None else goal
    grouped: dict[str, list[Mapping[str, Any]]] = {}
    tables: dict[str, Mapping[str, Any]] = {}
    systems = document["systems"]
    for i, (name, system) in enumerate(zip(table.names(systems), systems, strict=True)):
        grouped.setdefault(name, []).append(system)
        tables.setdefault(name, given(document, i))
    ranked = [Ranked(name, runs, tables[name], _all_meet(goal, runs)) for name, runs in grouped.items()]
    return sorted(ranked, key=lambda one: _order(one, goal))


def none_meets(document: Mapping[str, Any]) -> bool:
    """Return whether a result has a goal and all its systems surely miss it."""
    ranked = ranking(document) if goals.of(document) is not None else []
    return bool(ranked) and all(one.meets is False for one in ranked)


def given(document: Mapping[str, Any], i: int) -> Mapping[str, Any]:
    """Return the table of the experiment for entry `i` of the systems of a result document.

    Every system is there once for each workload. Without an experiment the table is empty.
    """
    experiment = document.get("experiment") or {}
    systems, workloads = experiment.get("system") or (), experiment.get("workload") or ()
    at = i // len(workloads) if workloads else 0
    return systems[at] if at < len(systems) else {}


def _shown(found: tuple[float, float], number: Callable[[float], str]) -> str:
    """Return a mean and half of its interval, which is left out if its digits are all 0."""
    middle, half = map(number, found)
    return f"{middle} ± {half}" if half.strip("0.,") else middle


def _all_meet(goal: Goal | None, runs: Sequence[Mapping[str, Any]]) -> bool | None:
    if goal is None:
        return None
    found = [goals.met(goal, run) for run in runs]
    return False if False in found else None if None in found else True


def _order(one: Ranked, goal: Goal | None) -> tuple[float, ...]:
    """Return what the ranking sorts by; Python keeps the order of the file among equals."""
    if goal is None:
        return (_or_last(one.worst(_P99)),)
    if one.meets:
        return (0, _or_last(one.watts))
    return (1 if one.meets is None else 2, _distance(one, goal))


def _or_last(value: float | None) -> float:
    return math.inf if value is None else value


def _distance(one: Ranked, goal: Goal) -> float:
    """Return how many times the worst of its bounds is exceeded."""
    ratios = []
    for bound in goal:
        value = one.worst(bound)
        if value is not None:
            over = (bound.limit, value) if bound.at_least else (value, bound.limit)
            ratios.append(over[0] / over[1] if over[1] > 0 else math.inf)
    return max(ratios, default=math.inf)


@cache
def _units_of(description: str) -> list[int] | None:
    """Return the sizes of a drive's logical units in blocks, by its description as JSON."""
    from headstack import drives

    try:
        units: list[int] = drives.described(json.loads(description), "drive")["logical_unit_blocks"]
    except ConfigError:
        return None  # a result of another version
    return units


def usable_bytes(system: Mapping[str, Any], given: Mapping[str, Any]) -> int | None:
    """Return the capacity of a system for data, without copies and parity.

    None if it is not known: for many unlike drives, and for results without descriptions of drives.

    Args:
        system: its entry in a result document.
        given: its table in the experiment.
    """
    parts = system.get("drive") or []
    if not parts or len(parts) > _MOST_DRIVES:
        return None
    each: list[list[int]] = []
    for part in parts:
        units = _units_of(json.dumps(part.get("description") or {}, sort_keys=True))
        if units is None:
            return None
        each += [units] * int(part.get("count", 1))
    return capacity(given, each)


def capacity(given: Mapping[str, Any], drives: list[list[int]]) -> int | None:
    """Return the bytes for data of drives in the system of a table; None if its layers do not fit them.

    Args:
        given: its table in an experiment.
        drives: the sizes of each drive's logical units in blocks.
    """
    layers = [given.get("organisation") or "independent", *(given.get("layers") or ())]
    try:
        size: int = _bridge.call("usable_bytes", json.dumps(layers), drives)
    except ConfigError:
        return None
    return size


def _usd(one: Ranked) -> tuple[float, float] | None:
    """Return the price of a system; None if it has none, or only the cost of material in 2008."""
    cost = one.runs[0].get("cost_usd") or {}
    low, high = cost.get("low"), cost.get("high")
    if low is None or high is None or cost.get("price_kind") == "components":
        return None
    return float(low), float(high)


def _per_tb(one: Ranked, value: float | None) -> float | None:
    size = one.capacity_bytes
    return None if value is None or not size else value * 1e12 / size


def _usd_per_tb(one: Ranked) -> tuple[float, float] | None:
    price = _usd(one)
    if price is None:
        return None
    low, high = (_per_tb(one, usd) for usd in price)
    return None if low is None or high is None else (low, high)


def _range(form: str) -> Callable[[tuple[float, float]], str]:
    def shown(price: tuple[float, float]) -> str:
        low, high = (form.format(usd) for usd in price)
        return low if low == high else f"{low}-{high}"

    return shown


def _times(load: tuple[float, float]) -> str:
    if load[0] == 0:
        return f"< {load[1]:.2g}x"
    return f"> {load[0]:.3g}x" if math.isinf(load[1]) else f"{load[0]:.3g}x"


def columns(document: Mapping[str, Any], goal: Goal | None = None) -> list[Column]:
    """Return the columns of the ranking for which there are values; their cells are of `Ranked`."""
    goal = goals.of(document) if goal is None else goal
    ranked = ranking(document, goal)
    bounds = list(goal) if goal else [_MEAN, _P99]
    found = [Column("system", lambda one: one.name, text=True)]
    found += [_measure(bound) for bound in bounds]
    if goal:
        found.append(Column("goal", _verdict(goal), about="whether the system meets the goal"))
    found += [
        Column(
            "up to",
            lambda one: one.headroom,
            _times,
            optional=True,
            about="the load, in times this one, up to which it meets the goal",
        ),
        Column(
            "TB",
            lambda one: one.capacity_bytes,
            lambda size: f"{size / 1e12:,.1f}" if size >= 1e12 else f"{size / 1e12:.3f}",
            optional=True,
            about="capacity for data, without copies and parity",
        ),
        Column(
            "W",
            lambda one: one.watts,
            _POWER.number,
            optional=True,
            mark=lambda one: table.DEFAULT if table.lacks(one.runs[0], "power") else "",
            about="mean power of all drives",
        ),
        Column("W/TB", lambda one: _per_tb(one, one.watts), lambda v: f"{v:,.2f}", optional=True, about="W by TB"),
        Column("$", _usd, _range("{:,.0f}"), optional=True, wide=True, about=_about_prices(document)),
        Column("$/TB", _usd_per_tb, _range("{:,.2f}"), optional=True, about="$ by TB"),
    ]
    bounded = {"W"} if goal and any(b.measure == "power" for b in goal) else set()
    return [c for c in table.used(found, ranked) if c.title not in bounded]


def _measure(bound: Bound) -> Column:
    unit = {"IOPS": ""}.get(bound.unit, f" {bound.unit}")
    what = table.MEASURES.get(bound.measure, "")
    whose = {None: "", "flush": " (flushes)"}.get(bound.operation, f" ({bound.operation}s)")
    return Column(
        f"{bound.name.replace('iops', 'IOPS')}{unit}",
        lambda one: one.interval(bound),
        lambda found: _shown(found, bound.number),
        mark=lambda one: table.OVERLOADED if one.overloaded else "",
        about=f"{what}{whose}".strip(),
    )


def _verdict(goal: Goal) -> Callable[[Ranked], str]:
    def verdict(one: Ranked) -> str:
        if one.meets is None:
            return UNSURE if one.unsure(goal) else UNKNOWN
        return MEETS if one.meets else MISSES

    return verdict


def _about_prices(document: Mapping[str, Any]) -> str:
    kinds = {
        kind
        for s in document["systems"]
        if (s.get("cost_usd") or {}).get("price_kind") != "components" and (kind := table.price_kind(s)) is not None
    }
    return f"price of all drives: {', '.join(sorted(kinds))}" if kinds else ""


def rows(document: Mapping[str, Any], goal: Goal | None = None) -> list[list[str]]:
    """Return the texts of the ranking, one row per system, under the columns of `columns`."""
    shown = columns(document, goal)
    return [table.cells(one, shown) for one in ranking(document, goal)]


def explained(shown: Iterable[Column], document: Mapping[str, Any]) -> str:
    """Return one line that explains the columns of the ranking of a document."""
    parts = [f"{c.title}: {c.about}" for c in shown if c.about]
    seeds = replications.said(document)
    return "; ".join([*parts, seeds] if seeds else parts)


def sentence(document: Mapping[str, Any], goal: Goal | None = None) -> str:
    """Return the answer of a result in one sentence.

    Example:
        >>> fast, slow = ({"name": n, "n_requests": 5, "response_time_s": {"p99": s},
        ...                "power_w": {"mean": 9.0}} for n, s in (("a", 0.01), ("b", 0.03)))
        >>> sentence({"systems": [slow, fast]}, goals.parse("p99=20ms"))
        '1 of 2 systems meets p99 <= 20 ms: "a" (10.00 ms, 9.00 W)'
        >>> sentence({"systems": [slow, fast]})
        '"a" has the lowest p99 (10.00 ms, 9.00 W)'
    """
    goal = goals.of(document) if goal is None else goal
    ranked = ranking(document, goal)
    if not ranked:
        return "there is no system"
    said = _without_goal(ranked) if goal is None else _at_goal(ranked, goal)
    workloads = {s.get("workload") for s in document["systems"]}
    if len(workloads) > 1:
        said += f", on the worst of {len(workloads)} workloads"
    return f"partial results: {said}" if document.get("partial") else said


def _at_goal(ranked: Sequence[Ranked], goal: Goal) -> str:
    good = [one for one in ranked if one.meets]
    unsure = [one for one in ranked if one.unsure(goal)]
    unknown = [one for one in ranked if one.meets is None and one not in unsure]
    if len(unknown) == len(ranked):
        return f"whether a system meets {goal} is not known: a number that it bounds is missing"
    if len(ranked) == 1:
        (one,) = ranked
        verb = "meets" if one.meets else "does not meet"
        if unsure:
            return f'"{one.name}" is too near {goal} to say ({_numbers(one, goal)}); {_MORE_SEEDS}'
        return f'"{one.name}" {verb} {goal} ({_numbers(one, goal)})'
    tail = _too_near(unsure, goal)
    quoted = ", ".join(f'"{one.name}"' for one in unknown[:_MOST_NAMED])
    tail += f"; of {quoted} it is not known" if unknown else ""
    if not good:
        nearest = next((one for one in ranked if one.meets is False), None)
        if nearest is None:
            return f"no system surely meets {goal}{tail}"
        near = f'"{nearest.name}" comes nearest ({_numbers(nearest, goal)})'
        return f"no system meets {goal}: {near}{tail}"
    named = [f'"{one.name}" ({_numbers(one, goal)})' for one in good[:_MOST_NAMED]]
    if len(good) > _MOST_NAMED:
        named.append(f"{len(good) - _MOST_NAMED} more")
    if len(good) == 1:
        return f"1 of {len(ranked)} systems meets {goal}: {named[0]}{tail}"
    listed = f"{named[0]} with the least power, then {' and '.join(named[1:])}"
    return f"{len(good)} of {len(ranked)} systems meet {goal}: {listed}{tail}"


def _too_near(unsure: Sequence[Ranked], goal: Goal) -> str:
    """Return the end of a sentence on the systems with a bound within their interval."""
    if not unsure:
        return ""
    said = " and ".join(f'"{one.name}" ({_numbers(one, goal)})' for one in unsure[:_MOST_NAMED])
    if len(unsure) > _MOST_NAMED:
        said += f" and {len(unsure) - _MOST_NAMED} more"
    return f"; {said} {'is' if len(unsure) == 1 else 'are'} too near to say, {_MORE_SEEDS}"


def _numbers(one: Ranked, goal: Goal) -> str:
    """Return the numbers of the goal and the power of a system."""
    said = []
    for bound in goal:
        found = one.interval(bound)
        label = "" if len(goal) == 1 or bound.measure == "power" else f"{bound.name} "
        if found is not None:
            said.append(f"{label}{_shown(found, bound.number)} {bound.unit}")
    if one.overloaded:
        said.append("cannot keep up")
    watts = one.watts
    if watts is not None and not any(b.measure == "power" for b in goal):
        said.append(_POWER.shown(watts))
    if one.headroom is not None and one.meets:
        said.append(f"up to {_times(one.headroom).removeprefix('> ')} this load")
    return ", ".join(said)


def _without_goal(ranked: Sequence[Ranked]) -> str:
    first = ranked[0]
    told = _numbers(first, Goal([_P99]))
    if len(ranked) == 1:
        return f'"{first.name}": p99 {told}'
    said = f'"{first.name}" has the lowest p99 ({told})'
    watts = [(one.watts, one) for one in ranked if one.watts is not None]
    if watts:
        least = min(watts, key=lambda pair: pair[0])[1]
        if least is not first:
            said += f', "{least.name}" the least power ({_numbers(least, Goal([_P99]))})'
    return said
