"""A file allocation table, its host and its drive: figures 7 to 9 of the article.

# Model
An empty disk: boot sector, two copies of the table, the root directory, then files one after the
other, each at the next free cluster. The host caches `BUFFERS` sectors of the table and replaces
the least recently used one. A changed sector is written to both copies when it is replaced or the
file is closed. Each call takes `CALL_S` of host time.

The drive is the average one: every access to the medium takes overhead, seek, half a turn and
transfer. After a read it fills its buffer with up to `LOOK_AHEAD` further sectors, at the media
rate, until the next access to the medium. A read of sectors in the buffer, or of sectors that will
be there within a turn, takes the overhead of a hit, the wait and the interface. Writes go to the
medium.

The benchmarks are stand-ins, because the details of Ziff-Davis's PC Bench 7.01 and 9.0 are not
published.

# Limits
Latency is its mean; the buffer has one segment; there is no fragmentation; directories are never
read. The order of accesses does not depend on time, so the same accesses can be run in the
simulator (`Machine.accesses`).
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from headstack.drives import formulas
from headstack.drives.formulas import KB, SECTOR_BYTES

from .drive import AVERAGE, HIT_OVERHEAD_S, INTERFACE_BYTES_PER_S, LOOK_AHEAD, OVERHEAD_S, TRACK_SECTORS, Disk

#: Where the partition begins, sectors of the root directory, copies of the table.
FIRST_SECTOR, ROOT_SECTORS, COPIES = 64, 32, 2

#: Chosen: the host's table sectors, and the host time of a call.
BUFFERS, CALL_S = 20, 1e-3

#: A disk of 1,080 Mbytes.
DISK = Disk(track_sectors=TRACK_SECTORS, cylinders=3167)

_CYLINDER = DISK.cylinder_sectors
_SEEKS_S = AVERAGE.curve.table_s(DISK.cylinders).tolist()

#: Partitions in MiB, one for each cluster size in the article's figures 7 and 9.
PARTITIONS_MIB = (100, 200, 400, 800, 1030)

#: Chosen: calls of the large-file test, its files, and the random accesses of each kind per file.
LARGE_CALL, LARGE_FILES_KB, RANDOM_ACCESSES = 16 * KB // SECTOR_BYTES, (256, 1024, 4096, 32768), 200

#: Chosen: the small-file test.
SMALL_CALL, FILES, DIRECTORIES, SIGMA, LARGEST_SMALL_KB = 4 * KB // SECTOR_BYTES, 1500, 30, 1.1, 64
NEXT, SAME_DIRECTORY, WRITES, ZIPF, THINK_S = 0.5, 0.3, 0.1, 0.8, 5e-3


@dataclass(frozen=True)
class Layout:
    """Positions of the parts of a partition.

    Attributes:
        capacity_mib: in 2^20 bytes; determines the cluster size.
        first: first sector of the partition.
        cluster: sectors in a cluster; by capacity if it is 0.
    """

    capacity_mib: int
    first: int = FIRST_SECTOR
    cluster: int = 0

    @cached_property
    def unit(self) -> int:
        """Sectors in a cluster."""
        return self.cluster or int(formulas.cluster_sectors(self.capacity_mib))

    @cached_property
    def table_sectors(self) -> int:
        """Sectors of one copy of the table."""
        clusters = self.capacity_mib * 2**20 // SECTOR_BYTES // self.unit
        return -(-(clusters + 2) // formulas.FAT_ENTRIES)

    @cached_property
    def data(self) -> int:
        """First sector of the data."""
        return self.first + COPIES * self.table_sectors + ROOT_SECTORS

    def sector(self, cluster: int) -> int:
        """Return the first sector of a cluster; the first data cluster is 0."""
        return self.data + cluster * self.unit

    def entry(self, cluster: int) -> int:
        """Return the table sector with a cluster's entry, counted from the table's start."""
        return (cluster + 2) // formulas.FAT_ENTRIES

    def clusters(self, sectors: int) -> int:
        """Return the number of clusters that a file needs."""
        return -(-sectors // self.unit)


@dataclass
class Drive:
    """The average drive with one look-ahead segment; `time_s` is its clock.

    Attributes:
        look_ahead: sectors, 0 for none.
        time_s: current time.
        hits: reads served from the buffer.
    """

    look_ahead: int = LOOK_AHEAD
    time_s: float = 0.0
    hits: int = 0
    _cylinder: int = 0
    _start: int = 0
    _filled: float = 0.0
    _limit: int = 0
    _since: float = 0.0

    _turn_s = float(formulas.rotation_time_s(DISK.rpm))
    _sector_s = SECTOR_BYTES / DISK.media_rate
    _link_s = SECTOR_BYTES / INTERFACE_BYTES_PER_S

    def access(self, sector: int, sectors: int, write: bool = False) -> None:
        """Serve a request."""
        self._fill()
        end = sector + sectors
        if not write and self._start <= sector and end <= self._limit:
            wait = max(0.0, end - self._filled) * self._sector_s
            if wait <= self._turn_s:
                self.hits += 1
                self.time_s += HIT_OVERHEAD_S + wait + sectors * self._link_s
                # A read of the whole segment does not end the filling.
                self._fill()
                self._limit = max(self._limit, end + self.look_ahead)
                return
        self._medium(sector, end)
        if write:
            # The filling ends; overwritten sectors are no longer in the buffer.
            overlaps = sector < self._filled and end > self._start
            self._limit = self._start if overlaps else int(self._filled)
        else:
            self._start, self._filled, self._since = sector, float(end), self.time_s
            self._limit = end + self.look_ahead

    def _medium(self, sector: int, end: int) -> None:
        cylinder = sector // _CYLINDER
        seek = _SEEKS_S[abs(cylinder - self._cylinder)]
        transfer = (end - sector) * self._sector_s
        self.time_s += OVERHEAD_S + seek + self._turn_s / 2 + transfer
        self._cylinder = (end - 1) // _CYLINDER

    def _fill(self) -> None:
        elapsed = self.time_s - self._since
        self._filled = min(float(self._limit), self._filled + elapsed / self._sector_s)
        self._since = self.time_s
        # The segment contains the last sectors that passed.
        self._start = max(self._start, int(self._filled) - 2 * self.look_ahead)


@dataclass(frozen=True)
class Phase:
    """A measurement: data, time, calls of the host, and the accesses from `first` to `end`."""

    size_kb: float
    time_s: float
    calls: int
    first: int
    end: int

    @property
    def rate(self) -> float:
        """KB/s."""
        return self.size_kb / self.time_s


@dataclass
class Machine:
    """A host with a partition on a drive.

    Attributes:
        layout: layout of the partition.
        drive: the drive of the partition.
        buffers: sectors of the table that the host caches.
        table_reads: table sectors read from the drive.
        accesses: requests to the drive as (sector, sectors, write), in order.
        calls: number of host calls.
        phases: results of each measurement of a benchmark.
    """

    layout: Layout
    drive: Drive = field(default_factory=Drive)
    buffers: int = BUFFERS
    table_reads: int = 0
    accesses: list[tuple[int, int, bool]] = field(default_factory=list)
    calls: int = 0
    phases: list["Phase"] = field(default_factory=list)
    _kept: "OrderedDict[int, bool]" = field(default_factory=OrderedDict)

    def request(self, sector: int, sectors: int, write: bool = False) -> None:
        """Pass a request on to the drive."""
        self.accesses.append((sector, sectors, write))
        self.drive.access(sector, sectors, write)

    def call(self) -> None:
        """Add the host time of one call."""
        self.calls += 1
        self.drive.time_s += CALL_S

    def measured(self, size_kb: float, begin_s: float) -> float:
        """Record a measurement that began at this time; return its rate in KB/s."""
        first = self.phases[-1].end if self.phases else 0
        calls = self.calls - sum(p.calls for p in self.phases)
        time = self.drive.time_s - begin_s
        self.phases.append(Phase(size_kb, time, calls, first, len(self.accesses)))
        return self.phases[-1].rate

    def look_up(self, first: int, last: int, change: bool = False) -> None:
        """Follow, or with `change` write, the chain from one cluster to another."""
        for entry in range(self.layout.entry(first), self.layout.entry(last) + 1):
            self._table(entry, change)

    def _table(self, entry: int, change: bool) -> None:
        changed = change
        if entry in self._kept:
            changed |= self._kept.pop(entry)
        else:
            while len(self._kept) >= self.buffers:
                self._write_back(*self._kept.popitem(last=False))
            self.table_reads += 1
            self.request(self.layout.first + entry, 1)
        self._kept[entry] = changed

    def close(self) -> None:
        """Write the changed table sectors."""
        for entry, changed in self._kept.items():
            self._write_back(entry, changed)
            self._kept[entry] = False

    def _write_back(self, entry: int, changed: bool) -> None:
        if changed:
            for copy in range(COPIES):
                table = self.layout.first + copy * self.layout.table_sectors
                self.request(table + entry, 1, write=True)


@dataclass(frozen=True)
class File:
    """A contiguous file: its first cluster and its size in sectors."""

    first: int
    sectors: int


# Large files.


def large_files(
    machine: Machine, sizes_kb: Sequence[int] = LARGE_FILES_KB, seed: int = 1, *, walk: bool = True
) -> float:
    """Run the large-file test; return the harmonic mean of its throughputs in KB/s.

    Each file is written and read in order, then read and written at random places.

    Args:
        machine: the machine that runs it.
        sizes_kb: sizes of the files.
        seed: seed of the random places.
        walk: whether moving backwards follows the chain from the start, as in DOS.
    """
    random = np.random.default_rng([98, 7, seed])
    rates, cluster = [], 0
    for size_kb in sizes_kb:
        file = File(cluster, size_kb * KB // SECTOR_BYTES)
        cluster += machine.layout.clusters(file.sectors)
        rates += [
            stream(machine, file, write=True),
            stream(machine, file, write=False),
            _random(machine, file, random, write=False, walk=walk),
            _random(machine, file, random, write=True, walk=walk),
        ]
    return len(rates) / sum(1 / r for r in rates)


def stream(machine: Machine, file: File, *, write: bool) -> float:
    """Write (and allocate) or read a file in order; return the rate in KB/s."""
    begin = machine.drive.time_s
    for offset in range(0, file.sectors, LARGE_CALL):
        machine.call()
        _transfer(machine, file, offset, LARGE_CALL, write, allocate=write)
    machine.close()
    return machine.measured(file.sectors * SECTOR_BYTES / KB, begin)


def _random(machine: Machine, file: File, random: np.random.Generator, *, write: bool, walk: bool) -> float:
    begin, current = machine.drive.time_s, 0
    offsets = random.integers(file.sectors // LARGE_CALL, size=RANDOM_ACCESSES) * LARGE_CALL
    for offset in offsets.tolist():
        machine.call()
        if walk:
            # A chain can only be followed forwards.
            origin = current if offset >= current else 0
            unit = machine.layout.unit
            machine.look_up(file.first + origin // unit, file.first + offset // unit)
        _transfer(machine, file, offset, LARGE_CALL, write)
        current = offset
    return machine.measured(RANDOM_ACCESSES * LARGE_CALL * SECTOR_BYTES / KB, begin)


def _transfer(machine: Machine, file: File, offset: int, sectors: int, write: bool, allocate: bool = False) -> None:
    unit = machine.layout.unit
    last = (offset + sectors - 1) // unit
    machine.look_up(file.first + offset // unit, file.first + last, allocate)
    machine.request(machine.layout.sector(file.first) + offset, sectors, write)


def figure_7(
    capacity_mib: int,
    starts: int = 8,
    sizes_kb: Sequence[int] = LARGE_FILES_KB,
    *,
    walk: bool = True,
    buffers: int = BUFFERS,
    first_seed: int = 1,
) -> float:
    """Return the score of the large-file test, the mean over partition starts across a cylinder."""
    machines = [
        Machine(Layout(capacity_mib, FIRST_SECTOR + _CYLINDER * i // starts), buffers=buffers) for i in range(starts)
    ]
    scores = [large_files(machine, sizes_kb, first_seed + i, walk=walk) for i, machine in enumerate(machines)]
    return float(np.mean(scores))


# Small files.


@dataclass(frozen=True)
class SmallFiles:
    """The opens of the small-file test: the same on every partition.

    Attributes:
        sizes: sizes of the files in sectors, directory by directory.
        opens: numbers of the files, in order.
        writes: whether an open writes the file.
    """

    sizes: list[int]
    opens: list[int]
    writes: list[bool]


def small_files(seed: int, opens: int = 12_000, median_kb: float = 2.0) -> SmallFiles:
    """Draw the files and the order in which they are opened."""
    random = np.random.default_rng([98, 9, seed])
    bytes_ = random.lognormal(np.log(median_kb * KB), SIGMA, FILES)
    sizes = np.ceil(np.minimum(bytes_, LARGEST_SMALL_KB * KB) / SECTOR_BYTES).astype(int)
    popular = np.arange(1, DIRECTORIES + 1) ** -ZIPF
    directories = random.permutation(DIRECTORIES)[random.choice(DIRECTORIES, opens, p=popular / popular.sum())].tolist()
    choices, others = random.random(opens).tolist(), random.integers(FILES, size=opens).tolist()
    each, order, file = FILES // DIRECTORIES, [], 0
    for choice, directory, other in zip(choices, directories, others, strict=True):
        within = other % each
        if choice < NEXT:
            within = (file + 1) % each
        if choice < NEXT + SAME_DIRECTORY:
            directory = file // each
        file = directory * each + within
        order.append(file)
    writes = (random.random(opens) < WRITES).tolist()
    return SmallFiles(sizes.tolist(), order, writes)


def place(layout: Layout, sizes: Sequence[int]) -> list[File]:
    """Return files one after the other, each at the next free cluster."""
    files, cluster = [], 0
    for sectors in sizes:
        files.append(File(cluster, sectors))
        cluster += layout.clusters(sectors)
    return files


def open_files(machine: Machine, test: SmallFiles, cache_bytes: int) -> float:
    """Run the small-file test with a host cache of sectors; return its score in KB/s.

    The time between files is not counted, but the drive's look-ahead continues during it.
    """
    cache = _Cache(cache_bytes // SECTOR_BYTES)
    files = place(machine.layout, test.sizes)
    counted, sectors = 0.0, 0
    for number, write in zip(test.opens, test.writes, strict=True):
        file, begin = files[number], machine.drive.time_s
        for offset in range(0, file.sectors, SMALL_CALL):
            _small_call(machine, file, offset, write, cache)
        sectors += file.sectors
        counted += machine.drive.time_s - begin
        machine.drive.time_s += THINK_S
    return sectors * SECTOR_BYTES / KB / counted


def _small_call(machine: Machine, file: File, offset: int, write: bool, cache: "_Cache") -> None:
    machine.call()
    size = min(SMALL_CALL, file.sectors - offset)
    unit, first = machine.layout.unit, machine.layout.sector(file.first) + offset
    missing = cache.use(first, size)
    if write:
        missing = (first, first + size)
    if missing is None:
        return
    machine.look_up(file.first + offset // unit, file.first + (offset + size - 1) // unit)
    machine.request(missing[0], missing[1] - missing[0], write)


class _Cache:
    """A host's cache of single sectors that replaces the least recently used one."""

    def __init__(self, sectors: int) -> None:
        self._most = sectors
        self._kept: OrderedDict[int, None] = OrderedDict()

    def use(self, first: int, count: int) -> tuple[int, int] | None:
        """Cache these sectors; return the range of those that were missing, or none."""
        kept = self._kept
        missing = [s for s in range(first, first + count) if s not in kept]
        for sector in range(first, first + count):
            kept[sector] = None
            kept.move_to_end(sector)
        while len(kept) > self._most:
            kept.popitem(last=False)
        return (missing[0], missing[-1] + 1) if missing else None


def figure_9(
    capacity_mib: int, cache_bytes: int, seeds: Sequence[int], *, look_ahead: int = LOOK_AHEAD, median_kb: float = 2.0
) -> float:
    """Return the score of the small-file test on a partition, the mean over seeds."""
    scores = [
        open_files(
            Machine(Layout(capacity_mib), Drive(look_ahead)), small_files(seed, median_kb=median_kb), cache_bytes
        )
        for seed in seeds
    ]
    return float(np.mean(scores))
