"""The steps of a probe that measure times, in their order, and what comes of them."""

import math
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from . import actuators, buffer, drive_file, idle, policies, power, queue, replay, seek, switches
from . import writes as writing
from .drive_file import Found
from .geometry import Geometry
from .session import sector_blocks_of
from .value import Value, measured

Ints = NDArray[np.int64]

#: From this share of the usual time on, the buffer is measured in full.
_LONG = 0.4

#: From this share of late reads on, another client is looked for, and may be why a file is off.
NOISY = 0.05

#: Further random reads by which it is found, and how much less the misfit with it must be.
_MORE, _CLEARLY = 5000, 0.7

#: Time for seeks that are not known well enough after the usual trials, s.
_RESERVE_S = 75.0

#: Runs of the drive as far as it is known, by which a policy is judged.
_POLICY_RUNS = 6

#: The steps in their order.
STEPS = ("actuators", "seek", "switches", "buffer", "queue", "idle", "power", "writes")


def measure(
    session: Any,
    geometry: Any,
    turn: Value,
    disturbed: float,
    *,
    steps: Collection[str] = STEPS,
    scale: float = 1.0,
    distances: int = seek.DISTANCES,
    told: Callable[[str], None] | None = None,
) -> Found:
    """Measure times on a target of known geometry.

    Args:
        session: of the probe.
        geometry: zones, heads and the places of addresses.
        turn: time of a turn.
        disturbed: share of reads that end late for other reasons.
        steps: names of `STEPS`.
        scale: factor on the repeats, for probes of less or more time.
        distances: most of the seek table.
        told: called with the name of each step as it begins.
    """

    def begins(step: str) -> bool:
        if step in steps and told:
            told(step)
        return step in steps

    arms = actuators.measure(session, session.rng("actuators")) if begins("actuators") else None
    whole = session
    if arms is not None and len(arms.ranges) > 1:
        # Each arm has surfaces of its own: those of the first one stand for all.
        blocks = arms.ranges[0][1]
        session, geometry = _Part(session, blocks), _first(geometry, blocks)
    begins("seek")
    curve = seek.measure(
        session, geometry, float(turn.value), session.rng("seek"), disturbed=disturbed,
        trials=max(12, round(seek.TRIALS * scale)), distances=min(distances, seek.DISTANCES),
        held_out=max(200, round(seek.HELD_OUT * scale)),
        reserve_s=_RESERVE_S * scale if scale >= _LONG else 0.0,
    )  # fmt: skip
    table, origins = drive_file.geometry_table(geometry, session.described)
    if arms is not None and len(arms.ranges) > 1:
        drive_file.repeat_surfaces(table, len(arms.ranges), _blocks_of_512(whole))
    at = geometry.locate(seek.sampled(session, session.rng("sectors"), 1000))
    sector_turns = float(np.mean(1 / np.asarray(at.sectors_per_track)))
    turn = measured((curve.turn_s, *_moved(turn, curve.turn_s)), turn.reads, turn.step, "s")
    found = Found(whole.described, turn, table, origins, sector_turns, curve, actuators=arms)
    brief = distances < seek.DISTANCES
    found.host = _host(session, found, 0 if brief else max(200, round(_MORE * scale)))
    if begins("switches"):
        found.switches = switches.measure(session, geometry, curve, session.rng("switches"), disturbed=disturbed)
    if begins("buffer"):
        found.buffer = buffer.measure(session, geometry, curve.turn_s, session.rng("buffer"), brief=scale < _LONG)
    if begins("queue"):
        _queue(whole, session, geometry, found, scale)
    # Reads that wait tell policies only where their order is known.
    if found.buffer and found.buffer.enabled.value and scale >= _LONG and begins("buffer"):
        count = round(policies.REQUESTS * min(1.0, scale))
        found.policies = _policies(whole, found, count)
    if begins("idle"):
        found.idle = idle.measure(session, geometry, curve, session.rng("idle"), 24 * scale)
    if begins("power"):
        number = 1 if arms is None else int(arms.number.value)
        found.power = power.measure(whole, lambda: _simulated(found, found.host), number, session.rng("power"), scale)
    if begins("writes"):
        found.writes = writing.measure(session, geometry, curve, session.rng("writes"), disturbed=disturbed)
    return found


def _moved(turn: Value, refined_s: float) -> tuple[float, float]:
    """Return the interval of a turn's time around its refined value."""
    room = max(float(turn.high) - float(turn.low), 2e-7 * refined_s) / 2
    return refined_s - room, refined_s + room


def _first(geometry: Geometry, blocks: int) -> Geometry:
    """Return the geometry of the first arm's addresses."""
    zones = [z for z in geometry.found if z.first_lba < blocks]
    return Geometry(zones, geometry.order_of_heads, blocks, geometry.block, geometry.layout)


def _blocks_of_512(session: Any) -> int:
    return int(session.described["blocks"]) * int(session.described["block_bytes"]) // 512


