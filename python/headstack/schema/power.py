"""Power of a drive; written by `scripts/schema_types.py`, do not edit."""

from collections.abc import Sequence
from typing import Literal, Required, TypeAlias, TypedDict

from headstack.schema.quantities import Energy, Length, LengthOfTime, Power, RotationSpeed


class IdleA(TypedDict, total=False):
    """Part of the electronics is off."""

    timer: LengthOfTime
    """Time without work after which the drive enters the condition by itself; never if absent. 0.001 us to 429496729500
    ms. Unit: one of s, ms, us, ns, min, h."""

    nominal_timer: LengthOfTime
    """The timer as the maker sets it or advises; used with `timers = "nominal"` only. 0.001 us to 429496729500 ms.
    Unit: one of s, ms, us, ns, min, h."""

    enter_time: LengthOfTime
    """Time of entering; absent: zero. 0 ms to 3600 s. Unit: one of s, ms, us, ns, min, h."""

    enter_power: Power
    """Mean power while entering; absent: that of the previous condition. 0 W to 100000 W. Unit: one of W, mW."""

    recovery_time: LengthOfTime
    """Time from a command to the start of its service. If absent, for standby `spin_up_time`, else an error. 0 ms to
    3600 s. Unit: one of s, ms, us, ns, min, h."""

    recovery_power: Power
    """Mean power while leaving; absent: idle power, or `spin_up` for standby. 0 W to 100000 W. Unit: one of W, mW."""


class Condition(TypedDict, total=False):
    """The low-power conditions of an idle drive: when they are entered, and what they take."""

    timers: Literal["given", "nominal"]
    """Which timers run. `given`: Only those given as `timer`; `nominal`: Those, and `nominal_timer` for each other
    condition. Default: "given"."""

    idle_a: IdleA
    """Part of the electronics is off."""

    idle_b: IdleA
    """Heads unloaded as well."""

    idle_c: IdleA
    """Lower spindle speed as well."""

    standby: IdleA
    """Spun down."""


class SeekEnergy(TypedDict, total=False):
    """The energy of a seek by its distance."""

    acceleration_power: Required[Power]
    """Power while accelerating or braking. 0 W to 100000 W. Unit: one of W, mW."""

    speed_energy: Required[Energy]
    """Energy that the arm takes to reach full speed. 0 J to 100000 J. Unit: one of J, mJ, Wh, kWh."""

    coast_power: Required[Power]
    """Power at full speed. 0 W to 100000 W. Unit: one of W, mW."""

    acceleration_time: Required[LengthOfTime]
    """Time to full speed and back. 1 us to 10 s. Unit: one of s, ms, us, ns, min, h."""

    coast_from: Required[float]
    """Share of the stroke from which the arm reaches its full speed; 1: it never coasts. 0.001 to 1."""


class RotationSpeedKeys(TypedDict, total=False):
    """Keys that several tables have."""

    rotation_speed: RotationSpeed
    """Speed for which the given powers hold. 1 rpm to 1000000 rpm. Unit: rpm. Default: "7200 rpm"."""

    platter_diameter: Length
    """Diameter of the drive's platters; absent: the diameter for which the given powers hold. 0.001 m to 2 m. Unit: one
    of mm, cm, m, um, in."""

    reference_diameter: Length
    """Diameter for which the given powers hold; 3.7 in for the profiles of `modes`. 0.001 m to 2 m. Unit: one of mm,
    cm, m, um, in."""

    platters: int
    """Number of platters for which the given powers hold; absent: the drive's own number. 1 to 1024."""

    spin_up_time: LengthOfTime
    """Time from a command to ready, out of standby. 0 ms to 3600 s. Unit: one of s, ms, us, ns, min, h."""

    conditions: Condition
    """The low-power conditions of an idle drive: when they are entered, and what they take."""

    seek_energy: SeekEnergy
    """The energy of a seek by its distance."""


