"""Closed forms of disk performance: printed numbers, limits, brute force."""

import doctest
import inspect
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstack.drives import formulas as f
from headstack.drives.formulas import GB, KB, MB
from headstack.errors import ConfigError

RATE = float(f.media_rate_bytes_per_s(111, 5400))
counts = st.integers(1, 400)
factors = st.floats(1.01, 20)
times = st.floats(1e-5, 1e-1)


def own():
    """Return every public function of the module."""
    found = inspect.getmembers(f, inspect.isfunction)
    return [(n, g) for n, g in found if not n.startswith("_") and g.__module__ == f.__name__]


def test_every_form_says_where_it_is_from():
    for name, form in own():
        text = inspect.getdoc(form)
        derived = "erived here" in text
        assert derived or "rticle" in text or name in AFTER_THE_ARTICLE, name


#: Not in the article, and a conversion of units.
AFTER_THE_ARTICLE = {"access_density_per_s_per_tb", "rebuild_time_s", "rotation_time_s"} | {
    "break_even_window_cylinders"
}


def test_examples():
    assert doctest.testmod(f).failed == 0
    assert doctest.testmod(f).attempted > 4


# Numbers printed in the article.


@pytest.mark.parametrize(
    ("ours", "printed"),
    [
        # The others are parts of NG-1 to NG-9 that agree to all digits.
        (1e3 * f.buffer_hit_time_s(0.1e-3, 4 * KB, 10 * MB), "0.5"),
        (f.platters(4 * GB, 800 * MB), "5"),
        (f.platters(4 * GB, 800 * MB, 1.67), "3"),
        (f.platters(4 * GB, 800 * MB, 5 / 3), "3"),
        (f.platters(4 * GB, 800 * MB, 1.66), "4"),
    ],
)
def test_printed_numbers_to_three_digits(ours, printed):
    assert f"{float(ours):.3g}" == printed


def test_media_rate_and_the_channel():
    assert pytest.approx(4.995, abs=1e-3) == RATE / MB
    # 25 MB/s is reached by 555.6 sectors at 5400 rpm.
    assert float(f.highest_rotation_rpm(25 * MB, 555.6)) == pytest.approx(5400, rel=1e-4)
    # The same from density: a track of 111 sectors at one inch.
    bits = 111 * 512 * 8 / (2 * math.pi)
    assert float(f.density_rate_bytes_per_s(1.0, bits, 5400)) == pytest.approx(RATE)


@pytest.mark.parametrize(("seek_s", "gains"), [(10e-3, (1.1, 3.8, 10.2, 17.6)), (10e-3 / 3, (1.8, 5.9, 13.3, 19.5))])
def test_a_higher_rate_gains_more_on_larger_blocks(seek_s, gains):
    sizes = np.array([4, 16, 64, 256]) * KB
    found = f.rate_gain_ratio(0.5e-3, seek_s, 5400, sizes, RATE, 1.3)
    assert 100 * found == pytest.approx(gains, abs=0.1)
    endless = f.rate_gain_ratio(0.5e-3, seek_s, 5400, 1e15, RATE, 1.3)
    assert float(endless) == pytest.approx(1 - 1 / 1.3, rel=1e-6)


def test_figure_5():
    heads = [1, 2, 3, 4, 5, 6, 8, 10, 20]
    wanted = [0.7143, 0.7692, 0.7895, 0.8000, 0.8065, 0.8108, 0.8163, 0.8197, 0.8264]
    found = f.sustained_ratio(heads, 10e-3, 2e-3, 4e-3)
    assert np.round(found, 4).tolist() == wanted
    assert float(f.sustained_ratio(10**9, 10e-3, 2e-3, 4e-3)) == pytest.approx(10 / 12)


