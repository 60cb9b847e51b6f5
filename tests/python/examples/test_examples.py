"""Programs of examples that have no tests of their own print a table and draw a figure."""

import pytest
from conftest import printed

#: Arguments that take little time, words of the table, and how often they stand there.
EXAMPLES = {
    "smallest_array": (
        ["--requests", 2000, "--originals", 2, "--most", 3],
        {"10,000 rpm (original)": 1, "SA(2)": 1, "SA(4)": 1, "dual actuator": 1},
    ),
    "degraded_raid5": (
        ["--requests", 2000, "--speeds", 1, 2],
        {"conventional, healthy": 2, "two actuators at once, one member gone": 2},
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_prints_a_table_and_draws(name, tmp_path):
    args, words = EXAMPLES[name]
    shown = printed(name, tmp_path, *args)
    for word, times in words.items():
        assert shown.count(word) == times if times > 1 else word in shown


def test_a_full_media_cache_is_slow(tmp_path):
    shown = printed("shingled", tmp_path, "--caches", "16 MiB", "--minutes", 1)
    names = ("conventional", "media cache of 16 MiB")
    steady, slow = (float(next(line for line in shown.splitlines() if name in line).split()[-3]) for name in names)
    assert 0 < slow < steady / 10
