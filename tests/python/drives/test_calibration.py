"""The fit finds the numbers of a drive that the test makes up."""

import json

import numpy as np
import pytest

calibration = pytest.importorskip("headstack.drives.calibration")

TRUE = {"link": 0.1, "hit_r": 0.3, "hit_w": 0.5, "miss_r": 0.8, "miss_w": 1.2, "write_r": 0.4, "write_w": 0.6}


def made_up(n: int = 800) -> calibration.Requests:
    random = np.random.default_rng(3)
    write = random.random(n) < 0.4
    blocks = random.integers(1, 32, n)
    lba = random.integers(0, 10**6, n)
    for i in range(1, n):
        if random.random() < 0.4:
            lba[i] = lba[i - 1] + blocks[i - 1]
    return calibration.Requests(write, lba, blocks, np.zeros(n))


def responses(requests: calibration.Requests, ms: dict[str, float]) -> np.ndarray:
    """A linear model of a drive: sequential reads are hits, other reads also wait for the arm."""
    classes = requests.classes()
    names = ["miss_r", "hit_r", "miss_w", "hit_w", "write_r", "write_r", "write_w", "write_w"]
    overhead = np.array([ms[names[c]] for c in classes])
    arm = np.where(np.isin(classes, (0, 2)), 2.0 + requests.lba * 5e-6, 0.0)
    return (overhead + arm + ms["link"] * requests.blocks) * 1e-3


def drive() -> dict:
    zero = {"after_read": "0.2 ms", "after_write": "0.2 ms"}
    return {
        "link": {"read_sector_time": "0.08 ms", "write_sector_time": "80 us"},
        "overhead": {"read_hit": dict(zero), "read_miss": dict(zero), "write_hit": dict(zero)},
        "cache": {"write_back": True},
    }


def simulated(requests: calibration.Requests, spec: dict) -> np.ndarray:
    values = calibration.numbers_of(spec, tuple(TRUE))
    return responses(requests, dict(zip(TRUE, values, strict=True)))


def test_numbers_are_found_again():
    requests = made_up()
    requests.measured_s[:] = responses(requests, TRUE)
    names = tuple(TRUE)
    values, reached = calibration.fit_numbers(
        drive(), names, requests, lambda text: simulated(requests, json.loads(text))
    )
    assert reached < 1e-3
    np.testing.assert_allclose(values, list(TRUE.values()), atol=0.03)


def test_the_tested_half_takes_no_part(tmp_path):
    requests = made_up()
    times = responses(requests, TRUE)
    lines = [
        f"{'W' if w else 'R'} Hit {lba} {n} {s * 1e6:.3f} 1000"
        for w, lba, n, s in zip(requests.write, requests.lba, requests.blocks, times, strict=True)
    ]
    asked = []

    def evaluate(text, start, count):
        asked.append((start, count))
        return simulated(requests.part(start, count), json.loads(text))

    trace = tmp_path / "x.trace"
    trace.write_text("\n".join(lines))
    kwargs = {"evaluate": evaluate, "numbers": 7, "policies": ("as-given", "discard")}
    first = calibration.calibrate(drive(), trace, steps=60, runs=1, **kwargs)
    # The other half is simulated once, at the very end.
    assert asked.count((400, 400)) == 1
    assert asked[-1] == (400, 400)
    again = calibration.calibrate(drive(), trace, steps=60, runs=1, **kwargs)
    assert first == again
    assert first.test_demerit_s < 1e-4
    # Both policies are equal for this drive, so the name decides, always in the same way.
    assert first.policy == "as-given"
    tomli_w = pytest.importorskip("tomli_w")
    assert tomli_w
    calibration.write_drive(first.spec, tmp_path / "x.toml")
    import tomllib

    assert tomllib.loads((tmp_path / "x.toml").read_text())["overhead"] == first.spec["overhead"]


def test_demerit_of_a_shift_and_bad_traces(tmp_path):
    sample = np.random.default_rng(1).random(500)
    assert calibration.demerit(sample, sample[::-1] + 0.25) == pytest.approx(0.25)
    trace = tmp_path / "bad.trace"
    trace.write_text("R Hit 1 2 3 4\nX Hit 1 2 3 4\n")
    with pytest.raises(ValueError, match=r"bad\.trace:2: column 1 \"op\": got \"X\""):
        calibration.read_trace(trace)
