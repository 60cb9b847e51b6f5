"""Claims of a paper, judged: what all reproductions share.

A claim's function gets a `Study` to simulate and draw with, and returns an `Outcome`: the parts
that it compared. A part is one relation or one number that the paper states. The claim is
`reproduced` when every part that counts for it is.
"""

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import headstack
from headstack import plots
from headstack.errors import ConfigError, HeadstackError
from headstack.studies.runs import Report, Run, Store
from headstack.suggest import need_one_of

#: Why a claim was not run that the user did not name.
NOT_ASKED = "not asked for"

#: Said of every part whose workload only resembles the paper's.
STAND_IN = "synthetic stand-in, not the paper's trace"


class Verdict(enum.StrEnum):
    """What became of a claim, or of a part of one."""

    REPRODUCED = "reproduced"
    DEVIATES = "deviates"
    NOT_RUN = "not-run"


@dataclass(frozen=True)
class Part:
    """One relation or number of the paper, beside ours.

    Attributes:
        what: what is compared.
        paper: what the paper says.
        ours: what came out.
        verdict: whether they agree, by the rule that `what` or `paper` states.
        deviation: (ours - paper) / paper, for numbers.
        note: what a reader must know of it; why it deviates, if it does.
        counts: whether the claim's verdict depends on it. Stand-in workloads and controls do not.

    """

    what: str
    paper: str
    ours: str
    verdict: Verdict
    deviation: float | None = None
    note: str = ""
    counts: bool = True

    def document(self) -> dict[str, Any]:
        """Return the part as it stands in the JSON document."""
        return {
            "what": self.what,
            "paper": self.paper,
            "ours": self.ours,
            "deviation": self.deviation,
            "verdict": str(self.verdict),
            "note": self.note,
            "counts": self.counts,
        }


def relation(
    what: str, paper: str, ours: str, holds: bool, *, note: str = "", counts: bool = True
) -> Part:
    """Return a part that is a relation: it holds or it does not."""
    verdict = Verdict.REPRODUCED if holds else Verdict.DEVIATES
    return Part(what, paper, ours, verdict, note=note, counts=counts)


def number(
    what: str,
    paper: float,
    ours: float,
    within: float,
    form: str = "{:.3g}",
    *,
    note: str = "",
    counts: bool = True,
) -> Part:
    """Return a part that is a number: reproduced when ours is `within` this share of the paper's.

    `form` writes a number with its unit: ``"{:.1f} W"``.
    """
    deviation = (ours - paper) / paper
    verdict = Verdict.REPRODUCED if abs(deviation) <= within else Verdict.DEVIATES
    said = f"{form.format(paper)} (within {within * 100:g} %)"
    return Part(what, said, form.format(ours), verdict, deviation, note, counts)


def not_run(what: str, paper: str, reason: str) -> Part:
    """Return a part that was not tried, and why."""
    return Part(what, paper, "–", Verdict.NOT_RUN, note=reason, counts=False)  # noqa: RUF001


@dataclass(frozen=True)
class Table:
    """Numbers shown beside a claim: headings, then rows of text."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass
class Outcome:
    """What came of one claim.

    Attributes:
        parts: what was compared.
        ours: the result in one line; made of the parts if empty.
        why: one sentence on each deviation, or why the claim was not run.
        figures: names of figures, the first one the claim's own.
        tables: further numbers.

    """

    parts: list[Part] = field(default_factory=list)
    ours: str = ""
    why: str = ""
    figures: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        """That of the parts that count; of all of them where none counts."""
        tried = [p for p in self.parts if p.verdict is not Verdict.NOT_RUN]
        verdicts = {p.verdict for p in tried if p.counts} or {p.verdict for p in tried}
        if not verdicts:
            return Verdict.NOT_RUN
        return Verdict.DEVIATES if Verdict.DEVIATES in verdicts else Verdict.REPRODUCED

    @property
    def deviation(self) -> float | None:
        """The largest deviation of a number that counts."""
        found = [p.deviation for p in self.parts if p.counts and p.deviation is not None]
        return max(found, key=abs, default=None)


class Study:
    """What a claim's function works with: runs, figures, and how much time it may take.

    Attributes:
        quick: whether to use fewer requests.
        traces: trace files that the user gave, by workload.

    """

    def __init__(
        self,
        paper: str,
        out: Path,
        *,
        quick: bool,
        traces: Mapping[str, Path],
        report: Report | None = None,
    ) -> None:
        self.quick = quick
        self.traces = dict(traces)
        self.store = Store(out / "runs", report)
        self.label = paper
        self.specs: dict[str, dict[str, Any]] = {}
        self._folder = Path("figures") / paper
        self._out = out

    def run(self, runs: Iterable[Run]) -> dict[str, dict[str, Any]]:
        """Return the result of each run by its system's name; names differ."""
        wanted = list(runs)
        results = self.store.get(wanted, self.label)
        by_name = {str(r["name"]): r for r in results}
        if len(by_name) != len(wanted):
            raise ConfigError(f"{self.label}: got systems of one name, need different names")
        return by_name

    def figure(self, name: str, chart: Any) -> str:
        """Write a figure as PNG and SVG and keep it for the page; return the name."""
        plots.save(chart, self._out / self._folder / name)
        self.specs[name] = chart.to_dict()
        return name

    def path(self, figure: str) -> str:
        """Return the file of a figure, relative to the output folder."""
        return str(self._folder / f"{figure}.png")


