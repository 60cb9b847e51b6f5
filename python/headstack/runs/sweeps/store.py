"""The results of runs on disk, by what decides them.

# Model
A run is known by a hash over its experiment, its settings, its seed, and version and build of the
core. Each record also has the hashes of the input files that the run read. A record is used again
only if all of them still have these hashes. So a second sweep computes only what is new.

While a sweep runs, each record is appended to ``journal.jsonl`` as one line that begins with the
hash of its rest. A process that is killed leaves at most one incomplete line, which is recognised
and dropped. At the end all records are written to ``runs.parquet``, and those of the sweep as the
table ``results.parquet``; both appear at once or not at all (`headstack.runs.outputs`), and the journal
is removed.
"""

import contextlib
import fcntl
import hashlib
import io
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from headstack import drives
from headstack.errors import ConfigError
from headstack.runs import outputs
from headstack.runs.sweeps import worker

#: The table of the sweep, and the records of all runs.
TABLE, RECORDS = "results.parquet", "runs.parquet"

#: The figure of the sweep.
FIGURES = "figure.png", "figure.svg"

#: Records that are not in `RECORDS` yet.
JOURNAL = "journal.jsonl"

#: Seconds after which the journal is forced to the disk.
SYNC_S = 2.0

_DIGITS = 16


def run_key(base: Mapping[str, Any], overrides: Mapping[str, Any]) -> str:
    """Return what a run is known by.

    The text of an experiment's file counts, not its name.
    """
    content = dict(base)
    file, text = base.get("file"), base.get("text")
    if file is not None and text is None:
        content["text"] = outputs.sha256(Path(file))
    if file is not None:
        # Relative paths of inputs start here; their contents are compared apart.
        content["file"] = Path(file).suffix
    content.pop("places", None)
    return worker.hash_of([content, dict(overrides), worker.identity()])


class Keys:
    """Keys of many runs of one experiment, whose file is read once."""

    def __init__(self, base: Mapping[str, Any]) -> None:
        self._base = run_key(base, {})

    def of(self, overrides: Mapping[str, Any]) -> str:
        """Return the key of the run with these changes."""
        return worker.hash_of([self._base, dict(overrides)])


class _Inputs:
    """Whether input files still have the contents that records name."""

    def __init__(self, base: Mapping[str, Any]) -> None:
        file = base.get("file")
        self._folder = Path(file).parent if file is not None else Path()
        self._places = {n: Path(p) for n, p in (base.get("places") or {}).items()}
        self._hashes: dict[tuple[str, str], str | None] = {}

    def same(self, inputs: Sequence[Sequence[Any]]) -> bool:
        """Return whether all files have the hashes of a record; what has none is not the same."""
        return all(sha is not None and self._hash(kind, name) == sha for kind, name, sha in inputs)

    def _hash(self, kind: str, name: str) -> str | None:
        key = (kind, name)
        if key not in self._hashes:
            self._hashes[key] = None
            with contextlib.suppress(OSError, ConfigError):
                self._hashes[key] = outputs.sha256(self._path(kind, name))
        return self._hashes[key]

    def _path(self, kind: str, name: str) -> Path:
        if name in self._places:
            return self._places[name]
        return drives.find(name, self._folder) if kind == "drive" else self._folder / name


def _text(record: Mapping[str, Any]) -> str:
    return json.dumps(record, separators=(",", ":"))


def _line(key: str, record: str) -> bytes:
    """Return one line of a journal: hash of the rest, key, record."""
    rest = f"{key} {record}".encode()
    return f"{hashlib.sha256(rest).hexdigest()[:_DIGITS]} ".encode() + rest + b"\n"


def _read_lines(content: bytes) -> tuple[dict[str, str], int]:
    """Return the records of a journal as text by key, and where its valid part ends."""
    found, end = {}, 0
    for line in io.BytesIO(content):
        check, _, rest = line[:-1].partition(b" ")
        whole = line.endswith(b"\n") and hashlib.sha256(rest).hexdigest()[:_DIGITS].encode()
        if not whole or whole != check:
            break
        key, _, record = rest.decode().partition(" ")
        found[key] = record
        end += len(line)
    return found, end


