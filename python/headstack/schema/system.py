"""Systems; written by `scripts/schema_types.py`, do not edit."""

from collections.abc import Mapping, Sequence
from typing import Literal, Required, TypeAlias, TypedDict

from headstack.schema.capping import Capping
from headstack.schema.drive import Drive, DurationLimit
from headstack.schema.layers import Bad, Layer, Slow
from headstack.schema.models import (
    AgedSptfParameters,
    BfqParameters,
    DeadlineParameters,
    DeadlineSptfParameters,
    DepthAgedSptfParameters,
    MqDeadlineParameters,
    RangesParameters,
    SatfParameters,
    VscanParameters,
)
from headstack.schema.plain import Path
from headstack.schema.quantities import DataRate, LengthOfTime, Rate, RotationSpeed, Size
from headstack.schema.words import (
    ElevatorName,
    LayerName,
    Layout,
    OrganisationName,
    PowerCondition,
    ReadPolicy,
    SchedulerName,
)


class SystemDrive(TypedDict, total=False):
    """Drives of one kind."""

    drive: Path | Drive
    """A drive's name, a path to a TOML or DiskSim file, or a whole drive as a table."""

    set: Mapping[str, object]
    """Values of the drive to change, by dotted key or nested tables."""

    drive_overrides: Mapping[str, object]
    """Values of the drive to change, by dotted key or nested tables."""

    count: int
    """Number of drives. Default: 1."""

    scheduler: SchedulerName
    """Scheduler of the drives."""

    scheduler_parameters: (
        VscanParameters
        | SatfParameters
        | AgedSptfParameters
        | DepthAgedSptfParameters
        | DeadlineSptfParameters
    )
    """Parameters of the scheduler."""

    queue_depth: int
    """Commands that each drive's scheduler sees; 0: all."""

    cache: Mapping[str, object]
    """Values of the drive's cache to change."""

    dash: str
    """Stacks, arm assemblies, surfaces at once and heads per arm of the drives: `D1A2S1H1`. Form:
    the degrees of parallelism: D<stacks>A<arms>S<surfaces>H<heads>.
    """

    parallelism: Mapping[str, object]
    """Values of the drive's parallelism to change: limits, angles, faults."""


class OrganisationIndependent(TypedDict, total=False):
    """No parameters."""

    name: Required[Literal["independent", "concatenate"]]


class OrganisationRaid0(TypedDict, total=False):
    """Parameters of `raid0`."""

    name: Required[Literal["raid0"]]

    stripe_unit: Size
    """Contiguous data per drive; a multiple of 512 B. Unit: one of B, kB, MB, GB, TB, KiB, MiB,
    GiB, TiB. Default: "65536 B".
    """

    footprint: Size
    """How many bytes of the array are used, from its start; all if absent. Unit: one of B, kB, MB,
    GB, TB, KiB, MiB, GiB, TiB.
    """


class OrganisationRaid1(TypedDict, total=False):
    """Parameters of `raid1`."""

    name: Required[Literal["raid1"]]

    read_policy: ReadPolicy
    """Which copy a read takes. `first`: The first copy that can be read; `round-robin`: The copies
    in turn; `nearest`: The nearest head; of equal ones the first; `fewest-pending`: The fewest
    requests; of equal ones the first; `md-raid1`: The copy that continues the member's last read,
    or begins at its head; else the first idle member; else the nearest head; `md-raid10-near`: The
    first copy whose member is idle; else the nearest head; `md-raid10-far`: The lowest address on
    the member. Default: "md-raid1".
    """

    rebuild_at_once: Size
    """Bytes of a member that are being rebuilt at once. 65536 B to 1073741824 B. Unit: one of B,
    kB, MB, GB, TB, KiB, MiB, GiB, TiB. Default: "2031616 B".
    """

    rebuild_rate: DataRate
    """Rate at which stale data are rebuilt, as a mean over seconds; not at all if absent. Unit: one
    of B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, Mb/s, Gb/s.
    """

    rebuild_rate_min: DataRate
    """Rate up to which the rebuild does not give way to requests; if absent `rebuild_rate`. Unit:
    one of B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, Mb/s, Gb/s.
    """

    rebuild_request: Size
    """Longest request of the rebuild. 65536 B to 1073741824 B. Unit: one of B, kB, MB, GB, TB, KiB,
    MiB, GiB, TiB. Default: "1040384 B".
    """

    rebuild_host_time: LengthOfTime
    """Time that the host needs for each 4 KiB of a member being rebuilt, once between the reads and
    the write, and once after the write. 0 ms to 1 ms. Unit: one of s, ms, us, ns, min, h. Default:
    "0 ms".
    """

    gone: Sequence[int]
    """Members that are missing from the beginning."""


