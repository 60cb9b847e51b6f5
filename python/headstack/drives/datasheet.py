"""Computes a drive from its data sheet: tracks, zones, seek curve, skews and power.

Every value of the result has a source: the data sheet, a formula ("derived"), or a usual value of
the class ("chosen").

# Model
With `T` the time of a turn, `h` surfaces and `b` bytes per sector:

- Drives of today fill a band of 315 tracks on one surface before the next one, as the Toshiba X300
  (H. Wong, blog.stuffedcow.net, 2019); older ones have all surfaces of a cylinder in turn.
- Skews cover the switch time: `track_skew = (head_switch + write_settle)/T`,
  `cylinder_skew = (track seek + write_settle)/T`, rounded up to 0.001 turn. Between bands it is
  9/16 turn, as in the X300. Where the way back over a band takes longer, 1 turn in 315 is lost.
- Sectors per track from the sustained rate `R` of the outermost and of the innermost zone:
  `n = R T (1 + s track_skew + (1-s) cylinder_skew) / b`, with `s` the share of the tracks after
  which the surface changes, `(h-1)/h` or 1/315; in between they decrease linearly, as for equally
  wide zones of equal linear density.
- Cylinders: the least number that holds the capacity.
- Densities: the recording band ends 1.5 mm inside the platter's edge, its radii are proportional to
  the sectors per track. More tracks or bits per inch than any drive has are errors.
- Power: `idle = spindle + electronics`; a random read seeks for `s` and waits for
  `T/2`, so `active = idle + (voice_coil s + access T/2)/(s + T/2)`, with `voice_coil = 2 access`.

# Validity
Data sheets give averages and best cases. Response times follow from the sheet's seek times and
speed, rates and capacity are its own; buffer policy, scheduling and the division of power are usual
values of the class.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from headstack import _bridge, drives
from headstack._toml import inline
from headstack.drives import firmware_order
from headstack.errors import ConfigError
from headstack.suggest import need_one_of

#: Possible values of a data sheet, each with an example: keys of a sheet's file and of `solve`.
KEYS = {
    "name": "nearline-4tb",
    "title": "Maker, family and model",
    "year": "2013",
    "source": "data sheet DS1234, 2013",
    "capacity": "4 TB",
    "rpm": "7200",
    "heads": "10",
    "platters": "5",
    "rate": "175/83 MB/s",
    "seek": "8.5/0.8/17 ms",
    "write_seek": "9.5 ms",
    "head_switch": "1 ms",
    "cache": "128 MB",
    "write_cache": "true",
    "power": "8/11.3 W",
    "standby": "1 W",
    "link": "600 MB/s",
    "sector": "512 B",
    "queue_depth": "32",
    "random_reads": "170",
    "diameter": "95 mm",
    "zones": "24",
    "price": "255/315",
}

#: Tracks of the first band of a Toshiba X300 of ten heads, and the turns between its bands: the
#: drive nearest to those of today whose layout was measured (blog.stuffedcow.net, September 2019).
_BAND, _BAND_SKEW = 315, Fraction(9, 16)

#: Names that can be both files and keys of results.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+-]*(\.[0-9A-Za-z_+-]+)*")

_INCH = 0.0254
#: Distance from the edge of the platter to the outermost track.
_EDGE = 1.5e-3
#: Tracks and bits per inch: from those of the IBM 350 of 1956 to more than those of any drive of
#: 2025, 0.6 and 3 million.
_TRACKS_PER_INCH = (20.0, 1e6)
_BITS_PER_INCH = (100.0, 5e6)
#: Least length of the innermost track as a share of the outermost one's: the hub needs the rest.
_LEAST_INNER = 0.25
#: From the Constellation ES.3's manual: 83 of 175 MB/s.
_INNER = 0.47


class DriveFile(NamedTuple):
    """A solved drive.

    Attributes:
        spec: its description, as a drive file has it.
        comments: lines for the file, by table: the formulas with their values.
    """

    spec: dict[str, Any]
    comments: dict[str, list[str]]

    def text(self) -> str:
        """Return the drive file as TOML, with formulas and marks of derived values as comments."""
        lines = [f"# {line}" for line in self.comments.get("", ())]
        tables = {k: v for k, v in self.spec.items() if isinstance(v, Mapping)}
        lines += [f"{k} = {inline(v)}" for k, v in self.spec.items() if k not in tables]
        for table, values in tables.items():
            lines += ["", f"[{table}]"]
            lines += [f"# {line}" for line in self.comments.get(table, ())]
            for key, value in values.items():
                source = "" if table == "sources" else self.source_of(f"{table}.{key}")
                kind = source.partition(":")[0]
                mark = f"  # {kind}" if kind in ("derived", "chosen") else ""
                lines += _assignment(key, value, mark)
        return "\n".join(lines) + "\n"

    def source_of(self, dotted: str) -> str:
        """Return the source of the value at a dotted key."""
        return drives.source_of(self.spec["sources"], dotted)


def _assignment(key: str, value: object, mark: str) -> Iterator[str]:
    shown = key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        yield f"{shown} = [{mark}"
        yield from (f"  {inline(entry)}," for entry in value)
        yield "]"
    else:
        yield f"{shown} = {inline(value)}{mark}"


def zones(
    cylinders: int,
    count: int,
    surfaces: int,
    sectors: tuple[float, float],
    skews: tuple[Fraction, Fraction],
    band: int = 0,
) -> list[dict[str, Any]]:
    """Return the zones of a drive: equally wide, with sectors per track that decrease linearly.

    Offsets continue the skew of the zones before, so that the skew is continuous at borders.

    Args:
        cylinders: tracks per surface.
        count: number of zones.
        surfaces: of the drive.
        sectors: per track in the outermost and the innermost zone; rounded to whole ones.
        skews: where the surface changes, and between tracks of a surface, in turns.
        band: tracks on one surface before the next one; 0 if cylinders have all surfaces.
    """
    outer, inner = sectors
    track, cylinder = skews
    borders = [z * cylinders // count for z in range(count + 1)]
    listed, offset = [], Fraction(0)
    for z, (first, end) in enumerate(pairwise(borders)):
        listed.append(
            {
                "first_cylinder": first,
                "last_cylinder": end - 1,
                "sectors_per_track": int(outer - (outer - inner) * z / max(1, count - 1) + 0.5),
                "track_skew": float(track),
                "cylinder_skew": float(cylinder),
                "offset": float(offset % 1),
            }
        )
        width = end - first
        switches = surfaces * -(-width // band) if band else (surfaces - 1) * width
        offset += switches * track + (surfaces * width - switches) * cylinder
    return listed


def standard_blocks(capacity_bytes: float) -> int:
    """Return the number of 512-byte blocks of a drive that is sold with this capacity.

    Whole gigabytes mean the counts of the industry: IDEMA LBA1-03 from 50 GB to 8 TB, ``97,696,368
    + 1,953,504 (GB - 50)``, and SFF-8447 above, rounded up to a multiple of 2^21 blocks. Other
    capacities are used unchanged.

    Example:
        >>> standard_blocks(4e12), standard_blocks(18e12)
        (7814037168, 35156656128)
    """
    gigabytes = capacity_bytes / 1e9
    if gigabytes < 50 or gigabytes != int(gigabytes):
        return int(capacity_bytes // 512)
    if gigabytes <= 8000:
        return 97_696_368 + 1_953_504 * (int(gigabytes) - 50)
    step = 1 << 21
    return -(-int(gigabytes) * 1_953_125 // step) * step


class _Sheet:
    """The given values, converted to numbers; errors name the key."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        unknown = next((k for k in given if k not in KEYS), None)
        if unknown is not None:
            raise ConfigError(need_one_of("data sheet", str(unknown), KEYS))
        self.given = {k: v for k, v in given.items() if v is not None}

    def __contains__(self, key: str) -> bool:
        return key in self.given

    def shown(self, key: str) -> str:
        value = self.given[key]
        return "/".join(map(str, value)) if isinstance(value, list | tuple) else str(value)

    def refuse(self, key: str, need: str, why: str = "") -> ConfigError:
        """Return the error for an impossible value; `why` is added at the end."""
        got = f'"{self.shown(key)}"' if key in self else "nothing"
        return ConfigError(f"{key}: got {got}{why}, need {need}")

    def numbers(self, key: str, kind: str, need: str, counts: tuple[int, ...]) -> list[float]:
        """Return the numbers of ``a/b unit`` or of a list, in SI units; they must be above zero."""
        example = f'{need}, as in "{KEYS[key]}"'
        if key not in self:
            raise self.refuse(key, example)
        value = self.given[key]
        parts = value if isinstance(value, list | tuple) else re.split(r"/(?=\s*[\d.])", str(value))
        texts = [str(p).strip() for p in parts]
        if len(texts) not in counts:
            raise self.refuse(key, example)
        unit = re.sub(r"^[\d.,_eE+-]+", "", texts[-1])
        if kind == "number":
            texts = [t.removesuffix("USD").strip() for t in texts]
        else:
            texts = [t if re.search(r"[A-Za-zµ]", t) else f"{t}{unit}" for t in texts]
        try:
            found = [float(t) if kind == "number" else _bridge.quantity(kind, t) for t in texts]
        except ValueError:
            raise self.refuse(key, example) from None
        except ConfigError as e:
            raise ConfigError(f"{key}: {e}; {example}") from None
        if not all(math.isfinite(x) and x > 0 for x in found):
            raise self.refuse(key, f"{example}, above zero")
        return found

    def number(self, key: str, kind: str, need: str) -> float:
        return self.numbers(key, kind, need, (1,))[0]

    def whole(self, key: str, least: int, most: int, otherwise: int | None = None) -> int:
        """Return a whole number within its bounds."""
        if key not in self and otherwise is not None:
            return otherwise
        text = self.shown(key) if key in self else ""
        if not re.fullmatch(r"\d{1,9}", text) or not least <= int(text) <= most:
            raise self.refuse(key, f"a whole number from {least} to {most}")
        return int(text)

    def text(self, key: str, otherwise: str) -> str:
        value = self.given.get(key, otherwise)
        if not isinstance(value, str):
            raise ConfigError(f"{key}: got {value!r}, need text")
        return value

    def name(self) -> str:
        value = self.text("name", "")
        if not _NAME.fullmatch(value) or value.endswith(".toml"):
            raise self.refuse("name", "letters, digits, dots, - and _, which name its file too")
        return value


