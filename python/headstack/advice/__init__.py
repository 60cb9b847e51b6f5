"""Advice: which drives, how many, in which organisation, for a trace and a goal.

`headstack.advise` searches with few runs and says how sure the answer is, why others are worse, and
what would change it. See ``docs/guide/advise.md``.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING

from headstack.advice import question as questions
from headstack.advice import space
from headstack.advice.answer import Advice, conclude
from headstack.advice.question import Question
from headstack.advice.search import Search

if TYPE_CHECKING:
    from headstack.results.prices import Prices

#: Folder of the records of runs in an advice's folder.
RUNS = "runs"


def advise(
    trace: str | os.PathLike[str],
    goal: str,
    *,
    capacity: str | None = None,
    power: str | None = None,
    budget: float | None = None,
    growth: float = 1.0,
    survives: int = 0,
    drives: Iterable[str] | None = None,
    dash: Sequence[str | None] = (None,),
    organisations: Iterable[str] | None = None,
    depths: Sequence[int | None] = (None,),
    schedulers: Sequence[str | None] = (None,),
    caches: Sequence[str | None] = (None,),
    chunks: Sequence[str | None] = (None,),
    group: int = space.GROUP,
    prices: "str | os.PathLike[str] | Prices | None" = None,
    set: Mapping[str, object] | None = None,
    most: int = 64,
    seeds: int = 3,
    minimise: str | None = None,
    years: float = 5.0,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> Advice:
    """Return which system meets a goal on a trace with the least of what counts.

    Args:
        trace: the trace.
        goal: as in ``p99=30ms`` or ``p99<30ms, mean<8ms`` (`headstack.results.goal`).
        capacity: least usable capacity, as in ``200 TB``.
        power: most mean power of all drives, as in ``2 kW``.
        budget: most dollars for the drives.
        growth: factor of load and capacity that must be carried.
        survives: number of failed drives that the data must survive, 0 or 1.
        drives: names or paths of drives; by default those of recent years.
        dash: arms and heads in place of the drives' own, as in ``D1A2S1H1``; None: their own.
        organisations: of ``raid0``, ``raid10``, ``raid5``; all by default.
        depths: queue depths; None: as in the drive's file.
        schedulers: schedulers of the drives.
        caches: of ``write-through`` and ``write-back``.
        chunks: contiguous data per drive, as in ``256 KiB``; None: the default of ``run``.
        group: most drives of one RAID-5 group; more are several groups, striped.
        prices: a table of prices of drives (see `headstack.results.prices`), else that of the environment.
        set: settings of the workload, by dotted key: ``{"workload.time_scale": 0.5}``.
        most: most drives.
        seeds: seeds of each system; where one does not decide, their mean does.
        minimise: ``drives``, ``power`` or ``cost`` (price and energy over `years`). By default cost
            if all prices are known and of one kind, else drives.
        years: years of energy in costs.
        out: folder in which records of runs are kept and found.
        jobs: number of processes; as many as processors by default.
        progress: called with the number of runs that are done.

    Returns:
        The answer; `Advice.best` is None if no system meets the goal.

    Raises:
        ConfigError: an argument cannot be used.
        TraceError: the trace cannot be read.
    """
    asked = {k: v for k, v in locals().items() if k not in ("out", "jobs", "progress")}
    return carry_out(questions.make(**asked), out=out, jobs=jobs, progress=progress)


def carry_out(
    asked: Question,
    *,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> Advice:
    """Search the answer to a question; arguments as of `advise`."""
    from headstack.runs import store, worker
    from headstack.runs.processes import Processes
    from headstack.runs.sweeps import running

    base = asked.base
    count = running.default_jobs() if jobs is None else jobs

    def make() -> Executor:
        return Processes(count, worker.prepare, (base,))

    folder = None if out is None else Path(out) / RUNS
    with store.opened(folder, base, alone=True) as records:
        found = Search(asked, records, make)
        try:
            answer = conclude(found, found.run(progress))
        except BaseException:
            found.close(at_once=True)
            raise
        found.close()
        if folder is not None:
            records.publish([], running.table([]), {})
    return answer


__all__ = ["Advice", "Question", "advise", "carry_out"]
