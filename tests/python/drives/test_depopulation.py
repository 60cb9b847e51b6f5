"""Drives without one of their heads: closed forms against walks, the engine and runs."""

import json
from collections import Counter

import numpy as np
import pytest
from conftest import ROOT, THOROUGH, check_rows, closed_loop, loaded, printed

from headstack import drives
from headstack.cli import main
from headstack.drives import depopulation, population, streaming

SEED = 20261124


def drawn_heads(n):
    """Return a population and one head of each of its drives."""
    drawn = population.draw("helium-20tb", n, SEED)
    heads = np.random.default_rng(SEED).integers(0, drawn.densities.shape[1], n)
    return drawn, heads


def test_capacity_and_rates_of_a_thousand_drawn_drives_are_the_engines():
    """The engine builds the layout of each smaller drive: sectors that it holds, and its rates."""
    drawn, heads = drawn_heads(1000)
    specs = [population.description(drawn, i) for i in range(len(drawn))]
    small = [depopulation.formats(s) for s in specs]
    left = np.stack([np.delete(d, h, axis=0) for d, h in zip(drawn.densities, heads, strict=True)])
    base = depopulation.without_head(drives.load("helium-20tb"), 0)
    base["geometry"].pop("capacity_blocks")
    held = np.array([np.delete(f.held(), h, axis=1).sum() for f, h in zip(small, heads, strict=True)])
    assert np.array_equal(held, streaming.capacities(base, densities=left).astype(np.int64))
    # The file of each; that all of it is valid is asked of twelve alone, because it takes long.
    for i in range(12):
        made = depopulation.without_head(specs[i], int(heads[i]))
        lost = specs[i]["geometry"]["capacity_blocks"] - made["geometry"]["capacity_blocks"]
        assert lost * 512 == small[i].held()[:, heads[i]].sum()
        # The core reads numbers to the last place but one.
        density = np.array([list(d.values()) for d in made["geometry"]["density"]])
        assert density == pytest.approx(left[i], rel=1e-15, abs=0)
    of = []
    for spec, density in zip(specs, left, strict=True):
        pairs = [{"bpi": bpi, "tpi": tpi} for bpi, tpi in density]
        geometry = {**spec["geometry"], "surfaces": len(pairs), "density": pairs}
        of.append(depopulation.formats({**spec, "geometry": geometry}))
    turn = 60 / 7200
    rates = np.stack([f.held().sum(axis=1) / (f.turns() * turn) for f in of])
    # A zone of the engine ends with its last sector, without the switch after it: one in 3,000.
    assert rates == pytest.approx(streaming.zone_rates(base, densities=left), rel=2e-5)


def random_drive(random):
    """Return a small drive of any layout that is supported."""
    surfaces = int(random.integers(2, 6))
    layout = str(random.choice([*depopulation.LAYOUTS]))
    edges = np.cumsum(random.integers(1, 9, size=int(random.integers(1, 4))))
    zones, first = [], 0
    for edge in edges:
        own = [int(n) for n in random.integers(4, 12, size=surfaces)]
        uneven = layout != "adaptive" and random.random() < 0.5
        zones.append(
            {"first_cylinder": first, "last_cylinder": int(edge) - 1, "sectors_per_track": own if uneven else own[0]}
        )
        first = int(edge)
    geometry = {
        "rotation_speed": "7200 rpm",
        "surfaces": surfaces,
        "cylinders": first,
        "layout": layout,
        "zones": zones,
    }
    if layout in ("banded", "adaptive"):
        geometry["band_cylinders"] = int(random.integers(1, 5))
    if layout == "adaptive":
        geometry["head_order"] = str(random.choice(["same", "alternate"]))
        geometry["density"] = [
            {"bpi": float(b), "tpi": float(t)} for b, t in random.uniform(0.6, 1.6, size=(surfaces, 2))
        ]
    seek = {"model": "constant", "time": "1 ms"}
    return {"name": "small", "geometry": geometry, "seek": seek}


