"""Figures of drives, traces and comparisons, and line charts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from headstack.errors import ConfigError
from headstack.show.plots import distributions, look
from headstack.show.plots.look import HEIGHT, MOST_POINTS, PALETTE, WIDTH, Chart, style


def _curve(frame: pd.DataFrame, x: alt.X, y: alt.Y, title: str, description: str, *, step: bool = False) -> Chart:
    base = alt.Chart(frame)
    axes: list[Any] = [x, y]
    fields = [axis.to_dict()["field"] for axis in axes]
    tooltip = [
        alt.Tooltip(f"{field}:Q", format=",.4~g", title=_said(axis)) for field, axis in zip(fields, axes, strict=True)
    ]
    return style(
        alt.layer(
            base.mark_line(strokeWidth=2.2, color=PALETTE[0], interpolate="step-after" if step else "linear").encode(
                x=x, y=y
            ),
            look.pointed(base, tooltip, x=x, y=y, color=alt.ColorValue(PALETTE[0])),
            title=title,
            description=description,
        ).properties(width=WIDTH, height=HEIGHT)
    )


def seek_curve(info: Mapping[str, Any]) -> Chart:
    """Seek time (ms) of a drive against distance (cylinders).

    Args:
        info: the core's description: ``name``, and ``seek_curve``, pairs of cylinders and seconds.

    Raises:
        ConfigError: the description has no seek curve.
    """
    points = np.asarray(info.get("seek_curve") or [], dtype=float).reshape(-1, 2)
    look.need(list(points), "a seek curve")
    points = points[look.thin(len(points), MOST_POINTS)]
    return _curve(
        pd.DataFrame({"distance": points[:, 0], "ms": points[:, 1] * 1e3}),
        alt.X("distance:Q", title="seek distance (cylinders)", axis=dict(format=",~f", tickCount=8)),
        alt.Y("ms:Q", title="seek time (ms)", axis=dict(format=",~f")),
        f"Seek time of {info.get('name', 'the drive')}",
        "Seek time against distance",
    )


def zones(info: Mapping[str, Any]) -> Chart:
    """Media rate (MB/s) of a drive's zones against address (GB), both decimal.

    Args:
        info: the core's description: ``name``, ``capacity_bytes``, and ``zones``, each with
            ``first_lba`` (512-byte blocks) and ``rate_bytes_per_s``.

    Raises:
        ConfigError: the description has no zones.
    """
    listed = info.get("zones") or []
    look.need(listed, "zones")
    rows = []
    for zone in listed:
        rate = float(zone["rate_bytes_per_s"]) / 1e6
        first = float(zone["first_lba"]) * 512 / 1e9
        rows.append({"gb": first, "rate": rate})
    rows.append({"gb": float(info["capacity_bytes"]) / 1e9, "rate": rows[-1]["rate"]})
    return _curve(
        pd.DataFrame(rows),
        alt.X("gb:Q", title="address (GB)", axis=dict(format=",~f", tickCount=8)),
        alt.Y("rate:Q", title="media rate (MB/s)", scale=dict(zero=True)),
        f"Zones of {info.get('name', 'the drive')}",
        "Media rate against address",
        step=True,
    )


def histogram(bins: Iterable[Mapping[str, Any]], x: str, title: str, axis: str) -> Chart:
    """Draw requests per class as bars with their counts, in the given order.

    Args:
        bins: one table per class: its label under the key `x`, and ``n_requests``.
        x: the key of the label.
        title: title of the figure.
        axis: title of the axis, with the unit.
    """
    frame = pd.DataFrame([{"x": b[x], "n": b["n_requests"]} for b in bins])
    classes = alt.X("x:N", title=axis, sort=None, axis=dict(labelAngle=0))
    bars = (
        alt.Chart(frame, title=title, description=title)
        .mark_bar(color=PALETTE[0])
        .encode(
            x=classes,
            y=alt.Y("n:Q", title="requests", axis=dict(format=",~f", tickCount=6)),
            tooltip=[alt.Tooltip("x:N", title=axis), alt.Tooltip("n:Q", format=",")],
        )
    )
    # Bars of a few requests are too low to see; the counts make them visible.
    counts = (
        alt.Chart(frame)
        .mark_text(baseline="bottom", dy=-4, fontSize=11, color=look.INK)
        .encode(x=classes, y=alt.Y("n:Q"), text=alt.Text("n:Q", format=","))
    )
    width = max(WIDTH, 52 * len(frame))
    figure: Chart = style((bars + counts).properties(width=width, height=HEIGHT))
    return figure


def validation(
    drive: Mapping[str, Any],
    measured_s: "np.ndarray[Any, np.dtype[np.float64]]",
    simulated_s: "np.ndarray[Any, np.dtype[np.float64]]",
) -> Chart:
    """Measured and simulated distribution of the response times of one drive.

    Args:
        drive: an entry of `validation.validate`: ``name``, ``demerit_s``.
        measured_s: response times in seconds, shape (n,), positive, in any order.
        simulated_s: the same, simulated.
    """
    samples = {"measured": measured_s, "simulated": simulated_s}
    found = {}
    for name, sample in samples.items():
        at = look.thin(len(sample), MOST_POINTS // len(samples))
        found[name] = np.column_stack([np.sort(sample)[at] * 1e3, (at + 1) / len(sample)])
    title = f"{drive['name']}: {drive['demerit_s'] * 1e3:.3f} ms apart (demerit)"
    description = f"Measured and simulated response times of {drive['name']}"
    return distributions.cumulative(found, title, description)


def _bytes(n: int) -> str:
    for unit in ("B", "KiB", "MiB"):
        if n < 1024 or n % 1024:
            return f"{n:,} {unit}"
        n //= 1024
    return f"{n:,} GiB"


def trace_figures(info: Mapping[str, Any]) -> dict[str, Any]:
    """Figures of a trace by file name, from the histograms in its description.

    Args:
        info: the core's description: ``sizes``, each with ``up_to_bytes`` and ``n_requests``.

    Raises:
        ConfigError: the trace has no reads or writes.
    """
    figures: dict[str, Any] = {}
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
) -> Chart:
    """Draw one line per name from its points; the axes encode the fields ``x`` and ``y``.

    `levels` are horizontal lines, by what they stand for.
    """
    names = list(points)
    most = max(2, MOST_POINTS // max(1, len(names)))
    rows = [
        {"x": pairs[i][0], "y": pairs[i][1], "system": name}
        for name, pairs in points.items()
        for i in (look.thin(len(pairs), most) if len(pairs) else ())
    ]
    look.need(rows, title)
    base = alt.Chart(pd.DataFrame(rows))
    colour = look.colour(names, series)
    chart = base.mark_line(strokeWidth=2.2, strokeJoin="round", point=dict(size=45) if markers else False).encode(
        x=x, y=y, color=colour, strokeDash=look.dash(names, series)
    )
    tooltip = [
        alt.Tooltip("system:N", title=series),
        alt.Tooltip("x:Q", format=",.4~g", title=_said(x)),
        alt.Tooltip("y:Q", format=",.4~g", title=_said(y)),
    ]
    layers: list[Any] = [chart]
    if levels:
        frame = pd.DataFrame([{"y": v, "text": k} for k, v in levels.items()])
        rule = alt.Chart(frame).mark_rule(color=look.AXIS, strokeDash=[3, 3]).encode(y=alt.Y("y:Q"))
        text = (
            alt.Chart(frame)
            .mark_text(align="right", baseline="bottom", dx=-4, dy=-2, color=look.FAINT_INK)
            .encode(y=alt.Y("y:Q"), x=look.across("width"), text=alt.Text("text:N"))
        )
        layers += [rule, text]
    layers.append(look.pointed(base, tooltip, x=x, y=y, color=colour))
    drawn = alt.layer(*layers, title=title, description=title)
    return style(drawn.properties(width=WIDTH, height=HEIGHT))


def _said(axis: Any) -> str:
    """Return the title of an axis."""
    encoded = axis.to_dict()
    return str(encoded.get("title") or encoded["field"])
