"""Errors are one line: where, what was got, what is needed."""

import errno
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import HEADSTACK, ROOT, command, process
from test_refusals import FOREIGN, FORM, LOAD, SYSTEM, told

import headstack
import headstack.cli
from headstack import _core, drives
from headstack.drives import calibration
from headstack.errors import printable


def message(capfd: pytest.CaptureFixture[str], *args: object) -> str:
    return told(capfd, [str(a) for a in args])


@pytest.mark.parametrize("command", ["run", "drives"])
@pytest.mark.parametrize(
    ("text", "place", "need"),
    [
        ("[" * 500 + "]" * 500, ":1:", "max recursion depth"),
        ("{ a = " * 500 + "1" + " }" * 500, ":1:", "max recursion depth"),
        ("9" * 5000, ":1:5", "got 999"),
        ("1\na.b = 2", ":2:1", "got a.b = 2, need TOML: KEY = VALUE"),
        ('"\x1b[2J"', ":1:6", "got "),
    ],
)
def test_strange_toml_is_one_line(command, text, place, need, tmp_path, capfd):
    file = tmp_path / "strange.toml"
    file.write_text(f"a = {text}\n")
    said = message(capfd, command, file)
    assert said.startswith(f"{file}{place}"), said
    assert need in said


@pytest.mark.parametrize("in_thread", [False, True])
def test_an_error_inside_the_core_is_one_line(in_thread):
    with pytest.raises(headstack.HeadstackError, match="got an internal error at crates/") as error:
        _core.panics(in_thread)
    assert "please report it" in str(error.value)
    assert "\n" not in str(error.value)
    assert error.value.__cause__ is None
    # On the command line it is all that is said, with the exit code of a failure.
    code = (
        "import sys; from headstack import _core, cli; "
        f"cli._run = lambda _: _core.panics({in_thread}); sys.exit(cli.main([]))"
    )
    bare = {k: v for k, v in os.environ.items() if k != "RUST_BACKTRACE"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=bare, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert FORM.fullmatch(done.stderr.removesuffix("\n")), done.stderr
    assert "got an internal error at crates/py/src/panics.rs" in done.stderr


def test_a_wrong_first_line_can_be_left_out(tmp_path, capfd):
    trace = tmp_path / "a.txt"
    trace.write_text("x,1000,4096,r,0.1\n" + "0,1000,4096,r,0.1\n" * 3)
    args = ["trace-info", str(trace), "--on-error", "skip"]
    assert headstack.cli.main([*args, "--json"]) == 0
    info = json.loads(capfd.readouterr().out)
    assert (info["n_requests"], info["n_skipped"]) == (3, 1)
    assert headstack.cli.main(args) == 0
    shown = capfd.readouterr().out
    assert "spc, fits most of the first lines, not all" in shown
    assert "1 wrong records left out" in shown


def test_names_of_files_do_not_steer_the_terminal(tmp_path, capfd):
    trace = tmp_path / "a\x1b[2J\n.csv"
    said = message(capfd, "trace-info", trace)
    assert said.startswith(rf"{tmp_path}/a\u{{1b}}[2J\n.csv: got no such file"), said
    trace.write_text("time_us,lba,blocks,op\n1,2,8,R\n")
    assert headstack.cli.main(["convert", str(trace), str(trace) + ".csv"]) == 0
    assert printable(str(trace)) in capfd.readouterr().out


@pytest.mark.parametrize("command", ["run", "drives", "trace-info", "report"])
def test_names_of_any_bytes_are_names(command, capfd):
    # A path that is not valid text, as Python represents it.
    said = message(capfd, command, os.fsdecode(b"/absent\xff.toml"))
    assert "/absent" in said


def test_names_in_results_do_not_steer_the_terminal(tmp_path, capfd):
    file = tmp_path / "x.toml"
    named = SYSTEM.replace('"one"', r'"\u001b]0;x\u0007"')
    file.write_text(LOAD.replace("[workload]", '[workload]\nname = "\\u009bA"') + named)
    assert headstack.cli.main(["run", str(file)]) == 0
    shown = capfd.readouterr().out
    assert r"\u{1b}]0;x\u{7}" in shown
    assert all(c.isprintable() or c == "\n" for c in shown)


def test_drive_files_do_not_steer_the_terminal(tmp_path, capfd):
    file = tmp_path / "x.toml"
    spec = {**drives.load("exos-x18"), "title": "\x1b[2J", "description": "a\x1b[2J\nb\x9bA"}
    calibration.write_drive(spec, file)
    assert headstack.cli.main(["drives", str(file)]) == 0
    shown = capfd.readouterr().out
    assert r"\u{1b}[2J" in shown
    assert all(c.isprintable() or c == "\n" for c in shown)


def test_any_text_names_a_system(tmp_path):
    names = ["constructor", "__proto__", "\u2028", "\x00", "</script>", "a\tb"]
    file = tmp_path / "x.toml"
    file.write_text(LOAD + "".join(SYSTEM.replace('"one"', json.dumps(n)) for n in names))
    done = command("run", file, "--out", tmp_path / "out")
    assert (done.returncode, done.stderr) == (0, ""), done
    assert [s["name"] for s in headstack.load(tmp_path / "out").document["systems"]] == names


def test_sizes_may_be_in_fios_notation(tmp_path):
    def sizes(size: str) -> object:
        given = {"n_requests": 50, "rate": "50/s", "size": size, "footprint": "1g", "rounding": "up"}
        systems = [{"drive": "barracuda-es-750"}]
        result = headstack.run(workload={"synthetic": given}, systems=systems)
        return set(result.requests["blocks"])

    # fio's manual: with kb_base = 1024, the default, 4k is 4096 bytes: eight blocks of 512.
    assert sizes("4k") == sizes("4K") == {8}
    assert sizes("1m") == {2048}
    assert sizes("16 kB") == {32}  # 16,000 bytes in whole blocks


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_byte_order_mark_changes_nothing(mark, tmp_path, capfd):
    trace, drive, file = tmp_path / "a.csv", tmp_path / "d.toml", tmp_path / "x.toml"
    trace.write_bytes(mark + b"time_us,lba,blocks,op\n1,2,8,R\n")
    drive.write_bytes(mark + (ROOT / "drives" / "exos-x18.toml").read_bytes())
    text = '[[system]]\ndrive = "d.toml"\n[workload]\ntrace = "a.csv"\n'
    for kind in ("", 'format = "csv"\n'):
        file.write_bytes(mark + (text + kind).encode())
        assert headstack.cli.main(["run", str(file), "--json"]) == 0
        assert json.loads(capfd.readouterr().out)["systems"][0]["n_requests"] == 1
    assert headstack.cli.main(["drives", str(drive), "--json"]) == 0


def test_a_full_device_is_named(tmp_path):
    trace = tmp_path / "a.csv"
    trace.write_text("time_us,lba,blocks,op\n1,2,8,R\n")
    for kind in ("csv", "parquet"):
        done = process("convert", trace, "/dev/full", "--to", kind)
        want = "/dev/full: got no space left on device, need room for what is written\n"
        assert (done.returncode != 0, done.stderr) == (True, want)
    with open("/dev/full", "w") as full:
        words, pipe = [*HEADSTACK, "trace-info", trace], subprocess.PIPE
        done = subprocess.run(words, stdout=full, stderr=pipe, text=True, check=False)
    want = "standard output: got no space left on device, need room for what is written\n"
    assert (done.returncode, done.stderr) == (1, want)
    assert Path("/dev/full").is_char_device()


#: A limit that the tables of the experiment below exceed, or its page: acts as a full disk.
@pytest.mark.parametrize("n_bytes", [4_096, 600_000])
def test_where_there_is_no_room_nothing_half_is_left(n_bytes, experiment, tmp_path):
    def limits() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))

    out = tmp_path / "out"
    done = process("run", experiment, "--out", out, preexec_fn=limits)
    assert done.returncode == 1, done
    assert FORM.fullmatch(done.stderr.removesuffix("\n")), done.stderr
    assert not FOREIGN.search(done.stderr)
    assert done.stderr.startswith(f"{out}"), done.stderr
    assert os.strerror(errno.EFBIG).lower() in done.stderr
    assert "part" not in done.stderr.replace(str(out), "")
    left = {f.name for f in out.iterdir()}
    assert not any(name.startswith((".", "report", "figures")) for name in left), left
    if n_bytes > 100_000:
        assert headstack.load(out).document["systems"]
    else:
        assert left == set()


