"""Tables and figures of a sweep: means over seeds with their confidence intervals."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headstack.errors import ConfigError
from headstack.results import paired
from headstack.runs.sweeps.axes import quantity
from headstack.suggest import need_one_of

if TYPE_CHECKING:
    from headstack.show.plots.look import Chart

Row = Mapping[str, Any]

#: Short names of columns that are often drawn.
SHORT = {
    "mean": "response_time_mean_s",
    "p50": "response_time_p50_s",
    "p90": "response_time_p90_s",
    "p95": "response_time_p95_s",
    "p99": "response_time_p99_s",
    "p999": "response_time_p999_s",
    "iops": "throughput_iops",
    "power": "power_mean_w",
    "energy": "energy_j",
}

#: Titles of those columns.
_TITLES = {"response_time": "response time", "throughput_iops": "requests per second", "power_mean_w": "mean power"}

#: Units at the end of a column, as shown, and their factor.
_UNITS = {"s": ("ms", 1e3), "w": ("W", 1.0), "j": ("J", 1.0), "bytes": ("B", 1.0), "usd": ("$", 1.0)}

#: Ratio of the largest to the smallest number from which colours are logarithmic.
_STEEP = 20

#: Most cells of a heat map that have their number written in.
_WRITTEN = 150


def column(measure: str, rows: Sequence[Row]) -> str:
    """Return the column of a measure, given by its name or a short one.

    Raises:
        ConfigError: there is no such column of numbers.
    """
    name = SHORT.get(measure, measure)
    if any(isinstance(r.get(name), int | float) for r in rows) or not rows:
        return name
    known = {k for r in rows for k, v in r.items() if isinstance(v, int | float)}
    raise ConfigError(need_one_of("measure", measure, [*SHORT, *sorted(known)]))


def unit(name: str) -> tuple[str, str, float]:
    """Return title and unit of a column as shown, and the factor of its numbers.

    Example:
        >>> unit("response_time_p99_s"), unit("queue_depth_mean")
        (('p99 response time', 'ms', 1000.0), ('queue depth mean', '', 1.0))
    """
    stem, _, last = name.rpartition("_")
    shown, factor = _UNITS.get(last, ("", 1.0))
    if name in _TITLES:
        return _TITLES[name], shown, factor
    if stem.startswith("response_time_"):
        return f"{stem.removeprefix('response_time_')} response time", shown, factor
    return (stem if shown else name).replace("_", " "), shown, factor


def titled(name: str) -> str:
    """Return the title of a column with its unit."""
    title, shown, _ = unit(name)
    return f"{title} ({shown})" if shown else title


def averaged(rows: Sequence[Row], keys: Sequence[str], measures: Sequence[str]) -> list[Row]:
    """Return one row for each point, system and workload: mean and half of the interval.

    Args:
        rows: one for each run, system and workload.
        keys: the columns of the point.
        measures: the columns that are averaged; ``NAME`` is the mean, ``NAME_half`` half of its
            95 % interval over seeds, None if there is one seed.
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found_at = (row.get(k) for k in (*keys, "name", "workload"))
        place = tuple(str(v) if isinstance(v, list | dict) else v for v in found_at)
        groups.setdefault(place, []).append(row)
    found: list[Row] = []
    for group in groups.values():
        first = group[0]
        one = {k: first.get(k) for k in (*keys, "name", "workload", "error")}
        one["n_seeds"] = len(group)
        one["overloaded"] = any(r.get("overloaded") for r in group)
        for name in measures:
            values = [float(r[name]) for r in group if isinstance(r.get(name), int | float)]
            mean, half = paired.interval(values) if values else (None, None)
            one[name] = mean
            one[f"{name}_half"] = half if len(values) > 1 else None
        found.append(one)
    return found


def numbers(values: Sequence[Any]) -> tuple[list[float], str] | None:
    """Return values as numbers of one unit; None if they are not."""
    try:
        pairs = [quantity(v, "axis") for v in values]
    except ConfigError:
        return None
    units = {u for _, u in pairs}
    return ([n for n, _ in pairs], units.pop()) if len(units) == 1 else None


def _labels(rows: Sequence[Row]) -> list[str]:
    """Return what tells the systems of rows apart."""
    several = len({r.get("workload") for r in rows}) > 1
    return [f"{r['name']} on {r['workload']}" if several else str(r["name"]) for r in rows]


def draw(rows: Sequence[Row], axes: Sequence[str], measure: str) -> "Chart | None":
    """Return the figure of a sweep: a curve over one axis, heat maps over two; else none.

    Args:
        rows: as from `averaged`, without those that have an error.
        axes: the columns of the axes, one for each.
        measure: the column that is drawn.
    """
    good = [r for r in rows if r.get(measure) is not None]
    if not good or len(axes) not in (1, 2):
        return None
    return _curve(good, axes[0], measure) if len(axes) == 1 else _heat(good, axes, measure)


