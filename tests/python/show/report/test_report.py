"""The page of a result: its contents and accessibility, without a browser."""

import copy
import hashlib
import html.parser
import itertools
import json
import math
import re
from pathlib import Path

import pytest
from conftest import made_up

import headstack
from headstack import drives
from headstack.show import plots, report, table
from headstack.show.plots import distributions, look, scale
from headstack.show.report import about


class Page(html.parser.HTMLParser):
    """The content of the HTML: text, facts of each folded section, the experiment."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.sections: dict[str, dict[str, str]] = {}
        self.defaults: dict[str, set[str]] = {}
        self.summaries: dict[str, str] = {}
        self.experiment = ""
        self.text = ""
        self._open: list[tuple[str, dict[str, str | None]]] = []
        self._section, self._label, self._skip = "", "", False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag in ("script", "style"):
            self._skip = True
        if tag == "details" and given.get("id"):
            self._section = given["id"]
            self.sections[self._section], self.defaults[self._section] = {}, set()
        if tag == "dt":
            self._label = ""
        self._open.append((tag, given))

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self._skip = False
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        if self._skip or not self._open:
            return
        self.text += data
        tag, given = self._open[-1]
        if given.get("id") == "experiment":
            self.experiment += data.removeprefix("\n")
        elif [t for t, _ in self._open].count("details") != 1:
            return  # the tables of a drive's description
        elif tag == "dt":
            self._label += data
        elif tag == "dd":
            facts = self.sections[self._section]
            facts[self._label] = facts.get(self._label, "") + data.strip()
        elif given.get("class") == "default":
            self.defaults[self._section].add(self._label)


def hexes(value: object) -> set[str]:
    """All colours of a specification."""
    return set(re.findall(r'"(#[0-9A-Fa-f]{6})"', json.dumps(value)))


def drawn(document):
    """The specifications of a document's figures."""
    return {name: chart.to_dict() for name, chart in report.figures(document).items()}


@pytest.fixture(scope="module")
def two():
    """The figures of the made-up results."""
    return drawn(made_up())


@pytest.fixture(scope="module")
def several():
    """Figures and page of twelve systems on two workloads, with operations: test doubles."""
    document = made_up()
    first = document["systems"][0]
    apart = {
        op: {"n_requests": 9, "n_errors": 0, "response_time_s": {"p50": 0.002, "p99": 0.02}}
        for op in ("read", "write", "flush")
    }
    document["systems"] = [
        {**copy.deepcopy(first), "name": f"system {i}", "workload": w, "operations": apart}
        for i, w in itertools.product(range(12), ("oltp", "oltp!"))
    ]
    return drawn(document), report.to_html(document)


def scales(spec: object) -> list[tuple[str, str, str]]:
    """The meanings of each colour scale of a specification: field, value, colour."""
    found = []
    if isinstance(spec, dict):
        colour = (spec.get("encoding") or {}).get("color") or {}
        between = colour.get("scale") or {}
        for value, hue in zip(between.get("domain", ()), between.get("range", ()), strict=True):
            found.append((colour["field"], value, hue))
        found += [one for v in spec.values() for one in scales(v)]
    if isinstance(spec, list):
        found += [one for v in spec for one in scales(v)]
    return found


def test_a_colour_means_one_thing_on_a_page(document):
    two = copy.deepcopy(document["systems"])
    document["systems"] += [{**s, "workload": "another"} for s in two]
    meanings: dict[str, set[tuple[str, str]]] = {}
    for spec in drawn(document).values():
        for field, value, hue in scales(spec):
            meanings.setdefault(hue, set()).add((field, value))
    assert {len(m) for m in meanings.values()} == {1}
    found = {m for one in meanings.values() for m in one}
    assert {("part", "seek"), ("part", "idle"), ("system", "one <drive>")} <= found
    # Each meaning has one colour: seeks take time and energy.
    assert sum(len(m) for m in meanings.values()) == len(found)


def test_every_colour_has_one_for_dark_pages(several):
    assert set().union(*map(hexes, several[0].values())) <= set(plots.DARK)


