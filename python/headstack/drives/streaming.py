"""Sequential reads of many drives of one design whose surfaces differ in density.

The drive's layout is ``adaptive``. A sweep reads a range in blocks at the rate of the medium; times
are those of the drive model, computed in closed form (see docs/models/adaptive-zoning.md).
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstack import _core, drives
from headstack.errors import ConfigError

__all__ = ["Damage", "Noise", "capacities", "sweep", "zone_rates"]

#: A drive: its name or file, or its description as `drives.load` returns it.
Drive = str | os.PathLike[str] | Mapping[str, Any]


@dataclass(frozen=True)
class Damage:
    """Bytes of a drive that are read slowly."""

    #: Number of the drive, from 0.
    drive: int
    #: First byte, and the one after the last.
    first_byte: int
    last_byte: int
    #: Factor on the rate. 0.001 to 1.
    rate_factor: float


@dataclass(frozen=True)
class Noise:
    """What makes trials differ; none by default."""

    #: Mean number of lost turns (retries) per byte read. 0 to 1e-3.
    lost_turns_per_byte: float = 0.0
    #: Standard deviation of the normal factor on all times of a trial. 0 to 0.1.
    trial_factor: float = 0.0
    #: Extents that are read slowly. Those of a drive must not overlap.
    damage: Sequence[Damage] = field(default=())

    def json(self) -> str:
        """Return the noise as the core reads it."""
        damage = [[int(d.drive), int(d.first_byte), int(d.last_byte), float(d.rate_factor)] for d in self.damage]
        table = {
            "lost_turns_per_byte": float(self.lost_turns_per_byte),
            "trial_factor": float(self.trial_factor),
            "damage": damage,
        }
        return json.dumps(table)


def sweep(
    drive: Drive,
    *,
    densities: ArrayLike | None = None,
    factors: ArrayLike | None = None,
    block_bytes: int,
    first_byte: int = 0,
    last_byte: int,
    trials: int = 1,
    seed: int = 0,
    noise: Noise | None = None,
    threads: int | None = None,
) -> NDArray[np.float64]:
    """Return the rate of each block, in bytes per second, with shape (drives, trials, blocks).

    Args:
        drive: the design; its layout is ``adaptive``.
        densities: factors on bits and tracks per inch, shape (drives, surfaces, 2). By default
            one drive with the densities of the description.
        factors: factor on all times of each drive, shape (drives,). 0.1 to 10; 1 by default.
        block_bytes: size of a block.
        first_byte: where the sweep begins.
        last_byte: where it ends, exclusive. A block that crosses the end is left out.
        trials: number of times that the range is read.
        seed: of the noise. A drive's noise depends on the seed and the drive's number alone.
        noise: what makes trials differ.
        threads: threads to use; all cores by default. The results do not depend on it.

    Raises:
        ConfigError: a value out of bounds, or a drive that offers fewer bytes; the message names
            it.
    """
    spec, pairs, own = _arrays(drive, densities, factors)
    rates = _core.sweep(
        spec,
        pairs.tobytes(),
        own.tobytes(),
        _whole("block_bytes", block_bytes),
        _whole("first_byte", first_byte),
        _whole("last_byte", last_byte),
        _whole("trials", trials),
        _whole("seed", seed),
        (noise or Noise()).json(),
        _threads(threads),
    )
    return np.frombuffer(rates, np.float64).reshape(_drives(pairs, own), trials, -1)


def zone_rates(
    drive: Drive, *, densities: ArrayLike | None = None, factors: ArrayLike | None = None, threads: int | None = None
) -> NDArray[np.float64]:
    """Return the mean rate of each zone, in bytes per second, with shape (drives, zones).

    It is the bytes of a zone over the time from the beginning of its first sector to the end of its
    last, also where the drive does not offer all of them. The arguments are those of `sweep`.
    """
    spec, pairs, own = _arrays(drive, densities, factors)
    rates = _core.zone_rates(spec, pairs.tobytes(), own.tobytes(), _threads(threads))
    return np.frombuffer(rates, np.float64).reshape(_drives(pairs, own), -1)


def capacities(drive: Drive, *, densities: ArrayLike | None = None, threads: int | None = None) -> NDArray[np.uint64]:
    """Return the bytes that the surfaces of each drive hold, whatever it offers: shape (drives,).

    The arguments are those of `sweep`.
    """
    spec, pairs, _ = _arrays(drive, densities, None)
    held = _core.capacities(spec, pairs.tobytes(), _threads(threads))
    return np.frombuffer(held, np.uint64)


def _arrays(
    drive: Drive, densities: ArrayLike | None, factors: ArrayLike | None
) -> tuple[str, NDArray[np.float64], NDArray[np.float64]]:
    """Return the description as JSON, and densities and factors, empty where not given."""
    spec = dict(drive) if isinstance(drive, Mapping) else drives.load(drive)
    pairs = _numbers("densities", densities, 3)
    if pairs.size and pairs.shape[2] != 2:
        raise ConfigError(f"densities: got shape {pairs.shape}, need (drives, surfaces, 2)")
    surfaces = spec.get("geometry", {}).get("surfaces", 0)
    if pairs.size and pairs.shape[1] != surfaces:
        need = f"(drives, {surfaces}, 2): one pair for each surface"
        raise ConfigError(f"densities: got shape {pairs.shape}, need {need}")
    return json.dumps(spec), pairs, _numbers("factors", factors, 1)


def _numbers(name: str, given: ArrayLike | None, axes: int) -> NDArray[np.float64]:
    if given is None:
        return np.empty((0,) * axes)
    try:
        array = np.ascontiguousarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{name}: got {error}, need numbers") from error
    if array.ndim != axes or not array.size:
        raise ConfigError(f"{name}: got shape {array.shape}, need {axes} axes, none empty")
    return array


def _drives(pairs: NDArray[np.float64], factors: NDArray[np.float64]) -> int:
    return max(len(pairs), len(factors), 1)


def _threads(given: int | None) -> int:
    return (os.cpu_count() or 1) if given is None else _whole("threads", given)


def _whole(name: str, value: int) -> int:
    """Return a number that the core can take: whole, 0 to 2^64 - 1."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or not 0 <= value < 1 << 64:
        raise ConfigError(f"{name}: got {value!r}, need a whole number from 0 to 2^64 - 1")
    return int(value)
