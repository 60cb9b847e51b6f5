"""Fits a drive's overheads and read-ahead policy to response times measured on the real drive.

# Model
Fitted numbers: link time (the ratio of write to read is kept), read-hit, read-miss and write
overhead after a read and after a write, and optionally the lower bound of positioning after a read
and after a write and a seek constant (drives without write buffering: write settle and head
switch). The objective on the fitted half is ``D**2 + 0.3 * sum(share * D_class**2)`` in
milliseconds, where ``D`` is the demerit figure of sorted samples, and the classes are read or write
after read or write, sequential or not. Each policy of a short list starts from estimates by moments
(response times of hits and buffered writes are linear in the number of blocks) and is fitted by
least squares on the sorted samples (SciPy's trust-region reflective algorithm, which respects
bounds). A Nelder-Mead run refines the numbers of the best three.

# Source
Demerit figure: Ruemmler & Wilkes, IEEE Computer 27(3), 1994. Simplex: Nelder & Mead, Computer
Journal 7(4), 1965. Least squares within bounds: Branch, Coleman & Li, SIAM J. Sci. Comput. 21(1),
1999.

# Validity
One half of a trace is fitted. The other half is used for the test only, not for any choice. The
mechanics are those of the drive file.
"""

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import optimize

from headstack import _bridge
from headstack.errors import ConfigError, TraceError
from headstack.suggest import need_one_of

Floats = npt.NDArray[np.float64]
Spec: TypeAlias = "Drive"
if TYPE_CHECKING:
    from headstack.schema import Drive
    from headstack.schema.drive import Cache

#: Simulates a drive (JSON) on the fitted requests; returns response times in seconds.
Evaluate = Callable[[str], npt.ArrayLike]

#: Read-ahead policies that drives use although their files do not state them.
POLICIES: "dict[str, Cache]" = {
    "as-given": {},
    "no-read-on-arrival": {"read_on_arrival": False, "write_on_arrival": False},
    "discard": {"discard_requested": True},
    "to-limit": {"read_ahead": "limit"},
    "to-limit-discard": {"read_ahead": "limit", "discard_requested": True},
    "to-track": {"read_ahead": "next-track"},
    "sequential-trigger": {
        "read_ahead_trigger": "sequential",
        "read_ahead": "limit",
        "keep_passing_sectors": True,
        "segment_sectors": 512,
        "read_ahead_sectors": 256,
    },
    "whole-track": {"keep_whole_track": True, "keep_passing_sectors": True},
}

_BASE = ("link", "hit_r", "hit_w", "miss_r", "miss_w", "write_r", "write_w")
#: Further numbers. With a write buffer, measured seek tables include a part of the overheads;
#: without one, every write depends on the settling time.
_MECHANICAL = {True: ("minimum_r", "minimum_w", "seek"), False: ("settle", "head_switch")}
_KEYS = {
    "hit_r": ("overhead", "read_hit", "after_read"),
    "hit_w": ("overhead", "read_hit", "after_write"),
    "miss_r": ("overhead", "read_miss", "after_read"),
    "miss_w": ("overhead", "read_miss", "after_write"),
    "minimum_r": ("positioning", "minimum_read_after_read"),
    "minimum_w": ("positioning", "minimum_read_after_write"),
    "seek": ("positioning", "seek_constant"),
    "settle": ("positioning", "write_settle"),
    "head_switch": ("positioning", "head_switch"),
}


@dataclass(frozen=True)
class Requests:
    """A trace with response times: four arrays of shape (n_requests,), in trace order.

    Attributes:
        write: true for a write, false for a read.
        lba: first 512-byte block.
        blocks: number of 512-byte blocks.
        measured_s: response time of the real drive in seconds.
    """

    write: npt.NDArray[np.bool_]
    lba: npt.NDArray[np.int64]
    blocks: npt.NDArray[np.int64]
    measured_s: Floats

    def part(self, start: int, count: int) -> "Requests":
        """Return ``count`` requests from ``start`` on."""
        s = slice(start, start + count)
        return Requests(self.write[s], self.lba[s], self.blocks[s], self.measured_s[s])

    def classes(self) -> npt.NDArray[np.int64]:
        """Class of each request: write * 4 + previous write * 2 + sequential."""
        before = np.concatenate(([False], self.write[:-1]))
        end = np.concatenate(([-1], (self.lba + self.blocks)[:-1]))
        following = (self.lba == end).astype(np.int64)
        kinds: npt.NDArray[np.int64] = self.write * np.int64(4) + before * np.int64(2) + following
        return kinds


