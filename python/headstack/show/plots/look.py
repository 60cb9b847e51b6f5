"""The style that all figures share: meaning of colours, sizes, fonts, and saving.

A colour has one meaning in all figures of a page. Systems have the colours of `PALETTE`; parts of a
drive's time and energy have those of `PARTS`. No colour is in both. Lines also differ in dashes, so
that they can be told apart without colours. Every axis has its unit.
"""

import html
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import altair as alt
import numpy as np

from headstack.errors import ConfigError
from headstack.runs import outputs
from headstack.show import drawing

#: Colours of systems, black last: the hues of Okabe and Ito (2008), which can be told apart with
#: any kind of colour vision, darkened to a contrast of 3 to 1 on white (WCAG 2.2, 1.4.11).
PALETTE = ("#0072B2", "#C27800", "#00875F", "#C8401E", "#A94F8C", "#3B93C4", "#1B1B1B")
DASHES = ([1, 0], [6, 2], [2, 2], [8, 2, 2, 2], [10, 4], [4, 4], [1, 3])

#: Colours of the parts of time and energy.
PARTS = {
    "place": "#631B21",
    "elevator": "#4A168B",
    "array": "#1D293B",
    "queue": "#8C93A0",
    "overhead": "#4A5261",
    "seek": "#7A5FB0",
    "rotation": "#AD8A2B",
    "transfer": "#2D8A83",
    "bus": "#A0534E",
    "idle": "#7A9C78",
    "standby": "#888650",
}

BACKGROUND, INK, FAINT_INK, GRID, AXIS = "#FFFFFF", "#222222", "#444444", "#E4E4E4", "#888888"
#: Colour of lines in the background, for comparison.
CONTEXT = "#C9CDD3"

#: The same colours for a dark page. Figures are drawn in the light ones; the page replaces them.
DARK = {
    "#0072B2": "#5AA9E6",
    "#C27800": "#E6A532",
    "#00875F": "#2FBF8F",
    "#C8401E": "#F0764A",
    "#A94F8C": "#DD8FBE",
    "#3B93C4": "#A9D8F5",
    "#1B1B1B": "#F0F0F0",
    "#631B21": "#A04DDD",
    "#4A168B": "#59833D",
    "#1D293B": "#E5E446",
    "#8C93A0": "#8D95A5",
    "#4A5261": "#C3CAD6",
    "#7A5FB0": "#A692DB",
    "#AD8A2B": "#CDB060",
    "#2D8A83": "#66BEAF",
    "#A0534E": "#C6817B",
    "#7A9C78": "#9DBE9A",
    "#888650": "#9CA026",
    BACKGROUND: "#16181C",
    INK: "#E6E7E9",
    FAINT_INK: "#B9BDC4",
    GRID: "#2C3036",
    AXIS: "#7E848E",
    CONTEXT: "#4A5059",
}

#: Most points per figure: Altair refuses 5000, and a line of 400 looks the same.
MOST_POINTS = 4000

#: Most lines in one panel; more of them cannot be told apart and have one panel each.
MOST_LINES = len(PALETTE)

WIDTH, HEIGHT = 640, 320

_LABELS = {"labelFontSize": 12, "labelColor": INK}

#: Vega-Lite's `config` of all figures.
CONFIG: dict[str, Any] = dict(
    font="system-ui, 'DejaVu Sans', sans-serif",
    background=BACKGROUND,
    axis=dict(
        **_LABELS,
        # Labels are below their ticks, also at the ends of the axis.
        labelFlush=False,
        titleFontSize=13,
        titleFontWeight="normal",
        gridColor=GRID,
        domainColor=AXIS,
        tickColor=AXIS,
        titleColor=INK,
    ),
    legend=dict(
        **_LABELS,
        titleFontSize=12,
        titleFontWeight="normal",
        titleColor=INK,
        labelLimit=320,
        symbolSize=160,
        symbolStrokeWidth=2.5,
    ),
    header=dict(**_LABELS, labelLimit=320, titleFontSize=13, titleFontWeight="normal"),
    title=dict(fontSize=15, anchor="start", fontWeight=600, color=INK, offset=12),
    view=dict(strokeWidth=0),
)

