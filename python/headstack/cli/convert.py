"""``headstack convert``."""

from pathlib import Path
from typing import Annotated

from headstack.cli._arguments import Argument, Option
from headstack.cli._options import (
    FormatParameters,
    OnError,
    Order,
    format_parameters,
    trace_formats,
)


def command(
    source: Annotated[Path, Argument("IN", help="The trace to read.")],
    target: Annotated[Path, Argument("OUT", help="The trace to write.")],
    source_format: Annotated[
        str | None,
        Option(
            "--from", metavar="FORMAT", help="Format of IN; else detected.", suggest=trace_formats
        ),
    ] = None,
    target_format: Annotated[
        str | None, Option("--to", metavar="FORMAT", help="Format of OUT; else by its name.")
    ] = None,
    time_scale: Annotated[
        float | None, Option(metavar="FACTOR", help="Multiply every time by this.")
    ] = None,
    limit: Annotated[int | None, Option(min=1, metavar="N", help="Stop after N requests.")] = None,
    on_error: OnError = "fail",
    order: Order = "format",
    format_parameter: FormatParameters = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Write a trace in another format.

    Examples:
      headstack convert websearch.trace websearch.csv --from mqsim
      headstack convert day1.csv day1.spc --from msr --to spc --time-scale 2
      headstack convert sda.blktrace.0 sda.csv -p action=issue

    """
    import json

    from headstack import _bridge, outputs
    from headstack.cli import _terminal
    from headstack.errors import ConfigError

    _terminal.check_on_error(on_error)
    _terminal.check_format("--from", source_format)
    if time_scale is not None and not 0 < time_scale < float("inf"):
        raise ConfigError(f"--time-scale: got {time_scale:g}, need a positive number")
    if target.exists() and source.exists() and target.samefile(source):
        raise ConfigError(f"{target}: got the trace that is read, need another file")
    wanted = {"time_scale": time_scale, "count": limit}
    parameters = format_parameters(format_parameter)
    transform = {k: v for k, v in wanted.items() if v is not None}
    with outputs.whole_file(target) as part:
        counts = _bridge.call(
            "convert",
            str(source),
            str(target),
            str(part),
            source_format,
            target_format,
            json.dumps(transform),
            on_error,
            order,
            parameters,
        )
    if as_json:
        _terminal.print_json(counts)
    else:
        print(
            ", ".join(
                f"{k.removeprefix('n_')}: {v:,}" for k, v in counts.items() if isinstance(v, int)
            )
        )
        _terminal.told([target], as_json=False)
