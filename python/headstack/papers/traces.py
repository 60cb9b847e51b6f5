"""Finds the traces of a paper's workloads: given on the command line, or in one folder.

The folder is ``$HEADSTACK_TRACES``, or ``traces`` in the working directory, or ``data/traces`` in
``$HEADSTACK_SHARED``, where the tests find data that may not be distributed. The results record
which trace was used and how it was found.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headstack.errors import ConfigError
from headstack.runs import outputs
from headstack.suggest import listed, need_one_of

#: Environment variable with the folder of the traces.
VARIABLE = "HEADSTACK_TRACES"

#: Environment variable with a folder of data that has the traces in `SHARED_TRACES`.
SHARED = "HEADSTACK_SHARED"
SHARED_TRACES = Path("data") / "traces"

#: The folder in the working directory, used if the variable is not set.
FOLDER = "traces"


@dataclass(frozen=True)
class Found:
    """A trace file and how it was found.

    Attributes:
        path: absolute path.
        by: ``--trace``, an environment variable, or the folder.
    """

    path: Path
    by: str

    def document(self) -> dict[str, Any]:
        """Return path, origin, size and hash for the results."""
        return {
            "path": str(self.path),
            "found_by": self.by,
            "size_bytes": self.path.stat().st_size,
            "sha256": outputs.sha256(self.path),
        }


def find(workloads: Mapping[str, Sequence[str]], given: Mapping[str, Path] | None = None) -> dict[str, Found]:
    """Return the traces found, by workload: given ones first, then those of the folder.

    Args:
        workloads: patterns of file names in the folder, by workload.
        given: files given by the user.

    Raises:
        ConfigError: a given workload is unknown or its file absent; the folder that the variable
            names is absent, or holds several files of one workload.
    """
    found = {}
    for name, path in (given or {}).items():
        if not workloads:
            raise ConfigError(f'--trace: got "{name}", need none: this paper is run without traces')
        if name not in workloads:
            raise ConfigError(need_one_of("--trace", name, workloads))
        if not path.is_file():
            raise ConfigError(f'--trace {name}: got "{path}", need a file that exists')
        found[name] = Found(path.resolve(), "--trace")
    folder, by = _folder()
    if folder is None:
        return found
    for name, patterns in workloads.items():
        files = sorted({f for p in patterns for f in folder.glob(p) if f.is_file()})
        if name in found or not files:
            continue
        if len(files) > 1:
            found_files = listed(f.name for f in files)
            raise ConfigError(f"{by}: got {found_files}, need one file of {name}, or --trace {name}=PATH")
        found[name] = Found(files[0].resolve(), by)
    return found


def looked() -> str:
    """Return where traces were looked for, in words."""
    folder, by = _folder()
    if folder is not None:
        return f"looked in {by}" + ("" if by.startswith(FOLDER) else f" ({folder})")
    return f"looked for a folder {VARIABLE} (not set) or {FOLDER}/ ({Path.cwd()})"


def _folder() -> tuple[Path | None, str]:
    named = os.environ.get(VARIABLE)
    if named:
        if not Path(named).is_dir():
            raise ConfigError(f'{VARIABLE}: got "{named}", need a folder that exists')
        return Path(named), VARIABLE
    if Path(FOLDER).is_dir():
        return Path(FOLDER), f"{FOLDER}/"
    shared = os.environ.get(SHARED)
    if shared and (Path(shared) / SHARED_TRACES).is_dir():
        return Path(shared) / SHARED_TRACES, SHARED
    return None, ""
