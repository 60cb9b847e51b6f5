"""The steps of a probe in their order, what they have found, and the time that is left.

Each step needs those before it. All decisions come from answers in the log, its seed and options.
"""

import tempfile
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headstack.errors import ConfigError, HeadstackError
from headstack.suggest import need_one_of

from . import alone, power, sectors
from . import heads as head_order
from . import period as periods
from . import zones as zone_search
from .angle import Angles
from .geometry import Geometry
from .session import Session
from .value import Value, exact
from .zones import Zone

if TYPE_CHECKING:
    from .drive_file import Found
    from .replay import Replay

#: Steps that may be left out, in their order; what comes before them is always done.
STEPS = ("seek", "switches", "buffer", "actuators", "queue", "idle", "power", "writes", "replay")

#: The steps that need leave to write, and a meter.
WRITES, POWER = "writes", "power"

#: Share of the time for zones, and the seconds of all later steps in a probe of 600 s.
ZONES_SHARE, LATER_S = 0.45, 520.0

#: Seconds that the search for heads leaves, but for at least a share of the time.
LEFT_S, HEADS_SHARE = 12.0, 0.65

#: In a short probe the seconds of a distance of seeks, those of the random reads that judge them,
#: and the fewest distances.
DISTANCE_S, HELD_OUT_S, FEWEST = 0.6, 3.0, 5

#: Steps in the order in which short probes have them, and the least seconds of each.
LEAST_S = {
    "seek": 22.0,
    "queue": 25.0,
    "actuators": 7.0,
    "replay": 14.0,
    "switches": 6.0,
    "idle": 3.0,
    "buffer": 47.0,
    "writes": 15.0,
    "power": 0.0,  # by the meter
}

#: Visits of known addresses at the end, over which the turn is exact.
LAST_VISITS = 24

#: Units of sizes, in bytes.
_UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1.0, "B"))

#: Called with the step, the seconds that are left, and what is known so far.
Told = Callable[[str, float, str], None]


@dataclass
class Probed:
    """What a probe found.

    Attributes:
        described: what the target says of itself.
        period: the turn.
        angles: the angles that were read.
        geometry: zones, heads and the places of addresses.
        heads: heads and how they were told.
        found: what was measured of times; None if those steps were left out.
        replay: a mixed load on the target against the file; None if that was left out.
        seconds: time of the target by step.
        notes: what stays unknown, and why.
    """

    described: dict[str, Any]
    period: periods.Period
    angles: Angles
    geometry: Geometry
    heads: head_order.Found
    found: "Found | None" = None
    replay: "Replay | None" = None
    seconds: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def rates(self) -> list[Value]:
        """Return the rate of long reads in each zone of the first actuator, in bytes/s."""
        return [self._rate(z) for z in self.geometry.of_first]

    def _rate(self, zone: Zone) -> Value:
        cycle = zone.cycle
        turns, reads = 0.0, 0
        for i, band in enumerate(cycle):
            after = cycle[i + 1].angle_turns if i + 1 < len(cycle) else None
            if after is None and zone.cycles > 1:
                after = cycle[0].angle_turns + zone.cycle_turns
            jump = periods.forward(after - band.last_angle) if after is not None else band.skew_turns
            turns += band.tracks + (band.tracks - 1) * band.skew_turns + jump
            reads += band.reads
        rate = zone.cycle_blocks * int(self.described["block_bytes"]) / turns
        rate /= self.period.turn_s
        # Sectors and turns are exact; what is left is the angle over which the cycle was timed.
        off = 2 * self.period.sigma_s / self.period.turn_s / (turns * zone.cycles) * rate
        return Value(rate, rate - off, rate + off, "measured", reads, "zones", "B/s")

    def values(self) -> dict[str, Value]:
        """Return what was found of rotation and geometry, by name."""
        g = self.geometry
        reads = sum(b.reads for b in g.bands)

        def of_heads(value: str, told: bool) -> Value:
            if told:
                return exact(value, "heads", reads)
            return Value(value, None, None, "not identifiable", reads, "heads")

        count = exact(g.heads, "heads", reads)
        if not self.heads.heads.measured:
            count = replace(count, origin="not identifiable")
        rates = self.rates()
        return {
            "turn": self.period.value(),
            "heads": count,
            "layout": of_heads(g.layout, self.heads.sure),
            "direction": of_heads(g.direction, all(self.heads.heads.directions)),
            "head_order": of_heads(g.head_order, g.order_told),
            "zones": exact(len(g.zones), "zones"),
            "cylinders": Value(g.cylinders, *g.cylinder_bounds, "measured", reads, "zones"),
            "outer_rate": rates[0],
            "inner_rate": rates[-1],
        }

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        g, v = self.geometry, self.values()
        size = int(self.described["blocks"]) * int(self.described["block_bytes"])
        outer, inner = (v[k].value / 1e6 for k in ("outer_rate", "inner_rate"))
        heads = f"{g.heads} head{'s' if g.heads > 1 else ''}"
        if v["heads"].origin != "measured":
            heads = "an unknown number of heads"
        bands = "in cylinders" if g.head_first else "in bands on one surface"
        zones = f"{len(g.zones)} zone{'s' if len(g.zones) > 1 else ''}"
        unit, name = next((u, n) for u, n in _UNITS if size >= u)
        return (
            f"{size / unit:.3g} {name} at {60 / self.period.turn_s:.1f} rpm, {heads}, addresses "
            f"{bands}, {zones} from {outer:.3g} to {inner:.3g} MB/s"
        )

    def document(self) -> dict[str, Any]:
        """Return all values as one document for JSON."""
        from . import lines

        g = self.geometry
        document: dict[str, Any] = {
            "summary": self.sentence,
            "target": {k: v for k, v in self.described.items() if k != "ranges"},
            "values": {k: v.as_dict() for k, v in self.values().items()},
            "zones": [{**z._asdict(), "rate": r.as_dict()} for z, r in zip(g.zones, self.rates(), strict=True)],
            "disturbed_reads": self.period.disturbed,
            "seconds": {k: round(v, 3) for k, v in self.seconds.items()},
            "notes": self.notes,
        }
        if self.found is not None:
            document["times"] = dict(lines.values_of(self.found))
        if self.replay is not None:
            document["replay"] = {"closed": self.replay.closed.as_dict(), "open": self.replay.open.as_dict()}
        return document

    def write_drive(self, path: str | Path) -> Path:
        """Write the drive file; return its path.

        Raises:
            ConfigError: seeks were not measured.
            OSError: it cannot be written.
        """
        from . import drive_file

        if self.found is None:
            raise ConfigError("probe: got no step seek, need it for a drive file")
        self.found.notes = list(self.notes)
        drive_file.write(self.found, path)
        return Path(path)

    def write_page(self, path: str | Path) -> Path:
        """Write the page; return its path.

        Raises:
            OSError: it cannot be written.
        """
        from . import page

        return page.write(self, Path(path))


