"""``headstack trace-info``."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from headstack.cli._arguments import Argument, Option
from headstack.cli._options import FormatParameters, OnError, Order, format_parameters


def _rows(info: Mapping[str, Any], prefix: str = "") -> Iterator[list[str]]:
    for key, value in info.items():
        if isinstance(value, Mapping):
            yield from _rows(value, f"{prefix}{key}.")
        elif isinstance(value, float) and not (key.endswith("_bytes") and value.is_integer()):
            yield [f"{prefix}{key}", f"{value:,.6g}"]
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield [f"{prefix}{key}", f"{value:,.0f}"]
        elif not isinstance(value, list):
            yield [f"{prefix}{key}", str(value)]


def command(
    trace: Annotated[Path, Argument("TRACE", help="The trace to read.")],
    trace_format: Annotated[
        str | None, Option("--format", metavar="FORMAT", help="Its format; else detected.")
    ] = None,
    on_error: OnError = "fail",
    order: Order = "format",
    format_parameter: FormatParameters = None,
    plot: Annotated[
        Path | None, Option(metavar="DIR", help="Write figures of it as PNG and SVG.")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Say what a trace holds: requests, rates, sizes, read share, footprint.

    Examples:
      headstack trace-info websearch.trace
      headstack trace-info day1.csv --format msr --json

    """
    from headstack import _bridge
    from headstack.cli import _terminal

    _terminal.check_on_error(on_error)
    _terminal.check_format("--format", trace_format)
    parameters = format_parameters(format_parameter)
    info = _bridge.call("trace_info", str(trace), trace_format, on_error, order, parameters)
    written: list[Path] = []
    if plot is not None:
        from headstack import plots

        for stem, chart in plots.trace_figures(info).items():
            written += plots.save(chart, plot / stem)
    if as_json:
        _terminal.print_json(info)
    else:
        _terminal.print_table([("of the trace", True), ("value", False)], list(_rows(info)))
    _terminal.told(written, as_json)