@dataclass(frozen=True)
class CalibrationResult:
    """A calibrated drive.

    Attributes:
        spec: the drive with the fitted numbers and policy.
        fit_demerit_s: demerit on the half that was fitted, in seconds.
        test_demerit_s: demerit on the other half, in seconds.
        policy: a name of `POLICIES`.
        numbers: the fitted numbers by name, in seconds.
    """

    spec: Spec
    fit_demerit_s: float
    test_demerit_s: float
    policy: str
    numbers: dict[str, float]


def read_trace(path: str | Path) -> Requests:
    """Read a trace with response times.

    DiskSim's validation traces (``R|W tag lbn count measured_us think_us``), CSV with
    ``response_ns`` (what ``headstack emulate --record`` writes), latency logs of fio with
    ``log_offset=1``, and blktrace.

    Raises:
        TraceError: a line is not such a request, with file and line; or fewer than four are; or the
            file cannot be read; or a request was sent before the one before it had ended.
    """
    write, lbas, counts, measured = _bridge.call("read_measured", str(path))
    if len(write) < 4:
        raise TraceError(f"{path}: got {len(write)} requests, need at least 4")
    return Requests(
        np.array(write, dtype=np.bool_),
        np.array(lbas, dtype=np.int64),
        np.array(counts, dtype=np.int64),
        np.array(measured, dtype=np.float64),
    )


