"""Finds and reads drive files.

A drive is given by its name (the file's stem) or by path. Names are looked up in each directory of
``$HEADSTACK_DRIVES`` (separated like ``$PATH``), then among the drives of Headstack.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from headstack import _bridge, shipped
from headstack.errors import ConfigError
from headstack.suggest import need_one_of

if TYPE_CHECKING:
    import pandas as pd

    from headstack.schema import Drive

#: Suffixes of DiskSim parameter files, which the core's importer reads.
DISKSIM_SUFFIXES = (".parv", ".diskspecs", ".model")


def drive_dirs() -> list[Path]:
    """Return the directories with drive files, in the order in which names are looked up."""
    extra = [Path(p) for p in os.environ.get("HEADSTACK_DRIVES", "").split(os.pathsep) if p]
    return [d for d in [*extra, shipped.folder("drives")] if d.is_dir()]


def names() -> list[str]:
    """Return the names of all known drives, sorted."""
    return sorted({f.stem for d in drive_dirs() for f in d.glob("*.toml")})


def find(name: str | os.PathLike[str], base_dir: str | Path = ".") -> Path:
    """Return the file of a drive, given by name or by path relative to `base_dir`.

    Raises:
        ConfigError: there is no such drive; the message lists the known ones.
    """
    path = Path(base_dir) / name
    by_path = isinstance(name, os.PathLike) or os.sep in name
    if by_path or path.suffix in (".toml", *DISKSIM_SUFFIXES):
        if path.is_file():
            return path
        raise ConfigError(f'drive: got "{name}", need a file that exists')
    for directory in drive_dirs():
        file = directory / f"{name}.toml"
        if file.is_file():
            return file
    raise ConfigError(need_one_of("drive", str(name), names()))


def read_toml(path: str | Path) -> dict[str, Any]:
    """Return the document of a TOML file.

    Raises:
        ConfigError: the file is missing or invalid; the message names file and line.
    """
    document: dict[str, Any] = _bridge.call("read_toml", str(path))
    return document


def load(name: str | os.PathLike[str], base_dir: str | Path = ".", *, sources_anywhere: bool = False) -> "Drive":
    """Return a drive's description as in its file; DiskSim files are imported.

    Quantities are text with their unit, as in the file; defaults are not filled in.

    Args:
        name: a drive's name, or the path of its file.
        base_dir: directory of relative paths.
        sources_anywhere: whether a DiskSim file may name files outside its folder.

    Raises:
        ConfigError: there is no such drive, or its file is neither TOML nor a DiskSim file.

    Example:
        >>> from headstack import drives
        >>> all(isinstance(drives.load(n), dict) for n in drives.names())
        True
    """
    path = find(name, base_dir)
    if path.suffix in DISKSIM_SUFFIXES:
        imported: Drive = _bridge.call("import_disksim", str(path), sources_anywhere)["spec"]
        return imported
    return cast("Drive", read_toml(path))


#: Kind of price of each cost model; prices of different kinds cannot be compared.
PRICE_KINDS = {"components": "material", "price": "retail"}


def described(spec: Mapping[str, Any], where: object) -> dict[str, Any]:
    """Return values derived from a description: capacity, rates, zones, seek times, power, cost.

    Rates are in bytes per second, times in seconds, power in watts, cost in US dollars.

    Raises:
        ConfigError: the description cannot be used; the message begins with `where`.
    """
    import json

    try:
        info: dict[str, Any] = _bridge.call("drive_info", json.dumps(spec))
    except ConfigError as e:
        raise ConfigError(f"{where}: {e}") from None
    return info


def row(name: str) -> dict[str, Any]:
    """Return the main numbers of a drive, given by name or by path; see `rows`.

    Raises:
        ConfigError: there is no such drive, or its file cannot be used.
    """
    spec = load(name)
    info = described(spec, find(name))
    cost = info["cost_usd"]
    return {
        "name": name,
        "title": spec.get("title", ""),
        "year": info["year"],
        "capacity_bytes": info["capacity_bytes"],
        "rotation_speed": spec["geometry"]["rotation_speed"],
        "rotation_speed_rpm": 60.0 / info["rotation_s"],
        "n_surfaces": spec["geometry"]["surfaces"],
        "n_actuators": info["n_actuators"],
        "sustained_bytes_per_s": info["sustained_bytes_per_s"],
        "average_seek_s": info["average_seek_s"],
        "power_w": {k: info["power_w"][k] for k in ("idle", "seek", "standby")},
        "power_is_default": "power" in not_given(info),
        "cost_usd": cost,
        "cost_kind": PRICE_KINDS.get(spec["cost"]["model"], spec["cost"]["model"]) if cost else None,
    }


def rows() -> list[dict[str, Any]]:
    """Return one row of main numbers for every known drive, sorted by name.

    ``sustained_bytes_per_s`` has the ``outer`` and ``inner`` rates of long reads, all actuators
    together. ``power_is_default``: the file has no power or only a part of the watts, the others
    are the model's defaults.
    ``cost_kind``: "material" or "retail", which cannot be compared; None without a cost. A drive
    whose file cannot be used has ``error`` instead.

    Example:
        >>> [d["n_actuators"] for d in rows() if d["name"] == "exos-2x14"]
        [2]
    """
    found: list[dict[str, Any]] = []
    for name in names():
        try:
            found.append(row(name))
        except ConfigError as e:
            found.append({"name": name, "error": str(e)})
    return found


def overview() -> "pd.DataFrame":
    """Return the main numbers of every known drive as a frame, one row each, sorted by name.

    Nested keys of `rows` are joined with the unit last: ``power_idle_w``, ``cost_low_usd``. Drives
    whose files cannot be used are left out.

    Example:
        >>> frame = overview().set_index("name")
        >>> int(frame.loc["exos-2x14", "n_actuators"])
        2
    """
    import pandas as pd

    from headstack.results.frames import flat

    nested = {"sustained_bytes_per_s": "sustained", "power_w": "power_w", "cost_usd": "cost_usd"}
    found = []
    for one in rows():
        if "error" in one:
            continue
        table = {nested.get(key, key): value for key, value in one.items()}
        ends = table.pop("sustained")
        more = {f"sustained_{end}_bytes_per_s": rate for end, rate in ends.items()}
        found.append({**flat(table), **more})
    return pd.DataFrame(found)


def not_given(drive: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the parts of a drive that decide its numbers and are defaults, wholly or in part.

    Args:
        drive: one of ``systems[].drive`` of a result, or what `described` returns.

    Returns:
        By part (``cache``, ``queue``, ``power``): dotted keys of the values that nobody gave and
        that decide; none where nothing at all was said of the part.

    Example:
        >>> not_given({"unsaid": [{"part": "power", "key": "power.access", "taken": "3.07 W"}]})
        {'power': ['power.access']}
    """
    found: dict[str, list[str]] = {}
    for one in drive.get("unsaid") or ():
        found.setdefault(one["part"], []).extend([one["key"]] if one["key"] else [])
    return found


def from_datasheet(name: str, **sheet: Any) -> "Drive":
    """Return the description of a drive from its data sheet, for `headstack.run` or a file.

    Args:
        name: name of the drive.
        sheet: `capacity`, `rpm`, `heads` or `platters`, `rate`, `seek`, and other keys of
            `headstack.drives.datasheet`; quantities are text with a unit.

    Raises:
        ConfigError: a value is missing, or the values contradict each other.

    Example:
        >>> drive = from_datasheet("d", capacity="4 TB", rpm=7200, heads=10,
        ...                        rate="175/83 MB/s", seek="8.5 ms")
        >>> drive["geometry"]["surfaces"]
        10
    """
    from headstack.drives import datasheet

    return cast("Drive", datasheet.solve({"name": name, **sheet}).spec)


def source_of(sources: Mapping[str, str], key: str) -> str:
    """Return the source of the value at dotted `key`: that of the longest prefix with a source.

    Example:
        >>> source_of({"seek": "data sheet", "seek.full": "chosen"}, "seek.average")
        'data sheet'
    """
    parts = key.split(".")
    for n in range(len(parts), 0, -1):
        found = sources.get(".".join(parts[:n]))
        if found is not None:
            return found
    return ""
