"""What must hold for the verdicts of every paper, computed again from its document."""

from dataclasses import replace
from itertools import product

import pytest
from conftest import without_choices

from headstack import plots, studies
from headstack.studies import rules, study
from headstack.studies.rules import Contradiction, Falsified, Kind, Rule, Tolerance, Verdict


def whole(name, out, *as_chosen, traces=None):
    """Return document and study of a quick run of all claims; of `as_chosen` no other reading.

    Drawing takes longer than the runs: the study keeps the specifications of its figures.
    """
    with pytest.MonkeyPatch.context() as m:
        for variable in ("HEADSTACK_TRACES", "HEADSTACK_SHARED"):
            m.delenv(variable, raising=False)
        m.chdir(out)
        m.setattr(plots, "save", lambda chart, stem: [])
        without_choices(m, *as_chosen)
        return study.reproduce(studies.load(name), out, quick=True, traces=traces)


def tolerance(part):
    return part["tolerance"] and Tolerance(**part["tolerance"])


def holds(part, ours, reference):
    """Return whether a part's rule holds for two numbers."""
    return rules.holds(Rule(part["rule"]), ours, reference, tolerance(part))


def of_part(part):
    """Return the verdict that follows from a part's numbers."""
    if part["kind"] == Kind.INPUT:
        return Verdict.INPUT
    met = holds(part, *part["values"].values())
    if part["contradiction"]:
        met += part["contradiction"]["holds"]
        return (Verdict.DEVIATES, Verdict.INCONSISTENT, Verdict.REPRODUCED)[met]
    return Verdict.REPRODUCED if met else Verdict.DEVIATES


def as_chosen(claim):
    """Return the verdict that follows from those of a claim's parts."""
    found = {p["verdict"] for p in claim["parts"] if p["counts"]}
    for verdict in (Verdict.DEVIATES, Verdict.INCONSISTENT, Verdict.REPRODUCED):
        if verdict in found:
            return verdict
    return Verdict.NOT_RUN


def of_claim(claim):
    """Return the verdict over the readings of a claim: its own, and the others with words."""
    others = {o["verdict"] for c in claim["choices"] if c["says"] for o in c["otherwise"]}
    own, found = claim["as_chosen"], {claim["as_chosen"], *others} - {"not-run"}
    if own == "not-run" or len(found) == 1:
        return own
    return "depends" if "deviates" in found else "inconsistent"


def check(document):
    """Check every part and claim of a document: verdicts follow, and what counts can fail."""
    for claim in document["claims"]:
        assert claim["as_chosen"] == as_chosen(claim), claim["id"]
        assert claim["verdict"] == of_claim(claim), claim["id"]
        assert claim["reason"], claim["id"]
        for part in claim["parts"]:
            if part["verdict"] == Verdict.NOT_RUN:
                assert not part["counts"]
                continue
            assert part["verdict"] == of_part(part), part["what"]
            if part["counts"]:
                check_counting(part)
        check_worlds(claim)


def wrong_numbers(rule, ours, tolerance):
    """Return numbers that a paper might print, 1.5 tolerances from ours on either side."""
    apart = 1.0 if rule is Rule.IDENTICAL else 1.5 * rules.allowance(rule, ours, tolerance)
    return [ours - apart, ours + apart]


def is_number(part):
    """Return whether a part is a number of the paper, not a relation."""
    return part["deviation"] is not None


def judged(part, ours, reference):
    """Judge a part again as a study does, with other numbers and no error bars.

    The paper's other statement holds of our number as before, and not of another one.
    """
    names, rule = list(part["values"]), Rule(part["rule"])
    of = {"kind": Kind(part["kind"]), "tolerance": tolerance(part)}
    if is_number(part):
        found = rules.number("", reference, ours, rule=rule, **of)
    else:
        found = rules.relation("", "", (names[0], ours), rule, (names[1], reference), **of)
    if part["contradiction"]:
        held = ours == part["values"][names[0]] and part["contradiction"]["holds"]
        found = rules.contradicted(found, Contradiction("", ours, reference, held))
    false = part["falsifier"] and Falsified(**part["falsifier"])
    return rules.counted(replace(found, falsifier=false))


def check_worlds(claim):
    """Check that a claim has another verdict where one part that counts is false.

    That is in its nearest false world, and where a number is 1.5 tolerances from that of the paper.
    """
    counting = [p for p in claim["parts"] if p["counts"]]
    for part in counting:
        ours = next(iter(part["values"].values()))
        here = [judged(p, *p["values"].values()) for p in counting if p is not part]
        if part["falsifier"]:
            false = part["falsifier"]["ours"], part["falsifier"]["reference"]
            world = rules.verdict([*here, judged(part, *false)])
            assert world is Verdict.DEVIATES, (claim["id"], part["what"])
        if is_number(part):
            for wrong in wrong_numbers(Rule(part["rule"]), ours, tolerance(part)):
                world = rules.verdict([*here, judged(part, ours, wrong)])
                assert world is not Verdict.REPRODUCED, (claim["id"], part["what"], wrong)


def check_counting(part):
    """Check a part that counts: a result that fails where it is false and holds in its interval."""
    assert part["kind"] == Kind.RESULT, part["what"]
    assert not part["fitted"], part["what"]
    if part["verdict"] == Verdict.DEVIATES:
        return
    false = part["falsifier"]
    assert false, part["what"]
    assert not holds(part, false["ours"], false["reference"]), part["what"]
    if part["verdict"] == Verdict.REPRODUCED and part["half"] and not part["contradiction"]:
        (ours, reference), (a, b) = part["values"].values(), part["half"]
        for x, y in product((-1, 1), repeat=2):
            assert holds(part, ours + x * a, reference + y * b), part["what"]
