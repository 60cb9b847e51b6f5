"""Active power levels of a drive: slower seeks that draw less.

Makers let the owner lower the power of random work ("PowerBalance", active level in the mode page
of power consumption). How the arm is slowed is not published.

# Model
An arm accelerates with constant current, coasts at a speed limit and brakes (seek model
``bang-bang``). At the level `p`, a share, the coil gets `p` times its current and the arm `p` times
its speed limit. With `a` the acceleration, `v` the limit and `X = v^2 / a` the way from which the
arm coasts:

- `a` and `v` become `p a` and `p v`, so `X` becomes `p X` and the time to full speed stays;
- the loss in the coil while it pushes is proportional to the square of the current: `p^2`;
- the energy to reach full speed, and the power of drag at full speed, to the square of the speed.

`by_distance` gives a drive whose file has the watts of a moving arm alone the same mean watts by
distance: bang-bang seeks through its shortest, average and longest seek, and the shares of losses,
motion and drag of ``drives/ultrastar-7k4000-pcap.toml``, scaled so that random seeks draw what they
drew.

# Source
Kinematics and energy: `crates/drive/src/power/seek_energy/mod.rs` and its sources. That active
levels trade random performance alone: manual of openSeaChest, ``--powerBalanceFeature``; mode page
1Ah, subpage 01h of Seagate's SCSI reference, rev. J.

# Validity
The shares of current and speed are chosen equal, and no measurement of a drive at several levels
has been published. Power of a whole drive over seconds; no peaks.
"""

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np

from headstack import _bridge, drives
from headstack.errors import ConfigError

#: Length of the stroke in metres, which cancels in all times: that of a 3.5-inch drive.
_STROKE_M = 25e-3

#: The drive whose seek energy was fitted.
_FITTED = "ultrastar-7k4000-pcap"

_GRID = 4000


def _seconds(way: np.ndarray, coast_from: float, crossing: float) -> np.ndarray:
    """Return times without settling for ways as shares of the stroke.

    `crossing` is the time in which an arm at full speed crosses the stroke.
    """
    pushing = 2 * np.sqrt(way * coast_from)
    return np.asarray(np.where(way <= coast_from, pushing, way + coast_from) * crossing)


def _random_mean(values: np.ndarray, ways: np.ndarray) -> float:
    """Return the mean over pairs of random places: the density of a way is 2 (1 - way)."""
    return float(np.average(values, weights=1 - ways))


def by_distance(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a drive whose seeks follow from acceleration and speed, and draw energy by distance.

    Args:
        spec: a drive with the seek model ``three-point`` and the power model ``modes``.

    Raises:
        ConfigError: another seek or power model, or seeks that no such arm has.
    """
    seek, power = spec["seek"], spec.get("power", {})
    for table, key, need in ((seek, "seek.model", "three-point"), (power, "power.model", "modes")):
        if table.get("model") != need:
            raise ConfigError(f'{key}: got "{table.get("model")}", need "{need}"')
    if "voice_coil" not in power:
        raise ConfigError("power.voice_coil: got nothing, need the watts of a moving arm")
    settle, average, full = (_bridge.quantity("time", seek[k]) for k in ("single", "average", "full"))
    ways = (np.arange(_GRID) + 0.5) / _GRID
    low, high = 1e-3, 1.0
    for _ in range(60):
        coast_from = (low + high) / 2
        crossing = (full - settle) / (1 + coast_from)
        mean = _random_mean(_seconds(ways, coast_from, crossing), ways) + settle
        # The sooner the arm coasts, the more seeks are in proportion to their way, and the shorter
        # they are.
        low, high = (coast_from, high) if mean < average else (low, coast_from)
    if abs(mean / average - 1) > 1e-3:
        raise ConfigError(f'seek: got "{seek["average"]}" on average, need {mean * 1e3:.3g} ms')
    velocity = _STROKE_M / crossing
    made: dict[str, Any] = copy.deepcopy(dict(spec))
    cylinders = spec["geometry"]["cylinders"]
    made["seek"] = {
        "model": "bang-bang",
        "acceleration": f"{velocity**2 / (coast_from * _STROKE_M):.9g} m/s2",
        "velocity_limit": f"{velocity:.9g} m/s",
        "track_pitch": f"{_STROKE_M / cylinders * 1e9:.9g} nm",
        "settle": f"{settle * 1e3:.9g} ms",
    }
    coil = _bridge.quantity("power", power["voice_coil"])
    made["power"]["voice_coil"] = "0 W"
    shares = _fitted_energy()
    pushing = 2 * coast_from * crossing
    wanted = coil * average
    unscaled = _energy_j(ways, shares, coast_from, pushing)
    factor = wanted / _random_mean(unscaled, ways)
    loss, motion, drag = (factor * x for x in shares)
    made["power"]["seek_energy"] = {
        "acceleration_power": f"{loss:.9g} W",
        "speed_energy": f"{motion * 1e3:.9g} mJ",
        "coast_power": f"{drag:.9g} W",
        "acceleration_time": f"{pushing * 1e3:.9g} ms",
        "coast_from": coast_from,
    }
    made.setdefault("sources", {}).update(
        {
            "seek": "derived: the arm that has the shortest, average and longest seek",
            "power.voice_coil": "derived: counted by distance",
            "power.seek_energy": f"derived: shares as {_FITTED}, mean of the voice coil's watts",
        }
    )
    return made


def _fitted_energy() -> tuple[float, float, float]:
    """Return watts of loss, joules of motion and watts of drag of the fitted drive."""
    table = drives.load(_FITTED)["power"]["seek_energy"]
    motion = float(str(table["speed_energy"]).removesuffix(" mJ")) * 1e-3
    loss, drag = (_bridge.quantity("power", table[k]) for k in ("acceleration_power", "coast_power"))
    return loss, motion, drag


def _energy_j(way: np.ndarray, shares: tuple[float, float, float], coast_from: float, pushing: float) -> np.ndarray:
    """Return the energy of seeks: the equation of the engine."""
    loss, motion, drag = shares
    reached = np.minimum(way / coast_from, 1)
    coasting = pushing * np.maximum(way - coast_from, 0) / (2 * coast_from)
    return np.asarray(loss * pushing * np.sqrt(reached) + motion * reached + drag * coasting)


def at_level(spec: Mapping[str, Any], level: float) -> dict[str, Any]:
    """Return a drive at an active level: a share of the coil's current and of the arm's speed.

    Args:
        spec: a drive with bang-bang seeks and energy by distance, as `by_distance` makes it.
        level: above 0, at most 1.

    Raises:
        ConfigError: another kind of drive, or a level out of bounds.
    """
    if not 0 < level <= 1:
        raise ConfigError(f"level: got {level:g}, need a share above 0, at most 1")
    if spec["seek"].get("model") != "bang-bang" or "seek_energy" not in spec.get("power", {}):
        need = "bang-bang with power.seek_energy; see headstack.drives.active_level.by_distance"
        raise ConfigError(f'seek.model: got "{spec["seek"].get("model")}", need {need}')
    made: dict[str, Any] = copy.deepcopy(dict(spec))
    seek, energy = made["seek"], made["power"]["seek_energy"]
    for table, key, factor in (
        (seek, "acceleration", level),
        (seek, "velocity_limit", level),
        (energy, "acceleration_power", level**2),
        (energy, "speed_energy", level**2),
        (energy, "coast_power", level**2),
    ):
        number, unit = str(table[key]).split(" ")
        table[key] = f"{float(number) * factor:.9g} {unit}"
    energy["coast_from"] = energy["coast_from"] * level
    return made