def demerit(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Root mean square distance of two samples, over quantiles 0.0001, 0.0002, … 1.

    Args:
        a: numbers of any one unit, shape (n,), in any order.
        b: the same, shape (m,).

    Returns:
        The distance, in the same unit.

    Raises:
        ConfigError: a sample is empty.

    Example:
        >>> demerit([1.0, 3.0], [4.0, 2.0])
        1.0
    """
    samples = [np.asarray(sample, dtype=float).tolist() for sample in (a, b)]
    if not all(samples):
        raise ConfigError("demerit: got an empty sample, need at least one number")
    return float(_bridge.call("demerit", *samples))


def _residuals(requests: Requests, simulated_s: Floats) -> Floats:
    """Differences of sorted samples (ms), weighted so that their squares sum to `objective`."""
    measured_ms, simulated_ms = requests.measured_s * 1e3, simulated_s * 1e3
    count = len(measured_ms)
    parts = [(np.sort(simulated_ms) - np.sort(measured_ms)) / np.sqrt(count)]
    classes = requests.classes()
    for c in range(8):
        of = classes == c
        if of.any():
            # Share times mean square: the class's own size cancels.
            difference = np.sort(simulated_ms[of]) - np.sort(measured_ms[of])
            parts.append(difference * np.sqrt(0.3 / count))
    return np.concatenate(parts)


def objective(requests: Requests, simulated_s: Floats) -> float:
    """Squared demerit (ms²) of all requests, plus 0.3 times that of each class by its share.

    `simulated_s` are response times in seconds in the order of `requests`, shape (n_requests,).
    """
    return float(np.sum(_residuals(requests, simulated_s) ** 2))


def _get(spec: Spec, path: tuple[str, ...]) -> float:
    node: Any = spec
    for key in path:
        node = node.get(key, {})
    return _bridge.quantity("time", node) * 1e3 if node else 0.0


def _set(spec: Spec, path: tuple[str, ...], ms: float) -> None:
    node: Any = spec
    for key in path[:-1]:
        node = node.setdefault(key, {})
    node[path[-1]] = f"{ms:.6f} ms"


def _keys(spec: Spec) -> dict[str, tuple[str, ...]]:
    kind = "write_hit" if spec.get("cache", {}).get("write_back") else "write_miss"
    writes = {f"write_{d}": ("overhead", kind, f"after_{o}") for d, o in (("r", "read"), ("w", "write"))}
    return {**_KEYS, **writes}


def _link(spec: Spec) -> tuple[float, float]:
    link = spec.get("link", {})
    rate = link.get("rate")
    if rate and "read_sector_time" not in link:
        sector = spec.get("geometry", {}).get("sector_size", "512 B")
        seconds = _bridge.quantity("size", sector) / _bridge.quantity("rate", rate)
        return seconds * 1e3, seconds * 1e3
    return _get(spec, ("link", "read_sector_time")), _get(spec, ("link", "write_sector_time"))


def numbers_of(spec: Spec, names: tuple[str, ...]) -> Floats:
    """Return the numbers of a drive by name, in milliseconds, shape (len(names),).

    Raises:
        ConfigError: one of them is not a time with a unit.
    """
    keys = _keys(spec)
    return np.array([_link(spec)[0] if n == "link" else _get(spec, keys[n]) for n in names])


def with_numbers(spec: Spec, names: tuple[str, ...], values_ms: npt.ArrayLike) -> Spec:
    """Return the drive with other numbers (milliseconds, one for each of `names`).

    All but the seek constant are limited to zero or more. `spec` itself is not changed.
    """
    result = copy.deepcopy(spec)
    keys = _keys(spec)
    for name, value in zip(names, np.asarray(values_ms, dtype=float), strict=True):
        ms = float(value) if name == "seek" else max(float(value), 0.0)
        if name == "link":
            read, write = _link(spec)
            result.get("link", {}).pop("rate", None)
            _set(result, ("link", "read_sector_time"), ms)
            _set(result, ("link", "write_sector_time"), ms * (write / read if read > 0 else 1.0))
        else:
            _set(result, keys[name], ms)
    return result


def with_policy(spec: Spec, policy: str) -> Spec:
    """Return the drive with a policy of `POLICIES`.

    Raises:
        ConfigError: `POLICIES` has no such name.
    """
    if policy not in POLICIES:
        raise ConfigError(need_one_of("policies", policy, POLICIES))
    result = copy.deepcopy(spec)
    result.setdefault("cache", {}).update(POLICIES[policy])
    return result


def _bounds(names: tuple[str, ...], given: Floats) -> tuple[Floats, Floats]:
    """Range of each number: 1.5 ms below and above the given number, but not below zero.

    The range of the link time is half of it, at least 0.05 ms.

    Without bounds, a class of few requests with wrong members (hits that the real drive had to read
    from the medium) would shift its number far away.
    """
    room = np.array([max(0.5 * g, 0.05) if n == "link" else 1.5 for n, g in zip(names, given, strict=True)])
    low = given - room
    free = np.array([n == "seek" for n in names])
    return np.where(free, low, np.maximum(low, 0.0)), given + room


def _moments(spec: Spec, names: tuple[str, ...], requests: Requests, evaluate: Evaluate, rounds: int) -> Floats:
    """Estimate numbers from class medians of measured minus simulated times, in damped rounds.

    The times of sequential requests that use only the link are linear in the number of blocks: the
    error of the slope is that of the link, the rest of a class's median is that of its overhead.
    """
    given = numbers_of(spec, names)
    low, high = _bounds(names, given)
    values = given.copy()
    classes = requests.classes()
    # Sequential reads are mostly hits; most other reads need the arm.
    of = {"hit_r": 1, "hit_w": 3, "miss_r": 0, "miss_w": 2}
    back = bool(spec.get("cache", {}).get("write_back"))
    line = np.isin(classes, (1, 4, 5, 6, 7) if back else (1,))
    best, best_score = values, np.inf
    for round_ in range(rounds + 1):
        simulated = np.asarray(evaluate(json.dumps(with_numbers(spec, names, values))), dtype=float)
        score = objective(requests, simulated)
        if score < best_score:
            best, best_score = values.copy(), score
        if round_ == rounds:
            break
        error = (requests.measured_s - simulated) * 1e3
        sizes = np.unique(requests.blocks[line])
        of_size = [(n, error[line & (requests.blocks == n)]) for n in sizes]
        groups = [(n, np.median(e), len(e)) for n, e in of_size if len(e) >= 5]
        slope = 0.0
        if len(groups) >= 2:
            n, medians, weight = map(np.array, zip(*groups, strict=True))
            slope = float(np.polyfit(n, medians, 1, w=np.sqrt(weight))[0])
        for i, name in enumerate(names):
            if name == "link":
                values[i] = max(values[i] + 0.5 * slope, 0.0)
            elif name in of or name.startswith("write"):
                base = 4 if name.endswith("_r") else 6
                mine = classes == of[name] if name in of else np.isin(classes, (base, base + 1))
                if mine.sum() >= 5:
                    rest = error[mine] - slope * requests.blocks[mine]
                    values[i] = max(values[i] + 0.5 * float(np.median(rest)), 0.0)
        values = np.clip(values, low, high)
    return best


def _least_squares(
    residuals: Callable[[Floats], Floats],
    names: tuple[str, ...],
    start: Floats,
    bounds: tuple[Floats, Floats],
    steps: int,
) -> tuple[Floats, float]:
    """Fit by least squares within the bounds from `start`; return numbers and objective.

    Differences are taken over 0.04 ms (for the link 0.004 ms): the time of a single request changes
    by whole turns, but the sorted samples change smoothly over that distance. A penalty of 0.01 per
    squared distance from the start (ms²) keeps the numbers from adapting to peculiarities of the
    fitted half, which would make the other half worse.
    """
    apart = np.array([0.002 if n == "link" else 0.02 for n in names])

    begin = np.clip(start, *bounds)

    def pulled(values: Floats) -> Floats:
        return np.concatenate([residuals(values), 0.1 * (values - begin)])

    def slopes(values: Floats) -> Floats:
        columns = []
        for i, h in enumerate(apart):
            up, down = values.copy(), values.copy()
            up[i] = min(up[i] + h, bounds[1][i])
            down[i] = max(down[i] - h, bounds[0][i])
            columns.append((pulled(up) - pulled(down)) / (up[i] - down[i]))
        return np.column_stack(columns)

    found = optimize.least_squares(
        pulled, begin, jac=slopes, bounds=bounds, x_scale="jac", ftol=1e-2, max_nfev=5 * steps
    )
    reached = residuals(found.x)
    return found.x, float(reached @ reached)


def fit_numbers(
    spec: Spec,
    names: tuple[str, ...],
    requests: Requests,
    evaluate: Evaluate,
    *,
    start: Floats | None = None,
    rounds: int = 12,
    iterations: int = 8,
    runs: int = 1,
    steps: int = 150,
    progress: Callable[[str], None] | None = None,
) -> tuple[Floats, float]:
    """Fit the numbers; milliseconds, shape (len(names),), and the objective reached (ms²).

    `rounds` of moments and `5 * iterations` trial steps of least squares from several starts (or
    from `start` alone) find the region of the minimum; `runs` of Nelder-Mead with `steps` each
    refine the best. A weak penalty, 4e-4 per squared distance from the given numbers, keeps those
    on which the requests do not depend.
    """
    given = numbers_of(spec, names)
    bounds = _bounds(names, given)

    def residuals(values: Floats) -> Floats:
        simulated = evaluate(json.dumps(with_numbers(spec, names, values)))
        of_requests = _residuals(requests, np.asarray(simulated, dtype=float))
        return np.concatenate([of_requests, 0.02 * (values - given)])

    def score(values: Floats) -> float:
        # The penalty moves the simplex back into the bounds.
        inside = np.clip(values, *bounds)
        r = residuals(inside)
        return float(r @ r) + float(np.sum(np.abs(values - inside))) ** 2

    starts = [given if start is None else start]
    if start is None and rounds:
        starts.append(_moments(spec, names, requests, evaluate, rounds))
    if start is None and "seek" in names:
        # Measured seek tables include part of the command time, which moves within a cylinder do
        # not show. So a second start shifts time between them.
        shifted = starts[-1].copy()
        for i, name in enumerate(names):
            shifted[i] += {"minimum_r": 0.8, "minimum_w": 0.8, "seek": -0.2}.get(name, 0.0)
        starts.append(shifted)
    found = [_least_squares(residuals, names, s, bounds, iterations) for s in starts]
    values, reached = min(found, key=lambda f: f[1])
    # Each run starts a smaller simplex at the best point, alternately to the other side.
    for run, size in enumerate(0.1 * 0.5**k for k in range(runs)):
        step = size * (-1) ** run
        scale = np.array([0.1 if n == "link" else 1.0 for n in names])
        simplex = np.vstack([values, values + step * np.diag(scale)])
        polished = optimize.minimize(
            score,
            values,
            method="Nelder-Mead",
            options={"maxiter": steps, "initial_simplex": simplex, "xatol": 1e-5, "fatol": 1e-9},
        )
        if polished.fun < reached:
            values, reached = np.clip(polished.x, *bounds), float(polished.fun)
        if progress:
            progress(f"run {run + 1} of {runs}: {reached:.5f} ms²")
    return values, reached


def _replayer(trace_path: str | Path) -> Callable[[str, int, int], npt.ArrayLike]:
    def replay(spec_json: str, start: int, count: int) -> npt.ArrayLike:
        times: list[float] = _bridge.call("replay_closed", spec_json, str(trace_path), start, count, False)
        return times

    return replay


def demerits(spec: Spec, trace_path: str | Path) -> tuple[float, float]:
    """Return a drive's demerit (s) on the first and on the second half of a trace.

    Raises:
        ConfigError: the drive cannot be used.
        TraceError: the trace cannot be read.
        OSError: the trace cannot be opened.
    """
    trace = read_trace(trace_path)
    text, run = json.dumps(spec), _replayer(trace_path)
    middle = len(trace.write) // 2
    first, second = (0, middle), (middle, len(trace.write) - middle)
    return (
        demerit(trace.part(*first).measured_s, run(text, *first)),
        demerit(trace.part(*second).measured_s, run(text, *second)),
    )


def calibrate(
    spec: Spec,
    trace_path: str | Path,
    *,
    half: int = 0,
    numbers: int = 10,
    policies: tuple[str, ...] = tuple(POLICIES),
    evaluate: Callable[[str, int, int], npt.ArrayLike] | None = None,
    runs: int = 1,
    steps: int = 150,
    progress: Callable[[str], None] | None = None,
) -> CalibrationResult:
    """Fit a drive to one half of a trace (0: first, 1: second) and test it on the other.

    Args:
        spec: the drive as JSON-like dictionaries.
        trace_path: as for `read_trace`.
        half: the half that is fitted.
        numbers: 7, or 10 with minimum positioning and seek constant (for a drive without write
            buffering 9: write settle and head switch instead).
        policies: names of `POLICIES` to choose from, by the fitted half alone.
        evaluate: computes response times in seconds from ``(spec_json, start, count)``; the
            simulator by default.
        runs: Nelder-Mead runs for each chosen policy.
        steps: steps of each run.
        progress: called with a line of text from time to time.

    Raises:
        ConfigError: an argument or the drive cannot be used.
        TraceError: the trace cannot be read.
        OSError: the trace cannot be opened.
    """
    if numbers not in (7, 10) or half not in (0, 1):
        raise ConfigError(f"calibrate: got numbers {numbers}, half {half}, need 7 or 10, 0 or 1")
    if evaluate is None:
        evaluate = _replayer(trace_path)

    trace = read_trace(trace_path)
    middle = len(trace.write) // 2
    parts = [(0, middle), (middle, len(trace.write) - middle)]
    fit, test = parts[half], parts[1 - half]
    requests = trace.part(*fit)
    run = evaluate

    def fitted(spec_json: str) -> npt.ArrayLike:
        return run(spec_json, *fit)

    back = bool(spec.get("cache", {}).get("write_back"))
    names = _BASE + (_MECHANICAL[back] if numbers == 10 else ())
    # A short run ranks the policies; the best three are fitted fully.
    short: list[tuple[float, str, Floats]] = []
    seen: list[Spec] = []
    for policy in policies:
        candidate = with_policy(spec, policy)
        # The policy of the drive's file is not tried twice.
        if candidate in seen:
            continue
        seen.append(candidate)
        values, reached = fit_numbers(candidate, names, requests, fitted, iterations=4, runs=0)
        short.append((reached, policy, values))
        if progress:
            progress(f"{policy}: {reached:.5f} ms²")
    best: tuple[float, str, Floats] | None = None
    # Of equal objectives, the name decides.
    for _, policy, start in sorted(short, key=lambda s: s[:2])[:3]:
        candidate = with_policy(spec, policy)
        values, reached = fit_numbers(
            candidate, names, requests, fitted, start=start, runs=runs, steps=steps, progress=progress
        )
        if best is None or reached < best[0]:
            best = (reached, policy, values)
    if best is None:
        raise ConfigError("calibrate: got no policies, need at least one")
    _, policy, values = best
    result = with_numbers(with_policy(spec, policy), names, values)
    source = f"calibrated on {Path(trace_path).name}, half {half + 1} of 2, policy {policy}"
    result["sources"] = {**result.get("sources", {}), "overhead": source}
    text = json.dumps(result)
    return CalibrationResult(
        spec=result,
        fit_demerit_s=demerit(requests.measured_s, run(text, *fit)),
        test_demerit_s=demerit(trace.part(*test).measured_s, run(text, *test)),
        policy=policy,
        numbers={n: float(v) * 1e-3 for n, v in zip(names, values, strict=True)},
    )


def write_drive(spec: Spec, path: str | Path) -> None:
    """Write a drive as TOML; keys without a value are left out.

    Raises:
        OSError: the file cannot be written.
    """
    from headstack import _toml
    from headstack.runs import outputs

    with outputs.whole_file(Path(path)) as part:
        part.write_text(_toml.dumps(spec), encoding="utf-8")
