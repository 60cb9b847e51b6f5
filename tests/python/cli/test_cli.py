import csv
import io
import json
import re
import shutil
import subprocess

import pytest
from conftest import ROOT, SHARED, process
from conftest import command as run
from rich.console import Console

from headstack import drives
from headstack.cli import COMMANDS, _terminal, main
from headstack.drives import calibration, validation
from headstack.show import table

NAMES = [m.replace("_", "-") for m in COMMANDS]


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help_with_an_example(name, capsys):
    assert main([name, "--help"]) == 0
    text = capsys.readouterr().out
    assert f"headstack {name}" in text.split("Example", 1)[1]


def test_help_keeps_the_lines_of_its_examples(capsys):
    assert main(["--help"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert "headstack docs" in lines
    assert not [line for line in lines if "\\b" in line or line.endswith(" and...")]


def test_json_is_the_only_output(experiment):
    done = process("run", experiment, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    document = json.loads(done.stdout)
    (system,) = document["systems"]
    assert system["n_requests"] == 300
    assert "response_time_cdf" not in system
    assert {"seed", "version"} <= document.keys()
    shares = [v for k, v in system["power_w"].items() if k != "mean"]
    assert sum(shares) == pytest.approx(system["power_w"]["mean"])
    assert sum(system["components_s"].values()) == pytest.approx(system["response_time_s"]["mean"])


def test_numbers_stay_whole_on_a_narrow_terminal(document, monkeypatch):
    text = io.StringIO()
    monkeypatch.setattr(_terminal, "console", lambda: Console(width=80, file=text))
    monkeypatch.setattr(_terminal, "_print_plain", lambda *_: False)
    document["systems"][0].update(
        name="a name of many words " * 3,
        n_requests=123_456_789,
        cost_usd={"low": 1000, "high": 2000},
        energy_cost_usd=123_456,
    )
    rows = [table.cells(s) for s in document["systems"]]
    _terminal.print_table([(c.title, c.text) for c in table.COLUMNS], rows)
    lines = text.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    for number in rows[0][2:]:
        assert any(f" {number} " in f"{line} " for line in lines), number


def test_run_writes_report_tables_and_figures(experiment, tmp_path):
    out = tmp_path / "out"
    done = run("run", experiment, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "fcfs" in done.stdout
    assert (out / "report.html").stat().st_size > 100_000
    assert (out / "figures" / "response-time.png").read_bytes().startswith(b"\x89PNG")
    assert list(out.glob("series-*.parquet"))
    again = run("report", out, "-o", tmp_path / "again.html", "--no-figures")
    assert again.returncode == 0, again.stderr


def test_conversion_keeps_the_requests(tmp_path):
    source = tmp_path / "a.csv"
    source.write_text("".join(f"0,{1000 * i},4096,{'rw'[i % 2]},{i / 100}\n" for i in range(20)))
    target, back = tmp_path / "b.csv", tmp_path / "c.spc"
    for src, dst, kind in ((source, target, "spc"), (target, back, None)):
        args = ["convert", src, dst, *(["--from", kind] if kind else [])]
        done = run(*args, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["n_written"] == 20
    done = run("trace-info", back, "--json")
    info = json.loads(done.stdout)
    assert info["duration_s"] == pytest.approx(0.19)


def test_zones_of_both_actuators_are_told():
    described = json.loads(run("drives", "exos-2x18-sata", "--json").stdout)
    rates = [z["rate_bytes_per_s"] for z in described["info"]["zones"]]
    # One address space over two actuators: twice from outside to inside.
    once = len(described["spec"]["geometry"]["zones"])
    assert len(rates) == 2 * once
    assert rates[:once] == rates[once:] == sorted(rates[:once], reverse=True)


def test_a_failed_conversion_leaves_nothing_behind(tmp_path):
    source = tmp_path / "bad.csv"
    source.write_text("time_us,device,lba,blocks,op\n0,0,1,8,R\n5,0,x,8,R\n")
    target = tmp_path / "good.spc"
    done = run("convert", source, target)
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [source]), done
    assert done.stderr.startswith(f"{source}:3: ")
    done = run("convert", source, target, "--on-error", "skip", "--json")
    assert json.loads(done.stdout) == {"n_written": 1, "n_skipped": 1, "n_clamped": 0}
    assert target.exists()


def test_times_that_run_backwards_are_sorted_when_asked(tmp_path):
    source, target = tmp_path / "a.csv", tmp_path / "b.csv"
    source.write_text("time_us,lba,blocks,op\n5,8,8,R\n0,16,8,R\n9,24,8,R\n")
    done = run("convert", source, target)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done
    assert "--order sort" in done.stderr
    done = run("convert", source, target, "--order", "sort", "--json")
    assert json.loads(done.stdout) == {"n_written": 3, "n_skipped": 0, "n_clamped": 0}
    times = [int(line.split(",")[0]) for line in target.read_text().splitlines()[1:]]
    assert times == sorted(times)
    info = json.loads(run("trace-info", source, "--order", "sort:1", "--json").stdout)
    assert (info["n_requests"], info["n_clamped"]) == (3, 1)
    experiment = tmp_path / "a.toml"
    text = '[workload]\ntrace = "a.csv"\n[[system]]\ndrive = "cheetah-9lp"\n'
    experiment.write_text(text)
    done = run("run", experiment)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done
    assert 'order = "sort"' in done.stderr
    experiment.write_text(text.replace('"a.csv"', '"a.csv"\norder = "sort"'))
    done = run("run", experiment, "--json")
    assert json.loads(done.stdout)["systems"][0]["n_requests"] == 3, done


def test_models_lists_every_registry(capsys):
    assert main(["models", "--json"]) == 0
    kinds = json.loads(capsys.readouterr().out)
    of_drives = ("cost", "layout", "power", "roles", "scheduler", "seek")
    folders = {kind: f"drive/src/{kind}" for kind in of_drives}
    folders |= {"organisation": "block/src/layer", "reader": "trace/src/reader"}
    folders |= {"layer": "block/src/layer", "elevator": "block/src/layer/elevator"}
    folders |= {"capping": "control/src/policy", "mapping": "drive/src/mapping/policy"}
    folders |= {"cleaning": "drive/src/mapping/cleaning"}
    # Warnings are checks of several crates; test_warnings.py has them.
    assert kinds.keys() == {*folders, "warning"}
    for kind, folder in folders.items():
        files = {f.stem.replace("_", "-") for f in (ROOT / "crates" / folder).glob("*.rs")}
        assert {entry["name"] for entry in kinds[kind]} <= files, kind
        assert all(entry["summary"] for entry in kinds[kind])
    assert main(["models", "seek"]) == 0
    text = capsys.readouterr().out
    assert all(entry["name"] in text for entry in kinds["seek"])


def test_calibration_checks_its_arguments_before_it_begins(tmp_path):
    trace = tmp_path / "a.trace"
    trace.write_text("R 1 0 8 5000.0 0.0\n" * 8)
    drive = tmp_path / "mine.toml"
    text = drives.find("cheetah-9lp").read_text()
    drive.write_text(text.replace("rotation_speed", "rotaton_speed", 1))
    done = run("calibrate", drive, trace)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith(f'{drive}: geometry: got key "rotaton_speed"')
    done = run("calibrate", "cheetah-9lp", trace, "--out", trace / "fitted.toml")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith("--out: got")


def test_gaps_between_requests_are_in_seconds(tmp_path):
    trace = tmp_path / "gaps.csv"
    times = [0, 1, 3, 4]
    trace.write_text("time_s,lba,blocks,op\n" + "".join(f"{t},0,8,R\n" for t in times))
    gaps = json.loads(run("trace-info", trace, "--json").stdout)["interarrival_s"]
    assert gaps == pytest.approx({"mean": 4 / 3, "p50": 1, "p90": 2, "p99": 2, "max": 2}, rel=2e-3)


def test_an_empty_trace_is_said_to_be_empty(tmp_path):
    trace = tmp_path / "empty.csv"
    trace.write_text("time_us,device,lba,blocks,op\n")
    done = run("trace-info", trace, "--json")
    assert json.loads(done.stdout)["n_requests"] == 0
    done = run("trace-info", trace, "--plot", tmp_path)
    assert done.returncode == 2
    assert "need at least one read or write" in done.stderr


@pytest.fixture
def measured(tmp_path):
    """A folder with a drive that can be compared, and one that causes a warning."""
    text = (ROOT / "fuzz" / "corpus" / "disksim_parser" / "drive.parv").read_text()
    trace = "".join(f"R Hit {n * 7} 4 {9000 + n}.000000 20000.000000\n" for n in range(50))
    longer = text.replace("Last cylinder number = 19", "Last cylinder number = 20")
    assert longer != text
    for name, parameters in (("good", text), ("longer", longer)):
        (tmp_path / f"{name}.parv").write_text(parameters)
        (tmp_path / f"{name}.trace").write_text(trace)
    return tmp_path


def test_validation_goes_on_after_files_that_cannot_be_used(measured):
    good = (measured / "good.parv").read_text()
    trace = (measured / "good.trace").read_text()
    for name, parameters, measurements in (
        ("columns", good, "0.0 0 16 8 1\n"),
        ("grammar", "disksim_disk {", trace),
        ("outside", good, "R Hit 999999 4 9000.0 20000.0\n"),
        ("watermark", good.replace("Fast write", "High (read) water mark = 7, Fast write"), trace),
    ):
        (measured / f"{name}.parv").write_text(parameters)
        (measured / f"{name}.trace").write_text(measurements)
    done = run("validate", measured, "--json")
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert [d["name"] for d in document["drives"]] == ["good", "longer"]
    assert all(d["n_requests"] == 50 for d in document["drives"])
    assert [(e["name"], e["path"]) for e in document["errors"]] == [
        ("columns", str(measured / "columns.trace")),
        ("grammar", str(measured / "grammar.parv")),
        ("outside", str(measured / "outside.trace")),
        ("watermark", str(measured / "watermark.parv")),
    ]
    for error in document["errors"]:
        assert error["message"].startswith(error["path"]), error
        assert "need" in error["message"]
        assert error["message"] in done.stderr
    shown = run("validate", measured)
    assert shown.returncode == 1
    assert [line for line in shown.stdout.splitlines() if "columns" in line and "unusable" in line]
    assert "over 2 drives" in shown.stdout
    # The Python interface returns the same.
    with pytest.warns(UserWarning, match="Last cylinder number"):
        assert validation.validate(measured) == document


def test_validation_with_nothing_that_can_be_used(tmp_path):
    (tmp_path / "x.parv").write_text("")
    (tmp_path / "x.trace").write_text("")
    done = run("validate", tmp_path)
    assert done.returncode == 1
    assert "x.parv" in done.stderr
    assert "mean demerit" not in done.stdout


def test_what_an_import_tolerates_is_a_warning(measured):
    done = run("validate", measured, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["errors"] == []
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"warning: {measured / 'longer.parv'}:"), line
    assert "Last cylinder number: got 20" in line
    shown = run("drives", measured / "longer.parv")
    assert "warning: " in shown.stderr, shown


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared is absent")
def test_validation_of_real_drives():
    done = run("validate", SHARED / "data" / "disksim", "--compat", "disksim-4.0", "--json")
    assert done.returncode == 0, done.stderr
    found = {d["name"]: d["demerit_s"] * 1e3 for d in json.loads(done.stdout)["drives"]}
    # Published with DiskSim 4.0 (valid/), milliseconds; 0.02 for the two ways to compute it.
    published = {"barracuda": 0.349, "cheetah9LP": 0.107, "ibm18es": 0.135, "atlas10k": 0.268, "hp_c2247a": 0.090}
    assert found == pytest.approx(published, abs=0.02)


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared is absent")
def test_validation_shows_classes_and_draws_distributions(tmp_path):
    folder = SHARED / "data" / "disksim"
    done = run("validate", folder, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    drives = validation.validate(folder)["drives"]
    for drive in drives:
        assert sum(c["n_requests"] for c in drive["classes"]) == drive["n_requests"]
        picture = (tmp_path / f"{drive['name']}.svg").read_text()
        assert "measured" in picture
        assert "simulated" in picture
        measured, simulated = validation.response_times(folder, drive["name"])
        assert calibration.demerit(measured, simulated) == pytest.approx(drive["demerit_s"])
    # Eight classes at most; the table has each operation with the previous one.
    assert done.stdout.count("write after read, sequential") <= len(drives)
    assert "read after write" in done.stdout
    short = run("validate", folder, "--no-classes").stdout
    assert "read after write" not in short


def test_single_values_are_replaced_by_option(experiment):
    text = experiment.read_text()
    done = run(
        *["run", experiment, "--json"],
        *["--set", "system.0.scheduler=sptf"],
        *["--set", "workload.synthetic.n_requests = 200"],
        *["--set", "system[0].cache={enabled = false}"],
        *["--set", 'system.0.name="a = b"'],
        *["--set", "workload.synthetic.size=8 KiB"],
        *["--set", "system.0.set.queue.depth=4"],
    )
    assert done.returncode == 0, done.stderr
    # An equivalent file.
    for old, new in [
        ('"fcfs"\ndrive', '"a = b"\ndrive'),
        ('scheduler = "fcfs"', 'scheduler = "sptf"\nqueue_depth = 4\ncache = { enabled = false }'),
        ("n_requests = 300", "n_requests = 200"),
        ("4 KiB", "8 KiB"),
    ]:
        assert old in text
        text = text.replace(old, new)
    experiment.write_text(text)
    again = run("run", experiment, "--json")
    (got,), (want,) = (json.loads(d.stdout)["systems"] for d in (done, again))
    assert got == want
    assert (got["name"], got["n_requests"]) == ("a = b", 200)


def test_standard_input_is_an_experiment(experiment, tmp_path, monkeypatch):
    want = json.loads(run("run", experiment, "--json").stdout)
    done = process("run", "-", "--json", input=experiment.read_bytes(), text=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["systems"] == want["systems"]
    # Relative paths start from the working directory.
    traced = b'[workload]\ntrace = "t.csv"\n[[system]]\ndrive = "exos-x18"\n'
    (tmp_path / "t.csv").write_text("time_us,lba,blocks,op\n0,8,8,R\n")
    args = ("run", "-", "--out", "out", "--no-figures", "--set", "system.0.count=2")
    done = process(*args, input=traced, text=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "standard input" in (tmp_path / "out" / "report.html").read_text()
    for text, message in {
        b"[workload\n": "standard input:1:",
        b"": "standard input: workload: got nothing",
        b"a = '\xff'": "standard input: got bytes that are not UTF-8",
        traced + b"count = 0": "standard input:5:9: system[0].count: got 0",
    }.items():
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
        done = run("run", "-")
        assert done.returncode == 2, done
        assert done.stderr.startswith(message), done.stderr


def test_every_table_can_be_markdown_or_csv(experiment, measured, tmp_path):
    """The rows are the same in all forms, and CSV output contains nothing else."""
    trace = tmp_path / "t.csv"
    trace.write_text("time_us,lba,blocks,op\n0,8,8,R\n2000000,16,8,W\n")
    for args, first in [
        (["run", experiment], ["system", "requests"]),
        (["compare", experiment, experiment], ["system", "what"]),
        (["drives"], ["drive", "year"]),
        (["drives", "exos-x18"], ["key", "value", "source"]),
        (["models"], ["kind", "name", "what"]),
        (["validate", measured, "--no-classes"], ["drive", "requests"]),
        (["trace-info", trace], ["of the trace", "value"]),
    ]:
        done = run(*args, "--format", "csv")
        assert done.returncode == 0, done.stderr
        # Several tables are separated by an empty line.
        tables = [list(csv.reader(io.StringIO(t))) for t in done.stdout.split("\n\n")]
        assert tables[0][0][: len(first)] == first
        marked = run(*args, "--format", "markdown").stdout
        shown = [t.splitlines() for t in marked.split("\n\n") if t.startswith("|")]
        # In CSV the systems of a run are one table; their ranking comes first in Markdown only.
        shown = shown[args[0] == "run" :]
        assert len(shown) == (2 if args[0] == "run" else len(tables)), args
        assert len(tables) == 1 or args[0] != "run"
        for rows, lines in zip(tables, shown, strict=False):
            assert {len(row) for row in rows} == {len(rows[0])}, args
            headings = [cell.strip() for cell in lines[0].strip("|").split("|")]
            # `compare` has marks and notes in Markdown, and a column instead in CSV.
            more = ["remarks"] if args[0] == "compare" else []
            assert headings + more == rows[0]
            assert set(lines[1]) <= set("|-:")
            assert len(lines) == len(rows) + 1


def test_cells_stay_cells_in_every_form(capsys):
    headings = [("name", True), ("n", False)]
    rows = [["a|b\n*c* <d> e_f _g_", "1,234,567.5"], ['say "x", y', "–"]]  # noqa: RUF001
    _terminal.print_table(headings, rows, form="csv")
    assert list(csv.reader(io.StringIO(capsys.readouterr().out))) == [
        ["name", "n"],
        [rows[0][0], "1234567.5"],
        [rows[1][0], ""],
    ]
    _terminal.print_table(headings, rows, "t*", form="markdown")
    assert capsys.readouterr().out.splitlines() == [
        r"**t\***",
        "",
        "| name | n |",
        "|---|---:|",
        r"| a\|b \*c\* \<d\> e_f \_g\_ | 1,234,567.5 |",
        '| say "x", y | – |',  # noqa: RUF001
        "",
    ]


def test_a_trace_format_is_still_taken_where_tables_have_forms(tmp_path):
    trace = tmp_path / "t.trace"
    trace.write_text("0,100,4096,R,0.1\n0,200,4096,W,0.2\n")
    new = run("trace-info", trace, "--from", "spc")
    old = run("trace-info", trace, "--format", "spc")
    assert (new.returncode, new.stderr) == (0, "")
    assert (old.stdout, old.stderr) == (new.stdout, "warning: --format spc: taken as --from spc\n")
    assert "," in run("trace-info", trace, "--from", "spc", "--format", "csv").stdout


BLKPARSE = """\
8,0 1 1 0.000000000 697 Q R 8 + 8 [x]
8,0 1 2 0.500000000 697 D R 8 + 8 [x]
8,0 1 3 1.000000000 697 Q W 16 + 8 [x]
8,0 1 4 1.250000000 697 D W 16 + 8 [x]
"""


def test_readers_take_parameters(tmp_path):
    trace = tmp_path / "sda.blkparse"
    trace.write_text(BLKPARSE)

    def of(*more):
        return json.loads(run("trace-info", trace, "--json", *more).stdout)

    # From the first to the last: 1 s when requests entered the queue, 0.75 s when they left it.
    assert of()["duration_s"] == 1.0
    assert of("-p", "action=issue")["duration_s"] == 0.75
    done = run("convert", trace, tmp_path / "x.csv", "--format-parameter", 'action="issue"')
    assert done.returncode == 0
    assert (tmp_path / "x.csv").read_text().splitlines()[1].startswith("500000000,0,8,8,")
    for parameter, words in {
        "acton=issue": ['format_parameters: got key "acton"', 'did you mean "action"?'],
        "action=isue": ['format_parameters.action: got "isue"', 'did you mean "issue"?'],
        "action": ['--format-parameter: got "action", need KEY=VALUE'],
    }.items():
        done = run("trace-info", trace, "-p", parameter)
        assert done.returncode == 2
        assert all(word in done.stderr for word in words), done.stderr


def test_tables_in_pipes_are_those_of_terminals(monkeypatch):
    """The renderer for pipes writes the same as Rich if nothing wraps."""
    headings = [("system", True), ("n ms", False), ("why", True)]
    rows = [["a", "1.25", ""], ["a longer name", "1,000.00", "because"]]
    plain = _terminal._print_plain
    for title in (None, "all"):
        shown = []
        for chosen in (plain, lambda *_: False):
            text = io.StringIO()
            monkeypatch.setattr(_terminal, "_print_plain", chosen)
            monkeypatch.setattr("sys.stdout", text)
            _terminal.print_table(headings, rows, title)
            monkeypatch.undo()
            shown.append(text.getvalue())
        assert shown[0] == shown[1]
        assert shown[0].count("\n") == 4 + (title is not None)


def rust_example(name):
    """Build an example of the crate `experiment`; return its path."""
    # As `cargo test` builds it, which has done so already or is about to: nothing is built twice.
    command = ["cargo", "build", "--release", "--config", ".cargo/checked.toml"]
    command += ["--offline", "--workspace"]
    command += ["--example", name, "--message-format", "json"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    return next(m["executable"] for m in messages if m.get("executable"))


@pytest.mark.thorough
@pytest.mark.needs("cargo")
def test_a_rust_binary_runs_the_same_experiment(experiment, tmp_path):
    binary = rust_example("run")
    for file, out in [(experiment, "toml"), (ROOT / "examples" / "demo.toml", "demo")]:
        rust = subprocess.run([binary, file], capture_output=True, check=True).stdout
        done = run("run", file, "--json", "--out", tmp_path / out)
        assert done.returncode == 0, done.stderr
        written = (tmp_path / out / "result.json").read_bytes()
        document = json.loads(rust)
        printed = json.loads(done.stdout)
        for system, other in zip(document["systems"], printed["systems"], strict=True):
            assert {**system, **other} == {**system, "series_file": other["series_file"]}
        # The folder adds only the paths of the series.
        with_files = json.loads(written)
        for system in with_files["systems"]:
            del system["series_file"]
        assert json.dumps(with_files) == json.dumps(document)
        assert len(rust) < len(written)
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(experiment.read_text().replace("fcfs", "fcsf"))
    done = subprocess.run([binary, wrong], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == run("run", wrong).stderr.splitlines()[0]
    assert re.search(r":\d+:\d+: system\[0\].*scheduler: got ", done.stderr), done.stderr


LOAD = """
disksim_synthio LOAD { Number of I/O requests to generate = 500, Generators = [
  disksim_synthgen { Storage capacity per device = 1000, devices = [ d0 .. d2 ],
    Blocking factor = 8, Probability of sequential access = 0.0,
    Probability of local access = 0.0, Probability of read access = 0.66,
    Probability of time-critical request = 0.0,
    General inter-arrival times = [ exponential, 0.0, 50.0 ], Sizes = [ normal, 8.0, 0.0 ] } ] }
"""


def system_of_disksim(folder, more=""):
    """A parameter file with three disks on a slow bus."""
    corpus = ROOT / "fuzz/corpus/disksim_parser"
    shutil.copytree(corpus, folder, dirs_exist_ok=True)
    text = (corpus / "drive.parv").read_text(encoding="utf-8")
    path = folder / "small.parv"
    path.write_text(text + LOAD + more, encoding="utf-8")
    return path


def test_a_parameter_file_is_converted_and_run(tmp_path):
    parv = system_of_disksim(tmp_path)
    toml = tmp_path / "small.toml"
    done = run("convert", parv, toml)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"wrote {toml}\n"
    # The bus has two times, its link only one; the warning has file and line.
    assert f"{parv}:4:" in done.stderr
    # The file and its conversion are the same experiment.
    results = [run("run", path, "--json") for path in (parv, toml)]
    assert [r.returncode for r in results] == [0, 0], [r.stderr for r in results]
    first, second = (json.loads(r.stdout)["systems"][0] for r in results)
    assert first == second
    assert (first["name"], first["n_requests"], first["n_errors"]) == ("small", 500, 0)
    assert [layer["layer"] for layer in first["layers"]] == ["link", "drive"]
    # A seed on the command line replaces the file's.
    other = json.loads(run("run", parv, "--json", "--seed", 7).stdout)
    assert other["seed"] == 7
    assert other["systems"][0]["response_time_s"] != first["response_time_s"]


def test_a_parameter_file_with_a_trace(tmp_path):
    parv = system_of_disksim(tmp_path / "disksim")
    trace = tmp_path / "day.trace"
    trace.write_text("0.000000 0 0 8 1\n12.500000 2 99 16 0\n", encoding="utf-8")
    toml = tmp_path / "out" / "day.toml"
    toml.parent.mkdir()
    done = run("convert", parv, toml, "--trace", trace, "--json")
    assert done.returncode == 0, done.stderr
    assert {n["treatment"] for n in json.loads(done.stdout)["report"]} >= {"honoured"}
    assert 'trace = "../day.trace"' in toml.read_text(encoding="utf-8")
    (system,) = json.loads(run("run", toml, "--json").stdout)["systems"]
    assert [d["n_requests"] for d in system["drives"]] == [1, 0, 1]


def test_the_table_of_a_run_fits_eighty_columns(document, monkeypatch):
    for system, name in zip(document["systems"], ("two 10k drives, striped", "one"), strict=True):
        price = {"low": 135, "high": 162, "price_kind": "components"}
        system.update(name=name, n_requests=123_456, cost_usd=price, energy_cost_usd=218)
        system["utilisation"] = 0.352
    columns = table.columns(document)
    rows = table.rows(document, columns)
    headings = [(c.title, c.text) for c in columns]

    def printed(width: int, short: list[int] | None) -> tuple[bool, list[str]]:
        text = io.StringIO()
        monkeypatch.setattr(_terminal, "console", lambda: Console(width=width, file=text))
        monkeypatch.setattr(_terminal, "_print_plain", lambda *_: False)
        whole = _terminal.print_table(headings, rows, short=short)
        return whole, [line.rstrip() for line in text.getvalue().splitlines()]

    short = table.short(columns, document["systems"])
    whole, lines = printed(80, short)
    # Two lines of headings, a rule, and one line for each system: nothing is broken.
    assert (whole, len(lines)) == (False, 5)
    assert max(map(len, lines)) <= 80
    assert lines[3].startswith("two 10k drives, striped ")
    for i in short[1:]:
        assert f" {rows[0][i]}" in lines[3]
    # All columns, in as many tables as needed.
    whole, lines = printed(80, None)
    assert whole
    shown = "\n".join(lines)
    assert all(cell in shown for cell in rows[0][1:])
    # Where there is room, all of them in one table.
    whole, lines = printed(200, short)
    assert (whole, len(lines)) == (True, 4)
    # Errors are shown if there are some.
    document["systems"][1]["n_errors"] = 3
    assert "errors" in [columns[i].title for i in table.short(columns, document["systems"])]
