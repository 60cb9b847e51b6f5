"""``headstack validate``."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from headstack.cli import _terminal
from headstack.cli._arguments import Argument, Option
from headstack.cli._options import Form, SourcesAnywhere
from headstack.errors import ConfigError
from headstack.suggest import need_one_of

_HEADINGS = (("requests", False), ("demerit ms", False), ("measured mean ms", False), ("simulated mean ms", False))


def _numbers(row: Mapping[str, Any]) -> list[str]:
    keys = ("demerit_s", "measured_mean_s", "simulated_mean_s")
    return [f"{row['n_requests']:,}", *(f"{row[k] * 1e3:.3f}" for k in keys)]


def _class(row: Mapping[str, Any]) -> str:
    following = ", sequential" if row["sequential"] else ""
    return f"{row['operation']} after {row['previous']}{following}"


def command(
    directory: Annotated[Path, Argument("DIR", help="Holds NAME.parv or NAME.toml, and NAME.trace files.")],
    compat: Annotated[
        str | None,
        Option(metavar="NAME", help="disksim-4.0: keep its quirks, for comparison.", suggest=lambda: ("disksim-4.0",)),
    ] = None,
    classes: Annotated[bool, Option(help="Also by operation, operation before, and sequence.")] = True,
    out: Annotated[
        Path | None, Option("--out", "-o", metavar="DIR", help="Write each drive's two distributions as PNG and SVG.")
    ] = None,
    form: Form = "text",
    as_json: Annotated[bool, Option("--json", help="Print one JSON document.")] = False,
    sources_anywhere: SourcesAnywhere = False,
) -> int | None:
    """Compare simulated with measured response times of real drives.

    Every drive of the directory, NAME.parv of DiskSim or NAME.toml, that has a measured trace
    NAME.trace beside it, as for headstack calibrate, is run closed-loop. The demerit is the root
    mean square distance between the measured and the simulated distribution of response times.
    Distributions hide errors that cancel, so it is also given for reads and writes, after reads and
    writes, sequential and not.

    Drives with unusable files are reported, and the exit code is 1; the others are still compared.

    Examples:
      headstack validate ~/disksim-4.0/valid
      headstack validate ~/disksim-4.0/valid --no-classes --out out/valid
      headstack validate ~/disksim-4.0/valid --compat disksim-4.0 --json
    """
    from headstack.drives import validation

    _terminal.check_form(form, as_json)
    if compat not in (None, "disksim-4.0"):
        raise ConfigError(need_one_of("--compat", str(compat), ["disksim-4.0"]))
    document = validation.validate(directory, compat=compat is not None, sources_anywhere=sources_anywhere)
    drives, errors = document["drives"], document["errors"]
    written: list[Path] = []
    if out is not None:
        from headstack.show import plots

        for drive in drives:
            times = validation.response_times(
                directory, drive["name"], compat=compat is not None, sources_anywhere=sources_anywhere
            )
            written += plots.save(plots.validation(drive, *times), out / drive["name"])
    if as_json:
        _terminal.print_json(document)
    else:
        if classes and drives:
            _terminal.print_table(
                [("drive", True), ("operation", True), *_HEADINGS],
                [
                    [drive["name"] if i == 0 else "", _class(row), *_numbers(row)]
                    for drive in drives
                    for i, row in enumerate(drive["classes"])
                ],
                form=form,
            )
            _terminal.between(form)
        rows = [(d["name"], _numbers(d)) for d in drives]
        none = "–"  # noqa: RUF001
        rows += [(e["name"], ["unusable", none, none, none]) for e in errors]
        _terminal.print_table(
            [("drive", True), *_HEADINGS], [[name, *cells] for name, cells in sorted(rows)], form=form
        )
        if drives:
            mean = sum(d["demerit_s"] for d in drives) / len(drives)
            _terminal.say(f"mean demerit {mean * 1e3:.3f} ms over {len(drives)} drives", form)
    for error in errors:
        print(error["message"], file=sys.stderr)
    _terminal.say_written(written, as_json, form)
    if errors:
        return 1
    return None
