"""Rules and tolerances that decide when a claim is reproduced, the same for all papers.

A claim is compared in parts. A part is one number or one relation in the paper's text, and is
decided by a `Rule` that compares two numbers: ours and the paper's, or two of ours. Words of the
papers ("nearly", "significantly", "an order of magnitude") have one fixed meaning each.

Only parts from a run on the paper's own workload decide the
verdict (`Kind.RESULT`), and of these only parts that can fail: each names the nearest world in
which it is false, and its rule must fail there (`Falsified`). A claim without such parts is
`not-run`, whatever its other parts.
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

#: An order of magnitude: the ISCA paper says it of 75 drives of 10 W against 6,600 W.
MAGNITUDE = 8.8

#: Text for a missing number.
NOTHING = "–"  # noqa: RUF001


class Verdict(enum.StrEnum):
    """The verdict on a claim, or on a part of one; `depends` is for claims, `input` for parts."""

    REPRODUCED = "reproduced"
    DEPENDS = "depends"
    INCONSISTENT = "inconsistent"
    DEVIATES = "deviates"
    NOT_RUN = "not-run"
    INPUT = "input"


#: Description of each verdict on a claim, in the order of tables.
VERDICTS = {
    Verdict.REPRODUCED: "every part that counts holds, in every reading of what the paper leaves open",
    Verdict.DEPENDS: "every part that counts holds in some readings, and not in others",
    Verdict.INCONSISTENT: "every part that counts holds, or the paper contradicts itself there and "
    "ours fits one of its two statements, in every reading",
    Verdict.DEVIATES: "in every reading a part that counts does not hold",
    Verdict.NOT_RUN: "no part counts: what it needs is missing, all its values were put in or "
    "fitted, or no part can fail",
}


class Kind(enum.StrEnum):
    """The origin of a part's values; only results count."""

    RESULT = "result"
    INPUT = "input"
    FITTED = "fitted"
    STAND_IN = "stand-in"
    CONTROL = "control"


#: Description of each kind.
KINDS = {
    Kind.RESULT: "came out of a run on what the paper used: decides the verdict",
    Kind.INPUT: "was put in (drive files, definitions), or is the paper's arithmetic with its own "
    "numbers, so nothing is reproduced: never counts",
    Kind.FITTED: "a constant was fitted to this very number, so agreement proves nothing: never counts",
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
    Rule.PRINTED: "a number that a formula gives: equal when rounded to the digits that the paper prints",
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
    Rule.SIGNIFICANTLY_HIGHER: f"significantly or substantially higher: more than {LITTLE:g} times as high",
    Rule.SIGNIFICANTLY_LOWER: f"significantly or substantially lower: the other is more than {LITTLE:g} times as high",
    Rule.FAR_HIGHER: f"far higher, severe: at least {LARGE:g} times as high",
    Rule.FAR_LOWER: f"far lower, much smaller, a large gain: the other is at least {LARGE:g} times as high",
    Rule.MAGNITUDE_LOWER: f"an order of magnitude lower: the other is at least {MAGNITUDE:g} times as high",
}


@dataclass(frozen=True)
class Tolerance:
    """A tolerance in the place of the rule's own.

    For `Rule.NUMBER` and `Rule.POINTS`, and with `of` for `Rule.SAME`.

    Attributes:
        within: a share of the paper's number, or percentage points.
        why: the reason.
        of: what the share is of, instead of the paper's number: the range in which a number can
            lie at all.
    """

    within: float
    why: str
    of: float | None = None


def allowance(rule: Rule, reference: float, tolerance: Tolerance | None = None) -> float:
    """Return by how much two numbers may differ.

    Raises:
        ValueError: the rule does not limit a difference.
    """
    if rule is Rule.PRINTED:
        return 0.5 * 10.0 ** -_decimals(reference)
    if rule is Rule.IDENTICAL:
        return 0.0
    if rule is Rule.POINTS:
        return tolerance.within if tolerance else POINTS
    if tolerance is not None and tolerance.of is not None and rule in (Rule.NUMBER, Rule.SAME):
        return tolerance.within * abs(tolerance.of)
    if rule is not Rule.NUMBER:
        raise ValueError(f"rule: got {rule}, need one for numbers of a paper")
    return (tolerance.within if tolerance else TOLERANCE) * abs(reference)


