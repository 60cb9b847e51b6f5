"""What a drive is, from sequential reads alone: zones, bands, the heads' rates and density classes.

# Method
Zones: the step at a boundary of blocks is the difference of the mean logarithm of time between
windows on both sides, which average over the bands of all heads. The largest step is an edge; the
parts on both sides are searched in turn, with windows that end at edges, until no step is large
enough.

Heads: within a zone the bands of all heads hold equal bytes, and heads follow each other in a fixed
order. For a trial cycle C, the bytes of every block on each head are known; block times are
regressed on them. The C with the smallest residual is the cycle, and the coefficients are seconds
per byte of each head. C is tried in relative steps of C/(12 span), a twelfth of a cycle at the
zone's end.

# Limits
A zone must be longer than twice the shortest window, and blocks about as large as a band, or
larger. Heads of equal rate look like one head: the number of heads can come out too small. Where a
block is near half a cycle, C and its mirror image (heads in reverse order) fit almost equally;
other zones tell them apart. More: docs/models/adaptive-zoning.md.

Example:
    >>> from headstack import population
    >>> from headstack.probe import sweep_fit
    >>> drawn = population.draw("wd-re3-2009", n=1, seed=4)
    >>> sweep = drawn.sweep(128 * 2**20, trials=10)[0]
    >>> found = sweep_fit.infer(sweep, 128 * 2**20, surfaces=6, step=0.031)
    >>> len(found.edges)
    13

"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstack.errors import ConfigError

Floats = NDArray[np.float64]

#: Blocks of a window, and the fewest that one near an edge may have.
WINDOW, LEAST_WINDOW = 40, 30

#: The smallest step of the logarithm of time that is an edge.
THRESHOLD = 0.015


def zone_edges(times: Floats, *, threshold: float = THRESHOLD) -> list[int]:
    """Return the blocks at which a zone begins, without the first one, in order.

    Args:
        times: of the blocks of a sweep, in order, in s.
        threshold: smallest step of the logarithm of time that is an edge.
    """
    logs = np.log(times)
    sums = np.concatenate([[0.0], np.cumsum(logs)])
    edges: list[int] = []
    parts = [(0, len(logs))]
    while parts:
        begin, end = parts.pop()
        found = _largest(sums, begin, end)
        if found is None or found[1] < threshold:
            continue
        edge = found[0]
        edges.append(edge)
        parts += [(begin, edge), (edge, end)]
    return sorted(edges)


def _largest(sums: Floats, begin: int, end: int) -> tuple[int, float] | None:
    """Return the boundary of the largest step within a part, and the step."""
    at = np.arange(begin + LEAST_WINDOW, end - LEAST_WINDOW + 1)
    if not len(at):
        return None
    left, right = np.maximum(begin, at - WINDOW), np.minimum(end, at + WINDOW)
    before = (sums[at] - sums[left]) / (at - left)
    after = (sums[right] - sums[at]) / (right - at)
    steps = np.abs(after - before)
    best = int(np.argmax(steps))
    return int(at[best]), float(steps[best])


def classes(rates: Floats, step: float) -> NDArray[np.int64]:
    """Return the class of each head, relative to the slowest one, which is 0.

    Which class is the nominal one cannot be told from rates.

    Args:
        rates: of the heads in one zone.
        step: logarithm of the ratio of neighbouring classes.
    """
    if not step > 0:
        raise ConfigError(f"sweep.step: got {step:g}, need above 0")
    places = np.log(np.asarray(rates, np.float64)) / step
    # The offset that all points are nearest to: the direction of their mean on a circle.
    offset = np.angle(np.exp(2j * np.pi * places).sum()) / (2 * np.pi)
    found = np.rint(places - offset).astype(np.int64)
    return np.asarray(found - found.min())


#: Bytes of a band that are looked for.
LEAST_BAND, MOST_BAND = 30e6, 400e6

#: Trial cycles for a cycle's advance over the whole span.
_PER_CYCLE = 12

#: Trial cycles that are regressed at once.
_BATCH = 64

#: The most heads that are looked for, and how much worse a fit with fewer may be.
MOST_SURFACES, WORSE = 10, 1.3


class Cycle(NamedTuple):
    """A cycle of heads that fits the blocks of a zone.

    Attributes:
        cycle_bytes: bytes until the first head comes again.
        seconds_per_byte: of each head, in their order of addresses.
        residual: root mean square of what is left, relative to the mean time of a block.
    """

    cycle_bytes: float
    seconds_per_byte: Floats
    residual: float


def overlaps(edges: Floats, cycles: Floats, surfaces: int) -> Floats:
    """Return the bytes on each head between neighbouring edges, shaped (cycles, pieces, surfaces).

    Args:
        edges: byte addresses, from the beginning of a cycle.
        cycles: bytes of a cycle.
        surfaces: heads.
    """
    turn, rest = np.divmod(edges[None, :], cycles[:, None])
    band = (cycles / surfaces)[:, None, None]
    start = np.arange(surfaces) * band
    inside = np.clip(rest[:, :, None] - start, 0.0, band)
    return np.diff(turn[:, :, None] * band + inside, axis=1)


def regress(times: Floats, edges: Floats, cycles: Floats, surfaces: int) -> tuple[Floats, Floats]:
    """Return seconds per byte (cycles, surfaces) and relative residuals (cycles).

    Args:
        times: of the pieces between edges, in s; not-a-number where a piece is left out.
        edges: as in `overlaps`.
        cycles: to be tried.
        surfaces: heads.
    """
    kept = np.isfinite(times)
    wanted = times[kept]
    rates, residuals = [], []
    for i in range(0, len(cycles), _BATCH):
        matrix = overlaps(edges, cycles[i : i + _BATCH], surfaces)[:, kept] / 1e8
        square = np.einsum("cph,cpk->chk", matrix, matrix)
        # A little of the identity: two heads that no block tells apart share their time.
        square += 1e-9 * np.trace(square, axis1=1, axis2=2)[:, None, None] * np.eye(surfaces)
        right = np.einsum("cph,p->ch", matrix, wanted)
        found = np.linalg.solve(square, right[:, :, None])[:, :, 0]
        left = np.einsum("cph,ch->cp", matrix, found) - wanted
        rates.append(found / 1e8)
        residuals.append(np.sqrt(np.mean(left**2, axis=1)) / wanted.mean())
    return np.concatenate(rates), np.concatenate(residuals)


def trial_cycles(least: float, most: float, span: float) -> Floats:
    """Return cycles from `least` to `most`, a twelfth of a cycle apart after `span` bytes."""
    count = max(2, int(np.ceil(_PER_CYCLE * span * (1 / least - 1 / most))) + 1)
    return np.asarray(1 / np.linspace(1 / least, 1 / most, count))


def fit_cycle(
    times: Floats,
    edges: Floats,
    surfaces: int,
    *,
    bands: tuple[float, float] = (LEAST_BAND, MOST_BAND),
    candidates: int = 1,
) -> list[Cycle]:
    """Return the cycles that fit best, best first: at most `candidates` separate minima.

    Args:
        times: of blocks of one zone, in s; not-a-number where one is left out.
        edges: byte addresses of their ends, from the zone's beginning: one more than blocks.
        surfaces: heads.
        bands: least and most bytes of a band.
        candidates: how many are wanted.

    Raises:
        ConfigError: there are too few blocks.
    """
    if np.isfinite(times).sum() < 4 * surfaces:
        raise ConfigError(
            f"sweep: got {np.isfinite(times).sum()} blocks in a zone, need at least {4 * surfaces} for {surfaces} heads"
        )
    cycles = trial_cycles(bands[0] * surfaces, bands[1] * surfaces, float(edges[-1]))
    _, residuals = regress(times, edges, cycles, surfaces)
    inner = np.pad(residuals, 1, constant_values=np.inf)
    minima = np.flatnonzero((residuals <= inner[:-2]) & (residuals <= inner[2:]))
    best = minima[np.argsort(residuals[minima], kind="stable")][:candidates]
    return sorted((_refined(times, edges, surfaces, cycles, int(i)) for i in best), key=lambda c: c.residual)


def _refined(times: Floats, edges: Floats, surfaces: int, cycles: Floats, at: int) -> Cycle:
    """Return the best cycle between the neighbours of a trial cycle."""
    low, high = cycles[max(0, at - 1)], cycles[min(len(cycles) - 1, at + 1)]
    for _ in range(3):
        near = np.linspace(low, high, 21)
        rates, residuals = regress(times, edges, near, surfaces)
        best = int(np.argmin(residuals))
        low, high = near[max(0, best - 1)], near[min(20, best + 1)]
    return Cycle(float(near[best]), rates[best], float(residuals[best]))


def count_surfaces(times: Floats, edges: Floats, most: int = MOST_SURFACES) -> int:
    """Return the smallest number of heads that fits nearly as well as the best one.

    Blocks should be small against a band, over some tens of cycles: 12 MiB over 8 GB.
    """
    residuals = [_constant(times, edges)]
    residuals += [fit_cycle(times, edges, n)[0].residual for n in _counts(most)]
    within = WORSE * min(residuals)
    return next(n for n, left in enumerate(residuals, 1) if left <= within)


def _counts(most: int) -> Iterator[int]:
    yield from range(2, most + 1)


def _constant(times: Floats, edges: Floats) -> float:
    """Return the relative residual of one head."""
    kept = np.isfinite(times)
    each = times[kept] / np.diff(edges)[kept]
    return float(each.std() / each.mean())


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
            raise ConfigError("sweep.surfaces: got nothing, need the number of heads or a fine sweep")
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
        raise ConfigError(f"sweep.rates: got shape {given.shape}, need (trials, blocks)")
    if not np.all(np.isfinite(given) & (given > 0)):
        raise ConfigError("sweep.rates: got a rate that is none, need positive bytes/s")
    return np.asarray(block_bytes / np.median(given, axis=0))


def _count(fine: tuple[Floats, int], zone_bytes: int) -> int:
    """Return the number of heads from a fine sweep, of which the first zone's blocks are used."""
    rates, block_bytes = fine
    times = _times(rates, block_bytes)
    count = min(len(times), zone_bytes // block_bytes - 1)
    return count_surfaces(_masked(times[:count]), np.arange(count + 1, dtype=np.float64) * block_bytes)


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
    candidate: Cycle, zones: list[tuple[Floats, Floats]], edges: list[int], block_bytes: int, surfaces: int
) -> float:
    """Return the sum of the logarithms of the residuals of a cycle in the zones."""
    score = float(np.log(candidate.residual))
    mean = float(np.nanmean(zones[0][0]))
    for times, places in zones[1:]:
        scale = mean / float(np.nanmean(times))
        score += float(np.log(_elsewhere(candidate, scale, times, places, block_bytes, surfaces)))
    return score


def _elsewhere(candidate: Cycle, scale: float, times: Floats, places: Floats, block_bytes: int, surfaces: int) -> float:
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
