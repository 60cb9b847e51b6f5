"""Rules and tolerances that decide when a claim is reproduced, the same for all papers.

A claim is compared in parts. A part is one number or one relation in the paper's text, and is
decided by a `Rule` that compares two numbers: ours and the paper's, or two of ours. Words of the
papers ("nearly", "significantly", "an order of magnitude") have one fixed meaning each.

Only parts from a run on the paper's own workload, or from a formula of the paper, decide the
verdict (`Kind.RESULT`). A claim without such parts is `not-run`, whatever its other parts.
"""

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from typing import Any

#: Numbers must agree with the paper's within this share of the paper's value.
TOLERANCE = 0.10

#: Simulated shares and changes in per cent must agree within this number of percentage points.
POINTS = 2.0

#: Up to this factor a difference is "little"; above it, it is "significant".
LITTLE = 1.25

#: From this factor on a difference is "large" or "severe".
LARGE = 2.0

#: An order of magnitude, literally.
MAGNITUDE = 10.0

#: Text for a missing number.
NOTHING = "–"  # noqa: RUF001


class Verdict(enum.StrEnum):
    """The verdict on a claim, or on a part of one; `input` is for parts only."""

    REPRODUCED = "reproduced"
    DEVIATES = "deviates"
    NOT_RUN = "not-run"
    INPUT = "input"


class Kind(enum.StrEnum):
    """The origin of a part's values; only results count."""

    RESULT = "result"
    INPUT = "input"
    STAND_IN = "stand-in"
    CONTROL = "control"


#: Description of each kind.
KINDS = {
    Kind.RESULT: "came out of a run on what the paper used, or of a formula of the paper: decides "
    "the verdict",
    Kind.INPUT: "was put in (drive files, definitions), so nothing is reproduced: never counts",
    Kind.STAND_IN: "came out on a synthetic workload that only resembles the paper's: never counts",
    Kind.CONTROL: "no statement of the paper, shown for comparison: never counts",
}


class Rule(enum.StrEnum):
    """A relation between two numbers; `RULES` describes each."""

    NUMBER = "number"
    PRINTED = "as printed"
    POINTS = "in percentage points"
    IDENTICAL = "identical"
    SAME = "the same"
    HIGHER = "higher"
    LOWER = "lower"
    NOT_HIGHER = "not higher"
    LITTLE_HIGHER = "a little higher at most"
    CLOSE = "close"
    SIGNIFICANTLY_HIGHER = "significantly higher"
    SIGNIFICANTLY_LOWER = "significantly lower"
    FAR_HIGHER = "far higher"
    FAR_LOWER = "far lower"
    MAGNITUDE_LOWER = "an order of magnitude lower"


def _decimals(printed: float) -> int:
    """Return the number of digits after the decimal point in a number of a paper."""
    exponent = Decimal(repr(printed)).normalize().as_tuple().exponent
    return max(0, -int(exponent))


_HOLDS: dict[Rule, Callable[[float, float], bool]] = {
    Rule.NUMBER: lambda a, b: abs(a - b) <= TOLERANCE * abs(b),
    Rule.PRINTED: lambda a, b: round(a, _decimals(b)) == b,
    Rule.POINTS: lambda a, b: abs(a - b) <= POINTS,
    Rule.IDENTICAL: lambda a, b: a == b,
    Rule.SAME: lambda a, b: max(a, b) <= (1 + TOLERANCE) * min(a, b),
    Rule.HIGHER: lambda a, b: a > b,
    Rule.LOWER: lambda a, b: a < b,
    Rule.NOT_HIGHER: lambda a, b: a <= b,
    Rule.LITTLE_HIGHER: lambda a, b: a <= LITTLE * b,
    Rule.CLOSE: lambda a, b: max(a, b) <= LITTLE * min(a, b),
    Rule.SIGNIFICANTLY_HIGHER: lambda a, b: a > LITTLE * b,
    Rule.SIGNIFICANTLY_LOWER: lambda a, b: LITTLE * a < b,
    Rule.FAR_HIGHER: lambda a, b: a >= LARGE * b,
    Rule.FAR_LOWER: lambda a, b: LARGE * a <= b,
    Rule.MAGNITUDE_LOWER: lambda a, b: MAGNITUDE * a <= b,
}