def holds(rule: Rule, ours: float, reference: float, tolerance: Tolerance | None = None) -> bool:
    """Return whether two numbers, both not negative, satisfy a rule."""
    if tolerance is not None:
        return abs(ours - reference) <= allowance(rule, reference, tolerance)
    return _HOLDS[rule](ours, reference)


#: A verdict that a change of our number by less than this share would change needs error bars.
NARROW = 0.10


def narrow(rule: Rule, ours: float, reference: float, tolerance: Tolerance | None = None) -> bool:
    """Return whether a change of our number by less than `NARROW` would change the verdict."""
    met = holds(rule, ours, reference, tolerance)
    # Just inside of the limit, so that a number at the middle of its tolerance is not narrow.
    changes = (1 - 0.999 * NARROW, 1 + 0.999 * NARROW)
    return any(holds(rule, ours * by, reference, tolerance) is not met for by in changes)


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
class Contradiction:
    """Another statement of the paper, with which the part's own cannot hold as well.

    Attributes:
        says: the statement, and where it is.
        ours: our number for it.
        reference: the number to compare with.
        holds: whether it agrees with ours.
    """

    says: str
    ours: float
    reference: float
    holds: bool


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
        contradiction: what else the paper says, if that cannot hold as well.
        half: half of the 95 % confidence intervals of both numbers, if they are means over seeds.
        tolerance: a tolerance other than the rule's.
        fitted: the constants that were fitted to this number.
        void: why it counts for nothing although it is a result; empty if it counts.
        drawn: figure and x at which the paper's number is shown, and whether its words are
            below it.
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
    contradiction: Contradiction | None = None
    half: tuple[float, float] | None = None
    tolerance: Tolerance | None = None
    fitted: str = ""
    void: str = ""
    drawn: tuple[str, str | float, bool] | None = None

    @property
    def counts(self) -> bool:
        """Whether the claim's verdict depends on it."""
        return self.kind is Kind.RESULT and self.verdict is not Verdict.NOT_RUN and not self.void

    @property
    def narrow(self) -> bool:
        """Whether a change of our number by less than `NARROW` would change its verdict."""
        if self.rule is None or self.verdict in (Verdict.NOT_RUN, Verdict.INPUT):
            return False
        ours, reference = self.values.values()
        return narrow(self.rule, ours, reference, self.tolerance)

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
            "tolerance": None if self.tolerance is None else asdict(self.tolerance),
            "half": None if self.half is None else list(self.half),
            "narrow": self.narrow,
            "fitted": self.fitted,
            "falsifier": None if self.falsifier is None else asdict(self.falsifier),
            "contradiction": None if self.contradiction is None else asdict(self.contradiction),
            "void": self.void,
        }


def _judged(part: Part, ours: float, reference: float) -> Part:
    assert part.rule is not None
    if part.kind is Kind.INPUT:
        return replace(part, verdict=Verdict.INPUT)
    met = holds(part.rule, ours, reference, part.tolerance)
    return replace(part, verdict=Verdict.REPRODUCED if met else Verdict.DEVIATES)


def contradicted(part: Part, other: Contradiction) -> Part:
    """Return a part with the paper's other statement.

    If ours fits both, there is nothing to tell. If it fits one of them, no result could fit both,
    and the part is `inconsistent`. If it fits none, it deviates.
    """
    if part.verdict not in (Verdict.REPRODUCED, Verdict.DEVIATES):
        return replace(part, contradiction=other)
    met = (part.verdict is Verdict.REPRODUCED) + other.holds
    verdict = (Verdict.DEVIATES, Verdict.INCONSISTENT, Verdict.REPRODUCED)[met]
    return replace(part, contradiction=other, verdict=verdict)


#: Why a part counts for nothing that names no world in which it is false.
NO_WORLD = "no world in which it is false is named"

#: Why a part counts for nothing whose verdict other seeds may change.
UNCERTAIN = "it holds in a part of its error bars alone"


