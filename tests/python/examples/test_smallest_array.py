"""`examples/smallest_array.py`: arrays are compared by the same rule, over seeds, and by cost."""

import pytest
from conftest import ROOT, loaded


@pytest.fixture(scope="module")
def example():
    return loaded(ROOT / "examples" / "smallest_array.py")


def array(example, kind, count, p99s, low=100.0, high=120.0, drive="barracuda-es-750"):
    """Return an array with these p99 (ms, one per seed) and dollars."""
    results = [
        {"response_time_s": {"p99": p99 / 1e3}, "power_w": {"mean": 10.0}, "cost_usd": {"low": low, "high": high}}
        for p99 in p99s
    ]
    return example.Array(kind, drive, count, results)


@pytest.mark.parametrize("cache", ["write-through", "write-back"])
def test_all_drives_have_one_cache_policy(example, cache):
    kinds = {"original": example.ORIGINAL, **example.KINDS}
    caches = [example.system(k, d, 2, cache)["cache"] for k, d in kinds.items()]
    # Buffers differ in size, but not in policy.
    policies = [{k: v for k, v in c.items() if k != "write_segments"} for c in caches]
    assert all(p == policies[0] for p in policies)
    assert policies[0]["write_back"] is (cache == "write-back")
    assert not any("cache" in drive for drive in kinds.values())


def test_a_count_holds_for_the_mean_and_shows_those_of_the_seeds(example):
    target = array(example, "original", 8, [20.0, 22.0])
    of_kind = [
        array(example, "x", 1, [30.0, 30.0]),
        array(example, "x", 2, [19.0, 25.0]),  # enough for the first seed alone
        array(example, "x", 3, [18.0, 20.0]),
    ]
    fit, text = example.smallest(of_kind, target)
    assert (fit.count, text) == (3, "3 (2-3)")
    assert example.smallest(of_kind[:1], target) == (None, "more than 1")


def test_it_says_which_parallel_array_costs_more(example):
    original = array(example, "original", 8, [20.0], 500, 600)
    found = {
        example.CONVENTIONAL: array(example, example.CONVENTIONAL, 13, [20.0], 900, 1100),
        "SA(4): four": array(example, "SA(4): four", 7, [20.0], 1200, 1300),
    }
    assert example.dearer(found, original) == [
        "7 x SA(4): four: material costs 25% more than 13 conventional drives",
        "7 x SA(4): four: material costs 127% more than 8 original drives",
    ]


def test_prices_of_different_kinds_have_columns_of_their_own(example):
    components = example.row(array(example, "a", 1, [1.0]), "1")
    retail = example.row(array(example, "b", 1, [1.0], drive="exos-2x18-sas"), "1")
    assert components[-2:] == ["100-120", example.NONE]
    assert retail[-2:] == [example.NONE, "100-120"]


def test_seeds_give_a_range(example):
    workload = {"trace": str(example.TRACE), "count": 2000}
    (found,) = example.simulate([("a", example.ORIGINAL, 2)], workload, 3, "write-through")
    assert len(set(found.p99s_ms)) > 1
    assert min(found.p99s_ms) < found.p99_ms < max(found.p99s_ms)
