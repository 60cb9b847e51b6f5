"""What a probe changes on a target, and that all of it is as before afterwards.

Two things change: settings, and blocks of the scratch range. Blocks are only written with what they
contain, so a probe that is killed leaves them whole; a loss of power may leave one that cannot be
read. Contents and settings are in a file before the first change, until they are found to be
as before. If a probe finds such a file, settings are set back and blocks that cannot be read are
written; blocks with other contents belong to somebody else by then, and stay.
"""

import hashlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headstack.errors import ConfigError, HeadstackError
from headstack.runs import outputs

from . import settings

#: Bytes that are read at once, and most bytes of a scratch range.
_CHUNK, MOST_BYTES = 1 << 16, 256 << 20

#: What is said of blocks that somebody else has written since.
_OTHER = "have other contents, and keep them"


def scratch_of(text: str) -> tuple[int, int]:
    """Return the first block and the number of blocks of ``FIRST+BLOCKS``.

    Raises:
        ConfigError: it is not of this form.
    """
    first, _, blocks = text.partition("+")
    if not (first.isdecimal() and blocks.isdecimal() and int(blocks) > 0):
        raise ConfigError(f'--allow-writes: got "{text}", need FIRST+BLOCKS, logical blocks')
    return int(first), int(blocks)


def check_confirmed(target: str, described: Mapping[str, Any], given: str | None) -> None:
    """Check that somebody who allows writes means this target.

    Raises:
        ConfigError: model and serial number, or the name of a target without, are not these; or
            the target is in use, or takes no such writes.
    """
    if described["kind"] == "sim":
        return  # nothing can be lost
    if described["mounted"]:
        raise ConfigError("--allow-writes: got a target that is mounted or held, need a free one")
    if described["zoned"] == "host-managed":
        raise ConfigError("--allow-writes: got zones that the host manages (not supported)")
    model, _, serial = (given or "").rpartition(" ")
    digest = hashlib.sha256(serial.strip().encode()).hexdigest()[:16]
    if described["serial_sha256"]:
        right = (model.strip(), digest) == (described["model"], described["serial_sha256"])
        need = f'"{described["model"]} SERIAL" with its serial number'
    else:
        right, need = given == target, f'"{target}", as it has no serial number'
    if not right:
        raise ConfigError(f"--confirm: got {json.dumps(given)}, need {need}")


