"""What idle time costs: reads after gaps, against the least access that the seek curve gives."""

from typing import Any, NamedTuple

import numpy as np

from .seek import SeekCurve, sampled
from .value import Value

#: Gaps, s, and reads after each.
GAPS_S, READS = (0.05, 0.2, 1.0, 5.0, 12.0), 2


class Idle(NamedTuple):
    """Time beyond a read without a gap.

    Attributes:
        gap_s: time without commands.
        extra_s: least time by which a read after it was late.
    """

    gap_s: float
    extra_s: Value


def measure(
    session: Any, geometry: Any, curve: SeekCurve, rng: np.random.Generator, longest_s: float
) -> tuple[Idle, ...]:
    """Return what reads after gaps up to a longest one take more than the seek curve allows."""
    found = []
    for gap in (g for g in GAPS_S if g <= longest_s):
        extra = []
        for _ in range(READS):
            lbas = sampled(session, rng, 2)
            first = session.read("idle", [int(lbas[0])])
            del first
            session.sleep(gap)
            issued, done, _ = session.read("idle", [int(lbas[1])])
            taken = float(done[0] - issued[0]) / 1e9
            at = geometry.locate(lbas)
            least = float(curve.access_s(np.abs(np.diff(at.cylinder)))[0])
            # Within a turn of the least access a read is not late.
            extra.append(max(0.0, taken - least - curve.turn_s))
        value = min(extra)
        found.append(Idle(gap, Value(value, value, max(extra), "measured", READS, "idle", "s")))
    return tuple(found)
