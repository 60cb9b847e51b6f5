"""``headstack calibrate``."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    drive: Annotated[
        str, typer.Argument(metavar="DRIVE", help="A drive's name, or a TOML or DiskSim file.")
    ],
    trace: Annotated[
        Path, typer.Argument(metavar="TRACE", help="Requests with measured response times.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the fitted drive.")
    ] = None,
    half: Annotated[
        int, typer.Option(min=1, max=2, help="Which half to fit to; the other one judges.")
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Fit a drive's overheads to response times measured on the real one.

    The trace has DiskSim's six validation columns: R or W, tag, block, count, measured
    microseconds, pause in microseconds. Seven numbers are fitted to one half of it; the
    demerit of the other half says what the fit is worth.

    \b
    Example:
      headstack calibrate cheetah9LP.parv cheetah9LP.trace --out my-cheetah.toml
    """
    import tomli_w

    from headstack import calibrate, drives
    from headstack.cli import _terminal
    from headstack.errors import ConfigError

    if out is not None and out.suffix != ".toml":
        raise ConfigError(f'--out: got "{out}", need a name that ends in .toml')
    spec = drives.load(drive)
    fit = calibrate.fit(spec, calibrate.measured(trace), calibrate.replayer(trace), half)
    document = {
        "drive": spec.get("name", drive),
        "values_s": fit.values_s,
        "fitted_demerit_s": {"before": fit.fitted_before_s, "after": fit.fitted_after_s},
        "held_out_demerit_s": {"before": fit.held_out_before_s, "after": fit.held_out_after_s},
    }
    written = []
    if out is not None:
        fitted = {**fit.spec, "name": out.stem}
        note = f"fitted to half {half} of {trace.name} by headstack calibrate"
        fitted["sources"] = {**spec.get("sources", {}), "overhead": note, "link": note}
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(tomli_w.dumps(fitted), encoding="utf-8")
        written.append(out)
    if as_json:
        _terminal.print_json(document)
    else:
        _terminal.print_table(
            [("fitted", True), ("ms", False)],
            [[k, f"{v * 1e3:.4f}"] for k, v in fit.values_s.items()],
        )
        _terminal.print_table(
            [("demerit ms", True), ("before", False), ("after", False)],
            [
                [name, f"{a * 1e3:.3f}", f"{b * 1e3:.3f}"]
                for name, a, b in (
                    ("half fitted to", fit.fitted_before_s, fit.fitted_after_s),
                    ("other half", fit.held_out_before_s, fit.held_out_after_s),
                )
            ],
        )
    _terminal.told(written, as_json)
