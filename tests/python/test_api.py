import doctest
import json
import re
from pathlib import Path

import pytest
from conftest import ROOT

import headstack
from headstack import api, calibration, drives, plots, report


def test_tables_agree(experiment):
    r = headstack.run(experiment)
    assert len(r.requests) == r.summary["n_requests"][0] == 300
    assert "response_time_p99_s" in r.summary.columns
    assert json.loads(r.to_json())["systems"][0]["name"] == "fcfs"


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
    for name in plots.RESULT_FIGURES:
        assert (tmp_path / "figures" / f"{name}.svg").read_text().startswith("<svg")


def test_figures_say_their_units(document):
    for chart in report.figures(document).values():
        text = json.dumps(chart.to_dict())
        assert re.search(r"\((ms|W|s)[,)]", text)


def test_results_without_curves_are_refused_clearly(tmp_path):
    (tmp_path / api.RESULTS_FILE).write_text('{"systems": 3}')
    with pytest.raises(headstack.ConfigError, match='no list "systems"'):
        headstack.load(tmp_path)


def test_docstrings_run():
    for module in (calibration, drives):
        assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.toml")), ids=lambda p: p.stem)
def test_every_example_runs(path: Path):
    document = drives.read_toml(path)
    workloads = document["workload"]
    for workload in workloads if isinstance(workloads, list) else [workloads]:
        trace = workload.get("trace")
        if trace and not (path.parent / trace).exists():
            pytest.skip(f"{trace} is absent")
        if trace:
            workload["trace"] = str(path.parent / trace)
    document.setdefault("run", {})["max_requests"] = 2000
    r = (
        api.run(**{"workload": workloads, "systems": document["system"]}, log_requests=False)
        if (not isinstance(workloads, list))
        else api.run(path, log_requests=False)
    )
    assert (r.summary["n_requests"] > 0).all()
