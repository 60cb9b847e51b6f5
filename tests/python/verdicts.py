"""What must hold for the verdicts of every paper, computed again from its document."""

from itertools import product

from headstack.studies import rules
from headstack.studies.rules import Kind, Rule, Tolerance, Verdict


def holds(part, ours, reference):
    """Return whether a part's rule holds for two numbers."""
    tolerance = part["tolerance"] and Tolerance(**part["tolerance"])
    return rules.holds(Rule(part["rule"]), ours, reference, tolerance)


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
