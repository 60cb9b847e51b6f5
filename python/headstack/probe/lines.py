"""Results of a probe in the words of other programs: io.cost of Linux, and maps of ddrescue."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from headstack.errors import ConfigError

from .drive_file import Found
from .queue import Queue
from .replay import Replay
from .seek import sheet_average_s

#: Most rows of a map.
_MOST_ROWS = 200_000


def io_cost_model(found: Found, queue: Queue, device: str = "MAJ:MIN") -> str:
    """Return a line for `io.cost.model`: rates of the drive alone, as resctl-bench states them.

    Writes are not measured: they get the values of reads.
    """
    zones = found.geometry["zones"]
    turn = float(found.turn.value)
    sectors = float(np.mean(zones[0]["sectors_per_track"]))
    skew = float(zones[0]["cylinder_skew"])
    rate = sectors * float(found.described["physical_bytes"]) / (turn * (1 + skew))
    random = float(max(queue.depths, key=lambda d: d.depth).iops.value)
    # The kernel counts 4 KiB pages for its sequential rate.
    sequential = rate / 4096
    each = {"bps": rate, "seqiops": sequential, "randiops": random}
    values = " ".join(f"{way}{k}={v:.0f}" for way in "rw" for k, v in each.items())
    return f"{device} ctrl=user model=linear {values}"


def rescue_map(geometry: Any, head: int, block_bytes: int) -> str:
    """Return a map file of ddrescue, in which all that lies on one head is a bad area.

    What was not reached is left as not tried.

    Raises:
        ConfigError: the drive uses its heads in turn in every cylinder, so a map has too many rows.
    """
    count = sum(z.cycles * len(z.cycle) + len(z.tail) for z in geometry.found)
    if geometry.head_first or count > _MOST_ROWS:
        raise ConfigError(f"rescue map: got {count} bands, need at most {_MOST_ROWS}, each on one surface")
    bands = [
        (zone.cycle if i // len(zone.cycle) < zone.cycles else zone.tail)[i % len(zone.cycle)]
        for zone in geometry.found
        for i in range(zone.cycles * len(zone.cycle) + len(zone.tail))
    ]
    sizes = np.array([band.blocks for band in bands], dtype=np.int64)
    begins = np.cumsum(sizes) - sizes
    on = geometry.locate(begins).head == head
    rows = [(int(at), int(n), "-" if bad else "+") for at, n, bad in zip(begins, sizes, on, strict=True)]
    at = int(sizes.sum())
    if at < geometry.total:
        rows.append((at, geometry.total - at, "?"))
    lines = [f"# Bands of head {head}, from headstack probe", "# current_pos  status  pass"]
    lines += ["0x00000000     ?               1", "#      pos        size  status"]
    lines += [f"0x{a * block_bytes:08X}  0x{n * block_bytes:08X}  {s}" for a, n, s in rows]
    return "\n".join(lines) + "\n"


def text(found: Found, replay: Replay | None) -> list[str]:
    """Return what was measured of times, line by line."""
    c = found.curve
    lines = [
        f"turnaround {float(c.turnaround.value) * 1e3:.3f} ms; seek of one track "
        f"{float(c.table[0][1].value) * 1e3:.3f} ms, of {c.table[-1][0]:,} tracks "
        f"{float(c.table[-1][1].value) * 1e3:.2f} ms, average "
        f"{sheet_average_s(c, found.geometry['cylinders']) * 1e3:.2f} ms; {c.held_out[0]:.1%} "
        "of the reads held out contradict the table"
    ]
    if found.buffer is not None:
        b = found.buffer
        kept = f"{b.segments.value} segments, read-ahead {b.kind}" if b.segments else "not in use"
        lines.append(f"buffer: {kept}")
    if found.actuators is not None:
        lines.append(f"actuators: {found.actuators.number.value}")
    if found.queue is not None:
        ageing = f", ageing {found.queue.ageing.value}" if found.queue.ageing else ""
        lines.append(f"order of the queue: {found.queue.spec['scheduler']}{ageing}")
        lines += [
            f"depth {d.depth}: {float(d.iops.value):.1f} reads/s, 99 % within {float(d.p99_s.value) * 1e3:.0f} ms"
            for d in found.queue.depths
        ]
    for more in (found.power, found.writes):
        lines += more.text() if more is not None else []
    if found.host.beside:
        lines.append(f"another client takes {found.host.beside:.0%} of the drive's time")
    if replay is not None:
        lines.append(
            f"replay against the file: {float(replay.closed.value):.1%} of the mean off closed, "
            f"{float(replay.open.value):.1%} open (by chance {replay.chance[0]:.1%} and "
            f"{replay.chance[1]:.1%})"
        )
    if found.queue is not None:
        lines.append(f"io.cost.model: {io_cost_model(found, found.queue)}")
    return lines


def values_of(found: Found) -> Mapping[str, Any]:
    """Return all values as a dictionary for JSON."""
    curve = found.curve
    document: dict[str, Any] = {
        "turn": found.turn.as_dict(),
        "turnaround": curve.turnaround.as_dict(),
        "seek": [{"cylinders": d, **v.as_dict()} for d, v in curve.table],
        "formula": curve.formula,
        "contradicted_by_held_out_reads": curve.held_out,
    }
    if found.switches and found.switches.head_switch:
        document["head_switch"] = found.switches.head_switch.as_dict()
    if found.queue:
        document["depths"] = [
            {"depth": d.depth, "iops": d.iops.as_dict(), "p99": d.p99_s.as_dict()} for d in found.queue.depths
        ]
        document["io_cost_model"] = io_cost_model(found, found.queue)
        document["queue"] = {"spec": found.queue.spec, "agreement": found.queue.agreement}
    if found.actuators:
        document["actuators"] = found.actuators.number.as_dict()
        document["ranges"] = found.actuators.ranges
    if found.power:
        document["power"] = found.power.as_dict()
    if found.writes:
        document["writes"] = found.writes.as_dict()
    document["idle"] = [{"gap_s": i.gap_s, **i.extra_s.as_dict()} for i in found.idle]
    return document
