"""The search: closed forms first, then the beginning of the trace, then all of it for contenders.

# Model
Each design (a drive in an organisation) is searched alone, and all side by side.

1. Capacity, power at idle and price bound the number of drives from below and above.
2. Closed forms estimate the number at which arms are busy for `TARGET` of the time. From there, on
   the first `PREFIX` of the requests, the smallest number that meets the goal is found: steps that
   double until the answer changes, then bisection.
3. At that number all settings run on this part with several seeds. Those that are worse than
   the best by more than `MARGIN`, or by more than chance explains, are dropped (racing).
4. With all requests, the settings that are left run at that number; the best ones go on. Steps and
   bisection find the smallest number again. Where the first seed is near the limit, the others
   decide, by their mean.
5. At one drive fewer the other settings that were left get their chance.

What a system is judged by is its *excess*: the largest ratio of a number to its bound. It meets
the goal at 1 or less.

# Validity
More drives must not be worse but for near misses, below which the search looks further: of several
numbers at which the answer changes, one is found. Settings that are far worse on the first part of
the trace must be worse on the whole.
"""

import math
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from headstack.advice.question import Question
from headstack.advice.space import Design, Kind, kinds
from headstack.results import goal as goals
from headstack.results import paired
from headstack.runs import worker
from headstack.runs.store import Keys, Store

#: Share of time in which arms are busy, by closed forms, at the number of drives tried first.
TARGET = 0.5

#: Part of the trace that is tried first, and its least number of requests.
PREFIX, LEAST_PREFIX = 0.1, 2000

#: Settings that are worse than the best by this factor on the first part are dropped.
MARGIN = 1.3

#: Most settings of a design that run the whole trace.
MOST_SETTINGS = 3

#: Distance of the excess from 1 within which all seeds decide: at first, and its bounds later.
NEAR, LEAST_NEAR, MOST_NEAR = 0.1, 0.03, 0.3


@dataclass(frozen=True)
class Ask:
    """One run.

    Attributes:
        kind: the system's kind.
        count: its number of drives.
        n_requests: requests from the beginning of the trace; None: all.
        seed: the seed.
    """

    kind: Kind
    count: int
    n_requests: int | None
    seed: int


@dataclass(frozen=True)
class Tried:
    """A system with its runs of the whole trace or of a part.

    Attributes:
        kind: the system's kind.
        count: its number of drives.
        rows: the numbers, one row for each seed.
        excess: the largest ratio of a number to its bound; infinite if it cannot be run.
        error: why it cannot be run, or None.
    """

    kind: Kind
    count: int
    rows: tuple[dict[str, Any], ...]
    excess: float
    error: str | None

    @property
    def meets(self) -> bool:
        """Whether it meets the goal."""
        return self.excess <= 1

    def mean(self, column: str) -> float | None:
        """Return the mean of a column over its seeds."""
        values = [float(r[column]) for r in self.rows if r.get(column) is not None]
        return fmean(values) if values else None

    def bounded(self, bound: goals.Bound) -> float | None:
        """Return the mean of a bounded number over its seeds."""
        values = [v for r in self.rows if (v := value(bound, r)) is not None]
        return sum(values) / len(values) if values else None


@dataclass
class Found:
    """What was found for a design.

    Attributes:
        design: the design.
        counts: the numbers of drives that bounds leave.
        why_not: why it is out without a run, or None.
        enough: the fewest drives that hold the data, if they are more than may be taken.
        bound_by: what bounds its number of drives from below: ``capacity``, or None.
        best: the system with fewest drives that meets the goal, or None.
        tried: all that ran the whole trace, in order.
        dropped: settings that were dropped, with their excess and that of the best, on a part.
    """

    design: Design
    counts: list[int] = field(default_factory=list)
    why_not: str | None = None
    enough: int | None = None
    bound_by: str | None = None
    best: Tried | None = None
    tried: list[Tried] = field(default_factory=list)
    dropped: list[tuple[Kind, float, float]] = field(default_factory=list)


#: A search yields lists of runs and is sent their results in the same order.
Searching = Generator[list[Ask], list[dict[str, Any]], None]


