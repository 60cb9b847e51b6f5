"""Types of the Rust core. JSON is passed as text; errors are those of `headstack.errors`."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

def version() -> str:
    """Version of the core, equal to the package's."""

def panics(in_thread: bool) -> None:
    """Fail inside the core, for tests of what users are told then."""

def plugins() -> str:
    """JSON: {"seek": [{"name", "summary", "example", "parameters"}], "scheduler": [...], ...}.

    Each parameter has a key, what it is, its default and its bounds.
    """

def schema(of_experiments: bool) -> str:
    """JSON Schema of experiments, or of drive files."""

def check_file(file: Path, drive_dirs: list[Path]) -> str:
    """JSON: [{"message", "line", "column", "excerpt"}], empty if the TOML file can be used."""

def check_drive(spec_json: str) -> str:
    """Return the drive of `spec_json` with every default filled in, as JSON."""

def drive_info(spec_json: str) -> str:
    """JSON: values derived from a drive's description.

    Year, actuators, capacity, zones with their media rates, sustained rate outside and inside (all
    actuators together), seek curve, average seek, power by state, cost. "surfaces" has the format
    of each surface in each zone with the layout `adaptive`, else it is null.
    """

def quantity(kind: str, text: str) -> float:
    """Return the number of a quantity in SI units (B, B/s, s, 1/s, rpm, m, W).

    `kind` is "size", "rate", "time", "frequency", "speed", "length" or "power".
    """

def split_quantity(text: str) -> tuple[float, str] | None:
    """Return the number at the begin of a text and its unit, which may be empty; None without a number."""

def usable_bytes(layers_json: str, drives: list[list[int]]) -> int:
    """Return the capacity for data, without copies and parity, of drives under layers.

    `layers_json` is a list of layers, the organisation first; `drives` has the sizes of each drive's
    logical units in 512-byte blocks.
    """

def run(
    file: str | None,
    text: str | None,
    overrides_json: str,
    drive_dirs: list[str],
    threads: int | None,
    out_dir: str | None,
    log_requests: bool,
    progress: Callable[[int, int | None], None] | None,
    sources_anywhere: bool = False,
    places: Mapping[str, PathLike[str]] = ...,
) -> str:
    """Run an experiment; returns the result document. Ctrl-C returns it with "partial": true.

    If `file` is given, the experiment is that TOML file, or `text` if it was already read; else
    `text` is the experiment as JSON, with paths relative to the current directory. `overrides_json`
    replaces parts of it: {"run", "cost", "set", "seed"}. `places` has the actual paths of traces
    that cannot be found by their names in the experiment.

    `progress` is called with the number of requests done and their total over all systems and
    workloads. The total is exact for synthetic workloads, estimated while a trace is read, and None
    before that.
    """

def record_window(
    file: str | None,
    text: str | None,
    drive_dirs: list[str],
    progress: Callable[[int, int | None], None] | None,
    sources_anywhere: bool,
    places: Mapping[str, PathLike[str]],
    job: tuple[int, int],
    window_ns: tuple[int, int],
) -> str:
    """JSON: what the drives of a system do in a window of a run; see `headstack.show.view`.

    `job` has the numbers of system and workload, `window_ns` begin and end. Experiment, drives,
    progress and places are as for `run`.
    """

def read_toml(path: str) -> str:
    """Document of a TOML file, as JSON."""

def trace_info(path: str, format: str | None, on_error: str, order: str = "format", parameters_json: str = "{}") -> str:
    """JSON: statistics of a trace, how it was opened, and counts of records left out or moved.

    "opened" has "fits", the formats that fit its beginning with scores up to 100, best first; null
    if the format was named. Ctrl-C ends it at any point, as it does `convert`.
    """

def convert(
    src: str,
    dst: str,
    part: str,
    src_format: str | None,
    dst_format: str | None,
    transform_json: str,
    on_error: str,
    order: str = "format",
    parameters_json: str = "{}",
) -> str:
    """Write `src` into the file `part`, which messages call `dst`; returns counts as JSON."""

def counters() -> str:
    """JSON: what drives count, [{"name", "unit", "sentence", "is_whole", "of_several"}]."""

def result_columns() -> str:
    """JSON: shares of requests in results, [{"name", "sentence", "is_whole"}]."""

def formats() -> str:
    """JSON: the trace formats, [{"name", "summary", "parameters", "time_unit", "size_unit"}]."""

def import_disksim(path: str, sources_anywhere: bool = False) -> str:
    """JSON {"spec", "report"}: a DiskSim file as a drive.

    Files that it names must be in its folder or below, unless `sources_anywhere`.
    """

def import_experiment(path: str, trace: str | None, sources_anywhere: bool = False) -> str:
    """JSON {"document", "report"}: a DiskSim file as an experiment, of its load or of a trace."""

def validate(dir: str, compat: bool, sources_anywhere: bool = False) -> str:
    """JSON {"drives": [...]}: demerit of every drive of a DiskSim directory."""

def replay_closed(spec_json: str, trace_path: str, start: int, count: int | None, compat: bool) -> list[float]:
    """Response times in seconds of `count` requests of a validation trace, closed loop."""

def read_measured(path: str) -> tuple[list[bool], list[int], list[int], list[float]]:
    """Columns of a validation trace: write, first block, blocks, measured response time in s."""

def demerit(measured: list[float], simulated: list[float]) -> float:
    """Demerit figure of two samples of one unit, in that unit; not-a-number if one is empty."""

