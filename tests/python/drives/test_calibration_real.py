"""The fit lowers the demerit of requests that it did not use, on measured drives."""

import json
import os

import pytest
from conftest import QUICK, SHARED

calibration = pytest.importorskip("headstack.drives.calibration")
core = pytest.importorskip("headstack._core")

DATA = SHARED / "data" / "disksim"
DRIVES = ("atlas10k", "barracuda", "cheetah9LP", "hp_c2247a", "ibm18es")


def drive(name: str) -> tuple[dict, str]:
    parameters = DATA / f"{name}.parv"
    if not parameters.exists():
        print(f"skipped: {parameters} is absent")
        pytest.skip(f"{parameters} is absent")
    return json.loads(core.import_disksim(str(parameters)))["spec"], str(DATA / f"{name}.trace")


def uncalibrated_s(spec: dict, trace: str, half: int) -> float:
    """Demerit of the given drive on the half that a fit of `half` does not use."""
    requests = calibration.read_trace(trace)
    middle = len(requests.write) // 2
    start, count = ((middle, len(requests.write) - middle), (0, middle))[half]
    simulated = core.replay_closed(json.dumps(spec), trace, start, count, False)
    return calibration.demerit(requests.part(start, count).measured_s, simulated)


@pytest.mark.parametrize("name", ["barracuda", pytest.param("atlas10k", marks=pytest.mark.thorough)])
def test_the_other_half_gets_better(name):
    spec, trace = drive(name)
    policies = ("as-given",) if QUICK else ("as-given", "discard", "whole-track")
    fitted = calibration.calibrate(spec, trace, half=1, policies=policies, runs=0)
    assert fitted.test_demerit_s < uncalibrated_s(spec, trace, 1)
    # The returned demerit is that of the returned drive.
    assert fitted.test_demerit_s == pytest.approx(uncalibrated_s(fitted.spec, trace, 1))


@pytest.mark.skipif(not os.environ.get("HEADSTACK_SLOW"), reason="HEADSTACK_SLOW is not set")
@pytest.mark.parametrize("half", [0, 1])
def test_mean_over_five_drives(half):
    before, after = [], []
    for name in DRIVES:
        spec, trace = drive(name)
        fitted = calibration.calibrate(spec, trace, half=half)
        before.append(uncalibrated_s(spec, trace, half))
        after.append(fitted.test_demerit_s)
        print(
            f"{name}, fitted on half {half + 1}: {fitted.policy}, "
            f"fitted {fitted.fit_demerit_s * 1e3:.3f}, other {after[-1] * 1e3:.3f}, "
            f"uncalibrated {before[-1] * 1e3:.3f} ms",
            flush=True,
        )
    print(f"mean: {sum(after) / 5 * 1e3:.3f}, uncalibrated {sum(before) / 5 * 1e3:.3f} ms")
    assert sum(after) / len(after) <= 0.13e-3
