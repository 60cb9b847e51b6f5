"""The drive file of what was measured: each value with its origin and interval as a comment.

# Ties
The constant part of the host's lateness cannot be told from overheads: it is taken to be as long as
the random part. Overheads hold what the firmware does before the arm moves;
`seek_constant` and the bounds of positioning cannot be told apart from them and stay as they are.
Nothing is known of writes without writes: their values are those of the class.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headstack import _bridge, _toml
from headstack.runs import outputs

from .actuators import Actuators
from .buffer import Buffer
from .idle import Idle
from .period import forward
from .policies import Policies
from .power import Power
from .queue import Queue
from .replay import Host
from .seek import SeekCurve
from .session import sector_blocks_of
from .switches import Switches
from .value import Value, default, exact, less, measured
from .writes import Writes

#: What drives of the class have where nothing was measured. Read-only probes say nothing of writes.
_CLASS: dict[str, Any] = {
    "cache.write_segments": 16,
    "cache.destage": "idle",
    "cache.hit_check": "arrival",
    "cache.read_on_arrival": True,
    "cache.write_on_arrival": True,
    "cache.write_back": True,
    "cache.append_writes": True,
    "positioning.head_switch": "0.7 ms",
    "positioning.write_settle": "0.3 ms",
    "overhead.read_miss": "0.1 ms",
    "queue.age_limit": "1 s",
}

#: Error of an access that is allowed: the larger of a time, s, and a share. By how much a skew is
#: longer than the step that it covers, s.
_ALLOWED_S, _ALLOWED, _SHORT_S = 30e-6, 0.05, 1e-6

#: Keys of the buffer that writes tell.
_WRITTEN = ("write_back", "write_segments")


@dataclass
class Found:
    """What a probe found; what is None was not measured.

    Attributes:
        described: what the target says of itself.
        turn: time of a turn, s.
        geometry: table `[geometry]` without the speed.
        origins: origin of its keys.
        host: what reads suffered that is not the drive's.
        sector_turns: mean share of a turn that a sector takes where seeks were measured.
    """

    described: Mapping[str, Any]
    turn: Value
    geometry: dict[str, Any]
    origins: dict[str, Value | str]
    sector_turns: float
    curve: SeekCurve
    switches: Switches | None = None
    buffer: Buffer | None = None
    policies: Policies | None = None
    host: Host = field(default_factory=Host)
    queue: Queue | None = None
    actuators: Actuators | None = None
    idle: tuple[Idle, ...] = ()
    power: Power | None = None
    writes: Writes | None = None
    notes: list[str] = field(default_factory=list)


def geometry_table(geometry: Any, described: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Value | str]]:
    """Return the table `[geometry]` of zones and heads, and the origin of its keys."""
    block = sector_blocks_of(described)
    logical = int(described["block_bytes"]) // 512
    major = geometry.layout != "adaptive"
    # Bands are as wide as seeks count them.
    past = [z.first_lba for z in geometry.zones[1:]] + [int(described["blocks"])]
    bands = sum(
        (end - z.first_lba) / block / sum(n * t for n, t in zip(z.sectors, z.tracks, strict=True))
        for z, end in zip(geometry.zones, past, strict=True)
    )
    width = 1 if major else max(1, round(geometry.cylinders / bands))
    # Of widths that seeks do not tell apart, that with which zones begin where they do.
    near = range(width - width // 200, width + width // 200 + 1)
    width = min(near, key=lambda w: (_late(geometry, past, block, w), abs(w - width)))
    zones, formats = [], []
    first = 0
    for zone, (count, late) in zip(geometry.zones, _fitted(geometry, past, block, width), strict=True):
        sectors = list(zone.sectors)
        skews = [round(max(0.0, forward(s)), 9) for s in (zone.switch_turns, zone.skew_turns)]
        # Where it begins later than on the target, as most of its sectors then are turned.
        back, part = divmod(late / sectors[0], 1.0)
        begin = zone.begin_turns - geometry.zones[0].begin_turns + part
        begin += (back + round(part)) * skews[0 if major else 1]
        zones.append(
            {
                "first_cylinder": first,
                "last_cylinder": first + count - 1,
                "sectors_per_track": sectors if major else round(sum(sectors) / len(sectors)),
                "track_skew": skews[0],
                "cylinder_skew": skews[1],
                "offset": round(begin % 1.0, 6),
            }
        )
        formats.append(
            [{"tracks_per_band": t, "sectors_per_track": n} for t, n in zip(zone.tracks, sectors, strict=True)]
        )
        first += count
    table: dict[str, Any] = {
        "layout": geometry.layout,
        "surfaces": geometry.heads,
        "cylinders": first,
        "sector_size": "4 KiB" if described["physical_bytes"] == 4096 else "512 B",
        "skew_unit": "turns",
        "capacity_blocks": int(described["blocks"]) * logical,
        "zones": zones,
    }
    if not major:
        table |= {
            "band_cylinders": width,
            "direction": geometry.direction,
            "head_order": geometry.head_order,
            "surface_zones": [list(each) for each in zip(*formats, strict=True)],
        }
    measured: dict[str, Value | str] = dict.fromkeys(
        ("layout", "surfaces", "zones", "band_cylinders", "direction", "head_order"), "measured"
    )
    measured["capacity_blocks"] = "declared"
    measured["sector_size"] = described.get("sector_size_from", "declared")
    measured["cylinders"] = "measured: tracks of a surface of mean density"
    return table, measured


def _held(zone: Any, width: int, cylinders: int) -> int:
    """Return the sectors of so many cylinders; the last band is as wide as is left."""
    full, last = divmod(cylinders, width)
    tracks = [full * t + math.floor(last * t / width + 0.5) for t in zone.tracks]
    return sum(n * t for n, t in zip(zone.sectors, tracks, strict=True))


def _fitted(geometry: Any, past: Sequence[int], block: int, width: int) -> list[tuple[int, float]]:
    """Return each zone's cylinders if bands have so many, and the sectors by which it is late."""
    found, at = [], geometry.zones[0].first_lba / block
    for zone, end in zip(geometry.zones, past, strict=True):
        left = end / block - at
        about = int(left / _held(zone, width, width) * width)
        near = range(max(1, about - 1), about + 3)
        count = min(near, key=lambda c: abs(_held(zone, width, c) - left))
        # The last zone holds at least what the drive offers.
        last = zone is geometry.zones[-1]
        found.append((about + 2 * width if last else count, at - zone.first_lba / block))
        at += _held(zone, width, count)
    return found


