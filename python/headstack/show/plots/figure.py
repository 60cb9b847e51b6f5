"""Figures that are Vega-Lite specifications: adds the tables, the style of all figures, and a paper's own values.

What a specification says stands. Otherwise a column of numbers is quantitative and any other nominal, names keep the
order of the table, an axis of x has its ticks at the values that were measured if these are few, and lines of different
colours also differ in dashes. The paper's values are black diamonds; over names they are black ticks.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
from altair.utils.schemapi import SchemaValidationError

from headstack.errors import ConfigError
from headstack.show.plots import distributions, look
from headstack.suggest import need_one_of

Rows = Sequence[Mapping[str, Any]]
Spec = dict[str, Any]

#: Vega-Lite's `config` of these figures, beside that of all figures.
CONFIG: Spec = {
    "scale": {"zero": False},
    "range": {"category": [*look.PALETTE]},
    "view": {"strokeWidth": 0, "continuousWidth": look.WIDTH, "discreteWidth": look.WIDTH,
             "continuousHeight": look.HEIGHT, "discreteHeight": look.HEIGHT},
    "header": {**look.CONFIG["header"], "labelAnchor": "start", "labelFontWeight": 600, "labelLimit": look.WIDTH},
    "axisXDiscrete": {"labelAngle": 0, "labelLimit": 240},
    "axisYDiscrete": {"labelLimit": 240},
    "mark": {"color": look.PALETTE[0]},
    "line": {"strokeWidth": 2.2, "strokeJoin": "round"},
    "point": {"size": 45, "strokeWidth": 2, "opacity": 1},
    "circle": {"size": 60, "opacity": 0.85},
    "bar": {"stroke": "white", "strokeWidth": 0.5},
    "rect": {"stroke": "white", "strokeWidth": 1.2},
    "rule": {"color": look.AXIS},
    "tick": {"color": look.AXIS},
    "errorbar": {"ticks": True},
}  # fmt: skip

#: Altair's classes of figures, by the key that only figures of that kind have.
_KINDS: Mapping[str, Any] = {
    "mark": alt.TopLevelUnitSpec,
    "layer": alt.TopLevelLayerSpec,
    "concat": alt.TopLevelConcatSpec,
    "hconcat": alt.TopLevelHConcatSpec,
    "vconcat": alt.TopLevelVConcatSpec,
    "facet": alt.TopLevelFacetSpec,
}

#: Channels whose names keep the order of the table.
_SCALED = {"x", "y", "xOffset", "yOffset", "color", "strokeDash"}

#: Colours that have names.
_COLOURS = {**look.PARTS, "context": look.CONTEXT}

#: How a specification names a column.
_NAMED = ('"{}"', "datum.{}", "datum['{}']")

#: Most values of an x axis that are all labelled.
FEW = 12


def draw(
    spec: Spec,
    tables: Mapping[str, Rows],
    at: str = "",
    paper: Mapping[str, Rows] | None = None,
    select: Callable[[Rows], Rows] = list,
) -> look.Chart | Spec:
    """Return a figure with its data, in the style of all figures.

    Args:
        spec: a Vega-Lite specification whose data are names of tables. Instead of marks and encodings it may have
            `plot`: ``cumulative`` draws distributions of times, from columns ``system, ms, share``, and
            ``overloaded`` if there is one.
        tables: rows by table.
        at: where it is written.
        paper: the paper's values by the name of the figure, or of a view in it: ``x, y, what, text, below``.
        select: which rows of a table it shows.

    Raises:
        ConfigError: it is no valid specification, a table or a column is unknown, or there is nothing to draw.
    """
    title = spec.get("title", "")
    said = " ".join(title) if isinstance(title, list) else title
    drawing = _Drawing(spec, tables, paper or {}, select)
    if "plot" in spec:
        return _plotted(spec["plot"], drawing.rows(spec.get("data"), at), said, at)
    _check(spec, at)
    whole = drawing.view({"description": said, **spec}, None, {}, at, alone=True)
    text = json.dumps(whole).replace("\\", "")
    symbols = {"columns": 2, "symbolType": "stroke"} if '"type": "line"' in text else {"columns": 3}
    legend = {**look.CONFIG["legend"], "orient": "bottom", "labelLimit": 430, **symbols}
    config = {**look.CONFIG, **CONFIG, "legend": legend, **spec.get("config", {})}
    return {"$schema": alt.SCHEMA_URL, **whole, "config": config, "datasets": drawing.datasets(text)}


def _check(spec: Spec, at: str) -> None:
    kind = next((k for k in _KINDS if k in spec), "mark")
    try:
        _KINDS[kind](**spec).to_dict()
    except SchemaValidationError as e:
        place = "".join(f".{key}" for key in e.absolute_path)
        whole = isinstance(e.instance, Mapping)
        got = ", ".join(e.instance) if whole else repr(e.instance)
        said = str(e).replace(f"'{e.instance}'", "this") if whole else str(e)
        need = " ".join(said.partition("\n\nSee the help")[0].split())
        raise ConfigError(f"{at}{place}: got {got}, need Vega-Lite's terms; {need}") from None


def _plotted(name: str, rows: Rows, title: str, at: str) -> look.Chart:
    if name != "cumulative":
        raise ConfigError(need_one_of(f"{at}.plot", name, ["cumulative"]))
    found: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        found.setdefault(row["system"], []).append((row["ms"], row["share"]))
    late = {row["system"] for row in rows if row.get("overloaded")}
    curves = {system: np.array(points, dtype=float) for system, points in found.items()}
    return distributions.cumulative(curves, title, title, overloaded=late)


class _Drawing:
    """One figure with the tables that it shows."""

    def __init__(
        self, spec: Spec, tables: Mapping[str, Rows], paper: Mapping[str, Rows], select: Callable[[Rows], Rows]
    ) -> None:
        self.name, self.tables, self.paper, self.select = spec.get("name", "rows"), tables, paper, select
        self.shown: dict[str, Rows] = {}
        self.layers, self.panel = 0, ""
        #: Columns that transforms make.
        self.made = set(re.findall(r'"as": "([^"]*)"', json.dumps(spec)))

    def rows(self, data: Spec | None, at: str) -> Rows:
        """Return the rows of a table that a view names."""
        name = (data or {}).get("name", "")
        if name not in self.tables:
            raise ConfigError(need_one_of(f"{at}.data.name", name, self.tables))
        if name not in self.shown:
            self.shown[name] = self.select(self.tables[name])
            look.need(self.shown[name], self.name)
        return self.shown[name]

    def datasets(self, spec: str) -> Spec:
        """Return the tables that were shown: pages hold only columns that their figures name."""
        most, sets = look.MOST_POINTS // max(1, self.layers), {}
        for name, rows in self.shown.items():
            panels: dict[Any, list[Mapping[str, Any]]] = {}
            for row in rows:
                panels.setdefault(row.get(self.panel), []).append(row)
            kept = [panel[i] for panel in panels.values() for i in look.thin(len(panel), most)]
            used = [c for c in rows[0] if any(of.format(c) in spec for of in _NAMED)]
            sets[name] = [{c: _plain(row[c]) for c in used} for row in kept]
        return sets

    def view(self, view: Spec, data: Spec | None, shared: Spec, at: str, *, alone: bool) -> Spec:
        """Complete a view; `shared` is the encoding of those around it, `alone` whether no other is beside it."""
        data = view.get("data", data)
        for kind in {"concat", "hconcat", "vconcat"} & view.keys():
            inside = enumerate(view[kind])
            return {**view, kind: [self.view(v, data, {}, f"{at}.{kind}.{i}", alone=False) for i, v in inside]}
        if "facet" in view:
            self.panel = view["facet"].get("field", "")
            facet = self._channel("facet", {"field": "", **view["facet"]}, self.rows(data, at), f"{at}.facet")
            columns = view.get("columns", len(facet["sort"]))
            # With these numbers the page fits panels into its width.
            fitted = {"columns": columns, "usermeta": {"columns": columns, "panels": len(facet["sort"])}}
            spec = self.view(view["spec"], data, {}, f"{at}.spec", alone=False)
            return {**view, **fitted, "facet": facet, "spec": spec}
        self._filters(view, data, at)
        encoding = _inherited(shared, view.get("encoding", {}))
        for channel in {"row", "column", "facet"} & encoding.keys():
            raise ConfigError(f"{at}.encoding: got {channel}, need none: panels are views of a facet")
        drawn: list[Spec] = []
        for i, layer in enumerate(view.get("layer", [{"mark": view.get("mark")}])):
            place = f"{at}.layer.{i}" if "layer" in view else at
            if "layer" in layer:
                drawn.append(self.view(layer, data, encoding, place, alone=False))
            else:
                pointed = not alone or any(d.get("name") == look.POINTER for d in drawn)
                drawn += self._marks(layer, data, encoding, place, alone=not pointed)
        drawn += self._paper(view.get("name", ""), drawn[0])
        own = {k: v for k, v in view.items() if k not in ("mark", "layer", "encoding")}
        return {**own, **({"layer": drawn} if len(drawn) > 1 or "layer" in view else drawn[0])}

    def _filters(self, view: Spec, data: Spec | None, at: str) -> None:
        for i, step in enumerate(view.get("transform", ())):
            self._channel("filter", step.get("filter"), self.rows(data, at), f"{at}.transform.{i}.filter")

    def _channel(self, channel: str, given: Any, rows: Rows, at: str) -> Any:
        """Complete a channel of an encoding, unless it has a constant."""
        if not isinstance(given, Mapping) or "field" not in given:
            return given
        column = given["field"].replace("\\", "")
        if column not in rows[0] and column not in self.made:
            raise ConfigError(need_one_of(f"{at}.field", column, rows[0]))
        if channel in ("x2", "y2") or column in self.made:
            return given
        values = [*dict.fromkeys(row[column] for row in rows if row[column] is not None)]
        numbers = all(type(v) in (int, float) for v in values)
        own: Spec = {"type": "quantitative" if numbers else "nominal", **given}
        if channel == "facet":
            return {"title": None, "sort": values, **own}
        if channel not in _SCALED:
            return own
        own = {"title": None, **own}
        if own["type"] == "nominal":
            # Layers of one domain share a legend, and their sorts cannot conflict.
            scale = {**({} if "sort" in own else {"domain": values}), **own.get("scale", {})}
            named = {"range": [_COLOURS.get(c, c) for c in scale["range"]]} if "range" in scale else {}
            return {"sort": None, **own, "scale": scale | named}
        return own | _axis(channel, own, values) if channel in ("x", "y") else own

    def _marks(self, layer: Spec, data: Spec | None, shared: Spec, at: str, *, alone: bool) -> list[Spec]:
        """Return a layer as it is drawn, and what belongs to it."""
        self.layers += 1
        rows = self.rows(layer.get("data", data), at)
        mark = layer["mark"] if isinstance(layer["mark"], Mapping) else {"type": layer["mark"]}
        own = layer.get("encoding", {})
        if mark["type"] == "text":
            own = {"color": {"value": look.INK}, **own}
        of = _inherited(shared, own)
        encoding = {c: self._channel(c, v, rows, f"{at}.encoding.{c}") for c, v in of.items()}
        self._filters(layer, layer.get("data", data), at)
        layer = {**layer, "mark": mark, "encoding": encoding}
        if mark["type"] == "text":
            return _halo(layer)
        if mark["type"] in ("line", "circle"):
            layer["mark"] = {"clip": True, **mark}
        if mark["type"] != "line":
            return [layer]
        colour = encoding.get("color", {})
        if colour.get("type") == "nominal":
            dashes = look.dashes(len({row[colour["field"]] for row in rows}))
            encoding.setdefault("strokeDash", {**colour, "scale": {**colour["scale"], "range": dashes}})
        return [layer, _pointer(layer)] if alone else [layer]

    def _paper(self, name: str, beside: Spec) -> list[Spec]:
        """Return the paper's values for a view, on the axes of its first layer."""
        drawn = []
        for kind, points in (("levels", [p for p in self.paper.get(name, ()) if p["x"] == ""]),
                             ("points", [p for p in self.paper.get(name, ()) if p["x"] != ""])):  # fmt: skip
            if not points:
                continue
            table = f"{kind} of the paper, {name}"
            self.shown[table] = points
            x, y = ({**beside.get("encoding", {}).get(c, {}), "field": c} for c in "xy")
            ink, text = {"color": look.INK}, {"field": "label"}
            label = [{"calculate": "'paper: ' + datum.text", "as": "label"}]
            data, what = {"name": table}, [{"field": "what"}, {"field": "text"}]
            if kind == "levels":
                mark = {"type": "rule", "strokeDash": [8, 3, 2, 3], "strokeWidth": 1.3, **ink}
                words = {"type": "text", "align": "left", "dx": 5, "dy": -8, **ink}
                drawn.append({"data": data, "mark": mark, "encoding": {"y": y}})
                x = {"value": "width"}
            else:
                diamond = {"type": "point", "shape": "diamond", "size": 110, **ink}
                mark = (
                    diamond if x.get("type") == "quantitative" else {"type": "tick", "size": 36, "thickness": 3, **ink}
                )
                words = {"type": "text", "dy": {"expr": "datum.below ? 13 : -11"}, **ink}
                drawn.append({"data": data, "mark": mark, "encoding": {"x": x, "y": y, "tooltip": what}})
            named = {"data": data, "transform": label, "mark": words, "encoding": {"x": x, "y": y, "text": text}}
            drawn += _halo(named)
        return drawn


