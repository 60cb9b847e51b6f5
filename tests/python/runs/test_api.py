import copy
import doctest
import html
import inspect
import io
import json
import pickle
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, SHARED

import headstack
from headstack import drives, plain
from headstack.drives import calibration
from headstack.results import answer, frames
from headstack.runs import api
from headstack.show import plots, report, table


def test_tables_agree(experiment):
    r = headstack.run(experiment)
    assert len(r.requests) == r.summary["n_requests"][0] == 300
    assert "response_time_p99_s" in r.summary.columns
    assert json.loads(r.to_json())["systems"][0]["name"] == "fcfs"


def test_a_saved_result_keeps_its_tables(experiment, tmp_path):
    r = headstack.run(experiment)
    again = headstack.load(r.save(tmp_path / "saved"))
    assert again.requests.equals(r.requests)
    assert again.to_json(curves=True) == r.to_json(curves=True)
    assert r.save(tmp_path / "saved") == tmp_path / "saved"


def test_drives_have_a_row_each_and_their_counters_add_up():
    load = {"n_requests": 60, "reads": 0, "rate": "10/s", "devices": 2, "footprint": "1 TB"}
    drive = {"drive": "exos-x18", "count": 2, "set": {"cache.write_back": False}}

    def ran(name: str, size: str) -> headstack.Result:
        synthetic = {**load, "size": size, "block": size}
        return headstack.run(workload={"synthetic": synthetic}, systems=[{**drive, "name": name}])

    # Writes of 1 KiB, each in another sector of 4 KiB: every one reads its sector first.
    parts = ran("parts", "1 KiB")
    assert list(parts.drives["system"]) == ["parts"] * 2
    assert parts.drives["n_requests"].sum() == 60
    assert (parts.drives["power_mean_w"] > 0).all()
    assert (parts.drives["background_read_ahead_time_s"] >= 0).all()
    assert (parts.drives["n_read_modify_writes"] > 0).all()
    total = parts.summary_wide["n_read_modify_writes"][0]
    assert parts.drives["n_read_modify_writes"].sum() == total == 60
    # A system whose drives have counted nothing shows no counters.
    whole = ran("whole", "4 KiB")
    assert "counters" not in whole.document["systems"][0]
    assert whole.drives["n_read_modify_writes"].sum() == 0


def test_exceptions_are_what_they_promise(experiment, tmp_path):
    assert issubclass(headstack.TraceError, ValueError)
    assert issubclass(headstack.DeviceError, OSError)
    with pytest.raises(headstack.ConfigError):
        headstack.run()
    bad = tmp_path / "bad.trace"
    bad.write_text("not a trace\n")
    with pytest.raises(headstack.HeadstackError, match=r"bad\.trace"):
        headstack.run(workload={"trace": str(bad)}, systems=[{"name": "x", "drive": "exos-x18"}])


def test_a_failing_progress_function_is_not_swallowed(tmp_path):
    def progress(done, total):
        # The first calls may come before the workloads have been counted.
        if total is not None:
            raise RuntimeError(f"mine of {total}")

    load = {"n_requests": 50_000_000, "size": "4 KiB", "rate": "50/s", "footprint": "10 GB"}
    # Progress is called with the total of all systems.
    with pytest.raises(RuntimeError, match="mine of 100000000"):
        headstack.run(
            workload={"synthetic": load},
            systems=[{"name": n, "drive": "exos-x18"} for n in "xy"],
            log_requests=False,
            progress=progress,
        )


def code(page: str) -> str:
    """The contents of the page's script."""
    return page[page.index("<script") : page.index("</script>")].partition(">")[2]