def sweep(
    drive_json: str,
    densities: bytes,
    factors: bytes,
    block_bytes: int,
    first_byte: int,
    last_byte: int,
    trials: int,
    seed: int,
    noise_json: str,
    threads: int,
) -> bytes:
    """float64 (drives, trials, blocks): rate of each block in B/s; see `headstack.drives.streaming`.

    `densities` are float64 (drives, surfaces, 2), `factors` float64 (drives); both may be empty.
    The range ends before `last_byte`. `noise_json` is {"lost_turns_per_byte", "trial_factor",
    "damage": [[drive, from, to, rate factor], ...]}, all optional.
    """

def zone_rates(drive_json: str, densities: bytes, factors: bytes, threads: int) -> bytes:
    """float64 (drives, zones): mean rate of each zone in B/s."""

def capacities(drive_json: str, densities: bytes, threads: int) -> bytes:
    """uint64 (drives): bytes that the surfaces hold, whatever the drive offers."""

class Emulated:
    """A server of a simulated drive, in a thread of its own; Linux alone."""

    @property
    def uri(self) -> str | None:
        """What clients of NBD are given."""
    @property
    def urls(self) -> list[str]:
        """What initiators of iSCSI are given, for each device."""
    @property
    def exports(self) -> list[tuple[str, str, int]]:
        """Name, description and size in bytes of each device."""
    def stop(self) -> None:
        """Let it end once it has answered what is outstanding."""
    @property
    def metrics(self) -> str | None:
        """Where metrics are served."""
    def change(self, change: str) -> None:
        """Change the system now; an entry of ``[[system.change]]`` as JSON."""
    def lose_power(self) -> tuple[int, int]:
        """Lose power; sectors that were not on the medium: those kept, those lost."""
    def read_metrics(self) -> str:
        """Return the page of metrics."""
    def wait(self) -> str | None:
        """Wait for the end; JSON of what was done; None if asked before."""

def server_options() -> list[tuple[str, str, bool, str, str]]:
    """Of each option of a server: name, kind, whether it repeats, name of its value, sentence."""

def emulate(arguments: list[str]) -> Emulated:
    """Begin to serve a drive or a system, with the arguments of the program; Linux alone."""

def become_server(ends_with_parent: bool) -> None:
    """Raise the limit of open files; if asked, end with the process that started this one."""

class ProbeTarget:
    """Something that can be probed; Linux alone. Times are nanoseconds since it was opened."""

    @staticmethod
    def open(
        name: str,
        *,
        lateness_s: float | None = None,
        disturbed: float = 0.0,
        beside: float = 0.0,
        seed: int = 0,
        allow_writes: bool = False,
        drive_dirs: Sequence[Path] = (),
    ) -> ProbeTarget:
        """Open a block device, an export of NBD or iSCSI, or ``sim:`` with a drive's name or file.

        The numbers are of ``sim:`` alone: the host's mean lateness (None: 15 us; 0: never late),
        the share of commands that are late by one or two turns, the share of the drive's time that
        another client takes.
        """
    @property
    def described(self) -> dict[str, Any]:
        """What it says about itself.

        Keys: kind, blocks, block_bytes, physical_bytes, model, firmware, serial_sha256, rotational,
        fua, queue_depth, ranges, zoned, mounted, caveats.
        """
    def read(
        self,
        lba: Sequence[int],
        blocks: Sequence[int] | int | None = None,
        *,
        wait_s: Sequence[float] | float | None = None,
        depth: int = 1,
        together: bool = False,
        fua: bool = True,
        at_s: Sequence[float] | None = None,
    ) -> tuple[list[int], list[int], list[int]]:
        """When each read was issued and done, and how it ended: 0 well, 1 the medium, 2 otherwise.

        Sizes are in logical blocks; one physical block unless said. Each read is issued ``wait_s``
        after the one before, or so that ``depth`` are outstanding, or all together, or each
        ``at_s`` after the call.
        """
    def write(
        self,
        lba: Sequence[int],
        blocks: Sequence[int] | int | None = None,
        *,
        wait_s: Sequence[float] | float | None = None,
        depth: int = 1,
        together: bool = False,
        fua: bool = False,
        at_s: Sequence[float] | None = None,
    ) -> tuple[list[int], list[int], list[int]]:
        """Write what the blocks that are held contain; as ``read``."""
    def fetch(self, lba: int, blocks: int) -> bytes | None:
        """Return what blocks contain, at most 64 KiB; None if they cannot be read."""
    def hold(self, first: int, contents: bytes) -> None:
        """From now on allow writes of blocks from ``first`` on, which contain this.

        The target must have been opened with ``allow_writes``.
        """
    def command(self, cdb: bytes, data: bytes, bytes: int) -> tuple[int, bytes, bytes] | None:
        """Return status, sense and data of a SCSI command; None if the target takes none."""
    def now_ns(self) -> int:
        """Return the time."""
    def sleep(self, seconds: float) -> None:
        """Wait; of a simulated drive the clock is advanced."""
    def close(self) -> None:
        """Close it; closing twice does nothing."""
    def energy(self) -> list[float] | None:
        """Return seconds idle, seeking, waiting, transferring, and joules; None: not simulated."""
    def truth(self) -> str | None:
        """Return the file of the simulated drive, for tests; None of others."""

class ProbeMeter:
    """A meter of one of the kinds of ``headstack-capd``."""

    interval_s: float
    @staticmethod
    def open(table: str) -> ProbeMeter:
        """Open a meter, described as in that daemon's configuration, in JSON."""
    def read(self) -> tuple[float, float]:
        """Return when its reading was made, in s of ``CLOCK_BOOTTIME``, and the watts."""
