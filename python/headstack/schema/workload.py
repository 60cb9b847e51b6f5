"""Workloads; written by `scripts/schema_types.py`, do not edit."""

from collections.abc import Sequence
from typing import Literal, Required, TypeAlias, TypedDict

from headstack.schema.models import BlkparseParameters, FioIologParameters, OracleGeneralParameters, ThesiosParameters
from headstack.schema.plain import Frame, Path
from headstack.schema.quantities import LengthOfTime, Rate, Size
from headstack.schema.words import Arrivals, IoprioClass, TraceFormatName


class LocalDistance(TypedDict, total=False):
    """Distance of a near request from the one before it, in both directions, normally distributed.

    If absent, with a deviation of 40,000 blocks of 512 bytes, as in DiskSim's samples.
    """

    mean: Size
    """Mean distance, forward. Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB. Default: "0 B"."""

    deviation: Required[Size]
    """Standard deviation. Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB."""


class SizeFixed(TypedDict, total=False):
    """Always `value`."""

    distribution: Required[Literal["fixed"]]
    """`fixed`: Always `value`."""

    value: Required[Size]
    """The value. Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB."""


class SizeExponential(TypedDict, total=False):
    """`base` plus an exponentially distributed part of mean `mean`."""

    distribution: Required[Literal["exponential"]]
    """`exponential`: `base` plus an exponentially distributed part of mean `mean`."""

    mean: Required[Size]
    """Mean of the exponential part. Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB."""

    base: Size
    """The constant part. Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB."""


class SizeUniform(TypedDict, total=False):
    """Evenly from `min` to `max`."""

    distribution: Required[Literal["uniform"]]
    """`uniform`: Evenly from `min` to `max`."""

    min: Required[Size]
    """The least. Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB."""

    max: Required[Size]
    """The most. Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB."""


class SizeNormal(TypedDict, total=False):
    """Gaussian; `deviation` is the standard deviation, as in DiskSim 4.0's code."""

    distribution: Required[Literal["normal"]]
    """`normal`: Gaussian; `deviation` is the standard deviation, as in DiskSim 4.0's code."""

    mean: Required[Size]
    """The mean. Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB."""

    deviation: Required[Size]
    """The standard deviation. Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB."""


class SizeTwoValue(TypedDict, total=False):
    """`second` with probability `probability`, else `value`."""

    distribution: Required[Literal["two-value"]]
    """`two-value`: `second` with probability `probability`, else `value`."""

    value: Required[Size]
    """The usual value. Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB."""

    second: Required[Size]
    """The other value. Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB."""

    probability: Required[float]
    """The probability of the other value. 0 to 1."""


class SizeChoice(TypedDict, total=False):
    """One of `values`, each as often as its entry of `weights` says: fio's `bssplit`."""

    distribution: Required[Literal["choice"]]
    """`choice`: One of `values`, each as often as its entry of `weights` says: fio's `bssplit`."""

    values: Required[Sequence[Size]]
    """The values, at most 16. Each: Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB."""

    weights: Sequence[float]
    """How often each is drawn, in any unit; equally often if absent."""


SizeDistribution: TypeAlias = SizeFixed | SizeExponential | SizeUniform | SizeNormal | SizeTwoValue | SizeChoice
"""One of these, by its key `distribution`."""


class LengthOfTimeFixed(TypedDict, total=False):
    """Always `value`."""

    distribution: Required[Literal["fixed"]]
    """`fixed`: Always `value`."""

    value: Required[LengthOfTime]
    """The value. Unit: one of s, ms, us, ns, min, h."""


class LengthOfTimeExponential(TypedDict, total=False):
    """`base` plus an exponentially distributed part of mean `mean`."""

    distribution: Required[Literal["exponential"]]
    """`exponential`: `base` plus an exponentially distributed part of mean `mean`."""

    mean: Required[LengthOfTime]
    """Mean of the exponential part. Unit: one of s, ms, us, ns, min, h."""

    base: LengthOfTime
    """The constant part. Unit: one of s, ms, us, ns, min, h."""


class LengthOfTimeUniform(TypedDict, total=False):
    """Evenly from `min` to `max`."""

    distribution: Required[Literal["uniform"]]
    """`uniform`: Evenly from `min` to `max`."""

    min: Required[LengthOfTime]
    """The least. Unit: one of s, ms, us, ns, min, h."""

    max: Required[LengthOfTime]
    """The most. Unit: one of s, ms, us, ns, min, h."""


