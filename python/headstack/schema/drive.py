"""Drives; written by `scripts/schema_types.py`, do not edit."""

from collections.abc import Mapping, Sequence
from typing import Literal, Required, TypeAlias, TypedDict

from headstack.schema.geometry import Geometry
from headstack.schema.mapping import MappingModel
from headstack.schema.models import (
    AgedSptfParameters,
    DeadlineSptfParameters,
    DepthAgedSptfParameters,
    SatfParameters,
    VscanParameters,
)
from headstack.schema.parallelism import Parallelism
from headstack.schema.power import PowerModel
from headstack.schema.quantities import DataRate, LengthOfTime, Size
from headstack.schema.seek import Seek
from headstack.schema.words import InactivePolicy, ReadAhead, SchedulerName


class Positioning(TypedDict, total=False):
    """Head switches and settling."""

    head_switch: LengthOfTime
    """Time to switch to another head of the same cylinder. 0 ms to 1 s. Unit: one of s, ms, us, ns, min, h. Default: "0
    ms"."""

    write_settle: LengthOfTime
    """Added to every seek or head switch before a write; may be negative. -1 s to 1 s. Unit: one of s, ms, us, ns, min,
    h. Default: "0 ms"."""

    settle_after_head_switch: bool
    """Whether `write_settle` is also added to head switches within a cylinder, as in DiskSim, or to seeks only.
    Default: true."""

    settle_before_every_write: bool
    """Whether `write_settle` is added before every write, also without a movement. Default: false."""

    minimum_write: LengthOfTime
    """Lower bound of the seek time before a write. 0 ms to 1 s. Unit: one of s, ms, us, ns, min, h. Default: "0 ms"."""

    minimum_read_after_read: LengthOfTime
    """Lower bound of the positioning time of a read miss after a read. 0 ms to 1 s. Unit: one of s, ms, us, ns, min, h.
    Default: "0 ms"."""

    minimum_read_after_write: LengthOfTime
    """Lower bound of the positioning time of a read miss after a write. 0 ms to 1 s. Unit: one of s, ms, us, ns, min,
    h. Default: "0 ms"."""

    seek_constant: LengthOfTime
    """Added to every seek of one cylinder or more; may be negative. -1 s to 1 s. Unit: one of s, ms, us, ns, min, h.
    Default: "0 ms"."""

    seek_scale: float
    """Factor on every seek and head switch. 1/2, 1/4 and 0 give the limit study of the intra-disk parallelism paper. 0
    to 4. Default: 1.0."""

    rotation_scale: float
    """Factor on every rotational latency, both predicted and actual. 0 to 4. Default: 1.0."""


class MediaScan(TypedDict, total=False):
    """A scan of the whole medium during foreground work."""

    mode: Literal["none", "freeblock", "own-arm"]
    """Whether the medium is scanned, and how. `none`: Not at all; `freeblock`: In the rotational waits of foreground
    accesses (freeblock scheduling); `own-arm`: With the last arm assembly, which then serves no commands. Default:
    "none"."""

    block: Size
    """Size of a block of the scan; at most 2^32 blocks. 512 B to 1073741824 B. Unit: one of B, kB, MB, GB, TB, KiB,
    MiB, GiB, TiB. Default: "16384 B"."""