@dataclass(frozen=True)
class Claim:
    """One numbered claim of a paper.

    Attributes:
        id: its number in the ledger, such as ``IDP-3``.
        what: what is claimed, for a heading.
        paper: the paper's value or statement.
        judge: compares.

    """

    id: str
    what: str
    paper: str
    judge: Callable[[Study], Outcome]


@dataclass(frozen=True)
class Paper:
    """A paper and its claims.

    Attributes:
        name: what the command line calls it.
        title: as cited.
        claims: in the order of the ledger.
        workloads: names of the traces that a user may give.
        about: paragraphs for the head of the page.

    """

    name: str
    title: str
    claims: Sequence[Claim]
    workloads: Sequence[str] = ()
    about: Sequence[str] = ()

    def chosen(self, ids: Sequence[str]) -> list[Claim]:
        """Return the claims of these ids, all of them if none is given.

        Raises:
            ConfigError: the paper has no claim of that id.

        """
        known = {c.id: c for c in self.claims}
        for wanted in ids:
            if wanted.upper() not in known:
                raise ConfigError(need_one_of(f"{self.name}: claim", wanted, known))
        asked = {i.upper() for i in ids}
        return [c for c in self.claims if not asked or c.id in asked]

    def check_traces(self, traces: Mapping[str, Path]) -> None:
        """Refuse traces of workloads that the paper does not have, and files that are absent."""
        for name, path in traces.items():
            if name not in self.workloads:
                raise ConfigError(need_one_of("--trace", name, self.workloads))
            if not path.is_file():
                raise ConfigError(f'--trace {name}: got "{path}", need a file that exists')


def _row(claim: Claim, outcome: Outcome, study: Study) -> dict[str, Any]:
    parts = outcome.parts
    counted = [p for p in parts if p.counts]
    deviating = [p for p in counted or parts if p.verdict is Verdict.DEVIATES]
    why = outcome.why
    if not why and counted:
        why = " ".join(dict.fromkeys(p.note for p in deviating if p.note))
    if not why:
        why = "; ".join(f"{p.what}: {p.ours} instead of {p.paper}" for p in deviating)
    if parts and not counted:
        why = f"Judged on synthetic stand-ins alone, whose load is chosen. {why}".strip()
    return {
        "id": claim.id,
        "what": claim.what,
        "paper": claim.paper,
        "ours": outcome.ours or "; ".join(f"{p.what}: {p.ours}" for p in counted or parts),
        "deviation": outcome.deviation,
        "verdict": str(outcome.verdict),
        "figure": study.path(outcome.figures[0]) if outcome.figures else None,
        "why": why,
        "parts": [p.document() for p in parts],
        "figures": [study.path(f) for f in outcome.figures],
        "tables": [
            {"title": t.title, "headings": list(t.headings), "rows": [list(r) for r in t.rows]}
            for t in outcome.tables
        ],
    }


def reproduce(
    paper: Paper,
    out: Path,
    *,
    ids: Sequence[str] = (),
    quick: bool = False,
    traces: Mapping[str, Path] | None = None,
    report: Report | None = None,
) -> tuple[dict[str, Any], Study]:
    """Judge the claims of a paper; return the document and the study with its figures.

    Runs are kept under ``out/runs``: called again, only what is missing is simulated.

    Args:
        paper: whose claims.
        out: folder of runs and figures.
        ids: claims to judge; the others are `not-run`. All if empty.
        quick: use fewer requests.
        traces: trace files by the name of the workload.
        report: told about progress.

    Raises:
        ConfigError: an id or a trace that the paper does not have.

    """
    chosen = {c.id for c in paper.chosen(ids)}
    given = {k: v.resolve() for k, v in (traces or {}).items()}
    paper.check_traces(given)
    study = Study(paper.name, out, quick=quick, traces=given, report=report)
    rows = []
    for claim in paper.claims:
        study.label = claim.id
        if claim.id not in chosen:
            outcome = Outcome(ours="–", why=NOT_ASKED)  # noqa: RUF001
        else:
            try:
                outcome = claim.judge(study)
            except HeadstackError as e:
                # One claim that cannot be run must not hide the others.
                outcome = Outcome(ours="–", why=f"the simulator refused: {e}")  # noqa: RUF001
        rows.append(_row(claim, outcome, study))
    document = {
        "paper": paper.name,
        "title": paper.title,
        "quick": quick,
        "version": headstack.__version__,
        "claims": rows,
    }
    return document, study
