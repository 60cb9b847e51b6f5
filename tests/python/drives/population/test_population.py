"""Populations: heads, policies, presets, yields, drive files, the command.

Bounds come from the paper, from closed forms, and from a prototype of the same model that is no
part of the project (tolerances of means over 200 seeds are four or more standard errors).
"""

import json
import math
from dataclasses import replace
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT

from headstack import drives
from headstack.cli import main
from headstack.drives import population
from headstack.drives.population import HeadModel, Policy
from headstack.drives.population.format import track_bytes
from headstack.errors import ConfigError
from headstack.papers.snowflakes import sets

NAMES = tuple(population.PRESETS)
SEEDS = (0, 1, 2)
CLASSIC = Policy("classic", lowest=0, highest=0)
WIDE = Policy("adaptive", lowest=-8, highest=3)


def heads(model, n=4000, seed=0):
    shared, _ = model.drives(n, seed)
    return model.heads(shared, 8, seed)


# Heads.


def test_heads_have_the_moments_of_their_model():
    model = HeadModel(head_sd=0.05, drive_sd=0.02, quality_mean=0.04, quality_sd=0.01)
    found = heads(model, 20_000)
    assert found.width.mean() == pytest.approx(0, abs=5 * 0.05 / math.sqrt(20_000))
    assert found.width.std(axis=1, ddof=1).mean() == pytest.approx(0.05, rel=0.05)
    means = found.width.mean(axis=1)
    assert means.std() == pytest.approx(math.hypot(0.02, 0.05 / math.sqrt(8)), rel=0.03)
    assert found.quality.mean() == pytest.approx(0.04, rel=0.01)
    assert found.quality.std() == pytest.approx(0.01, rel=0.02)


def test_drives_of_a_batch_are_correlated():
    model = HeadModel(head_sd=0.0, drive_sd=0.01, batch_sd=0.03, batch_drives=10)
    shared, _ = model.drives(20_000, 3)
    batches = shared.reshape(-1, 10)
    covariance = np.mean(batches[:, 0] * batches[:, 1])
    assert covariance == pytest.approx(0.03**2, rel=0.1)
    across = np.mean(batches[:-1, 0] * batches[1:, 0])
    assert abs(across) < 0.1 * covariance


def test_weak_drives_are_narrower_by_the_range():
    model = HeadModel(drive_sd=0.0, weak_probability=0.25, weak_least=0.1, weak_most=0.2)
    shared, weak = model.drives(20_000, 1)
    assert weak.mean() == pytest.approx(0.25, abs=0.015)
    assert (shared[~weak] == 0).all()
    assert -0.2 <= shared[weak].min() < -0.195
    assert -0.105 < shared[weak].max() <= -0.1


@pytest.mark.parametrize("name", NAMES)
def test_a_drive_does_not_depend_on_how_many_are_drawn(name):
    few, many = (population.draw(name, n, 5) for n in (3, 60))
    assert (few.classes == many.classes[:3]).all()
    assert (few.factors == many.factors[:3]).all()
    assert few.damage == tuple(a for a in many.damage if a.drive < 3)
    other = population.draw(name, 3, 6)
    assert (other.factors != few.factors).all()


# Policies.


@pytest.mark.parametrize("quality", [0.0155, 0.02, 0.03, 0.05, 0.08])
def test_yields_are_those_of_the_distribution(quality):
    """Classic: P(|u| <= q) of a normal u; adaptive scraps what lies between two classes."""
    model = HeadModel(head_sd=0.055, drive_sd=0.018, quality_mean=quality, quality_sd=0.2 * quality)
    found = heads(model, 20_000)
    shares = {p.name: p.fit(found).used.mean() for p in (CLASSIC, WIDE)}
    drawn = NormalDist(quality, 0.2 * quality)
    margins = np.array([drawn.inv_cdf((i + 0.5) / 400) for i in range(400)])
    spread = math.hypot(0.055, 0.018)
    expected = np.mean([2 * NormalDist().cdf(max(0, q) / spread) - 1 for q in margins])
    # 20,000 drives of 8 heads whose widths are correlated.
    assert shares["classic"] == pytest.approx(expected, abs=0.01)
    half = WIDE.step / 2
    between = np.mean(np.clip((half - margins) / half, 0, 1))
    assert shares["adaptive"] == pytest.approx(1 - between, abs=0.01)
    assert shares["adaptive"] >= shares["classic"]