class Cache(TypedDict, total=False):
    """Buffer segments, read-ahead and write policy."""

    enabled: bool
    """Whether the buffer keeps data for later requests. Default: false."""

    segments: int
    """Number of segments, each a contiguous range of addresses. 1 or more if `enabled`. 0 to 65536. Default: 1."""

    segment_sectors: int
    """Physical sectors per segment. 1 or more if `enabled`. 0 to 16777216. Default: 256."""

    write_segments: int
    """How many segments may hold data that are not yet on the medium. 1 or more with `write_back`. 0 to 65536. Default:
    1."""

    separate_write_segment: bool
    """Whether segment 0 is for writes only and never serves reads. Default: false."""

    hit_check: Literal["service", "arrival"]
    """When reads are checked for hits. `service`: When the scheduler has chosen the request; `arrival`: Also on;
    `arrival`: a complete hit then never waits for the mechanism. Default: "service"."""

    read_ahead: ReadAhead
    """How far the drive reads ahead. `none`: Not at all; `track-end`: To the end of the track; `cylinder-end`: To the
    end of the cylinder; `limit`: Until `read_ahead_sectors` are read or the segment is full; `next-track`: To the end
    of the track of the next sector, and one track more if the segment's data begin on an earlier track. Default:
    "none"."""

    read_ahead_trigger: Literal["always", "sequential"]
    """Which reads start read-ahead. `always`: Every read; `sequential`: Reads that start where the previous request
    ended, if that was a read; and hits. Default: "always"."""

    read_ahead_sectors: int
    """Read-ahead ends this many sectors after the request; 0: limited by the segment only. 0 to 16777216. Default:
    0."""

    read_ahead_minimum: int
    """Number of sectors before which read-ahead cannot be interrupted. 0 to 16777216. Default: 0."""

    read_ahead_on_idle_hit: bool
    """Whether a complete hit starts read-ahead, if the segment is not being read ahead. Default: false."""

    discard_requested: bool
    """Whether requested sectors are dropped once sent; sectors read ahead are kept. Default: false."""

    keep_passing_sectors: bool
    """Whether sectors of the target track that pass before the first wanted one are kept. Default: false."""

    keep_whole_track: bool
    """Whether the whole track is kept one turn after a read, within the size of the segment. Default: false."""

    read_on_arrival: bool
    """Whether reads take each sector of a track at its first pass (zero latency, read on arrival). Default: false."""

    write_on_arrival: bool
    """The same for writes. Default: false."""

    stop_read_ahead_in_sector: bool
    """Whether an arriving request stops read-ahead inside a sector, instead of at its end. Default: false."""

    almost_hits: bool
    """Whether a read of the sector that is being read ahead is a partial hit. Default: false."""

    write_back: bool
    """Whether a write completes when its data are in the buffer (write-back) instead of on the medium. Default:
    false."""

    read_hits_on_written: bool
    """Whether written data stay readable in the buffer after they are on the medium. Default: true."""

    append_writes: bool
    """Whether a write that continues the unwritten data is appended to their segment. Default: false."""

    destage: Literal["immediate", "idle"]
    """When unwritten data go to the medium. `immediate`: While they arrive: the command completes and its data are
    written to the medium. The next write waits for that, unless it continues the first; `idle`: Later: data wait, up to
    `dirty_limit`. They are written in the order of addresses when no command has used the mechanism for
    `destage_after`, or when the limit is reached. Default: "immediate"."""

    destage_after: LengthOfTime
    """With `destage = "idle"`: how long the drive must be idle first. 0 ms to 86400 s. Unit: one of s, ms, us, ns, min,
    h. Default: "0 ms"."""

    destage_age: LengthOfTime
    """With `destage = "idle"`: data older than this are written even if commands wait; 0: never. 0 ms to 86400 s. Unit:
    one of s, ms, us, ns, min, h. Default: "30 s"."""

    dirty_limit: Size
    """With `destage = "idle"`: most unwritten data in the buffer, from one sector to the whole buffer. If absent,
    `write_segments` segments. Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB."""

    destage_window: int
    """With `destage = "idle"`: number of extents ahead, of which the one with the shortest positioning time is written
    next. 1 to 1024. Default: 16."""

    partial_wait: LengthOfTime
    """With `destage = "idle"`: how long a sector of which only a part was written waits for the rest, before it is
    read, modified and written. 0 ms to 86400 s. Unit: one of s, ms, us, ns, min, h. Default: "1 s"."""

    read_watermark: float
    """Share of the request (or segment) that must be in the buffer before the link is reselected for a read miss. 0 to
    1. Default: 0.0."""

    watermark_of_request: bool
    """Whether watermarks are shares of min(request, segment) instead of the segment. Default: true."""


