import doctest
import json
import re
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT

import headstack
from headstack import api, calibrate, drives, plots, report


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
        raise RuntimeError("mine")

    load = {"n_requests": 50_000_000, "size": "4 KiB", "rate": "50/s", "footprint": "10 GB"}
    with pytest.raises(RuntimeError, match="mine"):
        headstack.run(
            workload={"synthetic": load},
            systems=[{"name": "x", "drive": "exos-x18"}],
            log_requests=False,
            progress=progress,
        )


def test_report_needs_no_network(document, tmp_path):
    path = report.write(document, tmp_path / "r.html")
    page = path.read_text()
    assert not re.search(r"<(script|img|iframe|link)[^>]*(src|href)\s*=", page)
    assert not re.search(r"@import|url\(\s*['\"]?https?:", page)
    assert page.count("</script>") == 1
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


def test_demerit_of_a_shift_is_the_shift():
    x = np.random.default_rng(1).random(100)
    assert calibrate.demerit(x, x + 0.5) == pytest.approx(0.5)


def test_calibration_finds_an_overhead():
    # A test double of a drive: every response is 5 ms plus the overhead of writes after reads.
    def replay(spec, start, count):
        extra = calibrate.seconds(spec["overhead"]["write_miss"]["after_read"])
        return [5e-3 + extra] * count

    spec = {"name": "x", "overhead": {"write_miss": {"after_read": "0 ms"}}}
    fit = calibrate.fit(spec, np.full(40, 6e-3), replay)
    assert fit.values_s["overhead.write_miss.after_read"] == pytest.approx(1e-3, abs=1e-6)
    assert fit.held_out_before_s == pytest.approx(1e-3)
    assert fit.held_out_after_s < 1e-6


def test_docstrings_run():
    for module in (calibrate, drives):
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
