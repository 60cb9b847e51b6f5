"""``headstack convert``."""

import json
from pathlib import Path
from typing import Annotated, Any

from headstack import _bridge
from headstack.cli import _terminal
from headstack.cli._arguments import Argument, Option
from headstack.cli._options import FormatParameters, OnError, Order, SourcesAnywhere, format_parameters, trace_formats
from headstack.errors import ConfigError


def command(
    source: Annotated[Path, Argument("IN", help="The trace to read, or a DiskSim parameter file (.parv).")],
    target: Annotated[Path, Argument("OUT", help="The trace to write, or the experiment (.toml).")],
    source_format: Annotated[
        str | None, Option("--from", metavar="FORMAT", help="Format of IN; else detected.", suggest=trace_formats)
    ] = None,
    target_format: Annotated[
        str | None, Option("--to", metavar="FORMAT", help="Format of OUT; else by its name.")
    ] = None,
    time_scale: Annotated[float | None, Option(metavar="FACTOR", help="Multiply every time by this.")] = None,
    limit: Annotated[int | None, Option(min=1, metavar="N", help="Stop after N requests.")] = None,
    on_error: OnError = "fail",
    order: Order = "format",
    format_parameter: FormatParameters = None,
    trace: Annotated[
        Path | None, Option(metavar="TRACE", help="Of a parameter file: a trace instead of its synthetic load.")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON document.")] = False,
    sources_anywhere: SourcesAnywhere = False,
) -> None:
    """Write a trace in another format, or a DiskSim parameter file as an experiment.

    Examples:
      headstack convert websearch.trace websearch.csv --from mqsim
      headstack convert day1.csv day1.spc --from msr --to spc --time-scale 2
      headstack convert sda.blktrace.0 sda.csv -p action=issue
      headstack convert examples/raid5.parv raid5.toml
    """
    from headstack.runs import outputs

    if source.suffix == ".parv":
        asked: dict[str, Any] = {
            "--from": source_format,
            "--to": target_format,
            "--time-scale": time_scale,
            "--limit": limit,
            "--format-parameter": format_parameter,
        }
        _experiment(source, target, trace, asked, sources_anywhere, as_json=as_json)
        return
    if trace is not None:
        raise ConfigError(f"--trace: got {source}, need a DiskSim parameter file (.parv) as IN")
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
        print(", ".join(f"{k.removeprefix('n_')}: {v:,}" for k, v in counts.items() if isinstance(v, int)))
        _terminal.say_written([target], as_json=False)


def _experiment(
    source: Path, target: Path, trace: Path | None, asked: dict[str, Any], sources_anywhere: bool, *, as_json: bool
) -> None:
    """Write a DiskSim parameter file as an experiment in TOML."""
    import os

    from headstack import _bridge, _toml
    from headstack.runs import outputs

    for option, value in asked.items():
        if value is not None:
            raise ConfigError(f"{option}: got {source}, need a trace as IN")
    if target.suffix != ".toml":
        raise ConfigError(f"{target}: got an experiment to write, need a name that ends in .toml")
    # Paths in an experiment start from its folder.
    path = os.path.relpath(trace, target.parent) if trace else None
    found = _bridge.call("import_experiment", str(source), path, sources_anywhere)
    text = _toml.dumps(found["document"])
    with outputs.whole_file(target) as part:
        part.write_text(f"# {source.name}, a DiskSim 4.0 parameter file.\n{text}", encoding="utf-8")
    if as_json:
        _terminal.print_json({"report": found["report"], "path": str(target)})
    else:
        _terminal.say_written([target], as_json=False)
