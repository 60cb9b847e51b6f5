"""Output files of commands: written aside, then renamed, and listed in a manifest.

# Model
A folder of results has ``manifest.json``, which lists each file with its size, SHA-256 hash and
run. New files are written into a folder beside the old ones, ``.headstack-...``. When they are
complete, that folder is renamed ``.headstack-ready``: from then on the new set is valid. The files
of the old manifest are removed, the new ones are moved to their places, and the new manifest is
moved last: at no moment are there new files beside old ones. A process killed before the renaming
leaves the old set; one killed after it leaves a move that the next reader or writer completes
(`settle`). Other files are not changed.

Writers and readers lock the folder while they change or read files that others can see. A writer of
a whole set locks its folder of new files from the beginning to the end: another one is refused at
once, because only one of the two sets would be left.
"""

import contextlib
import datetime
import errno
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headstack.errors import ConfigError, HeadstackError, not_json, reason_of

#: The list of a folder's files.
MANIFEST = "manifest.json"

#: The document with the results; it names the other files.
RESULTS_FILE = "result.json"

#: Folder names of files that are not complete yet, and of complete ones.
_PART, _READY = ".headstack-part-", ".headstack-ready"

#: Folder names of new files that replace a whole set; the number of the process follows.
_SET = f"{_PART}set-"


@contextlib.contextmanager
def _locked(folder: Path, *, wait: bool = True, shared: bool = False) -> Iterator[None]:
    """Hold a lock on a folder, `shared` with other readers or alone.

    Raises:
        BlockingIOError: another process has it, and `wait` is false.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # the folder can be written to, but not read
        yield
        return
    try:
        try:
            kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
            fcntl.flock(descriptor, kind | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise
        except OSError:
            pass  # the file system has no locks
        yield
    finally:
        os.close(descriptor)


def sha256(path: Path) -> str:
    """Return the hash of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _files(folder: Path) -> list[str]:
    """Return the files in a folder and below by their names in the manifest, sorted."""
    found = (f for f in folder.rglob("*") if f.is_file())
    return sorted(f.relative_to(folder).as_posix() for f in found)