def test_tail_is_that_of_the_distribution(document):
    # Exponential times: the share of times longer than t is exp(-t / mean).
    mean, n = 0.01, 1000
    shares = [i / n for i in range(1, n)]
    (system, *_) = document["systems"]
    system["response_time_cdf"] = [[-mean * math.log(1 - p), p] for p in shares] + [[0.2, 1.0]]
    known = {"p99": 0.99, "p999": 0.999, "p9999": 0.9999}
    times = {q: -mean * math.log(1 - p) for q, p in known.items()}
    system["response_time_s"] = {**system["response_time_s"], **times, "max": 0.2}
    points = distributions.tail_points(system)
    for ms, longer in points[:-1]:
        assert longer == pytest.approx(math.exp(-ms * 1e-3 / mean), rel=1e-9)
    assert points[:, 1].max() == pytest.approx(0.5, abs=0.002)
    assert list(points[-1]) == pytest.approx([200, 1e-4])
    y = plots.tail({"systems": [system]}).to_dict()["layer"][0]["encoding"]["y"]
    assert y["scale"]["type"] == "log"
    assert y["scale"]["domain"] == [1e-4, 0.5]
    # One in two, in ten, in a hundred, ...
    assert y["axis"]["values"] == pytest.approx([0.5, 0.1, 0.01, 1e-3, 1e-4])


@pytest.mark.parametrize(
    ("values", "marked", "end", "beyond"),
    [
        ([9, 12, 80_000], (), 12, [False, False, True]),
        ([9, 12, 80_000, 70_000], (), 12, [False, False, True, True]),
        ([9, 60, 400], (), 400, [False] * 3),
        ([9, 60, 400], (False, False, True), 60, [False, False, True]),
        ([9, 60, 70], (False, False, True), 70, [False] * 3),
        ([0, 0, 5], (), 5, [False] * 3),
        ([7], (True,), 7, [False]),
    ],
)
def test_axes_end_before_what_is_out_of_proportion(values, marked, end, beyond):
    assert scale.cut(values, marked) == (end, beyond)


def overload(system: dict) -> None:
    """Make a system overloaded, a thousand times as slow."""
    system["overloaded"] = {"why": "the queue grew from 3 to 4,000 requests"}
    for key in ("response_time_s", "components_s"):
        system[key] = {k: v * 1e3 for k, v in system[key].items()}
    system["response_time_cdf"] = [[t * 1e3, p] for t, p in system["response_time_cdf"]]
    system["series"] = {**system["series"], "queue_depth": [1.0, 2000.0, 4000.0]}


def domain(layer: dict, axis: str) -> list[float]:
    return layer["encoding"][axis]["scale"]["domain"]


def test_an_overloaded_system_does_not_flatten_the_others(document, two):
    document["systems"].append({**copy.deepcopy(document["systems"][0]), "name": "slow"})
    overload(document["systems"][-1])
    fine, spec = two, drawn(document)
    axes = {n: domain(spec[n]["layer"][0], "x") for n in ("response-time", "tail")}
    assert axes["response-time"] == domain(fine["response-time"]["layer"][0], "x")
    assert "Beyond the axis: slow" in spec["response-time"]["description"]
    # The tail is about the slowest: its axis holds all systems.
    slowest_ms = document["systems"][-1]["response_time_cdf"][-1][0] * 1e3
    assert axes["tail"] == [domain(fine["tail"]["layer"][0], "x")[0], slowest_ms]
    assert "Beyond the axis" not in spec["tail"]["description"]
    assert domain(spec["components"]["layer"][0], "x") == domain(fine["components"]["layer"][0], "x")
    # Its own numbers are still shown.
    mean = sum(document["systems"][-1]["components_s"].values()) * 1e3
    assert f"{mean:,.0f} ms, beyond the axis" in json.dumps(spec["components"], ensure_ascii=False)
    assert "slow (an axis of its own)" in json.dumps(spec["queue-depth"])
    page = Page(report.to_html(document))
    assert page.sections["system-2"]["cannot keep up"] == "the queue grew from 3 to 4,000 requests"


