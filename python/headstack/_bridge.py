"""Calls into the Rust core with JSON in and out; one clear error if a function is missing."""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headstack import _core
from headstack.errors import ConfigError, HeadstackError


def call(name: str, *args: Any) -> Any:
    """Call `name` of the core and decode the JSON that it returns."""
    function = getattr(_core, name, None)
    if function is None:
        raise HeadstackError(
            f"headstack._core.{name}: got a core built without it, need one of this version; rebuild with make live"
        )
    answer = function(*args)
    return json.loads(answer) if isinstance(answer, str) else answer


def quantity(kind: str, text: object, where: str = "") -> float:
    """Return a quantity in SI units.

    Raises:
        ConfigError: it is none of that kind; the message begins with `where`.
    """
    try:
        return float(call("quantity", kind, text))
    except ConfigError as e:
        raise ConfigError(f"{where}: {e}" if where else str(e)) from None


def run(
    base: Mapping[str, Any],
    overrides: Mapping[str, Any],
    threads: int | None,
    out: Path | None,
    log_requests: bool,
    progress: Callable[[int, int | None], None] | None = None,
) -> dict[str, Any]:
    """Return the result document of a run; arguments as of `headstack.run`.

    `base` is the experiment, as `headstack.runs.worker.prepare` takes it.
    """
    from headstack import drives

    folders = [str(d) for d in drives.drive_dirs()]
    places = {name: Path(p) for name, p in (base.get("places") or {}).items()}
    document: dict[str, Any] = call(
        "run", base.get("file"), base.get("text"), json.dumps(overrides), folders, threads,
        None if out is None else str(out), log_requests, progress,
        bool(base.get("sources_anywhere", False)), places,
    )  # fmt: skip
    return document


def known(name: str) -> bool:
    """Return whether the installed core has `name`."""
    return hasattr(_core, name)


def need_live(what: str) -> None:
    """Refuse `what`, which serves or probes a drive, where the core has neither.

    Raises:
        HeadstackError: it is built without them, or the system is not Linux.
    """
    if known("emulate"):
        return
    if sys.platform != "linux":
        raise HeadstackError(f"{what}: got a system without it, need Linux")
    folder = Path(__file__).parents[2]
    raise HeadstackError(
        f"{what}: got an installation for simulations alone, need one with servers and probes; "
        f"run make live in {folder}"
    )


def probe_meter(table: str) -> Any:
    """Open a meter of a probe, described in JSON as in the configuration of headstack-capd."""
    need_live("probe")
    return _core.ProbeMeter.open(table)


def probe_target(name: str, **options: Any) -> Any:
    """Open a target of a probe."""
    need_live("probe")
    return _core.ProbeTarget.open(name, **options)
