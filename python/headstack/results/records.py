"""The tables of a result document as objects whose attributes have types.

Times are in seconds, energies in joules, powers in watts.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from headstack.results.counters import Counters, Shares
from headstack.suggest import need_one_of

#: Most characters of a value in the `repr` of a record.
_MOST_BRIEF = 60


class Record(Mapping[str, Any]):
    """A table of a result document; its entries are also attributes.

    Example:
        >>> system = System({"name": "one", "response_time_s": {"p99": 0.02}})
        >>> system.response_time_s.p99 == system["response_time_s"]["p99"]
        True
    """

    def __init__(self, entries: Mapping[str, Any]) -> None:
        self._entries = entries

    def __getitem__(self, key: str) -> Any:
        return _record(self._entries[key], _kinds(type(self)).get(key, Free))

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    # Type checkers know the entries that are declared, and no others.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # Names with an underscore are Python's own and never entries, also while an object is
            # copied.
            if name.startswith("_"):
                raise AttributeError(name)
            if name not in self._entries:
                raise AttributeError(need_one_of("result", name, self._entries))
            return self[name]

    def __dir__(self) -> Iterable[str]:
        # The names that begin with an underscore are Python's own.
        return [*(n for n in super().__dir__() if not n.startswith("_")), *self._entries]

    def __repr__(self) -> str:
        """Return one line for each entry; tables and lists are not written out."""
        width = max(map(len, self._entries), default=0)
        lines = (f"  {key:<{width}}  {_brief(value)}" for key, value in self._entries.items())
        return "\n".join([f"headstack.Record of {_entries(self._entries)}", *lines])


class Free(Record):
    """A table whose entries depend on models or names, so that no type lists them."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


def _entries(table: Mapping[str, Any]) -> str:
    return f"{len(table)} entr{'y' if len(table) == 1 else 'ies'}"


def _brief(value: object) -> str:
    """Return a value in one short line."""
    if isinstance(value, Mapping):
        text = f"{_entries(value)}: {', '.join(map(str, value))}"
    elif isinstance(value, list):
        text = f"list of {len(value)}"
    else:
        text = repr(value)
    return text if len(text) <= _MOST_BRIEF else f"{text[: _MOST_BRIEF - 3]}..."


def _record(value: Any, kind: type[Record]) -> Any:
    if isinstance(value, Mapping):
        return kind(value)
    if isinstance(value, list):
        return [_record(v, kind) for v in value]
    return value


@cache
def _kinds(table: type[Record]) -> dict[str, type[Record]]:
    """Return the kind of the tables under each key of a table that declares one."""
    found = {}
    for key, hint in get_type_hints(table).items():
        # `Times`, `list[Drive]`, `Confidence | None`.
        for part in (hint, *get_args(hint)):
            if isinstance(part, type) and issubclass(part, Record):
                found[key] = part
    return found


class Times(Record):
    """Distribution of times, of the requests that succeeded."""

    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    p999: float
    p9999: float
    max: float


class Confidence(Record):
    """Interval that contains the mean with a probability of 95 %."""

    mean: list[float]
    """Low and high end."""

    method: str


class Requests:
    """Numbers of requests."""

    n_requests: int
    """Requests after the warm-up, failed ones included."""

    n_errors: int
    throughput_iops: float
    throughput_bytes_per_s: float
    response_time_s: Times
    """From arrival to completion."""


class Operation(Requests, Record):
    """The requests of one operation."""

    service_time_s: Times
    confidence_s: Confidence | None


class Operations(Record):
    """Results of each operation; one that does not occur is absent."""

    read: Operation
    write: Operation
    flush: Operation


class RequestClass(Requests, Record):
    """The requests of one class."""

    name: str
    """The class's name; ``other`` for the requests that belong to none."""

    n_missed: int
    """Requests that missed a duration limit of a drive, whether they failed or not."""


class LimitCounts(Record):
    """What a drive has counted of one duration limit."""

    n_commands: int
    n_met: int
    n_inactive: int
    n_active: int
    n_guideline: int


class DurationLimits(Record):
    """What a drive has counted of its duration limits, by number from 1."""

    reads: list[LimitCounts]
    writes: list[LimitCounts]


