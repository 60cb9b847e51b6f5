"""What a sweep is asked to do: a file ``SWEEP.toml``, or arguments in Python.

```toml
experiment = "websearch.toml"      # or the tables of an experiment under [experiment]
seeds = 10                         # each point with ten seeds, the same for all points

[[axis]]
key = "system.0.queue_depth"
values = [1, 8, 32]
```
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headstack import drives
from headstack.errors import ConfigError
from headstack.plain import plain, shown
from headstack.runs.sweeps.axes import Axis, Point, Sample, points, read_axis, read_sample
from headstack.suggest import need_one_of

#: The keys of a sweep's file.
KEYS = ("experiment", "seeds", "axis", "sample", "measure", "keep_going")

#: What is drawn and printed unless something else is asked for.
MEASURE = "response_time_p99_s"


@dataclass(frozen=True)
class Sweep:
    """A sweep as it was asked for.

    Attributes:
        base: the experiment, as `headstack.runs.worker.prepare` takes it.
        axes: its axes.
        points: settings of each point, in order.
        seeds: the seeds of each point; None is the experiment's own.
        settings: settings of all points.
        measure: the column that is drawn.
        keep_going: whether points with wrong input become rows with ``error``.
    """

    base: Mapping[str, Any]
    axes: tuple[Axis, ...]
    points: tuple[Point, ...]
    seeds: tuple[int | None, ...] = (None,)
    settings: Mapping[str, Any] = field(default_factory=dict)
    measure: str = MEASURE
    keep_going: bool = False

    @property
    def keys(self) -> list[str]:
        """The dotted keys that change, in the order of the axes."""
        return [k for axis in self.axes for k in axis.keys]

    def runs(self) -> list[tuple[Point, int | None]]:
        """Return point and seed of each run, in order."""
        return [(point, seed) for point in self.points for seed in self.seeds]

    def overrides(self, point: Point, seed: int | None) -> dict[str, Any]:
        """Return what a run replaces in the experiment, as the core takes it."""
        found: dict[str, Any] = {"set": {**self.settings, **point}, "set_by": "sweep"}
        return found if seed is None else {**found, "seed": seed}


def seed_list(given: object, first: int | None, where: str = "seeds") -> tuple[int | None, ...]:
    """Return the seeds: a list, or as many as asked for from the experiment's own on.

    Raises:
        ConfigError: it is neither.

    Example:
        >>> seed_list(3, 7), seed_list([5, 9], None), seed_list(None, None)
        ((7, 8, 9), (5, 9), (None,))
    """
    if given is None:
        return (None,)
    value = plain(given, where)
    whole = value if isinstance(value, list) else [value]
    least = 0 if isinstance(value, list) else 1
    if not whole or not all(isinstance(n, int) and n >= least and n is not True for n in whole):
        raise ConfigError(f"{where}: got {shown(value)}, need a whole number, 1 or more, or a list")
    if isinstance(value, list):
        if len(set(value)) != len(value):
            raise ConfigError(f"{where}: got {shown(value)}, need each seed once")
        return tuple(value)
    if value > 1_000_000:
        raise ConfigError(f"{where}: got {value:,}, need at most 1,000,000")
    return tuple((first or 0) + i for i in range(value))


def make(
    base: Mapping[str, Any],
    axes: Sequence[Axis],
    *,
    seeds: object = None,
    sample: Sample | None = None,
    settings: Mapping[str, Any] | None = None,
    first_seed: int | None = None,
    measure: str | None = None,
    keep_going: bool = False,
) -> Sweep:
    """Return a sweep of axes over an experiment.

    Raises:
        ConfigError: there are no axes and no seeds, too many runs, or one key on two axes.
    """
    own = first_seed if first_seed is not None else _own_seed(base)
    chosen = seed_list(seeds, own)
    if not axes and seeds is None:
        raise ConfigError("sweep: got no axis and no seeds, need at least one of them")
    found = points(axes, sample or Sample(), len(chosen)) if axes else [{}]
    if first_seed is not None and seeds is None:
        chosen = (first_seed,)
    return Sweep(
        base,
        tuple(axes),
        tuple(found),
        chosen,
        dict(settings or {}),
        MEASURE if measure is None else measure,
        keep_going,
    )


def _own_seed(base: Mapping[str, Any]) -> int | None:
    """Return the seed that the experiment names, if it is known without opening it."""
    try:
        run = (tables(base) or {}).get("run")
    except ValueError:
        return None  # the core reports the error with its place
    seed = run.get("seed") if isinstance(run, dict) else None
    return seed if isinstance(seed, int) else None


def tables(base: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the tables of an experiment; None of a DiskSim file.

    Raises:
        ConfigError: its file cannot be used.
        ValueError: its text is not TOML, or without a file not JSON.
    """
    file, text = base.get("file"), base.get("text")
    if text is not None:
        found = json.loads(text) if file is None else tomllib.loads(text)
        return found if isinstance(found, dict) else {}
    if file is not None:
        return drives.read_toml(file) if Path(file).suffix == ".toml" else None
    return {}


def read(path: str | Path) -> dict[str, Any]:
    """Return the arguments of `make` that a sweep's file gives, `axes` and `base` included.

    Raises:
        ConfigError: the file cannot be used; the message names file and key.
    """
    path = Path(path)
    document = drives.read_toml(path)
    try:
        return _arguments(document, path)
    except ConfigError as e:
        if str(e).startswith(str(path)):
            raise
        raise ConfigError(f"{path}: {e}") from None


def _arguments(document: Mapping[str, Any], path: Path) -> dict[str, Any]:
    for key in document:
        if key not in KEYS:
            raise ConfigError(need_one_of("sweep", key, KEYS))
    given = document.get("experiment")
    if isinstance(given, str):
        file = path.parent / given
        if not file.is_file():
            raise ConfigError(f'experiment: got "{given}", need a file that exists')
        base: dict[str, Any] = {"file": str(file)}
    elif isinstance(given, Mapping):
        from headstack import _toml

        # Relative paths start from the folder of the sweep's file.
        base = {"file": str(path), "text": _toml.dumps(given)}
    else:
        raise ConfigError("experiment: got none, need the path of an experiment, or its tables as [experiment]")
    axes = document.get("axis", [])
    if not isinstance(axes, list):
        raise ConfigError("axis: got one table, need a list of them: [[axis]]")
    measure = document.get("measure")
    if measure is not None and not isinstance(measure, str):
        raise ConfigError(f"measure: got {shown(measure)}, need the name of a column")
    keep_going = document.get("keep_going", False)
    if not isinstance(keep_going, bool):
        raise ConfigError(f"keep_going: got {shown(keep_going)}, need true or false")
    return {
        "base": base,
        "axes": [read_axis(a, f"axis[{i}]") for i, a in enumerate(axes)],
        "seeds": document.get("seeds"),
        "sample": read_sample(document["sample"]) if "sample" in document else None,
        "measure": measure,
        "keep_going": keep_going,
    }
