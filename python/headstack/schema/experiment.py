"""Experiments; written by `scripts/schema_types.py`, do not edit."""

from collections.abc import Sequence
from typing import TypedDict

from headstack.schema.capping import Capping
from headstack.schema.quantities import LengthOfTime
from headstack.schema.system import System
from headstack.schema.workload import Workload


class Run(TypedDict, total=False):
    """Seed, threads and limits."""

    seed: int
    """Seed of all random streams. Default: 0."""

    threads: int
    """Number of threads, for systems and workloads side by side and for parts of one system that share no drive; it has
    no effect on the results; all cores if absent. 1 or more."""

    duration: LengthOfTime
    """No arrivals later than this after the first one; the whole workload if absent. Unit: one of s, ms, us, ns, min,
    h."""

    max_requests: int
    """Most requests, per system and workload; the whole workload if absent. 1 or more."""

    log_requests: bool
    """Whether to log every request; needs an output folder. Default: false."""

    exact_limit: int
    """Number of response times that are kept exactly; above it a histogram is used. Default: 1000000."""

    allowed_errors: float
    """Share of the requests of a system that may fail; more are an error (exit code 2), unless parts fail in the
    experiment (`fail`, `faults`, `gone`). 0 to 1. Default: 0.05."""


class ExperimentCost(TypedDict, total=False):
    """Prices for the cost of energy."""

    energy_usd_per_kwh: float
    """Price of energy, in US dollars per kilowatt-hour. 0 or more. Default: 0.12."""

    years: float
    """Years for which the mean power of the workload is drawn. 0 or more. Default: 5.0."""

    pue: float
    """Power usage effectiveness: the power of the building divided by that of its machines. 1 or more. Default: 1.5."""


class Experiment(TypedDict, total=False):
    """Systems to be run on workloads."""

    workload: Workload | Sequence[Workload]
    """Every system runs every workload."""

    workloads: Workload | Sequence[Workload]
    """Every system runs every workload."""

    system: System | Sequence[System]
    """The systems that are compared."""

    systems: System | Sequence[System]
    """The systems that are compared."""

    run: Run
    """Seed, threads and limits."""

    cost: ExperimentCost
    """Prices for the cost of energy. Default: {"energy_usd_per_kwh": 0.12, "years": 5.0, "pue": 1.5}."""

    goal: str
    """What a system must reach to be an answer, as in `p99=20ms` or `mean<8ms, read.p99<15ms`. It has no effect on the
    simulation; the reader of the results compares them with it."""

    capping: Capping
    """Power capping of all systems."""

    defaults: Sequence[str]
    """Dotted keys of values that an earlier run filled in; results mark them as defaults."""
