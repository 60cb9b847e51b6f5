"""Active power levels: seeks and energy against the kinematics, and the example of the guide."""

import pytest
from conftest import check_rows, closed_loop, printed

from headstack import drives
from headstack.drives import active_level

DRIVES = ("ultrastar-hc570", "exos-x18")


def number(text):
    return float(str(text).split(" ")[0])


def curve(spec):
    return dict(drives.described(spec, spec["name"])["seek_curve"])


def reads(spec, outstanding=1):
    footprint = f"{spec['geometry']['capacity_blocks'] * 512 // 4096 * 4096} B"
    return closed_loop(spec, outstanding, n_requests=4000, footprint=footprint)


@pytest.mark.parametrize("name", DRIVES)
def test_energy_by_distance_changes_neither_seeks_nor_watts(name):
    before = drives.load(name)
    after = active_level.by_distance(before)
    seek = before["seek"]
    described = drives.described(after, name)
    assert described["average_seek_s"] == pytest.approx(number(seek["average"]) * 1e-3, rel=1e-3)
    times = curve(after)
    assert times[max(times)] == pytest.approx(number(seek["full"]) * 1e-3, rel=1e-3)
    assert 0 <= times[min(times)] - number(seek["single"]) * 1e-3 < 0.1e-3
    # One random read at a time: seeks of all lengths, as the energy was scaled for.
    old, new = reads(before), reads(after)
    assert new["throughput_iops"] == pytest.approx(old["throughput_iops"], rel=0.02)
    assert new["power_w"]["mean"] == pytest.approx(old["power_w"]["mean"], rel=0.01)


@pytest.mark.parametrize("level", [0.8, 0.45])
def test_seeks_of_a_level_follow_from_current_and_speed(level):
    """`2 sqrt(x / a)` up to `v^2 / a`, `x / v + v / a` beyond, with `a` and `v` times the level."""
    full = active_level.by_distance(drives.load("ultrastar-hc570"))
    low = active_level.at_level(full, level)
    seek = full["seek"]
    a, v, settle = (
        number(seek[key]) * factor
        for key, factor in (("acceleration", level), ("velocity_limit", level), ("settle", 1e-3))
    )
    pitch = number(seek["track_pitch"]) * 1e-9
    assert 0.3 < v * v / a / 25e-3 / level < 0.5
    checked = 0
    for tracks, seconds in curve(low).items():
        way = tracks * pitch
        moving = 2 * (way / a) ** 0.5 if way <= v * v / a else way / v + v / a
        assert seconds == pytest.approx(moving + settle, rel=1e-5, abs=2e-9)
        checked += 1
    assert checked > 100


def test_the_energy_of_the_longest_seek_is_the_laws():
    """Losses with the square of the current over a time that stays, drag longer but weaker."""
    full = active_level.by_distance(drives.load("ultrastar-hc570"))
    level = 0.5
    table, low = (s["power"]["seek_energy"] for s in (full, active_level.at_level(full, level)))

    def joules(energy):
        loss, motion, drag, pushing = (
            number(energy[key]) for key in ("acceleration_power", "speed_energy", "coast_power", "acceleration_time")
        )
        coast = energy["coast_from"]
        coasting = pushing * (1 - coast) / (2 * coast)
        return [x * 1e-3 for x in (loss * pushing, motion, drag * coasting)]

    before, after = joules(table), joules(low)
    assert after[0] == pytest.approx(before[0] / 4)
    assert after[1] == pytest.approx(before[1] / 4)
    x = table["coast_from"]
    # Way `1 - X/2` of the stroke at half the speed instead of `1 - X`, a quarter of the power.
    assert after[2] == pytest.approx(before[2] * 2 * (1 - x / 2) / (1 - x) / 4)


def test_a_lower_level_draws_less_for_each_read():
    full = active_level.by_distance(drives.load("ultrastar-hc570"))
    found = [reads(active_level.at_level(full, x), 16) for x in (1.0, 0.8, 0.6, 0.4)]
    iops = [f["throughput_iops"] for f in found]
    watts = [f["power_w"]["mean"] for f in found]
    assert iops == sorted(iops, reverse=True)
    assert watts == sorted(watts, reverse=True)
    idle = 5.3
    above = [(w - idle) / rate for w, rate in zip(watts, iops, strict=True)]
    assert above == sorted(above, reverse=True)


def test_the_example_prints_the_tables_of_the_guide(tmp_path):
    shown = printed("power_settings", tmp_path)
    assert check_rows(shown, "studies/power-settings.md", (4, 5, 6)) > 40
