"""``headstack check``."""

from pathlib import Path
from typing import Annotated

from headstack.cli import FAILED, _terminal
from headstack.cli._arguments import Argument, Option
from headstack.errors import ConfigError, printable


def command(
    files: Annotated[list[Path], Argument("FILE.toml", help="Experiments and drive files.")],
    as_json: Annotated[bool, Option("--json", help="Print one JSON document.")] = False,
) -> int | None:
    """Check experiments and drive files without running them.

    Every key and value is checked, also those of the drives that an experiment names, and traces
    are opened. The exit code is 0 if all is right, and 1 otherwise.

    Examples:
      headstack check examples/demo.toml
      headstack check drives/*.toml examples/*.toml
      headstack check experiment.toml --json
    """
    from headstack import _bridge, drives

    folders = [str(folder) for folder in drives.drive_dirs()]
    found = {str(file): _bridge.call("check_file", str(file), folders) for file in files}
    for file, errors in found.items():
        if not errors:
            errors += _goal(file)
    if as_json:
        _terminal.print_json([{"file": f, "errors": errors} for f, errors in found.items()])
    else:
        for file, errors in found.items():
            for error in errors:
                print(printable(error["message"]))
                for line in (error["excerpt"] or "").splitlines():
                    print(printable(line))
            if not errors:
                print(f"{printable(file)}: ok")
    return FAILED if any(found.values()) else None


def _goal(file: str) -> list[dict[str, str | None]]:
    """Return the error of an experiment's goal, which the core does not read, if it has one."""
    from headstack.runs import loads

    try:
        loads.check_goal(file, None, {}, needed=False)
    except ConfigError as e:
        return [{"message": str(e), "excerpt": None}]
    return []