def chosen(steps: Collection[str] | None) -> tuple[str, ...]:
    """Return the steps that are asked for, in their order.

    Raises:
        ConfigError: there is no step of that name.
    """
    for step in steps or ():
        if step not in STEPS:
            raise ConfigError(need_one_of("--steps", step, STEPS))
    return STEPS if steps is None else tuple(s for s in STEPS if s in steps)


def run(session: Session, budget_s: float, steps: tuple[str, ...], told: Told | None) -> Probed:
    """Measure a target.

    Args:
        session: the target with its log.
        budget_s: time of the target that may be used.
        steps: of `STEPS`.
        told: called as each step begins.

    Raises:
        NotADiskError: it is no single rotating disk.
        HeadstackError: too many reads are disturbed, or the first track cannot be told.
    """
    clock = _Clock(session, budget_s, told)
    clock.begin("turn", "")
    period = periods.find(session)
    if sectors.measure(period):
        period = periods.find(session)
    alone.check(session, period)
    clock.begin("zones", f"{60 / period.turn_s:.2f} rpm")
    angles = Angles(session, period)
    zones = zone_search.survey(angles, budget_s * ZONES_SHARE)
    if not zones and session.clock_s > budget_s * ZONES_SHARE:
        raise HeadstackError(f"probe: {session.clock_s:.0f} s were not enough for one zone, need a longer --budget")
    if not zones:
        raise periods.NotADiskError(
            "no boundary between tracks was found: the angles of neighbouring addresses do not "
            "follow a track, as behind RAID or a mapped volume"
        )
    clock.begin("heads", f"{len(zones)} zones")
    until_s = max(budget_s * HEADS_SHARE, budget_s - LEFT_S)
    heads = head_order.find(angles, zones, until_s)
    geometry = Geometry(
        heads.zones, heads.heads, int(session.described["blocks"]), session.sector_blocks, heads.order, session.ranges
    )
    probed = Probed(dict(session.described), period, angles, geometry, heads)
    probed.notes += _unknown(probed, session, late=session.clock_s > until_s)
    steps, late = _in_time(steps, budget_s - session.clock_s, session.meter_s)
    if late:
        probed.notes.append(f"left out for lack of time: {', '.join(late)}")
    later = [s for s in steps if s != "replay"]
    if later and len(session.ranges) > 1 and "actuators" not in later:
        later.append("actuators")  # the file needs to know that they work at once
    if later:
        _times(session, probed, later, clock)
    if "replay" in steps and probed.found is not None:
        _replay(session, probed, clock)
    clock.begin("turn", f"{geometry.heads} heads")
    period.visit(LAST_VISITS)
    clock.end()
    alone.check_turns(period)
    probed.seconds = clock.seconds
    probed.notes += session.notes
    if session.epoch:
        probed.notes.append(
            f"the target was opened {session.epoch + 1} times: the probe was resumed, with a clock "
            "and angles of their own"
        )
    return probed


