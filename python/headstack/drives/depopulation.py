"""A drive that goes on without one of its heads: what remains, how long it takes, which data stay.

# Model
A surface holds, in each zone, tracks of equal length: as many as the zone has cylinders, or with
the layout ``adaptive`` ``round(band_cylinders * tpi)`` in each band. Without a head its tracks are
no longer addressed: the zones and bands of the other surfaces stay, and the addresses close up. The
capacity falls by what the surface holds, which the standards call the element's *associated
capacity*.

A long read or write of a zone takes one turn for each track, and between two tracks the skew that
the drive file states. So the mean rate of a zone is its bytes over

    T sum over bands and heads h of  n_h + (n_h - 1) cylinder_skew + track_skew

with `T` the time of a turn and `n_h` the tracks of a band on the surface. For layouts by cylinder a
cylinder of `H` surfaces takes `T (H + (H - 1) track_skew + cylinder_skew)`.

# Source
Removal of a storage element: ACS-5 (REMOVE ELEMENT AND TRUNCATE), SPC-6 and SBC-4, as the product
manual of the Ultrastar DC HC580 describes it (pages 125 to 127): all data are lost, the new
capacity is at most the old one less the associated capacity. With zones (ZBC-2, REMOVE ELEMENT AND
MODIFY ZONES, sg_rem_rest_elem(8) of sg3_utils) the addresses stay, and zones that had blocks on the
head go offline.

# Validity
The time is that of one write of the whole medium, which removal of an element with truncation does;
many drives report no time, and their firmware may be slower. Drives with one arm assembly that
reaches all surfaces, without spare or defective sectors. What the other heads do stays as it was:
performance after a removal has not been published.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstack import _bridge, drives

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Layouts whose cylinders have all surfaces, and those whose bands have one after another.
_BY_CYLINDER = ("cylinder-major", "serpentine", "serpentine-disk")
_BY_BAND = ("banded", "adaptive")
LAYOUTS = (*_BY_CYLINDER, *_BY_BAND)

#: Size of the zones of host-managed drives, unless the file says it.
ZONE_SIZE = "256 MiB"


@dataclass(frozen=True)
class Formats:
    """The tracks of a drive.

    Attributes:
        bands: full bands of each zone, (zones,); a zone of a layout by cylinder has one per
            cylinder.
        tracks: in a full band, (zones, surfaces).
        last_tracks: in the narrower band at the end of a zone, (zones, surfaces); 0 if there is
            none.
        track_bytes: (zones, surfaces).
        track_skew: between surfaces, in turns, (zones,).
        cylinder_skew: between tracks of a surface, in turns, (zones,).
        by_cylinder: whether a band is a cylinder.
        backwards: whether every other band begins with the last head, and in which zones the first
            one does, (zones,).
    """

    bands: Ints
    tracks: Ints
    last_tracks: Ints
    track_bytes: Ints
    track_skew: Floats
    cylinder_skew: Floats
    by_cylinder: bool
    backwards: tuple[bool, NDArray[np.bool_]]

    def held(self) -> Ints:
        """Return the bytes on each surface in each zone, (zones, surfaces)."""
        tracks = self.bands[:, None] * self.tracks + self.last_tracks
        return np.asarray(tracks * self.track_bytes)

    def turns(self) -> Floats:
        """Return the turns of a long read of each zone, (zones,)."""
        surfaces = self.tracks.shape[1]
        if self.by_cylinder:
            switches = (surfaces - 1) * self.track_skew + self.cylinder_skew
            return np.asarray(self.bands * (surfaces + switches))
        switches = surfaces * self.track_skew

        def of(tracks: Ints) -> Floats:
            between = (tracks - 1) * self.cylinder_skew[:, None]
            return np.asarray((tracks + between).sum(axis=1) + switches)

        last = (self.last_tracks > 0).any(axis=1)
        return np.asarray(self.bands * of(self.tracks) + last * of(self.last_tracks))


@dataclass(frozen=True)
class Depopulation:
    """A drive before and after it loses a head.

    Attributes:
        spec: the smaller drive.
        head: that was removed.
        capacity_bytes: before and after.
        zone_bytes: bytes in each zone before and after, (zones, 2); with what the drive does not
            offer.
        zone_rates: mean rate of long reads in each zone before and after, bytes/s, (zones, 2).
        seconds: one write of all that remains.
        zones: of the host: how many keep their data if the addresses stay, and how many there are.
    """

    spec: dict[str, Any]
    head: int
    capacity_bytes: tuple[int, int]
    zone_bytes: Ints
    zone_rates: Floats
    seconds: float
    zones: tuple[int, int]

    def document(self) -> dict[str, Any]:
        """Return the numbers, for JSON."""
        kept, of = self.zones
        return {
            "name": self.spec["name"],
            "head": self.head,
            "capacity_bytes": {"before": self.capacity_bytes[0], "after": self.capacity_bytes[1]},
            "seconds": self.seconds,
            "zones_with_data_kept": {"kept": kept, "of": of},
            "zones": [
                {
                    "zone": z,
                    "bytes": {"before": int(held[0]), "after": int(held[1])},
                    "rate_bytes_per_s": {"before": float(rate[0]), "after": float(rate[1])},
                }
                for z, (held, rate) in enumerate(zip(self.zone_bytes, self.zone_rates, strict=True))
            ],
        }


def _size(value: str) -> int:
    return int(_bridge.quantity("size", value))


def _rounded(values: Floats) -> Ints:
    """Return the nearest whole numbers, halves up, at least one."""
    return np.asarray(np.maximum(np.floor(values + 0.5), 1).astype(np.int64))


def formats(spec: Mapping[str, Any]) -> Formats:
    """Return the tracks of a drive.

    Raises:
        ConfigError: a kind of drive that is not supported.
    """
    _bridge.call("check_depopulation", json.dumps(spec))
    geometry = spec["geometry"]
    surfaces, zones = geometry["surfaces"], geometry["zones"]
    layout = geometry.get("layout", "cylinder-major")
    sector = _size(geometry.get("sector_size", "512 B"))
    width = np.array([z["last_cylinder"] - z["first_cylinder"] + 1 for z in zones], np.int64)
    sectors = np.array([np.broadcast_to(z["sectors_per_track"], surfaces) for z in zones], np.float64)
    skews = np.array([[z.get(key, 0) for key in ("track_skew", "cylinder_skew")] for z in zones], np.float64)
    if geometry.get("skew_unit", "sectors") == "sectors":
        skews /= sectors.max(axis=1)[:, None]
    per_band = np.minimum(1 if layout in _BY_CYLINDER else geometry["band_cylinders"], width)
    tracks = np.tile(per_band[:, None], surfaces)
    last = np.tile((width % per_band)[:, None], surfaces)
    per_track = sectors.astype(np.int64)
    if layout == "adaptive":
        per_track, tracks, last = _adaptive(geometry, sectors, per_band, width % per_band)
    every_other = geometry.get("head_order") == "alternate" or layout in _BY_CYLINDER[1:]
    # The layout serpentine-disk counts cylinders from the beginning of the disk.
    odd = [layout == _BY_CYLINDER[2] and z["first_cylinder"] % 2 == 1 for z in zones]
    return Formats(
        width // per_band,
        tracks,
        last,
        per_track * sector,
        skews[:, 0],
        skews[:, 1],
        layout in _BY_CYLINDER,
        (every_other, np.array(odd)),
    )


def _adaptive(geometry: Mapping[str, Any], nominal: Floats, per_band: Ints, last: Ints) -> tuple[Ints, Ints, Ints]:
    """Return sectors of a track, tracks of a band and of the last band: (zones, surfaces)."""
    surfaces = geometry["surfaces"]
    if "surface_zones" in geometry:
        tables = geometry["surface_zones"]
        sectors = np.array([[z["sectors_per_track"] for z in t] for t in tables], np.int64).T
        of_band = np.array([[z["tracks_per_band"] for z in t] for t in tables], np.float64).T
        tpi = of_band / geometry["band_cylinders"]
    else:
        given = geometry.get("density", {"bpi": 1.0, "tpi": 1.0})
        density = [given] * surfaces if isinstance(given, Mapping) else list(given)
        density = density * surfaces if len(density) == 1 else density
        sectors = _rounded(nominal * np.array([d["bpi"] for d in density]))
        tpi = np.broadcast_to(np.array([d["tpi"] for d in density]), nominal.shape)
    rest = np.where(last[:, None] > 0, _rounded(last[:, None] * tpi), 0)
    return sectors, _rounded(per_band[:, None] * tpi), rest


def failed_head(spec: Mapping[str, Any]) -> int | None:
    """Return the head that the file's faults name, if it is one."""
    faults = spec.get("parallelism", {}).get("faults", [])
    heads = {fault["surface"] for fault in faults if "surface" in fault}
    return heads.pop() if len(heads) == 1 else None