class Guard:
    """Changes a target, and sets it back.

    Attributes:
        notes: what was, or was not, set back.
    """

    def __init__(
        self,
        target: str,
        core: Any,
        reopen: Callable[[], Any],
        scratch: tuple[int, int] | None,
        change: dict[str, bool],
    ) -> None:
        self._core, self._reopen = core, reopen
        self._scratch, self._change = scratch, change
        self._described = core.described
        self._file = _folder() / f"probe-{_name(target, self._described)}"
        self._contents = b""
        self._pages: dict[int, bytes] = {}
        self._signals: dict[int, Any] = {}
        self.notes: list[str] = []

    def begin(self) -> None:
        """Set back what an earlier probe left, and make the changes.

        Raises:
            ConfigError: the target cannot be changed so; it sleeps, or is too warm.
            HeadstackError: a block of the scratch range cannot be read.
        """
        settings.check_awake(self._core)
        if self._described["kind"] != "sim" and self._file.exists():
            self._set_back_earlier()
        if self._scratch is None and not self._change:
            return
        if self._scratch is not None:
            self._contents = self._read_scratch(*self._scratch)
        pages = settings.change(self._core, self._change)
        before = {code: now for code, (now, _) in pages.items()}
        if self._described["kind"] != "sim":
            self._keep(before)
        self._pages = before
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGHUP):
                self._signals[number] = signal.signal(number, lambda n, _: sys.exit(128 + n))
        for code, (_, changed) in pages.items():
            settings.select(self._core, code, changed)
        if self._scratch is not None:
            self._core.hold(self._scratch[0], self._contents)

    def end(self) -> None:
        """Set back everything, and check that it is as before; close the target."""
        self._core.close()
        if self._contents or self._pages:
            self.notes += self._all_set_back()
        for number, before in self._signals.items():
            signal.signal(number, before)

    def _all_set_back(self) -> list[str]:
        # Opened anew: of commands that a signal stopped, answers may be on their way.
        try:
            core = self._reopen()
        except HeadstackError as e:
            return [f"not checked whether everything is as before: {e}"]
        try:
            first = self._scratch[0] if self._scratch else 0
            wrong = _set_back(core, self._pages, first, self._contents, others=False)
        except HeadstackError as e:
            wrong = [f"not set back: {e}"]
        finally:
            core.close()
        if not wrong:
            self._file.unlink(missing_ok=True)
        return wrong

    def _read_scratch(self, first: int, blocks: int) -> bytes:
        size, all_blocks = int(self._described["block_bytes"]), int(self._described["blocks"])
        if first + blocks > all_blocks or blocks * size > MOST_BYTES:
            raise ConfigError(
                f"--allow-writes: got {first}+{blocks}, need at most {MOST_BYTES >> 20} MiB of "
                f"blocks below {all_blocks}"
            )
        parts = []
        for lba, count in _chunks(first, blocks, size):
            part = self._core.fetch(lba, count)
            if part is None:
                raise HeadstackError(f"probe: got blocks {lba}+{count} that cannot be read, need another range")
            parts.append(part)
        return b"".join(parts)

    def _keep(self, pages: dict[int, bytes]) -> None:
        """Keep contents and settings: a line of JSON, then the contents."""
        head = {
            "first": self._scratch[0] if self._scratch else 0,
            "bytes": len(self._contents),
            "pages": {str(code): now.hex() for code, now in pages.items()},
        }
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with outputs.whole_file(self._file) as part, part.open("wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(json.dumps(head).encode() + b"\n" + self._contents)
            file.flush()
            os.fsync(file.fileno())

    def _set_back_earlier(self) -> None:
        line, _, contents = self._file.read_bytes().partition(b"\n")
        head = json.loads(line)
        what = "settings and contents are"
        if contents and self._scratch is None:
            what = "settings are"
            self.notes.append(
                f"an earlier probe that wrote blocks {head['first']} and following did not end: "
                "whether they can be read is checked with --allow-writes"
            )
            contents = b""
        pages = {int(code): bytes.fromhex(now) for code, now in head["pages"].items()}
        wrong = _set_back(self._core, pages, int(head["first"]), contents, others=True)
        kept = f"{what} as before it" if not wrong else "; ".join(wrong)
        self.notes.append(f"an earlier probe did not end: {kept}")
        if len(contents) == int(head["bytes"]) and all(_OTHER in each for each in wrong):
            self._file.unlink()
        elif self._scratch is not None or self._change:
            raise HeadstackError(f"probe: {self.notes[-1]}; need {self._file} settled first")


def _set_back(core: Any, pages: dict[int, bytes], first: int, contents: bytes, *, others: bool) -> list[str]:
    """Set back settings and contents; return what is not as before.

    With `others`, blocks that can be read are left as somebody else may have written them.
    """
    wrong, other = [], []
    for code, before in pages.items():
        try:
            settings.select(core, code, before)
        except HeadstackError as e:
            wrong.append(str(e))
    size = int(core.described["block_bytes"])
    each = max(1, int(core.described["physical_bytes"]) // size)
    if core.described["kind"] == "sim":
        return wrong
    for lba, count in _chunks(first, len(contents) // size, size):
        before = contents[(lba - first) * size :][: count * size]
        if core.fetch(lba, count) == before:
            continue
        for at in range(0, count, each):
            part = before[at * size : (at + each) * size]
            blocks = len(part) // size
            now = core.fetch(lba + at, blocks)
            if now is not None and now != part and others:
                other.append(lba + at)
            elif now != part:
                core.hold(lba + at, part)
                core.write([lba + at], blocks, fua=True)
                if core.fetch(lba + at, blocks) != part:
                    wrong.append(f"block {lba + at} does not have its contents, see {_folder()}")
    if other:
        wrong.append(f"{len(other)} blocks from {other[0]} on {_OTHER}")
    return wrong


def _chunks(first: int, blocks: int, size: int) -> list[tuple[int, int]]:
    step = _CHUNK // size
    return [(first + at, min(step, blocks - at)) for at in range(0, blocks, step)]


def _folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "headstack"


def _name(target: str, described: Mapping[str, Any]) -> str:
    return str(described["serial_sha256"]) or hashlib.sha256(target.encode()).hexdigest()[:16]
