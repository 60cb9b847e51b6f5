"""What is done for one run of a sweep, in the process that does it."""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from headstack import __version__, _bridge, _core
from headstack.errors import ConfigError, HeadstackError, TraceError
from headstack.results.frames import flat

#: What the runs of a sweep have in common, by its hash.
_bases: dict[str, Mapping[str, Any]] = {}


@cache
def identity() -> dict[str, str]:
    """Return the version and the hash of the core: two builds may differ in their numbers."""
    with open(_core.__file__, "rb") as file:
        build = hashlib.file_digest(file, "sha256").hexdigest()
    return {"version": __version__, "build": build[:16]}


def prepare(base: Mapping[str, Any]) -> str:
    """Keep what all runs have in common; return its hash.

    Args:
        base: ``file``, ``text``, ``places`` and ``sources_anywhere``, as the core takes them.
    """
    key = hash_of(base)
    _bases[key] = base
    return key


def hash_of(value: object) -> str:
    """Return the hash of a value that JSON can represent."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def simulate(base: str, overrides: Mapping[str, Any], keep_going: bool = False) -> dict[str, Any]:
    """Simulate one point of a sweep with one seed.

    Args:
        base: hash of what was prepared.
        overrides: replaces parts of the experiment: ``set`` and ``seed``.
        keep_going: whether wrong input is part of the record instead of an exception.

    Returns:
        The record: ``rows`` (one for each system and workload), ``inputs``, ``warnings`` (names)
        and ``error``.

    Raises:
        HeadstackError: the run failed.
    """
    try:
        found = document(base, overrides)
    except (ConfigError, TraceError) as e:
        if not keep_going:
            raise
        return {"rows": [{}], "inputs": [], "warnings": [], "error": str(e)}
    # What a list in a system has is in no row: the drives, the curves, the description.
    rows = [{k: v for k, v in flat(s).items() if k != "partial"} for s in found["systems"]]
    warnings = list(dict.fromkeys(w["name"] for w in found.get("warnings") or ()))
    return {"rows": rows, "inputs": inputs_of(found), "warnings": warnings, "error": None}


def document(base: str | Mapping[str, Any], overrides: Mapping[str, Any], log: Path | None = None) -> dict[str, Any]:
    """Return the result document of a run.

    Args:
        base: what was prepared, or its hash.
        overrides: replaces parts of the experiment.
        log: a folder for its requests.

    Raises:
        HeadstackError: the run failed.
    """
    found = _bridge.run(_bases[base] if isinstance(base, str) else base, overrides, 1, log, log is not None)
    if found.get("partial"):
        raise HeadstackError("sweep: got an interrupted run, need it whole")
    return found


def inputs_of(document: Mapping[str, Any]) -> list[list[Any]]:
    """Return kind, name or path, and hash of each input file of a result."""
    return [[i.get("kind"), i.get("path") or i.get("name"), i.get("sha256")] for i in document.get("inputs") or ()]
