"""Stand-ins for the article's trace of "several popular PC applications", which is not published.

Both are sequences of 4-Kbyte requests with locality and with a long tail of distances; what was
chosen in them, and what other choices give, is in ``docs/guide/papers.md``. Places are sectors.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from headstack.formulas import KB, MB, SECTOR_BYTES

from .drive import REQUEST_BYTES, REQUEST_SECTORS, Disk

Places = npt.NDArray[np.int64]

#: Space that the scale-free trace uses, and the application trace.
SCALE_FREE_BYTES, APPLICATION_BYTES = 1000 * MB, 400 * MB

#: The article's example: data of one application.
EXAMPLE_BYTES = 16 * MB

#: What the application trace does next, and how often.
STEPS = {
    "next": 0.50,
    "same file": 0.20,
    "same application": 0.15,
    "system": 0.06,
    "table": 0.05,
    "other application": 0.04,
}
APPLICATIONS = 5
AREA_BYTES, FILE_BYTES, TABLE_BYTES = 16 * MB, 256 * KB, 256 * KB


def scale_free(count: int, seed: int, used_bytes: int = SCALE_FREE_BYTES) -> Places:
    """Return places whose next one is at a distance with a uniform logarithm, to either side.

    Distances are from one request to the whole space; the ends of the space reflect.
    """
    random = np.random.default_rng([98, 4, seed])
    low, high = float(np.log(REQUEST_BYTES)), float(np.log(used_bytes))
    steps = np.exp(random.uniform(low, high, count - 1)) * random.choice([-1.0, 1.0], count - 1)
    start = random.uniform(0, used_bytes)
    walk = start + np.concatenate([[0.0], np.cumsum(steps)])
    # Folded at both ends. The steps are as likely to either side, so it is the reflected walk.
    folded = np.abs((walk + used_bytes) % (2 * used_bytes) - used_bytes)
    return _sectors(folded, used_bytes)


def uniform(count: int, seed: int, used_bytes: int, first_bytes: int = 0) -> Places:
    """Return places without any order in a space."""
    random = np.random.default_rng([98, 5, seed])
    return first_bytes // SECTOR_BYTES + _sectors(random.uniform(0, used_bytes, count), used_bytes)


def applications(count: int, seed: int, used_bytes: int = APPLICATION_BYTES) -> Places:
    """Return what some applications do, each with files in an area of its own.

    The file allocation table and a system area lie at the start. After either, the file goes on.
    """
    random = np.random.default_rng([98, 6, seed])
    areas = random.uniform(TABLE_BYTES + AREA_BYTES, used_bytes - AREA_BYTES, APPLICATIONS)
    choices = random.choice(len(STEPS), count, p=list(STEPS.values())).tolist()
    shares = random.random(count).tolist()
    others = random.integers(APPLICATIONS, size=count).tolist()
    names, files = list(STEPS), AREA_BYTES // FILE_BYTES
    area, file, within = float(areas[0]), 0, 0.0
    places = np.empty(count)
    for i, (step, share) in enumerate(zip(choices, shares, strict=True)):
        name = names[step]
        if name == "table":
            places[i] = share * TABLE_BYTES
            continue
        if name == "system":
            places[i] = TABLE_BYTES + share * AREA_BYTES
            continue
        if name == "next":
            within = (within + REQUEST_BYTES) % FILE_BYTES
        else:
            if name == "other application":
                area = float(areas[others[i]])
            if name != "same file":
                file = int(share * files)
                share = share * files - file
            within = share * FILE_BYTES
        places[i] = area + file * FILE_BYTES + within
    return _sectors(places, used_bytes)


def _sectors(places_bytes: npt.NDArray[np.float64], used_bytes: int) -> Places:
    last = used_bytes // SECTOR_BYTES - REQUEST_SECTORS
    return np.minimum((places_bytes // SECTOR_BYTES).astype(np.int64), last)


def moves(places: Places, disk: Disk) -> npt.NDArray[np.int64]:
    """Return the cylinders that the arm crosses from each request to the next."""
    return np.abs(np.diff(places // disk.cylinder_sectors))


def seeks(places: Places, disk: Disk) -> tuple[float, float]:
    """Return the share of requests with a seek and the mean seek time in s, counted over a trace.

    A request that crosses into the next cylinder does so by a switch, which is no seek.
    """
    crossed = moves(places, disk)
    return float(np.mean(crossed > 0)), float(np.mean(disk.seek_s(crossed)))


def write(
    places: Places,
    path: Path,
    sectors: int | Places = REQUEST_SECTORS,
    writes: Sequence[bool] | None = None,
) -> Path:
    """Write requests to these places as a trace, if it is not there yet; return its path.

    All are reads without `writes`, which says it of each.
    """
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        n = len(places)
        table = {
            "time_ns": np.zeros(n, dtype=np.int64),
            "lba": places,
            "blocks": np.broadcast_to(np.asarray(sectors, dtype=np.int64), n),
            "op": ["R"] * n if writes is None else ["W" if w else "R" for w in writes],
        }
        part = path.with_suffix(".part")
        pq.write_table(pa.table(table), part)
        part.replace(path)
    return path
