"""What a probe would know of a drive's geometry, from the drive's own file; and a drive to probe.

Steps of a probe are tested with them apart from the search for the geometry.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
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
    """A drive in closed form: it serves its queue by a rule, and may have a buffer.

    The buffer remembers the last `segments` reads, and what passed under the head after the last
    one, up to `ahead` sectors. Hits take 60 us and 2 us a sector.
    """

    def __init__(
        self,
        oracle: Oracle,
        turn_s: float,
        access_s: Callable[[float], float],
        *,
        disturbed: float = 0.02,
        seed: int = 0,
        rule: str = "fcfs",
        segments: int = 0,
        ahead: int = 0,
    ) -> None:
        self.geometry, self.turn_s, self.access_s = oracle, turn_s, access_s
        self.disturbed, self.random = disturbed, np.random.default_rng(seed)
        self.rule, self.segments, self.ahead = rule, segments, ahead
        self.described: dict[str, Any] = {
            "blocks": oracle.blocks,
            "fua": True,
            "block_bytes": 512,
            "physical_bytes": 512 * oracle.block,
            "model": "Test X1",
        }
        self.sector_blocks = oracle.block
        self.now, self.at, self.way = 0.0, 0.0, 1.0
        self.held: deque[list[float]] = deque(maxlen=max(segments, 1))

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds

    def read(
        self,
        step: str,
        lba: Sequence[int],
        blocks: Any = None,
        *,
        wait_s: Any = 0.0,
        depth: int = 1,
        together: bool = False,
        fua: bool | None = None,
    ) -> tuple[Ints, Ints, Ints]:
        """Return times of commands and of ends in ns, and states."""
        at, count = self.geometry.locate(lba), len(lba)
        sizes = np.broadcast_to(self.sector_blocks if blocks is None else blocks, count)
        sizes = sizes // self.sector_blocks
        waits = np.broadcast_to(np.asarray(wait_s, dtype=float), count)
        issued, done = np.zeros(count), np.zeros(count)
        waiting: list[int] = []
        following = 0
        for _ in range(count):
            while following < count and (together or len(waiting) < depth):
                issued[following] = self.now + waits[following]
                waiting.append(following)
                following += 1
            i = waiting.pop(self._choose(waiting, at))
            self._serve(i, lba[i], int(sizes[i]), at, issued, done, buffered=fua is False)
        to_ns = [np.rint(t * 1e9).astype(np.int64) for t in (issued, done)]
        return to_ns[0], to_ns[1], np.zeros(count, dtype=np.int64)

    def _passes(self, i: int, at: Places, begin: float) -> float:
        least = begin + self.access_s(abs(float(at.cylinder[i]) - self.at))
        return least + ((float(at.angle_turns[i]) - least / self.turn_s) % 1.0) * self.turn_s

    def _choose(self, waiting: list[int], at: Places) -> int:
        apart = [float(at.cylinder[i]) - self.at for i in waiting]
        costs: dict[str, Callable[[int], float]] = {
            "fcfs": lambda j: 0.0,
            "sstf": lambda j: abs(apart[j]),
            "look": lambda j: abs(apart[j]) + (1e9 if apart[j] * self.way < 0 else 0),
            "sptf": lambda j: self._passes(waiting[j], at, self.now),
        }
        return min(range(len(waiting)), key=costs[self.rule])

    def _serve(
        self,
        i: int,
        lba: int,
        size: int,
        at: Places,
        issued: Floats,
        done: Floats,
        *,
        buffered: bool,
    ) -> None:
        begin = max(self.now, issued[i])
        late = 15e-6 + self.random.exponential(15e-6)
        late += 1e-3 if self.random.random() < 0.01 else 0.0
        sector = lba // self.sector_blocks
        n = int(at.sectors_per_track[i])
        if self.held and self.segments:
            # What the head has passed since the last read.
            first, last, end = self.held[-1]
            passed = min(self.ahead, (begin - end) / self.turn_s * n)
            self.held[-1] = [first, max(last, first + 1 + passed), end]
            if buffered and any(a <= sector and sector + size <= b for a, b, _ in self.held):
                self.now = begin + 60e-6 + 2e-6 * size + late
                done[i] = self.now
                return
        lost = (self.random.random() < self.disturbed) * self.random.integers(1, 3)
        end = self._passes(i, at, begin) + size * self.turn_s / n
        moved = float(at.cylinder[i]) - self.at
        self.way = float(np.sign(moved)) or self.way
        self.at = float(at.cylinder[i])
        self.held.append([sector, sector + size, end])
        done[i] = end + lost * self.turn_s + late
        self.now = end if lost else done[i]
