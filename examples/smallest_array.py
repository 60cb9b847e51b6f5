"""The smallest array of each kind of drive that keeps an array's 99th percentile.

The question of "Intra-disk parallelism" (ISCA 2008) on a database of today: eight 10,000 rpm
drives carry PostgreSQL under pgbench. How many drives of another kind keep their p99, and what do
those draw and cost?

All drives have one cache policy, each in the buffer that it has, and every array is run with
several seeds, which turn the spindles to other angles. A count holds for the mean p99 of the seeds;
in brackets stand the counts of the single seeds where they differ.

For drives that can be bought, the command `headstack advise` answers the question for any trace,
with fewer runs.

    python examples/smallest_array.py
    python examples/smallest_array.py --cache write-back
    python examples/smallest_array.py --time-scale 0.5 --originals 12 --figure out/smallest-array
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import altair as alt

import headstack
from headstack import drives
from headstack.show import plots
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

#: What all drives do with their buffers, which differ in size: half of the segments take writes.
POLICY = {
    "hit_check": "arrival",
    "read_ahead": "limit",
    "read_on_arrival": True,
    "write_on_arrival": True,
    "append_writes": True,
    "almost_hits": True,
    "destage": "idle",
}

#: When a write is complete: on the medium, or in the buffer.
CACHES = {"write-through": False, "write-back": True}

#: The array of one arm per drive, which the parallel ones are compared with in cost.
CONVENTIONAL = "conventional, 7200 rpm"

#: Cost models, each with a column of its own: prices of components and of shops do not compare.
COSTS = {"components": "material, US dollars", "price": "retail, US dollars"}

NONE = "–"  # noqa: RUF001


@dataclass(frozen=True)
class Array:
    """One array under every seed.

    Attributes:
        kind: of its drives.
        drive: name of the drive's file.
        count: how many.
        results: the system's result for each seed.
    """

    kind: str
    drive: str
    count: int
    results: list[dict[str, Any]]

    @property
    def p99s_ms(self) -> list[float]:
        """99th percentile of the response time in ms, for each seed."""
        return [float(r["response_time_s"]["p99"]) * 1e3 for r in self.results]

    @property
    def p99_ms(self) -> float:
        """Mean of the 99th percentiles in ms."""
        return fmean(self.p99s_ms)

    @property
    def watts(self) -> float:
        """Mean power in W."""
        return fmean(float(r["power_w"]["mean"]) for r in self.results)

    @property
    def cost(self) -> tuple[str, float, float] | None:
        """Model, low and high US dollars of all drives; none where nobody says."""
        low, high = self.results[0]["cost_usd"]["low"], self.results[0]["cost_usd"]["high"]
        return None if low is None else (drives.load(self.drive)["cost"]["model"], low, high)


def system(kind: str, drive: dict[str, Any], count: int, cache: str) -> dict[str, Any]:
    """Return one striped array, each drive with a queue of 32 commands."""
    segments = int(drives.load(drive["drive"])["cache"]["segments"])
    return {
        "name": f"{count} x {kind}",
        "count": count,
        "organisation": {"name": "raid0", "stripe_unit": "64 KiB"},
        "scheduler": "sptf",
        "queue_depth": 32,
        "cache": {**POLICY, "write_segments": segments // 2, "write_back": CACHES[cache]},
        **drive,
    }


def simulate(
    wanted: list[tuple[str, dict[str, Any], int]],
    workload: dict[str, Any],
    seeds: int,
    cache: str,
) -> list[Array]:
    """Return the arrays, each by kind, drive and count, in order."""
    systems = [system(*array, cache) for array in wanted]
    found: list[list[dict[str, Any]]] = [[] for _ in wanted]
    for seed in range(1, seeds + 1):
        run = headstack.run(workload=workload, systems=systems, log_requests=False, seed=seed)
        for results, result in zip(found, run.document["systems"], strict=True):
            results.append(result)
    named = zip(wanted, found, strict=True)
    return [Array(kind, drive["drive"], count, results) for (kind, drive, count), results in named]


def smallest(arrays: list[Array], target: Array) -> tuple[Array | None, str]:
    """Return the smallest array that keeps the target's p99, and its count with that of each seed.

    The arrays are of one kind, in order of their counts.
    """
    fit = next((a for a in arrays if a.p99_ms <= target.p99_ms), None)
    if fit is None:
        return None, f"more than {arrays[-1].count}"
    single = []
    for i, limit in enumerate(target.p99s_ms):
        first = next((a.count for a in arrays if a.p99s_ms[i] <= limit), None)
        single.append(arrays[-1].count + 1 if first is None else first)
    low, high = min(single), max(single)
    spread = f" ({low}-{high})" if low != high else ""
    return fit, f"{fit.count}{spread}"


def row(array: Array, count: str) -> list[str]:
    """Return one line of the table."""
    low, high = min(array.p99s_ms), max(array.p99s_ms)
    cells = [
        array.kind,
        count,
        f"{array.p99_ms:.1f}",
        f"{low:.1f}-{high:.1f}",
        f"{array.watts:.1f}",
    ]
    for model in COSTS:
        priced = array.cost is not None and array.cost[0] == model
        cells.append(f"{array.cost[1]:,.0f}-{array.cost[2]:,.0f}" if priced else NONE)
    return cells


def dearer(found: dict[str, Array], original: Array) -> list[str]:
    """Return what the material of each array of parallel drives costs more or less than others."""
    lines = []
    for kind, array in found.items():
        if not kind.startswith("SA("):
            continue
        for other, name in ((found.get(CONVENTIONAL), "conventional"), (original, "original")):
            if other is None or array.cost is None or other.cost is None:
                continue
            more = sum(array.cost[1:]) / sum(other.cost[1:]) - 1
            said = f"{abs(more):.0%} {'more' if more > 0 else 'less'}"
            lines.append(
                f"{array.count} x {kind}: material costs {said} than {other.count} {name} drives"
            )
    return lines


def chart(lines: dict[str, list[Array]], original: Array, seeds: int) -> Any:
    """Draw the mean p99 of each kind of drive by the number of drives."""
    return plots.lines(
        {kind: [(float(a.count), a.p99_ms) for a in arrays] for kind, arrays in lines.items()},
        alt.X(
            "x:Q",
            title="drives in the array",
            scale=alt.Scale(nice=False, zero=False),
            axis=alt.Axis(format="d"),
        ),
        plots.logarithmic_ms("p99 response time"),
        f"Which array keeps the original's p99? Means of {seeds} seeds",
        series="drive",
        levels={f"{original.count} drives of 10,000 rpm": original.p99_ms},
    )


def arguments() -> argparse.Namespace:
    """Return what was asked for."""
    ask = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    ask.add_argument("--time-scale", type=float, default=1.0, help="factor on recorded times")
    ask.add_argument("--originals", type=int, default=8, help="drives of the original array")
    ask.add_argument("--most", type=int, default=20, help="largest array that is tried")
    ask.add_argument("--seeds", type=int, default=5, help="runs of each array")
    ask.add_argument("--requests", type=int, help="stop after so many")
    ask.add_argument(
        "--cache",
        choices=tuple(CACHES),
        default="write-through",
        help="when all drives complete writes: on the medium, or in the buffer",
    )
    ask.add_argument("--figure", type=Path, help="write PATH.png and PATH.svg")
    return ask.parse_args()


def main() -> None:
    """Search, print the table, say which arrays cost more, and draw the figure if asked for."""
    asked = arguments()
    workload: dict[str, Any] = {"trace": str(TRACE), "time_scale": asked.time_scale}
    if asked.requests is not None:
        workload["count"] = asked.requests
    counts = range(1, asked.most + 1)
    wanted = [("10,000 rpm (original)", ORIGINAL, asked.originals)]
    wanted += [(kind, drive, n) for kind, drive in KINDS.items() for n in counts]
    original, *arrays = simulate(wanted, workload, asked.seeds, asked.cache)
    lines = {kind: [a for a in arrays if a.kind == kind] for kind in KINDS}

    rows = [row(original, str(original.count))]
    found = {}
    for kind, of_kind in lines.items():
        fit, count = smallest(of_kind, original)
        if fit is None:
            rows.append([kind, count, *[NONE] * (3 + len(COSTS))])
        else:
            found[kind] = fit
            rows.append(row(fit, count))
    headings = ("drive", "drives", "p99 ms", "of the seeds", "power W", *COSTS.values())
    _terminal.print_table([(h, h == "drive") for h in headings], rows)
    for line in dearer(found, original):
        print(line)
    if asked.figure is not None:
        drawn = chart(lines, original, asked.seeds)
        _terminal.say_written(plots.save(drawn, asked.figure), as_json=False)


if __name__ == "__main__":
    main()
