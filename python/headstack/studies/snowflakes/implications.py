"""SNOW-5: what unlike drives mean for systems, and questions that the paper does not ask."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from headstack import population
from headstack.population import Population
from headstack.studies.as_code import Outcome, Study, Table
from headstack.studies.rules import Kind, Part, Rule, number, relation

from . import charts, extents, fleet, modern, partition, sets, spindles, stripes
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


def implications(study: Study) -> Outcome:
    """Judge SNOW-5."""
    drawn = measured(study)
    sweeps = array(drawn)
    judged = (_work(drawn), _stripes(sweeps), _spindles(), _extents(drawn))
    parts = [part for found, _ in judged for part in found]
    tables = [table for _, found in judged for table in found]
    tables += [_fleet_table(), _weak_table(), *_today_tables()]
    figures = [
        study.figure("snow-6-work", lambda: _work_figure(drawn)),
        study.figure("snow-7-stripes", lambda: _stripes_figure(sweeps)),
        study.figure("snow-8-spindles", _spindles_figure),
        study.figure("snow-9-extents", lambda: _extents_figure(drawn)),
        study.figure("snow-10-fleet", _fleet_figure),
        study.figure("snow-11-halves", _halves_figure),
        study.figure("snow-12-erasure", _erasure_figure),
        study.figure("snow-13-hot", _hot_figure),
    ]
    return Outcome(parts, figures=figures, tables=tables)


# Work.


def mean_rates(drawn: Population) -> Floats:
    """Return each drive's mean rate in the first quarter, bytes/s."""
    rates = sets.block_rates(drawn)[:, 0]
    return np.asarray(1 / (1 / rates).mean(axis=1))


def _work(drawn: Population) -> tuple[list[Part], list[Table]]:
    rates = mean_rates(drawn)
    work = WORK_BYTES * len(rates)
    ideal = partition.ideal_s(rates, work)
    equal = partition.equal_parts_s(rates, work) / ideal
    stolen = {c: partition.stealing_s(rates, work, c) / ideal for c in CHUNKS}
    guided = partition.guided_s(rates, work, CHUNKS[0]) / ideal
    parts = [
        relation(
            "equal parts against pieces of 1 GB that a free drive takes, time over the ideal",
            "equal work partitioning schemes are inefficient",
            ("equal parts", equal),
            Rule.HIGHER,
            ("pieces", stolen[1e9]),
            "{:.4f}",
        ),
        number(
            "equal parts: time over the ideal, against what the paper's slowest drive implies",
            1 / (1 + sets.SLOWEST / 100),
            equal,
            "{:.3f}",
            kind=Kind.CONTROL,
            note="the paper gives no time; mean over slowest rate, exactly",
        ),
    ]
    rows = [["equal parts", f"{equal:.4f}"]]
    rows += [[f"pieces of {c / 1e9:g} GB", f"{v:.4f}"] for c, v in stolen.items()]
    rows.append(["shrinking pieces, at least 0.128 GB", f"{guided:.4f}"])
    title = f"25 drives of 2008, {WORK_BYTES / 1e9:g} GB each: time over the ideal"
    return parts, [Table(title, ["work is divided into", "time over ideal"], rows)]


def _work_figure(drawn: Population) -> object:
    rates = mean_rates(drawn)
    work = WORK_BYTES * len(rates)
    ideal = partition.ideal_s(rates, work)
    sizes = [1e9 * size for size in (0.1, 0.3, 1, 3, 10, 20, 30, 50, 100, 250)]
    points = {
        "pieces that a free drive takes": [
            (c / 1e9, partition.stealing_s(rates, work, c) / ideal) for c in sizes
        ]
    }
    return charts.lines(
        points,
        "Dividing work over 25 drives of 2008",
        "piece (GB, of 250 for each drive)",
        "time over ideal",
        log_x=True,
        levels={"equal parts": partition.equal_parts_s(rates, work) / ideal},
    )


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
    found["the same, measured in each of 3 parts, 1024 MiB"] = (
        stripes.weighted(some, width * UNITS[-1], 3) / total
    )
    found["each drive begins in another zone, 128 MiB"] = stripes.rotated(some, 128 * MIB) / total
    return found


