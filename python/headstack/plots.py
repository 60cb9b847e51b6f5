"""Figures as Altair charts, from result documents and from descriptions of drives and traces.

Colours are those of Okabe and Ito, which readers with any kind of colour vision can tell apart;
lines also differ in dash. Every axis says its unit.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from headstack import drawing, outputs, table
from headstack.errors import ConfigError

#: Okabe and Ito (2008), black last; yellow left out because it is faint on white.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
DASHES = ([1, 0], [6, 2], [2, 2], [8, 2, 2, 2], [10, 4], [4, 4], [1, 3])

#: Points per figure: Altair refuses 5000, and a line of 400 looks the same.
MOST_POINTS = 4000

COMPONENTS = ("queue", "overhead", "seek", "rotation", "transfer", "bus")
POWER_STATES = ("idle", "seek", "rotation", "transfer", "standby")

WIDTH, HEIGHT = 640, 320
STRIP_HEIGHT = 90


def _thin(count: int, most: int) -> "np.ndarray[Any, np.dtype[np.intp]]":
    """Return at most `most` of the indices below `count`, both ends included."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.intp))


def labels(systems: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return one label per system, all different: its name, and the workload if there are more."""
    several = len({s.get("workload") for s in systems}) > 1
    named = zip(systems, table.names(systems), strict=True)
    texts = (f"{name} · {s['workload']}" if several else name for s, name in named)
    return [drawing.label(text) for text in texts]


def _colour(names: Sequence[str], title: str = "system") -> alt.Color:
    scale = alt.Scale(
        domain=list(names), range=[PALETTE[i % len(PALETTE)] for i in range(len(names))]
    )
    return alt.Color("system:N", title=title, scale=scale, sort=list(names))


def _dash(names: Sequence[str], title: str = "system") -> alt.StrokeDash:
    # A dash changes where the palette has been used up too, so that no two lines look alike.
    dashes = [DASHES[(i + i // len(PALETTE)) % len(DASHES)] for i in range(len(names))]
    scale = alt.Scale(domain=list(names), range=dashes)
    return alt.StrokeDash("system:N", title=title, scale=scale, sort=list(names))


def style(chart: Any) -> Any:
    """Return any Altair chart in the one look of all figures."""
    return (
        chart.configure(font="system-ui, 'DejaVu Sans', sans-serif", background="white")
        .configure_axis(
            labelFontSize=12,
            # A label stands below its tick, at the ends too.
            labelFlush=False,
            titleFontSize=13,
            titleFontWeight="normal",
            gridColor="#e4e4e4",
            domainColor="#888888",
            tickColor="#888888",
            labelColor="#222222",
            titleColor="#222222",
        )
        .configure_legend(
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
            labelLimit=320,
            symbolSize=160,
            symbolStrokeWidth=2.5,
        )
        .configure_header(
            labelFontSize=12, labelColor="#222222", titleFontSize=13, titleFontWeight="normal"
        )
        .configure_title(fontSize=15, anchor="start", fontWeight=600, color="#222222", offset=12)
        .configure_view(strokeWidth=0)
    )


def _need(rows: Sequence[Any], what: str) -> None:
    if not rows:
        raise ConfigError(f"figure: got results without {what}, need at least one system with it")


def _points(
    document: Mapping[str, Any],
    of: Callable[[Mapping[str, Any]], "np.ndarray[Any, np.dtype[np.float64]]"],
    what: str,
) -> tuple[pd.DataFrame, list[str]]:
    """Return columns x, y and system, as many points as a figure takes, and the systems' labels.

    `of` gives the points of one system, shape (n, 2); systems without any are left out.
    """
    systems = document["systems"]
    names = labels(systems)
    most = max(2, MOST_POINTS // max(1, len(systems)))
    parts = []
    for name, system in zip(names, systems, strict=True):
        points = of(system)
        if len(points):
            points = points[_thin(len(points), most)]
            parts.append(pd.DataFrame({"x": points[:, 0], "y": points[:, 1], "system": name}))
    _need(parts, what)
    return pd.concat(parts, ignore_index=True), names


def _cdf_lines(
    frame: pd.DataFrame,
    names: Sequence[str],
    title: str,
    description: str,
    *,
    legend: str = "system",
) -> Any:
    """Draw cumulative distributions of times (x: ms, y: share), one line per system."""
    return style(
        alt.Chart(frame, title=title, description=description)
        .mark_line(strokeWidth=2.2, interpolate="step-after")
        .encode(
            x=alt.X(
                "x:Q",
                title="response time (ms, logarithmic)",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(format="~g", tickCount=8),
            ),
            y=alt.Y(
                "y:Q",
                title="requests answered by then",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format=".0%", tickCount=10),
            ),
            color=_colour(names, legend),
            strokeDash=_dash(names, legend),
            tooltip=[
                "system:N",
                alt.Tooltip("x:Q", format=".4~g", title="ms"),
                alt.Tooltip("y:Q", format=".2%", title="share"),
            ],
        )
        .properties(width=WIDTH, height=HEIGHT)
    )


def cdf(document: Mapping[str, Any]) -> alt.Chart:
    """Cumulative distribution of the response time, one line per system, logarithmic in time.

    Raises:
        ConfigError: no system has a distribution.

    """

    def of(system: Mapping[str, Any]) -> Any:
        curve = np.asarray(system.get("response_time_cdf") or [], dtype=float).reshape(-1, 2)
        # A logarithm shows no zeros.
        return curve[curve[:, 0] > 0] * (1e3, 1.0)

    frame, names = _points(document, of, "a response-time distribution")
    description = "Cumulative distribution of the response time of each system"
    return _cdf_lines(frame, names, "Response time", description)  # type: ignore[no-any-return]


def _stacked(
    document: Mapping[str, Any],
    key: str,
    parts: Sequence[str],
    factor: float,
    *,
    title: str,
    axis: str,
    legend: str,
    description: str,
    unit: str,
) -> alt.Chart:
    systems = document["systems"]
    names = labels(systems)
    rows = []
    for name, system in zip(names, systems, strict=True):
        shares = system.get(key) or {}
        for order, part in enumerate(parts):
            if shares.get(part) is not None:
                rows.append(
                    {
                        "system": name,
                        "part": part,
                        "order": order,
                        "value": float(shares[part]) * factor,
                    }
                )
    _need(rows, key)
    frame = pd.DataFrame(rows)
    # Parts that no system has are left out of the legend; the others keep their colours.
    used = set(frame.loc[frame["value"] > 0, "part"])
    seen = [(p, c) for p, c in zip(parts, PALETTE, strict=False) if p in used]
    colours = alt.Scale(domain=[p for p, _ in seen], range=[c for _, c in seen])
    totals = frame.groupby("system", sort=False, as_index=False)["value"].sum()
    # Three figures, without an exponent.
    totals["text"] = [
        f"{v:,.0f} {unit}" if v >= 1e3 else f"{v:.3g} {unit}" for v in totals["value"]
    ]
    # Room for the text behind the longest bar.
    across = alt.Scale(domain=[0, 1.15 * (float(totals["value"].max()) or 1.0)], nice=False)
    bars = (
        alt.Chart(frame, description=description)
        .mark_bar(stroke="white", strokeWidth=0.5)
        .encode(
            y=alt.Y("system:N", title=None, sort=names, axis=alt.Axis(labelLimit=240)),
            x=alt.X(
                "sum(value):Q",
                title=axis,
                stack="zero",
                scale=across,
                axis=alt.Axis(format=",~f"),
            ),
            color=alt.Color("part:N", title=legend, scale=colours, sort=[p for p, _ in seen]),
            order=alt.Order("order:Q"),
            tooltip=[
                "system:N",
                alt.Tooltip("part:N", title=legend),
                alt.Tooltip("sum(value):Q", format=".3~g", title=unit),
            ],
        )
    )
    text = (
        alt.Chart(totals)
        .mark_text(align="left", dx=5, fontSize=12, color="#222222")
        .encode(y=alt.Y("system:N", sort=names), x="value:Q", text="text:N")
    )
    return style(  # type: ignore[no-any-return]
        (bars + text).properties(title=title, width=WIDTH, height=max(60, 44 * len(names)))
    )


def components(document: Mapping[str, Any]) -> alt.Chart:
    """Mean response time (ms) by where it went, one bar per system.

    Raises:
        ConfigError: no system has these shares.

    """
    return _stacked(
        document,
        "components_s",
        COMPONENTS,
        1e3,
        title="Where the response time goes",
        axis="mean per request (ms)",
        legend="part",
        description="Mean response time of each system, by component",
        unit="ms",
    )


def power(document: Mapping[str, Any]) -> alt.Chart:
    """Mean power (W) by state of the drives, one bar per system.

    Raises:
        ConfigError: no system has these shares.

    """
    return _stacked(
        document,
        "power_w",
        POWER_STATES,
        1.0,
        title="Power by drive state",
        axis="mean power (W)",
        legend="state",
        description="Mean electrical power of each system, by drive state",
        unit="W",
    )


def _series(
    document: Mapping[str, Any],
    column: str,
    factor: float,
    title: str,
    axis: str,
    description: str,
) -> alt.FacetChart:
    """Draw a column of the time series, one strip per system over one common axis."""

    def of(system: Mapping[str, Any]) -> Any:
        series = system.get("series") or {}
        times, values = series.get("t_s") or [], series.get(column) or []
        if len(times) != len(values):
            return np.empty((0, 2))
        return np.column_stack([times, np.asarray(values, dtype=float) * factor])

    frame, names = _points(document, of, f"a time series of {column}")
    strips = (
        alt.Chart(frame)
        .mark_line(strokeWidth=1.3, strokeJoin="round")
        .encode(
            x=alt.X("x:Q", title="simulated time (s)", axis=alt.Axis(format=",~f")),
            y=alt.Y("y:Q", title=axis, axis=alt.Axis(format=",~f", tickCount=4)),
            color=_colour(names).legend(None),
            tooltip=[
                "system:N",
                alt.Tooltip("x:Q", format=".4~g", title="s"),
                alt.Tooltip("y:Q", format=".4~g", title=axis),
            ],
        )
        .properties(width=WIDTH, height=STRIP_HEIGHT)
        .facet(
            row=alt.Row(
                "system:N",
                title=None,
                sort=names,
                header=alt.Header(labelOrient="top", labelAnchor="start", labelPadding=4),
            ),
            title=title,
            spacing=12,
        )
        .properties(description=description)
    )
    return style(strips)  # type: ignore[no-any-return]


def queue_depth(document: Mapping[str, Any]) -> alt.FacetChart:
    """Draw the requests in the system over time (s), one strip per system.

    Raises:
        ConfigError: no system has a time series.

    """
    return _series(
        document,
        "queue_depth",
        1.0,
        "Queue depth over time",
        "requests",
        "Requests in each system over time, waiting or in service",
    )


#: Figures of a result, by file name.
RESULT_FIGURES = {
    "response-time": cdf,
    "components": components,
    "power": power,
    "queue-depth": queue_depth,
}


def _curve(
    frame: pd.DataFrame, x: alt.X, y: alt.Y, title: str, description: str, *, step: bool = False
) -> alt.Chart:
    return style(  # type: ignore[no-any-return]
        alt.Chart(frame, title=title, description=description)
        .mark_line(
            strokeWidth=2.2, color=PALETTE[0], interpolate="step-after" if step else "linear"
        )
        .encode(x=x, y=y)
        .properties(width=WIDTH, height=HEIGHT)
    )


def seek_curve(info: Mapping[str, Any]) -> alt.Chart:
    """Seek time (ms) of a drive against distance (cylinders).

    Args:
        info: the core's description: ``name``, and ``seek_curve``, pairs of cylinders and seconds.

    Raises:
        ConfigError: the description has no seek curve.

    """
    points = np.asarray(info.get("seek_curve") or [], dtype=float).reshape(-1, 2)
    _need(list(points), "a seek curve")
    points = points[_thin(len(points), MOST_POINTS)]
    return _curve(
        pd.DataFrame({"distance": points[:, 0], "ms": points[:, 1] * 1e3}),
        alt.X(
            "distance:Q",
            title="seek distance (cylinders)",
            axis=alt.Axis(format=",~f", tickCount=8),
        ),
        alt.Y("ms:Q", title="seek time (ms)", axis=alt.Axis(format=",~f")),
        f"Seek time of {info.get('name', 'the drive')}",
        "Seek time against distance",
    )


def zones(info: Mapping[str, Any]) -> alt.Chart:
    """Media rate (MB/s) of a drive's zones against address (GB), both decimal.

    Args:
        info: the core's description: ``name``, ``capacity_bytes``, and ``zones``, each with
            ``first_lba`` (512-byte blocks) and ``rate_bytes_per_s``.

    Raises:
        ConfigError: the description has no zones.

    """
    listed = info.get("zones") or []
    _need(listed, "zones")
    rows = []
    for zone in listed:
        rate = float(zone["rate_bytes_per_s"]) / 1e6
        first = float(zone["first_lba"]) * 512 / 1e9
        rows.append({"gb": first, "rate": rate})
    rows.append({"gb": float(info["capacity_bytes"]) / 1e9, "rate": rows[-1]["rate"]})
    return _curve(
        pd.DataFrame(rows),
        alt.X("gb:Q", title="address (GB)", axis=alt.Axis(format=",~f", tickCount=8)),
        alt.Y("rate:Q", title="media rate (MB/s)", scale=alt.Scale(zero=True)),
        f"Zones of {info.get('name', 'the drive')}",
        "Media rate against address",
        step=True,
    )


def histogram(bins: Iterable[Mapping[str, Any]], x: str, title: str, axis: str) -> alt.LayerChart:
    """Draw requests per class as bars with their counts, in the order given.

    Args:
        bins: one table per class: its label under the key `x`, and ``n_requests``.
        x: the key of the label.
        title: of the figure.
        axis: what the classes are, with the unit.

    """
    frame = pd.DataFrame([{"x": b[x], "n": b["n_requests"]} for b in bins])
    classes = alt.X("x:N", title=axis, sort=None, axis=alt.Axis(labelAngle=0))
    bars = (
        alt.Chart(frame, title=title, description=title)
        .mark_bar(color=PALETTE[0])
        .encode(
            x=classes,
            y=alt.Y("n:Q", title="requests", axis=alt.Axis(format=",~f", tickCount=6)),
            tooltip=[alt.Tooltip("x:N", title=axis), alt.Tooltip("n:Q", format=",")],
        )
    )
    # Classes of a few requests are too low to see: the counts tell that they are there.
    counts = (
        alt.Chart(frame)
        .mark_text(baseline="bottom", dy=-4, fontSize=11, color="#222222")
        .encode(x=classes, y="n:Q", text=alt.Text("n:Q", format=","))
    )
    width = max(WIDTH, 52 * len(frame))
    return style((bars + counts).properties(width=width, height=HEIGHT))  # type: ignore[no-any-return]


def validation(
    drive: Mapping[str, Any],
    measured_s: "np.ndarray[Any, np.dtype[np.float64]]",
    simulated_s: "np.ndarray[Any, np.dtype[np.float64]]",
) -> alt.Chart:
    """Measured and simulated distribution of the response times of one drive.

    Args:
        drive: an entry of `validation.validate`: ``name``, ``demerit_s``.
        measured_s: response times in seconds, shape (n,), positive, in any order.
        simulated_s: the same, simulated.

    """
    samples = {"measured": measured_s, "simulated": simulated_s}
    parts = []
    for name, sample in samples.items():
        at = _thin(len(sample), MOST_POINTS // len(samples))
        share = (at + 1) / len(sample)
        parts.append(pd.DataFrame({"x": np.sort(sample)[at] * 1e3, "y": share, "system": name}))
    title = f"{drive['name']}: {drive['demerit_s'] * 1e3:.3f} ms apart (demerit)"
    description = f"Measured and simulated response times of {drive['name']}"
    return _cdf_lines(  # type: ignore[no-any-return]
        pd.concat(parts, ignore_index=True), list(samples), title, description, legend="times"
    )


def _bytes(n: int) -> str:
    for unit in ("B", "KiB", "MiB"):
        if n < 1024 or n % 1024:
            return f"{n:,} {unit}"
        n //= 1024
    return f"{n:,} GiB"


def trace_figures(info: Mapping[str, Any]) -> dict[str, alt.LayerChart]:
    """Figures of a trace by file name, from the histograms that its description holds.

    Args:
        info: the core's description: ``sizes``, each with ``up_to_bytes`` and ``n_requests``.

    Raises:
        ConfigError: the trace has no reads or writes.

    """
    figures: dict[str, alt.LayerChart] = {}
    if info.get("sizes"):
        bins = [{**b, "size": _bytes(int(b["up_to_bytes"]))} for b in info["sizes"]]
        figures["sizes"] = histogram(bins, "size", "Request sizes", "request size, at most")
    if not figures:
        raise ConfigError("figure: got a trace without sizes, need at least one read or write")
    return figures


def lines(
    points: Mapping[str, Sequence[tuple[float, float]]],
    x: alt.X,
    y: alt.Y,
    title: str,
    *,
    series: str = "system",
    markers: bool = False,
    levels: Mapping[str, float] | None = None,
) -> alt.Chart:
    """Draw one line per name from its points; the axes encode the fields ``x`` and ``y``.

    `levels` are horizontal lines, by what they stand for.
    """
    names = list(points)
    most = max(2, MOST_POINTS // max(1, len(names)))
    rows = [
        {"x": pairs[i][0], "y": pairs[i][1], "system": name}
        for name, pairs in points.items()
        for i in (_thin(len(pairs), most) if len(pairs) else ())
    ]
    _need(rows, title)
    base = alt.Chart(pd.DataFrame(rows), title=title, description=title)
    chart = base.mark_line(
        strokeWidth=2.2, strokeJoin="round", point=alt.OverlayMarkDef(size=45) if markers else False
    ).encode(
        x=x,
        y=y,
        color=_colour(names, series),
        strokeDash=_dash(names, series),
        tooltip=["system:N", alt.Tooltip("x:Q", format=".4~g"), alt.Tooltip("y:Q", format=".4~g")],
    )
    layers: Any = chart
    if levels:
        frame = pd.DataFrame([{"y": v, "text": k} for k, v in levels.items()])
        rule = alt.Chart(frame).mark_rule(color="#888888", strokeDash=[3, 3]).encode(y="y:Q")
        text = (
            alt.Chart(frame)
            .mark_text(align="right", baseline="bottom", dx=-4, dy=-2, color="#444444")
            .encode(y="y:Q", x=alt.value(WIDTH), text="text:N")
        )
        layers = alt.layer(chart, rule, text)
    return style(layers.properties(width=WIDTH, height=HEIGHT))  # type: ignore[no-any-return]


def save(chart: Any, stem: str | Path) -> list[Path]:
    """Write a chart as ``stem.png`` (two pixels per point) and ``stem.svg``; return the two paths.

    Raises:
        OSError: they cannot be written.

    """
    drawing.check_memory()
    stem = Path(stem)
    files = []
    for kind, options in (("png", {"scale_factor": 2}), ("svg", {})):
        file = stem.with_name(f"{stem.name}.{kind}")
        with outputs.whole_file(file) as part:
            chart.save(str(part), format=kind, **options)
        files.append(file)
    return files
