"""A drive from its sweep: zones, then heads in the first zone, checked on the ones behind it."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from headstack.errors import ConfigError

from .classes import classes
from .cycle import Cycle, count_surfaces, fit_cycle, regress, trial_cycles
from .zones import zone_edges

Floats = NDArray[np.float64]

#: Minima that are compared, and on how many further zones.
_CANDIDATES, _MORE_ZONES = 6, 4

#: How much worse than the best a cycle may fit to be compared on them.
_ALIKE = 2.0

#: Blocks at both ends of a zone that may belong to its neighbours.
_MARGIN = 2

#: A block that takes so many times as long as its zone's median is in a damaged area.
_DAMAGED = 1.3

#: How far the cycle of another zone may be from what the mean rates say, and trial beginnings.
_SCALE, _PHASES = 0.004, 24


@dataclass(frozen=True)
class Found:
    """What a sweep says of a drive.

    Attributes:
        edges: blocks at which zones begin, without the first.
        edge_bytes: their byte addresses.
        surfaces: heads.
        cycle_bytes: bytes in the first zone until the first head comes again.
        head_rates: of each head in the first zone, bytes/s, in their order of addresses.
        classes: density classes relative to the slowest head; None if no step was given.
        residual: of the first zone's block times, relative to their mean.

    """

    edges: list[int]
    edge_bytes: list[int]
    surfaces: int
    cycle_bytes: float
    head_rates: Floats
    classes: NDArray[np.int64] | None
    residual: float

    @property
    def band_bytes(self) -> float:
        """Bytes on one head before the next one's turn, in the first zone."""
        return self.cycle_bytes / self.surfaces


def infer(
    rates: Floats,
    block_bytes: int,
    *,
    surfaces: int | None = None,
    fine: tuple[Floats, int] | None = None,
    step: float | None = None,
) -> Found:
    """Return zones, bands and heads of a drive from a sweep that begins at its first byte.

    Args:
        rates: of the blocks, bytes/s, shaped (trials, blocks) or (blocks,).
        block_bytes: of a block; 128 MiB over the whole drive is right for zones.
        surfaces: number of heads; None: it is looked for, which needs `fine`.
        fine: rates and block size of a second sweep with small blocks from the first byte on.
        step: logarithm of the ratio of neighbouring density classes.

    Raises:
        ConfigError: there are too few blocks, or rates that are no positive numbers.

    """
    times = _times(rates, block_bytes)
    edges = zone_edges(times)
    heads = surfaces
    if heads is None:
        if fine is None:
            raise ConfigError(
                "inference.surfaces: got nothing, need the number of heads or a fine sweep"
            )
        heads = _count(fine, edges[0] * block_bytes if edges else len(times) * block_bytes)
    zones = _zones(times, edges, block_bytes)
    candidates = fit_cycle(*zones[0], heads, candidates=_CANDIDATES)
    # A mirror image fits almost equally; what fits far worse is none.
    candidates = [c for c in candidates if c.residual <= _ALIKE * candidates[0].residual]
    best = min(candidates, key=lambda c: _score(c, zones, edges, block_bytes, heads))
    found = 1 / best.seconds_per_byte
    return Found(
        edges=edges,
        edge_bytes=[e * block_bytes for e in edges],
        surfaces=heads,
        cycle_bytes=best.cycle_bytes,
        head_rates=found,
        classes=None if step is None else classes(found, step),
        residual=best.residual,
    )


def _times(rates: Floats, block_bytes: int) -> Floats:
    """Return the median time of each block over trials."""
    given = np.atleast_2d(np.asarray(rates, np.float64))
    if given.ndim != 2 or given.shape[1] == 0:
        raise ConfigError(f"inference.rates: got shape {given.shape}, need (trials, blocks)")
    if not np.all(np.isfinite(given) & (given > 0)):
        raise ConfigError("inference.rates: got a rate that is none, need positive bytes/s")
    return np.asarray(block_bytes / np.median(given, axis=0))


def _count(fine: tuple[Floats, int], zone_bytes: int) -> int:
    """Return the number of heads from a fine sweep, of which the first zone's blocks are used."""
    rates, block_bytes = fine
    times = _times(rates, block_bytes)
    count = min(len(times), zone_bytes // block_bytes - 1)
    return count_surfaces(
        _masked(times[:count]), np.arange(count + 1, dtype=np.float64) * block_bytes
    )


def _masked(times: Floats) -> Floats:
    return np.where(times > _DAMAGED * np.median(times), np.nan, times)


def _zones(times: Floats, edges: list[int], block_bytes: int) -> list[tuple[Floats, Floats]]:
    """Return block times and edges of the zones that are used, without blocks at their ends.

    Edges of the first zone are addresses; those of others count from the block where they begin.
    """
    bounds = [0, *edges, len(times)][: _MORE_ZONES + 2]
    zones = []
    for i, (begin, end) in enumerate(pairwise(bounds)):
        first = begin + (_MARGIN if i else 0)
        last = max(first, end - _MARGIN)
        places = np.arange(first - begin, last - begin + 1, dtype=np.float64) * block_bytes
        zones.append((_masked(times[first:last]), places))
    return zones


def _score(
    candidate: Cycle,
    zones: list[tuple[Floats, Floats]],
    edges: list[int],
    block_bytes: int,
    surfaces: int,
) -> float:
    """Return the sum of the logarithms of the residuals of a cycle in the zones."""
    score = float(np.log(candidate.residual))
    mean = float(np.nanmean(zones[0][0]))
    for times, places in zones[1:]:
        scale = mean / float(np.nanmean(times))
        score += float(np.log(_elsewhere(candidate, scale, times, places, block_bytes, surfaces)))
    return score


def _elsewhere(
    candidate: Cycle,
    scale: float,
    times: Floats,
    places: Floats,
    block_bytes: int,
    surfaces: int,
) -> float:
    """Return the smallest residual of a cycle in another zone.

    A band has as many tracks there, so the cycle shrinks as the rates do. Where the zone begins is
    known to a block and a half.
    """
    middle = candidate.cycle_bytes * scale
    cycles = trial_cycles(middle * (1 - _SCALE), middle * (1 + _SCALE), float(places[-1]))
    best = np.inf
    shift = min(1.5 * block_bytes, middle / 2)
    for moved in np.linspace(-shift, shift, _PHASES, endpoint=False):
        # Before the beginning of a cycle the pattern is the end of the one before.
        _, residuals = regress(times, places + moved + 4 * middle, cycles, surfaces)
        best = min(best, float(residuals.min()))
    return best
