"""SNOW-4: averages and extremes of drives over the first quarter, Figure 5."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headstack.papers.study import Study

from . import fresh, sets
from .sets import Changes, Spread

Floats = NDArray[np.float64]

#: The sets of figure 5 by year, and titles of its panels.
YEARS = {2002: sets.CLASSIC, 2008: sets.SPREAD}
PANELS = {2002: "nine drives of 2002, first 9 GB", 2008: "25 drives of 2008, first 250 GB"}


def zones_crossed(name: str) -> int:
    """Return the number of zones in the first quarter of a set's drives."""
    drawn = sets.draw(name, 1)
    return int(np.searchsorted(np.cumsum(drawn.zone_bytes()), sets.quarter(drawn)) + 1)


def extremes(rates: Floats) -> tuple[float, float]:
    """Return how the slowest and the fastest block vary over drives: deviations over the mean."""
    low, high = rates.min(axis=1), rates.max(axis=1)
    return float(low.std(ddof=1) / low.mean()), float(high.std(ddof=1) / high.mean())


def averages(study: Study) -> dict[str, pd.DataFrame]:
    """Return averages and extremes of the sets of 2002 and 2008, and how often sets are alike."""
    changes, seeds = study.choices.changes(), study.choices.seeds(study)
    seed = sets.closest_seed(seeds, changes)
    drawn = {2002: sets.draw(sets.CLASSIC), 2008: sets.draw(sets.SPREAD, None, seed, changes)}
    swept = {year: sets.block_rates(d, trials=sets.TRIALS, noise=True) / 1e6 for year, d in drawn.items()}
    rows, drives = [], []
    for year, rates in swept.items():
        low, high = extremes(rates.mean(axis=1))
        found = sets.spread(1e6 * rates.mean(axis=1))
        rows.append(
            {
                "year": year,
                "set": YEARS[year],
                **found._asdict(),
                "below": -found.slowest,
                "range": found.mean * (found.fastest - found.slowest) / 100,
                "low_percent": 100 * low,
                "high_percent": 100 * high,
                "zones": float(zones_crossed(YEARS[year])),
                "trial": float(np.median(rates.std(axis=1, ddof=1))),
                "seed": seed,
            }
        )
        drives += [
            {"panel": PANELS[year], "drive": i + 1, "mean": r.mean(), "low": r.min(), "high": r.max()}
            for i, r in enumerate(rates.mean(axis=1))
        ]
    many = sets.many(sets.SPREAD, seeds, changes)
    shares = sets.shares(many)
    plain = sets.many(sets.SPREAD, seeds, Changes(weak=False, damage=False))
    reached = sum(s.slowest <= sets.SLOWEST for s in plain) / len(plain)
    summary = {
        "seeds": seeds,
        "share": shares["all four"],
        "percent": 100 * shares["all four"],
        "reached_percent": 100 * reached,
        "trial": max(r["trial"] for r in rows),
    }
    accepted = [{"condition": k, "share": v, "seeds": seeds} for k, v in shares.items()]
    return {
        "sets": pd.DataFrame(rows),
        "drives": pd.DataFrame(drives),
        "beside": pd.DataFrame([summary]),
        "distribution": _distribution(many),
        "accepted": pd.DataFrame(accepted),
        "fresh": fresh.averages(study, tuple(YEARS.values())),
    }


def _distribution(many: tuple[Spread, ...]) -> pd.DataFrame:
    """Return where the paper's values lie in the distribution of ours."""
    wanted = Spread(sets.MEAN, sets.DEVIATION, sets.SLOWEST, sets.FASTEST)
    names = ("mean, MB/s", "deviation, MB/s", "slowest, %", "fastest, %")
    rows = []
    for i, name in enumerate(names):
        values = np.array([s[i] for s in many])
        low, middle, high = np.quantile(values, (0.05, 0.5, 0.95))
        rank = sets.percentile(values, wanted[i])
        rows.append({"of": name, "paper": wanted[i], "median": middle, "p5": low, "p95": high,
                     "rank_percent": rank, "n": len(many)})  # fmt: skip
    return pd.DataFrame(rows)
