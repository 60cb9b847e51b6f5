"""Angles of addresses: where on the turn their last bit ends, from the ends of single reads.

One read tells the angle to some tens of microseconds, whatever the arm did before and however often
the read waited a whole turn. Ends that are later than the medium by a constant time shift all
angles alike.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .period import HIT_S, Period, middle, wrap
from .session import MOST_EVICTING, Session

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Errors of a read that are tolerated: times its standard deviation, and at least, in turns.
SIGMAS, LEAST = 8.0, 0.006


class Angles:
    """Angles of sectors of a target.

    Attributes:
        session: the target.
        period: its turn and phase.
    """

    def __init__(self, session: Session, period: Period) -> None:
        self.session, self.period = session, period
        #: Addresses whose angles were as predicted, and by how many turns they were off.
        self.checked: list[tuple[int, float]] = []

    @property
    def tolerance(self) -> float:
        """Error of one read that is tolerated, in turns."""
        return max(LEAST, SIGMAS * self.period.sigma_s / self.period.turn_s)

    def of(self, lbas: Sequence[int] | Ints, step: str) -> tuple[Floats, Floats]:
        """Return the angles of addresses in turns, and their standard deviations.

        Each address is read three times, or more often the more reads are disturbed.
        """
        count = 3 if self.period.disturbed < 0.1 else 5
        reads = np.array([self.read(lbas, step) for _ in range(count)])
        found = np.array([middle(r[np.isfinite(r)]) if np.isfinite(r).any() else np.nan for r in reads.T])
        one = self.period.sigma_s / self.period.turn_s
        return found % 1.0, np.full(len(found), one / np.sqrt(count))

    def read(self, lbas: Sequence[int] | Ints, step: str) -> Floats:
        """Return the angles of one read of each address; not-a-number where there is none."""
        self.period.keep()
        if not self.session.described["fua"] and len(lbas) > 1:
            # What is read ahead lies behind: the other way round it is not met.
            order = np.argsort(-np.asarray(lbas), kind="stable")
            back = np.argsort(order, kind="stable")
            return self._once(np.asarray(lbas)[order], step)[back]
        return self._once(lbas, step)

    def _once(self, lbas: Sequence[int] | Ints, step: str) -> Floats:
        answer = self.session.read(step, lbas)
        found = self.period.phase(answer.done_ns)
        found[answer.status != 0] = np.nan
        if not self.session.described["fua"]:
            self._past_buffer(lbas, answer.done_ns - answer.issued_ns, found, step)
        return found

    def _past_buffer(self, lbas: Sequence[int] | Ints, taken_ns: Ints, found: Floats, step: str) -> None:
        """Read again, from the medium, what came from the buffer."""
        session, each = self.session, np.asarray(lbas)
        hits = np.flatnonzero(taken_ns < HIT_S * 1e9)
        found[hits] = np.nan
        while len(hits):
            # Of equal addresses one at a time, and those that lie behind first.
            once = hits[np.unique(each[hits], return_index=True)[1]][::-1]
            answer = session.past_others(step, int(each[once].min()), each[once].tolist())
            late = (answer.done_ns - answer.issued_ns >= HIT_S * 1e9) & (answer.status == 0)
            found[once[late]] = self.period.phase(answer.done_ns[late])
            if late.any():
                hits = np.setdiff1d(hits, once[late])
            elif session.evicting < MOST_EVICTING:
                session.evicting *= 2
            else:
                return

    def rest(self, sectors: Sequence[int], predicted: Sequence[float], step: str) -> Floats:
        """Return measured less predicted angles of physical sectors, -1/2 to 1/2 of a turn.

        What is not as predicted is read twice more, and the middle counts; unless all three agree,
        four times more.
        """
        block = self.session.sector_blocks
        lbas = np.array(sectors, dtype=np.int64) * block
        wanted = np.array(predicted, dtype=np.float64)
        left = wrap(self.read(lbas, step) - wanted)
        odd = np.flatnonzero(~(np.abs(left) < self.tolerance / 2))
        reads = left[odd][None]
        for more in (2, 4):
            if not len(odd):
                break
            again = [wrap(self.read(lbas[odd], step) - wanted[odd]) for _ in range(more)]
            reads = np.concatenate([reads, again])
            kept = [r[np.isfinite(r)] for r in reads.T]
            left[odd] = [middle(r) if len(r) else np.nan for r in kept]
            near = np.abs(wrap(reads - left[odd])) < self.tolerance
            unsure = near.sum(axis=0) < 3
            odd, reads = odd[unsure], reads[:, unsure]
        self.checked += [(int(lba), float(r)) for lba, r in zip(lbas, left, strict=True) if abs(r) < self.tolerance]
        return np.asarray(left)
