"""One HTML page per result that opens without a network, and its figures as PNG and SVG."""

import html
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import vl_convert

from headstack import drawing, outputs, plots
from headstack.errors import ConfigError
from headstack.table import columns, note, rows, warnings

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; margin: 2rem auto;
  max-width: 76rem; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .35rem .6rem; border-bottom: 1px solid #ddd; text-align: right;
  white-space: nowrap; }
th { border-bottom: 2px solid #888; font-weight: 600; }
th.text, td.text { text-align: left; }
td.text { white-space: normal; min-width: 8rem; }
figure { margin: 1rem 0 2rem; overflow-x: auto; }
figcaption, .note { color: #555; font-size: .92rem; max-width: 46rem; }
.reproduced { color: #00573f; } .deviates { color: #a03c00; } .not-run { color: #555; }
td.wrap, th.wrap { text-align: left; white-space: normal; min-width: 9rem; max-width: 24rem; }
.partial { background: #fff3cd; border-left: 4px solid #D55E00; padding: .6rem .9rem; }
"""

_CAPTIONS = {
    "response-time": "Share of requests answered within a time. Further left is faster; where two "
    "lines cross, one system wins on the median and the other in the tail.",
    "components": "Mean response time per request and where it was spent. The parts add up to the "
    "mean; time that overlaps is charged to what was waited for.",
    "power": "Energy of all drives of a system divided by the simulated time, by what the drives "
    "were doing. The parts add up to the mean power.",
    "queue-depth": "Requests that a system holds, waiting or in service, over simulated time, on "
    "the same axes for all. A line that keeps rising is a system that cannot keep up.",
}


def _table(document: Mapping[str, Any]) -> str:
    shown = columns(document)
    head = "".join(
        f'<th scope="col" class="{"text" if c.text else ""}">{html.escape(c.title)}</th>'
        for c in shown
    )
    body = []
    for row in rows(document, shown):
        cells = "".join(
            f'<td class="{"text" if c.text else ""}">{html.escape(value)}</td>'
            for c, value in zip(shown, row, strict=True)
        )
        body.append(f"<tr>{cells}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def figures(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the charts that a result document has data for, by file name."""
    charts = {}
    for name, build in plots.RESULT_FIGURES.items():
        try:
            charts[name] = build(document)
        except ConfigError:
            continue  # an older or partial result without these numbers
    return charts


def _code(text: str) -> str:
    # These would end the element or change how it ends; they only occur in strings, where the
    # escape means the same. A bare `</` may be a regular expression and must stay.
    return re.sub(r"<(?=/?script|!--)", r"\\x3c", text, flags=re.IGNORECASE)


def _data(value: Any) -> str:
    return json.dumps(value).replace("<", "\\u003c")


def to_html(document: Mapping[str, Any], title: str = "Headstack report") -> str:
    """Return the whole page of a result document; scripts, data and styles are inside."""
    charts = figures(document)
    specs = {name: chart.to_dict() for name, chart in charts.items()}
    body = [f"<h1>{html.escape(title)}</h1>", f'<p class="note">{html.escape(note(document))}</p>']
    if document.get("partial"):
        body.append(
            '<p class="partial">This run was interrupted: the figures cover the requests '
            "completed until then.</p>"
        )
    for line in warnings(document):
        body.append(f'<p class="partial">{html.escape(line)}</p>')
    body.append(f'<h2>Systems</h2><div class="scroll">{_table(document)}</div>')
    for name in charts:
        # The page's own heading stands above the figure.
        heading = specs[name].pop("title", None) or name
        if isinstance(heading, dict):
            heading = heading.get("text", name)
        caption = html.escape(_CAPTIONS[name])
        body.append(
            f"<h2>{html.escape(str(heading))}</h2>"
            f'<figure><div id="{name}" role="img" aria-label="{html.escape(str(heading))}"></div>'
            f"<figcaption>{caption}</figcaption></figure>"
        )
    return page(title, "\n".join(body), specs)


def page(title: str, body: str, specs: Mapping[str, Any]) -> str:
    """Return a page that draws each chart of `specs` into the element of its name in `body`."""
    draw = (
        "for (const [id, spec] of Object.entries(specs)) vegaEmbed('#' + id, spec, "
        "{renderer: 'svg', actions: {export: true, source: false, compiled: false, editor: false}"
        "});"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head>\n<body>"
        + body
        + '\n<noscript><p class="note">The figures need JavaScript; they are also in the folder '
        "figures beside this page, as PNG and SVG.</p></noscript>"
        + f'\n<script type="module">{_code(_viewer())}\n'
        + f"const specs = {_data(specs)};\n{draw}</script>\n</body></html>\n"
    )


def _viewer() -> str:
    drawing.check_memory()
    # Typed as if the snippet were needed; without one the bundle is the plain viewer.
    bundle: Any = vl_convert.javascript_bundle
    return str(bundle())


def write(
    document: Mapping[str, Any],
    path: str | Path,
    *,
    title: str = "Headstack report",
    with_figures: bool = True,
) -> Path:
    """Write the page to `path`, and the figures beside it under ``figures/``; return `path`.

    Args:
        document: a result document, curves included (`Result.document`).
        path: the page; its directory is made if absent.
        title: the page's title and heading.
        with_figures: whether to write the figures as PNG and SVG too.

    Raises:
        OSError: page or figures cannot be written.

    """
    path = Path(path)
    if path.exists() and not path.is_file():  # a device or a pipe is written as it is
        path.write_text(to_html(document, title), encoding="utf-8")
        return path
    with outputs.adding(path.parent, document.get("run_id")) as written:
        (written.path / path.name).write_text(to_html(document, title), encoding="utf-8")
        if with_figures:
            for name, chart in figures(document).items():
                plots.save(chart, written.path / "figures" / name)
    return path
