"""Quick runs of the papers, and what must hold for every verdict, computed again from them."""

import copy
import itertools
import re
from dataclasses import replace

import pytest
from conftest import QUICK, ROOT, SHARED

from headstack import papers
from headstack.papers import rules, study
from headstack.papers.rules import Contradiction, Falsified, Kind, Rule, Tolerance, Verdict
from headstack.papers.runs import Runs
from headstack.papers.snowflakes import fresh
from headstack.show import plots

#: Claims that `make test` judges of a paper whose claims take minutes; all in `test-all`.
FEW = {"dald": ("DALD-1",), "pcap": ("PCAP-1", "PCAP-2", "PCAP-8")}

#: Claims of hundreds of runs that it judges with one seed, or few sets of drives, as chosen.
ONE_SEED = {"isca08": ("IDP-9", "IDP-13"), "dald": ("DALD-8",), "snowflakes": ("SNOW-5",)}

#: Claims that it judges only as chosen: each other choice repeats all of their runs.
AS_CHOSEN = ("IDP-6", "IDP-7", "IDP-8", "NG-9")

#: Claims without a trace whose other choices, on stand-ins that decide nothing, run shortly there.
SHORTLY = ("IDP-3", "IDP-4", "IDP-5", "IDP-10")


def asked(name):
    """Return the claims that a run of a paper judges."""
    every = [c.id for c in papers.load(name).claims]
    left = ONE_SEED.get(name, ()) if QUICK else ()
    return [i for i in (FEW.get(name, every) if QUICK else every) if i not in left]


#: Papers and claims as `make test` judges them.
CLAIMS = [
    (name, claim) for name in papers.PAPERS for claim in (*asked(name), *(ONE_SEED.get(name, ()) if QUICK else ()))
]

#: The first minute of Websearch, which may not be distributed with the simulator.
PREFIX = SHARED / "data" / "traces" / "wsrch-small.trace"


def prefix():
    """Return the first minute of Websearch, or skip."""
    if not PREFIX.is_file():
        pytest.skip("the Websearch prefix is absent: set HEADSTACK_SHARED")
    return PREFIX


def folder(once):
    """Return the folder whose finished runs all studies share."""
    out = once.folder / "papers"
    out.mkdir(exist_ok=True)
    return out


def of(once, name, quick=True, traces=None, **choices):
    """Return a study of a paper that shares the finished runs."""
    taken = replace(papers.load(name).choices, **choices)
    return study.Study(name, folder(once), quick=quick, traces=traces or {}, choices=taken)


class Short(Runs):
    """Runs of few synthetic requests."""

    def get(self, runs, label):
        return super().get([replace(r, workload=self.short(r.workload)) for r in runs], label)

    def short(self, workload):
        if "synthetic" not in workload:
            return workload
        return {**workload, "synthetic": {**workload["synthetic"], "n_requests": 1000}}


def whole(once, name, *, trace=False):
    """Return document and study of a quick run of a paper's claims, made once a session.

    Drawing takes longer than the runs: the study keeps the specifications of its figures.
    """
    own = study._sensitivity

    def sensitivity(claim, of, taken):
        if QUICK and claim.id in AS_CHOSEN:
            return [], None
        if QUICK:
            # Only readings decide a verdict.
            claim = replace(claim, choices=[c for c in claim.choices if c.says])
        if QUICK and not trace and claim.id in SHORTLY:
            of = copy.copy(of)
            of.store = Short(folder(once) / "runs")
        return own(claim, of, taken)

    def make():
        given = {"websearch": prefix()} if trace else {}
        with pytest.MonkeyPatch.context() as m:
            for variable in ("HEADSTACK_TRACES", "HEADSTACK_SHARED"):
                m.delenv(variable, raising=False)
            m.chdir(folder(once))
            m.setattr(plots, "save", lambda chart, stem: [])
            m.setattr(study, "_sensitivity", sensitivity)
            document, found = study.reproduce(
                papers.load(name), folder(once), ids=asked(name), quick=True, traces=given
            )
        # Finished runs are in the folder.
        found.store = Runs(folder(once) / "runs")
        return document, found

    return once(f"{name}-trace" if trace else name, make)


def claim_of(document, claim_id):
    """Return a claim of a document."""
    return next(c for c in document["claims"] if c["id"] == claim_id)


def row(once, name, claim_id):
    """Return what a document has of a claim, in `make test` of one with many runs by one seed."""
    if not QUICK or claim_id not in ONE_SEED.get(name, ()):
        return claim_of(whole(once, name)[0], claim_id)

    def make():
        (claim,), varied = papers.load(name).chosen([claim_id]), of(once, name).vary()
        with pytest.MonkeyPatch.context() as m:
            m.setattr(fresh, "QUICK", 3)
            return study._row(claim, study.judge(claim, varied), varied, asked=False)

    return once(claim_id, make)


