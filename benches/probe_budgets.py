"""Draws the errors of probes by their budget, as shares of the bounds of the tests.

``python benches/probe_budgets.py docs/img`` writes ``probe-budgets.png`` and prints the table: a
drive with four heads that are unlike each other, on a quiet host. A short probe may take longer
than its budget, so the figure has the time that it took.
"""

import statistics
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pandas as pd
import probe_oracle as oracle

from headstack.papers import evaluate
from headstack.show import plots
from headstack.show.plots import figure

#: The drive, budgets in minutes, and probes of each.
SEED, NUMBER, BUDGETS, PROBES = 6, 0, [0.5, 1, 2, 5, 10, 20, 60], 2

#: Quantities by their names in the judgement.
SHOWN = {
    "turn_ppm": "turn (1 ppm)",
    "seek": "overhead + seek (5 % or 30 us)",
    "iops": "reads/s (3 %)",
    "p99": "p99 (10 %)",
}

FIGURE = {
    "title": "Errors of probes of a drive with four heads, by time",
    "data": {"name": "errors"},
    "mark": {"type": "line", "point": True},
    "encoding": {
        "x": {
            "field": "minutes",
            "title": "time of the drive (min)",
            "scale": {"type": "log"},
            "axis": {"values": BUDGETS},
        },
        "y": {"field": "share", "title": "error / bound", "scale": {"type": "log"}},
        "color": {"field": "quantity"},
    },
    "width": 520,
}


def judged(case: tuple[float, int]) -> oracle.Judged:
    """Probe the drive with a budget and a seed."""
    minutes, seed = case
    spec = oracle.drawn(SEED, NUMBER)
    with tempfile.TemporaryDirectory() as folder:
        return oracle.judged(spec, Path(folder), seed, budget=f"{minutes} min", lateness="15us", disturbed=0.02)


def main() -> None:
    """Print the table, and draw the figure if a folder is given."""
    cases = [(minutes, seed) for minutes in BUDGETS for seed in range(PROBES)]
    with ProcessPoolExecutor() as pool:
        found = list(pool.map(judged, cases))
    rows = []
    for minutes in BUDGETS:
        mine = [f for f, (m, _) in zip(found, cases, strict=True) if m == minutes]
        taken = statistics.mean(f.values["seconds"] for f in mine) / 60
        for key, name in SHOWN.items():
            bound = oracle.BOUNDS.get(key, 1.0)
            share = statistics.median(abs(f.values[key]) for f in mine) / bound
            rows.append({"minutes": round(taken, 2), "quantity": name, "share": share})
    table = pd.DataFrame(rows)
    print(table.pivot(index="minutes", columns="quantity", values="share").round(3).to_string())
    if len(sys.argv) > 1:
        chart = figure.draw(FIGURE, evaluate.rows_of({"errors": table}))
        plots.save(chart, Path(sys.argv[1]) / "probe-budgets")


if __name__ == "__main__":
    main()
