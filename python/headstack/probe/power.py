"""Power by state, with a meter that shows the target and nothing else.

# Method
The meter is read while the target is left alone, and while it serves random reads, one at a time
and many, reads of near places and one long read. The same reads are simulated on what was found, so
the shares of time in which the arm moves, waits or transfers are known; the watts of each are those
that fit all loads (least squares, none below zero), as in docs/models/power.md, `modes`. In long
pauses a drive may turn to a deeper condition: its power is what is left then.

# Limits
Spindle and electronics are one sum, and so are waiting and transferring. Timers of more than the
longest pause, and what it takes to come back, are not told. A meter says nothing of the time before
its interval is over.
"""

import json
import shlex
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from headstack import _bridge
from headstack.errors import ConfigError, HeadstackError

from .seek import sampled
from .value import Value, measured

Ints = NDArray[np.int64]

#: Windows of each load, the fewest, least seconds of one, and intervals of the meter in it.
WINDOWS, _FEWEST, _WINDOW_S, _INTERVALS = 5, 3, 2.0, 4

#: Time in which a drive reads ahead, s, and the parts of a pause after it, of which the first is
#: idle and the last a deeper condition, if they differ by this share.
_AHEAD_S, _PAUSE_S, _LOWER = 0.05, (0.04, 0.3, 1.0, 3.0, 6.0), 0.005

#: Share of the addresses in which near reads lie, and bytes of a read of the long one.
_NEAR, _LONG_BYTES = 0.002, 1 << 20


class Load(NamedTuple):
    """A load, and what was measured of it.

    Attributes:
        name: in words.
        watts: mean power.
        moving: share of the time in which the arm moves.
        busy: share of the time in which it waits for a sector or transfers.
    """

    name: str
    watts: Value
    moving: float
    busy: float


class Power(NamedTuple):
    """What was found of power.

    Attributes:
        idle: power without commands, at full readiness, W.
        later: power at the end of a pause if it is lower, and the time of its begin, s.
        loads: the loads.
        voice_coil: what a moving arm adds, W.
        access: what waiting and transferring add, W.
    """

    idle: Value
    later: tuple[Value, float] | None
    loads: tuple[Load, ...]
    voice_coil: Value
    access: Value

    @property
    def values(self) -> dict[str, Value]:
        """The values of the model `modes`, by their keys in drive files."""
        later = {} if self.later is None else {"idle_a": self.later[0]}
        parts = {"spindle": self.idle, "voice_coil": self.voice_coil, "access": self.access}
        return parts | later

    def of(self, load: Load) -> float:
        """Return the power of a load by the values that were fitted, W."""
        parts = (self.idle.value, self.voice_coil.value, self.access.value)
        return float(np.dot([float(p) for p in parts], [1.0, load.moving, load.busy]))

    def as_dict(self) -> dict[str, Any]:
        """Return it as a dictionary for JSON."""
        document: dict[str, Any] = {k: v.as_dict() for k, v in self.values.items()}
        if self.later is not None:
            document["idle_a"]["after_s"] = self.later[1]
        return document | {"loads": {load.name: load.watts.as_dict() for load in self.loads}}

    def text(self) -> list[str]:
        """Return what was found, line by line."""
        lines = [f"power: idle {self.idle.shown}"]
        if self.later is not None:
            lines.append(f"power after {self.later[1]:.2g} s without commands: {self.later[0].shown}")
        return lines + [
            f"power, {load.name}: {load.watts.shown}; by the file {self.of(load):.2f} W" for load in self.loads
        ]


class Own:
    """The power of a simulated target, without an error."""

    interval_s = 0.0

    def __init__(self, target: Any) -> None:
        self._target = target

    @contextmanager
    def during(self) -> Iterator[list[float]]:
        """Yield a list that has the watts afterwards."""
        watts: list[float] = []
        joules, begin = self._target.energy()[-1], self._target.now_ns()
        yield watts
        past = self._target.now_ns() - begin
        watts.append((self._target.energy()[-1] - joules) / past * 1e9)


