"""Systems; written by `scripts/schema_types.py`, do not edit."""

from collections.abc import Mapping, Sequence
from typing import Literal, Required, TypeAlias, TypedDict

from headstack.schema.capping import Capping
from headstack.schema.drive import Drive, DurationLimit, SchedulerParametersKeys
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
from headstack.schema.models import BfqParameters, DeadlineParameters, MqDeadlineParameters, RangesParameters
from headstack.schema.plain import Path
from headstack.schema.quantities import DataRate, LengthOfTime, Rate, RotationSpeed
from headstack.schema.words import ElevatorName, LayerName, OrganisationName, PowerCondition, SchedulerName


class DriveKeys(TypedDict, total=False):
    """Keys that several tables have."""

    drive: Path | Drive
    """A drive's name, a path to a TOML or DiskSim file, or a whole drive as a table; of a system needed without
    `drives`."""

    count: int
    """Number of drives. Default: 1."""

    set: Mapping[str, object]
    """Values of the drive to change, by dotted key or nested tables."""

    drive_overrides: Mapping[str, object]
    """Values of the drive to change, by dotted key or nested tables."""

    scheduler: SchedulerName
    """Scheduler of the drives; the drive's if absent."""

    queue_depth: int
    """Commands that each drive's scheduler sees, the rest wait in order; 0: all; the drive's if absent."""

    cache: Mapping[str, object]
    """Values of the drive's cache to change."""

    dash: str
    """Stacks, arm assemblies, surfaces at once and heads per arm of the drives: `D1A2S1H1`; the drive's if absent.
    Form: the degrees of parallelism: D<stacks>A<arms>S<surfaces>H<heads>."""

    parallelism: Mapping[str, object]
    """Values of the drive's parallelism to change: limits, angles, faults."""


class SystemDrive(SchedulerParametersKeys, DriveKeys, total=False):
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
    """Timer of a low-power condition: `{ condition = "standby", after = "10 s" }`.

    Without `after` as in the drive's file.
    """

    condition: Required[PowerCondition]
    """`idle_a`, `idle_b`, `idle_c` or `standby`. `active`: Ready for commands; `idle_a`: Part of the electronics is
    off; `idle_b`: Heads unloaded as well; `idle_c`: Lower spindle speed as well; `standby`: Spun down."""

    after: LengthOfTime
    """Time without work; absent: as the drive's file has it. Unit: one of s, ms, us, ns, min, h."""


class SpindleSpeed(TypedDict, total=False):
    """`{ speed = "5400 rpm", takes = "2 s" }`: the new speed, and the time to reach it."""

    speed: Required[RotationSpeed]
    """The new speed. Unit: rpm."""

    takes: LengthOfTime
    """How long the change takes. Unit: one of s, ms, us, ns, min, h. Default: "0 ms"."""


class Fail(TypedDict, total=False):
    """A head that fails, or without `surface` the whole assembly; all keys may be left out."""

    stack: int
    """Disk stack, from 0. Default: 0."""

    arm: int
    """Arm assembly of the stack, from 0. Default: 0."""

    surface: int
    """Surface whose head fails; the whole assembly if absent."""

    warning: bool
    """The drive is warned: it takes the part out of use before a command needs it. Default: false."""


class FailZone(TypedDict, total=False):
    """A zone of a host-managed drive that fails.

    `{ block = 524288, becomes = "read-only" }`: the one that begins there; also `"offline"`.
    """

    block: Required[int]
    """Its first 512-byte block."""

    becomes: Required[Literal["read-only", "offline"]]
    """What it is from then on. `read-only`: It can be read, but not written; `offline`: It can be neither read nor
    written."""


class Stuck(TypedDict, total=False):
    """Fault: `{ lasts = "3 s" }`: nothing is answered for this time."""

    lasts: Required[LengthOfTime]
    """For how long. 0 ms to 3162240000 s. Unit: one of s, ms, us, ns, min, h."""


class Weak(UnitKeys, total=False):
    """Fault: blocks whose reads end so much later and are good, until they are written.

    `{ block = 2048, blocks = 8, takes = "700 ms" }`; 0 s: they are well again.
    """

    takes: Required[LengthOfTime]
    """How much longer a read takes; 0 s: they are well again. 0 ms to 3162240000 s. Unit: one of s, ms, us, ns, min,
    h."""


