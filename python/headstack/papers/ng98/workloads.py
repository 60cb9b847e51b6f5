"""Stand-ins for the article's trace of "several popular PC applications", which is not published.

Both are sequences of 4-Kbyte requests with locality and with a long tail of distances. The choices
in them, and the results of other choices, are in ``docs/guide/papers.md``. Places are sectors.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from headstack.drives.formulas import KB, MB, SECTOR_BYTES

from .drive import REQUEST_BYTES, REQUEST_SECTORS, Disk

Places = npt.NDArray[np.int64]

#: Space of the scale-free trace, and of the application trace.
SCALE_FREE_BYTES, APPLICATION_BYTES = 1000 * MB, 400 * MB

#: The article's example: the data of one application.
EXAMPLE_BYTES = 16 * MB

#: The next step of the application trace, with probabilities.
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
    """Return a random walk with steps of a log-uniform distance in both directions.

    Distances are from one request to the whole space; the walk is reflected at its ends.
    """
    random = np.random.default_rng([98, 4, seed])
    low, high = float(np.log(REQUEST_BYTES)), float(np.log(used_bytes))
    steps = np.exp(random.uniform(low, high, count - 1)) * random.choice([-1.0, 1.0], count - 1)
    start = random.uniform(0, used_bytes)
    walk = start + np.concatenate([[0.0], np.cumsum(steps)])
    # Folded at both ends. Steps in both directions are equally likely, so this is the reflected
    # walk.
    folded = np.abs((walk + used_bytes) % (2 * used_bytes) - used_bytes)
    return _sectors(folded, used_bytes)


def uniform(count: int, seed: int, used_bytes: int, first_bytes: int = 0) -> Places:
    """Return uniformly random places in a space."""
    random = np.random.default_rng([98, 5, seed])
    return first_bytes // SECTOR_BYTES + _sectors(random.uniform(0, used_bytes, count), used_bytes)


def applications(count: int, seed: int, used_bytes: int = APPLICATION_BYTES) -> Places:
    """Return the requests of some applications, each with files in its own area.

    The file allocation table and a system area are at the start. After an access to either, the
    file is continued.
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
    """Return the number of cylinders that the arm crosses from each request to the next."""
    return np.abs(np.diff(places // disk.cylinder_sectors))


def seeks(places: Places, disk: Disk) -> tuple[float, float]:
    """Return the share of requests with a seek and the mean seek time in s, counted in a trace.

    A request that continues into the next cylinder switches to it, which is not a seek.
    """
    crossed = moves(places, disk)
    return float(np.mean(crossed > 0)), float(np.mean(disk.seek_s(crossed)))


def write(
    places: Places, path: Path, sectors: int | Places = REQUEST_SECTORS, writes: Sequence[bool] | None = None
) -> Path:
    """Write requests to these places as a trace, unless it exists; return its path.

    All are reads, unless `writes` gives the operation of each.
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