def test_adaptive_uses_every_head_that_has_half_a_step_of_margin():
    random = np.random.default_rng(7)
    width = random.uniform((WIDE.lowest - 0.5) * WIDE.step, 1.0, (500, 8))
    quality = random.uniform(WIDE.step / 2, 0.1, (500, 8))
    fit = WIDE.fit(population.Heads(width, quality))
    assert fit.used.all()
    assert not fit.diverted.any()


def test_classes_by_hand():
    step = 0.031
    width = np.array([[0.0, 0.9 * step, 1.6 * step, 9 * step, -1.4 * step, -3.4 * step]])
    found = population.Heads(width, np.full_like(width, 0.016))
    menu = {"lowest": -2, "highest": 1}
    adaptive = Policy("adaptive", **menu).fit(found)
    # Wider than the top class: it runs below its limit. Narrower than the lowest: scrapped.
    assert adaptive.classes[0].tolist() == [0, 1, 1, 1, -1, -2]
    assert adaptive.used[0].tolist() == [True, True, True, True, True, False]
    binned = Policy("binned", **menu).fit(found)
    assert binned.diverted[0].tolist() == [False, False, True, True, False, True]
    assert not (binned.used & binned.diverted).any()
    classic = CLASSIC.fit(found)
    assert classic.used[0].tolist() == [True, False, False, False, False, False]


def test_densities_are_equal_in_area():
    found = WIDE.density(np.arange(-8, 4, dtype=np.int16))
    assert found.prod(axis=-1) == pytest.approx(np.ones(12))
    assert found[1:, 0] / found[:-1, 0] == pytest.approx(np.full(11, math.exp(0.031)))


def test_every_place_gets_a_head_that_fits_and_heads_are_counted():
    preset = population.preset("barracuda-es2-2008")
    model = replace(preset.heads, quality_mean=0.04, weak_probability=0.0)
    drawn = population.draw(preset, 300, 2, heads=model, policy=CLASSIC)
    assert (np.abs(drawn.heads.width) <= drawn.heads.quality).all()
    assert (drawn.classes == 0).all()
    c = drawn.counts
    assert c.used == 300 * 8
    # An assembly that is taken apart gives its fitting heads back.
    assert c.taken >= c.used + c.scrapped
    expected = np.mean(CLASSIC.fit(heads(model, 20_000)).used)
    assert c.head_yield == pytest.approx(expected, abs=0.03)


def test_a_policy_that_no_head_fits_is_an_error():
    model = HeadModel(quality_mean=0.0, quality_sd=0.0)
    with pytest.raises(ConfigError, match="without heads that fit"):
        population.draw("wd-re3-2009", 3, heads=model, policy=CLASSIC)


# Drives.


@pytest.mark.parametrize("name", NAMES)
def test_any_two_surfaces_hold_the_same_within_a_per_cent_and_all_hold_the_capacity(name):
    preset = population.preset(name)
    classes = np.arange(preset.policy.lowest, preset.policy.highest + 1, dtype=np.int16)
    spec = drives.load(name)
    size, tracks = track_bytes(spec, preset.policy.density(classes))
    held = size * tracks
    assert (held.max(axis=1) / held.min(axis=1) < 1.01).all()
    for seed in SEEDS:
        drawn = population.draw(name, 40, seed)
        assert (drawn.raw_bytes >= drawn.capacity_bytes).all(), seed


