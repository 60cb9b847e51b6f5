"""Streams of drives with unlike surfaces, against a walk over the tracks in rational numbers."""

import bisect
import itertools
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from conftest import ROOT

from headstack.cli import main
from headstack.drives import streaming
from headstack.errors import ConfigError

RPM = 7200
BAND = 20
#: Turns after a track, and after the last one of a band.
SKEW, SWITCH = Fraction(1, 8), Fraction(3, 16)
#: First and last cylinder, nominal sectors per track.
ZONES = [(0, 89, 500), (90, 199, 401)]
DENSITIES = np.exp(0.031 * np.array([[[1, -1], [0, 0], [-4, 4]], [[2, -2], [-1, 1], [0, 0]]]))


def drive(**geometry):
    """A small drive of three surfaces whose skews cover all movements."""
    zones = [
        {"first_cylinder": first, "last_cylinder": last, "sectors_per_track": sectors,
         "track_skew": float(SWITCH), "cylinder_skew": float(SKEW)}
        for first, last, sectors in ZONES
    ]  # fmt: skip
    table = {
        "rotation_speed": f"{RPM} rpm", "surfaces": 3, "cylinders": 200, "layout": "adaptive",
        "skew_unit": "turns", "band_cylinders": BAND, "zones": zones, **geometry,
    }  # fmt: skip
    seek = {"model": "constant", "time": "0.5 ms"}
    return {"name": "small", "geometry": table, "seek": seek}


def tracks(densities, order="same"):
    """Sectors of every track, and the skew after it, in order of address, zone by zone."""
    for first, last, nominal in ZONES:
        zone = []
        for i, outer in enumerate(range(first, last + 1, BAND)):
            width = min(BAND, last + 1 - outer)
            heads = list(enumerate(densities))
            if order == "alternate" and i % 2:
                heads.reverse()
            for _, (bpi, tpi) in heads:
                n = math.floor(nominal * bpi + 0.5)
                zone += [(n, SKEW)] * (math.floor(width * tpi + 0.5) - 1) + [(n, SWITCH)]
        yield zone


class Walk:
    """When each track begins, in turns, and which byte it begins with."""

    def __init__(self, zones):
        self.sectors = [sectors for zone in zones for sectors, _ in zone]
        self.begins, self.bytes = [Fraction(0)], [0]
        at = Fraction(0)
        for zone in zones:
            for i, (sectors, skew) in enumerate(zone):
                at += 1 + skew
                if i + 1 == len(zone):
                    # The next zone begins at angle zero.
                    end = at - skew
                    at = Fraction(math.ceil(end))
                    # A head or a seek takes 0.06 turns of 8.3 ms.
                    if at - end < Fraction(6, 100):
                        at += 1
                self.begins.append(at)
                self.bytes.append(self.bytes[-1] + 512 * sectors)

    def time(self, byte):
        """When `byte` bytes have passed, in turns."""
        if byte == 0:
            return Fraction(0)
        track = bisect.bisect_left(self.bytes, byte) - 1
        part = Fraction(byte - self.bytes[track], 512 * self.sectors[track])
        return self.begins[track] + part


@pytest.mark.parametrize("order", ["same", "alternate"])
def test_a_sweep_is_a_walk_over_the_tracks(order):
    block, first = 100_000, 12_345
    walks = [Walk(list(tracks(d, order))) for d in DENSITIES]
    last = min(w.bytes[-1] for w in walks)
    rates = streaming.sweep(
        drive(head_order=order), densities=DENSITIES, block_bytes=block, first_byte=first,
        last_byte=last, trials=2,
    )  # fmt: skip
    n = (last - first) // block
    assert rates.shape == (2, 2, n)
    for walk, own in zip(walks, rates, strict=True):
        ends = [walk.time(first + i * block) for i in range(n + 1)]
        want = [block * RPM / 60 / float(b - a) for a, b in itertools.pairwise(ends)]
        # Ends are rounded to nanoseconds; the shortest block takes 3 ms.
        np.testing.assert_allclose(own, [want, want], rtol=1e-6)


def test_rates_and_sizes_of_zones_are_those_of_the_walk():
    factors = [1.0, 1.25]
    rates = streaming.zone_rates(drive(), densities=DENSITIES, factors=factors)
    held = streaming.capacities(drive(), densities=DENSITIES)
    assert held.dtype == np.uint64
    for i, densities in enumerate(DENSITIES):
        zones = list(tracks(densities))
        assert held[i] == 512 * sum(n for zone in zones for n, _ in zone)
        for rate, zone in zip(rates[i], zones, strict=True):
            time = sum(1 + skew for _, skew in zone) - SWITCH
            want = 512 * sum(n for n, _ in zone) * RPM / 60 / float(time) / factors[i]
            assert rate == pytest.approx(want, rel=1e-12)


def test_the_surfaces_hold_more_than_the_drive_offers():
    small = drive(capacity_blocks=1000)
    assert streaming.capacities(small)[0] > 1000 * 512
    rates = streaming.sweep(small, block_bytes=512, last_byte=1000 * 512)
    assert rates.shape == (1, 1, 1000)
    with pytest.raises(ConfigError, match="last_byte: got 512001, need at most 512000"):
        streaming.sweep(small, block_bytes=512, last_byte=1000 * 512 + 1)


