"""Layers between requests and drives; written by `scripts/schema_types.py`, do not edit."""

from collections.abc import Sequence
from typing import Literal, Required, TypeAlias, TypedDict

from headstack.schema.models import BfqParameters, DeadlineParameters, MqDeadlineParameters, RangesParameters
from headstack.schema.quantities import DataRate, LengthOfTime, Rate, Size
from headstack.schema.words import ElevatorName, Layout, ReadPolicy


class OfKeys(TypedDict, total=False):
    """Keys that several tables have."""

    of: int
    """How many lower layers each layer of this entry takes; all if absent."""


class LayerIndependent(OfKeys, total=False):
    """No parameters."""

    name: Required[Literal["independent", "concatenate"]]


class StripeUnitKeys(TypedDict, total=False):
    """Keys that several tables have."""

    name: Required[Literal["raid0"]]

    stripe_unit: Size
    """Contiguous data per drive; a multiple of 512 B. Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB. Default:
    "65536 B"."""

    footprint: Size
    """How many bytes of the array are used, from its start; all if absent. Unit: one of B, kB, MB, GB, TB, KiB, MiB,
    GiB, TiB."""


class LayerRaid0(StripeUnitKeys, OfKeys, total=False):
    """Parameters of `raid0`."""


class ReadPolicyKeys(TypedDict, total=False):
    """Keys that several tables have."""

    name: Required[Literal["raid1"]]

    read_policy: ReadPolicy
    """Which copy a read takes. `first`: The first copy that can be read; `round-robin`: The copies in turn; `nearest`:
    The nearest head; of equal ones the first; `fewest-pending`: The fewest requests; of equal ones the first;
    `md-raid1`: The copy that continues the member's last read, or begins at its head; else the first idle member; else
    the nearest head; `md-raid10-near`: The first copy whose member is idle; else the nearest head; `md-raid10-far`: The
    lowest address on the member. Default: "md-raid1"."""


class RebuildAtOnceKeys(TypedDict, total=False):
    """Keys that several tables have."""

    rebuild_at_once: Size
    """Bytes of a member that are being rebuilt at once. 65536 B to 1073741824 B. Unit: one of B, kB, MB, GB, TB, KiB,
    MiB, GiB, TiB. Default: "2031616 B"."""


class RebuildRateKeys(TypedDict, total=False):
    """Keys that several tables have."""

    rebuild_rate: DataRate
    """Rate at which stale data are rebuilt, as a mean over seconds; not at all if absent. Unit: one of B/s, kB/s, MB/s,
    GB/s, KiB/s, MiB/s, Mb/s, Gb/s."""

    rebuild_rate_min: DataRate
    """Rate up to which the rebuild does not give way to requests; `rebuild_rate` if absent. Unit: one of B/s, kB/s,
    MB/s, GB/s, KiB/s, MiB/s, Mb/s, Gb/s."""

    rebuild_request: Size
    """Longest request of the rebuild. 65536 B to 1073741824 B. Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB.
    Default: "1040384 B"."""

    rebuild_host_time: LengthOfTime
    """Time that the host needs for each 4 KiB of a member being rebuilt, once between the reads and the write, and once
    after the write. 0 ms to 1 ms. Unit: one of s, ms, us, ns, min, h. Default: "0 ms"."""

    gone: Sequence[int]
    """Members that are missing from the beginning."""


class LayerRaid1(ReadPolicyKeys, RebuildAtOnceKeys, RebuildRateKeys, OfKeys, total=False):
    """Parameters of `raid1`."""


class NearKeys(TypedDict, total=False):
    """Keys that several tables have."""

    name: Required[Literal["raid10"]]

    near: int
    """Copies in a set; `near` times `far` copies in all. Default: 2."""

    far: int
    """Number of sets. Default: 1."""

    offset: bool
    """Whether the rows of the sets alternate. Default: false."""

    chunk: Size
    """Contiguous data per member. Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB. Default: "524288 B"."""

    read_policy: ReadPolicy
    """Which copy a read takes; if absent `md-raid10-near`, or `md-raid10-far` where `far` is above 1 and not `offset`.
    `first`: The first copy that can be read; `round-robin`: The copies in turn; `nearest`: The nearest head; of equal
    ones the first; `fewest-pending`: The fewest requests; of equal ones the first; `md-raid1`: The copy that continues
    the member's last read, or begins at its head; else the first idle member; else the nearest head; `md-raid10-near`:
    The first copy whose member is idle; else the nearest head; `md-raid10-far`: The lowest address on the member."""


class LayerRaid10(RebuildAtOnceKeys, RebuildRateKeys, NearKeys, OfKeys, total=False):
    """Parameters of `raid10`."""


class LayoutKeys(TypedDict, total=False):
    """Keys that several tables have."""

    name: Required[Literal["raid5"]]

    layout: Layout
    """Where the parity of each stripe lies, and where its data begin. `left-asymmetric`: Parity moves to the left; data
    begin at the first member; `right-asymmetric`: Parity moves to the right; data begin at the first member;
    `left-symmetric`: Parity moves to the left; data begin behind the parity; `right-symmetric`: Parity moves to the
    right; data begin behind the parity. Default: "left-symmetric"."""

    chunk: Size
    """Contiguous data per member, a multiple of `unit`. Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB. Default:
    "524288 B"."""

    unit: Size
    """Parity is computed for blocks of this size. Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB. Default: "4096
    B"."""

    rmw_level: int
    """When a small write reads old data and parity: 0 never, 1 if that reads less, 2 if it does not read more. 0 to 2.
    Default: 1."""

    stripe_cache: bool
    """Whether writes of the same rows join, and what was read or written is not read again, as in md. Default: true."""

    rebuild_at_once: Size
    """Bytes of a member that are being rebuilt at once. 65536 B to 1073741824 B. Unit: one of B, kB, MB, GB, TB, KiB,
    MiB, GiB, TiB. Default: "1048576 B"."""

    rebuild_grows_to: Size
    """What `rebuild_at_once` grows to, by one `unit` each time that all of it is used; if absent it does not grow.
    65536 B to 1073741824 B. Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB."""


