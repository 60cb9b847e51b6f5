"""Records of runs: whole or not there, whatever happens to the files; several writers; inputs."""

import contextlib
import errno
import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys

import pytest

from headstack import ConfigError
from headstack.runs import store

RECORDS = {f"{i:032x}": {"rows": [{"a": i, "text": "ü\n" * 700}], "inputs": []} for i in range(4)}


def found_in(folder):
    """What a store gives for each key; where it refuses the files, nothing."""
    found = dict.fromkeys(RECORDS)
    with contextlib.suppress(ConfigError), store.opened(folder) as records:
        found = {key: records.get(key) for key in RECORDS}
    return found


def copied(files, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def test_files_cut_or_damaged_anywhere_give_only_whole_records(tmp_path):
    log, ends = f"{store.DATABASE}-wal", []
    with store.opened(tmp_path / "made", alone=True) as records:
        for key, record in RECORDS.items():
            records.put(key, record)
            ends.append((tmp_path / "made" / log).stat().st_size)
        killed = {f: (tmp_path / "made" / f).read_bytes() for f in (store.DATABASE, log)}
    closed = {store.DATABASE: (tmp_path / "made" / store.DATABASE).read_bytes()}
    assert len(closed[store.DATABASE]) > len(killed[store.DATABASE])
    for files in (killed, closed):
        assert found_in(copied(files, tmp_path / "copy")) == RECORDS
    for cut in range(0, len(killed[log]) + 1, 509):
        found = found_in(copied({**killed, log: killed[log][:cut]}, tmp_path / "copy"))
        assert list(found.values()) == [r if e <= cut else None for r, e in zip(RECORDS.values(), ends, strict=True)]
    for files, name in ((killed, log), (closed, store.DATABASE)):
        for place in range(0, len(files[name]), 997):
            changed = bytearray(files[name])
            changed[place] ^= 0x40
            found = found_in(copied({**files, name: changed}, tmp_path / "copy"))
            assert all(found[k] in (None, r) for k, r in RECORDS.items()), place


WRITER = """
import sys
from pathlib import Path
from headstack.runs import store
for i in range(200):
    with store.opened(Path(sys.argv[1])) as records:
        records.put(f"{sys.argv[2]} {i}", {"inputs": [], "i": i})
"""


def test_several_processes_write_to_one_folder(tmp_path):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, tmp_path, name]) for name in "abc"]
    writers[0].kill()
    assert [w.wait(timeout=240) for w in writers[1:]] == [0, 0]
    writers[0].wait(timeout=240)
    with store.opened(tmp_path) as records:
        assert all(records.get(f"{name} {i}")["i"] == i for name in "bc" for i in range(200))


def test_a_record_is_known_by_the_contents_of_its_inputs(tmp_path):
    trace = tmp_path / "a.csv"
    given = [["trace", str(trace), hashlib.sha256(b"time_s").hexdigest()]]
    found = []
    with store.opened(tmp_path) as records:
        records.put("run", {"inputs": given})
        records.put("no hash", {"inputs": [["trace", str(trace), None]]})
    for seconds, text in ((1, "time_s"), (2, "time_s"), (3, "time_x"), (4, "time_s"), (None, "")):
        trace.write_text(text)
        if seconds is None:
            trace.unlink()
        else:
            os.utime(trace, (seconds, seconds))
        with store.opened(tmp_path) as records:
            found.append(records.get("run") is not None)
            assert records.get("no hash") is None
    assert found == [True, True, False, True, False]


def test_what_is_no_database_is_refused_and_stays(tmp_path):
    (tmp_path / store.DATABASE).write_text("notes of mine, " * 100)
    with pytest.raises(ConfigError, match=r"runs.sqlite: got file is not a database, need records of runs; hint"):
        store.opened(tmp_path).__enter__()
    assert (tmp_path / store.DATABASE).read_text() == "notes of mine, " * 100


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("SQLITE_IOERR_LOCK", ConfigError, "runs.sqlite: got a file system without locks, need one that has them"),
        ("SQLITE_BUSY", ConfigError, "got a folder that another sweep is writing to, need another folder, or the end"),
        ("SQLITE_FULL", OSError, "No"),
        ("SQLITE_IOERR_READ", OSError, "No"),
    ],
)
def test_what_the_database_refuses_is_told(tmp_path, name, kind, said):
    error = sqlite3.OperationalError("No")
    error.sqlite_errorname = name
    with pytest.raises(kind, match=said) as told, store.opened(tmp_path):
        raise error
    if kind is OSError:
        assert told.value.filename == str(tmp_path / store.DATABASE)
        assert told.value.errno == (errno.ENOSPC if name == "SQLITE_FULL" else errno.EIO)
