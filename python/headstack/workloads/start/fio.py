"""Job files of fio as jobs of an experiment.

# Model

A job of fio becomes one entry of ``[[workload.jobs]]``: `numjobs` and `iodepth` become threads
that each wait for their request. What decides which requests come and when is translated; options
that do not are ignored; every other option is an error with its line, because a load that silently
differs is worse than none.

# Source

fio 3.33, ``HOWTO.rst``, ``options.c`` and ``parse.c``. Sizes: ``k``, ``kb`` and ``ki`` are 1024 and
``kib`` 1000, unless ``kb_base=1000``. Times: seconds, but microseconds for ``thinktime``.

# Validity

fio reads each place of a job once before it reads one again (unless ``norandommap``); here places
are drawn with replacement. A sequential job of fio begins at the start of its space; here at a
random place. The flush after the last write of a job (``end_fsync``) is left out.
"""

import math
import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from headstack.errors import ConfigError
from headstack.suggest import did_you_mean

#: Engines that have one request under way, whatever `iodepth` says.
_ONE = frozenset({"sync", "psync", "vsync", "pvsync", "pvsync2"})

#: Engines that have `iodepth` requests under way.
_SEVERAL = frozenset({"libaio", "io_uring", "posixaio", "solarisaio", "windowsaio"})

#: Other names of options.
_ALSO = {
    "readwrite": "rw",
    "blocksize": "bs",
    "blocksize_range": "bsrange",
    "ba": "blockalign",
    "filesize": "size",
    "io_limit": "io_size",
    "wait_for_previous": "stonewall",
}

#: Options that have no effect on which requests come, or when.
_IGNORED = frozenset(
    """
    name description group_reporting new_group thread cpus_allowed cpus_allowed_policy nice prio
    prioclass numa_cpu_nodes randrepeat allrandrepeat randseed random_generator norandommap
    softrandommap write_bw_log write_lat_log write_iops_log write_hist_log log_avg_msec
    log_hist_msec log_max_value log_offset log_compression per_job_logs bandwidth_log bwavgtime
    iopsavgtime disk_util gtod_reduce disable_lat disable_clat disable_slat disable_bw
    clat_percentiles lat_percentiles slat_percentiles percentile_list significant_figures
    continue_on_error exitall exitall_on_error invalidate create_on_open create_serialize
    create_fsync create_only fallocate pre_read unlink unlink_each_loop overwrite zero_buffers
    refill_buffers scramble_buffers buffer_pattern buffer_compress_percentage
    buffer_compress_chunk dedupe_percentage mem iomem lockmem fadvise_hint userspace_reap hipri
    fixedbufs registerfiles sqthread_poll sqthread_poll_cpu nonvectored end_fsync fsync_on_close
    write_iolog status-interval eta output output-format kb_base unit_base time_based
    """.split()  # noqa: SIM905
)

#: Options that are translated.
_KNOWN = frozenset(
    """
    rw bs bssplit bsrange blockalign iodepth numjobs rwmixread rwmixwrite rate_iops rate
    rate_process thinktime thinktime_blocks random_distribution percentage_random fsync fdatasync
    sync size io_size offset offset_increment number_ios loops runtime timeout ramp_time startdelay
    filename directory ioengine direct buffered stonewall
    """.split()  # noqa: SIM905
)

#: Most entries that the jobs of one section become.
_MOST_ENTRIES = 64

#: Most sizes of a `bssplit`.
_MOST_SIZES = 16


class Option(NamedTuple):
    """An option with its place."""

    value: str
    where: str


class Read(NamedTuple):
    """What a job file says."""

    #: Entries of ``[[workload.jobs]]``.
    jobs: list[dict[str, Any]]
    #: Bytes from the beginning to the end of what is used on each device.
    devices: list[int]
    #: Requests per second of all jobs, if each has a rate.
    rate: float | None
    #: Time that statistics leave out.
    warm_up: str | None
    #: What differs, in sentences.
    notes: list[str]


