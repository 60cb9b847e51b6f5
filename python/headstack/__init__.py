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
    from headstack.api import Result, load, run
    from headstack.emulation import emulate
    from headstack.sweeps import Swept, sweep

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

#: Modules for users of the package; `dir` lists them and the reference describes them.
_MODULES = (
    "active_level",
    "advice",
    "answer",
    "api",
    "calibration",
    "capping",
    "comparison",
    "counters",
    "datasheet",
    "depopulation",
    "drives",
    "emulation",
    "errors",
    "firmware_order",
    "formulas",
    "frames",
    "goal",
    "plots",
    "population",
    "prices",
    "probe",
    "records",
    "report",
    "resolved",
    "schema",
    "start",
    "streaming",
    "sweeps",
    "table",
    "trace_figures",
    "validation",
    "view",
    "workload",
)

#: The modules of the names in `__all__` that are imported at first use.
_HOMES = {
    "Advice": "advice",
    "Result": "api",
    "Swept": "sweeps",
    "advise": "advice",
    "emulate": "emulation",
    "load": "api",
    "run": "api",
    "sweep": "sweeps",
}


def __getattr__(name: str) -> Any:
    # Modules are imported at first use, so that the command line starts in a fraction of the time.
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    module = _HOMES.get(name)
    if module is not None:
        found = getattr(importlib.import_module(f"{__name__}.{module}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    own = [name for name in globals() if name.startswith("__")]
    return sorted({*own, *__all__, *_MODULES})