class OrganisationRaid10(TypedDict, total=False):
    """Parameters of `raid10`."""

    name: Required[Literal["raid10"]]

    near: int
    """Copies in a set; `near` times `far` copies in all. Default: 2."""

    far: int
    """Number of sets. Default: 1."""

    offset: bool
    """Whether the rows of the sets alternate. Default: false."""

    chunk: Size
    """Contiguous data per member. Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB. Default:
    "524288 B".
    """

    read_policy: ReadPolicy
    """Which copy a read takes; if absent `md-raid10-near`, or `md-raid10-far` where `far` is above
    1 and not `offset`. `first`: The first copy that can be read; `round-robin`: The copies in turn;
    `nearest`: The nearest head; of equal ones the first; `fewest-pending`: The fewest requests; of
    equal ones the first; `md-raid1`: The copy that continues the member's last read, or begins at
    its head; else the first idle member; else the nearest head; `md-raid10-near`: The first copy
    whose member is idle; else the nearest head; `md-raid10-far`: The lowest address on the member.
    """

    rebuild_at_once: Size
    """Bytes of a member that are being rebuilt at once. 65536 B to 1073741824 B. Unit: one of B,
    kB, MB, GB, TB, KiB, MiB, GiB, TiB. Default: "2031616 B".
    """

    rebuild_rate: DataRate
    """Rate at which stale data are rebuilt, as a mean over seconds; not at all if absent. Unit: one
    of B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, Mb/s, Gb/s.
    """

    rebuild_rate_min: DataRate
    """Rate up to which the rebuild does not give way to requests; if absent `rebuild_rate`. Unit:
    one of B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, Mb/s, Gb/s.
    """

    rebuild_request: Size
    """Longest request of the rebuild. 65536 B to 1073741824 B. Unit: one of B, kB, MB, GB, TB, KiB,
    MiB, GiB, TiB. Default: "1040384 B".
    """

    rebuild_host_time: LengthOfTime
    """Time that the host needs for each 4 KiB of a member being rebuilt, once between the reads and
    the write, and once after the write. 0 ms to 1 ms. Unit: one of s, ms, us, ns, min, h. Default:
    "0 ms".
    """

    gone: Sequence[int]
    """Members that are missing from the beginning."""


class OrganisationRaid5(TypedDict, total=False):
    """Parameters of `raid5`."""

    name: Required[Literal["raid5"]]

    layout: Layout
    """Where the parity of each stripe lies, and where its data begin. `left-asymmetric`: Parity
    moves to the left; data begin at the first member; `right-asymmetric`: Parity moves to the
    right; data begin at the first member; `left-symmetric`: Parity moves to the left; data begin
    behind the parity; `right-symmetric`: Parity moves to the right; data begin behind the parity.
    Default: "left-symmetric".
    """

    chunk: Size
    """Contiguous data per member, a multiple of `unit`. Unit: one of B, kB, MB, GB, TB, KiB, MiB,
    GiB, TiB. Default: "524288 B".
    """

    unit: Size
    """Parity is computed for blocks of this size. Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB,
    TiB. Default: "4096 B".
    """

    rmw_level: int
    """When a small write reads old data and parity: 0 never, 1 if that reads less, 2 if it does not
    read more. 0 to 2. Default: 1.
    """

    stripe_cache: bool
    """Whether writes of the same rows join, and what was read or written is not read again, as in
    md. Default: true.
    """

    rebuild_at_once: Size
    """Bytes of a member that are being rebuilt at once. 65536 B to 1073741824 B. Unit: one of B,
    kB, MB, GB, TB, KiB, MiB, GiB, TiB. Default: "1048576 B".
    """

    rebuild_grows_to: Size
    """What `rebuild_at_once` grows to, by one `unit` each time that all of it is used; if absent it
    does not grow. 65536 B to 1073741824 B. Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB.
    """

    rebuild_rate: DataRate
    """Rate at which stale data are rebuilt, as a mean over seconds; not at all if absent. Unit: one
    of B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, Mb/s, Gb/s.
    """

    rebuild_rate_min: DataRate
    """Rate up to which the rebuild does not give way to requests; if absent `rebuild_rate`. Unit:
    one of B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, Mb/s, Gb/s.
    """

    rebuild_request: Size
    """Longest request of the rebuild. 65536 B to 1073741824 B. Unit: one of B, kB, MB, GB, TB, KiB,
    MiB, GiB, TiB. Default: "1040384 B".
    """

    rebuild_host_time: LengthOfTime
    """Time that the host needs for each 4 KiB of a member being rebuilt, once between the reads and
    the write, and once after the write. 0 ms to 1 ms. Unit: one of s, ms, us, ns, min, h. Default:
    "0 ms".
    """

    gone: Sequence[int]
    """Members that are missing from the beginning."""


