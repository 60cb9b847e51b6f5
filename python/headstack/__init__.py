"""Headstack: one mechanical, energetic model of a disk drive, to simulate real storage.

Example:
    >>> import headstack
    >>> r = headstack.run("examples/demo.toml")  # doctest: +SKIP
    >>> r.summary                                # doctest: +SKIP

"""

from typing import TYPE_CHECKING, Any

from headstack import _core
from headstack.errors import ConfigError, DeviceError, HeadstackError, TraceError

if TYPE_CHECKING:
    from headstack.api import Result, load, run

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


def __getattr__(name: str) -> Any:
    # Modules are imported at first use, so that the command line starts in a fraction of the time.
    if name in ("Result", "load", "run"):
        from headstack import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
