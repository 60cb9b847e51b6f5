"""``headstack validate``."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Holds NAME.parv and NAME.trace files.")
    ],
    compat: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="disksim-4.0: keep its quirks, for comparison."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    r"""Compare simulated with measured response times of real drives.

    Every DiskSim parameter file of the directory that has a measured trace beside it is run
    closed-loop. The demerit is the root mean square distance between the measured and the
    simulated distribution of response times.

    \b
    Examples:
      headstack validate ~/disksim-4.0/valid
      headstack validate ~/disksim-4.0/valid --compat disksim-4.0 --json
    """
    from headstack import _bridge
    from headstack.cli import _terminal
    from headstack.errors import ConfigError
    from headstack.suggest import need_one_of

    if compat not in (None, "disksim-4.0"):
        raise ConfigError(need_one_of("--compat", str(compat), ["disksim-4.0"]))
    if not directory.is_dir():
        raise ConfigError(f"{directory}: got no directory, need one with .parv and .trace files")
    document = _bridge.call("validate", str(directory), compat is not None)
    if not document["drives"]:
        raise ConfigError(f"{directory}: got no NAME.parv with a NAME.trace, need one or more")
    if as_json:
        _terminal.print_json(document)
        return
    keys = ("demerit_s", "measured_mean_s", "simulated_mean_s")
    _terminal.print_table(
        [
            ("drive", True),
            ("requests", False),
            ("demerit ms", False),
            ("measured mean ms", False),
            ("simulated mean ms", False),
        ],
        [
            [d["name"], f"{d['n_requests']:,}", *(f"{d[k] * 1e3:.3f}" for k in keys)]
            for d in document["drives"]
        ],
    )
    mean = sum(d["demerit_s"] for d in document["drives"]) / len(document["drives"])
    print(f"mean demerit {mean * 1e3:.3f} ms over {len(document['drives'])} drives")