class _Part:
    """The addresses of the first arm of a session."""

    def __init__(self, session: Any, blocks: int) -> None:
        self._session = session
        self.described = {**session.described, "blocks": blocks}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


def _queue(whole: Any, session: Any, geometry: Any, found: Found, scale: float) -> None:
    """Measure the queue, and fit its order on the drive as far as it is known.

    Batches and starvation are those of the first arm.
    """
    rng = session.rng("queue")
    depths = queue.by_depth(whole, rng, seconds=queue.SECONDS * scale)
    if whole is session and not found.host.beside:
        share = _disturbed(session, geometry, found, depths[0])
        found.host = found.host._replace(disturbed=share)
    batches = round(queue.BATCHES * max(0.3, scale))
    shares = queue.agreement(session, geometry, found.curve, rng, batches=batches)
    starved = queue.starvation(session, geometry, rng)
    found.queue = fitted(found, depths, shares, starved)


def _disturbed(session: Any, geometry: Geometry, found: Found, alone: queue.Depth) -> float:
    """Return the share of disturbed reads with what single random reads say of it."""
    curve = found.curve
    if not math.isnan(share := seek.late_of(session, geometry, curve)):
        return share
    moved = np.abs(np.diff(geometry.locate(alone.lbas).cylinder))
    late = seek.disturbed_of(curve, moved, alone.taken_s[1:])
    before = 0 if curve.alone is None else len(curve.alone.lbas)
    return (curve.disturbed * before + late * len(moved)) / (before + len(moved))


def fitted(
    found: Found, depths: tuple[queue.Depth, ...], shares: dict[str, float], starved: list[tuple[Ints, float]]
) -> queue.Queue:
    """Return the order that fits, by simulations of the drive as far as it is known."""
    tags = int(found.described.get("queue_depth") or 32)
    block = sector_blocks_of(found.described)

    def simulate(order: dict[str, Any], lbas: Ints, depth: int) -> Any:
        found.queue = queue.Queue(depths, "", {}, order, None, ())
        issued, done, _ = _simulated(found, found.host).read(lbas.tolist(), block, depth=depth)
        return np.asarray(issued) / 1e9, np.asarray(done) / 1e9

    return queue.fit(depths, shares, starved, simulate, tags)


def _policies(session: Any, found: Found, count: int) -> policies.Policies:
    """Return the read policies of the buffer that fit a mixed load."""

    def simulate(values: dict[str, bool], trace: replay.Trace, way: str) -> Any:
        found.policies = policies.Policies(values, (), 0.0, 0)
        times = [replay.times_of(_simulated(found, found.host, seed).read, trace, way) for seed in range(_POLICY_RUNS)]
        return np.concatenate(times)

    return policies.measure(session, session.rng("policies"), simulate, 1.5 * found.curve.turn_s, count)


def _simulated(found: Found, host: replay.Host, seed: int = 0) -> Any:
    """Open the drive as far as it is known."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trial.toml"
        drive_file.write(found, path)
        return replay.simulated(path, host, seed)


def _host(session: Any, found: Found, more: int) -> replay.Host:
    """Return what reads suffer: a share that is late by whole turns, and another client.

    Both make reads late. What fits the times of random reads is taken: of those that were held out
    and, where many are late, of so many more.
    """
    curve, alone = found.curve, found.curve.alone
    plain = replay.Host(curve.lateness_s, curve.disturbed)
    if alone is None or curve.disturbed < NOISY or not more:
        return plain
    loads = [alone, seek.random_reads(session, session.rng("host"), more)]
    block = sector_blocks_of(found.described)
    levels = np.linspace(0.005, 0.995, 199)
    measured_s = np.quantile(np.concatenate([each.taken_s for each in loads]), levels)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trial.toml"
        drive_file.write(found, path)

        def off(host: replay.Host) -> float:
            runs = []
            for seed in range(3):
                for each in loads:
                    drive = replay.simulated(path, host, seed)
                    runs.append(replay.taken(drive.read(each.lbas.tolist(), block)))
            return float(np.abs(np.quantile(np.concatenate(runs), levels) - measured_s).mean())

        def with_client(shares: Any) -> replay.Host:
            beside, late = (round(float(x), 3) for x in np.clip(shares, 0, 0.8))
            return replay.Host(curve.lateness_s, late, beside)

        def misfit(shares: Any) -> float:
            return off(with_client(shares))

        start = curve.disturbed
        first: Any = [(start, 0.0), (1.5 * start, 0.0), (start, 0.05)]
        options: Any = {"initial_simplex": first, "xatol": 0.004, "fatol": 1e-6, "maxfev": 45}
        best = optimize.minimize(misfit, first[0], method="Nelder-Mead", options=options)
        # One number more always fits a little better.
        return with_client(best.x) if best.fun < _CLEARLY * off(plain) else plain
