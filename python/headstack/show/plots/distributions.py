"""Distributions of response times: cumulative, and with an axis that shows the tail.

Up to `look.MOST_LINES` systems are lines with their names in one panel. More systems have a panel
each, with the others behind it in grey.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

import altair as alt
import numpy as np
import pandas as pd

from headstack.show.plots import look, scale
from headstack.show.plots.look import Chart
from headstack.show.plots.systems import labels

Points: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"

#: Points of a grey line in the background of a panel.
_CONTEXT_POINTS = 60

_PANEL_WIDTH, _PANEL_HEIGHT, _PANEL_COLUMNS = 205, 110, 3

_TIME = "response time (ms, logarithmic)"


def cdf_points(system: Mapping[str, Any]) -> Points:
    """Return the cumulative distribution, shape (n, 2): ms, and the share of requests within it."""
    curve = np.asarray(system.get("response_time_cdf") or [], dtype=float).reshape(-1, 2)
    # A logarithmic axis cannot show zeros.
    return curve[curve[:, 0] > 0] * (1e3, 1.0)


#: Quantiles of results besides the curve, which has few points in the tail.
_TAIL = {"p99": 0.99, "p999": 0.999, "p9999": 0.9999}


#: The share of requests at which the tail begins: the median.
_FROM = 0.5


def tail_points(system: Mapping[str, Any]) -> Points:
    """Return the tail, shape (n, 2): ms, and the share of requests that take longer."""
    curve = cdf_points(system)
    if not len(curve):
        return curve
    times = system.get("response_time_s") or {}
    known = [[times[k] * 1e3, p] for k, p in _TAIL.items() if times.get(k)]
    ends = curve[-1, 0]
    curve = np.vstack([curve[curve[:, 1] < 1], *([known] if known else [])])
    curve = curve[(curve[:, 0] > 0) & (curve[:, 0] <= ends)]
    curve = curve[np.lexsort((curve[:, 1], curve[:, 0]))]
    longer = 1 - np.maximum.accumulate(curve[:, 1])
    # From the last point before the median on.
    first = max(0, int(np.searchsorted(-longer, -_FROM, side="right")) - 1)
    curve, longer = curve[first:], longer[first:]
    # Up to the longest time, the last share is the best known value.
    last = [[ends, longer[-1] if len(longer) else 1.0]]
    return np.vstack([np.column_stack([curve[:, 0], longer]), last])


def cdf(document: Mapping[str, Any], among: Sequence[str] | None = None) -> Chart:
    """Cumulative distribution of the response time, one line per system, logarithmic in time.

    Args:
        document: a result document.
        among: the labels to which colours are assigned, if there are more than the document's.

    Raises:
        ConfigError: no system has a distribution.
    """
    systems = document["systems"]
    return cumulative(
        _found(systems, cdf_points),
        "Response time",
        "Share of requests answered within a time",
        among=among,
        overloaded=scale.overloaded(systems),
    )


def cumulative(
    found: Mapping[str, Points],
    title: str,
    description: str,
    *,
    among: Sequence[str] | None = None,
    overloaded: Collection[str] = (),
) -> Chart:
    """Draw cumulative distributions of times: points (ms, share) by name, shape (n, 2) each."""
    y = alt.Y("y:Q", title="requests answered by then", scale=dict(domain=[0, 1]), axis=dict(format=".0%", tickCount=5))
    return _distributions(
        found,
        y,
        title,
        description,
        among=among,
        overloaded=overloaded,
        levels=lambda n: np.linspace(0.86, 0.14, n),
        share=alt.Tooltip("y:Q", format=".2%", title="answered by then"),
    )


def _found(systems: Sequence[Mapping[str, Any]], of: Callable[[Mapping[str, Any]], Points]) -> dict[str, Points]:
    named = zip(labels(systems), systems, strict=True)
    found = {name: points for name, s in named if len(points := of(s))}
    look.need(list(found), "a response-time distribution")
    return found


def tail(document: Mapping[str, Any], among: Sequence[str] | None = None) -> Chart:
    """Tail of the response time: the axis of shares has one decade for each further nine.

    Args:
        document: a result document.
        among: the labels to which colours are assigned, if there are more than the document's.

    Raises:
        ConfigError: no system has a distribution.
    """
    systems = document["systems"]
    found = _found(systems, tail_points)
    least = min(float(points[:, 1].min()) for points in found.values())
    decades = max(1, int(np.ceil(-np.log10(max(least, 1e-12)) - 1e-9)))
    y = alt.Y(
        "y:Q",
        title="requests answered by then",
        # The axis is reversed, so that the slowest requests are at the top, as in the other figure.
        scale=dict(type="log", domain=[10.0**-decades, _FROM], reverse=True, nice=False),
        axis=dict(
            values=[_FROM, *(10.0**-k for k in range(1, decades + 1))],
            # 50 %, 90 %, 99 %, 99.9 %, ...
            labelExpr="format(100 * (1 - datum.value), '.12~g') + '%'",
        ),
    )
    return _distributions(
        found,
        y,
        "Tail of the response time",
        "The slowest requests: each step up the axis is ten times fewer of them",
        among=among,
        # The figure is of the slowest: its axis holds all of them.
        overloaded=(),
        ratio=np.inf,
        levels=lambda n: 10.0 ** np.linspace(-0.45, -0.85 * decades, n)[::-1],
        share=alt.Tooltip("y:Q", format=".3~%", title="take longer"),
    )


def _distributions(
    found: Mapping[str, Points],
    y: alt.Y,
    title: str,
    description: str,
    *,
    among: Sequence[str] | None,
    overloaded: Collection[str],
    levels: Callable[[int], Any],
    share: alt.Tooltip,
    ratio: float = 30,
) -> Chart:
    # The ends of the curves, without systems that would stretch the axis for the others.
    marked = [name in overloaded for name in found]
    tops = scale.cut([float(p[-1, 0]) for p in found.values()], marked, ratio=ratio)
    kept = [p for p, out in zip(found.values(), tops.beyond, strict=True) if not out]
    ends = (min(float(p[0, 0]) for p in kept), max(float(p[-1, 0]) for p in kept))
    x = alt.X(
        "x:Q",
        title=_TIME,
        scale=dict(type="log", domain=[ends[0], max(ends[1], ends[0] * 1.01)], nice=False),
        axis=dict(format="~g", tickCount=6, labelOverlap=True),
    )
    beyond = [n for n, out in zip(found, tops.beyond, strict=True) if out]
    if beyond:
        description += f". Beyond the axis: {', '.join(beyond)}"
    tooltip = [alt.Tooltip("system:N", title="system"), alt.Tooltip("x:Q", format=",.4~g", title="ms"), share]
    return lines(
        found, x, y, title, description, among=list(among or found), tooltip=tooltip, levels=levels, within=ends
    )


def lines(
    found: Mapping[str, Points],
    x: alt.X,
    y: alt.Y,
    title: str,
    description: str,
    *,
    among: Sequence[str],
    tooltip: Sequence[Any],
    levels: Callable[[int], Any],
    within: tuple[float, float],
) -> Chart:
    """Draw a line for each name, with the names at the lines, or one panel each if there are many.

    Args:
        found: points (x, y) by name, shape (n, 2), in the order of x.
        x: the axis of times; it encodes the field ``x``.
        y: the axis of shares; it encodes the field ``y``.
        title: title of the figure.
        description: text for readers who cannot see the figure.
        among: the names to which colours are assigned.
        tooltip: fields shown for the point nearest the pointer.
        levels: heights on the y axis for a number of names, top first.
        within: the ends of the x axis, which is logarithmic.
    """
    shown = {name: _until(points, within[1]) for name, points in found.items()}
    if len(found) > look.MOST_LINES:
        return _panels(shown, x, y, title, description, tooltip)
    base = alt.Chart(_frame(shown, look.MOST_POINTS))
    colour = look.colour(among, legend=False)
    drawn = base.mark_line(strokeWidth=2.2, interpolate="step-after", clip=True).encode(
        x=x, y=y, color=colour, strokeDash=look.dash(among, legend=False)
    )
    layers = [drawn, look.pointed(base, tooltip, x=x, y=y, color=colour)]
    if len(found) > 1:
        placed = alt.Chart(pd.DataFrame(_placed(found, levels, within)))
        for side, align, dx in (("right", "left", 6), ("left", "right", -6)):
            there = placed.transform_filter(alt.datum.side == side).encode(x=x, y=y)
            layers.append(look.halo(there, colour, align=align, dx=dx, fontSize=12))
    chart = alt.layer(*layers).properties(title=title, description=description, width=look.WIDTH, height=look.HEIGHT)
    return look.style(chart)


def _until(points: Points, end: float) -> Points:
    """Return the points of a stepped line up to `end`, where it is cut off if it continues."""
    kept = points[points[:, 0] <= end]
    if len(kept) in (0, len(points)):
        return kept
    return np.vstack([kept, [[end, kept[-1, 1]]]])


def _frame(found: Mapping[str, Points], most: int, name: str = "system") -> pd.DataFrame:
    each = max(2, most // max(1, len(found)))
    parts = []
    for system, points in found.items():
        if len(points):
            points = points[look.thin(len(points), each)]
        parts.append(pd.DataFrame({"x": points[:, 0], "y": points[:, 1], name: system}))
    return pd.concat(parts, ignore_index=True)


def _placed(
    found: Mapping[str, Points], levels: Callable[[int], Any], within: tuple[float, float]
) -> list[dict[str, Any]]:
    """Give the name of each line its own height, on the side with more space."""
    order = sorted(found, key=lambda name: float(np.median(found[name][:, 0])))
    rows = []
    for name, level in zip(order, levels(len(order)), strict=True):
        at = {n: _reaches(points, float(level)) for n, points in found.items()}
        # The name of a curve that leaves the axes is at the place where it leaves them.
        here = min(max(at[name], within[0]), within[1])
        others = [min(max(v, within[0]), within[1]) for n, v in at.items() if n != name]
        text = f"{name} ▸" if at[name] > within[1] else name
        across = float(np.log(here / within[0]) / np.log(within[1] / within[0]))
        side = _side(here, others, within, len(text) * _LETTER, across)
        # `across` is for pages of other widths.
        place = {"x": here, "y": float(level), "side": side, "across": across}
        rows.append({"system": name, "text": text, **place})
    return rows


#: Width of a letter of a name as a share of the width of a narrow plot.
_LETTER = 6.5 / 440


def _side(here: float, others: Sequence[float], within: tuple[float, float], width: float, across: float) -> str:
    """Return the side of a line's name: inside the axes, then away from the next line.

    `width` is the width of the name, `across` the distance of the line from the left axis, both as
    shares of the plot's width.
    """
    if min(across, 1 - across) < width:
        return "right" if across < 0.5 else "left"
    left = here / max([within[0], *(v for v in others if v <= here)])
    right = min([within[1], *(v for v in others if v > here)]) / here
    return "right" if right > left else "left"


def _reaches(points: Points, level: float) -> float:
    """Return where a monotone line first reaches a height."""
    y = points[:, 1]
    met = y >= level if y[-1] >= y[0] else y <= level
    return float(points[int(np.argmax(met)) if met.any() else -1, 0])


def _panels(
    found: Mapping[str, Points], x: alt.X, y: alt.Y, title: str, description: str, tooltip: Sequence[Any]
) -> Chart:
    frame = _frame(found, look.MOST_POINTS)
    behind = _frame(found, _CONTEXT_POINTS * len(found), "other")
    # The meaning of the share is in the heading; there is no space for it at each panel.
    y = y.title(None)
    # Each panel has its own lines from `frame`, and all lines of `behind`.
    context = (
        alt.Chart(behind)
        .mark_line(strokeWidth=1, color=look.CONTEXT, interpolate="step-after", clip=True)
        .encode(x=x, y=y, detail=alt.Detail("other:N"))
    )
    # A panel without a line has a mark that its system is beyond the axis.
    heads = {name: name if len(p) else f"{name} ▸" for name, p in found.items()}
    gone = [{"system": name, "x": None} for name, points in found.items() if not len(points)]
    frame = pd.concat([frame.assign(shown=True), pd.DataFrame(gone).assign(shown=False)])
    frame["panel"] = frame["system"].map(heads)
    base = alt.Chart().transform_filter("datum.shown")
    drawn = base.mark_line(strokeWidth=2.2, color=look.PALETTE[0], interpolate="step-after", clip=True).encode(x=x, y=y)
    pointer = look.pointed(base, tooltip, x=x, y=y, color=alt.ColorValue(look.PALETTE[0]))
    chart = (
        alt.layer(context, drawn, pointer, data=frame)
        .properties(width=_PANEL_WIDTH, height=_PANEL_HEIGHT)
        .facet(
            facet=alt.Facet(
                "panel:N",
                title=None,
                sort=list(heads.values()),
                header=dict(labelAnchor="start", labelPadding=4, labelLimit=_PANEL_WIDTH),
            ),
            columns=_PANEL_COLUMNS,
            title=title,
            spacing=14,
        )
        .properties(
            usermeta={"columns": len(found), "panels": len(found)},
            description=f"{description}. One panel for each system, the others in grey",
        )
    )
    return look.style(chart)