def test_the_rate_over_the_first_quarter_is_that_of_its_blocks():
    drawn = population.draw("barracuda-es2-2008", 40, 3)
    assert drawn.damage
    blocks = drawn.sweep(2**20 * 64, 0, drawn.capacity_bytes // 4, noise=False)[:, 0]
    expected = 1 / (1 / blocks).mean(axis=1)
    assert drawn.quarter_rates() == pytest.approx(expected, rel=1e-3)


def test_equal_drives_sweep_alike():
    """All classes 0 and factor 1: two drives are one, and blocks of a zone hardly vary."""
    drawn = replace(population.draw("cheetah-10k6-2002", 2), factors=np.ones(2))
    rates = drawn.sweep(128 * 2**20, noise=False)[:, 0]
    assert (rates[0] == rates[1]).all()
    ends = np.cumsum(drawn.zone_bytes()) / (128 * 2**20)
    for begin, end in zip([0.0, *ends], ends, strict=False):
        inside = rates[0, math.ceil(begin) : math.floor(end)]
        assert np.ptp(inside) < 1e-3 * inside.mean()


def test_damaged_areas_are_disjoint_and_slow():
    drawn = population.draw("barracuda-es2-2008", 500, 9)
    quarter = drawn.capacity_bytes // 4
    by_drive = {}
    for area in drawn.damage:
        by_drive.setdefault(area.drive, []).append(area)
    assert len(by_drive) / 500 == pytest.approx(0.08, abs=0.04)
    for areas in by_drive.values():
        assert len(areas) == 3
        assert all(a.last_byte <= b.first_byte for a, b in pairwise(areas))
        share = sum(a.last_byte - a.first_byte for a in areas) / quarter
        assert 0.0199 < share < 0.1201
        assert all(0.3 <= a.rate_factor <= 0.7 for a in areas)


# Presets against the paper.


def test_statistics_over_200_seeds():
    """Means over seeds of mean, deviation, slowest and fastest drive."""
    found = np.array(sets.many(sets.SPREAD))
    mean, deviation, slowest, fastest = found.mean(axis=0)
    assert mean == pytest.approx(105.0, abs=0.4)
    assert deviation == pytest.approx(4.5, abs=0.35)
    assert slowest == pytest.approx(-12.2, abs=1.2)
    assert fastest == pytest.approx(6.05, abs=0.6)
    low, high = np.quantile(found, (0.01, 0.99), axis=0)
    paper = np.array([105.0, 4.4, -14.5, 5.8])
    assert ((low < paper) & (paper < high)).all()
    classic = np.array(sets.many(sets.CLASSIC))
    assert classic[:, 0].mean() == pytest.approx(67.7, abs=0.15)
    assert classic[:, 1].mean() == pytest.approx(0.19, abs=0.03)
    assert ((classic[:, 1] > 0.05) & (classic[:, 1] < 0.35)).mean() >= 0.99


def test_normal_heads_do_not_reach_the_slowest_drive():
    found = np.array(sets.many(sets.SPREAD, changes=sets.Changes(weak=False, damage=False)))
    assert found[:, 1].mean() == pytest.approx(2.9, abs=0.3)
    assert found[:, 2].min() > -14.5


def test_drives_differ_more_from_set_to_set():
    found = [np.array(sets.many(n)) for n in (sets.CLASSIC, sets.ENTERPRISE, sets.DIAMONDS)]
    found.append(np.array(sets.many(sets.SPREAD)))
    shares = [(f[:, 1] / f[:, 0]).mean() for f in found]
    assert shares == sorted(shares)
    for share, expected in zip(shares, (0.003, 0.008, 0.020, 0.044), strict=True):
        assert share == pytest.approx(expected, rel=0.15)


def test_without_its_factor_a_classic_drive_is_like_the_next():
    preset = replace(population.preset(sets.CLASSIC), factor_sd=0.0)
    drawn = population.draw(preset, 9, 1)
    assert sets.spread(sets.block_rates(drawn)).deviation < 0.02


@pytest.mark.parametrize("name", [sets.CLASSIC, sets.DIAMONDS, sets.SPREAD, sets.ENTERPRISE])
def test_trials_deviate_by_less_than_the_paper_says(name):
    drawn = population.draw(name, 3, 2).undamaged()
    deviations = []
    for block in (sets.BLOCK, sets.SMALL_BLOCK):
        rates = drawn.sweep(block, 0, int(8e9), trials=60) / 1e6
        deviations.append(float(np.median(rates.std(axis=1, ddof=1))))
    assert 0.05 < deviations[0] < 0.6
    assert deviations[1] > deviations[0]


def test_a_trial_is_seeded():
    drawn = population.draw(sets.ENTERPRISE, 2)
    sweep = [drawn.sweep(sets.BLOCK, 0, 10**9, trials=2, seed=s) for s in (1, 1, 2)]
    assert (sweep[0] == sweep[1]).all()
    assert (sweep[0] != sweep[2]).any()
    assert (sweep[0][:, 0] != sweep[0][:, 1]).any()


# Yield and cost.


def test_cost_by_hand():
    """Heads without spread: every policy uses all, and costs what the parts cost."""
    model = HeadModel(head_sd=0.0, drive_sd=0.0, quality_mean=0.5, quality_sd=0.0)
    prices = population.Economics(head_usd=3, test_usd=1, adaptive_test_usd=0.5, rest_usd=50)
    classic, adaptive = population.trade(model, [CLASSIC, WIDE], 8, 1e12, prices)
    at = classic.nominal
    assert classic.backoff[at] == 0
    assert classic.usd_per_tb[at] == pytest.approx(50 + 8 * 4)
    assert adaptive.usd_per_tb[at] == pytest.approx(50 + 8 * 4.5)
    assert classic.usd_per_tb[-1] == pytest.approx((50 + 8 * 4) * math.exp(classic.backoff[-1]))


def test_adaptive_zoning_is_cheaper_where_heads_differ():
    preset = population.preset(sets.SPREAD)
    classic, adaptive = population.trade(preset.heads, [CLASSIC, preset.policy], 8, 1e12)
    assert (np.diff(classic.yields) >= 0).all()
    assert adaptive.usd_per_tb[adaptive.best] < classic.usd_per_tb[classic.best]
    # The classic maker gives up density to keep heads; the adaptive one does not have to.
    assert classic.backoff[classic.best] > adaptive.backoff[adaptive.best]


# Descriptions, files, the command.


@pytest.mark.parametrize("name", NAMES)
def test_a_drawn_drive_is_a_drive_file(name):
    drawn = population.draw(name, 2, 3)
    spec = population.description(drawn, 1)
    info = drives.described(spec, "drawn")
    assert info["capacity_bytes"] == drawn.capacity_bytes
    # The factor on times is no part of the file.
    outer = info["sustained_bytes_per_s"]["outer"]
    assert outer == pytest.approx(drawn.zone_rates[1, 0] * drawn.factors[1], rel=1e-3)


def test_the_command_writes_tables_drives_and_figures(tmp_path, capsys):
    out = tmp_path / "fleet"
    args = ["population", "wd-re3-2009", "--n", "12", "--seed", "3", "--drives", "2"]
    assert main([*args, "--out", str(out), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == json.loads((out / "population.json").read_text())
    assert said["n_drives"] == 12
    heads_ = pd.read_parquet(out / "heads.parquet")
    assert len(heads_) == 12 * 6
    assert said["classes"] == {str(k): int(v) for k, v in heads_["class"].value_counts().sort_index().items()}
    table = pd.read_parquet(out / "drives.parquet")
    between = said["between_drives"]
    assert table["quarter_rate_bytes_per_s"].mean() == pytest.approx(between["mean"])
    files = sorted((out / "drives").glob("*.toml"))
    assert [f.stem for f in files] == ["wd-re3-2009-s3-00000", "wd-re3-2009-s3-00001"]
    assert drives.described(drives.load(files[1]), files[1])["capacity_bytes"] > 0
    assert (out / "heads.png").read_bytes().startswith(b"\x89PNG")
    # A smaller population replaces the files of the larger one.
    assert main(["population", "wd-re3-2009", "--n", "2", "--out", str(out)]) == 0
    assert not (out / "drives").exists()
    assert "2 drives of 6 heads" in capsys.readouterr().out


def test_presets_and_policies_stand_in_the_docs():
    text = (ROOT / "docs" / "models" / "adaptive-zoning.md").read_text(encoding="utf-8")
    for name in (*NAMES, *population.POLICIES):
        assert f"`{name}`" in text