def _curve(rows: Sequence[Row], key: str, measure: str) -> "Chart":
    import altair as alt
    import pandas as pd

    from headstack.show.plots import look

    title, _, factor = unit(measure)
    found = numbers([r[key] for r in rows])
    labels = _labels(rows)
    names = list(dict.fromkeys(labels))
    points = []
    for i, (row, label) in enumerate(zip(rows, labels, strict=True)):
        half = row.get(f"{measure}_half") or 0.0
        middle = row[measure]
        points.append(
            {
                "x": found[0][i] if found else str(row[key]),
                "y": middle * factor,
                "low": (middle - half) * factor,
                "high": (middle + half) * factor,
                "system": label,
            }
        )
    base = alt.Chart(pd.DataFrame(points))
    said = f"{key} ({found[1]})" if found and found[1] else key
    order = None if found else list(dict.fromkeys(str(r[key]) for r in rows))
    if found:
        ticks = dict(format="d", tickMinStep=1) if _whole(found[0]) else dict(format="~g")
        x = alt.X("x:Q", title=said, scale=_scale(found[0]), axis=ticks)
    else:
        x = alt.X("x:N", title=said, sort=order, axis=dict(labelAngle=0))
    y = alt.Y("y:Q", title=titled(measure), scale=dict(zero=False))
    # The bands must not make the symbols of the legend faint.
    colour = look.colour(names).legend(symbolOpacity=1.0)
    layers: list[Any] = []
    if any(r.get(f"{measure}_half") for r in rows):
        ends = {"x": x, "color": colour, "y2": alt.Y2("high:Q")}
        low = alt.Y("low:Q", title=titled(measure), scale=dict(zero=False))
        band = base.mark_area(opacity=0.22) if found else base.mark_rule(strokeWidth=2)
        layers.append(band.encode(y=low, **ends))
    line = base.mark_line(strokeWidth=2.2, point=dict(size=45))
    layers.append(line.encode(x=x, y=y, color=colour, strokeDash=look.dash(names)))
    tooltip = [
        alt.Tooltip("system:N", title="system"),
        alt.Tooltip("x:Q" if found else "x:N", title=said),
        alt.Tooltip("y:Q", format=",.4~g", title=titled(measure)),
    ]
    layers.append(look.pointed(base, tooltip, x=x, y=y, color=colour))
    seeds = max(r["n_seeds"] for r in rows)
    more = f": means of {seeds} seeds, 95 % bands" if seeds > 1 else ""
    heading = f"{title} by {key}{more}"
    chart = alt.layer(*layers, title=heading, description=heading)
    return look.style(chart.properties(width=look.WIDTH, height=look.HEIGHT))


def _whole(values: Sequence[float]) -> bool:
    return all(v == int(v) for v in values)


def _scale(values: Sequence[float]) -> Any:
    """Return a logarithmic scale where steps grow, else a linear one."""
    ordered = sorted(set(values))
    grows = len(ordered) > 2 and ordered[0] > 0 and ordered[-1] / ordered[0] >= 16
    wide = grows and ordered[1] - ordered[0] < (ordered[-1] - ordered[0]) / (2 * len(ordered))
    if wide:
        return dict(type="log", nice=False)
    return dict(zero=False, nice=False)


def _heat(rows: Sequence[Row], axes: Sequence[str], measure: str) -> "Chart":
    import altair as alt
    import pandas as pd

    from headstack.show.plots import look

    title, _, factor = unit(measure)
    labels = _labels(rows)
    across, down = axes
    cells = [
        {
            "x": str(r[across]),
            "y": str(r[down]),
            "z": r[measure] * factor,
            "half": (r.get(f"{measure}_half") or 0.0) * factor,
            "system": label,
        }
        for r, label in zip(rows, labels, strict=True)
    ]
    orders = {axis: list(dict.fromkeys(str(r[axis]) for r in rows)) for axis in axes}
    panels = []
    largest = max(c["z"] for c in cells)
    smallest = min(c["z"] for c in cells)
    # Times near saturation are so long that all others would have one colour.
    steep = smallest > 0 and largest / smallest > _STEEP
    kind: Any = "log" if steep else "linear"
    scale = dict(type=kind, scheme="viridis", reverse=True, domain=[smallest, largest])
    middle = (smallest * largest) ** 0.5 if steep else (smallest + largest) / 2
    for name in dict.fromkeys(labels):
        own = [c for c in cells if c["system"] == name]
        base = alt.Chart(pd.DataFrame(own)).encode(
            x=alt.X("x:N", title=across, sort=orders[across], axis=dict(labelAngle=0)),
            y=alt.Y("y:N", title=down, sort=orders[down][::-1]),
        )
        rect = base.mark_rect().encode(
            color=alt.Color("z:Q", title=titled(measure).split(" "), scale=scale),
            tooltip=[
                alt.Tooltip("x:N", title=across),
                alt.Tooltip("y:N", title=down),
                alt.Tooltip("z:Q", title=titled(measure), format=",.4~g"),
                alt.Tooltip("half:Q", title="half of the 95 % interval", format=",.3~g"),
            ],
        )
        layers: list[Any] = [rect]
        if len(own) <= _WRITTEN:
            layers.append(
                base.mark_text(fontSize=11).encode(
                    text=alt.Text("z:Q", format=",.3~r"),
                    color=alt.condition(f"datum.z > {middle}", alt.value("#FFFFFF"), alt.value("#222222")),
                )
            )
        panel = alt.layer(*layers).properties(width=look.WIDTH, height=look.HEIGHT, title=name)
        panels.append(panel)
    heading = f"{title} by {across} and {down}"
    return look.style(alt.vconcat(*panels, title=heading, description=heading))