class Change(SchedulerParametersKeys, total=False):
    """One entry of `[[system.change]]`: a time, the drives or layers concerned, and one setting."""

    at: Required[LengthOfTime]
    """Time after the arrival of the first request, before a request that arrives at the same time; 0 or more. Unit: one
    of s, ms, us, ns, min, h."""

    drives: Sequence[int]
    """Drive numbers from 0; all drives if absent."""

    layer: object
    """Entry of the system's `layers`: its number from 0, or its name if only one layer has it; of an organisation with
    redundancy its name."""

    instances: Sequence[int]
    """Instances of that layer, from 0; all if absent."""

    queue_depth: int
    """Commands that each drive holds at once; 0: all."""

    scheduler: SchedulerName
    """Name of the scheduler."""

    arms_in_motion: int
    """Commands in service at once, from 1 to the number for which the drive was built."""

    duration_limits: DurationLimit
    """Duration limits and priorities: the whole table of a drive."""

    heeded_hints: Literal["none", "limits", "priority"]
    """Which hints of commands the drives heed. `none`: None of them; `limits`: Duration limits; `priority`: The high
    priority of native command queueing."""

    power_condition: PowerCondition
    """Power condition that the drives enter, one that they have. `active`: Ready for commands; `idle_a`: Part of the
    electronics is off; `idle_b`: Heads unloaded as well; `idle_c`: Lower spindle speed as well; `standby`: Spun
    down."""

    idle_timer: IdleTimer
    """Timer of a low-power condition: `{ condition = "standby", after = "10 s" }`. Without `after` as in the drive's
    file."""

    spindle_speed: SpindleSpeed
    """`{ speed = "5400 rpm", takes = "2 s" }`: the new speed, and the time to reach it."""

    fail: Fail
    """A head that fails, or without `surface` the whole assembly; all keys may be left out."""

    fail_zone: FailZone
    """A zone of a host-managed drive that fails. `{ block = 524288, becomes = "read-only" }`: the one that begins
    there; also `"offline"`."""

    nr_requests: int
    """Host queue: places; in `legacy` queues at once, in `blk-mq` when all requests have completed."""

    depth: int
    """Host queue: most requests below it at once."""

    read_expire: LengthOfTime
    """Host queue: time to the deadline of reads that arrive from now on. Unit: one of s, ms, us, ns, min, h."""

    elevator: ElevatorName
    """Host queue with `blk-mq` places: another elevator, once all requests have completed; the number of places is then
    the usual one."""

    elevator_parameters: DeadlineParameters | MqDeadlineParameters | RangesParameters | BfqParameters
    """Parameters of the elevator."""

    member_gone: int
    """Volume: a member that fails or is removed."""

    member_back: int
    """Volume: a missing member that returns; blocks written meanwhile are stale on it."""

    member_replaced: int
    """Volume: a missing member that is replaced by an empty one; all its blocks are stale."""

    rebuild_rate: DataRate
    """Volume: most that is rebuilt of stale data in a second; 0: not at all. Unit: one of B/s, kB/s, MB/s, GB/s, KiB/s,
    MiB/s, Mb/s, Gb/s."""

    bandwidth: DataRate
    """Link: bandwidth in each direction, for transfers that begin afterwards. Unit: one of B/s, kB/s, MB/s, GB/s,
    KiB/s, MiB/s, Mb/s, Gb/s."""

    iops_limit: Rate
    """Throttle: requests per second; 0: no limit. Unit: one of /s, /min, /h, iops."""

    bandwidth_limit: DataRate
    """Throttle: bytes per second; 0: no limit. Unit: one of B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, Mb/s, Gb/s."""

    slow: Slow
    """Fault: `{ ratio = 0.01, by = "300 ms", lasts = "1 min" }`: this share of the requests ends so much later, which
    ones follows from the layer's `seed`; without `lasts` until the next change."""

    stuck: Stuck
    """Fault: `{ lasts = "3 s" }`: nothing is answered for this time."""

    bad: Bad
    """Fault: `{ unit = 0, block = 2048, blocks = 8, fails = "reads" }`: 512-byte blocks whose `reads`, `writes` or
    `all` fail; what is written can be read again. `none`: they are good again."""

    gone: bool
    """Fault: `true`: requests fail at once; `false`: the device is back with its data."""

    busy: Stuck
    """Fault: `{ lasts = "3 s" }`: what arrives waits for this time; what is in the drive goes on."""

    weak: Weak
    """Fault: blocks whose reads end so much later and are good, until they are written. `{ block = 2048, blocks = 8,
    takes = "700 ms" }`; 0 s: they are well again."""

    predicts_failure: bool
    """Fault: whether a SCSI disk says that it is about to fail; nothing else changes."""


class System(SchedulerParametersKeys, DriveKeys, total=False):
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
    """Seed of this system's drives; the run's if absent."""

    change: Sequence[Change]
    """Changes while it runs."""

    capping: Capping
    """Power capping; what it leaves out is the experiment's."""