#: Height of the line with a row's name, and of the row with it.
ROW_HEIGHT = 44

#: Layers with this name are for the pointer only and are left out of saved figures.
POINTER = "pointer"


#: A figure.
Chart: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart | alt.HConcatChart | alt.VConcatChart

#: Any kind of figure, the same one.
Styled = TypeVar("Styled", bound=Chart)


def thin(count: int, most: int) -> "np.ndarray[Any, np.dtype[np.intp]]":
    """Return at most `most` of the indices below `count`, including both ends."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.intp))


def need(rows: Sequence[Any], what: str) -> None:
    """Refuse to draw nothing.

    Raises:
        ConfigError: there are no rows.
    """
    if not rows:
        raise ConfigError(f"figure: got results without {what}, need at least one system with it")


def colour(names: Sequence[str], title: str | None = "system", *, legend: bool = True) -> alt.Color:
    """Return the encoding of the field ``system`` as the colours of `names`."""
    scale = dict(domain=list(names), range=[PALETTE[i % len(PALETTE)] for i in range(len(names))])
    encoding = alt.Color("system:N", title=title, scale=scale, sort=list(names))
    return encoding if legend else encoding.legend(None)


def dashes(count: int) -> list[list[int]]:
    """Return the dashes of lines: they change after each use of the whole palette too."""
    return [DASHES[(i + i // len(PALETTE)) % len(DASHES)] for i in range(count)]


def dash(names: Sequence[str], title: str | None = "system", *, legend: bool = True) -> alt.StrokeDash:
    """Return the encoding of the field ``system`` as the dashes of `names`."""
    scale = dict(domain=list(names), range=dashes(len(names)))
    encoding = alt.StrokeDash("system:N", title=title, scale=scale, sort=list(names))
    return encoding if legend else encoding.legend(None)


def style(chart: Styled) -> Styled:
    """Return an Altair chart in the style of all figures."""
    # In one call: each call of `configure` or `configure_...` copies the whole chart.
    styled: Styled = chart.configure(**CONFIG)
    return styled


def pointed(base: alt.Chart, tooltip: Sequence[alt.Tooltip], **channels: Any) -> alt.Chart:
    """Return a layer that shows the values of a line's point nearest the pointer.

    Without it a line has one tooltip for its whole length.

    Args:
        base: the chart with the points of the lines.
        tooltip: the fields shown.
        channels: encodings of place and colour.
    """
    nearest = alt.selection_point(name="nearest", nearest=True, on="pointerover", clear="pointerout", empty=False)
    figure: alt.Chart = (
        base.mark_point(size=70, filled=True, clip=True, tooltip=alt.expr(_told(tooltip)))
        .encode(**channels, opacity=alt.when(nearest).then(alt.value(1)).otherwise(alt.value(0)))
        .add_params(nearest)
        .properties(name=POINTER)
    )
    return figure


def _told(tooltip: Sequence[alt.Tooltip]) -> str:
    """Return a tooltip as an expression.

    Vega-Lite 6 finds numbers for the point nearest the pointer, but not text: the pointer is over a
    cell around the point, whose datum contains the point as its own datum.
    """
    told = []
    for entry in (cast(dict[str, str], t.to_dict()) for t in tooltip):
        value = f"(datum.datum || datum)[{json.dumps(entry['field'])}]"
        if "format" in entry:
            value = f"format({value}, {json.dumps(entry['format'])})"
        told.append(f"{json.dumps(entry['title'])}: {value}")
    return "{" + ", ".join(told) + "}"


def across(place: float | str) -> Any:
    """Return the encoding of one place on the x axis for all marks."""
    return alt.XValue(place)  # type: ignore[no-untyped-call]


def halo(base: alt.Chart, colour: Any, text: alt.Text | str = "text:N", **mark: Any) -> alt.LayerChart:
    """Return text that is readable over lines and bars: first its outline, then the text."""
    text = alt.Text(text) if isinstance(text, str) else text
    outline = base.mark_text(stroke=BACKGROUND, strokeWidth=4, strokeJoin="round", **mark)
    written = base.mark_text(**mark)
    figure: alt.LayerChart = outline.encode(text=text, color=alt.ColorValue(BACKGROUND)) + written.encode(
        text=text, color=colour
    )
    return figure


def still(spec: Any) -> Any:
    """Return a chart's specification without interaction."""
    if isinstance(spec, Mapping):
        return {
            k: [still(v) for v in vs if not str(v.get("name", "")).startswith(POINTER)]
            if k == "layer"
            else [v for v in vs if v.get("name") != "nearest"]
            if k == "params"
            else still(vs)
            for k, vs in spec.items()
        }
    return spec


