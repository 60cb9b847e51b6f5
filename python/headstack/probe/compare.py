"""What differs between a drive that was probed and a drive file, and what the difference means."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from headstack import _bridge


class Difference(NamedTuple):
    """A value of the drive that was probed against that of a file.

    Attributes:
        what: the value.
        probed: of the drive.
        given: of the file.
        relative: probed over given, less one; None for words and counts.
        means: what that means.
    """

    what: str
    probed: Any
    given: Any
    relative: float | None
    means: str


#: Relative differences that are no more than those of drives of one model, by value.
_USUAL = {"speed": 1e-4, "rate": 0.01, "seek": 0.05, "overhead": 0.2}


def differences(probed: Mapping[str, Any], given: Mapping[str, Any]) -> list[Difference]:
    """Return what differs by more than drives of one model do.

    Args:
        probed: the drive as a drive file has it.
        given: the other drive.
    """
    found: list[Difference] = []
    ours, theirs = (_values(spec) for spec in (probed, given))
    for key, (what, kind, means) in _MEANINGS.items():
        a, b = ours.get(key), theirs.get(key)
        if a is None or b is None or a == b:
            continue
        if kind is None:
            found.append(Difference(what, a, b, None, means[0]))
        elif b and abs(a / b - 1) > _USUAL[kind]:
            found.append(Difference(what, a, b, a / b - 1, means[0] if a < b else means[1]))
    return found


_Meaning = tuple[str, str | None, tuple[str, str]]
_RATES = ("fewer bits per inch, retries or a slow link", "more bits per inch: other heads, or another model")
_OTHER = ("another model, or another generation of it",) * 2
_MEANINGS: dict[str, _Meaning] = {
    "heads": ("heads", None, ("a head is out of use, or another model",) * 2),
    "layout": ("order of addresses", None, _OTHER),
    "capacity": ("capacity, B", None, ("a limited capacity, a head out of use, or another model",) * 2),
    "arms": ("actuators", None, _OTHER),
    "speed": ("turns per minute", "speed", ("the spindle is slower", "it is faster")),
    "outer": ("rate outside, B/s", "rate", _RATES),
    "inner": ("rate inside, B/s", "rate", _RATES),
    "seek": (
        "average seek, s",
        "seek",
        ("a setting for performance", "a quiet mode, more settling, vibration, or wear"),
    ),
    "overhead": (
        "overhead of a read, s",
        "overhead",
        ("a faster host or link", "a slower host or link, or other firmware"),
    ),
    "scheduler": ("order of the queue", None, ("other firmware or settings",) * 2),
    "buffer": ("buffer in use", None, ("the cache was switched on or off",) * 2),
}


def _values(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are compared."""
    full = _bridge.call("check_drive", json.dumps(spec))
    info = _bridge.call("drive_info", json.dumps(spec))
    overhead = full["overhead"]["read_miss"]["after_read"]
    return {
        "heads": full["geometry"]["surfaces"],
        "layout": full["geometry"]["layout"],
        "capacity": info["capacity_bytes"],
        "arms": info["n_actuators"],
        "speed": 60 / info["rotation_s"],
        "outer": info["sustained_bytes_per_s"]["outer"],
        "inner": info["sustained_bytes_per_s"]["inner"],
        "seek": info["average_seek_s"],
        "overhead": _bridge.call("quantity", "time", overhead),
        "scheduler": full["queue"]["scheduler"],
        "buffer": full["cache"]["enabled"],
    }


def text(found: list[Difference]) -> str:
    """Return the differences as lines."""
    if not found:
        return "no difference beyond those of drives of one model\n"
    lines = []
    for d in found:
        by = f" ({d.relative:+.2%})" if d.relative is not None else ""
        lines.append(f"{d.what}: {d.probed} against {d.given}{by}: {d.means}")
    return "\n".join(lines) + "\n"