def _stripes(sweeps: stripes.Sweeps) -> tuple[list[Part], list[Table]]:
    found = {
        f"{width} drives {kind}": striped(sweeps.part(slice(first, None)), width)
        for kind, first in ARRAYS.items()
        for width in WIDTHS
    }
    name = "lock-step, 1 MiB on each drive"
    parts = []
    for which, shares in found.items():
        parts += [
            relation(
                f"{which} in lock-step, 1 MiB: against N times the slowest",
                "N times the bandwidth of the slowest (the same)",
                ("lock-step", shares[name]),
                Rule.SAME,
                ("N times the slowest", shares["N times the slowest"]),
                "{:.3f} of the sum",
                note="an upper bound: other drives are the slowest in other stripes",
            ),
            relation(
                f"{which} in lock-step, 1 MiB: against the sum of the disks",
                "instead of the sum of the disk bandwidths",
                ("lock-step", shares[name]),
                Rule.LOWER,
                ("sum", 1.0),
                "{:.3f} of the sum",
            ),
        ]
    rows = [[how, *(f"{f[how]:.3f}" for f in found.values())] for how in next(iter(found.values()))]
    headings = ["rate over the sum of the drives' rates", *found]
    return parts, [Table("Arrays of drives of 2008, first quarter, no damage", headings, rows)]


def _stripes_figure(sweeps: stripes.Sweeps) -> object:
    units = [2**k * MIB for k in range(11)]
    points: dict[str, list[tuple[float, float]]] = {}
    for kind, first in ARRAYS.items():
        some = sweeps.part(slice(first, first + 8))
        total = stripes.sum_of_rates(some)
        points[f"equal units, {kind}"] = [
            (u / MIB, stripes.lock_step(some.whole(u), u) / total) for u in units
        ]
        points[f"units by measured rate, {kind}"] = [
            (u / MIB, stripes.weighted(some, 8 * u) / total) for u in units
        ]
    return charts.lines(
        points,
        "Eight drives of 2008 in lock-step",
        "unit on each drive (MiB)",
        "rate over the sum of the drives",
        log_x=True,
    )


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
            found[f"{kind}, {word}"] = {
                n: spindles.largest_wait(places, n, synchronized=together) for n in SPINDLES
            }
    return found


def _spindles() -> tuple[list[Part], list[Table]]:
    found = waits()
    parts = []
    for n in SPINDLES:
        parts += [
            relation(
                f"longest wait of {n} drives with adaptive zoning: synchronized against free",
                "spindle synchronization is useless (the same)",
                ("synchronized", found["adaptive, synchronized"][n]),
                Rule.SAME,
                ("free", found["adaptive, free"][n]),
                "{:.3f} turns",
            ),
            relation(
                f"longest wait of {n} classic drives: synchronized against free",
                "position times of all disks are equal (lower)",
                ("synchronized", found["classic, synchronized"][n]),
                Rule.LOWER,
                ("free", found["classic, free"][n]),
                "{:.3f} turns",
            ),
        ]
    rows = [[kind, *(f"{v:.3f}" for v in values.values())] for kind, values in found.items()]
    headings = ["longest rotational wait, turns", *(f"{n} drives" for n in SPINDLES)]
    return parts, [Table("Reads of one block on each drive", headings, rows)]