#: From almost too little for the core to enough for all but the drawing library.
@pytest.mark.parametrize("n_bytes", [300_000_000, 450_000_000, 1_000_000_000, 20_000_000_000])
def test_short_of_memory_is_said(n_bytes, experiment, tmp_path):
    def limits() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (n_bytes, n_bytes))

    done = process("run", experiment, "--out", tmp_path / "out", preexec_fn=limits)
    assert done.returncode == 1, done
    assert FORM.fullmatch(done.stderr.removesuffix("\n")), done.stderr
    assert "memory" in done.stderr
    # The numbers are still there.
    assert headstack.load(tmp_path / "out").summary["n_requests"].tolist() == [300]


def test_a_run_short_of_memory_says_so_and_leaves_nothing(tmp_path):
    text = """
[workload]
synthetic = { n_requests = 50_000_000, rate = "1000000/s", footprint = "10 GB" }
[[system]]
name = "overloaded"
drive = "barracuda-es-750"
"""
    path, out = tmp_path / "e.toml", tmp_path / "out"
    path.write_text(text, encoding="utf-8")
    n_bytes = 600_000_000

    def limits() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (n_bytes, n_bytes))

    done = process("run", path, "--out", out, preexec_fn=limits)
    assert done.returncode == 1, done
    assert FORM.fullmatch(done.stderr.removesuffix("\n")), done.stderr
    assert "overloaded: got no more memory with" in done.stderr
    assert "Traceback" not in done.stderr
    assert "panicked" not in done.stderr
    assert list(out.iterdir()) == []