def test_report_needs_no_network(document, tmp_path):
    path = report.write(document, tmp_path / "r.html")
    page = path.read_text()
    # The viewer's own code contains markup in strings; only tags outside it are loaded.
    markup = page.replace(code(page), "")
    assert re.findall(r"<script([^>]*)>", markup) == [' type="module"']
    assert not re.search(r"<(img|iframe|link|video|audio|object)[^>]*(src|href|data)\s*=", markup)
    assert not re.search(r"@import|url\(\s*['\"]?https?:", page)
    assert page.count("</script>") == 1
    # The viewer's regular expressions are left as they are: escaping `</` would break them.
    assert "/</g" in code(page)
    assert "one &lt;drive&gt;" in page
    for name in report.figures(document):
        assert (tmp_path / "r-figures" / f"{name}.svg").read_text().startswith("<svg")


def test_figures_say_their_units(document):
    for chart in report.figures(document).values():
        text = json.dumps(chart.to_dict())
        assert re.search(r"\((ms|W|s)[,)]", text)


def test_systems_of_one_name_stay_apart(document):
    first = document["systems"][0]
    document["systems"].append(first)
    assert plots.labels(document["systems"]) == ["one <drive> (1)", "</script> two", "one <drive> (2)"]
    other = {**first, "workload": "another"}
    assert plots.labels([first, other]) == ["one <drive> · made up", "one <drive> · another"]
    assert [row[0] for row in table.rows(document)] == plots.labels(document["systems"])
    for chart in report.figures(document).values():
        named = [row["system"] for rows in chart.to_dict()["datasets"].values() for row in rows]
        assert len(set(named)) == 3


FAILED = {
    "name": "failed-requests",
    "system": "</script> two",
    "workload": "made up",
    "text": "250 of 1,000 requests failed: its times and rate cannot be compared",
    "way_out": "look at error_kind",
}


def texts(result: headstack.Result) -> list[str]:
    return [w.text for w in result.warnings]


def test_records_left_out_are_said(tmp_path):
    trace = tmp_path / "t.spc"
    trace.write_text("0,100,4096,R,0.1\n0,200,4096,R,0.2\n0,oops,4096,R,0.3\n0,300,0,W,0.4\n0,400,512,W,0.5\n")
    result = headstack.run(
        workload={"trace": str(trace), "format": "spc", "on_error": "skip"},
        systems=[{"drive": "barracuda-es-750"}, {"name": "two", "drive": "exos-x18"}],
    )
    for system in result.document["systems"]:
        assert system["n_requests"] == 3
        counts = {"n_skipped": 1, "n_clamped": 0, "n_zero_sized": 1}
        assert system["trace_records"] == counts
    assert [(w.workload, w.text) for w in result.warnings if w.name == "changed-records"] == [
        ("t", "1 wrong records left out"),
        ("t", "1 requests of no bytes left out"),
    ]


def test_parts_out_of_use_are_said():
    result = headstack.run(
        workload={"synthetic": {"n_requests": 2_000, "size": "4 KiB", "rate": "50 /s"}},
        systems=[
            {
                "name": "fails",
                "drive": "barracuda-es-750",
                "dash": "D1A2S1H1",
                "parallelism": {
                    "faults": [
                        {"at": "5 s", "arm": 1, "warning": True},
                        {"at": "10 s", "arm": 0, "surface": 3, "warning": True},
                    ]
                },
            }
        ],
    )
    failed, arm, head = texts(result)
    assert {w.system for w in result.warnings} == {"fails"}
    assert "requests failed" in failed
    assert arm == "barracuda-es-750[0]: stack 0, arm 1 out of use from 5.000 s"
    place = "stack 0, arm 0, head of surface 3"
    assert head.startswith(f"barracuda-es-750[0]: {place} out of use from 10.0")


def test_long_curves_keep_their_ends_within_what_a_figure_takes(document):
    times = [float(t) for t in range(20_000)]
    for system in document["systems"]:
        system["series"] = {"t_s": times, "queue_depth": times}
    (rows,) = plots.queue_depth(document).to_dict()["datasets"].values()
    assert len(rows) <= plots.MOST_POINTS
    assert {row["x"] for row in rows} >= {times[0], times[-1]}


def test_docstrings_run():
    for module in (api, calibration, drives, frames, plain):
        assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.toml")), ids=lambda p: p.stem)
