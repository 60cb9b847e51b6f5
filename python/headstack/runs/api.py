"""Running experiments from Python, and their results as tables and figures."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property, partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple, overload

from headstack import _bridge
from headstack.errors import ConfigError, printable
from headstack.paths import output_directory
from headstack.plain import plain, shown, whole
from headstack.results import goal as goals
from headstack.results import prices as price_tables
from headstack.results.frames import CURVES, Tables, request_logs, tables
from headstack.results.records import System
from headstack.runs import loads, outputs, replications
from headstack.suggest import need_one_of

# Modules that only some runs need are imported where they are needed.
if TYPE_CHECKING:
    import tempfile

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from headstack import schema
    from headstack.results.goal import Goal
    from headstack.results.prices import Prices
    from headstack.results.warned import Warned
    from headstack.show.plots.look import Chart
    from headstack.workloads.workload import Given

#: Called from time to time with the number of requests done and their total, if known.
Progress = Callable[[int, int | None], None]

#: Most bytes of an experiment; a larger file is not an experiment.
_MOST_BYTES = 64 << 20

#: Most systems that `repr` shows.
_MOST_SHOWN = 12


class Plots:
    """The figures of a result, as Altair charts.

    Each raises `ConfigError` if no system has its numbers.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document

    def _figure(self, name: str) -> "Chart":
        from headstack.show import plots

        return plots.RESULT_FIGURES[name](self._document)

    def cdf(self) -> "Chart":
        """Cumulative distribution of the response time (ms), one line per system."""
        return self._figure("response-time")

    def tail(self) -> "Chart":
        """Tail of the response time (ms): one decade of the axis for each further nine."""
        return self._figure("tail")

    def components(self) -> "Chart":
        """Mean response time (ms) by component, one bar per system."""
        return self._figure("components")

    def power(self) -> "Chart":
        """Mean power (W) by state of the drives, one bar per system."""
        return self._figure("power")

    def operations(self) -> "Chart":
        """Response times (ms) of reads, writes and flushes, one panel each."""
        return self._figure("operations")

    def power_over_time(self) -> "Chart":
        """Draw the power of the drives (W) over time (s), one strip per system, with the cap."""
        return self._figure("power-over-time")

    def queue_depth(self) -> "Chart":
        """Draw the requests in the system over time (s), one strip per system."""
        return self._figure("queue-depth")


