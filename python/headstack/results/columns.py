"""Tables of results; written by `scripts/schema_types.py`, do not edit."""

from headstack.results.record import Free, Record


class TraceRecords(Record):
    """Records of a trace that were left out or changed, the warm-up included; all zero for synthetic workloads."""

    n_skipped: int
    """Wrong records left out (`on_error = "skip"`)."""

    n_clamped: int
    """Requests whose time was moved forward to that of the request before."""

    n_zero_sized: int
    """Reads and writes of no bytes, left out."""


class Times(Record):
    """Statistics in seconds; not-a-number (None in JSON) without values."""

    mean: float
    """Arithmetic mean."""

    p50: float
    p90: float
    p95: float
    p99: float
    p999: float
    p9999: float
    max: float
    """Largest value."""


class Confidence(Record):
    """Interval that contains the mean with a probability of 95 %."""

    mean: list[float]
    """Low and high end, seconds."""

    method: str
    """Method by which it was computed."""


class Operation(Record):
    """The requests of one operation."""

    n_requests: int
    """Requests after the warm-up, failed ones included."""

    n_errors: int
    """Failed ones."""

    throughput_iops: float
    """Requests that succeeded, per second."""

    throughput_bytes_per_s: float
    """Their bytes per second."""

    response_time_s: Times
    """From arrival to completion."""

    service_time_s: Times
    """From start of service to completion."""

    confidence_s: Confidence | None
    """Confidence interval of the mean response time, as for the whole."""


class Operations(Record):
    """Results of each operation; one that does not occur is absent."""

    read: Operation
    write: Operation
    flush: Operation


class RequestClass(Record):
    """The requests of one class."""

    name: str
    """The class's name; `other` for the requests that belong to none."""

    n_requests: int
    """Requests after the warm-up, failed ones included."""

    n_errors: int
    """Failed ones."""

    n_missed: int
    """Those that missed a duration limit of a drive, whether they failed or not."""

    throughput_iops: float
    """Requests that succeeded, per second."""

    throughput_bytes_per_s: float
    """Their bytes per second."""

    response_time_s: Times
    """From arrival to completion."""


class Overloaded(Record):
    """Why a system cannot keep up."""

    why: str
    """The evidence, in words."""


class Components(Record):
    """Mean share of the response time per request, in seconds."""

    queue: float
    """Waiting."""

    overhead: float
    """Command processing."""

    seek: float
    """Arm movement."""

    rotation: float
    """Waiting for the platter."""

    transfer: float
    """Transfer between medium and head."""

    bus: float
    """The link."""


class QueueParts(Record):
    """Where requests wait, mean seconds per request."""

    place: float
    """For a place in a host queue, or for a throttle."""

    elevator: float
    """In an elevator."""

    array: float
    """In a volume: for rows or ranges, for a rebuild, for a member that left, and in the queues of the reads before a
    write."""

    drive: float
    """In the drive."""


class Power(Record):
    """Mean power by mode; the modes add up to the mean."""

    mean: float
    """Total."""

    idle: float
    """Neither at work nor in standby; low-power idle conditions included."""

    seek: float
    """Seeking."""

    rotation: float
    """Waiting for rotation."""

    transfer: float
    """Transferring."""

    standby: float
    """In standby, spinning down and up included."""


class Modes(Record):
    """One quantity (joules, watts, seconds) for each mode of the mechanism."""

    idle: float
    """Neither at work nor in standby; low-power idle conditions included."""

    seek: float
    """Seeking."""

    rotation: float
    """Waiting for rotation."""

    transfer: float
    """Transferring."""

    standby: float
    """In standby, spinning down and up included."""


class Work(Record):
    """Seconds and joules of one kind of work, over all active states."""

    time_s: float
    """Seconds, averaged over assemblies as in `DriveEnergy`."""

    energy_j: float
    """Joules, with the share of the idle power."""