def read_json(path: Path, need: str, *, check: bool = False, optional: bool = False) -> Any:
    """Return the document of a file; None if it is `optional` and absent.

    Raises:
        ConfigError: it cannot be read or is not JSON; the message ends with `need`. With `check`
            also if it differs from its entry in the folder's manifest (`checked`).
    """
    try:
        with checked(path.parent, path.name) if check else contextlib.nullcontext():
            return json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as e:
        if optional and isinstance(e, FileNotFoundError):
            return None
        raise ConfigError(f"{path}: got {reason_of(e)}, need {need}") from None
    except (ValueError, RecursionError) as e:
        raise ConfigError(f"{path}: got {not_json(e)}, need {need}") from None


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Return the manifest of a folder; None if there is none.

    Raises:
        ConfigError: it cannot be used.
    """
    path = folder / MANIFEST
    manifest = read_json(path, "a manifest of headstack", optional=True)
    if manifest is None and not path.exists():
        return None
    files = manifest.get("files") if isinstance(manifest, dict) else None
    if not isinstance(files, list) or not all(_is_entry(f) for f in files):
        raise ConfigError(f'{path}: got no list "files", need a manifest of headstack')
    return dict(manifest)


def _is_entry(entry: object) -> bool:
    """Return whether an entry has the name of a file below the folder, its size and hash."""
    if not isinstance(entry, Mapping):
        return False
    name = entry.get("file")
    if not isinstance(name, str) or not name or "\0" in name:
        return False
    path = Path(name)
    return (
        not path.is_absolute()
        and ".." not in path.parts
        and isinstance(entry.get("size_bytes"), int)
        and isinstance(entry.get("sha256"), str)
    )


def _named(manifest: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
    return {} if manifest is None else {f["file"]: f for f in manifest["files"]}


def _entry(folder: Path, name: str, run_id: str | None) -> dict[str, Any]:
    path = folder / name
    size = path.stat().st_size
    return {"file": name, "size_bytes": size, "sha256": sha256(path), "run_id": run_id}


def _write_manifest(folder: Path, entries: list[dict[str, Any]], run_id: str | None) -> None:
    import shlex

    from headstack import __version__
    from headstack.paths import command_line

    manifest = {
        "run_id": run_id,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": None if command_line is None else shlex.join(["headstack", *command_line]),
        "version": __version__,
        "files": sorted(entries, key=lambda e: str(e["file"])),
    }
    text = json.dumps(manifest, indent=2) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")


def _unlink(folder: Path, name: str) -> None:
    """Remove a file, and the folders above it that become empty."""
    path = folder / name
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        path.unlink()
    for above in path.parents:
        if above == folder or folder not in above.parents:
            break
        with contextlib.suppress(OSError):
            above.rmdir()


def _move(ready: Path, folder: Path) -> None:
    """Move complete files to their places; can be repeated after an interruption at any point."""
    old, new = read_manifest(folder), read_manifest(ready)
    names = _files(ready) if new is None else list(_named(new))
    if new is not None:
        for name in _named(old):
            # A new file of this name that is not in `ready` is at its place already.
            if name not in _named(new) or (ready / name).exists():
                _unlink(folder, name)
    for name in names:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        # A file that is not there was moved before the interruption.
        with contextlib.suppress(FileNotFoundError):
            os.replace(ready / name, target)
    if new is not None:
        os.replace(ready / MANIFEST, folder / MANIFEST)
    shutil.rmtree(ready)


def settle(folder: Path) -> None:
    """Complete the move of a set of files whose writer was killed.

    Raises:
        ConfigError: the folder cannot be written to.
    """
    ready = folder / _READY
    if not ready.is_dir():
        return
    try:
        with _locked(folder):
            if ready.is_dir():
                _move(ready, folder)
    except OSError as e:
        raise ConfigError(
            f"{folder}: got files of which the move was broken off ({reason_of(e)}), need a folder "
            "that can be written to, to complete it"
        ) from None


@contextlib.contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Hold off writers while files of a folder are read, after completing a move (`settle`).

    Raises:
        ConfigError: a move cannot be completed.
    """
    while True:
        settle(folder)
        with _locked(folder, shared=True):
            # A writer may have been killed before the lock was free.
            if not (folder / _READY).is_dir():
                yield
                return


def _remove_left(folder: Path) -> list[Path]:
    """Remove incomplete files of killed writers; return those of writers that still run."""
    running = []
    for part in folder.glob(f"{_PART}*"):
        try:
            with contextlib.suppress(FileNotFoundError), _locked(part, wait=False):
                if part.is_dir():
                    shutil.rmtree(part)
                else:
                    part.unlink()
        except BlockingIOError:
            running.append(part)
        except OSError:
            pass  # it stays, and is in nobody's way
    return running


def _refuse_second(folder: Path, running: Iterable[Path]) -> None:
    """Refuse to write a whole set while another process writes one.

    Raises:
        ConfigError: one does.
    """
    for part in running:
        if part.name.startswith(_SET):
            process = part.name.removeprefix(_SET).partition("-")[0]
            raise ConfigError(
                f"{folder}: got a folder that another run is writing to (process {process}), need "
                "another folder, or the end of that run"
            )


def _refuse_earlier(folder: Path) -> None:
    """Refuse to replace results.

    Raises:
        ConfigError: the folder has some.
    """
    manifest = read_manifest(folder)
    if not _named(manifest) and not (folder / RESULTS_FILE).exists():
        return
    date = f" of {manifest['date']}" if manifest is not None and manifest.get("date") else ""
    raise ConfigError(
        f"{folder}: got a folder with earlier results{date}, need another folder, or --force "
        "(in Python replace=True) to replace them"
    )


