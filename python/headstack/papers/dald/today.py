"""Whether a logging drive, or a second arm, is useful on a drive of today.

The drive is the 18 TB drive of ``drives/exos-x18.toml``. A share of it is full, and the free slots
lie evenly over the disk, as after a long time of random writes. Unlike in the paper, several
requests are outstanding, both arms can reach all data, and the energy is measured too.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from headstack.papers.runs import Run
from headstack.papers.study import Study
from headstack.schema import System, Workload
from headstack.schema.words import TraceFormatName

from .systems import ROLES

DRIVE = "exos-x18"

#: Blocks of 4 KiB that the drive can hold.
SLOTS = 35_156_656_128 // 8

#: Shares of the slots that hold blocks, and the share that most tables use.
FULL, USUAL = (0.5, 0.7, 0.9, 0.95, 0.99), 0.9

#: Requests outstanding in the closed loop.
DEPTHS = (1, 2, 4, 8, 16, 32)

#: Shares of a region that were overwritten at random before it is read in order.
OVERWRITTEN = (0.0, 0.001, 0.01, 0.1, 1.0)

#: Blocks of that region, and of each of its reads.
REGION, READ = 65_536, 256

#: What a durable write costs beside the mechanics: the drive file's overhead of a request, which it
#: states for reads, and its settling before every write, also where the arm did not move.
WRITE_COST = {
    "overhead.write_miss": {"after_read": "0.1 ms", "after_write": "0.1 ms"},
    "positioning.settle_before_every_write": True,
}

#: Requests of a run, by ``quick``.
REQUESTS = {False: 20_000, True: 4_000}

#: Requests that fill the buffer of 256 MiB twice over.
SUSTAINED = {False: 150_000, True: 90_000}

#: Recorded loads beside the bundled one.
TRACES = ("websearch", "cloudphysics", "msr")

#: Format of each file name's trace, where the name does not say it.
FORMATS: dict[str, TraceFormatName] = {"wsrch-small.trace": "mqsim"}


@dataclass(frozen=True)
class Kind:
    """A drive: with or without a log, with one or two arms, with or without roles for them.

    A `bare` one writes without overhead, and settles only after a movement: the least that the
    mechanics allow.
    """

    log: bool
    arms: int = 1
    roles: bool = False
    bare: bool = False

    def system(self, name: str, share: float, *, cached: bool = False) -> System:
        """Return the system, filled to a share, with its write cache on or off."""
        changes: dict[str, Any] = {"cache.write_on_arrival": False}
        if not self.bare:
            changes |= WRITE_COST
        if not cached:
            changes |= {"cache.enabled": False, "cache.write_back": False}
        if self.log:
            changes |= {
                "mapping.model": "log",
                "mapping.reserve": round(1 - share, 6),
                "mapping.initial": "spread",
                "mapping.initial_blocks": _blocks(share),
            }
        made: System = {"name": name, "drive": DRIVE, "set": changes}
        if self.arms > 1:
            made["dash"] = f"D1A{self.arms}S1H1"
        if self.roles:
            made["parallelism"] = {"roles": ROLES}
        return made


#: The drives that are compared.
KINDS = {
    "in place": Kind(log=False),
    "log": Kind(log=True),
    "two arms, in place": Kind(log=False, arms=2),
    "two arms, log": Kind(log=True, arms=2),
    "DALD": Kind(log=True, arms=2, roles=True),
}

#: Beside these, for single writes: what a log would need without overhead and settling.
BARE = {"log, no overhead, settling after movements": Kind(log=True, bare=True)}


def _blocks(share: float) -> int:
    """Return the number of blocks of a drive that is full to this share, rounded down."""
    return int(SLOTS * share * 0.999)


def _closed(n: int, reads: float, depth: int, share: float) -> Workload:
    return {
        "synthetic": {
            "n_requests": n,
            "reads": reads,
            "size": "4 KiB",
            "arrivals": "closed",
            "outstanding": depth,
            "footprint": f"{_blocks(share) * 4096} B",
        },
        "warm_up": n // 5,
    }


def _mean_ms(result: Mapping[str, Any], operation: str) -> float:
    found = result["operations"].get(operation)
    if not found or not found["n_requests"]:
        return float("nan")
    return 1e3 * float(found["response_time_s"]["mean"])


def _one(study: Study, load: Workload, system: System) -> dict[str, Any]:
    return study.run([Run(load, system, seed=study.choices.seed)])[str(system["name"])]


def depths(study: Study, reads: float) -> dict[str, list[dict[str, Any]]]:
    """Run every kind of drive at every depth, write cache off; results by kind."""
    n = REQUESTS[study.quick]
    return {
        name: [_one(study, _closed(n, reads, depth, USUAL), kind.system(name, USUAL)) for depth in DEPTHS]
        for name, kind in KINDS.items()
    }


def by_share(study: Study, kinds: Mapping[str, Kind] = KINDS) -> dict[str, list[float]]:
    """Return the mean time in ms of single random writes by kind, for each share of `FULL`."""
    n = REQUESTS[study.quick]
    return {
        name: [_mean_ms(_one(study, _closed(n, 0.0, 1, s), kind.system(name, s)), "write") for s in FULL]
        for name, kind in kinds.items()
    }


def sustained(study: Study) -> dict[str, float]:
    """Return random writes per second with the write cache on, after it has filled."""
    n = SUSTAINED[study.quick]
    load: Workload = {**_closed(n, 0.0, 32, USUAL), "warm_up": n * 4 // 5}
    names = ("in place", "log")
    found = {m: _one(study, load, KINDS[m].system(m, USUAL, cached=True)) for m in names}
    return {name: float(result["throughput_iops"]) for name, result in found.items()}


def sequential(study: Study) -> dict[str, list[float]]:
    """Return the rate of reads in order in MB/s by kind, for each share of `OVERWRITTEN`."""
    rates: dict[str, list[float]] = {}
    for name in ("in place", "log"):
        rates[name] = []
        for share in OVERWRITTEN:
            path = _overwritten(study, share)
            load: Workload = {"trace": str(path), "format": "csv", "arrivals": {"closed": {"outstanding": 1}}}
            result = _one(study, load, KINDS[name].system(name, USUAL))
            rates[name].append(READ * 4096 / _mean_ms(result, "read") / 1e3)
    return rates


def _overwritten(study: Study, share: float) -> Path:
    """Write the trace: a share of the region at random, then all of it in order."""
    random = np.random.default_rng(1)
    writes = random.permutation(REGION)[: round(REGION * share)]
    rows = [("write", block, 1) for block in writes]
    rows += [("read", block, READ) for block in range(0, REGION, READ)]
    path = study.out / f"overwritten-{share:g}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["time_s", "op", "lba", "blocks"])
        for i, (operation, block, count) in enumerate(rows):
            out.writerow([f"{i * 1e-6:.6f}", operation, block * 8, count * 8])
    return path


def recorded(study: Study) -> dict[str, dict[str, dict[str, Any]]]:
    """Run the traces that are there on every kind of drive; results by workload and kind."""
    bundled = Path(__file__).resolve().parents[4] / "examples" / "traces" / "pgbench.csv.zst"
    paths = {"pgbench": bundled} if bundled.exists() else {}
    paths |= {name: Path(study.traces[name]) for name in TRACES if name in study.traces}
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for name, path in paths.items():
        load: Workload = {"trace": str(path), "arrivals": {"closed": {"outstanding": 4}}}
        more: System = {}
        if path.name in FORMATS:
            load["format"] = FORMATS[path.name]
        if name == "websearch":
            # Its devices lie one after another, each as large as those of the trace.
            load["device_blocks"] = 37_246_093
            more["organisation"] = "concatenate"
        found[name] = {k: _one(study, load, {**kind.system(k, USUAL), **more}) for k, kind in KINDS.items()}
    return found


def tables(study: Study) -> dict[str, pd.DataFrame]:
    """Return what was measured: by depth, by the share that is full, in order, recorded loads."""
    by_depth = [
        {"reads": reads, "drive": name, "outstanding": depth, **_values(result)}
        for reads in (0.0, 0.5)
        for name, row in depths(study, reads).items()
        for depth, result in zip(DEPTHS, row, strict=True)
    ]
    full, least = (
        [
            {"drive": name, "full": share, "percent": 100 * share, "ms": ms}
            for name, row in by_share(study, kinds).items()
            for share, ms in zip(FULL, row, strict=True)
        ]
        for kinds in (KINDS, BARE)
    )
    # A share of zero has no place on a logarithmic axis.
    ordered = [
        {"drive": name, "overwritten": share, "percent": 100 * max(share, 1e-4), "mb_per_s": rate}
        for name, row in sequential(study).items()
        for share, rate in zip(OVERWRITTEN, row, strict=True)
    ]
    loads = [
        {"load": load, "drive": name, **_values(result)}
        for load, by_kind in recorded(study).items()
        for name, result in by_kind.items()
    ]
    rates = [{"drive": name, "writes_per_s": rate} for name, rate in sustained(study).items()]
    return {
        "depths": pd.DataFrame(by_depth),
        "full": pd.DataFrame(full),
        "least": pd.DataFrame(least),
        "in order": pd.DataFrame(ordered),
        "sustained": pd.DataFrame(rates),
        "recorded": pd.DataFrame(loads),
    }


def _values(result: Mapping[str, Any]) -> dict[str, float]:
    return {
        "iops": float(result["throughput_iops"]),
        "joules": float(result["energy_j"]) / float(result["n_requests"]),
        "read_ms": _mean_ms(result, "read"),
        "write_ms": _mean_ms(result, "write"),
    }
