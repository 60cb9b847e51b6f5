"""Judging the claims of a paper: runs, outcomes and the document, the same for all papers.

The claims are data (`headstack.papers.claims`). The function of a claim gets a `Study` for its
simulations and returns tables; `evaluate` compares its parts with them, and `rules` decides.

A `Choice` is a value on which a verdict may hang: the claim is judged again with each alternative,
and the results are shown beside the verdict. If the paper leaves it open, the choice is a reading,
and the verdict is that over all readings.
"""

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import headstack
from headstack.errors import ConfigError, HeadstackError
from headstack.papers import evaluate, rules
from headstack.papers.claims import Claim, Comparison, Paper
from headstack.papers.evaluate import Rows, Table
from headstack.papers.rules import NOTHING, Part, Verdict
from headstack.papers.runs import Report, Run, Runs
from headstack.papers.traces import Found, find

#: Runs with seeds of their own that a number is averaged over, for its error bars.
SEEDS = 5

#: Reason why a claim was not run that the user did not select.
NOT_ASKED = "not asked for"


@dataclass
class Outcome:
    """The result of one claim.

    Attributes:
        parts: the compared parts.
        refused: the simulator's error, if nothing could be compared.
        figures: names of figures, the claim's own first.
        tables: further numbers.
        beside: what a reader of the verdict must know.
        because: the claim's own sentences for verdicts.
        readings: the outcome in each other reading of what the paper leaves open, by name.
    """

    parts: list[Part] = field(default_factory=list)
    refused: str = ""
    figures: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    beside: str = ""
    because: Mapping[Verdict, str] = field(default_factory=dict)
    readings: Mapping[str, "Outcome"] = field(default_factory=dict)

    @property
    def as_chosen(self) -> Verdict:
        """The verdict of the parts that count, as chosen."""
        return rules.verdict(self.parts)

    @property
    def verdict(self) -> Verdict:
        """The verdict over all readings."""
        return rules.over_readings([self.as_chosen, *(o.as_chosen for o in self.readings.values())])

    @property
    def why(self) -> str:
        """Why it is not reproduced; empty if it is."""
        return self.refused or rules.why(self.parts) or self._missed()

    @property
    def reason(self) -> str:
        """The reason of the verdict in one sentence."""
        own = self.because.get(self.verdict, "") or self.refused
        return own or self._missed() or rules.sentence(self.parts)

    @property
    def missed(self) -> dict[str, "Outcome"]:
        """The readings in which it does not hold."""
        return {k: o for k, o in self._judged().items() if o.as_chosen is Verdict.DEVIATES}

    @property
    def held(self) -> str:
        """In how many readings it holds, such as ``3 of 4``; empty if none could be judged."""
        n = len(self._judged())
        return f"{n - len(self.missed)} of {n}" if n else ""

    def _judged(self) -> dict[str, "Outcome"]:
        outcomes = {"as chosen": self, **self.readings}
        return {k: o for k, o in outcomes.items() if o.as_chosen is not Verdict.NOT_RUN}

    def _missed(self) -> str:
        """Return in which readings it does not hold, if that depends on them."""
        if self.verdict is not Verdict.DEPENDS:
            return ""
        first = next(iter(self.missed.values()))
        return f"not with {', '.join(self.missed)}: {rules.sentence(first.parts)}"

    @property
    def deviation(self) -> float | None:
        """The largest deviation of a number that counts."""
        found = [p.deviation for p in self.parts if p.counts and p.deviation is not None]
        return max(found, key=abs, default=None)


