"""Whether a target is one drive with one arm at a place, or several that share its addresses.

# Method
Of some addresses near each other, those pass at the same angle in pairs that lie on other tracks.
Both reads of such a pair are sent at once. One arm ends the second a turn after the first; several
drives behind RAID, or several arms for one place, do not need that turn. A pair that ends sooner is
tried once more, because a read that waited for other load may end beside the other.

# Limits
Drives that share the addresses in parts larger than `WINDOW` are not told here. Drives that follow
each other are told by their turns, which differ by some parts per million. Mirrored drives are, if
reads that are sent at once go to both.
"""

import numpy as np

from .period import HIT_S, NotADiskError, Period, wrap
from .session import Session

#: Bytes in which the addresses lie, their number, and the most pairs.
WINDOW, ADDRESSES, PAIRS = 512 << 20, 96, 32

#: Angles of a pair that are equal, turns between its ends with one arm, and share of other pairs.
EQUAL, APART, SHARE = 0.02, 0.9, 0.15

#: Parts of RAID-0 that are tried, bytes, its drives, and how well and how clearly one must fit.
CHUNKS, DRIVES, FITS, CLEAR = tuple(4096 << k for k in range(15)), range(2, 9), 0.85, 0.1

#: How clearly turns of two halves of the addresses must differ, in errors and relatively.
SURE, DIFFER = 6.0, 2e-7


def _disjoint(pairs: np.ndarray) -> np.ndarray:
    """Return the first of the pairs that have no address in common: one that is odd counts once."""
    taken: set[int] = set()
    kept = []
    for pair in pairs:
        if taken.isdisjoint(pair):
            taken.update(pair)
            kept.append(pair)
    return np.array(kept, int)


def _sooner(period: Period, sectors: np.ndarray) -> bool | None:
    """Read two sectors at once; tell whether one arm cannot, or None if the buffer may be why.

    They lie before those that were read: the buffer has fewer of them.
    """
    session = period.session
    both = session.read("alone", sectors * session.sector_blocks, together=True)
    turns = abs(int(np.diff(both.done_ns)[0])) / 1e9 / period.turn_s
    # Whole turns, or one of them is on the track before that of its neighbour.
    if (both.done_ns - both.issued_ns <= HIT_S * 1e9).any() or abs(wrap(turns)) > 2 * EQUAL:
        return None
    return turns < APART


def check(session: Session, period: Period) -> None:
    """Read pairs of equal angles at once.

    Raises:
        NotADiskError: many of them end sooner than one arm allows.
    """
    block = session.sector_blocks
    size = block * int(session.described["block_bytes"])
    window = min(WINDOW // size, session.ranges[0][1] // block // 4)
    rng = session.rng("alone")
    begin = int(rng.integers(2, 2 * window))
    # What is read ahead of one is not met by the next.
    sectors = np.sort(begin + rng.choice(window, ADDRESSES, replace=False))[::-1]
    period.keep()
    answer = session.read("alone", sectors * block)
    angles = period.phase(answer.done_ns)
    apart = np.abs(wrap(angles[:, None] - angles)) < EQUAL
    apart &= sectors[:, None] - sectors > window // 32
    apart &= (answer.status[:, None] + answer.status) == 0
    sooner: list[bool] = []
    of: list[np.ndarray] = []
    for pair in _disjoint(rng.permutation(np.argwhere(apart)))[:PAIRS]:
        early = _sooner(period, sectors[pair] - 1)
        early = _sooner(period, sectors[pair] - 2) if early else early
        if early is not None:
            sooner.append(early)
            of.append(sectors[pair] - 1)
    if len(sooner) >= PAIRS / 4 and np.mean(sooner) > SHARE:
        raise NotADiskError(
            f"no single disk: {np.mean(sooner):.0%} of pairs of reads end sooner than one arm can "
            "serve both: several drives share the addresses, as RAID does"
            + _parts(np.array(of) * size, np.array(sooner))
        )
    check_turns(period)


def check_turns(period: Period) -> None:
    """Compare the turns of both halves of the addresses.

    Raises:
        NotADiskError: they differ.
    """
    apart, error = period.halves()
    if abs(apart) > max(SURE * error, DIFFER):
        raise NotADiskError(
            f"no single disk: turns of the upper half of the addresses differ by {apart * 1e6:.2f} "
            "ppm from those of the lower one: several drives one after the other"
        )


def _parts(at: np.ndarray, sooner: np.ndarray) -> str:
    """Return in words the chunk of RAID-0 that tells which pairs are on two drives.

    Args:
        at: pairs of addresses in bytes.
        sooner: whether each pair ended sooner than one arm allows.
    """
    fits = []
    for drives in DRIVES:
        for chunk in CHUNKS:
            on = at // chunk % drives
            fits.append((float(np.mean((on[:, 0] != on[:, 1]) == sooner)), chunk, drives))
    fits.sort(reverse=True)
    best, chunk, drives = fits[0]
    # Half of the chunk on twice as many drives is another.
    if best < FITS or best - fits[1][0] < CLEAR:
        return ""
    return f"; in parts of {chunk >> 10} KiB on {drives} of them"