def test_fewer_heads_at_equal_capacity():
    xy = math.sqrt(5 / 3)
    assert float(f.heads_at_capacity(10, xy, xy)) == pytest.approx(6)
    before, after = (f.capacity_bytes(*d) for d in ((10, 4000, 120), (6, 4000 * xy, 120 * xy)))
    assert float(after) == pytest.approx(float(before))
    # The times of figure 5.
    ratios = f.sustained_ratio([10, 6], 10e-3, 2e-3, 4e-3)
    assert float(ratios[1] / ratios[0] * xy) == pytest.approx(1.277, abs=1e-3)
    assert float(ratios[1] / ratios[0]) == pytest.approx(1 - 0.011, abs=5e-4)


def test_clusters():
    mib = [15, 16, 127, 128, 255, 256, 511, 512, 1023, 1030]
    assert f.cluster_sectors(mib).tolist() == [8, 4, 4, 8, 8, 16, 16, 32, 32, 64]
    large = 32 * 2**20 // 512
    assert f.fat_sectors(large, [4, 8, 16, 32, 64]).tolist() == [64, 32, 16, 8, 4]
    assert (4 * f.allocated_sectors(3, [4, 16])).tolist() == [16, 64]


@given(st.integers(16, 2047))
def test_a_partition_has_fewer_clusters_than_fat16_can_count(mib):
    cluster = int(f.cluster_sectors(mib))
    assert mib * 2048 / cluster < 65_536
    assert cluster == 4 or mib * 2048 / (cluster / 2) >= 65_536


# Brute force.


