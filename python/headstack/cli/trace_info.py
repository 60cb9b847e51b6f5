"""``headstack trace-info``."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from headstack import _bridge
from headstack.cli import _terminal
from headstack.cli._arguments import Argument, Option
from headstack.cli._options import Form, FormatParameters, OnError, Order, format_parameters, trace_formats
from headstack.errors import ConfigError
from headstack.suggest import need_one_of

#: More devices than this are listed in the JSON only.
_MOST_DEVICES = 16

#: Values that are not rows of the table of all devices, because they are shown elsewhere.
_ELSEWHERE = ("opened", "operations", "devices", "sizes", "rates", "addresses", "warnings")


def _rows(info: Mapping[str, Any], prefix: str = "") -> Iterator[list[str]]:
    for key, value in info.items():
        if isinstance(value, Mapping):
            yield from _rows(value, f"{prefix}{key}.")
        elif key.endswith("_s") and isinstance(value, float):
            yield [f"{prefix}{key}", f"{value:,.9g}"]
        elif isinstance(value, float) and "_bytes" not in f"{prefix}{key}":
            yield [f"{prefix}{key}", f"{value:,.6g}"]
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield [f"{prefix}{key}", f"{value:,.0f}"]
        elif not isinstance(value, list):
            yield [f"{prefix}{key}", str(value)]


def _formats(trace: str | None, form: str, as_json: bool) -> tuple[str | None, str]:
    """Return the trace's format and the form of the table.

    In earlier versions ``--format`` was the trace's format. It still is where no other meaning is
    possible.
    """
    import warnings

    _terminal.check_format("--from", trace)
    if form not in _terminal.FORMS:
        if form not in trace_formats():
            known = dict.fromkeys([*_terminal.FORMS, *trace_formats()])
            raise ConfigError(need_one_of("--format", form, known))
        if trace is not None:
            raise ConfigError(need_one_of("--format", form, _terminal.FORMS))
        warnings.warn(f"--format {form}: taken as --from {form}", stacklevel=2)
        trace, form = form, _terminal.TEXT
    _terminal.check_form(form, as_json)
    return trace, form


def _opened(opened: Mapping[str, Any]) -> Iterator[list[str]]:
    fits = opened["fits"]
    if fits is None:
        why = "as named"
    elif not fits:
        why = "fits most of the first lines, not all"
    else:
        others = ", ".join(f"{name} ({score})" for name, score in fits[1:]) or "none"
        why = f"fits best: {fits[0][1]} of 100; others that fit: {others}"
    yield ["format", f"{opened['format']}, {why}"]
    yield ["unit of times", opened["time_unit"]]
    yield ["unit of addresses and sizes", opened["size_unit"]]


def _operations(info: Mapping[str, Any]) -> Iterator[list[str]]:
    for row in info["operations"]:
        sizes = [f"{row[f'size_{which}_bytes']:,.0f}" for which in ("mean", "min", "max")]
        yield [
            row["op"],
            f"{row['n_requests']:,}",
            f"{row['n_requests'] / info['n_requests']:.1%}",
            f"{row['bytes']:,.0f}",
            *sizes,
            f"{row['unaligned_ratio']:.1%}",
        ]


def _devices(info: Mapping[str, Any]) -> Iterator[list[str]]:
    busiest = sorted(info["devices"], key=lambda d: -d["n_requests"])[:_MOST_DEVICES]
    for row in busiest:
        counts = [f"{row[f'n_{what}']:,}" for what in ("requests", "reads", "writes", "flushes")]
        extent = [f"{row[f'{end}_lba'] * 512:,}" for end in ("first", "end")]
        yield [str(row["device"]), *counts, f"{row['sequential_ratio']:.1%}", *extent]


def command(
    trace: Annotated[Path, Argument("TRACE", help="The trace to read.")],
    trace_format: Annotated[
        str | None, Option("--from", metavar="FORMAT", help="Its format; else detected.", suggest=trace_formats)
    ] = None,
    form: Form = "text",
    on_error: OnError = "fail",
    order: Order = "format",
    format_parameter: FormatParameters = None,
    plot: Annotated[Path | None, Option(metavar="DIR", help="Write figures of it as PNG and SVG.")] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Say what a trace holds: format, operations, rates, sizes, reuse; what in it misleads.

    Examples:
      headstack trace-info websearch.trace --plot out/websearch
      headstack trace-info day1.csv --from msr --json
    """
    _terminal.check_on_error(on_error)
    trace_format, form = _formats(trace_format, form, as_json)
    parameters = format_parameters(format_parameter)
    info = _bridge.call("trace_info", str(trace), trace_format, on_error, order, parameters)
    written: list[Path] = []
    if plot is not None:
        from headstack.show import plots
        from headstack.workloads import trace_figures

        # Figures of other traces in the same folder are kept.
        name = trace.name.partition(".")[0].strip("-") or "trace"
        charts = trace_figures.figures(info).items()
        written += plots.save_of(trace, plot, {f"{name}-{kind}": c for kind, c in charts})
    if as_json:
        _terminal.print_json(info)
    else:
        _print(info, form)
    _terminal.say_written(written, as_json, form)


def _print(info: Mapping[str, Any], form: str) -> None:
    from headstack.results import warned

    for line in warned.lines(warned.groups(warned.of(info), several=False)):
        _terminal.say(line, form)

    def show(headings: Sequence[tuple[str, bool]], rows: Iterable[Sequence[str]]) -> None:
        _terminal.print_table(headings, list(rows), form=form)

    numbers = {k: v for k, v in info.items() if k not in _ELSEWHERE}
    show([("of the trace", True), ("value", False)], [*_opened(info["opened"]), *_rows(numbers)])
    texts = [(t, t == "operation") for t in ("operation", "requests", "share", "bytes")]
    sizes = [(t, False) for t in ("mean bytes", "least", "most", "not whole 4 KiB")]
    _terminal.between(form)
    show([*texts, *sizes], _operations(info))
    headings = ("device", "requests", "reads", "writes", "flushes", "sequential", "from byte", "to")
    _terminal.between(form)
    show([(t, False) for t in headings], _devices(info))
    if len(info["devices"]) > _MOST_DEVICES:
        n = len(info["devices"])
        _terminal.say(f"the busiest {_MOST_DEVICES} of {n:,} devices; --json has more", form)
