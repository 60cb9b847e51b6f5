"""Runs of a study: each is simulated once and its result stored (`headstack.runs.store`).

A run is one system on one workload. An interrupted study continues where it stopped, and after a
change of a drive, trace or the simulator, a run is repeated.
"""

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from headstack.errors import ConfigError
from headstack.plain import plain
from headstack.runs import api, store, worker
from headstack.runs.store import Keys
from headstack.schema import System, Workload

#: Called with the name of the run, the requests done and their total, if known.
Report = Callable[[str, int, int | None], None]

#: Requests of short synthetic runs that are simulated together.
BATCH_REQUESTS = 200_000

#: Bins of a histogram of rotational latencies.
ROTATION_BINS = 100


@dataclass(frozen=True)
class Run:
    """One system on one workload, as tables of an experiment.

    Attributes:
        workload: the table ``[workload]``; a trace's path is absolute.
        system: the table ``[[system]]``.
        rotation: whether the rotational latency of each request is needed.
        seed: seed of every random stream.
        interval: length in seconds of the intervals of time for which the services are summed, by
            arrival; 0 if they are not needed.
    """

    workload: Workload
    system: System
    rotation: bool = False
    seed: int = 1
    interval: float = 0.0

    @property
    def drives(self) -> set[str]:
        """The drives that it has by name."""
        found = (table.get("drive") for table in (self.system, *self.system.get("drives", ())))
        return {drive for drive in found if isinstance(drive, str)}

    @property
    def logged(self) -> bool:
        """Whether single requests are needed."""
        return self.rotation or self.interval > 0

    def key(self) -> str:
        """Return what it is known by; the name of the system is not in it."""
        content = plain(asdict(self))
        content["system"].pop("name", None)
        return Keys(content).of({})


@dataclass
class Runs:
    """Results of runs, computed once for a directory.

    Attributes:
        directory: directory of their records.
        report: called with progress.
        simulated: runs that were not stored before.
    """

    directory: Path
    report: Report | None = None
    simulated: int = 0
    _known: dict[str, dict[str, Any]] = field(default_factory=dict)

    def get(self, runs: Sequence[Run], label: str) -> list[dict[str, Any]]:
        """Return the result of each run, in order; simulate those that are not stored.

        Raises:
            KeyboardInterrupt: the user stopped; finished runs are stored.
        """
        keys = [run.key() for run in runs]
        with store.opened(self.directory) as records:
            # Several claims ask for the same runs; a record is 130 kB of JSON.
            unread = dict.fromkeys(k for k in keys if k not in self._known)
            self._known |= {k: record for k in unread if (record := records.get(k)) is not None}
            missing = {k: r for k, r in zip(keys, runs, strict=True) if k not in self._known}
            done = 0
            for batch in _batches(missing):
                for key, record in self._simulate(batch, f"{label}, run {done + 1} of {len(missing)}").items():
                    records.put(key, record)
                    self._known[key] = record
                done += len(batch)
                self.simulated += len(batch)
        # The name is displayed, but does not affect the simulation.
        return [{**self._known[k]["system"], "name": r.system["name"]} for k, r in zip(keys, runs, strict=True)]

    def _simulate(self, batch: Mapping[str, Run], label: str) -> dict[str, dict[str, Any]]:
        """Return the record of each run, by its key."""
        first = next(iter(batch.values()))
        report = self.report
        # The core does not know the total of a generator in advance; the experiment states it.
        each = first.workload.get("synthetic", {}).get("n_requests")
        known = None if each is None else int(each) * len(batch)

        def progress(done: int, total: int | None) -> None:
            if report is not None:
                report(label, done, known if total is None else total)

        with tempfile.TemporaryDirectory(prefix="headstack-") as logs:
            result = api.run(
                workload=first.workload,
                systems=[{**r.system, "name": k} for k, r in batch.items()],
                seed=first.seed,
                out=logs if first.logged else None,
                log_requests=first.logged,
                progress=progress if report is not None else None,
            )
            if result.partial:
                raise KeyboardInterrupt
            for system in result.document["systems"]:
                if first.logged:
                    log = Path(logs) / system.pop("requests_file")
                    if first.rotation:
                        system["rotation"] = _rotation(log)
                    if first.interval:
                        system["services"] = _services(log, first.interval)
                system.pop("series_file", None)
            every = set().union(*(run.drives for run in batch.values()))
            inputs = worker.inputs_of(result.document)
            return {
                system["name"]: {
                    "system": system,
                    # A drive that only others of the batch name decides nothing here.
                    "inputs": [i for i in inputs if i[1] not in every - batch[system["name"]].drives],
                }
                for system in result.document["systems"]
            }


def _batches(runs: Mapping[str, Run]) -> Iterator[dict[str, Run]]:
    """Group runs that the core can simulate together: the same workload, a few per thread."""
    groups: dict[str, dict[str, Run]] = {}
    for key, run in runs.items():
        kind = [run.workload, run.rotation, run.seed, run.interval]
        like = json.dumps(kind, sort_keys=True, default=str)
        groups.setdefault(like, {})[key] = run
    for group in groups.values():
        items = list(group.items())
        first = items[0][1].workload.get("synthetic", {})
        # Enough work for all threads, but not so much that an interrupt loses minutes.
        most = max(2 * (os.cpu_count() or 1), BATCH_REQUESTS // int(first.get("n_requests", 10**9)))
        for i in range(0, len(items), most):
            yield dict(items[i : i + most])


def _services(log: Path, interval: float) -> dict[str, Any]:
    """Return number, sum and sum of squares of the service times in ms by interval of arrival."""
    columns = pq.read_table(log, columns=["arrival_ns", "response_time_s", "queue_s"]).to_pandas()
    at = (columns["arrival_ns"].to_numpy() / 1e9 / interval).astype(np.int64)
    ms = 1e3 * (columns["response_time_s"] - columns["queue_s"]).to_numpy()
    return {
        "n": np.bincount(at).tolist(),
        "ms": np.bincount(at, ms).tolist(),
        "squares": np.bincount(at, ms * ms).tolist(),
    }


def _rotation(log: Path) -> dict[str, Any]:
    """Return the distribution of the rotational latencies of requests served by the mechanism."""
    columns = pq.read_table(log, columns=["rotation_s", "cache_hit"]).to_pandas()
    waits = columns.loc[~columns["cache_hit"], "rotation_s"].to_numpy()
    if not len(waits):
        raise ConfigError("rotation: got no request that reached the platter, need one or more")
    counts, edges = np.histogram(waits, bins=ROTATION_BINS, range=(0.0, 0.0125))
    return {
        "bin_s": float(edges[1]),
        "counts": [int(c) for c in counts],
        "mean_s": float(waits.mean()),
        "p99_s": float(np.quantile(waits, 0.99)),
        "max_s": float(waits.max()),
    }
