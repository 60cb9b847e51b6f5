"""Drives computed from data sheets: close to the hand-made files and to the makers' geometry."""

import json
import tomllib
from fractions import Fraction

import pytest
from conftest import closed_loop

from headstack import _bridge, drives
from headstack.cli import main
from headstack.drives import datasheet
from headstack.runs import api

#: Values of each drive's data sheet, manual or paper, from the sources in its hand-made file. If
#: none states seek times or an inner rate, the values chosen in that file; no other values of it.
SHEETS = {
    "constellation-es3-4tb": {
        "capacity": "4 TB",
        "rpm": 7200,
        "heads": 10,
        "rate": "175/83 MB/s",
        "seek": "8.5/0.8/17 ms",
        "cache": "128 MB",
        "link": "600 MB/s",
        "sector": "512 B",
    },
    "exos-x18": {
        "capacity": "18 TB",
        "rpm": 7200,
        "platters": 9,
        "rate": "270 MB/s",
        "seek": "7.5/0.8/15.3 ms",
        "random_reads": 170,
        "cache": "256 MB",
        "link": "600 MB/s",
    },
    "barracuda-es-750": {
        "capacity": "750 GB",
        "rpm": 7200,
        "platters": 4,
        "rate": "72/40.3 MB/s",
        "seek": "8.5/0.8/17 ms",
        "write_seek": "9.5 ms",
        "cache": "8 MB",
        "write_cache": False,
        "queue_depth": 0,
    },
}
GOOD = {"name": "d", **SHEETS["constellation-es3-4tb"]}


def described(spec):
    return _bridge.call("drive_info", json.dumps(spec))


def mean_response_s(specs, capacity, **load):
    synthetic = {
        "n_requests": 20_000,
        "reads": 0.6,
        "sequential": 0.1,
        "size": "4 KiB",
        "arrivals": "poisson",
        "rate": "50/s",
        "footprint": f"{int(capacity) // 4096 * 4096} B",
        **load,
    }
    systems = [{"name": f"s{i}", "drive": spec} for i, spec in enumerate(specs)]
    document = api.run(workload={"synthetic": synthetic}, systems=systems, log_requests=False).document
    assert all(s["n_errors"] == 0 for s in document["systems"])
    return [s["response_time_s"]["mean"] for s in document["systems"]]


@pytest.mark.parametrize("name", SHEETS)
def test_a_data_sheet_alone_is_within_five_percent_of_the_hand_made_file(name):
    ours, made = drives.from_datasheet("solved", **SHEETS[name]), drives.load(name)
    a, b = described(ours), described(made)
    assert a["capacity_bytes"] == pytest.approx(b["capacity_bytes"], rel=0.05)
    for end, rate in b["sustained_bytes_per_s"].items():
        assert a["sustained_bytes_per_s"][end] == pytest.approx(rate, rel=0.05)
    capacity = min(a["capacity_bytes"], b["capacity_bytes"])
    for load in ({}, {"reads": 1.0, "rate": "20/s"}):
        solved, hand = mean_response_s([ours, made], capacity, **load)
        assert solved == pytest.approx(hand, rel=0.05)


def test_the_makers_own_number_of_tracks_comes_out():
    """The Constellation ES.3's manual has 320,800 tracks per surface, which is not an input."""
    sheet = {**SHEETS["constellation-es3-4tb"], "head_switch": "1 ms"}
    spec = drives.from_datasheet("solved", **sheet)
    assert spec["geometry"]["cylinders"] == pytest.approx(320_800, rel=0.01)


def test_block_counts_are_the_industrys():
    """IDEMA LBA1-03 and SFF-8447, as drives report them."""
    for size, blocks in [(750e9, 1_465_149_168), (4e12, 7_814_037_168), (18e12, 35_156_656_128), (19.07e9, 37_246_093)]:
        assert datasheet.standard_blocks(size) == blocks


def test_drives_of_today_have_the_order_of_their_firmware_and_bands():
    """From 2018 on, or from 10 TB on if there is no year; the ageing is the measured drive's."""
    big, small = {**SHEETS["exos-x18"], "random_reads": None}, SHEETS["constellation-es3-4tb"]
    measured = drives.load("ultrastar-hc570")["queue"]
    for sheet in (big, {**small, "year": 2018}):
        spec = drives.from_datasheet("d", **sheet)
        queue = spec["queue"]
        assert (spec["geometry"]["layout"], spec["geometry"]["band_cylinders"]) == ("adaptive", 315)
        assert queue["scheduler"] == measured["scheduler"] == "depth-aged-sptf"
        assert queue["scheduler_parameters"] == measured["scheduler_parameters"]
    for sheet in (small, {**big, "year": 2017}):
        spec = drives.from_datasheet("d", **sheet)
        assert (spec["queue"]["scheduler"], spec["geometry"]["layout"]) == ("satf", "serpentine")


@pytest.mark.parametrize("published", [130, 170, 180])
def test_random_reads_at_depth_16_are_the_sheets(published):
    sheet = {**SHEETS["exos-x18"], "random_reads": published}
    spec = drives.from_datasheet("solved", **sheet)
    system = closed_loop(spec, 16, warm_up=100, footprint="18 TB")
    assert system["throughput_iops"] == pytest.approx(published, rel=0.05)


def test_the_writes_of_a_sheet_alone_are_those_that_the_maker_states():
    """550 random writes of 4 KiB per second at depth 16 (data sheet DS2045): not an input."""
    spec = drives.from_datasheet("solved", **SHEETS["exos-x18"])
    load = {"reads": 0.0, "sequential": 0.0, "size": "4 KiB", "footprint": "18 TB"}
    system = closed_loop(spec, 16, n_requests=100_000, warm_up=70_000, **load)
    assert system["throughput_iops"] == pytest.approx(550, rel=0.05)


