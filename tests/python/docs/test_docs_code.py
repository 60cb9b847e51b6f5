"""README and guides are correct: their code runs, and their commands succeed."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from conftest import ROOT, command
from test_docs_servers import NAMES as SERVERS

import headstack
from headstack import _bridge
from headstack.cli import main
from headstack.runs.sweeps import plan

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs" / "guide").glob("*.md")])
PAGES += sorted((ROOT / "docs" / "studies").glob("*.md"))
PAGES += [ROOT / "examples" / "README.md"]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[object]:
    """Every block of code in `language`, named by page and line."""
    found = []
    for page in PAGES:
        texts = [t for kind, t in BLOCK.findall(page.read_text("utf-8")) if kind == language]
        found += [pytest.param(t, id=f"{page.stem}-{i}") for i, t in enumerate(texts, 1)]
    return found


def commands() -> list[str]:
    """Every command of the pages that can be run as printed.

    Patterns with names in capitals are left out; so are reproductions, which take minutes or need
    traces, and pages on servers. They have their own tests.
    """
    lines = []
    for page in (p for p in PAGES if p.stem not in SERVERS):
        text = page.read_text("utf-8")
        lines += [line for kind, t in BLOCK.findall(text) if kind == "sh" for line in t.splitlines()]
        lines += re.findall(r"`(headstack [^`]+)`", text)
    words = [shlex.split(line, comments=True) for line in lines]
    told = (
        shlex.join(w[1:])
        for w in words
        if w[:1] == ["headstack"] and w[1] not in ("reproduce", "emulate") and not any(p.isupper() for p in w)
    )
    # Earlier results are not replaced, so what several pages say is run once; and what another
    # line says with more options is run there.
    lines = list(dict.fromkeys(told))
    return [line for line in lines if not any(x.startswith(f"{line} -") for x in lines)]


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """A folder with the repository's examples, in which the commands can write files."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("text", blocks("python"))
def test_python_runs(text, place):
    exec(compile(text, "page", "exec"), {})


def test_commands_end_well(place, capsys, blank_figures):
    assert commands()
    for line in commands():
        words = shlex.split(line)
        if words[0] in ("run", "cap-sim", "sweep") and "--goal" not in words:
            # A part of the requests tells whether the command is right.
            words += ["--set", "run.max_requests=2000"]
        assert main(words) == 0, line
        out = capsys.readouterr().out
        if "--json" in line:
            json.loads(out)


def test_readme_is_short_and_prints_its_answer():
    page = (ROOT / "README.md").read_text("utf-8")
    assert len(page.split()) <= 900
    line, shown = re.search(r"```sh\n(headstack run [^\n]*)\n```\n\n```text\n(.*?)```", page, re.S).groups()
    done = command(*shlex.split(line, comments=True)[1:])
    assert done.stdout.startswith(shown)


@pytest.mark.parametrize("text", blocks("toml"))
def test_tables_are_accepted(text, place):
    document = tomllib.loads(text)
    if "axis" in document:
        (place / "sweep.toml").write_text(text)
        assert plan.make(**plan.read(place / "sweep.toml")).runs()
        return
    if "geometry" in document:
        _bridge.call("check_drive", json.dumps(document))
        document = {"system": [{"name": "printed", "drive": document}]}
    document.setdefault("system", [{"name": "one", "drive": "exos-x18"}])
    workload = document.get("workload") or {"synthetic": {"rate": "10/s", "footprint": "100 MB"}}
    if "synthetic" in workload:
        workload["synthetic"]["n_requests"] = 100
    r = headstack.run(workload=workload, systems=document["system"], log_requests=False)
    assert (r.summary["n_errors"] == 0).all()


@pytest.mark.parametrize("text", blocks("csv"))
def test_traces_are_read(text, place, capsys):
    (place / "trace.csv").write_text(text)
    assert main(["trace-info", "trace.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_requests"] == len(text.splitlines()) - 1