def test_every_example_runs(path: Path):
    document = drives.read_toml(path)
    # A sweep has its experiment in a table.
    document = document.get("experiment", document)
    workloads = document["workload"]
    for workload in workloads if isinstance(workloads, list) else [workloads]:
        if trace := workload.get("trace"):
            _, shared, inside = trace.partition("../../shared/")
            file = SHARED / inside if shared else path.parent / trace
            if not file.exists():
                pytest.skip(f"{trace} is absent")
            workload["trace"] = str(file)
    document.setdefault("run", {})["max_requests"] = 2000
    r = (
        api.run(**{"workload": workloads, "systems": document["system"]}, log_requests=False)
        if (not isinstance(workloads, list))
        else api.run(path, log_requests=False)
    )
    assert (r.summary["n_requests"] > 0).all()


WORKLOAD = {"synthetic": {"n_requests": 10, "rate": "50/s", "footprint": "1 GB"}}


def test_organisations_with_redundancy_are_one_word():
    """A member fails by a change that names the organisation; the answer is that of the layer."""
    load = {"n_requests": 500, "rate": "40/s", "footprint": "1 GB"}
    gone = {"at": "2 s", "layer": "raid5", "member_gone": 1}
    drive = {"drive": "barracuda-es-750", "count": 4, "change": [gone]}
    named = drive | {"name": "named", "organisation": "raid5"}
    layered = drive | {"name": "layered", "organisation": "concatenate", "layers": ["raid5"]}
    result = ran(workload={"synthetic": load}, systems=[named, layered])
    a, b = (dict(s) for s in result.document["systems"])
    assert (a.pop("name"), b.pop("name")) == ("named", "layered")
    assert json.dumps(a) == json.dumps(b)
    assert a["n_errors"] == 0
    assert a["layers"][0]["counts"]["degraded_reads"] > 0


def test_pauses_of_a_closed_loop_may_be_drawn():
    loop = {"outstanding": 1, "think_time": {"distribution": "fixed", "value": "2 ms"}}
    systems = [{"drive": "barracuda-es-750"}]
    drawn = headstack.run(workload={**WORKLOAD, "arrivals": {"closed": loop}}, systems=systems, log_requests=False)
    fixed = headstack.run(
        workload={**WORKLOAD, "arrivals": {"closed": {"outstanding": 1, "think_time": "2 ms"}}},
        systems=systems,
        log_requests=False,
    )
    assert drawn.document["systems"] == fixed.document["systems"]


SYSTEMS = [{"name": "one", "drive": "barracuda-es-750"}]


def ran(*args, **more):
    return headstack.run(*args, log_requests=False, **more)


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


TWO = """
[run]
max_requests = 5
[cost]
years = 1
[[workload]]
synthetic = { n_requests = 10, rate = "50/s", footprint = "1 GB" }
[[workload]]
name = "slower"
synthetic = { n_requests = 10, rate = "50/s", footprint = "1 GB" }
time_scale = 2
[[system]]
name = "one"
drive = "barracuda-es-750"
change = [{ at = "10 ms", queue_depth = 4 }]
[[system]]
name = "two"
drive = "exos-x18"
layers = [{ name = "host-queue", elevator = "none" }]
organisation = "concatenate"
"""


def test_python_says_all_that_a_file_says(tmp_path):
    file = written(tmp_path / "two.toml", TWO)
    document = drives.read_toml(file)
    want = ran(file).document
    assert [s["workload"] for s in want["systems"]] == ["synthetic", "slower"] * 2
    assert [s["n_requests"] for s in want["systems"]] == [5] * 4
    assert want["systems"][0]["changes"]
    assert want["systems"][2]["layers"]
    assert want["cost"]["years"] == 1
    ways = [
        ran(document),
        ran({f"{k}s" if k in ("workload", "system") else k: v for k, v in document.items()}),
        ran(
            workload=document["workload"],
            systems=(s for s in document["system"]),
            run=document["run"],
            cost=document["cost"],
        ),
        ran(
            workload=document["workload"],
            systems=tuple(document["system"]),
            set={"run.max_requests": 5, "cost": {"years": 1}},
        ),
    ]
    for way in ways:
        without_file = {k: v for k, v in way.document.items() if k != "experiment"}
        assert without_file == {k: v for k, v in want.items() if k != "experiment"}


