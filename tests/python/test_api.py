import doctest
import html
import json
import re
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, SHARED

import headstack
from headstack import api, calibration, drives, plots, report, table


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


def test_numbers_of_numpy_are_numbers(experiment):
    document = drives.read_toml(experiment)
    document["system"][0]["queue_depth"] = np.int64(4)
    r = headstack.run(workload=document["workload"], systems=document["system"], log_requests=False)
    assert r.summary["n_requests"][0] == 300


def test_run_from_tables_equals_run_from_file(experiment):
    document = drives.read_toml(experiment)
    a = headstack.run(experiment, log_requests=False)
    b = headstack.run(
        workload=document["workload"], systems=document["system"], log_requests=False, threads=1
    )
    assert a.to_json(curves=True) == b.to_json(curves=True)
    with pytest.raises(headstack.ConfigError, match="log_requests"):
        _ = a.requests


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
        raise RuntimeError(f"mine of {total}")

    load = {"n_requests": 50_000_000, "size": "4 KiB", "rate": "50/s", "footprint": "10 GB"}
    # It is told what all systems will do together.
    with pytest.raises(RuntimeError, match="mine of 100000000"):
        headstack.run(
            workload={"synthetic": load},
            systems=[{"name": n, "drive": "exos-x18"} for n in "xy"],
            log_requests=False,
            progress=progress,
        )


def code(page: str) -> str:
    """What the page's one script holds."""
    return page[page.index("<script") : page.index("</script>")].partition(">")[2]


def test_report_needs_no_network(document, tmp_path):
    path = report.write(document, tmp_path / "r.html")
    page = path.read_text()
    # The viewer's own code holds markup in strings; only tags outside it are loaded.
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
    assert plots.labels(document["systems"]) == [
        "one <drive> (1)",
        "</script> two",
        "one <drive> (2)",
    ]
    other = {**first, "workload": "another"}
    assert plots.labels([first, other]) == ["one <drive> · made up", "one <drive> · another"]
    assert [row[0] for row in table.rows(document)] == plots.labels(document["systems"])
    for chart in report.figures(document).values():
        named = [row["system"] for rows in chart.to_dict()["datasets"].values() for row in rows]
        assert len(set(named)) == 3


def test_failed_requests_are_said(document):
    assert table.warnings(document) == []
    document["systems"][1]["n_errors"] = 250
    (line,) = table.warnings(document)
    assert "250 of 1,000 requests failed" in line
    assert html.escape(line) in report.to_html(document)


def test_records_left_out_are_said(tmp_path):
    trace = tmp_path / "t.spc"
    trace.write_text(
        "0,100,4096,R,0.1\n0,200,4096,R,0.2\n0,oops,4096,R,0.3\n0,300,0,W,0.4\n0,400,512,W,0.5\n"
    )
    result = headstack.run(
        workload={"trace": str(trace), "format": "spc", "on_error": "skip"},
        systems=[{"drive": "barracuda-es-750"}, {"name": "two", "drive": "exos-x18"}],
    )
    for system in result.document["systems"]:
        assert system["n_requests"] == 3
        counts = {"n_skipped": 1, "n_clamped": 0, "n_zero_sized": 1}
        assert system["trace_records"] == counts
    assert table.warnings(result.document) == [
        "t: 1 wrong records left out",
        "t: 1 requests of no bytes left out",
    ]


def test_writes_of_parts_of_sectors_are_said(tmp_path):
    def lines(first: int) -> list[str]:
        trace = tmp_path / f"from-{first}.spc"
        records = [f"0,{first + i * 7919 * 800},4096,W,{i * 0.02:.2f}\n" for i in range(200)]
        trace.write_text("".join(records))
        workload = {"trace": str(trace), "format": "spc"}
        result = headstack.run(workload=workload, systems=[{"drive": "exos-x18"}])
        return table.warnings(result.document)

    assert lines(0) == []
    (line,) = lines(63)
    assert "sectors of 4 KiB were written in part" in line


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
    failed, arm, head = table.warnings(result.document)
    assert failed.startswith("fails: ")
    assert "requests failed" in failed
    assert arm == "fails: barracuda-es-750[0]: stack 0, arm 1 out of use from 5.000 s"
    place = "stack 0, arm 0, head of surface 3"
    assert head.startswith(f"fails: barracuda-es-750[0]: {place} out of use from 10.0")


def test_long_curves_keep_their_ends_within_what_a_figure_takes(document):
    times = [float(t) for t in range(20_000)]
    for system in document["systems"]:
        system["series"] = {"t_s": times, "queue_depth": times}
    (rows,) = plots.queue_depth(document).to_dict()["datasets"].values()
    assert len(rows) <= plots.MOST_POINTS
    assert {row["x"] for row in rows} >= {times[0], times[-1]}


def test_results_without_curves_are_refused_clearly(tmp_path):
    (tmp_path / api.RESULTS_FILE).write_text('{"systems": 3}')
    with pytest.raises(headstack.ConfigError, match='no list "systems"'):
        headstack.load(tmp_path)


def test_docstrings_run():
    for module in (api, calibration, drives):
        assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.toml")), ids=lambda p: p.stem)
def test_every_example_runs(path: Path):
    document = drives.read_toml(path)
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


def test_very_deep_tables_are_errors():
    deep = 1
    for _ in range(5000):
        deep = {"a": deep}
    dotted = {".".join(["a"] * 1400): 1}
    for changes, need in [(deep, "need at most 64"), (dotted, "got 1400 parts, need a key of")]:
        system = {"drive": "barracuda-es-750", "set": changes}
        with pytest.raises(headstack.ConfigError, match=need):
            headstack.run(workload=WORKLOAD, systems=[system], log_requests=False)


def test_pauses_of_a_closed_loop_may_be_drawn():
    loop = {"outstanding": 1, "think_time": {"distribution": "fixed", "value": "2 ms"}}
    systems = [{"drive": "barracuda-es-750"}]
    drawn = headstack.run(
        workload={**WORKLOAD, "arrivals": {"closed": loop}}, systems=systems, log_requests=False
    )
    fixed = headstack.run(
        workload={
            **WORKLOAD,
            "arrivals": {"closed": {"outstanding": 1, "think_time": "2 ms"}},
        },
        systems=systems,
        log_requests=False,
    )
    assert drawn.document["systems"] == fixed.document["systems"]
