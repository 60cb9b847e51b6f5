"""Parameters of models that a key names; written by `scripts/schema_types.py`, do not edit."""

from collections.abc import Sequence
from typing import Literal, Required, TypedDict

from headstack.schema.quantities import LengthOfTime, Power, Size
from headstack.schema.words import Wait


class BlkparseParameters(TypedDict, total=False):
    """Parameters of this format and of `blktrace`."""

    action: Literal["queue", "issue", "complete"]
    """The event that is read as the request. `queue`: `Q`: it entered the block layer; `issue`: `D`: it was sent to the
    driver; `complete`: `C`: it was completed. Default: "queue"."""


class FioIologParameters(TypedDict, total=False):
    """Parameters of `fio-iolog`."""

    wait: Wait
    """What a wait in a log of version 2 means. `milliseconds-since-start`: Milliseconds since the start, as in fio's
    code; `microseconds-since-wait`: Microseconds, those under 100 left out, as in fio's manual. Default:
    "milliseconds-since-start"."""


class OracleGeneralParameters(TypedDict, total=False):
    """Parameters of `oracle-general`."""

    spread_seconds: bool
    """Whether requests with equal times are spread evenly over the second. Default: false."""


class ThesiosParameters(TypedDict, total=False):
    """Parameters of `thesios`."""

    file_extent: Size
    """The disk space of each file. Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB. Default: "67108864 B"."""


class VscanParameters(TypedDict, total=False):
    """Parameters of `vscan`."""

    r: float
    """Penalty for changing direction, as a share of the stroke: 0 is SSTF, 1 is SCAN. 0 to 1. Default: 0.2."""


class SatfParameters(TypedDict, total=False):
    """Parameters of `satf`."""

    cache_aware: bool
    """Whether commands that the buffer can serve count as free. Default: true."""


class AgedSptfParameters(TypedDict, total=False):
    """Parameters of `aged-sptf`."""

    weight: float
    """How much positioning time a unit of waiting time outweighs; no unit. 0 to 1000000000000000. Default: 0.006."""

    estimate_deviation: LengthOfTime
    """Standard deviation of the error of estimated positioning times; 0: none. 0 ms to 1 s. Unit: one of s, ms, us, ns,
    min, h. Default: "0 ms"."""


class DepthAgedSptfParameters(TypedDict, total=False):
    """Parameters of `depth-aged-sptf`."""

    ageing: float
    """How much positioning time a unit of waiting time outweighs, times the number of commands in the queue; no unit. 0
    to 1000000. Default: 1.3."""

    cache_aware: bool
    """Whether commands that the buffer can serve go first. Default: true."""

    ageing_beside_limits: float
    """`ageing` while commands with limits or priorities wait, up to 8 commands in all. 0 to 1000000. Default: 1.3."""

    falls_with_depth: float
    """By which power of the number of commands that ageing falls above 8. 0 to 1. Default: 0.4."""

    slack_ageing: float
    """As `ageing`, for the time that a command with a limit has until it is urgent: it makes the command wait. 0 to
    1000000. Default: 0.25."""

    urgent_after: float
    """After which share of its target a command with a limit is urgent at the earliest. 0 to 1. Default: 0.3."""

    urgent_before: LengthOfTime
    """How long before the end of its target it is urgent. 0 ms to 10 s. Unit: one of s, ms, us, ns, min, h. Default:
    "35 ms"."""

    detour_late: LengthOfTime
    """Up to how long after its target others are served on the way to it. 0 ms to 10 s. Unit: one of s, ms, us, ns,
    min, h. Default: "5 ms"."""