Organisation: TypeAlias = (
    OrganisationIndependent
    | OrganisationRaid0
    | OrganisationRaid1
    | OrganisationRaid10
    | OrganisationRaid5
)
"""One of these, by its key `name`."""


class IdleTimer(TypedDict, total=False):
    """Timer of a low-power condition."""

    condition: Required[PowerCondition]
    """`idle_a`, `idle_b`, `idle_c` or `standby`. `active`: Ready for commands; `idle_a`: Part of
    the electronics is off; `idle_b`: Heads unloaded as well; `idle_c`: Lower spindle speed as well;
    `standby`: Spun down.
    """

    after: LengthOfTime
    """Time without work; absent: as the drive's file has it. Unit: one of s, ms, us, ns, min, h."""


class SpindleSpeed(TypedDict, total=False):
    """New speed of the spindles."""

    speed: Required[RotationSpeed]
    """The new speed. Unit: rpm."""

    takes: LengthOfTime
    """How long the change takes. Unit: one of s, ms, us, ns, min, h. Default: "0 ms"."""


class Fail(TypedDict, total=False):
    """A part that fails."""

    stack: int
    """Disk stack, from 0. Default: 0."""

    arm: int
    """Arm assembly of the stack, from 0. Default: 0."""

    surface: int
    """Surface whose head fails; the whole assembly if absent."""

    warning: bool
    """The drive is warned: it takes the part out of use before a command needs it. Default: false.
    """


class FailZone(TypedDict, total=False):
    """A zone of a host-managed drive that fails."""

    block: Required[int]
    """Its first 512-byte block."""

    becomes: Required[Literal["read-only", "offline"]]
    """What it is from then on. `read-only`: It can be read, but not written; `offline`: It can be
    neither read nor written.
    """


class Stuck(TypedDict, total=False):
    """Of a fault layer: nothing is answered for a time."""

    lasts: Required[LengthOfTime]
    """For how long. 0 ms to 3162240000 s. Unit: one of s, ms, us, ns, min, h."""


class Weak(TypedDict, total=False):
    """Of a fault layer: blocks that are read only after some time, or are well again."""

    unit: int
    """Unit of the layer. Default: 0."""

    block: Required[int]
    """First 512-byte block."""

    blocks: int
    """Number of 512-byte blocks. Default: 1."""

    takes: Required[LengthOfTime]
    """How much longer a read takes; 0 s: they are well again. 0 ms to 3162240000 s. Unit: one of s,
    ms, us, ns, min, h.
    """