def test_a_damaged_parquet_file_is_said_in_one_line(tmp_path):
    trace, packed = tmp_path / "a.csv", tmp_path / "a.parquet"
    rows = "".join(f"{i},{i * 8 % 9999},8,{'RW'[i % 2]}\n" for i in range(5000))
    trace.write_text(f"time_us,lba,blocks,op\n{rows}")
    assert process("convert", trace, packed).returncode == 0
    whole = packed.read_bytes()
    said = set()
    for place in range(8, len(whole) - 8, max(1, len(whole) // 40)):
        damaged = bytearray(whole)
        damaged[place : place + 4] = b"\xff\xff\xff\x7f"
        packed.write_bytes(damaged)
        said.add(_told_of(packed))
    # Some damage is not detected, for example in the statistics.
    for text in said - {""}:
        assert FORM.fullmatch(text), text
        assert "panicked" not in text
    assert len(said) > 1


def _told_of(trace: Path) -> str:
    done = subprocess.run([sys.executable, "-c", _INFO, trace], capture_output=True, text=True, check=False)
    assert done.stderr == "", done.stderr
    return done.stdout.strip()


_INFO = """
import sys
from headstack import _bridge
from headstack.errors import TraceError
try:
    _bridge.call("trace_info", sys.argv[1], None, "fail")
except TraceError as e:
    print(e)
"""


@pytest.fixture
def strange(tmp_path):
    """A folder with a parameter file from somebody else, and a secret file outside the folder."""
    folder = tmp_path / "folder"
    (folder / "below").mkdir(parents=True)
    text = (ROOT / "fuzz" / "corpus" / "disksim_parser" / "drive.parv").read_text()
    (tmp_path / "secret.diskspecs").write_text(text)
    (folder / "below" / "inside.diskspecs").write_text(text)
    (folder / "link.diskspecs").symlink_to(tmp_path / "secret.diskspecs")
    return folder


@pytest.mark.parametrize("way", ["../secret.diskspecs", "{}/secret.diskspecs", "link.diskspecs"])
def test_parameter_files_read_nothing_outside_unless_allowed(way, strange, capfd):
    file = strange / "x.parv"
    file.write_text(f"source {way.format(strange.parent)}\n")
    said = message(capfd, "drives", file)
    assert said.startswith(f"{file}:1:8: got "), said
    assert "a file outside the folder, which is read only if that is allowed" in said
    assert headstack.cli.main(["drives", str(file), "--json", "--sources-anywhere"]) == 0
    system = {"drive": str(file)}
    load = {"synthetic": {"n_requests": 1, "rate": "50/s", "footprint": "8 KiB"}}
    with pytest.raises(headstack.ConfigError, match="outside the folder"):
        headstack.run(workload=load, systems=[system], log_requests=False)
    headstack.run(workload=load, systems=[system], log_requests=False, sources_anywhere=True)


def test_parameter_files_read_what_lies_with_them(strange, capfd):
    file = strange / "x.parv"
    file.write_text("source below/inside.diskspecs\n")
    assert headstack.cli.main(["drives", str(file), "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["spec"]["geometry"]["cylinders"] > 0


def test_errors_of_a_simulation_name_system_and_workload(tmp_path, capfd):
    rows = "time_us,device,lba,blocks,op\n1,0,2,8,R\n2,9,2,8,R\n"
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(rows.replace("9", "0") if name == "a.csv" else rows)
    file = tmp_path / "x.toml"
    file.write_text(
        "".join(f'[[workload]]\ntrace = "{name}.csv"\n' for name in "ab")
        + SYSTEM
        + '[[system]]\nname = "two"\ndrive = "exos-x18"\ncount = 10\n'
    )
    said = message(capfd, "run", file)
    assert said.startswith(f"{file}: one on b: "), said
    file.write_text(f'[workload]\ntrace = "b.csv"\n{SYSTEM}')
    assert message(capfd, "run", file).startswith(f"{file}: one: ")
