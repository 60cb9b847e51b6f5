"""Output files: complete or absent, and checked when they are read."""

import hashlib
import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

import headstack
import headstack.cli
from headstack.errors import ConfigError
from headstack.runs import outputs
from headstack.show import plots, report

SYSTEM = '\n[[system]]\nname = "{}"\ndrive = "exos-x18"\n'


def run(experiment: Path, out: Path, *args: object, figures: bool = False) -> None:
    """Run the command line, as a rule without the figures, which take most of the time."""
    given = ["run", str(experiment), "--out", str(out), *map(str, args)]
    assert headstack.cli.main(given if figures else [*given, "--no-figures"]) == 0


@pytest.fixture(autouse=True)
def one_figure(monkeypatch):
    """Pages have one figure instead of six: building them takes most of the time of a run."""
    monkeypatch.setattr(plots, "RESULT_FIGURES", {"power": plots.power})


def state(folder: Path) -> dict[str, str]:
    """The hash of every file in a folder, including hidden ones."""
    return {
        str(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest()
        for f in sorted(folder.rglob("*"))
        if f.is_file()
    }


def test_the_manifest_names_every_file(experiment, tmp_path, capsys):
    out = tmp_path / "out"
    run(experiment, out, figures=True)
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
    run(experiment, out, "--requests")
    assert [f for f in state(out) if "second" in f]
    mine = out / "figures" / "mine.txt"
    mine.parent.mkdir()
    mine.write_text("not Headstack's")
    (out / "requests-9-mine.parquet").write_text("nor this")
    experiment.write_text(small)
    run(experiment, out, "--force")
    other = tmp_path / "other"
    run(experiment, other)
    left = state(out).keys() - state(other).keys()
    assert left == {"figures/mine.txt", "requests-9-mine.parquet"}
    # Results of the same run have the same bytes, except the manifest's date.
    assert (out / "result.json").read_bytes() == (other / "result.json").read_bytes()


def test_requests_are_written_only_if_asked_for(experiment, tmp_path):
    run(experiment, tmp_path / "without")
    assert not list((tmp_path / "without").glob("requests-*"))
    assert not (tmp_path / "without" / "figures").exists()
    with pytest.raises(ConfigError, match="need a run with --requests"):
        _ = headstack.load(tmp_path / "without").requests
    run(experiment, tmp_path / "with", "--requests")
    assert len(headstack.load(tmp_path / "with").requests) == 300


def test_earlier_results_are_replaced_only_if_asked_for(experiment, tmp_path, capsys):
    out = tmp_path / "out"
    args = ["run", str(experiment), "--out", str(out), "--no-figures"]
    run(experiment, out)
    before = state(out)
    capsys.readouterr()
    # Not even by themselves: a run's folder is where somebody looks for what it gave.
    assert headstack.cli.main(args) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"{out}: got a folder with earlier results of 20"), said
    assert "need another folder, or --force" in said
    assert state(out) == before
    # The same for a results file of a version that wrote no manifest.
    (out / "manifest.json").unlink()
    assert headstack.cli.main(args) == 2
    assert headstack.cli.main([*args, "--force", "--seed", "7"]) == 0
    assert headstack.load(out).document["seed"] == 7
    # A folder with other files is no reason to refuse.
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    assert headstack.cli.main([*args[:3], str(other), "--no-figures"]) == 0
    assert (other / "notes.txt").read_text() == "mine"
    with pytest.raises(ConfigError, match="replace=True"):
        headstack.run(experiment, out=out, replace=False)
    headstack.run(experiment, out=out)  # a cell of a notebook, run again
    assert headstack.load(out).document["seed"] == 0


def test_a_second_writer_is_refused_at_once(experiment, tmp_path, capsys):
    out = tmp_path / "out"
    args = ["run", str(experiment), "--out", str(out)]
    with outputs.replacing(out) as written:
        (written.path / "result.json").write_text("first")
        written.run_id = "first"
        assert headstack.cli.main(args) == 2
        said = capsys.readouterr().err
    assert f"{out}: got a folder that another run is writing to (process {os.getpid()})" in said
    # The first one's results are there, as if there had been no second.
    assert contents(out) == {"result.json": "first"}


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
    for name in ("write_text", "unlink", "rmdir", "mkdir"):
        setattr(Path, name, counted(getattr(Path, name)))
    try:
        work()
    except BaseException:
        os._exit(1)
    os._exit(0)


PAGE = {"report.html": "new page", "figures/x.svg": "new page's x"}


def add_page(folder: Path) -> None:
    with outputs.adding(folder, NEW["result.json"]) as written:
        for name, text in PAGE.items():
            path = written.path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)


def whole_run(folder: Path) -> None:
    """What a run writes: its results, and then its page."""
    write(folder, NEW)
    add_page(folder)


WITH_PAGE = {**OLD, "report.html": "old page"}

#: Writing, the sets that a reader may see, and those that are there at the end.
KILLED = {
    "results": (OLD, lambda folder: write(folder, NEW), [OLD, NEW]),
    "results and page": (WITH_PAGE, whole_run, [WITH_PAGE, NEW, NEW | PAGE]),
    "page": (NEW, add_page, [NEW, NEW | PAGE]),
}


