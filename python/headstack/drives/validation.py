"""Compares simulated response times with those measured on real drives.

# Model
Requests are replayed closed-loop: each is sent when the previous one has ended and its pause is
over. The demerit is the root mean square horizontal distance between the measured and the simulated
distribution of response times, for all requests and for each class: read or write, after read or
write, sequential or not.

# Source
Ruemmler & Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994.

# Validity
Errors of opposite sign cancel in a distribution, even within a class.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from headstack import _bridge, drives
from headstack.drives import calibration
from headstack.errors import ConfigError

Floats = npt.NDArray[np.float64]


def validate(directory: str | Path, *, compat: bool = False, sources_anywhere: bool = False) -> dict[str, Any]:
    """Compare every drive of a directory with its measurements.

    Args:
        directory: contains drives, ``NAME.parv`` of DiskSim or ``NAME.toml``, and traces
            ``NAME.trace`` as for `headstack.drives.calibration.read_trace`.
        compat: whether to reproduce peculiarities of DiskSim 4.0.
        sources_anywhere: whether parameter files may name files outside the directory.

    Returns:
        ``{"drives": [...], "errors": [...]}``, by name. Each drive has ``name``, ``n_requests``,
        ``demerit_s``, ``demerit_histogram_s``, ``measured_mean_s``, ``simulated_mean_s``
        (seconds) and the list ``classes`` with the same of each class: ``operation``,
        ``previous`` (``read`` or ``write``), ``sequential``. Drives of which a file cannot be
        used are among the errors, with ``name``, ``path`` and ``message``.

    Raises:
        ConfigError: there is no such pair of files.

    Warns:
        UserWarning: a parameter file has an impossible value that DiskSim accepts; the text names
            the place and the value used instead.
    """
    directory = Path(directory)
    if not directory.is_dir():
        raise ConfigError(f"{directory}: got no directory, need one with .parv and .trace files")
    document: dict[str, Any] = _bridge.call("validate", str(directory), compat, sources_anywhere)
    if not document["drives"] and not document["errors"]:
        raise ConfigError(f"{directory}: got no NAME.parv or NAME.toml with a NAME.trace, need one or more")
    return document


def response_times(
    directory: str | Path, name: str, *, compat: bool = False, sources_anywhere: bool = False
) -> tuple[Floats, Floats]:
    """Return measured and simulated response times of one drive, in seconds and trace order.

    Args:
        directory: as in `validate`.
        name: the stem of the drive's files there.
        compat: as in `validate`.
        sources_anywhere: as in `validate`.

    Returns:
        Two arrays of shape (n_requests,).

    Raises:
        ConfigError: the parameter file cannot be used.
        TraceError: the trace cannot be read.
    """
    trace = Path(directory) / f"{name}.trace"
    disksim = trace.with_suffix(".parv")
    path = disksim if disksim.is_file() else trace.with_suffix(".toml")
    spec = drives.load(path, sources_anywhere=sources_anywhere)
    simulated = _bridge.call("replay_closed", json.dumps(spec), str(trace), 0, None, compat)
    return calibration.read_trace(trace).measured_s, np.asarray(simulated, dtype=float)
