"""Power, cap, queues, throughput and response times of capped systems over time."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from headstack.show.plots import look
from headstack.show.plots.look import Chart
from headstack.show.plots.systems import labels

#: Strips of the course: column, title of its axis, factor.
STRIPS = (
    ("power_w", "power (W)", 1.0),
    ("throughput_iops", "requests/s", 1.0),
    ("admitted_p99_s", "p99 (ms)", 1e3),
    ("nr_requests", "host queue", 1.0),
    ("queue_depth", "drive queue", 1.0),
    ("read_expire_s", "read expiry (s)", 1.0),
)
STRIP_HEIGHT, OVERVIEW_HEIGHT = 120, 50


def frame(systems: Sequence[Mapping[str, Any]], most: int = look.MOST_POINTS) -> pd.DataFrame:
    """Return the series of systems as rows of means over equal times, at most `most` in all.

    Columns: ``system``, ``t`` (minutes), ``cap_w`` and those of `STRIPS`.
    """
    each = max(50, most // max(1, len(systems)))
    parts = []
    for name, system in zip(labels(systems), systems, strict=True):
        series = system["capping"]["series"]
        table = pd.DataFrame(
            {
                "t": np.asarray(series["t_s"], dtype=float) / 60,
                "cap_w": pd.to_numeric(pd.Series(series["cap_w"]), errors="coerce"),
                **{
                    column: pd.to_numeric(pd.Series(series[column]), errors="coerce") * factor
                    for column, _, factor in STRIPS
                },
            }
        )
        step = -(-len(table) // each)
        pieces = table.groupby(np.arange(len(table)) // max(1, step)).mean()
        parts.append(pieces.assign(system=name, limit="cap"))
    look.need(parts, "a series of capping")
    return pd.concat(parts, ignore_index=True)


def _strip(base: Any, column: str, title: str, x: Any, names: Sequence[str]) -> Chart:
    lines = base.mark_line(clip=True).encode(
        x=x,
        y=alt.Y(f"{column}:Q", title=title, scale=dict(zero=False)),
        color=look.colour(names),
        tooltip=[
            alt.Tooltip("system:N", title="system"),
            alt.Tooltip("t:Q", title="minute", format=".2f"),
            alt.Tooltip(f"{column}:Q", title=title, format=".4~g"),
        ],
    )
    figure: Chart = lines
    return figure


def course(systems: Sequence[Mapping[str, Any]], *, brush: bool = True) -> Chart:
    """Draw power and cap, throughput, response times and queues over time, one strip each.

    With `brush` a last strip shows the whole time; what is marked there is shown above.
    """
    data = frame(systems)
    names = labels(systems)
    chosen = alt.selection_interval(encodings=["x"], name="brush")
    scale = dict(domain=chosen, nice=False) if brush else dict(nice=False)
    x = alt.X("t:Q", title=None, scale=scale)
    base = alt.Chart(data)
    strips = []
    # The expiry is a setting of some elevators, which few policies change.
    changes = data["read_expire_s"].nunique() > 1
    wanted = [s for s in STRIPS if s[0] != "read_expire_s" or changes]
    for i, (column, title, _) in enumerate(wanted):
        last = i == len(wanted) - 1
        shown = x.title("time (min)") if last else x
        strip = _strip(base, column, title, shown, names)
        if column == "power_w":
            cap = base.mark_line(clip=True, color=look.INK, interpolate="step-before").encode(
                x=shown,
                y=alt.Y("cap_w:Q"),
                strokeDash=alt.StrokeDash("limit:N", title=None, scale=dict(domain=["cap"], range=[[4, 3]])),
            )
            strip = strip + cap
        strips.append(strip.properties(width=look.WIDTH, height=STRIP_HEIGHT))
    if brush:
        whole = (
            base.mark_line(clip=True)
            .encode(
                x=alt.X("t:Q", title="whole run (min): mark a time here", scale=dict(nice=False)),
                y=alt.Y("power_w:Q", title="W", scale=dict(zero=False), axis=dict(tickCount=2)),
                # The strips share one legend.
                color=look.colour(names),
            )
            .properties(width=look.WIDTH, height=OVERVIEW_HEIGHT)
            .add_params(chosen)
        )
        strips.append(whole)
    described = "Power with its cap, throughput, response times and queue sizes over time"
    return look.style(alt.vconcat(*strips, title="Course over time", description=described))


def queues(systems: Sequence[Mapping[str, Any]]) -> Chart:
    """Draw the sizes of host and drive queue against each other, one point per interval."""
    data = frame(systems)
    names = labels(systems)
    chart = (
        alt.Chart(data)
        .mark_circle(opacity=0.5)
        .encode(
            x=alt.X("nr_requests:Q", title="places of the host's queue"),
            y=alt.Y("queue_depth:Q", title="depth of the drive's queue"),
            size=alt.Size("power_w:Q", title="power (W)", scale=dict(zero=False)),
            color=look.colour(names),
        )
    )
    figure: Chart = look.style(
        chart.properties(title="Settings that were in force", width=look.WIDTH, height=look.HEIGHT)
    )
    return figure