class Store:
    """The records of a folder; one process at a time writes them."""

    def __init__(self, folder: Path, base: Mapping[str, Any]) -> None:
        """Read what is there; see `opened`."""
        self.folder = folder
        self._inputs = _Inputs(base)
        self._file: Any = None
        self._synced = time.monotonic()
        self._texts: dict[str, str] = {}

    def _open(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / JOURNAL
        file = path.open("a+b")  # closed by `opened`
        self._file = file
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(
                f"{self.folder}: got a folder that another sweep is writing to, need another "
                "folder, or the end of that sweep"
            ) from None
        except OSError:
            pass  # the file system has no locks
        self._texts = self._kept()
        file.seek(0)
        found, end = _read_lines(file.read())
        file.truncate(end)
        self._texts |= found

    def _kept(self) -> dict[str, str]:
        path = self.folder / RECORDS
        with outputs.checked(self.folder, RECORDS):
            if not path.exists():
                if (self.folder / outputs.RESULTS_FILE).exists():
                    raise ConfigError(f"{self.folder}: got a folder with results of headstack run, need another one")
                return {}
            import pyarrow as pa
            import pyarrow.parquet as pq

            try:
                table = pq.read_table(path, columns=["key", "record"])
            except (pa.ArrowInvalid, KeyError, OSError) as e:
                said = str(e).splitlines()[0]
                raise ConfigError(f"{path}: got {said}, need the records of a sweep") from None
        keys, records = (table.column(n).to_pylist() for n in ("key", "record"))
        return dict(zip(keys, records, strict=True))

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the record of a run if its inputs have not changed."""
        text = self._texts.get(key)
        if text is None:
            return None
        record: dict[str, Any] = json.loads(text)
        return record if self._inputs.same(record["inputs"]) else None

    def put(self, key: str, record: Mapping[str, Any]) -> None:
        """Keep the record of a run.

        Raises:
            OSError: there is no room; the line that was begun is not taken for whole later.
        """
        text = _text(record)
        try:
            self._file.write(_line(key, text))
            self._file.flush()
            if time.monotonic() - self._synced > SYNC_S:
                os.fsync(self._file.fileno())
                self._synced = time.monotonic()
        except OSError as e:
            raise OSError(e.errno, e.strerror, str(self.folder / JOURNAL)) from None
        self._texts[key] = text

    def publish(self, keys: Sequence[str], table: Any, figures: Mapping[str, bytes]) -> None:
        """Write records and table as one set, and remove the journal.

        Args:
            keys: the runs of the sweep.
            table: its rows, in Arrow.
            figures: contents by file name, of `FIGURES`.

        Raises:
            OSError: they cannot be written.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        names = sorted(self._texts)
        records = pa.table({"key": names, "record": [self._texts[n] for n in names]})
        own = {RECORDS, TABLE, *FIGURES}
        with outputs.replacing(self.folder, own.__contains__) as part:
            part.run_id = worker.hash_of(list(keys))[:12]
            pq.write_table(records, part.path / RECORDS, compression="zstd")
            pq.write_table(table, part.path / TABLE, compression="zstd")
            for name, content in figures.items():
                (part.path / name).write_bytes(content)
        self._file.truncate(0)


class Memory:
    """Records that are not kept on disk."""

    def __init__(self) -> None:
        self._records: dict[str, Mapping[str, Any]] = {}

    def get(self, key: str) -> Any:
        """Return the record of a run, if it was put here."""
        return self._records.get(key)

    def put(self, key: str, record: Mapping[str, Any]) -> None:
        """Keep the record of a run."""
        self._records[key] = record


@contextlib.contextmanager
def opened(folder: Path, base: Mapping[str, Any]) -> Iterator[Store]:
    """Yield the store of a folder, locked against other sweeps.

    Raises:
        ConfigError: another sweep writes to it, it has other results, or its files were changed.
        OSError: it cannot be written to.
    """
    store = Store(folder, base)
    try:
        store._open()
        yield store
    finally:
        if store._file is not None:
            path, empty = folder / JOURNAL, False
            with contextlib.suppress(OSError):
                store._file.flush()
                empty = os.fstat(store._file.fileno()).st_size == 0
            if empty:
                path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                store._file.close()