def test_values_of_numpy_and_paths_are_values(tmp_path):
    drive = written(tmp_path / "mine.toml", drives.find("barracuda-es-750").read_text())
    plainly = ran(
        workload={**WORKLOAD, "time_scale": 0.5, "devices": [0]},
        systems=[{"name": "x", "drive": str(drive), "queue_depth": 4}],
        seed=3,
    )
    with_types = ran(
        workload={**WORKLOAD, "time_scale": np.float64(0.5), "devices": np.array([0])},
        systems=({"name": np.str_("x"), "drive": drive, "queue_depth": np.uint8(4)},),
        seed=np.int64(3),
        threads=np.int32(1),
        run={"max_requests": np.int64(10)},
    )
    assert plainly.summary.equals(with_types.summary)
    as_table = ran(
        workload={**WORKLOAD, "time_scale": 0.5, "devices": range(1)},
        systems=[{"name": "x", "drive": drives.load(drive), "queue_depth": 4}],
        seed=3,
    )
    assert plainly.summary.equals(as_table.summary)


def test_frames_and_paths_are_workloads(tmp_path):
    rows = {"time_us": [0, 5000, 9000], "lba": [0, 64, 8], "blocks": 8, "op": ["R", "W", "R"]}
    frame = pd.DataFrame(rows)
    file = tmp_path / "rows.csv"
    frame.to_csv(file, index=False)
    (want,) = ran(workload={"trace": str(file)}, systems=SYSTEMS)
    for workload in (file, str(file), frame, {"trace": frame}, {"trace": file}):
        (got,) = ran(workload=workload, systems=SYSTEMS)
        assert got.response_time_s == want.response_time_s
    both = ran(workload=[frame, {**WORKLOAD, "name": "other"}], systems=SYSTEMS)
    assert [s.n_requests for s in both] == [3, 10]
    with pytest.raises(headstack.TraceError, match=r"^workload\[1\]: row 1: got time"):
        ran(workload=[WORKLOAD, frame.assign(time_us=[5, 4, 6])], systems=SYSTEMS)


def test_open_files_are_experiments(tmp_path, experiment, monkeypatch):
    want = ran(experiment).document["systems"]
    text = experiment.read_text()
    for file in (io.StringIO(text), io.BytesIO(text.encode())):
        assert ran(file).document["systems"] == want
    # Relative paths start from the file's folder; on standard input from the current one.
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "t.csv").write_text("time_us,lba,blocks,op\n0,8,8,R\n")
    traced = '[workload]\ntrace = "t.csv"\n[[system]]\ndrive = "exos-x18"\n'
    with written(tmp_path / "below" / "x.toml", traced).open() as file:
        assert ran(file)[0].n_requests == 1
    monkeypatch.setattr(sys, "stdin", io.StringIO(traced))
    with pytest.raises(headstack.TraceError, match=r"^standard input: workload\[0\]\.trace: t\.csv: got no such file"):
        ran(sys.stdin)
    monkeypatch.chdir(tmp_path / "below")
    monkeypatch.setattr(sys, "stdin", io.StringIO(traced))
    assert ran(sys.stdin)[0].n_requests == 1
    for wrong, message in [
        (io.StringIO("[workload"), r"^experiment:1:10: got \[workload, need TOML: .*; unclosed table"),
        (io.BytesIO(b"a = '\xff'"), "^experiment: got bytes that are not UTF-8"),
    ]:
        with pytest.raises(headstack.ConfigError, match=message):
            ran(wrong)


