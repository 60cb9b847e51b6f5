"""Tables as means over seeds, with 95 % confidence intervals: the error bars of verdicts."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps

import pandas as pd
from pandas.api.types import is_float_dtype

from headstack.errors import ConfigError
from headstack.papers.evaluate import HALF
from headstack.papers.study import Study
from headstack.results import paired


def averaged(
    study: Study, measure: Callable[[Study], Mapping[str, pd.DataFrame]], names: Sequence[str]
) -> dict[str, pd.DataFrame]:
    """Return tables over several seeds: the first is that of the study's choices.

    A study with other choices gets one seed: its numbers are shown, but decide nothing.

    Args:
        study: the study.
        measure: returns the tables of one seed.
        names: tables whose numbers are averaged: each column of decimal numbers gets its mean, and
            a column ``NAME_half`` with half of the 95 % confidence interval. The other tables are
            those of the first seed.
    """
    runs = [measure(study.choosing(seed=seed)) for seed in study.seeds()]
    return {
        name: _mean(name, [run[name] for run in runs]) if name in names else table for name, table in runs[0].items()
    }


#: Returns the tables of a claim.
Measure = Callable[[Study], dict[str, pd.DataFrame]]


def over_seeds(*names: str) -> Callable[[Measure], Measure]:
    """Make a function that measures with one seed return tables over several, see `averaged`."""

    def of(measure: Measure) -> Measure:
        return wraps(measure)(lambda study: averaged(study, measure, names))

    return of


def of_one_run(table: pd.DataFrame, columns: Sequence[str], runs: int) -> pd.DataFrame:
    """Return a table whose bars of some columns are for one further run, not for the mean.

    The half of a prediction interval is that of the mean's interval times the root of n + 1. A
    paper's maximum is that of the one run that it made.
    """
    halves = {f"{c}{HALF}": table[f"{c}{HALF}"] * (runs + 1) ** 0.5 for c in columns if runs > 1}
    return table.assign(**halves)


def _mean(name: str, tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return one table with the mean and half of the interval of each column of numbers."""
    first = tables[0]
    if any(t.shape != first.shape for t in tables):
        raise ConfigError(f"{name}: got tables of different sizes by seed, need equal ones")
    found = {}
    for column in first.columns:
        if not is_float_dtype(first[column]) or all(t[column].equals(first[column]) for t in tables):
            found[column] = first[column]
            continue
        cells = zip(*(t[column] for t in tables), strict=True)
        pairs = [paired.interval(list(values)) for values in cells]
        found[column] = pd.Series([mean for mean, _ in pairs], index=first.index)
        found[f"{column}{HALF}"] = pd.Series([half for _, half in pairs], index=first.index)
    return pd.DataFrame(found)
