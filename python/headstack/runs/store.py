"""Records of runs, by all that decides them: what is known is not computed again.

# Model
A run is known by a hash over its experiment, its settings, its seed, and version and build of the
core (`Keys`). Each record also has the hashes of the input files that the run read. A record is used
again only if all of them still have these hashes.

The records of a folder are rows of a database of SQLite. A row is there whole or not at all,
whatever ends the process, and several processes may write. A row whose hash is wrong was damaged,
and is not used. A sweep has the database for itself. At its end all records are written to
``runs.parquet``, and those of the sweep as the table ``results.parquet``; both appear at once or not at
all (`headstack.runs.outputs`), and the database is removed.
"""

import contextlib
import errno
import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from headstack import drives
from headstack.errors import ConfigError
from headstack.runs import outputs, worker

#: The table of the sweep, and the records of all runs.
TABLE, RECORDS = "results.parquet", "runs.parquet"

#: The figure of the sweep.
FIGURES = "figure.png", "figure.svg"

#: Records that are not in `RECORDS`; beside it SQLite keeps the last ones in a file of its own.
DATABASE = "runs.sqlite"

#: Seconds that a writer waits for the others.
WAIT_S = 60.0


class Keys:
    """What runs of one experiment are known by; its file is read once."""

    def __init__(self, base: Mapping[str, Any]) -> None:
        """Read the experiment: the text of its file counts, not its name."""
        content = {k: v for k, v in base.items() if k != "places"}
        file = base.get("file")
        if file is not None:
            # Relative paths of inputs start here; their contents are compared apart.
            content["file"] = Path(file).suffix
            if base.get("text") is None:
                content["text"] = outputs.sha256(Path(file))
        self._base = worker.hash_of([content, worker.identity()])

    def of(self, overrides: Mapping[str, Any]) -> str:
        """Return the key of the run with these changes."""
        return worker.hash_of([self._base, dict(overrides)])


@cache
def _content(path: Path, *_: int) -> str:
    """Return the hash of a file, computed once for each size and time of its modification."""
    return outputs.sha256(path)


def _check(key: str, record: bytes) -> bytes:
    return hashlib.sha256(key.encode() + record).digest()[:8]


class Store:
    """The records of a folder; without one they are in memory. See `opened`."""

    def __init__(self, folder: Path | None, base: Mapping[str, Any], alone: bool) -> None:
        self._path = None if folder is None else folder / DATABASE
        self._alone = alone
        self._published: dict[str, bytes] = {}
        file = base.get("file")
        self._inputs = Path(file).parent if file is not None else Path()
        self._places = {n: Path(p) for n, p in (base.get("places") or {}).items()}
        # Many runs read the same files.
        self._unchanged = cache(self._same)
        self._database = sqlite3.connect(self._path or ":memory:", 0 if alone else WAIT_S, isolation_level=None)

    def _open(self) -> None:
        if self._alone:
            self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._database.execute("CREATE TABLE IF NOT EXISTS runs (key TEXT PRIMARY KEY, record BLOB, hash BLOB)")
        if self._alone and self._path is not None:
            self._published = _published(self._path.parent)

    def close(self) -> None:
        """Close it; the database of a sweep goes if it is empty."""
        if self._alone and self._path is not None:
            with contextlib.suppress(sqlite3.Error):
                if not self._database.execute("SELECT count(*) FROM runs").fetchone()[0]:
                    # Its second file goes with the mode; the first one before it is unlocked.
                    self._database.execute("PRAGMA journal_mode = DELETE")
                    self._path.unlink()
        self._database.close()

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the record of a run if its inputs have not changed."""
        text = next(self._rows("WHERE key = ?", key), (key, self._published.get(key)))[1]
        if text is None:
            return None
        record: dict[str, Any] = json.loads(text)
        return record if all(self._unchanged(*given) for given in record["inputs"]) else None

    def _rows(self, where: str = "", *values: str) -> Iterator[tuple[str, bytes]]:
        """Yield the rows that are not damaged."""
        for key, record, check in self._database.execute(f"SELECT key, record, hash FROM runs {where}", values):
            if check == _check(key, record):
                yield key, record

    def _same(self, kind: str, name: str, sha256: str | None) -> bool:
        """Return whether an input still has its hash; what has none is not the same."""
        with contextlib.suppress(OSError, ConfigError):
            path = self._places.get(name)
            if path is None:
                path = drives.find(name, self._inputs) if kind == "drive" else self._inputs / name
            state = path.stat()
            return _content(path, state.st_size, state.st_mtime_ns) == sha256
        return False

    def put(self, key: str, record: Mapping[str, Any]) -> None:
        """Keep the record of a run; its ``inputs`` are kind, name or path, and hash of files."""
        text = json.dumps(record, separators=(",", ":")).encode()
        self._database.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?)", (key, text, _check(key, text)))

    def publish(self, keys: Sequence[str], table: Any, figures: Mapping[str, bytes]) -> None:
        """Write records and table as one set, and empty the database.

        Args:
            keys: the runs of the sweep.
            table: its rows, in Arrow.
            figures: contents by file name, of `FIGURES`.

        Raises:
            OSError: they cannot be written.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        assert self._path is not None
        found = self._published | dict(self._rows())
        names = sorted(found)
        records = pa.table({"key": names, "record": [found[n].decode() for n in names]})
        own = {RECORDS, TABLE, *FIGURES}
        with outputs.replacing(self._path.parent, own.__contains__) as part:
            part.run_id = worker.hash_of(list(keys))[:12]
            pq.write_table(records, part.path / RECORDS, compression="zstd")
            pq.write_table(table, part.path / TABLE, compression="zstd")
            for name, content in figures.items():
                (part.path / name).write_bytes(content)
        self._database.execute("DELETE FROM runs")


