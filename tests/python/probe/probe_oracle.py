"""Drives for tests of the probe, and their bands by the rules of docs/models/adaptive-zoning.md.

Nothing here is used by the probe.
"""

import copy
import math
import tomllib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from headstack import drives, probe
from headstack._toml import dumps
from headstack.drives import population
from headstack.drives.population.drawn import description
from headstack.probe import queue, replay


class Run(NamedTuple):
    """Successive tracks of one head, or of one cylinder, in physical sectors."""

    first: int
    n: int
    tracks: int
    head: int
    zone: int


def runs(spec: dict[str, Any]) -> list[Run]:
    """Return the bands of a drive, or its cylinders where all heads are used in turn."""
    g = spec["geometry"]
    heads = g["surfaces"]
    if spec.get("dash") == "D1A2S1H1":
        # Each arm has half of the heads and of the addresses; its zones count on.
        one = runs({"geometry": {**g, "surfaces": heads // 2}})
        half = one[-1].first + one[-1].n * one[-1].tracks
        return one + [r._replace(first=r.first + half, zone=r.zone + len(g["zones"])) for r in one]
    if g.get("layout") == "extents":
        return _runs_of_extents(g)
    found, at = [], 0
    for number, zone in enumerate(g["zones"]):
        cylinders = zone["last_cylinder"] - zone["first_cylinder"] + 1
        n = zone["sectors_per_track"]
        if g.get("layout", "cylinder-major") in ("cylinder-major", "serpentine"):
            found += [Run(at + c * n * heads, n, heads, 0, number) for c in range(cylinders)]
            at += cylinders * n * heads
            continue
        width = g["band_cylinders"]
        density = g.get("density", [{"bpi": 1, "tpi": 1}])
        density = density * heads if len(density) == 1 else density
        for band in range(math.ceil(cylinders / width)):
            wide = min(width, cylinders - band * width)
            order = list(range(heads))
            if g.get("head_order") == "alternate" and band % 2:
                order.reverse()
            for head in order:
                tracks = round(wide * density[head]["tpi"])
                sectors = round(n * density[head]["bpi"])
                found.append(Run(at, sectors, tracks, head, number))
                at += sectors * tracks
    return found


def _runs_of_extents(g: dict[str, Any]) -> list[Run]:
    """Join extents that follow each other on one surface."""
    past = [z["last_cylinder"] for z in g["zones"]]
    found: list[Run] = []
    for first, n, cylinder, head, _ in g["extents"]:
        zone = int(np.searchsorted(past, cylinder))
        if found and (found[-1].head, found[-1].zone) == (head, zone) and g["surfaces"] > 1:
            found[-1] = found[-1]._replace(tracks=found[-1].tracks + 1)
        else:
            found.append(Run(first, n, 1, head, zone))
    return found


@dataclass
class Figures:
    """What a probe has right: shares of the bands, and greatest differences."""

    heads: bool
    order: bool
    n_exact: float
    ends: float
    edges_bands: float
    rates: float
    turn_ppm: float

    def wrong(self, factor: float = 1.0) -> list[str]:
        """Return what misses its bound."""
        checks = {
            "heads": self.heads,
            "order": self.order,
            "n": 1 - self.n_exact <= 0.01 * factor,
            "ends": 1 - self.ends <= 0.05 * factor,
            "edges": self.edges_bands <= factor,
            "rates": self.rates <= 0.003 * factor,
            "turn": abs(self.turn_ppm) <= factor,
        }
        return [name for name, good in checks.items() if not good]


def rates(spec: dict[str, Any]) -> list[float]:
    """Return the sustained rate of each zone in bytes/s: docs/models/drives.md."""
    g = spec["geometry"]
    size = 4096 if g.get("sector_size", "512 B") == "4 KiB" else 512
    turn = 60 / float(g["rotation_speed"].split()[0])
    if spec.get("dash") == "D1A2S1H1":
        g = {**g, "surfaces": g["surfaces"] // 2}
    found, every = [], runs({"geometry": g})
    for number, zone in enumerate(g["zones"]):
        n = zone["sectors_per_track"]
        unit = 1.0 if g.get("skew_unit") == "turns" else 1 / n
        track, cylinder = (zone.get(k, 0) * unit for k in ("track_skew", "cylinder_skew"))
        mine = [r for r in every if r.zone == number][: 2 * g["surfaces"]]
        if g.get("layout", "cylinder-major") in ("cylinder-major", "serpentine"):
            h = g["surfaces"]
            turns, sectors = h + (h - 1) * track + cylinder, h * n
        elif g["layout"] == "extents":
            # By the layout's rule an inward track follows at so much, an outward one at the rest.
            step = ((g["surfaces"] - 1) * track + cylinder) % 1.0
            found.append(_extents_rate(mine, g["surfaces"], track, step) * size / turn)
            continue
        else:
            sectors = sum(r.n * r.tracks for r in mine)
            turns = sum(r.tracks + (r.tracks - 1) * cylinder + track for r in mine)
        found.append(sectors * size / turns / turn)
    return found


def _extents_rate(mine: list[Run], heads: int, track: float, step: float) -> float:
    """Return the sectors of two rounds of bands over their turns."""
    turns, cylinder, angle = 0.0, 0, []
    for i, run in enumerate(mine):
        way = -1 if run.head % 2 else 1
        begin = cylinder if way > 0 else cylinder + run.tracks - 1
        angle.append((run.head * track + begin * step, way * step, run.tracks))
        cylinder += run.tracks if (i + 1) % heads == 0 else 0
    for (a, skew, tracks), (b, _, _) in pairwise(angle[: heads + 1]):
        jump = (b - a - (tracks - 1) * skew) % 1.0
        turns += tracks + (tracks - 1) * (skew % 1.0) + jump
    return sum(r.n * r.tracks for r in mine[:heads]) / turns


def figures(probed: Any, spec: dict[str, Any], cycles: int = 3) -> Figures:
    """Compare a probe with the drive it was made on."""
    truth = runs(spec)
    starts = np.array([r.first for r in truth])
    block = probed.described["physical_bytes"] // probed.described["block_bytes"]
    g = spec["geometry"]
    end = probed.described["blocks"] // block
    right = ends = total = 0
    for zone in probed.geometry.found:
        chosen = sorted({0, zone.cycles // 2, zone.cycles - 1})[:cycles]
        bands = [(b, m * zone.cycle_blocks) for m in chosen for b in zone.cycle]
        for band, further in bands + [(b, 0) for b in zone.tail]:
            first = (band.first_lba + further) // block
            run = truth[int(np.searchsorted(starts, first, side="right")) - 1]
            past = min(run.first + run.n * run.tracks, end)
            mine = first + band.sectors_per_track * band.tracks
            total += 1
            right += band.sectors_per_track == run.n
            ends += abs(past - mine) <= run.n and abs(first - run.first) <= run.n
    edges = [z.first_lba // block for z in probed.geometry.found]
    count = 1 + max(r.zone for r in truth)
    true_edges = [next(r for r in truth if r.zone == i) for i in range(count)]
    true_edges = [r for r in true_edges if r.first < end]
    off = float("inf")
    if len(edges) == len(true_edges):
        pairs = zip(edges, true_edges, strict=True)
        off = max(abs(a - r.first) / (r.n * r.tracks) for a, r in pairs)
    mine_rates = [r.value for r in probed.rates()]
    true_rates = rates(spec)[: len(mine_rates)]
    apart = float("inf")
    if len(mine_rates) == len(true_rates):
        apart = max(abs(a / b - 1) for a, b in zip(mine_rates, true_rates, strict=True))
    turn = 60 / float(g["rotation_speed"].split()[0])
    return Figures(
        probed.geometry.heads == g["surfaces"],
        _order(probed, g),
        right / total,
        ends / total,
        off,
        apart,
        (probed.period.turn_s / turn - 1) * 1e6,
    )


def _order(probed: Any, g: dict[str, Any]) -> bool:
    """Tell whether layout, order and directions of heads are those of the drive."""
    layout = g.get("layout", "cylinder-major")
    mine = probed.geometry
    if layout in ("cylinder-major", "serpentine"):
        # Where both look alike that must be said.
        return mine.head_first and (mine.layout == layout or not probed.heads.sure)
    way = "serpentine" if layout in ("banded", "extents") else g.get("direction", "inward")
    way = way if g["surfaces"] > 1 else "inward"
    order = g.get("head_order", "same") if g["surfaces"] > 1 else "same"
    told = mine.head_order == order or not mine.order_told
    return mine.layout == "adaptive" and mine.direction == way and told


PRESETS = ("barracuda-7200.9-2006", "barracuda-es2-2008", "wd-re3-2009", "helium-20tb")


def drawn(seed: int, number: int, zones: int | None = None) -> dict[str, Any]:
    """Return drive `number` of a seed: layouts, heads and sectors in turn, values by chance.

    Args:
        seed: of all drives.
        number: which of them.
        zones: only so many zones, from the outside; None: all.
    """
    if number == 17:
        return extents(seed)
    rng = np.random.default_rng([seed, number])
    kind = ("adaptive", "banded", "cylinder-major", "serpentine")[number % 4]
    heads = int(rng.integers(1, 21))
    heads = 1 if number == 9 else heads
    kind = "cylinder-major" if heads == 1 else kind
    if number % 5 == 0:
        preset = PRESETS[number // 5 % len(PRESETS)]
        spec = description(population.draw(preset, n=1, seed=seed), 0)
        kind, heads = "adaptive", spec["geometry"]["surfaces"]
    else:
        spec = copy.deepcopy(dict(drives.load(str(rng.choice(PRESETS)))))
    spec = {**spec, "name": f"drawn-{seed}-{number}", "geometry": dict(spec["geometry"])}
    g = spec["geometry"]
    for key in ("capacity_blocks", "outer_radius", "inner_radius"):
        g.pop(key, None)
    g["zones"] = copy.deepcopy(g["zones"][: zones or int(rng.integers(6, 25))])
    g["surfaces"] = heads
    g["rotation_speed"] = f"{float(rng.choice([5400, 7200, 10000]) * rng.normal(1, 2e-4)):.4f} rpm"
    g["sector_size"] = str(rng.choice(["512 B", "4 KiB"]))
    if g["sector_size"] == "4 KiB" and g["zones"][0]["sectors_per_track"] > 1000:
        for zone in g["zones"]:
            zone["sectors_per_track"] //= 3
    if kind == "adaptive":
        g["head_order"] = str(rng.choice(["same", "alternate"]))
        g["direction"] = str(rng.choice(["inward", "serpentine"]))
        g["band_cylinders"] = int(rng.integers(80, 400))
        if number % 5:
            step = rng.integers(-3, 4, heads) * 0.031
            g["density"] = [{"bpi": round(math.exp(k), 5), "tpi": round(math.exp(-k), 5)} for k in step]
    else:
        for key in ("head_order", "direction", "density", "band_cylinders"):
            g.pop(key, None)
        if kind == "banded":
            g["band_cylinders"] = int(rng.integers(80, 400))
    g["layout"] = kind
    # A head switch takes more or less than the step to a neighbouring cylinder, as on real drives.
    cylinder = float(rng.uniform(0.08, 0.2))
    track = cylinder + float(rng.choice([-1, 1]) * rng.uniform(0.02, 0.05))
    for zone in g["zones"]:
        zone.update(track_skew=round(track, 4), cylinder_skew=round(cylinder, 4))
    _timed(spec, np.random.default_rng([seed, number, 1]))
    if number in (18, 19):
        g["surfaces"] = 2 * min(heads, 10)
        spec["dash"] = "D1A2S1H1"
        spec["parallelism"] = {"arm_share": "own-share", "logical_units": False}
        spec["parallelism"] |= {"arms_in_motion": 0, "channels": 0}
    spec["sources"] = {"": "chosen: drawn for a test"}
    return spec


def _timed(spec: dict[str, Any], rng: np.random.Generator) -> None:
    """Draw seeks, overheads, buffer and order of the queue."""
    single, average = rng.uniform(0.25, 0.8), rng.uniform(6.5, 11)
    times = {"single": single, "average": average, "full": rng.uniform(2.0, 2.1) * average}
    cylinders = spec["geometry"]["zones"][-1]["last_cylinder"] + 1
    spec["seek"] = {k: f"{ms:.4f} ms" for k, ms in times.items()}
    spec["seek"] |= {"model": "three-point", "cylinders": cylinders}
    # Longer than a step to the next cylinder, without which some layouts look alike.
    switch = f"{single + rng.uniform(0.1, 0.4):.4f} ms"
    spec["positioning"] = {**spec.get("positioning", {}), "head_switch": switch}
    late = dict.fromkeys(("after_read", "after_write"), f"{rng.uniform(0.05, 0.3):.4f} ms")
    spec["overhead"] = {**spec.get("overhead", {}), "read_miss": late}
    if rng.random() < 0.3:
        spec["cache"] = {"enabled": False}
    order: dict[str, Any] = {"scheduler": str(rng.choice(["fcfs", "sstf", "look", "sptf"]))}
    if rng.random() < 0.5:
        ageing = {"ageing": round(float(rng.uniform(0.5, 2)), 3)}
        order = {"scheduler": "depth-aged-sptf", "scheduler_parameters": ageing}
    spec["queue"] = {"depth": 32, **order}


def extents(seed: int) -> dict[str, Any]:
    """Return a small drive whose tracks are a list: bands, outward on odd heads."""
    rng = np.random.default_rng([seed, 99])
    spec = copy.deepcopy(dict(drives.load("barracuda-es-750")))
    heads, width = int(rng.integers(2, 7)), int(rng.integers(40, 90))
    g = {"layout": "extents", "surfaces": heads, "sector_size": "512 B", "skew_unit": "turns"}
    g |= {"rotation_speed": "7200 rpm", "zones": [], "extents": []}
    first, at = 0, 0
    for n in (800, 760, 700):
        skews = {"track_skew": 0.11, "cylinder_skew": 0.17}
        last = first + 10 * width - 1
        zone = {"first_cylinder": first, "last_cylinder": last, "sectors_per_track": n}
        g["zones"].append({**zone, **skews})
        for band in range(first, last, width):
            for head in range(heads):
                for t in range(width):
                    cylinder = band + (width - 1 - t if head % 2 else t)
                    g["extents"].append([at, n, cylinder, head, 0])
                    at += n
        first = last + 1
    g["cylinders"] = first
    spec |= {"name": f"extents-{seed}", "geometry": g, "sources": {"": "chosen: drawn"}}
    _timed(spec, rng)
    return spec


def written(spec: dict[str, Any], folder: Any) -> str:
    """Write a drive file; return the target that simulates it."""
    path = folder / f"{spec['name']}.toml"
    path.write_text(dumps(spec), encoding="utf-8")
    return f"sim:{path}"


class Judged(NamedTuple):
    """A drive, what a probe of it has wrong, and the bounds that it misses.

    Attributes:
        drive: in words.
        values: by name; shares and differences are relative.
        misses: names of values outside of their bounds.
    """

    drive: str
    values: dict[str, float]
    misses: list[str]


#: Bounds of values that are differences or misfits.
BOUNDS = {"seek": 1.0, "iops": 0.03, "p99": 0.10, "closed": 0.05, "open": 0.05}


def _ms(text: str) -> float:
    number, unit = text.split()
    return float(number) * {"ms": 1.0, "us": 1e-3}[unit]


def access_off(probed: Any, spec: dict[str, Any], file: dict[str, Any]) -> float:
    """Return overhead and seek's difference, in bounds: 5 % or 30 us, at 95 % of the distances.

    The truth is the three-point curve of docs/models/seek.md.
    """
    seek, end = spec["seek"], spec["geometry"]["zones"][-1]["last_cylinder"] + 1
    d = np.unique(np.rint(np.geomspace(1, 0.96 * end, 72)))
    n, single, average, full = (seek["cylinders"], *(_ms(seek[k]) for k in _POINTS))
    a = (-10 * single + 15 * average - 5 * full) / (3 * math.sqrt(n))
    b = (7 * single - 15 * average + 8 * full) / (3 * n)
    truth = single + a * np.sqrt(d - 1) + b * (d - 1) + _overhead(spec)
    points = np.array([(k, _ms(t)) for k, t in file["seek"]["points"]])
    # The probe counts tracks of a surface of mean density.
    nominal = d * probed.geometry.cylinders / end
    mine = np.interp(nominal, points[:, 0], points[:, 1]) + _overhead(file)
    off = np.abs(mine - truth) / np.maximum(0.05 * truth, 0.03)
    return float(np.quantile(off, 0.95))


_POINTS = ("single", "average", "full")


def _overhead(drive: dict[str, Any]) -> float:
    return _ms(drive["overhead"]["read_miss"]["after_read"])


def queue_off(probed: Any, truth: str, mine: Path) -> tuple[float, float]:
    """Return the greatest differences of rates and of 99th percentiles over all depths."""
    block = probed.described["physical_bytes"] // probed.described["block_bytes"]
    rng = np.random.default_rng(7)
    off = []
    for depth in (1, 2, 4, 8, 16, 32):
        lbas = (rng.integers(0, probed.described["blocks"] // block, 15_000) * block).tolist()
        answers = (
            replay.simulated(f, replay.Host(15e-6)).read(lbas, block, depth=depth)
            for f in (truth.removeprefix("sim:"), mine)
        )
        both = [queue.figures(replay.taken(a), np.array(a[1]) / 1e9, depth, "") for a in answers]
        off.append([abs(float(b.value) / float(a.value) - 1) for a, b in zip(*both, strict=True)])
    iops, p99 = np.max(off, axis=0)
    return float(iops), float(p99)


def judged(spec: dict[str, Any], folder: Path, seed: int, factor: float = 1.0, **options: Any) -> Judged:
    """Probe a drive and judge all of it; bounds are `factor` times those of a quiet host."""
    g, target = spec["geometry"], written(spec, folder)
    arms = 2 if spec.get("dash") == "D1A2S1H1" else 1
    order = spec["queue"]["scheduler"]
    drive = (
        f"{spec['name']}: {g['layout']}, {g['surfaces']} heads, {g['sector_size']}, "
        f"{len(g['zones'])} zones, {order}, buffer {'on' if spec['cache']['enabled'] else 'off'}, "
        f"{arms} arm{'s' * (arms - 1)}"
    )
    probed = probe.probe(target, seed=seed, **options)
    right = figures(probed, spec)
    mine = probed.write_drive(folder / f"{spec['name']}-probed.toml")
    values: dict[str, float] = dict(vars(right))
    values["seek"] = access_off(probed, spec, tomllib.loads(mine.read_text("utf-8")))
    values["iops"], values["p99"] = queue_off(probed, target, mine)
    times = probed.found
    if times is not None and times.actuators is not None:
        values["arms"] = int(times.actuators.number.value) == arms
    for way in ("closed", "open") if probed.replay is not None else ():
        value, chance = getattr(probed.replay, way), probed.replay.chance[way == "open"]
        # Two runs of one drive differ, too.
        values[way] = math.sqrt(max(0.0, float(value.value) ** 2 - chance**2))
        values[f"{way} by chance"] = chance
    values["seconds"] = sum(probed.seconds.values())
    misses = right.wrong(factor) + [k for k in BOUNDS if values.get(k, 1e9) > BOUNDS[k] * factor]
    misses += [] if values.get("arms") else ["arms"]
    if factor > 1 and any(note.startswith("too noisy") for note in probed.notes):
        # Beside other loads a file may be off if that is said.
        misses = [name for name in misses if name not in ("closed", "open")]
    return Judged(drive, values, misses)


def table(rows: list[Judged]) -> str:
    """Return all values of all drives as lines."""
    names = list(max((row.values for row in rows), key=len))
    lines = [" | ".join(["drive", *names, "misses"])]
    for row in rows:
        shown = [f"{float(row.values[k]):.4g}" if k in row.values else "-" for k in names]
        lines.append(" | ".join([row.drive, *shown, ", ".join(row.misses) or "-"]))
    return "\n".join(lines)