def value(bound: goals.Bound, row: dict[str, Any]) -> float | None:
    """Return what a row of a sweep has of a bounded number."""
    if bound.measure == "power":
        found = row.get("power_mean_w")
    else:
        stem = f"{bound.operation}_" if bound.operation else ""
        name = "throughput_iops" if bound.measure == "iops" else f"response_time_{bound.measure}_s"
        found = row.get(stem + name)
    return None if found is None else float(found)


def excess(question: Question, rows: Sequence[dict[str, Any]]) -> float:
    """Return the largest ratio of a number to its bound, with means over seeds."""
    ratios = []
    for bound in question.goal:
        values = [v for row in rows if (v := value(bound, row)) is not None]
        if not values:
            return math.inf
        mean = fmean(values)
        ratios.append(bound.limit / mean if bound.at_least else mean / bound.limit)
    if question.power_w is not None:
        ratios.append(fmean(float(r["power_mean_w"]) for r in rows) / question.power_w)
    worst = max(ratios)
    # Times of a system that cannot keep up grow with the run: it meets no bound of them.
    late = any(r.get("overloaded") for r in rows)
    timed = any(b.measure in goals.TIMES for b in question.goal)
    return max(worst, math.nextafter(1, 2)) if late and timed else worst


def counts(question: Question, found: Found) -> None:
    """Bound the numbers of drives of a design without a run."""
    design = found.design
    every = design.counts(question.most)
    enough = [n for n in every if design.usable_bytes(n) >= question.capacity_bytes]
    if not enough:
        have = design.usable_bytes(every[-1]) / 1e12 if every else 0
        wanted = question.capacity_bytes / 1e12
        # Twice the drives without redundancy hold as much in any organisation.
        bare = math.ceil(question.capacity_bytes / design.capacity_bytes)
        more = design.counts(min(2 * (bare + design.group), 100_000))
        holding = (n for n in more if design.usable_bytes(n) >= question.capacity_bytes)
        found.enough = next(holding, None)
        found.why_not = f"{question.most} drives hold {have:,.1f} of {wanted:,.1f} TB"
        found.why_not += f", {found.enough} would" if found.enough else ""
        return
    found.bound_by = "capacity" if enough[0] > every[0] else None
    least = enough[0]
    if question.power_w is not None:
        enough = [n for n in enough if n * design.idle_w <= question.power_w]
        if not enough:
            found.why_not = f"{least} drives draw {least * design.idle_w:,.0f} W without any work"
            return
    if question.budget_usd is not None and design.usd is not None:
        low = design.usd[0]
        enough = [n for n in enough if n * low <= question.budget_usd]
        if not enough:
            found.why_not = f"{least} drives cost {least * low:,.0f} dollars"
            return
    found.counts = enough


def coarse(number: float | None) -> float:
    """Return a number in steps of 1 %: what differs by less does not decide.

    Example:
        >>> coarse(14.8503) == coarse(14.8509), coarse(10.0) < coarse(10.3)
        (True, True)
    """
    return math.inf if number is None or number <= 0 else round(100 * math.log(number))


