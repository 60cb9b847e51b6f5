"""What a probe would know of a drive's geometry, from the drive's own file; and a drive to probe.

Steps of a probe are tested with them apart from the search for the geometry.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Places(NamedTuple):
    """Places of addresses, one array each."""

    band: Ints
    track: Ints
    sector: Ints
    angle_turns: Floats
    cylinder: Floats
    head: Ints
    sectors_per_track: Ints
    known: NDArray[np.bool_]


class Zone(NamedTuple):
    """A zone as a probe knows it."""

    first_lba: int
    blocks: int
    sectors: tuple[int, ...]
    tracks: tuple[int, ...]
    skew_turns: float
    switch_turns: float


class Oracle:
    """The geometry of a drive of the layout `adaptive`, from its file. Angles have no origin."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        g = spec["geometry"]
        self.layout = g["layout"]
        self.heads, self.cylinders = int(g["surfaces"]), float(g["cylinders"])
        self.block = 8 if g.get("sector_size", "512 B") == "4 KiB" else 1
        self.width = int(g["band_cylinders"])
        self.tracks, self.sectors, self.first, starts, skews = [], [], [], [0], []
        for i, zone in enumerate(g["zones"]):
            formats = [s[i] for s in g["surface_zones"]]
            tracks = np.array([f["tracks_per_band"] for f in formats])
            sectors = np.array([f["sectors_per_track"] for f in formats])
            bands = (zone["last_cylinder"] + 1 - zone["first_cylinder"]) // self.width
            assert bands * self.width == zone["last_cylinder"] + 1 - zone["first_cylinder"]
            self.tracks.append(tracks)
            self.sectors.append(sectors)
            self.first.append(zone["first_cylinder"])
            starts.append(starts[-1] + int(bands * (tracks * sectors).sum()))
            skews.append((zone["track_skew"], zone["cylinder_skew"], zone.get("offset", 0.0)))
        self.starts, self.skews = np.array(starts), np.array(skews)
        self.blocks = int(starts[-1]) * self.block
        self.direction = g.get("direction", "inward")
        self.head_order = g.get("head_order", "same")
        self.zones = [
            Zone(
                starts[z] * self.block,
                (starts[z + 1] - starts[z]) * self.block,
                tuple(map(int, self.sectors[z])),
                tuple(map(int, self.tracks[z])),
                skews[z][1],
                skews[z][0],
            )
            for z in range(len(skews))
        ]

    def locate(self, lbas: Sequence[int] | Ints) -> Places:
        """Return places of logical blocks."""
        address = np.asarray(lbas, dtype=np.int64) // self.block
        zone = np.clip(np.searchsorted(self.starts, address, "right") - 1, 0, len(self.first) - 1)
        out = np.zeros((6, len(address)))
        for z in np.unique(zone):
            mine = zone == z
            size = self.tracks[z] * self.sectors[z]
            ends = np.cumsum(size)
            band, rest = np.divmod(address[mine] - self.starts[z], ends[-1])
            head = np.searchsorted(ends, rest, "right")
            track, sector = np.divmod(rest - (ends - size)[head], self.sectors[z][head])
            cylinder = self.first[z] + band * self.width
            cylinder = cylinder + (track + 0.5) * self.width / self.tracks[z][head] - 0.5
            n = self.sectors[z][head]
            # Skew: between tracks of a surface, and between surfaces.
            before = (self.tracks[z] - 1).sum()
            inner = band * before + np.concatenate([[0], np.cumsum(self.tracks[z] - 1)])[head]
            surface, along, offset = self.skews[z]
            angle = offset + (inner + track) * along + (band * self.heads + head) * surface
            out[:, mine] = band * self.heads + head, track, sector, cylinder, n, angle + sector / n
        band, track, sector, cylinder, n, angle = out
        whole = [a.astype(np.int64) for a in (band, track, sector, n)]
        head = whole[0] % self.heads
        known = np.ones(len(address), dtype=bool)
        return Places(whole[0], whole[1], whole[2], angle % 1, cylinder, head, whole[3], known)


class Session:
    """A drive in closed form: reads one at a time, without a buffer."""

    def __init__(
        self,
        oracle: Oracle,
        turn_s: float,
        access_s: Any,
        *,
        disturbed: float = 0.02,
        seed: int = 0,
    ) -> None:
        self.geometry, self.turn_s, self.access_s = oracle, turn_s, access_s
        self.disturbed, self.rng = disturbed, np.random.default_rng(seed)
        self.described = {"blocks": oracle.blocks, "fua": True, "block_bytes": 512}
        self.sector_blocks = oracle.block
        self.now, self.at = 0.0, 0.0
        self.reads = 0

    def read(
        self, step: str, lba: Sequence[int], blocks: Any = None, *, wait_s: Any = 0.0, **_: Any
    ) -> tuple[Ints, Ints, Ints]:
        """Return times of commands and of ends in ns."""
        at = self.geometry.locate(lba)
        angles = at.angle_turns
        waits = np.broadcast_to(np.asarray(wait_s, dtype=float), len(angles))
        late = 15e-6 + self.rng.exponential(15e-6, len(angles))
        late += np.where(
            self.rng.random(len(angles)) < 0.01, self.rng.exponential(1e-3, len(angles)), 0
        )
        lost = (self.rng.random(len(angles)) < self.disturbed) * self.rng.integers(
            1, 3, len(angles)
        )
        issued, done = [], []
        for i, angle in enumerate(angles):
            begin = self.now + waits[i]
            least = begin + self.access_s(abs(at.cylinder[i] - self.at))
            pas = least + ((angle - least / self.turn_s) % 1.0) * self.turn_s
            end = pas + lost[i] * self.turn_s + self.turn_s / at.sectors_per_track[i]
            issued.append(begin)
            self.now, self.at = end + late[i], at.cylinder[i]
            done.append(self.now)
        self.reads += len(angles)
        to_ns = [np.rint(np.array(t) * 1e9).astype(np.int64) for t in (issued, done)]
        return to_ns[0], to_ns[1], np.zeros(len(angles), dtype=np.int64)
