"""Figures of the article that several claims share."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from headstack import plots

#: Figures in the article are one column wide.
WIDTH, HEIGHT = 460, 280


def columns(
    values: Mapping[str, Mapping[str, float]],
    title: str,
    x: str,
    y: str,
    form: str = ".3~g",
    series: str = "workload",
) -> Any:
    """Draw groups of columns: `values` by series, then by group."""
    rows = [
        {"system": name, "group": group, "value": value}
        for name, groups in values.items()
        for group, value in groups.items()
    ]
    groups = list(next(iter(values.values())))
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("group:N", sort=groups, title=x, axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("system:N", sort=list(values)),
        y=alt.Y("value:Q", title=y, scale=alt.Scale(zero=True, padding=18)),
    )
    names = list(values)
    colours = alt.Scale(domain=names, range=list(plots.PALETTE[: len(names)]))
    legend = alt.Legend(orient="bottom", columns=1, labelLimit=430)
    bars = base.mark_bar().encode(
        color=alt.Color("system:N", title=series, scale=colours, sort=names, legend=legend)
    )
    texts = [
        base.transform_filter(f"datum.value {sign} 0")
        .mark_text(dy=dy, fontSize=11, color="#222222")
        .encode(text=alt.Text("value:Q", format=form))
        for sign, dy in ((">=", -7), ("<", 9))
    ]
    chart = alt.layer(bars, *texts)
    return plots.style(chart.properties(title=title, width=WIDTH, height=HEIGHT))


def shares(parts: Mapping[str, Mapping[str, float]], title: str) -> Any:
    """Draw stacked bars of shares, by bar and part; parts are those of `plots.PARTS`."""
    kinds = {"overhead": "overhead", "seek": "seek", "rotation": "latency", "transfer": "transfer"}
    rows = [
        {"bar": bar, "part": text, "order": i, "share": found[key]}
        for bar, found in parts.items()
        for i, (key, text) in enumerate(kinds.items())
    ]
    frame = pd.DataFrame(rows)
    x = alt.X("bar:N", sort=list(parts), title=None, axis=alt.Axis(labelAngle=0))
    y = alt.Y(
        "share:Q", title="share of the I/O time", stack="zero", axis=alt.Axis(format=".0%")
    ).scale(domain=[0, 1])
    domain = list(kinds.values())
    colour = alt.Color(
        "part:N",
        title="component",
        sort=domain,
        scale=alt.Scale(domain=domain, range=[plots.PARTS[k] for k in kinds]),
    )
    base = alt.Chart(frame).encode(x=x, order=alt.Order("order:Q"))
    bars = base.mark_bar(stroke="white", strokeWidth=0.5).encode(y=y, color=colour)
    middle = frame.assign(
        middle=frame.groupby("bar")["share"].cumsum() - frame["share"] / 2,
    )
    text = (
        alt.Chart(middle)
        .mark_text(fontSize=11, color="white")
        .encode(x=x, y=alt.Y("middle:Q"), text=alt.Text("share:Q", format=".1%"))
    )
    return plots.style((bars + text).properties(title=title, width=WIDTH, height=HEIGHT))


def points(
    lines: Mapping[str, Sequence[tuple[float, float]]],
    marks: Mapping[str, Sequence[tuple[float, float]]],
    title: str | list[str],
    x: alt.X,
    y: alt.Y,
    series: str = "",
) -> Any:
    """Draw lines by formula, and values of the simulator as marks of the same colour."""
    names = list(dict.fromkeys([*lines, *marks]))
    colour = alt.Color(
        "system:N",
        title=series or None,
        sort=names,
        scale=alt.Scale(domain=names, range=list(plots.PALETTE[: len(names)])),
        legend=alt.Legend(orient="bottom", columns=2, labelLimit=430),
    )
    layers: list[Any] = [
        alt.Chart(_frame(lines)).mark_line(strokeWidth=2.2).encode(x=x, y=y, color=colour)
    ]
    if marks:
        layers.append(
            alt.Chart(_frame(marks))
            .mark_point(size=70, filled=False, strokeWidth=2)
            .encode(x=x, y=y, color=colour)
        )
    size = {"width": WIDTH, "height": HEIGHT}
    return plots.style(alt.layer(*layers).properties(title=title, **size))


def _frame(points_: Mapping[str, Sequence[tuple[float, float]]]) -> pd.DataFrame:
    return pd.DataFrame(
        [{"system": n, "x": a, "y": b} for n, pairs in points_.items() for a, b in pairs],
        columns=["system", "x", "y"],
    )


def files_on_disk(clusters: Sequence[int], files: int, sectors: int) -> Any:
    """Draw small files in clusters, sector by sector (figure 8)."""
    rows = [
        {
            "cluster": f"{cluster}-sector clusters",
            "sector": file * cluster + i,
            "end": file * cluster + i + 1,
            "holds": f"file {file + 1}" if i < sectors else "unused",
        }
        for cluster in clusters
        for file in range(files)
        for i in range(cluster)
    ]
    names = [*(f"file {i + 1}" for i in range(files)), "unused"]
    colours = [*plots.PALETTE[:files], "#C9CDD3"]
    chart = (
        alt.Chart(pd.DataFrame(rows))
        .mark_bar(stroke="white", strokeWidth=1, height=34)
        .encode(
            x=alt.X("sector:Q", title="sector", scale=alt.Scale(nice=False)),
            x2="end:Q",
            y=alt.Y("cluster:N", title=None, sort=[f"{c}-sector clusters" for c in clusters]).axis(
                labelLimit=160
            ),
            color=alt.Color(
                "holds:N",
                title=None,
                sort=names,
                scale=alt.Scale(domain=names, range=colours),
                legend=alt.Legend(orient="bottom", columns=len(names)),
            ),
        )
    )
    title = f"Figure 8: {files} files of {sectors} sectors"
    return plots.style(chart.properties(title=title, width=WIDTH, height=130))


def formats(tracks: Mapping[str, Sequence[tuple[str, float]]], title: str | list[str]) -> Any:
    """Draw a track as the parts along it, one row for each format (figure 6).

    Args:
        tracks: what each part holds and its share of the track, in order, by format.
        title: of the figure.

    """
    rows = []
    for name, parts in tracks.items():
        at = 0.0
        for holds, share in parts:
            rows.append({"format": name, "holds": holds, "from": at, "to": at + share})
            at += share
    kinds = list(dict.fromkeys(holds for parts in tracks.values() for holds, _ in parts))
    colours = [plots.PALETTE[1], "#C9CDD3", plots.PALETTE[0]]
    chart = (
        alt.Chart(pd.DataFrame(rows))
        .mark_bar(stroke="white", strokeWidth=0.5, height=34)
        .encode(
            x=alt.X("from:Q", title="share of the track", axis=alt.Axis(format="%")).scale(
                domain=[0, 1]
            ),
            x2="to:Q",
            y=alt.Y("format:N", title=None, sort=list(tracks)).axis(labelLimit=160),
            color=alt.Color("holds:N", title=None, sort=kinds)
            .scale(domain=kinds, range=colours[: len(kinds)])
            .legend(orient="bottom", columns=len(kinds)),
        )
    )
    return plots.style(chart.properties(title=title, width=WIDTH + 140, height=110))