def _late(geometry: Any, past: Sequence[int], block: int, width: int) -> float:
    """Return by how much zones begin elsewhere if bands have so many cylinders, in sectors."""
    return sum(abs(late) for _, late in _fitted(geometry, past, block, width))


def repeat_surfaces(table: dict[str, Any], arms: int, blocks: int) -> None:
    """Give every arm the surfaces that were measured of the first one; `blocks` are of 512 B."""
    table["surfaces"] *= arms
    table["capacity_blocks"] = blocks
    if "surface_zones" in table:
        table["surface_zones"] *= arms
    else:
        for zone in table["zones"]:
            zone["sectors_per_track"] = list(zone["sectors_per_track"]) * arms


def spec(found: Found) -> tuple[dict[str, Any], dict[str, Value | str]]:
    """Return the drive as JSON-like dictionaries, and the origin of its values by their paths."""
    origins: dict[str, Value | str] = {f"geometry.{k}": v for k, v in found.origins.items()}
    turn = found.turn
    origins["geometry.rotation_speed"] = measured(
        (60 / float(t) for t in (turn.value, turn.high, turn.low)), turn.reads, turn.step, "rpm"
    )
    drive: dict[str, Any] = {
        "name": _name(found.described),
        "title": f"{found.described.get('model') or 'drive'}, as probed",
        "geometry": {"rotation_speed": f"{60 / float(turn.value):.6f} rpm", **found.geometry},
        "seek": {"model": "table", "points": _points(found)},
    }
    origins["seek.points"] = _curve_comment(found.curve)
    _positioning(found, drive, origins)
    _buffer(found, drive, origins)
    _queue(found, drive, origins)
    if found.power is not None:
        _power(found.power, drive, origins)
    arms = int(found.actuators.number.value) if found.actuators else 1
    if arms > 1 and found.actuators:
        drive["dash"] = f"D1A{arms}S1H1"
        drive["parallelism"] = {"arm_share": "own-share", "logical_units": False, "arms_in_motion": 0, "channels": 0}
        origins["parallelism.arm_share"] = found.actuators.ratio
    return drive, origins


def _points(found: Found) -> list[list[Any]]:
    """Return the seek table.

    Formats are made so that the next track is reached within its skew: runs would lose a turn at
    each. A step of one track that was measured to take longer, by no more than what is allowed of
    an access, takes as long.
    """
    points = [(d, float(v.value)) for d, v in found.curve.table]
    (first, step_s), *others = points
    skew_s = min(z["cylinder_skew"] for z in found.geometry["zones"]) * float(found.turn.value)
    if first == 1 and skew_s < step_s < skew_s + max(_ALLOWED_S, _ALLOWED * step_s):
        points = [(1, skew_s - _SHORT_S), *others]
    return [[d, f"{seconds * 1e3:.4f} ms"] for d, seconds in points]