def counted(part: Part) -> Part:
    """Return a part with the reason why it counts for nothing, if there is one.

    A part that deviates everywhere within its error bars always counts: it has failed, so it can.
    """
    if part.kind is not Kind.RESULT or part.verdict is Verdict.NOT_RUN:
        return part
    if part.verdict is Verdict.DEVIATES:
        return replace(part, void=UNCERTAIN) if _is_open(part) else part
    if part.falsifier is None:
        return replace(part, void=NO_WORLD)
    if part.falsifier.passes:
        return replace(part, void=f"it would also pass if {part.falsifier.world}")
    if part.verdict is Verdict.REPRODUCED and _is_open(part):
        return replace(part, void=UNCERTAIN)
    return part


def _is_open(part: Part) -> bool:
    """Return whether the rule holds at some points within the error bars, and not at others."""
    if part.half is None or part.rule is None:
        return False
    (ours, reference), (a, b) = part.values.values(), part.half
    # Rules are monotonous, or hold between two bounds: two corners, and the point between them at
    # which the numbers are closest.
    nearest = min(max(reference, ours - a - b), ours + a + b)
    points = [(ours + a, reference - b), (ours - a, reference + b), (nearest, reference)]
    found = {holds(part.rule, x, y, part.tolerance) for x, y in points}
    return len(found | {holds(part.rule, ours, reference, part.tolerance)}) > 1


def number(
    what: str,
    paper: float,
    ours: float,
    form: str = "{:.3g}",
    *,
    rule: Rule = Rule.NUMBER,
    half: tuple[float, float] | None = None,
    **more: Any,
) -> Part:
    """Return a part for a number of the paper; `form` writes it with its unit.

    `rule` is one of those for numbers: `NUMBER`, `PRINTED`, or `POINTS` for values in per cent;
    `half` and `more` are further attributes of the part.
    """
    shown = form.format(ours)
    part = Part(
        what,
        form.format(paper),
        shown + _bar(form, half[0] if half else 0.0),
        Verdict.NOT_RUN,
        rule=rule,
        values={"ours": ours, "paper": paper},
        brief=shown,
        deviation=(ours - paper) / paper if paper else None,
        half=half,
        **more,
    )
    return _judged(part, ours, paper)


def _bar(form: str, half: float) -> str:
    return f" ± {form.format(half)}" if half else ""


def relation(
    what: str,
    paper: str,
    ours: tuple[str, float],
    rule: Rule,
    reference: tuple[str, float],
    form: str = "{:.3g}",
    *,
    half: tuple[float, float] | None = None,
    **more: Any,
) -> Part:
    """Return a part for a relation between two numbers of ours.

    Args:
        what: what is compared.
        paper: the paper's words.
        ours: name and value of the number to which the words refer.
        rule: the meaning of the words.
        reference: name and value of the number to compare with.
        form: writes either number with its unit.
        half: half of the confidence intervals of both numbers.
        more: further attributes of the part.
    """
    (a_name, a), (b_name, b) = ours, reference
    factor = _factor(a, b)
    bars = [_bar(form, h) for h in half or (0.0, 0.0)]
    text = f"{a_name} {form.format(a)}{bars[0]}, {b_name} {form.format(b)}{bars[1]}"
    part = Part(
        what,
        paper if str(rule) in paper else f"{paper} ({rule})",
        f"{text} ({factor})" if factor else text,
        Verdict.NOT_RUN,
        rule=rule,
        values={a_name: a, b_name: b},
        brief=factor or form.format(a),
        half=half,
        **more,
    )
    return _judged(part, a, b)


def _factor(a: float, b: float) -> str:
    """Return how many times as high `a` is as `b`; empty if that has no meaning."""
    if a <= 0 or b <= 0 or a == b:
        return ""
    return f"{a / b:.2f} times" if 2 * a > b else f"1/{b / a:.1f}"


def not_run(what: str, paper: str, reason: str, *, kind: Kind = Kind.RESULT, workload: str = "") -> Part:
    """Return a part that was not run, with the reason."""
    return Part(what, paper, NOTHING, Verdict.NOT_RUN, kind, note=reason, workload=workload)


def verdict(parts: Iterable[Part]) -> Verdict:
    """Return the verdict of a claim: that of its parts that count, or `not-run` if none does."""
    return _of(p for p in parts if p.counts)


