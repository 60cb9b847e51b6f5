"""Sweeps: many runs of one experiment, with different values and seeds, as one table.

`headstack.sweep` carries one out on the processors of this machine, or on a cluster
(`headstack.runs.sweeps.cluster`). See ``docs/guide/sweep.md``.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headstack.errors import ConfigError
from headstack.plain import plain, shown
from headstack.runs import store as stores
from headstack.runs.sweeps import plan, running
from headstack.runs.sweeps.axes import Axis, Sample, read_axis, read_sample
from headstack.runs.sweeps.plan import Sweep

if TYPE_CHECKING:
    import pandas as pd

    from headstack.show.plots.look import Chart

#: Progress: the number of runs that are done, and of all.
Progress = Callable[[int, int | None], None]


@dataclass(repr=False)
class Swept:
    """The results of a sweep.

    Attributes:
        sweep: what was asked for.
        rows: one for each run, system and workload, in the order of the points.
        folder: where they are kept, or None.
        n_computed: number of runs that were computed, not found on disk.
    """

    sweep: Sweep
    rows: list[dict[str, Any]]
    folder: Path | None
    n_computed: int

    def __repr__(self) -> str:
        n_points, n_seeds = len(self.sweep.points), len(self.sweep.seeds)
        return (
            f"headstack.Swept: {n_points:,} points of {', '.join(self.sweep.keys) or 'seeds alone'}"
            f", {n_seeds:,} seeds, {self.n_computed:,} runs computed"
        )

    @property
    def frame(self) -> "pd.DataFrame":
        """One row for each run, system and workload."""
        frame: pd.DataFrame = running.table(self.rows).to_pandas()
        return frame

    def mean(self, *measures: str) -> "pd.DataFrame":
        """Return one row for each point, system and workload, with means over seeds.

        ``NAME_half`` is half of the 95 % confidence interval of the mean, missing for one seed.

        Args:
            measures: columns, or short names such as ``p99``; by default that of the sweep.

        Raises:
            ConfigError: there is no such column.
        """
        import pandas as pd

        return pd.DataFrame(self.averaged(*measures))

    def averaged(self, *measures: str) -> list[Mapping[str, Any]]:
        """Return the rows of `mean`."""
        from headstack.runs.sweeps import figures

        columns = [figures.column(m, self.rows) for m in measures or (self.sweep.measure,)]
        return figures.averaged(self.rows, self.sweep.keys, columns)

    def plot(self, measure: str | None = None) -> "Chart":
        """Return a curve over one axis, or heat maps over two.

        Raises:
            ConfigError: the sweep has another number of axes, or no such column.
        """
        chart = self._chart(measure)
        if chart is None:
            n = len(self.sweep.axes)
            raise ConfigError(f"sweep: got {n} axes, need one or two for a figure, and a result")
        return chart

    def drawn(self) -> dict[str, bytes]:
        """Return the figure as PNG and SVG by file name; nothing where none can be drawn."""
        chart = self._chart()
        if chart is None:
            return {}
        from headstack.show.plots import look

        return dict(zip(stores.FIGURES, look.drawn(chart), strict=True))

    def _chart(self, measure: str | None = None) -> "Chart | None":
        from headstack.runs.sweeps import figures

        column = figures.column(measure or self.sweep.measure, self.rows)
        # Keys that change together have one column in the figure: the first.
        drawn = [axis.keys[0] for axis in self.sweep.axes]
        return figures.draw(self.averaged(column), drawn, column)


def _axes(given: "Mapping[str, Any] | Iterable[Any] | None") -> list[Axis]:
    """Return axes from ``{key: values}`` or from tables like those of a file."""
    if given is None:
        return []
    if isinstance(given, Mapping):
        tables: list[Any] = [
            {"key": k, **v} if isinstance(v, Mapping) else {"key": k, "values": _list(v, str(k))}
            for k, v in given.items()
        ]
    else:
        tables = [*given]
    return [read_axis(table, f"axis[{i}]") for i, table in enumerate(tables)]


def _list(values: Any, key: str) -> list[Any]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ConfigError(f"axis {key}: got {shown(plain(values))}, need a list of values")
    return list(values)


def sweep(
    experiment: Any = None,
    axes: "Mapping[str, Any] | Iterable[Any] | None" = None,
    *,
    workload: Any = None,
    systems: Any = None,
    seeds: int | Iterable[int] | None = None,
    seed: int | None = None,
    sample: Mapping[str, Any] | None = None,
    set: Mapping[str, object] | None = None,
    measure: str | None = None,
    keep_going: bool = False,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    progress: Progress | None = None,
) -> Swept:
    """Run an experiment with many values and seeds.

    Args:
        experiment: as for `headstack.run`: a file or tables; or a sweep's own file
            (``SWEEP.toml``), which has axes.
        axes: values by dotted key, ``{"system.0.queue_depth": [1, 8, 32]}``; a range is a table,
            ``{"from": 1, "to": 64, "steps": 7, "scale": "log"}``; or a list of tables like the
            entries ``[[axis]]`` of a file.
        workload: as for `headstack.run`, in place of an experiment.
        systems: as for `headstack.run`.
        seeds: runs of each point: a number, or the seeds. All points have the same seeds (common
            random numbers), so that differences between points are paired.
        seed: replaces the experiment's seed; the first of `seeds` if that is a number.
        sample: draws points instead of a grid: ``{"method": "latin-hypercube", "n": 100}``.
        set: single values to replace in all runs, by dotted key.
        measure: the column that `Swept.plot` draws: ``response_time_p99_s`` unless said.
        keep_going: whether points that cannot be run become rows with ``error``.
        out: folder for results, in which a later sweep finds what is already computed.
        jobs: number of processes; as many as processors by default.
        dask: address of a `distributed` scheduler that does the runs instead.
        progress: called with the number of runs that are done and their total.

    Returns:
        All results; `Swept.frame` is one DataFrame.

    Raises:
        ConfigError: an axis, the experiment or one of its points cannot be used.
        TraceError: a trace cannot be read.
        HeadstackError: a run failed.
    """
    from headstack.runs import api

    with ExitStack() as stack:
        given: dict[str, Any] = {}
        if is_sweep_file(experiment):
            given = plan.read(experiment)
            base = given.pop("base")
        else:
            base = api._source(experiment, workload, systems, stack).prepared()
        asked = {
            "seeds": seeds if seeds is None or isinstance(seeds, int) else list(seeds),
            "sample": None if sample is None else read_sample(plain(sample, "sample")),
            "measure": measure,
            "keep_going": keep_going or None,
        }
        given |= {k: v for k, v in asked.items() if v is not None}
        own = [*given.pop("axes", ()), *_axes(axes)]
        settings = {str(k): plain(v, f"set {k}") for k, v in (set or {}).items()}
        whole = plan.make(base, own, settings=settings, first_seed=seed, **given)
        return carry_out(whole, out=out, jobs=jobs, dask=dask, progress=progress)


def is_sweep_file(given: Any) -> bool:
    """Return whether an argument is the file of a sweep: it has an experiment or axes."""
    from headstack import drives

    if not isinstance(given, str | os.PathLike) or Path(given).suffix != ".toml":
        return False
    if not Path(given).is_file():
        return False
    return bool({"experiment", "axis", "sample"} & drives.read_toml(Path(given)).keys())


def carry_out(
    whole: Sweep,
    *,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    progress: Progress | None = None,
    figure: bool = False,
) -> Swept:
    """Carry out a sweep; arguments as of `sweep`.

    With `figure` the folder also gets its figure, if one can be drawn.
    """
    from headstack.paths import output_directory

    running.check_jobs(jobs)
    if jobs is not None and dask is not None:
        raise ConfigError("jobs: got it beside dask, need one of them")
    names = running.keys(whole)
    with ExitStack() as stack:
        folder = None if out is None else output_directory(out, "out")
        store = stack.enter_context(stores.opened(folder, whole.base, alone=True))
        pool, workers = _pool(whole, jobs, dask)
        records, n_computed = running.carry_out(whole, names, store, pool, workers, progress)
        rows = running.rows(whole, names, records)
        found = Swept(whole, rows, folder, n_computed)
        if folder is not None:
            store.publish(names, running.table(rows), found.drawn() if figure else {})
    return found


def _pool(whole: Sweep, jobs: int | None, dask: str | None) -> tuple[Callable[[], Executor], int]:
    """Return what makes the executor of a sweep, and the number of its workers."""
    from headstack.runs import worker

    if dask is not None:
        from headstack.runs.sweeps import cluster

        settings = [dict(whole.settings), *whole.points]
        found = cluster.connect(dask, whole.base, settings)
        return (lambda: found), found.n_workers
    from headstack.runs.processes import Processes

    count = running.default_jobs() if jobs is None else jobs
    count = min(count, len(whole.points) * len(whole.seeds))
    return (lambda: Processes(count, worker.prepare, (whole.base,))), count


__all__ = ["Axis", "Sample", "Sweep", "Swept", "carry_out", "sweep"]
