"""A mixed trace on the target and on the recovered drive file: the file's verdict.

# Method
Random reads of several sizes and runs of sequential reads, closed with pauses and open at random
times, with the buffer in use. The host of the simulated drive is as late as that of the target,
loses the same share of turns, and has the same other client. The file is run from several phases of
the disk, which it does not have. The demerit is the root mean square distance of the two
distributions of response times (Ruemmler & Wilkes, IEEE Computer 27(3), 1994), as a share of the
measured mean.

# Validity
No number of the file was fitted to these reads.
"""

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstack import _bridge
from headstack.drives.calibration import demerit

from .seek import sampled
from .value import Value, measured

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Requests of each replay, share of random ones, and sizes in KiB.
_REQUESTS, _RANDOM, _SIZES_KIB = 3000, 0.85, (4, 8, 16, 64)

#: Fewest and most requests, and the time of both replays for each, in times of a random read.
_FEWEST, _MOST, _EACH = 300, 6000, 3.3

#: Runs of the file.
_RUNS = 4

#: Load of the open replay, as a share of what the drive does at depth 1.
_LOAD = 0.45

#: Share of the measured value by which a file may be off without a note.
FAR = 0.10


class Replay(NamedTuple):
    """Demerits as shares of the measured mean.

    Attributes:
        closed: each request after the one before, with pauses.
        open: requests that arrive at random times.
        chance: what runs of the file have against each other: nothing less can be told.
        measured_s: response times on the target, closed and open.
        simulated_s: the same of the file.
    """

    closed: Value
    open: Value
    chance: tuple[float, float]
    measured_s: tuple[Floats, Floats]
    simulated_s: tuple[Floats, Floats]

    @property
    def off(self) -> float:
        """The worse demerit without what runs of the file have against each other."""
        both = zip((self.closed, self.open), self.chance, strict=True)
        return max(math.sqrt(max(0.0, float(v.value) ** 2 - c**2)) for v, c in both)


class Trace(NamedTuple):
    """Requests with their sizes in logical blocks, pauses and times of arrival in s."""

    lbas: list[int]
    blocks: list[int]
    waits_s: list[float]
    at_s: list[float]


class Host(NamedTuple):
    """What reads suffer that is not the drive's.

    Attributes:
        lateness_s: mean of the random part of the host's lateness.
        disturbed: share of reads that end whole turns late.
        beside: share of the drive's time that another client takes.
    """

    lateness_s: float = 0.0
    disturbed: float = 0.0
    beside: float = 0.0


def simulated(drive: str | Path, host: Host, seed: int = 0) -> Any:
    """Open a drive file as a target of a host like that of the probe."""
    return _bridge.probe_target(f"sim:{drive}", seed=seed, **host._asdict())


def mixed(session: Any, rng: np.random.Generator, count: int, mean_s: float, alone: float = _RANDOM) -> Trace:
    """Return a mixed trace of single reads and runs.

    Args:
        session: of the probe.
        rng: random numbers.
        count: least number of requests.
        mean_s: time of a random read.
        alone: share of single reads among them and runs.
    """
    per_kib = 1024 / int(session.described["block_bytes"])
    most = int(session.described["blocks"]) - 2048
    lbas: list[int] = []
    blocks: list[int] = []
    while len(lbas) < count:
        start = min(int(sampled(session, rng, 1)[0]), most)
        size = max(session.sector_blocks, int(rng.choice(_SIZES_KIB) * per_kib))
        run = 1 if rng.random() < alone else int(rng.integers(4, 9))
        for i in range(run):
            lbas.append(min(start + i * size, most))
            blocks.append(size)
    waits = rng.exponential(0.3 * mean_s, len(lbas))
    at = np.cumsum(rng.exponential(mean_s / _LOAD, len(lbas)))
    return Trace(lbas, blocks, [round(float(w), 7) for w in waits], [float(t) for t in at])


def affordable(left_s: float, mean_s: float) -> int:
    """Return the requests that can be replayed in the time that is left: the more, the sharper."""
    return int(np.clip(0.9 * left_s / (_EACH * mean_s), _FEWEST, _MOST))


def times_of(read: Callable[..., Any], trace: Trace, way: str) -> Floats:
    """Send a trace closed (`wait_s`) or open (`at_s`); return the times of its reads, s.

    Those of an open trace are from the arrivals: a target that takes few commands at once lets
    others wait at the client.
    """
    when_s = trace.waits_s if way == "wait_s" else trace.at_s
    answer = read(trace.lbas, trace.blocks, fua=False, **{way: when_s})
    if way == "wait_s":
        return taken(answer)
    issued, done = (np.asarray(times) / 1e9 for times in answer[:2])
    return np.asarray(done - issued[0] - (np.asarray(when_s) - when_s[0]))


def measure(
    session: Any, drive: str | Path, rng: np.random.Generator, *, mean_s: float, host: Host, count: int = _REQUESTS
) -> Replay:
    """Replay a mixed trace on the target and on the file."""
    trace = mixed(session, rng, count, mean_s)
    pairs: list[tuple[Floats, Floats]] = []
    for way in ("wait_s", "at_s"):
        theirs = times_of(partial(session.read, "replay"), trace, way)
        ours = [times_of(simulated(drive, host, seed).read, trace, way) for seed in range(_RUNS)]
        pairs.append((theirs, np.concatenate(ours)))
    values = []
    for target, simulation in pairs:
        share = demerit(target, simulation) / float(target.mean())
        room = _by_chance(target, simulation, rng)
        values.append(measured((share, *room), len(target), "replay"))
    (a, b), (c, d) = pairs
    return Replay(values[0], values[1], (_chance(b), _chance(d)), (a, c), (b, d))


def taken(answer: Any) -> Floats:
    """Return the times of reads, s."""
    issued, done, _ = answer
    return np.asarray((np.asarray(done) - np.asarray(issued)) / 1e9)


def _chance(simulation: Floats) -> float:
    """Return the mean demerit of a run of the file against its other runs, as a share of the mean.

    The target was run once, the file several times.
    """
    runs = simulation.reshape(_RUNS, -1)
    each = [demerit(runs[i], np.delete(runs, i, axis=0).ravel()) for i in range(_RUNS)]
    return float(np.mean(each)) / float(simulation.mean())


def _by_chance(target: Floats, ours: Floats, rng: np.random.Generator) -> tuple[float, float]:
    """Return the interval of the demerit's share under resampling of what was measured."""
    draws = []
    for _ in range(40):
        mine = rng.choice(target, len(target))
        draws.append(demerit(mine, ours) / float(mine.mean()))
    # A resampled demerit is larger than that of the sample: its spread counts, not its place.
    value = demerit(target, ours) / float(target.mean())
    room = 1.96 * float(np.std(draws))
    return max(0.0, value - room), value + room