@contextlib.contextmanager
def _part(
    folder: Path, *, directory: bool, whole_set: bool = False, first: Callable[[], None] = lambda: None
) -> Iterator[Path]:
    """Yield a file or folder to write to, locked while it is in use; it is removed afterwards.

    Args:
        folder: where it is made.
        directory: whether it is a folder.
        whole_set: whether it replaces all files; only one process may do that.
        first: called before, while nobody else can change the folder.
    """
    with contextlib.ExitStack() as stack:
        with _locked(folder):
            running = _remove_left(folder)
            if whole_set:
                _refuse_second(folder, running)
            first()
            if directory:
                prefix = f"{_SET}{os.getpid()}-" if whole_set else _PART
                part = Path(tempfile.mkdtemp(prefix=prefix, dir=folder))
                stack.callback(shutil.rmtree, part, ignore_errors=True)
            else:
                descriptor, name = tempfile.mkstemp(prefix=_PART, dir=folder)
                os.close(descriptor)
                part = Path(name)
                stack.callback(part.unlink, missing_ok=True)
            stack.enter_context(_locked(part))
        yield part


@contextlib.contextmanager
def _told_of(part: Path, folder: Path) -> Iterator[None]:
    """Make errors name the folder, instead of the one where files are written aside."""

    def final(text: str) -> str:
        return text.replace(str(part), str(folder))

    try:
        yield
    except HeadstackError as e:
        if str(part) not in str(e):
            raise
        raise type(e)(final(str(e))) from None
    except OSError as e:
        # The error of a write to an open file, for lack of space, does not name the file.
        where = folder if e.filename is None else Path(final(os.fsdecode(e.filename)))
        raise OSError(e.errno or errno.EIO, e.strerror or str(e), str(where)) from None


@contextlib.contextmanager
def _aside(folder: Path, *, whole_set: bool = False, keep_earlier: bool = False) -> Iterator[Path]:
    """Yield a folder for files that are written aside; it is removed afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    settle(folder)

    def first() -> None:
        # An unusable manifest must not stop a long run at its end.
        read_manifest(folder)
        if keep_earlier:
            _refuse_earlier(folder)

    part_of = _part(folder, directory=True, whole_set=whole_set, first=first)
    with part_of as part, _told_of(part, folder):
        yield part


def _publish(part: Path, folder: Path) -> None:
    """Publish files that were written aside; the caller must hold the folder's lock."""
    ready = folder / _READY
    if ready.is_dir():
        _move(ready, folder)
    read_manifest(folder)
    os.rename(part, ready)
    _move(ready, folder)


@dataclass
class Written:
    """Files that are being written aside.

    Attributes:
        path: folder where they are written.
        folder: folder where they will be.
        run_id: their run, or None.
    """

    path: Path
    folder: Path
    run_id: str | None


@contextlib.contextmanager
def replacing(
    folder: Path, own: Callable[[str], bool] | None = None, *, keep_earlier: bool = False
) -> Iterator[Written]:
    """Write a new set of files into a folder and remove those that only the old manifest lists.

    The caller sets `run_id` before the end. If an exception ends the writing, the folder is not
    changed.

    Args:
        folder: the folder.
        own: whether a file belongs to this set, by its name; other files stay with their entries.
            Without it all do, and another process may not write a set meanwhile.
        keep_earlier: whether earlier results in the folder are an error.

    Raises:
        ConfigError: the folder's manifest cannot be used, another process is writing a set, or
            there are earlier results that are to be kept.
        OSError: a file cannot be written; it is named by its place in `folder`.
    """
    with _aside(folder, whole_set=own is None, keep_earlier=keep_earlier) as part:
        written = Written(part, folder, None)
        yield written
        entries = [_entry(part, name, written.run_id) for name in _files(part)]
        with _locked(folder):
            listed = {} if own is None else _named(read_manifest(folder))
            others = [e for n, e in listed.items() if own is not None and not own(n)]
            _write_manifest(part, entries + others, written.run_id)
            _publish(part, folder)


