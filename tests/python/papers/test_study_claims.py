"""Claims as data: the example of the design notes, the schema's refusals, and all papers."""

import math
import re
import shutil
import sys
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

import altair as alt
import pandas as pd
import pytest
from conftest import ROOT

from headstack import papers
from headstack.errors import ConfigError
from headstack.papers import claims, evaluate, page, rules, seeds
from headstack.papers.rules import Kind, Rule
from headstack.papers.study import Study, reproduce
from headstack.show.plots import figure, look

EXAMPLE = Path(__file__).parent / "example_paper"


def changed(tmp_path, monkeypatch, name, *replacements):
    """The example with parts of its claims replaced, as a paper of its own."""
    folder = tmp_path / name
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    text = (folder / claims.FILE).read_text(encoding="utf-8")
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new)
    (folder / claims.FILE).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    for module in [m for m in sys.modules if m.partition(".")[0] == name]:
        del sys.modules[module]
    return name


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    out = tmp_path_factory.mktemp("example")
    paper = claims.load("example_paper")
    document, study = reproduce(paper, out, quick=True)
    page.write(document, paper, study, out)
    return document, study, out


def test_the_example_is_judged_and_drawn(example):
    document, study, out = example
    (row,) = document["claims"]
    assert (row["id"], row["verdict"]) == ("TURN-1", "reproduced"), row["why"]
    number, relation = row["parts"]
    # Half a turn at 7200 rpm; at 5400 rpm 5.56 ms.
    assert number["values"]["ours"] == pytest.approx(60e3 / 7200 / 2, rel=0.05)
    assert relation["values"]["5,400 rpm"] == pytest.approx(60e3 / 5400 / 2, rel=0.05)
    assert number["what"] == "mean wait at 7,200 rpm"
    (listing,) = [t for t in row["tables"] if t["title"] == "Mean wait in ms"]
    assert [r[0] for r in listing["rows"]] == ["5,400", "7,200", "10,000"]
    (choice,) = row["choices"]
    assert choice["otherwise"][0]["verdict"] == "reproduced"
    assert (out / row["figure"]).read_bytes().startswith(b"\x89PNG")
    # The paper's own value stands beside ours, at its place.
    shown = [r for rows in study.specs["turn-1-waits"]["datasets"].values() for r in rows if "what" in r]
    assert shown[0]["x"] == 7200
    assert shown[0]["y"] == 4.17


def test_the_rule_is_run_on_the_world_in_which_a_part_is_false(example):
    number, relation = example[0]["claims"][0]["parts"]
    assert number["falsifier"]["world"] == "a wait of a whole turn"
    assert (number["falsifier"]["ours"], number["falsifier"]["reference"]) == (8.33, 4.17)
    assert not number["falsifier"]["passes"]
    # Ours in that world is another cell of the table: 10,000 rpm.
    assert relation["falsifier"]["ours"] == pytest.approx(3.0, rel=0.05)
    assert not relation["falsifier"]["passes"]


def test_a_rule_that_cannot_fail_is_told_on_the_page(tmp_path, monkeypatch):
    name = changed(
        tmp_path, monkeypatch, "lenient", ('world = "a higher speed", ours = { row = 10000 }',
                                           'world = "the same speed twice as slow", ours = 99.0'),
    )  # fmt: skip
    paper = claims.load(name)
    document, study = reproduce(paper, tmp_path, quick=True)
    part = document["claims"][0]["parts"][1]
    assert part["falsifier"]["passes"]
    assert not part["counts"]
    assert "1 of 1" in str(page.summary_rows(document))
    html = page.to_html(document, paper, study)
    assert "would also pass if" in html
    assert '<td class="wrap">the same speed twice as slow (so it counts for nothing)</td>' in html
    assert "not if a wait of a whole turn" in html


def test_a_page_opens_with_the_verdicts(example):
    out = example[2]
    html = (out / "example_paper.html").read_text(encoding="utf-8")
    body = html[html.index("<h1>") :]
    definitions = body.index(page.WORDS)
    assert body.index('<td class="text reproduced">') < body.index("<h2") < definitions
    markdown = (out / "example_paper.md").read_text(encoding="utf-8")
    heads = "| claim | verdict | readings | what | reason |"
    assert markdown.index(heads) < markdown.index(page.WORDS)
    # In how many readings a claim holds is beside its verdict.
    assert "| TURN-1 | reproduced | 1 of 1 |" in markdown
    assert re.search(r'reproduced">reproduced</td><td class="text">1 of 1</td>', body)
    assert markdown.splitlines()[2].startswith("| claim |")