class DeadlineSptfParameters(TypedDict, total=False):
    """Parameters of `deadline-sptf`."""

    ageing: float
    """How much positioning time a unit of waiting time outweighs, times the number of commands in the queue; no unit. 0
    to 1000000. Default: 1.3."""

    cache_aware: bool
    """Whether commands that the buffer can serve go first. Default: true."""

    ageing_beside_limits: float
    """`ageing` while commands with limits or priorities wait. 0 to 1000000. Default: 0.7."""

    urgent_after: float
    """After which share of its target a command with a limit goes first. 0 to 1. Default: 0.5."""

    head_start: LengthOfTime
    """How much farther than the command whose turn it is a command with a limit may be, to go first before it is
    urgent. 0 ms to 1 s. Unit: one of s, ms, us, ns, min, h. Default: "6 ms"."""


class EagerParameters(TypedDict, total=False):
    """Parameters of `eager`."""

    ties: Literal["nearest", "any"]
    """Which of several slots is taken if they pass at the same time. `nearest`: The slot in the nearest cylinder; of
    two equally near ones, in the lower one; `any`: The slot at one of these distances, drawn with equal probability; of
    two cylinders at this distance, the lower one. So the written area grows into new cylinders only where the old ones
    have no such slot. Default: "nearest"."""


class ReadExpireKeys(TypedDict, total=False):
    """Keys that several tables have."""

    read_expire: LengthOfTime
    """Deadline of a read, counted from its arrival. 0 ms to 4611686018427.388 ms. Unit: one of s, ms, us, ns, min, h.
    Default: "500 ms"."""

    write_expire: LengthOfTime
    """Deadline of a write, counted from its arrival. 0 ms to 4611686018427.388 ms. Unit: one of s, ms, us, ns, min, h.
    Default: "5 s"."""

    fifo_batch: int
    """Requests of one batch. Default: 16."""

    writes_starved: int
    """Batches of reads before one of writes. Default: 2."""


class DeadlineParameters(ReadExpireKeys, total=False):
    """Parameters of `deadline`."""


class MqDeadlineParameters(ReadExpireKeys, total=False):
    """Parameters of `mq-deadline`."""

    in_advance: bool
    """Whether the next request of a batch is known when the one before is taken, as in Linux 5.14 to 6.4. Default:
    false."""


class RangesParameters(ReadExpireKeys, total=False):
    """Parameters of `ranges`."""

    ranges: int
    """How many ranges, of equal size. 1 to 8. Default: 2."""

    load: int
    """Requests at the drive that keep an actuator busy. Default: 4."""


class BfqParameters(TypedDict, total=False):
    """The parameters, as in `/sys/block/DEVICE/queue/iosched`."""

    slice_idle: LengthOfTime
    """How long the drive is kept idle for a process; 0: never. 0 ms to 1 s. Unit: one of s, ms, us, ns, min, h.
    Default: "8 ms"."""

    max_budget: int
    """Most sectors in a turn; 0: what the drive transfers in `timeout_sync` at the rate that is measured. 0 to
    2147483648. Default: 0."""

    timeout_sync: LengthOfTime
    """Longest turn of a process. 1 ms to 60 s. Unit: one of s, ms, us, ns, min, h. Default: "125 ms"."""

    fifo_expire_sync: LengthOfTime
    """After this time a read or a synchronous write is late. 0 ms to 4611686018427.388 ms. Unit: one of s, ms, us, ns,
    min, h. Default: "125 ms"."""

    fifo_expire_async: LengthOfTime
    """After this time an asynchronous write is late. 0 ms to 4611686018427.388 ms. Unit: one of s, ms, us, ns, min, h.
    Default: "250 ms"."""

    back_seek_max: Size
    """Farthest request behind the last one that is served before those far ahead. Unit: one of B, kB, MB, GB, TB, KiB,
    MiB, GiB, TiB. Default: "16777216 B"."""

    back_seek_penalty: int
    """How many times a distance backwards counts. 1 to 1000. Default: 2."""

    strict_guarantees: bool
    """One request at the drive at a time, and always idling. Default: false."""

    low_latency: bool
    """Processes that start, or ask for little at regular times, get more weight. Default: true."""