class Study:
    """The tools of a claim's function: runs, figures, choices, and the size of runs.

    Attributes:
        quick: whether to use fewer requests.
        traces: trace files by workload.
        choices: values for what the paper leaves open, a dataclass of the paper's module.
        varied: whether a claim is judged again with another choice: few requests, and only what its
            parts need.
        runs: all runs so far.
        out: directory for all that the study writes.
    """

    def __init__(
        self,
        paper: str,
        out: Path,
        *,
        quick: bool,
        traces: Mapping[str, Path],
        choices: Any = None,
        report: Report | None = None,
    ) -> None:
        self.quick = quick
        self.traces = dict(traces)
        self.choices = choices
        self.varied = False
        self.store = Runs(out / "runs", report)
        self.label = paper
        self.specs: dict[str, dict[str, Any]] = {}
        self.runs: list[Run] = []
        self._folder = Path("figures") / paper
        self.out = out

    def vary(self, **choices: Any) -> "Study":
        """Return a study with other choices that shares the finished runs and draws no figures."""
        other = copy.copy(self)
        other.choices = replace(self.choices, **choices)
        other.quick = other.varied = True
        return other

    def choosing(self, **values: Any) -> "Study":
        """Return the same study with other values of `choices`, such as another seed."""
        other = copy.copy(self)
        other.choices = replace(self.choices, **values)
        return other

    def run(self, runs: Iterable[Run]) -> dict[str, dict[str, Any]]:
        """Return the result of each run by its system's name; names must be different."""
        wanted = list(runs)
        self.runs += wanted
        results = self.store.get(wanted, self.label)
        by_name = {str(r["name"]): r for r in results}
        if len(by_name) != len(wanted):
            raise ConfigError(f"{self.label}: got systems of one name, need different names")
        return by_name

    def seeds(self) -> range:
        """Return the seeds that numbers are averaged over; one where the numbers decide nothing.

        The first one is the seed that the claim is judged with.
        """
        return range(self.choices.seed, self.choices.seed + (1 if self.varied else SEEDS))

    def draw(self, claim: Claim, tables: Rows, parts: Sequence[Part]) -> list[str]:
        """Write the figures of a claim as PNG and SVG and add them to the page; return the names.

        The paper's numbers are drawn at the places that the parts state.
        """
        from headstack.show import plots
        from headstack.show.plots import figure

        paper, names = evaluate.paper_points(parts), []
        for spec, scope, at in evaluate.expand(claim.figures, tables):
            where = {**scope, **spec.get("where", {})}
            select = partial(evaluate.select, where=where)
            words = {**scope, **next(iter(select(tables.get(spec.get("data", {}).get("name", ""), ()))), {})}
            title = spec.get("title", "")
            lines = [evaluate.text(t, words, at) for t in (title if isinstance(title, list) else [title])]
            name = evaluate.text(spec["name"], words, at)
            own = {k: v for k, v in spec.items() if k != "where"}
            own |= {"name": name, "title": lines if isinstance(title, list) else lines[0]}
            chart = figure.draw(own, tables, at, paper, select)
            plots.save(chart, self.out / self._folder / name)
            self.specs[name] = plots.look.specification(chart)
            names.append(name)
        return names

    def figure_files(self) -> list[str]:
        """Return the files of all figures that were drawn, relative to the output folder."""
        from headstack.show.plots import SUFFIXES

        return [str(self._folder / f"{name}{end}") for name in self.specs for end in SUFFIXES]

    def path(self, figure: str) -> str:
        """Return the file of a figure, relative to the output folder."""
        return str(self._folder / f"{figure}.png")


def without_traces(paper: Paper, found: Mapping[str, Found], ids: Sequence[str], stand_ins: bool) -> list[Claim]:
    """Return the claims that are not run because there is no trace: named ones always are."""
    if stand_ins or ids or any(name in found for name in paper.workloads):
        return []
    return [c for c in paper.claims if c.traces]


def judge(claim: Claim, study: Study) -> Outcome:
    """Return the outcome of a claim; a study with other choices gets parts only."""
    try:
        tables = evaluate.rows_of(claim.measure(study))
        parts = evaluate.parts(claim, tables, partial=study.varied)
        if study.varied:
            return Outcome(parts)
        return Outcome(
            parts,
            figures=study.draw(claim, tables, parts),
            tables=evaluate.listings(claim, tables),
            beside=evaluate.beside(claim, tables),
            because=evaluate.because(claim, tables),
        )
    except HeadstackError as e:
        # If one claim cannot be run, the others are still judged.
        return Outcome(refused=f"the simulator refused: {e}")