def test_many_systems_and_workloads_are_small_multiples(several):
    figures, page = several
    # Two workloads with similar file names have different files.
    assert len(figures) == 2 * len(plots.RESULT_FIGURES)
    for name, spec in figures.items():
        if name.startswith(("response-time", "tail")):
            rows = spec["datasets"][spec["data"]["name"]]
            assert spec["facet"]["sort"] == [f"system {i}" for i in range(12)]
            assert {row["system"] for row in rows} == set(spec["facet"]["sort"])
            assert spec["spec"]["layer"][0]["encoding"]["detail"]["field"] == "other"
        for rows in spec["datasets"].values():
            assert len(rows) <= plots.MOST_POINTS
    for workload in ("oltp", "oltp!"):
        assert f"Workload {workload}<" in page


def test_lines_bear_their_names(document, two):
    for name in ("response-time", "tail"):
        spec = two[name]
        (placed,) = [rows for rows in spec["datasets"].values() if "side" in rows[0]]
        assert {row["text"] for row in placed} == {"one <drive>", "</script> two"}
        heights = [row["y"] for row in placed]
        assert len(set(heights)) == len(heights)
        # A name is on its line: at the height of one of its points, or between two.
        for row in placed:
            (system,) = [s for s in document["systems"] if s["name"] == row["system"]]
            points = (distributions.tail_points if name == "tail" else distributions.cdf_points)(system)
            before = points[points[:, 0] <= row["x"]]
            assert len(before)
            assert row["x"] in points[:, 0]


