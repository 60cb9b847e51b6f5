"""Places that results are written to."""

import os
from pathlib import Path

from headstack.errors import ConfigError, told

#: The command line that runs, or None in other programs; set by who reads it.
command_line: list[str] | None = None


def output_directory(path: str | os.PathLike[str], where: str) -> Path:
    """Make a directory and try that it can be written to: a long run must not fail at its end.

    Args:
        path: the directory; it is made with its parents if absent.
        where: the argument that asked for it, for the message.

    Raises:
        ConfigError: it cannot be made, or not be written to.

    """
    import tempfile

    directory = Path(path)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=directory).close()
    except OSError as e:
        raise ConfigError(
            f'{where}: got "{directory}" ({told(e)}), need a directory that can be written to'
        ) from None
    return directory