def walk(spec):
    """Yield (zone, head) of each sector in order of address, as the layouts are described."""
    geometry = spec["geometry"]
    layout, surfaces = geometry["layout"], geometry["surfaces"]
    for z, zone in enumerate(geometry["zones"]):
        first, past = zone["first_cylinder"], zone["last_cylinder"] + 1
        width = geometry.get("band_cylinders", 1)
        for n, at in enumerate(range(first, past, width)):
            backwards = {
                "serpentine": n % 2 == 1,
                "serpentine-disk": at % 2 == 1,
                "adaptive": geometry.get("head_order") == "alternate" and n % 2 == 1,
            }.get(layout, False)
            cylinders = min(width, past - at)
            for head in reversed(range(surfaces)) if backwards else range(surfaces):
                per_track = zone["sectors_per_track"]
                sectors = per_track if isinstance(per_track, int) else per_track[head]
                tracks = cylinders
                if layout == "adaptive":
                    density = geometry["density"][head]
                    sectors = max(1, int(sectors * density["bpi"] + 0.5))
                    tracks = max(1, int(cylinders * density["tpi"] + 0.5))
                for _ in range(tracks * sectors):
                    yield z, head


@pytest.mark.parametrize("seed", range(SEED, SEED + THOROUGH))
def test_bands_are_those_of_a_walk_over_every_sector(seed):
    """A thousand small drives of all layouts; the engine agrees on the number of sectors."""
    random = np.random.default_rng(seed)
    seen = Counter()
    for i in range(1000):
        spec = random_drive(random)
        surfaces = spec["geometry"]["surfaces"]
        head = int(random.integers(surfaces))
        sectors = list(walk(spec))
        found = depopulation.formats(spec)
        told = f"seed {seed}, drive {i}: {json.dumps(spec)}"
        zones = len(spec["geometry"]["zones"])
        counts = np.zeros((zones, surfaces), np.int64)
        np.add.at(counts, tuple(np.array(sectors).T), 512)
        assert np.array_equal(found.held(), counts), told
        on_head = np.zeros(len(sectors), bool)
        for start, length in zip(*depopulation.extents(found, head), strict=True):
            on_head[start // 512 : (start + length) // 512] = True
        assert [h == head for _, h in sectors] == list(on_head), told
        size = 512 * int(2 ** random.integers(0, 7))
        mapped = {**spec, "mapping": {"model": "zoned", "zone_size": f"{size} B"}}
        hit = {at * 512 // size for at, (_, h) in enumerate(sectors) if h == head}
        of = -(-len(sectors) * 512 // size)
        kept = depopulation.zones_kept(mapped, head, found, len(sectors) * 512)
        assert kept == (of - len(hit), of), told
        if i % 20 == 0:
            made = depopulation.without_head(spec, head)
            left = sum(h != head for _, h in sectors) * 512
            assert drives.described(made, told)["capacity_bytes"] == left, told
        seen[spec["geometry"]["layout"]] += 1
    assert set(seen) == set(depopulation.LAYOUTS)


@pytest.mark.parametrize("name", ["exos-x18", "ultrastar-hc570", "constellation-es3-4tb"])
def test_rates_are_those_of_the_drive_without_the_head(name):
    found = depopulation.depopulate(drives.load(name), 3)
    engine = drives.described(found.spec, name)["sustained_bytes_per_s"]
    rates = found.zone_rates[:, 1]
    assert rates[0] == pytest.approx(engine["outer"], rel=1e-3)
    assert rates[-1] == pytest.approx(engine["inner"], rel=1e-3)
    after = found.capacity_bytes[1]
    assert after / rates[0] < found.seconds < after / rates[-1]
    # One of h equal heads has 1/h of the capacity.
    surfaces = drives.load(name)["geometry"]["surfaces"]
    assert after / found.capacity_bytes[0] == pytest.approx(1 - 1 / surfaces, rel=2e-3)


def test_a_head_that_is_faster_than_the_others_takes_more_with_it():
    spec = drives.load("helium-20tb")
    spec["geometry"]["density"][4] = {"bpi": 1.1, "tpi": 1.0}
    fast, usual = (depopulation.depopulate(spec, head) for head in (4, 5))
    lost = [f.capacity_bytes[0] - f.capacity_bytes[1] for f in (fast, usual)]
    assert lost[0] == pytest.approx(1.1 * lost[1], rel=2e-3)
    assert (fast.zone_rates[:, 1] < fast.zone_rates[:, 0]).all()
    assert (usual.zone_rates[:, 1] > usual.zone_rates[:, 0]).all()


def reads(drive, blocks):
    return closed_loop(drive, 4, n_requests=2000, footprint=f"{blocks * 512} B")


def test_reads_of_the_failed_head_fail_until_it_is_removed():
    """One read in twenty is on it: 100 of 2,000, with a standard deviation of 10."""
    spec = drives.load("helium-20tb")
    fault = {"arm": 0, "surface": 7, "at": "0 s", "warning": True}
    failing = {**spec, "parallelism": {"faults": [fault]}}
    assert 60 < reads(failing, spec["geometry"]["capacity_blocks"])["n_errors"] < 140
    assert depopulation.failed_head(failing) == 7
    made = depopulation.without_head(failing, 7)
    assert "parallelism" not in made
    assert reads(made, made["geometry"]["capacity_blocks"])["n_errors"] == 0


def test_faults_of_other_heads_stay_with_their_surfaces():
    spec = drives.load("helium-20tb")
    faults = [{"arm": 0, "surface": s, "at": "1 s"} for s in (3, 7, 12)]
    made = depopulation.without_head({**spec, "parallelism": {"faults": faults}}, 7)
    assert [f["surface"] for f in made["parallelism"]["faults"]] == [3, 11]
    assert depopulation.failed_head({**spec, "parallelism": {"faults": faults}}) is None


def test_the_command_writes_a_drive_with_sources(tmp_path, capsys):
    args = ["drives", "depopulate", "constellation-es3-4tb", "--head", "2"]
    assert main([*args, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["zones_with_data_kept"] == {"kept": 0, "of": 14_905}
    assert main([*args, "--out", str(tmp_path)]) == 0
    assert "-10.00%" in capsys.readouterr().out
    made = drives.load(tmp_path / "constellation-es3-4tb-without-head-2.toml")
    assert made == told["spec"]
    assert made["sources"]["geometry.surfaces"].startswith("derived: without head 2")
    blocks = made["geometry"]["capacity_blocks"]
    assert blocks * 512 == told["capacity_bytes"]["after"]
    assert reads(made, blocks)["n_errors"] == 0
    assert main([*args, "--out", str(tmp_path)]) == 2
    assert "exists" in capsys.readouterr().err


@pytest.fixture(scope="module")
def example():
    return loaded(ROOT / "examples" / "depopulation.py")


def test_the_pools_ways_by_hand(example):
    """Ten terabytes at 100 MB/s, half full, one head of ten; ten other drives with a tenth each."""
    found = depopulation.Depopulation(
        spec={"name": "d"},
        head=0,
        capacity_bytes=(10 * 10**12, 9 * 10**12),
        zone_bytes=np.array([[10 * 10**12, 9 * 10**12]]),
        zone_rates=np.array([[1e8, 1e8]]),
        seconds=90_000.0,
        zones=(900, 1000),
    )
    pool = example.Pool(drives=11, data=4, full=0.5, share=0.1)
    rebuild, copy, drain, keep = example.ways(pool, found)
    # Five terabytes, each byte with four reads and a write, at 100 MB/s together.
    assert rebuild.exposed_h == pytest.approx(5 * 5e12 / 1e8 / 3600)
    assert rebuild.hours == pytest.approx((25e12 + 5e12) / 1e8 / 3600)
    assert rebuild.moved_bytes == pytest.approx(25e12 + 10e12)
    # Half a terabyte on the head, 4.5 on the others.
    assert copy.exposed_h == drain.exposed_h == pytest.approx(2.5e12 / 1e8 / 3600)
    assert copy.hours == pytest.approx((2.5e12 + 4.5e12 + 5e12) / 1e8 / 3600)
    assert drain.hours == pytest.approx((2.5e12 + 4.5e12 + 4.5e12) / 1e8 / 3600 + 25)
    assert drain.moved_bytes == pytest.approx(2.5e12 + 9e12 + 9e12 + 9e12)
    assert keep.hours == keep.exposed_h == pytest.approx(2.5e12 / 1e8 / 3600)
    assert keep.capacity_bytes == pytest.approx(9e12)
    # Ten drives, 1.57 % a year, for 69 hours.
    assert rebuild.second_failure(pool) == pytest.approx(10 * 0.0157 * 69.44 / 8766, rel=2e-3)


def test_the_example_prints_the_table_of_the_guide(tmp_path):
    assert check_rows(printed("depopulation", tmp_path), "guide/depopulation.md", (7,)) == 4
