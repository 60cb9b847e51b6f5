"""What verdicts stand on: wrong numbers fail, and the guide has what comes out."""

import hashlib
import itertools
import json
import re
import tomllib
from dataclasses import replace

import pytest
import verdicts
from conftest import ROOT, command

from headstack import studies
from headstack.cli import reproduce as reproduce_command
from headstack.errors import ConfigError
from headstack.studies import evaluate, page
from headstack.studies.isca08 import systems
from headstack.studies.pcap import effects
from headstack.studies.rules import VERDICTS, Kind, Verdict
from headstack.studies.study import Study, reproduce

#: Claims that are simulated in seconds, with numbers of the papers among their parts; those of
#: `snowflakes` were all put in or fitted. Of two papers also what is reproduced; the tests of the
#: other papers judge all of their claims.
CLAIMS = {
    "isca08": ("IDP-9",),
    "dald": ("DALD-1", "DALD-5", "DALD-7", "DALD-8"),
    "ng98": ("NG-1", "NG-2", "NG-6", "NG-8"),
    "pcap": ("PCAP-1", "PCAP-2", "PCAP-5", "PCAP-8", "PCAP-9"),
}

#: Parts that are made wrong, at least.
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
        study = Study(name, store, quick=True, traces={}, choices=paper.choices).vary()
        for claim in paper.chosen(ids):
            tables = evaluate.rows_of(claim.measure(study))
            for said, scope, at in evaluate.expand(claim.parts, tables, partial=True):
                own = {**scope, **said.where}
                if said.rule is None or said.expected is None:
                    continue
                part = evaluate._part(said, tables, own, at, partial=True)
                if part.kind in (Kind.RESULT, Kind.FITTED) and part.values:
                    found.append((claim.id, said, tables, own, at, part))
    return found


def test_twenty_parts_with_wrong_numbers_fail(numbers):
    """A number 1.5 tolerances from ours, on either side, must not be reproduced."""
    assert len(numbers) >= PARTS
    assert {claim.partition("-")[0] for claim, *_ in numbers} == {"IDP", "DALD", "NG", "PCAP"}
    for claim, said, tables, scope, at, part in numbers:
        for wrong in verdicts.wrong_numbers(said.rule, part.values["ours"], said.tolerance):
            judged = evaluate._part(replace(said, expected=wrong), tables, scope, at, partial=True)
            assert judged.verdict is not Verdict.REPRODUCED, (claim, part.what, wrong)


def test_the_parts_are_judged_by_their_own_numbers(numbers):
    """With ours in the place of the paper's, every part holds: nothing else decides."""
    for claim, said, tables, scope, at, part in numbers:
        if said.contrary is not None:
            continue
        ours = part.values["ours"]
        judged = evaluate._part(replace(said, expected=ours), tables, scope, at, partial=True)
        assert judged.verdict is Verdict.REPRODUCED, (claim, part.what)


