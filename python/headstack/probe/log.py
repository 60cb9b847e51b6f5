"""The log of a probe: every call to the target with its answer, one JSON document on each line.

The first line is the header: version, seed, what the target says of itself, and the options that
decide. Results depend on the log alone. A last line that was cut off is dropped.
"""

import json
import os
from pathlib import Path
from typing import Any

from headstack.errors import ConfigError

#: Version of the format.
VERSION = 1

#: Keys of an answer; the others of an entry are the call.
ANSWER = ("issued", "done", "status")

#: Other keys that are not of the call: which opening of the target, what the meter showed, W.
BESIDE = ("epoch", "watts")


class Log:
    """An append-only list of calls with their answers, with a file or without one.

    Attributes:
        header: its first line.
        entries: calls with answers, in order.
    """

    def __init__(self, header: dict[str, Any], entries: list[dict[str, Any]] | None = None) -> None:
        self.header = header
        self.entries = entries or []
        self._file: Any = None

    @classmethod
    def read(cls, path: Path) -> "Log":
        """Return the log of a file.

        Raises:
            ConfigError: it is no log of a probe, or one of another version.
            OSError: it cannot be read.
        """
        lines = path.read_bytes().split(b"\n")
        documents = []
        for number, line in enumerate(lines[:-1]):
            try:
                documents.append(json.loads(line))
            except ValueError:
                raise ConfigError(f"{path}:{number + 1}: got a line that is not JSON") from None
        if not documents or documents[0].get("headstack_probe") != VERSION:
            raise ConfigError(f"{path}: got no log of a probe of version {VERSION}, need one")
        return cls(documents[0], documents[1:])

    def keep(self, path: Path, *, resume: bool = False) -> None:
        """Write the log into a file from now on.

        Raises:
            ConfigError: there is a file already, and it is not resumed.
            OSError: it cannot be written.
        """
        if path.exists() and not resume:
            raise ConfigError(f"{path}: got a log that is there already, need --resume or another")
        if resume and path.exists():
            lines = path.read_bytes().rfind(b"\n") + 1
            os.truncate(path, lines)
            self._file = path.open("ab")
            if lines:
                return
        else:
            self._file = path.open("xb")
        for document in (self.header, *self.entries):
            self._write(document)

    def append(self, entry: dict[str, Any]) -> None:
        """Add a call with its answer."""
        self.entries.append(entry)
        if self._file is not None:
            self._write(entry)

    def note(self, text: str) -> None:
        """Add what was, or was not, set back on the target."""
        self.append({"note": text})

    def _write(self, document: dict[str, Any]) -> None:
        self._file.write(json.dumps(document, separators=(",", ":")).encode() + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
