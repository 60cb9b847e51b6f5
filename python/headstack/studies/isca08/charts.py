"""Figures that several claims of the paper share."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from headstack import plots
from headstack.studies.study import Table

from .systems import (
    Load,
    mean_ms,
    mode_share,
    nonzero_seeks,
    watts,
    within,
)


def _titled(chart: Any, title: str) -> Any:
    return chart.properties(title=title)


def cdf(title: str, results: Mapping[str, Mapping[str, Any]]) -> Any:
    """Response-time CDFs of the paper's figures 2, 4, 5 and 7."""
    return _titled(plots.cdf({"systems": list(results.values())}), title)


def power(title: str, results: Mapping[str, Mapping[str, Any]]) -> Any:
    """Power by mode, as in the paper's figures 3 and 6."""
    return _titled(plots.power({"systems": list(results.values())}), title)


def latencies(title: str, results: Mapping[str, Mapping[str, Any]]) -> Any:
    """Probability density of rotational latencies, as in the paper's figure 5."""
    points = {}
    for name, result in results.items():
        found = result["rotation"]
        width, counts = found["bin_s"] * 1e3, found["counts"]
        total = sum(counts)
        points[name] = [((i + 0.5) * width, n / total / width) for i, n in enumerate(counts) if n]
    return plots.lines(
        points,
        alt.X("x:Q", title="rotational latency (ms)", axis=alt.Axis(format="~g")),
        alt.Y("y:Q", title="density (1/ms)", axis=alt.Axis(format="~g")),
        title,
    )


def numbers(load: Load, results: Mapping[str, Mapping[str, Any]], title: str = "") -> Table:
    """Return what the text of the paper speaks of, for each system."""
    rows: Sequence[Sequence[str]] = [
        [
            name,
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
    note = f", {load.note}" if load.note and not load.stand_in else ""
    return Table(
        f"{title or 'Systems'} on {load.title}{note}",
        [
            "system",
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