#: The rules in words, with the papers' expressions.
RULES: dict[Rule, str] = {
    Rule.NUMBER: f'a number, also with "about": within {TOLERANCE:.0%} of the paper\'s',
    Rule.PRINTED: "a number that a formula gives: equal when rounded to the digits that the paper "
    "prints",
    Rule.POINTS: "a share or a change in per cent that a simulation gives: within "
    f"{POINTS:g} percentage points of the paper's",
    Rule.IDENTICAL: "identical, is: equal to the last digit",
    Rule.SAME: f"the same, negligible: at most {TOLERANCE:.0%} apart",
    Rule.HIGHER: "higher, more: by any amount",
    Rule.LOWER: "lower, less, outperforms: by any amount",
    Rule.NOT_HIGHER: "not higher, matches or surpasses: at most as high",
    Rule.LITTLE_HIGHER: "a little higher at most, nearly matches, comparable or lower, little "
    f"loss, little benefit: at most {LITTLE:g} times as high",
    Rule.CLOSE: f"close, comparable: at most a factor of {LITTLE:g} apart",
    Rule.SIGNIFICANTLY_HIGHER: "significantly or substantially higher: more than "
    f"{LITTLE:g} times as high",
    Rule.SIGNIFICANTLY_LOWER: "significantly or substantially lower: the other is more than "
    f"{LITTLE:g} times as high",
    Rule.FAR_HIGHER: f"far higher, severe: at least {LARGE:g} times as high",
    Rule.FAR_LOWER: "far lower, much smaller, a large gain: the other is at least "
    f"{LARGE:g} times as high",
    Rule.MAGNITUDE_LOWER: "an order of magnitude lower: the other is at least "
    f"{MAGNITUDE:g} times as high",
}


def holds(rule: Rule, ours: float, reference: float, within: float | None = None) -> bool:
    """Return whether two numbers, both not negative, satisfy a rule.

    `within` is a tolerance in the place of the rule's own, for `NUMBER` and `POINTS`.
    """
    if within is not None:
        return abs(ours - reference) <= within * (abs(reference) if rule is Rule.NUMBER else 1)
    return _HOLDS[rule](ours, reference)


@dataclass(frozen=True)
class Falsified:
    """A part's rule in the nearest world in which the part is false.

    Attributes:
        world: the world in words.
        ours: the number in the place of ours.
        reference: the number in the place of the reference.
        passes: whether the rule holds there too, so that it cannot tell the worlds apart.

    """

    world: str
    ours: float
    reference: float
    passes: bool


@dataclass(frozen=True)
class Part:
    """One relation or number of the paper, compared with ours.

    Attributes:
        what: what is compared; does not depend on the result.
        paper: the paper's statement.
        ours: the result.
        verdict: whether they agree, by `rule`.
        kind: origin of the values.
        rule: the rule that decided; none if it was not run.
        values: the two numbers that the rule compared, by name, ours first.
        brief: the result in a few words, for tables.
        deviation: (ours - paper) / paper, for numbers.
        note: a remark on its values for readers.
        workload: the workload of the run, if it is one of the paper's.
        falsifier: the rule in the nearest world in which the part is false, if it was run.
        drawn: figure, x and panel at which the paper's number is shown.

    """

    what: str
    paper: str
    ours: str
    verdict: Verdict
    kind: Kind = Kind.RESULT
    rule: Rule | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    brief: str = NOTHING
    deviation: float | None = None
    note: str = ""
    workload: str = ""
    falsifier: Falsified | None = None
    drawn: tuple[str, str | float, str] | None = None

    @property
    def counts(self) -> bool:
        """Whether the claim's verdict depends on it."""
        return self.kind is Kind.RESULT and self.verdict is not Verdict.NOT_RUN

    def document(self) -> dict[str, Any]:
        """Return the part in the form of the JSON document."""
        return {
            "what": self.what,
            "paper": self.paper,
            "ours": self.ours,
            "deviation": self.deviation,
            "verdict": str(self.verdict),
            "kind": str(self.kind),
            "counts": self.counts,
            "rule": None if self.rule is None else str(self.rule),
            "values": dict(self.values),
            "workload": self.workload,
            "note": self.note,
            "falsifier": None if self.falsifier is None else asdict(self.falsifier),
        }


def _judged(part: Part, ours: float, reference: float, within: float | None = None) -> Part:
    assert part.rule is not None
    if part.kind is Kind.INPUT:
        return replace(part, verdict=Verdict.INPUT)
    met = holds(part.rule, ours, reference, within)
    return replace(part, verdict=Verdict.REPRODUCED if met else Verdict.DEVIATES)