class LengthOfTimeNormal(TypedDict, total=False):
    """Gaussian; `deviation` is the standard deviation, as in DiskSim 4.0's code."""

    distribution: Required[Literal["normal"]]
    """`normal`: Gaussian; `deviation` is the standard deviation, as in DiskSim 4.0's code."""

    mean: Required[LengthOfTime]
    """The mean. Unit: one of s, ms, us, ns, min, h."""

    deviation: Required[LengthOfTime]
    """The standard deviation. Unit: one of s, ms, us, ns, min, h."""


class LengthOfTimeTwoValue(TypedDict, total=False):
    """`second` with probability `probability`, else `value`."""

    distribution: Required[Literal["two-value"]]
    """`two-value`: `second` with probability `probability`, else `value`."""

    value: Required[LengthOfTime]
    """The usual value. Unit: one of s, ms, us, ns, min, h."""

    second: Required[LengthOfTime]
    """The other value. Unit: one of s, ms, us, ns, min, h."""

    probability: Required[float]
    """The probability of the other value. 0 to 1."""


class LengthOfTimeChoice(TypedDict, total=False):
    """One of `values`, each as often as its entry of `weights` says: fio's `bssplit`."""

    distribution: Required[Literal["choice"]]
    """`choice`: One of `values`, each as often as its entry of `weights` says: fio's `bssplit`."""

    values: Required[Sequence[LengthOfTime]]
    """The values, at most 16. Each: Unit: one of s, ms, us, ns, min, h."""

    weights: Sequence[float]
    """How often each is drawn, in any unit; equally often if absent."""


LengthOfTimeDistribution: TypeAlias = (
    LengthOfTimeFixed
    | LengthOfTimeExponential
    | LengthOfTimeUniform
    | LengthOfTimeNormal
    | LengthOfTimeTwoValue
    | LengthOfTimeChoice
)
"""One of these, by its key `distribution`."""


class Growth(TypedDict, total=False):
    """Data that grow by new writes.

    `{ initial, new }`: reads and updates take any of the records written so far, `initial` of them at first, each of
    `size`; the share `new` of the writes adds one.
    """

    initial: Required[int]
    """Records at the start, at most what the footprint holds. 1 or more."""

    new: Required[float]
    """The share of the writes that add a record. 0 to 1."""


class Phase(TypedDict, total=False):
    """Values during a phase; absent ones are those of the workload."""

    duration: Required[LengthOfTime]
    """Length of the phase. Unit: one of s, ms, us, ns, min, h."""

    reads: float
    """The share of reads. 0 to 1."""

    sequential: float
    """The probability of sequential requests. 0 to 1."""

    local: float
    """The probability of local requests. 0 to 1."""

    size: Size | SizeDistribution
    """Sizes."""

    rate: Rate
    """The rate of arrivals; zero is a pause. Unit: one of /s, /min, /h, iops."""


class Synthetic(TypedDict, total=False):
    """A synthetic workload, in place of a trace."""

    n_requests: int
    """Number of requests. Default: 10000."""

    reads: float
    """Share of reads. 0 to 1. Default: 0.66."""

    write_through: float
    """Share of the writes with forced unit access: complete when they are on the medium. 0 to 1. Default: 0.0."""

    sequential: float
    """Probability that a request begins where the one before it ends. 0 to 1. Default: 0.0."""

    local: float
    """Probability that a request is near the one before it. 0 to 1. Default: 0.0."""

    local_distance: LocalDistance
    """Distance of a near request from the one before it, in both directions, normally distributed. If absent, with a
    deviation of 40,000 blocks of 512 bytes, as in DiskSim's samples."""

    size: Size | SizeDistribution
    """Size of a request: one, or a table such as `{ distribution = "uniform", min, max }`. Default: "4096 B"."""

    block: Size
    """Starts and sizes are multiples of this (DiskSim's blocking factor). Unit: one of B, kB, MB, GB, TB, KiB, MiB,
    GiB, TiB. Default: "4096 B"."""

    rounding: Literal["none", "up"]
    """How sizes become whole blocks. `none`: Whole blocks are drawn, with the mean and the shares asked for; what
    cannot have them is refused; `up`: Sizes are rounded up, as in DiskSim. Default: "none"."""

    arrivals: Arrivals
    """Process of arrivals. `poisson`: Poisson arrivals: independent, at `rate` on average; `constant`: Evenly spaced at
    `rate`; `uniform`: Gaps uniformly distributed from zero to twice the mean; `closed`: Closed arrivals: times are
    zero, and `outstanding` requests circulate, each issued `think` after a completion. Default: "poisson"."""

    rate: Rate
    """Mean rate of arrivals; needed unless they are `closed` or an `interarrival`. Unit: one of /s, /min, /h, iops."""

    interarrival: LengthOfTime | LengthOfTimeDistribution
    """Gaps between arrivals, instead of `arrivals` and `rate`."""

    sequential_interarrival: LengthOfTime | LengthOfTimeDistribution
    """Gaps before sequential requests, if they differ."""

    local_interarrival: LengthOfTime | LengthOfTimeDistribution
    """Gaps before local requests, if they differ."""

    footprint: Size
    """The part of each device that is used, from its beginning. 512 B to 4611686018427387904 B. Unit: one of B, kB, MB,
    GB, TB, KiB, MiB, GiB, TiB. Default: "1000000000 B"."""

    devices: int
    """Number of devices. 1 or more. Default: 1."""

    zipf: float
    """Popularity of blocks, scattered over the space: the k-th most popular has a probability in proportion to 1/k to
    the power of `zipf`; all are equal if absent. 0 to 100."""

    growth: Growth
    """Data that grow by new writes. `{ initial, new }`: reads and updates take any of the records written so far,
    `initial` of them at first, each of `size`; the share `new` of the writes adds one."""

    outstanding: int
    """Closed arrivals: number of outstanding requests. 1 or more. Default: 1."""

    think: LengthOfTime | LengthOfTimeDistribution
    """Closed arrivals: the pause between a completion and the next request. Default: "0 ms"."""

    phases: Sequence[Phase]
    """Phases with other values, repeated in order."""


