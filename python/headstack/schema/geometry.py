"""Geometry of a drive; written by `scripts/schema_types.py`, do not edit."""

from collections.abc import Sequence
from typing import Literal, Required, TypeAlias, TypedDict

from headstack.schema.quantities import Length, RotationSpeed, Size
from headstack.schema.words import Sparing


class Zone(TypedDict, total=False):
    """Cylinders with the same track format."""

    first_cylinder: Required[int]
    """First cylinder. 0 to the disk's last."""

    last_cylinder: Required[int]
    """Last cylinder, inclusive. At most the disk's last."""

    sectors_per_track: Required[int | Sequence[int]]
    """Physical sectors per track: one number for all surfaces, or one for each. 1 to 10000000."""

    track_skew: float
    """Angle between the first sectors of successive tracks of a cylinder, in `skew_unit`. -1000000000 to 1000000000.
    Default: 0.0."""

    cylinder_skew: float
    """Angle between the last track of a cylinder and the first track of the next, in `skew_unit`. -1000000000 to
    1000000000. Default: 0.0."""

    offset: float
    """Angle of the zone's first sector, in `skew_unit`. -1000000000 to 1000000000. Default: 0.0."""

    empty_sectors: int
    """Sectors at the front of the zone that have no address. Fewer than the zone has. Default: 0."""

    spares: int
    """Spare sectors (tracks, with `sparing = "tracks"`) per zone, cylinder, track or range. Default: 0."""

    slips: Sequence[int]
    """Slipped sectors: physical indices from the zone's start (tracks, with `sparing = "tracks"`). Within the zone."""

    remaps: Sequence[Sequence[int]]
    """Remapped sectors: `[from, to]`, physical indices from the zone's start. Within the zone. Each: 2 entries."""


class GeometryCommon(TypedDict, total=False):
    """Keys that each of these tables has."""

    rotation_speed: Required[RotationSpeed]
    """Spindle speed. 1 rpm to 1000000 rpm. Unit: rpm."""

    surfaces: Required[int]
    """Recording surfaces (heads). 1 to 1024."""

    cylinders: Required[int]
    """Tracks per surface that the arm can reach, spare areas included; with the layout `adaptive`, tracks of a surface
    of nominal density, at most a quarter of the bound. 1 to 50000000."""

    sector_size: Size
    """Size of a physical sector: 512 B or 4 KiB. Addresses count 512-byte blocks in both cases. Unit: one of B, kB, MB,
    GB, TB, KiB, MiB, GiB, TiB. Default: "512 B"."""

    skew_unit: Literal["sectors", "turns"]
    """Whether skews and offsets are in sectors or in turns. `sectors`: Sectors of the zone; fractions are dropped;
    `turns`: Turns. Default: "sectors"."""

    sparing: Sparing
    """Where spare sectors lie, and how slipped sectors shift later ones. `none`: No spares, no slips; `tracks`: Spare
    tracks at the end of the zone; whole tracks are slipped. (1); `cylinder-end`: Spare sectors at the end of each
    cylinder; slips shift data inside it. (2); `track-end`: Spare sectors at the end of each track; slips shift data
    inside it. (3); `cylinder-end-slip-to-zone-end`: As `cylinder-end`, but slips shift data up to the end of the zone.
    (4); `cylinder-front`: Spare sectors at the front of each cylinder; slips shift data inside it. (5);
    `cylinder-front-slip-to-zone-end`: As `cylinder-front`, but slips shift data up to the end of the zone. (6);
    `disk-end`: Spares at the end of the disk. (7); `range`: Spares at the end of each range of cylinders. (8);
    `zone-end`: Spares at the end of the zone. (9); `zone-end-slip-to-disk-end`: As `zone-end`, but slips use spares at
    the end of the disk. (10). Default: "none"."""

    sparing_range_cylinders: int
    """Cylinders per range of `sparing = "range"`. 0 to 50000000. Default: 1."""

    zones: Required[Sequence[Zone]]
    """The zones in order of address. 1 to 65535."""

    capacity_blocks: int
    """Number of 512-byte blocks that the drive offers, if it is less than its zones hold. 1 to 70368744177664."""


class GeometryCylinderMajor(GeometryCommon, total=False):
    """No parameters."""

    layout: Literal["cylinder-major", "serpentine", "serpentine-disk"]
    """The order of addresses."""


class GeometryBanded(GeometryCommon, total=False):
    """Parameters of `banded`."""

    layout: Required[Literal["banded"]]
    """The order of addresses."""

    band_cylinders: Required[int]
    """Cylinders per band; the last band of a zone may be narrower. 1 or more."""


class Density(TypedDict, total=False):
    """The densities of a surface as factors on the nominal ones."""

    bpi: Required[float]
    """Factor on the bits per inch of a track. 0.25 to 4."""

    tpi: Required[float]
    """Factor on the tracks per inch. 0.25 to 4."""


class SurfaceZone(TypedDict, total=False):
    """The format of a surface in a zone, as drives report it."""

    tracks_per_band: Required[int]
    """Tracks in a full band, at most four times `band_cylinders`. 1 to 200000000."""

    sectors_per_track: Required[int]
    """Sectors of a track. 1 to 10000000."""


class GeometryAdaptive(GeometryCommon, total=False):
    """The keys that this layout adds to `[geometry]`."""

    layout: Required[Literal["adaptive"]]
    """The order of addresses."""

    band_cylinders: Required[int]
    """Radial width of a band, in nominal tracks, the same on every surface. The last band of a zone may be narrower. 1
    to 50000000."""

    density: Density | Sequence[Density]
    """Factors on the nominal bits and tracks per inch, 0.25 to 4: one entry for each surface, or one for all."""

    surface_zones: Sequence[Sequence[SurfaceZone]]
    """Instead of `density`: for each surface a list with one `{ tracks_per_band, sectors_per_track }` for each zone."""

    head_order: Literal["same", "alternate"]
    """The order of the heads in successive bands. `same`: From the first head to the last in every band; `alternate`:
    From the last to the first in every other band. Default: "same"."""

    direction: Literal["inward", "serpentine"]
    """The order of the tracks of a band on one surface. `inward`: Inward on every surface; `serpentine`: Inward on even
    heads, outward on odd ones. Default: "inward"."""

    outer_radius: Length
    """Radius of the outer edge of the first cylinder ("46 mm"); it changes no time. 0.001 m to 1 m. Unit: one of mm,
    cm, m, um, in."""

    inner_radius: Length
    """Radius of the inner edge of the last cylinder, less than the outer radius; it changes no time. 0.001 m to 1 m.
    Unit: one of mm, cm, m, um, in."""


class GeometryExtents(GeometryCommon, total=False):
    """The parameters: the map."""

    layout: Required[Literal["extents"]]
    """The order of addresses."""

    extents: Required[Sequence[Sequence[int]]]
    """Runs of addresses, in any order: `[first address, count, cylinder, head, first sector]`. Each: 5 entries."""

    extent_defects: Sequence[Sequence[int]]
    """Sectors that belong to no run, for a check: `[cylinder, head, sector]`. Each: 3 entries."""


Geometry: TypeAlias = GeometryCylinderMajor | GeometryBanded | GeometryAdaptive | GeometryExtents
"""One of these, by its key `layout`."""
