"""``headstack drives``."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from headstack.cli._arguments import Argument, Option
from headstack.cli._options import SourcesAnywhere


def _rows(spec: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Give each value with its dotted key; long lists are counted, not printed."""
    for key, value in spec.items():
        dotted = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _rows(value, f"{dotted}.")
        elif isinstance(value, list) and (len(value) > 6 or any(map(_nested, value))):
            yield dotted, f"{len(value)} entries"
        else:
            yield dotted, str(value)


def _nested(value: object) -> bool:
    return isinstance(value, Mapping | list)


def _summary(info: Mapping[str, Any]) -> None:
    """Print what follows from the values: capacity, seek, power by state, cost."""
    print(
        f"capacity {info['capacity_bytes'] / 1e9:,.2f} GB, "
        f"average seek {info['average_seek_s'] * 1e3:.2f} ms"
    )
    watts = [f"{k} {w:.2f} W" for k, w in info["power_w"].items() if not k.endswith("_s")]
    seconds = info["power_w"].get("spin_up_s")
    if seconds is not None:
        watts.append(f"ready after {seconds:g} s")
    print(f"power {', '.join(watts)}")
    cost = info.get("cost_usd")
    if cost:
        print(f"cost {cost['low']:,.2f} to {cost['high']:,.2f} USD")


def command(
    name: Annotated[str | None, Argument("NAME", help="A drive's name or its file.")] = None,
    plot: Annotated[
        Path | None,
        Option(metavar="DIR", help="Write the seek curve and the zones as PNG and SVG."),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON document.")] = False,
    sources_anywhere: SourcesAnywhere = False,
) -> None:
    """List the drives, or show one with the source of each value.

    More drives are found in the directories of $HEADSTACK_DRIVES (separated by colons).

    Examples:
      headstack drives
      headstack drives cheetah-10k-19g --plot out/cheetah

    """
    import json

    from headstack import _bridge, drives
    from headstack.cli import _terminal
    from headstack.errors import ConfigError

    if name is None:
        if plot is not None:
            raise ConfigError("drives: got --plot without a drive, need the name of one")
        listed = []
        for drive in drives.names():
            spec = drives.load(drive)
            geometry = spec.get("geometry", {})
            listed.append(
                {
                    "name": drive,
                    "title": spec.get("title", ""),
                    "rotation_speed": geometry.get("rotation_speed", ""),
                    "n_surfaces": geometry.get("surfaces"),
                }
            )
        if as_json:
            _terminal.print_json({"drives": listed})
        else:
            _terminal.print_table(
                [("drive", True), ("title", True), ("speed", False), ("surfaces", False)],
                [[str(v) for v in d.values()] for d in listed],
            )
        return
    file = drives.find(name)
    spec = drives.load(name, sources_anywhere=sources_anywhere)
    info = None
    if _bridge.known("drive_info"):
        try:
            info = _bridge.call("drive_info", json.dumps(spec))
        except ConfigError as e:
            raise ConfigError(f"{file}: {e}") from None
    written: list[Path] = []
    if plot is not None:
        from headstack import plots

        described = info or _bridge.call("drive_info", json.dumps(spec))
        described.setdefault("name", spec.get("name", name))
        written += plots.save(plots.seek_curve(described), plot / "seek-curve")
        written += plots.save(plots.zones(described), plot / "zones")
    if as_json:
        _terminal.print_json({"file": str(file), "spec": spec, "info": info})
    else:
        _terminal.say(f"{spec.get('name', name)}: {spec.get('title', '')}")
        for line in str(spec.get("description", "")).strip().splitlines():
            _terminal.say(line)
        sources = spec.get("sources", {})
        shown = {k: v for k, v in spec.items() if k not in ("name", "title", "description")}
        shown.pop("sources", None)
        _terminal.print_table(
            [("key", True), ("value", True), ("source", True)],
            [[k, v, drives.source_of(sources, k)] for k, v in _rows(shown)],
        )
        if info:
            _summary(info)
        _terminal.say(f"file {file}")
    _terminal.told(written, as_json)