@pytest.mark.parametrize("kind", KILLED)
def test_a_kill_at_any_moment_leaves_one_whole_set(kind, tmp_path):
    old, work, sets = KILLED[kind]
    seen = []
    calls = 0
    while True:
        folder = tmp_path / str(calls)
        write(folder, old)
        (folder / "mine").write_text("mine")
        killed = killed_after(calls, lambda: work(folder))  # noqa: B023
        names = set().union(*sets)
        plain = {f: (folder / f).read_text() for f in names if (folder / f).exists()}
        # Who looks into the folder sees files of one set, although not all while they are moved.
        assert any(plain.items() <= whole.items() for whole in sets), (calls, plain)
        if not (folder / ".headstack-ready").exists():
            assert plain in sets, calls
        with outputs.checked(folder):
            plain = {f: (folder / f).read_text() for f in names if (folder / f).exists()}
            assert plain in sets, calls
        (folder / "mine").unlink()
        hidden = [f for f in folder.iterdir() if f.name.startswith(".")]
        for part in hidden:
            assert part.name.startswith(".headstack-part-")
            shutil.rmtree(part)
        found = contents(folder)
        assert found in sets, calls
        seen.append(sets.index(found))
        if not killed:
            break
        calls += 1
    # Each step leads on, never back.
    assert seen == sorted(seen)
    assert set(seen) == set(range(len(sets)))
    assert calls > 10


def test_what_a_killed_writer_left_goes_with_the_next_one(tmp_path):
    write(tmp_path, OLD)
    assert killed_after(3, lambda: write(tmp_path, NEW))
    assert list(tmp_path.glob(".headstack-part-*"))
    write(tmp_path, NEW)
    assert contents(tmp_path) == NEW
    with outputs.replacing(tmp_path) as written:
        written.run_id = "new"
        (written.path / "result.json").write_text("new")
        # Files of a writer that still runs are not removed.
        add_page(tmp_path)
        assert len(list(tmp_path.glob(".headstack-part-*"))) == 1
    assert contents(tmp_path) == {"result.json": "new"}


def test_a_failed_run_changes_nothing(experiment, tmp_path):
    out = tmp_path / "out"
    run(experiment, out)
    before = state(out)
    trace = tmp_path / "bad.csv"
    rows = "".join(f"{i},0,8,R\n" for i in range(1000))
    trace.write_text(f"time_ms,lba,blocks,op\n{rows}bad\n")
    text = experiment.read_text().replace("synthetic", "# synthetic")
    experiment.write_text(text.replace("[workload]", '[workload]\ntrace = "bad.csv"'))
    assert headstack.cli.main(["run", str(experiment), "--out", str(out)]) == 2
    assert state(out) == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("moment", ["while it runs", "while it draws"])
def test_a_signal_that_ends_a_run_leaves_one_whole_set(moment, number, experiment, tmp_path, capsys, monkeypatch):
    out = tmp_path / "out"
    run(experiment, out)
    before = state(out)

    def told_to_end(*args: object, **keys: object) -> None:
        signal.raise_signal(number)

    if moment == "while it runs":
        monkeypatch.setattr("headstack._bridge.call", told_to_end)
    else:
        monkeypatch.setattr("headstack.show.plots.save", told_to_end)
    args = ["run", str(experiment), "--out", str(out), "--force", "--seed", "7"]
    assert headstack.cli.main(args) == 128 + number
    assert capsys.readouterr().err.endswith(f"got the signal {number.name}, stopped\n")
    assert not list(out.glob(".headstack-*"))
    if moment == "while it runs":
        assert state(out) == before
    else:
        # The numbers are kept, without the page of the earlier run.
        assert headstack.load(out).document["seed"] == 7
        assert not list(out.rglob("*.html"))
    assert signal.getsignal(number) is signal.SIG_DFL


@pytest.mark.parametrize("kind", ["result.json", "requests-"])
def test_files_of_two_runs_are_not_taken_for_one(kind, experiment, tmp_path, capsys):
    out, other = tmp_path / "out", tmp_path / "other"
    run(experiment, out, "--requests")
    run(experiment, other, "--requests", "--seed", 7)
    (foreign,) = (f for f in other.iterdir() if f.name.startswith(kind))
    shutil.copy(foreign, out)
    with pytest.raises(ConfigError, match=f"out/{foreign.name}: got .*, need .*manifest.json names"):
        headstack.load(out)
    capsys.readouterr()
    page = tmp_path / "page.html"
    assert headstack.cli.main(["report", str(out), "-o", str(page)]) == 2
    assert str(out / foreign.name) in capsys.readouterr().err
    assert not page.exists()


def test_a_change_of_one_byte_is_seen(experiment, tmp_path):
    out = tmp_path / "out"
    run(experiment, out, "--requests")
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
    for work in (outputs.checked, outputs.replacing):
        with pytest.raises(ConfigError, match=r"manifest.json: got .*, need a manifest"), work(tmp_path):
            pass
    assert (tmp_path / "result.json").read_text() == "old"


def test_pages_belong_to_the_run_that_they_show(document, experiment, tmp_path):
    out = tmp_path / "out"
    run(experiment, out)
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
    run(experiment, out, "--requests")
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
