"""Carries a sweep out: takes what is known, has the rest computed, and makes one table of both."""

import os
import queue
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from typing import Any

from headstack.errors import ConfigError, HeadstackError
from headstack.plain import shown, whole
from headstack.runs import worker
from headstack.runs.store import Keys, Store
from headstack.runs.sweeps.axes import Point
from headstack.runs.sweeps.plan import Sweep

#: Runs that an executor is given ahead, for each of its workers.
AHEAD = 8


def default_jobs() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_jobs(jobs: object) -> None:
    """Refuse a number of processes that is none; None is as many as processors.

    Raises:
        ConfigError: it is no whole number, 1 or more.
    """
    if jobs is not None:
        whole(jobs, "jobs", 1)


def keys(sweep: Sweep) -> list[str]:
    """Return what each run of a sweep is known by, in order."""
    found = Keys(sweep.base)
    return [found.of(sweep.overrides(*run)) for run in sweep.runs()]


def carry_out(
    sweep: Sweep,
    names: Sequence[str],
    store: Store,
    executor: Callable[[], Executor],
    workers: int,
    progress: Callable[[int, int | None], None] | None = None,
) -> tuple[list[dict[str, Any]], int]:
    """Return the records of all runs, in order, and how many had to be computed.

    Args:
        sweep: the sweep.
        names: keys of its runs.
        store: where records are kept.
        executor: returns where the missing ones are computed; called only if there are any.
        workers: how many runs it carries out at once.
        progress: called with the number of runs that are done and their total.

    Raises:
        ConfigError: a point cannot be run; the message names it.
        HeadstackError: a run failed.
    """
    runs = sweep.runs()
    records: list[dict[str, Any] | None] = [store.get(name) for name in names]
    missing = [i for i, record in enumerate(records) if record is None]
    n_done = len(runs) - len(missing)
    if progress is not None:
        progress(n_done, len(runs))
    if missing:
        pool = executor()
        try:
            for i, record in _computed(sweep, runs, missing, pool, workers):
                records[i] = record
                # What is wrong today may be put right: only results are kept.
                if record["error"] is None:
                    store.put(names[i], record)
                n_done += 1
                if progress is not None:
                    progress(n_done, len(runs))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        pool.shutdown()
    return [r for r in records if r is not None], len(missing)


def _computed(
    sweep: Sweep, runs: Sequence[tuple[Point, int | None]], missing: Sequence[int], pool: Executor, workers: int
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the missing records as they are done."""
    base = worker.hash_of(sweep.base)
    done: queue.SimpleQueue[tuple[int, Future[Any]]] = queue.SimpleQueue()

    def submit(i: int) -> None:
        overrides = sweep.overrides(*runs[i])
        future = pool.submit(worker.simulate, base, overrides, sweep.keep_going)
        future.add_done_callback(lambda f: done.put((i, f)))

    waiting = iter(missing)
    under_way = 0
    for i in waiting:
        submit(i)
        under_way += 1
        if under_way >= workers * AHEAD:
            break
    while under_way:
        i, future = done.get()
        try:
            record = future.result()
        except HeadstackError as e:
            raise _of_point(e, *runs[i]) from None
        following = next(waiting, None)
        if following is None:
            under_way -= 1
        else:
            submit(following)
        yield i, record


def _of_point(error: HeadstackError, point: Point, seed: int | None) -> HeadstackError:
    """Return the error of a run with the point that it had."""
    said = [f"{key} = {shown(value)}" for key, value in point.items()]
    said += [] if seed is None else [f"seed {seed}"]
    kind = type(error) if isinstance(error, ConfigError | ValueError) else HeadstackError
    named = kind(f"{error} (sweep: {', '.join(said)})" if said else str(error))
    for note in getattr(error, "__notes__", ()):
        named.add_note(note)
    return named


def rows(sweep: Sweep, names: Sequence[str], records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each run, system and workload.

    Columns are the keys of the axes, the seed, the numbers, and what the run is known by.
    """
    found = []
    # What is the same for all columns is decided once: values of different kinds become text.
    mixed = {
        key
        for key in sweep.keys
        if len({_kind(p.get(key)) for p in sweep.points}) > 1
        or any(isinstance(p.get(key), dict | list) for p in sweep.points)
    }
    for (point, seed), name, record in zip(sweep.runs(), names, records, strict=True):
        for row in record["rows"]:
            place = {k: shown_value(v) if k in mixed else v for k, v in point.items()}
            found.append(
                {
                    **place,
                    "seed": seed,
                    **row,
                    "warnings": ", ".join(record["warnings"]) or None,
                    "error": record["error"],
                    "run": name,
                }
            )
    return found


def _kind(value: Any) -> str:
    return "number" if isinstance(value, int | float) and value is not True else type(value).__name__


def shown_value(value: Any) -> str:
    """Return a value of any kind as text: text as it is, the rest as JSON."""
    import json

    return value if isinstance(value, str) else json.dumps(value)


def table(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return rows as an Arrow table; a column is of integers only if all its numbers are."""
    import pyarrow as pa

    columns = list(dict.fromkeys(k for row in rows for k in row))
    found = {}
    for name in columns:
        values = [row.get(name) for row in rows]
        kinds = {type(v) for v in values if v is not None}
        if kinds == {int, float}:
            values = [None if v is None else float(v) for v in values]
        elif len(kinds) > 1:
            values = [None if v is None else shown_value(v) for v in values]
        found[name] = pa.array(values)
    return pa.table(found)
