"""Two units of one spindle, and two drives."""

import json

import pytest
from conftest import command

from headstack import _toml, drives


def target(folder, rpm: float) -> str:
    spec = dict(drives.load("wd-re3-2009"))
    spec["geometry"] = {**spec["geometry"], "rotation_speed": f"{rpm:.6f} rpm"}
    path = folder / f"{rpm:.6f}.toml"
    path.write_text(_toml.dumps(spec), encoding="utf-8")
    return f"sim:{path}"


# 1 ppm of 7200 rpm is 0.0072 rpm.
@pytest.mark.parametrize("ppm", [0.0, 1.0, -20.0])
def test_two_units_of_one_spindle_turn_equally_fast(ppm, tmp_path):
    both = target(tmp_path, 7200.0), target(tmp_path, 7200.0 * (1 + ppm * 1e-6))
    host = ["--lateness", "15us", "--disturbed", "0.1", "--budget", "60s"]
    done = command("probe", both[0], "--sibling", both[1], *host, "--json")
    found = json.loads(done.stdout)
    assert found["same"] == (ppm == 0.0), found
    assert found["apart"]["low"] < -ppm * 1e-6 < found["apart"]["high"]
    said = command("probe", both[0], "--sibling", both[1], *host).stdout
    assert said.startswith("two drives" if ppm else "one spindle")