def test_single_values_are_replaced(experiment):
    text = experiment.read_text()
    more = 'scheduler = "sptf"\nqueue_depth = 8\n'
    experiment.write_text(text.replace('scheduler = "fcfs"\n', more))
    want = ran(experiment).document["systems"]
    experiment.write_text(text)
    changes = {"system.0.scheduler": "sptf", "system[0]": {"queue_depth": np.int8(8)}}
    assert ran(experiment).document["systems"] != want
    assert ran(experiment, set=changes).document["systems"] == want
    few = ran(experiment, set={"workload.synthetic.n_requests": 7, "system.0.scheduler": None})
    assert few[0].n_requests == 7
    # The `seed` argument has priority over that of the file and that in `set`.
    assert ran(experiment, seed=5, set={"run.seed": 4}).document["seed"] == 5
    by_drive = ran(experiment, set={"system.0.set.queue.depth": 8, "system.0.scheduler": "sptf"})
    assert by_drive.document["systems"] == want


def test_systems_are_iterated_over_and_have_attributes(document):
    result = api.Result(document)
    assert len(result) == 2
    assert [s.name for s in result] == ["one <drive>", "</script> two"]
    first = result["one <drive>"]
    assert first == result[0] == next(iter(result))
    assert first.response_time_s.p99 == first["response_time_s"]["p99"] == 7e-3
    assert dict(first.power_w) == document["systems"][0]["power_w"]
    assert {"power_w", "n_errors"} <= set(dir(first))
    assert result[-1].name == "</script> two"
    with pytest.raises(AttributeError, match='did you mean "n_errors"'):
        _ = first.n_error
    with pytest.raises(KeyError, match="did you mean"):
        _ = result["one <drve>"]
    with pytest.raises(IndexError):
        _ = result[2]
    assert pickle.loads(pickle.dumps(first)) == copy.deepcopy(first) == first


def test_repr_says_what_matters(document):
    lines = repr(api.Result(document)).splitlines()
    assert lines[0] == "headstack.Result: 2 systems, workload made up"
    # Mean 4 ms and p99 7 ms for the first, twice that for the second: see conftest.
    assert lines[1] == '"one <drive>" has the lowest p99 (7.00 ms, 9.00 W)'
    assert lines[2] == "  one <drive>    mean 4.00 ms, p99 7.00 ms, 100.0 IOPS, 9.00 W"
    assert lines[3] == "  </script> two  mean 8.00 ms, p99 14.00 ms, 100.0 IOPS, 9.00 W"
    document["systems"][1].update(name="a\x1b[2J\nb", n_errors=1200, response_time_s=None)
    document["partial"] = True
    head, _, _, last = repr(api.Result(document)).splitlines()
    assert head.endswith(", partial")
    assert last == "  a\\u{1b}[2J\\nb  100.0 IOPS, 9.00 W, 1,200 errors"
    document["systems"] *= 30
    assert len(repr(api.Result(document)).splitlines()) == 15
    document["systems"] = []
    assert "0 systems" in repr(api.Result(document)) or "0 results" in repr(api.Result(document))


def test_notebooks_show_the_table(document):
    document["warnings"] = [FAILED]
    shown = api.Result(document)._repr_html_()
    rows = answer.rows(document)
    assert shown.count("<tr>") == 1 + len(rows)
    assert "&quot;one &lt;drive&gt;&quot; has the lowest p99" in shown
    for cell in rows[0]:
        assert f">{html.escape(cell)}</td>" in shown
    assert "<drive>" not in shown
    assert "</script>" not in shown
    assert html.escape(table.note(document)) in shown
    assert "250 of 1,000 requests failed" in shown


def test_series_of_all_systems_are_one_table(document):
    series = api.Result(document).series
    assert list(series.columns) == ["system", "workload", *document["systems"][0]["series"]]
    assert list(series["system"]) == ["one <drive>"] * 3 + ["</script> two"] * 3
    assert list(series["queue_depth"]) == [1.0, 2.0, 1.5] * 2
    for system in document["systems"]:
        del system["series"]
    with pytest.raises(headstack.ConfigError, match=r"^series: got none"):
        _ = api.Result(document).series


