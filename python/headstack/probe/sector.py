"""Physical sectors of a target that does not declare them: NBD tells what its server prefers.

The blocks of one physical sector end at one angle, and those of the next one a sector later.
"""

import numpy as np

from .period import HIT_S, Period, wrap
from .session import Session

#: Places that are read.
PLACES = 80


def measure(session: Session, period: Period) -> None:
    """Take blocks for sectors if the first and the last block of a page end apart."""
    block = session.sector_blocks
    if session.described["kind"] != "nbd" or block == 1:
        return
    pages = session.rng("sector").integers(0, session.sectors - 2, PLACES) * block
    # Backwards, because what is read ahead lies behind.
    lbas = pages[:, None] + np.array([block, block - 1, 0])
    period.keep()
    answer = session.read("sector", lbas.ravel(), 1)
    turns = period.phase(answer.done_ns)
    turns[(answer.done_ns - answer.issued_ns < HIT_S * 1e9) | (answer.status != 0)] = np.nan
    next_page, last, first = turns.reshape(-1, 3).T
    if min(np.isfinite(each).sum() for each in (next_page, last, first)) < PLACES / 2:
        return  # The buffer has the first block once the last one was read.
    # Boundaries of tracks and late reads are outliers.
    within, page = (float(np.nanmedian(wrap(b - first))) for b in (last, next_page))
    if within > page / 2:
        session.described["physical_bytes"] = session.described["block_bytes"]