class Result:
    """The result of a run.

    Iteration returns its systems, one for each system and workload of the experiment, as
    `headstack.results.records.System`: ``system.power_w.mean`` is ``system["power_w"]["mean"]``, by the
    keys of ``run --json``. A single system is ``result["its name"]`` or ``result[0]``.

    Attributes:
        document: the whole result document, curves included.
        out: the directory with the Parquet tables, or None.
    """

    def __init__(
        self, document: dict[str, Any], out: Path | None = None, _keep: "tempfile.TemporaryDirectory[str] | None" = None
    ) -> None:
        self.document = document
        self.out = out
        # A temporary directory is kept as long as the result that reads from it.
        self._keep = _keep

    def __repr__(self) -> str:
        systems = self.document["systems"]
        workloads = {str(s.get("workload", "")) for s in systems}
        count = f"{len(systems)} system{'s' * (len(systems) != 1)}"
        if len(workloads) == 1:
            head = f"{count}, workload {printable(workloads.pop())}"
        else:
            head = f"{len(systems)} results on {len(workloads)} workloads"
        lines = [printable(self.answer), *_lines(systems[:_MOST_SHOWN])]
        if len(systems) > _MOST_SHOWN:
            lines.append(f"  ... and {len(systems) - _MOST_SHOWN} more")
        names = ", ".join(dict.fromkeys(w.name for w in self.warnings if w.name))
        if names:
            lines.append(f"  warnings: {names}; see .warnings")
        return "\n".join([f"headstack.Result: {head}{', partial' * self.partial}", *lines])

    @property
    def answer(self) -> str:
        """One sentence: which systems meet the goal, or without one which is the fastest."""
        from headstack.results import answer

        return answer.sentence(self.document)

    @property
    def ranking(self) -> "pd.DataFrame":
        """The ranking that the command line prints, one row per system, as texts.

        The columns are those of `headstack.results.answer.columns`, which explain themselves.
        """
        import pandas as pd

        from headstack.results import answer

        heads = [c.title for c in answer.columns(self.document)]
        return pd.DataFrame(answer.rows(self.document), columns=heads)

    def _repr_html_(self) -> str:
        """Return the answer for notebooks: its sentence, the ranking and the warnings."""
        from html import escape

        from headstack.results import answer, warned
        from headstack.show import table

        columns = answer.columns(self.document)
        align = ["left" if c.text else "right" for c in columns]

        def line(kind: str, cells: Iterable[str]) -> str:
            shown = zip(cells, align, strict=True)
            inner = "".join(f'<{kind} style="text-align: {side}">{escape(cell)}</{kind}>' for cell, side in shown)
            return f"<tr>{inner}</tr>"

        head = line("th", (c.title for c in columns))
        body = "".join(line("td", row) for row in answer.rows(self.document))
        above = warned.lines(warned.of_document(self.document))
        notes = "".join(f"<p>{escape(text)}</p>" for text in above)
        below = (answer.explained(columns, self.document), table.note(self.document))
        note = "".join(f"<p>{escape(text)}</p>" for text in below)
        shown = f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"
        return f"<p><strong>{escape(self.answer)}</strong></p>{notes}{shown}{note}"

    def __dir__(self) -> Iterable[str]:
        """Return what a user of the result may want; the rest of Python's names are left out."""
        return [name for name in super().__dir__() if not name.startswith("_")]

    def __iter__(self) -> Iterator[System]:
        return (System(s) for s in self.document["systems"])

    def __len__(self) -> int:
        return len(self.document["systems"])

    def __getitem__(self, which: int | str) -> System:
        """Return one system by index or name; if several have the name, the first.

        Raises:
            IndexError: there is no such index.
            KeyError: no system has that name.
        """
        systems = self.document["systems"]
        if not isinstance(which, str):
            return System(systems[which])
        for system in systems:
            if system["name"] == which:
                return System(system)
        raise KeyError(need_one_of("system", which, (str(s["name"]) for s in systems)))

    @property
    def warnings(self) -> "list[Warned]":
        """What makes the numbers mislead, and the way out: `headstack.results.warned.Warned`."""
        from headstack.results import warned

        return warned.of(self.document)

    @property
    def partial(self) -> bool:
        """Whether the run was interrupted before its end."""
        return bool(self.document.get("partial", False))

    @overload
    def to(self, library: Literal["pandas"]) -> "Tables[pd.DataFrame]": ...

    @overload
    def to(self, library: Literal["polars"]) -> "Tables[pl.DataFrame]": ...

    def to(self, library: str) -> Tables[Any]:
        """Return `summary`, `drives` and the other tables, of ``pandas`` or ``polars``.

        Raises:
            ConfigError: another library, or one that is not installed.

        Example:
            >>> r.to("polars").requests.filter(pl.col("op") == "read")  # doctest: +SKIP
        """
        return tables(library, self.document["systems"], self.out)

    @cached_property
    def _tables(self) -> "Tables[pd.DataFrame]":
        return self.to("pandas")

    @property
    def summary(self) -> "pd.DataFrame":
        """One row per system and workload: `headstack.results.frames.Tables.summary` in pandas."""
        return self._tables.summary

    @property
    def summary_wide(self) -> "pd.DataFrame":
        """The same with all numbers: `headstack.results.frames.Tables.summary_wide` in pandas."""
        return self._tables.summary_wide

    @property
    def classes(self) -> "pd.DataFrame":
        """One row per class of requests: `headstack.results.frames.Tables.classes` in pandas."""
        return self._tables.classes

    @property
    def drives(self) -> "pd.DataFrame":
        """One row per drive of every system: `headstack.results.frames.Tables.drives` in pandas."""
        return self._tables.drives

    @property
    def requests(self) -> "pd.DataFrame":
        """One row per request of every system: `headstack.results.frames.Tables.requests` in pandas.

        Raises:
            ConfigError: the run logged no requests.
        """
        return self._tables.requests

    @property
    def series(self) -> "pd.DataFrame":
        """One row per system and time bucket: `headstack.results.frames.Tables.series` in pandas.

        Raises:
            ConfigError: no system has a time series.
        """
        return self._tables.series

    def arrow(self) -> "pa.Table":
        """Return the requests of every system as one table of Arrow, for DuckDB and others.

        Raises:
            ConfigError: the run logged no requests.
        """
        return self._tables.arrow

    def scan(self) -> "pl.LazyFrame":
        """Return the requests as a lazy frame of Polars: only what is asked for is read.

        The columns are those of `requests`.

        Raises:
            ConfigError: the run logged no requests, or Polars is not installed.

        Example:
            >>> r.scan().filter(pl.col("op") == "read").collect()  # doctest: +SKIP
        """
        from headstack.results import frames

        return frames.scan(self.document["systems"], self.out)

    def requests_files(self) -> list[tuple[Mapping[str, Any], Path]]:
        """Each system with the Parquet file of its requests, readable by Polars and DuckDB too.

        Raises:
            ConfigError: the run logged no requests.
        """
        return request_logs(self.document["systems"], self.out)

    @property
    def plot(self) -> Plots:
        """The figures, Altair charts: ``.cdf()``, ``.tail()``, ``.components()`` and more."""
        return Plots(self.document)

    def view(
        self,
        path: str | os.PathLike[str] = "view.html",
        *,
        at: str | float | None = None,
        length: str | float = "200 ms",
        systems: Sequence[str | int] | None = None,
        workload: str | int | None = None,
        drive: int | None = None,
        base: str | os.PathLike[str] | None = None,
    ) -> Path:
        """Write a page with an animated picture of drives in a window of the run; return its path.

        The run is repeated up to the end of the window.

        Args:
            path: the page.
            at: when the window begins: seconds, or text with a unit; by default when most requests
                were in the first system.
            length: its length.
            systems: names or numbers of one or two systems; the first two by default.
            workload: name or number of the workload.
            drive: number of the drive in each system; by default that with most commands.
            base: the folder of the experiment, if its files are not found.

        Raises:
            ConfigError: the run has no such window, system or drive, or its trace is not found.
            OSError: the page cannot be written.

        Example:
            >>> r.view("view.html", at="12.3 s", systems=["one arm", "two arms"])  # doctest: +SKIP
        """
        from headstack.show import view

        records = view.record(self, at=at, length=length, systems=systems, workload=workload, base=base)
        return view.write(records, path, drive=drive)

    def to_json(self, *, curves: bool = False) -> str:
        """Return the document of ``headstack run --json``; with `curves` also CDFs and series.

        ``response_time_cdf`` holds pairs of seconds and share, ``series`` lists of equal length.
        """
        document = self.document
        if not curves:
            systems = [{k: v for k, v in s.items() if k not in CURVES} for s in document["systems"]]
            document = {**document, "systems": systems}
        return json.dumps(document, indent=2)

    def experiment_toml(self) -> str:
        """Return the experiment as a TOML file that can be run again, see `headstack.runs.resolved`.

        Raises:
            ConfigError: the result is from a version that did not store its experiment.
        """
        from headstack.runs import resolved

        return resolved.experiment_toml(self.document)

    def _own_traces(self) -> Iterator[Path]:
        """Yield the trace files that were written for DataFrames, beside the results."""
        for given in self.document.get("inputs") or ():
            name = str(given.get("path") or "")
            if given.get("kind") != "trace" or self.out is None or Path(name).name != name:
                continue
            if (self.out / name).is_file():
                yield self.out / name

    def save(self, out: str | Path) -> Path:
        """Write the results file and copy the tables into the directory `out`; return `out`.

        The trace files of DataFrames are copied too.

        Raises:
            OSError: the directory cannot be written to.
        """
        out = Path(out)
        with outputs.replacing(out) as written:
            written.run_id = self.document.get("run_id")
            for system in self.document["systems"]:
                for key in ("requests_file", "series_file"):
                    table = self.out / system[key] if self.out and system.get(key) else None
                    if table and table.is_file():
                        shutil.copy2(table, written.path / table.name)
            for trace in self._own_traces():
                shutil.copy2(trace, written.path / trace.name)
            text = self.to_json(curves=True) + "\n"
            (written.path / outputs.RESULTS_FILE).write_text(text, encoding="utf-8")
        return out


