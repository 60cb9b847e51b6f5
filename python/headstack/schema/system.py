"""Systems; written by `scripts/schema_types.py`, do not edit."""

from collections.abc import Mapping, Sequence
from typing import Literal, Required, TypeAlias, TypedDict

from headstack.schema.capping import Capping
from headstack.schema.drive import Drive, DurationLimit
from headstack.schema.layers import (
    Bad,
    Layer,
    LayoutKeys,
    NearKeys,
    ReadPolicyKeys,
    RebuildAtOnceKeys,
    RebuildRateKeys,
    Slow,
    StripeUnitKeys,
    UnitKeys,
)
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
from headstack.schema.quantities import DataRate, LengthOfTime, Rate, RotationSpeed
from headstack.schema.words import ElevatorName, LayerName, OrganisationName, PowerCondition, SchedulerName


class DriveKeys(TypedDict, total=False):
    """Keys that several tables have."""

    drive: Path | Drive
    """A drive's name, a path to a TOML or DiskSim file, or a whole drive as a table."""

    count: int
    """Number of drives. Default: 1."""

    set: Mapping[str, object]
    """Values of the drive to change, by dotted key or nested tables."""

    drive_overrides: Mapping[str, object]
    """Values of the drive to change, by dotted key or nested tables."""

    scheduler: SchedulerName
    """Scheduler of the drives."""

    queue_depth: int
    """Commands that each drive's scheduler sees; 0: all."""

    cache: Mapping[str, object]
    """Values of the drive's cache to change."""

    dash: str
    """Stacks, arm assemblies, surfaces at once and heads per arm of the drives: `D1A2S1H1`. Form: the degrees of
    parallelism: D<stacks>A<arms>S<surfaces>H<heads>."""

    parallelism: Mapping[str, object]
    """Values of the drive's parallelism to change: limits, angles, faults."""


class SchedulerParametersKeys(TypedDict, total=False):
    """Keys that several tables have."""

    scheduler_parameters: (
        VscanParameters | SatfParameters | AgedSptfParameters | DepthAgedSptfParameters | DeadlineSptfParameters
    )
    """Parameters of the scheduler."""


class SystemDrive(DriveKeys, SchedulerParametersKeys, total=False):
    """Drives of one kind."""


class OrganisationIndependent(TypedDict, total=False):
    """No parameters."""

    name: Required[Literal["independent", "concatenate"]]


class OrganisationRaid0(StripeUnitKeys, total=False):
    """Parameters of `raid0`."""


class OrganisationRaid1(ReadPolicyKeys, RebuildAtOnceKeys, RebuildRateKeys, total=False):
    """Parameters of `raid1`."""


class OrganisationRaid10(RebuildAtOnceKeys, RebuildRateKeys, NearKeys, total=False):
    """Parameters of `raid10`."""


class OrganisationRaid5(RebuildRateKeys, LayoutKeys, total=False):
    """Parameters of `raid5`."""


Organisation: TypeAlias = (
    OrganisationIndependent | OrganisationRaid0 | OrganisationRaid1 | OrganisationRaid10 | OrganisationRaid5
)
"""One of these, by its key `name`."""


class IdleTimer(TypedDict, total=False):
    """Timer of a low-power condition."""

    condition: Required[PowerCondition]
    """`idle_a`, `idle_b`, `idle_c` or `standby`. `active`: Ready for commands; `idle_a`: Part of the electronics is
    off; `idle_b`: Heads unloaded as well; `idle_c`: Lower spindle speed as well; `standby`: Spun down."""

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
    """The drive is warned: it takes the part out of use before a command needs it. Default: false."""


class FailZone(TypedDict, total=False):
    """A zone of a host-managed drive that fails."""

    block: Required[int]
    """Its first 512-byte block."""

    becomes: Required[Literal["read-only", "offline"]]
    """What it is from then on. `read-only`: It can be read, but not written; `offline`: It can be neither read nor
    written."""


class Stuck(TypedDict, total=False):
    """Of a fault layer: nothing is answered for a time."""

    lasts: Required[LengthOfTime]
    """For how long. 0 ms to 3162240000 s. Unit: one of s, ms, us, ns, min, h."""


