"""The queue: rates and tails by depth, the rule of the order, and how long commands starve.

# Method
Random reads at constant depth give rates and tails. For the rule, eight commands are sent at once
to a drive whose arm has just been at a known place; the order of their ends is held against what
each rule would have taken next. Elevators sweep over addresses, which in bands is not the order of
tracks. Ages are equal there, so they tell the rule but not the ageing.
The ageing is fitted to rates and tails of all depths: the same reads are simulated on the drive
file, which already has geometry and seeks. One depth alone cannot tell ageing from seeks.

# Limits
An age limit is known only if a command starved so long that the limit served it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize
from scipy.special import bdtr

from .replay import FAR
from .seek import SeekCurve, located, sampled
from .value import Value

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Depths, and seconds at each.
DEPTHS, SECONDS = (1, 2, 4, 8, 16, 32), 18.0

#: Batches for the rule, and commands of each.
BATCHES, SIZE = 150, 8

#: Trials of starvation: near commands of each, and their depth.
_STARVED, _NEAR, _NEAR_DEPTH = 5, 300, 16

#: The simulated ends of reads of these addresses at a depth, s, on a drive with such a queue.
Simulate = Callable[[dict[str, Any], Ints, int], Floats]

#: Shares of choices that differ by less do not tell two rules apart.
_ALIKE = 0.03

#: Misfit that a further number of a rule must save.
_NUMBER = 10.0

#: Rules with ageing: the name of its parameter, and between which values it is looked for.
_AGED: dict[str, tuple[str, tuple[float, float]]] = {
    "depth-aged-sptf": ("ageing", (0.02, 8.0)),
    "aged-sptf": ("weight", (1e-4, 1.0)),
}


class Depth(NamedTuple):
    """Random reads at a constant depth.

    Attributes:
        depth: commands outstanding.
        iops: reads per second.
        p99_s: time that 99 % of them need at most.
        lbas: their addresses.
        taken_s: their times.
    """

    depth: int
    iops: Value
    p99_s: Value
    lbas: Ints
    taken_s: Floats


class Queue(NamedTuple):
    """What was found of the queue.

    Attributes:
        depths: rates and tails.
        rule: `fcfs`, `sstf`, `look`, `c-look`, `sptf`; with its share of choices that it explains.
        agreement: share of the choices that each rule explains.
        spec: the table `[queue]` that fits.
        ageing: the ageing of that table.
        starved_s: times of far commands under a stream of near ones.
        off: what that table gives far from what was measured, in words.
    """

    depths: tuple[Depth, ...]
    rule: str
    agreement: dict[str, float]
    spec: dict[str, Any]
    ageing: Value | None
    starved_s: tuple[float, ...]
    off: tuple[str, ...] = ()


def figures(taken_s: Floats, done_s: Floats, depth: int, step: str) -> tuple[Value, Value]:
    """Return reads per second and the 99th percentile, without what began with an empty queue."""
    order = np.argsort(done_s, kind="stable")[depth:]
    ends, each = done_s[order], taken_s[order]
    count = len(each)
    rate = (count - 1) / (ends[-1] - ends[0])
    # Batches of ends: their rates are nearly independent.
    cuts = ends[:: max(1, count // 20)]
    steps = np.diff(cuts)
    room = 1.96 * float(np.std(steps) / np.mean(steps) / np.sqrt(max(len(steps), 1))) * rate
    ranks = np.searchsorted(bdtr(np.arange(count + 1), count, 0.99), (0.025, 0.975)).tolist()
    at = np.sort(each)
    low, high = (float(at[min(r, count - 1)]) for r in ranks)
    middle = float(np.quantile(each, 0.99))
    return (
        Value(float(rate), float(rate - room), float(rate + room), "measured", count, step, "1/s"),
        Value(middle, low, high, "measured", count, step, "s"),
    )


def by_depth(
    session: Any, rng: np.random.Generator, *, depths: tuple[int, ...] = DEPTHS, seconds: float = SECONDS
) -> tuple[Depth, ...]:
    """Measure random reads at each depth, so many seconds each."""
    found: list[Depth] = []
    rate = 80.0
    for depth in depths:
        lbas = sampled(session, rng, int(seconds * rate) + 4 * depth)
        issued, done, _ = session.read(f"depth {depth}", lbas.tolist(), depth=depth)
        taken = (np.asarray(done) - np.asarray(issued)) / 1e9
        iops, p99 = figures(taken, np.asarray(done) / 1e9, depth, f"depth {depth}")
        found.append(Depth(depth, iops, p99, lbas, taken))
        rate = 1.15 * float(iops.value)
    return tuple(found)


def agreement(
    session: Any, geometry: Any, curve: SeekCurve, rng: np.random.Generator, *, batches: int = BATCHES
) -> dict[str, float]:
    """Return the share of choices in batches that each rule explains."""
    rules = ("fcfs", "sstf", "look", "c-look", "sptf")
    right: dict[str, list[bool]] = {rule: [] for rule in rules}
    came_from: int | None = None
    for _ in range(batches):
        lbas = sampled(session, rng, SIZE)
        _, done, status = session.read("batches", lbas.tolist(), together=True)
        if np.any(status):
            came_from = None
            continue
        ends = np.asarray(done) / 1e9
        cylinders = located(geometry, lbas).cylinders
        order = np.argsort(ends, kind="stable")
        first = lbas[order[0]]
        way = 0.0 if came_from is None else float(np.sign(first - came_from))
        # The first may have begun before the others were there, and two are no choice.
        for j in range(1, SIZE - 1):
            before, left = order[j - 1], order[j:]
            apart = np.abs(cylinders[left] - cylinders[before])
            if j > 1:
                way = float(np.sign(lbas[before] - lbas[order[j - 2]]))
            costs = {"fcfs": left, "sstf": apart / 1e6}
            costs |= _swept(lbas[left] - lbas[before], way)
            costs["sptf"] = _positioning(curve, ends[before], ends[left], apart)
            for rule, each in costs.items():
                right[rule].append(bool(each[0] <= each.min() + 1e-4))
        came_from = int(lbas[order[-1]])
    return {rule: float(np.mean(r)) if r else 0.0 for rule, r in right.items()}


def _swept(ahead: Ints, way: float) -> dict[str, Any]:
    """Return what elevators minimise, of commands so many blocks ahead, after a move that way."""
    back = (np.sign(ahead) != way) & (way != 0)
    most = 2 * np.abs(ahead).max()
    return {"look": np.abs(ahead) + np.where(back, most, 0), "c-look": ahead + np.where(ahead < 0, most, 0)}


def _positioning(curve: SeekCurve, now: float, ends: Floats, apart: Floats) -> Floats:
    """Return the times until commands over such distances could end."""
    # Its own end says at which angle the data of a command end.
    first = (ends - now) % curve.turn_s
    least = curve.access_s(apart)
    turns = np.ceil((least - 1e-4 - first) / curve.turn_s).clip(0)
    return np.asarray(first + turns * curve.turn_s)


def starvation(session: Any, geometry: Any, rng: np.random.Generator) -> list[tuple[Ints, float]]:
    """Return streams of near commands with a far one, and the time of the far one, s."""
    everywhere = located(geometry, sampled(session, rng, 4000))
    outer = everywhere.lbas[everywhere.cylinders < 0.03 * geometry.cylinders]
    far = everywhere.lbas[everywhere.cylinders > 0.95 * geometry.cylinders]
    found = []
    for _ in range(_STARVED if len(outer) and len(far) else 0):
        lbas = rng.choice(outer, _NEAR)
        lbas = lbas + rng.integers(0, 64, _NEAR) * session.sector_blocks
        lbas[2 * _NEAR_DEPTH] = rng.choice(far)
        issued, done, _ = session.read("starvation", lbas.tolist(), depth=_NEAR_DEPTH)
        found.append((lbas, float(done[2 * _NEAR_DEPTH] - issued[2 * _NEAR_DEPTH]) / 1e9))
    return found


def _against(
    depths: tuple[Depth, ...], simulate: Simulate, queue: dict[str, Any]
) -> list[tuple[Depth, str, float, float, float]]:
    """Return rates and tails: depth, unit, measured, simulated, and their deviation by chance."""
    found = []
    for d in depths:
        if d.depth == 1:
            continue
        both = simulate(queue, d.lbas, d.depth)
        ours = figures(both[1] - both[0], both[1], d.depth, "")
        for measured, mine, least in ((d.iops, ours[0], 0.005), (d.p99_s, ours[1], 0.03)):
            value = float(measured.value)
            # What was measured and what is simulated vary alike.
            chance = (float(measured.high) - float(measured.low)) / value / 3.92 * np.sqrt(2)
            found.append((d, measured.unit, value, float(mine.value), max(float(chance), least)))
    return found


def _misfit(depths: tuple[Depth, ...], simulate: Simulate, queue: dict[str, Any]) -> float:
    """Return squared deviations of rates and tails, in units of their deviations by chance."""
    every = _against(depths, simulate, queue)
    return float(sum((np.log(mine / value) / chance) ** 2 for *_, value, mine, chance in every))


def _far(depths: tuple[Depth, ...], simulate: Simulate, queue: dict[str, Any]) -> tuple[str, ...]:
    """Return in words what a drive with such a queue gives far from what was measured."""
    return tuple(
        f"at depth {d.depth} the file gives {mine:.3g} reads/s for {value:.3g}"
        if unit == "1/s"
        else f"at depth {d.depth} 99 % within {mine * 1e3:.0f} ms for {value * 1e3:.0f} ms"
        for d, unit, value, mine, chance in _against(depths, simulate, queue)
        if abs(mine / value - 1) > FAR + 2 * chance
    )


def fit(
    depths: tuple[Depth, ...],
    shares: dict[str, float],
    starved: list[tuple[Ints, float]],
    simulate: Simulate,
    tags: int,
) -> Queue:
    """Find the rule and its ageing that give the measured rates and tails."""
    best = max(shares.values())
    base: dict[str, Any] = {"depth": tags}
    fits: list[tuple[float, dict[str, Any], Value | None]] = []
    # Rules that explain nearly as many choices are told by rates and tails.
    for rule in (r for r, share in shares.items() if share > best - _ALIKE):
        plain = {**base, "scheduler": rule}
        fits.append((_misfit(depths, simulate, plain), plain, None))
        for scheduler, (key, bounds) in _AGED.items() if rule == "sptf" else ():
            fits.append(_aged(depths, simulate, {**base, "scheduler": scheduler}, key, bounds))
    # Ageing must fit better by more than another number always does.
    misfit, spec, ageing = min(fits, key=lambda f: f[0] + (_NUMBER if f[2] is not None else 0.0))
    times = tuple(t for _, t in starved)
    limit = _age_limit(starved, simulate, spec)
    if limit is not None:
        limited = {**spec, "age_limit": f"{limit:.3f} s"}
        # Where the rule is another one far commands may come soon without a limit.
        if _misfit(depths, simulate, limited) < misfit + _NUMBER:
            spec = limited
    rule = next((r for r in shares if r == spec["scheduler"]), "sptf")
    return Queue(depths, rule, shares, spec, ageing, times, _far(depths, simulate, spec))


def _aged(
    depths: tuple[Depth, ...], simulate: Simulate, base: dict[str, Any], key: str, bounds: tuple[float, float]
) -> tuple[float, dict[str, Any], Value]:
    """Return misfit, table and value of the ageing of a rule that fits best."""
    tried: dict[float, float] = {}

    def queue(x: float) -> dict[str, Any]:
        value = float(f"{np.exp(x):.3g}")
        return {**base, "scheduler_parameters": {key: value}}

    def misfit(x: float) -> float:
        tried[x] = _misfit(depths, simulate, queue(x))
        return tried[x]

    low, high = np.log(bounds)
    for x in np.linspace(low, high, 6):
        misfit(float(x))
    best = min(tried, key=lambda x: tried[x])
    step_x = (high - low) / 5
    optimize.minimize_scalar(
        misfit,
        bounds=(max(low, best - step_x), min(high, best + step_x)),
        method="bounded",
        options={"xatol": 0.03, "maxiter": 9},
    )
    best = min(tried, key=lambda x: tried[x])
    # Trials whose misfit is not larger than chance makes it.
    alike = [x for x in tried if tried[x] <= tried[best] + 3.84]
    value = float(queue(best)["scheduler_parameters"][key])
    reads = sum(len(d.lbas) for d in depths)
    ends = float(np.exp(min(alike))), float(np.exp(max(alike)))
    return tried[best], queue(best), Value(value, *ends, "measured", reads, "depths")


def _age_limit(starved: list[tuple[Ints, float]], simulate: Simulate, queue: dict[str, Any]) -> float | None:
    """Return an age limit if far commands came much sooner than without one."""
    if not starved:
        return None
    place = 2 * _NEAR_DEPTH
    simulated = []
    for lbas, _ in starved:
        issued, done = simulate(queue, lbas, _NEAR_DEPTH)
        simulated.append(float(done[place] - issued[place]))
    longest = max(t for _, t in starved)
    return longest if float(np.median(simulated)) > 1.5 * longest else None