class Map(TypedDict, total=False):
    """A point in the form of the parameter."""

    nr_requests: Required[int]
    """Places of the host's queue."""

    queue_depth: Required[int]
    """Depth of the drive's queue."""

    read_expire: LengthOfTime
    """Time from a read's arrival to its deadline; left out, the drive's own. Unit: one of s, ms, us, ns, min, h."""

    arms: int
    """Arms in motion. Default: 1."""

    power: Required[Power]
    """Power: more than 0 W, at most 1000 W. Unit: one of W, mW."""

    iops: Required[float]
    """Requests per second: more than 0, at most a million."""

    response_time: LengthOfTime
    """Response time from admission; left out, by Little's law. Unit: one of s, ms, us, ns, min, h."""


class PeriodKeys(TypedDict, total=False):
    """Keys that several tables have."""

    period: LengthOfTime
    """Time between two decisions. 10 ms to 3600 s. Unit: one of s, ms, us, ns, min, h. Default: "5 s"."""


class StaleAfterKeys(TypedDict, total=False):
    """Keys that several tables have."""

    stale_after: LengthOfTime
    """Readings older than this do not count; left out, the period. 10 ms to 3600 s. Unit: one of s, ms, us, ns, min,
    h."""

    lost_after: LengthOfTime
    """Time without a valid reading after which the meter counts as lost, from the period to an hour; left out, three
    periods. Unit: one of s, ms, us, ns, min, h."""

    most_power: Power
    """Readings above this do not count; left out, 100 W for each drive. 0.1 W to 1000000 W. Unit: one of W, mW."""

    on_loss: Literal["lowest", "open"]
    """The setting while the meter is lost. `lowest`: The setting with the lowest power: the cap is kept in any case, at
    the cost of speed; `open`: The setting without power capping: full speed; the cap must be kept by other means.
    Default: "lowest"."""


class ToleranceKeys(TypedDict, total=False):
    """Keys that several tables have."""

    tolerance: Power
    """Differences from the cap up to this change nothing; left out, 0.2 W for one drive, 1 W for several. 0 W to 1000
    W. Unit: one of W, mW."""

    settle: LengthOfTime
    """Time after a change in which readings do not count, up to the period; left out, 2 s, or half the period. Unit:
    one of s, ms, us, ns, min, h."""

    efficiency: float
    """Efficiency of the power supply between the meter and the drives; left out, 1 for one drive, 0.83 for several. 0.1
    to 1."""

    map: Sequence[Map]
    """Power and throughput of one drive under each setting; left out, those of an Ultrastar 7K4000."""

    maps: Sequence[Sequence[Map]]
    """Maps of several models of drives, in place of `map`; an empty one for the built-in one."""

    models: Sequence[int]
    """For each tier the place of its map in `maps`, from 0. 0 to 31."""


class FeedForwardParameters(PeriodKeys, StaleAfterKeys, ToleranceKeys, total=False):
    """Parameters of `feed-forward`."""

    margin_ratio: float
    """How far below the cap the policy aims, as a part of the tolerance; below zero it aims above. -1 to 1. Default:
    0.25."""

    latency_target: LengthOfTime
    """Response time that the chosen setting should not exceed. 1 ms to 3600 s. Unit: one of s, ms, us, ns, min, h."""

    latency_limit: LengthOfTime
    """Response time that no setting may exceed, from `latency_target` to an hour; it has precedence over the cap. Unit:
    one of s, ms, us, ns, min, h."""

    response_time: Literal["mean", "p99"]
    """The statistic of response times that target, limit and samples mean. `mean`: The mean; `p99`: The 99th
    percentile. Default: "mean"."""

    learn: Literal["on", "off"]
    """Whether the map is corrected with measurements. `on`: It is; `off`: It is not. Default: "on"."""

    forget_after: LengthOfTime
    """Time constant with which corrections of the map decay, from the period to 1000 h; left out, 1800 s, or the
    period. Unit: one of s, ms, us, ns, min, h."""

    tiers: Sequence[int]
    """Numbers of drives in each tier, best tier first; left out, all in one. 1 to 10000."""