def without_head(spec: Mapping[str, Any], head: int) -> dict[str, Any]:
    """Return the description of a drive without one of its heads, with the sources of its values.

    Args:
        spec: the drive.
        head: the surface that is no longer used, counted from 0.

    Raises:
        ConfigError: there is no such head, or it is the only one, or the kind of drive is not
            supported.
    """
    return dict(_bridge.call("without_head", json.dumps(spec), head))


def depopulate(spec: Mapping[str, Any], head: int) -> Depopulation:
    """Return a drive without one of its heads, and what that changes.

    Raises:
        ConfigError: as `without_head`.
    """
    made = without_head(spec, head)
    before, turn = formats(spec), _turn_s(spec)
    parts = (before, formats(made))
    held = np.stack([f.held().sum(axis=1) for f in parts], axis=1)
    times = np.stack([f.turns() * turn for f in parts], axis=1)
    capacity = [int(drives.described(s, s["name"])["capacity_bytes"]) for s in (spec, made)]
    rates = held / times
    # The last zones may hold more than the drive offers.
    ends = np.minimum(np.cumsum(held[:, 1]), capacity[1])
    offered = np.diff(ends, prepend=0)
    return Depopulation(
        made,
        head,
        (capacity[0], capacity[1]),
        held,
        rates,
        float((offered / rates[:, 1]).sum()),
        zones_kept(spec, head, before, capacity[0]),
    )


