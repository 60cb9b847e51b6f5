"""Results of a probe in the words of other programs: io.cost of Linux, and maps of ddrescue."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .drive_file import Found


def io_cost_model(found: Found, device: str = "MAJ:MIN") -> str:
    """Return a line for `io.cost.model`: rates of the drive alone, as resctl-bench states them.

    Writes are not measured: they get the values of reads.
    """
    zones = found.geometry["zones"]
    turn = float(found.turn.value)
    sectors = float(np.mean(zones[0]["sectors_per_track"]))
    skew = float(zones[0]["cylinder_skew"])
    rate = sectors * float(found.described["physical_bytes"]) / (turn * (1 + skew))
    by_depth = {d.depth: float(d.iops.value) for d in found.queue.depths} if found.queue else {}
    random = by_depth[max(by_depth)] if by_depth else 0.0
    # The kernel counts 4 KiB pages for its sequential rate.
    sequential = rate / 4096
    each = {"bps": rate, "seqiops": sequential, "randiops": random}
    values = " ".join(f"{way}{k}={v:.0f}" for way in "rw" for k, v in each.items())
    return f"{device} ctrl=user model=linear {values}"


def rescue_map(bands: Iterable[Any], head: int, block_bytes: int, blocks: int) -> str:
    """Return a map file of ddrescue, in which all that lies on one head is a bad area.

    Bands that were not measured are left as not tried.
    """
    rows: list[tuple[int, int, str]] = []
    at = 0
    for band in sorted(bands, key=lambda b: int(b.first_lba)):
        first, count = int(band.first_lba), int(band.blocks)
        if first > at:
            rows.append((at, first - at, "?"))
        rows.append((first, count, "-" if int(band.head) == head else "+"))
        at = first + count
    if at < blocks:
        rows.append((at, blocks - at, "?"))
    lines = [f"# Bands of head {head}, from headstack probe", "# current_pos  status  pass"]
    lines += ["0x00000000     ?               1", "#      pos        size  status"]
    lines += [f"0x{a * block_bytes:08X}  0x{n * block_bytes:08X}  {s}" for a, n, s in rows]
    return "\n".join(lines) + "\n"


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
            {"depth": d.depth, "iops": d.iops.as_dict(), "p99": d.p99_s.as_dict()}
            for d in found.queue.depths
        ]
        document["queue"] = {"spec": found.queue.spec, "agreement": found.queue.agreement}
    if found.actuators:
        document["actuators"] = found.actuators.number.as_dict()
        document["ranges"] = found.actuators.ranges
    document["idle"] = [{"gap_s": i.gap_s, **i.extra_s.as_dict()} for i in found.idle]
    return document
