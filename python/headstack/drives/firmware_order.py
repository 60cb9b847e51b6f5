"""The order in which a drive of today serves its queue, from the numbers of its data sheet.

# Model
Shortest positioning time first with ageing in proportion to the queue's length
(``depth-aged-sptf``). Its ageing is that of a drive that was measured, or is fitted to random reads
at depth 16, which data sheets state: more ageing gives fewer reads per second.

# Source
The measured drive: `docs/models/firmware-order.md`.

# Validity
One number fixes one value: a fitted ageing is right only if the seek times are.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from headstack.schema.drive import Drive
    from headstack.schema.workload import Synthetic, Workload

#: The order, and the ageing of the measured drive (`drives/ultrastar-hc570.toml`).
SCHEDULER, MEASURED = "depth-aged-sptf", 1.33

#: A drive is one of today from this year on, or without a year from this capacity on, in bytes. The
#: measured drive is of 2022.
YEAR, CAPACITY = 2018, 10e12

#: Depth of the random reads that data sheets state, and the most ageing that is tried.
DEPTH, MOST = 16, 4.0

#: Reads of each trial, those before the first that counts, and steps of the search: 4/2^8 is nearly
#: as fine as the two digits that are kept.
_READS, _BEFORE, _STEPS = 6_000, 500, 8


def is_of_today(year: int | None, capacity_bytes: float) -> bool:
    """Return whether a drive is taken to have this order."""
    return year >= YEAR if year is not None else capacity_bytes >= CAPACITY


def random_reads_per_s(spec: Mapping[str, Any], ageing: float) -> float:
    """Return the random reads of 4 KiB per second over the whole drive at depth 16."""
    from headstack.runs import api

    queue = {"depth": DEPTH, "scheduler": SCHEDULER, "scheduler_parameters": {"ageing": ageing}}
    drive = cast("Drive", {**spec, "queue": {**spec["queue"], **queue}})
    size = 4096
    synthetic: Synthetic = {
        "n_requests": _READS,
        "reads": 1.0,
        "sequential": 0.0,
        "size": f"{size} B",
        "arrivals": "poisson",
        "rate": "1000/s",
        "footprint": f"{spec['geometry']['capacity_blocks'] * 512 // size * size} B",
    }
    workload: Workload = {"synthetic": synthetic, "arrivals": {"closed": {"outstanding": DEPTH}}, "warm_up": _BEFORE}
    result = api.run(workload=workload, systems=[{"name": "trial", "drive": drive}], log_requests=False)
    return float(result.document["systems"][0]["throughput_iops"])


def fitted_ageing(spec: Mapping[str, Any], reads_per_s: float) -> float | tuple[float, float]:
    """Return the ageing that gives so many reads per second, to two digits.

    Args:
        spec: the drive.
        reads_per_s: random reads of 4 KiB over the whole drive at depth 16.

    Returns:
        The ageing; or the least and the most reads per second, if no ageing gives as many.
    """
    low, high = 0.0, MOST
    most, least = random_reads_per_s(spec, low), random_reads_per_s(spec, high)
    if not least <= reads_per_s <= most:
        return least, most
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if random_reads_per_s(spec, middle) > reads_per_s:
            low = middle
        else:
            high = middle
    return round((low + high) / 2, 2)