def _title(spec: Mapping[str, Any]) -> str:
    title = spec.get("title") or ""
    title = title.get("text", "") if isinstance(title, Mapping) else title
    return " ".join(title) if isinstance(title, list) else str(title)


def logarithmic_ms(title: str) -> alt.Y:
    """Return a logarithmic axis of times in milliseconds, for the field ``y``."""
    return alt.Y(
        "y:Q",
        title=f"{title} (ms, logarithmic)",
        scale=dict(type="log", nice=False),
        axis=dict(format="~g", tickCount=8),
    )


#: The two forms of saved figures, in the order of `drawn`.
SUFFIXES = (".png", ".svg")


def save(chart: Chart | dict[str, Any], stem: str | Path) -> list[Path]:
    """Write a chart as ``stem.png`` (two pixels per point) and ``stem.svg``; return the two paths.

    Raises:
        OSError: they cannot be written.
    """
    stem = Path(stem)
    files = []
    for suffix, content in zip(SUFFIXES, drawn(chart), strict=True):
        file = stem.with_name(stem.name + suffix)
        with outputs.whole_file(file) as part:
            part.write_bytes(content)
        files.append(file)
    return files


def save_of(source: Path, folder: Path, charts: Mapping[str, Chart]) -> list[Path]:
    """Write the charts of a source file into a folder, by name; return the paths.

    Raises:
        ConfigError: the folder has a figure of that name from another source.
        OSError: they cannot be written.
    """
    files = []
    with outputs.figures_of(source, folder) as written:
        for name, chart in charts.items():
            for suffix, content in zip(SUFFIXES, drawn(chart), strict=True):
                (written.path / f"{name}{suffix}").write_bytes(content)
                files.append(folder / f"{name}{suffix}")
    return files


def specification(chart: Chart | dict[str, Any]) -> dict[str, Any]:
    """Return the specification of a chart, or the one that is given.

    It is not validated, which takes most of the time; tests validate all kinds of charts. For the
    same reason channels are objects, not text: Altair looks for the class of a text by hashing all
    that it has; and axes, scales and legends are tables: objects of theirs are validated when they
    are made, and copied with each change of a chart.
    """
    return chart if isinstance(chart, dict) else chart.to_dict(validate=False)


def drawn(chart: Chart | dict[str, Any]) -> tuple[bytes, bytes]:
    """Return a chart as PNG (two pixels per point) and as SVG with title and description."""
    import vl_convert

    drawing.check_memory()
    spec = still(specification(chart))
    svg: str = vl_convert.vegalite_to_svg(spec)
    png: bytes = vl_convert.svg_to_png(svg, scale=2)
    title, description = (html.escape(t) for t in (_title(spec), spec.get("description", "")))
    named = f'<svg role="img" aria-label="{title}"'
    inside = f"<title>{title}</title><desc>{description}</desc>"
    whole = re.sub(r"<svg([^>]*)>", lambda m: f"{named}{m[1]}>{inside}", svg, count=1)
    return png, whole.encode()
