"""JSON Schemas and the check of files, against the files that come with the package."""

import json
import tomllib

import jsonschema
import pytest
from conftest import ROOT, command

from headstack import _bridge
from headstack.cli import main

EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))


@pytest.fixture(scope="module")
def validator():
    """Of the schema of experiments as the command prints it."""
    found = json.loads(command("schema", "experiment").stdout)
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


def document(path):
    return tomllib.loads(path.read_text(encoding="utf-8"))


def test_every_example_fits_the_schema(validator):
    assert EXAMPLES
    for path in EXAMPLES:
        # A sweep has its experiment in a table.
        described = document(path)
        described = described.get("experiment", described)
        errors = [f"{e.json_path}: {e.message[:200]}" for e in validator.iter_errors(described)]
        assert not errors, (path.name, errors)


@pytest.mark.parametrize(
    ("place", "key", "value"),
    [
        ((), "sytem", {}),
        (("run",), "sed", 3),
        (("run",), "allowed_errors", 1.5),
        (("system",), "schedular", "sptf"),
        (("system",), "scheduler", "stpf"),
        (("workload",), "synthetic", {"reads": 2}),
        (("workload",), "past_end", "wrp"),
    ],
)
def test_mistakes_do_not_fit_the_schema(validator, place, key, value):
    experiment = {"workload": {"synthetic": {"rate": "5/s"}}, "system": {"drive": "exos-x18"}, "run": {}}
    assert validator.is_valid(experiment)
    table = experiment
    for step in place:
        table = table[step]
    table[key] = value
    assert not validator.is_valid(experiment)


def test_check_names_line_and_column(tmp_path, capsys):
    good = tmp_path / "good.toml"
    good.write_text('[workload]\nsynthetic = { rate = "5/s" }\n[system]\ndrive = "exos-x18"\n', encoding="utf-8")
    assert main(["check", str(good)]) == 0
    assert capsys.readouterr().out == f"{good}: ok\n"
    bad = tmp_path / "bad.toml"
    twice_wrong = '[workload]\nsynthetic = { rate = "5/s", reads = 2 }\n[system]\ndrive = "exos-x18"\ncount = 0\n'
    for text, line, what in [
        (twice_wrong, 5, "system.count: got 0, need 1 to 100000"),
        (twice_wrong.replace("count = 0", ""), 2, "synthetic.reads: got 2, need 0 to 1"),
        (twice_wrong.replace("[system]", "[sytem]"), 3, 'got key "sytem"'),
        (twice_wrong.replace("count = 0", "count = = 2"), 5, "got "),
    ]:
        bad.write_text(text, encoding="utf-8")
        assert main(["check", str(good), str(bad), "--json"]) == 1
        right, wrong = json.loads(capsys.readouterr().out)
        assert right["errors"] == []
        (error,) = wrong["errors"]
        assert error["line"] == line, error
        assert error["message"].startswith(f"{bad}:{line}:{error['column']}: ")
        assert what.removeprefix("system.") in error["message"], error
        assert text.splitlines()[line - 1] in error["excerpt"]
        assert main(["check", str(bad)]) == 1
        assert capsys.readouterr().out.startswith(error["message"])


def test_every_model_tells_its_parameters():
    for kind, entries in _bridge.call("plugins").items():
        for entry in entries if kind != "warning" else ():
            assert isinstance(entry["parameters"], list), (kind, entry["name"])
            for parameter in entry["parameters"]:
                assert parameter["what"], (kind, entry["name"], parameter["key"])
                assert parameter["bounds"]
            for key in tomllib.loads(entry["example"]):
                known = [p["key"] for p in entry["parameters"]]
                assert key in known, (kind, entry["name"])
