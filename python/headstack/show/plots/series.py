"""Time series of systems, one strip each."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from headstack.show.plots import look, scale
from headstack.show.plots.look import Chart
from headstack.show.plots.systems import labels

STRIP_HEIGHT = 90


def queue_depth(document: Mapping[str, Any], among: Sequence[str] | None = None) -> Chart:
    """Draw the requests in the system over time (s), one strip per system.

    Args:
        document: a result document with time series.
        among: the labels to which colours are assigned, if there are more than the document's.

    Raises:
        ConfigError: no system has a time series.
    """
    return _strips(
        document,
        "queue_depth",
        "Queue depth over time",
        "requests",
        "Requests in each system over time, waiting or in service",
        among,
    )


def power_over_time(document: Mapping[str, Any], among: Sequence[str] | None = None) -> Chart:
    """Draw the power of the drives over time (W, s), one strip per system, with the cap if any.

    Args:
        document: a result document with time series.
        among: the labels to which colours are assigned, if there are more than the document's.

    Raises:
        ConfigError: no system has a time series.
    """
    return _strips(
        document,
        "power_w",
        "Power over time",
        "power (W)",
        "Power of all drives of each system over time",
        among,
        _caps(document["systems"]),
    )


def _caps(systems: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the cap of each capped system over time, shape (n, 2): s and W."""
    found = {}
    for name, system in zip(labels(systems), systems, strict=True):
        series = (system.get("capping") or {}).get("series") or {}
        times, caps = series.get("t_s") or [], series.get("cap_w") or []
        pairs = [(t, cap) for t, cap in zip(times, caps, strict=False) if cap is not None]
        if pairs:
            points = np.asarray(pairs, dtype=float)
            # A cap is the same for many intervals: its changes suffice, and the end.
            changed = np.flatnonzero(np.diff(points[:, 1])) + 1
            found[name] = points[np.unique([0, *changed, *(changed - 1), len(points) - 1])]
    return found


def _cap_layer(x: alt.X) -> alt.Chart:
    """Return the layer of the caps, rows with a `limit`, with their legend above the figure."""
    legend = dict(orient="top", symbolType="stroke", symbolStrokeColor=look.INK)
    scale = dict(domain=["cap"], range=[[6, 4]])
    figure: alt.Chart = (
        alt.Chart()
        .transform_filter("datum.limit === 'cap'")
        .mark_line(strokeWidth=1.6, color=look.INK, interpolate="step-after")
        .encode(x=x, y=alt.Y("y:Q"), strokeDash=alt.StrokeDash("limit:N", title=None, scale=scale, legend=legend))
    )
    return figure


def _points(system: Mapping[str, Any], column: str) -> Any:
    series = system.get("series") or {}
    times, values = series.get("t_s") or [], series.get(column) or []
    if len(times) != len(values):
        return np.empty((0, 2))
    return np.column_stack([times, np.asarray(values, dtype=float)])


def _rows(
    found: Mapping[str, Any], caps: Mapping[str, Any], tops: Sequence[float], top: scale.Cut
) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows of lines and caps, and the headings of strips.

    Rows that belong to no line of a system are not `shown` by its layers.
    """
    most = max(2, look.MOST_POINTS // len(found))
    lines, others, heights, headings = [], [], [], []
    for (name, points), value, beyond in zip(found.items(), tops, top.beyond, strict=True):
        points = points[look.thin(len(points), most)]
        # Values are shares of the strip's own height: one scale for all, one label for each.
        heading = f"{name} (an axis of its own)" if beyond else name
        headings.append(heading)
        heights.append(value if beyond else top.end)
        lines.append(pd.DataFrame({"x": points[:, 0], "y": points[:, 1], "system": name, "strip": heading}))
        if (cap := caps.get(name)) is not None:
            others.append(pd.DataFrame({"x": cap[:, 0], "y": cap[:, 1], "limit": "cap", "strip": heading}))
    frame = pd.concat(lines, ignore_index=True)
    if any(top.beyond):
        # An invisible point at the common height makes the axes of the other strips equal.
        others.insert(0, pd.DataFrame({"strip": headings, "x": frame["x"].min(), "y": heights}))
    if others:
        frame = pd.concat([frame.assign(shown=True), *(o.assign(shown=False) for o in others)])
    return frame, headings


def _strips(
    document: Mapping[str, Any],
    column: str,
    title: str,
    axis: str,
    description: str,
    among: Sequence[str] | None,
    caps: Mapping[str, Any] | None = None,
) -> Chart:
    """Draw a column of the time series, one strip per system on common axes.

    A strip with values far above the others' has its own axis.
    """
    systems = document["systems"]
    named = zip(labels(systems), systems, strict=True)
    found = {n: p for n, s in named if len(p := _points(s, column))}
    look.need(list(found), f"a time series of {column}")
    caps = {name: points for name, points in (caps or {}).items() if name in found}
    tops = [max(float(part[:, 1].max()) for part in (p, *([caps[n]] if n in caps else []))) for n, p in found.items()]
    top = scale.cut(tops, [name in scale.overloaded(systems) for name in found])
    own = any(top.beyond)
    frame, headings = _rows(found, caps, tops, top)
    names = list(among or found)
    many = len(names) > look.MOST_LINES
    colour = alt.ColorValue(look.PALETTE[0]) if many else look.colour(names, legend=False)
    x = alt.X("x:Q", title="simulated time (s)", axis=dict(format=",~f", tickCount=8), scale=dict(nice=False))
    y = alt.Y(
        "y:Q",
        title=axis,
        axis=dict(format=",~f", tickCount=4),
        scale=dict(zero=True) if own else dict(domain=[0, top.end or 1]),
    )
    tooltip = [
        alt.Tooltip("system:N", title="system"),
        alt.Tooltip("x:Q", format=",.4~g", title="s"),
        alt.Tooltip("y:Q", format=",.4~g", title=axis),
    ]
    base = alt.Chart()
    drawn = base.mark_line(strokeWidth=1.3, strokeJoin="round").encode(x=x, y=y, color=colour)
    pointer = look.pointed(base, tooltip, x=x, y=y, color=colour)
    layers: list[Any] = [drawn, pointer]
    if "shown" in frame:
        layers = [layer.transform_filter("datum.shown") for layer in layers]
    if own:
        layers.insert(0, base.mark_point(opacity=0, size=1).encode(x=x, y=y))
    if caps:
        layers.append(_cap_layer(x))
    chart = (
        alt.layer(*layers, data=frame)
        .properties(width=look.WIDTH, height=STRIP_HEIGHT)
        .facet(
            facet=alt.Facet("strip:N", title=None, sort=headings, header=dict(labelAnchor="start", labelPadding=4)),
            columns=1,
            title=title,
            spacing=12,
        )
    )
    if own:
        chart = chart.resolve_scale(y="independent")
    most_held = "; ".join(f"{n}: at most {p[:, 1].max():,.0f}" for n, p in found.items())
    return look.style(
        chart.properties(
            # On a wide page, many strips are in several columns.
            usermeta={"columns": 1 + (len(found) - 1) // 4, "panels": len(found)},
            description=f"{description}. {most_held}",
        )
    )