def test_noise_depends_on_seed_and_number_of_the_drive_alone():
    noise = streaming.Noise(
        lost_turns_per_byte=1e-6, trial_factor=1e-3, damage=[streaming.Damage(1, 0, 1_000_000, 0.5)]
    )

    def rates(n, seed, threads, noise=noise):
        return streaming.sweep(
            drive(), densities=np.tile(DENSITIES, (n, 1, 1)), factors=np.full(2 * n, 1.5),
            block_bytes=1_000_000, last_byte=50_000_000, trials=5, seed=seed, noise=noise,
            threads=threads,
        )  # fmt: skip

    many = rates(4, 3, 2)
    assert np.array_equal(many, rates(4, 3, 1))
    assert np.array_equal(many[:2], rates(1, 3, 1))
    assert not np.array_equal(many[:2], rates(1, 4, 1))
    assert not np.array_equal(many[0], many[2])
    quiet = rates(1, 3, 1, streaming.Noise())
    assert np.array_equal(quiet[0, 0], quiet[0, 4])
    # The damaged block takes twice as long, and 1 turn of 8.3 ms in a million bytes is lost.
    ratio = quiet[1, :, 0] / rates(1, 3, 1, streaming.Noise(damage=noise.damage))[1, :, 0]
    np.testing.assert_allclose(ratio, 2.0, rtol=1e-6)
    lost = rates(4, 3, 2, streaming.Noise(lost_turns_per_byte=1e-6))
    turns = (1e6 / lost - 1e6 / np.tile(quiet, (4, 1, 1))) * RPM / 60 / 1.5
    np.testing.assert_allclose(turns, np.round(turns), atol=1e-6)
    # 2000 Poisson numbers of mean 1: five standard errors.
    assert turns.mean() == pytest.approx(1.0, abs=5 / math.sqrt(turns.size))


def test_ten_thousand_drives_by_zone():
    random = np.random.Generator(np.random.PCG64(1))
    bpi = np.exp(0.031 * random.integers(-8, 4, (10_000, 3)))
    densities = np.stack([bpi, 1 / bpi], axis=2)
    rates = streaming.zone_rates(drive(), densities=densities)
    assert rates.shape == (10_000, 2)
    one = streaming.zone_rates(drive(), densities=densities[4321:4322])
    assert np.array_equal(rates[4321], one[0])


def test_other_layouts_are_refused():
    other = drive(layout="cylinder-major")
    del other["geometry"]["band_cylinders"]
    with pytest.raises(ConfigError, match=r'geometry\.layout: got "cylinder-major", need "adaptive"'):
        streaming.zone_rates(other)


def test_a_drive_is_shown_with_its_surfaces(tmp_path, capsys):
    """A track of 1000 sectors at 7200 rpm passes at 61.44 MB/s; at 28.5 mm it is 7.05 in long."""
    file = tmp_path / "two.toml"
    file.write_text("""
        name = "two"
        [geometry]
        rotation_speed = "7200 rpm"
        surfaces = 2
        cylinders = 1000
        layout = "adaptive"
        band_cylinders = 100
        density = [{ bpi = 1.0, tpi = 1.0 }, { bpi = 1.1, tpi = 0.9 }]
        outer_radius = "31 mm"
        inner_radius = "26 mm"
        zones = [
          { first_cylinder = 0, last_cylinder = 499, sectors_per_track = 1000 },
          { first_cylinder = 500, last_cylinder = 999, sectors_per_track = 900 },
        ]
        [seek]
        model = "constant"
        time = "1 ms"
        """)
    assert main(["drives", str(file)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    bpi = [n * 4096 / (2 * math.pi * r / 25.4) / 1e3 for n, r in ((1000, 28.5), (900, 26))]
    # 200 cylinders in a millimetre.
    assert (f"surface 0: tracks of 61.4 MB/s outside, 55.3 inside, {bpi[0]:,.1f}-{bpi[1]:,.1f} kBPI, 5.1 kTPI") in out
    assert "surface 1: tracks of 67.6 MB/s outside, 60.8 inside" in out
    assert "4.6 kTPI" in out


def test_the_code_of_the_page_runs(tmp_path, monkeypatch):
    page = (ROOT / "docs" / "models" / "adaptive-zoning.md").read_text("utf-8")
    geometry, code = (
        re.search(rf"^```{kind}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[1] for kind in ("toml", "python")
    )
    seek = '[seek]\nmodel = "linear"\nsingle = "0.6 ms"\nfull = "16 ms"\ncylinders = 100000\n'
    text = f'name = "my-drive"\n{geometry}{seek}[positioning]\nhead_switch = "0.7 ms"\n'
    (tmp_path / "my-drive.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(code, "adaptive-zoning.md", "exec"), names)
    rates = names["rates"]
    assert rates.shape == (2, 10, 512)
    # The second drive is slower where its first head reads, and nowhere faster but for noise.
    means = rates.mean(axis=1)
    assert means[1].mean() < means[0].mean()
    assert rates.std(axis=1).max() < 2e6