def test_the_design_notes_print_the_example():
    notes = (ROOT / "docs" / "design" / "adding-a-paper.md").read_text(encoding="utf-8")
    (printed,) = re.findall(r"^```toml\n(.*?)^```", notes, re.MULTILINE | re.DOTALL)
    file = (EXAMPLE / claims.FILE).read_text(encoding="utf-8")
    assert tomllib.loads(printed) == tomllib.loads(file)
    for rule in Rule:
        assert f"`{rule}`" in notes, rule


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("place =", "places =", r'claim\[0\]: key: got "places".*mean "place"'),
        ("expected = 4.17", 'expectd = 4.17', r'TURN-1: part 1.1: key: got "expectd".*"expected"'),
        ('rule = "higher"', 'rule = "hihger"', r'part 1.2.rule: got "hihger".*mean "higher"'),
        ("row = 7200 }\nrule", "row = 7201 }\nrule", r"part 1.1: got 0 rows of waits .*need one"),
        ('column = "wait_ms"\nform', 'column = "wait"\nform', r'column: got "wait".*"wait_ms"'),
        ('table = "waits"\nkey', 'table = "wait"\nkey', r'table: got "wait".*mean "waits"'),
        ('choices = ["seed"]', 'choices = ["sead"]', r'TURN-1.choices: got "sead".*mean "seed"'),
        ("expected = 4.17", "expected = true", r"expected: got True, need a number"),
        ('"tables.waits"', '"tables.wait"', r'got "tables.wait", need a function of the folder'),
        ("{rpm:,} rpm\"\nours = { row = 7200", "{rmp:,} rpm\"\nours = { row = 7200", r'"rmp"'),
        ('type = "line"', 'type = "lines"', r"figure 1.mark.type: got 'lines', need Vega-Lite's terms; .*'line'"),
        ('data.name = "waits"', 'data = "waits"', r"TURN-1: figure 1.data: got 'waits', need a table"),
        ('name = "turn-1-waits"', "", r"TURN-1: figure 1: got no name, need one"),
        ('field = "rpm"', 'field = "rmp"', r'figure 1.encoding.x.field: got "rmp".*mean "rpm"'),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_by_name(tmp_path, monkeypatch, old, new, said):
    name = changed(tmp_path, monkeypatch, "refused", (old, new))
    try:
        document, _ = reproduce(claims.load(name), tmp_path, quick=True)
    except ConfigError as e:
        why = str(e)
    else:
        # What is found out while a claim is judged does not stop the others.
        why = document["claims"][0]["why"]
    assert re.search(said, why), why


def test_entries_share_settings_and_are_repeated():
    rows = {"t": [{"a": a, "b": b, "v": 10 * a + b} for a in (1, 2) for b in (1, 2, 3)]}
    given = {
        "table": "t",
        "each": ["a"],
        "part": [{"what": "{a}", "each": {"b": [3, 1]}}, {"what": "only two", "each": {"a": [2]}, "where": {"b": 2}}],
    }
    node = claims._node(claims.Statement, given, {}, {}, "at", "part")
    found = [(s.what, dict(scope)) for s, scope, _ in evaluate.expand([node], rows)]
    assert found == [
        ("{a}", {"a": 1, "b": 3}),
        ("{a}", {"a": 1, "b": 1}),
        ("{a}", {"a": 2, "b": 3}),
        ("{a}", {"a": 2, "b": 1}),
        ("only two", {"a": 2}),
    ]
    nowhere = claims._node(claims.Statement, {**given, "each": {"a": [9]}}, {}, {}, "at", "part")
    with pytest.raises(ConfigError, match=r"at: got no row for .*9.*, need one or more"):
        evaluate.expand([nowhere], rows)
    # A study with other choices may have fewer rows and tables.
    assert evaluate.expand([nowhere], rows, partial=True) == []
    assert evaluate.expand([node], {}, partial=True) == []


def test_printed_tables_have_rows_columns_and_values_across():
    frame = pd.DataFrame([{"w": w, "n": n, "ms": 10 * w + i} for w in (0, 1) for i, n in enumerate("ab")])
    rows = evaluate.rows_of({"t": frame})["t"]
    across = claims.Listing("at", "t", (("w", "{w}"),), across="n", heading="<{n}>", cell="{ms}")
    table = evaluate._listing(across, rows, {}, "at")
    assert table.headings == ["w", "<a>", "<b>"]
    assert table.rows == [["0", "0", "1"], ["1", "10", "11"]]
    together = claims.Listing("at", "t", (("", "all"),), across="w", heading="{w}", cell="{n}{ms}")
    assert evaluate._listing(together, rows, {}, "at").rows == [["all", "a0 / b1", "a10 / b11"]]
    missing = [{"x": float("nan")}, {"x": None}, {"x": 1.0}]
    column = claims.Listing("at", "t", (), columns=(("x", "{x:.1f}"),))
    assert [r[0] for r in evaluate._listing(column, missing, {}, "at").rows] == ["–", "–", "1.0"]  # noqa: RUF001


