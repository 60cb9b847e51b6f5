"""Headstack: one mechanical, energetic model of a disk drive, to simulate real storage.

Example:
    >>> import headstack
    >>> r = headstack.run("examples/demo.toml")  # doctest: +SKIP
    >>> r.summary                                # doctest: +SKIP
"""

import importlib
from typing import TYPE_CHECKING, Any

from headstack import _core
from headstack.errors import ConfigError, DeviceError, HeadstackError, TraceError

if TYPE_CHECKING:
    from headstack.advice import Advice, advise
    from headstack.live.emulation import emulate
    from headstack.runs.api import Result, load, run
    from headstack.runs.sweeps import Swept, sweep

__version__: str = _core.version()

__all__ = [
    "Advice",
    "ConfigError",
    "DeviceError",
    "HeadstackError",
    "Result",
    "Swept",
    "TraceError",
    "__version__",
    "advise",
    "emulate",
    "load",
    "run",
    "sweep",
]

#: Modules for users of the package, by the package where they stand: `headstack.goal` is `headstack.results.goal`.
#: `dir` lists them and the reference describes them.
_PACKAGES = {
    "drives": (
        "active_level calibration datasheet depopulation firmware_order formulas population streaming validation"
    ),
    "live": "emulation",
    "results": "answer columns comparison frames goal prices records",
    "runs": "api capping resolved sweeps",
    "show": "plots report table view",
    "workloads": "start trace_figures workload",
}
_MODULES = {
    **{name: name for name in ("advice", "drives", "errors", "probe", "schema")},
    **{name: f"{package}.{name}" for package, names in _PACKAGES.items() for name in names.split()},
}

#: The modules of the names in `__all__` that are imported at first use.
_HOMES = {
    "Advice": "advice",
    "Result": "runs.api",
    "Swept": "runs.sweeps",
    "advise": "advice",
    "emulate": "live.emulation",
    "load": "runs.api",
    "run": "runs.api",
    "sweep": "runs.sweeps",
}


def __getattr__(name: str) -> Any:
    # Modules are imported at first use, so that the command line starts in a fraction of the time.
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{_MODULES[name]}")
    module = _HOMES.get(name)
    if module is not None:
        found = getattr(importlib.import_module(f"{__name__}.{module}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    own = [name for name in globals() if name.startswith("__")]
    return sorted({*own, *__all__, *_MODULES})
