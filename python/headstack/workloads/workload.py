"""Workloads in Python: a table of keys, a trace's path, or a DataFrame of requests.

A DataFrame has the columns of a `csv` trace: ``time_s``, ``time_ms``, ``time_us`` or ``time_ns``,
or ``time`` of a type that includes its unit; ``lba`` (512-byte blocks) or ``offset_bytes``;
``blocks`` or ``size_bytes``; ``op``; and ``device`` if there are several. ``process`` and
``ioprio`` tell classes of requests apart. Others are ignored.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headstack.errors import ConfigError, HeadstackError

if TYPE_CHECKING:
    from typing import TypeAlias

    import pyarrow as pa

    from headstack.schema import Workload
    from headstack.schema.plain import Frame
    from headstack.schema.plain import Path as Place

    #: A workload in Python: its table, the path of a trace, or a DataFrame of requests.
    Given: TypeAlias = Workload | Place | Frame

_TIMES = ("time_s", "time_ms", "time_us", "time_ns")
_REQUEST = ("device", "lba", "offset_bytes", "blocks", "size_bytes", "op")
_COLUMNS = (*_TIMES, *_REQUEST, "process", "ioprio")

#: File name of the trace of a DataFrame; its stem is the workload's name in results.
_FILE = "requests.parquet"


def trace_name(where: str, taken: Collection[str]) -> str:
    """Return the name in results for the trace of a DataFrame given as the argument `where`.

    Example:
        >>> trace_name("workload", []), trace_name("workload[2]", [])
        ('requests.parquet', 'requests-2.parquet')
    """
    stem, _, suffix = _FILE.partition(".")
    number = re.sub(r"\D+", "", where)
    name = f"{stem}-{number}.{suffix}" if number else _FILE
    # A file of the user may have this name.
    while name in taken:
        name = f"{name.removesuffix(f'.{suffix}')}-frame.{suffix}"
    return name


def is_of_frame(trace: str) -> bool:
    """Return whether a trace is called as `trace_name` calls that of a DataFrame.

    Example:
        >>> is_of_frame("requests-2.parquet"), is_of_frame("day/requests.parquet")
        (True, False)
    """
    return re.fullmatch(r"requests(-\d+)?(-frame)*\.parquet", trace) is not None


@contextmanager
def as_spec(value: object, where: str = "workload") -> Iterator[dict[str, Any]]:
    """Yield the table of a workload for an experiment; its files exist only inside the block.

    A DataFrame is written as Parquet into a temporary directory. Errors of the block about that
    file name `where` and the row, from 0, instead.

    Args:
        value: a table of keys, whose ``trace`` may be any of the following; a trace's path; or a
            DataFrame of requests in order of time: pandas, Polars, pyarrow, or anything else with
            ``__arrow_c_stream__``.
        where: the argument's name, for messages.

    Raises:
        ConfigError: `value` is none of these, or its columns cannot be used.

    Example:
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"time_ms": [0, 5], "lba": [0, 64], "blocks": 8, "op": "R"})
        >>> with as_spec({"trace": frame, "time_scale": 2}) as table:
        ...     sorted(table)
        ['format', 'time_scale', 'trace']
    """
    table: dict[str, Any] = dict(value) if isinstance(value, Mapping) else {"trace": value}
    trace = table.get("trace")
    if isinstance(value, Mapping) and (trace is None or isinstance(trace, str)):
        yield table
        return
    if isinstance(trace, str | os.PathLike):
        yield {**table, "trace": os.fspath(trace)}
        return
    requests = _requests(trace, where)
    import tempfile

    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory(prefix="headstack-") as directory:
        file = Path(directory) / _FILE
        pq.write_table(requests, file, compression="snappy")
        try:
            yield {**table, "trace": str(file), "format": "parquet"}
        except HeadstackError as e:
            text = _without_file(str(e), file, where)
            if text == str(e):
                raise
            raise type(e)(text) from None


def _without_file(message: str, file: Path, where: str) -> str:
    """Name rows of the DataFrame (from 0) in a message instead of records of its file (from 1)."""
    pattern = r"(?:workload(?:\[\d+\])?\.trace: )?" + re.escape(str(file)) + r"(?::(\d+))?"
    return re.sub(pattern, lambda m: f"{where}: row {int(m[1]) - 1}" if m[1] else where, message)


def _arrow(value: object, where: str) -> "pa.Table":
    """Return a DataFrame of any library as Arrow."""
    import pyarrow as pa

    try:
        if isinstance(value, pa.RecordBatch):
            return pa.Table.from_batches([value])
        if type(value).__module__.partition(".")[0] == "pandas":
            return pa.Table.from_pandas(value, preserve_index=False)
        if isinstance(value, pa.Table) or hasattr(value, "__arrow_c_stream__"):
            return pa.table(value)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, ValueError) as e:
        first = str(e.args[0] if e.args else e).splitlines()[0]
        raise ConfigError(f"{where}: got {first}, need columns of one type each") from None
    kind = type(value).__name__
    raise ConfigError(f"{where}: got a {kind}, need a table, a path or a DataFrame of requests")


def _requests(value: object, where: str) -> "pa.Table":
    """Return the columns of requests in a DataFrame, with times as numbers."""
    import pyarrow as pa

    frame = _arrow(value, where)
    names = frame.column_names
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise ConfigError(f'{where}: got column "{twice}" twice, need it once')
    if "time" in names and not any(n in names for n in _TIMES):
        frame = _with_nanoseconds(frame, where)
    for name in _TIMES:
        if name in frame.column_names:
            kind = frame.schema.field(name).type
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
                raise ConfigError(f"{where}: {name}: got {kind}, need numbers")
    kept = [n for n in _COLUMNS if n in frame.column_names]
    if not kept:
        found = ", ".join(map(str, names)) or "no columns"
        raise ConfigError(f"{where}: got {found}, need the columns time_s, lba, blocks and op")
    return frame.select(kept)


def _with_nanoseconds(frame: "pa.Table", where: str) -> "pa.Table":
    """Replace ``time`` by ``time_ns``: durations unchanged, dates relative to the first."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = frame.column("time")
    kind = column.type
    if pa.types.is_timestamp(kind):
        first = pc.min(column)
        column = pc.subtract(column, first)
    elif not pa.types.is_duration(kind):
        raise ConfigError(
            f"{where}: time: got {kind}, need lengths of time or dates, "
            "or numbers in a column time_s, time_ms, time_us or time_ns"
        )
    try:
        numbers = column.cast(pa.duration("ns")).cast(pa.int64())
    except pa.ArrowInvalid:
        raise ConfigError(f"{where}: time: got lengths of 292 years, need shorter ones") from None
    return frame.drop_columns(["time"]).append_column("time_ns", numbers)