def size_text(size: int) -> str:
    """Return a number of bytes with the largest unit that leaves it whole.

    Example:
        >>> size_text(20 << 30), size_text(4096), size_text(1000)
        ('20 GiB', '4 KiB', '1000 B')
    """
    for power, unit in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
        if size and size % (1 << (10 * power)) == 0:
            return f"{size >> (10 * power)} {unit}"
    return f"{size} B"


def _time_text(seconds: float) -> str:
    """Return a length of time with a unit that leaves no small fraction."""
    for factor, unit in ((1.0, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.12g} {unit}"
    return f"{seconds * 1e6:.12g} us"


def _not_supported(option: Option, key: str, need: str) -> ConfigError:
    return ConfigError(f'{option.where}: {key}: got "{option.value}", need {need}: not supported')


def sections(text: str, name: str, given: Mapping[str, str]) -> dict[str, dict[str, Option]]:
    """Return the options of each job; those of ``[global]`` are in each job below it.

    Args:
        text: the file.
        name: its name, for messages.
        given: options that replace those of all jobs.

    Raises:
        ConfigError: a line is no option, or the option is not known.
    """
    jobs: dict[str, dict[str, Option]] = {}
    common: dict[str, Option] = {}
    current: dict[str, Option] | None = None
    for number, raw in enumerate(text.splitlines(), 1):
        line, where = raw.strip(), f"{name}:{number}"
        if not line or line[0] in "#;":
            continue
        if line.startswith("include "):
            raise ConfigError(f'{where}: got "{line}", need the options themselves: not supported')
        if line.startswith("["):
            title = line.partition("]")[0][1:].strip()
            if not line.rstrip().endswith("]") or not title:
                raise ConfigError(f'{where}: got "{line}", need a section, such as [job]')
            if title == "global":
                current = common
                continue
            while title in jobs:
                title += "'"
            current = jobs[title] = dict(common)
            continue
        if current is None:
            raise ConfigError(f'{where}: got "{line}", need a section before it, such as [global]')
        key, equals, value = (part.strip() for part in line.partition("="))
        key = _checked(key, where)
        current[key] = Option(value if equals else "1", where)
        if "${" in value:
            need = "a value instead of a variable of the environment"
            raise _not_supported(current[key], key, need)
    if not jobs:
        raise ConfigError(f"{name}: got no job, need a section with rw, bs and size")
    for key, value in given.items():
        known = _checked(key, "--set")
        for options in jobs.values():
            options[known] = Option(value, "--set")
    return jobs


def _checked(key: str, where: str) -> str:
    key = _ALSO.get(key, key)
    if key not in _KNOWN and key not in _IGNORED:
        known = f"a file without it{did_you_mean(key, _KNOWN)}"
        raise ConfigError(f'{where}: got option "{key}", need {known}: not supported')
    return key


def read(text: str, name: str, given: Mapping[str, str]) -> Read:
    """Return the jobs of a file.

    Raises:
        ConfigError: an option is wrong, or its meaning cannot be said by jobs of an experiment.
    """
    space, clock = _Space(), _Clock()
    entries: list[dict[str, Any]] = []
    notes: dict[str, None] = {}
    for title, options in sections(text, name, given).items():
        job = _Job(title, options, notes)
        if "stonewall" in options and job.flag("stonewall"):
            clock.wait(options["stonewall"])
        entries += job.entries(space, clock)
    if len(clock.warm_ups) > 1:
        raise ConfigError(f"{name}: ramp_time: got several, need one for all jobs: not supported")
    warm_up = next(iter(clock.warm_ups), 0.0)
    rates = [e.get("rate_of_all") for e in entries]
    for entry in entries:
        entry.pop("rate_of_all", None)
    rate = sum(r for r in rates if r is not None) if None not in rates else None
    shown = f"{warm_up:g} s" if warm_up else None
    return Read(entries, space.ends, rate, shown, list(notes))


class _Space:
    """The devices and the files on them: what has no name of a device gets a place of its own."""

    def __init__(self) -> None:
        self.ends: list[int] = []
        self._devices: dict[str, int] = {}
        self._files: dict[str, int] = {}

    def place(self, path: str, size: int) -> tuple[int, int]:
        """Return device and first byte of a file, which lies on device 0 unless it is a device."""
        if path.startswith("/dev/"):
            number = self._devices.setdefault(path, len(self._devices))
            self._reach(number, 0)
            return number, 0
        # All files are on one device, behind one another.
        number = self._devices.setdefault("files", len(self._devices))
        self._reach(number, 0)
        if path not in self._files:
            self._files[path] = -(-self.ends[number] // (1 << 20)) << 20
            self._reach(number, self._files[path] + size)
        return number, self._files[path]

    def _reach(self, number: int, end: int) -> None:
        self.ends += [0] * (number + 1 - len(self.ends))
        self.ends[number] = max(self.ends[number], end)

    def use(self, number: int, end: int) -> None:
        """Count what a job uses of a device."""
        self._reach(number, end)


class _Clock:
    """When jobs begin: together, or behind a `stonewall`."""

    def __init__(self) -> None:
        self.begin = 0.0
        self.warm_ups: set[float] = set()
        self._end: float | None = 0.0

    def wait(self, option: Option) -> None:
        """Let the following jobs begin at the end of those before."""
        if self._end is None:
            need = "runtime and time_based in all jobs before: their end is not known otherwise"
            raise _not_supported(option, "stonewall", need)
        self.begin = self._end

    def runs(self, until: float | None) -> None:
        """Count a job that runs until a time; None: until it has done its volume."""
        if until is None or self._end is None:
            self._end = None
        else:
            self._end = max(self._end, until)


class _Job:
    """One section of a file."""

    def __init__(self, title: str, options: dict[str, Option], notes: dict[str, None]) -> None:
        self.title = title
        self.options = options
        self.notes = notes

    # Values of options, with their units.

    def _option(self, key: str, default: str) -> Option:
        return self.options.get(key) or Option(default, f"job {self.title}")

    def wrong(self, key: str, need: str) -> ConfigError:
        option = self._option(key, "nothing")
        return ConfigError(f'{option.where}: {key}: got "{option.value}", need {need}')

    def unsupported(self, key: str, need: str) -> ConfigError:
        return _not_supported(self._option(key, "nothing"), key, need)

    def flag(self, key: str) -> bool:
        value = self._option(key, "0").value
        if value not in ("0", "1"):
            raise self.wrong(key, "0 or 1")
        return value == "1"

    def whole(self, key: str, default: int, least: int = 0) -> int:
        option = self.options.get(key)
        if option is None:
            return default
        try:
            value = int(option.value)
        except ValueError:
            value = least - 1
        if value < least:
            raise self.wrong(key, f"a whole number, {least} or more")
        return value

    def real(self, key: str, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not 0 <= value < math.inf:
            raise self.wrong(key, "a number that is not negative")
        return value

    def bytes(self, key: str, text: str) -> int:
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgtp]?)(i?)(b?)", text.strip().lower())
        if found is None:
            if "%" in text:
                raise self.unsupported(key, "a size in bytes instead of a share of the device")
            raise self.wrong(key, "a size, such as 4k")
        number, prefix, i, b = found.groups()
        # By default fio gives k and kib each other's meaning; ki is k.
        decimal = (i + b == "ib") != (self.whole("kb_base", 1024) == 1000)
        factor = (1000 if decimal else 1024) ** ("kmgtp".index(prefix) + 1) if prefix else 1
        return int(float(number) * factor)

    def seconds(self, key: str, default_unit: float = 1.0) -> float:
        option = self.options.get(key)
        if option is None:
            return 0.0
        units = {"": default_unit, "d": 86400, "h": 3600, "m": 60, "s": 1, "sec": 1}
        units |= {"ms": 1e-3, "msec": 1e-3, "us": 1e-6, "usec": 1e-6}
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", option.value.lower())
        if found is None or found[2] not in units:
            raise self.wrong(key, "a length of time, such as 30s")
        return float(found[1]) * units[found[2]]

    def of_direction(self, key: str, default: str) -> str:
        """Return the part of a value for the job's direction, as in ``bs=4k,64k``."""
        parts = [part.strip() for part in self._option(key, default).value.split(",")]
        reads, writes = parts[0], parts[1] if len(parts) > 1 and parts[1] else parts[0]
        share = self.reads()
        if share in (0.0, 1.0):
            return reads if share else writes
        if reads != writes:
            raise self.unsupported(key, "one value for reads and writes that are mixed")
        return reads

    # What the options mean.

    def mode(self) -> str:
        value = self._option("rw", "read").value.lower()
        modes = ("read", "write", "randread", "randwrite", "randrw", "rw", "readwrite")
        if value not in modes:
            if value.partition(":")[0] in modes or "trim" in value:
                raise self.unsupported("rw", f"one of {', '.join(modes[:5])}")
            raise self.wrong("rw", f"one of {', '.join(modes[:5])}{did_you_mean(value, modes)}")
        if value in ("rw", "readwrite"):
            need = "randrw: reads and writes that are each in order and mixed"
            raise self.unsupported("rw", need)
        return value

    def reads(self) -> float:
        mode = self.mode()
        if mode != "randrw":
            return 1.0 if mode.endswith("read") else 0.0
        if "rwmixwrite" in self.options and "rwmixread" not in self.options:
            return 1.0 - min(self.whole("rwmixwrite", 50), 100) / 100
        return min(self.whole("rwmixread", 50), 100) / 100

    def sizes(self) -> tuple[Any, int, float]:
        """Return the value of `size`, the step of places and sizes, and the mean size."""
        given = [key for key in ("bssplit", "bsrange") if key in self.options]
        if given == ["bsrange"]:
            low, dash, high = self.of_direction("bsrange", "").partition("-")
            least, most = self.bytes("bsrange", low), self.bytes("bsrange", high or low)
            if not dash or not 0 < least <= most or most % least:
                raise self.wrong("bsrange", "a range whose end is a multiple of its beginning")
            spread = {"distribution": "uniform", "min": size_text(least), "max": size_text(most)}
            return spread, self.step(least), (least + most) / 2
        if given:
            return self.split()
        size = self.bytes("bs", self.of_direction("bs", "4k"))
        if size <= 0 or size % 512:
            raise self.wrong("bs", "a multiple of 512 bytes")
        return size_text(size), self.step(size), float(size)

    def split(self) -> tuple[Any, int, float]:
        """Return the same of a `bssplit`."""
        pairs = [part.partition("/") for part in self.of_direction("bssplit", "").split(":")]
        values = [self.bytes("bssplit", size) for size, _, _ in pairs]
        shares = [self.real("bssplit", share) if share else None for _, _, share in pairs]
        if min(values) <= 0 or len(values) > _MOST_SIZES:
            raise self.wrong("bssplit", f"1 to {_MOST_SIZES} sizes, such as 4k/60:64k/40")
        told = [s for s in shares if s is not None]
        if sum(told) > 100:
            raise self.wrong("bssplit", "shares of at most 100 % in all")
        # Sizes without a share divide what is left.
        rest = (100 - sum(told)) / max(1, len(shares) - len(told))
        weights = [rest if s is None else s for s in shares]
        if sum(weights) <= 0:
            raise self.wrong("bssplit", "a share above 0")
        step = self.step(math.gcd(*values))
        mean = sum(v * w for v, w in zip(values, weights, strict=True)) / sum(weights)
        texts = [size_text(v) for v in values]
        return {"distribution": "choice", "values": texts, "weights": weights}, step, mean

    def step(self, size: int) -> int:
        if "blockalign" in self.options:
            align = self.bytes("blockalign", self.of_direction("blockalign", ""))
            if align != size:
                raise self.unsupported("blockalign", f"{size}, the step of sizes")
        if size % 512:
            raise self.wrong("bs", "multiples of 512 bytes")
        return size

    def depth(self) -> int:
        engine = self._option("ioengine", "psync").value
        if engine in _ONE:
            return 1
        if engine not in _SEVERAL:
            raise self.unsupported("ioengine", f"one of {', '.join(sorted(_ONE | _SEVERAL))}")
        return self.whole("iodepth", 1, 1)

    def check_cache(self) -> None:
        """Refuse requests that go through the host's page cache."""
        direct = self.flag("direct") if "direct" in self.options else False
        if "buffered" in self.options and not self.flag("buffered"):
            direct = True
        if not direct:
            key = "direct" if "direct" in self.options else "buffered"
            option = self._option(key, "nothing")
            need = "direct=1, also by --set direct=1: the host's page cache is not supported"
            raise ConfigError(f'{option.where}: direct: got "{option.value}", need {need}')

    def requests(self) -> tuple[dict[str, Any], float]:
        """Return the table `requests` without its space, and the mean size."""
        size, step, mean = self.sizes()
        table: dict[str, Any] = {"reads": self.reads(), "size": size, "block": size_text(step)}
        share = self.whole("percentage_random", 100)
        sequential = 1.0 if self.mode() in ("read", "write") else 1.0 - min(share, 100) / 100
        if sequential and self.reads() not in (0.0, 1.0):
            raise self.unsupported("percentage_random", "100 where reads and writes are mixed")
        if sequential:
            table["sequential"] = sequential
        word, _, parameter = self._option("random_distribution", "random").value.partition(":")
        if word == "zipf" and parameter:
            theta = parameter.partition(":")[0]
            table["zipf"] = self.real("random_distribution", theta)
        elif word != "random":
            raise self.unsupported("random_distribution", "random or zipf:THETA")
        sync = self._option("sync", "0").value
        if sync not in ("0", "none", "1", "sync", "dsync"):
            raise self.wrong("sync", "one of none, sync, dsync")
        if sync not in ("0", "none"):
            table["write_through"] = 1.0
        return table, mean

    def pace(self, mean: float, depth: int) -> tuple[dict[str, Any], float | None]:
        """Return keys of an entry that say how fast it is, and requests per second of one job."""
        keys: dict[str, Any] = {}
        think = self.seconds("thinktime", 1e-6)
        if think:
            if depth > 1:
                raise self.unsupported("thinktime", "iodepth=1: fio pauses all of a job's requests")
            if self.whole("thinktime_blocks", 1, 1) != 1:
                raise self.unsupported("thinktime_blocks", "1")
            keys["think_time"] = _time_text(think)
        rate = self.rate(mean)
        if rate is None:
            return keys, None
        process = self._option("rate_process", "linear").value
        if process == "linear":
            keys["rate"] = f"{rate / depth:g}/s"
        elif process == "poisson" and not think:
            # Requests come at random, whether others have ended or not.
            mean_gap = {"distribution": "exponential", "mean": _time_text(1 / rate)}
            keys |= {"think_time": mean_gap, "blocking": 0.0}
            self.notes[
                f"{self.title}: with rate_process=poisson fio has at most iodepth requests under "
                "way, here there is no limit."
            ] = None
        else:
            raise self.unsupported("rate_process", "linear, or poisson without thinktime")
        return keys, rate

    def rate(self, mean: float) -> float | None:
        """Return the requests per second of one job; fio's limits hold for each direction."""
        found = None
        for key, scale in (("rate_iops", 1.0), ("rate", 1.0 / mean)):
            option = self.options.get(key)
            if option is None:
                continue
            parts = [part.strip() for part in option.value.split(",")]
            limits = [float(self.bytes(key, p)) * scale if p else math.inf for p in parts[:2]]
            reads = self.reads()
            shares = (reads, 1.0 - reads)
            limits = limits if len(limits) == 2 else limits * 2
            each = [limit / s for limit, s in zip(limits, shares, strict=True) if s > 0]
            total = min(each)
            if total <= 0:
                raise self.wrong(key, "a rate above 0")
            found = min(total, math.inf if found is None else found)
        return None if found is None or found == math.inf else found

    def flushes(self, depth: int) -> dict[str, Any]:
        counts = [self.whole(key, 0) for key in ("fsync", "fdatasync")]
        every = [n for n in counts if n]
        if not every or self.reads() == 1.0:
            return {}
        key = "fsync" if counts[0] else "fdatasync"
        if self.reads() > 0:
            need = "jobs that only write: between reads fio flushes after each of them"
            raise self.unsupported(key, need)
        if depth > 1:
            need = "iodepth=1: a flush of a job with several requests under way"
            raise self.unsupported(key, need)
        return {"flush_every": min(every)}

    def duration(self, clock: "_Clock") -> tuple[dict[str, Any], bool]:
        """Return keys with beginning and end of the job, and whether its volume ends it as well."""
        key = "runtime" if "runtime" in self.options else "timeout"
        run, ramp = self.seconds(key), self.seconds("ramp_time")
        begin = clock.begin + self.seconds("startdelay")
        clock.warm_ups.add(ramp)
        based = "time_based" in self.options and self.flag("time_based")
        if based and not run:
            raise self.wrong("time_based", "a runtime")
        keys: dict[str, Any] = {"start": f"{begin:g} s"} if begin else {}
        if run:
            keys["duration"] = f"{run + ramp:g} s"
        clock.runs(begin + run + ramp if based else None)
        return keys, not based

    def volume(self, size: int, mean: float) -> int:
        """Return the bytes after which one job ends."""
        total = size
        if "io_size" in self.options:
            total = self.bytes("io_size", self.options["io_size"].value)
        total *= self.whole("loops", 1, 1)
        if "number_ios" in self.options:
            total = min(total, round(self.whole("number_ios", 1, 1) * mean))
        return total

    def entries(self, space: _Space, clock: _Clock) -> list[dict[str, Any]]:
        """Return the entries of ``[[workload.jobs]]``."""
        self.check_cache()
        jobs, depth = self.whole("numjobs", 1, 1), self.depth()
        table, mean = self.requests()
        pace, rate = self.pace(mean, depth)
        size = self.space()
        keys, by_volume = self.duration(clock)
        if by_volume:
            keys["volume"] = size_text(self.volume(size, mean))
        keys |= self.flushes(depth)
        shift = 0
        if "offset_increment" in self.options:
            shift = self.bytes("offset_increment", self.options["offset_increment"].value)
        offset = self.bytes("offset", self._option("offset", "0").value)
        named = self.options.get("filename")
        paths = named.value.split(":") if named else []
        if len(paths) > 1:
            raise self.unsupported("filename", "one name")
        # Jobs in one place whose order does not matter are threads of one entry.
        together = bool(paths) and not shift and not table.get("sequential")
        groups = 1 if together else jobs
        if groups > _MOST_ENTRIES:
            raise self.unsupported("numjobs", f"at most {_MOST_ENTRIES} with places of their own")
        found = []
        for number in range(groups):
            path = paths[0] if paths else f"{self.title}.{number}.0"
            if not path.startswith("/dev/"):
                path = os.path.join(self._option("directory", "").value, path)
            device, first = space.place(path, offset + size)
            start = first + offset + shift * number
            if start % 512:
                raise self.wrong("offset", "a multiple of 512 bytes")
            space.use(device, start + size)
            entry: dict[str, Any] = {
                "name": self.title if groups == 1 else f"{self.title}-{number}",
                "threads": depth * (jobs if together else 1),
                **({"first_device": device} if device else {}),
                **pace,
                **keys,
                **({"offset": size_text(start)} if start else {}),
                "requests": {**table, "footprint": size_text(size)},
                "rate_of_all": None if rate is None else rate * (jobs if together else 1),
            }
            if together and by_volume:
                entry["volume"] = size_text(self.volume(size, mean) * jobs)
            found.append(entry)
        return found

    def space(self) -> int:
        option = self.options.get("size")
        if option is None:
            raise ConfigError(
                f"job {self.title}: size: got nothing, need the bytes that are used, also by "
                "--set size=10g: what the device has is not known here"
            )
        size = self.bytes("size", option.value)
        if size < 512:
            raise self.wrong("size", "512 bytes or more")
        return size // 512 * 512
