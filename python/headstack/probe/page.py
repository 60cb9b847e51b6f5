"""The page of a probe: each measurement with the model over it, residuals, what stays unknown."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headstack.errors import ConfigError

from . import lines

if TYPE_CHECKING:
    from headstack.show.plots.look import Chart

    from .plan import Probed

#: What figures show, by name.
_CAPTIONS = {
    "turn": "Ends of reads of known addresses, less whole turns of the time that was found. A "
    "wrong time would show as a slope. Reads that are later by ten deviations are left out.",
    "angles": "Angles that were read less those of the map. Only what fits the map is shown; an "
    "error of one sector in the length of a track would leave steps.",
    "sectors": "Sectors of a track of each head; with several actuators over the "
    "addresses of the first one. Steps are the edges of zones.",
    "rates": "Rate of long reads that follows from sectors, turn and skews.",
    "reach": "Least time from the first track of the drive to the first and to the last track of "
    "each band. It steps up after all heads had their turn; the lower of both is the outer end.",
    "seek": "Least seek times, with the ends of their intervals.",
    "queue": "Random reads per second against the number of commands outstanding.",
    "replay": "Response times of a mixed load on the target, and of the same load on the file.",
}


def figures(probed: "Probed") -> "dict[str, Chart]":
    """Return the figures for which there are measurements, by name."""
    found: dict[str, Chart] = {}
    for name, build in (
        ("turn", _turn),
        ("angles", _angles),
        ("sectors", _sectors),
        ("rates", _rates),
        ("reach", _reach),
        ("seek", _seek),
        ("queue", _queue),
        ("replay", _replay),
    ):
        try:
            chart = build(probed)
        except ConfigError:
            continue  # it was not measured
        if chart is not None:
            found[name] = chart
    return found


def _axes(x: str, y: str, *, zero: bool = False) -> tuple[Any, Any]:
    import altair as alt

    return (
        alt.X("x:Q", title=x, axis=alt.Axis(format=",~f", tickCount=8)),
        alt.Y("y:Q", title=y, scale=alt.Scale(zero=zero), axis=alt.Axis(format=",~f")),
    )


def _dots(points: list[tuple[float, float]], axes: tuple[Any, Any], title: str) -> "Chart":
    """Draw residuals as points around a line at 0."""
    import altair as alt
    import pandas as pd

    from headstack.show.plots import look

    look.need(points, title)
    kept = look.thin(len(points), look.MOST_POINTS)
    base = alt.Chart(pd.DataFrame([{"x": points[i][0], "y": points[i][1]} for i in kept]))
    marks = base.mark_circle(size=12, opacity=0.5, color=look.PALETTE[0])
    zero = alt.Chart(pd.DataFrame([{"y": 0.0}])).mark_rule(color=look.PALETTE[3])
    drawn = alt.layer(marks.encode(x=axes[0], y=axes[1]), zero.encode(y="y:Q"), title=title, description=title)
    return look.style(drawn.properties(width=look.WIDTH, height=look.HEIGHT))


def _turn(probed: "Probed") -> "Chart":
    left = probed.period.left
    begin = min((t for t, _ in left), default=0.0)
    most = 10 * probed.period.sigma_s
    points = [(t - begin, r * 1e6) for t, r in left if abs(r) < most]
    return _dots(points, _axes("time (s)", "residual (us)"), "Turn: residuals of visits")


def _angles(probed: "Probed") -> "Chart":
    size = int(probed.described["block_bytes"]) / 1e9
    turn = probed.period.turn_s * 1e6
    points = sorted((lba * size, r * turn) for lba, r in probed.angles.checked)
    return _dots(points, _axes("address (GB)", "residual (us)"), "Angles: residuals of the map")


def _steps(probed: "Probed", values: list[float]) -> list[tuple[float, float]]:
    """Return a value of each zone of the first actuator as a line with steps."""
    size = int(probed.described["block_bytes"]) / 1e9
    points = []
    for zone, value in zip(probed.geometry.of_first, values, strict=True):
        points += [(zone.first_lba * size, value), (zone.past_lba * size, value)]
    return points


def _sectors(probed: "Probed") -> "Chart":
    from headstack.show import plots

    zones = probed.geometry.zones
    counts = [tuple(float(z.sectors[h]) for z in zones) for h in range(probed.geometry.heads)]
    heads: dict[str, list[tuple[float, float]]] = {}
    for row in dict.fromkeys(counts):
        alike = [str(h) for h, other in enumerate(counts) if other == row]
        heads[f"head {', '.join(alike)}"] = _steps(probed, list(row))
    few = dict(list(heads.items())[: plots.MOST_LINES])
    axes = _axes("address (GB)", "sectors of a track")
    return plots.lines(few, *axes, "Sectors of a track", series="heads")


def _rates(probed: "Probed") -> "Chart":
    from headstack.show import plots

    points = _steps(probed, [float(r.value) / 1e6 for r in probed.rates()])
    axes = _axes("address (GB)", "rate (MB/s)", zero=True)
    return plots.lines({"model": points}, *axes, "Rate of long reads", series="from")


def _reach(probed: "Probed") -> "Chart | None":
    from headstack.show import plots

    reach = probed.heads.reach_s
    if len(reach) < 2:
        return None
    lines = {
        name: [(float(b + 1), times[i] * 1e3) for b, times in enumerate(reach)]
        for i, name in enumerate(("first track", "last track"))
    }
    axes = _axes("band", "least time (ms)")
    return plots.lines(lines, *axes, "Heads: time to the next bands", series="to", markers=True)


def _seek(probed: "Probed") -> "Chart | None":
    from headstack.show import plots

    if probed.found is None:
        return None
    table = probed.found.curve.table
    lines = {
        name: [(float(d), float(getattr(v, end)) * 1e3) for d, v in table]
        for name, end in (("found", "value"), ("at least", "low"), ("at most", "high"))
    }
    axes = _axes("distance (cylinders)", "seek time (ms)")
    return plots.lines(lines, *axes, "Seek times", series="seek")


def _queue(probed: "Probed") -> "Chart | None":
    from headstack.show import plots

    queue = probed.found.queue if probed.found is not None else None
    if queue is None:
        return None
    rates = [(float(d.depth), float(d.iops.value)) for d in queue.depths]
    axes = _axes("commands outstanding", "reads per second")
    return plots.lines({"measured": rates}, *axes, "Random reads by depth", markers=True)


def _replay(probed: "Probed") -> "Chart | None":
    from headstack.show import plots

    if probed.replay is None:
        return None
    lines = {}
    for name, taken in (("measured", probed.replay.measured_s[0]), ("file", probed.replay.simulated_s[0])):
        times = np.sort(np.asarray(taken)) * 1e3
        lines[name] = [(float(t), (i + 1) / len(times)) for i, t in enumerate(times)]
    axes = _axes("response time (ms)", "share of requests")
    return plots.lines(lines, *axes, "Replay of a mixed load", series="on")


def html(probed: "Probed") -> str:
    """Return the whole page."""
    from headstack.show import report

    specs, shown = report.drawings(figures(probed), _CAPTIONS)
    title = f"Probe of {probed.described.get('model') or 'a drive'}"
    body = report.render(
        "probe.html",
        title=title,
        headline=probed.sentence,
        values=[(k, v.shown, str(v)) for k, v in probed.values().items()],
        lines=lines.text(probed.found, probed.replay) if probed.found else [],
        figures=shown,
        zones=[
            (
                f"{zone.first_lba:,}",
                ", ".join(map(str, zone.sectors)),
                ", ".join(map(str, zone.tracks)),
                f"{float(rate.value) / 1e6:.2f}",
            )
            for zone, rate in zip(probed.geometry.zones, probed.rates(), strict=True)
        ],
        notes=probed.notes,
        seconds=[(step, f"{used:.1f}") for step, used in probed.seconds.items()],
    )
    return report.page(title, body, specs)


def write(probed: "Probed", path: Path) -> Path:
    """Write the page; return its path.

    Raises:
        OSError: it cannot be written.
    """
    from headstack.runs import outputs

    with outputs.whole_file(path) as part:
        part.write_text(html(probed), encoding="utf-8")
    return path
