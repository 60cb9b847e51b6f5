"""Tables of a result as DataFrames of pandas, or of Polars if it is installed."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headstack.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

Frame = TypeVar("Frame")

#: Keys of a system with curves: they are in the results file, not in `run --json`.
CURVES = ("response_time_cdf", "series")

#: Columns of the narrow summary.
MAIN = (
    "name",
    "workload",
    "n_requests",
    "n_errors",
    "throughput_iops",
    "response_time_mean_s",
    "response_time_p50_s",
    "response_time_p99_s",
    "response_time_p999_s",
    "queue_depth_mean",
    "utilisation",
    "power_mean_w",
)


class Tables(Generic[Frame]):
    """The tables of a result, as DataFrames of one library."""

    def __init__(self, systems: Sequence[Mapping[str, Any]], out: Path | None) -> None:
        """Store the systems of a result document, and the directory of their Parquet files."""
        self._systems = systems
        self._out = out

    def _from_rows(self, rows: list[dict[str, Any]]) -> Frame:
        raise NotImplementedError

    def _from_arrow(self, table: "pa.Table") -> Frame:
        raise NotImplementedError

    @cached_property
    def summary(self) -> Frame:
        """One row per system and workload, with the columns of `MAIN`.

        Times are in seconds, power in watts; numbers that a run does not have are missing.
        """
        return self._from_rows([{key: row.get(key) for key in MAIN} for row in self._flat])

    @cached_property
    def summary_wide(self) -> Frame:
        """One row per system and workload with all numbers; nested keys are joined, unit last.

        ``response_time_s.p99`` of the JSON is the column ``response_time_p99_s``. Times are in
        seconds, energy in joules, power in watts; numbers that a run does not have are missing.
        """
        return self._from_rows(self._flat)

    @property
    def _flat(self) -> list[dict[str, Any]]:
        return [flat(s) for s in self._systems]

    @cached_property
    def classes(self) -> Frame:
        """One row per class of requests of every system; no rows without classes.

        The columns ``system``, ``workload`` and ``name`` come first. ``n_missed`` counts requests
        that missed a duration limit of a drive.
        """
        return self._from_rows(
            [
                {"system": s.get("name"), "workload": s.get("workload"), **flat(one)}
                for s in self._systems
                for one in s.get("classes", ())
            ]
        )

    @cached_property
    def drives(self) -> Frame:
        """One row per drive of every system; nested keys are joined, lists are left out.

        The columns ``system`` and ``workload`` come first. What drives count is described in
        `headstack.results.columns.Counted`.
        """
        return self._from_rows(
            [
                {"system": s.get("name"), "workload": s.get("workload"), **dict(_columns(drive))}
                for s in self._systems
                for drive in s.get("drives", ())
            ]
        )

    @cached_property
    def requests(self) -> Frame:
        """One row per request of every system, from the Parquet logs.

        The columns ``system`` and ``workload`` come first, then those of the logs. ``arrival_ns``
        and ``completion_ns`` are times in simulated nanoseconds, ``..._s`` durations in seconds;
        ``lba`` and ``blocks`` count 512 bytes, ``seek_distance`` cylinders (with the layout
        ``adaptive`` quarters of a cylinder). ``error_kind`` is the kind of error of a failed
        request.

        Raises:
            ConfigError: the run logged no requests.
        """
        return self._from_arrow(self.arrow)

    @cached_property
    def arrow(self) -> "pa.Table":
        """The same as a table of Arrow.

        Raises:
            ConfigError: the run logged no requests.
        """
        import pyarrow.parquet as pq

        logs = request_logs(self._systems, self._out)
        return _joined([(s, pq.read_table(f)) for s, f in logs])

    @cached_property
    def series(self) -> Frame:
        """One row per system and time bucket.

        The columns ``system`` and ``workload`` come first; ``t_s`` is the start of the bucket in
        simulated seconds, ``queue_depth`` the mean number of requests in the system,
        ``response_time_mean_s`` that of the completions, ``throughput_iops`` completions per
        second, ``power_w`` the mean power of all drives.

        Raises:
            ConfigError: no system has a time series.
        """
        import pyarrow as pa

        parts = [(s, pa.table(dict(s["series"]))) for s in self._systems if s.get("series")]
        if not parts:
            raise ConfigError("series: got none, need the results of headstack run")
        return self._from_arrow(_joined(parts))


def _joined(parts: "list[tuple[Mapping[str, Any], pa.Table]]") -> "pa.Table":
    """Return the tables of several systems as one, with the names of system and workload."""
    import pyarrow as pa

    tables = []
    for system, table in parts:
        for place, key in enumerate(("system", "workload")):
            name = str(system.get("name" if key == "system" else key) or "")
            table = table.add_column(place, key, pa.repeat(name, table.num_rows))
        tables.append(table)
    return pa.concat_tables(tables, promote_options="default")


class _Pandas(Tables["pd.DataFrame"]):
    def _from_rows(self, rows: list[dict[str, Any]]) -> "pd.DataFrame":
        import pandas as pd

        return pd.DataFrame(rows)

    def _from_arrow(self, table: "pa.Table") -> "pd.DataFrame":
        frame: pd.DataFrame = table.to_pandas()
        return frame


class _Polars(Tables["pl.DataFrame"]):
    def _from_rows(self, rows: list[dict[str, Any]]) -> "pl.DataFrame":
        import polars as pl

        return pl.from_dicts(rows, infer_schema_length=None)

    def _from_arrow(self, table: "pa.Table") -> "pl.DataFrame":
        import polars as pl

        return pl.DataFrame(table)


def tables(library: str, systems: Sequence[Mapping[str, Any]], out: Path | None = None) -> Tables[Any]:
    """Return the tables of systems as DataFrames of `library`, ``pandas`` or ``polars``.

    Raises:
        ConfigError: another library, or one that is not installed.
    """
    import importlib.util

    from headstack.suggest import need_one_of

    kinds: dict[str, type[Tables[Any]]] = {"pandas": _Pandas, "polars": _Polars}
    if library not in kinds:
        raise ConfigError(need_one_of("to", str(library), kinds))
    if importlib.util.find_spec(library) is None:
        raise ConfigError(f"to: got {library}, which is not installed, need it: pip install headstack[{library}]")
    return kinds[library](systems, out)


def scan(systems: Sequence[Mapping[str, Any]], out: Path | None) -> "pl.LazyFrame":
    """Return the requests of all systems as a lazy frame of Polars.

    Raises:
        ConfigError: the run logged no requests, or Polars is not installed.
    """
    try:
        import polars as pl
    except ImportError:
        raise ConfigError("scan: got no polars, need it: pip install headstack[polars]") from None

    names = [("system", "name"), ("workload", "workload")]
    return pl.concat(
        [
            pl.scan_parquet(path).select(
                *(pl.lit(str(system.get(key) or "")).alias(name) for name, key in names), pl.all()
            )
            for system, path in request_logs(systems, out)
        ],
        how="diagonal_relaxed",
    )


def request_logs(systems: Sequence[Mapping[str, Any]], out: Path | None) -> list[tuple[Mapping[str, Any], Path]]:
    """Return each system with the Parquet file of its requests.

    Raises:
        ConfigError: the run logged no requests.
    """
    files = [(s, out / s["requests_file"]) for s in systems if out is not None and s.get("requests_file")]
    if not files:
        raise ConfigError("requests: got none logged, need a run with --requests (in Python log_requests=True)")
    for _, path in files:
        if not path.is_file():
            raise ConfigError(f"{path}: got no such file, need the requests of this run")
    return files


def _columns(table: Mapping[str, Any], key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the numbers of a drive by column; a key that is a unit comes last."""
    stem, _, unit = key.rpartition("_")
    for part, value in table.items():
        name = f"{stem}_{part}_{unit}" if unit in ("s", "w") else f"{key}_{part}" if key else part
        if isinstance(value, Mapping):
            yield from _columns(value, name)
        elif not isinstance(value, list):
            yield name, value


def flat(system: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of one system as a flat row of columns, unit last.

    Lists and curves are left out.

    Example:
        >>> flat({"name": "one", "response_time_s": {"p99": 0.02}, "drives": []})
        {'name': 'one', 'response_time_p99_s': 0.02}
        >>> flat({"operations": {"read": {"n_requests": 3, "response_time_s": {"p99": 0.02}}}})
        {'read_n_requests': 3, 'read_response_time_p99_s': 0.02}
        >>> flat({"counters": {"n_moved_blocks": 5}})
        {'n_moved_blocks': 5}
    """
    row: dict[str, Any] = {}
    for key, value in system.items():
        if key in CURVES or key == "duration_limits" or isinstance(value, list):
            continue
        if key == "operations":
            for operation, numbers in value.items():
                row |= {f"{operation}_{k}": v for k, v in flat(numbers).items()}
        elif key == "counters":
            row |= value
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
