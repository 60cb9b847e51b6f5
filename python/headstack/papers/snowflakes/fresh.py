"""Sets of drives that no one selected: the numbers of the paper over many fresh seeds.

The set that figures show is the one closest to the paper's, of `sets.SEEDS` seeds. What decides
comes from other seeds, as means with 95 % intervals.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headstack.drives.population import Population
from headstack.papers.evaluate import HALF
from headstack.papers.study import Study
from headstack.results import paired

from . import extents, partition, sets, spindles, stripes, sweeps
from .sets import Changes

Floats = NDArray[np.float64]

#: Seeds beyond those from which a set is selected; and how many of them in a quick run.
SEEDS, QUICK = range(1000, 1040), 10

#: Variation between heads of a drive and between drives if it were mostly between drives: the fit
#: of 2008 at the other end.
BETWEEN_DRIVES = Changes(head_sd=0.02, drive_sd=0.027)

MIB, GIB = 2**20, 2**30

#: Widths of arrays, and of those whose rotational waits are compared.
WIDTHS, SPINDLES = (4, 8, 16), (2, 5, 8)

#: Pairs of drives of a set of which one reads with the map of the other, and extents of each.
PAIRS, EXTENTS = 3, 300

Row = dict[str, float]


def seeds(study: Study) -> Sequence[int]:
    """Return the seeds of a study."""
    return SEEDS[:QUICK] if study.quick else SEEDS


def means(rows: Sequence[Mapping[str, float]]) -> Row:
    """Return the mean of each number over sets, and half of its 95 % interval."""
    found: Row = {"sets": len(rows)}
    for name in rows[0]:
        mean, half = paired.interval([row[name] for row in rows])
        found |= {name: mean, f"{name}{HALF}": half}
    return found


def _sets(name: str, seeds: Sequence[int], changes: Changes | None = None) -> Iterator[Population]:
    for seed in seeds:
        yield sets.draw(name, None, seed, changes if name == sets.SPREAD else None)


# Sweeps.


def variation(study: Study) -> pd.DataFrame:
    """Return how the same block varies over drives, and heads within a drive, in per cent."""
    found = _variation(tuple(seeds(study)), study.choices.changes())
    other = _variation(tuple(seeds(study)), BETWEEN_DRIVES)
    world = {f"{k}_between": other[k] for k in ("across_sd_percent", "within_sd_percent")}
    return pd.DataFrame([{**found, **world}])


@cache
def _variation(chosen: Sequence[int], changes: Changes | None) -> Row:
    rows = []
    for drawn in _sets(sets.SPREAD, chosen, changes):
        rates = sets.block_rates(drawn)[:, 0]
        across = 100 * (float(np.median(rates.max(axis=0) / rates.min(axis=0))) - 1)
        within = 100 * np.expm1(drawn.preset.policy.step * np.ptp(drawn.classes, axis=1))
        heads = np.exp(drawn.preset.policy.step * drawn.classes)
        rows.append(
            {
                "across_percent": across,
                "across_sd_percent": _deviation(rates, 0),
                "within_sd_percent": _deviation(heads, 1),
                "median_percent": float(np.median(within)),
                "widest_percent": float(within.max()),
                "enough": 100.0 * (across >= 20),
            }
        )
    return means(rows)


def _deviation(rates: Floats, axis: int) -> float:
    """Return the median of the standard deviations along an axis over their means, in per cent."""
    return float(100 * np.median(rates.std(axis=axis, ddof=1) / rates.mean(axis=axis)))


@cache
def _averages(name: str, chosen: Sequence[int], changes: Changes | None = None) -> Row:
    """Return averages of drives over the first quarter, in MB/s."""
    rows = []
    for drawn in _sets(name, chosen, changes):
        each = sets.block_rates(drawn)[:, 0].mean(axis=1) / 1e6
        spread = sets.spread(sets.block_rates(drawn))
        fastest = {"fastest_drive": float(each.max()), "slowest_drive": float(each.min())}
        rows.append({**spread._asdict(), **fastest})
    return means(rows)


def averages(study: Study, names: Sequence[str]) -> pd.DataFrame:
    """Return averages of drives of several sets, one row for each: ``set`` and numbers."""
    chosen, changes = tuple(seeds(study)), study.choices.changes()
    return pd.DataFrame([{"set": n, **_averages(n, chosen, changes if n == sets.SPREAD else None)} for n in names])


#: Drives that are searched in each set for one like that of Figure 4; about 15 % are.
LOOKED_AT = 100


def heads(study: Study) -> pd.DataFrame:
    """Return the rates of a drive of 2009 like that of Figure 4 by class of head, in MB/s."""
    return pd.DataFrame([_heads(tuple(seeds(study)))])


@cache
def _heads(chosen: Sequence[int]) -> Row:
    names, rows = {1: "fastest", 0: "four", -1: "slowest"}, []
    for seed in chosen:
        found = sweeps.figure_4_drive(seed, LOOKED_AT)
        last = int(sweeps.FIGURE_4_BYTES)
        rates = found.drawn.sweep(sets.SMALL_BLOCK, 0, last, noise=False)[0, 0] / 1e6
        rows.append({names[k]: rate for k, rate in sweeps.by_head(found, rates).items()})
    return means(rows)


# Systems.


def work(study: Study) -> pd.DataFrame:
    """Return the time of equal parts and of pieces over the ideal, for drives of 2008 and 2002."""
    rows = []
    for name, changes in ((sets.SPREAD, study.choices.changes()), (sets.CLASSIC, None)):
        found = [_work(drawn) for drawn in _sets(name, seeds(study), changes)]
        rows.append({"set": name, **means(found)})
    return pd.DataFrame(rows)


def _work(drawn: Population) -> Row:
    rates = np.asarray(1 / (1 / sets.block_rates(drawn)[:, 0]).mean(axis=1))
    total = 250e9 * len(rates)
    ideal = partition.ideal_s(rates, total)
    pieces = partition.stealing_s(rates, total, 1e9) / ideal
    # A tenth more than the pieces' time is still the same by the words of the rules.
    equal = partition.equal_parts_s(rates, total) / ideal
    return {"equal_parts": equal, "pieces": pieces, "still_the_same": 1.1 * pieces}


def striped(study: Study) -> pd.DataFrame:
    """Return rates of arrays of the first drives of each set, as shares of the sum of the drives.

    And how far they are from it, and from N times the slowest drive.
    """
    found: dict[int, list[Row]] = {width: [] for width in WIDTHS}
    for drawn in _sets(sets.SPREAD, seeds(study), study.choices.changes()):
        some = drawn.undamaged().part(slice(0, max(WIDTHS)))
        rates = some.sweep(MIB, 0, sets.quarter(some), noise=False)[:, 0]
        array = stripes.Sweeps.of(rates, MIB)
        for width in WIDTHS:
            found[width].append(_striped(array.part(slice(0, width))))
    return pd.DataFrame([{"width": width, **means(rows)} for width, rows in found.items()])


def _striped(some: stripes.Sweeps) -> Row:
    total = stripes.sum_of_rates(some)
    slowest = stripes.n_times_slowest(some) / total
    lock = stripes.lock_step(some, MIB) / total
    by_rate = stripes.weighted(some, len(some) * GIB) / total
    return {
        "lock_step": lock,
        "n_slowest": slowest,
        "from_slowest": abs(lock - slowest),
        "from_sum": abs(1 - lock),
        "by_rate": by_rate,
        "by_rate_from_slowest": abs(by_rate - slowest),
        "by_rate_from_sum": abs(1 - by_rate),
    }


def waits(study: Study) -> pd.DataFrame:
    """Return the longest rotational wait of arrays in turns, by kind of drive and width."""
    rows = []
    for kind, name in (("classic", sets.CLASSIC), ("adaptive", sets.SPREAD)):
        found: dict[tuple[int, bool], list[Row]] = {}
        for seed in seeds(study):
            drawn = sets.draw(name, 25, seed, study.choices.changes() if kind == "adaptive" else None)
            speed = float(drawn.spec["geometry"]["rotation_speed"].split()[0])
            places = spindles.angles(drawn, 60 / speed)
            for width in SPINDLES:
                for together in (True, False):
                    turns = spindles.largest_wait(places, width, synchronized=together, seed=seed)
                    found.setdefault((width, together), []).append({"turns": turns})
        rows += [
            {"array": f"{kind}, {'synchronized' if together else 'free'}", "drives": width,
             **means(turns)}
            for (width, together), turns in found.items()
        ]  # fmt: skip
    return pd.DataFrame(rows)


def tracks(study: Study) -> pd.DataFrame:
    """Return the turns of reading a track-sized extent, by the map that is used."""
    chosen, changes = seeds(study), study.choices.changes()
    found: dict[str, list[Row]] = {"own map": [], "another drive's map": [], "classic": []}
    for seed in chosen:
        drawn = sets.draw(sets.SPREAD, None, seed, changes)
        others = [extents.compare(drawn, i, i + 1, most=EXTENTS)[0] for i in range(PAIRS)]
        classic = extents.compare(sets.draw(sets.CLASSIC, None, seed), 0, 1, most=EXTENTS)[0]
        own = extents.compare(drawn, 0, 0, most=EXTENTS)[0]
        found["own map"].append({"turns": own})
        found["another drive's map"].append({"turns": float(np.mean(others))})
        found["classic"].append({"turns": classic})
    return pd.DataFrame([{"map": who, **means(rows)} for who, rows in found.items()])
