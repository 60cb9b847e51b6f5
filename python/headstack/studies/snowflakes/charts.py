"""Figures of the paper and of the studies of its implications."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headstack import plots
from headstack.plots import look

Floats = NDArray[np.float64]

WIDTH, HEIGHT = 460, 260

#: Up to this number of values, an axis shows all of them.
FEW = 10


def surfaces(formats: Mapping[str, tuple[float, float]], sectors: int, tracks: int) -> Any:
    """Draw the same area of surfaces that are formatted unlike (Figure 1).

    Args:
        formats: factors of bits and tracks per inch, by the title of each panel.
        sectors: of a track in the area, at nominal density.
        tracks: in the area, at nominal density.

    """
    panels = []
    for i, (title, (bpi, tpi)) in enumerate(formats.items()):
        along = round(sectors * bpi)
        # Tracks for the same capacity as a nominal surface; rounding both numbers would hide this.
        across = round(sectors * tracks * bpi * tpi / along)
        rows = [
            {"x": s / along, "x2": (s + 1) / along, "y": t / across, "y2": (t + 1) / across}
            for t in range(across)
            for s in range(along)
        ]
        axis = alt.Axis(labels=False, ticks=False, grid=False)
        chart = (
            alt.Chart(pd.DataFrame(rows))
            .mark_rect(stroke="white", strokeWidth=1.2, color=plots.PALETTE[i])
            .encode(
                x=alt.X("x:Q", title="along the track", axis=axis, scale=alt.Scale(domain=[0, 1])),
                x2="x2:Q",
                y=alt.Y("y:Q", title="tracks" if not i else None, axis=axis).scale(domain=[0, 1]),
                y2="y2:Q",
            )
        )
        said = f"{along} sectors on each of {across} tracks: {along * across}"
        panels.append(chart.properties(title=[title, said], width=230, height=200))
    return plots.style(
        alt.hconcat(*panels, title="Figure 1: one area of three surfaces of a drive")
    )


def bandwidth(
    panels: Mapping[str, Mapping[str, tuple[Floats, Floats]]], title: str, *, size: float = 5
) -> Any:
    """Draw block rates against addresses, one panel of points for each set.

    Args:
        panels: by title, then by drive: addresses in GB and rates in MB/s.
        title: of the figure.
        size: of a point.

    """
    drawn = []
    names = list(dict.fromkeys(n for lines in panels.values() for n in lines))
    for panel, drives in panels.items():
        most = look.MOST_POINTS // len(drives)
        parts = []
        for name, (at, rate) in drives.items():
            kept = look.thin(len(at), most)
            parts.append(pd.DataFrame({"x": at[kept], "y": rate[kept], "system": name}))
        chart = (
            alt.Chart(pd.concat(parts))
            .mark_point(size=size, filled=True, opacity=0.75)
            .encode(
                x=alt.X("x:Q", title="address (GB)", scale=alt.Scale(nice=False)),
                y=alt.Y("y:Q", title="MB/s", scale=alt.Scale(zero=True)),
                color=look.colour(names, None),
            )
        )
        drawn.append(chart.properties(title=panel, width=WIDTH, height=200))
    return plots.style(alt.vconcat(*drawn, title=title))


def error_bars(drives: Mapping[str, tuple[Floats, Floats, Floats]], title: str) -> Any:
    """Draw block rates with the standard deviation over sweeps, by drive: GB, MB/s, MB/s."""
    names = list(drives)
    frame = pd.concat(
        pd.DataFrame({"x": at, "y": rate, "low": rate - sd, "high": rate + sd, "system": name})
        for name, (at, rate, sd) in drives.items()
    )
    x = alt.X("x:Q", title="address (GB)", scale=alt.Scale(nice=False))
    base = alt.Chart(frame)
    points = base.mark_point(size=9, filled=True).encode(
        x=x,
        y=alt.Y("y:Q", title="MB/s", scale=alt.Scale(zero=False)),
        color=look.colour(names, None),
    )
    bars = base.mark_rule(strokeWidth=0.8, opacity=0.5).encode(
        x=x, y=alt.Y("low:Q", title="MB/s"), y2="high:Q", color=look.colour(names, None)
    )
    chart = alt.layer(bars, points).properties(title=title, width=2 * WIDTH, height=320)
    return plots.style(chart)


def heads(at: Floats, rate: Floats, levels: Mapping[str, float], title: str) -> Any:
    """Draw the rates of small blocks of one drive, and those of its heads as lines."""
    frame = pd.DataFrame({"x": at, "y": rate})
    y = alt.Y("y:Q", title="MB/s", scale=alt.Scale(zero=False, padding=12))
    points = (
        alt.Chart(frame)
        .mark_line(
            strokeWidth=1,
            color=plots.PALETTE[0],
            point=alt.OverlayMarkDef(size=14, color=plots.PALETTE[0]),
        )
        .encode(x=alt.X("x:Q", title="address (GB)", scale=alt.Scale(nice=False)), y=y)
    )
    ruled = pd.DataFrame([{"y": v, "text": k} for k, v in levels.items()])
    rules = alt.Chart(ruled).mark_rule(color=look.AXIS, strokeDash=[4, 3]).encode(y=y)
    texts = (
        alt.Chart(ruled)
        .mark_text(align="left", dx=6, color=look.FAINT_INK)
        .encode(y=y, x=alt.value("width"), text="text:N")
    )
    chart = alt.layer(points, rules, texts).properties(title=title, width=WIDTH + 140, height=300)
    return plots.style(chart)


def statistics(panels: Mapping[str, Floats], title: str | list[str]) -> Any:
    """Draw each drive's average with its slowest and fastest block (Figure 5).

    Args:
        panels: block rates in MB/s (drives, blocks), by title.
        title: of the figure.

    """
    drawn = []
    top = 1.05 * max(float(rates.max()) for rates in panels.values())
    for panel, rates in panels.items():
        frame = pd.DataFrame(
            {
                "drive": np.arange(1, len(rates) + 1),
                "mean": rates.mean(axis=1),
                "low": rates.min(axis=1),
                "high": rates.max(axis=1),
            }
        )
        x = alt.X("drive:O", title="drive", axis=alt.Axis(labelAngle=0))
        scale = alt.Scale(domain=[0, top])
        base = alt.Chart(frame)
        rule = base.mark_rule(color=look.AXIS, strokeWidth=2).encode(
            x=x, y=alt.Y("low:Q", title="MB/s", scale=scale), y2="high:Q"
        )
        ends = [
            base.mark_tick(color=look.AXIS, size=9, thickness=2).encode(x=x, y=f"{end}:Q")
            for end in ("low", "high")
        ]
        point = base.mark_point(size=60, filled=True, color=plots.PALETTE[0], opacity=1).encode(
            x=x, y="mean:Q"
        )
        width = max(200, 22 * len(frame))
        drawn.append(alt.layer(rule, *ends, point).properties(title=panel, width=width, height=240))
    return plots.style(alt.hconcat(*drawn, title=title))


def bars(values: Mapping[str, float], title: str, y: str, *, form: str = ".3f") -> Any:
    """Draw one bar for each name, with its value."""
    frame = pd.DataFrame([{"name": k, "value": v} for k, v in values.items()])
    base = alt.Chart(frame).encode(
        x=alt.X(
            "name:N", sort=list(values), title=None, axis=alt.Axis(labelAngle=0, labelLimit=150)
        ),
        y=alt.Y("value:Q", title=y, scale=alt.Scale(domain=[0, 1.1 * max(values.values())])),
    )
    drawn = base.mark_bar(color=plots.PALETTE[0])
    texts = base.mark_text(dy=-8, color=look.INK).encode(text=alt.Text("value:Q", format=form))
    width = max(WIDTH, 130 * len(values))
    return plots.style(alt.layer(drawn, texts).properties(title=title, width=width, height=HEIGHT))


def histograms(values: Mapping[str, Floats], title: str, x: str, bins: int = 40) -> Any:
    """Draw distributions as shares of a bin, one line of steps for each name."""
    whole = np.concatenate(list(values.values()))
    edges = np.linspace(float(whole.min()), float(whole.max()) + 1e-9, bins + 1)
    parts = []
    for name, found in values.items():
        counts, _ = np.histogram(found, bins=edges)
        share = np.append(counts / len(found), 0.0)
        parts.append(pd.DataFrame({"x": edges, "y": share, "system": name}))
    names = list(values)
    chart = (
        alt.Chart(pd.concat(parts))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X("x:Q", title=x, scale=alt.Scale(zero=False, nice=False)),
            y=alt.Y("y:Q", title="share of the drives", axis=alt.Axis(format="%")),
            color=look.colour(names, None),
            strokeDash=look.dash(names, None),
        )
    )
    return plots.style(chart.properties(title=title, width=plots.WIDTH, height=HEIGHT))


def lines(
    points: Mapping[str, Sequence[tuple[float, float]]],
    title: str,
    x: str,
    y: str,
    *,
    log_x: bool = False,
    zero: bool = False,
    levels: Mapping[str, float] | None = None,
) -> Any:
    """Draw one line with markers for each name."""
    kind = alt.Scale(type="log" if log_x else "linear", nice=not log_x)
    values = sorted({a for pairs in points.values() for a, _ in pairs})
    few = log_x or len(values) <= FEW
    axis = alt.Axis(values=values, format="~g") if few else alt.Axis(format="~g")
    return plots.lines(
        points,
        alt.X("x:Q", title=x, scale=kind, axis=axis),
        alt.Y("y:Q", title=y, scale=alt.Scale(zero=zero)),
        title,
        series="",
        markers=True,
        levels=levels,
    )