def test_a_run_has_series_whose_completions_are_its_requests(experiment):
    result = ran(experiment)
    series = result.series
    # The last bucket ends with the run.
    lengths = np.diff([*series["t_s"], result[0].duration_s])
    assert (lengths > 0).all()
    # Completions per second times the length of each bucket, for 300 requests.
    assert (series["throughput_iops"] * lengths).sum() == pytest.approx(300, rel=0.01)


def test_tables_are_those_of_polars_at_will(experiment):
    pl = pytest.importorskip("polars", reason="polars is not installed")
    experiment.write_text(experiment.read_text() + '[[system]]\ndrive = "exos-x18"\n')
    result = headstack.run(experiment)
    tables = result.to("polars")
    for name in ("summary", "summary_wide", "requests", "series"):
        frame, want = getattr(tables, name), getattr(result, name)
        assert isinstance(frame, pl.DataFrame)
        assert frame.columns == list(want.columns), name
        assert frame.height == len(want)
        for column in want.select_dtypes("number"):
            got = frame[column].cast(pl.Float64).to_numpy()
            np.testing.assert_array_equal(got, want[column].to_numpy(dtype=float), column)
    assert len(result.summary.columns) < 15 < len(result.summary_wide.columns)
    lazy = result.scan().filter(pl.col("op") == "read").collect()
    assert lazy.equals(tables.requests.filter(pl.col("op") == "read"))
    assert result.arrow().num_rows == len(result.requests)
    assert tables.requests["system"].unique(maintain_order=True).to_list() == ["fcfs", "exos-x18"]
    assert result.to("pandas").summary.equals(result.summary)


def test_a_library_that_is_not_there_is_said(document, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(headstack.ConfigError, match=r"pip install headstack\[polars"):
        api.Result(document).to("polars")


def test_the_first_example_of_readme_prints_what_stands_below_it(capsys):
    page = (ROOT / "README.md").read_text("utf-8")
    code, shown = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", page, re.S).groups()
    space: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), space)
    assert capsys.readouterr().out == shown
    for system in space["result"]:
        mean, p99 = system.response_time_s.mean, system.response_time_s.p99
        assert f"{system.name:<10}  mean {mean * 1e3:.2f} ms, p99 {p99 * 1e3:.2f} ms" in shown


def test_the_package_lists_what_it_has():
    modules = [name for name in dir(headstack) if inspect.ismodule(getattr(headstack, name))]
    assert {"run", "load", "Result", "ConfigError"} <= set(dir(headstack))
    top = Path(headstack.__file__).parent
    packages = {"live", "results", "runs", "show", "workloads"}
    folders = [str(folder) for folder in (top, top / "drives", *map(top.joinpath, packages))]
    #: Parts that only the package itself uses.
    inside = {"cli", "drawing", "outputs", "paired", "papers", "paths", "plain", "prefix", "shipped"}
    inside |= {"loads", "processes", "record", "replications", "servers", "store", "suggest", "warned", "worker"}
    found = {m.name for m in pkgutil.iter_modules(folders) if m.name[0] != "_"}
    assert found - inside - packages == set(modules)
    with pytest.raises(AttributeError, match="no attribute 'simulate'"):
        _ = headstack.simulate
    # In a new process, before anything else was imported.
    code = "import headstack; print(headstack.comparison.__name__, headstack.run.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["headstack.results.comparison", "run"]


def test_a_record_is_shown_in_a_few_lines():
    systems = [{"drive": "exos-x18"}]
    load = {"n_requests": 5000, "rate": "50/s"}
    system = headstack.run(workload={"synthetic": load}, systems=systems, log_requests=False)[0]
    shown = repr(system)
    lines = shown.splitlines()
    assert lines[0] == f"headstack.Record of {len(system)} entries"
    assert [line.split()[0] for line in lines[1:]] == list(system)
    assert max(map(len, lines)) <= 100
    # The distribution and the series have thousands of numbers.
    assert "response_time_cdf       list of " in shown
