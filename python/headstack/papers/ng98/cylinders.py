"""Larger cylinders, denser ones, fewer heads (NG-4, NG-5, NG-7)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from headstack.drives import formulas
from headstack.drives.formulas import GB, KB, MB, SECTOR_BYTES
from headstack.papers import seeds
from headstack.papers.study import Study

from . import runs, workloads
from .drive import CYLINDERS, HYPOTHETICAL, REQUEST_BYTES, Disk, curve
from .times import count
from .workloads import EXAMPLE_BYTES, Places

#: Sectors on a track in figures 3 and 4, as multiples.
FACTORS = (1, 2, 4, 8)

SCALE_FREE, APPLICATIONS = "scale-free stand-in", "application stand-in"

Found = dict[str, tuple[float, float]]


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


def bigger(study: Study) -> dict[str, pd.DataFrame]:
    """Return the effects of larger cylinders, figures 3 and 4."""
    disk, n = hypothetical(study), count(study)
    found = {name: _measured(runs.reads(study, places, _wider(disk))) for name, places in _traces(study).items()}
    seeks = [
        {
            "workload": name,
            "track": drive,
            "seeks": share,
            "time_s": time,
            "thousand_seeks": share * n / 1e3,
            "whole_s": time * n,
            "seeks_of_x1": share / ours["x1"][0],
            "time_of_x1": time / ours["x1"][1],
            "fewer_percent": 100 * (1 - share / ours["x1"][0]),
            "less_percent": 100 * (1 - time / ours["x1"][1]),
            "n": n,
        }
        for name, ours in found.items()
        for drive, (share, time) in ours.items()
    ]
    saved = [
        {"workload": r["workload"], "of": of, "percent": r[key]}
        for r in seeks
        if r["track"] == "x2"
        for of, key in (("fewer seeks", "fewer_percent"), ("less time in seeks", "less_percent"))
    ]
    return {
        "example": _example(study),
        "seeks": pd.DataFrame(seeks),
        "saved": pd.DataFrame(saved),
        "closed": _closed_form(study, disk, found[SCALE_FREE]),
    }


def _measured(results: Mapping[str, Mapping[str, Any]]) -> Found:
    """Return the share of requests with a seek, and the mean time in seeks in s, by drive."""
    return {k: (float(r["nonzero_seek_ratio"]), runs.seek_s(r)) for k, r in results.items()}


def _example(study: Study) -> pd.DataFrame:
    """Return the numbers of the text that need no unpublished workload."""
    cylinder = 480 * KB
    chance = 100 * float(formulas.no_seek_probability(EXAMPLE_BYTES / cylinder))
    kept = 100 / 1.3
    fewer = replace(HYPOTHETICAL, track_sectors=round(1.2 * HYPOTHETICAL.track_sectors))
    places = workloads.uniform(count(study), study.choices.seed, EXAMPLE_BYTES)
    results = runs.reads(study, places, _wider(HYPOTHETICAL))
    denser = replace(HYPOTHETICAL, track_sectors=round(1.3 * HYPOTHETICAL.track_sectors))
    way = [float(np.mean(workloads.moves(places, d))) for d in (HYPOTHETICAL, denser, fewer)]
    stay = [100 * (1 - float(results[k]["nonzero_seek_ratio"])) for k in ("x1", "x2")]
    return pd.DataFrame(
        [
            {
                "cylinders_percent": kept,
                "saved_percent": 100 - kept,
                "counted_percent": 100 * (1 - way[1] / way[0]),
                "counted_fewer_percent": 100 * (1 - way[2] / way[0]),
                "stay_percent": chance,
                "twice_percent": 2 * chance,
                "simulated_percent": stay[0],
                "simulated_twice_percent": stay[1],
            }
        ]
    )


def _closed_form(study: Study, disk: Disk, ours: Found) -> pd.DataFrame:
    rows = {}
    for k in FACTORS:
        size = k * disk.cylinder_sectors * SECTOR_BYTES
        span = (REQUEST_BYTES, study.choices.used_mb * MB, size)
        chance = float(formulas.log_uniform_seek_probability(*span))
        time = formulas.log_uniform_seek_time_s(*span, disk.curve.base_s, disk.curve.travel_s)
        rows[f"x{k}: seeks per request"] = (chance, ours[f"x{k}"][0])
        rows[f"x{k}: time in seeks per request, ms"] = (1e3 * float(time), 1e3 * ours[f"x{k}"][1])
    return runs.beside(rows, "")


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


@seeds.over_seeds("tpi")
def density(study: Study) -> dict[str, pd.DataFrame]:
    """Return the two effects of tpi on seeks, over several seeds."""
    settle = study.choices.settle_s
    travel = HYPOTHETICAL.curve.travel_s
    even = float(formulas.break_even_window_cylinders(DOUBLE, travel, settle))
    narrow, wide = window(study, even / 2), window(study, 2 * even)
    near = workloads.uniform(count(study), study.choices.seed, EXAMPLE_BYTES)
    cases = {
        "way": (wide, 0.0, DOUBLE),
        "short": (narrow, settle, DOUBLE),
        "long": (wide, settle, DOUBLE),
        "short, C = 0": (narrow, 0.0, DOUBLE),
        "16 Mbytes": (near, settle, YEAR),
        "16 Mbytes, C = 0": (near, 0.0, YEAR),
        SCALE_FREE: (_traces(study)[SCALE_FREE], settle, YEAR),
    }
    rows: list[dict[str, Any]] = []
    for case, (places, settle_s, factor) in cases.items():
        found = runs.reads(study, places, denser(HYPOTHETICAL, factor, settle_s))
        times = {f"{k}_ms": 1e3 * runs.seek_s(found[k]) for k in ("before", "denser")}
        # With distances counted in tracks, a window has as many of them at any density.
        times["in_tracks_ms"] = times["before_ms"]
        rows.append(
            {"case": case, "tpi": factor, "even_cylinders": even, "least_settle_ms": _least_settle_ms(), **times}
        )
    changed = {r["case"]: r["denser_ms"] / r["before_ms"] for r in rows}
    both = {}
    for n, case in ((even / 2, "short"), (2 * even, "long")):
        exact = [1e3 * _window_s(n, y, settle) for y in (1.0, DOUBLE)]
        both[f"window of {n:.0f} cylinders"] = (exact[1] / exact[0], changed[case])
    return {
        "tpi": pd.DataFrame(rows),
        "both": runs.beside(both, "1").assign(even_cylinders=even),
        "windows": _windows(settle),
    }


def _least_settle_ms() -> float:
    """Return the settling for each doubling from which tpi is bad in the article's 16 Mbytes.

    By formula, with one year's growth of tpi: settling then takes as much as the way saves.
    """
    cylinders = EXAMPLE_BYTES / (HYPOTHETICAL.cylinder_sectors * SECTOR_BYTES)
    way = HYPOTHETICAL.curve.travel_s * formulas.MEAN_SQRT_DISTANCE * np.sqrt(cylinders)
    return float(1e3 * way * (1 - 1 / np.sqrt(YEAR)) / np.log2(YEAR))


def _window_s(cylinders: float, factor: float, settle_s: float) -> float:
    """Return the mean seek time by formula if every request seeks."""
    way = formulas.MEAN_SQRT_DISTANCE * np.sqrt(cylinders / factor)
    c = HYPOTHETICAL.curve
    return float(c.base_s + c.travel_s * way + settle_s * np.log(factor))


def _windows(settle_s: float) -> pd.DataFrame:
    """Return the change of the seek time by formula in windows of many sizes."""
    megabytes = HYPOTHETICAL.cylinder_sectors * SECTOR_BYTES / MB
    return pd.DataFrame(
        [
            {
                "tpi": f"tpi x {y:g}{', C = 0' * (c == 0)}",
                "window_mb": n * megabytes,
                "percent": 100 * (_window_s(n, y, c) / _window_s(n, 1, c) - 1),
            }
            for y, c in ((YEAR, settle_s), (DOUBLE, settle_s), (DOUBLE, 0.0))
            for n in np.geomspace(2, CYLINDERS, 60)
        ]
    )


# NG-7.

#: Drives of equal capacity: ten heads, and six with x = y = 1.291, rounded to sectors and
#: cylinders.
TEN_HEADS = Disk(heads=10, track_sectors=120)
SIX_HEADS = Disk(heads=6, track_sectors=155, cylinders=5164, tpi_factor=1.291)

#: Volumetric density: one platter more than with ten heads.
TWELVE_HEADS = replace(TEN_HEADS, heads=12)


def fewer_heads(study: Study) -> dict[str, pd.DataFrame]:
    """Return drives of fewer heads at equal capacity, and of more heads in the same height."""
    disks = {"10 heads": TEN_HEADS, "6 heads": SIX_HEADS, "12 heads": TWELVE_HEADS}
    places = _traces(study)[SCALE_FREE]
    found = _measured(runs.reads(study, places, disks))
    ratios = dict(zip(disks, runs.sustained_ratio(study, disks), strict=True))
    base, way = found["10 heads"], physical_way(places, TEN_HEADS)
    rows = [
        {
            "drive": name,
            "capacity_mb": d.sectors * SECTOR_BYTES / 1e6,
            "cylinder_kb": d.cylinder_sectors / 2,
            "seeks": found[name][0],
            "time_s": found[name][1],
            "way_cylinders": physical_way(places, d),
            "sustained_of_media": ratios[name],
            "sustained_mb_per_s": ratios[name] * d.media_rate / 1e6,
            "seeks_change": found[name][0] / base[0] - 1,
            "time_change": found[name][1] / base[1] - 1,
            "way_change": physical_way(places, d) / way - 1,
            "way_of_10": physical_way(places, d) / way,
            "cylinders_of_10": physical_way(places, d) * d.tpi_factor / way,
            "same_bpi_mb_per_s": ratios[name] * TEN_HEADS.media_rate / 1e6,
        }
        for name, d in disks.items()
    ]
    shown = {"6 heads": "6 heads, density x 5/3", "12 heads": "12 heads, same density"}
    changes = [
        {"drive": text, "of": of, "percent": 100 * (found[name][i] / base[i] - 1)}
        for name, text in shown.items()
        for i, of in enumerate(("seeks", "time of seeks"))
    ]
    exact = {k: (_sustained(d), ratios[k]) for k, d in disks.items()}
    platters = {
        "platters": float(formulas.platters(4 * GB, 800 * MB, 1)),
        "denser_platters": float(formulas.platters(4 * GB, 800 * MB, 1.67)),
        "shrinks": TEN_HEADS.cylinder_sectors / SIX_HEADS.cylinder_sectors,
    }
    return {
        "platters": pd.DataFrame([platters]),
        "drives": pd.DataFrame(rows),
        "changes": pd.DataFrame(changes),
        "both": runs.beside(exact, "1"),
    }


def _sustained(disk: Disk) -> float:
    turn = float(formulas.rotation_time_s(disk.rpm))
    return turn / (turn + disk.switch_s)


def physical_way(places: Places, disk: Disk) -> float:
    """Return the mean distance of arm movement per request, in cylinders of track density 1."""
    return float(np.mean(workloads.moves(places, disk))) / disk.tpi_factor