def over_readings(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict of a claim from those in each reading, the chosen one first.

    A reading in which nothing counts decides nothing.
    """
    found = {v for v in verdicts if v is not Verdict.NOT_RUN}
    if verdicts[0] is Verdict.NOT_RUN or found <= {verdicts[0]}:
        return verdicts[0]
    return Verdict.DEPENDS if Verdict.DEVIATES in found else Verdict.INCONSISTENT


def _of(parts: Iterable[Part]) -> Verdict:
    found = {p.verdict for p in parts}
    for verdict in (Verdict.DEVIATES, Verdict.INCONSISTENT, Verdict.REPRODUCED):
        if verdict in found:
            return verdict
    return Verdict.NOT_RUN


def why(parts: Sequence[Part]) -> str:
    """Return why a claim is not reproduced, with the words and numbers of its parts.

    If a part deviates, the paper's contradictions are no reason: `contradictions` tells them.
    """
    counting = [p for p in parts if p.counts]
    if not counting:
        return _missing(parts)
    return _comparisons(counting, Verdict.DEVIATES) or contradictions(parts)


def contradictions(parts: Sequence[Part]) -> str:
    """Return where the paper contradicts itself: each pair of statements once, and ours."""
    pairs: dict[tuple[str, str], list[Part]] = {}
    for part in parts:
        if part.counts and part.verdict is Verdict.INCONSISTENT and part.contradiction:
            pairs.setdefault((part.paper, part.contradiction.says), []).append(part)
    more = (f", and {len(alike) - 1} more parts" * (len(alike) > 1) for alike in pairs.values())
    return "; ".join(comparison(a[0]) + n for a, n in zip(pairs.values(), more, strict=True))


def _comparisons(parts: Sequence[Part], verdict: Verdict) -> str:
    return "; ".join(comparison(p) for p in parts if p.verdict is verdict)


def comparison(part: Part) -> str:
    """Return what a part compares, with ours and the paper's words."""
    note = f" ({part.note})" * bool(part.note)
    if part.verdict is not Verdict.INCONSISTENT or part.contradiction is None:
        return f"{part.what}: {part.ours}, paper: {part.paper}{note}"
    both = f"{part.paper}, but also {part.contradiction.says}"
    return f"{part.what}: the paper says {both}; ours {part.ours}{note}"


def sentence(parts: Sequence[Part]) -> str:
    """Return the reason of a claim's verdict in one sentence, without a full stop."""
    counting = [p for p in parts if p.counts]
    for verdict in (Verdict.DEVIATES, Verdict.INCONSISTENT):
        found = [p for p in counting if p.verdict is verdict]
        if found:
            more = f", and {len(found) - 1} more of {len(counting)} parts" * (len(found) > 1)
            return comparison(replace(found[0], note="")) + more
    if not counting:
        return _missing(parts)
    many = "the one part that counts holds" if len(counting) == 1 else ""
    return many or f"all {len(counting)} parts that count hold"


def _missing(parts: Sequence[Part]) -> str:
    reasons = []
    # A part may compare several workloads.
    named = ", ".join(p.workload for p in parts if p.kind is Kind.STAND_IN)
    stand_ins = dict.fromkeys(named.split(", ")) if named else {}
    if stand_ins:
        reasons.append(f"no trace was given: {', '.join(stand_ins)}")
    inputs = sum(p.kind is Kind.INPUT for p in parts)
    if inputs:
        reasons.append(f"{inputs} of its values were put in, and nothing else came out of a run")
    fitted = sum(p.kind is Kind.FITTED for p in parts)
    if fitted:
        reasons.append(f"constants were fitted to {fitted} of its values")
    void = sum(bool(p.void) for p in parts)
    if void:
        reasons.append(f"{void} of its parts would hold if they were false, or name no such world")
    reasons += dict.fromkeys(p.note for p in parts if p.verdict is Verdict.NOT_RUN and p.kind is Kind.RESULT)
    return "; ".join(reasons)


def stand_in(parts: Iterable[Part]) -> dict[str, str] | None:
    """Return the verdict of the stand-ins alone: ``verdict`` and ``why``; None without any."""
    found = [p for p in parts if p.kind is Kind.STAND_IN and p.verdict is not Verdict.NOT_RUN]
    if not found:
        return None
    return {"verdict": str(_of(found)), "why": _comparisons(found, Verdict.DEVIATES)}