class _Motion(NamedTuple):
    """Times in seconds, skews in turns."""

    turn: float
    average: float
    track: float
    full: float
    head_switch: float
    write_settle: float
    skews: tuple[Fraction, Fraction]


class _Drive:
    """A description in preparation: values with their sources."""

    def __init__(self, source: str) -> None:
        self.spec: dict[str, Any] = {}
        self.comments: dict[str, list[str]] = {}
        self.sources: dict[str, str] = {}
        self.source = source

    def put(self, dotted: str, value: object, source: str | None) -> None:
        """Set a value; the source is the data sheet if empty, and that of the table if None."""
        table, _, key = dotted.partition(".")
        if key:
            self.spec.setdefault(table, {})[key] = value
        else:
            self.spec[table] = value
        if source is not None:
            self.sources[dotted] = source or self.source

    def described(self) -> dict[str, Any]:
        """Return the description without empty tables."""
        return {k: v for k, v in self.spec.items() if v != {}}


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.6g} ms"


def _watts(watts: float) -> str:
    return f"{watts:.4g} W"


def _motion(sheet: _Sheet, drive: _Drive) -> _Motion:
    """Seek times, the settling added to writes, and the skews that cover both."""
    turn = 60.0 / _rpm(sheet)
    need = "the average seek, or average, track to track and full stroke"
    seeks = sheet.numbers("seek", "time", need, (1, 3))
    average = seeks[0]
    track, full = seeks[1:] if len(seeks) == 3 else (average / 10, average * 2)
    _check_seek(sheet, average, track, full)
    chosen = "" if len(seeks) == 3 else "chosen: {} the average seek, as usual in the class"
    drive.put("seek.model", "three-point", "chosen: the curve through what data sheets print")
    drive.put("seek.single", _time(track), chosen.format("a tenth of"))
    drive.put("seek.average", _time(average), "")
    drive.put("seek.full", _time(full), chosen.format("twice"))

    settle, why = 0.3e-3, "chosen: typical of the class"
    if "write_seek" in sheet:
        settle = sheet.number("write_seek", "time", "the average seek before a write") - average
        why = "derived: write seek - read seek"
        if settle < 0:
            raise sheet.refuse("write_seek", f"at least the average seek, {_time(average)}")
    switch, switch_why = track, "chosen: as long as a seek to the next track"
    if "head_switch" in sheet:
        switch, switch_why = sheet.number("head_switch", "time", "a head switch"), ""
    drive.put("positioning.head_switch", _time(switch), switch_why)
    drive.put("positioning.write_settle", _time(settle), why)
    skews = tuple(Fraction(math.ceil(round((t + settle) / turn * 1e3, 6)), 1000) for t in (switch, track))
    return _Motion(turn, average, track, full, switch, settle, (skews[0], skews[1]))


