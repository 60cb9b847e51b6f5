"""Mappings of addresses to places; written by `scripts/schema_types.py`, do not edit."""

from collections.abc import Mapping
from typing import Literal, Required, TypeAlias, TypedDict

from headstack.schema.models import EagerParameters
from headstack.schema.quantities import LengthOfTime, Size
from headstack.schema.words import CleaningPolicyName, WritingPolicyName


class MappingIdentity(TypedDict, total=False):
    """The parameters of `model = "identity"`."""

    model: Required[Literal["identity"]]


class Cleaning(TypedDict, total=False):
    """When and how cylinders are emptied: see `[mapping.cleaning]`."""

    policy: CleaningPolicyName
    """Which cylinder is emptied, and where its blocks go; `none`: no cleaning. Default: "none"."""

    policy_parameters: Mapping[str, object]
    """Parameters of the policy."""

    low: float
    """Cleaning starts when less than this share of the cylinders is empty. 0 to 1. Default: 0.1."""

    high: float
    """Cleaning stops when this share of the cylinders is empty, `low` or more. 0 to 1. Default: 0.2."""

    pressed: float
    """Cleaning is *pressed* when less than this share of the cylinders is empty, `low` or less: it no longer waits for
    idle time. 0 to 1. Default: 0.0."""

    moves: int
    """When pressed: reads and writes of cleaning after each pass that writes. 1 to 10000. Default: 4."""

    idle_after: LengthOfTime
    """How long the mechanism must have been idle before a block is moved. 0 ms to 86400 s. Unit: one of s, ms, us, ns,
    min, h. Default: "10 ms"."""

    arm: int
    """The arm of each unit that cleans, one that always writes; the first such arm if absent."""


class Recovery(TypedDict, total=False):
    """How the map is restored after a loss of power: see `[mapping.recovery]`."""

    model: Literal["none", "headers", "checkpoint"]
    """How the map is found after a loss of power. `none`: The map need not be restored: it is in nonvolatile memory;
    `headers`: All headers are read; `checkpoint`: The map is written from time to time; headers are read only on the
    tracks written since. Default: "none"."""

    every: int
    """With `checkpoint`: number of slots that are taken between two checkpoints. 1 to 1000000000. Default: 10000."""


class MappingLog(TypedDict, total=False):
    """The parameters of `model = "log"`."""

    model: Required[Literal["log"]]

    block: Size
    """Size of a block: the unit that is mapped. A power of two, at least a physical sector. 512 B to 16777216 B. Unit:
    one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB. Default: "4096 B"."""

    policy: WritingPolicyName
    """Which free slot takes a block. Default: "eager"."""

    policy_parameters: EagerParameters
    """Parameters of the policy."""

    reserve: float
    """Share of the slots that are not offered as capacity. 0 to 0.9. Default: 0.0."""

    initial_blocks: int
    """Number of blocks, counted from block 0, that were written before the run. At most the capacity. Default: 0."""

    initial: Literal["in-order", "spread", "written"]
    """Where these blocks lie. `in-order`: Each in its place of the layout; `spread`: In order of address, with the free
    slots spread evenly over the disk: the state of a disk that has been written at random for a long time; `written`:
    Where the policy writes them, one after the other, starting from the initial positions of the arms. Default:
    "in-order"."""

    initial_interval: LengthOfTime
    """With `initial = "written"`: mean time between two writes, which arrive as a Poisson process. 0 ms to 86400 s.
    Unit: one of s, ms, us, ns, min, h. Default: "100 ms"."""

    cleaning: Cleaning
    """When and how cylinders are emptied: see `[mapping.cleaning]`."""

    recovery: Recovery
    """How the map is restored after a loss of power: see `[mapping.recovery]`. Default: {"model": "none", "every":
    10000}."""


class MappingMediaCache(TypedDict, total=False):
    """The parameters of a drive-managed shingled drive."""

    model: Required[Literal["media-cache"]]

    cache_size: Size
    """Size of the media cache, less than half of the medium. It is not offered as capacity. 1048576 B to 1099511627776
    B. Unit: one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB. Default: "25000000000 B"."""

    cache_extents: int
    """The largest number of extents in the map of the cache, 8 or more; 0: no limit. The cache is full when its sectors
    or its extents are used up. Default: 0."""

    band_size: Size
    """Size of a band, which is written as a whole. The last one may be smaller. 65536 B to 1073741824 B. Unit: one of
    B, kB, MB, GB, TB, KiB, MiB, GiB, TiB. Default: "31457280 B"."""

    cleaning: Literal["aggressive", "lazy"]
    """When bands are cleaned. `aggressive`: Whenever the drive is idle, and when the cache is full; `lazy`: When the
    cache is full. Default: "aggressive"."""

    clean_after: LengthOfTime
    """With `aggressive`: how long the drive must have been idle before it cleans. 0 ms to 3600 s. Unit: one of s, ms,
    us, ns, min, h. Default: "1200 ms"."""

    initial: Literal["empty", "full"]
    """Whether the bands are written at the start. `empty`: Nothing is written; `full`: Everything is written. Default:
    "empty"."""


class MappingZoned(TypedDict, total=False):
    """The parameters of a drive with host-managed zones."""

    model: Required[Literal["zoned"]]

    zone_size: Size
    """Size of a zone: a power of two. The last zone may be smaller. 65536 B to 1099511627776 B. Unit: one of B, kB, MB,
    GB, TB, KiB, MiB, GiB, TiB. Default: "268435456 B"."""

    conventional_zones: int
    """Number of conventional zones, which come first. Absent: one in a hundred, rounded up."""

    max_open_zones: int
    """The largest number of zones with a write pointer that may be open at once; 0: no limit. Default: 128."""

    unrestricted_reads: bool
    """Whether reads may cross zones and pass write pointers (URSWRZ). Default: false."""

    initial: Literal["empty", "full"]
    """The condition of the zones with a write pointer at the start. `empty`: Nothing is written; `full`: Everything is
    written. Default: "empty"."""


MappingModel: TypeAlias = MappingIdentity | MappingLog | MappingMediaCache | MappingZoned
"""One of these, by its key `model`."""
