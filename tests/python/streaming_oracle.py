"""A second, slow model of long reads of drives with adaptive zoning, to compare the engine with.

The closed form of a sweep in NumPy, written from the description of the layout: zones, bands,
surfaces in order, tracks, a skew after every track and another after every band. What it leaves
out: the wait where a zone begins at another angle, less than two turns each. The package uses
nothing of it.
"""

from fractions import Fraction

import numpy as np


def whole(x):
    """Return the nearest integers, halves up."""
    return np.floor(np.asarray(x) + 0.5).astype(np.int64)


class Format:
    """Sizes of zones, bands and tracks of a nominal drive with these densities (H, 2)."""

    def __init__(self, spec, density):
        g = spec["geometry"]
        self.sector = {"512 B": 512, "4 KiB": 4096}[g["sector_size"]]
        self.turn_s = 60.0 / float(g["rotation_speed"].split()[0])
        zones = g["zones"]
        nominal = np.array([z["sectors_per_track"] for z in zones])
        width = g["band_cylinders"]
        wide = np.array([z["last_cylinder"] - z["first_cylinder"] + 1 for z in zones])
        assert (wide % width == 0).all(), "whole bands only"
        self.bands = wide // width
        # After a track on the same surface, and after the last one of a band.
        self.skew, self.switch = zones[0]["cylinder_skew"], zones[0]["track_skew"]
        self.per_track = whole(nominal[:, None] * density[None, :, 0])
        self.tracks = whole(width * density[:, 1])
        self.track_bytes = self.per_track * self.sector
        self.band_bytes = self.track_bytes * self.tracks
        self.cycle_bytes = self.band_bytes.sum(axis=1)
        self.zone_bytes = self.cycle_bytes * self.bands
        self.zone_start = np.concatenate([[0], np.cumsum(self.zone_bytes)])
        self.capacity = int(self.zone_bytes.sum())

    def turns(self, at):
        """Return the turns that it takes to read the bytes before each of `at`."""
        at = np.asarray(at, dtype=np.int64)
        z = np.clip(np.searchsorted(self.zone_start, at, side="right") - 1, 0, len(self.bands) - 1)
        rest = at - self.zone_start[z]
        cycle, rest = np.divmod(rest, self.cycle_bytes[z])
        starts = np.cumsum(self.band_bytes, axis=1) - self.band_bytes
        head = (rest[:, None] >= starts[z]).sum(axis=1) - 1
        rest = rest - starts[z, head]
        track, rest = np.divmod(rest, self.track_bytes[z, head])
        cum = np.concatenate([[0], np.cumsum(self.tracks)])
        per_zone = self.bands * cum[-1]
        before = np.concatenate([[0], np.cumsum(per_zone)])
        tracks = before[z] + cycle * cum[-1] + cum[head] + track
        heads = len(self.tracks)
        bands = np.concatenate([[0], np.cumsum(self.bands)])[z] * heads + cycle * heads + head
        more = (self.switch - self.skew) * bands
        return tracks * (1 + self.skew) + more + rest / self.track_bytes[z, head]


def times(spec, density, factor, edges, damage=()):
    """Return the time in s of each piece between byte addresses `edges`, without noise."""
    form = Format(spec, density)
    found = np.diff(form.turns(edges)) * form.turn_s
    for begin, end, rate in damage:
        a, b = np.clip(edges[:-1], begin, end), np.clip(edges[1:], begin, end)
        extra = (form.turns(b) - form.turns(a)) * form.turn_s
        found = found + extra * (1 / rate - 1)
    return found * factor


def walk(spec, density, end):
    """Return turns to read [0, end) of a drive, exactly, track by track."""
    form = Format(spec, density)
    skew, switch = (Fraction(t).limit_denominator(10**6) for t in (form.skew, form.switch))
    turns, at = Fraction(0), 0
    for z, bands in enumerate(form.bands):
        for _ in range(bands):
            for h, tracks in enumerate(form.tracks):
                size = int(form.track_bytes[z, h])
                for _ in range(tracks):
                    if at + size > end:
                        return turns + Fraction(end - at, size)
                    at += size
                    turns += 1 + skew
                turns += switch - skew
    assert at == end
    return turns
