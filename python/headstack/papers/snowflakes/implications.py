"""SNOW-5: what unlike drives mean for systems, and questions that the paper does not ask."""

from dataclasses import asdict
from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headstack.drives import population
from headstack.drives.population import Population
from headstack.papers.study import Study

from . import extents, fleet, fresh, modern, partition, sets, spindles, stripes
from .sets import Changes

Floats = NDArray[np.float64]

MIB, GIB = 2**20, 2**30

#: Work of each drive, and sizes of the pieces into which it is divided.
WORK_BYTES, CHUNKS = 250e9, (128e6, 1e9, 10e9, 50e9)

#: Widths of arrays, and units of a drive in a stripe.
WIDTHS, UNITS = (4, 8, 16), (1 * MIB, 16 * MIB, 128 * MIB, 1 * GIB)

#: Widths of arrays in the study of spindles, and the number of drives they are taken from.
SPINDLES, DRAWN = (2, 5, 8), 200

#: Drives of the fleet.
FLEET = 10_000

#: The helium drive of today, and objects that are read from drives like it.
TODAY, UNIT_BYTES, POSITIONING_S = "helium-20tb", 64e6, 0.0083


@cache
def _fleet(name: str, n: int, changes: Changes | None = None) -> Population:
    return sets.draw(name, n, 0, changes)


def measured(study: Study) -> Population:
    """Return the 25 drives of 2008 on which the implications are judged."""
    changes = study.choices.changes()
    seed = sets.closest_seed(study.choices.seeds(study), changes)
    return sets.draw(sets.SPREAD, None, seed, changes)


def array(drawn: Population) -> stripes.Sweeps:
    """Return the sweeps of undamaged drives over the first quarter in blocks of 1 MiB.

    The slowest drive of the set comes first, so that it is in every array.
    """
    rates = drawn.undamaged().sweep(MIB, 0, sets.quarter(drawn), noise=False)[:, 0]
    order = list(range(len(rates)))
    slowest = int(np.argmax((1 / rates).sum(axis=1)))
    order.insert(0, order.pop(slowest))
    return stripes.Sweeps.of(rates[order], MIB)


#: Arrays of the first drives: with the slowest of the set, or without it.
ARRAYS = {"with the slowest drive": 0, "without it": 1}


Frames = dict[str, pd.DataFrame]


def implications(study: Study) -> Frames:
    """Return what unlike drives mean for systems, and answers that the paper does not have."""
    drawn = measured(study)
    sweeps = array(drawn)
    tables = {
        **_work(drawn),
        "stripes": _stripes(sweeps),
        "fresh work": fresh.work(study),
        "fresh stripes": fresh.striped(study),
        "fresh waits": fresh.waits(study),
        "fresh extents": fresh.tracks(study),
    }
    if not study.varied:
        tables |= {"waits": _waits(), **_extents(drawn)}
        tables |= {**_pieces(drawn), "units": _units(sweeps), **_fleet_tables(), **_today()}
    return tables


# Work.


def mean_rates(drawn: Population) -> Floats:
    """Return each drive's mean rate in the first quarter, bytes/s."""
    rates = sets.block_rates(drawn)[:, 0]
    return np.asarray(1 / (1 / rates).mean(axis=1))


def _work(drawn: Population) -> Frames:
    """Return the time over the ideal by how work is divided."""
    rates = mean_rates(drawn)
    work = WORK_BYTES * len(rates)
    ideal = partition.ideal_s(rates, work)
    equal = partition.equal_parts_s(rates, work) / ideal
    stolen = {c: partition.stealing_s(rates, work, c) / ideal for c in CHUNKS}
    rows = {"equal parts": equal}
    rows |= {f"pieces of {c / 1e9:g} GB": v for c, v in stolen.items()}
    rows["shrinking pieces, at least 0.128 GB"] = partition.guided_s(rates, work, CHUNKS[0]) / ideal
    implied = 1 / (1 + sets.SLOWEST / 100)
    found = [{"how": k, "over_ideal": v, "paper": implied} for k, v in rows.items()]
    return {"work": pd.DataFrame(found)}


