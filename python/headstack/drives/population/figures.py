"""Figures of a population: how its drives, and the heads within a drive, differ."""

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from headstack.show import plots
from headstack.show.plots import look
from headstack.show.plots.look import Chart

from .drawn import Population

#: Drives that are shown one by one.
SHOWN = 40


def figures(population: Population) -> dict[str, Any]:
    """Return the figures by name: rates of drives, classes of heads, heads of single drives."""
    return {"drives": rates(population), "classes": classes(population), "heads": heads(population)}


def rates(population: Population) -> Chart:
    """Draw the distribution of drives' rates over the first quarter, MB/s."""
    found = population.quarter_rates() / 1e6
    bins = max(5, min(50, round(len(found) ** 0.5)))
    counts, edges = np.histogram(found, bins=bins)
    frame = pd.DataFrame({"x": edges[:-1], "x2": edges[1:], "n": counts})
    chart = (
        alt.Chart(frame, title=f"{population.spec['name']}: rate over the first quarter")
        .mark_bar(color=plots.PALETTE[0], stroke="white")
        .encode(
            x=alt.X("x:Q", title="MB/s", scale=dict(zero=False, nice=False)),
            x2="x2:Q",
            y=alt.Y("n:Q", title="drives", axis=dict(format=",~f")),
            y2=alt.datum(0),
        )
    )
    figure: Chart = plots.style(chart.properties(width=look.WIDTH, height=look.HEIGHT))
    return figure


def classes(population: Population) -> Chart:
    """Draw how many heads have each class of density."""
    values, counts = np.unique(population.classes, return_counts=True)
    share = counts / counts.sum()
    frame = pd.DataFrame({"class": [f"{int(k):+d}" if k else "0" for k in values], "share": share})
    base = alt.Chart(frame).encode(
        x=alt.X("class:N", sort=None, axis=dict(labelAngle=0)).title(
            f"class: bits per inch by exp({population.preset.policy.step:g} class)"
        ),
        y=alt.Y("share:Q", title="share of the heads", axis=dict(format="%")),
    )
    texts = base.mark_text(dy=-8, color=look.INK).encode(text=alt.Text("share:Q", format=".1%"))
    chart = alt.layer(base.mark_bar(color=plots.PALETTE[0]), texts)
    title = f"{population.spec['name']}: density classes of heads"
    return plots.style(chart.properties(title=title, width=look.WIDTH, height=look.HEIGHT))


def heads(population: Population) -> Chart:
    """Draw the heads of the first drives: bits per inch against the nominal, and their mean."""
    some = population.densities[:SHOWN, :, 0]
    frame = pd.DataFrame(
        [{"drive": drive, "bpi": 100 * (float(bpi) - 1)} for drive, row in enumerate(some) for bpi in row]
    )
    means = frame.groupby("drive", as_index=False)["bpi"].mean()
    x = alt.X("drive:O", title="drive", axis=dict(labelAngle=0, values=list(range(0, SHOWN, 5))))
    y = alt.Y("bpi:Q", title="bits per inch against the nominal drive (%)")
    points = (alt.Chart(frame).mark_point(size=28, filled=True, opacity=0.5, color=plots.PALETTE[0])).encode(x=x, y=y)
    ticks = alt.Chart(means).mark_tick(color=plots.PALETTE[3], thickness=3, size=12).encode(x=x, y=y)
    title = [f"{population.spec['name']}: heads of drives", "points: heads; lines: their mean"]
    chart = alt.layer(points, ticks)
    return plots.style(chart.properties(title=title, width=look.WIDTH, height=look.HEIGHT))