def _spindles_figure() -> object:
    points = {kind: [(float(n), v) for n, v in w.items()] for kind, w in waits().items()}
    return charts.lines(
        points,
        "Longest rotational wait of an array",
        "drives",
        "turns, mean",
        zero=True,
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


def _extents(drawn: Population) -> tuple[list[Part], list[Table]]:
    found = _pairs(drawn)
    parts = [
        relation(
            "reading a track-sized extent: another drive's map against its own",
            "traxtents will have to measure each disk individually (significantly higher)",
            ("another's", found["another drive's map"][0]),
            Rule.SIGNIFICANTLY_HIGHER,
            ("own", found["own map"][0]),
            "{:.2f} turns",
        ),
        relation(
            "the same on drives without adaptive zoning",
            "one map served all",
            ("another's", found["classic, another drive's map"][0]),
            Rule.SAME,
            ("own", 1.0),
            "{:.2f} turns",
        ),
    ]
    rows = [[who, f"{t:.3f}", f"{c:.0%}"] for who, (t, c) in found.items()]
    return parts, [
        Table("Track-sized extents, zero-latency reads", ["map", "turns", "cross a track"], rows)
    ]


def _extents_figure(drawn: Population) -> object:
    values = {who: turns for who, (turns, _) in _pairs(drawn).items()}
    return charts.bars(values, "Reading a track-sized extent", "turns, mean", form=".2f")


# Fleet.


@cache
def fleet_rates(name: str = sets.SPREAD) -> Floats:
    """Return the rates of a fleet of a model, bytes/s."""
    return _fleet(name, FLEET).quarter_rates()


def _fleet_table() -> Table:
    rates = fleet_rates()
    rows = []
    for width in fleet.WIDTHS:
        a = fleet.arrays(rates, width)
        rows.append(
            [str(width), f"{a.mean:.3f}", f"{a.low:.3f}", f"{a.high:.3f}", f"{a.matched:.4f}"]
        )
    headings = ["drives", "random, mean", "5 %", "95 %", "like drives together"]
    title = f"Arrays from {FLEET:,} drives of 2008: N times the slowest over N average drives"
    return Table(title, headings, rows)


def _weak_table() -> Table:
    """Return the smallest widths at which arrays lose certain shares, by model."""
    losses = (0.02, 0.05, 0.10, 0.15)
    rows = []
    for name in population.PRESETS:
        found = [fleet.width_of_loss(fleet_rates(name), loss) for loss in losses]
        rows.append([name, *("never" if w is None else str(w) for w in found)])
    headings = ["model", *(f"{loss:.0%}" for loss in losses)]
    return Table(
        "Where advice changes: smallest width at which random arrays lose more", headings, rows
    )


def _fleet_figure() -> object:
    widths = [2**k for k in range(9)]
    points = {}
    for name in population.PRESETS:
        rates = fleet_rates(name)
        mean = float(rates.mean())
        points[name] = [(float(w), fleet.expected_slowest(rates, w) / mean) for w in widths]
    return charts.lines(
        points,
        f"Arrays of drives taken at random from {FLEET:,}",
        "drives in the array",
        "N times the slowest over N average ones",
        log_x=True,
    )


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
        modern.k_th_fastest(rates, UNIT_BYTES, needed, n, positioning_s=POSITIONING_S)
        for n in range(needed, most + 1)
    ]


@cache
def hot_data() -> dict[str, modern.Hot]:
    """Return the rates of a twentieth of the data in different places, by model."""
    return {name: modern.hot(_fleet(name, DRAWN), 0.05) for name in (sets.SPREAD, TODAY)}


def _today_tables() -> list[Table]:
    rows = [
        [how, f"{q.mean():.3f}", f"{np.quantile(q, 0.05):.3f}", f"{(2 * q / (1 + q)).mean():.4f}"]
        for how, q in halves().items()
    ]
    headings = [
        "two actuators, ten heads each",
        "slower over faster half",
        "5 %",
        "striped, of the sum",
    ]
    two = Table(f"{FLEET:,} drives of today with two actuators", headings, rows)
    reads = [
        [f"{r.needed} of {r.asked}", f"{1e3 * r.mean_s:.0f}", f"{1e3 * r.p99_s:.0f}"]
        for r in erasure()
    ]
    coded = Table(
        f"Objects in 10 units of {UNIT_BYTES / 1e6:g} MB on drives of 2008: until 10 have come",
        ["asked", "mean, ms", "99 %, ms"],
        reads,
    )
    placed = [
        [name, *(f"{v / 1e6:.0f}" for v in (h.anywhere, h.outside, h.fast_heads, h.both))]
        for name, h in hot_data().items()
    ]
    headings = ["model", "anywhere", "outer zones", "fastest heads", "both"]
    return [two, coded, Table("Where 5 % of the data streams, MB/s", headings, placed)]


def _halves_figure() -> object:
    values = {how: 100 * (1 - q) for how, q in halves().items()}
    title = "Dual-actuator drives of today: how much slower the slower half is"
    return charts.histograms(values, title, "slower half below the faster one (%)")


def _erasure_figure() -> object:
    reads = erasure()
    points = {
        "mean": [(float(r.asked), 1e3 * r.mean_s) for r in reads],
        "99th percentile": [(float(r.asked), 1e3 * r.p99_s) for r in reads],
    }
    return charts.lines(
        points, "Reads that end with the tenth unit, drives of 2008", "units asked for", "ms"
    )


def _hot_figure() -> object:
    found = hot_data()[TODAY]
    values = {
        "anywhere": found.anywhere / 1e6,
        "outer zones": found.outside / 1e6,
        "fastest heads": found.fast_heads / 1e6,
        "both": found.both / 1e6,
    }
    title = "Where 5 % of the data of a drive of today streams how fast"
    return charts.bars(values, title, "MB/s, mean of drives", form=".0f")
