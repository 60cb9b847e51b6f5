"""Whether a logging drive, or a second arm, is useful on a drive of today.

The drive is the 18 TB drive of ``drives/exos-x18.toml``. A share of it is full, and the free slots
lie evenly over the disk, as after a long time of random writes. Unlike in the paper, several
requests are outstanding, both arms can reach all data, and the energy is measured too.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from headstack import plots
from headstack.studies.as_code import Study, Table
from headstack.studies.runs import Run

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

#: Requests of a run, by ``quick``.
REQUESTS = {False: 20_000, True: 4_000}

#: Requests that fill the buffer of 256 MiB twice over.
SUSTAINED = {False: 150_000, True: 90_000}

#: Trace files beside the bundled one, by workload.
WORKLOADS = {
    "websearch": ("wsrch-small.trace", "WebSearch1.spc"),
    "cloudphysics": ("cloudPhysicsIO.vscsi",),
    "msr": ("msr-cambridge1-sample.csv",),
}

#: Format of each file name's trace, where the name does not say it.
FORMATS = {"wsrch-small.trace": "mqsim"}


@dataclass(frozen=True)
class Kind:
    """A drive: with or without a log, with one or two arms, with or without roles for them."""

    log: bool
    arms: int = 1
    roles: bool = False

    def system(self, name: str, share: float, *, cached: bool = False) -> dict[str, Any]:
        """Return the system, filled to a share, with its write cache on or off."""
        changes: dict[str, Any] = {"cache.write_on_arrival": False}
        if not cached:
            changes |= {"cache.enabled": False, "cache.write_back": False}
        if self.log:
            changes |= {
                "mapping.model": "log",
                "mapping.reserve": round(1 - share, 6),
                "mapping.initial": "spread",
                "mapping.initial_blocks": _blocks(share),
            }
        made: dict[str, Any] = {"name": name, "drive": DRIVE, "set": changes}
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


def _blocks(share: float) -> int:
    """Return the number of blocks of a drive that is full to this share, rounded down."""
    return int(SLOTS * share * 0.999)


def _closed(n: int, reads: float, depth: int, share: float) -> dict[str, Any]:
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


def _one(study: Study, load: Mapping[str, Any], system: Mapping[str, Any]) -> dict[str, Any]:
    return study.run([Run(load, system, seed=study.choices.seed)])[str(system["name"])]


def depths(study: Study, reads: float) -> dict[str, list[dict[str, Any]]]:
    """Run every kind of drive at every depth, write cache off; results by kind."""
    n = REQUESTS[study.quick]
    return {
        name: [
            _one(study, _closed(n, reads, depth, USUAL), kind.system(name, USUAL))
            for depth in DEPTHS
        ]
        for name, kind in KINDS.items()
    }


def by_share(study: Study) -> dict[str, list[float]]:
    """Return the mean time in ms of single random writes by kind, for each share of `FULL`."""
    n = REQUESTS[study.quick]
    return {
        name: [
            _mean_ms(_one(study, _closed(n, 0.0, 1, s), KINDS[name].system(name, s)), "write")
            for s in FULL
        ]
        for name in ("in place", "log", "two arms, in place", "two arms, log")
    }


def sustained(study: Study) -> dict[str, float]:
    """Return random writes per second with the write cache on, after it has filled."""
    n = SUSTAINED[study.quick]
    load = {**_closed(n, 0.0, 32, USUAL), "warm_up": n * 4 // 5}
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
            load = {
                "trace": str(path),
                "format": "csv",
                "arrivals": {"closed": {"outstanding": 1}},
            }
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
    paths |= {name: Path(study.traces[name]) for name in WORKLOADS if name in study.traces}
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for name, path in paths.items():
        load: dict[str, Any] = {"trace": str(path), "arrivals": {"closed": {"outstanding": 4}}}
        more = {}
        if path.name in FORMATS:
            load["format"] = FORMATS[path.name]
        if name == "websearch":
            # Its devices lie one after another, each as large as those of the trace.
            load["device_blocks"] = 37_246_093
            more["organisation"] = "concatenate"
        found[name] = {
            k: _one(study, load, kind.system(k, USUAL) | more) for k, kind in KINDS.items()
        }
    return found


def tables(study: Study) -> list[Table]:
    """Return what was measured."""
    made = []
    for reads, words in ((0.0, "writes only"), (0.5, "half of them reads")):
        found = depths(study, reads)
        made += [
            _by_depth(found, f"random 4 KiB, {words}: requests/s", "{:,.0f}", _iops),
            _by_depth(found, f"random 4 KiB, {words}: energy in J each", "{:.3f}", _joules),
        ]
        if reads:
            title = f"random 4 KiB, {words}: mean response of reads / writes in ms"
            made.append(_by_depth(found, title, "{}", _reads_and_writes))
    rows = [[name, *(f"{t:.2f}" for t in times)] for name, times in by_share(study).items()]
    headings = ["drive", *(f"{share:.0%}" for share in FULL)]
    made.append(
        Table(
            f"{DRIVE}: mean time of a durable random write in ms, by the share that is full",
            headings,
            rows,
        )
    )
    rates = sequential(study)
    rows = [[name, *(f"{rate:.0f}" for rate in row)] for name, row in rates.items()]
    headings = ["drive", *(f"{share:.1%}" for share in OVERWRITTEN)]
    title = f"{DRIVE}: rate of reads of 1 MiB in order in MB/s, by the share overwritten before"
    made.append(Table(title, headings, rows))
    rows = [[name, f"{rate:,.0f}"] for name, rate in sustained(study).items()]
    title = f"{DRIVE}, write cache on and full: random 4 KiB writes/s, 32 outstanding"
    made.append(Table(title, ["drive", "writes/s"], rows))
    rows = [
        [name, *(f"{_iops(r):,.0f} ({_reads_and_writes(r)})" for r in by_kind.values())]
        for name, by_kind in recorded(study).items()
    ]
    title = f"{DRIVE}: recorded loads, 4 outstanding: requests/s (mean read / write in ms)"
    made.append(Table(title, ["load", *KINDS], rows))
    return made


def _iops(result: Mapping[str, Any]) -> float:
    return float(result["throughput_iops"])


def _joules(result: Mapping[str, Any]) -> float:
    return float(result["energy_j"]) / float(result["n_requests"])


def _reads_and_writes(result: Mapping[str, Any]) -> str:
    return " / ".join(
        "–" if np.isnan(t) else f"{t:.2f}"  # noqa: RUF001
        for t in (_mean_ms(result, "read"), _mean_ms(result, "write"))
    )


def _by_depth(
    found: Mapping[str, Sequence[Mapping[str, Any]]], title: str, form: str, value: Any
) -> Table:
    rows = [[name, *(form.format(value(r)) for r in row)] for name, row in found.items()]
    headings = ["drive", *(f"{depth} outstanding" for depth in DEPTHS)]
    return Table(f"{DRIVE}, {USUAL:.0%} full, write cache off, {title}", headings, rows)


def figures(study: Study) -> list[str]:
    """Draw durable writes by fullness, mixed loads by depth, and reads in order."""
    return [study.figure("dald-today", partial(_figure, study))]


def _figure(study: Study) -> Any:
    mixed = {
        name: [(d, _iops(r)) for d, r in zip(DEPTHS, row, strict=True)]
        for name, row in depths(study, 0.5).items()
    }
    writes = {
        name: [(100 * s, t) for s, t in zip(FULL, row, strict=True)]
        for name, row in by_share(study).items()
    }
    # A share of zero has no place on a logarithmic axis.
    reads = {
        name: [(100 * max(s, 1e-4), r) for s, r in zip(OVERWRITTEN, row, strict=True)]
        for name, row in sequential(study).items()
    }
    log, linear = alt.Scale(type="log"), alt.Scale(zero=True)
    panels = [
        _panel(
            writes, ("per cent of the drive full", linear), ("ms", log), "a durable random write"
        ),
        _panel(
            mixed,
            ("outstanding", alt.Scale(type="log", base=2)),
            ("requests per second", linear),
            "half reads, half durable writes",
        ),
        _panel(
            reads,
            ("per cent overwritten before (left: none)", log),
            ("MB/s", linear),
            "reads in order after random writes",
        ),
    ]
    title = f"An 18 TB drive of today, random 4 KiB requests ({DRIVE}; {USUAL:.0%} full)"
    return plots.style(alt.hconcat(*panels).properties(title=title))


def _panel(
    series: Mapping[str, Sequence[tuple[float, float]]],
    x: tuple[str, alt.Scale],
    y: tuple[str, alt.Scale],
    title: str,
) -> Any:
    frame = pd.DataFrame(
        [(name, a, b) for name, row in series.items() for a, b in row], columns=["drive", "x", "y"]
    )
    colour = alt.Color("drive:N", title=None, sort=list(KINDS), legend=alt.Legend(orient="bottom"))
    colour = colour.scale(domain=list(KINDS), range=list(plots.PALETTE[: len(KINDS)]))
    chart = alt.Chart(frame).mark_line(point=True)
    return chart.encode(
        x=alt.X("x:Q", title=x[0], scale=x[1]),
        y=alt.Y("y:Q", title=y[0], scale=y[1]),
        color=colour,
    ).properties(title=title, width=230, height=240)