def _rpm(sheet: _Sheet) -> float:
    text = sheet.shown("rpm").removesuffix("rpm") if "rpm" in sheet else ""
    try:
        rpm = float(text)
    except ValueError:
        rpm = math.nan
    if not 1 <= rpm <= 1e6:
        raise sheet.refuse("rpm", "turns per minute from 1 to 1,000,000, as in 7200")
    return rpm


def _check_seek(sheet: _Sheet, average: float, track: float, full: float) -> None:
    """Refuse times for which the three-point curve would decrease somewhere."""
    if not 0 < track < average < full:
        raise sheet.refuse("seek", "average / track to track / full, track the least, full the most")
    least, most = (7.5 * average - 2 * track) / 5.5, 3 * average - 2 * track
    if not least <= full <= most:
        raise sheet.refuse(
            "seek",
            f"a full stroke from {_time(least)} to {_time(most)} for that average: "
            "beyond, longer seeks would take less time",
        )


def _surfaces(sheet: _Sheet) -> tuple[int, str]:
    if "heads" not in sheet and "platters" not in sheet:
        raise sheet.refuse("heads", "the number of heads or of platters")
    platters = sheet.whole("platters", 1, 512, 512)
    if "heads" not in sheet:
        return 2 * platters, "derived: 2 x platters"
    heads = sheet.whole("heads", 1, 1024)
    if heads > 2 * platters:
        raise sheet.refuse("heads", f"at most two on each of {platters} platters")
    return heads, ""