class Job(TypedDict, total=False):
    """One job, as in an experiment's TOML."""

    name: str
    """Name in results; `job-` and its number if absent."""

    threads: Required[int]
    """Threads on each device. 1 to 65536."""

    devices: int
    """Number of devices. 1 to 65536. Default: 1."""

    first_device: int
    """Number of the first device. 0 to 65536. Default: 0."""

    any_device: bool
    """Whether each request goes to any of the devices. `threads` is then the number of all threads. Default: false."""

    think_time: LengthOfTime | LengthOfTimeDistribution
    """Pause of a thread after a request; on processors, computation before it. Default: "0 ms"."""

    blocking: float
    """Share of its requests that a thread waits for; after the others it goes on at once. 0 to 1. Default: 1.0."""

    flush_every: int
    """Writes of a thread after which it issues a flush and waits for its end, as databases do and fio with `fsync`;
    never if absent. 1 or more."""

    rate: Rate
    """Requests per second of each thread, without flushes; a thread that is late issues at once until it has caught up.
    If absent, as fast as requests end. 0.000001 /s to 1000000 /s. Unit: one of /s, /min, /h, iops."""

    together: bool
    """Whether all threads are due at the same moments; else each has an offset of its own. Default: false."""

    start: LengthOfTime
    """Beginning of the first burst. Unit: one of s, ms, us, ns, min, h. Default: "0 ms"."""

    duration: LengthOfTime
    """Length of a burst; no end if absent. Unit: one of s, ms, us, ns, min, h."""

    volume: Size
    """Bytes on a device after which a burst ends; no end if absent. 1 B to 18446744073709551615 B. Unit: one of B, kB,
    MB, GB, TB, KiB, MiB, GiB, TiB."""

    every: LengthOfTime
    """From the beginning of a burst to that of the next. Unit: one of s, ms, us, ns, min, h."""

    bursts: int
    """Number of bursts. 1 to 65536. Default: 1."""

    offset: Size
    """First byte that is used on each device. Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB. Default: "0 B"."""

    requests: Synthetic
    """What the requests are: `reads`, `sequential`, `local`, `size`, `block`, `footprint`, `zipf`, ... as in a
    synthetic workload."""


class Classe(TypedDict, total=False):
    """A class of requests, as in an experiment's TOML."""

    name: Required[str]
    """Name in results."""

    share: float
    """Share of the requests that belong to it, drawn for each; of its jobs, if it names jobs. 0 to 1."""

    jobs: Sequence[str]
    """Names of the jobs whose requests belong to it, where the workload has jobs."""

    processes: Sequence[int]
    """Numbers of the processes whose requests belong to it: the column `process` of a csv or parquet trace, the PID of
    blkparse and blktrace."""

    by_ioprio: bool
    """Whether the requests belong to it that have its I/O priority in the trace: the column `ioprio` of csv or parquet.
    Default: false."""

    operations: Literal["all", "reads", "writes"]
    """Which requests it is about. `all`: All; `reads`: Reads; `writes`: Writes. Default: "all"."""

    ioprio_class: IoprioClass
    """Class of the I/O priority. If absent, with a hint `best-effort`. `none`: None: that of the process; `real-time`:
    Real time; with priorities of native command queueing enabled, the high one; `best-effort`: Best effort, as usual;
    `idle`: Idle: only when no one else asks for the device."""

    ioprio_level: int
    """Level of the I/O priority in its class; 0 goes first. 0 to 7. Default: 0."""

    ioprio_hint: int
    """Hint of the I/O priority: the number of a duration limit of the drives; 0: none. 0 to 7. Default: 0."""


