"""`examples/iops_per_tb.py`: the rates it finds, prices by hand, and the tables of its page."""

import pytest
from conftest import ROOT, check_rows, loaded, printed

from headstack import drives


@pytest.fixture(scope="module")
def example():
    return loaded(ROOT / "examples" / "iops_per_tb.py")


def test_drives_have_their_size_order_and_arms(example):
    for size in example.SIZES:
        for arms in (1, 2):
            spec = example.drive(*size, arms)
            info = drives.described(spec, "d")
            assert info["capacity_bytes"] == pytest.approx(size[0] * 1e12, rel=1e-3)
            assert info["n_actuators"] == arms
            rate = info["sustained_bytes_per_s"]["outer"]
            assert rate == pytest.approx(size[2] * 1e6 * arms, rel=0.01)
            assert spec["queue"]["scheduler"] == "depth-aged-sptf"


def test_the_rate_that_is_found_divides_loads(example):
    """Below it the p99 is shorter than the limit, above it longer: other runs, other lengths."""
    spec = example.drive(18, 9, 270, 1)
    case = (spec, example.REMEDIES["as it is"])
    (rate,) = example.most_rates([case], 0.1, 4000)
    below, above = example.tails([case, case], [0.85 * rate, 1.15 * rate], 6000)
    assert below < 0.1 < above
    # An arm that serves one read after another: `n` reads a second for `1/n` s each, 12 ms here.
    assert 60 < rate < 1 / 0.0075


def test_remedies_have_their_effect(example):
    """Of a drive of 22 TB: what serves more reads, and no less than what it consists of."""
    size = (22, 10, 291)
    names = list(example.REMEDIES)
    cases = [(example.drive(*size, r.arms), r) for r in example.REMEDIES.values()]
    found = dict(zip(names, example.most_rates(cases, 0.1, 2000), strict=True))
    # Shorter seeks, and a percentile of misses that is easier to keep.
    assert found["as it is"] < found["outer half"] < found["outer quarter"]
    assert found["as it is"] < found["cache, 80 % hits"] < found["cache, 90 % hits"]
    # A fifth has to keep 100 ms, and the others five times as long.
    for guideline in (20, 50):
        assert found[f"limit of {guideline} ms for a fifth"] > 1.2 * found["as it is"]
    # The slack of a guideline is used up: one as long as the tail that is wanted does not help.
    assert found["limit of 100 ms for a fifth"] < found["as it is"]
    # Two queues of half the load, each with an arm that seeks faster.
    assert found["two arms"] > 2 * found["as it is"]


def test_what_misses_have_to_keep(example):
    """p99 of all reads is 1 - .01/(1 - h) of the misses, if hits take no time."""
    for hits, name in example.PERCENTILES.items():
        assert float(name.removeprefix("p")) / 100 == pytest.approx(1 - 0.01 / (1 - hits))


def test_prices_by_hand(example):
    prices = example.Prices(disk=10, flash=50, second_arm=0.2, flash_share=0.04)
    assert prices.of(20, example.Remedy()) == pytest.approx(200)
    assert prices.of(20, example.Remedy(arms=2)) == pytest.approx(240)
    assert prices.of(20, example.Remedy(used=0.5)) == pytest.approx(200)
    assert prices.of(20, example.Remedy(hits=0.8)) == pytest.approx(240)


@pytest.mark.thorough
def test_the_tables_are_those_of_the_page(tmp_path):
    shown = printed("iops_per_tb", tmp_path)
    assert check_rows(shown, "studies/iops-per-tb.md", (2, 5, 8)) == 34