def _held(listed: list[dict[str, Any]], surfaces: int) -> int:
    """Return the sectors of zones."""
    return sum(surfaces * (z["last_cylinder"] - z["first_cylinder"] + 1) * z["sectors_per_track"] for z in listed)


def _rates(sheet: _Sheet) -> tuple[float, float, str]:
    """Return the outer and inner sustained rates in bytes per second, and the chosen part."""
    need = "the sustained rate outside, or outside and inside"
    rates = sheet.numbers("rate", "rate", need, (1, 2))
    outer, inner = rates if len(rates) == 2 else (rates[0], rates[0] * _INNER)
    if not _LEAST_INNER <= inner / outer <= 1:
        need = f"an inner rate from {_LEAST_INNER:g} of the outer one, which the hub leaves, to 1"
        raise sheet.refuse("rate", need)
    chosen = "" if len(rates) == 2 else f", inside {_INNER:g} of the outer one as chosen"
    return outer, inner, chosen


def _capacity(sheet: _Sheet, drive: _Drive) -> tuple[int, int]:
    """Return the bytes per sector, and the number of sectors that hold the capacity."""
    capacity = sheet.number("capacity", "size", "the capacity")
    sector, why = 4096 if capacity > 1e12 else 512, "chosen: 4 KiB above 1 TB, else 512 B"
    if "sector" in sheet:
        sector, why = round(sheet.number("sector", "size", "512 B or 4 KiB")), ""
        if sector not in (512, 4096):
            raise sheet.refuse("sector", "512 B or 4 KiB, the size on the medium")
    sectors = standard_blocks(capacity) * 512 // sector
    if sectors < 1:
        raise sheet.refuse("capacity", f"at least a sector of {sector} B")
    drive.put("geometry.sector_size", f"{sector} B", why)
    counted = "by the industry's block counts (IDEMA LBA1-03, SFF-8447), in whole sectors"
    why = f"derived: {sheet.shown('capacity')} {counted}"
    drive.put("geometry.capacity_blocks", sectors * sector // 512, why)
    return sector, sectors


def _zones_that_hold(
    needed: int, count: int, surfaces: int, sectors: tuple[float, float], skews: tuple[Fraction, Fraction], band: int
) -> list[dict[str, Any]]:
    """Return the zones with the least number of cylinders for the needed sectors."""
    cylinders = max(2, _cylinders(needed, surfaces, sectors))
    while True:
        listed = zones(cylinders, min(count, cylinders), surfaces, sectors, skews, band)
        missing = needed - _held(listed, surfaces)
        if missing <= 0:
            return listed
        cylinders += -(-missing // (surfaces * listed[0]["sectors_per_track"]))


def _cylinders(needed: int, surfaces: int, sectors: tuple[float, float]) -> int:
    """Return the tracks per surface for the mean number of sectors."""
    return math.ceil(needed / (surfaces * (round(sectors[0]) + round(sectors[1])) / 2))


def _layout(drive: _Drive, band: int) -> None:
    """Set the order of addresses; bands of 0 tracks are none."""
    why = "chosen: makers do not publish it"
    if not band:
        drive.put("geometry.layout", "serpentine", why)
        return
    measured = "the Toshiba X300 (blog.stuffedcow.net, September 2019)"
    why += f"; drives of today fill bands on one surface after another, as {measured}"
    drive.put("geometry.layout", "adaptive", why)
    drive.put("geometry.band_cylinders", band, f"chosen: as the first band of {measured}")
    why = f"chosen: every other band from the last head on, as in {measured}"
    drive.put("geometry.head_order", "alternate", why)
    nominal = [{"bpi": 1.0, "tpi": 1.0}]
    drive.put("geometry.density", nominal, "chosen: all surfaces alike")


def _geometry(sheet: _Sheet, motion: _Motion, drive: _Drive) -> int:
    """Compute sectors per track from the rates, then cylinders; return the bytes per sector."""
    speed = _rpm(sheet)
    drive.put("geometry.rotation_speed", f"{speed:g} rpm", "")
    surfaces, why = _surfaces(sheet)
    drive.put("geometry.surfaces", surfaces, why)
    sector, needed = _capacity(sheet, drive)
    outer, inner, inside = _rates(sheet)
    band = _BAND if _is_of_today(sheet, drive) else 0
    track, cylinder = (_BAND_SKEW, motion.skews[1]) if band else motion.skews
    switches = Fraction(1, band) if band else Fraction(surfaces - 1, surfaces)
    turns = float(1 + switches * track + (1 - switches) * cylinder)
    a, b = (rate * motion.turn * turns / sector for rate in (outer, inner))
    if b < 1:
        why = " (less than a sector a turn)"
        raise sheet.refuse("rate", f"a sector of {sector} B on every track", why)
    _check_density(sheet, surfaces, _cylinders(needed, surfaces, (a, b)), (a, b), sector)
    wanted = sheet.whole("zones", 1, 1000, 24)
    listed = _zones_that_hold(needed, wanted, surfaces, (a, b), (track, cylinder), band)
    cylinders = listed[-1]["last_cylinder"] + 1

    drive.put("geometry.cylinders", cylinders, "derived: enough for the capacity in these zones")
    _layout(drive, band)
    drive.put("geometry.skew_unit", "turns", "chosen: skews follow from switch times")
    number = "as asked for" if "zones" in sheet else "chosen"
    why = (
        f"derived: sectors per track from the sustained rates{inside}, a straight line in between; "
        f"{len(listed)} zones {number}; skews cover the switch and the write settling after it"
        f"{', and between bands are those of the Toshiba X300' if band else ''}"
    )
    drive.put("geometry.zones", listed, why)
    drive.put("seek.cylinders", cylinders, "derived: those of the geometry")
    drive.comments["geometry"] = [
        f"derived: T = 60 s / {speed:g} = {_time(motion.turn)}",
        f"chosen: track_skew = {float(track):g} turn between bands, as in the Toshiba X300"
        if band
        else f"derived: track_skew = (head_switch + write_settle)/T = {float(track):g} turn",
        f"derived: cylinder_skew = (track seek + write_settle)/T = {float(cylinder):g} turn",
        "derived: sectors_per_track = rate T (1 + s track_skew + (1-s) cylinder_skew)/sector,",
        f"  s = {f'1/{band}' if band else '(h-1)/h'}, "
        f"h = {surfaces}: {a:.1f} for {outer / 1e6:g} MB/s outside, "
        f"{b:.1f} for {inner / 1e6:g} MB/s inside",
        f"derived: cylinders = {needed:,} sectors/(h x mean sectors_per_track)",
    ]
    return sector


def _check_density(sheet: _Sheet, surfaces: int, cylinders: int, sectors: tuple[float, float], sector: int) -> None:
    """Refuse a geometry with more or fewer tracks or bits per inch than drives can have."""
    diameter = 95e-3
    if "diameter" in sheet:
        diameter = sheet.number("diameter", "length", "the diameter of the platters")
    radius = diameter / 2 - _EDGE
    if radius <= 0:
        raise sheet.refuse("diameter", "more than 3 mm")
    bits = sectors[0] * sector * 8 / (2 * math.pi * radius / _INCH)
    low, high = _BITS_PER_INCH
    if not low <= bits <= high:
        raise sheet.refuse(
            "rate",
            f"{low:,.0f} to {high:,.0f} bits per inch; a rate, speed or diameter cannot be",
            f" ({bits:,.0f} bits per inch of the outermost track)",
        )
    # A band has a minimum width even if all tracks are equally long.
    band = radius * (1 - min(sectors[1] / sectors[0], 0.9)) / _INCH
    tracks = cylinders / band
    low, high = _TRACKS_PER_INCH
    if not low <= tracks <= high:
        holds = [n * band * surfaces * (sectors[0] + sectors[1]) / 2 * sector / 1e9 for n in (low, high)]
        raise sheet.refuse(
            "capacity",
            f"{low:,.0f} to {high:,.0f} tracks per inch, that is {holds[0]:.3g} to "
            f"{holds[1]:,.0f} GB with these surfaces and rates",
            f" on {surfaces} surfaces ({tracks:,.3g} tracks per inch)",
        )


def _buffer(sheet: _Sheet, sector: int, drive: _Drive) -> None:
    """Size and policy of the buffer."""
    if "cache" not in sheet:
        return
    size = sheet.number("cache", "size", "the size of the buffer")
    # About one megabyte each.
    segments = min(128, max(16, 1 << int(size / 1e6).bit_length() - 1)) if size >= 1e6 else 4
    each = int(size // (segments * sector))
    if each < 1:
        raise sheet.refuse("cache", f"room for {segments} sectors of {sector} B")
    each = min(each, 1 << 24)
    policy: dict[str, Any] = {
        "enabled": True,
        "segments": segments,
        "segment_sectors": each,
        "hit_check": "arrival",
        "read_ahead": "limit",
        "read_ahead_sectors": each,
        "read_on_arrival": True,
        "almost_hits": True,
    }
    if _switch(sheet, "write_cache", True):
        policy |= {
            "write_back": True,
            "write_segments": max(1, segments // 2),
            "write_on_arrival": True,
            "append_writes": True,
            "destage": "idle",
        }
    for key, value in policy.items():
        drive.put(f"cache.{key}", value, None)
    drive.sources["cache"] = "chosen: as usual in the class; data sheets give the size alone"
    drive.sources["cache.segment_sectors"] = "derived: cache / segments / sector"
    drive.comments["cache"] = [f"derived: segment_sectors = {sheet.shown('cache')} / {segments} / {sector} B"]


def _switch(sheet: _Sheet, key: str, otherwise: bool) -> bool:
    value = sheet.given.get(key, otherwise)
    if not isinstance(value, bool):
        raise sheet.refuse(key, "true or false")
    return value


def _power(sheet: _Sheet, motion: _Motion, drive: _Drive) -> None:
    """Divide idle and active power among the states."""
    if "power" not in sheet:
        return
    watts = sheet.numbers("power", "power", "the power idle, or idle and in random reads", (1, 2))
    idle = watts[0]
    drive.put("power.model", "modes", "chosen: the model of a power by state")
    speed = f"{_rpm(sheet):g} rpm"
    drive.put("power.rotation_speed", speed, "derived: the speed at which the idle power holds")
    split = "derived: {} of the idle power, a split that is chosen (the Barracuda ES's)"
    drive.put("power.spindle", _watts(idle * 2 / 3), split.format("two thirds"))
    drive.put("power.electronics", _watts(idle / 3), split.format("a third"))
    comments = ["derived: spindle = 2/3 idle, electronics = 1/3 idle (the split is chosen)"]
    if len(watts) == 2:
        if watts[1] < idle:
            raise sheet.refuse("power", "at least as much active as idle")
        seek, wait = motion.average, motion.turn / 2
        access = (watts[1] - idle) * (seek + wait) / (2 * seek + wait)
        why = "derived: active - idle over average seek and half a turn; voice_coil = 2 access chosen"
        drive.put("power.voice_coil", _watts(2 * access), why)
        drive.put("power.access", _watts(access), why)
        comments.append("derived: access = (active - idle)(seek + T/2)/(2 seek + T/2), voice_coil = 2 access (chosen)")
    if "standby" in sheet:
        drive.put("power.standby", _watts(sheet.number("standby", "power", "the power in standby")), "")
    drive.comments["power"] = comments


def _surroundings(sheet: _Sheet, drive: _Drive) -> None:
    """Commands, link, queue, price."""
    delay = {"after_read": "0.1 ms", "after_write": "0.1 ms"}
    for key in ("read_hit", "read_miss"):
        drive.put(f"overhead.{key}", delay, "chosen: typical of the class")
    if "link" in sheet:
        rate = sheet.number("link", "rate", "the rate of the link")
        drive.put("link.rate", f"{rate / 1e6:g} MB/s", "")
    depth = sheet.whole("queue_depth", 0, 1 << 20, 32)
    why = "" if "queue_depth" in sheet else "chosen: native command queueing, 32"
    drive.put("queue.depth", depth, why)
    drive.put("queue.scheduler", "satf" if "cache" in sheet else "sptf", None)
    drive.put("queue.age_limit", "1 s", None)
    drive.sources["queue"] = "chosen: an order and an age limit that makers do not publish"
    if "price" in sheet:
        usd = sheet.numbers("price", "number", "US dollars, or the least and the most", (1, 2))
        if usd[0] > usd[-1]:
            raise sheet.refuse("price", "the lower price first")
        drive.put("cost.model", "price", None)
        drive.put("cost.usd", [usd[0], usd[-1]], None)
        drive.sources["cost"] = "price as given"


def _is_of_today(sheet: _Sheet, drive: _Drive) -> bool:
    capacity = sheet.number("capacity", "size", "the capacity")
    return firmware_order.is_of_today(drive.spec.get("year"), capacity)


def _order(sheet: _Sheet, drive: _Drive) -> None:
    """Set the order of the queue of a drive of today; it needs the rest of the description."""
    fitted = "random_reads" in sheet
    if not fitted and not _is_of_today(sheet, drive):
        return
    why = (
        "chosen: the order that fits what was measured of a drive of 22 TB (cdl-tools README), for "
        f"drives from {firmware_order.YEAR} on or of {firmware_order.CAPACITY / 1e12:g} TB and more"
    )
    drive.put("queue.scheduler", firmware_order.SCHEDULER, why)
    ageing, why = firmware_order.MEASURED, "chosen: as fitted to that drive"
    if fitted:
        need = f"random reads of 4 KiB per second at depth {firmware_order.DEPTH}"
        wanted = sheet.number("random_reads", "number", need)
        found = firmware_order.fitted_ageing(drive.described(), wanted)
        if isinstance(found, tuple):
            need = f"{found[0]:.0f} to {found[1]:.0f} per second, which these seek times allow"
            raise sheet.refuse("random_reads", need)
        ageing, why = found, f"derived: fitted to {sheet.shown('random_reads')} {need}"
    drive.put("queue.scheduler_parameters", {"ageing": ageing}, why)


#: Optional values, and the effect of their absence.
_MISSING: dict[str, str] = {
    "cache": "no buffer: neither read-ahead nor write cache",
    "power": "no power: the power model's defaults hold, which are another drive's",
    "link": "no link: data pass without delay",
    "price": "no price",
}


def solve(sheet: Mapping[str, Any]) -> DriveFile:
    """Return the drive that a data sheet describes.

    Args:
        sheet: values by the keys of `KEYS`; quantities are text with a unit, several numbers are
        ``a/b unit`` or a list. Required are ``name``, ``capacity``, ``rpm``, ``heads`` or
        ``platters``, ``rate`` and ``seek``.

    Raises:
        ConfigError: a value is missing, or the values contradict each other.

    Example:
        >>> drive = solve({"name": "d", "capacity": "4 TB", "rpm": 7200, "heads": 10,
        ...                "rate": "175/83 MB/s", "seek": "8.5 ms"})
        >>> drive.spec["geometry"]["capacity_blocks"]
        7814037168
    """
    given = _Sheet(sheet)
    drive = _Drive(f"data sheet: {given.text('source', 'as given')}")
    name = given.name()
    title = f"{given.given.get('capacity', '')}, {given.given.get('rpm', '')} rpm, from its data sheet"
    drive.spec = {"name": name, "title": given.text("title", title), "description": ""}
    if "year" in given:
        drive.put("year", given.whole("year", 1956, 2100), "")
    # Tables are in the order of the schema.
    for table in ("geometry", "seek", "positioning", "cache", "overhead", "link", "queue", "power"):
        drive.spec[table] = {}
    motion = _motion(given, drive)
    _buffer(given, _geometry(given, motion, drive), drive)
    _surroundings(given, drive)
    _power(given, motion, drive)
    left_out = [what for key, what in _MISSING.items() if key not in given]
    said = f" The data sheet as given has {'; '.join(left_out)}." if left_out else ""
    drive.spec["description"] = (
        "Solved from numbers of a data sheet: what is derived, and what was chosen because data "
        f"sheets do not say it, is marked in the sources.{said}"
    )
    _order(given, drive)
    spec = drive.described()
    order = list(spec)
    spec["sources"] = dict(sorted(drive.sources.items(), key=lambda s: order.index(s[0].partition(".")[0])))
    drive.comments[""] = ["Made by headstack drives new. [sources] says what is given, derived or chosen."]
    drive.comments["seek"] = ["the curve through one track, the average and the full stroke"]
    _bridge.call("check_drive", json.dumps(spec))
    return DriveFile(spec, drive.comments)