def parts_of(document):
    """Return all parts of a document by what they compare."""
    return {p["what"]: p for c in document["claims"] for p in c["parts"]}


def cells(path, first):
    """The table of a page whose first heading is `first`: rows of cells, the headings first."""
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {first} | "))
    # Characters with a meaning in Markdown are escaped.
    table = itertools.takewhile(lambda line: line.startswith("|"), lines[start:])
    rows = [[re.sub(r"\\(.)", r"\1", cell.strip()) for cell in line.strip("|").split("|")] for line in table]
    return [rows[0], *rows[2:]]


def guide():
    """The rows of the table of all claims in the guide."""
    heads, *rows = cells("docs/guide/papers.md", "claim")
    assert heads == ["claim", "verdict", "readings", "reason"]
    return rows


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


NUMBERS = re.compile(r"\d(?:[\d,]*\d)?(?:\.\d+)?")


def check(claim):
    """Check a claim of a document and its parts: verdicts follow, and what counts can fail."""
    assert claim["as_chosen"] == as_chosen(claim)
    assert claim["verdict"] == of_claim(claim)
    assert claim["reason"]
    assert bool(claim["why"]) is (claim["verdict"] != Verdict.REPRODUCED)
    for part in claim["parts"]:
        check_part(part)
    check_reason(claim)
    check_stand_ins(claim)
    check_choices(claim)
    check_worlds(claim)


def check_part(part):
    """Check that a part's verdict and deviation follow from its numbers by its rule."""
    counts = part["kind"] == Kind.RESULT and part["verdict"] != Verdict.NOT_RUN
    assert part["counts"] is (counts and not part["void"]), part
    if part["verdict"] == Verdict.NOT_RUN:
        assert part["note"], part
        return
    assert part["verdict"] == of_part(part), part["what"]
    assert ("stand-in" in part["what"]) <= (part["kind"] == Kind.STAND_IN), part
    if part["rule"] == Rule.NUMBER and part["deviation"] is not None:
        ours, said = part["values"]["ours"], part["values"]["paper"]
        assert part["deviation"] == pytest.approx((ours - said) / said)
    if part["counts"]:
        check_counting(part)
    if is_number(part) and part["kind"] in (Kind.RESULT, Kind.FITTED):
        check_number(part)


def check_number(part):
    """Check that a number holds against itself, and not 1.5 tolerances off on either side."""
    ours = part["values"]["ours"]
    for wrong in wrong_numbers(Rule(part["rule"]), ours, tolerance(part)):
        assert judged(part, ours, wrong).verdict is not Verdict.REPRODUCED, (part["what"], wrong)
    if not part["contradiction"]:
        assert judged(part, ours, ours).verdict is Verdict.REPRODUCED, part["what"]


def check_reason(claim):
    """Check that every number of a reason is one of its parts, and every part that fails in it."""
    failed = [p for p in claim["parts"] if p["counts"] and p["verdict"] == Verdict.DEVIATES]
    for part in failed:
        assert f"{part['what']}: {part['ours']}, paper: {part['paper']}" in claim["why"]
    if claim["verdict"] != Verdict.DEVIATES:
        return
    told = " ".join(f"{p['what']} {p['ours']} {p['paper']} {p['note']}" for p in failed)
    assert set(NUMBERS.findall(claim["why"])) <= set(NUMBERS.findall(told))
    for part in claim["parts"]:
        assert part in failed or f"{part['what']}: {part['ours']}, paper" not in claim["why"]


def check_stand_ins(claim):
    """Check that stand-ins stand beside a verdict and decide nothing."""
    stand_ins = {p["verdict"] for p in claim["parts"] if p["kind"] == Kind.STAND_IN}
    assert bool(claim["stand_in"]) is bool(stand_ins - {"not-run"})
    if claim["stand_in"]:
        failed = "deviates" in stand_ins
        assert claim["stand_in"]["verdict"] == ("deviates" if failed else "reproduced")


def check_choices(claim):
    """Check that no alternative of a choice was refused."""
    for choice in claim["choices"]:
        assert choice["taken"]
        for other in choice["otherwise"]:
            assert other["why"] == "", other
            if claim["stand_in"] and other["verdict"] == "not-run":
                assert other["stand_in"], other


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
        for x, y in itertools.product((-1, 1), repeat=2):
            assert holds(part, ours + x * a, reference + y * b), part["what"]