class PowerModes(RotationSpeedKeys, total=False):
    """Parameters of `modes`."""

    model: Literal["modes"]

    profile: Literal["main", "table-1", "raid-fitted"]
    """Named values, for the keys that are not given. `main`: The Barracuda ES, 34 W with four arms in motion, 13.0 W at
    work; `table-1`: 13.2 W and 34 W with motor and voice coils alone; `raid-fitted`: 34 W and the watts of section 7.3
    of the paper. Default: "main"."""

    spindle: Power
    """Power of the spindle motor of one stack. 0 W to 100000 W. Unit: one of W, mW."""

    electronics: Power
    """Power of the electronics while spinning. 0 W to 100000 W. Unit: one of W, mW."""

    voice_coil: Power
    """Added while an arm moves. 0 W to 100000 W. Unit: one of W, mW."""

    access: Power
    """Added while the drive waits for a sector or transfers. 0 W to 100000 W. Unit: one of W, mW."""

    per_extra_arm: Power
    """Added at all times for each arm assembly after the first. 0 W to 100000 W. Unit: one of W, mW."""

    standby: Power
    """Power when spun down. 0 W to 100000 W. Unit: one of W, mW."""

    idle_a: Power
    """Power when idle with part of the electronics off. 0 W to 100000 W. Unit: one of W, mW."""

    idle_b: Power
    """Power with heads unloaded as well. 0 W to 100000 W. Unit: one of W, mW."""

    idle_c: Power
    """Power at lower spindle speed as well. 0 W to 100000 W. Unit: one of W, mW."""

    sleep: Power
    """Power when spun down with only the link active. 0 W to 100000 W. Unit: one of W, mW."""

    spin_up: Power
    """Peak power while the spindle starts. 0 W to 100000 W. Unit: one of W, mW."""


class Point(TypedDict, total=False):
    """A row with the shares of time, or the rate, of the work that it was measured under."""

    current: Required[Sequence[float]]
    """Current in amperes. 0 to 10000. 2 entries."""

    seek: float
    """Share of time that the arm moves. 0 to 1. Default: 0.0."""

    rotation: float
    """Share of time that the drive waits for a sector. 0 to 1. Default: 0.0."""

    transfer: float
    """Share of time that the drive transfers. 0 to 1. Default: 0.0."""

    iops: float
    """Requests per second, instead of shares. 0.000000001 to 1000000000."""

    seek_time: LengthOfTime
    """Mean seek time per request at that rate. 0 ms to 3600 s. Unit: one of s, ms, us, ns, min, h."""

    rotation_time: LengthOfTime
    """Mean rotational latency per request at that rate. 0 ms to 3600 s. Unit: one of s, ms, us, ns, min, h."""

    transfer_time: LengthOfTime
    """Mean transfer time per request at that rate. 0 ms to 3600 s. Unit: one of s, ms, us, ns, min, h."""


class PowerRails(RotationSpeedKeys, total=False):
    """Parameters of `rails`."""

    model: Required[Literal["rails"]]

    idle: Required[Sequence[float]]
    """Current when idle, heads loaded. 0 to 10000. 2 entries."""

    random_read: Sequence[float]
    """Current for random reads; needed unless `points` separate seeks and transfers. 0 to 10000. 2 entries."""

    sequential_read: Sequence[float]
    """Current for sequential reads; needed unless `points` separate seeks and transfers. 0 to 10000. 2 entries."""

    random_write: Sequence[float]
    """Current for random writes; needed if `read_ratio` is below 1. 0 to 10000. 2 entries."""

    sequential_write: Sequence[float]
    """Current for sequential writes; needed if `read_ratio` is below 1. 0 to 10000. 2 entries."""

    points: Sequence[Point]
    """Further rows, with the work that they were measured under."""

    idle_a: Sequence[float]
    """Current when idle with part of the electronics off. 0 to 10000. 2 entries."""

    idle_b: Sequence[float]
    """Current with heads unloaded as well. 0 to 10000. 2 entries."""

    idle_c: Sequence[float]
    """Current at lower spindle speed as well. 0 to 10000. 2 entries."""

    standby: Required[Sequence[float]]
    """Current when spun down. 0 to 10000. 2 entries."""

    sleep: Sequence[float]
    """Current when spun down with only the link active. 0 to 10000. 2 entries."""

    spin_up: Sequence[float]
    """Peak current while the spindle starts. 0 to 10000. 2 entries."""

    read_ratio: float
    """Share of reads in the work for which power is wanted. 0 to 1. Default: 1.0."""

    seek_share: float
    """Share of time that random work spends moving the arm. 0 to 1. Default: 0.6."""

    transfer_share: float
    """Share of time that random work spends transferring. 0 to 1. Default: 0.01."""

    per_extra_arm: Power
    """Added at all times for each arm assembly beyond those of the measured drive. 0 W to 100000 W. Unit: one of W,
    mW."""

    measured_arms: int
    """Arm assemblies of the measured drive. 1 to 256. Default: 1."""


PowerModel: TypeAlias = PowerModes | PowerRails
"""One of these, by its key `model`."""
