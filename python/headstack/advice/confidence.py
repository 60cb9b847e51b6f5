"""How sure a quantile of response times is: intervals from the batches of one run.

# Model
Requests in order of arrival are cut into `b` equal batches. With Q the quantile of all and q_i
those of the batches, the interval is Q · exp(± t · s / √b), where s² = Σ (ln q_i - ln Q)² / (b - 1)
and t is Student's 97.5 % quantile with b - 1 degrees of freedom: sectioning, on a logarithmic scale
because times are skew. Batches are so long that each has at least `LEAST_BEYOND` requests beyond
the quantile; more than `MOST_BATCHES` are not needed.

# Source
S. Asmussen, P. W. Glynn, "Stochastic Simulation", Springer 2007, section III.5a (sectioning); E.
Chen, W. D. Kelton, "Quantile and tolerance-interval estimation in simulation", European Journal of
Operational Research 168(2), 2006, for batches of dependent data.

# Validity
Batches must be longer than what one burst of the load influences. Requests of one trace say
nothing of loads that the trace does not contain. `tests/python/advice/test_advice.py` has the
share of intervals that contain the true value.
"""

import math
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from headstack.results import paired

#: Least number of requests beyond the quantile in a batch, and most and least number of batches.
LEAST_BEYOND, MOST_BATCHES, LEAST_BATCHES = 10, 20, 5

Array = npt.NDArray[np.float64]


class Interval(NamedTuple):
    """An estimate with its 95 % interval.

    Attributes:
        value: the estimate.
        low: lower end; None if there are too few requests for one.
        high: upper end.
        n_batches: number of batches.
        n_beyond: number of requests beyond the quantile.
    """

    value: float
    low: float | None
    high: float | None
    n_batches: int
    n_beyond: int


def n_batches(n: int, share: float) -> int:
    """Return into how many batches `n` requests are cut for the quantile of `share`."""
    beyond = n * (1 - share)
    return min(MOST_BATCHES, int(beyond / LEAST_BEYOND))


def least_requests(share: float) -> int:
    """Return the number of requests from which a quantile has an interval.

    Example:
        >>> least_requests(0.99)
        5000
    """
    return math.ceil(round(LEAST_BATCHES * LEAST_BEYOND / (1 - share), 6))


def quantile(times: Array, share: float) -> float:
    """Return the smallest time that at least `share` of all do not exceed."""
    ordered = np.sort(times)
    return float(ordered[max(0, math.ceil(round(share * len(ordered), 9)) - 1)])


def interval(times: Array, share: float) -> Interval:
    """Return the quantile of times in order of arrival, with its interval."""
    whole = quantile(times, share)
    b = n_batches(len(times), share)
    beyond = int(len(times) * (1 - share))
    if b < LEAST_BATCHES or whole <= 0:
        return Interval(whole, None, None, b, beyond)
    size = len(times) // b
    single = [quantile(times[i * size : (i + 1) * size], share) for i in range(b)]
    apart = [math.log(max(q, 1e-12) / whole) for q in single]
    spread = math.sqrt(sum(a * a for a in apart) / (b - 1) / b)
    factor = math.exp(paired.student(b - 1) * spread)
    return Interval(whole, whole / factor, whole * factor, b, beyond)


def measured(base: Mapping[str, Any], overrides: Mapping[str, Any], share: float, operation: str | None) -> list[Any]:
    """Simulate one system with a log of its requests; return the interval of a quantile.

    Args:
        base: the experiment, as the core takes it.
        overrides: as the core takes them.
        share: of the quantile.
        operation: whose requests count; None: all.
    """
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from headstack.runs import worker

    with tempfile.TemporaryDirectory(prefix="headstack-") as folder:
        document = worker.document(base, overrides, Path(folder))
        (system,) = document["systems"]
        table = pq.read_table(
            Path(folder) / system["requests_file"], columns=["arrival_ns", "response_time_s", "op", "error"]
        )
    # A failed request has no response time.
    table = table.filter(pc.invert(table["error"]))
    if operation is not None:
        table = table.filter(pc.equal(pc.cast(table["op"], "string"), operation))
    order = np.argsort(table["arrival_ns"].to_numpy(), kind="stable")
    times = table["response_time_s"].to_numpy()[order]
    return list(interval(times, share))
