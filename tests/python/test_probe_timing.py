"""Steps of a probe that measure times, on drives of known truth."""

import math
from typing import Any

import numpy as np
import pytest
from probe_oracle import Oracle, Session

from headstack.probe import seek


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
