"""Output directories."""

import os
from pathlib import Path

from headstack.errors import ConfigError, reason_of

#: The current command line, or None in other programs; set by the code that parses it.
command_line: list[str] | None = None


def output_directory(path: str | os.PathLike[str], where: str) -> Path:
    """Create a directory and test that it can be written to, so that no long run fails at its end.

    Args:
        path: the directory; it is created with its parents if absent.
        where: the argument that names it, for the message.

    Raises:
        ConfigError: it cannot be created or written to.
    """
    import tempfile

    directory = Path(path)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=directory).close()
    except OSError as e:
        raise ConfigError(
            f'{where}: got "{directory}" ({reason_of(e)}), need a directory that can be written to'
        ) from None
    return directory