def number(
    what: str,
    paper: float,
    ours: float,
    form: str = "{:.3g}",
    *,
    rule: Rule = Rule.NUMBER,
    kind: Kind = Kind.RESULT,
    note: str = "",
    workload: str = "",
    within: float | None = None,
) -> Part:
    """Return a part for a number of the paper; `form` writes it with its unit.

    `rule` is one of those for numbers: `NUMBER`, `PRINTED`, or `POINTS` for values in per cent;
    `within` is a tolerance other than the rule's.
    """
    part = Part(
        what,
        form.format(paper),
        form.format(ours),
        Verdict.NOT_RUN,
        kind,
        rule,
        {"ours": ours, "paper": paper},
        form.format(ours),
        (ours - paper) / paper if paper else None,
        note,
        workload,
    )
    return _judged(part, ours, paper, within)


def relation(
    what: str,
    paper: str,
    ours: tuple[str, float],
    rule: Rule,
    reference: tuple[str, float],
    form: str = "{:.3g}",
    *,
    kind: Kind = Kind.RESULT,
    note: str = "",
    workload: str = "",
) -> Part:
    """Return a part for a relation between two numbers of ours.

    Args:
        what: what is compared.
        paper: the paper's words.
        ours: name and value of the number to which the words refer.
        rule: the meaning of the words.
        reference: name and value of the number to compare with.
        form: writes either number with its unit.
        kind: origin of the values.
        note: a remark on these values for readers.
        workload: the workload of the run.

    """
    (a_name, a), (b_name, b) = ours, reference
    factor = _factor(a, b)
    text = f"{a_name} {form.format(a)}, {b_name} {form.format(b)}"
    part = Part(
        what,
        paper if str(rule) in paper else f"{paper} ({rule})",
        f"{text} ({factor})" if factor else text,
        Verdict.NOT_RUN,
        kind,
        rule,
        {a_name: a, b_name: b},
        factor or form.format(a),
        note=note,
        workload=workload,
    )
    return _judged(part, a, b)


def _factor(a: float, b: float) -> str:
    """Return how many times as high `a` is as `b`; empty if that has no meaning."""
    if a <= 0 or b <= 0 or a == b:
        return ""
    return f"{a / b:.2f} times" if 2 * a > b else f"1/{b / a:.1f}"


def not_run(
    what: str, paper: str, reason: str, *, kind: Kind = Kind.RESULT, workload: str = ""
) -> Part:
    """Return a part that was not run, with the reason."""
    return Part(what, paper, NOTHING, Verdict.NOT_RUN, kind, note=reason, workload=workload)


def verdict(parts: Iterable[Part]) -> Verdict:
    """Return the verdict of a claim: that of its parts that count, or `not-run` if none does."""
    return _of(p for p in parts if p.counts)


def _of(parts: Iterable[Part]) -> Verdict:
    found = {p.verdict for p in parts}
    if not found:
        return Verdict.NOT_RUN
    return Verdict.DEVIATES if Verdict.DEVIATES in found else Verdict.REPRODUCED


def why(parts: Sequence[Part]) -> str:
    """Return why a claim deviates or was not run, with the words and numbers of its parts."""
    counted = [p for p in parts if p.counts]
    return _deviations(counted) if counted else _missing(parts)


def _deviations(parts: Sequence[Part]) -> str:
    found = [p for p in parts if p.verdict is Verdict.DEVIATES]
    said = [
        f"{p.what}: {p.ours}, paper: {p.paper}" + (f" ({p.note})" * bool(p.note)) for p in found
    ]
    return "; ".join(said)


def _missing(parts: Sequence[Part]) -> str:
    reasons = []
    stand_ins = dict.fromkeys(p.workload for p in parts if p.kind is Kind.STAND_IN)
    if stand_ins:
        reasons.append(f"no trace was given: {', '.join(stand_ins)}")
    inputs = sum(p.kind is Kind.INPUT for p in parts)
    if inputs:
        reasons.append(f"{inputs} of its values were put in, and nothing else came out of a run")
    reasons += dict.fromkeys(
        p.note for p in parts if p.verdict is Verdict.NOT_RUN and p.kind is Kind.RESULT
    )
    return "; ".join(reasons)


def stand_in(parts: Iterable[Part]) -> dict[str, str] | None:
    """Return the verdict of the stand-ins alone: ``verdict`` and ``why``; None without any."""
    found = [p for p in parts if p.kind is Kind.STAND_IN and p.verdict is not Verdict.NOT_RUN]
    if not found:
        return None
    return {"verdict": str(_of(found)), "why": _deviations(found)}
