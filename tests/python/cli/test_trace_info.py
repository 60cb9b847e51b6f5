"""`trace-info` on traces whose statistics are known by hand."""

import json

import pytest
from conftest import ROOT

from headstack.cli import main

HEADER = "time_us,device,lba,blocks,op\n"


@pytest.fixture
def info(capsys):
    def call(trace, *more):
        assert main(["trace-info", str(trace), "--json", *map(str, more)]) == 0
        return json.loads(capsys.readouterr().out)

    return call


@pytest.fixture
def shown(capsys):
    def call(trace, *more):
        assert main(["trace-info", str(trace), *map(str, more)]) == 0
        return capsys.readouterr().out

    return call


def csv(path, rows):
    path.write_text(HEADER + "".join(",".join(map(str, row)) + "\n" for row in rows))
    return path


def test_the_format_says_why_it_was_taken(tmp_path, info, shown):
    spc = tmp_path / "a.spc"
    spc.write_text("".join(f"0,{1000 * i},4096,{'rw'[i % 2]},{i / 100}\n" for i in range(20)))
    opened = info(spc)["opened"]
    assert (opened["format"], opened["time_unit"]) == ("spc", "seconds")
    assert opened["size_unit"] == "addresses in 512-byte blocks, sizes in bytes"
    scores = [score for _, score in opened["fits"]]
    assert opened["fits"][0][0] == "spc"
    assert scores == sorted(scores, reverse=True)
    assert info(spc, "--format", "spc")["opened"]["fits"] is None
    assert "spc, as named" in shown(spc, "--format", "spc")
    assert f"spc, fits best: {scores[0]} of 100" in shown(spc)


def test_every_format_tells_its_units():
    from headstack import _bridge

    for known in _bridge.call("formats"):
        assert known["time_unit"], known["name"]
        assert known["size_unit"], known["name"]


def test_counts_and_sizes_of_each_operation(tmp_path, info, shown):
    rows = [
        (0, 0, 0, 8, "R"),
        (1, 0, 8, 16, "R"),
        (2, 1, 63, 8, "W"),
        (3, 1, 64, 8, "write-through"),
        (4, 1, 0, 0, "F"),
    ]
    trace = csv(tmp_path / "a.csv", rows)
    by_op = {o["op"]: o for o in info(trace)["operations"]}
    assert set(by_op) == {"read", "write", "write-through", "flush"}
    read = by_op["read"]
    assert (read["n_requests"], read["bytes"], read["size_mean_bytes"]) == (2, 24 * 512, 6144)
    assert (read["size_min_bytes"], read["size_max_bytes"]) == (4096, 8192)
    assert by_op["write"]["unaligned_ratio"] == 1
    assert by_op["write-through"]["unaligned_ratio"] == 0
    lines = shown(trace).splitlines()
    assert any(line.split()[:3] == ["read", "2", "40.0%"] for line in lines)
    assert any(line.split()[:5] == ["1", "3", "0", "2", "1"] for line in lines)


def test_the_longest_gap_is_exact_and_quantiles_say_that_they_are_not(tmp_path, info):
    # A histogram of three digits would give 1,000,700 us to 1,001,390 us.
    times = [0, 1_000_700, 1_000_800]
    found = info(csv(tmp_path / "a.csv", [(t, 0, 0, 8, "R") for t in times]))
    assert found["interarrival_s"]["max"] == 1.0007
    assert "histogram" in found["interarrival_quantile_method"]


def test_rates_over_time_hold_every_request(tmp_path, info):
    # For 100 s ten reads of 4 KiB a second, then for 100 s one write of 8 KiB a second.
    rows = [(i * 100_000, 0, 8 * i, 8, "R") for i in range(1000)]
    rows += [(100_000_000 + i * 1_000_000, 0, 8 * i, 16, "W") for i in range(100)]
    rates = info(csv(tmp_path / "a.csv", rows))["rates"]
    assert (sum(rates["n_reads"]), sum(rates["n_writes"])) == (1000, 100)
    assert sum(rates["write_bytes"]) == 100 * 8192
    half = int(100 / rates["bin_s"])
    per_s = sum(rates["n_reads"][: half - 1]) / ((half - 1) * rates["bin_s"])
    assert per_s == pytest.approx(10, rel=0.02)
    assert sum(rates["n_reads"][half + 1 :]) == 0


def test_addresses_over_time_by_device(tmp_path, info):
    # One device goes from 0 to 64 GB in 64 s, the other stays at 1 GB.
    rows = []
    for i in range(64):
        rows.append((i * 1_000_000, 0, i * 1_953_125, 8, "R"))
        rows.append((i * 1_000_000, 7, 1_953_125, 8, "W"))
    maps = {m["device"]: m for m in info(csv(tmp_path / "a.csv", rows))["addresses"]}
    for device, at in ((0, lambda t: t * 1e9), (7, lambda _: 1e9)):
        one = maps[device]
        assert sum(map(sum, one["n_requests"])) == 64
        for time, row in enumerate(one["n_requests"]):
            for place, n in enumerate(row):
                if n:
                    low, high = (at(t * one["bin_s"]) for t in (time, time + 1))
                    assert low - one["bin_bytes"] <= place * one["bin_bytes"] <= high


