"""Running experiments from Python, and their results as tables and figures."""

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headstack import _bridge, drives
from headstack.errors import ConfigError, told
from headstack.paths import output_directory

# What only some runs need is imported where it is needed.
if TYPE_CHECKING:
    import tempfile

    import pandas as pd

#: Called now and then with requests done and their total, where that is known.
Progress = Callable[[int, int | None], None]

#: The document that `Result.save` writes and `load` reads.
RESULTS_FILE = "result.json"

#: Keys of a system that hold curves: in the results file, not in `run --json`.
CURVES = ("response_time_cdf", "series")


class Plots:
    """The figures of a result, as Altair charts."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document

    def cdf(self) -> Any:
        """Cumulative distribution of the response time (ms), one line per system.

        Raises:
            ConfigError: no system has a distribution.

        """
        from headstack import plots

        return plots.cdf(self._document)

    def tail(self) -> Any:
        """Tail of the response time (ms): a decade of the axis for each further nine.

        Raises:
            ConfigError: no system has a distribution.

        """
        from headstack import plots

        return plots.tail(self._document)

    def components(self) -> Any:
        """Mean response time (ms) by where it went, one bar per system.

        Raises:
            ConfigError: no system has these shares.

        """
        from headstack import plots

        return plots.components(self._document)

    def power(self) -> Any:
        """Mean power (W) by state of the drives, one bar per system.

        Raises:
            ConfigError: no system has these shares.

        """
        from headstack import plots

        return plots.power(self._document)

    def operations(self) -> Any:
        """Response times (ms) of reads, writes and flushes apart, a panel each.

        Raises:
            ConfigError: no system tells operations apart.

        """
        from headstack import plots

        return plots.operations(self._document)

    def queue_depth(self) -> Any:
        """Draw the requests in the system over time (s), one strip per system.

        Raises:
            ConfigError: no system has a time series.

        """
        from headstack import plots

        return plots.queue_depth(self._document)


class Result:
    """What a run produced.

    Attributes:
        document: the whole result document, curves included.
        out: the directory with the Parquet tables, or None.

    """

    def __init__(
        self,
        document: dict[str, Any],
        out: Path | None = None,
        _keep: "tempfile.TemporaryDirectory[str] | None" = None,
    ) -> None:
        self.document = document
        self.out = out
        # A temporary directory lives as long as the result that reads from it.
        self._keep = _keep

    def __repr__(self) -> str:
        names = ", ".join(str(s["name"]) for s in self.document["systems"])
        return f"<headstack.Result of {names}{' (partial)' if self.partial else ''}>"

    @property
    def partial(self) -> bool:
        """Whether the run was interrupted before its end."""
        return bool(self.document.get("partial", False))

    @cached_property
    def summary(self) -> "pd.DataFrame":
        """One row per system and workload; nested keys joined with the unit last.

        ``response_time_s.p99`` of the JSON is the column ``response_time_p99_s``. Times are in
        seconds, energy in joules, power in watts; a number that a run does not have is missing.
        """
        import pandas as pd

        return pd.DataFrame([flat(s) for s in self.document["systems"]])

    @cached_property
    def requests(self) -> "pd.DataFrame":
        """One row per request of every system, from the Parquet logs.

        The columns ``system`` and ``workload`` stand before those of the logs. ``arrival_ns`` and
        ``completion_ns`` are moments in simulated nanoseconds, ``..._s`` lengths in seconds;
        ``lba`` and ``blocks`` count 512 bytes, ``seek_distance`` cylinders.

        Raises:
            ConfigError: the run logged no requests.

        """
        import pandas as pd
        import pyarrow.parquet as pq

        parts = []
        for system, path in self.requests_files():
            frame: pd.DataFrame = pq.read_table(path).to_pandas()
            frame.insert(0, "system", str(system["name"]))
            frame.insert(1, "workload", str(system.get("workload", "")))
            parts.append(frame)
        return pd.concat(parts, ignore_index=True)

    def requests_files(self) -> list[tuple[dict[str, Any], Path]]:
        """Each system with the Parquet file of its requests; Polars and DuckDB read it too.

        Raises:
            ConfigError: the run logged no requests.

        """
        files = [
            (s, self.out / s["requests_file"])
            for s in self.document["systems"]
            if self.out is not None and s.get("requests_file")
        ]
        if not files:
            raise ConfigError("requests: got none logged, need a run with log_requests = True")
        return files

    @property
    def plot(self) -> Plots:
        """The figures, Altair charts: ``.cdf()``, ``.tail()``, ``.components()`` and more."""
        return Plots(self.document)

    def to_json(self, *, curves: bool = False) -> str:
        """Return the document of ``headstack run --json``; with `curves`, CDFs and series too.

        ``response_time_cdf`` holds pairs of seconds and share, ``series`` lists of equal length.
        """
        document = self.document
        if not curves:
            systems = [{k: v for k, v in s.items() if k not in CURVES} for s in document["systems"]]
            document = {**document, "systems": systems}
        return json.dumps(document, indent=2)

    def experiment_toml(self) -> str:
        """Return the experiment as a TOML file that runs again, see `headstack.resolved`.

        Raises:
            ConfigError: the result is of a version that did not keep its experiment.

        """
        from headstack import resolved

        return resolved.experiment_toml(self.document)

    def save(self, out: str | Path) -> Path:
        """Write the results file and copy the tables into the directory `out`; return `out`.

        Raises:
            OSError: the directory cannot be written to.

        """
        import shutil

        out = Path(out)
        out.mkdir(parents=True, exist_ok=True)
        for system in self.document["systems"]:
            for key in ("requests_file", "series_file"):
                table = self.out / system[key] if self.out and system.get(key) else None
                if table and table.is_file() and not (out / table.name).exists():
                    shutil.copy2(table, out / table.name)
        # Replaced in one step, so that a reader never sees half a document.
        part = out / f"{RESULTS_FILE}.part"
        part.write_text(self.to_json(curves=True) + "\n", encoding="utf-8")
        os.replace(part, out / RESULTS_FILE)
        return out


def flat(system: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of one system as one level of columns, unit last.

    Lists and curves are left out.

    Example:
        >>> flat({"name": "one", "response_time_s": {"p99": 0.02}, "drives": []})
        {'name': 'one', 'response_time_p99_s': 0.02}

    """
    row: dict[str, Any] = {}
    for key, value in system.items():
        if key in CURVES or isinstance(value, list):
            continue
        if key == "operations":
            for operation, numbers in value.items():
                row |= {f"{operation}_{k}": v for k, v in flat(numbers).items()}
        elif key == "confidence_s":
            low, high = (value or {}).get("mean", (None, None))
            row |= {"confidence_low_s": low, "confidence_high_s": high}
        elif key == "overloaded":
            row[key] = value["why"] if value else None
        elif isinstance(value, Mapping):
            stem, _, unit = key.rpartition("_")
            if not stem:
                stem, unit = key, ""
            for part, number in value.items():
                if isinstance(number, str):
                    row[part] = number
                else:
                    row[f"{stem}_{part}_{unit}" if unit else f"{stem}_{part}"] = number
        else:
            row[key] = value
    return row