class LearningParameters(PeriodKeys, StaleAfterKeys, ToleranceKeys, total=False):
    """Parameters of `learning`."""

    margin_ratio: float
    """How far below the cap the policy aims, as a part of the tolerance. 0 to 1. Default: 0.25."""

    explore_after: LengthOfTime
    """Time after a wrong guess until a faster setting is guessed again; twice as long each time. 1 s to 3600000 s.
    Unit: one of s, ms, us, ns, min, h. Default: "60 s"."""

    limit_after: LengthOfTime
    """Time above the cap with no setting left after which the rate is limited. 1 s to 3600000 s. Unit: one of s, ms,
    us, ns, min, h. Default: "30 s"."""

    tries: int
    """Settings that are tried one after another to find one with less power. 1 to 100. Default: 6."""

    share: Literal["strict", "weight", "marginal"]
    """How tiers share the budget. `strict`: The last tier loses first; `weight`: Watts by weight; `marginal`: By
    requests per second and watt. Default: "strict"."""

    forget_after: LengthOfTime
    """Age at which a measurement counts no more. 1 s to 3600000 s. Unit: one of s, ms, us, ns, min, h. Default: "1800
    s"."""

    tiers: Sequence[int]
    """Numbers of drives in each tier, best tier first; left out, all in one. 1 to 10000."""

    weights: Sequence[float]
    """Weight of each tier: of its watts with `share = "weight"`, of its requests with "marginal". 0.000000001 to
    1000000000."""

    tier_caps_w: Sequence[float]
    """The most watts of each tier, as the meter would show them. 0.000000001 to 1000000000."""


class StartNrRequestsKeys(TypedDict, total=False):
    """Keys that several tables have."""

    start_nr_requests: int
    """Places of the host's queue without a cap; left out, its least, in throughput mode its most."""

    start_queue_depth: int
    """Depth of the drive's queue without a cap; left out, its least, in throughput mode its most."""

    raise_factor: float
    """Gain when power may rise. 0.01 to 1000. Default: 2.0."""

    lower_factor: float
    """Gain when power must fall. 0.01 to 1000. Default: 8.0."""

    host_queue_power: Power
    """The most by which the host's queue changes the power. 0.01 W to 1000 W. Unit: one of W, mW. Default: "2 W"."""

    drive_queue_power: Power
    """The most by which the drive's queue changes the power. 0.01 W to 1000 W. Unit: one of W, mW. Default: "2 W"."""

    rounding: Literal["down", "nearest", "up"]
    """What is done with the fraction of a step. `down`: Truncated, as by Python's `int`; `nearest`: Rounded to the
    nearest integer; `up`: Rounded; `up`: the smallest error makes a step. Default: "down"."""


class PcapAgileParameters(PeriodKeys, StaleAfterKeys, StartNrRequestsKeys, total=False):
    """Parameters of `pcap-agile`."""

    tolerance: Power
    """Differences from the cap up to this change nothing. 0 W to 1000 W. Unit: one of W, mW. Default: "0.2 W"."""

    mode: Literal["tail-latency", "throughput"]
    """Which sizes of the queues are used: short ones for tail latency, or long ones for throughput. `tail-latency`:
    Short queues; `throughput`: Long queues. Default: "tail-latency"."""

    nr_requests: Sequence[int]
    """Least and most places of the host's queue; left out, [4, 32] as far as the drive accepts them. 2 entries."""

    queue_depth: Sequence[int]
    """Least and most depth of the drive's queue; left out, [1, 8] as far as the drive accepts them. 2 entries."""

    throughput_nr_requests: int
    """Places of the host's queue for the highest throughput, with `mode = "throughput"`; left out, 128."""

    throughput_queue_depth: int
    """Depth of the drive's queue for the highest throughput, with `mode = "throughput"`; left out, 32."""

    snap_back: Literal["drive", "both", "never"]
    """Which queues return to their upper bounds at once when power must fall, with `mode = "throughput"`; left out,
    `drive`. `drive`: The drive queue alone returns to its upper bound: the host queue lowers power by being long;
    `both`: Both queues return to their upper bounds, as the sentence says; `never`: The drive queue shrinks step by
    step from its size for the highest throughput."""


