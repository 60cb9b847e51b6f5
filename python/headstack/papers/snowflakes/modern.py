"""Questions that the paper does not ask: two actuators, erasure codes, hot data on fast heads."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from headstack.drives import streaming
from headstack.drives.population import Heads, Population

from .sets import head_rates

Floats = NDArray[np.float64]


def halves(drawn: Population) -> Floats:
    """Return the rate of each half of the heads in the outermost zone, shaped (drives, 2).

    A dual-actuator drive has two arms, each with half of the surfaces; each half is streamed as a
    drive of its own.
    """
    surfaces = drawn.classes.shape[1] // 2
    geometry = {**drawn.spec["geometry"], "surfaces": surfaces}
    geometry["density"] = geometry["density"][:surfaces]
    geometry.pop("capacity_blocks", None)
    spec = {**drawn.spec, "geometry": geometry}
    parts = [
        streaming.zone_rates(spec, densities=d, factors=drawn.factors)[:, 0]
        for d in (drawn.densities[:, :surfaces], drawn.densities[:, surfaces : 2 * surfaces])
    ]
    return np.stack(parts, axis=1)


def sorted_halves(drawn: Population) -> Population:
    """Return the same drives with heads distributed so that both halves are alike."""
    n, surfaces = drawn.classes.shape
    order = np.argsort(drawn.classes, axis=1, kind="stable")
    # Sorted by rate, the first and fourth of each four heads go to the first half.
    place = np.arange(surfaces)
    first = np.isin(place % 4, (0, 3))
    dealt = np.concatenate([place[first], place[~first]])
    chosen = np.take_along_axis(order, np.broadcast_to(dealt, (n, surfaces)), axis=1)
    heads = Heads(
        np.take_along_axis(drawn.heads.width, chosen, axis=1), np.take_along_axis(drawn.heads.quality, chosen, axis=1)
    )
    return replace(drawn, heads=heads, classes=np.take_along_axis(drawn.classes, chosen, axis=1))


@dataclass(frozen=True)
class Read:
    """Reads of an object in k data units of n, in seconds.

    Attributes:
        needed: number of units that suffice, k.
        asked: number of units that are read.
        mean_s: mean time until enough units have come.
        p99_s: 99 % quantile of this time.
    """

    needed: int
    asked: int
    mean_s: float
    p99_s: float


def k_th_fastest(
    rates: Floats,
    unit_bytes: float,
    needed: int,
    asked: int,
    *,
    positioning_s: float,
    objects: int = 20_000,
    seed: int = 0,
) -> Read:
    """Return the times of reads that ask `asked` drives and end with the `needed`-th answer.

    Each drive first positions, uniformly up to `positioning_s` (rotational wait after a seek), then
    streams its unit at its own rate.
    """
    key = np.random.SeedSequence(seed, spawn_key=(needed, asked))
    random = np.random.Generator(np.random.PCG64(key))
    speed = rates[random.integers(0, len(rates), (objects, asked))]
    took = positioning_s * random.random((objects, asked)) + unit_bytes / speed
    done = np.partition(took, needed - 1, axis=1)[:, needed - 1]
    return Read(needed, asked, float(done.mean()), float(np.quantile(done, 0.99)))


@dataclass(frozen=True)
class Hot:
    """Rates of sequential reads of hot data, by where it lies.

    Attributes:
        share: of the data that is hot.
        anywhere: rate of the whole drive, bytes/s, mean over drives.
        outside: rate if it lies at the first addresses.
        fast_heads: rate if it lies on the fastest heads, over all zones.
        both: rate if it lies on the fastest heads of the outer zones.
    """

    share: float
    anywhere: float
    outside: float
    fast_heads: float
    both: float


def hot(drawn: Population, share: float) -> Hot:
    """Return the rates of hot data that are placed by zone, by head, or by both.

    Bands of all heads in a zone hold equal bytes, so a head holds 1/H of each zone.
    """
    rates = head_rates(drawn)
    sizes = drawn.zone_bytes()[None, :, None] / rates.shape[2]
    size = np.broadcast_to(sizes, rates.shape)
    wanted = share * float(drawn.zone_bytes().sum())
    whole = float(np.mean(_stream(rates, size, _order(rates.shape, "address"), np.inf)))
    found = {
        how: float(np.mean(_stream(rates, size, _order_by(rates, how), wanted))) for how in ("zone", "head", "rate")
    }
    return Hot(share, whole, found["zone"], found["head"], found["rate"])


def _order(shape: tuple[int, ...], _: str) -> NDArray[np.int64]:
    return np.broadcast_to(np.arange(shape[1] * shape[2]), (shape[0], shape[1] * shape[2]))


def _order_by(rates: Floats, how: str) -> NDArray[np.int64]:
    """Return the order in which parts (zone, head) are filled: by zone, by head, or by rate."""
    n, zones, surfaces = rates.shape
    if how == "zone":
        return _order(rates.shape, how)
    if how == "rate":
        return np.argsort(-rates.reshape(n, -1), axis=1, kind="stable")
    # The fastest head first, all its zones; then the next.
    heads = np.argsort(-rates[:, 0], axis=1, kind="stable")
    places = np.arange(zones)[None, None, :] * surfaces + heads[:, :, None]
    return np.asarray(places.reshape(n, -1))


def _stream(rates: Floats, sizes: Floats, order: NDArray[np.int64], wanted: float) -> Floats:
    """Return the rate of each drive over the first `wanted` bytes of its parts in order."""
    n = len(rates)
    speed = np.take_along_axis(rates.reshape(n, -1), order, axis=1)
    size = np.take_along_axis(sizes.reshape(n, -1), order, axis=1)
    ends = np.minimum(np.cumsum(size, axis=1), wanted)
    part = np.diff(ends, axis=1, prepend=0.0)
    return np.asarray(part.sum(axis=1) / (part / speed).sum(axis=1))