@pytest.mark.parametrize(("name", "rate"), [("constellation-es3-4tb", 175e6), ("exos-x18", 270e6)])
def test_a_long_read_gets_the_rate_of_the_sheet(name, rate):
    """Sequential reads in the simulator, not the formula that was used."""
    spec = drives.from_datasheet("solved", **SHEETS[name])
    system = closed_loop(spec, 4, warm_up=100, sequential=1.0, size="1 MiB", footprint="4 GB")
    assert system["throughput_bytes_per_s"] == pytest.approx(rate, rel=0.005)


def test_power_of_random_reads_is_the_sheets():
    sheet = {**SHEETS["constellation-es3-4tb"], "power": "8/11.3 W", "standby": "0.9 W"}
    spec = drives.from_datasheet("solved", **sheet)
    watts = described(spec)["power_w"]
    assert watts["idle"] == pytest.approx(8, abs=0.01)
    assert watts["standby"] == pytest.approx(0.9)
    system = closed_loop(spec, 1, warm_up=100, footprint="4 TB")
    assert system["power_w"]["mean"] == pytest.approx(11.3, rel=0.03)


def test_a_faster_spindle_draws_what_its_sheet_says():
    sheet = {**GOOD, "rpm": 15000, "power": "12/18 W"}
    watts = described(datasheet.solve(sheet).spec)["power_w"]
    assert watts["idle"] == pytest.approx(12, abs=0.01)


@pytest.mark.parametrize("value", ['Ctrl \x01\x7f "quoted" \\ \u2028', "'''", "a\nb"])
def test_text_survives_the_file(value):
    drive = datasheet.solve({**GOOD, "title": value, "source": value})
    assert tomllib.loads(drive.text()) == drive.spec


def test_every_value_says_where_it_comes_from():
    sheet = {**GOOD, "power": "8/11.3 W", "price": "255/315", "year": 2013, "head_switch": "1 ms"}
    drive = datasheet.solve(sheet)
    for table, values in drive.spec.items():
        if table in ("name", "title", "description", "sources"):
            continue
        keys = [table] if not isinstance(values, dict) else [f"{table}.{k}" for k in values]
        for key in keys:
            assert drive.source_of(key), key
    lines = drive.text().splitlines()
    cylinders = next(line for line in lines if line.startswith("cylinders = "))
    assert cylinders.endswith("# derived")
    assert 'single = "0.8 ms"' in lines
    assert any("sectors_per_track = rate T" in line for line in lines)


@pytest.fixture
def sheet(tmp_path):
    file = tmp_path / "sheet.toml"
    text = [f"{k} = {json.dumps(v)}" for k, v in SHEETS["exos-x18"].items()]
    file.write_text("\n".join(text))
    return file


def test_the_command_writes_a_drive_that_runs(tmp_path, sheet, capsys):
    big = tmp_path / "big.toml"
    assert main(["drives", "new", "big", "--from", str(sheet), "-o", str(big)]) == 0
    assert str(big) in capsys.readouterr().out
    assert drives.load(big) == drives.from_datasheet("big", **SHEETS["exos-x18"])
    assert main(["drives", str(big), "--json"]) == 0
    info = json.loads(capsys.readouterr().out)["info"]
    assert info["capacity_bytes"] == 35_156_656_128 * 512


def test_the_command_line_comes_before_the_sheet(tmp_path, sheet, capsys):
    args = ["--from", str(sheet), "--rpm", "5400", "--no-write-cache", "-o", str(tmp_path)]
    assert main(["drives", "new", "slow", *args]) == 0
    spec = drives.load(tmp_path / "slow.toml")
    assert spec["geometry"]["rotation_speed"] == "5400 rpm"
    assert "write_back" not in spec["cache"]


def test_name_and_file_agree_and_nothing_is_overwritten(tmp_path, sheet, capsys):
    def new(name, *more):
        code = main(["drives", "new", name, "--from", str(sheet), *more])
        return code, capsys.readouterr().err

    other = tmp_path / "other.toml"
    code, told = new("big", "-o", str(other))
    assert (code, other.exists()) == (2, False)
    assert "need a file big.toml" in told
    assert new("big", "-o", str(tmp_path))[0] == 0
    code, told = new("big", "-o", str(tmp_path))
    assert code == 2
    assert "which exists, need another file or --force" in told
    assert new("big", "-o", str(tmp_path), "--force")[0] == 0
    sheet.write_text('name = "small"\n' + sheet.read_text())
    code, told = new("big", "-o", str(tmp_path / "new"))
    assert code == 2
    assert 'sheet.toml: name: got "small", need "big"' in told


def test_an_inner_rate_that_nobody_gave_is_marked_as_chosen():
    def source(name):
        return drives.from_datasheet("d", **SHEETS[name])["sources"]["geometry.zones"]

    assert "inside 0.47 of the outer one as chosen" in source("exos-x18")
    assert "inside" not in source("constellation-es3-4tb")


def test_a_drive_of_an_experiment_may_be_a_path_or_tables(tmp_path):
    drive = datasheet.solve(GOOD)
    path = tmp_path / "d.toml"
    path.write_text(drive.text())
    by_path, by_tables = mean_response_s([path, drive.spec], 4e12, n_requests=500)
    assert by_path == by_tables


def test_zones_are_those_of_a_file_made_by_hand():
    skews = (Fraction("0.5625"), Fraction("0.135"))
    made = drives.load("exos-x18")["geometry"]["zones"]
    assert datasheet.zones(535_992, 24, 18, (624, 287), skews, 315) == made