def _turn_s(spec: Mapping[str, Any]) -> float:
    return 60.0 / _bridge.quantity("speed", spec["geometry"]["rotation_speed"])


def extents(tracks: Formats, head: int) -> tuple[Ints, Ints]:
    """Return where the runs of addresses on a head begin and how long they are, in bytes."""
    starts, lengths = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    at = 0
    every_other, first = tracks.backwards
    for z, n in enumerate(tracks.bands):
        full = tracks.tracks[z] * tracks.track_bytes[z]
        band = np.arange(n, dtype=np.int64)
        before, behind = full[:head].sum(), full[head + 1 :].sum()
        own = np.where(every_other & ((band + first[z]) % 2 == 1), behind, before)
        starts.append(at + band * full.sum() + own)
        lengths.append(np.full(n, full[head]))
        at += int(n * full.sum())
        last = tracks.last_tracks[z] * tracks.track_bytes[z]
        if last.sum():
            backwards = every_other and (n + first[z]) % 2 == 1
            own_last = last[head + 1 :].sum() if backwards else last[:head].sum()
            starts.append(np.array([at + own_last]))
            lengths.append(np.array([last[head]]))
            at += int(last.sum())
    return np.concatenate(starts), np.concatenate(lengths)


def zones_kept(spec: Mapping[str, Any], head: int, tracks: Formats, capacity_bytes: int) -> tuple[int, int]:
    """Return how many zones of the host have no block on a head, and how many there are.

    The size of a zone is that of the mapping ``zoned``, else 256 MiB.
    """
    mapping = spec.get("mapping", {})
    size = _size(mapping.get("zone_size", ZONE_SIZE) if mapping else ZONE_SIZE)
    count = -(-capacity_bytes // size)
    starts, lengths = extents(tracks, head)
    inside = starts < capacity_bytes
    starts, ends = starts[inside], np.minimum(starts + lengths, capacity_bytes)[inside]
    marks = np.zeros(count + 1, np.int64)
    np.add.at(marks, starts // size, 1)
    np.add.at(marks, (ends - 1) // size + 1, -1)
    return int((np.cumsum(marks)[:count] == 0).sum()), count


def text(found: Depopulation) -> list[str]:
    """Return the lines that `headstack drives depopulate` prints."""
    (before, after), (kept, of) = found.capacity_bytes, found.zones
    lines = [
        f"capacity {before / 1e12:.3f} TB, without head {found.head} {after / 1e12:.3f} TB ({after / before - 1:+.2%})",
        f"one write of the whole medium: {found.seconds / 3600:.1f} h; all data are lost",
        f"with zones whose addresses stay: {kept:,} of {of:,} keep their data, {of - kept:,} go offline",
        "",
        "zone   GB before    after   MB/s before    after",
    ]
    lines += [
        f"{z:4}{held[0] / 1e9:12,.1f}{held[1] / 1e9:9,.1f}{rate[0] / 1e6:14.1f}{rate[1] / 1e6:9.1f}"
        for z, (held, rate) in enumerate(zip(found.zone_bytes, found.zone_rates, strict=True))
    ]
    return lines


def file_text(found: Depopulation) -> str:
    """Return the smaller drive as TOML."""
    from headstack.drives import datasheet

    said = f"Made by headstack drives depopulate: without head {found.head}."
    return datasheet.DriveFile(found.spec, {"": [said]}).text()
