"""Figures with one row per system: response time and power by part, and operations.

A system's name is above its row, so that it can be read in full on a page of any width.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from headstack.show import table
from headstack.show.plots import look, scale
from headstack.show.plots.look import Chart
from headstack.show.plots.systems import labels

COMPONENTS = ("place", "elevator", "array", "queue", "overhead", "seek", "rotation", "transfer", "bus")
POWER_STATES = ("idle", "seek", "rotation", "transfer", "standby")

#: Operations in their order, and the quantiles that their rows show.
OPERATIONS = ("read", "write", "flush")
_QUANTILES = {"p50": "half of them", "p99": "99 %", "p999": "99.9 %"}

#: Width of a letter as a share of the width of a narrow plot.
_LETTER = 6.8 / 330

#: From the middle of a row to the bar, and to the name above it.
_BAR_DOWN, _NAME_UP = 8, -13


def _amount(value: float, unit: str) -> str:
    # Three significant figures, without an exponent.
    return f"{value:,.0f} {unit}" if value >= 1e3 else f"{value:.3g} {unit}"


def _names(rows: Sequence[str], x: float | str = 0) -> Chart:
    """Return the layer with the names of the rows, at the left edge of the plot."""
    figure: Chart = (
        alt.Chart(pd.DataFrame({"system": list(rows)}))
        .mark_text(align="left", baseline="middle", dy=_NAME_UP, fontSize=12, color=look.INK)
        .encode(y=_row(rows), x=look.across(x), text=alt.Text("system:N"))
    )
    return figure


def _row(rows: Sequence[str]) -> alt.Y:
    return alt.Y("system:N", title=None, sort=list(rows), axis=None)


def _marked(systems: Sequence[Mapping[str, Any]], names: Iterable[str]) -> list[bool]:
    overloaded = scale.overloaded(systems)
    return [name in overloaded for name in names]


def _stacked(
    document: Mapping[str, Any],
    key: str,
    parts: Sequence[str],
    factor: float,
    *,
    title: str,
    axis: str,
    description: str,
    unit: str,
    missing: str = "",
) -> Chart:
    """Draw stacked bars; values are marked as defaults if a drive's file lacks part `missing`."""
    systems = document["systems"]
    names = labels(systems)
    unsaid = {n for n, s in zip(names, systems, strict=True) if missing and table.lacks(s, missing)}
    rows = [
        {"system": name, "part": part, "order": order, "value": float(shares[part]) * factor}
        for name, system in zip(names, systems, strict=True)
        for order, part in enumerate(parts)
        if (shares := system.get(key) or {}).get(part) is not None
    ]
    look.need(rows, key)
    frame = pd.DataFrame(rows)
    # Parts that no system has are left out of the legend; the others keep their colours.
    used = [p for p in parts if p in set(frame.loc[frame["value"] > 0, "part"])]
    totals = frame.groupby("system", sort=False, as_index=False)["value"].sum()
    drawn = [n for n in names if n in set(totals["system"])]
    totals["text"] = [
        _amount(v, unit) + (" from defaults" if n in unsaid else "")
        for n, v in zip(totals["system"], totals["value"], strict=True)
    ]
    sums = "; ".join(f"{r.system}: {r.text}" for r in totals.itertuples())
    top = scale.cut(list(totals["value"]), _marked(systems, totals["system"]))
    # This leaves space for the text after the bars, also on a narrow plot.
    ends = [
        float(v) / (1 - min(0.6, (len(t) + 1) * _LETTER))
        for v, t, out in zip(totals["value"], totals["text"], top.beyond, strict=True)
        if not out
    ]
    end = max(ends) or 1.0
    layers = [
        _bars(frame, used, drawn, axis, unit, end),
        _names(drawn),
        *_sums(totals.assign(beyond=top.beyond), drawn, end),
    ]
    chart = alt.layer(*layers).properties(
        title=title,
        description=f"{description}. {sums}",
        width=look.WIDTH,
        height=max(60, look.ROW_HEIGHT * len(drawn)),
    )
    return look.style(chart)


