"""Each check of the list: an experiment in which it fires, and one in which it nearly does."""

import json
import os
import re
import signal
import warnings
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, SHARED

import headstack
from headstack import _bridge, cli
from headstack.results import warned
from headstack.runs import prefix
from headstack.show import report, table

#: A small drive of which everything is said that decides.
WHOLE = """
name = "whole"
[geometry]
rotation_speed = "7200 rpm"
surfaces = 2
cylinders = 100
zones = [{ first_cylinder = 0, last_cylinder = 99, sectors_per_track = 1000 }]
[seek]
model = "constant"
time = "5 ms"
[cache]
enabled = false
[queue]
scheduler = "fcfs"
depth = 1
[power]
model = "modes"
spindle = "3 W"
electronics = "2 W"
voice_coil = "5 W"
access = "1 W"
profile = "main"
"""


def one(synthetic: str, system: str = 'drive = "barracuda-es-750"', more: str = "") -> str:
    """Return an experiment: a synthetic workload with further keys, and one system."""
    return f"[workload]\nsynthetic = {{ {synthetic} }}\n{more}\n[[system]]\nname = 'a'\n{system}\n"


LOAD = 'n_requests = 300, rate = "20/s", footprint = "10 GB"'
BIG = 'n_requests = 300, rate = "20/s", footprint = "30 TB"'
FITS = BIG.replace("30", "18")
WRITES = f"{LOAD}, reads = 0.0"
EXOS = 'drive = "exos-x18"'
FOUR = 'drive = "barracuda-es-750"\ncount = 4\n'
ALL = "\n[run]\nallowed_errors = 1\n"
TWO = f'{EXOS}\n[[system]]\nname = "b"\n'
FAULT = 'parallelism = { faults = [{ at = "%s", arm = 1, warning = true }] }'
ARMS = 'drive = "barracuda-es-750"\ndash = "D1A2S1H1"\n'
CAPPED = """
drive = "ultrastar-7k4000-pcap"
layers = ["throttle", { name = "host-queue", elevator = "deadline" }]
capping = { policy = "pcap-agile", caps = [{ at = "2 s", cap = "%s" }] }
"""
LIMITED = 'drive = "ultrastar-hc570"\nset = { duration_limits = { enabled = "limits", reads = [{ %s }] } }'
UNLOAD = '"pcap-s", parameters = { rest = "unload" }'
LATE = 'drive = "barracuda-es-750"\nchange = [{ at = "%s", queue_depth = 2 }]'
LOG = 'drive = "whole.toml"\nset = { mapping = { model = "log", initial_blocks = %s } }'
SMALL_WRITES = 'n_requests = 300, rate = "20/s", footprint = "80 MB", reads = 0.0'
BURST = 'n_requests = 300, rate = "2000/s", footprint = "10 GB", reads = 0.0'
GONE = 'layers = [{ name = "raid5", gone = [3] }]\norganisation = "concatenate"'
WRITE_BACK = 'drive = "barracuda-es-750"\ncache = { write_back = true }'

