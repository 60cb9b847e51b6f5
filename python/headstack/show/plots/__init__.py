"""Figures as Altair charts, from result documents and from descriptions of drives and traces.

See `look` for the meaning of each colour. Figures of results take the whole document and, if a page
shows several workloads, the labels to which colours are assigned.
"""

from collections.abc import Callable

from headstack.show.plots.bars import components, operations, power
from headstack.show.plots.described import histogram, lines, seek_curve, trace_figures, validation, zones
from headstack.show.plots.distributions import cdf, tail
from headstack.show.plots.look import (
    DARK,
    HEIGHT,
    MOST_LINES,
    MOST_POINTS,
    PALETTE,
    PARTS,
    SUFFIXES,
    WIDTH,
    Chart,
    drawn,
    logarithmic_ms,
    save,
    save_of,
    style,
)
from headstack.show.plots.series import power_over_time, queue_depth
from headstack.show.plots.systems import labels, of_workload, workloads

#: Figures of a result, by file name.
RESULT_FIGURES: dict[str, Callable[..., Chart]] = {
    "response-time": cdf,
    "tail": tail,
    "components": components,
    "power": power,
    "operations": operations,
    "power-over-time": power_over_time,
    "queue-depth": queue_depth,
}

__all__ = [
    "DARK",
    "HEIGHT",
    "MOST_LINES",
    "MOST_POINTS",
    "PALETTE",
    "PARTS",
    "RESULT_FIGURES",
    "SUFFIXES",
    "WIDTH",
    "cdf",
    "components",
    "drawn",
    "histogram",
    "labels",
    "lines",
    "logarithmic_ms",
    "of_workload",
    "operations",
    "power",
    "power_over_time",
    "queue_depth",
    "save",
    "save_of",
    "seek_curve",
    "style",
    "tail",
    "trace_figures",
    "validation",
    "workloads",
    "zones",
]