class ReadHit(TypedDict, total=False):
    """Before the first byte of a read hit goes to the link."""

    after_read: LengthOfTime
    """After a read. 0 ms to 10 s. Unit: one of s, ms, us, ns, min, h. Default: "0 ms"."""

    after_write: LengthOfTime
    """After a write. 0 ms to 10 s. Unit: one of s, ms, us, ns, min, h. Default: "0 ms"."""


class ExtraWriteDisconnect(TypedDict, total=False):
    """A second disconnection of writes that follow a write to another place (HP C2247A)."""

    command: LengthOfTime
    """Command overhead instead of the write's own. 0 ms to 10 s. Unit: one of s, ms, us, ns, min, h. Default: "0
    ms"."""

    disconnect: LengthOfTime
    """First disconnection. 0 ms to 10 s. Unit: one of s, ms, us, ns, min, h. Default: "0 ms"."""

    pause: LengthOfTime
    """Pause until reselection. 0 ms to 10 s. Unit: one of s, ms, us, ns, min, h. Default: "0 ms"."""

    second_disconnect: LengthOfTime
    """Second disconnection. 0 ms to 10 s. Unit: one of s, ms, us, ns, min, h. Default: "0 ms"."""

    seek_delay: LengthOfTime
    """Time from the end of the command overhead to the earliest start of the arm. 0 ms to 10 s. Unit: one of s, ms, us,
    ns, min, h. Default: "0 ms"."""

    buffered_sectors: int
    """Number of sectors that must have arrived before the medium is written (0: none). 0 to 16777216. Default: 0."""

    long_request_sectors: int
    """Requests of at least this many sectors wait for `buffered_sectors_long` instead. 0 to 16777216. Default: 0."""

    buffered_sectors_long: int
    """Number of sectors that must have arrived for such long requests. 0 to 16777216. Default: 0."""


class Overhead(TypedDict, total=False):
    """Processing time of commands, besides mechanics and link."""

    per_request: LengthOfTime
    """Added to the arrival of every request. 0 ms to 10 s. Unit: one of s, ms, us, ns, min, h. Default: "0 ms"."""

    read_hit: ReadHit
    """Before the first byte of a read hit goes to the link. Default: {"after_read": "0 ms", "after_write": "0 ms"}."""

    read_miss: ReadHit
    """Before the arm may start to move for a read miss. Default: {"after_read": "0 ms", "after_write": "0 ms"}."""

    write_hit: ReadHit
    """Before link and arm start for a write that completes in the buffer. Default: {"after_read": "0 ms",
    "after_write": "0 ms"}."""

    write_miss: ReadHit
    """Before link and arm start for a write that completes on the medium. Default: {"after_read": "0 ms",
    "after_write": "0 ms"}."""

    read_completion: LengthOfTime
    """After the last data of a read. 0 ms to 10 s. Unit: one of s, ms, us, ns, min, h. Default: "0 ms"."""

    write_completion: LengthOfTime
    """After the last data of a write. 0 ms to 10 s. Unit: one of s, ms, us, ns, min, h. Default: "0 ms"."""

    data_preparation: LengthOfTime
    """Before each transfer on the link. 0 ms to 10 s. Unit: one of s, ms, us, ns, min, h. Default: "0 ms"."""

    first_reselect: LengthOfTime
    """Before the first reselection. 0 ms to 10 s. Unit: one of s, ms, us, ns, min, h. Default: "0 ms"."""

    other_reselect: LengthOfTime
    """Before later reselections. 0 ms to 10 s. Unit: one of s, ms, us, ns, min, h. Default: "0 ms"."""

    read_disconnect: ReadHit
    """How long a read miss disconnects from the link, at least. Default: {"after_read": "0 ms", "after_write": "0
    ms"}."""

    write_disconnect: LengthOfTime
    """Disconnection after the data of a write have arrived. 0 ms to 10 s. Unit: one of s, ms, us, ns, min, h. Default:
    "0 ms"."""

    extra_write_disconnect: ExtraWriteDisconnect
    """A second disconnection of writes that follow a write to another place (HP C2247A)."""