@contextlib.contextmanager
def adding(folder: Path, run_id: str | None = None) -> Iterator[Written]:
    """Add files to those of a folder; its manifest lists them if it is of the same run.

    Raises:
        ConfigError: the folder's manifest is of another run and lists one of the files, or it
            cannot be used.
        OSError: a file cannot be written; it is named by its place in `folder`.
    """
    with _aside(folder) as part:
        written = Written(part, folder, run_id)
        yield written
        new = [_entry(part, name, written.run_id) for name in _files(part)]
        with _locked(folder):
            manifest = read_manifest(folder)
            if manifest is not None and manifest.get("run_id") == written.run_id:
                entries = _named(manifest) | _named({"files": new})
                _write_manifest(part, list(entries.values()), written.run_id)
            else:
                _check_foreign(folder, manifest, new)
            _publish(part, folder)


def _check_foreign(folder: Path, manifest: Mapping[str, Any] | None, new: list[dict[str, Any]]) -> None:
    """Refuse to replace single files in the set of another run."""
    foreign = sorted(_named(manifest).keys() & _named({"files": new}).keys())
    if foreign:
        raise ConfigError(f"{folder / foreign[0]}: got a file of another run's results, need another name or folder")


#: Sources of the figures in a folder that belong to no run.
_SOURCES = ".headstack-figures.json"


@contextlib.contextmanager
def figures_of(source: Path, folder: Path) -> Iterator[Written]:
    """Write the figures of a source file into a folder; its earlier figures are replaced.

    Raises:
        ConfigError: one of the names is a figure of another source, or of a run.
        OSError: a file cannot be written; it is named by its place in `folder`.
    """
    whole = str(source.absolute())
    with _aside(folder) as part:
        yield Written(part, folder, None)
        names = _files(part)
        with _locked(folder):
            _check_foreign(folder, read_manifest(folder), [{"file": n} for n in names])
            sources = _sources(folder)
            for name in names:
                other = sources.get(name, whole)
                if other != whole and (folder / name).exists():
                    raise ConfigError(
                        f"{folder / name}: got a figure of {other}, need another folder for those of {whole}"
                    )
            sources |= dict.fromkeys(names, whole)
            text = json.dumps(sources, indent=2, sort_keys=True) + "\n"
            (part / _SOURCES).write_text(text, encoding="utf-8")
            _publish(part, folder)


def _sources(folder: Path) -> dict[str, str]:
    """Return the sources of a folder's figures; empty if the list cannot be read."""
    try:
        found = json.loads((folder / _SOURCES).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {name: source for name, source in found.items() if isinstance(source, str)}


@contextlib.contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """Yield a path to write to; the file appears at `target` when it is complete.

    Devices and pipes are written directly.

    Raises:
        OSError: the file cannot be written; it is named `target`.
    """
    if target.exists() and not target.is_file():
        with _told_of(target, target):
            yield target
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    # If the target is a link, the file that it refers to is replaced, not the link.
    place = target.resolve()
    with _part(place.parent, directory=False) as part, _told_of(part, target):
        yield part
        part.chmod(place.stat().st_mode & 0o7777 if place.exists() else _new_mode())
        os.replace(part, place)


def _new_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


@contextlib.contextmanager
def checked(folder: Path, document: str = RESULTS_FILE) -> Iterator[None]:
    """Check that the results in a folder are those of one run; in the block no writer changes them.

    Looked at are the `document` with the results and all tables; without a manifest, nothing. A
    missing file is an error only where it is used.

    Raises:
        ConfigError: a file differs from its entry in the manifest.
    """
    with reading(folder):
        for name, entry in _named(read_manifest(folder)).items():
            # Pages and figures may be edited: no numbers are read from them.
            if name == document or name.endswith(".parquet"):
                _check_entry(folder / name, entry)
        yield


def _check_entry(path: Path, entry: Mapping[str, Any]) -> None:
    if not path.exists():
        return
    size = path.stat().st_size
    if size != entry["size_bytes"]:
        got = f"{size} bytes"
        need = f"the {entry['size_bytes']} bytes"
    elif sha256(path) != entry["sha256"]:
        got, need = "other bytes", "those"
    else:
        return
    raise ConfigError(f"{path}: got {got}, need {need} that {MANIFEST} names: it was changed, or is of another run")