#: Of a run, by check: the experiment and words of the warning, and experiments that nearly have it.
RUNS: dict[str, tuple[str, list[str], list[str]]] = {
    "workload-too-large": (
        one(BIG, EXOS, "past_end = 'drop-counted'"),
        # A uniform footprint: 12 of 30 TB lie outside.
        [r"a footprint of 30 TB on device 0 of 18 TB: 1\d\d of 300 requests \([34]\d\.\d %\)", "left out"],
        [one(FITS, EXOS), one(BIG, EXOS, "past_end = 'wrap'"), one(BIG, f"{EXOS}\ncount = 2\norganisation = 'raid0'")],
    ),
    "failed-requests": (one(BIG, EXOS) + ALL, [r"1\d\d of 300 requests failed"], [one(FITS, EXOS)]),
    "overloaded": (
        one('n_requests = 4000, rate = "1000/s", footprint = "10 GB"'),
        ["cannot keep up"],
        # The same drive under the load that it is asked to carry as fast as it can.
        [one('n_requests = 4000, rate = "40/s", footprint = "10 GB"'), one('n_requests = 4000, arrivals = "closed"')],
    ),
    "misaligned": (
        one(WRITES, EXOS, "shift = 7"),
        # 4 KiB at an offset of 7 blocks: two sectors in part. A turn at 7200 rpm takes 8.33 ms.
        [
            r"^300 of 300 writes \(100\.0 %\) do not cover whole sectors of 4 KiB: \d+ sectors, ",
            r" sectors, [12]\.\d\d for each write",
            r"a turn of 8\.33 ms",
            r"100\.0 % of all requests begin 7 blocks after a multiple of 8",
        ],
        [
            one(WRITES, EXOS, "shift = 8"),
            one(WRITES, EXOS, "shift = 7\nalign = '4 KiB'"),
            one(f"{LOAD}, reads = 1.0", EXOS, "shift = 7"),
            # Sectors of 512 bytes.
            one(WRITES, more="shift = 7"),
        ],
    ),
    "idle-drives": (
        one(LOAD, FOUR),
        [r'3 of 4 drives got no request \("barracuda-es-750\[1\]", "barracuda-es-750\[2\]", '],
        [one(f"{LOAD}, devices = 4", FOUR), one(LOAD, f"{FOUR}organisation = 'raid0'"), one(LOAD, f"{FOUR}{GONE}")],
    ),
    "unlike-write-caches": (
        one(LOAD, f'{TWO}drive = "barracuda-es-750"'),
        [r'in the buffer in "a" \(write-back\), and on the medium in "b" \(write-through\)'],
        [
            one(LOAD, TWO + WRITE_BACK),
            one(f"{LOAD}, reads = 1.0", f'{TWO}drive = "barracuda-es-750"'),
            one(f"{LOAD}, write_through = 1.0", f'{TWO}drive = "barracuda-es-750"'),
        ],
    ),
    "full-write-buffers": (
        one(BURST, f'{EXOS}\ncache = {{ dirty_limit = "192 KiB" }}'),
        [r"\d+ writes waited for room in the buffer; the room, 196608 B \(exos-x18\[0\]\)"],
        # 1.2 MB fit into 128 MiB; and the room of the Exos 2X14, as little, was fitted.
        [one(BURST, EXOS), one(BURST, 'drive = "exos-2x14"')],
    ),
    "unreachable-cap": (
        one(LOAD, CAPPED % "6.4 W"),
        # The drive's file, idle_a, which has a timer: 0.38 A at 5 V and 0.38333 A at 12 V.
        [r"the lowest cap is 6\.40 W, and the drives draw at least 6\.50 W"],
        [
            one(LOAD, CAPPED % "6.51 W"),
            one(LOAD, (CAPPED % "6.4 W").replace("pcap-agile", "none")),
            # Heads unloaded: 0.38 A at 5 V and 0.3 A at 12 V.
            one(LOAD, (CAPPED % "5.51 W").replace('"pcap-agile"', UNLOAD)),
        ],
    ),
    "unmeasured-limits": (
        one(LOAD, LIMITED % 'guideline = "301 ms"'),
        [r"not measured above 300 ms: a limit orders commands by 301 ms"],
        [
            one(LOAD, LIMITED % 'guideline = "300 ms"'),
            one(LOAD, LIMITED % 'guideline = "1 s", inactive = "300 ms"'),
            one(LOAD, (LIMITED % 'guideline = "1 s"').replace('"limits"', '"none"')),
        ],
    ),
    "parts-out-of-use": (
        one(LOAD, ARMS + FAULT % "5 s"),
        [r"barracuda-es-750\[0\]: stack 0, arm 1 out of use from 5\.000 s"],
        [one(LOAD, ARMS + FAULT % "1 h")],
    ),
    "full-log": (
        one(SMALL_WRITES, LOG % 25_000),
        [r"whole\[0\]: [\d,]+ blocks were written in place"],
        [one(SMALL_WRITES, LOG % 24_000)],
    ),
    "default-values": (
        one('n_requests = 50, rate = "9/s", footprint = "50 MB"', 'drive = "bare.toml"'),
        [
            r"nothing is said of bare's cache \(taken: no buffer\), ",
            r"queue \(taken: order of arrival\), power \(taken: that of a default model\)",
        ],
        [one('n_requests = 50, rate = "9/s", footprint = "50 MB"', 'drive = "whole.toml"')],
    ),
    "late-changes": (
        one(LOAD, LATE % "1 h"),
        ["1 of 1 changes were due after the last completion"],
        [one(LOAD, LATE % "10 s")],
    ),
    "unused-key": (
        one(f"{LOAD}, outstanding = 3"),
        [r"workload\[0\]\.synthetic\.outstanding is not used: arrivals are not"],
        [one('n_requests = 300, arrivals = "closed", outstanding = 3')],
    ),
}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "whole.toml").write_text(WHOLE)
    bare = WHOLE.partition("[cache]")[0].replace("whole", "bare")
    (tmp_path / "bare.toml").write_text(bare)
    return tmp_path


