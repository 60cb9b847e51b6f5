"""Steps of a probe that measure times, on drives of known truth."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from probe_oracle import Oracle, Session

from headstack import _bridge, drives
from headstack.probe import compare, drive_file, seek, switches
from headstack.probe.value import Value


def spec(heads: int = 4) -> dict[str, Any]:
    """A drive of two zones, whose heads have formats of their own."""
    outer = [
        {"tracks_per_band": 200 + h % 2 * 6, "sectors_per_track": 500 - h % 2 * 15}
        for h in range(heads)
    ]
    inner = [
        {"tracks_per_band": 200 + h % 2 * 6, "sectors_per_track": 300 - h % 2 * 9}
        for h in range(heads)
    ]
    zone = {"track_skew": 0.3, "cylinder_skew": 0.13}
    return {
        "geometry": {
            "layout": "adaptive",
            "rotation_speed": "7200 rpm",
            "surfaces": heads,
            "cylinders": 40_000,
            "sector_size": "4 KiB",
            "skew_unit": "turns",
            "band_cylinders": 200,
            "surface_zones": [[outer[h], inner[h]] for h in range(heads)],
            "zones": [
                {"first_cylinder": 0, "last_cylinder": 19_999, "sectors_per_track": 500, **zone},
                {
                    "first_cylinder": 20_000,
                    "last_cylinder": 39_999,
                    "sectors_per_track": 300,
                    **zone,
                },
            ],
        }
    }


def true_access(cylinders: float) -> float:
    """Overhead and the three-point curve of 0.6, 8 and 16 ms, in s."""
    if cylinders < 0.5:
        return 0.2e-3
    n, single, average, full = 40_000, 0.6e-3, 8e-3, 16e-3
    a = (-10 * single + 15 * average - 5 * full) / (3 * math.sqrt(n))
    b = (7 * single - 15 * average + 8 * full) / (3 * n)
    return 0.2e-3 + single + a * math.sqrt(max(cylinders - 1, 0)) + b * (cylinders - 1)


@pytest.mark.parametrize(("disturbed", "room"), [(0.02, 1.0), (0.2, 2.0)])
def test_accesses_are_within_30_us_for_95_percent_of_distances(
    disturbed: float, room: float
) -> None:
    turn = 60 / 7199.6
    oracle = Oracle(spec())
    session = Session(oracle, turn, true_access, disturbed=disturbed, seed=5)
    # The time of a turn is known to 2 ppm.
    found = seek.measure(
        session, oracle, turn * (1 + 2e-6), np.random.default_rng(1), disturbed=disturbed
    )
    assert found.turn_s == pytest.approx(turn, rel=3e-7)
    # What is added after the movement: a sector and the usual lateness.
    errors = []
    for p in found.points:
        for value in (p.inward, p.outward):
            truth = true_access(p.cylinders) + turn / (300 if p.inside else 500) + 25e-6
            errors.append(abs(value.value - truth) / max(30e-6, 0.05 * truth))
    assert len(found.points) > 50
    assert np.mean(np.array(errors) <= room) >= 0.95, sorted(errors)[-10:]
    assert found.formula["model"] == "three-point"
    assert found.held_out[0] <= disturbed + 0.02


def recovered(session: Session, oracle: Oracle, turn: float) -> drive_file.Found:
    """What a probe finds of a drive in closed form."""
    curve = seek.measure(session, oracle, turn, np.random.default_rng(1), trials=12)
    table, origins = drive_file.geometry_table(oracle, session.described)
    period = Value(turn, turn * (1 - 1e-7), turn * (1 + 1e-7), "measured", 100, "period", "s")
    return drive_file.Found(session.described, period, table, origins, 1 / 400, curve)


def test_the_recovered_file_is_the_drive(tmp_path: Path) -> None:
    """The file loads; the engine finds speed, capacity, rates and seeks of the drive in it."""
    turn = 60 / 7199.6
    oracle = Oracle(spec())
    session = Session(oracle, turn, true_access, seed=5)
    session.described |= {"physical_bytes": 4096, "model": "Test X1"}
    found = recovered(session, oracle, turn)
    found.switches = switches.measure(session, oracle, found.curve, np.random.default_rng(2))
    path = tmp_path / "drive.toml"
    drive_file.write(found, path)
    loaded = drives.load(path)
    info = _bridge.call("drive_info", json.dumps(loaded))
    assert info["rotation_s"] == pytest.approx(turn, rel=1e-6)
    assert info["capacity_bytes"] == oracle.blocks * 512
    # A track of each head takes a turn and its skew.
    sectors = np.array([500, 485, 500, 485])
    tracks = np.array([200, 206, 200, 206])
    rate = (sectors * tracks).sum() * 4096 / (turn * (1.13 * tracks.sum() + 4 * (0.3 - 0.13)))
    assert info["sustained_bytes_per_s"]["outer"] == pytest.approx(rate, rel=3e-3)
    ours = dict(info["seek_curve"])
    for d, seconds in ours.items():
        if d >= 1:
            assert seconds == pytest.approx(true_access(d) - 0.2e-3, abs=max(30e-6, 0.03 * seconds))
    text = path.read_text("utf-8")
    assert "# declared" in text
    assert "points = [  # measured: +-" in text
    assert "nearest formula" in text
    # Tracks of neighbouring heads at one radius: no switch takes time here.
    assert found.switches.head_switch is not None
    assert float(found.switches.head_switch.value) < 30e-6


def test_differences_are_told_by_what_they_mean() -> None:
    given = drives.load("exos-x18")
    assert compare.differences(given, given) == []
    slower = json.loads(json.dumps(given))
    slower["geometry"]["rotation_speed"] = "7190 rpm"
    slower["queue"]["scheduler"] = "sptf"
    del slower["queue"]["scheduler_parameters"]
    found = {d.what: d for d in compare.differences(slower, given)}
    assert set(found) == {"turns per minute", "order of the queue"}
    assert found["turns per minute"].means == "the spindle is slower"
    assert found["turns per minute"].relative == pytest.approx(-10 / 7200)
