"""Messages for new users: what they get wrong, and what they are told."""

import io
import os
import re
import subprocess
import sys
from collections.abc import Callable

import pandas as pd
import pytest
from conftest import ROOT
from mistakes import CSV, EXPERIMENTS, LOAD, SAME, SYSTEM, TRACES

import headstack
import headstack.cli
from headstack import _core

#: The form of every message.
FORM = re.compile(r"^[^\n]+: got [^\n]+, need [^\n]+$")

DRIVE = (ROOT / "drives" / "exos-x18.toml").read_text("utf-8")

#: Arguments of the command line and files, what is said, and what was said before. There are also
#: x.toml, an experiment that is right, and a.csv, a trace.
COMMANDS = {
    "absent experiment": (
        (["run", "demo.toml"], {}),
        "demo.toml: got no such file, need a file of TOML",
        SAME,
    ),
    "directory as experiment": (
        (["run", "."], {}),
        ".: got a directory, need a file of TOML",
        SAME,
    ),
    "json experiment": (
        (["run", "x.json"], {"x.json": '{"workload": {"trace": "a.csv"}}'}),
        'x.json:1:1: got "{", need KEY = VALUE, [TABLE] or # with a comment; JSON is not TOML',
        "x.json:1:1: got invalid key-value pair, need key",
    ),
    "yaml experiment": (
        (["run", "x.yaml"], {"x.yaml": "workload:\n  synthetic:\n    rate: 50/s\n"}),
        'x.yaml:1:10: got "workload:", need KEY = VALUE, [TABLE] or # with a comment',
        'x.yaml:1:10: got key with no value, need "="',
    ),
    "trace as experiment": (
        (["run", "a.csv"], {}),
        'a.csv:1:8: got "time_us,lba,blocks,op", need KEY = VALUE, [TABLE] or # with a comment',
        'a.csv:1:8: got key with no value, need "="',
    ),
    "drive as experiment": (
        (["run", "d.toml"], {"d.toml": DRIVE}),
        "d.toml: got the description of a drive, need an experiment; a drive is named in one, …",
        'd.toml: experiment: got key "cache", need one of workload, workloads, system, …',
    ),
    "workload trace key": (
        (["run", "x.toml"], {"x.toml": '[workload]\ntrcae = "a.csv"\n' + SYSTEM}),
        'x.toml: workload: got key "trcae", need one of name, trace, … did you mean "trace"?',
        'x.toml: workload[0]: got neither trace nor synthetic nor jobs, … did you mean "trace"?',
    ),
    "drive is csv": (
        (["run", "x.toml"], {"x.toml": LOAD + '[[system]]\ndrive = "a.csv"\n'}),
        'x.toml: system[0].drive: got "a.csv", need a drive file, TOML (.toml) or DiskSim\'s: …',
        "x.toml: system[0].drive: got \"a.csv\", need a readable drive file: a.csv:1:8: got ',', …",
    ),
    "time_scale text": (
        (
            ["run", "x.toml"],
            {"x.toml": '[workload]\ntrace = "a.csv"\ntime_scale = "2x"\n' + SYSTEM},
        ),
        'x.toml: workload.time_scale: got string "2x", need a number',
        SAME,
    ),
    "time_scale zero": (
        (["run", "x.toml"], {"x.toml": '[workload]\ntrace = "a.csv"\ntime_scale = 0\n' + SYSTEM}),
        "x.toml: workload.time_scale: got 0, need a number above 0",
        SAME,
    ),
    "cap file latin": (
        (
            ["run", "x.toml"],
            {
                "x.toml": LOAD + SYSTEM + '[capping]\npolicy = "throttle"\ncap_file = "caps.csv"\n',
                "caps.csv": b"zeit_s;\xfcber\n",
            },
        ),
        'x.toml: capping.cap_file: got "caps.csv" (bytes that are not UTF-8), need a file of …',
        "x.toml: capping.cap_file: got bytes that are not UTF-8, need a file of TOML",
    ),
    "cap-sim without capping": (
        (["cap-sim", "x.toml"], {}),
        "capping: got no system with it, need a table [capping] in the experiment",
        SAME,
    ),
    "trace-info experiment": (
        (["trace-info", "x.toml"], {}),
        'x.toml: got "[workload]\\nsynthetic = … format = "NAME" (--from NAME) says which',
        'x.toml: got "[workload]\\nsynthetic = … hint: name the format',
    ),
    "trace-info from": (
        (["trace-info", "a.csv", "--from", "mqsm"], {}),
        '--from: got "mqsm", need one of alibaba, blkparse, blktrace, … did you mean "mqsim"?',
        SAME,
    ),
    "trace-info parameter": (
        (["trace-info", "a.csv", "-p", "acton=issue"], {}),
        'format_parameters: got key "acton" for csv, need no keys here',
        SAME,
    ),
    "convert reversed": (
        (["convert", "b.csv", "a.csv"], {}),
        "b.csv: got no such file or directory, need a file that can be read or written",
        SAME,
    ),
    "convert unknown ext": (
        (["convert", "a.csv", "b.xyz"], {}),
        'b.xyz: got file name ending "xyz", need one of parquet, csv, spc, fio-iolog, disksim',
        SAME,
    ),
    "convert one argument": (
        (["convert", "a.csv"], {}),
        "headstack convert: got no OUT, need it; see headstack convert --help",
        SAME,
    ),
    "command misspelt": (
        (["rum", "x.toml"], {}),
        'command: got "rum", need one of init, run, sweep, advise, … did you mean "run"?',
        SAME,
    ),
    "simulate": (
        (["simulate", "x.toml"], {}),
        'command: got "simulate", need one of init, run, sweep, advise, cap-sim, …',
        SAME,
    ),
    "option misspelt": (
        (["run", "x.toml", "--output", "o"], {}),
        'headstack run: got "--output", need one of --help, --out, … did you mean "--out"?',
        SAME,
    ),
    "out missing": (
        (["run", "x.toml", "--out"], {}),
        "headstack run: --out: got nothing, need a value; see headstack run --help",
        SAME,
    ),
    "out is file": (
        (["run", "x.toml", "--out", "x.toml"], {}),
        'out: got "x.toml" (a file in place of a directory), need a directory that can be …',
        SAME,
    ),
    "threads zero": (
        (["run", "x.toml", "--threads", "0"], {}),
        'headstack run: --threads: got "0", need an integer of at least 1; see headstack run …',
        SAME,
    ),
    "threads text": (
        (["run", "x.toml", "--threads", "all"], {}),
        'headstack run: --threads: got "all", need an integer of at least 1; see headstack run …',
        SAME,
    ),
    "seed text": (
        (["run", "x.toml", "--seed", "one"], {}),
        'headstack run: --seed: got "one", need an integer of at least 0; see headstack run …',
        SAME,
    ),
    "format json": (
        (["run", "x.toml", "--format", "json"], {}),
        '--format: got "json", need one of text, markdown, csv',
        SAME,
    ),
    "set index": (
        (["run", "x.toml", "--set", "system.1.count=2"], {}),
        "x.toml: --set system.1.count: got index 1, need an index below 1",
        SAME,
    ),
    "set name": (
        (["run", "x.toml", "--set", "system.one.count=2"], {}),
        'x.toml: --set system.one.count: system[0]: got key "one", need one of name, drive, …',
        SAME,
    ),
    "set toml": (
        (["run", "x.toml", "--set", 'workload.synthetic={rate="50/s"'], {}),
        '--set workload.synthetic: got {rate="50/s", need valid TOML',
        SAME,
    ),
    "set top": (
        (["run", "x.toml", "--set", "scheduler=sptf"], {}),
        'x.toml: --set scheduler: experiment: got key "scheduler", need one of workload, …',
        SAME,
    ),
    "set bare rate": (
        (["run", "x.toml", "--set", "workload.synthetic.rate=100"], {}),
        "x.toml: --set workload.synthetic.rate: workload[0].synthetic.rate: got integer 100, …",
        SAME,
    ),
    "drives unknown": (
        (["drives", "exos"], {}),
        'drive: got "exos", need one of barracuda-7200.9-2006, … did you mean "exos-x18"?',
        SAME,
    ),
    "models name": (
        (["models", "scheduler", "stpf"], {}),
        'name: got "stpf", need one of aged-sptf, c-look, … did you mean "sptf"?',
        'name: got "stpf", need one of aged-sptf, c-look, … did you mean "sstf"?',
    ),
    "reproduce paper": (
        (["reproduce", "isca-08"], {}),
        'paper: got "isca-08", need one of isca08, dald, snowflakes, … did you mean "isca08"?',
        SAME,
    ),
    "reproduce claim": (
        (["reproduce", "isca08", "IDP-99", "--out", "o"], {}),
        'isca08: claim: got "IDP-99", need one of IDP-1, IDP-2, IDP-3, … did you mean "IDP-9"?',
        SAME,
    ),
    "reproduce trace pcap": (
        (["reproduce", "pcap", "--trace", "financial=x", "--out", "o"], {}),
        '--trace: got "financial", need none: this paper is run without traces',
        '--trace: got "financial", need one of',
    ),
    "reproduce trace name": (
        (["reproduce", "isca08", "--trace", "finance=x", "--out", "o"], {}),
        '--trace: got "finance", need one of financial, websearch, … did you mean "financial"?',
        SAME,
    ),
    "reproduce trace absent": (
        (["reproduce", "isca08", "--trace", "financial=x", "--out", "o"], {}),
        '--trace financial: got "x", need a file that exists',
        SAME,
    ),
    "reproduce trace bare": (
        (["reproduce", "isca08", "--trace", "x.spc", "--out", "o"], {}),
        '--trace: got "x.spc", need NAME=PATH',
        SAME,
    ),
    "report json": (
        (["report", "result.json"], {"result.json": '{"systems": ['}),
        "result.json: got no JSON in line 1, column 14 (expecting value), need a results file …",
        "result.json: got text that is not JSON, need a results file",
    ),
    "report other json": (
        (["report", "result.json"], {"result.json": '{"a": 1}'}),
        'result.json: got no list "systems", need a results file of headstack run',
        SAME,
    ),
    "compare one": (
        (["compare", "x.toml"], {}),
        "compare: got 1 result, need two or more",
        SAME,
    ),
    "compare against": (
        (
            ["compare", "x.toml", "--against", "two"],
            {
                "x.toml": LOAD
                + SYSTEM
                + '[[system]]\nname = "nearline, in order"\ndrive = "barracuda-es-750"\n'
            },
        ),
        'headstack compare: got "--against", need one of --help, --format, --json',
        SAME,
    ),
    "validate folder": (
        (["validate", "absent"], {}),
        "absent: got no directory, need one with .parv and .trace files",
        SAME,
    ),
    "calibrate reversed": (
        (["calibrate", "a.csv", "cheetah-9lp"], {}),
        'drive: got "a.csv", need one of barracuda-7200.9-2006, barracuda-es-750, …',
        SAME,
    ),
    "calibrate csv": (
        (["calibrate", "cheetah-9lp", "a.csv"], {}),
        "a.csv:1: got no response times, need a column response_s, response_ms, response_us or …",
        SAME,
    ),
    "population preset": (
        (["population", "helium"], {}),
        'drive: got "helium", need one of barracuda-7200.9-2006, … did you mean "helium-20tb"?',
        SAME,
    ),
}

