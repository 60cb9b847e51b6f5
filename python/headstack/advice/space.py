"""The systems that advice chooses from, and what is known of them without a simulation.

A *design* is a drive (with its arms) in an organisation. A *kind* is a design with settings: chunk,
queue depth, scheduler, cache policy. A kind and a number of drives are a system. A RAID-5 that is
wider than one group may be is several groups of equal width, striped.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from headstack import _bridge, drives
from headstack.drives import formulas
from headstack.errors import ConfigError
from headstack.results import answer, prices

#: Organisations: how many failed drives they survive, least number of drives. As in md, RAID-10 has
#: any number of drives from two on: two copies of each chunk lie on neighbours.
ORGANISATIONS = {"raid0": (0, 1), "raid10": (1, 2), "raid5": (1, 3)}

#: Most drives of one RAID-5 group unless said.
GROUP = 16

#: Drive operations for a small write.
_WRITES = {"raid0": 1.0, "raid10": 2.0, "raid5": 4.0}

#: Cache policies: the value of ``cache.write_back``.
CACHES = {"write-through": False, "write-back": True}

#: The parameter of an organisation that is the size of its chunks.
_CHUNK_KEYS = {"raid0": "stripe_unit", "raid10": "chunk", "raid5": "chunk"}


@cache
def default_chunk(organisation: str) -> str:
    """Return the size of the chunks of an organisation that leaves it out."""
    (entry,) = (e for e in _bridge.call("plugins")["organisation"] if e["name"] == organisation)
    key = _CHUNK_KEYS[organisation]
    (given,) = (p["default"] for p in entry["parameters"] if p["key"] == key)
    return f"{_bridge.quantity('size', given) / 1024:g} KiB"


@dataclass(frozen=True)
class Load:
    """What closed forms need of a workload.

    Attributes:
        rate_per_s: requests per second, growth included.
        read_ratio: share of reads.
        mean_bytes: of reads and writes.
        n_requests: number of requests of a whole run.
        span_bytes: end of the used addresses.
    """

    rate_per_s: float
    read_ratio: float
    mean_bytes: float
    n_requests: int
    span_bytes: int


@dataclass(frozen=True)
class Design:
    """A drive in an organisation.

    Attributes:
        drive: its name or path.
        dash: stacks, arms, surfaces and heads in place of the drive's own; or None.
        organisation: one of `ORGANISATIONS`.
        price: what one costs in US dollars (low, high), in place of the file's; or None.
        group: most drives of one group of ``raid5``.
    """

    drive: str
    dash: str | None
    organisation: str
    price: tuple[float, float] | None = field(default=None, compare=False)
    group: int = GROUP

    @property
    def label(self) -> str:
        """What tells it apart, in few words."""
        return f"{self.drive}{f' {self.dash}' if self.dash else ''}, {self.organisation}"

    @cached_property
    def _facts(self) -> dict[str, Any]:
        spec: dict[str, Any] = dict(drives.load(self.drive))
        if self.dash is not None:
            spec["dash"] = self.dash
        return {**drives.described(spec, self.drive), "spec": spec}

    @property
    def capacity_bytes(self) -> int:
        """Capacity of one drive."""
        return int(self._facts["capacity_bytes"])

    @property
    def idle_w(self) -> float:
        """Power of one drive without work: less than that a run never draws."""
        return float(self._facts["power_w"]["idle"])

    @property
    def usd(self) -> tuple[float, float] | None:
        """Price of one drive, low and high, if it is known."""
        if self.price is not None:
            return self.price
        cost = self._facts["cost_usd"]
        return None if not cost or cost["low"] is None else (cost["low"], cost["high"])

    @property
    def price_kind(self) -> str | None:
        """Kind of its price: prices of different kinds do not compare. None without a price."""
        if self.usd is None:
            return None
        return prices.KIND if self.price is not None else str(self._facts["spec"]["cost"]["model"])

    @property
    def n_actuators(self) -> int:
        """Number of arm assemblies."""
        return int(self._facts["n_actuators"])

    @property
    def has_logical_units(self) -> bool:
        """Whether the host sees each actuator as a unit of its own."""
        return bool((self._facts["spec"].get("parallelism") or {}).get("logical_units"))

    @property
    def has_buffer(self) -> bool:
        """Whether the drive has a buffer that its file describes."""
        return "cache" in self._facts["spec"]

    @property
    def survives(self) -> int:
        """How many failed drives its data survive."""
        return ORGANISATIONS[self.organisation][0]

    @property
    def rebuild_s(self) -> float | None:
        """Least time in which a failed drive is rebuilt; None if its data are lost."""
        if not self.survives:
            return None
        rates = self._facts["sustained_bytes_per_s"]
        mean = (rates["outer"] + rates["inner"]) / 2
        return float(formulas.rebuild_time_s(self.capacity_bytes, mean))

    def groups(self, count: int) -> int:
        """Return in how many groups with redundancy of their own these drives are."""
        return -(-count // self.group) if self.organisation == "raid5" else 1

    def arranged(self, count: int) -> str:
        """Return the organisation of a number of drives in words."""
        n = self.groups(count)
        return self.organisation + (f" in {n} groups of {count // n}" if n > 1 else "")

    def usable_bytes(self, count: int) -> int:
        """Return the capacity of a number of drives."""
        system = Kind(self, default_chunk(self.organisation), None, None, None).system(count)
        return answer.capacity(system, [self._facts["logical_unit_blocks"]] * count) or 0

    def counts(self, most: int) -> list[int]:
        """Return the numbers of drives that it may have; groups are of equal width."""
        least = ORGANISATIONS[self.organisation][1]
        return [n for n in range(least, most + 1) if n % self.groups(n) == 0]

    def utilisation(self, load: Load, count: int) -> float:
        """Return the estimated share of time in which arms work, requests served in order.

        By `headstack.drives.formulas.access_time_s`, with the operations that writes need. Buffers and
        reordering make it less.
        """
        rates = self._facts["sustained_bytes_per_s"]
        access = formulas.access_time_s(
            0.0,
            self._facts["average_seek_s"],
            60.0 / self._facts["rotation_s"],
            load.mean_bytes,
            (rates["outer"] + rates["inner"]) / 2 / self.n_actuators,
        )
        writes = 1 - load.read_ratio
        operations = load.read_ratio + writes * _WRITES[self.organisation]
        return float(load.rate_per_s * operations * access / (count * self.n_actuators))


@dataclass(frozen=True)
class Kind:
    """A design with settings; None is what the drive's file says.

    Attributes:
        design: drive and organisation.
        chunk: contiguous data per drive.
        queue_depth: commands that the drive may reorder.
        scheduler: order of commands in the drive.
        cache: one of `CACHES`.
    """

    design: Design
    chunk: str
    queue_depth: int | None
    scheduler: str | None
    cache: str | None

    @property
    def settings(self) -> str:
        """The settings in few words."""
        said = []
        if self.queue_depth is not None:
            said.append(f"depth {self.queue_depth}")
        if self.scheduler is not None:
            said.append(self.scheduler)
        if self.cache is not None:
            said.append(self.cache)
        return ", ".join([*(said or ["as the drive's file"]), f"chunk {self.chunk}"])

    def system(self, count: int, name: str = "candidate") -> dict[str, Any]:
        """Return the table of the system with this number of drives."""
        d = self.design
        volume: dict[str, Any] = {"name": d.organisation, _CHUNK_KEYS[d.organisation]: self.chunk}
        table: dict[str, Any] = {"name": name, "drive": d.drive, "count": count}
        table["organisation"] = volume
        width = count // d.groups(count)
        if width < count:
            # Striped by whole rows, so that what fills a row of one group reads nothing first.
            row = (width - 1) * int(_bridge.quantity("size", self.chunk))
            table["organisation"] = {"name": "raid0", "stripe_unit": f"{row} B"}
            table["layers"] = [{**volume, "of": width}]
        if d.dash is not None:
            table["dash"] = d.dash
        if self.queue_depth is not None:
            table["queue_depth"] = self.queue_depth
        if self.scheduler is not None:
            table["scheduler"] = self.scheduler
        if self.cache is not None:
            table["cache"] = {"write_back": CACHES[self.cache]}
        return table


def designs(
    names: Sequence[str],
    dashes: Sequence[str | None],
    organisations: Sequence[str],
    table: Mapping[str, tuple[float, float]],
    group: int = GROUP,
) -> list[Design]:
    """Return all designs, without those that are not supported.

    A drive whose actuators are units of their own has no redundancy here: a drive that fails would
    take two members with it.

    Raises:
        ConfigError: a drive cannot be used.
    """
    found = []
    for name in names:
        for dash in dashes:
            for organisation in organisations:
                design = Design(name, dash, organisation, table.get(name), group)
                if design.has_logical_units and design.survives:
                    continue
                found.append(design)
    if not found:
        raise ConfigError(
            "advise: got no design, need one; hint: drives whose actuators are logical units have only raid0 here"
        )
    return found


def kinds(
    design: Design,
    depths: Sequence[int | None],
    schedulers: Sequence[str | None],
    caches: Sequence[str | None],
    chunks: Sequence[str | None] = (None,),
) -> list[Kind]:
    """Return the kinds of a design; the first one is where a search begins."""
    # A drive without a buffer completes all writes on the medium.
    policies = caches if design.has_buffer else caches[:1] and [None]
    sizes = dict.fromkeys(chunk or default_chunk(design.organisation) for chunk in chunks)
    return [Kind(design, chunk, d, s, c) for chunk in sizes for c in policies for s in schedulers for d in depths]