def _in_time(steps: tuple[str, ...], left_s: float, meter_s: float | None) -> tuple[tuple[str, ...], list[str]]:
    """Return the steps for which there is time, and those for which there is not."""
    late = []
    for step in (s for s in LEAST_S if s in steps):
        least_s = power.least_s(meter_s or 0.0) if step == POWER else LEAST_S[step]
        # All later steps need seeks, so these are always measured if any step is asked for.
        if least_s > left_s and step != "seek":
            late.append(step)
        else:
            left_s -= least_s
    return tuple(s for s in steps if s not in late), late


class _Clock:
    """Tells the step, the time left and what is known, and adds up the time of each step."""

    def __init__(self, session: Session, budget_s: float, told: Told | None) -> None:
        self.session, self.budget_s, self.told = session, budget_s, told
        self.seconds: dict[str, float] = {}
        self.step, self.since = "", 0.0

    def begin(self, step: str, known: str) -> None:
        self.end()
        self.step, self.since = step, self.session.clock_s
        if self.told is not None:
            self.told(step, max(0.0, self.budget_s - self.since), known)

    def end(self) -> None:
        if self.step:
            used = self.session.clock_s - self.since
            self.seconds[self.step] = self.seconds.get(self.step, 0.0) + used


def _times(session: Session, probed: Probed, steps: list[str], clock: _Clock) -> None:
    from . import timing

    left = clock.budget_s - session.clock_s
    scale = min(4.0, max(0.15, left / LATER_S))
    probed.found = timing.measure(
        session,
        probed.geometry,
        probed.period.value(),
        probed.period.disturbed,
        steps=steps,
        scale=scale,
        distances=max(FEWEST, int((left - HELD_OUT_S) / DISTANCE_S)),
        told=lambda step: clock.begin(step, f"{probed.geometry.heads} heads"),
    )
    arms = probed.found.actuators
    if arms is not None and len(arms.ranges) > len(session.ranges):
        probed.notes.append(
            "the target declares no actuators: two arms, or two drives one after the other whose turns are equal"
        )
    if probed.found.queue is not None and probed.found.queue.off:
        off = "; ".join(probed.found.queue.off)
        probed.notes.append(f"the file's queue is not the target's: {off}")


def _replay(session: Session, probed: Probed, clock: _Clock) -> None:
    from . import drive_file, replay, timing

    clock.begin("replay", f"{probed.geometry.heads} heads")
    found = probed.found
    assert found is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "probed.toml"
        drive_file.write(found, path)
        mean = probed.period.turn_s / 2 + float(found.curve.access_s(np.array([probed.geometry.cylinders / 3]))[0])
        probed.replay = replay.measure(
            session,
            path,
            session.rng("replay"),
            mean_s=mean,
            host=found.host,
            count=replay.affordable(clock.budget_s - session.clock_s, mean),
        )
    if probed.replay.off > replay.FAR:
        late = max(probed.period.disturbed, found.curve.disturbed)
        why = "too noisy: " if late > timing.NOISY else ""
        probed.notes.append(f"{why}in a mixed load the file is {probed.replay.off:.0%} of the mean off the target")


def _unknown(probed: Probed, session: Session, *, late: bool) -> list[str]:
    """Return what stays unknown of the geometry, and why."""
    g, notes = probed.geometry, []
    reached = sum(z.past_lba - z.first_lba for z in g.found if z.whole)
    left = 1 - reached / g.total
    if left > 1e-4:
        notes.append(
            f"the last {left:.1%} of the addresses were not followed in time: sectors of tracks at "
            "some places of them stand for zones"
        )
    if not probed.heads.heads.measured:
        why = "budget" if late else "all of them look alike"
        notes.append(f"the number of heads is not identifiable: {why}")
    elif not probed.heads.sure:
        why = "a head switch takes as long as a step to the next cylinder"
        notes.append(f"cylinder-major and serpentine look alike: {'budget' if late else why}")
    if not all(probed.heads.heads.directions):
        notes.append("directions of heads are not identifiable")
    if not g.order_told:
        notes.append("whether every other band begins with the last head is not identifiable")
    notes.append("physical head numbers and a mirrored order are not identifiable by reads")
    if session.failed:
        notes.append(f"{len(session.failed)} reads failed, the first at {session.failed[0]}")
    return notes