class Closed(TypedDict, total=False):
    """A fixed number of requests circulates; the workload's times are ignored."""

    outstanding: Required[int]
    """Number of requests that are in flight or in their think time."""

    think_time: LengthOfTime | LengthOfTimeDistribution
    """Time from a completion to the next request. Default: "0 ms"."""


class Arrival(TypedDict, total=False):
    """One of `arrivals`."""

    closed: Required[Closed]
    """A fixed number of requests circulates; the workload's times are ignored."""


class Workload(TypedDict, total=False):
    """A trace or a synthetic workload."""

    name: str
    """Name in results; the trace's file name without extensions or `synthetic` if absent."""

    trace: Path | Frame
    """Path of a trace."""

    format: TraceFormatName
    """Format of the trace; detected if absent."""

    format_parameters: BlkparseParameters | FioIologParameters | OracleGeneralParameters | ThesiosParameters
    """Parameters of the format's reader."""

    on_error: Literal["fail", "skip"]
    """Handling of a wrong record. `fail`: It ends the trace with an error that names it; `skip`: It is left out and
    counted as skipped. Default: "fail"."""

    order: str
    """Times that run backwards: `strict`: a wrong record; `sort` or `sort:N`: N records (65,536) are held back and
    sorted, even later ones are moved forward; `format`: as the format usually needs. Form: format, strict, sort or
    sort:N with N records held back, 1 to 4194304. Default: "format"."""

    synthetic: Synthetic
    """A synthetic workload, in place of a trace."""

    jobs: Sequence[Job]
    """Threads that issue a request and wait for its end, in place of a trace or a synthetic workload."""

    processors: int
    """Processors that the threads of all jobs compute on; they need none if absent."""

    classes: Sequence[Classe]
    """Classes of requests with I/O priorities, for which results are shown apart."""

    warm_up: int | LengthOfTime
    """What statistics leave out: a length of time, or a number of requests; nothing if absent."""

    arrivals: Literal["open", "trace", "as-in-trace"] | Arrival
    """`"open"`: at their times; `{ closed = { outstanding = 8, think_time = "1 ms" } }`: a fixed number in flight,
    times ignored. If absent, the synthetic workload's or `open`."""

    device_blocks: int | Sequence[int]
    """Size of each device in 512-byte blocks, a list, or one number for all. If absent, it is measured by a first pass
    where the organisation needs it."""

    past_end: Literal["error", "wrap", "drop-counted"]
    """Handling of a request beyond the end of a device. `error`: It fails at once and is counted in `n_errors`; `wrap`:
    Its address is taken modulo the device's size; `drop-counted`: It is left out and counted in `n_dropped`. Default:
    "error"."""

    devices: Sequence[int]
    """Only requests of these device numbers; all if absent."""

    start: LengthOfTime
    """From this time of the trace on. Unit: one of s, ms, us, ns, min, h."""

    end: LengthOfTime
    """Before this time of the trace. Unit: one of s, ms, us, ns, min, h."""

    skip: int
    """Requests left out at the start. Default: 0."""

    count: int
    """Most requests that are used after these; all if absent."""

    start_at_zero: bool
    """Whether the first remaining request is at time zero. Default: false."""

    remap: Sequence[Sequence[int]]
    """Pairs of old and new device numbers. Each: 2 entries."""

    shift: int | str
    """Moves all addresses: blocks of 512 bytes (`-7`), or a size (`"-4 KiB"`); below block zero a request is one past
    the end, with `concatenate` an error. Form: a whole number of blocks, or a size such as "-4 KiB"."""

    concatenate: Sequence[Size] | Literal["measured"]
    """Puts the devices one after another on device 0: `"measured"`, or a list of their sizes."""

    space_scale: float
    """Multiplies addresses, not sizes."""

    align: Size
    """Each request begins at the multiple of this before it, and its length is rounded up to one: `"4 KiB"` for traces
    from drives with smaller sectors. Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB."""

    time_scale: float
    """Multiplies every time; 2 halves the rate of arrivals."""
