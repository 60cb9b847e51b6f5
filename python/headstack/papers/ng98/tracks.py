"""Ends of tracks: head switches, the sustained rate, the no-ID format (NG-3, NG-6, NG-8)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from headstack.drives import formulas
from headstack.drives.formulas import SECTOR_BYTES
from headstack.papers.study import Study
from headstack.results import paired

from . import runs, workloads
from .drive import CHANNEL_BYTES_PER_S, CYLINDER_SWITCH_S, HEADS, REQUEST_SECTORS, TRACK_SWITCH_S, Curve, Disk
from .times import count

#: Sizes in sectors of requests and tracks in the simulation; and a factor of bits per track.
REQUESTS = ((8, 111), (128, 160), (512, 111))
DENSER = 2

#: Every seek takes as long as a cylinder switch, so that switches can be separated from seeks.
EVEN = Curve(CYLINDER_SWITCH_S, 0.0)


def switches(study: Study) -> dict[str, pd.DataFrame]:
    """Return the time of head switches per request."""
    cases = [*REQUESTS, *((n, DENSER * s) for n, s in REQUESTS)]
    found = {case: simulated(study, *case) for case in cases}
    pairs = [
        {
            "request_sectors": n,
            "track_sectors": s,
            "formula_ms": 1e3 * formula_s(n, s),
            "simulator_ms": 1e3 * found[n, s],
            "denser_ms": 1e3 * found[n, DENSER * s],
            "printed_ms": 1e3 * (n - 1 / s) * _switch_s(),
            "printed_denser_ms": 1e3 * (n - 1 / (DENSER * s)) * _switch_s(),
        }
        for n, s in REQUESTS
    ]
    crossings = float(formulas.switches_per_request(8, 160, 8))
    aligned = {
        "simulator_ms": 1e3 * simulated(study, 8, 160, 8),
        "formula_ms": 1e3 * _switch_s() * crossings,
        "anywhere_ms": 1e3 * formula_s(8, 160),
    }
    curve = [
        {"request": _kbytes(n), "how": "formula", "track_sectors": s, "ms": 1e3 * formula_s(n, s)}
        for n in sorted({n for n, _ in cases})
        for s in range(80, 340, 4)
    ]
    curve += [
        {"request": _kbytes(n), "how": "simulator", "track_sectors": s, "ms": 1e3 * t} for (n, s), t in found.items()
    ]
    rows = {f"{n} sectors on {s}": (1e3 * formula_s(n, s), 1e3 * t) for (n, s), t in found.items()}
    return {
        "pairs": pd.DataFrame(pairs),
        "aligned": pd.DataFrame([aligned]),
        "curve": pd.DataFrame(curve),
        "simulated": runs.beside(rows, "ms"),
    }


def _kbytes(sectors: int) -> str:
    return f"{sectors * SECTOR_BYTES // 1024} Kbytes"


def _switch_s() -> float:
    return float(formulas.mean_switch_s(HEADS, TRACK_SWITCH_S, CYLINDER_SWITCH_S))


def formula_s(sectors: int, track: int) -> float:
    """Return the time of switches per request by formula."""
    return float(formulas.switch_time_s(sectors, track, _switch_s()))


def simulated(study: Study, sectors: int, track: int, alignment: int = 1) -> float:
    """Return the time of switches per request: that of long reads minus that of single sectors."""
    disk = Disk(track_sectors=track, curve=EVEN)
    space = (disk.sectors - sectors) * SECTOR_BYTES
    places = workloads.uniform(count(study), study.choices.seed, space) // alignment * alignment
    long, short = (runs.seek_s(runs.reads(study, places, {"a": disk}, n, switches=True)["a"]) for n in (sectors, 1))
    return long - short


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


def sustained(study: Study) -> dict[str, pd.DataFrame]:
    """Return figure 5: the sustained rate against the number of heads."""
    disks = {f"{h} heads": figure_5_disk(h) for h in FIGURE_5_HEADS}
    found = dict(zip(FIGURE_5_HEADS, runs.sustained_ratio(study, disks), strict=True))
    every = list(range(1, 21))
    exact = dict(zip(every, figure_5(every), strict=True))
    # Without a difference between the switches, the number of heads would not matter.
    turn = float(formulas.rotation_time_s(FIGURE_5_RPM))
    even = turn / (turn + TRACK_SWITCH_S)
    curve = [
        {"how": how, "heads": h, "ratio": r}
        for how, ratios in (("formula", exact), ("simulator", found))
        for h, r in ratios.items()
    ]
    both = runs.beside({f"{h} heads": (exact[h], found[h]) for h in FIGURE_5_HEADS}, "1")
    return {"curve": pd.DataFrame(curve), "both": both.assign(even=even)}


# NG-8.

#: Chosen: shares of a track in ID fields and their gaps; the article does not state them.
ID_SHARES = (0.10, 0.15)

#: The hypothetical drive's track with ID fields.
WITH_ID = 160

#: What the format changes, in the order of a figure.
CHANGES = ("data rate", "switches", "seeks", "seek time")


def no_id(study: Study) -> dict[str, pd.DataFrame]:
    """Return the effects of the no-ID format, one row for each share of ID fields."""
    before = Disk(track_sectors=WITH_ID)
    places = workloads.scale_free(count(study), study.choices.seed)
    near = _near(study, before)
    rows, changes = [], []
    for share in ID_SHARES:
        row = {**_no_id(study, share, before, places), **near[share]}
        rows.append(row)
        for name, key in zip(CHANGES, ("rate_mb_per_s", "switches", "seeks", "time_s"), strict=True):
            row[f"{name} change"] = row[f"without_{key}"] / row[f"with_{key}"] - 1
            changes.append(
                {"format": f"{share:.0%} of the track in ID fields", "of": name, "percent": 100 * row[f"{name} change"]}
            )
    return {"formats": pd.DataFrame(rows), "changes": pd.DataFrame(changes), "drawn": formats()}


def _near(study: Study, before: Disk) -> dict[float, dict[str, float]]:
    """Return seeks with and without ID fields in the article's 16 Mbytes, over several seeds.

    The columns have the interval of the difference, which the same places on both drives make
    small.
    """
    disks = {"with": before} | {f"{share}": replace(before, track_sectors=_without(share)) for share in ID_SHARES}
    every = []
    for seed in study.seeds():
        places = workloads.uniform(count(study), seed, workloads.EXAMPLE_BYTES)
        found = runs.reads(study, places, disks)
        every.append({k: (float(r["nonzero_seek_ratio"]), 1e3 * runs.seek_s(r)) for k, r in found.items()})
    rows: dict[float, dict[str, float]] = {share: {} for share in ID_SHARES}
    for share, row in rows.items():
        for i, key in enumerate(("near_seeks", "near_ms")):
            old, new = ([e[k][i] for e in every] for k in ("with", f"{share}"))
            mean, _ = paired.interval(old)
            change, half = paired.difference(old, new)
            row |= {f"with_{key}": mean, f"without_{key}": mean + change}
            row[f"without_{key}_half"] = half
    return rows


def _without(share: float) -> int:
    """Return the sectors of a track without ID fields, in whole sectors."""
    return round(float(formulas.no_id_sectors(WITH_ID, share)))


def _no_id(study: Study, share: float, before: Disk, places: workloads.Places) -> dict[str, float]:
    exact = float(formulas.no_id_sectors(WITH_ID, share))
    after = replace(before, track_sectors=round(exact))
    results = runs.reads(study, places, {"with": before, "without": after})
    raw = before.track_sectors / (1 - share)
    row = {"share": share, "sectors": exact}
    for name, disk, sectors in (("with", before, raw), ("without", after, exact)):
        row |= {
            f"{name}_rate_mb_per_s": disk.media_rate / 1e6,
            f"{name}_switches": crossings(disk),
            f"{name}_rpm": float(formulas.highest_rotation_rpm(CHANNEL_BYTES_PER_S, sectors)),
            f"{name}_seeks": float(results[name]["nonzero_seek_ratio"]),
            f"{name}_time_s": runs.seek_s(results[name]),
        }
    return row


def crossings(disk: Disk) -> float:
    """Return the head switches of a request of 4 Kbytes by formula."""
    return float(formulas.switches_per_request(REQUEST_SECTORS, disk.track_sectors))


#: Of figure 6: sectors of the track with ID fields, the share of these, and that of gaps in it.
DRAWN_SECTORS, DRAWN_SHARE, GAP_SHARE = 17, 0.15, 0.5


def formats() -> pd.DataFrame:
    """Return figure 6: sectors of equal data in both formats, ID fields and gaps to scale."""
    without = round(float(formulas.no_id_sectors(DRAWN_SECTORS, DRAWN_SHARE)))
    data = (1 - DRAWN_SHARE) / DRAWN_SECTORS
    head = DRAWN_SHARE / DRAWN_SECTORS
    old = [("ID field", head * (1 - GAP_SHARE)), ("gap", head * GAP_SHARE), ("data", data)]
    rows = []
    for name, parts in {
        "traditional": old * DRAWN_SECTORS, "no-ID": [("data", 1 / without)] * without
    }.items():  # fmt: skip
        ends = np.cumsum([0.0, *(share for _, share in parts)])
        rows += [
            {"format": name, "holds": holds, "from": a, "to": b, "without": without}
            for (holds, _), a, b in zip(parts, ends, ends[1:], strict=False)
        ]
    return pd.DataFrame(rows)
