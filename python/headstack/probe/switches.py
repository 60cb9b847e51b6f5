"""Head switches: the least access to the nearest track of every other head.

# Limits
A switch never comes without a movement, because the tracks of the heads of one drive are not in
line. So its time is that of the switch or of a short seek, whichever is longer.
"""

from typing import Any, NamedTuple

import numpy as np

from . import seek
from .value import Value, less

#: How far the tracks of two heads may be apart, tracks.
_IN_LINE = 2.0


class Switches(NamedTuple):
    """What was measured of head switches.

    Attributes:
        by_head: time from a head to the next one, beyond the turnaround, s.
        head_switch: the least of them; None if the drive has one head.
        track_to_track: time to the next track of the same head, beyond the turnaround, s.
    """

    by_head: tuple[Value, ...]
    head_switch: Value | None
    track_to_track: Value


def measure(
    session: Any,
    geometry: Any,
    curve: seek.SeekCurve,
    rng: np.random.Generator,
    *,
    trials: int = 20,
    disturbed: float = 0.02,
) -> Switches:
    """Measure the switch from each head to the next, near the outer edge."""
    single = curve.table[0][1]
    chosen = [] if geometry.heads == 1 else _pairs(session, geometry, rng)
    if not chosen:
        return Switches((), None, single)
    done = seek.bisection(session, geometry, curve.turn_s, "head switches", chosen, trials=trials, disturbed=disturbed)
    o = curve.turnaround
    by_head = []
    for both in ([v for v in both if v.origin == "measured"] for both in done.values()):
        if not both:
            continue
        by_head.append(less(seek.together(both), float(o.value)))
    if not by_head:
        return Switches((), None, single)
    # The pairs that are most nearly in line say what the switch alone takes.
    return Switches(tuple(by_head), min(by_head, key=lambda v: float(v.value)), single)


def _pairs(session: Any, geometry: Any, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Return addresses of neighbouring heads, at nearly one radius, one pair for each head."""
    at = seek.located(geometry, seek.sampled(session, rng, seek.SAMPLED))
    start = int(at.lbas[np.argmin(np.abs(at.cylinders - 0.05 * geometry.cylinders))])
    pairs: list[tuple[int, int]] = []
    # Tracks of the next head may be a band away.
    for tracks in (4, 64, 512, 4096, 32_768):
        near = seek.near(session, geometry, start, tracks)
        pairs = []
        for head in range(geometry.heads):
            here = np.flatnonzero(near.heads == head)[:: -(-len(near.lbas) // 2000)]
            there = np.flatnonzero(near.heads == (head + 1) % geometry.heads)
            if not len(here) or not len(there):
                break
            apart = np.abs(near.cylinders[here][:, None] - near.cylinders[there])
            a, b = np.unravel_index(int(np.argmin(apart)), apart.shape)
            if apart[a, b] > _IN_LINE:
                break
            pairs.append((int(near.lbas[here[a]]), int(near.lbas[there[b]])))
        if len(pairs) == geometry.heads:
            break
    return pairs
