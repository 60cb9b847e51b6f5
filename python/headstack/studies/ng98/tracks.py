"""Ends of tracks: head switches, the sustained rate, the no-ID format (NG-3, NG-6, NG-8)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import altair as alt

from headstack import formulas
from headstack.formulas import SECTOR_BYTES
from headstack.studies.rules import Kind, Part, Rule, number, relation
from headstack.studies.study import Outcome, Study, Table

from . import charts, runs, workloads
from .drive import (
    CHANNEL_BYTES_PER_S,
    CYLINDER_SWITCH_S,
    HEADS,
    REQUEST_SECTORS,
    TRACK_SWITCH_S,
    Curve,
    Disk,
)
from .times import LOCALITY, count

MS = "{:.4g} ms"

#: Sizes in sectors of requests and tracks in the simulation; and a factor of bits per track.
REQUESTS = ((8, 111), (128, 160), (512, 111))
DENSER = 2

#: Every seek takes as long as a cylinder switch, so that switches can be separated from seeks.
EVEN = Curve(CYLINDER_SWITCH_S, 0.0)


def switches(study: Study) -> Outcome:
    """Judge the time of head switches per request."""
    cases = [*REQUESTS, *((n, DENSER * s) for n, s in REQUESTS)]
    simulated = {case: _simulated(study, *case) for case in cases}
    outcome = Outcome([])
    for (n, s), ours in list(simulated.items())[: len(REQUESTS)]:
        exact = _formula_s(n, s)
        what = f"time of switches in {n} sectors on tracks of {s}"
        outcome.parts += [
            number(
                f"{what}, simulator against formula",
                1e3 * exact,
                1e3 * ours,
                MS,
                workload="random reads",
                note="the formula with its parenthesis mended, (n - 1)/S; as printed, n - 1/S, it "
                f"would be {1e3 * (n - 1 / s) * _switch_s():.0f} ms",
            ),
            relation(
                f"{what}, twice the bpi, simulator",
                "fewer",
                ("denser", 1e3 * simulated[n, DENSER * s]),
                Rule.LOWER,
                ("before", 1e3 * ours),
                MS,
                workload="random reads",
            ),
        ]
    outcome.parts.append(
        relation(
            "aligned 4-Kbyte blocks on tracks of 160 sectors never switch",
            "not said; multiples of 8 sectors",
            ("simulator", 1e3 * _simulated(study, 8, 160, 8)),
            Rule.IDENTICAL,
            ("formula", 1e3 * _switch_s() * float(formulas.switches_per_request(8, 160, 8))),
            MS,
            kind=Kind.CONTROL,
        )
    )
    rows = {
        f"{n} sectors on {s}": (1e3 * _formula_s(n, s), 1e3 * t) for (n, s), t in simulated.items()
    }
    outcome.tables = [runs.beside("Time of head switches per request in ms", rows)]
    outcome.figures = [study.figure("ng-3-switches", lambda: _switch_figure(simulated))]
    return outcome


def _switch_s() -> float:
    return float(formulas.mean_switch_s(HEADS, TRACK_SWITCH_S, CYLINDER_SWITCH_S))


def _formula_s(sectors: int, track: int) -> float:
    return float(formulas.switch_time_s(sectors, track, _switch_s()))


def _simulated(study: Study, sectors: int, track: int, alignment: int = 1) -> float:
    """Return the time of switches per request: that of long reads minus that of single sectors."""
    disk = Disk(track_sectors=track, curve=EVEN)
    space = (disk.sectors - sectors) * SECTOR_BYTES
    places = workloads.uniform(count(study), study.choices.seed, space) // alignment * alignment
    long, short = (
        runs.seek_s(runs.reads(study, places, {"a": disk}, n, switches=True)["a"])
        for n in (sectors, 1)
    )
    return long - short


def _switch_figure(simulated: dict[tuple[int, int], float]) -> Any:
    tracks = range(80, 340, 4)
    sizes = sorted({n for n, _ in simulated})
    lines = {
        f"{n * SECTOR_BYTES // 1024} Kbytes": [(s, 1e3 * _formula_s(n, s)) for s in tracks]
        for n in sizes
    }
    marks: dict[str, list[tuple[float, float]]] = {name: [] for name in lines}
    for (n, s), t in simulated.items():
        marks[f"{n * SECTOR_BYTES // 1024} Kbytes"].append((s, 1e3 * t))
    return charts.points(
        lines,
        marks,
        "Head switches: lines by formula, marks by the simulator",
        alt.X("x:Q", title="sectors on a track", scale=alt.Scale(zero=False)),
        alt.Y("y:Q", title="time of switches per request (ms)", scale=alt.Scale(type="log")),
        "request",
    )


# NG-6.

#: Heads of figure 5, and its times: a turn of 10 ms.
FIGURE_5_HEADS = (1, 2, 3, 4, 5, 6, 8, 10, 20)
FIGURE_5_RPM = 6000


def figure_5_disk(heads: int) -> Disk:
    """Return a drive with the times of figure 5; its switches last whole sectors."""
    return Disk(heads=heads, track_sectors=160, cylinders=1000, rpm=FIGURE_5_RPM, curve=EVEN)


def figure_5(heads: Sequence[int] = FIGURE_5_HEADS) -> list[float]:
    """Return sustained over media rate by formula."""
    turn = formulas.rotation_time_s(FIGURE_5_RPM)
    found = formulas.sustained_ratio(heads, turn, TRACK_SWITCH_S, CYLINDER_SWITCH_S)
    return [float(r) for r in found]


def sustained(study: Study) -> Outcome:
    """Judge figure 5: the sustained rate against the number of heads."""
    exact = dict(zip(FIGURE_5_HEADS, figure_5(), strict=True))
    disks = {f"{h} heads": figure_5_disk(h) for h in FIGURE_5_HEADS}
    simulated = dict(zip(FIGURE_5_HEADS, runs.sustained_ratio(study, disks), strict=True))
    outcome = Outcome([])
    for how, found in (("formula", exact), ("simulator", simulated)):
        outcome.parts += [
            relation(
                f"{few} heads instead of {many}, {how}",
                "the sustained data rate is lowered",
                (f"{few} heads", found[few]),
                Rule.LOWER,
                (f"{many} heads", found[many]),
                "{:.4f}",
                workload="whole cylinders in order",
            )
            for few, many in ((1, 2), (3, 5), (6, 10))
        ]
    outcome.parts += [
        number(
            f"sustained over media rate, {h} heads, simulator against formula",
            exact[h],
            simulated[h],
            "{:.4f}",
            workload="whole cylinders in order",
        )
        for h in (1, 5, 10)
    ]
    rows = {f"{h} heads": (exact[h], simulated[h]) for h in FIGURE_5_HEADS}
    title = "Sustained over media data rate: 10 ms rotation, 2 ms track, 4 ms cylinder switch"
    outcome.tables = [runs.beside(title, rows, "{:.6f}")]
    outcome.figures = [study.figure("ng-6-sustained", lambda: _figure_5(simulated))]
    return outcome


def _figure_5(simulated: dict[int, float]) -> Any:
    heads = range(1, 21)
    return charts.points(
        {"formula": list(zip(heads, figure_5(list(heads)), strict=True))},
        {"simulator": list(simulated.items())},
        "Figure 5: ratio of sustained data rates to media data rates",
        alt.X("x:Q", title="number of heads"),
        alt.Y("y:Q", title="sustained / media data rate", scale=alt.Scale(zero=False)),
    )


# NG-8.

#: Chosen: shares of a track in ID fields and their gaps; the article does not state them.
ID_SHARES = (0.10, 0.15)

#: The hypothetical drive's track with ID fields.
WITH_ID = 160


def no_id(study: Study) -> Outcome:
    """Judge the effects of the no-ID format."""
    before = Disk(track_sectors=WITH_ID)
    outcome, rows = Outcome([]), []
    places = workloads.scale_free(count(study), study.choices.seed)
    for share in ID_SHARES:
        exact = float(formulas.no_id_sectors(WITH_ID, share))
        after = replace(before, track_sectors=round(exact))
        found = _seeks(study, places, before, after)
        outcome.parts += _no_id_parts(share, exact, before, found)
        rows.append(_no_id_row(f"{share:.0%}", exact, found))
    title = "Without ID fields: change against the format with them, scale-free stand-in"
    headings = ["share of ID fields", "sectors on a track, exact", "data rate", "switches per 4 KB"]
    outcome.tables = [Table(title, [*headings, "seeks", "seek time"], rows)]
    outcome.figures = [
        study.figure("ng-6-formats", _formats_figure),
        study.figure("ng-8-no-id", lambda: _no_id_figure(rows)),
    ]
    return outcome


def _seeks(
    study: Study, places: workloads.Places, before: Disk, after: Disk
) -> dict[str, tuple[float, float]]:
    """Return the numbers and times of seeks in the simulator, with and without ID fields."""
    results = runs.reads(study, places, {"with": before, "without": after})
    a, b = results["with"], results["without"]
    return {
        "rate": (before.media_rate, after.media_rate),
        "switches": (_crossings(before), _crossings(after)),
        "seeks": (float(a["nonzero_seek_ratio"]), float(b["nonzero_seek_ratio"])),
        "time": (runs.seek_s(a), runs.seek_s(b)),
    }


def _crossings(disk: Disk) -> float:
    return float(formulas.switches_per_request(REQUEST_SECTORS, disk.track_sectors))


def _no_id_parts(
    share: float, exact: float, before: Disk, found: dict[str, tuple[float, float]]
) -> list[Part]:
    what = f"{share:.0%} of the track in ID fields"
    raw = before.track_sectors / (1 - share)
    limits = [float(formulas.highest_rotation_rpm(CHANNEL_BYTES_PER_S, n)) for n in (raw, exact)]
    rate, crossings = found["rate"], found["switches"]
    parts = [
        relation(
            f"{what}: the user sees a higher data rate, formula",
            "higher",
            ("without", rate[1] / 1e6),
            Rule.HIGHER,
            ("with", rate[0] / 1e6),
            "{:.2f} MB/s",
        ),
        relation(
            f"{what}: head switches per 4 Kbytes, formula",
            "fewer",
            ("without", crossings[1]),
            Rule.LOWER,
            ("with", crossings[0]),
            "{:.4f}",
        ),
        relation(
            f"{what}: highest speed that the channel allows, formula",
            "no constraint on rpm",
            ("without", limits[1]),
            Rule.SAME,
            ("with", limits[0]),
            "{:.0f} rpm",
            kind=Kind.INPUT,
            note="the channel reads the ID fields too, so its rate does not change",
        ),
    ]
    for key, words in (("seeks", "number of seeks"), ("time", "time of seeks")):
        with_id, without = found[key]
        parts.append(
            relation(
                f"{what}: {words}, simulator, scale-free stand-in",
                "fewer and shorter seeks",
                ("without", without),
                Rule.LOWER,
                ("with", with_id),
                "{:.4g}" if key == "seeks" else "{:.3g} s",
                kind=Kind.STAND_IN,
                workload=LOCALITY,
            )
        )
    return parts


def _no_id_row(share: str, exact: float, found: dict[str, tuple[float, float]]) -> list[str]:
    changes = [f"{found[k][1] / found[k][0] - 1:+.1%}" for k in found]
    return [share, f"{exact:.1f}", *changes]


#: Of figure 6: sectors of the track with ID fields, the share of these, and that of gaps in it.
DRAWN_SECTORS, DRAWN_SHARE, GAP_SHARE = 17, 0.15, 0.5


def _formats_figure() -> Any:
    """Draw figure 6: sectors of equal data in both formats, ID fields and gaps to scale."""
    without = round(float(formulas.no_id_sectors(DRAWN_SECTORS, DRAWN_SHARE)))
    data = (1 - DRAWN_SHARE) / DRAWN_SECTORS
    head = DRAWN_SHARE / DRAWN_SECTORS
    old = [("ID field", head * (1 - GAP_SHARE)), ("gap", head * GAP_SHARE), ("data", data)]
    tracks = {"traditional": old * DRAWN_SECTORS, "no-ID": [("data", 1 / without)] * without}
    title = [
        "Figure 6: recording formats",
        f"{DRAWN_SECTORS} sectors with ID fields and gaps of {DRAWN_SHARE:.0%}, {without} without",
    ]
    return charts.formats(tracks, title)


def _no_id_figure(rows: Sequence[Sequence[str]]) -> Any:
    groups = ("data rate", "switches", "seeks", "seek time")
    values = {
        f"{row[0]} of the track in ID fields": {
            g: float(v.rstrip("%")) for g, v in zip(groups, row[2:], strict=True)
        }
        for row in rows
    }
    return charts.columns(
        values, "No-ID format: what it changes", "", "change (%)", "+.1f", "chosen"
    )
