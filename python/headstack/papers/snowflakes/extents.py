"""Track-aligned extents: the cost of reading one track with the drive's own map, or another's.

A zero-latency drive does not wait for the first sector of a request. It reads a whole track in one
revolution, wherever the head arrives. An extent that crosses into the next track costs a switch,
and a part of a revolution more.
"""

import numpy as np
from numpy.typing import NDArray

from headstack.drives.population import Population
from headstack.drives.population.format import track_bytes

Floats = NDArray[np.float64]

#: Phases of arrival that are averaged over.
_PHASES = 64


class Map:
    """Where the tracks of one drive lie in a part of its first zone.

    Attributes:
        starts: byte address of each track, and of the end of the last.
    """

    def __init__(self, drawn: Population, drive: int, cycles: int) -> None:
        """Take the first cycles of heads of a drive."""
        sizes, tracks = track_bytes(drawn.spec, drawn.densities[drive])
        cycle = np.repeat(sizes[0], tracks)
        self.starts = np.concatenate([[0], np.cumsum(np.tile(cycle, cycles))])

    def pieces(self, begin: int, end: int) -> list[tuple[float, float]]:
        """Return the parts of tracks that an extent covers: start and length in turns."""
        first = int(np.searchsorted(self.starts, begin, side="right")) - 1
        found = []
        while begin < end:
            a, b = int(self.starts[first]), int(self.starts[first + 1])
            stop = min(end, b)
            found.append(((begin - a) / (b - a), (stop - begin) / (b - a)))
            begin, first = stop, first + 1
        return found


def read_turns(pieces: list[tuple[float, float]], skew: float) -> float:
    """Return the mean turns of a zero-latency read of pieces of successive tracks.

    The mean is over all phases of arrival. A track begins `skew` turns after the end of the one
    before it; a switch takes this time.
    """
    phase = (np.arange(_PHASES) + 0.5) / _PHASES
    clock = phase.copy()
    for i, (start, length) in enumerate(pieces):
        # Each track begins a skew later than the one before it.
        begin = start + i * skew
        offset = (clock - begin) % 1.0
        inside = (offset < length) | (length >= 1.0)
        # Arrival within the piece: the rest of the piece, the gap and its beginning take one turn.
        clock = clock + np.where(inside, 1.0, 1.0 - offset + length)
        if i + 1 < len(pieces):
            clock += skew
    return float((clock - phase).mean())


def compare(drawn: Population, reader: int, mapped: int, *, cycles: int = 2, most: int = 2000) -> tuple[float, float]:
    """Return mean turns per extent, and the share of extents that cross a track.

    Args:
        drawn: the drives.
        reader: the drive that reads.
        mapped: the drive whose tracks are the extents.
        cycles: number of cycles of the heads that are read.
        most: largest number of extents, evenly spread over the cycles.
    """
    own, other = Map(drawn, reader, cycles + 1), Map(drawn, mapped, cycles)
    last = min(int(own.starts[-1]), int(other.starts[-1]))
    count = int(np.searchsorted(other.starts, last, side="right")) - 1
    chosen = np.unique(np.linspace(0, count - 1, min(most, count)).astype(np.int64))
    skew = float(drawn.spec["geometry"]["zones"][0]["cylinder_skew"])
    turns, crossed = 0.0, 0
    for i in chosen:
        pieces = own.pieces(int(other.starts[i]), int(other.starts[i + 1]))
        turns += read_turns(pieces, skew)
        crossed += len(pieces) > 1
    return turns / len(chosen), crossed / len(chosen)
