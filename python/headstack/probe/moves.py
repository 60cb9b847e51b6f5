"""Least time from a command to data on another track, by Bayesian bisection with known angles.

# Method
Reads go back and forth between two places. The wait before each read is chosen so that its target
passes at the time that is to be tested: if the arm is there in time, the read ends then, else whole
turns later. So a read that ends ``k`` turns after the first pass says that the least access time
lies between pass ``k - 1`` and pass ``k``. The likelihood has normal errors and a share of reads
that end whole turns late for other reasons. The next wait is at a quantile of the posterior.

The least access time holds everything from the command to the host's answer: overhead, movement,
one sector's time on medium and link, and the usual lateness of the host.

# Validity
Only completions are used as angles, and those of one track are known against each other from its
number of sectors. Answers of the buffer have no phase and are dropped. Where it cannot be
by-passed, a track is read against the order of addresses, because what is read ahead lies behind a
read, and other places are read between the rounds. A pair without answers of the medium is not
identifiable.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr

from .value import Origin, Value

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Pair, way, time from the command to the first pass (s) and turns after it, of reads.
Passes = tuple[Ints, Ints, Floats, Ints]

#: Longest access time, and steps of access times to plan with and around the likeliest one, s.
LONGEST_S, COARSE_S, GRID_S, WINDOW_S = 45e-3, 50e-6, 5e-6, 1.5e-3

#: Errors of a pass against the command that are tried, s.
_ERRORS_S = (10e-6, 20e-6, 40e-6, 80e-6)

#: Addresses of a place, and the shortest wait in turns.
ADDRESSES, _SHORTEST = 24, 0.02

#: Least trials that tell a time; bytes behind a read that a drive may read ahead at once, and the
#: turns after which that may have come to the end of a place's track.
_LEAST, _AHEAD, _ENDS = 3, 2 << 20, 0.9

#: Half an interval that is aimed at: a share of the access.
AIM = 0.05

#: Rounds after which angles are known well enough to plan with.
_ROUGH = 3

#: Reads that tell another clock's phase.
_SHIFTED = 300

#: Share of a pair's reads that may end elsewhere than at their angles: tracks of other lengths.
_MOST_ASTRAY = 0.1

#: A read that ends so much before a pass, s and in means of the lateness, or after it, turns,
#: is no read of that sector. The angle of a place is from few reads, and as late as these.
_EARLY_S, _EARLY_LATE, _LATE_TURNS = 1e-4, 6, 0.25


@dataclass
class Place:
    """Addresses of one track, of which the one is read that passes soonest.

    Attributes:
        lbas: addresses.
        shifts: angle of each against the first, turns.
        cylinder: radial place, in nominal tracks.
        head: its head.
    """

    lbas: Ints
    shifts: Floats
    cylinder: float
    head: int
    uses: Floats = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        """Begin with addresses that were not used."""
        self.uses = np.zeros(len(self.lbas))


class _Read(NamedTuple):
    """A read: the pair and way that it tests (-1: none), place, address, times and epoch."""

    pair: int
    way: int
    place: int
    number: int
    issued_s: float
    done_s: float
    epoch: int = 0


class Step(NamedTuple):
    """A read of a round: the pair and way that it tests (-1: none), place and address."""

    pair: int
    way: int
    place: int
    number: int


class _Unread:
    """Addresses of places that the buffer does not have in a round: those before earlier reads.

    Places that begin with the same address are the same track.
    """

    def __init__(self, visits: list[Place]) -> None:
        self.visits = Counter(int(p.lbas.min()) for p in visits)
        self.lowest: dict[int, int] = {}

    def of(self, place: Place) -> Ints:
        """Return numbers of addresses, lowest first, that leave some for later visits."""
        track = int(place.lbas.min())
        order = np.argsort(place.lbas, kind="stable")
        left = order[place.lbas[order] < self.lowest.get(track, np.inf)]
        kept = left[max(0, self.visits[track] - 1) :]
        return kept if len(kept) else left[-1:] if len(left) else order

    def take(self, place: Place, number: int) -> None:
        """Note a read."""
        track = int(place.lbas.min())
        self.visits[track] -= 1
        self.lowest[track] = int(place.lbas[number])


def place_at(geometry: Any, lba: int, block: int, count: int = ADDRESSES) -> Place:
    """Return a place on the track of an address, with addresses in its first half.

    So read-ahead does not get to the next track in the short waits between reads.
    """
    at = geometry.locate(np.array([lba], dtype=np.int64))
    n, sector = int(at.sectors_per_track[0]), int(at.sector[0])
    sectors = np.unique(np.rint(np.linspace(n // 20, n // 2, count)).astype(np.int64))
    lbas = lba + (sectors - sector) * block
    return Place(lbas.astype(np.int64), (sectors - sectors[0]) / n, float(at.cylinder[0]), int(at.head[0]))


def centre(turns: Floats) -> float:
    """Return the half-sample mode of angles, in turns from 0 to 1."""
    x = np.sort(turns % 1.0)
    # The widest gap is where the circle is cut.
    gaps = np.diff(np.concatenate([x, x[:1] + 1.0]))
    cut = int(np.argmax(gaps)) + 1
    x = np.concatenate([x[cut:], x[:cut] + 1.0])
    while len(x) > 3:
        half = (len(x) + 1) // 2
        widths = x[half - 1 :] - x[: len(x) - half + 1]
        first = int(np.argmin(widths))
        x = x[first : first + half]
    return float(np.median(x) % 1.0) if len(x) != 3 else _of_three(x)


def _of_three(x: Floats) -> float:
    near = x[:2] if x[1] - x[0] < x[2] - x[1] else x[1:]
    return float(near.mean() % 1.0)


@dataclass
class Bisection:
    """Pairs of places under test.

    Attributes:
        session: of the probe.
        turn_s: time of a turn; it is refined with the reads.
        step: name for the log.
        pairs: pairs of places.
        disturbed: share of reads that end late for other reasons.
        error_s: error of a pass against the command that fits best.
        lateness_s: mean of the random part of the host's lateness.
    """

    session: Any
    turn_s: float
    step: str
    pairs: Sequence[tuple[Place, Place]]
    disturbed: float = 0.02
    error_s: float = 20e-6
    lateness_s: float = 0.0
    reads: list[_Read] = field(default_factory=list)
    angles: dict[int, float] = field(default_factory=dict)
    _rounds: int = 0
    _unread: _Unread | None = None
    _astray: Floats = field(default_factory=lambda: np.zeros(0))
    _sums: tuple[int, Floats | None] = (0, None)
    _values: tuple[int, list[tuple[Value, Value]]] | None = None

    def run(self, trials: int = 20, trips: int = 2) -> "Bisection":
        """Make about so many trials of each pair and way, in rounds over all pairs."""
        if not self.session.described["fua"]:
            trips = 1
        self.round(1)
        for done in range(1, trials, trips):
            self.round(min(trips, trials - done))
        return self

    def sharpen(self, reserve_s: float) -> "Bisection":
        """Go on for so long with the pairs whose intervals are wider than what is aimed at.

        Not past a buffer: a round of few pairs is mostly reads of other places.
        """
        if not self.session.described["fua"]:
            return self
        until = self.session.clock_s + reserve_s
        while self.session.clock_s < until:
            wide = []
            for pair, both in enumerate(self.values()):
                known = [v for v in both if v.origin == "measured"]
                rooms = [(float(v.high) - float(v.low)) / 2 - AIM * float(v.value) for v in known]
                if max(rooms, default=0.0) > 0:
                    wide.append(pair)
            if not wide:
                break
            self.round(2, wide)
        return self

    def round(self, trips: int, pairs: Sequence[int] | None = None) -> None:
        """Go back and forth so many times at every pair, or at some."""
        steps: list[Step] = []
        waits: list[float] = []
        self._rounds += 1
        grid, posteriors = self._coarse()
        chosen = range(len(self.pairs)) if pairs is None else pairs
        self._unread = None
        if not self.session.described["fua"]:
            trips = 1
            mine = [self.pairs[i] for i in chosen]
            visits = [p for a, b in mine for p in [a] * (trips + 1) + [b] * trips]
            self._unread = _Unread(visits)
            self.session.past_others(self.step, int(mine[0][0].lbas[0]))
        for pair in chosen:
            first = self.pairs[pair][0]
            steps.append(Step(pair, -1, 2 * pair, int(np.argmin(first.uses))))
            if self._unread:
                some = self._unread.of(first)
                # From all of them in turn, because some leave no time before the track's end.
                steps[-1] = Step(pair, -1, 2 * pair, int(some[7 * self._rounds % len(some)]))
                self._unread.take(first, steps[-1].number)
            waits.append(0.0)
            for trip in range(trips):
                for way in (0, 1):
                    share = (trip + 1) / (trips + 1)
                    density = np.cumsum(posteriors[pair, way])
                    tested = float(grid[np.searchsorted(density, share * density[-1])])
                    step, wait = self._next(steps[-1], pair, way, tested)
                    steps.append(step)
                    waits.append(wait)
                    self._place(step.place).uses[step.number] += 1
                    if self._unread:
                        self._unread.take(self._place(step.place), step.number)
        lbas = [int(self._place(s.place).lbas[s.number]) for s in steps]
        answer = self.session.read(self.step, lbas, wait_s=waits)
        for s, issued, done, status in zip(steps, *answer, strict=True):
            if status == 0:
                times = (issued / 1e9, done / 1e9, self.session.epoch)
                self.reads.append(_Read(s.pair, s.way, s.place, s.number, *times))
        self._refine()

    def _place(self, number: int) -> Place:
        return self.pairs[number // 2][number % 2]

    def _next(self, before: Step, pair: int, way: int, tested_s: float) -> tuple[Step, float]:
        """Return the next read and the wait after which it passes at the time to be tested."""
        number = 2 * pair + 1 - way
        place = self._place(number)
        options = self._unread.of(place) if self._unread else np.arange(len(place.lbas))
        if before.place not in self.angles or number not in self.angles:
            return Step(pair, way, number, int(options[np.argmin(place.uses[options])])), 0.0
        apart = self.angles[number] + place.shifts - self._angle(before.place, before.number)
        waits = (apart - tested_s / self.turn_s - _SHORTEST) % 1.0 + _SHORTEST
        if self._unread is None:
            best = int(options[np.argmin(waits[options])])
            return Step(pair, way, number, best), float(waits[best] % 1.0) * self.turn_s
        # What is read ahead moves the arm at the end of the track.
        last = self._place(before.place)
        since = float(last.shifts[before.number] - last.shifts.min())
        moved = since + waits > _ENDS
        best = int(options[np.argmin((waits + moved)[options])])
        behind = int(place.lbas[best] - last.lbas[before.number])
        if moved[best] or 0 < behind * int(self.session.described["block_bytes"]) < _AHEAD:
            way = -1
        return Step(pair, way, number, best), float(waits[best] % 1.0) * self.turn_s

    def _angle(self, place: int, index: int) -> float:
        return self.angles[place] + float(self._place(place).shifts[index])

    def _columns(self) -> tuple[Ints, Floats, Floats, Floats]:
        """Return places, phases of commands and of ends in turns, and times, of all reads."""
        places = np.array([r.place for r in self.reads], dtype=np.int64)
        origin = self.reads[0].issued_s
        issued = np.array([r.issued_s for r in self.reads]) - origin
        done = np.array([r.done_s for r in self.reads]) - origin
        epochs = np.array([r.epoch for r in self.reads])
        for mine in (np.flatnonzero(epochs == e) for e in np.unique(epochs)[1:]):
            # After a resume the clock is another: the same places tell by how much.
            known = [i for i in mine if self.reads[i].place in self.angles][:_SHIFTED]
            angles = [self._angle(self.reads[i].place, self.reads[i].number) for i in known]
            if known:
                later_s = centre(done[known] / self.turn_s - np.array(angles)) * self.turn_s
                issued[mine], done[mine] = issued[mine] - later_s, done[mine] - later_s
        return places, issued, done, done / self.turn_s

    def _refine(self) -> None:
        """Estimate the angles of all places, then the time of a turn from their drift."""
        if not self.reads:
            return
        places, _, done, phases = self._columns()
        shifts = np.array([self._place(r.place).shifts[r.number] for r in self.reads])
        for last in (False, True):
            left = phases - shifts
            order = np.argsort(places, kind="stable")
            bounds = np.flatnonzero(np.diff(places[order])) + 1
            for mine in np.split(order, bounds):
                self.angles[int(places[mine[0]])] = centre(left[mine])
            known = np.array([self.angles[int(p)] for p in places])
            drift = (left - known + 0.5) % 1.0 - 0.5
            near = np.abs(drift) < 0.01
            # The quartiles of an exponential distribution are 1.1 means apart.
            quartiles = np.percentile(drift[near], [25, 75]) if near.any() else np.zeros(2)
            self.lateness_s = float(np.diff(quartiles)[0]) / 1.1 * self.turn_s
            if last or len(self.reads) < 3 * len(self.pairs) * 2 or near.sum() < _LEAST:
                return
            slope = float(np.polyfit(done[near], drift[near], 1)[0])
            self.turn_s *= 1 + slope * self.turn_s
            phases = done / self.turn_s

    def passes(self, since: int = 0) -> Passes:
        """Return pair, way, time from the command to the first pass (s) and turns after it.

        Of the reads from number `since` on.
        """
        if not self.reads:
            self._astray = np.ones(len(self.pairs))
            none = np.zeros(0, dtype=np.int64)
            return none, none, np.zeros(0), none
        _, issued, done, _ = self._columns()
        pair, way = (np.array([r[i] for r in self.reads]) for i in (0, 1))
        angle = np.array([self._angle(r.place, r.number) for r in self.reads])
        first = (angle - issued / self.turn_s) % 1.0
        taken = (done - issued) / self.turn_s
        turns = np.rint(taken - first)
        error = taken - first - turns
        # A wrong angle, or none: the read's own end is the pass.
        early_s = max(_EARLY_S, _EARLY_LATE * self.lateness_s)
        wrong = (error < -early_s / self.turn_s) | (error > _LATE_TURNS)
        tests = np.bincount(pair[way >= 0], minlength=len(self.pairs))
        self._astray = np.bincount(pair[(way >= 0) & wrong], minlength=len(self.pairs)) / tests.clip(1)
        first = np.where(wrong, taken % 1.0, first)
        turns = np.where(wrong, np.floor(taken), turns)
        hit = wrong & (taken < 0.25)
        # After a hit the arm is elsewhere.
        kept = (np.arange(len(way)) >= since) & (way >= 0) & (turns >= 0) & ~hit & ~np.roll(hit, 1)
        return pair[kept], way[kept], first[kept] * self.turn_s, turns[kept].astype(np.int64)

    def _logs(self, grids: Floats, error_s: float, passes: Passes) -> Floats:
        """Return the logarithm of the likelihood of access times, shaped as they (pair, way, n)."""
        logs = np.zeros(grids.shape)
        p = min(max(self.disturbed, 0.005), 0.4)
        pair, way, first, turns = passes
        for i, w in sorted(set(zip(pair, way, strict=True))):
            mine, grid = (pair == i) & (way == w), grids[i, w]
            at = first[mine, None] + self.turn_s * (turns[mine, None] + np.arange(-3, 1))
            # Further off, the distributions of passes a turn apart are 1 or 0 to the last digit.
            lows = np.searchsorted(grid, at.min(axis=0) - 9 * error_s)
            highs = np.searchsorted(grid, at.max(axis=0) + 10 * error_s)
            met = [k for k in range(4) if lows[k] < highs[k]]
            # Only where one is neither, and a point on each side that stands for all beyond.
            begin = max(min((int(lows[k]) for k in met), default=0) - 1, 0)
            end = min(max((int(highs[k]) for k in met), default=0) + 1, len(grid))
            reached: list[Any] = [float(low >= end) for low in lows]
            for k in met:
                low, high = lows[k] - begin, highs[k] - begin
                reached[k] = np.zeros((len(at), end - begin))
                reached[k][:, :low] = 1.0
                near = grid[lows[k] : highs[k]]
                reached[k][:, low:high] = ndtr((at[:, k, None] - near) / error_s)
            two, one, here = (reached[k + 1] - reached[k] for k in range(3))
            likely = (1 - p) * here + p * (0.45 * one + 0.45 * two + 0.1 * reached[3])
            likely = np.broadcast_to(likely, (len(at), end - begin))
            found = np.log(likely + 1e-6).sum(axis=0)
            logs[i, w] = np.pad(found, (begin, len(grid) - end), "edge")
        return logs

    def _coarse(self) -> tuple[Floats, Floats]:
        """Return access times (n) and their posteriors (pair, way, n), to plan with."""
        grid = np.arange(COARSE_S / 2, LONGEST_S, COARSE_S)
        each = np.broadcast_to(grid, (len(self.pairs), 2, len(grid)))
        seen, sums = self._sums
        # Angles are known well enough after a few rounds: then only new reads are added.
        if self._rounds <= _ROUGH or sums is None:
            seen, sums = 0, np.zeros(each.shape)
        sums = sums + self._logs(each, COARSE_S, self.passes(seen))
        self._sums = len(self.reads), sums
        return grid, np.exp(sums - sums.max(axis=2, keepdims=True))

    def _finest(self) -> tuple[Floats, Floats]:
        """Return access times and posteriors around the modes, with the error that fits best."""
        grid, coarse = self._coarse()
        modes = grid[np.argmax(coarse, axis=2)]
        fine = np.maximum(modes[:, :, None] + np.arange(-WINDOW_S, WINDOW_S, GRID_S), GRID_S / 2)
        passes = self.passes()
        logs = [self._logs(fine, error, passes) for error in _ERRORS_S]
        best = int(np.argmax([logsumexp(each, axis=2).sum() for each in logs]))
        self.error_s = _ERRORS_S[best]
        return fine, np.exp(logs[best] - logs[best].max(axis=2, keepdims=True))

    def values(self) -> list[tuple[Value, Value]]:
        """Return the least access times of each pair, there and back."""
        if self._values and self._values[0] == len(self.reads):
            return self._values[1]
        grids, posteriors = self._finest()
        pair, way, _, _ = self.passes()
        found = []
        for i in range(len(self.pairs)):
            both = []
            for w in (0, 1):
                density = np.cumsum(posteriors[i, w])
                at = np.interp(np.array([0.025, 0.5, 0.975]) * density[-1], density, grids[i, w])
                low, middle, high = (float(t) for t in at)
                count = int(((pair == i) & (way == w)).sum())
                told = count >= _LEAST and self._astray[i] < _MOST_ASTRAY
                origin: Origin = "measured" if told else "not identifiable"
                both.append(Value(middle, low, high, origin, count, self.step, "s"))
            found.append((both[0], both[1]))
        self._values = len(self.reads), found
        return found