def test_numbers_that_are_missing_are_not_run():
    rows = {"t": [{"v": None, "why": "overloaded"}]}
    said = claims.Statement("v", Rule.NUMBER, "t", column="v", expected=2.0, missing="it is {why}")
    part = evaluate._part(said, rows, {}, "at")
    assert (part.verdict, part.note, part.counts) == ("not-run", "it is overloaded", False)


#: A table with two lines, and the paper's value of one of its places.
TABLE = [
    {"x": x, "y": x * k, "to": x * k + 1, "end": x + 0.5, "c": str(k), "say": f"{x}"}
    for k in (1, 2)
    for x in (1.0, 2.0, 3.0)
]
POINT = {"x": 2.0, "y": 1.0, "what": "w", "text": "1", "below": False}
AXES = {"x": {"field": "x", "title": "x"}, "y": {"field": "y", "title": "y"}, "color": {"field": "c"}}


def figure_of(table=TABLE, paper=(), **spec):
    """A figure of a table, as Vega-Lite takes it."""
    spec = {"name": "p", "title": "title", "data": {"name": "t"}, "encoding": AXES, **spec}
    drawn = figure.draw(spec, {"t": table}, "at", {"p": paper})
    alt.Chart.from_dict(drawn)
    return drawn


def test_every_mark_is_drawn():
    ends = {"x2": {"field": "end"}, "y2": {"field": "to"}}
    own = {"rect": ends, "bar": {"x2": ends["x2"]}, "rule": {"y2": ends["y2"]}, "errorbar": {"y2": ends["y2"]},
           "text": {"text": {"field": "say"}}}  # fmt: skip
    for mark in ("line", "point", "circle", "tick", *own):
        drawn = figure_of(mark=mark, encoding={**AXES, **own.get(mark, {})}, paper=[POINT])
        (shown,) = {layer["data"]["name"] for layer in drawn["layer"] if "data" in layer}
        assert [row["y"] for row in drawn["datasets"][shown]] == [POINT["y"]]
    # Only what is drawn is in the page.
    assert {c for row in drawn["datasets"]["t"] for c in row} == {"x", "y", "say"}
    # A line shows the point nearest the pointer, of the same table, and differs in dashes.
    line, pointer = figure_of(mark="line")["layer"]
    assert line["encoding"]["strokeDash"]["field"] == "c"
    assert "data" not in pointer
    assert pointer["name"].startswith(look.POINTER)


