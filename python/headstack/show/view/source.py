"""The run that is shown: an experiment file, or the experiment that a result holds."""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headstack import _bridge
from headstack.errors import ConfigError
from headstack.runs import outputs
from headstack.suggest import need_one_of

if TYPE_CHECKING:
    from headstack.runs.api import Result

#: Most folders in the current one that are searched for the traces of a result.
_MOST_FOLDERS = 200


@dataclass(frozen=True)
class Source:
    """An experiment in the form of the core.

    Attributes:
        file: its file, or the place that relative paths start from.
        text: its text, if it is not read from the file.
        names: names of its systems and of its workloads.
        document: the result document, if there is one.
        places: actual paths of traces.
    """

    file: str | None
    text: str | None
    names: tuple[list[str], list[str]]
    document: Mapping[str, Any] | None = None
    places: Mapping[str, Path] = field(default_factory=dict)

    def systems(self, given: Sequence[str | int] | None, most: int) -> list[int]:
        """Return the numbers of systems, by names or numbers; the first ones by default."""
        names = self.names[0]
        if given is None:
            return list(range(min(most, len(names))))
        if not 1 <= len(given) <= most:
            raise ConfigError(f"system: got {len(given)} of them, need 1 to {most}")
        return [_number("system", one, names) for one in given]

    def workload(self, given: str | int | None) -> int:
        """Return the number of a workload, by name or number; the first one by default."""
        return 0 if given is None else _number("workload", given, self.names[1])

    def _ran(self, system: int, workload: int) -> Mapping[str, Any]:
        """Return the result of a system on a workload; nothing if there is none."""
        listed = (self.document or {}).get("systems") or []
        i = system * len(self.names[1]) + workload
        return listed[i] if i < len(listed) else {}

    def busiest(self, system: int, workload: int) -> int:
        """Return when most requests were in a system, in nanoseconds; 0 without a result."""
        series = self._ran(system, workload).get("series") or {}
        depth, times = series.get("queue_depth") or [], series.get("t_s") or []
        if not depth or len(depth) != len(times):
            return 0
        deepest = max(range(len(depth)), key=lambda i: float(depth[i] or 0))
        return round(float(times[deepest]) * 1e9)

    def end(self, systems: Sequence[int], workload: int) -> float:
        """Return when the last request of these systems has completed, in s; infinite: unknown."""
        found = []
        for system in systems:
            one = self._ran(system, workload)
            times = (one.get("series") or {}).get("t_s")
            # What is known of an interrupted run ends before the run does.
            if not times or one.get("partial"):
                return math.inf
            found.append(float(times[0]) + float(one["duration_s"]))
        return max(found, default=math.inf)


def _number(what: str, given: str | int, names: Sequence[str]) -> int:
    if isinstance(given, str) and given in names:
        return names.index(given)
    number = int(given) if isinstance(given, int) or given.isdecimal() else -1
    if not 0 <= number < len(names):
        raise ConfigError(need_one_of(what, str(given), names))
    return number


def of(run: "Result | str | os.PathLike[str]", base: str | os.PathLike[str] | None) -> Source:
    """Return the experiment of a result, of the folder or file of one, or of an experiment file.

    Raises:
        ConfigError: there is none, or a result's traces cannot be found.
    """
    import headstack

    if isinstance(run, headstack.Result):
        return _of_result(run, base)
    path = Path(run)
    if path.is_dir() or path.suffix == ".json":
        return _of_result(headstack.load(path), base)
    if base is not None:
        raise ConfigError("base: got a folder, need none: paths start from the experiment's folder")
    if path.suffix == ".parv":
        document = _bridge.call("import_experiment", str(path), None, False)["document"]
    else:
        document = _bridge.call("read_toml", str(path))
    return Source(str(path), None, _names(document))


def _names(document: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the names of systems and workloads, numbers where they have none."""

    def of(key: str) -> list[str]:
        listed = document.get(key, document.get(f"{key}s")) or []
        tables = listed if isinstance(listed, list) else [listed]
        return [str(t.get("name") or i) if isinstance(t, Mapping) else str(i) for i, t in enumerate(tables)]

    return of("system"), of("workload")


def _of_result(result: "Result", base: str | os.PathLike[str] | None) -> Source:
    document = result.document
    experiment = document.get("experiment")
    if not isinstance(experiment, Mapping):
        raise ConfigError("experiment: got results without one, need results of this version, or an experiment")
    wanted = [i for i in document.get("inputs") or () if i.get("path")]
    folder = Path(base) if base is not None else _base(result.out, wanted)
    for one in wanted:
        _check(folder / str(one["path"]), one)
    from headstack.runs import resolved

    text = resolved.experiment_toml(document)
    # Only the folder of the name is used.
    file = folder / "experiment.toml"
    return Source(str(file), text, _names(experiment), document)


def _base(out: Path | None, wanted: Sequence[Mapping[str, Any]]) -> Path:
    """Return the folder in which all files of an experiment are."""
    for folder in _folders(out):
        if all((folder / str(one["path"])).is_file() for one in wanted):
            return folder
    missing = str(wanted[0]["path"])
    raise ConfigError(
        f"{missing}: got no such file, need it as the run read it; name the folder of its experiment with --base"
    )


def _folders(out: Path | None) -> Iterator[Path]:
    """Yield the folders where the experiment of a result may be."""
    here = Path()
    yield here
    if out is not None:
        yield from (out, *out.resolve().parents)
    yield from sorted(p for p in here.iterdir() if p.is_dir())[:_MOST_FOLDERS]


def _check(path: Path, given: Mapping[str, Any]) -> None:
    """Refuse a file that is not the one that the run read."""
    if not path.is_file():
        raise ConfigError(f"{path}: got no such file, need the file that the run read")
    sha256 = given.get("sha256")
    if not sha256:
        return
    if given.get("bytes") is not None and path.stat().st_size != given["bytes"]:
        got = f"{path.stat().st_size} bytes"
        raise ConfigError(f"{path}: got {got}, need the {given['bytes']} that the run read")
    if outputs.sha256(path) != sha256:
        raise ConfigError(f"{path}: got other bytes than the run read, need the same")
