"""SNOW-2, SNOW-3 and SNOW-6: sweeps of whole disks and of their beginning."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headstack import _bridge, _toml
from headstack.drives import population
from headstack.drives.population import Population
from headstack.papers.study import Study
from headstack.probe import sweep, sweep_fit

from . import fresh, sets

Floats = NDArray[np.float64]

#: Drives of a set that a figure shows, as shares of their order by average: the paper's three.
SHOWN = {"slowest drive": 0.0, "median drive": 0.5, "fastest drive": 1.0}

#: The paper's Figure 3 and Figure 4 read so many bytes.
FIGURE_3_BYTES, FIGURE_4_BYTES = 64e9, 3e9

#: Sets of which a drive is swept by commands, and how often.
CLASSIC_SHOWN, UNLIKE, SWEEPS = sets.CLASSIC, (sets.DIAMONDS, sets.SPREAD, sets.ENTERPRISE), 2

#: Blocks of 128 MiB that a drive must have to be swept in them.
FEWEST = 1000

#: Number of drives that are searched for that of Figure 4: one fast head, four equal, one slow.
LOOKED_AT, PATTERN = 1000, (1, 4, 1)


def same_block(drawn: Population) -> float:
    """Return the median over blocks of the fastest drive's rate over the slowest one's."""
    rates = sets.block_rates(drawn)[:, 0]
    return float(np.median(rates.max(axis=0) / rates.min(axis=0)))


def lag_1(rates: Floats) -> float:
    """Return the correlation of neighbouring blocks of one sweep."""
    return float(np.corrcoef(rates[:-1], rates[1:])[0, 1])


def zone_blocks(drawn: Population, zone: int) -> slice:
    """Return the blocks that lie inside a zone in every drive."""
    ends = np.concatenate([[0.0], np.cumsum(drawn.zone_bytes())])
    # A drawn drive's zones are larger or smaller by up to 1 %.
    first = int(np.ceil(1.01 * ends[zone] / sets.BLOCK))
    return slice(first, int(0.99 * ends[zone + 1] / sets.BLOCK))


def evolution(study: Study) -> dict[str, pd.DataFrame]:
    """Return the sweeps of figures 2 and 3."""
    seed = sets.closest_seed(study.choices.seeds(study), study.choices.changes())
    drawn = {
        2002: sets.draw(sets.CLASSIC),
        2006: sets.draw(sets.DIAMONDS),
        2008: sets.draw(sets.SPREAD, None, seed, study.choices.changes()),
    }
    new, six = drawn[2008], drawn[2006]
    within = np.expm1(new.preset.policy.step * np.ptp(new.classes, axis=1)) * 100
    rows = [{"year": year, "spread_percent": 100 * (same_block(d) - 1)} for year, d in drawn.items()]
    tables = {
        "sets": pd.DataFrame(rows).assign(ratio=lambda t: 1 + t["spread_percent"] / 100),
        "heads": pd.DataFrame([{"widest_percent": within.max(), "median_percent": np.median(within)}]),
        "diamonds": _diamonds(six),
        "fresh": fresh.variation(study),
    }
    if not study.varied:
        tables["whole"] = pd.concat(
            _swept(d).assign(panel=f"{d.spec['title']} ({d.spec['year']})") for d in drawn.values()
        )
        tables["first"] = _swept(six, int(FIGURE_3_BYTES))
    return tables


def _diamonds(six: Population) -> pd.DataFrame:
    """Return how drives of 2006 differ from their sweeps, and neighbouring blocks of one."""
    trials = sets.block_rates(six, trials=sets.TRIALS, noise=True)
    between = float(trials.mean(axis=(1, 2)).std(ddof=1)) / 1e6
    sweeps = float(np.median(trials.std(axis=1, ddof=1))) / 1e6
    first = zone_blocks(six, 0)
    alternate = float(np.median([lag_1(r) for r in sets.block_rates(six)[:, 0, first]]))
    return pd.DataFrame([{"between": between, "sweeps": sweeps, "negated": -alternate}])


def representative(drawn: Population) -> dict[str, Population]:
    """Return the drives of a set that a figure shows, by name."""
    order = np.argsort(sets.block_rates(drawn.undamaged())[:, 0].mean(axis=1))
    found = {}
    for name, share in SHOWN.items():
        place = int(order[round(share * (len(drawn) - 1))])
        found[name] = drawn.part(slice(place, place + 1))
    return found


def _swept(drawn: Population, last: int | None = None) -> pd.DataFrame:
    """Return the block rates of the drives to be shown: their means and deviations over sweeps."""
    parts = []
    for name, drive in representative(drawn).items():
        rates = drive.sweep(sets.BLOCK, 0, last, trials=sets.TRIALS)[0] / 1e6
        mean, deviation = rates.mean(axis=0), rates.std(axis=0, ddof=1)
        at = (np.arange(rates.shape[1]) + 0.5) * sets.BLOCK / 1e9
        parts.append(
            pd.DataFrame({"drive": name, "gb": at, "mb_per_s": mean, "low": mean - deviation,
                          "high": mean + deviation})
        )  # fmt: skip
    return pd.concat(parts)


class Chosen(NamedTuple):
    """The drive of Figure 4.

    Attributes:
        drawn: a population of this drive alone.
        number: its number among the drawn drives.
        share: share of the drawn drives that have the pattern.
    """

    drawn: Population
    number: int
    share: float


def figure_4_drive(seed: int = 0, looked_at: int = LOOKED_AT) -> Chosen:
    """Return the first drive of 2009 with one fast head, four equal ones and a slow one."""
    many = sets.draw(sets.ENTERPRISE, looked_at, seed)
    counts = np.stack([(many.classes == k).sum(axis=1) for k in (1, 0, -1)], axis=1)
    fits = np.flatnonzero((counts == PATTERN).all(axis=1))
    return Chosen(many.part(slice(int(fits[0]), int(fits[0]) + 1)), int(fits[0]), len(fits) / looked_at)


def by_head(chosen: Chosen, rates: Floats) -> dict[int, float]:
    """Return the mean of blocks that lie on heads of one class, by class, MB/s.

    Args:
        chosen: the drive.
        rates: of small blocks from the first byte on.
    """
    from headstack.drives.population.format import track_bytes

    size, tracks = track_bytes(chosen.drawn.spec, chosen.drawn.densities[0])
    band = size[0] * tracks
    ends = np.concatenate([[0], np.cumsum(band)])
    begin = np.arange(len(rates)) * sets.SMALL_BLOCK
    inside = begin % ends[-1]
    head = np.searchsorted(ends, inside, side="right") - 1
    whole = inside + sets.SMALL_BLOCK <= ends[head + 1]
    classes = chosen.drawn.classes[0][head]
    return {int(k): float(rates[whole & (classes == k)].mean()) for k in np.unique(classes)}


def heads(study: Study) -> dict[str, pd.DataFrame]:
    """Return the heads of figure 4: as they are, and as a sweep of the drive tells them."""
    chosen = figure_4_drive()
    rates = chosen.drawn.sweep(sets.SMALL_BLOCK, 0, int(FIGURE_4_BYTES), trials=sets.TRIALS)[0]
    mean = rates.mean(axis=0) / 1e6
    whole = chosen.drawn.sweep(sets.BLOCK, trials=sets.TRIALS)[0]
    fine = chosen.drawn.sweep(sets.SMALL_BLOCK, 0, int(8e9), trials=sets.TRIALS)[0]
    found = sweep_fit.infer(whole, sets.BLOCK, fine=(fine, sets.SMALL_BLOCK))
    classes = sweep_fit.classes(found.head_rates, chosen.drawn.preset.policy.step)
    drives = sets.block_rates(sets.draw(sets.ENTERPRISE))[:, 0].mean(axis=1) / 1e6
    drive = {
        "band_mb": found.band_bytes / 1e6,
        "surfaces": float(found.surfaces),
        "middle": float((chosen.drawn.classes[0] == 0).sum()),
        "number": chosen.number,
        "share": chosen.share,
        "looked_at": LOOKED_AT,
        "fastest": drives.max(),
        "slowest": drives.min(),
    }
    levels = []
    for k in np.unique(classes):
        rate = float(found.head_rates[classes == k].mean() / 1e6)
        n = int((classes == k).sum())
        levels.append({"level": rate, "text": f"{rate:.1f} MB/s, {n} head{'s' * (n != 1)}"})
    inferred = [
        {"head": i + 1, "mb_per_s": r / 1e6, "class": int(k)}
        for i, (r, k) in enumerate(zip(found.head_rates, classes, strict=True))
    ]
    at = (np.arange(len(mean)) + 0.5) * sets.SMALL_BLOCK / 1e9
    measured = by_head(chosen, mean)
    return {
        "classes": pd.DataFrame([{"class": k, "mb_per_s": v} for k, v in measured.items()]),
        "drive": pd.DataFrame([drive]),
        "blocks": pd.DataFrame({"gb": at, "mb_per_s": mean}),
        "levels": pd.DataFrame(levels),
        "fresh heads": fresh.heads(study),
        "fresh": fresh.averages(study, (sets.ENTERPRISE, sets.SPREAD)),
        "inferred": pd.DataFrame(inferred),
    }


class _Target:
    """A simulated drive as `headstack.probe.sweep` reads it: by commands alone."""

    def __init__(self, spec: Mapping[str, Any], folder: str) -> None:
        path = Path(folder) / f"{spec['name']}.toml"
        path.write_text(_toml.dumps(spec), encoding="utf-8")
        # The host is late now and then, and some reads lose a turn or two.
        self._target = _bridge.probe_target(f"sim:{path}", disturbed=0.002)
        self.described: dict[str, Any] = self._target.described

    def read(self, step: str, *args: Any, **options: Any) -> Any:
        """Read blocks; `step` is for the log of a probe."""
        return self._target.read(*args, **options)


def measured(study: Study) -> dict[str, pd.DataFrame]:
    """Return what sweeps of one drawn drive of each set find, beside what was drawn."""
    names = (CLASSIC_SHOWN, *UNLIKE[-1:]) if study.quick else (CLASSIC_SHOWN, *UNLIKE)
    rows, blocks, steps = [], [], []
    for name in names:
        drawn = figure_4_drive().drawn if name == sets.ENTERPRISE else sets.draw(name, 1)
        with tempfile.TemporaryDirectory() as folder:
            target = _Target(population.description(drawn, 0), folder)
            # Zones of a small drive are too short for large blocks.
            small = drawn.capacity_bytes < FEWEST * sets.BLOCK
            size = sets.SMALL_BLOCK if small else sets.BLOCK
            whole = sweep.measure(target, size, trials=SWEEPS)
            fine = sweep.measure(target, sets.SMALL_BLOCK, trials=SWEEPS, last_byte=int(8e9))
        rows.append(_found(drawn, sweep.inferred(whole, fine)))
        year = drawn.spec["year"]
        each = np.median(whole.rates, axis=0) / 1e6
        at = (np.arange(len(each)) + 0.5) * size / 1e9
        blocks.append(pd.DataFrame({"year": str(year), "gb": at, "mb_per_s": each}))
        summary = whole.summary
        steps.append({"year": year, "trials": SWEEPS, "mean": summary["mean_bytes_per_s"] / 1e6,
                      "deviation": summary["deviation_of_blocks"] / 1e6,
                      "between trials": summary["deviation_of_trials"] / 1e6,
                      "outliers": float(len(summary["outliers"]))})  # fmt: skip
    return {"found": pd.DataFrame(rows), "blocks": pd.concat(blocks), "sweeps": pd.DataFrame(steps)}


def _found(drawn: Population, found: sweep_fit.Found) -> dict[str, float]:
    """Return what was found beside what the drive has."""
    from headstack.drives.population.format import track_bytes

    size, tracks = track_bytes(drawn.spec, drawn.densities[0])
    band = float(np.mean(size[0] * tracks))
    heads = sets.head_rates(drawn.undamaged())[0, 0]
    alike = len(np.unique(drawn.classes[0])) == 1
    edges = np.cumsum(drawn.zone_bytes())[:-1]
    near = [np.abs(edges - e).min() / sets.BLOCK for e in found.edge_bytes]
    return {
        "year": drawn.spec["year"],
        "unlike": float(not alike),
        "heads": float(found.surfaces),
        "own heads": 1.0 if alike else float(drawn.classes.shape[1]),
        "band_mb": found.band_bytes / 1e6,
        "own band_mb": band / 1e6,
        "spread": float(found.head_rates.max() / found.head_rates.min() - 1) * 100,
        "own spread": float(heads.max() / heads.min() - 1) * 100,
        "fastest": float(found.head_rates.max()) / 1e6,
        "own fastest": float(heads.max()) / 1e6,
        "steps": float(len(found.edges)),
        "own steps": float(len(edges)),
        "farthest step": float(max(near, default=0.0)),
    }
