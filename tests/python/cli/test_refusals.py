"""Wrong input: every line of `refusals.txt` is refused at its place, by what was got and is needed.

A line has what is given, `=>`, and the message: `PLACE: got GOT, need NEED`. `…` stands for any
text; what is needed may be said in more words than the table has. Indented lines continue the one
above. A heading says what is done with what is given, and what stands around it (for `…`).
"""

import datetime
import fractions
import io
import json
import os
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from test_datasheet import GOOD, SHEETS
from test_streaming import drive

import headstack
import headstack.cli
from headstack import drives, papers
from headstack.drives import active_level, datasheet, depopulation, formulas, streaming
from headstack.papers.isca08 import designs
from headstack.papers.snowflakes import sets
from headstack.papers.study import reproduce
from headstack.probe import sweep_fit
from headstack.results import goal, prices
from headstack.runs import api, capping, resolved
from headstack.show import view
from headstack.workloads import workload
from headstack.workloads.start import fio

TABLE = Path(__file__).with_suffix("").with_name("refusals.txt")

#: Parts of experiments that are right.
LOAD = '[workload]\nsynthetic = { n_requests = 100, size = "4 KiB", rate = "50/s" }\n'
SYSTEM = '[[system]]\nname = "one"\ndrive = "barracuda-es-750"\n'
CSV = "time_us,lba,blocks,op\n1,2,8,R\n"
DAY = "as_of = 2026-11-01\n"

#: What lies in the folder in which a line is tried; examples and drives are those of the project.
FILES = {
    "x.toml": LOAD + SYSTEM,
    "two.toml": LOAD + SYSTEM + '[[system]]\nname = "two"\ndrive = "barracuda-es-750"\n',
    "latin.toml": (LOAD + SYSTEM.replace("one", "Größe")).encode("latin-1"),
    "a.csv": CSV,
    "bad.csv": "time_us,lba,blocks,op\n1,2,x,R\n",
    "d.toml": (ROOT / "drives" / "exos-x18.toml").read_text("utf-8"),
    "x.json": '{"workload": {"trace": "a.csv"}}',
    "x.yaml": "workload:\n  synthetic:\n    rate: 50/s\n",
    "latin.csv": b"zeit_s;\xfcber\n",
    "broken.json": '{"systems": [',
    "other.json": '{"a": 1}',
    "a.fio": "[x]\nsize=1g\ndirect=1\n",
    "short.toml": 'name = "a"\nsecret = "short"\n',
}

#: The form of every message, and of the lines of the file that may stand below.
FORM = re.compile(r"(?P<place>[^\n]+?): got (?P<got>[^\n]+?), need (?P<need>[^\n]+)")
EXCERPT = re.compile(r"^( *\d+ |\.\.\.| +)(\||$)")

#: Messages of libraries that do not help users.
FOREIGN = re.compile(
    r"something else|did not match any variant|annot overwrite|\bmap\b|a sequence|os error|"
    r"Traceback|panicked|External|got \"\"|got ,|, need $"
)


#: A run that is right.
WORKLOAD = {"synthetic": {"n_requests": 10, "rate": "50/s"}}
SYSTEMS = [{"name": "one", "drive": "exos-x18"}]
NOTHING = {"workload": None, "systems": None}


def run(workload=WORKLOAD, systems=SYSTEMS, **more):
    return headstack.run(**{"log_requests": False, **more}, workload=workload, systems=systems)


def nested(levels):
    """Return tables in tables, so many levels."""
    table = 1
    for _ in range(levels):
        table = {"a": table}
    return table


def damaged(**more):
    """Return a drive with this in its first zone."""
    made = drives.load("exos-x18")
    made["geometry"]["zones"][0] |= more
    return made


def spec(value):
    """Read a workload and run it, as a frame or path is run."""
    systems = [{"drive": "exos-x18", "count": 2, "organisation": "independent"}]
    with workload.as_spec(value) as table:
        api.run(workload=table, systems=systems)


def named(said):
    """Return a message with words for the folders of the test and of the project."""
    return said.replace(os.getcwd(), "FOLDER").replace(str(ROOT), "ROOT")


#: What the expressions of the table may use.
MODULES = (active_level, capping, datasheet, depopulation, designs, drives, formulas, goal, headstack)
MODULES += (resolved, sets, papers, streaming, sweep_fit, view, io, datetime, fractions)
NAMES = {
    **{m.__name__.rpartition(".")[2]: m for m in MODULES},
    **{f.__name__: f for f in (damaged, drive, nested, reproduce, run, spec)},
    **{"GOOD": GOOD, "LOAD": LOAD, "NOTHING": NOTHING, "SHEETS": SHEETS, "SYSTEM": SYSTEM},
    **{"SYSTEMS": SYSTEMS, "WORKLOAD": WORKLOAD, "np": np, "pd": pd},
}