def test_saved_figures_have_title_and_description_and_no_pointer(document, two, tmp_path):
    report.write(document, tmp_path / "r.html")
    for name, spec in two.items():
        svg = (tmp_path / "r-figures" / f"{name}.svg").read_text()
        title = spec["title"]["text"] if isinstance(spec["title"], dict) else spec["title"]
        assert svg.startswith(f'<svg role="img" aria-label="{title}"')
        assert f"<title>{title}</title><desc>{spec['description'][:20]}" in svg
        assert "nearest" not in json.dumps(look.still(spec))
        assert (tmp_path / "r-figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def hashes(folder: Path) -> dict[Path, str]:
    files = (f for f in folder.rglob("*") if f.is_file())
    return {f: hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


@pytest.mark.parametrize(
    "names", [("a.html", "b.html"), ("a.html", "a.htm"), ("a.html", "a"), ("report.html", "a.html")]
)
def test_two_reports_in_one_folder_leave_each_other_alone(document, tmp_path, names, monkeypatch):
    # This test is about paths; drawing would take long, and one figure has them as six have.
    monkeypatch.setattr(plots, "RESULT_FIGURES", {"components": plots.components})
    monkeypatch.setattr(look, "drawn", lambda c: (json.dumps(c.to_dict()).encode(), b""))
    first = report.write(document, tmp_path / names[0])
    before = {k: v for k, v in hashes(tmp_path).items() if k.name != "manifest.json"}
    other = copy.deepcopy(document)
    overload(other["systems"][0])
    second = report.write(other, tmp_path / names[1])
    after = hashes(tmp_path)
    assert {k: after[k] for k in before} == before
    assert first != second
    assert len(after) >= 2 * len(before)


def test_the_same_result_gives_the_same_page(document):
    assert report.to_html(document) == report.to_html(copy.deepcopy(document))


def test_the_viewer_is_kept_and_a_changed_one_is_made_again(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr("vl_convert.javascript_bundle", lambda: made.append(0) or "code")
    monkeypatch.setattr(report, "_viewer", report._viewer.__wrapped__)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert [report._viewer(), report._viewer()] == ["code"] * 2
    assert len(made) == 1
    (file,) = (tmp_path / "headstack").iterdir()
    file.write_text("another's")
    assert report._viewer() == "code"
    assert len(made) == 2
    assert file.read_text() == "code"
    # A page is made where nothing can be kept, too.
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    assert report._viewer() == "code"


def test_older_results_say_what_they_lack(document):
    page = Page(report.to_html(document))
    assert "These results do not hold their experiment" in page.text
    assert "do not tell reads, writes and flushes apart" in page.text
    assert set(page.sections) == {"system-0", "system-1"}
    for facts in page.sections.values():
        assert facts["scheduler"] == facts["cache policy"] == about.UNKNOWN
    assert page.experiment == ""


@pytest.mark.parametrize(
    ("cache", "said"),
    [
        ({}, "none: every request goes to the medium"),
        ({"enabled": False, "write_back": True}, "none: every request goes to the medium"),
        ({"enabled": True}, "write-through: done when on the medium"),
        (
            {"enabled": True, "write_back": True, "destage": "idle"},
            "write-back: done when in the buffer (destaging: idle)",
        ),
    ],
)
def test_the_cache_policy_is_said_in_words(cache, said):
    assert about.cache_policy(cache) == said


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of two systems on a trace, with its page: experiment, drives, hashes."""
    folder = tmp_path_factory.mktemp("whole")
    lines = [f"0,{i * 7919 % 90_000 * 8},4096,{'RW'[i % 3 == 0]},{i * 0.02:.2f}" for i in range(300)]
    (folder / "t.spc").write_text("\n".join(lines) + "\n")
    (folder / "x.toml").write_text(
        """
[workload]
trace = "t.spc"
time_scale = 2

[[system]]
name = "as shipped"
drive = "exos-x18"

[[system]]
name = "striped"
drive = "barracuda-es-750"
count = 2
organisation = "raid0"
scheduler = "sptf"
"""
    )
    result = headstack.run(folder / "x.toml", log_requests=False)
    if "experiment" not in result.document:
        pytest.skip("the core does not tell the experiment")
    return folder, result, Page(report.to_html(result.document))


def test_the_page_alone_names_what_was_simulated(whole):
    folder, _, page = whole
    one, two = page.sections["system-0"], page.sections["system-1"]
    assert one["drive"] == "exos-x18"
    assert two["drive"] == "2 x barracuda-es-750"
    assert one["scheduler"] == "depth-aged-sptf"  # the drive's own
    assert two["scheduler"] == "sptf"
    assert one["cache policy"].startswith("write-back")
    assert two["cache policy"].startswith("write-through")
    assert two["organisation"] == "raid0"
    for facts in (one, two):
        assert facts["simulated by"] == f"Headstack {headstack.__version__}"
        assert facts["workload"] == "t"
    trace = page.sections["workload-0"]
    text = (folder / "t.spc").read_bytes()
    assert trace["trace"] == "t.spc"
    assert trace["format"] == "spc"
    assert trace["SHA-256"] == hashlib.sha256(text).hexdigest()
    assert trace["size"].startswith(f"{len(text):,} bytes")
    assert trace["transformations"] == "time_scale: 2"
    for name in ("exos-x18", "barracuda-es-750"):
        file = next(f for d in drives.drive_dirs() if (f := Path(d) / f"{name}.toml").is_file())
        assert hashlib.sha256(file.read_bytes()).hexdigest() in page.text
    assert "Seagate Exos X18 18 TB" in page.text


def test_values_that_nobody_gave_are_marked(whole):
    _, _, page = whole
    assert "seed" in page.defaults["system-0"]
    assert "organisation" in page.defaults["system-0"]
    assert "organisation" not in page.defaults["system-1"]
    assert "scheduler" not in page.defaults["system-0"]  # the drive's file has it
    assert "organisation, stripe unit" in page.defaults["system-1"]
    assert "format" in page.defaults["workload-0"]


def test_the_page_alone_runs_again(whole):
    folder, result, page = whole
    again = folder / report.EXPERIMENT_FILE
    again.write_text(page.experiment)
    repeated = headstack.run(again, log_requests=False)
    assert repeated.document["systems"] == result.document["systems"]
    assert repeated.document["run_id"] == result.document["run_id"]
    assert repeated.document["defaults"] == result.document["defaults"]


def test_operations_are_apart(whole):
    _, result, page = whole
    apart = result.document["systems"][0]["operations"]
    assert apart["read"]["n_requests"] == 200
    assert apart["write"]["n_requests"] == 100
    columns, rows = table.operations(result.document)
    assert [(r[0], r[1], r[2]) for r in rows[:2]] == [("as shipped", "read", "200"), ("as shipped", "write", "100")]
    assert "p99.99 ms" in [c.title for c in columns]
    for row in rows:
        assert all(cell in page.text for cell in row)
    assert "Reads, writes and flushes apart" in page.text
    assert table.names(result.document["systems"]) == ["as shipped", "striped"]


def test_the_page_opens_with_the_answer(document):
    """The sentence of the command line, then the ranking, then warnings."""
    from headstack.results import answer

    document["experiment"] = {"system": [{"name": "a"}, {"name": "b"}], "goal": "p99=8ms"}
    text = " ".join(Page(report.to_html(document)).text.split())
    said = answer.sentence(document)
    assert "1 of 2 systems meets p99 <= 8 ms" in said
    assert text.startswith(f"Headstack report Headstack report {said}. ")
    ranked = text.index("the best answer first")
    assert ranked < text.index("The systems compared")
    del document["experiment"]["goal"]
    without = " ".join(Page(report.to_html(document)).text.split())
    assert "No goal was given" in without
    assert "No goal was given" not in text


def test_words_are_explained_where_they_stand_and_in_a_list(document):
    from headstack.show.report import glossary

    page = report.to_html(document)
    heads = re.findall(r'data-about="([^"]+)"[^>]*>([^<]+)<', page)
    told = {title: about for about, title in heads}
    for title in ("p99 ms", "IOPS", "queue", "power W", "errors"):
        assert told[title] == glossary.about(title), title
        assert len(told[title]) > 10
    words = page.split('id="words"')[1].split("</section>")[0]
    assert f"<dt>p99</dt><dd>{glossary.WORDS['p99']}</dd>" in words
    # A word that the page does not use is left out.
    assert "<dt>cap</dt>" not in words
    # All headings of tables of results are known.
    unknown = [c.title for c in (*table.COLUMNS, *table.OPERATION_COLUMNS) if not glossary.about(c.title, c.about)]
    assert unknown == ["seen"]


def test_the_cap_is_drawn_over_the_power_and_in_the_legend(document):
    """A cap that changes twice has the places of its changes, and its name in a legend."""
    times = [float(t) for t in range(8)]
    caps = [None, 12.0, 12.0, 12.0, 9.0, 9.0, 14.0, 14.0]
    document["systems"][0]["capping"] = {"series": {"t_s": times, "cap_w": caps}}
    spec = plots.power_over_time(document).to_dict()
    (rows,) = spec["datasets"].values()
    drawn = [(r["x"], r["y"]) for r in rows if r.get("limit") == "cap"]
    assert drawn == [(1, 12), (3, 12), (4, 9), (5, 9), (6, 14), (7, 14)]
    (legend,) = [
        layer["encoding"]["strokeDash"] for layer in spec["spec"]["layer"] if "strokeDash" in layer["encoding"]
    ]
    assert legend["scale"]["domain"] == ["cap"]
    assert legend["legend"]["orient"] == "top"
    # The axis has room for the cap.
    assert spec["spec"]["layer"][0]["encoding"]["y"]["scale"]["domain"] == [0, 14]
    # Without a cap there is no legend of one.
    del document["systems"][0]["capping"]
    assert "limit" not in json.dumps(plots.power_over_time(document).to_dict())


def test_a_page_is_small(several):
    """Three workloads with twelve systems each."""
    assert len(several[1].encode()) < 2 << 20


def test_packed_data_are_the_same_rows():
    rows = [{"x": 0.1 + 0.2, "n": i, "name": f"system {i % 2}", "odd": None} for i in range(6)]
    uneven = [{"x": 1.0}, {"y": 2.0}]
    spec = report.packed({"mark": "line", "datasets": {"a": rows, "b": uneven, "c": []}})
    assert spec["mark"] == "line"
    columns = spec["datasets"]["a"]["columns"]
    assert columns["name"] == {"words": ["system 0", "system 1"], "at": [0, 1] * 3}
    assert columns["x"] == [0.3] * 6
    assert columns["n"] == [0, 1, 2, 3, 4, 5]
    assert spec["datasets"]["b"] == uneven
    assert spec["datasets"]["c"] == []
