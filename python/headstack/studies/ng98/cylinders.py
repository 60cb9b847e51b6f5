"""Larger cylinders, denser ones, fewer heads (NG-4, NG-5, NG-7)."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np

from headstack import formulas
from headstack.formulas import GB, KB, MB, SECTOR_BYTES
from headstack.studies.rules import Kind, Part, Rule, number, relation
from headstack.studies.study import Outcome, Study, Table

from . import charts, runs, workloads
from .drive import CYLINDERS, HYPOTHETICAL, REQUEST_BYTES, Disk, curve
from .times import LOCALITY, count
from .workloads import EXAMPLE_BYTES, Places

PERCENT = "{:.1f} %"

#: Sectors on a track in figures 3 and 4, as multiples.
FACTORS = (1, 2, 4, 8)

#: Seeks and seek time saved by cylinders of twice the size in the article's text, in %.
FEWER_SEEKS, LESS_TIME = 7.0, 17.0

SCALE_FREE, APPLICATIONS = "scale-free stand-in", "application stand-in"


def hypothetical(study: Study) -> Disk:
    """Return the drive of the simulation with the chosen values."""
    choices = study.choices
    return replace(HYPOTHETICAL, track_sectors=choices.track_sectors, curve=curve(choices.single_s))


def _traces(study: Study) -> dict[str, Places]:
    n, choices = count(study), study.choices
    return {
        SCALE_FREE: workloads.scale_free(n, choices.seed, choices.used_mb * MB),
        APPLICATIONS: workloads.applications(n, choices.seed),
    }


def _wider(disk: Disk) -> dict[str, Disk]:
    return {f"x{k}": replace(disk, track_sectors=k * disk.track_sectors) for k in FACTORS}


def bigger(study: Study) -> Outcome:
    """Judge the effects of larger cylinders, figures 3 and 4."""
    disk = hypothetical(study)
    found = {
        name: _measured(runs.reads(study, places, _wider(disk)))
        for name, places in _traces(study).items()
    }
    outcome = Outcome(_example(study))
    for name, ours in found.items():
        outcome.parts += _pc_parts(name, ours)
    outcome.figures = _figures_3_4(study, found)
    outcome.tables = [
        _closed_form(study, disk, found[SCALE_FREE]),
        _simulated_table(found),
    ]
    return outcome


def _measured(results: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[float, float]]:
    """Return the share of requests with a seek, and the mean time in seeks in s, by drive."""
    return {k: (float(r["nonzero_seek_ratio"]), runs.seek_s(r)) for k, r in results.items()}


def _example(study: Study) -> list[Part]:
    """Return the numbers of the text that need no unpublished workload."""
    cylinder = 480 * KB
    chance = [
        100 * float(formulas.no_seek_probability(EXAMPLE_BYTES / (k * cylinder))) for k in (1, 2)
    ]
    kept = 100 / 1.3
    places = workloads.uniform(count(study), study.choices.seed, EXAMPLE_BYTES)
    results = runs.reads(study, places, _wider(HYPOTHETICAL))
    here = 100 * (1 - float(results["x1"]["nonzero_seek_ratio"]))
    denser = replace(HYPOTHETICAL, track_sectors=round(1.3 * HYPOTHETICAL.track_sectors))
    way = [float(np.mean(workloads.moves(places, d))) for d in (HYPOTHETICAL, denser)]
    on: dict[str, Any] = {"workload": "uniform requests in 16 Mbytes"}
    return [
        number("cylinders of the same data, +30 % sectors, formula", 77.0, kept, PERCENT,
               rule=Rule.PRINTED),
        number("seek distance saved, formula", 23.0, 100 - kept, PERCENT, rule=Rule.PRINTED),
        number("seek distance saved, counted", 23.0, 100 * (1 - way[1] / way[0]), PERCENT,
               rule=Rule.POINTS, **on),
        number("no seek in 16 Mbytes, formula", 3.0, chance[0], PERCENT, rule=Rule.PRINTED),
        number("no seek in 16 Mbytes, simulator", 3.0, here, PERCENT, **on),
        number(
            "no seek, cylinder twice as large, simulator against the formula's proportion",
            2 * chance[0],
            100 * (1 - float(results["x2"]["nonzero_seek_ratio"])),
            PERCENT,
            **on,
        ),
    ]  # fmt: skip


def _saved(ours: Mapping[str, tuple[float, float]], what: int) -> float:
    return 100 * (1 - ours["x2"][what] / ours["x1"][what])


def _pc_parts(name: str, ours: Mapping[str, tuple[float, float]]) -> list[Part]:
    of: dict[str, Any] = {"kind": Kind.STAND_IN, "workload": LOCALITY}
    parts = [
        number(f"{what} with twice the cylinder, {name}", paper, _saved(ours, i), PERCENT,
               rule=Rule.POINTS, **of)
        for i, (what, paper) in enumerate(
            (("fewer seeks", FEWER_SEEKS), ("less time in seeks", LESS_TIME))
        )
    ]  # fmt: skip
    for i, what in enumerate(("number of seeks", "time of seeks")):
        for low, high in pairwise(FACTORS):
            a, b = ours[f"x{high}"][i], ours[f"x{low}"][i]
            parts.append(
                relation(
                    f"{what}, x{high} against x{low}, {name}",
                    "bigger cylinders reduce it",
                    (f"x{high}", a),
                    Rule.LOWER,
                    (f"x{low}", b),
                    "{:.4g}",
                    **of,
                )
            )
    return parts


def _closed_form(study: Study, disk: Disk, ours: Mapping[str, tuple[float, float]]) -> Table:
    rows = {}
    for k in FACTORS:
        size = k * disk.cylinder_sectors * SECTOR_BYTES
        span = (REQUEST_BYTES, study.choices.used_mb * MB, size)
        chance = float(formulas.log_uniform_seek_probability(*span))
        time = formulas.log_uniform_seek_time_s(*span, disk.curve.base_s, disk.curve.travel_s)
        rows[f"x{k}: seeks per request"] = (chance, ours[f"x{k}"][0])
        rows[f"x{k}: time in seeks per request, ms"] = (1e3 * float(time), 1e3 * ours[f"x{k}"][1])
    title = "Scale-free stand-in: closed form (no reflection, no switches) and simulator"
    return runs.beside(title, rows)


def _simulated_table(found: Mapping[str, Mapping[str, tuple[float, float]]]) -> Any:
    rows = [
        [name, f"x{k}", *(f"{ours[f'x{k}'][i] / ours['x1'][i]:.3f}" for i in (0, 1))]
        for name, ours in found.items()
        for k in FACTORS
    ]
    title = "Against x1, simulator"
    return Table(title, ["workload", "sectors on a track", "seeks", "time of seeks"], rows)


def _figures_3_4(study: Study, found: Mapping[str, Mapping[str, tuple[float, float]]]) -> list[str]:
    n = count(study)
    drawn = (
        ("ng-4-seeks", "Figure 3: total number of seeks", "seeks (thousands)", 0, n / 1e3, ".1f"),
        ("ng-4-seek-time", "Figure 4: total seek time", "time in seeks (s)", 1, n, ".0f"),
    )
    return [
        _columns(
            study,
            name,
            f"{title}, {n:,} requests",
            y,
            {w: {k: v[i] * factor for k, v in ours.items()} for w, ours in found.items()},
            form,
        )
        for name, title, y, i, factor, form in drawn
    ]


def _columns(
    study: Study,
    name: str,
    title: str,
    y: str,
    values: Mapping[str, Mapping[str, float]],
    form: str,
) -> str:
    x = "sectors on a track"
    return study.figure(name, lambda: charts.columns(values, title, x, y, form))


# NG-5.

#: Growth of tpi in one year, and doubled tpi.
YEAR, DOUBLE = 1.27, 2.0


def denser(disk: Disk, factor: float, settle_s: float) -> dict[str, Disk]:
    """Return a drive, and one with this factor of track density and of cylinders."""
    before = replace(disk, settle_s=settle_s)
    cylinders = round(factor * disk.cylinders)
    return {"before": before, "denser": replace(before, tpi_factor=factor, cylinders=cylinders)}


def window(study: Study, cylinders: float) -> Places:
    """Return uniform requests in a window of cylinders in the middle of the stroke."""
    size = HYPOTHETICAL.cylinder_sectors * SECTOR_BYTES
    middle = HYPOTHETICAL.sectors * SECTOR_BYTES // 2
    return workloads.uniform(count(study), study.choices.seed, int(cylinders * size), middle)


def density(study: Study) -> Outcome:
    """Judge the two effects of tpi on seeks."""
    settle = study.choices.settle_s
    travel = HYPOTHETICAL.curve.travel_s
    even = float(formulas.break_even_window_cylinders(DOUBLE, travel, settle))
    on: dict[str, Any] = {
        "workload": "uniform requests in a window",
        "note": f"settling is chosen; by formula the effects cancel in {even:.0f} cylinders",
    }
    narrow, wide = window(study, even / 2), window(study, 2 * even)

    def times(places: Places, settle_s: float, factor: float = DOUBLE) -> tuple[float, float]:
        """Return the mean seek times before and after, in ms."""
        found = runs.reads(study, places, denser(HYPOTHETICAL, factor, settle_s))
        return 1e3 * runs.seek_s(found["before"]), 1e3 * runs.seek_s(found["denser"])

    def part(what: str, paper: str, both: tuple[float, float], rule: Rule, **of: Any) -> Part:
        a, b = ("denser", both[1]), ("before", both[0])
        return relation(f"{what}, simulator", paper, a, rule, b, "{:.4g} ms", **of)

    travel_only, narrow_ms, wide_ms = times(wide, 0.0), times(narrow, settle), times(wide, settle)
    outcome = Outcome(
        [
            part("the way alone (C = 0), tpi x 2", "shorter", travel_only, Rule.LOWER, **on),
            part("short seeks, tpi x 2", "settling dominates: bad", narrow_ms, Rule.HIGHER, **on),
            part("long seeks, tpi x 2", "the way dominates: good", wide_ms, Rule.LOWER, **on),
        ]
    )
    of: dict[str, Any] = {"kind": Kind.STAND_IN, "workload": LOCALITY}
    near = workloads.uniform(count(study), study.choices.seed, EXAMPLE_BYTES)
    for name, places in (("16-Mbyte stand-in", near), (SCALE_FREE, _traces(study)[SCALE_FREE])):
        what = f"local access, tpi x {YEAR}, {name}"
        both = times(places, settle, YEAR)
        outcome.parts.append(
            part(what, "increased tpi bad for performance", both, Rule.HIGHER, **of)
        )
    outcome.tables = [_density_table(narrow_ms, wide_ms, even, settle)]
    outcome.figures = [study.figure("ng-5-tpi", lambda: _density_figure(settle))]
    return outcome


def _window_s(cylinders: float, factor: float, settle_s: float) -> float:
    """Return the mean seek time by formula if every request seeks."""
    way = formulas.MEAN_SQRT_DISTANCE * np.sqrt(cylinders / factor)
    c = HYPOTHETICAL.curve
    return float(c.base_s + c.travel_s * way + settle_s * np.log(factor))


def _density_table(
    narrow: tuple[float, float], wide: tuple[float, float], even: float, settle_s: float
) -> Any:
    rows = {}
    for n, both in ((even / 2, narrow), (2 * even, wide)):
        exact = [1e3 * _window_s(n, y, settle_s) for y in (1.0, DOUBLE)]
        rows[f"window of {n:.0f} cylinders"] = (exact[1] / exact[0], both[1] / both[0])
    title = f"Seek time with tpi x 2 over that before; break-even by formula: {even:.0f} cylinders"
    return runs.beside(title, rows)


def _density_figure(settle_s: float) -> Any:
    windows = np.geomspace(2, CYLINDERS, 60)
    megabytes = HYPOTHETICAL.cylinder_sectors * SECTOR_BYTES / MB
    lines = {
        f"tpi x {y:g}{', C = 0' * (c == 0)}": [
            (n * megabytes, 100 * (_window_s(n, y, c) / _window_s(n, 1, c) - 1)) for n in windows
        ]
        for y, c in ((YEAR, settle_s), (DOUBLE, settle_s), (DOUBLE, 0.0))
    }
    return charts.points(
        lines,
        {},
        "Denser tracks: seek time of uniform requests, formula",
        alt.X("x:Q", title="window (Mbytes)", scale=alt.Scale(type="log", nice=False)),
        alt.Y("y:Q", title="change of the seek time (%)"),
    )


# NG-7.

#: Drives of equal capacity: ten heads, and six with x = y = 1.291, rounded to sectors and
#: cylinders.
TEN_HEADS = Disk(heads=10, track_sectors=120)
SIX_HEADS = Disk(heads=6, track_sectors=155, cylinders=5164, tpi_factor=1.291)

#: Volumetric density: one platter more than with ten heads.
TWELVE_HEADS = replace(TEN_HEADS, heads=12)


def fewer_heads(study: Study) -> Outcome:
    """Judge fewer heads at equal capacity, and more heads in the same height."""
    outcome = Outcome(_platter_parts())
    disks = {"10 heads": TEN_HEADS, "6 heads": SIX_HEADS, "12 heads": TWELVE_HEADS}
    places = _traces(study)[SCALE_FREE]
    found = _measured(runs.reads(study, places, disks))
    ratios = dict(zip(disks, runs.sustained_ratio(study, disks), strict=True))
    exact = {k: _sustained(d) for k, d in disks.items()}
    net = [ratios[k] * disks[k].media_rate for k in ("6 heads", "10 heads")]
    rate: dict[str, Any] = {"workload": "whole cylinders in order"}
    outcome.parts += [
        relation("sustained over media rate, simulator", "lowered", ("6 heads", ratios["6 heads"]),
                 Rule.LOWER, ("10 heads", ratios["10 heads"]), "{:.4f}", **rate),
        relation("sustained rate, simulator", "offset, perhaps more than compensated, by the bpi",
                 ("6 heads", net[0] / 1e6), Rule.HIGHER, ("10 heads", net[1] / 1e6),
                 "{:.3g} MB/s", **rate),
        *_smaller_cylinders(places, found),
    ]  # fmt: skip
    rows = {k: (exact[k], ratios[k]) for k in disks}
    outcome.tables = [
        runs.beside("Sustained over media rate", rows, "{:.5f}"),
        _heads_table(disks, found, places),
    ]
    outcome.figures = [study.figure("ng-7-heads", lambda: _heads_figure(found))]
    return outcome


def _sustained(disk: Disk) -> float:
    turn = float(formulas.rotation_time_s(disk.rpm))
    return turn / (turn + disk.switch_s)


def _platter_parts() -> list[Part]:
    def count_(density: float) -> float:
        return float(formulas.platters(4 * GB, 800 * MB, density))

    same = TEN_HEADS.cylinder_sectors / SIX_HEADS.cylinder_sectors
    return [
        number("platters of 800 Mbytes for 4 Gbytes, formula", 5.0, count_(1), "{:.0f}",
               rule=Rule.PRINTED),
        number("platters at 67 % more density, formula", 3.0, count_(1.67), "{:.0f}",
               rule=Rule.PRINTED),
        number("sectors of a cylinder shrink by y = 1.291", 1.291, same, "{:.4g}"),
    ]  # fmt: skip


def physical_way(places: Places, disk: Disk) -> float:
    """Return the mean distance of arm movement per request, in cylinders of track density 1."""
    return float(np.mean(workloads.moves(places, disk))) / disk.tpi_factor


def _smaller_cylinders(places: Places, found: Mapping[str, tuple[float, float]]) -> list[Part]:
    of: dict[str, Any] = {"kind": Kind.STAND_IN, "workload": LOCALITY}
    way = {d: physical_way(places, d) for d in (TEN_HEADS, SIX_HEADS, TWELVE_HEADS)}

    def seeks(what: str, paper: str, name: str, rule: Rule, i: int = 0) -> Part:
        a, b = (name, found[name][i]), ("10 heads", found["10 heads"][i])
        return relation(f"{what}, simulator, {SCALE_FREE}", paper, a, rule, b, "{:.4g}", **of)

    return [
        seeks("fewer heads: number of seeks", "increases", "6 heads", Rule.HIGHER),
        number(f"fewer heads: physical distance per request, {SCALE_FREE}", 1.0,
               way[SIX_HEADS] / way[TEN_HEADS], "{:.4f}",
               note="paper: no change; per seek it is shorter, since there are more", **of),
        seeks("volumetric density: number of seeks", "reduces", "12 heads", Rule.LOWER),
        relation(f"volumetric density: seek distance, {SCALE_FREE}", "reduces",
                 ("12 heads", way[TWELVE_HEADS]), Rule.LOWER, ("10 heads", way[TEN_HEADS]),
                 "{:.4g} cylinders", **of),
        seeks("volumetric density: time of seeks", "beneficial", "12 heads", Rule.LOWER, 1),
    ]  # fmt: skip


def _heads_table(
    disks: Mapping[str, Disk], found: Mapping[str, tuple[float, float]], places: Places
) -> Any:
    base = found["10 heads"]
    rows = [
        [
            name,
            f"{d.sectors * SECTOR_BYTES / 1e6:,.0f}",
            f"{d.cylinder_sectors / 2:.0f}",
            *(f"{found[name][i] / base[i] - 1:+.1%}" for i in (0, 1)),
            f"{physical_way(places, d) / physical_way(places, TEN_HEADS) - 1:+.1%}",
        ]
        for name, d in disks.items()
    ]
    headings = ["drive", "capacity, MB", "cylinder, KB", "seeks", "time of seeks", "distance"]
    return Table(f"Against ten heads, {SCALE_FREE}, settling left out", headings, rows)


def _heads_figure(found: Mapping[str, tuple[float, float]]) -> Any:
    base = found["10 heads"]
    names = {"6 heads": "6 heads, density x 5/3", "12 heads": "12 heads, same density"}
    values = {
        text: {
            "seeks": 100 * (found[k][0] / base[0] - 1),
            "time of seeks": 100 * (found[k][1] / base[1] - 1),
        }
        for k, text in names.items()
    }
    title = "Heads: seeks against those of ten heads"
    return charts.columns(values, title, "", "change (%)", "+.1f", "drive")
