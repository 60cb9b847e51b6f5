"""The tutorial and the notebooks can be followed as they are printed."""

import re
import shlex

import pytest
from conftest import ROOT

from headstack import shipped
from headstack.cli import main

PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(sh|text)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_tutorial_can_be_followed(tmp_path, monkeypatch, capsys, blank_figures):
    """Every command, in order, in one empty folder; what is shown is what they print."""
    monkeypatch.chdir(tmp_path)
    printed = ""
    for kind, text in BLOCKS:
        if kind == "text":
            assert text in printed
            continue
        printed = ""
        for line in text.splitlines():
            words = shlex.split(line)
            assert words[0] == "headstack"
            assert main(words[1:]) == 0, (line, capsys.readouterr().err)
            printed += capsys.readouterr().out
        if "--headroom" in text:
            assert re.search(r"ultrastar-hc570\" \([^)]*up to 1\.37x this load", printed)
        if "--seeds" in text:
            assert re.search(r"ultrastar-hc570 .* 51\.12 ± 1\.53", printed)
    assert (tmp_path / "out" / "mine" / "report.html").is_file()
    assert list((tmp_path / "out" / "look").glob("*.png"))


@pytest.mark.parametrize("name", ["first-look", pytest.param("which-drive", marks=pytest.mark.thorough)])
def test_notebooks_run(name, monkeypatch):
    """Each cell runs in a kernel of its own; what the cells show is there."""
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    book = nbformat.read(ROOT / "examples" / f"{name}.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in book.cells)
    where = {"metadata": {"path": str(ROOT / "examples")}}
    nbclient.NotebookClient(book, timeout=200, resources=where).execute()
    shown = [o for cell in book.cells for o in cell.get("outputs", ())]
    pages = [o["data"].get("text/html", "") for o in shown if "data" in o]
    assert any("<strong>" in page and " meet" in page for page in pages)
    assert not any(o["output_type"] == "error" for o in shown)


def test_every_page_can_be_shown(capsys):
    for topic in shipped.topics():
        assert main(["docs", topic]) == 0
        assert capsys.readouterr().out.startswith("# "), topic
    assert main(["docs", "guide/goals.md"]) == 0
    assert capsys.readouterr().out.startswith("# Goals")
    assert main(["docs"]) == 0
    listed = capsys.readouterr().out
    assert all(topic in listed for topic in shipped.topics())
    assert main(["docs", "gaols"]) == 2
    assert 'did you mean "goals"?' in capsys.readouterr().err


def test_examples_are_copied_once(tmp_path, capsys):
    assert main(["examples", "--copy", str(tmp_path)]) == 0
    demo = tmp_path / "examples" / "demo.toml"
    assert demo.read_bytes() == (ROOT / "examples" / "demo.toml").read_bytes()
    demo.write_text("mine")
    assert main(["examples", "--copy", str(tmp_path)]) == 0
    assert demo.read_text() == "mine"
    assert "all examples are there" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["examples", "docs"])
def test_an_incomplete_installation_says_so(name, tmp_path, monkeypatch):
    monkeypatch.setattr(shipped, "_ROOT", tmp_path)
    monkeypatch.setattr(shipped, "_HERE", tmp_path / "headstack")
    assert main([name]) == 2
