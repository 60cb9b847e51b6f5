"""Output files: complete or absent, and checked when they are read."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import headstack
import headstack.cli
from headstack import outputs, report
from headstack.errors import ConfigError

SYSTEM = '\n[[system]]\nname = "{}"\ndrive = "exos-x18"\n'


def run(experiment: Path, out: Path, *args: object) -> None:
    assert headstack.cli.main(["run", str(experiment), "--out", str(out), *map(str, args)]) == 0


def state(folder: Path) -> dict[str, str]:
    """The hash of every file in a folder, including hidden ones."""
    return {
        str(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest()
        for f in sorted(folder.rglob("*"))
        if f.is_file()
    }


def test_the_manifest_names_every_file(experiment, tmp_path, capsys):
    out = tmp_path / "out"
    run(experiment, out)
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["version"] == headstack.__version__
    assert manifest["command"] == f"headstack run {experiment} --out {out}"
    assert manifest["date"].endswith("+00:00")
    assert manifest["run_id"] == headstack.load(out).document.get("run_id")
    named = {f["file"]: f for f in manifest["files"]}
    found = state(out)
    del found["manifest.json"]
    assert {name: f["sha256"] for name, f in named.items()} == found
    assert all((out / name).stat().st_size == f["size_bytes"] for name, f in named.items())
    assert {"result.json", "report.html", "figures/power.svg"} <= named.keys()


def test_a_smaller_run_leaves_no_files_of_systems_that_it_has_not(experiment, tmp_path):
    out = tmp_path / "out"
    small = experiment.read_text()
    experiment.write_text(small + SYSTEM.format("second"))
    run(experiment, out)
    assert [f for f in state(out) if "second" in f]
    mine = out / "figures" / "mine.txt"
    mine.write_text("not Headstack's")
    (out / "requests-9-mine.parquet").write_text("nor this")
    experiment.write_text(small)
    run(experiment, out, "--no-requests")
    other = tmp_path / "other"
    run(experiment, other, "--no-requests")
    left = state(out).keys() - state(other).keys()
    assert left == {"figures/mine.txt", "requests-9-mine.parquet"}
    # Results of the same run have the same bytes, except the manifest's date.
    assert (out / "result.json").read_bytes() == (other / "result.json").read_bytes()


OLD = {"result.json": "old", "a.parquet": "old a", "figures/x.svg": "old x", "gone/b.txt": "old b"}
NEW = {"result.json": "new", "a.parquet": "new a", "figures/x.svg": "new x", "c.parquet": "new c"}


def write(folder: Path, files: dict[str, str]) -> None:
    with outputs.replacing(folder) as written:
        written.run_id = files["result.json"]
        for name, text in files.items():
            path = written.path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)


def contents(folder: Path) -> dict[str, str]:
    found = {name: (folder / name).read_text() for name in state(folder)}
    manifest = json.loads(found.pop("manifest.json"))
    assert {f["file"] for f in manifest["files"]} == found.keys()
    assert manifest["run_id"] == found["result.json"]
    return found


def killed_after(calls: int, work: Callable[[], None]) -> bool:
    """Do `work` in a process that is killed at a call that changes the disk.

    Return whether that call was reached.
    """
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) in (0, 9)
        return os.waitstatus_to_exitcode(status) == 9
    left = calls

    def counted(function):
        def called(*args, **keys):
            nonlocal left
            if left == 0:
                os._exit(9)
            left -= 1
            return function(*args, **keys)

        return called

    for module, name in ((os, "replace"), (os, "rename"), (os, "unlink"), (os, "rmdir")):
        setattr(module, name, counted(getattr(module, name)))
    for name in ("write_text", "unlink", "rmdir"):
        setattr(Path, name, counted(getattr(Path, name)))
    try:
        work()
    except BaseException:
        os._exit(1)
    os._exit(0)


def test_a_kill_at_any_moment_leaves_one_whole_set(tmp_path):
    seen = set()
    calls = 0
    while True:
        folder = tmp_path / str(calls)
        write(folder, OLD)
        (folder / "mine").write_text("mine")
        killed = killed_after(calls, lambda: write(folder, NEW))  # noqa: B023
        # Before the move is completed, nothing incomplete is valid.
        if not (folder / ".headstack-ready").exists():
            plain = {f: (folder / f).read_text() for f in [*OLD, *NEW] if (folder / f).exists()}
            assert plain in (OLD, NEW), calls
        outputs.check(folder)
        (folder / "mine").unlink()
        hidden = [f for f in folder.iterdir() if f.name.startswith(".")]
        for part in hidden:
            assert part.name.startswith(".headstack-part-")
            shutil.rmtree(part)
        found = contents(folder)
        assert found in (OLD, NEW), calls
        seen.add(found["result.json"])
        if not killed:
            break
        calls += 1
    assert seen == {"old", "new"}
    assert calls > 10


def test_what_a_killed_writer_left_goes_with_the_next_one(tmp_path):
    write(tmp_path, OLD)
    assert killed_after(3, lambda: write(tmp_path, NEW))
    assert list(tmp_path.glob(".headstack-part-*"))
    write(tmp_path, NEW)
    assert contents(tmp_path) == NEW
    with outputs.replacing(tmp_path):
        # Files of a writer that still runs are not removed.
        write(tmp_path, OLD)
        assert len(list(tmp_path.glob(".headstack-part-*"))) == 1


def test_a_failed_run_changes_nothing(experiment, tmp_path):
    out = tmp_path / "out"
    run(experiment, out, "--no-requests")
    before = state(out)
    trace = tmp_path / "bad.csv"
    rows = "".join(f"{i},0,8,R\n" for i in range(1000))
    trace.write_text(f"time_ms,lba,blocks,op\n{rows}bad\n")
    text = experiment.read_text().replace("synthetic", "# synthetic")
    experiment.write_text(text.replace("[workload]", '[workload]\ntrace = "bad.csv"'))
    assert headstack.cli.main(["run", str(experiment), "--out", str(out)]) == 2
    assert state(out) == before


@pytest.mark.parametrize("kind", ["result.json", "requests-"])
def test_files_of_two_runs_are_not_taken_for_one(kind, experiment, tmp_path, capsys):
    out, other = tmp_path / "out", tmp_path / "other"
    run(experiment, out)
    run(experiment, other, "--seed", 7)
    (foreign,) = (f for f in other.iterdir() if f.name.startswith(kind))
    shutil.copy(foreign, out)
    with pytest.raises(
        ConfigError, match=f"out/{foreign.name}: got .*, need .*manifest.json names"
    ):
        headstack.load(out)
    capsys.readouterr()
    page = tmp_path / "page.html"
    assert headstack.cli.main(["report", str(out), "-o", str(page)]) == 2
    assert str(out / foreign.name) in capsys.readouterr().err
    assert not page.exists()


def test_a_change_of_one_byte_is_seen(experiment, tmp_path):
    out = tmp_path / "out"
    run(experiment, out)
    (file,) = out.glob("requests-*.parquet")
    whole = bytearray(file.read_bytes())
    whole[len(whole) // 2] ^= 1
    file.write_bytes(whole)
    with pytest.raises(ConfigError, match=r"got other bytes, need those that manifest\.json"):
        headstack.load(out)
    # A missing table is an error only where it is used.
    file.unlink()
    result = headstack.load(out)
    assert len(result.summary) == 1
    with pytest.raises(ConfigError, match="got no such file, need the requests of this run"):
        _ = result.requests


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"files": 3}',
        '{"files": [{"file": "../x", "size_bytes": 1, "sha256": ""}]}',
        '{"files": [{"file": "/x", "size_bytes": 1, "sha256": ""}]}',
        "[" * 100_000,
    ],
)
def test_a_strange_manifest_is_refused(text, tmp_path):
    write(tmp_path, OLD)
    (tmp_path / "manifest.json").write_text(text)
    for work in (lambda: outputs.check(tmp_path), lambda: write(tmp_path, NEW)):
        with pytest.raises(ConfigError, match=r"manifest.json: got .*, need a manifest"):
            work()
    assert (tmp_path / "result.json").read_text() == "old"


def test_pages_belong_to_the_run_that_they_show(document, experiment, tmp_path):
    out = tmp_path / "out"
    run(experiment, out, "--no-requests")
    before = state(out)
    headstack.cli.main(["report", str(out), "-o", str(out / "again.html"), "--no-figures"])
    named = outputs.read_manifest(out)["files"]
    assert "again.html" in {f["file"] for f in named}
    assert headstack.load(out)
    foreign = {**document, "run_id": "another"}
    with pytest.raises(ConfigError, match=r"report\.html: got a file of another run"):
        report.write(foreign, out / "report.html", with_figures=False)
    report.write(foreign, out / "theirs.html", with_figures=False)
    assert outputs.read_manifest(out)["files"] == named
    after = state(out)
    assert all(after[name] == before[name] for name in before if name != "manifest.json")
    # No manifest is added to a folder without one.
    report.write(document, tmp_path / "pages" / "one.html", with_figures=False)
    assert [f.name for f in (tmp_path / "pages").iterdir()] == ["one.html"]


def test_saved_results_are_those_that_were_loaded(experiment, tmp_path):
    out, copy = tmp_path / "out", tmp_path / "copy"
    run(experiment, out)
    headstack.load(out).save(copy)
    assert headstack.load(copy).requests.equals(headstack.load(out).requests)
    # Saving into its own folder also works.
    headstack.load(copy).save(copy)
    assert headstack.load(copy).requests.equals(headstack.load(out).requests)


def test_a_file_appears_when_it_is_whole(tmp_path):
    file, link = tmp_path / "a.txt", tmp_path / "link.txt"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file)

    def fail() -> None:
        with outputs.whole_file(file) as part:
            part.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert file.read_text() == "old"
    with pytest.raises(OSError, match="No space") as told, outputs.whole_file(file):
        raise OSError(28, "No space left on device")
    assert told.value.filename == str(file)
    with outputs.whole_file(link) as part:
        part.write_text("new")
        assert file.read_text() == "old"
    assert (file.read_text(), link.is_symlink()) == ("new", True)
    assert file.stat().st_mode & 0o777 == 0o640
    with outputs.whole_file(Path(os.devnull)) as part:
        part.write_text("nothing")
    assert Path(os.devnull).is_char_device()
    assert sorted(f.name for f in tmp_path.iterdir()) == ["a.txt", "link.txt"]