def told(capfd, args):
    """Return the message of the command line, and check what holds for all of them."""
    before = set(Path().iterdir())
    code = headstack.cli.main(args)
    shown = capfd.readouterr()
    assert (code, shown.out) == (2, ""), shown
    said, *excerpt = named(shown.err.removesuffix("\n")).split("\n")
    assert not FOREIGN.search(said), said
    assert all(EXCERPT.match(line) for line in excerpt), shown.err
    # Nothing is written where something is wrong.
    assert set(Path().iterdir()) == before
    if where := re.match(r"x\.toml:(\d+):\d+: ", said):
        # The line of the file, and marks below what is wrong in it; dots stand for the rest.
        line, marks = excerpt[:2]
        text = line.removeprefix(f"{where[1]} | ").removeprefix("...").removesuffix("...")
        lines = Path("x.toml").read_bytes().decode().splitlines()
        assert re.sub(r"\\u\{.*?\}", "", text) in lines[int(where[1]) - 1], shown.err
        assert "^" in marks
    return said


def experiment(folder, given, capfd):
    (folder / "x.toml").write_text(given, "utf-8", newline="")
    said = told(capfd, ["run", "x.toml"])
    # Where wrong values stand in the file is checked above; the table has the places of wrong TOML.
    return re.sub(r"^x\.toml:(\d+:\d+: (?!got )| |(?=\d))", "", said)


def trace(folder, given, capfd):
    file, content = given.split(" ", 1)
    content, _, named = content.partition(" format = ")
    (folder / file).write_bytes(content.encode("latin-1"))
    keys = f'trace = "{file}"\n' + (f"format = {named}\n" if named else "")
    (folder / "x.toml").write_text(f"[workload]\n{keys}{SYSTEM}")
    return re.sub(r"^x\.toml:\d+:\d+: ", "x.toml: ", told(capfd, ["run", "x.toml"]))


def trace_info(folder, given, capfd):
    (folder / "a.txt").write_text(given)
    said = told(capfd, ["trace-info", "a.txt"])
    assert told(capfd, ["convert", "a.txt", "b.csv"]) == said
    return said


def command(folder, given, capfd):
    said = told(capfd, shlex.split(given))
    return re.sub(r"\bx\.toml:\d+:\d+: (?!got )", "x.toml: ", said)


def sweep(folder, given, capfd):
    (folder / "sweep.toml").write_text(given)
    return told(capfd, ["sweep", "sweep.toml", "--no-figures"])


def results(folder, given, capfd):
    (folder / "result.json").write_text(json.dumps({"systems": [eval(given)]}))
    return told(capfd, ["report", ".", "-o", "r.html"])


def jobs(folder, given, capfd):
    with pytest.raises(headstack.ConfigError) as error:
        fio.read(given, "x.fio", {})
    return str(error.value)


def price(folder, given, capfd):
    (folder / "prices.toml").write_text(given)
    with pytest.raises(headstack.ConfigError) as error:
        prices.load(folder / "prices.toml")
    return str(error.value).removeprefix(f"{folder}/")


def python(folder, given, capfd):
    with pytest.raises(headstack.HeadstackError) as error:
        eval(given, NAMES)
    return named(str(error.value))


def lines():
    """Yield the number, the use and the message of each line of the table."""
    text = re.sub(r"\n +", " ", TABLE.read_text("utf-8"))
    use, around = None, "…"
    for line in text.splitlines():
        if line.startswith("== "):
            name, _, around = line[3:].partition(": ")
            use = globals()[name.replace("-", "_")]
        elif line and not line.startswith("#"):
            given, _, message = line.rpartition(" => ")
            whole = (around or "…").replace("…", "" if given == "-" else given)
            if use not in (python, command, results):
                whole = whole.encode("latin-1").decode("unicode_escape")
                whole = whole.replace("LOAD", LOAD).replace("SYSTEM", SYSTEM).replace("DAY", DAY)
            yield pytest.param(use, whole, message, id=f"{use.__name__}: {given[:60]}")


def fits(pattern, text):
    parts = [re.escape(part.strip()) for part in pattern.split("…")]
    return re.match(".*".join(parts), text)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, content in FILES.items():
        data = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(data)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("use", "given", "message"), list(lines()))
def test_what_is_refused(use, given, message, folder, capfd):
    said = use(folder, given, capfd)
    found, want = FORM.fullmatch(said), FORM.fullmatch(message)
    assert found, said
    # Nobody wants to read a file's bytes, and nothing steers the terminal.
    assert said.isprintable(), said
    assert ("\\u{" in said) <= ("\\u{" in message), said
    assert fits(want["place"] + "$", found["place"] + "$"), said
    assert fits(want["got"], found["got"]), said
    assert fits(want["need"], found["need"]), said