class Change(TypedDict, total=False):
    """One entry of `[[system.change]]`: a time, the drives or layers concerned, and one setting."""

    at: Required[LengthOfTime]
    """Time after the arrival of the first request; 0 or more. Unit: one of s, ms, us, ns, min, h.
    """

    drives: Sequence[int]
    """Drive numbers from 0; all drives if absent."""

    layer: object
    """Entry of the system's `layers`: its number from 0, or its name if only one layer has that
    name. An organisation that is a layer has a name only.
    """

    instances: Sequence[int]
    """Instances of that layer, from 0; all if absent."""

    queue_depth: int
    """Commands that each drive holds at once; 0: all."""

    scheduler: SchedulerName
    """Name of the scheduler."""

    scheduler_parameters: (
        VscanParameters
        | SatfParameters
        | AgedSptfParameters
        | DepthAgedSptfParameters
        | DeadlineSptfParameters
    )
    """Parameters of the scheduler."""

    arms_in_motion: int
    """Commands in service at once."""

    duration_limits: DurationLimit
    """Duration limits and priorities: the whole table of a drive."""

    heeded_hints: Literal["none", "limits", "priority"]
    """Which hints of commands the drives heed: `none`, `limits` or `priority`. `none`: None of
    them; `limits`: Duration limits; `priority`: The high priority of native command queueing.
    """

    power_condition: PowerCondition
    """`active`, `idle_a`, `idle_b`, `idle_c` or `standby`. `active`: Ready for commands; `idle_a`:
    Part of the electronics is off; `idle_b`: Heads unloaded as well; `idle_c`: Lower spindle speed
    as well; `standby`: Spun down.
    """

    idle_timer: IdleTimer
    """Timer of a low-power condition."""

    spindle_speed: SpindleSpeed
    """New speed of the spindles."""

    fail: Fail
    """A part that fails."""

    fail_zone: FailZone
    """A zone of a host-managed drive that fails."""

    nr_requests: int
    """Host queue: places for requests."""

    depth: int
    """Host queue: most requests below it at once."""

    read_expire: LengthOfTime
    """Host queue: time to the deadline of reads that arrive from now on. Unit: one of s, ms, us,
    ns, min, h.
    """

    elevator: ElevatorName
    """Host queue: name of another elevator."""

    elevator_parameters: (
        DeadlineParameters | MqDeadlineParameters | RangesParameters | BfqParameters
    )
    """Parameters of the elevator."""

    member_gone: int
    """Volume: a member that is gone from now on."""

    member_back: int
    """Volume: a member that comes back with the data that it had."""

    member_replaced: int
    """Volume: a missing member that is replaced by an empty one."""

    rebuild_rate: DataRate
    """Volume: rate at which stale data is rebuilt; 0: not at all. Unit: one of B/s, kB/s, MB/s,
    GB/s, KiB/s, MiB/s, Mb/s, Gb/s.
    """

    bandwidth: DataRate
    """Link: bandwidth in each direction. Unit: one of B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, Mb/s,
    Gb/s.
    """

    iops_limit: Rate
    """Of a throttle: requests per second; 0: no limit. Unit: one of /s, /min, /h, iops."""

    bandwidth_limit: DataRate
    """Of a throttle: bytes per second; 0: no limit. Unit: one of B/s, kB/s, MB/s, GB/s, KiB/s,
    MiB/s, Mb/s, Gb/s.
    """

    slow: Slow
    """Of a fault layer: a share of the requests is late."""

    stuck: Stuck
    """Of a fault layer: nothing is answered for a time."""

    bad: Bad
    """Of a fault layer: blocks that are bad, or good again."""

    gone: bool
    """Of a fault layer: whether the device is gone."""

    busy: Stuck
    """Of a fault layer: no further requests are taken for a time."""

    weak: Weak
    """Of a fault layer: blocks that are read only after some time, or are well again."""

    predicts_failure: bool
    """Of a fault layer: whether the drive says that it is about to fail."""


class System(TypedDict, total=False):
    """One system: drives, their organisation and their layers."""

    name: str
    """Name in results; the drive's name if absent."""

    drive: Path | Drive
    """A drive's name, a path to a TOML or DiskSim file, or a whole drive as a table."""

    drives: Sequence[SystemDrive]
    """Instead of `drive` and `count`: drives that differ, in order. Each table has `drive`, `count`
    and values to change; keys that it leaves out are taken from the system.
    """

    set: Mapping[str, object]
    """Values of the drive to change, by dotted key or nested tables."""

    drive_overrides: Mapping[str, object]
    """Values of the drive to change, by dotted key or nested tables."""

    count: int
    """Number of drives. Default: 1."""

    organisation: OrganisationName | Organisation
    """Name of an organisation, or a table with `name` and its parameters. Default: "independent".
    """

    layers: Sequence[LayerName | Layer]
    """Layers over the drives, from the host down: names, or tables with `name`, `of` and
    parameters. The organisation then maps devices to the units of the first layer.
    """

    scheduler: SchedulerName
    """Scheduler of the drives."""

    scheduler_parameters: (
        VscanParameters
        | SatfParameters
        | AgedSptfParameters
        | DepthAgedSptfParameters
        | DeadlineSptfParameters
    )
    """Parameters of the scheduler."""

    queue_depth: int
    """Commands that each drive's scheduler sees; 0: all."""

    cache: Mapping[str, object]
    """Values of the drive's cache to change."""

    dash: str
    """Stacks, arm assemblies, surfaces at once and heads per arm of the drives: `D1A2S1H1`. Form:
    the degrees of parallelism: D<stacks>A<arms>S<surfaces>H<heads>.
    """

    parallelism: Mapping[str, object]
    """Values of the drive's parallelism to change: limits, angles, faults."""

    spindles: Literal["free", "synchronized"]
    """Whether the spindles rotate in phase. `free`: Each spindle starts at an angle drawn from the
    system's seed; `synchronized`: All have the same angle at all times. Default: "free".
    """

    seed: int
    """Seed of this system's drives instead of the run's."""

    change: Sequence[Change]
    """Changes while it runs."""

    capping: Capping
    """Power capping; what it leaves out is the experiment's."""