def _inherited(shared: Spec, own: Spec) -> Spec:
    """Return an encoding within another: as in Vega-Lite, a field takes over what it does not say itself."""
    both = {c: {**shared[c], **own[c]} for c in shared.keys() & own.keys() if "field" in own[c]}
    return {**shared, **own, **both}


def _axis(channel: str, given: Spec, values: Sequence[Any]) -> Spec:
    """Return scale and axis of a channel with numbers."""
    scale, axis = given.get("scale", {}), given.get("axis", {})
    up, log, free = channel == "y", scale.get("type") == "log", "domain" not in scale
    # Room for marks and texts at the ends.
    room = {"padding": 16} if up and log and free else {}
    ticks = {"values": sorted(values)} if not up and len(values) <= FEW else {}
    form = {"format": "~g"} if log else {}
    return {"scale": {"nice": up and not log and free, **room, **scale}, "axis": {**form, **ticks, **axis}}


def _halo(layer: Spec) -> list[Spec]:
    """Return a text that is readable over lines and bars: its outline, then the text."""
    outline = {**layer["mark"], "stroke": look.BACKGROUND, "strokeWidth": 4, "strokeJoin": "round"}
    behind = {**layer["encoding"], "color": {"value": look.BACKGROUND}}
    return [{**layer, "mark": outline, "encoding": behind}, layer]


def _pointer(layer: Spec) -> Spec:
    """Return the layer that shows the values of a line's point nearest the pointer."""
    encoding = layer["encoding"]
    named = {"color": "series", "x": "x", "y": "y"}
    shown = [
        alt.Tooltip(
            field=of["field"],
            type=of.get("type", "nominal"),
            title=named[c] if c == "color" else of.get("title") or named[c],
            format=",.4~g" if c == "y" else alt.Undefined,
        )
        for c, of in ((c, encoding[c]) for c in named if "field" in encoding.get(c, {}))
    ]
    channels = {c: encoding[c] for c in named if c in encoding}
    spec = look.pointed(alt.Chart(), shown, **channels).to_dict(validate=False, context={"top_level": False})
    # Not the table: Altair gives a chart without one an empty one.
    return {**layer, **{k: spec[k] for k in ("name", "mark", "encoding", "params")}}


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: numbers that are missing or infinite are null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
