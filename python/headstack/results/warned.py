"""Warnings of a result: what makes its numbers mislead, and the way out of each.

The checks are those of ``headstack models warning``; the guide to warnings explains each.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from headstack.show.table import DEFAULT, OVERLOADED


class Warned(NamedTuple):
    """A check that has fired."""

    #: Stable name of the check.
    name: str
    #: The system and the workload that it is about; None: several, or none.
    system: str | None
    workload: str | None
    #: What was found, with numbers.
    text: str
    #: What to do.
    way_out: str


class Group(NamedTuple):
    """The warnings of one check that have one way out."""

    name: str
    lines: list[str]
    way_out: str


#: Marks of the comparison table that a warning explains, by check.
_MARKS = {"overloaded": OVERLOADED, "default-values": DEFAULT}

#: Most lines of a group on a terminal.
_MOST_LINES = 5


def of(document: Mapping[str, Any]) -> list[Warned]:
    """Return the warnings of a result document.

    Example:
        >>> of({"systems": [], "warnings": []})
        []
    """
    return [_warned(one) for one in document.get("warnings") or ()]


def _warned(one: Any) -> Warned:
    # Earlier versions wrote lines of text.
    if not isinstance(one, Mapping):
        return Warned("", None, None, str(one), "")
    name, text, way_out = (str(one.get(key) or "") for key in ("name", "text", "way_out"))
    return Warned(name, one.get("system"), one.get("workload"), text, way_out)


def groups(warnings: Iterable[Warned], *, several: bool) -> list[Group]:
    """Return the warnings by check and way out, in order, equal lines once.

    Args:
        warnings: of a result.
        several: whether it has several workloads, so that lines name theirs.
    """
    found: dict[tuple[str, str], dict[str, None]] = {}
    for one in warnings:
        lines = found.setdefault((one.name, one.way_out), {})
        lines[_line(one, several=several)] = None
    return [Group(name, list(lines), way_out) for (name, way_out), lines in found.items()]


def _line(one: Warned, *, several: bool) -> str:
    where = one.system or one.workload
    if one.system and one.workload and several:
        where = f"{one.system} on {one.workload}"
    text = one.text if where is None else f"{where}: {one.text}"
    mark = _MARKS.get(one.name)
    return text if mark is None else f"{mark} {text}"


def of_document(document: Mapping[str, Any]) -> list[Group]:
    """Return the warnings of a result document by check."""
    workloads = {s.get("workload") for s in document["systems"]}
    return groups(of(document), several=len(workloads) > 1)


def lines(found: Iterable[Group], most: int = _MOST_LINES) -> list[str]:
    """Return the lines of a terminal: at most `most` of each group, then its way out.

    Example:
        >>> lines([Group("idle-drives", ["a: 3 of 4 drives got no request"], "fewer drives")])
        ['warning (idle-drives): a: 3 of 4 drives got no request', '  way out: fewer drives']
    """
    text = []
    for group in found:
        name = f" ({group.name})" if group.name else ""
        text += [f"warning{name}: {line}" for line in group.lines[:most]]
        if len(group.lines) > most:
            text.append(f"  and {len(group.lines) - most} more, see --json")
        if group.way_out:
            text.append(f"  way out: {group.way_out}")
    return text
