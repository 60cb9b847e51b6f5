"""Whether two units are of one spindle, as the two halves of some drives are.

# Method
Both turns are found, then known addresses of both are visited in turn, over some time. Two units of
one spindle turn equally fast and keep their phase; two drives have crystals of their own, which
differ by some parts per million, so their phases drift apart.

# Limits
Two drives whose turns differ by less than the interval that is given are taken for one. The clocks
of both targets are that of this host.
"""

import math
from typing import NamedTuple

from . import period as periods
from .session import Session
from .value import Value

#: Visits of each unit at once, and how often at least.
VISITS, ROUNDS = 12, 4


class Spindle(NamedTuple):
    """What was found of two units.

    Attributes:
        same: whether they turn equally fast, as one spindle does.
        apart: the second turn over the first, less 1.
        seconds: time over which they were compared.
    """

    same: bool
    apart: Value
    seconds: float

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        value, room = 1e6 * self.apart.value, 1e6 * (self.apart.high - self.apart.low) / 2
        turns = f"turns differ by {value:.3f} ppm, +-{room:.3f}, over {self.seconds:.0f} s"
        if self.same:
            return f"one spindle, or two that turn equally fast: {turns}"
        return f"two drives: {turns}"


def compare(one: Session, other: Session, seconds: float) -> Spindle:
    """Visit two units in turn for some time, and compare their turns.

    Raises:
        NotADiskError: one of them does not turn.
        HeadstackError: too many reads are disturbed.
    """
    units = [periods.find(one), periods.find(other)]
    begun = one.clock_s
    pause = max(0.0, seconds / ROUNDS)
    while one.clock_s - begun < seconds:
        for unit in units:
            unit.session.sleep(pause / 2)
            unit.visit(VISITS)
    a, b = units
    apart = b.turn_s / a.turn_s - 1
    # Clocks are read to some ns; errors of both turns add up.
    room = 3 * math.hypot(a.turn_sd_s / a.turn_s, b.turn_sd_s / b.turn_s)
    reads = sum(len(t) for unit in units for t in unit.times.values())
    value = Value(apart, apart - room, apart + room, "measured", reads, "spindle")
    return Spindle(abs(apart) < room, value, one.clock_s - begun)