class Link(TypedDict, total=False):
    """The link between host and drive."""

    rate: DataRate
    """Data rate in both directions; or give the two sector times. A sector takes at most 100 ms. 5120 B/s to
    1000000000000 B/s. Unit: one of B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, Mb/s, Gb/s."""

    read_sector_time: LengthOfTime
    """Link time of one physical sector towards the host. 0 ms to 100 ms. Unit: one of s, ms, us, ns, min, h."""

    write_sector_time: LengthOfTime
    """Link time of one physical sector towards the drive. 0 ms to 100 ms. Unit: one of s, ms, us, ns, min, h."""

    never_disconnect: bool
    """Whether the link stays connected for the whole command, without disconnection or reselection. Default: false."""


class SchedulerParametersKeys(TypedDict, total=False):
    """Keys that several tables have."""

    scheduler_parameters: (
        VscanParameters | SatfParameters | AgedSptfParameters | DepthAgedSptfParameters | DeadlineSptfParameters
    )
    """Parameters of the scheduler."""


class Queue(SchedulerParametersKeys, total=False):
    """Number of commands that the drive holds, and the order in which it serves them."""

    depth: int
    """Number of tags; further commands wait in order of arrival. 0: no limit. 0 to 1048576. Default: 0."""

    counts: Literal["tags", "waiting"]
    """Which commands hold a tag. `tags`: Waiting commands and commands in service, as with native command queueing;
    `waiting`: Waiting commands only, as in DiskSim. Default: "tags"."""

    scheduler: SchedulerName
    """Name of the scheduler. Default: "fcfs"."""

    age_limit: LengthOfTime
    """A command older than this is served next, whatever the scheduler prefers; 0: never. 0 ms to 86400 s. Unit: one of
    s, ms, us, ns, min, h. Default: "0 ms"."""


class Read(TypedDict, total=False):
    """One descriptor: three times, each with what happens if it is exceeded."""

    inactive: LengthOfTime
    """Longest time from receipt of a command until the drive acts on it. 0.5 us to 4294967295 ms. Unit: one of s, ms,
    us, ns, min, h."""

    inactive_policy: InactivePolicy
    """What happens to a command that waits longer: `complete-earliest`, `complete-unavailable` or `abort`.
    `complete-earliest`: It goes on, and ends as early as it can. (0h); `continue-next-limit`: It goes on under the
    limit with the next number. (1h); `continue-no-limit`: It goes on without a limit. (2h); `complete-unavailable`: It
    ends without an error and without data. (Dh); `abort-recovery`: It fails, perhaps during the recovery from an error.
    (Eh); `abort`: It fails. (Fh). Default: "complete-earliest"."""

    active: LengthOfTime
    """Longest time from then until status is sent. 0.5 us to 4294967295 ms. Unit: one of s, ms, us, ns, min, h."""

    active_policy: InactivePolicy
    """What happens to a command that takes longer: `complete-earliest`, `complete-unavailable`, `abort`, or
    `abort-recovery` on SAS. `complete-earliest`: It goes on, and ends as early as it can. (0h); `continue-next-limit`:
    It goes on under the limit with the next number. (1h); `continue-no-limit`: It goes on without a limit. (2h);
    `complete-unavailable`: It ends without an error and without data. (Dh); `abort-recovery`: It fails, perhaps during
    the recovery from an error. (Eh); `abort`: It fails. (Fh). Default: "complete-earliest"."""

    guideline: LengthOfTime
    """Time that is wanted, on top of that of a read without a queue. It orders commands, and is no bound. 0.5 us to
    4294967295 ms. Unit: one of s, ms, us, ns, min, h."""

    guideline_policy: InactivePolicy
    """What happens to a command that misses it; all but `abort-recovery`. `complete-earliest`: It goes on, and ends as
    early as it can. (0h); `continue-next-limit`: It goes on under the limit with the next number. (1h);
    `continue-no-limit`: It goes on without a limit. (2h); `complete-unavailable`: It ends without an error and without
    data. (Dh); `abort-recovery`: It fails, perhaps during the recovery from an error. (Eh); `abort`: It fails. (Fh).
    Default: "complete-earliest"."""


