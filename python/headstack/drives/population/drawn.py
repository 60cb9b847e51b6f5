"""Drawing a population: heads, what the manufacturer does with them, and the drives that result."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstack import _bridge, drives
from headstack.drives import streaming
from headstack.errors import ConfigError

from .economics import Economics
from .heads import MOST_DRIVES, Floats, HeadModel, Heads, damage_stream, factors
from .policies import Policy
from .presets import PRESETS, Damage, Preset

#: How often a head that cannot be used is replaced before the whole drive is drawn again.
_HEAD_ROUNDS, _DRIVE_ROUNDS = 40, 10

#: The share of a drive, by addresses, in which drives are compared, as in the paper.
FIRST_QUARTER = 0.25


@dataclass(frozen=True)
class Counts:
    """Heads that were taken to build a population.

    Attributes:
        taken: number of heads that were measured.
        used: number of heads in the drives.
        scrapped: number of heads that fit no format.
        diverted: number of heads that went into another product.
        abandoned: number of drives that were begun again because no head fitted a place.
    """

    taken: int
    used: int
    scrapped: int
    diverted: int
    abandoned: int

    @property
    def head_yield(self) -> float:
        """Share of the heads that were not scrapped."""
        return 1 - self.scrapped / self.taken


@dataclass(frozen=True)
class Population:
    """Drives of one design that differ in their heads.

    Attributes:
        preset: how they were drawn.
        seed: seed of the random streams.
        spec: description of the nominal drive.
        heads: widths and margins of their heads, shaped (drives, heads).
        classes: class of each head's format, of the same shape.
        factors: factor on all times of each drive.
        weak: which drives have weak heads.
        damage: slow areas.
        counts: the heads that were taken.
    """

    preset: Preset
    seed: int
    spec: Mapping[str, Any]
    heads: Heads
    classes: NDArray[np.int16]
    factors: Floats
    weak: NDArray[np.bool_]
    damage: tuple[streaming.Damage, ...]
    counts: Counts

    def __len__(self) -> int:
        """Return the number of drives."""
        return len(self.classes)

    @cached_property
    def densities(self) -> Floats:
        """Factors of bits and of tracks per inch, shaped (drives, heads, 2)."""
        return self.preset.policy.density(self.classes)

    @property
    def capacity_bytes(self) -> int:
        """Capacity of every drive of the population: the nominal one."""
        return int(self.spec["geometry"]["capacity_blocks"]) * 512

    @cached_property
    def raw_bytes(self) -> NDArray[np.int64]:
        """Bytes that the format of each drive holds."""
        return streaming.capacities(self.spec, densities=self.densities).astype(np.int64)

    @cached_property
    def zone_rates(self) -> Floats:
        """Sustained rate of each drive in each zone, bytes/s, without noise and damage."""
        return streaming.zone_rates(self.spec, densities=self.densities, factors=self.factors)

    def sweep(
        self,
        block_bytes: int,
        first_byte: int = 0,
        last_byte: int | None = None,
        *,
        trials: int = 1,
        noise: bool = True,
        seed: int = 0,
        threads: int | None = None,
    ) -> Floats:
        """Read every drive in blocks, in order; return rates in bytes/s (drives, trials, blocks).

        Args:
            block_bytes: size of a block; a smaller rest at the end is not read.
            first_byte: where to begin.
            last_byte: where to end; None: at the capacity.
            trials: number of sweeps of each drive.
            noise: whether revolutions are lost and sweeps differ.
            seed: seed of the noise.
            threads: number of threads; None: as many as there are processors.
        """
        base = self.preset.noise if noise else streaming.Noise()
        return streaming.sweep(
            self.spec,
            densities=self.densities,
            factors=self.factors,
            block_bytes=block_bytes,
            first_byte=first_byte,
            last_byte=self.capacity_bytes if last_byte is None else last_byte,
            trials=trials,
            seed=seed,
            noise=replace(base, damage=self.damage),
            threads=threads,
        )

    def quarter_rates(self) -> Floats:
        """Return each drive's rate over the first quarter, from the rates of its zones, bytes/s.

        The rate is bytes over time, with slow areas and without noise. Zones are assumed to be as
        large as those of the nominal drive; the zones of a drawn drive differ by less than 1 %
        (rounding to whole tracks).
        """
        ends = np.minimum(np.cumsum(self.zone_bytes()), FIRST_QUARTER * self.capacity_bytes)
        starts = np.concatenate([[0.0], ends[:-1]])
        part = ends - starts
        time = (part / self.zone_rates).sum(axis=1)
        for area in self.damage:
            inside = np.minimum(ends, area.last_byte) - np.maximum(starts, area.first_byte)
            slow = np.maximum(inside, 0.0) / self.zone_rates[area.drive]
            time[area.drive] += slow.sum() * (1 / area.rate_factor - 1)
        return np.asarray(part.sum() / time)

    def zone_bytes(self) -> Floats:
        """Return what each zone of the nominal drive holds."""
        return np.asarray(zone_bytes(self.spec), np.float64)

    def undamaged(self) -> "Population":
        """Return the same drives without slow areas."""
        return replace(self, damage=())

    def part(self, chosen: slice) -> "Population":
        """Return some of the drives, by their places, as a population of its own."""
        places = range(len(self))[chosen]
        number = {place: i for i, place in enumerate(places)}
        kept = tuple(replace(area, drive=number[area.drive]) for area in self.damage if area.drive in number)
        rows = list(places)
        return replace(
            self,
            heads=Heads(self.heads.width[rows], self.heads.quality[rows]),
            classes=self.classes[rows],
            factors=self.factors[rows],
            weak=self.weak[rows],
            damage=kept,
        )


def zone_bytes(spec: Mapping[str, Any]) -> list[int]:
    """Return what each zone of a drive at nominal density holds."""
    geometry = spec["geometry"]
    sector = int(_bridge.quantity("size", geometry.get("sector_size", "512 B")))
    return [
        (z["last_cylinder"] - z["first_cylinder"] + 1) * geometry["surfaces"] * z["sectors_per_track"] * sector
        for z in geometry["zones"]
    ]


def nominal(spec: Mapping[str, Any], where: object) -> Mapping[str, Any]:
    """Return a drive's description if a population can be drawn around it.

    Raises:
        ConfigError: its layout has no densities by surface, or it has no capacity.
    """
    geometry = spec["geometry"]
    layout = geometry.get("layout", "cylinder-major")
    if layout != "adaptive":
        raise ConfigError(
            f'{where}: geometry.layout: got "{layout}", need "adaptive", whose surfaces have densities of their own'
        )
    if geometry.get("capacity_blocks") is None:
        raise ConfigError(
            f"{where}: geometry.capacity_blocks: got nothing, need the blocks that every drive "
            "offers, however its heads turn out"
        )
    if any(not isinstance(z["sectors_per_track"], int) for z in geometry["zones"]):
        raise ConfigError(
            f"{where}: geometry.zones: got sectors_per_track by surface, need one number: surfaces differ by density"
        )
    return spec


def draw(
    drive: str | PathLike[str] | Preset,
    n: int | None = None,
    seed: int = 0,
    *,
    heads: HeadModel | None = None,
    policy: Policy | None = None,
) -> Population:
    """Draw drives that share a design and differ in their heads.

    Equal arguments give equal drives. Drive i does not depend on `n`.

    Args:
        drive: a preset or its name, or the name or file of a drive with layout ``adaptive``, which
            gets the heads and the policy of `Preset`.
        n: number of drives; None: as many as the preset has.
        seed: seed of the random streams.
        heads: distribution of heads instead of the preset's.
        policy: the manufacturer's policy instead of the preset's.

    Raises:
        ConfigError: there is no such drive, it cannot be one of a population, `n` or `seed` is out
            of bounds, or hardly any head fits.
    """
    chosen = drive if isinstance(drive, Preset) else PRESETS.get(str(drive), Preset(str(drive)))
    changes: dict[str, Any] = {}
    if heads is not None:
        changes["heads"] = heads
    if policy is not None:
        changes["policy"] = policy
    chosen = replace(chosen, **changes)
    count = chosen.n if n is None else n
    if not 1 <= count <= MOST_DRIVES:
        raise ConfigError(f"population.n: got {count}, need 1 to {MOST_DRIVES}")
    if not 0 <= seed < 2**64:
        raise ConfigError(f"population.seed: got {seed}, need 0 to {2**64 - 1}")
    where = drives.find(chosen.drive)
    spec = nominal(drives.load(chosen.drive), where)
    built = _build(chosen.heads, chosen.policy, count, int(spec["geometry"]["surfaces"]), seed)
    areas = _damage(chosen.damage, count, int(spec["geometry"]["capacity_blocks"]) * 512, seed)
    return Population(
        preset=chosen,
        seed=seed,
        spec=spec,
        heads=Heads(built.width, built.quality),
        classes=built.classes,
        factors=factors(count, chosen.factor_sd, seed),
        weak=built.weak,
        damage=areas,
        counts=built.counts,
    )


class _Built(NamedTuple):
    width: Floats
    quality: Floats
    classes: NDArray[np.int16]
    weak: NDArray[np.bool_]
    counts: Counts


def _build(model: HeadModel, policy: Policy, n: int, surfaces: int, seed: int) -> _Built:
    """Give every place of every drive a head that can be used."""
    shape = (n, surfaces)
    width, quality = np.zeros(shape), np.zeros(shape)
    classes, weak = np.zeros(shape, np.int16), np.zeros(n, np.bool_)
    open_ = np.ones(shape, np.bool_)
    taken = scrapped = diverted = abandoned = 0
    for attempt in range(_DRIVE_ROUNDS):
        shared, is_weak = model.drives(n, seed, attempt)
        begun = open_.any(axis=1)
        weak[begun] = is_weak[begun]
        for round_ in range(_HEAD_ROUNDS):
            heads = model.heads(shared, surfaces, seed, attempt, round_)
            fit = policy.fit(heads)
            taken += int(open_.sum())
            diverted += int((open_ & fit.diverted).sum())
            scrapped += int((open_ & ~fit.used & ~fit.diverted).sum())
            placed = open_ & fit.used
            width[placed], quality[placed] = heads.width[placed], heads.quality[placed]
            classes[placed] = fit.classes[placed]
            open_ &= ~fit.used
            if not open_.any():
                counts = Counts(taken, n * surfaces, scrapped, diverted, abandoned)
                return _Built(width, quality, classes, weak, counts)
        # All heads of these drives are drawn again, also the usable ones, as for new drives.
        given_up = open_.any(axis=1)
        abandoned += int(given_up.sum())
        open_[given_up] = True
    raise ConfigError(
        f"population: got {int(open_.any(axis=1).sum())} of {n} drives without heads that fit "
        f"after {_DRIVE_ROUNDS * _HEAD_ROUNDS} draws, need heads of more quality or a wider menu"
    )


def _damage(model: Damage, n: int, capacity: int, seed: int) -> tuple[streaming.Damage, ...]:
    """Return slow areas; those of a drive do not overlap.

    They lie in equal slots of the first quarter.
    """
    if model.probability == 0:
        return ()
    random = damage_stream(seed)
    span = int(FIRST_QUARTER * capacity)
    slot = span // model.extents
    areas = []
    for drive in range(n):
        chance = random.random(2 + 3 * model.extents)
        if chance[0] >= model.probability:
            continue
        share = model.least_share + (model.most_share - model.least_share) * chance[1]
        # Shares of the extents: they differ, and none is larger than its slot.
        parts = 0.5 + chance[2::3][: model.extents]
        sizes = (share * span * parts / parts.sum()).astype(np.int64)
        for i, size in enumerate(int(s) for s in sizes):
            begin = i * slot + int(chance[3 + 3 * i] * (slot - size))
            rate = model.least_rate + (model.most_rate - model.least_rate) * chance[4 + 3 * i]
            areas.append(streaming.Damage(drive, begin, begin + size, float(rate)))
    return tuple(areas)


def summary(population: Population) -> dict[str, Any]:
    """Return a summary of a population: capacity, rates within and between drives, yield.

    Rates are in bytes/s. ``between_drives`` is about the first quarter of each drive
    (`quarter_rates`). ``within_drive`` is the rate of the fastest head of a drive divided by that
    of its slowest head, minus 1. The cost of heads is that of `Economics`.
    """
    p = population
    rates, spread = p.quarter_rates(), np.ptp(p.classes.astype(np.float64), axis=1)
    within = np.expm1(spread * p.preset.policy.step)
    values, counts = np.unique(p.classes, return_counts=True)
    mean, head_usd = float(rates.mean()), Economics().per_head(p.preset.policy)
    return {
        "drive": p.spec["name"],
        "n_drives": len(p),
        "n_heads": int(p.spec["geometry"]["surfaces"]),
        "seed": p.seed,
        "heads": p.preset.heads.document(),
        "policy": p.preset.policy.document(),
        "capacity_bytes": p.capacity_bytes,
        "raw_bytes": _statistics(p.raw_bytes.astype(np.float64)),
        "between_drives": {
            **_statistics(rates),
            "slowest_below_mean": 1 - float(rates.min()) / mean,
            "fastest_above_mean": float(rates.max()) / mean - 1,
        },
        "within_drive": _statistics(within),
        "zone_rates": [_statistics(zone) for zone in p.zone_rates.T],
        "classes": {str(int(k)): int(c) for k, c in zip(values, counts, strict=True)},
        "yield": {
            "heads_taken": p.counts.taken,
            "heads_used": p.counts.used,
            "heads_scrapped": p.counts.scrapped,
            "heads_diverted": p.counts.diverted,
            "assemblies_abandoned": p.counts.abandoned,
            "head_yield": p.counts.head_yield,
            "heads_usd_per_drive": head_usd * p.counts.taken / len(p),
            "scrapped_usd_per_drive": head_usd * p.counts.scrapped / len(p),
        },
        "weak_drives": int(p.weak.sum()),
        "damaged_drives": len({area.drive for area in p.damage}),
    }


def _statistics(values: Floats) -> dict[str, float]:
    sd = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    low, median, high = (float(q) for q in np.quantile(values, (0.05, 0.5, 0.95)))
    return {
        "mean": float(values.mean()),
        "sd": sd,
        "min": float(values.min()),
        "p5": low,
        "median": median,
        "p95": high,
        "max": float(values.max()),
    }


def description(population: Population, drive: int) -> dict[str, Any]:
    """Return one drive of a population as the document of a drive file."""
    p = population
    spec: dict[str, Any] = json.loads(json.dumps(p.spec))
    spec["name"] = f"{spec['name']}-s{p.seed}-{drive:05d}"
    spec["description"] = (
        f"Drive {drive} of the population around {p.spec['name']}, seed {p.seed}: "
        f"classes {', '.join(str(int(k)) for k in p.classes[drive])}. Its factor on all times, "
        f"{p.factors[drive]:.6f}, and damaged areas are no part of a drive file."
    )
    spec["geometry"]["density"] = [{"bpi": float(bpi), "tpi": float(tpi)} for bpi, tpi in p.densities[drive]]
    spec.setdefault("sources", {})["geometry.density"] = (
        f"drawn: headstack population {p.preset.drive} --seed {p.seed}, drive {drive}"
    )
    return spec