class LayerRaid5(RebuildRateKeys, LayoutKeys, OfKeys, total=False):
    """Parameters of `raid5`."""


class LayerHostQueue(OfKeys, total=False):
    """The table of a host queue."""

    name: Required[Literal["host-queue"]]

    elevator: ElevatorName
    """The order in which requests are dispatched. Default: "mq-deadline"."""

    elevator_parameters: DeadlineParameters | MqDeadlineParameters | RangesParameters | BfqParameters
    """Parameters of the elevator."""

    places: Literal["legacy", "blk-mq"]
    """How places are counted; if absent `legacy` for `deadline`, else `blk-mq`. `legacy`: Sync and async requests have
    separate pools, with batchers; `blk-mq`: One pool."""

    nr_requests: int
    """Places; requests at the lower layer hold theirs. If absent, 128 for `legacy`, and for `blk-mq` twice the depth,
    at most 256 (with `none` the depth). 4 to 65536."""

    depth: int
    """Requests at the lower layer at once. 1 to 65536. Default: 32."""

    wake_time: LengthOfTime
    """Time from the moment when a process is woken until it submits again. 0 ms to 1 s. Unit: one of s, ms, us, ns,
    min, h. Default: "50 us"."""

    retake: float
    """With `blk-mq`: the share of the places promised to a woken process that one which comes earlier takes; 0: the
    place is kept. 0 to 1. Default: 0.3."""

    completion_time: LengthOfTime
    """Time from the end of a request at the device until the host notices it. 0 ms to 1 s. Unit: one of s, ms, us, ns,
    min, h. Default: "0 ms"."""

    sync_writes: bool
    """Plain writes count as sync, as with direct input and output. Default: false."""

    merge: bool
    """Whether requests are merged at all. Default: true."""

    front_merges: bool
    """Whether requests are also merged in front of waiting ones. Default: true."""

    max_request: Size
    """Longest merged request; if absent 512 KiB for `legacy`, 1280 KiB for `blk-mq`. 4096 B to 1073741824 B. Unit: one
    of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB."""

    max_segments: int
    """Most submitted requests in a merged one. 1 to 65536. Default: 128."""


class LayerLink(OfKeys, total=False):
    """Parameters of `link`."""

    name: Required[Literal["link"]]

    bandwidth: Required[DataRate]
    """Bandwidth in each direction. 512 B/s to 1000000000000000 B/s. Unit: one of B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s,
    Mb/s, Gb/s."""

    duplex: Literal["full", "half"]
    """Whether both directions can be used at once. `full`: Reads and writes cross at the same time; `half`: One
    transfer at a time. Default: "full"."""

    frame: Size
    """Data in a frame. 1 B to 18446744073709551615 B. Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB. Default:
    "2048 B"."""

    frame_overhead: Size
    """Bytes that a frame has besides, at most as many as its data. Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB.
    Default: "0 B"."""


class LayerThrottle(OfKeys, total=False):
    """Parameters of `throttle`."""

    name: Required[Literal["throttle"]]

    iops: Rate
    """Requests per second; no limit if absent. Unit: one of /s, /min, /h, iops."""

    bandwidth: DataRate
    """Bytes per second, instead of `iops`. Unit: one of B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, Mb/s, Gb/s."""


class Slow(TypedDict, total=False):
    """Requests that are late, from the beginning."""

    ratio: Required[float]
    """The share; 0 ends it. 0 to 1."""

    by: LengthOfTime
    """How much later they end. 0 ms to 3162240000 s. Unit: one of s, ms, us, ns, min, h. Default: "0 ms"."""

    lasts: LengthOfTime
    """For how long; until the next change if absent. 0 ms to 3162240000 s. Unit: one of s, ms, us, ns, min, h."""


class UnitKeys(TypedDict, total=False):
    """Keys that several tables have."""

    unit: int
    """Unit of the layer. Default: 0."""

    block: Required[int]
    """First 512-byte block."""

    blocks: int
    """Number of 512-byte blocks. Default: 1."""


class Bad(UnitKeys, total=False):
    """Blocks that are bad, or good again."""

    fails: Literal["reads", "writes", "all", "none"]
    """Which requests fail there. `reads`: Reads, until the block is written; `writes`: Writes; `all`: All; `none`:
    None: the block is good again. Default: "reads"."""


class LayerFault(OfKeys, total=False):
    """Parameters of `fault`."""

    name: Required[Literal["fault"]]

    seed: int
    """Chooses the requests that are slow. Default: 0."""

    slow: Slow
    """Requests that are late, from the beginning."""

    bad: Sequence[Bad]
    """Blocks that are bad from the beginning."""


Layer: TypeAlias = (
    LayerIndependent
    | LayerRaid0
    | LayerRaid1
    | LayerRaid10
    | LayerRaid5
    | LayerHostQueue
    | LayerLink
    | LayerThrottle
    | LayerFault
)
"""One of these, by its key `name`."""