WORKLOAD = {"synthetic": {"n_requests": 10, "rate": "50/s"}}
SYSTEMS = [{"drive": "exos-x18"}]


def run(workload: object = WORKLOAD, systems: object = SYSTEMS, **more: object) -> headstack.Result:
    return headstack.run(workload=workload, systems=systems, **more)


def frame(**columns: object) -> pd.DataFrame:
    return pd.DataFrame(columns)


#: Calls from Python; before as above.
CALLS: dict[str, tuple[Callable[[], object], str, str | None]] = {
    "nothing": (
        headstack.run,
        "run: got no experiment or two, need a file, or workload and systems",
        SAME,
    ),
    "absent trace": (
        lambda: run("b.csv"),
        "workload[0].trace: b.csv: got no such file or directory, need a file that can be …",
        SAME,
    ),
    "a drive's name": (
        lambda: run(systems="exos-x18"),
        'system: got string "exos-x18", need one or several [[system]] with a drive',
        'system: got string "exos-x18", need a list',
    ),
    "names of drives": (
        lambda: run(systems=["exos-x18"]),
        'system[0]: got string "exos-x18", need a table, such as { drive = "exos-x18" }',
        'system[0]: got string "exos-x18", need a table',
    ),
    "no systems": (
        lambda: headstack.run(workload=WORKLOAD),
        "system: got nothing, need one or several [[system]] with a drive",
        "system: got nothing, need a value",
    ),
    "a bare number": (
        lambda: run({"synthetic": {"rate": 50}}),
        "workload[0].synthetic.rate: got integer 50, need a rate as text with its unit: one of …",
        SAME,
    ),
    "not a number": (
        lambda: run({"synthetic": {"rate": "50/s", "reads": float("nan")}}),
        "workload.synthetic.reads: got nan, need a finite number",
        SAME,
    ),
    "other columns": (
        lambda: run(frame(t=[1], sector=[2])),
        "workload: got t, sector, need the columns time_s, lba, blocks and op",
        SAME,
    ),
    "a column too few": (
        lambda: run(frame(time_s=[1], lba=[2])),
        "workload: got columns time_s, lba, need a column blocks or size_bytes",
        SAME,
    ),
    "fractions of blocks": (
        lambda: run(frame(time_s=[1], lba=[2.5], blocks=[8], op=["R"])),
        "workload: row 0: got lba of type floating-point, need an integer that is not negative",
        SAME,
    ),
    "an unsorted frame": (
        lambda: run(frame(time_s=[2, 1], lba=[2, 2], blocks=[8, 8], op=["R", "R"])),
        "workload: row 1: got time 1000000000 ns after 2000000000 ns, need times that do not …",
        SAME,
    ),
    "tuples": (
        lambda: run([(0, 1, 8, "R")]),
        "workload[0]: got a tuple, need a table, a path or a DataFrame of requests",
        SAME,
    ),
    "the text of an experiment": (
        lambda: headstack.run(LOAD + SYSTEM),
        "run: got the text of an experiment, need its path; text can be given as io.StringIO, …",
        "[workload]\\nsynthetic = … got no such file, need a file of TOML",
    ),
    "JSON": (
        lambda: headstack.run('{"workload": {}}'),
        "run: got the text of an experiment, need its path; text can be given as io.StringIO, …",
        '{"workload": {}}: got no such file, need a file of TOML',
    ),
    "bytes": (
        lambda: headstack.run(io.BytesIO(b"\xff")),
        "experiment: got bytes that are not UTF-8, need a file of TOML: text in UTF-8",
        "experiment: got bytes that are not UTF-8, need a file of TOML",
    ),
    "results that are not there": (
        lambda: headstack.load("out"),
        "out: got no such file or directory, need a results file of headstack run",
        SAME,
    ),
    "an experiment as results": (
        lambda: headstack.load("x.toml"),
        "x.toml: got no JSON in line 1, column 2 (expecting value), need a results file of …",
        "x.toml: got text that is not JSON, need a results file",
    ),
    "a misspelt setting": (
        lambda: run(set={"system.0.cuont": 2}),
        'set system.0.cuont: system[0]: got key "cuont", need one of … did you mean "count"?',
        SAME,
    ),
    "threads": (
        lambda: run(threads="all"),
        'threads: got "all", need a whole number, 1 or more',
        SAME,
    ),
    "a fraction as seed": (
        lambda: run(seed=1.5),
        "seed: got floating point 1.5, need a whole number, 0 or more",
        SAME,
    ),
    "a file for results": (
        lambda: run(out="a.csv"),
        'out: got "a.csv" (a file in place of a directory), need a directory that can be …',
        SAME,
    ),
    "another library": (
        lambda: run(log_requests=False).to("numpy"),
        'to: got "numpy", need one of pandas, polars',
        SAME,
    ),
    "no log": (
        lambda: run(log_requests=False).requests,
        "requests: got none logged, need a run with --requests (in Python log_requests=True)",
        "requests: got none logged, need a run with log_requests = True",
    ),
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with an experiment and a trace that are right."""
    (tmp_path / "x.toml").write_text(LOAD + SYSTEM, "utf-8")
    (tmp_path / "a.csv").write_text(CSV, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path, text: str | bytes) -> None:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def check(said: str, now: str, before: str | None) -> None:
    """Check a message against the table; the one that was bad is not said any more."""
    for text, expected in ((now, True), (before, False)):
        if text is not None:
            pattern = ".*".join(re.escape(part.strip()) for part in text.split("…"))
            assert bool(re.fullmatch(pattern, said)) is expected, said
    # Nobody wants to read a file's bytes.
    assert said.isprintable()
    assert "\\u{" not in said


def told(capfd: pytest.CaptureFixture[str], args: list[str]) -> str:
    code = headstack.cli.main(args)
    shown = capfd.readouterr()
    assert (code, shown.out) == (2, ""), shown
    # Below the message there may be the line of the file that it is about.
    said = shown.err.split("\n")[0].replace(os.getcwd(), "FOLDER")
    assert FORM.match(said), said
    # The lists name the place of wrong TOML only; `test_schema.py` checks that of wrong values.
    return re.sub(r"\bx\.toml:\d+:\d+: (?!got )", "x.toml: ", said)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiments(name, place, capfd):
    text, now, before = EXPERIMENTS[name]
    write(place / "x.toml", text)
    said = told(capfd, ["run", "x.toml"])
    file = re.match(r"x\.toml:(?=\d)|x\.toml: |", said)[0]
    if not re.match(r"\d", now):
        file = re.match(r"x\.toml:(\d+:\d+:)? |", said)[0]
    check(said.removeprefix(file), now, before)


@pytest.mark.parametrize("name", TRACES)
def test_traces(name, place, capfd):
    (file, content, kind), now, before = TRACES[name]
    (place / "a.csv").unlink()
    write(place / file, content)
    named = "" if kind is None else f'format = "{kind}"\n'
    write(place / "x.toml", f'[workload]\ntrace = "{file}"\n{named}{SYSTEM}')
    check(told(capfd, ["run", "x.toml"]), now, before)


@pytest.mark.parametrize("name", COMMANDS)
def test_commands(name, place, capfd):
    (args, files), now, before = COMMANDS[name]
    for file, text in files.items():
        write(place / file, text)
    check(told(capfd, args), now, before)


@pytest.mark.parametrize("name", CALLS)
def test_calls(name, place):
    call, now, before = CALLS[name]
    with pytest.raises(headstack.HeadstackError) as caught:
        call()
    said = str(caught.value)
    assert FORM.match(said), said
    check(said, now, before)


@pytest.mark.parametrize("in_thread", [False, True])
def test_an_error_inside_the_core_is_one_line(in_thread):
    with pytest.raises(headstack.HeadstackError, match="got an internal error at crates/") as told:
        _core.panics(in_thread)
    assert "please report it" in str(told.value)
    assert "\n" not in str(told.value)
    assert told.value.__cause__ is None
    # On the command line it is all that is said, with the exit code of a failure.
    code = (
        "import sys; from headstack import _core, cli; "
        f"cli._run = lambda _: _core.panics({in_thread}); sys.exit(cli.main([]))"
    )
    bare = {k: v for k, v in os.environ.items() if k != "RUST_BACKTRACE"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=bare, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert FORM.match(done.stderr.removesuffix("\n")), done.stderr
    assert "got an internal error at crates/py/src/panics.rs" in done.stderr


def test_a_trace_of_which_most_lines_fit_is_described(tmp_path, capsys):
    trace = tmp_path / "a.txt"
    trace.write_text("x,1000,4096,r,0.1\n" + "0,1000,4096,r,0.1\n" * 3)
    assert headstack.cli.main(["trace-info", str(trace), "--on-error", "skip"]) == 0
    shown = capsys.readouterr().out
    assert "spc, fits most of the first lines, not all" in shown
    assert "1 wrong records left out" in shown
