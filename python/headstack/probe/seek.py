"""Seek curve and turnaround: least access times over distances, and formulas that hold for them.

# Method
Pairs of tracks of one head, from one track apart to the whole stroke in logarithmic steps, from
outside and from inside, there and back (`headstack.probe.moves`). Two places of one track give the
turnaround, which is the access without a movement; a seek is the rest. Formulas are fitted to the
points and judged by reads of random addresses that no fit has seen: of one such read it is known
that its least access time is at most its time, and not shorter by more than a turn.

# Limits
Work of the firmware that overlaps a movement appears in the seek time.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from headstack.errors import HeadstackError

from .moves import Bisection, Place, place_at
from .value import Value, less

Floats = NDArray[np.float64]

#: Distances, trials of each, addresses of which places are chosen, and random reads held out.
DISTANCES, TRIALS, SAMPLED, HELD_OUT = 36, 20, 20_000, 1_000

#: Fewest distances of a seek table, and reads that may be answers of the buffer.
_POINTS, _HITS = 4, 24

#: The host's longest lateness, s.
_LONG_S = 1.3e-3

#: Distances below which both tracks have to be of one head, tracks.
_SAME_HEAD = 300


class Alone(NamedTuple):
    """Reads of random addresses, one after the other, and their times, s."""

    lbas: NDArray[np.int64]
    taken_s: Floats


class Point(NamedTuple):
    """The access over a distance.

    Attributes:
        cylinders: distance in nominal tracks.
        inside: whether the pair lies at the inner edge.
        inward: the access towards the inside.
        outward: the access towards the outside.
    """

    cylinders: float
    inside: bool
    inward: Value
    outward: Value


@dataclass(frozen=True)
class SeekCurve:
    """What was measured of seeks.

    Attributes:
        turnaround: access without a movement, s.
        points: accesses by distance and place.
        table: distance in whole cylinders and seek time, shorter first.
        formula: the seek model that holds best for the points, with its parameters.
        held_out: share of held-out reads that contradict the table, and that formula.
        turn_s: time of a turn as refined.
        lateness_s: mean of the random part of the host's lateness.
        disturbed: share of reads that end whole turns late.
        alone: the reads that were held out.
    """

    turnaround: Value
    points: tuple[Point, ...]
    table: tuple[tuple[int, Value], ...]
    formula: dict[str, Any]
    held_out: tuple[float, float]
    turn_s: float
    lateness_s: float = 0.0
    disturbed: float = 0.0
    alone: Alone | None = None

    def seek_s(self, cylinders: Floats) -> Floats:
        """Return seek times of distances, straight between the points of the table."""
        known = np.array([[d, v.value] for d, v in self.table])
        found = np.interp(cylinders, known[:, 0], known[:, 1])
        beyond = cylinders > known[-1, 0]
        slope = (known[-1, 1] - known[-2, 1]) / (known[-1, 0] - known[-2, 0])
        found = np.where(beyond, known[-1, 1] + slope * (cylinders - known[-1, 0]), found)
        return np.where(cylinders < 0.5, 0.0, found)

    def access_s(self, cylinders: Floats) -> Floats:
        """Return least access times over distances."""
        return self.seek_s(cylinders) + float(self.turnaround.value)


class _Sample(NamedTuple):
    """Addresses and their places, of which pairs are chosen."""

    lbas: NDArray[np.int64]
    cylinders: Floats
    heads: NDArray[np.int64]


def sampled(session: Any, rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Return random addresses of physical blocks."""
    block = int(session.sector_blocks)
    return np.asarray(rng.integers(0, session.described["blocks"] // block, count) * block)


def located(geometry: Any, lbas: NDArray[np.int64]) -> _Sample:
    """Return addresses with cylinders and heads."""
    at = geometry.locate(lbas)
    return _Sample(lbas, np.asarray(at.cylinder), np.asarray(at.head))


def near(session: Any, geometry: Any, lba: int, tracks: float) -> _Sample:
    """Return an address on each of about so many tracks that follow and precede an address."""
    block = int(session.sector_blocks)
    n = int(geometry.locate(np.array([lba])).sectors_per_track[0])
    reach = int(max(1, tracks) * 1.3 * geometry.heads) + geometry.heads
    steps = np.arange(1, reach + 1)
    if len(steps) > SAMPLED:
        steps = np.unique(np.rint(np.geomspace(1, reach, SAMPLED)).astype(np.int64))
    lbas = lba + np.concatenate([-steps[::-1], steps]) * n * block
    inside = (lbas >= 0) & (lbas < session.described["blocks"] - n * block)
    return located(geometry, lbas[inside])


def pairs(session: Any, geometry: Any, rng: np.random.Generator, distances: int) -> list[tuple[int, int, bool]]:
    """Return pairs of addresses, the outer one first, and whether they are at the inner edge.

    The first pair of each edge is of one track.
    """
    everywhere = located(geometry, sampled(session, rng, SAMPLED))
    # Sectors of tracks that were not followed are near those of others: angles would be off.
    unknown = np.where(geometry.locate(everywhere.lbas).known, 0.0, np.inf)
    widest = max(band.tracks for zone in geometry.found for band in zone.cycle)
    chosen = []
    for inside, edge in ((False, 0.02), (True, 0.98)):
        away = np.abs(everywhere.cylinders - edge * geometry.cylinders) + unknown
        starts = np.argsort(away, kind="stable")
        lba = int(everywhere.lbas[starts[0]])
        chosen.append((lba, lba, inside))
        wanted = np.unique(np.rint(np.geomspace(1, 0.96 * geometry.cylinders, distances)))
        sign = -1 if inside else 1
        for number, distance in enumerate(wanted, start=1):
            # A track that the buffer has is none to begin at.
            start = starts[0 if session.described["fua"] else number]
            lba, cylinder = int(everywhere.lbas[start]), everywhere.cylinders[start]
            # Past the end of a band the tracks of its head go on up to two rounds of heads further.
            alone = distance < _SAME_HEAD
            for reach in (distance, max(distance, 2 * widest)) if alone else (0.0,):
                found = near(session, geometry, lba, reach) if alone else everywhere
                off = np.abs(sign * (found.cylinders - cylinder) - distance)
                if alone:
                    off = np.where(found.heads == everywhere.heads[start], off, np.inf)
                best = int(np.argmin(off))
                if off[best] <= max(0.6, 0.3 * distance):
                    other = int(found.lbas[best])
                    chosen.append((other, lba, True) if inside else (lba, other, False))
                    break
    return chosen


def bisection(
    session: Any,
    geometry: Any,
    turn_s: float,
    step: str,
    lbas: Sequence[tuple[int, int]],
    *,
    trials: int,
    disturbed: float,
    reserve_s: float = 0.0,
) -> Bisection:
    """Return the bisected accesses between pairs of addresses."""
    block = int(session.sector_blocks)
    places: list[tuple[Place, Place]] = []
    for here, there in lbas:
        first = place_at(geometry, here, block)
        second = place_at(geometry, there, block)
        places.append((first, second))
    return Bisection(session, turn_s, step, places, disturbed).run(trials).sharpen(reserve_s)


def measure(
    session: Any,
    geometry: Any,
    turn_s: float,
    rng: np.random.Generator,
    *,
    distances: int = DISTANCES,
    trials: int = TRIALS,
    held_out: int = HELD_OUT,
    disturbed: float = 0.02,
    reserve_s: float = 0.0,
) -> SeekCurve:
    """Measure turnaround and seek curve, and judge formulas by random reads.

    So much time is kept for accesses that are not known well enough after so many trials.
    """
    chosen = pairs(session, geometry, rng, distances)
    done = bisection(
        session, geometry, turn_s, "seek", [c[:2] for c in chosen], trials=trials,
        disturbed=disturbed, reserve_s=reserve_s,
    )  # fmt: skip
    still: list[Value] = []
    points: list[Point] = []
    for (here, there), (_, _, inside), found in zip(done.pairs, chosen, done.values(), strict=True):
        distance = abs(there.cylinder - here.cylinder)
        if distance < 0.25:
            still += [v for v in found if v.origin == "measured"]
        elif any(v.origin == "measured" for v in found):
            points.append(Point(distance, inside, *found))
    still = _hits(session, rng, done.turn_s) or still
    if not still or len(points) < _POINTS:
        raise HeadstackError(
            f"probe: seeks: got {len(points)} distances with answers of the medium, need {_POINTS} "
            "and a track that is read twice; the others came from a buffer or failed"
        )
    turnaround = together(still)
    points.sort(key=lambda p: p.cylinders)
    table = _table(points, turnaround)
    curve = SeekCurve(turnaround, tuple(points), table, {}, (0.0, 0.0), done.turn_s)
    alone = random_reads(session, rng, held_out)
    moved, taken = np.abs(np.diff(located(geometry, alone.lbas).cylinders)), alone.taken_s[1:]
    moved, taken = moved[moved > 1], taken[moved > 1]
    formula, worse = _best_formula(curve, geometry.cylinders, moved, taken)
    late = late_of(session, geometry, curve)
    late = disturbed_of(curve, moved, taken) if math.isnan(late) else late
    shares = (_against(curve.access_s(moved), taken, done.turn_s), worse)
    return SeekCurve(turnaround, tuple(points), table, formula, shares, done.turn_s, done.lateness_s, late, alone)


def _hits(session: Any, rng: np.random.Generator, turn_s: float) -> list[Value]:
    """Return the time of answers of a buffer that cannot be by-passed; nothing if it has none.

    It stands for the turnaround: a drive that reads ahead is off the track when a sector of it
    comes round again. Only the sum of turnaround and seek counts where the arm moves.
    """
    if session.described["fua"]:
        return []
    twice = np.repeat(sampled(session, rng, _HITS), 2)
    issued, done, _ = session.read("seek", twice.tolist())
    times = ((np.asarray(done) - np.asarray(issued)) / 1e9)[1::2]
    times = times[times < turn_s / 4]
    if len(times) < _HITS / 2:
        return []
    low, middle, high = (float(t) for t in np.quantile(times, [0.3, 0.5, 0.7]))
    return [Value(middle, low, high, "measured", len(times), "seek", "s")]


def disturbed_of(curve: SeekCurve, moved: Floats, taken: Floats) -> float:
    """Return the share of reads at random angles that end whole turns late.

    Without a disturbance a read ends within a turn of its least access, and the host's longest
    lateness. Of those that are a turn late, some end before that, too.
    """
    above = taken > curve.access_s(moved) + curve.turn_s + _LONG_S
    return float(above.mean()) / (1 - _LONG_S / (2 * curve.turn_s))


def late_of(session: Any, geometry: Any, curve: SeekCurve) -> float:
    """Return the share of all reads so far that end whole turns late; not-a-number: not known.

    Of those right after another one, at whose first pass the arm clearly is there or not.
    """
    if not session.described["fua"]:
        return math.nan
    lbas, answer = session.alone()
    at, turn_s = geometry.locate(lbas), curve.turn_s
    pause_s = (answer.issued_ns[1:] - answer.done_ns[:-1]) / 1e9
    taken_s = (answer.done_ns - answer.issued_ns)[1:] / 1e9
    apart = np.diff(at.angle_turns + 1 / at.sectors_per_track)
    first_s = (apart - pause_s / turn_s) % 1.0 * turn_s
    after_s = first_s - curve.access_s(np.abs(np.diff(at.cylinder)))
    # Turns after the first pass, and those for which the arm has to wait.
    turns, waits = (taken_s - first_s) / turn_s, -np.floor(after_s / turn_s)
    good = at.known & (answer.status == 0)
    kept = good[1:] & good[:-1] & (np.abs(turns - np.rint(turns)) < 0.25)
    kept &= (pause_s >= 0) & (pause_s < _LONG_S)
    kept &= (after_s % turn_s > _LONG_S) & (after_s % turn_s < turn_s - 0.1 * _LONG_S)
    return float(np.mean(np.rint(turns) > waits, where=kept)) if kept.any() else math.nan


def together(values: Sequence[Value]) -> Value:
    """Return the mean of measurements of one thing, by their precision; it holds their spread."""
    each = np.array([v.value for v in values])
    # Half a step of the grid is the least deviation.
    deviation = np.maximum(np.array([v.high - v.low for v in values]) / 3.92, 3e-6)
    weights = deviation**-2.0
    mean = float((weights * each).sum() / weights.sum())
    spread = float((weights * (each - mean) ** 2).sum() / max(len(each) - 1, 1))
    room = 1.96 * float(weights.sum() ** -0.5) * max(1.0, spread**0.5)
    reads = sum(v.reads for v in values)
    return Value(mean, mean - room, mean + room, "measured", reads, values[0].step, "s")


def _table(points: Sequence[Point], turnaround: Value) -> tuple[tuple[int, Value], ...]:
    """Return seek times by whole cylinders: means over directions and places."""
    groups: list[list[Point]] = []
    for p in points:
        # Distances that are nearly the same are one point of the table.
        if groups and round(p.cylinders) <= round(1.03 * groups[-1][0].cylinders):
            groups[-1].append(p)
        else:
            groups.append([p])
    table = []
    o = float(turnaround.value)
    for group in groups:
        each = [v for p in group for v in (p.inward, p.outward)]
        mean = together([v for v in each if v.origin == "measured"])
        table.append((max(1, round(group[0].cylinders)), less(mean, o, 1e-6)))
    return tuple(table)


def random_reads(session: Any, rng: np.random.Generator, count: int) -> Alone:
    """Read random addresses, one after the other.

    Without pauses, in which a drive may begin to read ahead and then be late.
    """
    lbas = sampled(session, rng, count + 1)
    issued, done, _ = session.read("held out", lbas.tolist())
    return Alone(lbas, np.asarray((np.asarray(done) - np.asarray(issued)) / 1e9))


def _against(access_s: Floats, taken_s: Floats, turn_s: float, room_s: float = 1e-4) -> float:
    """Return the share of reads that end before the least access time, or a turn after it."""
    early = taken_s < access_s - room_s
    late = taken_s > access_s + turn_s + room_s
    return float((early | late).mean())


#: Formulas: start values from times of short, middle and full seeks, and the times of distances.
_Formula = Callable[..., Floats]


def _three_point(d: Floats, n: float, single: float, average: float, full: float) -> Floats:
    a = (-10 * single + 15 * average - 5 * full) / (3 * np.sqrt(n))
    b = (7 * single - 15 * average + 8 * full) / (3 * n)
    return np.asarray(single + a * np.sqrt(d - 1) + b * (d - 1))


def _hpl(d: Floats, n: float, base: float, root: float, limit: float, long_base: float, full: float) -> Floats:
    x = np.clip(limit, 0.01, 0.99) * n
    slope = (full - long_base) / n
    return np.where(d < x, base + root * np.sqrt(d / n), long_base + slope * d)


def _best_formula(curve: SeekCurve, cylinders: float, moved: Floats, taken: Floats) -> tuple[dict[str, Any], float]:
    """Return the formula that the fewest held-out reads contradict, and their share.

    Among equal ones, that with the smaller deviation from the points is taken.
    """
    d = np.array([float(k) for k, _ in curve.table])
    t = np.array([float(v.value) for _, v in curve.table])
    sd = np.array([max((v.high - v.low) / 3.92, 5e-6) for _, v in curve.table])
    single, full = t[0], t[-1]
    average = float(np.interp(cylinders / 3, d, t))
    starts: dict[str, tuple[_Formula, list[float]]] = {
        "three-point": (_three_point, [single, average, full]),
        "hpl": (_hpl, [single, 2 * (average - single), 0.2, average * 0.8, full]),
    }
    o, ranked = float(curve.turnaround.value), []
    for name, (formula, start) in starts.items():
        # Relative deviations count where the points are sharper than that.
        scale = np.maximum(sd, 0.005 * (t + o))

        def left(p: Floats, formula: _Formula = formula, scale: Floats = scale) -> Floats:
            return np.asarray((formula(d, cylinders, *p) - t) / scale)

        fit = optimize.least_squares(left, start, loss="cauchy", x_scale=np.maximum(start, 1e-4))
        share = _against(formula(moved, cylinders, *fit.x) + o, taken, curve.turn_s)
        deviation = float(np.sqrt(np.mean((left(fit.x) * scale) ** 2)))
        ranked.append((round(share, 3), deviation, name, [float(x) for x in fit.x]))
    share, deviation, name, p = min(ranked)
    text = [f"{x * 1e3:.4f} ms" for x in p]
    if name == "three-point":
        keys = dict(zip(("single", "average", "full"), text, strict=True))
        found: dict[str, Any] = {**keys, "cylinders": round(cylinders)}
    else:
        limit = float(np.clip(p[2], 0.01, 0.99)) * cylinders
        found = {
            "short_base": text[0],
            "short_sqrt": f"{p[1] * 1e6 / np.sqrt(cylinders):.6f} us",
            "short_limit": round(limit),
            "long_base": text[3],
            "long_slope": f"{(p[4] - p[3]) * 1e9 / cylinders:.6f} ns",
        }
    return {"model": name, **found, "deviation_s": deviation}, share


def sheet_average_s(curve: SeekCurve, cylinders: float) -> float:
    """Return the average seek as data sheets define it: over random pairs, without overhead."""
    d = np.unique(np.rint(np.geomspace(1, cylinders - 1, 2000)))
    weight = np.gradient(d) * (cylinders - d)
    return float((weight * curve.seek_s(d)).sum() / weight.sum())