class TraceRecords(Record):
    """Records of a trace that were left out or changed, the warm-up included."""

    n_skipped: int
    """Wrong records left out."""

    n_clamped: int
    """Requests whose time was moved forward to that of the request before."""

    n_zero_sized: int
    """Reads and writes of no bytes, left out."""


class Overloaded(Record):
    """Why a system cannot keep up."""

    why: str


class Components(Record):
    """Means per request; they add up to the mean response time."""

    queue: float
    overhead: float
    seek: float
    rotation: float
    transfer: float
    bus: float


class QueueParts(Record):
    """Where requests wait, means per request; they add up to the `queue` of `Components`."""

    place: float
    """For a place in a host queue, or for a throttle."""

    elevator: float
    array: float
    """In a volume: for rows, ranges, a rebuild, a member that left, and reads before a write."""

    drive: float


class Modes:
    """A value for each mode of a drive."""

    idle: float
    """Neither at work nor in standby; low-power idle conditions included."""

    seek: float
    rotation: float
    transfer: float
    standby: float
    """Spinning down and up included."""


class Power(Modes, Record):
    """Mean power; the modes add up to the mean."""

    mean: float


class TimeByMode(Modes, Record):
    """Seconds in each mode, averaged over the commands that the drive can have in service."""


class Part(Record):
    """Time and energy of one kind of work or condition."""

    time_s: float
    energy_j: float


class Background(Record):
    """The part of the active modes that was background work."""

    read_ahead: Part
    destage: Part
    media_scan: Part
    follow: Part
    """Idle assemblies that follow another one."""

    cleaning: Part
    checkpoint: Part


class PowerConditions(Record):
    """The part of idle and standby in low-power conditions."""

    idle_a: Part
    idle_b: Part
    idle_c: Part
    standby: Part
    spin_down: Part
    spin_up: Part


class Fault(Record):
    """A head or an arm assembly that a drive took out of use."""

    failed_s: float
    """Time of the failure, or of its warning."""

    deconfigured_s: float
    stack: int
    arm: int
    surface: int | None
    """Surface of the head; None: the whole assembly."""

    warning: bool
    """Whether the drive was warned."""


class RoleMode(Record):
    """The time in one mode of the arms' roles."""

    name: str
    time_s: float


class Roles(Record):
    """Changes of the arms' roles, the warm-up included."""

    n_switches: int
    n_forced: int
    """Changes that a failed part made necessary."""

    switching_s: float
    """Time in which arms served nothing because of a change, summed over all arms."""

    modes: list[RoleMode]


class Counted(Counters, Record):
    """What the drives of a system have counted together."""


class Drive(Counters, Record):
    """One drive of a system; means of no requests are None."""

    name: str
    """The drive's name and its index in the system: ``cheetah-10k-19g[3]``."""

    n_requests: int
    """Requests or parts of requests that it served."""

    n_errors: int
    response_time_mean_s: float | None
    nonzero_seek_ratio: float | None
    cache_hit_ratio: float | None
    queue_depth_mean: float
    utilisation: float
    """Share of time in which the mechanism works; the mean of assemblies that work at once."""

    utilisation_background: float
    energy_j: float
    power_w: Power
    time_s: TimeByMode
    background: Background
    power_conditions: PowerConditions
    """Absent without low-power conditions."""

    faults: list[Fault]
    duration_limits: DurationLimits
    """Absent where the drive heeds none."""

    roles: Roles
    """Absent where roles never change."""


class Unsaid(Record):
    """A value that decides about results and was not given."""

    part: str
    key: str | None
    """Dotted key; None: nothing was said of the part."""

    taken: str


class Description(Record):
    """A description of drives, with the changes of their system."""

    name: str
    count: int
    """Number of drives with it."""

    sha256: str | None
    """Hash of its file; None if it is in the experiment."""

    missing: list[str]
    """Parts that were not given at all."""

    defaults: list[str]
    """Dotted keys of the values that were not given."""

    unsaid: list[Unsaid]
    description: Free
    """In the form of a drive file."""


class Changes(Record):
    """Counts of a system's changes."""

    n_done: int
    n_after_end: int


class Settling(Record):
    """How fast falling caps were met."""

    mean: float | None
    max: float | None
    n: int
    never: int
    """Those that were not met before the next change."""