def _pieces(drawn: Population) -> Frames:
    rates = mean_rates(drawn)
    work = WORK_BYTES * len(rates)
    ideal = partition.ideal_s(rates, work)
    rows = [
        {
            "how": "pieces that a free drive takes",
            "piece_gb": size,
            "over_ideal": partition.stealing_s(rates, work, 1e9 * size) / ideal,
        }
        for size in (0.1, 0.3, 1, 3, 10, 20, 30, 50, 100, 250)
    ]
    equal = partition.equal_parts_s(rates, work) / ideal
    return {"pieces": pd.DataFrame(rows), "equal": pd.DataFrame([{"over_ideal": equal, "text": "equal parts"}])}


# Stripes.


def striped(sweeps: stripes.Sweeps, width: int) -> dict[str, float]:
    """Return the rates of arrays of a width, divided by the sum of their drives' rates."""
    some = sweeps.part(slice(0, width))
    total = stripes.sum_of_rates(some)
    found = {"N times the slowest": stripes.n_times_slowest(some) / total}
    for unit in UNITS:
        name = f"lock-step, {unit // MIB} MiB on each drive"
        found[name] = stripes.lock_step(some.whole(unit), unit) / total
    parity = stripes.lock_step(some.whole(UNITS[0]), UNITS[0], parity=1) / total
    found["RAID-5 in lock-step, 1 MiB"] = parity
    for unit in UNITS[1:]:
        name = f"units by measured rate, {unit // MIB} MiB on average"
        found[name] = stripes.weighted(some, width * unit) / total
    found["the same, measured in each of 3 parts, 1024 MiB"] = stripes.weighted(some, width * UNITS[-1], 3) / total
    found["each drive begins in another zone, 128 MiB"] = stripes.rotated(some, 128 * MIB) / total
    return found


def _stripes(sweeps: stripes.Sweeps) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"array": f"{width} drives {kind}", "how": how, "of_sum": share}
            for kind, first in ARRAYS.items()
            for width in WIDTHS
            for how, share in striped(sweeps.part(slice(first, None)), width).items()
        ]
    )


def _units(sweeps: stripes.Sweeps) -> pd.DataFrame:
    """Return the rates of eight drives by the unit of a stripe."""
    rows = []
    for kind, first in ARRAYS.items():
        some = sweeps.part(slice(first, first + 8))
        total = stripes.sum_of_rates(some)
        for mib in (2**k for k in range(11)):
            unit = mib * MIB
            rates = {
                f"equal units, {kind}": stripes.lock_step(some.whole(unit), unit),
                f"units by measured rate, {kind}": stripes.weighted(some, 8 * unit),
            }
            rows += [{"how": k, "unit_mib": mib, "of_sum": v / total} for k, v in rates.items()]
    return pd.DataFrame(rows).sort_values("how", kind="stable")


# Spindles.


@cache
def waits() -> dict[str, dict[int, float]]:
    """Return the longest wait of arrays in turns, by kind of drive and width."""
    found = {}
    for kind, name in (("classic", sets.CLASSIC), ("adaptive", sets.SPREAD)):
        drawn = _fleet(name, DRAWN)
        speed = float(drawn.spec["geometry"]["rotation_speed"].split()[0])
        places = spindles.angles(drawn, 60 / speed)
        for word, together in (("synchronized", True), ("free", False)):
            found[f"{kind}, {word}"] = {n: spindles.largest_wait(places, n, synchronized=together) for n in SPINDLES}
    return found


def _waits() -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"array": kind, "drives": n, "turns": turns}
            for kind, by_width in waits().items()
            for n, turns in by_width.items()
        ]
    )


# Track-aligned extents.


def _pairs(drawn: Population) -> dict[str, tuple[float, float]]:
    """Return turns and share of crossings with the own map, another's, and for classic drives."""
    others = [extents.compare(drawn, i, i + 1, most=300) for i in range(12)]
    mean = (float(np.mean([t for t, _ in others])), float(np.mean([c for _, c in others])))
    classic = _fleet(sets.CLASSIC, DRAWN)
    return {
        "own map": extents.compare(drawn, 0, 0, most=300),
        "another drive's map": mean,
        "classic, another drive's map": extents.compare(classic, 0, 1, most=300),
    }


