"""Systems that can hold a load: drives of today, as many as its space and its rate need."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from headstack import drives
from headstack.errors import ConfigError

#: Most kinds of drives that are proposed for each number of actuators.
_OF_A_KIND = 2

#: Drives that came on the market so many years before the newest one are of today.
_YEARS = 6

#: Share of what a drive can do at random, without a queue, that a system should be loaded with.
_LOADED = 0.6

#: Most drives of a system that is proposed.
_MOST = 64


class Candidate(NamedTuple):
    """A system that is proposed."""

    name: str
    drive: str
    n_drives: int
    organisation: str
    #: Why it is proposed, in words.
    why: str


class Need(NamedTuple):
    """What a load needs."""

    #: Bytes from the beginning to the end of what is used on each device of the workload.
    devices: Sequence[int]
    #: Requests per second, or None: as fast as the drives allow.
    rate: float | None


def of_today(named: Sequence[str] = ()) -> list[Mapping[str, Any]]:
    """Return the drives to choose from: rows of `headstack.drives.overview`.

    Args:
        named: names or files of drives, to take these.

    Raises:
        ConfigError: there is no such drive.
    """
    if named:
        return [drives.row(name) for name in named]
    known = [row for row in drives.rows() if "error" not in row and row["year"] is not None]
    newest = max((row["year"] for row in known), default=0)
    recent = [r for r in known if r["year"] >= newest - _YEARS and not r["power_is_default"]]
    recent.sort(key=lambda row: (-row["year"], row["name"]))
    chosen: list[Mapping[str, Any]] = []
    for row in recent:
        like = [r for r in chosen if r["n_actuators"] == row["n_actuators"]]
        # The same drive with another link is no other choice.
        twin = any(math.isclose(r["capacity_bytes"], row["capacity_bytes"], rel_tol=0.01) for r in like)
        if len(like) < _OF_A_KIND and not twin:
            chosen.append(row)
    return chosen


def random_iops(row: Mapping[str, Any]) -> float:
    """Return how many small random requests a second a drive does, one on each actuator."""
    turn = 60.0 / row["rotation_speed_rpm"]
    return float(row["n_actuators"] / (row["average_seek_s"] + turn / 2))


def propose(need: Need, rows: Sequence[Mapping[str, Any]]) -> list[Candidate]:
    """Return systems that can hold a load.

    For each drive: as many as the space needs, and, if they are more, as many as the rate needs;
    and for a load of several devices one drive for each, as it was recorded.

    Raises:
        ConfigError: no system of a reasonable size can.
    """
    found: list[Candidate] = []
    for row in rows:
        name, size = row["name"], row["capacity_bytes"]
        several = len(need.devices)
        for_space = max(1, math.ceil(sum(need.devices) / size))
        for_rate = math.ceil((need.rate or 0.0) / (_LOADED * random_iops(row)))
        counts = {for_space: "the space needs it"}
        if for_rate > for_space:
            counts[for_rate] = (
                f"so many that {need.rate:,.0f} requests/s are about {_LOADED:.0%} of what they "
                "do at random without a queue"
            )
        for count, why in counts.items():
            if count <= _MOST:
                layout = "concatenate" if count == 1 else "raid0"
                label = name if count == 1 else f"{count} x {name}, striped"
                found.append(Candidate(label, name, count, layout, why if count > 1 else ""))
        if 1 < several <= _MOST and max(need.devices) <= size:
            why = "one for each device, as recorded"
            found.append(Candidate(f"{several} x {name}", name, several, "independent", why))
    if not found:
        total = sum(need.devices) / 1e12
        raise ConfigError(
            f"drive: got {total:,.1f} TB of addresses, need at most {_MOST} drives to hold them; "
            "name larger drives with --drive"
        )
    return found
