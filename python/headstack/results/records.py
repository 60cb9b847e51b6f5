"""The tables of a result document as objects whose attributes have types.

Times are in seconds, energies in joules, powers in watts. Those of the core are `headstack.results.columns`;
here are those to which Python adds.
"""

from headstack.results import columns
from headstack.results.columns import Overloaded, Times
from headstack.results.record import Free, Record


class Headroom(Record):
    """Up to which load a system meets the goal, in times the given load."""

    goal: str
    meets: float
    """The greatest load that was seen to meet it; 0: none."""

    misses: float | None
    """The least load above it that was seen to miss it; None: none."""

    n_runs: int


class OverSeed(Record):
    """The numbers of a system with one of several seeds, under the keys of the system."""

    seed: int
    n_requests: int
    n_errors: int
    throughput_iops: float
    response_time_s: Times
    overloaded: Overloaded | None
    power_w: Free
    """``mean`` alone."""

    operations: Free


class Cost(columns.Cost):
    """A range of costs in US dollars; None where the description has none."""

    as_of: str
    """Day of the price, if it is from a table; else absent."""


class System(columns.System):
    """One system on one workload."""

    cost_usd: Cost
    headroom: Headroom
    """Absent unless it was asked for."""

    over_seeds: list[OverSeed]
    """One entry for each seed, where several were asked for; else absent."""
