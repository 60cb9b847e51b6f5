"""What is drawn is inferred back from the sweep of a drive alone."""

from itertools import pairwise

import numpy as np
import pytest

from headstack.drives import population
from headstack.papers.snowflakes import sets
from headstack.probe import sweep_fit
from headstack.probe.sweep_fit import overlaps

SEED, DRIVES, TRIALS = 11, 8, 10
ADAPTIVE = (sets.DIAMONDS, sets.SPREAD, sets.ENTERPRISE)


class Format:
    """Sizes of zones, bands and tracks of a nominal drive with these densities (H, 2)."""

    def __init__(self, spec, density):
        g = spec["geometry"]
        sector = {"512 B": 512, "4 KiB": 4096}[g["sector_size"]]
        self.turn_s = 60.0 / float(g["rotation_speed"].split()[0])
        zones, width = g["zones"], g["band_cylinders"]
        nominal = np.array([z["sectors_per_track"] for z in zones])
        wide = np.array([z["last_cylinder"] - z["first_cylinder"] + 1 for z in zones])
        assert (wide % width == 0).all(), "whole bands only"
        # After a track on the same surface, and after the last one of a band.
        self.skew, self.switch = zones[0]["cylinder_skew"], zones[0]["track_skew"]
        # The nearest integers, halves up.
        per_track = np.floor(nominal[:, None] * density[None, :, 0] + 0.5).astype(np.int64)
        self.tracks = np.floor(width * density[:, 1] + 0.5).astype(np.int64)
        self.band_bytes = per_track * sector * self.tracks
        self.cycle_bytes = self.band_bytes.sum(axis=1)
        zone_bytes = self.cycle_bytes * (wide // width)
        self.zone_start = np.concatenate([[0], np.cumsum(zone_bytes)])


@pytest.fixture(
    scope="module",
    params=[p if i == 0 else pytest.param(p, marks=pytest.mark.thorough) for i, p in enumerate(ADAPTIVE)],
)
def swept(request):
    """Drives of a set, their whole sweeps in blocks of 128 MiB, and what is found in each."""
    drawn = population.draw(request.param, DRIVES, SEED).undamaged()
    rates = drawn.sweep(sets.BLOCK, trials=TRIALS)
    surfaces, step = drawn.classes.shape[1], drawn.preset.policy.step
    found = [sweep_fit.infer(r, sets.BLOCK, surfaces=surfaces, step=step) for r in rates]
    return drawn, rates, found


def distinct(drawn):
    """Drives whose heads are not all of one class: those of others cannot be told apart."""
    return [i for i in range(len(drawn)) if np.ptp(drawn.classes[i]) > 0]


def test_zone_edges_are_found_and_no_others(swept):
    drawn, _, found = swept
    for drive, f in enumerate(found):
        true = Format(drawn.spec, drawn.densities[drive]).zone_start[1:-1] / sets.BLOCK
        assert len(f.edges) == len(true), (drive, SEED)
        assert np.abs(np.array(f.edges) - true).max() < 3, (drive, SEED)


def test_heads_classes_and_cycles_are_found(swept):
    drawn, _, found = swept
    right = []
    for i in distinct(drawn):
        form = Format(drawn.spec, drawn.densities[i])
        right += list(found[i].classes == drawn.classes[i] - drawn.classes[i].min())
        assert found[i].cycle_bytes == pytest.approx(form.cycle_bytes[0], rel=1e-4), (i, SEED)
        time = form.turn_s * (form.tracks * (1 + form.skew) + form.switch - form.skew)
        expected = form.band_bytes[0] / (time * drawn.factors[i])
        assert found[i].head_rates == pytest.approx(expected, rel=5e-3), (i, SEED)
    assert np.mean(right) >= 0.95, SEED


def test_the_number_of_heads_is_found_in_small_blocks(swept):
    drawn, rates, _ = swept
    fine = drawn.sweep(sets.SMALL_BLOCK, 0, int(8e9), trials=TRIALS)
    chosen = distinct(drawn)[:4]
    counts = [sweep_fit.infer(rates[i], sets.BLOCK, fine=(fine[i], sets.SMALL_BLOCK)).surfaces for i in chosen]
    surfaces = drawn.classes.shape[1]
    # A pattern of a shorter period looks like fewer heads: it is found as what it is.
    periods = [_period(drawn.classes[i]) for i in chosen]
    assert counts == periods
    assert np.mean([p == surfaces for p in periods]) > 0.5


def _period(classes):
    count = len(classes)
    return next(p for p in range(1, count + 1) if count % p == 0 and (classes == np.resize(classes[:p], count)).all())


def test_damage_is_left_out():
    drawn = population.draw(sets.SPREAD, 40, SEED)
    drive = next(a.drive for a in drawn.damage)
    one = drawn.part(slice(drive, drive + 1))
    rates = one.sweep(sets.BLOCK, 0, sets.quarter(one), trials=TRIALS)[0]
    clean = one.undamaged().sweep(sets.BLOCK, 0, sets.quarter(one), trials=TRIALS)[0]
    assert (rates.mean(axis=0) < 0.75 * clean.mean(axis=0)).sum() > 10
    found = sweep_fit.infer(rates, sets.BLOCK, surfaces=8, step=0.031)
    assert (found.classes == one.classes[0] - one.classes[0].min()).all()


def test_overlaps_by_hand():
    """Blocks of 7 on bands of 10, three heads."""
    found = overlaps(np.arange(0, 36, 7.0), np.array([30.0]), 3)[0]
    expected = [[7, 0, 0], [3, 4, 0], [0, 6, 1], [0, 0, 7], [5, 0, 2]]
    assert found.tolist() == expected


def test_classes_are_found_whatever_the_rate_of_the_nominal_drive():
    true = np.array([0, 3, 1, 0, 7])
    for nominal in (50e6, 107.3e6, 283e6):
        rates = nominal * np.exp(0.031 * true) * (1 + 1e-3 * np.array([1, -1, 0, 1, -1]))
        assert sweep_fit.classes(rates, 0.031).tolist() == true.tolist()


def test_edges_of_steps_by_hand():
    levels = [1.0, 1.05, 1.02, 1.10]
    times = np.repeat(levels, [100, 90, 80, 120])
    assert sweep_fit.zone_edges(times) == [100, 190, 270]
    assert sweep_fit.zone_edges(np.ones(500)) == []


def test_neighbouring_zones_do_not_hide_a_step():
    """Edges nearer than a window are found, as long as zones are longer than two."""
    random = np.random.default_rng(3)
    steps = np.cumsum(random.uniform(0.03, 0.07, 8))
    sizes = random.integers(70, 150, 8)
    logs = np.repeat(steps, sizes) + 0.002 * random.standard_normal(sizes.sum())
    edges = sweep_fit.zone_edges(np.exp(logs))
    assert edges == list(np.cumsum(sizes)[:-1])
    assert all(b - a >= 70 for a, b in pairwise(edges))
