"""The page of a result in a browser: drawing, widths, dark mode, print, accessibility."""

import copy
import itertools
import json
import re

import altair as alt
import pandas as pd
import pytest
from conftest import made_up

import headstack.runs.resolved
from headstack.show import plots, report
from headstack.show.plots import look

pytestmark = pytest.mark.needs("browser")


def complete():
    """A document of four systems with all values of results, and names that need escaping."""
    document = made_up()
    first = document["systems"][0]
    apart = {
        op: {
            "n_requests": 500,
            "n_errors": 0,
            "throughput_iops": 50.0,
            "throughput_bytes_per_s": 1e6,
            "response_time_s": {"mean": 0.003, "p50": 0.002, "p90": 0.01, "p99": 0.02, "max": 0.1},
        }
        for op in ("read", "write", "flush")
    }
    drive = {
        "name": "made-up",
        "count": 1,
        "sha256": "ab" * 32,
        "missing": ["power"],
        "unsaid": [{"part": "power", "key": None, "taken": "an idle power of 9 W"}],
        "description": {"title": "A made-up drive", "cache": {"enabled": False}},
    }
    names = ["constructor", "__proto__", "</pre><script>alert(1)</script>", "two\u2028lines & more"]
    document["systems"] = [
        {**copy.deepcopy(first), "name": name, "operations": apart, "drive": [drive]} for name in names
    ]
    systems = [{"name": n, "drive": "made-up", "scheduler": "fcfs", "count": 1} for n in names]
    document["experiment"] = {
        "system": systems,
        "workload": [{"name": "made up", "trace": "a<b.csv", "format": "csv"}],
        "run": {"seed": 1},
    }
    document["defaults"] = ["system.0.scheduler", "run.seed"]
    document["run_id"] = "0123456789ab"
    return document