class CappedDrive(Record):
    """One drive under a cap."""

    power_mean_w: float
    admitted_response_time_s: Times
    admitted_p80_s: float | None
    within_100_ms: float | None


class CappingSeries(Record):
    """Values over time, one entry for each interval."""

    t_s: list[float]
    power_w: list[float]
    measured_w: list[float | None]
    cap_w: list[float | None]
    status: list[str]
    throughput_iops: list[float]
    in_flight: list[int]
    response_mean_s: list[float | None]
    admitted_p50_s: list[float | None]
    admitted_p99_s: list[float | None]
    admitted_max_s: list[float | None]
    nr_requests: list[float]
    queue_depth: list[float]
    read_expire_s: list[float | None]
    arms: list[float]
    job_iops: Free
    drive_power_w: list[list[float]]


class Capping(Record):
    """How a power cap was kept, and at what cost; see docs/guide/capping.md."""

    policy: str
    parameters: Free
    observed_s: float
    capped_s: float
    violation_s: float
    """Time in which the power was above cap plus tolerance."""

    over_cap_j: float
    worst_over_cap_w: float
    power_mean_w: float
    power_max_w: float
    settling_s: Settling
    power_deviation_w: float
    n_changes: int
    response_time_s: Times
    admitted_response_time_s: Times
    """From admission to the host's queue."""

    within_100_ms: float | None
    admitted_cdf: list[list[float]]
    drives: list[CappedDrive]
    series: CappingSeries
    series_file: str
    """Absent without an output folder, as `drives_file`."""

    drives_file: str


class Layer(Record):
    """The sum of all layers of one kind at one level."""

    layer: str
    instances: int
    n_requests: int
    n_errors: int
    errors: Free
    from_submission_mean_s: float | None
    from_admission_mean_s: float | None
    longest_s: float
    counts: Free
    most: Free
    sums_s: Free


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


class Cost(Record):
    """A range of costs in US dollars; None where the description has none."""

    low: float | None
    high: float | None
    price_kind: str | None
    """Kind of the price; those of different kinds cannot be compared."""

    as_of: str
    """Day of the price, if it is from a table; else absent."""


class Series(Record):
    """Values over time, one entry for each bucket."""

    t_s: list[float]
    """Start of each bucket."""

    queue_depth: list[float]
    response_time_mean_s: list[float | None]
    throughput_iops: list[float]
    power_w: list[float]


class Covered(Record):
    """How much of its workload an interrupted simulation has seen."""

    n_requests: int
    n_expected: int | None
    is_estimate: bool
    seconds: float
    until_s: float


class System(Requests, Shares, Record):
    """One system on one workload."""

    name: str
    workload: str
    n_dropped: int
    """Requests beyond the end of a device that were left out."""

    trace_records: TraceRecords
    duration_s: float
    """From the end of the warm-up (or the first arrival) to the last completion."""

    service_time_s: Times
    """From start of service to completion."""

    confidence_s: Confidence | None
    """Of the mean response time; None for few requests, or without a steady state."""

    operations: Operations
    classes: list[RequestClass]
    """In the order of the workload; absent without classes."""

    overloaded: Overloaded | None
    components_s: Components
    queue_parts_s: QueueParts
    queue_depth_mean: float
    utilisation: float
    """Mean over the drives of the share of time in which the mechanism works."""

    utilisation_background: float
    energy_j: float
    power_w: Power
    drives: list[Drive]
    counters: Counted
    """Absent if the drives have counted nothing."""

    drive: list[Description]
    changes: Changes
    """Absent without changes."""

    capping: Capping
    """Absent without capping."""

    layers: list[Layer]
    """From the host down; absent without layers."""

    cost_usd: Cost
    headroom: Headroom
    """Absent unless it was asked for."""

    over_seeds: list[OverSeed]
    """One entry for each seed, where several were asked for; else absent."""

    energy_cost_usd: float
    """Cost of the mean power over the years of the experiment's ``cost``."""

    quantile_method: str
    """``exact``, or ``hdr-3``: a histogram with three significant figures."""

    response_time_cdf: list[list[float]]
    """Points of seconds and share of requests not slower."""

    series: Series
    partial: bool
    covered: Covered
    """Absent if the whole workload was seen."""

    requests_file: str
    """Absent without an output folder, as `series_file`."""

    series_file: str
