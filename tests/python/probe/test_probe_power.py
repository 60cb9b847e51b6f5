"""Power by state: a simulated drive of known watts, and meters as headstack-capd has them."""

import re
import threading
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

from headstack import _toml, drives, probe
from headstack.errors import ConfigError, HeadstackError
from headstack.probe import power

#: What probes of power need: seeks, of few distances.
OPTIONS: dict[str, Any] = {"budget": "240 s", "lateness": "15 us", "disturbed": 0.02, "seed": 3}


def written(folder: Path, watts: dict[str, Any]) -> str:
    """Return a small drive that draws so much."""
    spec = {**drives.load("wd-re3-2009"), "name": "metered", "power": watts}
    path = folder / "metered.toml"
    path.write_text(_toml.dumps(spec), encoding="utf-8")
    return f"sim:{path}"


def test_watts_of_a_simulated_drive_are_recovered(tmp_path: Path) -> None:
    """The drive's own values; its electronics are partly off after 0.2 s."""
    watts = {
        "model": "modes", "spindle": "2.8 W", "electronics": "2.5 W", "voice_coil": "5.2 W",
        "access": "2 W", "idle_a": "4.6 W",
        "conditions": {"idle_a": {"timer": "200 ms", "recovery_time": "10 ms"}},
    }  # fmt: skip
    log = tmp_path / "log"
    target = written(tmp_path, watts)
    found = probe.probe(target, steps=("power",), meter="sim", log=log, **OPTIONS)
    assert found.found is not None
    of = found.found.power
    assert of is not None
    assert float(of.idle.value) == pytest.approx(5.3, abs=0.01)
    assert float(of.voice_coil.value) == pytest.approx(5.2, rel=0.03)
    assert float(of.access.value) == pytest.approx(2.0, rel=0.03)
    assert of.later is not None
    assert float(of.later[0].value) == pytest.approx(4.6, abs=0.01)
    assert of.later[1] == pytest.approx(0.2, abs=0.05)
    for load in of.loads:
        assert of.of(load) == pytest.approx(float(load.watts.value), rel=0.02), load
    path = found.write_drive(tmp_path / "mine.toml")
    mine = tomllib.loads(path.read_text("utf-8"))
    state = drives.load(path)["power"]
    assert {k: mine["power"][k] for k in ("model", "electronics")} == {"model": "modes", "electronics": "0 W"}
    assert float(state["spindle"].split()[0]) == pytest.approx(5.3, abs=0.01)
    assert re.search(r"# power after 0\.2\d? s without commands: 4\.60 W", path.read_text("utf-8"))
    again = probe.probe(None, from_log=log)
    assert again.write_drive(tmp_path / "again.toml").read_bytes() == path.read_bytes()
    with pytest.raises(ConfigError, match="got a log of another meter, need this one's"):
        probe.probe(target, log=log, resume=True, **OPTIONS)


def test_readings_of_another_time_do_not_count(tmp_path: Path) -> None:
    """A file that somebody writes: what stood in it before, and after, says nothing of the load."""
    path = tmp_path / "watts"
    path.write_text("50\n")
    meter = power.opened(f'{{ file = "{path}", interval = "100 ms" }}', None)
    over = threading.Event()

    def write() -> None:
        number = 0
        while not over.wait(0.05):
            path.with_suffix(".new").write_text(f"{7 + number % 2 * 0.5}\n")
            path.with_suffix(".new").rename(path)
            number += 1

    with meter.during() as none:
        time.sleep(0.4)
    assert none == []  # nothing new was written
    writer = threading.Thread(target=write)
    writer.start()
    with meter.during() as watts:
        time.sleep(1.5)
    over.set()
    writer.join()
    assert set(watts) == {7.0, 7.5}


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("watts", "--meter: got watts, need sim, file:PATH, hwmon:PATH, command:PROGRAM or a "),
        ("{ file = 1", "--meter: got { file = 1, need a table of TOML"),
        ('{ model = { idle = "5 W" } }', "model: got it, need a meter"),
        ("file:/none", "meter: /none: "),
        ("command:false", "meter: "),
    ],
)
def test_what_is_no_meter_is_refused_before_anything_is_read(what: str, message: str) -> None:
    with pytest.raises(HeadstackError, match="^" + message.replace("{", "\\{")):
        probe.probe("sim:wd-re3-2009", meter=what, budget="60 s")


def test_power_needs_a_meter() -> None:
    with pytest.raises(ConfigError, match="--steps: got power, need --meter"):
        probe.probe("sim:wd-re3-2009", steps=("power",))
