"""Figures of tidy tables as data; `plots.tidy` draws them.

A picture names a table with one observation in a row, the columns of its axes and the column whose
values have colours. Its layers are marks: lines, points, bars and others.
"""

from dataclasses import dataclass, field
from typing import Any

#: Marks of layers beside ``curve``, which fills a picture alone.
MARKS = ("line", "point", "ring", "bar", "rect", "rule", "tick", "range", "level", "text")


@dataclass(frozen=True)
class Axis:
    """An axis.

    Attributes:
        column: the column of its values.
        title: title with the unit.
        kind: ``Q`` for numbers, ``N`` for names in the order of the table.
        log: base of a logarithmic scale; 0 for a linear one.
        zero: whether the axis of numbers begins at zero.
        domain: first and last value.
        values: the values with ticks.
        labels: what stands at the positions 0, 1, ... instead of numbers.
        format: how numbers are written, in d3's notation.
        bare: whether the axis has neither ticks nor labels.
    """

    column: str = ""
    title: str = ""
    kind: str = "Q"
    log: float = 0
    zero: bool = False
    domain: tuple[float, ...] = ()
    values: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()
    format: str = ""
    bare: bool = False


@dataclass(frozen=True)
class Layer:
    """Marks of one kind.

    Attributes:
        mark: ``line``, ``point``, ``ring``, ``bar``, ``rect``, ``rule``, ``tick``, ``range`` (a bar
            with ends), ``level`` (a horizontal line with its name), ``text`` or ``curve`` (a
            distribution: ms, and the share of requests within it).
        table: the table, if it is not the picture's.
        where: values of columns to which it is limited.
        x: the column of the x axis, if it is not the picture's.
        y: the column of the y axis.
        x2: the end of bars and rectangles along x.
        y2: the end of bars, rules and ranges along y.
        text: the column with the texts, of `text` and `level`.
        format: how their numbers are written.
        order: the column that lines and stacks follow; x by default.
        group: the column whose bars stand side by side.
        size: size of a mark.
        step: whether lines are steps.
        markers: whether lines have their points marked.
        plain: whether it has the neutral colour instead of that of its row.
        dy: how far texts are below their place, in pixels.
        dx: how far to the right.
        align: ``left``, ``center`` or ``right``: the end of a text that is at its place.
    """

    mark: str
    table: str = ""
    where: dict[str, Any] = field(default_factory=dict)
    x: str = ""
    y: str = ""
    x2: str = ""
    y2: str = ""
    text: str = ""
    format: str = ""
    order: str = ""
    group: str = ""
    size: float = 0
    step: bool = False
    markers: bool = False
    plain: bool = False
    dy: float = -8
    dx: float = 0
    align: str = "center"


@dataclass(frozen=True)
class Picture:
    """A figure of tables.

    Attributes:
        name: name of its files, a template.
        title: title, or its lines; templates.
        table: its table.
        x: the x axis.
        y: the y axis.
        where: values of columns to which its table is limited.
        colour: the column whose values have colours.
        legend: title of the legend; ``none`` for no legend.
        colours: colours of values, if not those of the palette: names of parts of time, or codes.
        mark: the mark of its only layer.
        layers: its layers, if there are several.
        panel: the column whose values have panels of their own.
        pictures: pictures that are drawn side by side instead, each with its own axes.
        down: whether panels or pictures are below each other.
        width: width of a panel in pixels.
        height: its height.
    """

    name: str
    title: str | tuple[str, ...]
    table: str
    x: Axis = Axis()
    y: Axis = Axis()
    where: dict[str, Any] = field(default_factory=dict)
    colour: str = ""
    legend: str = ""
    colours: dict[str, str] = field(default_factory=dict)
    mark: str = "line"
    layers: tuple[Layer, ...] = ()
    panel: str = ""
    pictures: "tuple[Picture, ...]" = ()
    down: bool = False
    width: int = 0
    height: int = 0