class Read:
    """A meter of headstack-capd, which is read in a thread of its own."""

    def __init__(self, meter: Any) -> None:
        self._meter, self.interval_s = meter, float(meter.interval_s)
        self._meter.read()  # one that cannot be read is said before the probe begins

    @contextmanager
    def during(self) -> Iterator[list[float]]:
        """Yield a list that has the readings of the time since, without those of its begin."""
        watts: list[float] = []
        made: dict[float, float] = {}
        over = threading.Event()

        def read() -> None:
            while not over.wait(self.interval_s / 2):
                try:
                    at, value = self._meter.read()
                except HeadstackError:
                    continue  # a meter may fail now and then
                made[at] = value

        thread = threading.Thread(target=read, daemon=True)
        # What a meter shows is the mean over its last interval.
        begin = time.clock_gettime(time.CLOCK_BOOTTIME) + self.interval_s
        thread.start()
        try:
            yield watts
        finally:
            past = time.clock_gettime(time.CLOCK_BOOTTIME)
            over.set()
        watts += [value for at, value in made.items() if begin <= at <= past]


def opened(what: str, target: Any) -> Own | Read:
    """Open a meter.

    Args:
        what: "sim", the power of a simulated target; "file:PATH", "hwmon:PATH", "command:PROGRAM
            ARGUMENTS", or a table as `meter` has it in the configuration of headstack-capd.
        target: that is probed.

    Raises:
        ConfigError: there is no such meter.
        HeadstackError: it cannot be read.
    """
    if what == "sim":
        if target.energy() is None:
            raise ConfigError("--meter: got sim, need a meter of the target: it is not simulated")
        return Own(target)
    kind, _, rest = what.partition(":")
    if what.startswith("{"):
        try:
            table = tomllib.loads(f"meter = {what}")["meter"]
        except tomllib.TOMLDecodeError as e:
            raise ConfigError(f"--meter: got {what}, need a table of TOML: {e}") from None
    elif kind in ("file", "hwmon", "command") and rest:
        table = {kind: shlex.split(rest) if kind == "command" else rest}
    else:
        need = "sim, file:PATH, hwmon:PATH, command:PROGRAM or a table"
        raise ConfigError(f"--meter: got {what}, need {need}")
    return Read(_bridge.probe_meter(json.dumps(table)))


def least_s(meter_s: float) -> float:
    """Return the time that the step takes at least with such a meter, s."""
    return 1.1 * _FEWEST * (sum(_parts(meter_s)) + 4 * _seconds(meter_s))


def _seconds(meter_s: float) -> float:
    """Return how long a load is read at once, s."""
    return max(_WINDOW_S, _INTERVALS * meter_s)


def _parts(meter_s: float) -> list[float]:
    """Return the parts of a pause, s."""
    return [max(s, _INTERVALS * meter_s) for s in _PAUSE_S]


def _mean(watts: list[float], reads: int) -> Value:
    """Return the mean of what was read in several windows, by their spread."""
    mean, room = float(np.mean(watts)), 1.96 * float(np.std(watts, ddof=1)) / len(watts) ** 0.5
    return measured((mean, mean - room, mean + room), reads, "power", "W")