def _lines(systems: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a line for each system: its name, workload and main numbers."""
    from headstack.show import table

    systems = list(systems)
    several = len({s.get("workload") for s in systems}) > 1
    names = [
        f"{name} on {s.get('workload')}" if several else name
        for name, s in zip(table.names(systems), systems, strict=True)
    ]
    names = [printable(n) for n in names]
    width = max(map(len, names), default=0)
    return [f"  {n:<{width}}  {_gist(s)}" for n, s in zip(names, systems, strict=True)]


def _gist(system: Mapping[str, Any]) -> str:
    times = system.get("response_time_s") or {}
    numbers = (
        (times.get("mean"), "mean {:,.2f} ms", 1e3),
        (times.get("p99"), "p99 {:,.2f} ms", 1e3),
        (system.get("throughput_iops"), "{:,.1f} IOPS", 1),
        ((system.get("power_w") or {}).get("mean"), "{:,.2f} W", 1),
        (system.get("n_errors") or None, "{:,} errors", 1),
    )
    said = [text.format(n * scale) for n, text, scale in numbers if n is not None]
    if system.get("overloaded"):
        said.append("cannot keep up")
    return ", ".join(said)


def _listed(given: Any) -> Any:
    """Return one table or several as a list; any iterable but text is several."""
    if isinstance(given, Iterable) and not isinstance(given, Mapping | str | bytes | os.PathLike):
        return list(given)
    return given


class _Source(NamedTuple):
    """An experiment in the form of the core: file, text, and actual paths of traces."""

    file: str | None
    text: str | None
    places: Mapping[str, Path]

    def prepared(self, sources_anywhere: bool = False) -> dict[str, Any]:
        """Return it as `headstack.runs.worker.prepare` takes it."""
        places = {name: str(path) for name, path in self.places.items()}
        found: dict[str, Any] = {"file": self.file, "text": self.text, "places": places}
        return {**found, "sources_anywhere": True} if sources_anywhere else found


def _tables(workload: Any, systems: Any, experiment: Mapping[str, Any], stack: ExitStack) -> _Source:
    """Return an experiment given in Python; `stack` keeps its trace files."""
    from headstack.workloads import workload as workloads

    places: dict[str, Path] = {}
    listed = [w for key in ("workload", "workloads") for w in _several(experiment.get(key))]
    given = [w.get("trace") if isinstance(w, Mapping) else w for w in [*listed, *_several(workload)]]
    taken = {os.fspath(trace) for trace in given if isinstance(trace, str | os.PathLike)}

    def spec(value: Any, key: str) -> Any:
        table = stack.enter_context(workloads.as_spec(value, key))
        trace = table.get("trace")
        if trace is not None and trace not in taken:
            # The file is removed after the run, so results show a name instead of its path.
            name = workloads.trace_name(key, taken)
            places[name] = Path(trace)
            table = {**table, "trace": name}
        return plain(table, key)

    document = dict(experiment)
    if workload is not None:
        document["workload"] = workload
    if systems is not None:
        document["system"] = _listed(systems)
    for key in ("workload", "workloads"):
        given = document.pop(key, None)
        if isinstance(given, list | tuple):
            document[key] = [spec(one, f"{key}[{i}]") for i, one in enumerate(given)]
        elif given is not None:
            document[key] = spec(given, key)
    return _Source(None, json.dumps(plain(document)), places)


def _several(given: Any) -> list[Any]:
    """Return one or several workloads as a list."""
    return list(given) if isinstance(given, list | tuple) else [given]


def _text(file: IO[Any]) -> tuple[str, str]:
    """Return the name of an open file and all of its text."""
    name = getattr(file, "name", None)
    name = name if isinstance(name, str) else "experiment"
    if file in (sys.stdin, getattr(sys.stdin, "buffer", None)):
        name = "standard input"
    text = file.read(_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        raise ConfigError(f"{name}: got more than {_MOST_BYTES} bytes, need a file of TOML")
    try:
        return name, text if isinstance(text, str) else bytes(text).decode()
    except UnicodeDecodeError:
        need = "a file of TOML: text in UTF-8"
        raise ConfigError(f"{name}: got bytes that are not UTF-8, need {need}") from None


def _source(experiment: Any, workload: Any, systems: Any, stack: ExitStack) -> _Source:
    """Return the experiment in the form of the core."""
    if isinstance(experiment, Mapping) or experiment is None:
        return _tables(workload, systems, experiment or {}, stack)
    if hasattr(experiment, "read"):
        return _Source(*_text(experiment), {})
    if not isinstance(experiment, str | bytes | os.PathLike):
        kind = type(experiment).__name__
        raise ConfigError(f"run: got a {kind}, need a path, a table or an open file")
    path: str = plain(os.fsdecode(experiment), "run")
    if "\n" in path or path.lstrip().startswith("{"):
        raise ConfigError(
            "run: got the text of an experiment, need its path; text can be given as io.StringIO, "
            "and tables as dictionaries"
        )
    return _Source(path, None, {})


def _settings(given: Any) -> dict[str, Any]:
    """Return the single values of `set`, and the name that errors use for it."""
    name = str(getattr(given, "option", "set"))
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ConfigError(f"{name}: got {shown(plain(given, name))}, need a table of dotted keys")
    keys = plain(dict.fromkeys(given), name)
    values = {key: plain(value, f"{name} {key}") for key, value in given.items()}
    return {"set": {key: values[key] for key in keys}, "set_by": name}


def run(
    experiment: "str | os.PathLike[str] | schema.Experiment | IO[Any] | None" = None,
    *,
    workload: "Given | Sequence[Given] | None" = None,
    systems: "schema.System | Iterable[schema.System] | None" = None,
    run: "schema.Run | None" = None,
    cost: "schema.ExperimentCost | None" = None,
    set: Mapping[str, object] | None = None,
    seed: int | None = None,
    goal: "str | Goal | None" = None,
    headroom: bool = False,
    seeds: int | None = None,
    jobs: int | None = None,
    prices: "str | os.PathLike[str] | Prices | None" = None,
    out: str | os.PathLike[str] | None = None,
    replace: bool = True,
    log_requests: bool = True,
    threads: int | None = None,
    progress: Progress | None = None,
    sources_anywhere: bool = False,
) -> Result:
    """Simulate the systems of an experiment on its workloads.

    Besides text and numbers, tables may contain paths, NumPy numbers and arrays, and dates. Errors
    name the key, as for a file: ``system[0].count: got 0, need ...``.

    Args:
        experiment: an experiment file (TOML), an open file such as ``sys.stdin``, or the whole
            experiment as a table; or leave it out and give `workload` and `systems`. Relative
            paths start from the folder of the file, else from the current directory.
        workload: the table ``[workload]``, or a list of several; instead of a table or its
            ``trace``, the path of a trace or a DataFrame (see `headstack.workloads.workload`).
        systems: the tables ``[[system]]``, or one.
        run: replaces the table ``[run]``.
        cost: replaces the table ``[cost]``.
        set: single values to replace, by dotted key: ``{"system.0.scheduler": "sptf"}``. Tables
            are merged, None removes a value.
        seed: replaces the experiment's seed.
        goal: replaces the experiment's goal, ``"p99=20ms"`` for example (see `headstack.results.goal`).
        headroom: whether to look up to which load each system meets the goal, by some 12 runs of
            each; ``headroom`` of a system then has ``meets`` and ``misses``, in times this load.
        seeds: number of seeds, from the experiment's own on; the goal and the ranking are then of
            means over them, and ``over_seeds`` of a system has the numbers of each.
        jobs: number of processes for the seeds after the first; as many as processors by default.
        prices: a table of prices of drives (see `headstack.results.prices`); else that of the environment
            variable ``HEADSTACK_PRICES``, if any.
        out: directory for results and tables; without it they are kept as long as the result.
        replace: whether earlier results in `out` are replaced; else they are an error.
        log_requests: whether to log every request (`Result.requests`): about 40 bytes of disk each.
        threads: number of threads; all cores by default. It has no effect on the results.
        progress: called from time to time with the number of requests done and their total
            (None: unknown). An exception that it raises ends the run and is raised again here.
        sources_anywhere: whether DiskSim's drive files may name files outside their folder.

    Returns:
        The result. After Ctrl-C it has the requests completed until then, and `partial` is true.

    Raises:
        ConfigError: the experiment cannot be used.
        TraceError: its trace cannot be read.
        HeadstackError: the run failed.

    Example:
        >>> import headstack
        >>> r = headstack.run(
        ...     workload={"synthetic": {"n_requests": 1000, "rate": "50/s", "size": "4 KiB"}},
        ...     systems=[{"name": "one", "drive": "barracuda-es-750"}],
        ... )  # doctest: +SKIP
        >>> r["one"].response_time_s.p99  # doctest: +SKIP
    """
    if (experiment is None) == (workload is None and systems is None):
        raise ConfigError("run: got no experiment or two, need a file, or workload and systems")
    given = {"run": run, "cost": cost, "seed": seed}
    overrides = {key: plain(value, key) for key, value in given.items() if value is not None}
    overrides |= _settings(set)
    if goal is not None:
        overrides["set"] = {**overrides.get("set", {}), "goal": str(goals.parse(goal))}
    if threads is not None:
        # More threads than this are never useful.
        threads = min(whole(threads, "threads", 1), 1 << 16)
    table = price_tables.chosen(prices)
    n_seeds = replications.count(seeds, jobs)
    with ExitStack() as stack:
        source = _source(experiment, workload, systems, stack)
        keep = None
        if out is None and log_requests:
            import tempfile

            keep = tempfile.TemporaryDirectory(prefix="headstack-")
            out = keep.name
        directory = output_directory(out, "out") if out is not None else None
        loads.check_goal(source.file, source.text, overrides, needed=headroom)
        base = source.prepared(sources_anywhere)

        def simulate(place: Path | None) -> dict[str, Any]:
            bar = replications.Bar(progress, n_seeds or 1)
            answer = _bridge.run(base, overrides, threads, place, log_requests, bar.requests)
            if place is not None:
                # Stored beside the results, so that their experiment can be run again.
                for name, trace in source.places.items():
                    shutil.copyfile(trace, place / name)
            goals.of(answer)  # a goal that cannot be read is an error, used or not
            if headroom:
                again = partial(_bridge.run, base, threads=threads, out=None, log_requests=False)
                loads.add_headroom(answer, again, overrides)
            if n_seeds is not None:
                replications.add(answer, n_seeds, base, overrides, jobs=jobs, progress=bar.seeds)
            if table is not None:
                price_tables.apply(answer, table)
            if place is not None and (headroom or n_seeds or table is not None):
                text = Result(answer).to_json(curves=True) + "\n"
                (place / outputs.RESULTS_FILE).write_text(text, encoding="utf-8")
            return answer

        if directory is None or keep is not None:
            return Result(simulate(directory), directory, keep)
        with outputs.replacing(directory, keep_earlier=not replace) as written:
            answer = simulate(written.path)
            written.run_id = answer.get("run_id")
    return Result(answer, directory)


def load(results: str | os.PathLike[str]) -> Result:
    """Return the result of an earlier run from its directory or its results file.

    Raises:
        ConfigError: there is none, it is not a result document, or its tables are from another
            run.
    """
    path = Path(results)
    if path.is_dir():
        path = path / outputs.RESULTS_FILE
    listed = path.name == outputs.RESULTS_FILE and path.parent.is_dir()
    document = outputs.read_json(path, "a results file of headstack run", check=listed)
    systems = document.get("systems") if isinstance(document, dict) else None
    if not isinstance(systems, list) or not all(isinstance(s, dict) for s in systems):
        raise ConfigError(f'{path}: got no list "systems", need a results file of headstack run')
    for i, system in enumerate(systems):
        try:
            _check_system(system)
        except ConfigError as e:
            raise ConfigError(f"{path}: systems[{i}].{e}, as headstack run writes it") from None
    return Result(document, path.parent)


_TABLES = ("response_time_s", "service_time_s", "components_s", "queue_parts_s", "power_w", "cost_usd", "series")
_NUMBERS = ("throughput_iops", "queue_depth_mean", "energy_cost_usd")


def _check_system(system: Mapping[str, Any]) -> None:
    """Refuse a system whose values have a form that tables and figures cannot use."""
    if not isinstance(system.get("name"), str):
        raise ConfigError(f"name: got {system.get('name')!r}, need text")
    for key, value in system.items():
        table = key in _TABLES
        if table and not isinstance(value, Mapping | None):
            raise ConfigError(f"{key}: got {value!r}, need a table")
        number = key.startswith("n_") or key in _NUMBERS
        if number and not isinstance(value, int | float | None):
            raise ConfigError(f"{key}: got {value!r}, need a number")
    for point in system.get("response_time_cdf") or []:
        if not isinstance(point, list) or len(point) != 2:
            raise ConfigError(f"response_time_cdf: got {point!r}, need pairs of numbers")