class Background(Record):
    """The part of the active states that is background work. The rest is work for commands."""

    read_ahead: Work
    destage: Work
    media_scan: Work
    follow: Work
    """Idle assemblies that follow another one."""

    cleaning: Work
    """Cleaning of a log, or of a cache on the medium, also while a write waits for it."""

    checkpoint: Work
    """Checkpoints of a log."""


class ConditionShare(Record):
    """A length of time and its energy."""

    time_s: float
    """Seconds."""

    energy_j: float
    """Joules."""


class PowerConditions(Record):
    """Time and energy by low-power condition.

    Entering and leaving are included, except for standby, where they have fields of their own.
    """

    idle_a: ConditionShare
    """`idle_a`: part of the electronics off."""

    idle_b: ConditionShare
    """`idle_b`: heads unloaded."""

    idle_c: ConditionShare
    """`idle_c`: lower spindle speed."""

    standby: ConditionShare
    """Spun down."""

    spin_down: ConditionShare
    """Spinning down."""

    spin_up: ConditionShare
    """Spinning up."""


class Fault(Record):
    """A head or an arm assembly that a drive took out of use."""

    failed_s: float
    """Time of the failure, or of its warning, from the start of the simulation."""

    deconfigured_s: float
    """When the drive took it out of use."""

    stack: int
    """Disk stack."""

    arm: int
    """Arm assembly of the stack."""

    surface: int | None
    """Surface of the head; None: the whole assembly."""

    warning: bool
    """Whether the drive was warned."""


class LimitCounts(Record):
    """What a drive has counted of one limit."""

    n_commands: int
    """Commands that named it and have ended."""

    n_met: int
    """Those that met all times that applied to them."""

    n_inactive: int
    """Inactive times that were exceeded, with a policy other than `complete-earliest`."""

    n_active: int
    """Active times, likewise."""

    n_guideline: int
    """Guidelines, likewise."""


class DurationLimits(Record):
    """What a drive has counted of its duration limits, by number from 1."""

    reads: list[LimitCounts]
    """Those of reads."""

    writes: list[LimitCounts]
    """Those of writes."""


class RoleMode(Record):
    """The time in one mode."""

    name: str
    """The mode's name."""

    time_s: float
    """Seconds."""


class Roles(Record):
    """How a drive has used its roles up to a time."""

    n_switches: int
    """How often the mode changed, in all stacks."""

    n_forced: int
    """Number of these changes that a failed part made necessary."""

    switching_s: float
    """Seconds in which arms served nothing because of a change, summed over all arms."""

    modes: list[RoleMode]
    """Seconds in each mode; with several stacks the mean over the stacks."""


class Drive(Record):
    """One drive of a system."""

    name: str
    """The drive's name and its index in the system: `cheetah-10k-19g[3]`."""

    n_requests: int
    """Requests or parts of requests that it served."""

    n_errors: int
    """Those that failed."""

    response_time_mean_s: float | None
    """From arrival at the drive to completion."""

    nonzero_seek_ratio: float | None
    """Share for which the arm moved."""

    cache_hit_ratio: float | None
    """Share served from the buffer."""

    queue_depth_mean: float
    """Mean number of requests at the drive, failed ones included."""

    utilisation: float
    """Share of time in which the mechanism seeks, waits or transfers, for requests or in the background; the mean of
    several assemblies that can work at once."""

    utilisation_background: float
    """The part of `utilisation` that is background work."""

    energy_j: float
    """Energy."""

    power_w: Power
    """Mean power by mode."""

    time_s: Modes
    """Time by mode, averaged over the commands that the drive can have in service."""

    background: Background
    """The part of the active modes that was background work."""

    power_conditions: PowerConditions
    """The part of idle and standby in low-power conditions; absent if zero."""

    faults: list[Fault]
    """Heads and assemblies taken out of use."""

    n_lost_writes: int
    """Writes that completed in the buffer and were lost, because no head reached their place later."""

    n_full_buffer_writes: int
    """Writes that waited for room in the buffer, because data that were not on the medium yet filled it."""

    n_read_modify_writes: int
    """Physical sectors that were read before they were written, because a write covered only a part."""

    n_moved_blocks: int
    """Blocks that cleaning of a log has moved."""

    n_in_place_writes: int
    """Blocks that a log wrote over their old copy, because no slot was free."""

    n_checkpoints: int
    """Complete checkpoints of a log."""

    recovery_scan_s: float
    """How long a log's map would be searched after a loss of power now; absent without `mapping.recovery`."""

    scanned_bytes: int
    """Bytes read by a scan of the medium."""

    duration_limits: DurationLimits
    """What was counted of each duration limit, the warm-up included; absent where the drive heeds none."""

    roles: Roles
    """How often the arms' roles changed, the warm-up included; absent where they never change."""