def run(folder: Path, text: str) -> headstack.Result:
    path = folder / "experiment.toml"
    path.write_text(text)
    return headstack.run(path, log_requests=False)


def by_name(result: headstack.Result, name: str) -> list[warned.Warned]:
    return [w for w in result.warnings if w.name == name]


@pytest.mark.parametrize("name", RUNS)
def test_a_check_fires(files, name):
    text, words, _ = RUNS[name]
    (found,) = by_name(run(files, text), name)
    for word in words:
        assert re.search(word, found.text), found.text
    assert found.way_out
    if name != "unlike-write-caches":
        assert "a" in (found.system, "a")


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, (_, _, near) in RUNS.items() for text in near])
def test_a_check_does_not_fire_where_it_is_not_true(files, name, text):
    assert by_name(run(files, text), name) == []


#: Of a trace, by check: lines, words of the warning, options; and lines without it.
HEAD = "time_us,device,lba,blocks,op"


def csv(rows: list[tuple[int, int]]) -> str:
    return "\n".join([HEAD, *(f"{time},0,{lba},8,W" for time, lba in rows)]) + "\n"


def iolog(waits: list[int]) -> str:
    lines = ["fio version 2 iolog", "/dev/sda add", "/dev/sda open"]
    for i, wait in enumerate(waits):
        lines += [f"/dev/sda wait {wait}", f"/dev/sda write {4096 * i} 4096"]
    return "\n".join(lines) + "\n"


