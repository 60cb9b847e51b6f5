"""The smallest array of each kind of drive that keeps an array's 99th percentile.

The question of "Intra-disk parallelism" (ISCA 2008) on a database of today: eight 10,000 rpm
drives carry PostgreSQL under pgbench. How many drives of another kind keep their p99, and what do
those draw and cost?

    python examples/smallest_array.py
    python examples/smallest_array.py --time-scale 0.5 --originals 12 --figure out/smallest-array
"""

import argparse
from pathlib import Path
from typing import Any

import altair as alt

import headstack
from headstack import drives, plots
from headstack.cli import _terminal

TRACE = Path(__file__).parent / "traces" / "pgbench.csv.zst"

ORIGINAL = {"drive": "cheetah-10k-19g"}

#: What may replace it. SA(n) is the nearline drive with n arm assemblies, one working at a time.
KINDS: dict[str, dict[str, Any]] = {
    "conventional, 7200 rpm": {"drive": "barracuda-es-750"},
    "SA(2): two arm assemblies": {"drive": "barracuda-es-750", "dash": "D1A2S1H1"},
    "SA(4): four arm assemblies": {"drive": "barracuda-es-750", "dash": "D1A4S1H1"},
    "SA(2), both working at once": {
        "drive": "barracuda-es-750",
        "dash": "D1A2S1H1",
        "parallelism": {"arms_in_motion": 2, "channels": 2},
    },
    "18 TB helium": {"drive": "exos-x18"},
    # Its actuators are units of their own to the host: the volume is striped over both.
    "18 TB helium, dual actuator": {"drive": "exos-2x18-sas"},
}


#: What the estimate of a cost model is of.
COSTS = {"components": "material", "price": "retail"}


def arrays(kind: str, drive: dict[str, Any], counts: range) -> list[dict[str, Any]]:
    """Return one striped array per number of drives, each drive with a queue of 32 commands."""
    return [
        {
            "name": f"{n} x {kind}",
            "count": n,
            "organisation": {"name": "raid0", "stripe_unit": "64 KiB"},
            "scheduler": "sptf",
            "queue_depth": 32,
            **drive,
        }
        for n in counts
    ]


def p99_ms(system: dict[str, Any]) -> float:
    """99th percentile of the response time in ms."""
    return float(system["response_time_s"]["p99"]) * 1e3


def row(kind: str, count: int, system: dict[str, Any]) -> list[str]:
    """Return one line of the table."""
    low, high = system["cost_usd"]["low"], system["cost_usd"]["high"]
    dollars = "unknown"
    if low is not None:
        model = drives.load(KINDS.get(kind, ORIGINAL)["drive"])["cost"]["model"]
        dollars = f"{low:,.0f}-{high:,.0f} {COSTS[model]}"
    watts = f"{system['power_w']['mean']:.1f}"
    return [kind, str(count), f"{p99_ms(system):.1f}", watts, dollars]


def main() -> None:
    """Search, print the table, and draw the figure if asked for."""
    ask = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    ask.add_argument("--time-scale", type=float, default=1.0, help="factor on recorded times")
    ask.add_argument("--originals", type=int, default=8, help="drives of the original array")
    ask.add_argument("--most", type=int, default=20, help="largest array that is tried")
    ask.add_argument("--requests", type=int, help="stop after so many")
    ask.add_argument("--figure", type=Path, help="write PATH.png and PATH.svg")
    asked = ask.parse_args()

    workload: dict[str, Any] = {"trace": str(TRACE), "time_scale": asked.time_scale}
    if asked.requests is not None:
        workload["count"] = asked.requests
    original = arrays(
        "10,000 rpm (original)", ORIGINAL, range(asked.originals, asked.originals + 1)
    )
    counts = range(1, asked.most + 1)
    systems = [s for kind, drive in KINDS.items() for s in arrays(kind, drive, counts)]
    result = headstack.run(workload=workload, systems=original + systems, log_requests=False)
    target, *found = result.document["systems"]

    rows = [row("10,000 rpm (original)", asked.originals, target)]
    lines = {}
    for i, kind in enumerate(KINDS):
        of_kind = found[i * len(counts) : (i + 1) * len(counts)]
        lines[kind] = [(float(n), p99_ms(s)) for n, s in zip(counts, of_kind, strict=True)]
        fit = next((n for n in counts if p99_ms(of_kind[n - 1]) <= p99_ms(target)), None)
        if fit is None:
            rows.append([kind, f"more than {asked.most}", "–", "–", "–"])  # noqa: RUF001
        else:
            rows.append(row(kind, fit, of_kind[fit - 1]))
    headings = ("drive", "drives", "p99 ms", "power W", "cost, US dollars")
    _terminal.print_table([(h, h == "drive") for h in headings], rows)
    if asked.figure is not None:
        chart = plots.lines(
            lines,
            alt.X(
                "x:Q",
                title="drives in the array",
                scale=alt.Scale(nice=False, zero=False),
                axis=alt.Axis(format="d"),
            ),
            alt.Y(
                "y:Q",
                title="p99 response time (ms, logarithmic)",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(format="~g", tickCount=8),
            ),
            "Which array keeps the original's p99?",
            series="drive",
            levels={f"{asked.originals} drives of 10,000 rpm": p99_ms(target)},
        )
        _terminal.told(plots.save(chart, asked.figure), as_json=False)


if __name__ == "__main__":
    main()