@pytest.fixture
def told():
    return complete()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of `told`."""
    return report.write(complete(), tmp_path_factory.mktemp("r") / "r.html", with_figures=False)


def figures(told) -> list[str]:
    return list(report.figures(told))


def lines(chromium, figure: str) -> list[dict[str, str]]:
    """Colours and positions of the lines of a figure."""
    return chromium.run(
        f"""[...document.querySelectorAll('#{figure} .mark-line path')].map((p) => ({{
        stroke: getComputedStyle(p).stroke, width: p.getBoundingClientRect().width}}))"""
    )


def rgb(colour: str) -> str:
    return "rgb({}, {}, {})".format(*(int(colour[i : i + 2], 16) for i in (1, 3, 5)))


def test_everything_is_drawn_without_errors_or_network(chromium, page, told):
    chromium.events.clear()
    chromium.look()
    chromium.open(page)
    assert chromium.complaints() == []
    names = figures(told)
    assert set(names) == set(plots.RESULT_FIGURES)
    drawn = chromium.run(
        "[...document.querySelectorAll('.drawing')].filter((d) => d.querySelector('svg')).map((d) => d.id)"
    )
    assert set(drawn) == set(names)
    text = chromium.run("document.querySelector('#response-time').textContent")
    for label in plots.labels(told["systems"]):
        assert label.strip() in text


def test_pictures_side_by_side_are_drawn(chromium, tmp_path):
    one = alt.Chart(pd.DataFrame({"x": [0, 1, 2]})).mark_point().encode(x="x:Q", y="x:Q")
    spec = look.specification(look.style(alt.hconcat(*(alt.layer(one).properties(width=700) for _ in "ab"))))
    path = tmp_path / "two.html"
    path.write_text(report.page("two", '<div id="two"></div>', {"two": spec}))
    chromium.look()
    chromium.open(path)
    inside = chromium.run(
        """[...document.querySelectorAll('#two .mark-symbol path')].filter((p) => {
        const [at, box] = [p, two].map((e) => e.getBoundingClientRect());
        return at.left >= box.left && at.right <= box.right && at.bottom <= box.bottom; }).length"""
    )
    assert inside == 6


@pytest.mark.parametrize("dark", [False, True])
def test_colours_follow_the_reader(chromium, page, dark):
    chromium.look(dark=dark)
    chromium.open(page)
    strokes = [line["stroke"] for line in lines(chromium, "response-time")]
    light = plots.PALETTE[:4]
    assert strokes == [rgb(plots.DARK[c] if dark else c) for c in light]
    ground = chromium.run("getComputedStyle(document.body).backgroundColor")
    assert ground == rgb(plots.DARK[look.BACKGROUND] if dark else look.BACKGROUND)
    # The whole figure uses the same colours: no text or line has kept the others.
    used = chromium.run(
        "[...new Set([...document.querySelectorAll('.drawing svg *')].flatMap((e) =>"
        " [getComputedStyle(e).fill, getComputedStyle(e).stroke]))]"
    )
    wrong = plots.DARK if dark else set(plots.DARK.values())
    assert not {rgb(c) for c in wrong} & set(used)


def test_paper_is_light_and_everything_folded_is_shown(chromium, page):
    chromium.look(width=720, dark=True, media="print")
    chromium.open(page)
    assert lines(chromium, "tail")[0]["stroke"] == rgb(plots.PALETTE[0])
    heights = chromium.run(
        "[...document.querySelectorAll('details.system > dl, details.system > pre')]"
        ".map((d) => d.getBoundingClientRect().height)"
    )
    assert len(heights) >= 6
    assert min(heights) > 10
    menus = chromium.run(
        "[...document.querySelectorAll('.vega-embed details')]"
        ".filter((d) => d.getBoundingClientRect().height > 0).length"
    )
    assert menus == 0


@pytest.mark.parametrize("width", [400, 700, 1280])
def test_nothing_is_wider_than_the_page(chromium, page, width):
    chromium.look(width=width)
    chromium.open(page)
    assert chromium.run("document.documentElement.scrollWidth") <= width
    # Nothing of a figure is cut off at its edges.
    cut = chromium.run(
        """[...document.querySelectorAll('.drawing')].flatMap((d) => {
        const box = d.getBoundingClientRect();
        return [...d.querySelectorAll('svg text')]
          .map((t) => [t.textContent, t.getBoundingClientRect()])
          .filter(([, t]) => t.left < box.left - 1 || t.right > box.right + 1)
          .map(([text]) => [d.id, text]); })"""
    )
    assert cut == []


def test_tables_are_cards_on_a_phone(chromium, page, told):
    card = """(() => { const row = document.querySelector(
    '[aria-labelledby=compared] table.cards tbody tr');
    const cell = row.querySelector('td');
    return [getComputedStyle(row).display, getComputedStyle(cell, '::before').content,
      row.getBoundingClientRect().right]; })()"""
    chromium.look(width=400)
    chromium.open(page)
    display, label, right = chromium.run(card)
    assert (display, label) == ("grid", '"requests"')
    assert right <= 400
    chromium.look(width=1280)
    display, label, _ = chromium.run(card)
    assert (display, label) == ("table-row", "none")


def tree(chromium) -> list[dict]:
    """The accessibility tree: role, name and description of each element."""
    nodes = chromium.send("Accessibility.getFullAXTree")["nodes"]
    return [
        {
            "role": n["role"]["value"],
            "name": n.get("name", {}).get("value", ""),
            "description": n.get("description", {}).get("value", ""),
        }
        for n in nodes
        if not n["ignored"]
    ]


@pytest.mark.parametrize("width", [400, 1280])
def test_screen_readers_hear_titles_numbers_and_tables(chromium, page, told, width):
    chromium.look(width=width)
    chromium.open(page)
    heard = tree(chromium)
    images = {n["name"]: n["description"] for n in heard if n["role"] in ("image", "img")}
    for chart in report.figures(told).values():
        spec = chart.to_dict()
        title = spec["title"]["text"] if isinstance(spec["title"], dict) else spec["title"]
        assert images[title].split() == spec["description"].split()
    # Their drives' files have no power.
    assert "9 W from defaults" in images["Power by drive state"]
    # Cards still have the role of a table.
    assert sum(n["role"] == "table" for n in heard) >= 2
    assert {"columnheader", "rowheader", "cell"} <= {n["role"] for n in heard}
    names = [n["name"] for n in heard if n["role"] == "heading"]
    assert names[0] == "Headstack report"


def test_the_point_nearest_the_pointer_is_told(chromium, page, told):
    chromium.look()
    chromium.open(page)
    seen = []
    for figure, share in itertools.product(("response-time", "tail", "queue-depth"), (0.1, 0.9)):
        chromium.run(f"document.getElementById('{figure}').scrollIntoView()")
        x, y = chromium.run(
            f"""(() => {{ const box = document.querySelector('#{figure} .mark-line path')
            .getBoundingClientRect(); return [box.left + {share} * box.width,
            box.top + box.height / 2]; }})()"""
        )
        for step in (0, 1):
            chromium.send("Input.dispatchMouseEvent", type="mouseMoved", x=x + step, y=y)
        text = chromium.run(
            """new Promise((done) => { let left = 100; const ask = () => {
            const tip = document.querySelector('#vg-tooltip-element.visible');
            tip || !left-- ? done(tip ? tip.textContent : '') : setTimeout(ask, 20); }; ask(); })"""
        )
        assert re.match(r"\s*system", text), (figure, text)
        seen.append(text)
        chromium.send("Input.dispatchMouseEvent", type="mouseMoved", x=2, y=2)
    # The texts differ between points of a line.
    assert len(set(seen)) == len(seen)


def test_the_experiment_is_copied_and_saved_as_it_is(chromium, page, told, tmp_path):
    wanted = headstack.resolved.experiment_toml(told)
    chromium.look()
    chromium.open(page)
    assert chromium.run("document.getElementById('experiment').textContent") == wanted
    chromium.send("Browser.grantPermissions", permissions=["clipboardReadWrite"])
    chromium.send("Page.bringToFront")
    chromium.run("document.querySelector('[data-copy]').click()")
    said = chromium.run(
        """new Promise((done) => { let left = 100; const ask = () => {
        const text = document.getElementById('said').textContent;
        text || !left-- ? done(text) : setTimeout(ask, 20); }; ask(); })"""
    )
    assert said in ("copied", "marked: copy it with the keyboard")
    chromium.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path), eventsEnabled=True)
    chromium.run("document.querySelector('[data-save]').click()")
    chromium.until("Browser.downloadProgress", lambda e: e["state"] == "completed")
    assert (tmp_path / report.EXPERIMENT_FILE).read_text() == wanted


def test_twelve_systems_on_three_workloads_can_be_read(chromium, told, tmp_path):
    first = told["systems"][0]
    told["systems"] = [
        {**copy.deepcopy(first), "name": f"system {i}", "workload": w}
        for i, w in itertools.product(range(12), ("oltp", "web", "scan"))
    ]
    told["systems"][5]["response_time_cdf"] = [[t * 1e4, p] for t, p in told["systems"][5]["response_time_cdf"]]
    page = report.write(told, tmp_path / "many.html", with_figures=False)
    chromium.events.clear()
    for width in (400, 1280):
        chromium.look(width=width)
        chromium.open(page)
        assert chromium.run("document.documentElement.scrollWidth") <= width
        panels = chromium.run(
            """[...document.querySelectorAll('.drawing[id^=response-time]')].map((d) =>
            [...d.querySelectorAll('svg .role-title text, svg .role-row-title text,'
              + ' svg .role-column-title text, svg .column-header text, svg .row-header text,'
              + ' svg .mark-text text')].map((t) => t.textContent))"""
        )
        assert len(panels) == 3
        for texts in panels:
            assert {f"system {i}" for i in range(12)} <= {text.removesuffix(" ▸") for text in texts}
    assert chromium.complaints() == []


def test_pages_of_studies_are_drawn_by_the_same_code(chromium, document, tmp_path):
    chart = plots.lines(
        {"one": [(1, 2), (3, 4)], "two": [(1, 3), (3, 1)]},
        look.alt.X("x:Q", title="turns"),
        look.alt.Y("y:Q", title="ms"),
        "Lines",
        markers=True,
        levels={"level": 2.5},
    )
    body = '<h1>A study</h1><figure><div id="lines" role="img" aria-label="lines"></div></figure>'
    path = tmp_path / "study.html"
    path.write_text(report.page("A study", body, {"lines": chart.to_dict()}))
    chromium.events.clear()
    chromium.look(width=400, dark=True)
    chromium.open(path)
    assert chromium.complaints() == []
    assert chromium.run("document.querySelectorAll('#lines svg .mark-line path').length") == 2
    assert json.loads(json.dumps(look.still(chart.to_dict())))["layer"]


def test_words_are_explained_for_pointer_and_keyboard(chromium, page):
    chromium.look()
    chromium.open(page)
    shown = "((h) => h.hidden ? '' : h.textContent)(document.querySelector('.hint'))"
    assert chromium.run(shown) == ""
    chromium.send("Emulation.setFocusEmulationEnabled", enabled=True)
    chromium.run("document.querySelector('[data-about]').focus()")
    first = chromium.run(shown)
    assert first == chromium.run("document.querySelector('[data-about]').dataset.about")
    chromium.send("Input.dispatchKeyEvent", type="keyDown", key="Escape")
    assert chromium.run(shown) == ""
    chromium.run("document.querySelectorAll('[data-about]')[1].scrollIntoView({block: 'center'})")
    chromium.run("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")
    x, y = chromium.run(
        "(() => { const b = document.querySelectorAll('[data-about]')[1].getBoundingClientRect();"
        " return [b.left + b.width / 2, b.top + b.height / 2]; })()"
    )
    chromium.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    second = chromium.run(shown)
    assert second
    assert second != first
    # It is inside the window.
    box = chromium.run(
        "(() => { const b = document.querySelector('.hint').getBoundingClientRect();"
        " return [b.left, b.top, b.right, b.bottom]; })()"
    )
    assert min(box[:2]) >= 0
    assert box[2] <= 1280
    assert box[3] <= 900
    chromium.send("Input.dispatchMouseEvent", type="mouseMoved", x=2, y=2)
    assert chromium.run(shown) == ""


@pytest.mark.parametrize("width", [400, 760, 1000, 1280])
def test_no_column_falls_off(chromium, page, width):
    """Every cell of every table is in the window, without scrolling sideways."""
    chromium.look(width=width)
    chromium.open(page)
    off = chromium.run(
        """[...document.querySelectorAll('table.cards td, table.cards th')]
        .filter((c) => c.getClientRects().length && getComputedStyle(c.closest('thead') ?? c)
          .position !== 'absolute').filter((c) => c.getBoundingClientRect().right > innerWidth)
        .map((c) => c.textContent.trim())"""
    )
    assert off == []


@pytest.mark.parametrize("width", [400, 1280])
def test_direct_labels_do_not_collide(chromium, told, tmp_path, width):
    """Names at lines: no two of a figure overlap, with six systems of like distributions."""
    first = told["systems"][0]
    names = ["one arm", "two arms", "two arms, reordering", "18 TB helium", "a log", "a shelf"]
    told["systems"] = [{**copy.deepcopy(first), "name": name} for name in names]
    for i, system in enumerate(told["systems"]):
        curve = system["response_time_cdf"]
        system["response_time_cdf"] = [[t * (1 + 0.05 * i), p] for t, p in curve]
    page = report.write(told, tmp_path / "labels.html", with_figures=False)
    chromium.look(width=width)
    chromium.open(page)
    for figure in ("response-time", "tail"):
        boxes = chromium.run(
            f"""[...document.querySelectorAll('#{figure} svg .mark-text.role-mark text')]
            .filter((t) => getComputedStyle(t).stroke === 'none' && t.textContent.trim())
            .map((t) => [t.textContent, t.getBoundingClientRect()])
            .map(([text, b]) => [text, b.left, b.top, b.right, b.bottom])"""
        )
        assert len(boxes) == len(names), boxes
        for one, other in itertools.combinations(boxes, 2):
            apart = one[3] <= other[1] or other[3] <= one[1] or one[4] <= other[2] or other[4] <= one[2]
            assert apart, (figure, one, other)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1280])
def test_the_keyboard_reaches_everything(chromium, page, width, dark):
    """Tab goes through all links, words, buttons and folds in order; the focus can be seen."""
    chromium.look(width=width, dark=dark)
    chromium.open(page)
    stops = chromium.tabbed()
    assert [s["stop"] for s in stops] == list(range(chromium.run("stops.length")))
    assert len(stops) > 20
    assert [s for s in stops if not s["seen"]] == []
    assert [s for s in stops if not s["marked"]] == []
    # A fold opens with the key Enter, and closes again.
    chromium.run("(window.fold = document.querySelector('details.system > summary')).focus()")
    for wanted in (True, False):
        chromium.press("Enter")
        assert chromium.run("fold.parentElement.open") is wanted
