"""``headstack probe``."""

import json
import re

import probe_oracle as oracle
import pytest

import headstack
from headstack.cli import main

QUIET = ["--lateness", "15us", "--disturbed", "0.02"]


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    spec = oracle.drawn(6, 8, zones=2)
    return oracle.written(spec, tmp_path_factory.mktemp("drive")), spec


def test_the_command_writes_a_drive_file_and_a_page(target, tmp_path, capsys):
    drive, page, log = (tmp_path / n for n in ("mine.toml", "mine.html", "mine.log"))
    options = ["--budget", "60s", "--steps", "seek", "-o", str(drive), "--page", str(page)]
    assert main(["probe", target[0], *QUIET, *options, "--log", str(log)]) == 0
    out = capsys.readouterr().out
    spec = target[1]["geometry"]
    assert f"{spec['surfaces']} heads" in out
    assert re.search(r"^note: .*not identifiable", out, re.MULTILINE)
    # The file loads, and has the speed and the heads of the drive.
    assert main(["drives", str(drive)]) == 0
    text = page.read_text()
    for part in ("What stays unknown", "residuals of the map", "Heads: time to the next bands"):
        assert part in text
    assert "<script" in text
    # The same log gives the same bytes.
    again = tmp_path / "again.toml"
    assert main(["probe", "--from", str(log), "-o", str(again)]) == 0
    assert again.read_bytes() == drive.read_bytes()


def test_a_drive_with_two_actuators_has_a_page(tmp_path):
    found = headstack.probe("sim:exos-2x18-sas", budget="40 s", steps=())
    assert len(found.geometry.ranges) == 2
    text = found.write_page(tmp_path / "two.html").read_text()
    assert "Sectors of a track" in text
    assert "Rate of long reads" in text


def test_the_document_has_every_value_with_its_origin(target, capsys):
    assert main(["probe", target[0], "--budget", "60s", "--steps", "seek", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    origins = {"measured", "declared", "default of the class", "not identifiable"}
    for value in document["values"].values():
        assert value["origin"] in origins
    assert document["values"]["heads"]["value"] == target[1]["geometry"]["surfaces"]


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ([], "probe: got no target, need one or --from LOG"),
        (["sim:wd-re3-2009", "--budget", "1s"], "--budget: got 1s, need at least 10 s"),
        (["sim:wd-re3-2009", "--steps", "sek"], '--steps: got "sek", need one of seek'),
        (["sim:wd-re3-2009", "-o", "drive.txt"], '--out: got "drive.txt", need a name that ends'),
    ],
)
def test_wrong_input_is_told(args, error, capsys):
    assert main(["probe", *args]) == 2
    assert error in capsys.readouterr().err