def _name(described: Mapping[str, Any]) -> str:
    text = re.sub(r"[^a-z0-9]+", "-", str(described.get("model") or "probed").lower())
    return text.strip("-") or "probed"


def _curve_comment(curve: SeekCurve) -> str:
    widest = max(float(v.high) - float(v.low) for _, v in curve.table) / 2
    formula = {k: v for k, v in curve.formula.items() if k != "deviation_s"}
    reads = sum(v.reads for _, v in curve.table)
    text = f"measured: +-{widest * 1e6:.0f} us at most, {reads} reads"
    if formula:
        deviation = float(curve.formula["deviation_s"]) * 1e6
        text += f"; nearest formula ({deviation:.0f} us off): {json.dumps(formula)}"
    return text


def _ms(value: Value | float) -> str:
    number = float(value.value) if isinstance(value, Value) else value
    return f"{max(number, 0.0) * 1e3:.4f} ms"


def _given(drive: dict[str, Any], origins: dict[str, Value | str], path: str, value: Any) -> None:
    """Set a value that is measured, or that of the class."""
    table, key = path.split(".")
    if value is None:
        value = default(_CLASS[path], "")
    drive.setdefault(table, {})[key] = _ms(value) if isinstance(value, Value) and value.unit == "s" else value.value
    origins[path] = value


def _positioning(found: Found, drive: dict[str, Any], origins: dict[str, Value | str]) -> None:
    switch = found.switches.head_switch if found.switches else None
    _given(drive, origins, "positioning.head_switch", switch)
    wrote = found.writes
    _given(drive, origins, "positioning.write_settle", wrote.settle if wrote else None)
    o, link = found.curve.turnaround, _sector_s(found)
    # A read without a movement also takes its sector's time on medium and link.
    late = found.curve.lateness_s
    known_s = found.sector_turns * float(found.turn.value) + link + late
    miss = less(o, known_s)
    b = found.buffer
    if b and not b.enabled.value and b.sector_s and found.described.get("queue_depth") == 1:
        # It begins after the read before: there was no time for it.
        miss = exact(0.0, "buffer", miss.reads, "s")
    hit = found.buffer.hit_overhead_s if found.buffer else None
    if hit is not None:
        # The median of an exponential distribution is 0.7 means.
        hit = less(hit, 1.7 * late)
    drive["overhead"] = {
        "read_miss": {"after_read": _ms(miss), "after_write": _ms(miss)},
        "read_hit": {k: _ms(hit or miss) for k in ("after_read", "after_write")},
    }
    for key, taken in wrote.overheads(known_s, late + link).items() if wrote else ():
        drive["overhead"][key] = {k: _ms(taken) for k in ("after_read", "after_write")}
        origins[f"overhead.{key}"] = taken
    origins["overhead.read_miss"] = miss
    origins["overhead.read_hit"] = hit or default(0.0, "")


def _sector_s(found: Found) -> float:
    """Return the link time of a sector."""
    measured = found.buffer.sector_s if found.buffer else None
    if measured is not None:
        return float(measured.value)
    return float(found.described["physical_bytes"]) / 600e6