def _bars(frame: pd.DataFrame, used: Sequence[str], drawn: Sequence[str], axis: str, unit: str, end: float) -> Chart:
    colours = dict(domain=list(used), range=[look.PARTS[p] for p in used])
    figure: Chart = (
        alt.Chart(frame)
        .mark_bar(stroke=look.BACKGROUND, strokeWidth=0.5, size=20, yOffset=_BAR_DOWN, clip=True)
        .encode(
            y=_row(drawn),
            x=alt.X(
                "value:Q",
                title=axis,
                stack="zero",
                scale=dict(domain=[0, end], nice=False),
                axis=dict(format=",~f", tickCount=6),
            ),
            color=alt.Color(
                "part:N",
                title=None,
                scale=colours,
                sort=list(used),
                legend=dict(orient="top", symbolType="square", columns=6),
            ),
            order="order:Q",
            tooltip=[
                alt.Tooltip("system:N", title="system"),
                alt.Tooltip("part:N", title="part"),
                alt.Tooltip("value:Q", format=",.4~g", title=unit),
            ],
        )
    )
    return figure


def _sums(totals: pd.DataFrame, drawn: Sequence[str], end: float) -> list[Any]:
    """Return the layers with the sum of each bar: after it, or at its end if it is cut."""
    totals = totals.assign(
        at=[min(float(v), end) for v in totals["value"]],
        text=[
            f"{text}, beyond the axis ▸" if out else text
            for text, out in zip(totals["text"], totals["beyond"], strict=True)
        ],
    )
    base = alt.Chart(totals).encode(y=_row(drawn), x=alt.X("at:Q"))
    layers = []
    for where, align, dx in (("!datum.beyond", "left", 5), ("datum.beyond", "right", -6)):
        mark: dict[str, Any] = {"align": align, "dx": dx, "dy": _BAR_DOWN, "fontSize": 12, "baseline": "middle"}
        layers.append(look.halo(base.transform_filter(where), alt.ColorValue(look.INK), **mark))
    return layers


def components(document: Mapping[str, Any]) -> Chart:
    """Mean response time (ms) by component, one bar per system.

    Raises:
        ConfigError: no system has components.
    """
    systems = [s | {"components_s": _split(s)} for s in document["systems"]]
    return _stacked(
        {**document, "systems": systems},
        "components_s",
        COMPONENTS,
        1e3,
        title="Where the response time goes",
        axis="mean per request (ms)",
        description="Mean response time of each system, by component",
        unit="ms",
    )


def _split(system: Mapping[str, Any]) -> dict[str, Any]:
    """Return the components of a system, the queue without what is waited for above the drive."""
    parts = dict(system.get("queue_parts_s") or {})
    drive = {"queue": parts.pop("drive")} if parts else {}
    return {**(system.get("components_s") or {}), **parts, **drive}


def power(document: Mapping[str, Any]) -> Chart:
    """Mean power (W) by state of the drives, one bar per system.

    Raises:
        ConfigError: no system has power by state.
    """
    return _stacked(
        document,
        "power_w",
        POWER_STATES,
        1.0,
        title="Power by drive state",
        axis="mean power (W)",
        description="Mean electrical power of each system, by drive state",
        unit="W",
        missing="power",
    )


