"""Comparison of results: matched systems, differences, ratios, and output."""

import copy
import csv
import io
import json
import shutil

import pytest
from conftest import system

import headstack
from headstack import drives
from headstack.cli import main
from headstack.results import comparison


def result(*systems):
    return {"systems": list(systems), "seed": 1, "version": "0", "partial": False}


def cells(found, what):
    """The row of a quantity, without its names."""
    headings = [h for h, _ in comparison.headings(found)]
    (line,) = [line for line in comparison.cells(found) if what in line]
    return dict(zip(headings, line, strict=True))


def test_systems_of_one_name_and_workload_are_compared():
    # The p99 is 7 ms times the scale: see conftest.
    before = result(system("a", 1.0), system("b", 2.0))
    after = result(system("b", 3.0), system("c", 1.0), system("a", 0.5))
    found = comparison.compare([before, after], ["before", "after"])
    assert [row.name for row in found.rows] == ["a", "b"]
    assert [(i, s["name"]) for i, s in found.unmatched] == [(1, "c")]
    assert "after: c on made up stands in no other result" in comparison.notes(found)
    document = comparison.to_document(found)
    a, b = (s["numbers"]["response_time_p99_s"] for s in document["systems"])
    assert a["values"] == pytest.approx([7e-3, 3.5e-3])
    assert a["differences"] == pytest.approx([0, -3.5e-3])
    assert a["ratios"] == pytest.approx([1, 0.5])
    assert b["ratios"] == pytest.approx([1, 1.5])
    assert document["unmatched"] == [{"result": "after", "name": "c", "workload": "made up"}]
    json.dumps(document, allow_nan=False)


def test_the_table_says_what_the_numbers_are():
    found = comparison.compare(
        [result(system("a", 1.0)), result(system("a", 1.5)), result(system("a", 1.0))], ["x", "y", "z"]
    )
    assert cells(found, "p99 ms") == {
        "system": "a",
        "what": "p99 ms",
        "x": "7.00",
        "y": "10.50",
        "difference y": "+3.50",
        "ratio y": "1.500",
        "z": "7.00",
        "difference z": "0.00",
        "ratio z": "1.000",
    }
    # No errors in any result: no ratio.
    assert cells(found, "errors")["ratio y"] == "–"  # noqa: RUF001


def test_numbers_that_only_one_has_are_not_compared():
    one, other = system("a", 1.0), system("a", 1.0)
    other.update(cost_usd={"low": 10, "high": 30}, queue_depth_mean=None)
    one.update(n_errors=0)
    other.update(n_errors=5)
    found = comparison.compare([result(one), result(other)], ["x", "y"])
    for what in ("drives $", "queue"):
        line = cells(found, what)
        assert (line["difference"], line["ratio"]) == ("–", "–")  # noqa: RUF001
    assert (cells(found, "errors")["difference"], cells(found, "errors")["ratio"]) == ("+5", "–")  # noqa: RUF001
    one.update(cost_usd={"low": 10, "high": 10})
    # Prices are compared by their middles: 20 instead of 10.
    line = cells(comparison.compare([result(one), result(other)], ["x", "y"]), "drives $")
    assert list(line.values())[2:] == ["10", "10 to 30", "+10", "2.000"]


def test_names_that_differ_are_compared_where_that_is_clear():
    def of(name, workload, scale=1.0):
        return {**system(name, scale), "workload": workload}

    def rows(*results):
        labels = [str(i) for i in range(len(results))]
        found = comparison.compare([result(*r) for r in results], labels)
        return [(r.name, r.workload) for r in found.rows]

    # One system each.
    assert rows([of("a", "w")], [of("b", "v")]) == [("a / b", "w / v")]
    # Workloads with different names.
    both = [of("a", "w"), of("b", "w")], [of("a", "v"), of("b", "v")]
    assert rows(*both) == [("a", "w / v"), ("b", "w / v")]
    # Systems with equal names are numbered.
    assert rows([of("a", "w"), of("a", "w")], [of("a", "w"), of("a", "w")]) == [("a", "w")] * 2
    with pytest.raises(headstack.ConfigError, match=r"no system that two .*: 0 has a, b; 1 has c"):
        rows([of("a", "w"), of("b", "w")], [of("c", "w")])
    with pytest.raises(headstack.ConfigError, match="got 1 result, need two or more"):
        rows([of("a", "w")])


