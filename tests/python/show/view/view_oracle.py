"""What a drive does at a time, computed from the record of a window in the simplest way.

The page computes the same in JavaScript, from other tables. Nothing of `headstack.show.view.scene` is
used here.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any


def platter(drive: Mapping[str, Any], unit: int, t: int) -> float:
    """The angle under the drive's angle zero, in turns, with exact arithmetic."""
    one = [r for r in drive["rotations"] if r["unit"] == unit and r["from_ns"] <= t][-1]
    turned = Fraction(t - one["from_ns"]) / Fraction(one["period_ns"])
    return float((Fraction(one["angle"]) + turned) % 1)


def arm(drive: Mapping[str, Any], number: int, t: int) -> dict[str, Any]:
    """The phase of an assembly, its track and the angle of the platter."""
    described = drive["arms"][number]
    base = described["track"]
    offsets = [s["offset"] for s in described["head_sets"]]
    for phase in drive["phases"][number]:
        before, base = base, phase["track"] or base
        if phase["from_ns"] <= t < phase["to_ns"]:
            break
    target = base["cylinder"]
    cylinder: float = target
    if phase["kind"] == "seek":
        # The set that is used now, before it moved.
        start = before["cylinder"] - offsets[before["head_set"]] + offsets[base["head_set"]]
        # Half of the way with constant acceleration a = 4 d / T^2, half with the opposite one.
        took, since = phase["to_ns"] - phase["from_ns"], t - phase["from_ns"]
        way, acceleration = target - start, 4 * (target - start) / took**2
        if 2 * since <= took:
            cylinder = start + acceleration * since**2 / 2
        else:
            cylinder = start + way - acceleration * (took - since) ** 2 / 2
    return {
        "kind": phase["kind"],
        "work": phase["work"],
        "cylinder": cylinder,
        "to_cylinder": target,
        "head": base["head"],
        "platter": platter(drive, described["unit"], t),
    }


def commands(drive: Mapping[str, Any], t: int) -> tuple[list[int], list[int]]:
    """The numbers of the commands that wait, and of those in service."""
    waiting, serving = [], []
    for i, c in enumerate(drive["commands"]):
        if c["arrival_ns"] <= t and (c["completion_ns"] is None or t < c["completion_ns"]):
            served = c["chosen_ns"] is not None and c["chosen_ns"] <= t
            (serving if served else waiting).append(i)
    return waiting, serving
