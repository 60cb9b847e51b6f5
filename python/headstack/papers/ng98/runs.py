"""Simulator runs of the article's drives: reads at given places, one after another."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from headstack.drives import formulas
from headstack.papers.runs import Run
from headstack.papers.study import Study
from headstack.schema import System, Workload
from headstack.schema.workload import Arrival, Closed

from .drive import REQUEST_SECTORS, Disk
from .workloads import Places, write

#: One request at a time; the next one is issued when the last one is complete.
ONE: Arrival = {"closed": {"outstanding": 1}}


def reads(
    study: Study,
    places: Places,
    disks: Mapping[str, Disk],
    sectors: int = REQUEST_SECTORS,
    *,
    switches: bool = False,
    **changes: Any,
) -> dict[str, dict[str, Any]]:
    """Read at these places on each drive; return the results by the drives' names.

    Args:
        study: the study that runs it.
        places: first sectors.
        disks: drives by name.
        sectors: number of sectors of each read.
        switches: whether head switches take time.
        changes: tables of the drives that replace the defaults.
    """
    digest = hashlib.sha256(places.tobytes()).hexdigest()[:16]
    folder = study.store.directory.parent / "traces"
    path = write(places, folder / f"ng98-{digest}-{sectors}.parquet", sectors)
    load: Workload = {"name": "reads", "trace": str(path.resolve()), "arrivals": ONE}
    systems = [d.system(name, switches=switches, **changes) for name, d in disks.items()]
    return study.run(Run(load, system) for system in systems)


def played(study: Study, accesses: Sequence[tuple[int, int, bool]], system: System, think_s: float) -> float:
    """Run accesses (sector, sectors, write) one after another; return their mean time in s.

    Args:
        study: the study that runs it.
        accesses: in order.
        system: the system.
        think_s: pause after each.
    """
    table = np.asarray(accesses, dtype=np.int64)
    digest = hashlib.sha256(table.tobytes()).hexdigest()[:16]
    path = study.store.directory.parent / "traces" / f"ng98-{digest}.parquet"
    places, sizes, writes = table.T
    write(places, path, sizes, [bool(w) for w in writes])
    closed: Closed = {"outstanding": 1, "think_time": f"{1e6 * think_s:.0f} us"}
    load: Workload = {"name": "played", "trace": str(path.resolve()), "arrivals": {"closed": closed}}
    return mean_s(study.run([Run(load, system)])[system["name"]])


def seek_s(result: Mapping[str, Any]) -> float:
    """Mean time per request in seeks, and in switches within a request."""
    return float(result["components_s"]["seek"])


def mean_s(result: Mapping[str, Any]) -> float:
    """Mean time of a request."""
    return float(result["response_time_s"]["mean"])


def sustained_ratio(study: Study, disks: Mapping[str, Disk], cylinders: int = 50) -> list[float]:
    """Return sustained over media rate of each drive, from reads of whole cylinders.

    The time to reach the first sector cancels, because it is the same in a short and a long read.
    """
    ratios = []
    for name, disk in disks.items():
        first = np.zeros(1, dtype=np.int64)
        short, long = (
            reads(study, first, {name: disk}, n * disk.cylinder_sectors, switches=True)[name]
            for n in (1, 1 + cylinders)
        )
        time = float(long["duration_s"]) - float(short["duration_s"])
        turns = cylinders * disk.heads * float(formulas.rotation_time_s(disk.rpm))
        ratios.append(turns / time)
    return ratios


def beside(rows: Mapping[str, tuple[float, float]], unit: str) -> pd.DataFrame:
    """Return values by formula and by the simulator: ``case, unit, formula, simulator, against``.

    `against` is the relative difference of the simulator from the formula.
    """
    return pd.DataFrame(
        [
            {"case": case, "unit": unit, "formula": a, "simulator": b,
             "against": b / a - 1 if a else None}
            for case, (a, b) in rows.items()
        ]
    )  # fmt: skip
