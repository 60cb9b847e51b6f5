"""Fitting the overheads of a drive to response times measured on the real one.

# Model
Seven numbers are fitted: the link's time per sector, and the command overheads of read hits, read
misses and writes, each after a read and after a write. They minimise the demerit, the root mean
square distance between the measured and the simulated response times, paired rank by rank.

# Validity
Structure (zones, seeks, cache policy) is taken as the drive file gives it. Fit on one half of the
trace and judge by the other: that is what `fit` reports.
"""

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import optimize

from headstack.errors import TraceError

#: Simulates ``(spec, start, count)`` of the trace; response times in seconds.
Replay = Callable[[dict[str, Any], int, int], list[float]]

Floats = npt.NDArray[np.float64]

#: What is fitted, as dotted keys of the drive file that hold times.
OVERHEADS = (
    "overhead.read_hit.after_read",
    "overhead.read_hit.after_write",
    "overhead.read_miss.after_read",
    "overhead.read_miss.after_write",
    "overhead.write_miss.after_read",
    "overhead.write_miss.after_write",
)


@dataclass(frozen=True)
class Fit:
    """A calibrated drive and how good it is, demerits in seconds."""

    spec: dict[str, Any]
    values_s: dict[str, float]
    fitted_before_s: float
    fitted_after_s: float
    held_out_before_s: float
    held_out_after_s: float


def measured(path: str | Path) -> Floats:
    """Return the measured response times (s) of a validation trace: column 5, microseconds.

    Raises:
        TraceError: a line is not six columns with a positive number in the fifth.

    """
    times = []
    try:
        text = Path(path).read_text(encoding="ascii", errors="replace")
    except OSError as e:
        raise TraceError(f"{path}: got {(e.strerror or str(e)).lower()}, need a trace") from None
    for number, line in enumerate(text.splitlines(), 1):
        columns = line.split()
        if not columns:
            continue
        if len(columns) != 6:
            raise TraceError(f"{path}:{number}: got {len(columns)} columns, need 6")
        try:
            time = float(columns[4])
        except ValueError:
            time = -1.0
        if not time > 0 or not np.isfinite(time):
            raise TraceError(
                f'{path}:{number}: column 5 "measured_us": got "{columns[4]}", '
                "need a positive number of microseconds"
            )
        times.append(time * 1e-6)
    if len(times) < 4:
        raise TraceError(f"{path}: got {len(times)} requests, need 4 or more")
    return np.asarray(times)


def demerit(a: "npt.ArrayLike", b: "npt.ArrayLike") -> float:
    """Return the root mean square distance of two samples of one size, paired rank by rank.

    Example:
        >>> demerit([1.0, 3.0], [3.0, 2.0])
        1.0

    """
    return float(np.sqrt(np.mean((np.sort(np.asarray(a)) - np.sort(np.asarray(b))) ** 2)))


def seconds(text: str) -> float:
    """Return a time of a drive file in seconds."""
    units = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
    stripped = text.strip()
    number = stripped.rstrip("abcdefghijklmnopqrstuvwxyzµ").strip()
    unit = stripped[len(number) :].strip()
    return float(number.replace("_", "")) * units[unit]


def _get(spec: dict[str, Any], key: str) -> float:
    value: Any = spec
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return seconds(value) if isinstance(value, str) else 0.0


def _set(spec: dict[str, Any], key: str, value: float) -> None:
    *tables, last = key.split(".")
    table = spec
    for part in tables:
        table = table.setdefault(part, {})
    table[last] = f"{round(value * 1e9)} ns"


def _with(spec: dict[str, Any], values: Floats) -> dict[str, Any]:
    changed = copy.deepcopy(spec)
    for key, value in zip(OVERHEADS, values[1:], strict=True):
        _set(changed, key, max(0.0, float(value)))
    # A write that completes in the buffer and one that does not share the overhead.
    for after, value in (("after_read", values[5]), ("after_write", values[6])):
        _set(changed, f"overhead.write_hit.{after}", max(0.0, float(value)))
    link = changed.setdefault("link", {})
    link.pop("rate", None)
    for key in ("read_sector_time", "write_sector_time"):
        link[key] = f"{max(0, round(float(values[0]) * 1e9))} ns"
    return changed


def _sector_time(spec: dict[str, Any]) -> float:
    link = spec.get("link", {})
    text = link.get("read_sector_time")
    return seconds(text) if isinstance(text, str) else 25e-6


def fit(spec: dict[str, Any], times: Floats, replay: Replay, half: int = 1) -> Fit:
    """Fit `spec` to one half (1 or 2) of the measured `times` and judge it by the other."""
    middle = len(times) // 2
    parts = [(0, middle), (middle, len(times) - middle)]
    (start, count), (other, others) = parts[half - 1], parts[2 - half]

    def of(candidate: dict[str, Any], at: int, n: int) -> float:
        return demerit(replay(candidate, at, n), times[at : at + n])

    guess = np.array([_sector_time(spec), *(_get(spec, k) for k in OVERHEADS)])
    simplex = np.tile(guess, (len(guess) + 1, 1))
    for i in range(len(guess)):
        # First steps of the size that overheads differ by between drives.
        simplex[i + 1, i] += 10e-6 if i == 0 else 300e-6
    found = optimize.minimize(
        lambda x: of(_with(spec, x), start, count) + float(np.sum(np.clip(-x, 0, None))),
        guess,
        method="Nelder-Mead",
        options={"initial_simplex": simplex, "maxfev": 700, "xatol": 1e-7, "fatol": 1e-8},
    )
    values = np.clip(found.x, 0, None)
    best = _with(spec, values)
    before, after = of(spec, start, count), of(best, start, count)
    if after >= before:
        best, after, values = copy.deepcopy(spec), before, guess
    keys = ["link.sector_time", *OVERHEADS]
    return Fit(
        spec=best,
        values_s={k: float(v) for k, v in zip(keys, values, strict=True)},
        fitted_before_s=before,
        fitted_after_s=after,
        held_out_before_s=of(spec, other, others),
        held_out_after_s=of(best, other, others),
    )


def replayer(trace: str | Path, *, compat: bool = False) -> Replay:
    """Return the core's closed-loop replay of a validation trace."""
    from headstack import _bridge

    def replay(spec: dict[str, Any], start: int, count: int) -> list[float]:
        times: list[float] = _bridge.call(
            "replay_closed", json.dumps(spec), str(trace), start, count, compat
        )
        return times

    return replay
