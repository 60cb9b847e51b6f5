"""Draws the figures that `headstack.show.picture` describes, from rows of tidy tables.

The paper's own values, if there are any, are black diamonds; over bars they are black ticks.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from headstack.errors import ConfigError
from headstack.show.picture import MARKS, Axis, Layer, Picture
from headstack.show.plots import distributions, look
from headstack.show.plots.look import Chart
from headstack.suggest import need_one_of

Rows = Sequence[Mapping[str, Any]]

#: Marks that are one of Vega-Lite's: its name, what `Layer.size` is, if anything, and usually, and
#: the other properties.
_SIMPLE: dict[str, tuple[str, str, float, dict[str, Any]]] = {
    "point": ("point", "size", 60, dict(filled=True, opacity=0.85, clip=True)),
    "ring": ("point", "size", 70, dict(filled=False, strokeWidth=2, opacity=1)),
    "rect": ("rect", "", 0, dict(stroke="white", strokeWidth=1.2)),
    "rule": ("rule", "strokeWidth", 2, {}),
    "tick": ("tick", "size", 9, dict(thickness=2)),
    "range": ("errorbar", "", 0, dict(ticks=True)),
}

#: Most values of an axis that are all labelled, and most letters of names that are side by side.
FEW, LEVEL = 12, 64


def draw(
    picture: Picture, tables: Mapping[str, Rows], paper: Rows = (), scope: Mapping[str, Any] | None = None
) -> Chart:
    """Return the chart of a picture.

    Args:
        picture: what is drawn; its title is already filled in.
        tables: rows by table.
        paper: the paper's values: ``x``, ``y``, ``panel``, ``what``, ``text`` and ``below``.
        scope: values of columns to which all its tables are limited.

    Raises:
        ConfigError: a table, a column or a mark is unknown, or there is nothing to draw.
    """
    if not picture.pictures:
        return _Drawing(picture, tables, paper, scope or {}).chart()
    charts = [_Drawing(p, tables, (), scope or {}).plain(p.title) for p in picture.pictures]
    return _together(picture, charts)


def _together(picture: Picture, charts: Sequence[Chart]) -> Chart:
    """Return charts side by side or below each other, in the style of all figures."""
    title, said = _titles(picture.title)
    together = alt.vconcat if picture.down else alt.hconcat
    return look.style(together(*charts, title=title, description=said))


def _titles(title: str | tuple[str, ...]) -> tuple[Any, str]:
    """Return a title as Altair takes it, and in one line."""
    return (list(title), " ".join(title)) if isinstance(title, tuple) else (title, title)


class _Drawing:
    """One picture with its rows."""

    def __init__(self, picture: Picture, tables: Mapping[str, Rows], paper: Rows, scope: Mapping[str, Any]) -> None:
        self.picture, self.paper = picture, paper
        self.layers = picture.layers or (Layer(picture.mark),)
        self.rows = [self._rows(layer, tables, scope) for layer in self.layers]
        every = [r for rows in self.rows for r in rows]
        look.need(every, picture.name)
        colour = picture.colour
        self.names = _names(every, colour)
        self.panels = list(dict.fromkeys(r[picture.panel] for r in every)) if picture.panel else []
        self.every = every
        #: A chart beside others cannot have the selection of the nearest point: its name is taken.
        self.alone = not self.panels

    def _rows(self, layer: Layer, tables: Mapping[str, Rows], scope: Mapping[str, Any]) -> Rows:
        name = layer.table or self.picture.table
        if name not in tables:
            raise ConfigError(need_one_of(f"{self.picture.name}.table", name, tables))
        where = {**scope, **self.picture.where, **layer.where}
        wanted = {k: v if isinstance(v, list) else [v] for k, v in where.items()}
        return [r for r in tables[name] if all(k not in r or r[k] in v for k, v in wanted.items())]

    def chart(self) -> Chart:
        """Return the chart in the style of all figures."""
        title, said = _titles(self.picture.title)
        if self.layers[0].mark == "curve":
            return self._curves(said)
        if not self.panels:
            return look.style(self._panel(None).properties(title=title, description=said))
        panels = [self._panel(p).properties(title=str(p).split("\n")) for p in self.panels]
        return _together(self.picture, panels)

    def plain(self, title: str | tuple[str, ...]) -> Chart:
        """Return the chart for a place beside others."""
        self.alone = False
        return self._panel(None).properties(**({"title": _titles(title)[0]} if title else {}))

    def _curves(self, title: str) -> Chart:
        found = {
            name: np.array(
                [
                    (float(r[self.picture.x.column]), float(r[self.picture.y.column]))
                    for r in self.rows[0]
                    if str(r[self.picture.colour]) == name
                ]
            )
            for name in self.names
        }
        late = {str(r[self.picture.colour]) for r in self.rows[0] if r.get("overloaded")}
        return distributions.cumulative(found, title, title, overloaded=late)

    def _panel(self, panel: Any) -> Chart:
        drawn = []
        for layer, rows in zip(self.layers, self.rows, strict=True):
            own = rows if panel is None else [r for r in rows if r[self.picture.panel] == panel]
            if own:
                drawn += self._marks(layer, own)
        points = [p for p in self.paper if not p["panel"] or p["panel"] == str(panel)]
        if points:
            drawn += self._paper(points)
        default = (look.WIDTH, look.HEIGHT) if panel is None else (400, 240)
        return alt.layer(*drawn).properties(
            width=self.picture.width or default[0], height=self.picture.height or default[1]
        )

    # Axes and colours.

    def _axis(self, kind: Any, axis: Axis, column: str, order: Rows) -> Any:
        own: dict[str, Any] = {"title": axis.title or None}
        if axis.bare:
            own["axis"] = dict(labels=False, ticks=False, grid=False)
        elif axis.labels:
            text = f"{json.dumps(list(axis.labels))}[datum.value]"
            places = list(range(len(axis.labels)))
            own["axis"] = dict(labelExpr=text, labelAngle=0, values=places, grid=False)
        elif axis.kind == "N":
            names = _names(order, column)
            # A domain of its own, because the sorts of layers with other fields would conflict.
            own |= {"sort": names, "scale": dict(domain=names)}
            level = sum(map(len, names)) <= LEVEL or kind is alt.Y
            own["axis"] = dict(labelAngle=0 if level else -40, labelLimit=240)
        else:
            values = list(axis.values) or self._few(axis, column, order, kind)
            shown = axis.format or ("~g" if axis.log else "")
            own["axis"] = dict(values=values or alt.Undefined, format=shown or alt.Undefined)
        if axis.kind != "N":
            below = any(float(r.get(column) or 0) < 0 for r in order)
            own["scale"] = _scale(kind, axis, below and any(x.mark == "text" for x in self.layers))
        return kind(f"{_field(column)}:{axis.kind}", **own)

    def _few(self, axis: Axis, column: str, order: Rows, kind: Any) -> list[float]:
        """Return all values of an x axis if there are few: those that were measured."""
        if kind is alt.Y:
            return []
        values = sorted({float(r[column]) for r in order if r.get(column) is not None})
        return values if len(values) <= FEW else []

    def _colour(self, layer: Layer) -> Any:
        if not self.picture.colour or layer.plain:
            return alt.ColorValue(look.PALETTE[0])
        given = self.picture.colours
        palette = [look.PALETTE[i % len(look.PALETTE)] for i in range(len(self.names))]
        if self.picture.legend == "none":
            legend: Any = None
        else:
            stroke = any(x.mark in ("line", "ring") for x in self.layers)
            legend = dict(
                orient="bottom",
                columns=2 if stroke else 3,
                labelLimit=430,
                symbolType="stroke" if stroke else alt.Undefined,
            )
        codes = [_code(given[n]) if n in given else palette[i] for i, n in enumerate(self.names)]
        return alt.Color(
            f"{_field(self.picture.colour)}:N",
            title=self.picture.legend or None,
            sort=self.names,
            scale=dict(domain=self.names, range=codes),
            legend=legend,
        )

    # Marks.

    def _marks(self, layer: Layer, rows: Rows) -> list[Any]:
        picture = self.picture
        x, y = layer.x or picture.x.column, layer.y or picture.y.column
        kept = [rows[i] for i in look.thin(len(rows), look.MOST_POINTS // len(self.layers))]
        # Pages hold the rows of their figures: only the columns that are drawn.
        used = dict.fromkeys((x, y, layer.x2, layer.y2, layer.text, layer.order, layer.group, picture.colour))
        frame = pd.DataFrame([{c: r[c] for c in used if c in r} for r in kept])
        # Names are text, also those that are numbers, as in the domains of axes and colours.
        texts = {c for a, c in ((picture.x, x), (picture.y, y)) if a.kind == "N"}
        for column in (texts | {picture.colour, layer.group}) & set(frame):
            frame[column] = frame[column].astype(str)
        shown = self.every if not self.panels else rows
        order = [r for r in shown if x in r] or rows
        # Axes are typed by the first of their columns; the others share the scale.
        place = {
            "x": self._axis(alt.X, picture.x, x, order),
            "y": self._axis(alt.Y, picture.y, y, [r for r in shown if y in r] or rows),
        }
        base = alt.Chart(frame)
        if layer.mark not in MARKS:
            raise ConfigError(need_one_of(f"{picture.name}.mark", layer.mark, MARKS))
        made = self._simple if layer.mark in _SIMPLE else getattr(self, f"_{layer.mark}")
        marks: list[Any] = made(layer, base, place, self._colour(layer))
        return marks

    def _line(self, layer: Layer, base: Any, place: dict[str, Any], colour: Any) -> list[Any]:
        marked = dict(size=45) if layer.markers else False
        step = {"interpolate": "step-after"} if layer.step else {}
        of: dict[str, Any] = {**place, "color": colour}
        if self.picture.colour and not layer.plain:
            of["strokeDash"] = alt.StrokeDash(
                f"{_field(self.picture.colour)}:N",
                sort=self.names,
                title=self.picture.legend or None,
                scale=dict(domain=self.names, range=look.dashes(len(self.names))),
            )
        if layer.order:
            of["order"] = alt.Order(f"{_field(layer.order)}:Q")
        line = base.mark_line(strokeWidth=2.2, strokeJoin="round", point=marked, clip=True, **step).encode(**of)
        tooltip = [
            *([alt.Tooltip(f"{_field(self.picture.colour)}:N", title="series")]
              if self.picture.colour else []),
            alt.Tooltip(f"{place['x'].shorthand}", title=self.picture.x.title or "x"),
            alt.Tooltip(f"{place['y'].shorthand}", format=",.4~g", title=self.picture.y.title),
        ]  # fmt: skip
        if not self.alone or any(x.mark == "line" for x in self.layers[: self.layers.index(layer)]):
            return [line]
        return [line, look.pointed(base, tooltip, **place, color=colour)]

    def _bar(self, layer: Layer, base: Any, place: dict[str, Any], colour: Any) -> list[Any]:
        of: dict[str, Any] = {**place, "color": colour}
        if layer.group:
            of["xOffset"] = self._offset(layer)
        if layer.order:
            of["order"] = alt.Order(f"{_field(layer.order)}:Q")
        return [base.mark_bar(stroke="white", strokeWidth=0.5).encode(**of, **self._ends(layer))]

    def _simple(self, layer: Layer, base: Any, place: dict[str, Any], colour: Any) -> list[Any]:
        kind, size, usual, more = _SIMPLE[layer.mark]
        if layer.mark == "rect" and not layer.y2:
            kind, more = "bar", dict(stroke="white", strokeWidth=0.5, height=34)
        if layer.plain and layer.mark in ("rule", "tick"):
            colour = alt.ColorValue(look.AXIS)
        mark = getattr(base, f"mark_{kind}")(**({size: layer.size or usual} if size else {}), **more)
        ends = {} if kind in ("point", "tick") else self._ends(layer)
        return [mark.encode(**place, color=colour, **ends)]

    def _level(self, layer: Layer, base: Any, place: dict[str, Any], _: Any) -> list[Any]:
        y = place["y"]
        rule = base.mark_rule(color=look.AXIS, strokeDash=[3, 3]).encode(y=y)
        # Beside the plot, where no line is; the paper's words are a little above.
        low = 8 if any(p["x"] == "" for p in self.paper) else 0
        words = base.mark_text(align="left", dx=5, dy=low, color=look.FAINT_INK).encode(
            y=y, x=look.across("width"), text=alt.Text(f"{_field(layer.text)}:N")
        )
        return [rule, words]

    def _text(self, layer: Layer, base: Any, place: dict[str, Any], colour: Any) -> list[Any]:
        shown = alt.Text(f"{_field(layer.text)}:{'Q' if layer.format else 'N'}",
                         format=layer.format or alt.Undefined)  # fmt: skip
        mark = {"fontSize": layer.size or 11, "dx": layer.dx, "align": layer.align}
        ink = alt.ColorValue(look.INK)
        if not layer.group:
            return [look.halo(base.encode(**place), ink, shown, dy=layer.dy, **mark)]
        # The numbers of bars that point down are below them.
        field = f"datum[{json.dumps(place['y'].shorthand.rpartition(':')[0])}]"
        sides = [(base.transform_filter(f"{field} {sign} 0"), dy) for sign, dy in ((">=", layer.dy), ("<", -layer.dy))]
        offset = self._offset(layer)
        return [look.halo(side.encode(**place, xOffset=offset), ink, shown, dy=dy, **mark) for side, dy in sides]

    def _offset(self, layer: Layer) -> alt.XOffset:
        """Return the encoding of bars that stand side by side."""
        return alt.XOffset(f"{_field(layer.group)}:N", sort=_names(self.every, layer.group))

    def _ends(self, layer: Layer) -> dict[str, Any]:
        ends = {"x2": (alt.X2, layer.x2), "y2": (alt.Y2, layer.y2)}
        return {k: of(f"{_field(v)}:Q") for k, (of, v) in ends.items() if v}

    def _paper_levels(self, levels: Rows) -> list[Any]:
        base = alt.Chart(pd.DataFrame(list(levels))).encode(y=alt.Y("y:Q"))
        rule = base.mark_rule(color=look.INK, strokeDash=[8, 3, 2, 3], strokeWidth=1.3)
        high = -8 if any(x.mark == "level" for x in self.layers) else 0
        named = base.transform_calculate(label="'paper: ' + datum.text").encode(x=look.across("width"), text="label:N")
        return [rule, named.mark_text(align="left", dx=5, dy=high, color=look.INK)]

    def _paper(self, points: Rows) -> list[Any]:
        levels = [p for p in points if p["x"] == ""]
        points = [p for p in points if p["x"] != ""]
        drawn = self._paper_levels(levels) if levels else []
        if not points:
            return drawn
        frame = pd.DataFrame(list(points)).rename(columns={"text": "said"})
        x: Any = "x:Q"
        if self.picture.x.kind == "N":
            column = self.picture.x.column
            frame["x"] = frame["x"].astype(str)
            x = alt.X("x:N", scale=dict(domain=_names(self.every, column)))
        base = alt.Chart(frame).encode(x=x, y=alt.Y("y:Q"), tooltip=[alt.Tooltip("what:N"), alt.Tooltip("said:N")])
        if self.picture.x.kind == "N":
            marks = base.mark_tick(size=36, thickness=3, color=look.INK)
        else:
            marks = base.mark_point(shape="diamond", size=110, filled=False, strokeWidth=2, color=look.INK, opacity=1)
        named = base.transform_calculate(label="'paper: ' + datum.said")
        words = [
            look.halo(named.transform_filter(side), alt.ColorValue(look.INK), "label:N", dy=dy)
            for side, dy in (("!datum.below", -11), ("datum.below", 13))
        ]
        return [*drawn, marks, *words]


def _scale(kind: Any, axis: Axis, room: bool) -> Any:
    free = not axis.domain
    own: dict[str, Any] = {"nice": kind is alt.Y and not axis.log and free}
    own |= {"type": "log", "base": axis.log} if axis.log else {"zero": axis.zero}
    if not free:
        own["domain"] = list(axis.domain)
    elif kind is alt.Y and (axis.log or room):
        # Room for marks and texts at the ends.
        own["padding"] = 16
    return dict(**own)


def _names(rows: Rows, column: str) -> list[str]:
    """Return the values of a column as text, each once, in the order of the rows."""
    return list(dict.fromkeys(str(r[column]) for r in rows if r.get(column) is not None))


def _field(column: str) -> str:
    """Return a column's name as Vega-Lite reads it."""
    return column.replace(".", "\\.").replace("[", "\\[").replace("]", "\\]")


def _code(name: str) -> str:
    """Return the colour of a part of time, of the background, or the code itself."""
    return look.PARTS.get(name) or {"context": look.CONTEXT}.get(name, name)