def _extents(drawn: Population) -> Frames:
    found = [{"map": who, "turns": t, "crossed": c} for who, (t, c) in _pairs(drawn).items()]
    return {"extents": pd.DataFrame(found)}


# Fleet.


@cache
def fleet_rates(name: str = sets.SPREAD) -> Floats:
    """Return the rates of a fleet of a model, bytes/s."""
    return _fleet(name, FLEET).quarter_rates()


def _fleet_tables() -> Frames:
    """Return arrays of a fleet by width, and the smallest widths that lose certain shares."""
    losses = (0.02, 0.05, 0.10, 0.15)
    weak, points = [], []
    for name in population.PRESETS:
        rates = fleet_rates(name)
        for loss in losses:
            found = fleet.width_of_loss(rates, loss)
            weak.append({"model": name, "loss": loss, "width": "never" if found is None else found})
        mean = float(rates.mean())
        points += [
            {"model": name, "drives": w, "of_mean": fleet.expected_slowest(rates, w) / mean}
            for w in (2**k for k in range(9))
        ]
    arrays = [asdict(fleet.arrays(fleet_rates(), width)) for width in fleet.WIDTHS]
    return {"fleet": pd.DataFrame(arrays), "weak": pd.DataFrame(weak), "slowest": pd.DataFrame(points)}


# Today.


@cache
def halves() -> dict[str, Floats]:
    """Return the rate of the slower half over that of the faster one, in dual-actuator drives."""
    drawn = _fleet(TODAY, FLEET)
    dealt = {"heads as they come": drawn, "heads dealt alike": modern.sorted_halves(drawn)}
    found = {}
    for how, d in dealt.items():
        rates = modern.halves(d)
        found[how] = rates.min(axis=1) / rates.max(axis=1)
    return found


@cache
def erasure(needed: int = 10, most: int = 14) -> list[modern.Read]:
    """Return reads that wait for the k-th of n drives of the fleet of 2008."""
    rates = fleet_rates()
    return [
        modern.k_th_fastest(rates, UNIT_BYTES, needed, n, positioning_s=POSITIONING_S) for n in range(needed, most + 1)
    ]


@cache
def hot_data() -> dict[str, modern.Hot]:
    """Return the rates of a twentieth of the data in different places, by model."""
    return {name: modern.hot(_fleet(name, DRAWN), 0.05) for name in (sets.SPREAD, TODAY)}


def _today() -> Frames:
    """Return dual-actuator drives, erasure-coded reads, and hot data on fast heads."""
    two = [
        {"heads": how, "mean": q.mean(), "p5": np.quantile(q, 0.05),
         "striped": (2 * q / (1 + q)).mean()}
        for how, q in halves().items()
    ]  # fmt: skip
    edges = _edges([100 * (1 - q) for q in halves().values()])
    shares = [
        {"heads": how, "percent": edge, "share": share}
        for how, q in halves().items()
        for edge, share in zip(edges, _shares(100 * (1 - q), edges), strict=True)
    ]
    coded = [
        {"needed": r.needed, "asked": r.asked, "mean": 1e3 * r.mean_s, "99th percentile": 1e3 * r.p99_s}
        for r in erasure()
    ]
    placed = [
        {"model": name, "anywhere": h.anywhere / 1e6, "outer zones": h.outside / 1e6,
         "fastest heads": h.fast_heads / 1e6, "both": h.both / 1e6}
        for name, h in hot_data().items()
    ]  # fmt: skip
    reads, hot = pd.DataFrame(coded), pd.DataFrame(placed)
    return {
        "halves": pd.DataFrame(two),
        "half shares": pd.DataFrame(shares),
        "coded": reads,
        "reads": reads.melt(["needed", "asked"], var_name="of", value_name="ms"),
        "hot": hot,
        "places": hot.melt("model", var_name="place", value_name="mb_per_s"),
    }


def _edges(values: list[Floats], bins: int = 40) -> Floats:
    every = np.concatenate(values)
    return np.linspace(float(every.min()), float(every.max()) + 1e-9, bins + 1)


def _shares(values: Floats, edges: Floats) -> Floats:
    """Return the share of values from each edge on, up to the next."""
    return np.append(np.histogram(values, bins=edges)[0] / len(values), 0.0)
