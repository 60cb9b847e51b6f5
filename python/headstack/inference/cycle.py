"""The cycle of heads in a zone: how many bytes until the first head comes again, and their rates.

# Method
Within a zone the bands of all heads hold equal bytes, and heads follow each other in a fixed order.
For a trial cycle C, the bytes of every block on each head are known; block times are regressed on
them. The C with the smallest residual is the cycle, and the coefficients are seconds per byte of
each head. C is tried in relative steps of C/(12 span), a twelfth of a cycle at the zone's end.

# Limits
Heads of equal rate look like one head: the number of heads can come out too small. Where a block is
near half a cycle, C and its mirror image (heads in reverse order) fit almost equally; other zones
tell them apart (`headstack.inference.whole`).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstack.errors import ConfigError

Floats = NDArray[np.float64]

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
            f"inference: got {np.isfinite(times).sum()} blocks in a zone, need at least "
            f"{4 * surfaces} for {surfaces} heads"
        )
    cycles = trial_cycles(bands[0] * surfaces, bands[1] * surfaces, float(edges[-1]))
    _, residuals = regress(times, edges, cycles, surfaces)
    inner = np.pad(residuals, 1, constant_values=np.inf)
    minima = np.flatnonzero((residuals <= inner[:-2]) & (residuals <= inner[2:]))
    best = minima[np.argsort(residuals[minima], kind="stable")][:candidates]
    return sorted(
        (_refined(times, edges, surfaces, cycles, int(i)) for i in best), key=lambda c: c.residual
    )


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
