"""Headstack: one mechanical, energetic model of a disk drive, to simulate real storage.

Example:
    >>> import headstack
    >>> r = headstack.run("examples/demo.toml")  # doctest: +SKIP
    >>> r.summary                                # doctest: +SKIP

"""

from headstack import _core
from headstack.api import Result, load, run
from headstack.errors import ConfigError, DeviceError, HeadstackError, TraceError

__version__: str = _core.version()

__all__ = [
    "ConfigError",
    "DeviceError",
    "HeadstackError",
    "Result",
    "TraceError",
    "__version__",
    "load",
    "run",
]
