"""The size of a physical sector, where a target says that it is that of a logical block.

# Method
Blocks of one physical sector end together; those of the next one a sector later. So the ends of
successive blocks are a staircase, or a straight line if each block is a sector. Both are fitted to
the blocks of places near the inner edge, where a sector takes longest, until one fits better.

# Limits
Only sectors of eight blocks that begin at multiples of eight are looked for, and only with reads
that by-pass the buffer. Where neither fits much better, what the target says stays. Behind NBD a
few blocks of many places are read, with a buffer or without.
"""

import numpy as np
from numpy.typing import NDArray

from .period import HIT_S, Period, middle, wrap

#: Blocks of a sector that is looked for, most places, sectors of each, and reads of each block.
BLOCKS, PLACES, SECTORS, READS = 8, 10, 2, 6

#: Pages that are read behind NBD.
PAGES = 80

#: Where the places are, as shares of the addresses.
_WHERE = (0.95, 0.99)

#: Squared deviations, in units of chance, by which the staircase must fit better.
_CLEARLY = 12.0

#: Most of these that one place may count.
_OF_ONE = 5.0


def measure(period: Period) -> bool:
    """Measure the sectors of a target that may not say them; return whether they are others.

    Reads are of whole sectors then, and end elsewhere.
    """
    described, block = period.session.described, period.session.sector_blocks
    if block == 1 and described["block_bytes"] == 512 and described["fua"]:
        described["sector_size_from"] = "measured"
        blocks = _of_disk(period)
        if blocks > 1:
            described["physical_bytes"] = 512 * blocks
        return blocks > 1
    return block > 1 and described["kind"] == "nbd" and _of_server(period)


def _of_disk(period: Period) -> int:
    """Return the logical blocks of a physical sector: 1 or 8."""
    session = period.session
    rng = session.rng("sectors")
    count, better = BLOCKS * SECTORS, 0.0
    block = np.arange(count)
    for share in rng.uniform(*_WHERE, PLACES):
        start = int(share * int(session.described["blocks"])) // BLOCKS * BLOCKS
        answer = session.read("sectors", start + np.tile(block, READS))
        each = period.phase(answer.done_ns).reshape(READS, count)
        each = wrap(each - middle(each.ravel()))
        ends = np.median(each, axis=0)
        spread = 1.48 * float(np.median(np.abs(each - ends)))
        chance = (1.25 * max(spread, 1e-5)) ** 2 / READS
        fits = (_left(ends, block) - _left(ends, block // BLOCKS * BLOCKS)) / chance
        # One place alone does not decide: a track may end there.
        better += min(max(fits, -_OF_ONE), _OF_ONE)
        if abs(better) > _CLEARLY:
            break
    return BLOCKS if better > _CLEARLY else 1


def _of_server(period: Period) -> bool:
    """Take blocks for sectors behind NBD if the first and the last block of a page end apart.

    What is declared there is what the server prefers, and no sector of a disk. Returns whether they
    are taken.
    """
    session = period.session
    block = session.sector_blocks
    pages = session.rng("sector").integers(0, session.sectors - 2, PAGES) * block
    # Backwards, because what is read ahead lies behind.
    lbas = pages[:, None] + np.array([block, block - 1, 0])
    period.keep()
    answer = session.read("sector", lbas.ravel(), 1)
    turns = period.phase(answer.done_ns)
    turns[(answer.done_ns - answer.issued_ns < HIT_S * 1e9) | (answer.status != 0)] = np.nan
    next_page, last, first = turns.reshape(-1, 3).T
    if min(np.isfinite(each).sum() for each in (next_page, last, first)) < PAGES / 2:
        return False  # The buffer has the first block once the last one was read.
    # Boundaries of tracks and late reads are outliers.
    within, page = (float(np.nanmedian(wrap(b - first))) for b in (last, next_page))
    if within > page / 2:
        session.described["physical_bytes"] = session.described["block_bytes"]
    return within > page / 2


def _left(ends: NDArray[np.float64], at: NDArray[np.int64]) -> float:
    """Return the sum of squares that a line over places leaves."""
    return float(np.sum((ends - np.polyval(np.polyfit(at, ends, 1), at)) ** 2))
