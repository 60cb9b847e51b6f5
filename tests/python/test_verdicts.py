"""What the verdicts of all papers stand on: wrong numbers fail, and the guide has what comes out."""

import random
import re
from dataclasses import replace

import pytest
from conftest import QUICK, ROOT

from headstack import studies
from headstack.studies import evaluate, page
from headstack.studies.rules import VERDICTS, Kind, Rule, Verdict, allowance
from headstack.studies.study import Study, reproduce

#: Claims that are simulated in seconds, with numbers of the papers among their parts.
CLAIMS = {
    "isca08": ("IDP-12",),
    "ng98": ("NG-1", "NG-2", "NG-8"),
    "pcap": ("PCAP-2", "PCAP-5", "PCAP-8", "PCAP-9"),
}

#: Parts that are made wrong.
PARTS = 20


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A folder whose finished runs the tests share."""
    return tmp_path_factory.mktemp("verdicts")


@pytest.fixture(scope="module")
def numbers(store):
    """All parts of `CLAIMS` that are numbers of a paper, with what they are judged on."""
    found = []
    for name, ids in CLAIMS.items():
        paper = studies.load(name)
        study = Study(name, store, quick=True, traces={}, choices=paper.choices)
        for claim in paper.chosen(ids):
            tables = evaluate.rows_of(claim.measure(study))
            for said, scope, at in evaluate.expand(claim.parts, tables):
                own = {**scope, **said.where}
                if said.rule is None or said.expected is None:
                    continue
                part = evaluate._part(said, tables, own, at)
                if part.kind in (Kind.RESULT, Kind.FITTED) and part.values:
                    found.append((claim.id, said, tables, own, at, part))
    return found


def test_twenty_parts_with_wrong_numbers_fail(numbers):
    """A number 1.5 tolerances from ours, on either side, must not be reproduced."""
    drawn = random.Random(20).sample(numbers, PARTS)
    assert len({claim for claim, *_ in drawn}) > 3
    for claim, said, tables, scope, at, part in drawn:
        ours, paper = part.values["ours"], part.values["paper"]
        for sign in (-1, 1):
            by = 1.5 * allowance(said.rule, ours, said.tolerance)
            if said.rule is Rule.PRINTED:
                # Half a digit is the tolerance; the wrong number has the paper's digits.
                wrong = round(paper + 4 * sign * allowance(said.rule, paper), 6)
            else:
                wrong = ours + sign * by
            judged = evaluate._part(replace(said, expected=wrong), tables, scope, at)
            assert judged.verdict is not Verdict.REPRODUCED, (claim, part.what, wrong, ours)
        # Moved away from ours, the paper's own number fails as well.
        away = 1 if paper >= ours else -1
        wrong = paper + 1.5 * away * max(allowance(said.rule, paper, said.tolerance), 1e-9)
        judged = evaluate._part(replace(said, expected=wrong), tables, scope, at)
        assert judged.verdict is not Verdict.REPRODUCED, (claim, part.what, wrong, ours)


def test_the_parts_are_judged_by_their_own_numbers(numbers):
    """With ours in the place of the paper's, every part holds: nothing else decides."""
    for claim, said, tables, scope, at, part in numbers:
        if said.rule is Rule.PRINTED or said.contrary is not None:
            continue
        judged = evaluate._part(replace(said, expected=part.values["ours"]), tables, scope, at)
        assert judged.verdict is Verdict.REPRODUCED, (claim, part.what)


# The table of the guide.


def guide():
    """The rows of the table of all claims in the guide."""
    text = (ROOT / "docs" / "guide" / "papers.md").read_text(encoding="utf-8")
    (table,) = re.findall(
        r"^\| claim \| verdict \| reason \|\n\|.*\n((?:\|.*\n)+)", text, re.MULTILINE
    )
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def test_the_guide_has_every_claim_once_by_verdict():
    rows = guide()
    ids = [c.id for name in studies.PAPERS for c in studies.load(name).claims]
    assert sorted(row[0] for row in rows) == sorted(ids)
    order = [str(v) for v in VERDICTS]
    assert [row[1] for row in rows] == sorted((row[1] for row in rows), key=order.index)
    text = (ROOT / "docs" / "guide" / "papers.md").read_text(encoding="utf-8")
    counts = ", ".join(f"{sum(row[1] == v for row in rows)} {v}" for v in order)
    assert counts in " ".join(text.split())


def test_the_guide_has_the_sentences_of_the_claims():
    rows = {row[0]: row for row in guide()}
    for name in studies.PAPERS:
        for claim in studies.load(name).claims:
            _, verdict, reason = rows[claim.id]
            said = claim.because.get(Verdict(verdict), "")
            if said and "{" not in said:
                assert reason == f"{claim.what}: {said}"


@pytest.mark.parametrize("name", CLAIMS)
def test_the_guide_has_the_verdicts_of_a_quick_run(name, store):
    rows = {row[0]: row for row in guide()}
    document, _ = reproduce(studies.load(name), store, ids=CLAIMS[name], quick=True)
    for claim in document["claims"]:
        if claim["id"] in CLAIMS[name]:
            assert claim["verdict"] == rows[claim["id"]][1], claim["why"]


@pytest.mark.thorough
def test_the_guide_has_what_the_tool_prints(tmp_path, monkeypatch):
    for variable in ("HEADSTACK_TRACES", "HEADSTACK_SHARED"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)
    documents = [
        reproduce(studies.load(name), tmp_path, quick=QUICK, stand_ins=False)[0]
        for name in studies.PAPERS
    ]
    printed = [[cell.replace("|", "/") for cell in row] for row in page.all_rows(documents)]
    assert guide() == printed