def measure(
    session: Any, simulated: Callable[[], Any], arms: int, rng: np.random.Generator, scale: float = 1.0
) -> Power:
    """Measure power by state.

    Args:
        session: of the probe, with a meter.
        simulated: opens the drive as it was found.
        arms: that move at once.
        rng: of addresses.
        scale: factor on the repeats.

    Raises:
        HeadstackError: the meter says nothing while it is measured.
    """
    windows = _FEWEST if session.meter_s > 1 else max(_FEWEST, round(WINDOWS * min(1.0, scale)))
    seconds = _seconds(session.meter_s)
    idle, later = _paused(session, rng, windows)
    block, blocks = session.sector_blocks, int(session.described["blocks"])
    per_read = _LONG_BYTES // int(session.described["block_bytes"])
    deep = int(session.described.get("queue_depth") or 32)
    near = int(rng.integers(0, int((1 - _NEAR) * blocks))) // block * block

    def anywhere(count: int) -> Ints:
        return sampled(session, rng, count)

    def nearby(count: int) -> Ints:
        return np.asarray(near + rng.integers(0, max(1, int(_NEAR * blocks)), count) // block * block)

    def onward(count: int) -> Ints:
        return np.arange(count) * per_read % (blocks - per_read)

    loads = []
    for name, lbas_of, depth, size in (
        ("random reads", anywhere, 1, block),
        (f"random reads, {deep} at once", anywhere, deep, block),
        ("near reads", nearby, 1, block),
        ("one long read", onward, 2, per_read),
    ):
        options: dict[str, Any] = {"depth": depth, "fua": False} if size > block else {"depth": depth}
        first = lbas_of(16)
        issued, done, _ = session.read("power", first, size, **options)
        rate = len(first) / (float(done.max() - issued.min()) / 1e9)
        lbas = lbas_of(windows * max(16, round(rate * seconds)))
        watts = []
        for part in np.array_split(lbas, windows):
            session.read("power", part, size, metered=True, **options)
            watts.append(_read(session))
        drive = simulated()
        before = np.array(drive.energy()[:4])
        drive.read(lbas.tolist(), size, **{"fua": bool(session.described["fua"]), **options})
        shares = np.array(drive.energy()[:4]) - before
        moving, busy = shares[1] / shares.sum(), shares[2:].sum() / shares.sum()
        loads.append(Load(name, _mean(watts, len(lbas)), arms * float(moving), arms * float(busy)))
    return Power(idle, later, tuple(loads), *_fitted(idle, loads, rng))


def _read(session: Any) -> float:
    """Return the mean of what the meter showed during the last call."""
    if not session.watts:
        raise HeadstackError(f"meter: got no reading within {_INTERVALS} of its intervals, need one in each")
    return float(np.mean(session.watts))


def _paused(session: Any, rng: np.random.Generator, count: int) -> tuple[Value, tuple[Value, float] | None]:
    """Return idle power, and that at the end of long pauses with its begin if it is lower."""
    parts = _parts(session.meter_s)
    found = []
    for _ in range(count):
        session.read("power", sampled(session, rng, 1))
        session.sleep(_AHEAD_S)
        each = []
        for seconds in parts:
            session.sleep(seconds, metered=True)
            each.append(_read(session))
        found.append(each)
    watts = np.array(found)
    first, last = _mean(list(watts[:, 0]), count), _mean(list(watts[:, -1]), count)
    if float(last.high) >= float(first.low) * (1 - _LOWER):
        return _mean(list(watts.mean(axis=1)), count * len(parts)), None
    # In the part in which it changed, power is between both.
    above = (watts.mean(axis=0) - float(last.value)) / (float(first.value) - float(last.value))
    begin = _AHEAD_S + float(np.dot(np.clip(above, 0, 1), parts))
    return first, (last, begin)


def _fitted(idle: Value, loads: list[Load], rng: np.random.Generator) -> tuple[Value, Value]:
    """Return the watts of a moving arm, and of waiting and transferring."""
    shares = np.array([[load.moving, load.busy] for load in loads])
    every = [idle, *(load.watts for load in loads)]
    means = np.array([float(v.value) for v in every])
    # Shares of time are known to some thousandths.
    sd = np.maximum([(float(v.high) - float(v.low)) / 3.92 for v in every], 1e-3 * means)
    fits = []
    for _ in range(200):
        drawn = means + sd * rng.standard_normal(len(every))
        fits.append(optimize.nnls(shares / sd[1:, None], (drawn[1:] - drawn[0]) / sd[1:])[0])
    best = optimize.nnls(shares / sd[1:, None], (means[1:] - means[0]) / sd[1:])[0]
    low, high = np.quantile(fits, [0.025, 0.975], axis=0)
    reads = sum(load.watts.reads for load in loads)
    ends = np.array([best, np.minimum(low, best), np.maximum(high, best)]).T.tolist()
    return measured(ends[0], reads, "power", "W"), measured(ends[1], reads, "power", "W")