class Counted(Record):
    """Everything that a drive has counted since it was built."""

    n_lost_writes: int
    """Writes that completed in the buffer and were lost, because no head reached their place later."""

    n_full_buffer_writes: int
    """Writes that waited for room in the buffer, because data that were not on the medium yet filled it."""

    n_read_modify_writes: int
    """Physical sectors that were read before they were written, because a write covered only a part."""

    n_moved_blocks: int
    """Blocks that cleaning of a log has moved."""

    n_in_place_writes: int
    """Blocks that a log wrote over their old copy, because no slot was free."""

    n_checkpoints: int
    """Complete checkpoints of a log."""

    recovery_scan_s: float
    """How long a log's map would be searched after a loss of power now; absent without `mapping.recovery`."""

    scanned_bytes: int
    """Bytes read by a scan of the medium."""


class Unsaid(Record):
    """A part of a description, or one of its values, that decides about results and was not given."""

    part: str
    """`cache`, `queue` or `power`."""

    key: str | None
    """Dotted key of the value; None: nothing was given of the part."""

    taken: str
    """What is taken, in words."""


class Description(Record):
    """A drive's description as it was simulated, with the changes of its system."""

    name: str
    """The drive's name."""

    count: int
    """Number of drives with this description."""

    sha256: str | None
    """SHA-256 of the drive's file; None if the description is in the experiment."""

    missing: list[str]
    """The parts (`power`, `cache`, ...) of which nothing was given; their values in the description are defaults."""

    defaults: list[str]
    """Dotted keys of the values in the description that nobody gave: `power.voice_coil`. Entries of lists, such as
    zones, are not looked into."""

    unsaid: list[Unsaid]
    """What decides the drive's numbers and was not given."""

    description: Free
    """The whole description, in the form of a drive's file."""


class Changes(Record):
    """Numbers of a system's changes, warm-up included: those applied, and those due only after the last completion."""

    n_done: int
    """Changes applied."""

    n_after_end: int
    """Changes not applied."""


class Settling(Record):
    """How fast falling caps were met."""

    mean: float | None
    """Mean over those that were met."""

    max: float | None
    """The longest."""

    n: int
    """Falling caps."""

    never: int
    """Those that were not met before the next change."""


class CappedDrive(Record):
    """One drive under a cap."""

    power_mean_w: float
    """Mean power in watts, behind the power supply."""

    admitted_response_time_s: Times
    """From admission to completion."""

    admitted_p80_s: float | None
    """The 80th percentile of it."""

    within_100_ms: float | None
    """Share of requests that took at most 100 ms from admission."""