def test_reuse_and_working_set(tmp_path, info):
    # Page 0 three times within a minute and once two minutes later; pages 1 and 2 once.
    rows = [(0, 0, 0, 8, "R"), (1, 0, 0, 16, "W"), (2, 0, 4, 2, "R")]
    rows += [(130_000_000, 0, 0, 8, "R"), (130_000_001, 0, 16, 8, "R")]
    found = info(csv(tmp_path / "a.csv", rows))
    reuse = found["reuse"]
    assert (reuse["n_touches"], found["footprint_bytes"]) == (6, 3 * 4096)
    assert reuse["repeated_touches_ratio"] == pytest.approx(3 / 6)
    assert reuse["pages_touched_again_ratio"] == pytest.approx(1 / 3)
    assert not reuse["is_estimate"]
    # Three minutes: two pages, none, two pages.
    assert found["working_set_bytes"]["window_s"] == 60
    assert found["working_set_bytes"]["mean"] == pytest.approx(4 * 4096 / 3)
    assert found["working_set_bytes"]["max"] == 2 * 4096


def aligned(n, step_us=1000):
    return [(i * step_us, 0, 8 * i, 8, "W") for i in range(n)]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (aligned(20), None),
        ([(i // 4 * 1_000_000, 0, 0, 8, "R") for i in range(20)], "times are whole seconds"),
        ([(7, 0, 0, 8, "R")] * 20, "all requests have one time"),
        ([(i // 10 * 7, 0, 0, 8, "R") for i in range(20)], "requests have two times only"),
        ([(i, 0, 63 + 8 * i, 8, "W") for i in range(20)], "100.0 % of reads and writes, 100.0 % of writes, do not"),
        ([(i, 0, 63 + 8 * i, 8, "R") for i in range(20)], "100.0 % of reads and writes, 0.0 % of writes, do not"),
        ([*aligned(20), (20_000, 0, 0, 0, "R")], "1 reads and writes of no bytes left out"),
    ],
)
def test_what_misleads_is_told(tmp_path, info, shown, rows, told):
    trace = csv(tmp_path / "a.csv", rows)
    warnings = info(trace)["warnings"]
    if told is None:
        assert warnings == []
        return
    (found,) = [w for w in warnings if told in w["text"]]
    assert f"warning ({found['name']}): {found['text']}" in shown(trace)


def test_times_that_run_backwards_are_counted(tmp_path, info):
    times = [0, 10, 5, 20, 15, 30, *range(40, 60)]
    trace = csv(tmp_path / "a.csv", [(t, 0, 0, 8, "R") for t in times])
    found = info(trace, "--order", "sort")
    assert found["n_out_of_order"] == 2
    assert any("2 times run backwards in the file: sorted" in w["text"] for w in found["warnings"])
    found = info(trace, "--order", "sort:1")
    assert found["n_clamped"] == 2
    assert any("2 of them moved to a later time" in w["text"] for w in found["warnings"])


def iolog(path, waits):
    lines = ["fio version 2 iolog", "/dev/sda add", "/dev/sda open"]
    for i, wait in enumerate(waits):
        lines += [f"/dev/sda wait {wait}", f"/dev/sda write {4096 * i} 4096"]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_fio_waits_that_are_pauses_are_told(tmp_path, info):
    pauses = [1000, 200, 3000, 200, 400, 5000, 100, 200, 300, 100]
    trace = iolog(tmp_path / "a.log", pauses)
    found = info(trace)
    assert any("waits lie before the one before them" in w["text"] for w in found["warnings"])
    found = info(trace, "-p", "wait=microseconds-since-wait")
    assert found["duration_s"] == pytest.approx(sum(pauses[1:]) * 1e-6)
    assert found["warnings"] == []
    rising = iolog(tmp_path / "b.log", [1, 1, 2, 3, 5, 8, 13, 21, 34, 55])
    assert info(rising)["warnings"] == []


def test_figures_of_two_traces_share_a_folder(tmp_path, shown):
    out = tmp_path / "out"
    for name in ("one", "two"):
        trace = csv(tmp_path / f"{name}.csv", [(i, i % 3, 8 * i, 8, "RW"[i % 2]) for i in range(50)])
        before = {f: f.read_bytes() for f in out.glob("[!.]*")}
        shown(trace, "--plot", out)
        assert all(f.read_bytes() == held for f, held in before.items())
    figures = {f.name for f in out.glob("one-*.png")}
    maps = {f"one-addresses-device-{d}.png" for d in range(3)}
    assert figures == {"one-sizes.png", "one-rates.png", "one-reuse.png"} | maps


def test_the_bundled_trace_is_drawn(tmp_path, shown):
    text = shown(ROOT / "examples" / "traces" / "pgbench.csv.zst", "--plot", tmp_path)
    for what in ("sizes", "rates", "addresses", "reuse"):
        picture = (tmp_path / f"pgbench-{what}.svg").read_text()
        assert "<svg" in picture
        assert f"pgbench-{what}.png" in text
    assert "requests per second" in (tmp_path / "pgbench-rates.svg").read_text()