#: Readings that were taken because of a result, by the notes on how the models were made.
SELECTED = {
    "isca08": {"order", "rate", "footprint"},
    "dald": {"ties", "initial", "settle", "policy"},
    "ng98": {"single", "track"},
    "snowflakes": {"split", "tail"},
    "pcap": {
        "threads", "rounding", "together", "start", "open_start", "snap_back", "law",
        "shelf_threads",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", studies.PAPERS)
def test_a_reading_says_by_which_result_it_was_selected(name):
    path = ROOT / "python" / "headstack" / "studies" / name / "claims.toml"
    readings = tomllib.loads(path.read_text(encoding="utf-8"))["reading"]
    assert {k for k, r in readings.items() if r.get("selected")} == SELECTED[name]
    assert all(r["says"] for r in readings.values())


def test_interleaved_streams_answer_as_the_first_minute_of_websearch(store):
    """Within 7 % of the means of a separate simulator of the same model on that minute."""
    paper, sa = studies.load("isca08"), systems.TAKEN.sa
    study = Study("isca08", store, quick=True, traces={}, choices=paper.choices).vary(streams=4)
    (load,) = systems.loads(study)
    ms = {"MD": 11.8, "SA(2)": 13.3, "SA(3)": 9.1, "SA(4)": 7.5}
    arrays = (systems.TAKEN.md("websearch"), sa(2), sa(3), sa(4))
    found = study.run(systems.runs(load, *arrays))
    assert load.stand_in
    assert {n: systems.mean_ms(r) for n, r in found.items()} == pytest.approx(ms, rel=0.07)


# The table of the guide.


def guide():
    """The rows of the table of all claims in the guide."""
    text = (ROOT / "docs" / "guide" / "papers.md").read_text(encoding="utf-8")
    (table,) = re.findall(
        r"^\| claim \| verdict \| readings \| reason \|\n\|.*\n((?:\|.*\n)+)", text, re.MULTILINE
    )
    # Characters with a meaning in Markdown are escaped.
    plain = re.sub(r"\\(.)", r"\1", table)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in plain.splitlines()]


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
            _, verdict, _, reason = rows[claim.id]
            said = claim.because.get(Verdict(verdict), "")
            if said and "{" not in said:
                assert reason == f"{claim.what}: {said}"


@pytest.mark.parametrize("name", ["dald", "ng98", "pcap"])
def test_the_guide_has_the_rows_of_a_quick_run(name, store):
    rows = {row[0]: row for row in guide()}
    document, _ = reproduce(studies.load(name), store, ids=CLAIMS[name], quick=True)
    verdicts.check(document)
    printed = {row[0]: row for row in page.all_rows([document])}
    for claim in CLAIMS[name]:
        assert printed[claim] == rows[claim]


@pytest.mark.thorough
def test_the_guide_has_what_the_tool_prints(tmp_path, monkeypatch):
    for variable in ("HEADSTACK_TRACES", "HEADSTACK_SHARED"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)
    documents = [
        reproduce(studies.load(name), tmp_path, quick=True, stand_ins=False)[0]
        for name in studies.PAPERS
    ]
    assert guide() == page.all_rows(documents)
    for document in documents:
        verdicts.check(document)


#: The papers: what their claims are called, how many there are, and one that takes little time.
PAPERS = {
    "isca08": ("IDP", 13, "IDP-12"),
    "ng98": ("NG", 9, "NG-6"),
    "snowflakes": ("SNOW", 6, "SNOW-1"),
    "pcap": ("PCAP", 11, "PCAP-8"),
}


@pytest.mark.parametrize("name", PAPERS)
def test_the_command_writes_all_claims_figures_pages_and_a_manifest(name, tmp_path, monkeypatch):
    monkeypatch.setenv("HEADSTACK_TRACES", str(tmp_path))
    prefix, n, judged = PAPERS[name]
    out = tmp_path / "out"
    done = command("reproduce", name, judged, "--quick", "--json", "--out", out)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["paper"] == name
    assert [c["id"] for c in document["claims"]] == [f"{prefix}-{i + 1}" for i in range(n)]
    for row in document["claims"]:
        assert {"what", "paper", "ours", "deviation", "verdict", "figure", "why"} <= row.keys()
        assert row["verdict"] in list(Verdict)
        assert row["verdict"] == "reproduced" or row["why"]
    (claim,) = (c for c in document["claims"] if c["id"] == judged)
    assert (out / claim["figure"]).read_bytes().startswith(b"\x89PNG")
    assert (out / claim["figure"]).with_suffix(".svg").is_file()
    assert judged in (out / f"{name}.html").read_text()
    manifest = json.loads((out / "manifest.json").read_text())
    files = {f["file"]: f for f in manifest["files"]}
    assert {f"{name}.{kind}" for kind in ("html", "md", "json")} | {claim["figure"]} <= set(files)
    for file, entry in files.items():
        content = (out / file).read_bytes()
        assert entry["size_bytes"] == len(content)
        assert entry["sha256"] == hashlib.sha256(content).hexdigest()
        assert entry["run_id"] == manifest["run_id"]
    assert page.run_id(page.load(out, name)) == manifest["run_id"]


def test_another_papers_files_stay_and_changed_ones_are_refused(tmp_path):
    out = tmp_path / "out"
    for name, claim in (("isca08", "IDP-12"), ("ng98", "NG-1")):
        assert command("reproduce", name, claim, "--quick", "--out", out).returncode == 0
    files = {f["file"] for f in json.loads((out / "manifest.json").read_text())["files"]}
    assert {"isca08.json", "isca08.html", "ng98.json"} < files
    text = (out / "isca08.json").read_text()
    (out / "isca08.json").write_text(text.replace("not-run", "deviates", 1))
    with pytest.raises(ConfigError, match="need the"):
        page.load(out, "isca08")


def test_a_claim_without_its_traces_says_where_it_looked_before_it_runs(
    tmp_path, monkeypatch, capsys
):
    for name in ("HEADSTACK_TRACES", "HEADSTACK_SHARED"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    paper = studies.load("isca08")
    named = next(c.id for c in paper.claims if c.traces)
    for folder, where in ((None, "HEADSTACK_TRACES (not set) or traces/ ("), ("t", str(tmp_path))):
        if folder:
            (tmp_path / folder).mkdir()
            monkeypatch.setenv("HEADSTACK_TRACES", str(tmp_path / folder))
        reproduce_command._say_what_is_not_run(paper, {}, [named], stand_ins=False)
        said = capsys.readouterr().err
        assert where in said
        assert f"{named}: run on synthetic stand-ins, which decide nothing" in said


@pytest.mark.parametrize(
    ("stand_in", "said"), [({"verdict": "deviates"}, "a synthetic stand-in"), (None, "left out")]
)
def test_a_page_says_what_ran_in_the_place_of_a_trace(stand_in, said):
    document = {"traces": {"a": None}, "claims": [{"stand_in": stand_in}]}
    assert said in page.trace_lines(document)[0]


def test_all_papers_are_one_document():
    claims = [
        {"id": "A-1", "verdict": "deviates", "readings": "0 of 2", "what": "a", "reason": "high"},
        {"id": "A-2", "verdict": "reproduced", "readings": "1 of 1", "what": "b", "reason": "so"},
    ]
    found = page.all_document([{"claims": claims}, {"claims": claims[1:]}])
    assert {k: v for k, v in found["verdicts"].items() if v} == {"reproduced": 2, "deviates": 1}
    assert [c["claim"] for c in found["claims"]] == ["A-2", "A-2", "A-1"]
    last = {"claim": "A-1", "verdict": "deviates", "readings": "0 of 2", "reason": "a: high"}
    assert found["claims"][2] == last


# Numbers in the README and the guides.


def cells(path, first):
    """The table of a page whose first heading is `first`: rows of cells, the headings first."""
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {first} | "))
    table = list(itertools.takewhile(lambda line: line.startswith("|"), lines[start:]))
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    return [rows[0], *rows[2:]]


#: A mean, and half of its interval if there is one, in a cell of the table of `effects`.
NUMBER = r"(\d+)(?: ± (\d+))?"
CELL = re.compile(rf"{NUMBER} /s, {NUMBER} s over, p99 {NUMBER} ms")


def test_the_study_has_the_numbers_of_the_page_on_capping():
    heads, *rows = cells("docs/models/capping.md", "load")
    assert tuple(heads) == ("load", *effects.HEADINGS)
    assert [row[0] for row in rows] == [load.name for load in effects.LOADS]
    _, *study = cells("docs/studies/power-caps.md", "cap")
    for page_row, row in zip(rows, study, strict=False):
        assert page_row[0] == f"Figure 8: {row[0]}"
        found = [CELL.match(cell) for cell in page_row[2:]]
        assert [f"{m[1]}, {m[3]} s" for m in found] == row[1:]


def test_the_page_on_capping_has_what_a_run_gives():
    """One seed of ten, so each number may differ by some intervals; all of them: thorough."""
    load = effects.LOADS[0]
    _, row, *_ = cells("docs/models/capping.md", "load")
    measured = effects.measure(load, [3])
    for heading, cell in zip(effects.HEADINGS, row[1:], strict=True):
        if heading in measured:
            found = CELL.match(cell).groups(default="0")
            means, halves = ([float(n) for n in found[i::2]] for i in (0, 1))
            for ours, mean, half in zip(measured[heading][0], means, halves, strict=True):
                # A single seed of ten has about three times the interval's half as its own spread.
                assert ours == pytest.approx(mean, abs=4 * half + 2, rel=0.02), heading


@pytest.mark.thorough
def test_the_page_on_capping_has_the_table_that_is_printed():
    page_rows = cells("docs/models/capping.md", "load")[1:]
    for load, row in zip(effects.LOADS, page_rows, strict=True):
        assert effects.row(load, effects.measure(load, range(1, 11))) == row


def test_the_guide_has_the_numbers_of_pcap(store):
    paper = studies.load("pcap")
    study = Study("pcap", store, quick=True, traces={}, choices=paper.choices)
    (claim,) = paper.chosen(["PCAP-9"])
    tables = evaluate.rows_of(claim.measure(study))
    at = {r["cap"]: r["iops"] for r in tables["totals"]}
    rows = {row[0]: row[2] for row in cells("docs/guide/papers.md", "the paper says")}
    said = f"{at['8 W']:.0f} at 8 W, {at['8.5 W']:.0f} at 8.5 W"
    assert rows["170 requests per second in bursts at 8 W (Figure 9)"] == said