class CappingSeries(Record):
    """The series of the system, column by column; units as in the file."""

    t_s: list[float]
    """End of each interval, seconds after the first request."""

    power_w: list[float]
    """Power in watts."""

    measured_w: list[float | None]
    """The reading that the controller got, in watts."""

    cap_w: list[float | None]
    """The cap in watts."""

    status: list[str]
    """Status of the policy."""

    throughput_iops: list[float]
    """Requests per second."""

    in_flight: list[int]
    """Requests in the system."""

    response_mean_s: list[float | None]
    """Mean response time from submission, in seconds."""

    admitted_p50_s: list[float | None]
    """Median from admission."""

    admitted_p99_s: list[float | None]
    """99th percentile from admission."""

    admitted_max_s: list[float | None]
    """Longest from admission."""

    nr_requests: list[float]
    """Places of the host's queue, mean over drives."""

    queue_depth: list[float]
    """Queue depth, mean over drives."""

    read_expire_s: list[float | None]
    """Time to the deadline of reads in seconds, mean over drives; none if a drive has no such setting."""

    arms: list[float]
    """Arms that may move, mean over drives."""

    job_iops: Free
    """Requests per second of each job."""

    drive_power_w: list[list[float]]
    """Power of each drive in watts, behind the power supply."""


class Capping(Record):
    """How a cap was kept, and at what cost."""

    policy: str
    """The policy."""

    parameters: Free
    """Its parameters, also those that the table leaves out."""

    observed_s: float
    """Seconds that were observed."""

    capped_s: float
    """Seconds under a cap."""

    violation_s: float
    """Seconds with a power above cap plus `tolerance`."""

    over_cap_j: float
    """Energy above the cap: the sum of what exceeds it, watt-seconds."""

    worst_over_cap_w: float
    """Most watts by which an interval exceeded the cap."""

    power_mean_w: float
    """Mean power."""

    power_max_w: float
    """Largest mean power of an interval."""

    settling_s: Settling
    """Time after a change of the cap to a lower one or from none until the mean of five intervals is within cap plus
    `tolerance`, and stays there for ten intervals; caps of fewer than ten intervals are not judged."""

    power_deviation_w: float
    """Oscillation: standard deviation of means of five intervals, in the second half of each time under one cap, in
    watts."""

    n_changes: int
    """Settings that changed, over all drives."""

    response_time_s: Times
    """From submission to completion."""

    admitted_response_time_s: Times
    """From admission to the host's queue to completion."""

    within_100_ms: float | None
    """Share of requests that took at most 100 ms from admission."""

    admitted_cdf: list[list[float]]
    """Points `[seconds, share not slower]` from admission."""

    drives: list[CappedDrive]
    """Each drive."""

    series: CappingSeries
    """Over time."""

    series_file: str
    """The series as a file, relative to the output folder."""

    drives_file: str
    """The series of the drives as a file."""


class Layer(Record):
    """The sum of the statistics of all layers of one kind at one level of the tree.

    It counts the requests to these layers; only at the top these are the requests of the workload.
    """

    layer: str
    """The layer's name, or `drive`."""

    instances: int
    """Number of layers added up."""

    n_requests: int
    """Requests completed after the warm-up, failed ones included."""

    n_errors: int
    """Failed requests."""

    errors: Free
    """Failed requests by kind of error."""

    from_submission_mean_s: float | None
    """Mean time from submission to completion, in seconds; None without requests."""

    from_admission_mean_s: float | None
    """Mean time from admission to completion, in seconds. In a host queue a request is admitted when it gets a
    place."""

    longest_s: float
    """Longest time from submission to completion, in seconds."""

    counts: Free
    """The layer's own counts, as its file documents."""

    most: Free
    """The layer's own maxima; of several layers the largest."""

    sums_s: Free
    """The layer's own sums of time, in seconds."""


class Cost(Record):
    """A range of costs in dollars."""

    low: float | None
    """Lower end; None when nothing is known."""

    high: float | None
    """Upper end."""

    price_kind: str | None
    """Kind of the price: the cost model's name, several joined by `+`. Prices of different kinds cannot be compared."""