def _shown(parts: Sequence[Part]) -> list[Part]:
    """Return the parts for a summary: those that count, or else all that were run."""
    return [p for p in parts if p.counts] or [p for p in parts if p.verdict not in (Verdict.NOT_RUN, Verdict.INPUT)]


def _sensitivity(claim: Claim, study: Study, taken: Outcome) -> tuple[list[dict[str, Any]], Table | None]:
    """Judge a claim again with each alternative; return rows for the document, and a table.

    The outcomes in other readings become those of `taken`.
    """
    listed, columns, readings = [], {"as chosen": taken}, {}
    for choice in claim.choices:
        if not choice.applies(study):
            continue
        alternatives = []
        for name, changes in choice.otherwise.items():
            study.label = f"{claim.id} with {name}"
            outcome = judge(claim, study.vary(**changes))
            columns[name] = outcome
            if choice.says:
                readings[name] = outcome
            alternatives.append(
                {
                    "taken": name,
                    "verdict": str(outcome.as_chosen),
                    "stand_in": rules.stand_in(outcome.parts),
                    "changes": _changes(taken, outcome),
                    "why": outcome.refused,
                }
            )
        known = {"choice": choice.what, "taken": choice.taken, "otherwise": alternatives}
        listed.append({**known, "says": choice.says, "selected": choice.selected})
    taken.readings = readings
    if len(columns) == 1:
        return listed, None
    marks = f"{MET}: holds, {MISSED}: does not, {BOTH}: fits one of two statements of the paper"
    title = f"Sensitivity: what comes out with other choices ({marks}; without a mark: open)"
    return listed, Table(title, ["part", "holds in", *columns], _by_part(columns))


def _by_part(columns: Mapping[str, Outcome]) -> list[list[str]]:
    """Return each part that counts with some choice: in how many it holds, and its values."""
    counting = {p.what for o in columns.values() for p in o.parts if p.counts}
    taken, rows = next(iter(columns.values())).parts, []
    for part in [p for p in taken if p.what in counting] or _shown(taken):
        cells = [_cell(o, part.what) for o in columns.values()]
        marks = [c[-1] for c in cells if c[-1] in (MET, MISSED, BOTH)]
        held = len(marks) - marks.count(MISSED)
        rows.append([part.what, f"{held} of {len(marks)}", *cells])
    return rows


#: Marks of a cell of the sensitivity table.
MET, MISSED, BOTH = "✓", "✗", "≠"


def _cell(outcome: Outcome, what: str) -> str:
    part = next((p for p in outcome.parts if p.what == what), None)
    if part is None or part.verdict is Verdict.NOT_RUN:
        return NOTHING
    marks = {Verdict.REPRODUCED: MET, Verdict.DEVIATES: MISSED, Verdict.INCONSISTENT: BOTH}
    return f"{part.brief} {'' if part.void else marks.get(part.verdict, '')}".rstrip()


def _changes(taken: Outcome, other: Outcome) -> list[str]:
    """Return a line for each part whose verdict changes with another choice."""
    before = {p.what: p.verdict for p in _shown(taken.parts)}
    return [
        f"{p.what}: {p.verdict}, {p.ours}" for p in other.parts if p.what in before and p.verdict is not before[p.what]
    ]


