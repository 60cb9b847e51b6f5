"""Arms and heads of a drive; written by `scripts/schema_types.py`, do not edit."""

from collections.abc import Sequence
from typing import Literal, Required, TypeAlias, TypedDict

from headstack.schema.quantities import Angle, LengthOfTime, Size


class Arm(TypedDict, total=False):
    """One arm assembly."""

    angle: Angle
    """Its angle around the platter. Unit: one of turn, deg. Default: "0 turn"."""

    start_cylinder: int
    """Cylinder at which it starts; a cylinder of the disk. Default: 0."""


class RoleFixed(TypedDict, total=False):
    """A table of roles."""

    policy: Required[Literal["fixed"]]

    arms: Required[Sequence[Sequence[Literal["read", "write"]]]]
    """What each assembly serves. Each: `read`: Reads; `write`: Writes, buffered data included."""


class RoleAdaptive(TypedDict, total=False):
    """Parameters of `adaptive`."""

    policy: Required[Literal["adaptive"]]

    start: Literal["split", "shared"]
    """The mode at the start. `split`: The first arm writes, the others read; `shared`: All arms read and write.
    Default: "split"."""

    window: float
    """Number of commands over which the write fraction is averaged, with exponential weights. 1 to 1000000. Default:
    200.0."""

    to_shared_below: float
    """The roles change to `shared` below this write fraction, which is below `to_split_above`. 0 to 1. Default: 0.7."""

    to_split_above: float
    """The roles change to `split` above this write fraction. 0 to 1. Default: 0.85."""

    dwell: int
    """Least number of commands that a mode serves before the next change. 0 to 1000000000. Default: 200."""

    switch_time: LengthOfTime
    """An arm whose roles change serves nothing for this time, once it has finished its work. 0 ms to 3600 s. Unit: one
    of s, ms, us, ns, min, h. Default: "0 ms"."""

    split: Sequence[Sequence[Literal["read", "write"]]]
    """What each arm serves in the mode `split`. Empty: the first one writes, the others read. Each: `read`: Reads;
    `write`: Writes, buffered data included."""

    shared: Sequence[Sequence[Literal["read", "write"]]]
    """What each arm serves in the mode `shared`. Empty: all read and write. Each: `read`: Reads; `write`: Writes,
    buffered data included."""


Role: TypeAlias = RoleFixed | RoleAdaptive
"""One of these, by its key `policy`."""


class Fault(TypedDict, total=False):
    """A head or a whole assembly that fails."""

    at: LengthOfTime
    """Time of the failure; or give `mean_time_to_failure`. Up to 100 years of 365 days. 0 ms to 3153600000 s. Unit: one
    of s, ms, us, ns, min, h."""

    mean_time_to_failure: LengthOfTime
    """Mean of the exponential distribution from which the time is drawn, with the drive's seed. Data sheets say 2.5
    million hours. 0.001 us to 9145440000 s. Unit: one of s, ms, us, ns, min, h."""

    stack: int
    """Disk stack, from 0. Default: 0."""

    arm: int
    """Arm assembly, from 0. Default: 0."""

    surface: int
    """Surface whose head fails; absent: the whole assembly."""

    warning: bool
    """Whether the drive is warned, so that it deconfigures the part before a command meets the failure. Default:
    false."""


class Parallelism(TypedDict, total=False):
    """Settings that `dash` leaves open: angles, limits, faults."""

    arms: Sequence[Arm]
    """The assemblies one by one, as many as `dash` says. If empty, they are spaced equally around the platter."""

    arm_share: Literal["all", "own-share"]
    """Which surfaces an assembly serves. `all`: All of them; `own-share`: Each an equal share of the surfaces, with the
    contiguous addresses on them. Such assemblies work independently of each other. Default: "all"."""

    logical_units: bool
    """With `arm_share = "own-share"`: whether each assembly is a logical unit with its own queue (SAS), or one queue
    serves all (SATA). Default: false."""

    heads: Literal["angular", "radial"]
    """Whether the heads of an arm have angular or radial offsets. `angular`: Over the same cylinder at different
    angles; `radial`: At the same angle over different cylinders; each serves an equal share of them. Default:
    "angular"."""

    head_spacing: Angle
    """Angle between neighbouring heads of an arm. If absent, all heads of all assemblies are spaced equally. Unit: one
    of turn, deg."""

    arms_in_motion: int
    """Commands that the assemblies of a stack serve at once, one each, counted from the start of the movement to the
    end of the command. 0: as many as there are assemblies. Default: 1."""

    channels: int
    """Transfers between medium and electronics at once, per stack. 0: as many as there are arms. Default: 1."""

    arm_choice: Literal["positioning", "rotation", "seek"]
    """Which of several possible assemblies serves a command. `positioning`: The one with the shortest sum of seek time
    and rotational latency; `rotation`: The one with the shortest rotational latency; `seek`: The one with the shortest
    seek time. Default: "positioning"."""

    parking: Literal["hold", "follow"]
    """What idle assemblies do. `hold`: They stay where they are; `follow`: They follow the assembly that works, at the
    same time; their movement takes energy. Default: "hold"."""

    roles: Sequence[Sequence[Literal["read", "write"]]] | Role
    """What each assembly of a stack may serve, in order: `[["write"], ["read"]]` for an arm that writes and one that
    reads. Or a table with `policy` and its parameters. Empty: all serve reads and writes."""

    stack_unit: Size
    """Addresses are striped over the stacks in pieces of this size. 0: one stack after another. 0 B to 1099511627776 B.
    Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB. Default: "65536 B"."""

    fault_recovery: LengthOfTime
    """Time that a command loses at a head that has failed without warning, before the drive deconfigures it. 0 ms to
    3600 s. Unit: one of s, ms, us, ns, min, h. Default: "1 s"."""

    faults: Sequence[Fault]
    """Heads and assemblies that fail."""
