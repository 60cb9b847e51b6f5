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

from . import plan
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
) -> Probed:
    """Measure a target by reads alone, and return what was found.

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
    opened = _open(target, lateness, disturbed, beside, seed)
    try:
        header = {
            "headstack_probe": VERSION,
            "seed": seed,
            "described": _plain(opened.described),
            "options": {"budget_s": budget_s, "steps": list(wanted)},
        }
        kept = Log(header)
        if log is not None:
            path = Path(log)
            # A process that was killed at once has left a log without a whole line.
            if resume and path.exists() and b"\n" in path.read_bytes():
                kept = Log.read(path)
                if kept.header["described"] != _plain(opened.described):
                    raise ConfigError(f"{path}: got a log of another target, need this one's")
            kept.keep(path, resume=resume)
        return _run(opened, kept, told)
    finally:
        opened.close()


def _open(target: str, lateness: str | None, disturbed: float, beside: float, seed: int) -> Any:
    late = None if lateness is None else float(_bridge.call("quantity", "time", lateness))
    return _bridge.probe_target(
        target, lateness_s=late, disturbed=disturbed, beside=beside, seed=seed
    )


@contextmanager
def opened(
    target: str, lateness: str | None, disturbed: float, beside: float, seed: int
) -> Iterator[Session]:
    """Open a target for one measurement without a log."""
    core = _open(target, lateness, disturbed, beside, seed)
    try:
        yield Session(core, Log({"seed": seed, "described": _plain(core.described)}))
    finally:
        core.close()


def _plain(described: Any) -> Any:
    """Return a description as it comes back from a log."""
    return json.loads(json.dumps(described))


def _run(target: Any, log: Log, told: Told | None) -> Probed:
    options = log.header["options"]
    try:
        session = Session(target, log)
        return plan.run(session, float(options["budget_s"]), tuple(options["steps"]), told)
    finally:
        log.close()


class _Callable(ModuleType):
    """The package, which is called like its function: ``headstack.probe("sim:NAME")``."""

    def __call__(self, *args: Any, **options: Any) -> Probed:
        """Measure a target; see `probe`."""
        return probe(*args, **options)


sys.modules[__name__].__class__ = _Callable