def _row(claim: Claim, outcome: Outcome, study: Study, asked: bool) -> dict[str, Any]:
    choices, sensitivity = _sensitivity(claim, study, outcome) if asked else ([], None)
    parts = outcome.parts
    tables = [*([sensitivity] if sensitivity else ()), *outcome.tables]
    counted = [p for p in parts if p.counts]
    return {
        "id": claim.id,
        "what": claim.what,
        "paper": claim.paper,
        "place": claim.place,
        "ours": "; ".join(f"{p.what}: {p.ours}" for p in counted) or NOTHING,
        "deviation": outcome.deviation,
        "verdict": str(outcome.verdict),
        "as_chosen": str(outcome.as_chosen),
        "readings": outcome.held,
        "figure": study.path(outcome.figures[0]) if outcome.figures else None,
        "reason": outcome.reason,
        "why": outcome.why,
        "contradictions": rules.contradictions(parts),
        "beside": outcome.beside,
        "stand_in": rules.stand_in(parts),
        "judged_on": list(dict.fromkeys(p.workload for p in counted if p.workload)),
        "choices": choices,
        "parts": [p.document() for p in parts],
        "figures": [study.path(f) for f in outcome.figures],
        "tables": [asdict(t) for t in tables],
    }


def reproduce(
    paper: Paper,
    out: Path,
    *,
    ids: Sequence[str] = (),
    quick: bool = False,
    traces: Mapping[str, Path] | None = None,
    report: Report | None = None,
    seeds: int = 0,
    stand_ins: bool = True,
) -> tuple[dict[str, Any], Study]:
    """Judge the claims of a paper; return the document and the study with its figures.

    Runs are stored in ``out/runs``: a repeated call simulates only missing ones.

    Args:
        paper: the paper.
        out: folder of runs and figures.
        ids: claims to judge; the others are `not-run`. All if empty.
        quick: whether to use fewer requests.
        traces: trace files by workload; `traces.find` searches for the others.
        report: called with progress.
        seeds: over how many seeds systems are compared, instead of claims judged unless `ids`
            names some; 0 for no comparison.
        stand_ins: whether claims that are judged on traces alone run on synthetic loads if there is
            no trace and no `ids` name them; they decide nothing.

    Raises:
        ConfigError: an id or a trace that the paper does not have; seeds for a paper that has no
            comparison.
    """
    chosen = {c.id for c in paper.chosen(ids)} if ids or not seeds else set()
    compared = _comparison(paper, seeds)
    found = find({**paper.workloads, **(compared.workloads if compared else {})}, traces)
    files = {name: f.path for name, f in found.items()}
    study = Study(paper.name, out, quick=quick, traces=files, choices=paper.choices, report=report)
    skipped = {c.id for c in without_traces(paper, found, ids, stand_ins)}
    rows = []
    for claim in paper.claims:
        study.label = claim.id
        asked = claim.id in chosen and claim.id not in skipped
        refused = Outcome(refused=NOT_ASKED)
        if claim.id in skipped & chosen:
            why = f"no trace was given: {', '.join(paper.workloads)}"
            refused = Outcome(refused=why, because=claim.because)
        outcome = judge(claim, study) if asked else refused
        rows.append(_row(claim, outcome, study, asked))
    document = _document(paper, quick, found, rows)
    if compared is not None:
        document["compared"] = _compared(compared, study, range(1, seeds + 1))
        document["traces"] |= {w: found[w].document() for w in compared.workloads if w in found}
    return document, study


def _comparison(paper: Paper, seeds: int) -> Comparison | None:
    if seeds and paper.compared is None:
        raise ConfigError(f"--seeds: got {seeds}, need none: {paper.name} compares nothing by seed")
    return paper.compared if seeds else None


def _compared(compared: Comparison, study: Study, seeds: Sequence[int]) -> dict[str, Any]:
    rows, table = compared.judge(study, seeds)
    return {"seeds": list(seeds), "rows": rows, "table": asdict(table)}


def _document(paper: Paper, quick: bool, found: Mapping[str, Found], rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "paper": paper.name,
        "title": paper.title,
        "quick": quick,
        "version": headstack.__version__,
        "traces": {w: found[w].document() if w in found else None for w in paper.workloads},
        "rules": {str(rule): text for rule, text in rules.RULES.items()},
        "verdicts": {str(verdict): text for verdict, text in rules.VERDICTS.items()},
        "claims": rows,
    }
