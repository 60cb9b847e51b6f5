"""The drive view: one offline page with an animated picture of drives in a window of a run.

The picture is drawn from the phases of the run: what each arm assembly did, from when to when, on
which track. `record` gets them; `to_html` makes the page; `write` does both.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from headstack import _bridge, drives
from headstack.errors import ConfigError
from headstack.runs.outputs import whole_file
from headstack.show.view import scene, source

if TYPE_CHECKING:
    from headstack.runs.api import Progress, Result

#: Longest window, in nanoseconds: more cannot be drawn, nor looked at.
MOST_NS = 60 * 10**9

#: The page that `headstack view` writes.
DEFAULT_PAGE = "view.html"

#: Most drives beside each other.
MOST_DRIVES = 2


def record(
    run: "Result | str | os.PathLike[str]",
    *,
    at: str | float | None = None,
    length: str | float = "200 ms",
    systems: Sequence[str | int] | None = None,
    workload: str | int | None = None,
    base: str | os.PathLike[str] | None = None,
    progress: "Progress | None" = None,
    sources_anywhere: bool = False,
) -> list[dict[str, Any]]:
    """Return what the drives of one or two systems did in a window of a run.

    The run is repeated up to the end of the window, and is the same run: equal inputs, seed and
    version give equal results.

    Args:
        run: a result, its folder or file, or an experiment file.
        at: when the window begins, from the start of the run: seconds, or text with a unit. Without
            it, the time at which most requests were in the first system; 0 for experiments.
        length: its length.
        systems: names or numbers of the systems; the first two by default.
        workload: name or number of the workload; the first one by default.
        base: the folder from which relative paths of the experiment start; searched for by default.
        progress: as for `headstack.run`.
        sources_anywhere: whether DiskSim's drive files may name files outside their folder.

    Returns:
        A table for each system: ``system``, ``workload``, ``from_ns``, ``until_ns`` and ``drives``.
        Each drive has ``phases``, ``commands``, ``arms``, ``rotations`` and ``samples``.

    Raises:
        ConfigError: the experiment cannot be used, or the run has no such window.
        TraceError: its trace cannot be read.
    """
    given = source.of(run, base)
    chosen = given.systems(systems, MOST_DRIVES)
    number = given.workload(workload)
    begin = _ns(at, "at") if at is not None else given.busiest(chosen[0], number)
    duration = _ns(length, "for")
    if not 0 < duration <= MOST_NS:
        raise ConfigError(f"for: got {length}, need a length of time above 0 s, at most 60 s")
    # Known of results, so that the run need not be repeated first.
    _check_end(begin, given.end(chosen, number) * 1e9)
    records: list[dict[str, Any]] = []
    for one in chosen:
        found = _bridge.call(
            "record_window",
            given.file,
            given.text,
            [str(d) for d in drives.drive_dirs()],
            progress,
            sources_anywhere,
            given.places,
            (one, number),
            (begin, begin + duration),
        )
        records.append(found)
    _check_end(begin, max(r["end_ns"] for r in records))
    return records


def _check_end(begin: int, end: float) -> None:
    """Refuse a window after the end of a run."""
    if end <= begin:
        raise ConfigError(
            f"at: got {begin / 1e9:g} s, need a time before the last request has completed, at {end / 1e9:.6g} s"
        )


def _ns(given: str | float, key: str) -> int:
    """Return a time in nanoseconds."""
    seconds = _bridge.quantity("time", given, key) if isinstance(given, str) else float(given)
    if not 0 <= seconds < 2**62 / 1e9:
        raise ConfigError(f"{key}: got {given}, need a time of 0 s or more, at most 146 years")
    return round(seconds * 1e9)


def _colours() -> str:
    """Return the style rules with the colours of parts of time, light and dark."""
    from headstack.show.plots import look

    parts = {**look.PARTS, "read": look.PALETTE[0], "write": look.PALETTE[1]}
    light = "".join(f"--{name}:{code};" for name, code in parts.items())
    dark = "".join(f"--{name}:{look.DARK[code]};" for name, code in parts.items())
    return f":root{{{light}}}@media screen and (prefers-color-scheme: dark){{:root{{{dark}}}}}"


def to_html(records: Sequence[Mapping[str, Any]], *, title: str = "", drive: int | None = None) -> str:
    """Return the page of recorded windows; all of them must be of the same time.

    Args:
        records: the answer of `record`.
        title: the page's title; by default it names the systems.
        drive: number of the drive in each system; the one with most commands by default.

    Raises:
        ConfigError: a system has no such drive.
    """
    shown = [scene.of(record, drive) for record in records]
    first = records[0]
    data = {"from_ns": first["from_ns"], "length_ns": first["until_ns"] - first["from_ns"], "drives": shown}
    from headstack.show import report

    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return (
        report.templates(__name__)
        .get_template("view.html")
        .render(
            title=title or " and ".join(str(r["system"]) for r in records),
            scene=Markup(text),
            drives=shown,
            workload=first["workload"],
            begin_s=first["from_ns"] / 1e9,
            length_ms=data["length_ns"] / 1e6,
            css=Markup(report.asset("page.css") + _colours() + report.asset("view.css", __name__)),
            script=Markup(report.asset("view.js", __name__)),
        )
    )


def write(
    records: Sequence[Mapping[str, Any]],
    path: str | os.PathLike[str] = DEFAULT_PAGE,
    *,
    title: str = "",
    drive: int | None = None,
) -> Path:
    """Write the page of recorded windows to `path`; return the path.

    Raises:
        ConfigError: a system has no such drive.
        OSError: the page cannot be written.
    """
    page = to_html(records, title=title, drive=drive)
    with whole_file(Path(path)) as part:
        part.write_text(page, encoding="utf-8")
    return Path(path)
