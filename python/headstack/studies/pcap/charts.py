"""Figures of the paper."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from headstack import plots
from headstack.plots import look

#: A figure of the paper is a column wide.
WIDTH, HEIGHT = 460, 260

#: Points of a curve over time.
MOST = 600


def lines(
    curves: Mapping[str, Sequence[tuple[float, float]]],
    title: str,
    x: str,
    y: str,
    *,
    log: bool = False,
    zero: bool = False,
    points: bool = True,
    series: str = "",
    sort: str = "x",
) -> Any:
    """Draw curves by name; `log` sets a logarithmic x axis of base 2."""
    rows = [
        {"system": name, "x": a, "y": b, "order": i}
        for name, curve in curves.items()
        for i, (a, b) in enumerate(curve)
    ]
    names = list(curves)
    scale = alt.Scale(type="log", base=2, nice=False) if log else alt.Scale(zero=False, nice=False)
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("x:Q", title=x, scale=scale),
        y=alt.Y("y:Q", title=y, scale=alt.Scale(zero=zero)),
        color=look.colour(names, series or None),
        strokeDash=look.dash(names, series or None),
        order=alt.Order(f"{'x' if sort == 'x' else 'order'}:Q"),
    )
    chart = base.mark_line(point=points and len(rows) < 200, clip=True)
    return plots.style(chart.properties(title=title, width=WIDTH, height=HEIGHT))


def over_time(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float | None]]],
    title: str,
    y: str,
    *,
    minutes: float = 0.0,
    zero: bool = False,
) -> Any:
    """Draw columns of a series over time in minutes; `minutes` is added to the times."""
    parts = {}
    for name, (times, values) in curves.items():
        both = [(t / 60 + minutes, v) for t, v in zip(times, values, strict=True) if v is not None]
        step = max(1, -(-len(both) // MOST))
        # Means of equal pieces, so that nothing is hidden by the choice of points.
        parts[name] = [
            (
                sum(t for t, _ in both[i : i + step]) / len(both[i : i + step]),
                sum(v for _, v in both[i : i + step]) / len(both[i : i + step]),
            )
            for i in range(0, len(both), step)
        ]
    return lines(parts, title, "time (min)", y, zero=zero, points=False)


def cdfs(curves: Mapping[str, Sequence[Sequence[float]]], title: str) -> Any:
    """Draw distributions of times in seconds, as points (time, share)."""
    parts = {n: [(1e3 * max(t, 1e-4), s) for t, s in points] for n, points in curves.items()}
    rows = [{"system": n, "x": a, "y": b} for n, c in parts.items() for a, b in c]
    names = list(parts)
    chart = (
        alt.Chart(pd.DataFrame(rows))
        .mark_line(clip=True)
        .encode(
            x=alt.X(
                "x:Q", title="response time (ms)", scale=alt.Scale(type="log", domain=[5, 5000])
            ),
            y=alt.Y("y:Q", title="share of requests", axis=alt.Axis(format=".0%")),
            color=look.colour(names, None),
            strokeDash=look.dash(names, None),
        )
    )
    return plots.style(chart.properties(title=title, width=WIDTH, height=HEIGHT))


def bars(values: Mapping[str, Mapping[str, float]], title: str, y: str) -> Any:
    """Draw stacked bars, by bar and part."""
    rows = [
        {"bar": b, "system": p, "value": v, "order": i}
        for b, parts in values.items()
        for i, (p, v) in enumerate(parts.items())
    ]
    names = list(next(iter(values.values())))
    chart = (
        alt.Chart(pd.DataFrame(rows))
        .mark_bar()
        .encode(
            x=alt.X("bar:N", sort=list(values), title=None, axis=alt.Axis(labelAngle=0)),
            y=alt.Y("value:Q", title=y, stack="zero"),
            color=look.colour(names, None),
            order=alt.Order("order:Q"),
        )
    )
    return plots.style(chart.properties(title=title, width=WIDTH, height=HEIGHT))
