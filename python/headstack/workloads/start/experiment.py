"""The commented experiment, as text."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headstack import _bridge
from headstack._toml import inline
from headstack.results import goal
from headstack.workloads.start import candidates, fio
from headstack.workloads.start.candidates import Candidate, Need

#: A share of requests that do not fill whole sectors of 4 KiB from which it is worth a comment.
_UNALIGNED = 0.01


def from_trace(
    trace: str | os.PathLike[str],
    *,
    goal: str | None = None,
    format: str | None = None,
    drives: Sequence[str] = (),
    folder: str | os.PathLike[str] = ".",
) -> str:
    """Return an experiment with a trace as its workload.

    Args:
        trace: the trace; it is read once, from beginning to end.
        goal: what a system must reach, as in ``p99=20ms``.
        format: the format of the trace; detected if absent.
        drives: names or files of drives to propose; else drives of today.
        folder: where the experiment will be: its paths start from there.

    Raises:
        TraceError: the trace cannot be read.
        ConfigError: the goal or a drive cannot be used, or there is nothing to hold the trace.
    """
    path = Path(trace)
    info = _bridge.call("trace_info", str(path), format, "fail", "format", "{}")
    if not info["n_requests"]:
        from headstack.errors import TraceError

        raise TraceError(f"{path}: got no requests, need at least one")
    devices = [d["end_lba"] * 512 for d in info["devices"] if d["end_lba"]]
    rows = candidates.of_today(drives)
    need = Need(devices or [1], info["rate_per_s"] if info["duration_s"] else None)
    workload = ["[workload]", f"trace = {inline(os.path.relpath(path, folder))}"]
    if format is not None:
        workload.append(f"format = {inline(format)}")
    workload += _notes_on(info)
    return _whole(_about_trace(path, info), goal, workload, candidates.propose(need, rows))


def from_fio(
    text: str,
    name: str = "job.fio",
    *,
    goal: str | None = None,
    drives: Sequence[str] = (),
    set: Mapping[str, str] | None = None,
) -> str:
    """Return an experiment with the jobs of fio as its workload.

    Args:
        text: the job file.
        name: its name, for messages and results.
        goal: what a system must reach, as in ``p99=20ms``.
        drives: names or files of drives to propose; else drives of today.
        set: options of all jobs to replace or add, such as ``{"size": "10g"}``.

    Raises:
        ConfigError: an option of the file is wrong or not supported, with its line.
    """
    read = fio.read(text, name, set or {})
    rows = candidates.of_today(drives)
    about = [f"The jobs of {name} on drives of today.", *read.notes]
    workload = ["[workload]", f"name = {inline(Path(name).stem)}"]
    if read.warm_up is not None:
        workload.append(f"warm_up = {inline(read.warm_up)}")
    if len(read.devices) > 1:
        blocks = [-(-size // 512) for size in read.devices]
        workload.append(f"device_blocks = {blocks}")
    for job in read.jobs:
        workload += ["", "[[workload.jobs]]", *(f"{key} = {inline(value)}" for key, value in job.items())]
    found = candidates.propose(Need(read.devices, read.rate), rows)
    return _whole(about, goal, workload, found)


def _whole(about: Sequence[str], text: str | None, workload: Sequence[str], found: Sequence[Candidate]) -> str:
    if text is None:
        line = '# goal = "p99=20ms"   # what a system must reach: headstack docs goals'
    else:
        line = f"goal = {inline(str(goal.parse(text)))}"
    lines = [*(f"# {sentence}" for sentence in about), "", line, "", *workload]
    for one in found:
        lines += ["", *([f"# {one.why}"] if one.why else []), "[[system]]"]
        lines.append(f"name = {inline(one.name)}")
        lines.append(f"drive = {inline(one.drive)}")
        if one.n_drives > 1:
            lines.append(f"count = {one.n_drives}")
        lines.append(f"organisation = {inline(one.organisation)}")
    lines += [
        "",
        '# More to try: queue_depth = 8, scheduler = "fcfs", cache = { write_back = false },',
        '# organisation = "raid5"; see headstack docs systems.',
    ]
    return "\n".join(lines) + "\n"


def _about_trace(path: Path, info: Mapping[str, Any]) -> list[str]:
    """Return what is known of a trace, in sentences."""
    opened, n = info["opened"], info["n_requests"]
    course, extent = info["rates"], sum(d["end_lba"] for d in info["devices"]) * 512
    both = [r + w for r, w in zip(course["n_reads"], course["n_writes"], strict=True)]
    peak = max(both, default=0) / course["bin_s"] if both else 0.0
    shares = ", ".join(f"{o['n_requests'] / n:.0%} {_plural(o['op'])}" for o in info["operations"])
    sizes = "; ".join(
        f"{_plural(o['op'])} {o['size_mean_bytes'] / 1024:,.1f} KiB on average"
        for o in info["operations"]
        if o["op"] != "flush"
    )
    many = len(info["devices"])
    return [
        f"Which system holds the load of {path.name}?",
        f"{n:,} requests in {info['duration_s']:,.1f} s, format {opened['format']}: {shares}.",
        f"{info['rate_per_s']:,.1f} requests/s on average, {peak:,.0f} in the busiest {course['bin_s']:.3g} s.",
        f"{many} device{'s' * (many > 1)}, addresses up to {extent / 1e9:,.2f} GB, of which "
        f"{info['footprint_bytes'] / 1e9:,.2f} GB are touched.",
        f"Sizes: {sizes}.",
    ]


def _plural(operation: str) -> str:
    return f"{operation}es" if operation.endswith("sh") else f"{operation}s"


def _notes_on(info: Mapping[str, Any]) -> list[str]:
    """Return comments on keys of the workload that this trace may need."""
    counts = [(o["n_requests"], o["unaligned_ratio"]) for o in info["operations"]]
    unaligned = sum(n * share for n, share in counts) / info["n_requests"]
    lines = []
    if unaligned >= _UNALIGNED:
        lines += [
            f"# {unaligned:.0%} of the requests do not fill whole sectors of 4 KiB. Drives of",
            "# today read a sector before they write a part of it. To move them to whole sectors:",
            '# align = "4 KiB"',
        ]
    lines += ["# time_scale = 0.5   # twice the load", '# end = "60 s"       # only the beginning of the trace']
    lines += [f"# {w['text']}" for w in info.get("warnings") or () if isinstance(w, Mapping)]
    return lines