class PcapBaseParameters(PeriodKeys, StaleAfterKeys, StartNrRequestsKeys, total=False):
    """Parameters of `pcap-base`."""

    tolerance: Power
    """Differences from the cap up to this change nothing. 0 W to 1000 W. Unit: one of W, mW. Default: "0.2 W"."""


class PcapSParameters(StaleAfterKeys, StartNrRequestsKeys, total=False):
    """Parameters of `pcap-s`."""

    period: LengthOfTime
    """Time between two decisions. 10 ms to 3600 s. Unit: one of s, ms, us, ns, min, h. Default: "10 s"."""

    tolerance: Power
    """Differences from the cap up to this change nothing. 0 W to 1000 W. Unit: one of W, mW. Default: "1 W"."""

    efficiency: float
    """Efficiency of the power supply between the meter and the drives. 0.1 to 1. Default: 0.83."""

    tiers: Sequence[int]
    """Numbers of drives in each tier, best tier first; left out, all in one. 1 to 10000."""

    share: Literal["strict", "weight"]
    """How the drives behind one meter share an error. `strict`: One tier makes the whole change; `weight`: All drives
    that can change take part, by weight. Default: "strict"."""

    weights: Sequence[float]
    """Weight of each tier, with `share = "weight"`. 0.000000001 to 1000000000."""

    rest: Literal["own", "unload", "standby"]
    """What a capped drive does while it has no work. `own`: Only what the drive's own timers say; `unload`: It unloads
    its heads; `standby`: It spins down. Default: "own"."""

    rest_after: LengthOfTime
    """Time without requests after which a capped drive rests, with `rest`; left out, 10 s to unload, 60 s to spin down.
    100 ms to 86400 s. Unit: one of s, ms, us, ns, min, h."""

    nr_requests: Sequence[int]
    """Least and most places of the host's queue; left out, [4, 32] as far as the drive accepts them. 2 entries."""

    queue_depth: Sequence[int]
    """Least and most depth of the drive's queue; left out, [1, 8] as far as the drive accepts them. 2 entries."""


class ThrottleParameters(TypedDict, total=False):
    """Parameters of `throttle`."""

    limit: Literal["iops", "bandwidth"]
    """What the limit counts: requests or bytes per second. `iops`: Requests per second; `bandwidth`: Bytes per second.
    Default: "iops"."""

    base: Power
    """Power at a rate of zero. 0 W to 1000 W. Unit: one of W, mW. Default: "7.1 W"."""

    watts_per_iops: float
    """Power that one more request per second takes, in watts, with `limit = "iops"`; left out, 0.045. 0.000001 to
    1000."""

    watts_per_megabyte_per_s: float
    """Power that 10^6 bytes per second more take, in watts, with `limit = "bandwidth"`; left out, 0.9 W for 171.
    0.000001 to 1000."""

    unlimited_from: Power
    """Caps from this on set no limit; left out, 9.5 W, for bytes 8 W. 0 W to 1000 W. Unit: one of W, mW."""

    least_iops: float
    """The lowest limit, in requests per second, with `limit = "iops"`; left out, 1. 0.001 to 1000000."""

    least_megabytes_per_s: float
    """The lowest limit, in 10^6 bytes per second, with `limit = "bandwidth"`; left out, 1. 0.001 to 1000000."""