@pytest.fixture
def runs(experiment, tmp_path, capsys):
    """An experiment, and the folder of its result under another scheduler."""
    out = tmp_path / "after"
    changes = ["--set", "system.0.scheduler=sptf", "--set", "system.0.queue_depth = 32"]
    assert main(["run", str(experiment), "--out", str(out), "--no-figures", *changes]) == 0
    capsys.readouterr()
    return experiment, out


def test_folders_files_and_experiments_are_compared(runs, capsys, tmp_path):
    experiment, out = runs
    plain = headstack.run(experiment, log_requests=False)[0]
    after = headstack.load(out)[0]
    assert plain.response_time_s.mean > after.response_time_s.mean
    for other in (out, out / "result.json"):
        assert main(["compare", str(experiment), str(other), "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert [r["label"] for r in document["results"]] == ["small.toml", "after"]
        (compared,) = document["systems"]
        mean = compared["numbers"]["response_time_mean_s"]
        assert mean["values"] == [plain.response_time_s.mean, after.response_time_s.mean]
    # Folders with equal names have different labels.
    shutil.copytree(out, tmp_path / "more" / "after")
    assert main(["compare", str(out), str(tmp_path / "more" / "after"), "--format", "csv"]) == 0
    printed = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(printed.out)))
    assert f"{tmp_path.name}/after" in rows[0]
    assert "more/after" in rows[0]
    assert {row["ratio"] for row in rows} <= {"1.000", ""}
    assert "Headstack" in printed.err
    # The original file is not changed.
    assert drives.read_toml(experiment)["system"][0]["scheduler"] == "fcfs"


def test_standard_input_is_compared(experiment, capsys, monkeypatch):
    text = experiment.read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert main(["compare", "-", str(experiment), "--format", "markdown"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| system | what | standard input | small.toml | difference | ratio |"
    assert lines[1] == "|---|---|---:|---:|---:|---:|"
    assert any(line.startswith("| fcfs | p99 ms |") and line.endswith("1.000 |") for line in lines)


def test_csv_says_in_words_what_marks_mean(tmp_path, capsys):
    texts = {"slow": "4000/s", "fine": "20/s"}
    for name, rate in texts.items():
        (tmp_path / f"{name}.toml").write_text(
            f'[workload]\nsynthetic = {{ n_requests = 4000, rate = "{rate}" }}\n'
            '[[system]]\ndrive = "barracuda-es-750"\n'
        )
    files = [str(tmp_path / f"{name}.toml") for name in texts]
    assert main(["compare", *files, "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    remarks = {row["what"]: row["remarks"] for row in rows}
    assert remarks["mean ms"] == "slow.toml: cannot keep up"
    assert remarks["requests"] == ""
    assert not any("!" in cell for row in rows for cell in row.values())


def test_comparing_changes_nothing():
    first, second = result(system("a", 1.0)), result(system("a", 2.0))
    kept = copy.deepcopy((first, second))
    comparison.to_document(comparison.compare([first, second], ["x", "y"]))
    assert (first, second) == kept


def test_prices_of_different_kinds_are_not_compared():
    from headstack.results import comparison

    def document(kind, low):
        cost = {"low": low, "high": low, "price_kind": kind}
        return {"systems": [{"name": "one", "workload": "w", "cost_usd": cost}]}

    found = comparison.compare([document("components", 60.0), document("retail", 600.0)], ["a", "b"])
    prices = [line for line in comparison.cells(found) if line[1].startswith("drives $")]
    assert len(prices) == 2
    assert all(line[-2:] == ["\N{EN DASH}", "\N{EN DASH}"] for line in prices)
    numbers = comparison.to_document(found)["systems"][0]["numbers"]["cost_low_usd"]
    assert numbers["differences"][1] is None
