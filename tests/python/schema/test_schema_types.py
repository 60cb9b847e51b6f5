"""`headstack.schema`: made from the JSON Schema, and what a type checker says of experiments."""

import re
import tomllib
from pathlib import Path

import mypy.api
import page_tables
import pytest
import schema_types
from conftest import ROOT

FOLDER = ROOT / "python" / "headstack" / "schema"

#: Experiments and drives of the package.
FILES = {
    # A file with axes is a sweep, which has an experiment inside.
    "Experiment": [
        path
        for path in sorted((ROOT / "examples").glob("*.toml"))
        if "[[axis]]" not in path.read_text(encoding="utf-8")
    ],
    "Drive": sorted((ROOT / "drives").glob("*.toml")),
}

#: A table and its type, and what a type checker must name: nothing, or the key or value at fault.
LINES = [
    ("Experiment", '{"workload": {"synthetic": {"rate": "5/s"}}, "system": {"drive": "a"}}', ""),
    ("Experiment", '{"sytem": {"drive": "a"}}', "sytem"),
    ("Experiment", '{"run": {"sed": 3}}', "sed"),
    ("Run", '{"allowed_errors": "many"}', "allowed_errors"),
    ("System", '{"drive": Path("a.toml"), "scheduler": "sptf"}', ""),
    ("System", '{"drive": "a", "schedular": "sptf"}', "schedular"),
    ("System", '{"drive": "a", "scheduler": "stpf"}', "scheduler"),
    ("System", '{"drive": "a", "layers": ["link"]}', ""),
    ("System", '{"drive": "a", "layers": [{"name": "link", "bandwidth": "1 GB/s"}]}', ""),
    ("System", '{"drive": "a", "layers": [{"name": "link"}]}', "List item 0"),
    ("Synthetic", '{"rate": 5}', "rate"),
    ("Synthetic", '{"size": {"distribution": "fixed", "value": "4 KiB"}}', ""),
    ("Synthetic", '{"size": {"distribution": "fixed", "mean": "4 KiB"}}', "size"),
    ("Seek", '{"model": "constant", "time": "1 ms"}', ""),
    ("Seek", '{"model": "constant"}', "SeekConstant"),
    ("Seek", '{"model": "constant", "time": "1 ms", "single": "1 ms"}', "SeekConstant|single"),
    ("Seek", '{"model": "constnat", "time": "1 ms"}', "constnat"),
]


def test_the_files_are_those_of_the_schema():
    found = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py")}
    wanted = schema_types.files()
    assert found.keys() == wanted.keys()
    for name, text in wanted.items():
        assert found[name] == text, f"{name}: run make schema-types"


@pytest.mark.parametrize("name", ["columns", "servers"])
def test_what_the_core_declares_is_printed(name):
    text = getattr(schema_types, name.upper()).read_text(encoding="utf-8")
    assert text == getattr(schema_types, name)(), f"{name}.py: run make schema-types"


def test_tables_of_pages_are_printed():
    pages = {page: page.read_text(encoding="utf-8") for page in page_tables.DOCS.rglob("*.md")}
    for page, text in pages.items():
        assert page_tables.printed(text) == text, f"{page}: run make schema-types"
        assert len(page_tables.MARKED.findall(text)) == text.count("<!-- end -->"), page
    used = {kind for text in pages.values() for _, kind, _ in page_tables.MARKED.findall(text)}
    assert used == page_tables.KINDS.keys()


def checked(folder: Path, lines: list[str]) -> dict[int, list[str]]:
    """Return what mypy says of each line of a program.

    It sees the types alone: with the package, which uses pandas, it would take some 20 s.
    """
    package = folder / "headstack"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "schema").symlink_to(FOLDER, target_is_directory=True)
    (folder / "program.py").write_text("\n".join(lines), encoding="utf-8")
    options = ["--strict", "--no-incremental", "--config-file", "", "--no-error-summary"]
    out, trouble, _ = mypy.api.run([*options, str(folder / "program.py")])
    assert not trouble
    said: dict[int, list[str]] = {}
    for line in out.splitlines():
        found = re.match(r".*program\.py:(\d+): error: (.*)", line)
        assert found, line
        said.setdefault(int(found[1]) - 1, []).append(found[2])
    return said


def test_mistakes_are_type_errors(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [
        "from pathlib import Path",
        "from headstack.schema import Drive, Experiment, Run, Seek, System",
        "from headstack.schema.workload import Synthetic",
    ]
    start = len(lines)
    lines += [f"v{i}: {kind} = {text}" for i, (kind, text, _) in enumerate(LINES)]
    # Every file of the package is right.
    files = [(kind, path) for kind, paths in FILES.items() for path in paths]
    assert all(FILES.values())
    lines += [
        f"f{i}: {kind} = {tomllib.loads(path.read_text(encoding='utf-8'))!r}" for i, (kind, path) in enumerate(files)
    ]
    said = checked(tmp_path, lines)
    for i, (kind, text, wrong) in enumerate(LINES, start):
        if not wrong:
            assert i not in said, (kind, text, said[i])
        else:
            assert i in said, (kind, text)
            assert re.search(wrong, " ".join(said[i])), (kind, text, said[i])
    for i, (_, path) in enumerate(files, start + len(LINES)):
        assert i not in said, (path.name, said[i])


@pytest.mark.thorough
def test_arguments_and_results_of_runs_have_types(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = """
import pandas as pd
import polars as pl
from headstack import drives, run
frame = pd.DataFrame()
run(workload=[frame, pl.DataFrame(), "a.csv", {"trace": frame}], systems={"drive": "a"}, seed=1)
run({"workload": {"trace": "a.csv"}, "system": {"drive": drives.load("exos-x18")}})
run(workload={"trace": "a"}, systems=[{"drive": "a", "cont": 2}])
r = run({"sytem": {"drive": "a"}})
share: float = r[0].drives[0].power_w.idle / r["a"].power_w.mean
r[0].respone_time_s
"""
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    monkeypatch.setenv("MYPYPATH", str(ROOT / "python"))
    out, trouble, _ = mypy.api.run(["--strict", "--config-file", "", str(tmp_path / "program.py")])
    assert not trouble
    wrong = [int(n) for n in re.findall(r"program\.py:(\d+): error", out)]
    assert wrong == [8, 9, 11], out