class Search:
    """The search for one question.

    Attributes:
        question: the question.
        n_simulated: requests of all runs that were asked for.
        n_runs: number of these runs.
    """

    def __init__(self, question: Question, store: Store, executor: Callable[[], Executor]) -> None:
        self.question = question
        self.n_simulated = 0
        self.n_runs = 0
        self._store = store
        self._make = executor
        self._pool: Executor | None = None
        self._base = question.base
        self._hash = worker.hash_of(self._base)
        self._keys = Keys(self._base)
        self._known: dict[Ask, dict[str, Any]] = {}
        #: Relative differences between seeds that were seen.
        self._spreads: list[float] = []

    def overrides(self, ask: Ask) -> dict[str, Any]:
        """Return what a run replaces in the experiment, as the core takes it."""
        system = ask.kind.system(ask.count)
        settings = {f"system.0.{key}": v for key, v in system.items()}
        if ask.n_requests is not None:
            settings["workload.0.count"] = ask.n_requests
        return {"set": settings, "set_by": "advise", "seed": ask.seed}

    def pool(self) -> Executor:
        """Return where runs are computed."""
        if self._pool is None:
            self._pool = self._make()
        return self._pool

    def close(self, *, at_once: bool = False) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(wait=not at_once, cancel_futures=at_once)

    def rows(self, asks: Sequence[Ask]) -> list[dict[str, Any]]:
        """Return the records of runs, computing those that are not known."""
        new = [a for a in dict.fromkeys(asks) if a not in self._known]
        names = {a: self._keys.of(self.overrides(a)) for a in new}
        futures = {}
        for ask in new:
            record = self._store.get(names[ask])
            if record is None:
                futures[ask] = self.pool().submit(worker.simulate, self._hash, self.overrides(ask), True)
            else:
                self._known[ask] = record
        for ask, future in futures.items():
            record = future.result()
            if record["error"] is None:
                self._store.put(names[ask], record)
            self._known[ask] = record
        for ask in new:
            self.n_runs += 1
            self.n_simulated += sum(int(r.get("n_requests", 0)) for r in self._known[ask]["rows"])
        return [self._known[a] for a in asks]

    def run(self, progress: Callable[[int, int | None], None] | None = None) -> list[Found]:
        """Search all designs side by side, in rounds; return what was found, in their order."""
        found = [Found(design) for design in self.question.designs]
        waiting: list[tuple[Searching, list[Ask]]] = []
        for one in found:
            counts(self.question, one)
            if one.counts:
                searching = self._design(one)
                waiting.append((searching, next(searching)))
        while waiting:
            records = self.rows([a for _, asks in waiting for a in asks])
            going = []
            for searching, asks in waiting:
                own, records = records[: len(asks)], records[len(asks) :]
                try:
                    going.append((searching, searching.send(own)))
                except StopIteration:
                    continue
            waiting = going
            if progress is not None:
                progress(self.n_runs, None)
        return found

    # One design.

    def _tried(self, kind: Kind, count: int, records: Sequence[dict[str, Any]]) -> Tried:
        wrong = next((str(r["error"]) for r in records if r["error"] is not None), None)
        rows = () if wrong else tuple(r["rows"][0] for r in records)
        ratio = math.inf if wrong else excess(self.question, rows)
        return Tried(kind, count, rows, ratio, wrong)

    def _near(self) -> float:
        """Return the distance from the limit within which all seeds decide."""
        if len(self._spreads) < 3:
            return NEAR
        return min(max(3 * fmean(self._spreads), LEAST_NEAR), MOST_NEAR)

    def _try(
        self, found: Found | None, kind: Kind, count: int, n: int | None, *, all_seeds: bool = False
    ) -> Generator[list[Ask], list[dict[str, Any]], Tried]:
        """Run a system; with several seeds if one does not decide."""
        first, *more = self.question.seeds
        records = list((yield [Ask(kind, count, n, first)]))
        tried = self._tried(kind, count, records)
        near = abs(math.log(tried.excess)) < self._near() if 0 < tried.excess < math.inf else False
        if more and tried.error is None and (all_seeds or (near and n is None)):
            records += yield [Ask(kind, count, n, seed) for seed in more]
            tried = self._tried(kind, count, records)
            single = [excess(self.question, [row]) for row in tried.rows]
            if min(single) > 0 and max(single) < math.inf:
                self._spreads.append((max(single) - min(single)) / fmean(single))
        if found is not None and n is None:
            found.tried = [t for t in found.tried if (t.kind, t.count) != (kind, count)]
            found.tried.append(tried)
        return tried

    def _smallest(
        self, found: Found, kind: Kind, start: int, n: int | None
    ) -> Generator[list[Ask], list[dict[str, Any]], Tried | None]:
        """Return the system with fewest drives that meets the goal: double steps, then bisect."""
        every = found.counts
        place = min(range(len(every)), key=lambda i: abs(every[i] - start))
        seen: dict[int, Tried] = {}

        def at(i: int) -> Generator[list[Ask], list[dict[str, Any]], Tried]:
            if i not in seen:
                seen[i] = yield from self._try(found, kind, every[i], n)
            return seen[i]

        low, high, step = -1, len(every), 1
        good = (yield from at(place)).meets
        low, high = (low, place) if good else (place, high)
        while high - low > 1:
            if low == -1:
                place = max(high - step, 0)
            elif high == len(every):
                place = min(low + step, len(every) - 1)
            else:
                place = (low + high) // 2
            step *= 2
            if (yield from at(place)).meets:
                high = place
            else:
                low = place
        # Just below a near miss another number may meet the goal by chance of the trace.
        place = high - 1
        while n is None and place > 0 and (yield from at(place)).excess < 1 + self._near():
            place -= 1
            if (yield from at(place)).meets:
                high = place
        return seen[high] if high < len(every) else None

    def _design(self, found: Found) -> Searching:
        """Search one design."""
        question = self.question
        every = kinds(found.design, question.depths, question.schedulers, question.caches, question.chunks)
        wanted = found.counts[0]
        busy = found.design.utilisation(question.load, 1) / TARGET
        start = min(found.counts, key=lambda n: abs(n - max(wanted, math.ceil(busy))))
        part = max(round(PREFIX * question.load.n_requests), LEAST_PREFIX)
        left = every
        if part < question.load.n_requests / 2:
            first = yield from self._smallest(found, every[0], start, part)
            start = found.counts[-1] if first is None else first.count
            left = yield from self._race(found, every, start, part)
            left = left[:MOST_SETTINGS]
        yield from self._whole(found, left, start)

    def _race(
        self, found: Found, every: Sequence[Kind], count: int, part: int
    ) -> Generator[list[Ask], list[dict[str, Any]], list[Kind]]:
        """Return the settings that may be best, the best first."""
        if len(every) == 1:
            return list(every)
        seeds = self.question.seeds
        records = yield [Ask(k, count, part, s) for k in every for s in seeds]
        tried = []
        for i, kind in enumerate(every):
            tried.append(self._tried(kind, count, records[i * len(seeds) : (i + 1) * len(seeds)]))
        order = sorted(range(len(every)), key=lambda i: (tried[i].excess, i))
        best = tried[order[0]]
        left = []
        for i in order:
            if self._worse(best, tried[i]):
                found.dropped.append((every[i], tried[i].excess, best.excess))
            else:
                left.append(every[i])
        return left

    def _worse(self, best: Tried, other: Tried) -> bool:
        """Return whether settings are worse than the best, with confidence and by much."""
        if other is best:
            return False
        if other.error is not None:
            return True
        if other.excess <= best.excess * MARGIN:
            return False
        if len(best.rows) < 2:
            return True
        pairs = [[excess(self.question, [r]) for r in t.rows] for t in (best, other)]
        middle, half = paired.difference(*pairs)
        return middle - half > 0 or other.excess > 2 * best.excess

    def _whole(self, found: Found, left: Sequence[Kind], start: int) -> Searching:
        """Search with all requests."""
        tried = []
        for kind in left:
            tried.append((yield from self._try(found, kind, start, None)))
        order = sorted(tried, key=lambda t: t.excess)
        contenders = [t.kind for t in order if t.excess <= order[0].excess * MARGIN]
        first, *others = contenders[:MOST_SETTINGS] or [order[0].kind]
        best = yield from self._smallest(found, first, start, None)
        # Others may do with fewer drives, or do at all.
        for kind in others:
            fewer = [n for n in found.counts if best is None or n < best.count]
            while fewer:
                tried_fewer = yield from self._try(found, kind, fewer.pop(), None)
                if not tried_fewer.meets:
                    break
                best = tried_fewer
        if best is not None:
            at_best = []
            for kind in dict.fromkeys([best.kind, first, *others]):
                sure = kind == best.kind
                at_best.append((yield from self._try(found, kind, best.count, None, all_seeds=sure)))
            good = [t for t in at_best if t.meets] or [best]
            chosen = min(good, key=lambda t: (coarse(t.mean("power_mean_w")), t.excess))
            chosen = yield from self._try(found, chosen.kind, best.count, None, all_seeds=True)
            best = chosen if chosen.meets else good[0]
        found.best = best