def _plain(value: object) -> str | int:
    import datetime
    import numbers

    if isinstance(value, datetime.date | datetime.time):
        return str(value.isoformat())
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, numbers.Integral):  # NumPy's
        return int(value)
    raise ConfigError(f"experiment: got a {type(value).__name__}, need text, numbers or tables")


#: Tables of an experiment are not nested more deeply than this.
_MOST_LEVELS = 64


def _check(document: object) -> None:
    """Refuse what JSON cannot write: infinities, not-a-number, very deep tables."""
    rest: list[tuple[str, int, object]] = [("", 0, document)]
    while rest:
        key, level, value = rest.pop()
        if isinstance(value, float) and not math.isfinite(value):
            raise ConfigError(f"{key}: got {value}, need a finite number")
        if level > _MOST_LEVELS:
            shown = key if len(key) < 80 else f"{key[:80]}..."
            raise ConfigError(f"{shown}: got more levels, need at most {_MOST_LEVELS}")
        if isinstance(value, Mapping):
            rest += [(f"{key}.{k}".lstrip("."), level + 1, v) for k, v in value.items()]
        elif isinstance(value, list | tuple):
            rest += [(f"{key}[{i}]", level + 1, v) for i, v in enumerate(value)]


def run(
    experiment: str | os.PathLike[str] | None = None,
    *,
    workload: Mapping[str, Any] | None = None,
    systems: Iterable[Mapping[str, Any]] | None = None,
    cost: Mapping[str, Any] | None = None,
    seed: int | None = None,
    out: str | os.PathLike[str] | None = None,
    log_requests: bool = True,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Result:
    """Simulate the systems of an experiment on its workload.

    Args:
        experiment: an experiment file (TOML); or leave it out and give `workload` and `systems`.
        workload: the table ``[workload]`` of such a file; paths in it start from the current
            directory.
        systems: its tables ``[[system]]``.
        cost: replaces its table ``[cost]``.
        seed: replaces the experiment's seed.
        out: where results and tables go; without it they live as long as the result.
        log_requests: whether to keep one row per request (`Result.requests`).
        threads: threads to use; all cores by default. The results do not depend on it.
        progress: called now and then with requests done and their total (None: unknown). What it
            raises ends the run and comes out here.

    Returns:
        The result. After Ctrl-C it holds the requests completed until then and is `partial`.

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
        >>> r.summary["response_time_p99_s"]  # doctest: +SKIP

    """
    if (experiment is None) == (workload is None and systems is None):
        raise ConfigError("run: got no experiment or two, need a file, or workload and systems")
    document: dict[str, Any]
    if experiment is not None:
        document = {k: v for k, v in {"cost": cost, "seed": seed}.items() if v is not None}
    else:
        document = {"workload": dict(workload or {}), "system": [dict(s) for s in systems or ()]}
        if cost is not None:
            document["cost"] = dict(cost)
        if seed is not None:
            document["run"] = {"seed": seed}
    if threads is not None and threads < 1:
        raise ConfigError(f"threads: got {threads}, need 1 or more")
    keep = None
    if out is None and log_requests:
        import tempfile

        keep = tempfile.TemporaryDirectory(prefix="headstack-")
        out = keep.name
    directory = output_directory(out, "out") if out is not None else None
    _check(document)
    answer = _bridge.call(
        "run",
        None if experiment is None else os.fspath(experiment),
        json.dumps(document, default=_plain),
        [str(d) for d in drives.drive_dirs()],
        threads,
        str(directory) if directory is not None else None,
        log_requests,
        progress,
    )
    return Result(answer, directory, keep)


def load(results: str | os.PathLike[str]) -> Result:
    """Return the result that an earlier run wrote: its directory or its results file.

    Raises:
        ConfigError: there is none, or it is not a result document.

    """
    path = Path(results)
    if path.is_dir():
        path = path / RESULTS_FILE
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise ConfigError(f"{path}: got {told(e)}, need a results file of headstack run") from None
    except ValueError:
        raise ConfigError(f"{path}: got text that is not JSON, need a results file") from None
    systems = document.get("systems") if isinstance(document, dict) else None
    if not isinstance(systems, list) or not all(isinstance(s, dict) for s in systems):
        raise ConfigError(f'{path}: got no list "systems", need a results file of headstack run')
    for i, system in enumerate(systems):
        try:
            _check_system(system)
        except ConfigError as e:
            raise ConfigError(f"{path}: systems[{i}].{e}, as headstack run writes it") from None
    return Result(document, path.parent)


_TABLES = ("response_time_s", "service_time_s", "components_s", "power_w", "cost_usd", "series")
_NUMBERS = ("throughput_iops", "queue_depth_mean", "energy_cost_usd")


def _check_system(system: Mapping[str, Any]) -> None:
    """Refuse a system whose parts are not of the shape that tables and figures are made of."""
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
