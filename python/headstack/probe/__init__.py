"""Measure a disk: rotation, zones, bands, heads, seeks, buffer and queue, as a drive file.

How to use it and what it can tell: docs/guide/probe.md.

Example:
    >>> import headstack
    >>> found = headstack.probe("sim:wd-re3-2009", budget="60 s")  # doctest: +SKIP
    >>> found.sentence                                             # doctest: +SKIP

"""

import json
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from headstack import _bridge
from headstack.errors import ConfigError

from . import guard, plan, power
from . import settings as disk_settings
from .log import VERSION, Log
from .period import NotADiskError
from .plan import STEPS, Probed, Told
from .session import Session
from .value import Value

__all__ = ["STEPS", "NotADiskError", "Probed", "Value", "probe"]

#: Least and usual time of a probe.
LEAST_S, BUDGET = 10.0, "10min"


def probe(
    target: str | None,
    *,
    budget: str = BUDGET,
    log: str | Path | None = None,
    resume: bool = False,
    from_log: str | Path | None = None,
    steps: Collection[str] | None = None,
    lateness: str | None = None,
    disturbed: float = 0.0,
    beside: float = 0.0,
    seed: int = 0,
    told: Told | None = None,
    allow_writes: str | None = None,
    confirm: str | None = None,
    change_settings: Collection[str] = (),
    meter: str | None = None,
) -> Probed:
    """Measure a target, by reads alone unless writes are allowed, and return what was found.

    Args:
        target: a block device, an address of NBD or iSCSI, ``sim:NAME`` or ``sim:FILE.toml``; None
            with `from_log`.
        budget: time of the target, such as "10 min".
        log: a file for every call and its answer.
        resume: whether to go on with that file.
        from_log: a log to work out again without a target.
        steps: which of `STEPS` are done; None: all.
        lateness: of the host of a simulated target, such as "15 us".
        disturbed: share of reads of a simulated target that wait for others.
        beside: share of a simulated target's time that another client takes.
        seed: of the addresses, and of a simulated target.
        told: called as each step begins, with the seconds left and what is known.
        allow_writes: blocks that may be written, with what they contain: "FIRST+BLOCKS".
        confirm: model and serial number of a target that is written.
        change_settings: settings for the time of the probe, such as "write-cache=off".
        meter: that shows the target alone: "file:PATH", "hwmon:PATH", "command:PROGRAM ARGUMENTS",
            a table as headstack-capd has it, or "sim", a simulated target's own.

    Raises:
        NotADiskError: it is no single rotating disk.
        ConfigError: the target or an option cannot be used.
        HeadstackError: the target fails, or too many reads are disturbed.
    """
    wanted = plan.chosen(steps)
    if from_log is not None:
        if target is not None:
            raise ConfigError("--from: got a target beside it, need one of both")
        return _run(None, Log.read(Path(from_log)), told)
    if target is None:
        raise ConfigError("probe: got no target, need one or --from LOG")
    budget_s = float(_bridge.call("quantity", "time", budget))
    if not budget_s >= LEAST_S:
        raise ConfigError(f"--budget: got {budget}, need at least {LEAST_S:g} s")
    scratch = None if allow_writes is None else guard.scratch_of(allow_writes)
    for step, given, option in ((plan.WRITES, scratch, "--allow-writes"), (plan.POWER, meter, "--meter")):
        if given is None and step in (steps or ()):
            raise ConfigError(f"--steps: got {step}, need {option}")
        if given is None:
            wanted = tuple(s for s in wanted if s != step)
    change = disk_settings.wanted(change_settings)

    def reopen() -> Any:
        return _open(target, lateness, disturbed, beside, seed, writes=scratch is not None)

    opened = reopen()
    kept = None
    try:
        if scratch is not None:
            guard.check_confirmed(target, opened.described, confirm)
        header = {
            "headstack_probe": VERSION,
            "seed": seed,
            "described": _plain(opened.described),
            "options": {"budget_s": budget_s, "steps": list(wanted)},
        }
        if scratch is not None:
            header["options"]["scratch"] = list(scratch)
        if change:
            header["options"]["settings"] = change
        shown = None if meter is None else power.opened(meter, opened)
        if shown is not None:
            header["options"]["meter_s"] = shown.interval_s
        kept = Log(header)
        if log is not None:
            path = Path(log)
            # A process that was killed at once has left a log without a whole line.
            if resume and path.exists() and b"\n" in path.read_bytes():
                kept = Log.read(path)
                if kept.header["described"] != _plain(opened.described):
                    raise ConfigError(f"{path}: got a log of another target, need this one's")
            for key, name in (("scratch", "scratch range"), ("meter_s", "meter")):
                if kept.header["options"].get(key) != header["options"].get(key):
                    raise ConfigError(f"{path}: got a log of another {name}, need this one's")
            kept.keep(path, resume=resume)
        watched = guard.Guard(target, opened, reopen, scratch, change)
        found = _guarded(watched, opened, kept, told, shown)
    finally:
        opened.close()
        if kept is not None:
            kept.close()
    return found


def _guarded(watched: guard.Guard, opened: Any, log: Log, told: Told | None, meter: Any) -> Probed:
    """Measure a target that is set back afterwards."""
    found = None
    try:
        watched.begin()
        for note in watched.notes:
            log.note(note)
        found = _run(opened, log, told, meter)
    finally:
        begun = len(watched.notes)
        watched.end()
        for note in watched.notes[begun:]:
            log.note(note)
            print(f"probe: {note}", file=sys.stderr)
            if found is not None:
                found.notes.append(note)
    return found


def _open(
    target: str, lateness: str | None, disturbed: float, beside: float, seed: int, *, writes: bool = False
) -> Any:
    late = None if lateness is None else float(_bridge.call("quantity", "time", lateness))
    return _bridge.probe_target(
        target, lateness_s=late, disturbed=disturbed, beside=beside, seed=seed, allow_writes=writes
    )


@contextmanager
def opened(target: str, lateness: str | None, disturbed: float, beside: float, seed: int) -> Iterator[Session]:
    """Open a target for one measurement without a log."""
    core = _open(target, lateness, disturbed, beside, seed)
    try:
        yield Session(core, Log({"seed": seed, "described": _plain(core.described)}))
    finally:
        core.close()


def _plain(described: Any) -> Any:
    """Return a description as it comes back from a log."""
    return json.loads(json.dumps(described))


def _run(target: Any, log: Log, told: Told | None, meter: Any = None) -> Probed:
    options = log.header["options"]
    session = Session(target, log, meter)
    return plan.run(session, float(options["budget_s"]), tuple(options["steps"]), told)


class _Callable(ModuleType):
    """The package, which is called like its function: ``headstack.probe("sim:NAME")``."""

    def __call__(self, *args: Any, **options: Any) -> Probed:
        """Measure a target; see `probe`."""
        return probe(*args, **options)


sys.modules[__name__].__class__ = _Callable