def test_what_a_figure_does_not_say_is_the_style_of_all():
    # The words of the paper's levels are beside the plot, where no line crosses them.
    drawn = figure_of(mark="line", paper=[{**POINT, "x": ""}])
    words = [x for x in drawn["layer"] if x["mark"]["type"] == "text"]
    assert [(x["encoding"]["x"], x["mark"]["dx"] > 0) for x in words] == [({"value": "width"}, True)] * 2
    # The page takes what has no schema for something else than Vega-Lite.
    assert drawn["$schema"] == alt.SCHEMA_URL
    # Names keep the order of the table, also those that are numbers, and where the paper has a value.
    names = {"x": {"field": "n", "type": "nominal"}, "y": {"field": "y"}}
    places = [{"n": n, "y": 1.0} for n in (10, 9)]
    drawn = figure_of(places, mark="bar", encoding=names, paper=[{**POINT, "x": 9}])
    assert [x["encoding"]["x"]["scale"]["domain"] for x in drawn["layer"]] == [[10, 9]] * 4
    # Panels are of one view, which has no point nearest the pointer; the page fits them into its width.
    panels = figure.draw({"data": {"name": "t"}, "facet": {"field": "c"},
                          "spec": {"mark": "line", "encoding": AXES}}, {"t": TABLE})  # fmt: skip
    alt.Chart.from_dict(panels)
    assert "layer" not in panels["spec"]
    assert (panels["facet"]["sort"], panels["usermeta"]["panels"]) == (["1", "2"], 2)
    # A layer's field takes over what it does not say itself; numbers that are missing are null.
    low = {"mark": "rule", "encoding": {"y": {"field": "low"}}}
    drawn = figure_of([{**row, "low": math.nan} for row in TABLE], layer=[{"mark": "point"}, low])
    assert drawn["layer"][1]["encoding"]["y"]["title"] == "y"
    assert {row["low"] for row in drawn["datasets"]["t"]} == {None}
    curves = [{"system": row["c"], "ms": row["x"], "share": row["x"] / 3} for row in TABLE]
    curve = figure.draw({"title": "title", "data": {"name": "t"}, "plot": "cumulative"}, {"t": curves})
    assert curve.to_dict()["layer"]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"mark": "lin"}, "at.mark.type: got 'lin', need Vega-Lite's terms; .*'line'"),
        ({"mark": "bar", "encodng": {}}, "at: got .*, need Vega-Lite's terms; .*no parameter named 'encodng'"),
        ({"mark": "bar", "data": {"name": "u"}}, 'at.data.name: got "u", need one of t'),
        ({"mark": "bar", "encoding": {"x": {"field": "z"}}}, 'at.encoding.x.field: got "z", need one of x, y'),
        ({"layer": [{"mark": "bar", "encoding": {"y2": {"field": "z"}}}]}, 'at.layer.0.encoding.y2.field: got "z"'),
        ({"mark": "bar", "transform": [{"filter": {"field": "z", "equal": 1}}]}, "at.transform.0.filter.field: got"),
        ({"hconcat": [{"mark": "bar", "encoding": {"x": {"field": "z"}}}]}, "at.hconcat.0.encoding.x.field: got"),
        ({"mark": "bar", "encoding": {"row": {"field": "c"}}}, "at.encoding: got row, need none: panels"),
        ({"facet": {"field": "z"}, "spec": {"mark": "bar"}}, 'at.facet.field: got "z"'),
        ({"plot": "cumulatve"}, 'at.plot: got "cumulatve", need one of cumulative'),
        ({"mark": "bar", "data": {"name": "none"}}, "figure: got results without p"),
    ],
)
def test_a_figure_that_does_not_fit_is_refused_by_place(spec, said):
    given = {"name": "p", "data": {"name": "t"}, **spec}
    with pytest.raises(ConfigError, match=said) as refused:
        figure.draw(given, {"t": TABLE, "none": []}, "at")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", papers.PAPERS)
def test_the_files_of_all_papers_fit_the_schema(name):
    paper = papers.load(name)
    assert all(claim.place and claim.parts for claim in paper.claims)
    for choice in {id(c): c for claim in paper.claims for c in claim.choices}.values():
        for changes in choice.otherwise.values():
            assert set(changes) <= set(vars(paper.choices)), choice.what


def statements(nodes):
    """The entries of a claim, before any table is known."""
    for node in nodes:
        if node.item is not None:
            yield node.item
        else:
            yield from statements(node.inside)


@pytest.mark.parametrize("name", papers.PAPERS)
def test_every_part_that_may_count_names_a_world_in_which_it_is_false(name):
    found = [
        f"{claim.id}: {said.what}"
        for claim in papers.load(name).claims
        for said in statements(claim.parts)
        if said.rule is not None and said.kind in (None, Kind.RESULT) and not said.fitted and said.falsifier is None
    ]
    assert found == []


def of_two_statements(ours, **more):
    """The part of a paper that prints 8 W in one place and 6.5 W in another."""
    said = claims.Statement(
        "idle", Rule.NUMBER, "t", column="w", expected=8.0, form="{:.1f} W",
        contrary=claims.Contrary("6.5 W (section 4)", expected=6.5), **more,
    )  # fmt: skip
    return evaluate._part(said, {"t": [{"w": ours, "w_half": 0.05}]}, {}, "at")


def test_a_paper_that_contradicts_itself_is_told_on_the_page():
    part = of_two_statements(6.4, falsifier=claims.Falsifier("unloaded heads", 5.5))
    assert (part.verdict, part.counts, part.ours) == ("inconsistent", True, "6.4 W ± 0.1 W")
    assert part.contradiction.holds
    row = part.document()
    assert page._paper(row) == "8.0 W, but also: 6.5 W (section 4)"
    # Each pair of statements is told once.
    assert rules.contradictions([part]).endswith("; ours 6.4 W ± 0.1 W")
    assert rules.contradictions([part] * 3).endswith("± 0.1 W, and 2 more parts")
    # A world that fits the other statement is no world in which the part is false.
    lenient = of_two_statements(6.4, falsifier=claims.Falsifier("as section 4 says", 6.5))
    assert lenient.falsifier.passes
    assert not lenient.counts
    assert of_two_statements(5.5).verdict == "deviates"