TRACES: dict[str, tuple[str, str, list[str], str]] = {
    "coarse-times": (
        csv([(i // 4 * 1_000_000, 8 * i) for i in range(20)]),
        "times are whole seconds",
        [],
        csv([(i // 4 * 1_000_001, 8 * i) for i in range(20)]),
    ),
    "misaligned": (
        csv([(i * 1003 + i % 2, 8 * i + (7 if i < 51 else 0)) for i in range(100)]),
        "51.0 % begin 7 blocks after the beginning of a sector",
        [],
        csv([(i * 1003 + i % 2, 8 * i + (7 if i < 1 else 0)) for i in range(100)]),
    ),
    "times-backwards": (
        csv([(t, 8 * t) for t in (0, 10, 5, 20, 31, 40, 55)]),
        "1 times run backwards in the file: sorted",
        ["--order", "sort"],
        csv([(t, 8 * t) for t in (0, 5, 10, 20, 31, 40, 55)]),
    ),
    "waits-as-pauses": (
        iolog([1000, 200, 3000, 200, 400]),
        "waits lie before the one before them",
        [],
        iolog([200, 200, 400, 1000, 3000]),
    ),
    "changed-records": (
        csv([(t, 8 * t) for t in range(5)]) + "oops,0,8,8,W\n",
        "1 wrong records left out",
        ["--on-error", "skip"],
        csv([(t, 8 * t) for t in range(6)]),
    ),
}


@pytest.mark.parametrize("name", TRACES)
def test_a_check_of_a_trace_fires_only_where_it_is_true(tmp_path, capsys, name):
    text, words, options, near = TRACES[name]
    found = {}
    for which, content in (("fires", text), ("near", near)):
        path = tmp_path / f"{which}.txt"
        path.write_text(content)
        assert cli.main(["trace-info", str(path), *options, "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        found[which] = [w for w in document["warnings"] if w["name"] == name]
        assert cli.main(["trace-info", str(path), *options]) == 0
        shown = capsys.readouterr().out
        assert (f"warning ({name}): " in shown) is (which == "fires")
    (one_of_it,) = found["fires"]
    assert words in one_of_it["text"]
    assert one_of_it["way_out"]
    assert found["near"] == []


def test_the_offset_of_a_trace_is_named(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text(TRACES["misaligned"][0])
    assert cli.main(["trace-info", str(path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["offsets"] == [49, 0, 0, 0, 0, 0, 0, 51]
    assert document["shared_offset"] == {"blocks": 7, "share": 0.51}
    (found,) = [w for w in document["warnings"] if w["name"] == "misaligned"]
    assert found["way_out"].startswith("shift = -7 ")


def test_records_left_out_are_a_check_of_runs_too(tmp_path):
    for text, n in ((TRACES["changed-records"][0], 1), (TRACES["changed-records"][3], 0)):
        (tmp_path / "t.csv").write_text(text)
        workload = '[workload]\ntrace = "t.csv"\non_error = "skip"\n'
        result = run(tmp_path, f'{workload}[[system]]\ndrive = "barracuda-es-750"\n')
        assert len(by_name(result, "changed-records")) == n


def imported(parv: Path) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _bridge.call("import_experiment", str(parv), None, False)
    return [str(w.message) for w in caught]


def test_what_an_import_does_not_take_over_is_told(tmp_path):
    text = (ROOT / "examples" / "raid5.parv").read_text(encoding="utf-8")
    for source in (ROOT / "examples").glob("*"):
        if source.is_file():
            (tmp_path / source.name).write_bytes(source.read_bytes())
    path = tmp_path / "raid5.parv"
    assert imported(path) == []
    path.write_text(f"{text}\ndisksim_syncset S {{ type = 1 }}\n")
    (line,) = imported(path)
    assert "disksim_syncset S: got a block: nothing is made of it" in line
    # The other kind: an impossible value that DiskSim accepts.
    corpus = ROOT / "fuzz" / "corpus" / "disksim_parser" / "drive.parv"
    drive = tmp_path / "drive.parv"
    for last, n in (("19", 0), ("20", 1)):
        drive.write_text(corpus.read_text().replace("cylinder number = 19", f"cylinder number = {last}"))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _bridge.call("import_disksim", str(drive), False)
        assert len(caught) == n, [str(w.message) for w in caught]


#: Checks with a test of their own; "ambiguous-format" in crates/trace/src/info/checks.rs.
APART = {"interrupted", "changed-records", "ambiguous-format", "tolerated-value", "not-modelled"}


def listed() -> dict[str, dict[str, Any]]:
    entries = _bridge.call("plugins")["warning"]
    assert len({e["name"] for e in entries}) == len(entries)
    return {e["name"]: e for e in entries}


def test_every_check_is_tested_and_explained():
    checks = listed()
    assert {*RUNS, *TRACES, *APART} == set(checks)
    guide = (ROOT / "docs" / "guide" / "warnings.md").read_text(encoding="utf-8")
    parts = {
        heading.strip("`"): " ".join(text.split())
        for heading, _, text in (part.partition("\n") for part in guide.split("\n## ")[1:])
    }
    named = {name: text for name, text in parts.items() if name in checks}
    assert list(named) == list(checks), "a section for each check, in the order of the list"
    for name, entry in checks.items():
        assert entry["summary"]
        assert f"**Way out:** {entry['way_out']}" in named[name], name


def test_warnings_are_above_the_table_in_json_and_on_the_page(files, capsys):
    text, _, _ = RUNS["idle-drives"]
    path = files / "experiment.toml"
    path.write_text(text)
    assert cli.main(["run", str(path)]) == 0
    shown = capsys.readouterr().out
    line = shown.index("warning (idle-drives): a: 3 of 4 drives")
    assert line < shown.index("  way out: organisation") < shown.index("IOPS")
    assert cli.main(["run", str(path), "--format", "csv"]) == 0
    out = capsys.readouterr()
    assert "warning (idle-drives)" in out.err
    assert "warning" not in out.out
    result = run(files, text)
    (one_of_it,) = json.loads(result.to_json())["warnings"]
    assert set(one_of_it) == {"name", "system", "workload", "text", "way_out"}
    assert (one_of_it["name"], one_of_it["system"]) == ("idle-drives", "a")
    assert warned.of(result.document) == result.warnings
    assert "warnings: idle-drives; see .warnings" in repr(result)
    page = report.to_html(result.document)
    assert page.index("3 of 4 drives got no request") < page.index('id="compared"')
    notebook = result._repr_html_()
    assert notebook.index("3 of 4 drives got no request") < notebook.index("<table>")


def test_lines_of_one_check_have_one_way_out_and_an_end():
    many = [warned.Warned("c", f"s{i}", "w", "is so", "do that") for i in range(7)]
    (group,) = warned.groups([*many, many[0]], several=True)
    assert group.lines[0] == "s0 on w: is so"
    lines = warned.lines([group])
    assert lines[4:] == ["warning (c): s4 on w: is so", "  and 2 more, see --json", "  way out: do that"]
    old = {"systems": [], "warnings": ["a key is not used"]}
    assert warned.lines(warned.of_document(old)) == ["warning: a key is not used"]


def test_a_shift_below_zero_is_treated_as_past_the_end(files):
    load = 'n_requests = 300, rate = "20/s", footprint = "1 GB"'
    # Half of the footprint: about half of the requests begin below block zero.
    shift = "shift = '-500 MiB'\n"
    wrapped = run(files, one(load, EXOS, f"{shift}past_end = 'wrap'"))
    assert (wrapped[0].n_errors, wrapped[0].n_dropped) == (0, 0)
    dropped = run(files, one(load, EXOS, f"{shift}past_end = 'drop-counted'"))
    assert 100 < dropped[0].n_dropped < 200
    assert dropped[0].n_dropped + dropped[0].n_requests == 300
    (found,) = by_name(dropped, "workload-too-large")
    assert found.text.startswith("addresses below block 0 of device 0 of 18 TB: ")
    failed = run(files, one(load, EXOS, shift) + ALL)
    assert failed[0].n_errors == dropped[0].n_dropped
    with pytest.raises(headstack.ConfigError, match="got addresses below block 0 of device 0"):
        run(files, one(load, EXOS, shift))


def test_a_resolved_experiment_keeps_shift_and_align(files):
    text = one(WRITES, EXOS, "shift = -7\nalign = '4 KiB'\npast_end = 'wrap'\ntime_scale = 2.0")
    first = run(files, text)
    kept = first.document["experiment"]["workload"][0]
    assert (kept["shift"], kept["align"]) == (-7, "4 KiB")
    again = run(files, first.experiment_toml())
    assert again.to_json(curves=True) == first.to_json(curves=True)


# --- interrupted runs ---

#: Of a system: some tenths of a second on any machine, so that an interrupt finds it at work.
REQUESTS = 3_000_000

TWO_SYSTEMS = """
[workload]
synthetic = {{ n_requests = {n}, size = "4 KiB", rate = "50/s", footprint = "10 GB" }}
[[system]]
name = "one"
drive = "barracuda-es-750"
[[system]]
name = "two"
drive = "barracuda-es-750"
scheduler = "sptf"
queue_depth = 32
{more}
"""


def interrupted(folder: Path, *, at: int, more: str = "") -> headstack.Result:
    """Run on one thread and interrupt it after so many requests, both systems together."""
    path = folder / "two.toml"
    path.write_text(TWO_SYSTEMS.format(n=REQUESTS, more=more))
    sent = []

    def progress(done: int, total: int | None) -> None:
        if done >= at and not sent:
            sent.append(done)
            os.kill(os.getpid(), signal.SIGINT)

    result = headstack.run(path, log_requests=False, threads=1, progress=progress)
    assert sent
    return result


@pytest.fixture(scope="module")
def cut(tmp_path_factory) -> headstack.Result:
    """Two systems, of which the second one was interrupted after a quarter of its requests."""
    return interrupted(tmp_path_factory.mktemp("cut"), at=5 * REQUESTS // 4)


def test_an_interrupted_run_says_how_much_it_has_seen(cut):
    result = cut
    assert result.partial
    one_, two = result.document["systems"]
    assert "covered" not in one_
    covered = two["covered"]
    assert covered["n_expected"] == REQUESTS
    assert not covered["is_estimate"]
    assert 0 < covered["n_requests"] < REQUESTS
    # 50 requests a second.
    assert covered["seconds"] == pytest.approx(covered["n_requests"] / 50, rel=0.05)
    (found,) = by_name(result, "interrupted")
    share = covered["n_requests"] / REQUESTS
    assert found.system == "two"
    assert f"{covered['n_requests']:,} of {REQUESTS:,} requests ({share:.1%}".replace("%", " %") in found.text
    columns = table.columns(result.document)
    seen = [c.title for c in columns].index("seen")
    cells = [row[seen] for row in table.rows(result.document, columns)]
    assert cells[0] == "all"
    assert cells[1].startswith(f"partial: {covered['n_requests']:,} in ")
    assert cells[1].endswith(f"({share:.1%})")


def test_a_run_that_was_not_interrupted_does_not_say_so(tmp_path):
    path = tmp_path / "two.toml"
    path.write_text(TWO_SYSTEMS.format(n=2_000, more=""))
    result = headstack.run(path, log_requests=False)
    assert by_name(result, "interrupted") == []
    assert "seen" not in [c.title for c in table.columns(result.document)]
    assert list(table.prefixes(result.document)) == []


def test_the_common_prefix_is_what_a_run_of_that_length_measures(cut, tmp_path):
    """A run that ends there is the oracle: the systems see the same requests."""
    result = cut
    found = prefix.common(result.document["systems"])
    assert found is not None
    # A whole number of milliseconds, so that the duration can be written.
    end = result.document["systems"][0]["series"]["t_s"][0] + found.seconds
    path = tmp_path / "short.toml"
    path.write_text(TWO_SYSTEMS.format(n=REQUESTS, more=f'[run]\nduration = "{end} s"'))
    short = headstack.run(path, log_requests=False)
    for part, whole in zip(found.systems, short.document["systems"], strict=True):
        # Of the last requests some complete after the end.
        assert part["n_requests"] == pytest.approx(whole["n_requests"], abs=5)
        assert part["throughput_iops"] == pytest.approx(whole["throughput_iops"], rel=0.01)
        for key in ("response_time_s", "power_w"):
            assert part[key]["mean"] == pytest.approx(whole[key]["mean"], rel=0.01), key


def test_the_common_prefix_is_shown(cut, tmp_path, capsys, monkeypatch):
    result = cut
    ((title, columns, rows),) = table.prefixes(result.document)
    assert re.fullmatch(r"synthetic: the first [\d,.]+ s, which all systems have seen", title)
    assert [c.title for c in columns] == ["system", "requests", "IOPS", "mean ms", "queue", "power W"]
    assert [row[0] for row in rows] == ["one", "two"]
    assert title in report.to_html(result.document)
    monkeypatch.setattr(headstack, "run", lambda *_, **__: result)
    path = tmp_path / "two.toml"
    path.write_text(TWO_SYSTEMS.format(n=REQUESTS, more=""))
    assert cli.main(["run", str(path)]) == 130
    shown = capsys.readouterr().out
    assert shown.index("warning (interrupted): two: ") < shown.index("partial: ") < shown.index(title)


def test_a_comparison_takes_equal_prefixes(cut, tmp_path):
    from headstack.results import comparison

    part = cut
    path = tmp_path / "whole.toml"
    path.write_text(TWO_SYSTEMS.format(n=REQUESTS, more=""))
    whole = headstack.run(path, log_requests=False)
    found = comparison.compare([part.document, whole.document], ["part", "whole"])
    one_, two = found.rows
    assert one_.prefix_s is None
    assert two.prefix_s
    before, after = two.systems
    assert before is not None
    assert after is not None
    # The same system and the same requests, so the same numbers; buckets may differ in width.
    assert before["n_requests"] == after["n_requests"]
    for key in ("response_time_s", "power_w"):
        assert before[key]["mean"] == pytest.approx(after[key]["mean"], rel=1e-9)
    assert "p99 ms" not in {line[1] for line in comparison.cells(found) if line[0] == "two"}
    assert any("compared are the first" in line for line in comparison.warnings(found))
    assert comparison.to_document(found)["systems"][1]["prefix_s"] == two.prefix_s


def test_systems_without_a_common_prefix_are_not_compared(tmp_path):
    result = interrupted(tmp_path, at=REQUESTS // 2)
    _, two = result.document["systems"]
    assert two["covered"]["n_requests"] == 0
    assert "interrupted before its first request" in by_name(result, "interrupted")[-1].text
    ((title, _, rows),) = table.prefixes(result.document)
    assert title == "synthetic: the systems have no common prefix to compare"
    assert rows == []


def test_parts_are_cut_at_whole_buckets():
    def system(name: str, width: float, n: int, **more: Any) -> dict[str, Any]:
        """Ten requests a second; the i-th second has a mean of i, and draws i watts."""
        times = [width * i for i in range(n)]
        middle = [t + width / 2 for t in times]
        series = {
            "t_s": times,
            "throughput_iops": [10.0] * n,
            "response_time_mean_s": middle,
            "power_w": middle,
            "queue_depth": [1.0] * n,
        }
        return {"name": name, "series": series, "duration_s": width * n, **more}

    fast = system("fast", 1.0, 9, covered={"until_s": 8.7}, partial=True)
    slow = system("slow", 2.0, 20)
    found = prefix.common([fast, slow])
    assert found is not None
    assert found.seconds == 8.0
    for one_ in found.systems:
        # By hand: the mean of 0 to 8 s.
        assert (one_["n_requests"], one_["throughput_iops"]) == (80, 10.0)
        assert one_["response_time_s"]["mean"] == pytest.approx(4.0)
        assert one_["power_w"]["mean"] == pytest.approx(4.0)
    assert prefix.common([system("short", 1.0, 9, covered={"until_s": 1.9}), slow]) is None


CLOUD = SHARED / "data" / "traces" / "cloudPhysicsIO.vscsi"


@pytest.mark.skipif(not CLOUD.is_file(), reason="../shared is absent")
def test_a_recorded_trace_that_is_off_by_a_partition(tmp_path):
    """The same requests at the beginnings of sectors: milliseconds instead of seconds."""

    def p99(more: dict[str, Any]) -> tuple[float, list[str]]:
        (system,) = (
            result := headstack.run(
                workload={"trace": CLOUD, **more},
                systems={"drive": "exos-x18", "organisation": "concatenate"},
                log_requests=False,
            )
        )
        found = by_name(result, "misaligned")
        return system.response_time_s.p99, [w.way_out for w in found]

    slow, (way_out,) = p99({})
    assert way_out.startswith("shift = -7 ")
    assert p99({"shift": -7})[0] < slow / 500
    aligned, none = p99({"align": "4 KiB"})
    assert aligned < slow / 500
    assert none == []