def _published(folder: Path) -> dict[str, bytes]:
    """Return the records in the table of a folder."""
    path = folder / RECORDS
    with outputs.checked(folder, RECORDS):
        if not path.exists():
            if (folder / outputs.RESULTS_FILE).exists():
                raise ConfigError(f"{folder}: got a folder with results of headstack run, need another one")
            return {}
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            table = pq.read_table(path, columns=["key", "record"])
        except (pa.ArrowInvalid, KeyError, OSError) as e:
            said = str(e).splitlines()[0]
            raise ConfigError(f"{path}: got {said}, need the records of a sweep") from None
    keys, records = (table.column(n).to_pylist() for n in ("key", "record"))
    return {key: record.encode() for key, record in zip(keys, records, strict=True)}


@contextlib.contextmanager
def _told(path: Path | None) -> Iterator[None]:
    """Make errors of SQLite in the block those of the package, or of the operating system."""
    try:
        yield
    except sqlite3.DatabaseError as e:
        name = getattr(e, "sqlite_errorname", "")
        if path is not None and name == "SQLITE_BUSY":
            raise ConfigError(
                f"{path.parent}: got a folder that another sweep is writing to, need another folder, or the end of "
                "that sweep"
            ) from None
        if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
            raise ConfigError(f"{path}: got {e}, need records of runs; hint: remove it to compute them again") from None
        if name.endswith("LOCK"):
            raise ConfigError(f"{path}: got a file system without locks, need one that has them") from None
        # SQLite does not tell more of a write that failed; a disk that is full is the usual reason.
        full = name in ("SQLITE_FULL", "SQLITE_IOERR_WRITE")
        number = errno.ENOSPC if full else errno.EIO if name.startswith("SQLITE_IOERR") else errno.EACCES
        raise OSError(number, str(e), str(path)) from None


@contextlib.contextmanager
def opened(folder: Path | None, base: Mapping[str, Any] | None = None, *, alone: bool = False) -> Iterator[Store]:
    """Yield the records of a folder, or of nothing in memory.

    Args:
        folder: the folder; None: memory.
        base: the experiment, as `headstack.runs.worker.prepare` takes it; relative paths of
            inputs start at its file.
        alone: whether others are refused, for `Store.publish`.

    Raises:
        ConfigError: another sweep writes to it, it has other results, or its files were changed.
        OSError: it cannot be written to, at the beginning or in the block.
    """
    path = None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / DATABASE
    with _told(path), contextlib.closing(Store(folder, base or {}, alone)) as store:
        store._open()
        yield store
