"""Figures that several claims share: with the paper's axes and bins, and with finer ones."""

import bisect
import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from headstack import plots
from headstack.studies.as_code import Study, Table

from .systems import (
    Load,
    keeps_up,
    mean_ms,
    mode_share,
    nonzero_seeks,
    watts,
    within,
)

#: Classes of response times in ms, and of rotational latencies: those of the statistics file of
#: DiskSim, which the paper used.
RESPONSE_BINS_MS = (5, 10, 20, 40, 60, 90, 120, 150, 200)
ROTATION_BINS_MS = (1, 3, 5, 7, 8, 9, 11, 13, 15)

#: Smallest share in our tails.
RAREST = 1e-4

#: States of the drives in the stacking order of the paper, and the paper's names for them.
STATES = {"idle": "idle", "seek": "seek", "rotation": "rotational latency", "transfer": "transfer"}

#: Most labels along an axis that are written horizontally.
LEVEL_LABELS = 4


def responses(
    study: Study, name: str, title: str, results: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """Draw response times in DiskSim's classes (figures 2, 4, 5, 7), then the distribution."""
    shown = {"systems": list(results.values())}
    return [
        study.figure(name, lambda: _classes(f"{title}, DiskSim's classes", results)),
        study.figure(
            f"{name}-fine", lambda: plots.cdf(shown).properties(title=f"{title}, every time")
        ),
    ]


def _classes(title: str, results: Mapping[str, Mapping[str, Any]]) -> Any:
    """Draw the share of requests within the times of the paper's axis."""
    classes = [*map(str, RESPONSE_BINS_MS), f"{RESPONSE_BINS_MS[-1]}+"]
    shares = {
        name: [*(within(r, ms / 1e3) for ms in RESPONSE_BINS_MS), 1.0]
        for name, r in results.items()
    }
    y = alt.Y(
        "y:Q",
        title="requests answered",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format=".0%", tickCount=10),
    )
    return _by_class(shares, classes, title, "response time (ms, at most)", y)


def latencies(
    study: Study, name: str, title: str, results: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """Draw rotational latencies: shares per class (figure 5), then the tail."""
    found = {k: r["rotation"] for k, r in results.items()}
    return [
        study.figure(name, lambda: _latency_classes(f"{title}, DiskSim's classes", found)),
        study.figure(f"{name}-tail", lambda: _tails(f"{title}, the tails", found)),
    ]


def _latency_classes(title: str, found: Mapping[str, Mapping[str, Any]]) -> Any:
    edges = [0, *ROTATION_BINS_MS]
    # Classes that no system reaches are left out.
    longest = max(float(r["max_s"]) * 1e3 for r in found.values())
    edges = edges[: bisect.bisect_left(edges, longest) + 1]
    classes = [f"{a} to {b}" for a, b in pairwise(edges)]
    shares = {}
    for name, r in found.items():
        counts = np.asarray(r["counts"], dtype=float)
        middles = (np.arange(len(counts)) + 0.5) * float(r["bin_s"]) * 1e3
        sums, _ = np.histogram(middles, bins=edges, weights=counts)
        shares[name] = [float(n) / counts.sum() for n in sums]
    y = alt.Y("y:Q", title="requests", scale=alt.Scale(zero=True), axis=alt.Axis(format=".0%"))
    return _by_class(shares, classes, title, "rotational latency (ms)", y)


def _tails(title: str, found: Mapping[str, Mapping[str, Any]]) -> Any:
    points = {}
    for name, r in found.items():
        counts = np.asarray(r["counts"], dtype=float)
        longer = 1 - np.cumsum(counts) / counts.sum()
        width = float(r["bin_s"]) * 1e3
        points[name] = [
            (float((i + 1) * width), float(s)) for i, s in enumerate(longer) if s >= RAREST
        ]
    return plots.lines(
        points,
        alt.X("x:Q", title="rotational latency (ms)", axis=alt.Axis(format="~g")),
        alt.Y(
            "y:Q",
            title="requests that wait longer (logarithmic)",
            scale=alt.Scale(type="log", domain=[RAREST, 1], nice=False),
            axis=alt.Axis(format="~%", values=[1, 0.1, 0.01, 0.001, RAREST]),
        ),
        title,
    )


def _by_class(
    shares: Mapping[str, Sequence[float]], classes: Sequence[str], title: str, x: str, y: alt.Y
) -> Any:
    """Draw one line per system over classes at equal distances, as in the paper."""
    points = {name: list(enumerate(values)) for name, values in shares.items()}
    names = alt.Axis(labelExpr=f"{json.dumps(list(classes))}[datum.value]", labelAngle=0)
    return plots.lines(points, alt.X("x:O", title=x, axis=names), y, title, markers=True)


def power(title: str, results: Mapping[str, Mapping[str, Any]], most: float | None = None) -> Any:
    """Draw power by mode as stacked columns, as in the paper's figures 3 and 6.

    `most` is the end of the axis in W.
    """
    rows = [
        {"system": name, "mode": text, "order": i, "watts": watts(r, mode)}
        for name, r in results.items()
        for i, (mode, text) in enumerate(STATES.items())
    ]
    names, modes = list(results), list(STATES.values())
    totals = [{"system": name, "watts": watts(r)} for name, r in results.items()]
    x = alt.X(
        "system:N",
        sort=names,
        title=None,
        axis=alt.Axis(labelAngle=0 if len(names) <= LEVEL_LABELS else -40, labelLimit=200),
    )
    domain = alt.Scale(domain=[0, most]) if most else alt.Scale(zero=True)
    bars = (
        alt.Chart(pd.DataFrame(rows), description=title)
        .mark_bar(stroke="white", strokeWidth=0.5)
        .encode(
            x=x,
            y=alt.Y("sum(watts):Q", title="average power (W)", stack="zero", scale=domain),
            color=alt.Color(
                "mode:N",
                sort=modes,
                scale=alt.Scale(domain=modes, range=[plots.PARTS[m] for m in STATES]),
            ),
            order=alt.Order("order:Q"),
            tooltip=["system:N", "mode:N", alt.Tooltip("sum(watts):Q", format=".3~g")],
        )
    )
    text = (
        alt.Chart(pd.DataFrame(totals))
        .mark_text(dy=-7, fontSize=11, color="#222222")
        .encode(x=x, y="watts:Q", text=alt.Text("watts:Q", format=".1f"))
    )
    layered = (bars + text).properties(title=title, width=plots.WIDTH, height=plots.HEIGHT)
    return plots.style(layered)


def numbers(load: Load, results: Mapping[str, Mapping[str, Any]], title: str = "") -> Table:
    """Return the values in the text of the paper, for each system."""
    rows: Sequence[Sequence[str]] = [
        [
            name,
            "yes" if keeps_up(r) else "no: overloaded",
            f"{mean_ms(r):,.1f}",
            f"{within(r, 0.020):.1%}",
            f"{r['response_time_s']['p90'] * 1e3:,.1f}",
            f"{nonzero_seeks(r):.1%}",
            f"{mode_share(r, 'seek'):.1%}",
            f"{watts(r):.1f}",
            f"{r['n_errors']:,}",
        ]
        for name, r in results.items()
    ]
    note = f", {load.note}" if load.note else ""
    return Table(
        f"{title or 'Systems'} on {load.title}{note}",
        [
            "system",
            "keeps up",
            "mean ms",
            "within 20 ms",
            "p90 ms",
            "non-zero seeks",
            "time in seek",
            "power W",
            "errors",
        ],
        rows,
    )
