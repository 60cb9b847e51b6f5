"""``headstack calibrate``."""

import json
import sys
from pathlib import Path
from typing import Annotated

from headstack.cli import _terminal
from headstack.cli._arguments import Argument, Option
from headstack.cli._options import Form, SourcesAnywhere, drive_names
from headstack.errors import ConfigError
from headstack.paths import output_directory


def command(
    drive: Annotated[str, Argument("DRIVE", help="A drive's name, or a TOML or DiskSim file.", suggest=drive_names)],
    trace: Annotated[Path, Argument("TRACE", help="Requests with measured response times.")],
    out: Annotated[Path | None, Option("--out", "-o", metavar="FILE", help="Write the fitted drive.")] = None,
    half: Annotated[int, Option(min=1, max=2, help="Which half to fit to; the other one judges.")] = 1,
    numbers: Annotated[int, Option(help="7: overheads and link; 10: also positioning and seeks.")] = 10,
    form: Form = "text",
    as_json: Annotated[bool, Option("--json", help="Print one JSON document.")] = False,
    sources_anywhere: SourcesAnywhere = False,
) -> None:
    """Fit a drive's overheads and read-ahead to response times measured on the real one.

    The trace is CSV with a column response_ns, as headstack emulate --record writes it; a latency
    log of fio with log_offset=1; a blktrace file, binary or from blkparse; or has DiskSim's six
    validation columns: R or W, tag, block, count, measured microseconds, pause in microseconds.
    Its requests follow one after another, as with a queue depth of 1. A policy and 7 or 10 numbers
    are fitted to one half of it; the demerit of the other half says what the fit is worth. It takes
    minutes.

    Example:
      headstack calibrate cheetah9LP.parv cheetah9LP.trace --out my-cheetah.toml
      headstack calibrate exos-x18 log_lat.1.log --out my-exos.toml
    """
    from headstack import _bridge, drives
    from headstack.drives import calibration

    _terminal.check_form(form, as_json)
    if out is not None and out.suffix != ".toml":
        raise ConfigError(f'--out: got "{out}", need a name that ends in .toml')
    if numbers not in (7, 10):
        raise ConfigError(f"--numbers: got {numbers}, need 7 or 10")
    spec = drives.load(drive, sources_anywhere=sources_anywhere)
    try:
        _bridge.call("check_drive", json.dumps(spec))
    except ConfigError as e:
        raise ConfigError(f"{drives.find(drive)}: {e}") from None
    if out is not None:
        output_directory(out.parent, "--out")

    def progress(text: str) -> None:
        if sys.stderr.isatty():
            print(text, file=sys.stderr)

    given = calibration.demerits(spec, trace)
    fit = calibration.calibrate(spec, trace, half=half - 1, numbers=numbers, progress=progress)
    demerits = {
        "fitted_demerit_s": {"before": given[half - 1], "after": fit.fit_demerit_s},
        "held_out_demerit_s": {"before": given[2 - half], "after": fit.test_demerit_s},
    }
    written = []
    if out is not None:
        calibration.write_drive({**fit.spec, "name": out.stem}, out)
        written.append(out)
    if as_json:
        _terminal.print_json(
            {"drive": spec.get("name", drive), "policy": fit.policy, "values_s": fit.numbers, **demerits}
        )
    else:
        _terminal.print_table(
            [("fitted", True), ("ms", False)], [[k, f"{v * 1e3:.4f}"] for k, v in fit.numbers.items()], form=form
        )
        _terminal.between(form)
        _terminal.print_table(
            [("demerit ms", True), ("before", False), ("after", False)],
            [
                [name, *(f"{v * 1e3:.3f}" for v in pair.values())]
                for name, pair in zip(("half fitted to", "other half"), demerits.values(), strict=True)
            ],
            form=form,
        )
        _terminal.say(f"policy {fit.policy}", form)
    _terminal.say_written(written, as_json, form)