@given(n=st.integers(1, 300), s=st.integers(1, 120), a=st.integers(1, 64))
def test_switches_are_those_counted_over_all_starts(n, s, a):
    starts = np.arange(0, s * a, a)
    counted = np.mean((starts + n - 1) // s - starts // s)
    assert float(f.switches_per_request(n, s, a)) == pytest.approx(float(counted), abs=1e-12)


def test_aligned_blocks_never_switch():
    assert float(f.switches_per_request(8, 160, 8)) == 0
    assert float(f.switches_per_request(8, 160)) == 7 / 160


@given(st.integers(1, 40))
def test_fat_sectors_of_a_chain_that_starts_anywhere(k):
    starts = np.arange(256)
    counted = np.mean((starts + k - 1) // 256 - starts // 256 + 1)
    assert float(f.fat_sectors(k * 4, 4, aligned=False)) == pytest.approx(float(counted))


@given(st.floats(0, 8))
def test_seeks_of_a_displacement_that_starts_anywhere(x):
    table = np.array([0, 3.0, 3.5, 3.7, 4.2, 4.1, 5.0, 5.5, 6.0, 7.0])
    starts = (np.arange(2000) + 0.5) / 2000
    counted = np.mean(table[np.floor(starts + x).astype(int)])
    assert float(f.mean_seek_time_s(x, table)) == pytest.approx(float(counted), abs=1e-2)


def trapezoid(values, at):
    return float(np.sum(np.diff(at) * (values[1:] + values[:-1]) / 2))


@given(c=st.floats(2e4, 9e8), k=st.floats(1.1, 1e3), base=times, travel=times)
def test_log_uniform_seeks_are_the_integral_over_displacements(c, k, base, travel):
    a, b = c / k, c * k
    log = np.linspace(math.log(a), math.log(b), 20_001)
    x = np.exp(log) / c
    chance = trapezoid(np.minimum(x, 1), log) / (log[-1] - log[0])
    found = f.log_uniform_seek_probability(a, b, c)
    assert float(found) == pytest.approx(float(chance), rel=1e-5)
    # The square root of the distance, if that is more than a cylinder.
    ways = np.where(x > 1, np.sqrt(np.maximum(x, 1)), x)
    mean = trapezoid(base * np.minimum(x, 1) + travel * ways, log) / (log[-1] - log[0])
    time = f.log_uniform_seek_time_s(a, b, c, base, travel)
    assert float(time) == pytest.approx(float(mean), rel=1e-4)


def test_no_seek_in_a_window_that_starts_anywhere():
    random = np.random.default_rng(1)
    places = random.uniform(0, 7.3, (2, 400_000)) + random.uniform(0, 1, 400_000)
    same = np.mean(np.floor(places[0]) == np.floor(places[1]))
    exact = float(f.no_seek_probability(7.3, aligned=False))
    assert exact == pytest.approx(float(same), abs=2e-3)
    assert exact < float(f.no_seek_probability(7.3))


# Limits and directions.


@given(n=counts, s=counts, more=counts)
def test_more_sectors_on_a_track_mean_fewer_switches(n, s, more):
    before, after = f.switches_per_request(n, [s, s + more])
    assert after <= before
    assert (n == 1) == (before == 0)


@given(h=counts, more=counts, turn=times, track=times, extra=times)
def test_fewer_heads_lower_the_sustained_rate(h, more, turn, track, extra):
    few, many = f.sustained_ratio([h, h + more], turn, track, track + extra)
    assert 0 < few < many < turn / (turn + track) * (1 + 1e-12)


@given(size=st.floats(512, 1e8), larger=factors, factor=factors, seek=times)
def test_the_gain_by_a_higher_rate_has_a_limit(size, larger, factor, seek):
    gains = f.rate_gain_ratio(0.5e-3, [seek, seek, 2 * seek], 5400, [size, size * larger, size],
                              RATE, factor)  # fmt: skip
    assert 0 < gains[0] < gains[1] < 1 - 1 / factor
    assert gains[2] < gains[0]


@given(y=factors, b=times, c=times, part=st.floats(0.01, 0.99))
def test_denser_tracks_pay_beyond_the_break_even_distance(y, b, c, part):
    even = float(f.break_even_cylinders(y, b, c))

    def change(cylinders):
        before = f.seek_time_s(cylinders, 1.0, 1.0, b, c)
        return float(f.seek_time_s(cylinders / y, y, 1.0, b, c) - before)

    assert change(even * part) > 0 > change(even / part)
    assert float(f.break_even_window_cylinders(y, b, c)) == pytest.approx(even * (15 / 8) ** 2)


@given(y=st.floats(1.0001, 1.01), b=times, c=times)
def test_the_break_even_distance_of_a_small_step(y, b, c):
    found = float(f.break_even_cylinders(y, b, c))
    assert found == pytest.approx((2 * c / b) ** 2, rel=0.02)


def test_break_even_of_the_chosen_drive():
    """Settling of 0.2 ms per doubling, B = 0.2139 ms: 10 cylinders, a window of 36."""
    settle = 0.2 / math.log(2)
    assert float(f.break_even_cylinders(2, 0.2139, settle)) == pytest.approx(10, abs=0.5)
    assert float(f.break_even_window_cylinders(2, 0.2139, settle)) == pytest.approx(36, abs=0.5)


def test_share_of_travel_that_the_printed_changes_mean():
    share = f.travel_share(0.93, 0.83, 2)
    assert float(share) == pytest.approx(0.449, abs=1e-3)
    assert float(f.seek_time_factor(0.93, share, 2)) == pytest.approx(0.83)


@given(share=st.floats(0, 0.9), s=counts)
def test_no_id_only_adds_sectors(share, s):
    found = float(f.no_id_sectors(s, share))
    assert found * (1 - share) == pytest.approx(s)
    assert found >= s


def test_today():
    # 18 TB at 8 ms and 7200 rpm: 1/(8 + 4.17) ms = 82 accesses/s over 18 TB.
    assert float(f.access_density_per_s_per_tb(18e12, 8e-3, 7200)) == pytest.approx(4.566, abs=0.01)
    assert float(f.rebuild_time_s(18e12, 200e6)) == 90_000


@pytest.mark.parametrize("numbers", [3, [3, 4], np.array([[3.0], [4.0]])])
def test_arrays_are_broadcast(numbers):
    found = f.sustained_ratio(numbers, 10e-3, [2e-3, 1e-3], 4e-3)
    assert found.shape == np.broadcast_shapes(np.shape(numbers), (2,))


def test_a_share_of_travel_that_says_nothing_is_refused():
    with pytest.raises(ConfigError, match=r"^seek_count_factor: got 1/sqrt"):
        f.travel_share(1 / np.sqrt(2), 0.8, 2)
