"""The answer: what to take, what it is chosen from, how sure that is, and what would change it."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from headstack import _toml, drives
from headstack.advice import confidence
from headstack.advice.question import Question
from headstack.advice.search import Ask, Found, Search, Tried, coarse, excess
from headstack.advice.space import Design, Kind
from headstack.results import goal as goals
from headstack.runs import worker

#: Factor of the load in a counterfactual.
MORE_LOAD = 1.2

#: Capacities of drives that are taken for the same but for their actuators differ by less.
ALIKE = 0.15


@dataclass(frozen=True)
class Other:
    """A system that differs from the answer in one thing.

    Attributes:
        what: what differs.
        tried: its runs.
        misses: what it does not keep of what was asked.
        meets: whether it keeps all.
    """

    what: str
    tried: Tried
    misses: list[str]

    @property
    def meets(self) -> bool:
        """Whether it keeps all that was asked."""
        return not self.misses

    @property
    def verdict(self) -> str:
        """Whether it does, in words."""
        return f"misses {', '.join(self.misses)}" if self.misses else "meets"


@dataclass
class Advice:
    """The answer to a question.

    Attributes:
        question: the question.
        found: what was found for each design.
        chosen: the design that is recommended, with its system; None if none meets the goal.
        front: the designs of which no other is better in everything, the chosen one first.
        interval: 95 % interval of the goal's quantile for the chosen system, or None.
        binds: what keeps it from being smaller.
        others: counterfactuals.
        notes: what makes the answer mislead.
        n_runs: number of runs.
        n_simulated: requests of all runs.
    """

    question: Question
    found: list[Found]
    chosen: Found | None
    front: list[Found]
    interval: confidence.Interval | None = None
    binds: str = ""
    others: list[Other] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    n_runs: int = 0
    n_simulated: int = 0

    @property
    def best(self) -> Tried | None:
        """The recommended system."""
        return None if self.chosen is None else self.chosen.best

    @property
    def sure(self) -> bool | None:
        """Whether the whole interval keeps the bound; None if there is no interval."""
        bound = self.question.bound
        if self.interval is None or self.interval.high is None or bound is None:
            return None
        return bound.kept(self.interval.high)

    def document(self) -> dict[str, Any]:
        """Return the answer as one JSON document."""
        from headstack import __version__

        return {
            "goal": str(self.question.goal),
            "objective": self.question.objective,
            "chosen": None if self.best is None else row(self.question, self.best),
            "interval_s": None if self.interval is None else self.interval._asdict(),
            "sure": self.sure,
            "binds": self.binds,
            "front": [row(self.question, f.best) for f in self.front if f.best is not None],
            "designs": [
                {
                    "design": f.design.label,
                    "best": None if f.best is None else row(self.question, f.best),
                    "why": why(self, f),
                    "tried": [row(self.question, t) for t in f.tried],
                    "dropped": [{"settings": k.settings, "times_the_best": mine / best} for k, mine, best in f.dropped],
                }
                for f in self.found
            ],
            "counterfactuals": [
                {**row(self.question, o.tried), **{"what": o.what, "meets": o.meets, "misses": o.misses}}
                for o in self.others
            ],
            "notes": self.notes,
            "n_runs": self.n_runs,
            "n_simulated_requests": self.n_simulated,
            "version": __version__,
        }

    def experiment_toml(self, folder: str | os.PathLike[str] = ".") -> str:
        """Return the recommended system on the workload as an experiment, for a file in `folder`.

        Raises:
            ValueError: no system meets the goal.
        """
        if self.best is None:
            raise ValueError("no system meets the goal")
        trace = os.path.relpath(self.question.workload["trace"], folder)
        system = self.best.kind.system(self.best.count, "recommended")
        drive = system["drive"]
        if os.sep in drive or Path(drive).suffix:
            system["drive"] = os.path.relpath(drive, folder)
        document = {
            "goal": str(self.question.goal),
            "workload": {**self.question.workload, "trace": trace},
            "system": [system],
            "run": {"seed": self.question.seeds[0]},
            "cost": {"years": self.question.years},
        }
        return _toml.dumps(document)


def dollars(question: Question, tried: Tried) -> tuple[float | None, float]:
    """Return the price of all drives, in the middle of its range, and that of their energy."""
    usd = tried.kind.design.usd
    energy = tried.mean("energy_cost_usd") or 0.0
    return (None if usd is None else sum(usd) / 2 * tried.count), energy


def row(question: Question, tried: Tried) -> dict[str, Any]:
    """Return the main numbers of a system."""
    price, energy = dollars(question, tried)
    values: dict[str, Any] = {}
    for bound in question.goal:
        unit = {"ms": "_s", "W": "_w"}.get(bound.unit, "")
        values[bound.name.replace(".", "_") + unit] = tried.bounded(bound)
    return {
        "drive": tried.kind.design.drive,
        "dash": tried.kind.design.dash,
        "organisation": tried.kind.design.organisation,
        "count": tried.count,
        "groups": tried.kind.design.groups(tried.count),
        "settings": tried.kind.settings,
        "meets": tried.meets,
        **values,
        "power_mean_w": tried.mean("power_mean_w"),
        "utilisation": tried.mean("utilisation"),
        "usd": price,
        "energy_usd": energy,
        "rebuild_s": tried.kind.design.rebuild_s,
        "n_seeds": len(tried.rows),
        "overloaded": any(r.get("overloaded") for r in tried.rows),
        "error": tried.error,
    }


def rank(question: Question, tried: Tried) -> tuple[float, ...]:
    """Return by what systems that meet the goal are compared: the objective first.

    Power and dollars are in steps of 1 %, so that the goal's numbers decide between equal ones.
    """
    power = coarse(tried.mean("power_mean_w"))
    if question.objective == "power":
        return power, tried.count, tried.excess
    if question.objective == "cost":
        price, energy = dollars(question, tried)
        return coarse(None if price is None else price + energy), power, tried.excess
    return tried.count, power, tried.excess


def _sides(question: Question, found: Found) -> list[float | None]:
    """Return the numbers that a better design has less of."""
    best = found.best
    assert best is not None
    price, energy = dollars(question, best)
    rebuild = found.design.rebuild_s
    return [
        best.excess,
        best.mean("power_mean_w"),
        None if price is None else price + energy,
        float(best.count),
        math.inf if rebuild is None else rebuild,
    ]


#: The place of dollars among them.
_DOLLARS = 2


def dominates(one: Sequence[float | None], other: Sequence[float | None]) -> bool:
    """Return whether one is at least as good in everything and better in something.

    A number that one of them does not have is not compared.

    Example:
        >>> dominates([1, 2], [1, 3]), dominates([1, None], [2, 3]), dominates([1, 4], [2, 3])
        (True, True, False)
    """
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def _better(question: Question, one: Found, other: Found) -> bool:
    """Return whether a design dominates another one."""
    mine, others = _sides(question, one), _sides(question, other)
    if one.design.price_kind != other.design.price_kind:
        mine[_DOLLARS] = None
    return dominates(mine, others)


def front(question: Question, found: Sequence[Found]) -> list[Found]:
    """Return the designs that no other one dominates, the best by the objective first."""
    able = [f for f in found if f.best is not None]
    left = [f for f in able if not any(_better(question, g, f) for g in able if g is not f)]
    return sorted(left, key=lambda f: rank(question, _best(f)))


def _best(found: Found) -> Tried:
    assert found.best is not None
    return found.best


def conclude(search: Search, found: list[Found]) -> Advice:
    """Return the answer from what was found, with its certainty and counterfactuals."""
    question = search.question
    able = sorted((f for f in found if f.best is not None), key=lambda f: rank(question, _best(f)))
    answer = Advice(question, found, able[0] if able else None, front(question, found))
    answer.notes += question.notes
    if answer.chosen is not None:
        best = _best(answer.chosen)
        answer.others = _others(search, best)
        answer.binds = _binds(answer)
        if question.share is not None and question.bound is not None:
            ask = Ask(best.kind, best.count, None, question.seeds[0])
            answer.interval = _interval(search, ask, question.share, question.bound.operation)
            answer.notes += _too_short(question, answer.interval)
        if any(r.get("warnings") for r in best.rows):
            answer.notes.append("the recommended system has warnings; its report has them")
        answer.notes += rebuilding(best)
    answer.n_runs, answer.n_simulated = search.n_runs, search.n_simulated
    return answer


def _interval(search: Search, ask: Ask, share: float, operation: str | None) -> confidence.Interval:
    future = search.pool().submit(confidence.measured, search.question.base, search.overrides(ask), share, operation)
    return confidence.Interval(*future.result())


def rebuilding(best: Tried) -> list[str]:
    """Return what a RAID-5 risks after a failure: closed form, all drives at their mean rate."""
    design = best.kind.design
    if design.organisation != "raid5" or design.rebuild_s is None:
        return []
    others = best.count // design.groups(best.count) - 1
    return [
        f"after a failure RAID-5 has no redundancy until the rebuild is done, in at least "
        f"{design.rebuild_s / 3600:,.1f} h: another drive that fails, or a sector of the {others} "
        f"other drives ({others * design.capacity_bytes / 1e12:,.0f} TB) that cannot be read, is "
        "then a loss of data"
    ]


def _too_short(question: Question, interval: confidence.Interval) -> list[str]:
    if interval.low is not None or question.bound is None or question.share is None:
        return []
    need = confidence.least_requests(question.share)
    return [
        f"the trace is too short: {question.bound.name} rests on the {interval.n_beyond} slowest "
        f"of {question.load.n_requests:,} requests; an interval needs {need:,}"
    ]


def special(search: Search, what: str, kind: Kind, count: int, more: Mapping[str, Any]) -> Other:
    """Run a system with further settings, with all seeds."""
    records = []
    for seed in search.question.seeds:
        overrides = search.overrides(Ask(kind, count, None, seed))
        overrides["set"] = {**overrides["set"], **more}
        records.append(search.pool().submit(worker.simulate, worker.hash_of(search.question.base), overrides, True))
    found = [r.result() for r in records]
    wrong = next((str(r["error"]) for r in found if r["error"] is not None), None)
    rows = () if wrong else tuple(r["rows"][0] for r in found)
    ratio = math.inf if wrong else excess(search.question, rows)
    search.n_runs += len(found)
    search.n_simulated += sum(int(r.get("n_requests", 0)) for r in rows)
    tried = Tried(kind, count, rows, ratio, wrong)
    return Other(what, tried, missed(search.question, tried))


def single_actuator(design: Design, designs: Sequence[Design]) -> Design | None:
    """Return the design without the second actuator: one arm, or a drive that is alike else."""
    if design.n_actuators < 2:
        return None
    if design.dash is not None and "A2" in design.dash:
        return replace(design, dash=design.dash.replace("A2", "A1"))
    names = [d.drive for d in designs] + drives.names()
    for name in dict.fromkeys(names):
        other = replace(design, drive=name, dash=None, price=None)
        try:
            alike = abs(other.capacity_bytes / design.capacity_bytes - 1) < ALIKE
        except Exception:  # a drive of the list that cannot be used
            continue
        if other.n_actuators == 1 and alike:
            return other
    return None


def _others(search: Search, best: Tried) -> list[Other]:
    """Return the counterfactuals of a system."""
    kind, design = best.kind, best.kind.design
    found = []
    fewer = [n for n in design.counts(search.question.most) if n < best.count]
    if fewer:
        gone = best.count - fewer[-1]
        said = "one drive fewer" if gone == 1 else f"{gone} drives fewer"
        found.append(special(search, said, kind, fewer[-1], {}))
    alone = single_actuator(design, search.question.designs)
    if alone is not None:
        named = f"no second actuator: {alone.drive}{f' {alone.dash}' if alone.dash else ''}"
        found.append(special(search, named, replace(kind, design=alone), best.count, {}))
    scale = float(search.question.workload["time_scale"]) / MORE_LOAD
    more = {"workload.0.time_scale": scale}
    found.append(special(search, "a fifth more load", kind, best.count, more))
    if design.survives:
        lost = {"at": "0 s", "layer": design.organisation, "instances": [0], "member_gone": 0}
        failed = {"system.0.change": [lost]}
        found.append(special(search, "one drive failed", kind, best.count, failed))
    return found


def _binds(answer: Advice) -> str:
    """Return what keeps the recommended system from having fewer drives: all that they break."""
    fewer = next((o for o in answer.others if o.what.endswith("fewer")), None)
    if fewer is None:
        return "nothing: it is the smallest of its kind"
    if fewer.meets:
        return f"nothing: {fewer.what} keeps all bounds too"
    return " and ".join(fewer.misses)


def missed(question: Question, tried: Tried) -> list[str]:
    """Return what a system does not keep of what was asked, each in few words."""
    design, found = tried.kind.design, []
    usable = design.usable_bytes(tried.count)
    if usable < question.capacity_bytes:
        have, need = usable / 1e12, question.capacity_bytes / 1e12
        found.append(f"capacity ({have:,.1f} of {need:,.1f} TB)")
    if design.survives < question.survives:
        found.append("survives")
    if tried.count > question.most:
        found.append("most")
    if question.budget_usd is not None and design.usd is not None:
        found += ["budget"] if design.usd[0] * tried.count > question.budget_usd else []
    if tried.error is not None:
        return [*found, f"space: {tried.error}"]
    most = [] if question.power_w is None else [goals.Bound(None, "power", question.power_w)]
    for bound in [*question.goal, *most]:
        alone = replace(question, goal=goals.Goal([bound]), power_w=None)
        late = any(r.get("overloaded") for r in tried.rows) and bound.measure in goals.TIMES
        if excess(alone, tried.rows) > 1:
            found.append(f"{bound.name} (cannot keep up)" if late else bound.name)
    return found


def said(question: Question, tried: Tried) -> str:
    """Return the numbers of a system that the goal is about, in words."""
    if tried.error is not None:
        return tried.error
    means = [(bound, tried.bounded(bound)) for bound in question.goal]
    parts = [f"{bound.name} {bound.shown(mean)}" for bound, mean in means if mean is not None]
    late = any(r.get("overloaded") for r in tried.rows)
    return ", ".join(parts) + (", and cannot keep up" if late else "")


def why(answer: Advice, found: Found) -> str:
    """Return in one sentence why a design is the answer, or why not."""
    question, best = answer.question, found.best
    if found.why_not is not None:
        return f"out without a run: {found.why_not}"
    if best is None:
        if not found.tried:
            return "no run"
        last = max(found.tried, key=lambda t: (t.count, -t.excess))
        return f"no number of drives meets the goal: with {last.count} {said(question, last)}"
    fewer = [t for t in found.tried if t.count < best.count]
    text = f"{best.count} drives: {said(question, best)}, {best.mean('power_mean_w') or 0:,.1f} W"
    if fewer:
        near = max(fewer, key=lambda t: (t.count, -t.excess))
        text += f"; with {near.count}: {said(question, near)}"
    elif found.bound_by == "capacity":
        text += "; fewer do not hold the data"
    if found is answer.chosen:
        return text
    if not any(found is f for f in answer.front):
        text += "; another one is at least as good in everything"
    return text