def operations(document: Mapping[str, Any], among: Sequence[str] | None = None) -> Chart:
    """Response times of reads, writes and flushes, one panel each, one row per system.

    A row has a mark at the median, the 99th and the 99.9th percentile.

    Args:
        document: a result document whose systems have ``operations``.
        among: the labels to which colours are assigned, if there are more than the document's.

    Raises:
        ConfigError: no system has results by operation.
    """
    systems = document["systems"]
    names = labels(systems)
    rows = _apart(systems, names)
    look.need(rows, "operations")
    farthest: dict[str, float] = {}
    for row in rows:
        farthest[row["system"]] = max(row["p99"], farthest.get(row["system"], 0.0))
    top = scale.cut(list(farthest.values()), _marked(systems, farthest), ratio=30).end
    last = [q for q in _QUANTILES if any(q in row for row in rows)]
    kept = max(row[q] for row in rows for q in last if q in row and row["p99"] <= top)
    for row in rows:
        row["text"] = _amount(row["p99"], "ms") + (" ▸" if row["p99"] > kept else "")
    drawn = [n for n in names if n in farthest]
    apart = [_plural(o) for o in OPERATIONS if any(row["operation"] == _plural(o) for row in rows)]
    ends = min(row["p50"] for row in rows) / 1.15, kept * 1.15
    said = (f"{r['system']}, {r['operation']}: p99 {_amount(r['p99'], 'ms')}" for r in rows)
    chart = (
        alt.layer(*_ranges(drawn, list(among or names), last, ends), data=pd.DataFrame(rows))
        .properties(width=look.WIDTH / 3 - 10, height=look.ROW_HEIGHT * len(drawn))
        .facet(
            facet=alt.Facet("operation:N", title=None, sort=apart, header=dict(labelAnchor="start")),
            columns=3,
            title="Reads, writes and flushes apart",
            spacing=24,
        )
        .properties(
            usermeta={"columns": len(apart), "panels": len(apart)},
            description="Median (circle), 99th (dot) and 99.9th percentile (stroke) of the "
            f"response time; the number is the 99th. {'; '.join(said)}",
        )
    )
    return look.style(chart)


def _plural(operation: str) -> str:
    return "flushes" if operation == "flush" else f"{operation}s"


def _apart(systems: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return a row for each system and operation with requests: quantiles in ms."""
    return [
        {"system": name, "operation": _plural(op)} | {q: float(times[q]) * 1e3 for q in _QUANTILES if times.get(q)}
        for name, s in zip(names, systems, strict=True)
        for op in OPERATIONS
        if (one := (s.get("operations") or {}).get(op)) and one.get("n_requests")
        if (times := one.get("response_time_s") or {}).get("p50") and times.get("p99")
    ]


def _ranges(drawn: Sequence[str], among: Sequence[str], last: Sequence[str], ends: tuple[float, float]) -> list[Any]:
    """Return the layers of a panel: a line from the median to the last of the quantiles."""
    y = _row(drawn)
    x = alt.X(
        "p50:Q",
        title="response time (ms, logarithmic)",
        scale=dict(type="log", domain=list(ends), nice=False),
        axis=dict(format="~g", tickCount=5, labelOverlap=True),
    )
    many = len(among) > look.MOST_LINES
    colour = alt.ColorValue(look.PALETTE[0]) if many else look.colour(among, legend=False)
    tooltip = [
        alt.Tooltip("system:N", title="system"),
        *(alt.Tooltip(f"{q}:Q", format=",.4~g", title=f"{q}, ms") for q in last),
    ]
    base = alt.Chart().encode(y=y)
    at: dict[str, Any] = {"clip": True, "yOffset": _BAR_DOWN}
    point: dict[str, Any] = {"size": 70, **at}
    text: dict[str, Any] = {"dy": _NAME_UP, "fontSize": 12, "baseline": "middle"}
    marked = base.encode(color=colour, tooltip=tooltip)
    layers = [
        marked.mark_rule(strokeWidth=2, **at).encode(x=x, x2=alt.X2(f"{last[-1]}:Q")),
        marked.mark_point(filled=True, color=look.BACKGROUND, opacity=1, **point).encode(
            x=x, color=alt.ColorValue(look.BACKGROUND)
        ),
        marked.mark_point(filled=False, strokeWidth=2, **point).encode(x=x),
        marked.mark_point(filled=True, opacity=1, **point).encode(x=alt.X("p99:Q")),
    ]
    if "p999" in last:
        layers.append(marked.mark_tick(thickness=2, size=14, **at).encode(x=alt.X("p999:Q")))
    return [
        *layers,
        base.mark_text(align="left", color=look.INK, **text).encode(x=look.across(0), text=alt.Text("system:N")),
        base.mark_text(align="right", color=look.FAINT_INK, **text).encode(
            x=look.across("width"), text=alt.Text("text:N")
        ),
    ]
