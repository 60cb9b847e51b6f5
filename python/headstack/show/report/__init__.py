"""One HTML page per result that opens without a network, and its figures as PNG and SVG."""

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup

from headstack.errors import ConfigError
from headstack.results import answer, goal
from headstack.results.warned import of_document
from headstack.runs import outputs, replications
from headstack.runs.resolved import experiment_toml
from headstack.show import drawing, plots
from headstack.show.report import about, glossary
from headstack.show.table import Column, columns, note, operations, prefixes, rows
from headstack.workloads.workload import is_of_frame

_CAPTIONS = {
    "response-time": "Share of requests answered within a time. Further left is faster; where two "
    "lines cross, one system wins on the median and the other in the tail.",
    "tail": "The slower half of the requests: 99 % is the time that one request in a hundred "
    "exceeds, 99.9 % one in a thousand. A line ends at the longest time.",
    "components": "Mean response time per request and where it was spent. The parts add up to the "
    "mean; time that overlaps is charged to what was waited for. A bar that would be more than ten "
    "times as long as the next is cut. 'Place', 'elevator' and 'array' are waits above the drives, "
    "'queue' the wait in them.",
    "operations": "Circle: half of the requests take no longer. Dot, and the number: 99 % of them. Stroke: 99.9 %.",
    "power": "Energy of all drives of a system divided by the simulated time, by what the drives "
    "were doing. The parts add up to the mean power.",
    "power-over-time": "What all drives of a system draw from one moment to the next. Peaks are "
    "what a power supply must allow for; the mean is what is paid.",
    "queue-depth": "Requests that a system holds, waiting or in service, over simulated time, on "
    "the same axes for all unless a strip says otherwise. A line that keeps rising is a system "
    "that cannot keep up.",
}

#: Figures with colours of systems, which are the same for all workloads.
_COLOURED = ("response-time", "tail", "operations", "power-over-time", "queue-depth")

#: Figures that are side by side if there is space.
_PAIRS = {("response-time", "tail"), ("components", "power")}

#: The page that `headstack run` writes.
DEFAULT_PAGE = "report.html"

#: Where the list of words stands, which is made of all others on the page.
_WORDS = "<!-- words -->"

#: Name of the experiment's file when a reader saves it.
EXPERIMENT_FILE = "experiment.toml"


class Figure(NamedTuple):
    """A chart of one workload: its file name, title and workload."""

    id: str
    kind: str
    workload: Any
    chart: Any


def _figures(document: Mapping[str, Any]) -> list[Figure]:
    several = plots.workloads(document)
    among = list(
        dict.fromkeys(label for w in several for label in plots.labels(plots.of_workload(document, w)["systems"]))
    )
    found = []
    for number, workload in enumerate(several):
        part = plots.of_workload(document, workload)
        for kind, draw in plots.RESULT_FIGURES.items():
            try:
                chart = draw(part, among) if kind in _COLOURED else draw(part)
            except ConfigError:
                continue  # an older or partial result without these numbers
            name = kind if len(several) == 1 else f"{kind}-{_plain(workload, number)}"
            found.append(Figure(name, kind, workload, chart))
    return found


def _plain(workload: Any, number: int) -> str:
    """Return a part of a file name for a workload; the number makes equal names different."""
    name = re.sub(r"[^a-z0-9]+", "-", str(workload).lower()).strip("-")[:40]
    return f"{number + 1}-{name}".rstrip("-")


