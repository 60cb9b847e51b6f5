"""What the page draws, from the record of a window: times from its begin, radii as shares.

The medium between the first and the last track is drawn as a ring. Tracks are equally far apart, so
the radius of a track follows from its number. Where a description does not say the radii of the
first and the last track, those of a usual 3.5-inch drive are drawn: 46 and 22.5 mm on a platter of
95 mm.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from headstack.errors import ConfigError

#: Radii of the platter and of its first and last track in millimetres, if nothing is said.
PLATTER_MM, OUTER_MM, INNER_MM = 47.5, 46.0, 22.5


def of(record: Mapping[str, Any], number: int | None = None) -> dict[str, Any]:
    """Return a drive of a record as the page draws it.

    Args:
        record: one entry of `headstack.show.view.record`.
        number: the drive's number; that with most commands by default.

    Raises:
        ConfigError: there is no such drive.
    """
    drives = record["drives"]
    if number is None:
        number = max(range(len(drives)), key=lambda i: len(drives[i]["commands"]))
    if not 0 <= number < len(drives):
        raise ConfigError(f"drive: got {number}, need a number below {len(drives)}")
    drive, begin = drives[number], record["from_ns"]
    return {
        "system": record["system"],
        "name": drive["name"],
        "number": number,
        "count": len(drives),
        "moves_writes": drive["moves_writes"],
        "radii": [OUTER_MM / PLATTER_MM, INNER_MM / PLATTER_MM],
        "units": drive["units"],
        "rotations": [[r["unit"], r["from_ns"] - begin, r["period_ns"], r["angle"]] for r in drive["rotations"]],
        "arms": [
            {"unit": arm["unit"], "sets": [[s["angle"], s["offset"]] for s in arm["head_sets"]]}
            for arm in drive["arms"]
        ],
        "phases": [_phases(arm, phases, begin) for arm, phases in zip(drive["arms"], drive["phases"], strict=True)],
        "commands": [_command(c, begin) for c in drive["commands"]],
        "samples": {**drive["samples"], "from_ns": drive["samples"]["from_ns"] - begin},
    }


def _phases(arm: Mapping[str, Any], phases: Sequence[Mapping[str, Any]], begin: int) -> list[dict[str, Any]]:
    """Return the phases of an assembly, each with the position of the arm at its start and end.

    The position is the track of the assembly's first head set.
    """
    offsets = [s["offset"] for s in arm["head_sets"]]
    track = arm["track"]
    shown = []
    for phase in phases:
        before = track["cylinder"] - offsets[track["head_set"]]
        track = phase["track"] or track
        there = track["cylinder"] - offsets[track["head_set"]]
        one = {
            "kind": phase["kind"],
            "from": phase["from_ns"] - begin,
            "to": phase["to_ns"] - begin,
            # Only in a seek the arm moves.
            "start": before if phase["kind"] == "seek" else there,
            "end": there,
            "head": track["head"],
            "set": track["head_set"],
        }
        one |= {key: phase[key] for key in ("work", "condition") if phase[key]}
        shown.append(one)
    return shown


def _command(command: Mapping[str, Any], begin: int) -> dict[str, Any]:
    times = ("arrival_ns", "chosen_ns", "completion_ns")
    since = {k[:-3]: None if command[k] is None else command[k] - begin for k in times}
    rest = ("op", "block", "blocks", "arm", "cache_hit", "error", "place")
    return {**{key: command[key] for key in rest}, **since}