class Series(Record):
    """A time series, column by column; each entry is one bucket."""

    t_s: list[float]
    """Start of each bucket."""

    queue_depth: list[float]
    """Mean number of requests in the system, failed ones included."""

    response_time_mean_s: list[float | None]
    """Mean response time of the completions in each bucket."""

    throughput_iops: list[float]
    """Completions per second."""

    power_w: list[float]
    """Mean power of all drives."""


class Covered(Record):
    """How much of its workload a simulation has seen, the warm-up included."""

    n_requests: int
    """Requests that have arrived."""

    n_expected: int | None
    """Requests of the whole workload; None if unknown."""

    is_estimate: bool
    """Whether that is an estimate, from the part of the trace that was read."""

    seconds: float
    """From the first arrival to the last."""

    until_s: float
    """Time of the last arrival, on the clock of the series. Completions until then are all counted."""


class System(Record):
    """One system on one workload."""

    name: str
    """The system's name."""

    workload: str
    """The workload's name."""

    n_requests: int
    """Requests after the warm-up, failed ones included."""

    n_errors: int
    """Failed requests."""

    n_dropped: int
    """Requests beyond the end of a device that were left out (`past_end`)."""

    trace_records: TraceRecords
    """Records of the trace that were left out or changed."""

    duration_s: float
    """From the end of the warm-up (or the first arrival) to the last completion."""

    throughput_iops: float
    """Requests that succeeded, per second."""

    throughput_bytes_per_s: float
    """Bytes of these requests per second."""

    response_time_s: Times
    """From arrival to completion."""

    service_time_s: Times
    """From start of service to completion."""

    confidence_s: Confidence | None
    """Confidence interval of the mean response time; None for few requests, or without a steady state."""

    operations: Operations
    """The same of `read`, `write` (with or without forced unit access) and `flush`, each if it occurs."""

    classes: list[RequestClass]
    """Results of each class of requests, in the order of the workload; absent without classes."""

    overloaded: Overloaded | None
    """Why the system cannot keep up with its requests, if it cannot."""

    components_s: Components
    """Means per request; they add up to the mean response time."""

    queue_parts_s: QueueParts
    """Where requests wait: means per request that add up to the `queue` of `components_s`."""

    nonzero_seek_ratio: float
    """Share of requests for which an arm moved."""

    cache_hit_ratio: float
    """Share of requests served from buffers: all data are there when the drive looks; a read that waits for read-ahead
    is a miss."""

    queue_depth_mean: float
    """Mean number of requests in the system, failed ones included."""

    utilisation: float
    """Mean over the drives of the share of time in which the mechanism seeks, waits or transfers, for requests or in
    the background; the mean of several assemblies that can work at once."""

    utilisation_background: float
    """The part of `utilisation` that is background work."""

    energy_j: float
    """Of all drives, joules."""

    power_w: Power
    """Of all drives, watts."""

    drives: list[Drive]
    """Each drive."""

    counters: Counted
    """What the drives have counted together, the warm-up included; absent if it is nothing."""

    drive: list[Description]
    """The drives' descriptions, each once."""

    changes: Changes
    """Counts of the system's changes; absent without changes."""

    capping: Capping
    """How a power cap was kept; absent without capping."""

    layers: list[Layer]
    """The layers over the drives, from the host down, each the sum of equal ones; absent without layers."""

    cost_usd: Cost
    """Cost of the drives; None if their description has none."""

    energy_cost_usd: float
    """Cost of the mean power over the years of `cost`."""

    quantile_method: str
    """`exact`, or `hdr-3`: an HdrHistogram with three significant figures."""

    response_time_cdf: list[list[float]]
    """Points `[seconds, fraction of requests not slower]`."""

    series: Series
    """Time series."""

    partial: bool
    """Whether this simulation was stopped early."""

    covered: Covered
    """How much of the workload it has seen; absent if it has seen all."""

    requests_file: str
    """The log of requests, relative to the output folder."""

    series_file: str
    """The time series by mode of power, relative to the output folder."""