def figures(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the charts for which a result document has data, by file name.

    If there are several workloads, each has its own charts, named by number and workload.
    """
    return {figure.id: figure.chart for figure in _figures(document)}


def _code(text: str) -> str:
    # These could end the script element early. They occur only in strings, where the escape has the
    # same meaning. A bare `</` may be part of a regular expression and must not be escaped.
    return re.sub(r"<(?=/?script|!--)", r"\\x3c", text, flags=re.IGNORECASE)


@cache
def templates(package: str = __name__) -> jinja2.Environment:
    """Return the templates of a package."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def asset(name: str, package: str = __name__) -> str:
    """Return a file beside the templates of a package."""
    return (resources.files(package) / "templates" / name).read_text(encoding="utf-8")


def _shown(figure: Figure) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the page's texts for a figure, and the chart without its title."""
    spec = plots.look.specification(figure.chart)
    heading = spec.pop("title", None) or figure.kind
    if isinstance(heading, Mapping):
        heading = heading.get("text", figure.kind)
    words = {
        "id": figure.id,
        "title": str(heading),
        "caption": _CAPTIONS[figure.kind],
        "description": str(spec.get("description", "")),
    }
    return words, spec


def _groups(
    document: Mapping[str, Any], said: Mapping[str, Mapping[str, str]], found: list[Figure]
) -> list[dict[str, Any]]:
    """Return each workload with rows of figures; a pair is in one row."""
    groups = []
    for workload in plots.workloads(document):
        rows: list[list[Mapping[str, str]]] = []
        few = len(plots.of_workload(document, workload)["systems"]) <= plots.MOST_LINES
        before = ""
        for figure in found:
            if figure.workload != workload:
                continue
            if few and (before, figure.kind) in _PAIRS:
                rows[-1].append(said[figure.id])
            else:
                rows.append([said[figure.id]])
            before = figure.kind
        if rows:
            groups.append({"workload": str(workload), "rows": rows})
    return groups


def to_html(document: Mapping[str, Any], title: str = "Headstack report", *, figures: str = "figures") -> str:
    """Return the whole page of a result document, including scripts, data and styles.

    `figures` is the folder beside the page with the figures as files.
    """
    return _html(document, title, figures, _figures(document))


def _html(document: Mapping[str, Any], title: str, folder: str, found: list[Figure]) -> str:
    said, specs = {}, {}
    for figure in found:
        said[figure.id], specs[figure.id] = _shown(figure)
    shown = columns(document)
    kinds, apart = operations(document)
    ranked = answer.columns(document)
    body = (
        templates()
        .get_template("result.html")
        .render(
            title=title,
            note=note(document),
            run_id=document.get("run_id"),
            partial=document.get("partial"),
            warnings=of_document(document),
            answer=answer.sentence(document),
            goal=goal.of(document),
            seeds=replications.said(document),
            ranking=_table(ranked, answer.rows(document)),
            compared=_table(shown, rows(document, shown)),
            prefixes=[(told, _table(head, part)) for told, head, part in prefixes(document)],
            groups=_groups(document, said, found),
            operations=_table(kinds, apart),
            systems=about.systems(document),
            workloads=about.workloads(document),
            run=about.run(document),
            experiment=experiment_toml(document) if document.get("experiment") else None,
            version=document.get("version") or "",
            file=EXPERIMENT_FILE,
            tables=_given_tables(document),
        )
    )
    words = glossary.used([re.sub(r"<[^>]*>", " ", body), *(f.kind for f in found)])
    body = body.replace(_WORDS, render("words.html", words=words))
    return page(title, body, specs, folder)


def _given_tables(document: Mapping[str, Any]) -> str:
    """Return the files beside the results that hold requests which were given as DataFrames."""
    listed = (document.get("experiment") or {}).get("workload") or []
    traces = [str(w.get("trace") or "") for w in listed if isinstance(w, Mapping)]
    return ", ".join(dict.fromkeys(filter(is_of_frame, traces)))


def _table(shown: Sequence[Column], rows: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return a table in the form of the template; columns of text come first."""
    heads = [(c.title, glossary.about(c.title, c.about)) for c in shown]
    return {"heads": heads, "rows": rows, "texts": sum(c.text for c in shown)}


def _dark() -> str:
    """Return the style rules with the colours of figures on a dark page.

    Figures are drawn in the light colours, which are also used on paper.
    """
    rules = "".join(
        f'.drawing [{what}="{light}"]{{{what}:{dark}}}'
        for light, dark in plots.DARK.items()
        for what in ("fill", "stroke")
    )
    return f"@media screen and (prefers-color-scheme: dark) {{{rules}}}"


def render(template: str, **values: Any) -> str:
    """Return the body of a page from one of the templates of this folder."""
    return templates().get_template(template).render(**values)


#: Significant digits of the numbers of figures: a pixel is a thousandth of an axis.
_DIGITS = 7


def packed(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a chart with its data as columns, in which a text stands once.

    So they take a fifth of the space; ``page.js`` makes rows of them again.
    """
    sets = spec.get("datasets")
    if not sets:
        return spec
    return {**spec, "datasets": {name: _columns(rows) for name, rows in sets.items()}}


def _columns(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return rows of equal keys as columns, others as they are."""
    keys = rows[0].keys() if rows else ()
    if not keys or any(row.keys() != keys for row in rows):
        return rows
    return {"n": len(rows), "columns": {k: _column([row[k] for row in rows]) for k in keys}}


def _column(values: list[Any]) -> Any:
    """Return a column: texts by number if they recur, numbers with the digits that are drawn."""
    if all(isinstance(v, str) for v in values):
        words = {v: i for i, v in enumerate(dict.fromkeys(values))}
        if 2 * len(words) <= len(values):
            return {"words": [*words], "at": [words[v] for v in values]}
    return [float(f"{v:.{_DIGITS}g}") if isinstance(v, float) else v for v in values]


def drawings(charts: Mapping[str, Any], captions: Mapping[str, str]) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """Return charts without their titles, by name, and the texts of the page for each."""
    specs, shown = {}, []
    for name, chart in charts.items():
        specs[name] = plots.look.specification(chart)
        heading = specs[name].pop("title", name)
        shown.append({"id": name, "title": str(heading), "caption": captions[name]})
    return specs, shown


def page(title: str, body: str, specs: Mapping[str, Any], figures: str = "figures") -> str:
    """Return a page that draws each chart of `specs` into the element of that name in `body`.

    Args:
        title: the page's title, as text.
        body: HTML.
        specs: Vega-Lite specifications, in the colours of `headstack.show.plots`.
        figures: the folder with the figures as files, for readers without scripts.
    """
    return (
        templates()
        .get_template("page.html")
        .render(
            title=title,
            body=Markup(body),
            figures=figures,
            css=Markup(asset("page.css") + _dark()),
            viewer=Markup(_code(_viewer())),
            # `json` itself escapes U+2028 and similar characters.
            specs=Markup(json.dumps({k: packed(spec) for k, spec in specs.items()}).replace("<", "\\u003c")),
            script=Markup(_code(asset("page.js"))),
        )
    )


@cache
def _viewer() -> str:
    """Return the code that draws figures in a page: the same for every page, made in seconds.

    The user's cache keeps it; a file that was changed there is not used.
    """
    name = f"viewer-{metadata.version('vl-convert-python')}"
    home = Path(os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache"))
    # It is relative where nobody's home is known.
    kept = home / "headstack" if home.is_absolute() else None
    with suppress(OSError):
        for file in kept.glob(f"{name}-*.js") if kept else ():
            if file.stem == f"{name}-{outputs.sha256(file)}":
                return file.read_text("utf-8")
    drawing.check_memory()
    import vl_convert

    # The type stub requires a snippet; without one the bundle is the plain viewer.
    bundle: Any = vl_convert.javascript_bundle
    made = str(bundle()).encode()
    if kept:
        with suppress(OSError), outputs.whole_file(kept / f"{name}-{hashlib.sha256(made).hexdigest()}.js") as part:
            part.write_bytes(made)
    return made.decode()


def figures_folder(page: str) -> str:
    """Return the folder of a page's figures: each page in a folder has its own.

    Example:
        >>> figures_folder("report.html"), figures_folder("two.html")
        ('figures', 'two-figures')
    """
    if page == DEFAULT_PAGE:
        return "figures"
    name = Path(page)
    return f"{name.stem}-figures" if name.suffix == ".html" else f"{page}.figures"


def write(
    document: Mapping[str, Any], path: str | Path, *, title: str = "Headstack report", with_figures: bool = True
) -> Path:
    """Write the page to `path`, and its figures beside it; return `path`.

    The figures of ``report.html`` are in ``figures/``, those of ``two.html`` in ``two-figures/``.

    Args:
        document: a result document, curves included (`Result.document`).
        path: the page; its directory is created if absent.
        title: the page's title and heading.
        with_figures: whether to write the figures as PNG and SVG too.

    Raises:
        ConfigError: the folder has results of another run, with one of the files.
        OSError: page or figures cannot be written.
    """
    path = Path(path)
    folder = figures_folder(path.name)
    found = _figures(document)
    whole = _html(document, title, folder, found)
    if path.exists() and not path.is_file():  # a device or a pipe is written directly
        path.write_text(whole, encoding="utf-8")
        return path
    with outputs.adding(path.parent, document.get("run_id")) as written:
        (written.path / path.name).write_text(whole, encoding="utf-8")
        if with_figures:
            for figure in found:
                plots.save(figure.chart, written.path / folder / figure.id)
    return path