class DurationLimit(TypedDict, total=False):
    """Duration limits and priorities of commands."""

    enabled: Literal["none", "limits", "priority"]
    """Which of them the drive heeds: no hints, `limits` (Linux: `cdl_enable`) or `priority` (Linux: `ncq_prio_enable`).
    The two exclude each other. `none`: None of them; `limits`: Duration limits; `priority`: The high priority of native
    command queueing. Default: "none"."""

    reads: Sequence[Read]
    """The seven limits of reads, from number 1; fewer may be given (mode page T2A)."""

    writes: Sequence[Read]
    """The seven limits of writes (mode page T2B)."""

    performance: float
    """Share of its performance that the drive may give away for guidelines, of all limits together: 0, 0.005, 0.01,
    0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.08, 0.1, 0.15 or 0.2. 0: guidelines have no effect. Default: 0.2."""

    priority_target: LengthOfTime
    """After how long a command with high priority goes first. 0 ms to 4294967295 ms. Unit: one of s, ms, us, ns, min,
    h. Default: "0 ms"."""

    transport: Literal["sata", "sas"]
    """What the drive is attached by: an error of a limit costs more on SATA. `sata`: Serial ATA: after a missed limit
    the host has to read a log; `sas`: Serial attached SCSI: the status of the command says what was missed. Default:
    "sata"."""

    log_read: LengthOfTime
    """On SATA: how long the host takes to read the log after a limit was missed. 0 ms to 10 s. Unit: one of s, ms, us,
    ns, min, h. Default: "1 ms"."""


class CostComponents(TypedDict, total=False):
    """Parameters of `components`."""

    model: Required[Literal["components"]]

    usd: Mapping[str, Sequence[float]]
    """Prices `[low, high]` in dollars of one piece, by component, which replace those of the table."""


class CostPrice(TypedDict, total=False):
    """Parameters of `price`."""

    model: Required[Literal["price"]]

    usd: Sequence[float]
    """Price of the drive in dollars, `[low, high]`. 0 to 1000000000. 2 entries."""

    usd_per_mb: Sequence[float]
    """Price of 10^6 bytes in dollars, `[low, high]`. 0 to 1000000000. 2 entries."""


Cost: TypeAlias = CostComponents | CostPrice
"""One of these, by its key `model`."""


class Drive(TypedDict, total=False):
    """A complete drive."""

    name: Required[str]
    """The name that experiments use, equal to the file's stem."""

    title: str
    """Maker, family, model number and capacity, for people."""

    description: str
    """What the drive is an example of, and for what its file can and cannot be trusted."""

    year: int
    """When it came on the market. 1956 to 2100."""

    dash: str
    """Stacks, arm assemblies, surfaces at once and heads per arm: `D1A2S1H1`. Form: the degrees of parallelism:
    D<stacks>A<arms>S<surfaces>H<heads>. Default: "D1A1S1H1"."""

    parallelism: Parallelism
    """Settings that `dash` leaves open: angles, limits, faults."""

    geometry: Required[Geometry]
    """Platters, tracks, zones and address order of one stack."""

    seek: Required[Seek]
    """Seek times by distance, `model = "table"` and so on."""

    positioning: Positioning
    """Head switches and settling."""

    mapping: MappingModel
    """Where on the medium written blocks go. Empty: `model = "identity"`."""

    media_scan: MediaScan
    """A scan of the whole medium during foreground work. Default: {"mode": "none", "block": "16384 B"}."""

    cache: Cache
    """Buffer segments, read-ahead and write policy."""

    overhead: Overhead
    """Processing time of commands, besides mechanics and link."""

    link: Link
    """The link between host and drive. Default: {"never_disconnect": false}."""

    queue: Queue
    """Number of commands that the drive holds, and the order in which it serves them."""

    duration_limits: DurationLimit
    """Duration limits and priorities of commands."""

    power: PowerModel
    """Power by state. Default: {"model": "modes"}."""

    cost: Cost
    """Cost of the drive in dollars; empty if unknown."""

    sources: Mapping[str, str]
    """The source of each value, by dotted key or a prefix of it (`"geometry.rotation_speed"`, `"seek"`): a document, or
    `chosen: why`."""