class Weak(UnitKeys, total=False):
    """Of a fault layer: blocks that are read only after some time, or are well again."""

    takes: Required[LengthOfTime]
    """How much longer a read takes; 0 s: they are well again. 0 ms to 3162240000 s. Unit: one of s, ms, us, ns, min,
    h."""


class Change(SchedulerParametersKeys, total=False):
    """One entry of `[[system.change]]`: a time, the drives or layers concerned, and one setting."""

    at: Required[LengthOfTime]
    """Time after the arrival of the first request; 0 or more. Unit: one of s, ms, us, ns, min, h."""

    drives: Sequence[int]
    """Drive numbers from 0; all drives if absent."""

    layer: object
    """Entry of the system's `layers`: its number from 0, or its name if only one layer has that name. An organisation
    that is a layer has a name only."""

    instances: Sequence[int]
    """Instances of that layer, from 0; all if absent."""

    queue_depth: int
    """Commands that each drive holds at once; 0: all."""

    scheduler: SchedulerName
    """Name of the scheduler."""

    arms_in_motion: int
    """Commands in service at once."""

    duration_limits: DurationLimit
    """Duration limits and priorities: the whole table of a drive."""

    heeded_hints: Literal["none", "limits", "priority"]
    """Which hints of commands the drives heed: `none`, `limits` or `priority`. `none`: None of them; `limits`: Duration
    limits; `priority`: The high priority of native command queueing."""

    power_condition: PowerCondition
    """`active`, `idle_a`, `idle_b`, `idle_c` or `standby`. `active`: Ready for commands; `idle_a`: Part of the
    electronics is off; `idle_b`: Heads unloaded as well; `idle_c`: Lower spindle speed as well; `standby`: Spun
    down."""

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
    """Host queue: time to the deadline of reads that arrive from now on. Unit: one of s, ms, us, ns, min, h."""

    elevator: ElevatorName
    """Host queue: name of another elevator."""

    elevator_parameters: DeadlineParameters | MqDeadlineParameters | RangesParameters | BfqParameters
    """Parameters of the elevator."""

    member_gone: int
    """Volume: a member that is gone from now on."""

    member_back: int
    """Volume: a member that comes back with the data that it had."""

    member_replaced: int
    """Volume: a missing member that is replaced by an empty one."""

    rebuild_rate: DataRate
    """Volume: rate at which stale data is rebuilt; 0: not at all. Unit: one of B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s,
    Mb/s, Gb/s."""

    bandwidth: DataRate
    """Link: bandwidth in each direction. Unit: one of B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, Mb/s, Gb/s."""

    iops_limit: Rate
    """Of a throttle: requests per second; 0: no limit. Unit: one of /s, /min, /h, iops."""

    bandwidth_limit: DataRate
    """Of a throttle: bytes per second; 0: no limit. Unit: one of B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, Mb/s, Gb/s."""

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


class System(DriveKeys, SchedulerParametersKeys, total=False):
    """One system: drives, their organisation and their layers."""

    name: str
    """Name in results; the drive's name if absent."""

    drives: Sequence[SystemDrive]
    """Instead of `drive` and `count`: drives that differ, in order. Each table has `drive`, `count` and values to
    change; keys that it leaves out are taken from the system."""

    organisation: OrganisationName | Organisation
    """Name of an organisation, or a table with `name` and its parameters. Default: "independent"."""

    layers: Sequence[LayerName | Layer]
    """Layers over the drives, from the host down: names, or tables with `name`, `of` and parameters. The organisation
    then maps devices to the units of the first layer."""

    spindles: Literal["free", "synchronized"]
    """Whether the spindles rotate in phase. `free`: Each spindle starts at an angle drawn from the system's seed;
    `synchronized`: All have the same angle at all times. Default: "free"."""

    seed: int
    """Seed of this system's drives instead of the run's."""

    change: Sequence[Change]
    """Changes while it runs."""

    capping: Capping
    """Power capping; what it leaves out is the experiment's."""