def _buffer(found: Found, drive: dict[str, Any], origins: dict[str, Value | str]) -> None:
    sector = _sector_s(found)
    measured = found.buffer.sector_s if found.buffer else None
    drive["link"] = {k: f"{sector * 1e6:.4f} us" for k in ("read_sector_time", "write_sector_time")}
    origins["link.read_sector_time"] = measured or default(sector, "", "s")
    origins["link.write_sector_time"] = default(sector, "", "s")
    b = found.buffer
    if b is None or not b.enabled.value:
        drive["cache"] = {"enabled": False}
        origins["cache.enabled"] = b.enabled if b else "not measured"
        return
    ahead = max((k for _, k in b.read_ahead), default=0)
    drive["cache"] = {
        "enabled": True,
        "segments": int(b.segments.value) if b.segments else 16,
        "segment_sectors": max(ahead + 1, 64),
        "read_ahead": b.kind,
        "read_ahead_trigger": b.trigger,
        "read_ahead_sectors": ahead if b.kind == "limit" else 0,
    }
    origins["cache.enabled"] = b.enabled
    if b.segments:
        origins["cache.segments"] = b.segments
    seen = ", ".join(f"{k} sectors after {w} turns" for w, k in b.read_ahead)
    origins["cache.read_ahead"] = f"measured: {seen}"
    origins["cache.segment_sectors"] = "not identifiable: at least what is read ahead"
    for path in _CLASS:
        if path.startswith("cache."):
            key = path.removeprefix("cache.")
            known = getattr(found.writes, key) if found.writes and key in _WRITTEN else None
            _given(drive, origins, path, known)
    limit = found.writes.dirty_limit if found.writes else None
    whole = drive["cache"]["segments"] * drive["cache"]["segment_sectors"]
    if limit and limit.value <= whole * int(found.described["physical_bytes"]):
        drive["cache"]["dirty_limit"] = f"{limit.value} B"
        origins["cache.dirty_limit"] = limit
    p = found.policies
    for key, on in p.values.items() if p else ():
        drive["cache"][key] = on
        told = p is not None and key in p.told
        origins[f"cache.{key}"] = exact(on, "policies") if told else "not identifiable: no load showed it"
    drive["cache"]["write_segments"] = min(drive["cache"]["write_segments"], drive["cache"]["segments"])


def _queue(found: Found, drive: dict[str, Any], origins: dict[str, Value | str]) -> None:
    tags = int(found.described.get("queue_depth") or 32)
    q = found.queue
    if q is None:
        drive["queue"] = {"depth": tags, "scheduler": "sptf", "age_limit": "1 s"}
        origins["queue.scheduler"] = origins["queue.age_limit"] = "default of the class"
        return
    drive["queue"] = dict(q.spec)
    share = q.agreement.get(q.rule, 0.0)
    origins["queue.scheduler"] = f"measured: explains {share:.0%} of the choices in batches"
    if q.ageing is not None:
        origins["queue.scheduler_parameters"] = q.ageing
    if q.starved_s:
        origins["queue.age_limit"] = f"measured: {max(q.starved_s):.3f} s was the longest"


def _power(found: Power, drive: dict[str, Any], origins: dict[str, Value | str]) -> None:
    drive["power"] = {
        "model": "modes",
        "rotation_speed": drive["geometry"]["rotation_speed"],
        "electronics": "0 W",
        **{key: f"{float(value.value):.4f} W" for key, value in found.values.items()},
    }
    origins |= {f"power.{key}": value for key, value in found.values.items()}
    origins["power.electronics"] = "not identifiable: they are in spindle"


def _text(found: Found, drive: dict[str, Any], origins: dict[str, Value | str]) -> str:
    """Return the drive file: TOML with comments."""
    lines = ["# A drive as `headstack probe` measured it. Comments say how each value is known."]
    lines += [f"# {note}" for note in found.notes]
    q = found.queue
    if q is not None and q.starved_s and "age_limit" not in q.spec:
        lines.append(f"# age limit: not identifiable beyond {max(q.starved_s):.2f} s")
    if found.actuators is not None and int(found.actuators.number.value) > 1:
        spans = ", ".join(f"{a}+{n}" for a, n in found.actuators.ranges)
        lines.append(f"# actuators: {found.actuators.number.value}, of the blocks {spans}")
    lines += [f"# {line}" for line in found.writes.text()] if found.writes else []
    for gap in found.idle:
        if float(gap.extra_s.value) > 5e-4:
            lines.append(f"# after {gap.gap_s} s without commands: {_ms(gap.extra_s)} more")
    lines += [f"# {line}" for line in found.power.text()] if found.power else []
    path = ""
    # A point on a line.
    document = re.sub(r'\[\s+(\d+),\s+("[^"]+"),\s+\]', r"[\1, \2]", _toml.dumps(drive))
    for line in document.splitlines():
        if header := re.fullmatch(r"\[+([^\]]+)\]+", line):
            path = header[1] + "."
        key = re.match(r"([A-Za-z_]+) = ", line)
        known = origins.get(path + key[1]) if key else origins.get(path[:-1]) if header else None
        lines.append(f"{line}  # {known}" if known is not None else line)
    return "\n".join(lines) + "\n"


def write(found: Found, path: str | Path) -> None:
    """Write the drive file.

    Raises:
        ConfigError: the drive that was found cannot be simulated; the text says which value.
        OSError: the file cannot be written.
    """
    drive, origins = spec(found)
    _bridge.call("check_drive", json.dumps(drive))
    with outputs.whole_file(Path(path)) as part:
        part.write_text(_text(found, drive, origins), encoding="utf-8")