def test_a_study_with_fewer_rows_counts_what_the_whole_one_found_to_be_able_to_fail():
    """A claim is judged again on the traces alone; its false world may be one without a trace."""
    other = claims.Cell(row={"load": "b"})
    said = claims.Statement(
        "a", Rule.NUMBER, "t", column="w", expected=8.0, form="{:.1f}",
        ours=claims.Cell(row={"load": "a"}), falsifier=claims.Falsifier("load b", ours=other),
    )  # fmt: skip
    few = {"t": [{"load": "a", "w": 8.0}]}
    part = evaluate._part(said, few, {}, "at", partial=True)
    assert (part.verdict, part.counts) == ("reproduced", True)
    with pytest.raises(ConfigError, match="got 0 rows of t"):
        evaluate._part(said, few, {}, "at")
    # With the row the rule is run on it.
    both = {"t": [*few["t"], {"load": "b", "w": 8.1}]}
    assert not evaluate._part(said, both, {}, "at", partial=True).counts


def test_the_other_statement_may_stand_in_a_column():
    said = claims.Statement(
        "idle", Rule.NUMBER, "t", column="w", expected="first", form="{:.1f} W",
        contrary=claims.Contrary("section 4", expected="second"),
    )  # fmt: skip
    rows = {"t": [{"w": 6.4, "first": 8.0, "second": 6.5}]}
    part = evaluate._part(said, rows, {}, "at")
    assert (part.contradiction.reference, part.contradiction.holds) == (6.5, True)
    wrong = replace(said, contrary=claims.Contrary("section 4", expected="secnd"))
    with pytest.raises(ConfigError, match=r'at.contrary.expected: got "?secnd"?.*second'):
        evaluate._part(wrong, rows, {}, "at")


@pytest.mark.parametrize(
    ("false", "ours", "reference"),
    [({"times": 1.0}, 2.0, 2.0), ({"times": 1.5}, 3.0, 2.0), ({"swapped": True}, 2.0, 3.0), ({"than": 7.0}, 3.0, 7.0)],
)
def test_worlds_may_be_factors_or_the_opposite_effect(false, ours, reference):
    rows = {"t": [{"of": "a", "v": 3.0}, {"of": "b", "v": 2.0}]}
    said = claims.Statement(
        "a above b", Rule.HIGHER, "t", "of", "v", ours="a", than="b",
        falsifier=claims.Falsifier("x", **false),
    )  # fmt: skip
    part = evaluate._part(said, rows, {}, "at")
    assert (part.falsifier.ours, part.falsifier.reference) == (ours, reference)
    assert part.falsifier.passes is (ours > reference)
    alone = replace(said, falsifier=claims.Falsifier("x"))
    with pytest.raises(ConfigError, match=r"at.falsifier: got a world alone, need ours"):
        evaluate._part(alone, rows, {}, "at")


@dataclass(frozen=True)
class Seeded:
    seed: int = 3


def test_tables_are_averaged_over_seeds(tmp_path):
    study = Study("p", tmp_path, quick=True, traces={}, choices=Seeded())
    asked = []

    def measure(own):
        asked.append(own.choices.seed)
        row = {"n": "a", "count": 2, "w": float(own.choices.seed - 2), "same": 1.5}
        return {"t": pd.DataFrame([row]), "course": pd.DataFrame([row])}

    found = seeds.averaged(study, measure, ["t"])
    assert asked == [3, 4, 5, 6, 7]
    # Mean 3, variance 10 / 4, t = 2.776 for 4 degrees of freedom, over the root of 5.
    half = pytest.approx(2.776 * 2.5**0.5 / 5**0.5, rel=1e-3)
    (row,) = found["t"].to_dict("records")
    assert row == {"n": "a", "count": 2, "w": 3.0, "same": 1.5, "w_half": half}
    assert found["course"].to_dict("records")[0]["w"] == 1.0
    # With another choice one seed is enough, and it has no interval.
    asked.clear()
    (row,) = seeds.averaged(study.vary(), measure, ["t"])["t"].to_dict("records")
    assert (asked, row["w"]) == ([3], 1.0)
    assert "w_half" not in row
    said = claims.Statement("w", Rule.NUMBER, "t", column="w", expected=2.0)
    rows = evaluate.rows_of(found)
    assert evaluate._part(said, rows, {}, "at").half == (half, 0.0)
    shapes = iter([pd.DataFrame([{"w": 1.0}] * n) for n in (1, 2, 1, 1, 1)])
    with pytest.raises(ConfigError, match="t: got tables of different sizes by seed"):
        seeds.averaged(study, lambda _: {"t": next(shapes)}, ["t"])
