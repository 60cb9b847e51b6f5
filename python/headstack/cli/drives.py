"""``headstack drives``."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from headstack.cli import _terminal
from headstack.cli._arguments import Argument, Option
from headstack.cli._options import Form, SourcesAnywhere, drive_names
from headstack.errors import ConfigError


def _rows(spec: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield each value with its dotted key; long lists are counted, not printed."""
    for key, value in spec.items():
        dotted = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _rows(value, f"{dotted}.")
        elif isinstance(value, list) and (len(value) > 6 or any(isinstance(v, Mapping | list) for v in value)):
            yield dotted, f"{len(value)} entries"
        else:
            yield dotted, str(value)


#: Headings of the table of all drives, and whether the column is text.
_HEADINGS = (
    ("drive", True),
    ("year", False),
    ("capacity GB", False),
    ("rpm", False),
    ("MB/s", False),
    ("seek ms", False),
    ("actuators", False),
    ("idle W", False),
    ("seek W", False),
    ("material $", False),
    ("retail $", False),
    ("title", True),
)

#: Those for which a narrow terminal has no room.
_WIDE = ("seek W", "material $", "retail $", "title")


def _list(rows: Sequence[Mapping[str, Any]], as_json: bool, form: str) -> None:
    """Print the table of all drives; list unusable files on standard error."""
    usable = [row for row in rows if "error" not in row]
    if as_json:
        _terminal.print_json({"drives": rows})
    else:
        short = [i for i, (title, _) in enumerate(_HEADINGS) if title not in _WIDE]
        cells = [_cells(row) for row in usable]
        if not _terminal.print_table(_HEADINGS, cells, form=form, short=short):
            _terminal.say("more on a wider terminal, in a pipe, or of one drive: headstack drives NAME")
        _terminal.say(
            "MB/s: sustained, outside to inside, all actuators; seek: average; $: of parts or of a "
            "shop, in different years",
            form,
        )
        if any(row["power_is_default"] for row in usable):
            _terminal.say("(W): defaults of the power model, which the file does not give", form)
    for row in rows:
        if "error" in row:
            print(row["error"], file=sys.stderr)


def _cells(row: Mapping[str, Any]) -> list[str]:
    rates = [f"{row['sustained_bytes_per_s'][end] / 1e6:,.3g}" for end in ("outer", "inner")]
    form = "({:,.2f})" if row["power_is_default"] else "{:,.2f}"
    cost = row["cost_usd"]
    price = f"{cost['low']:,.0f}-{cost['high']:,.0f}" if cost else "-"
    kind = row["cost_kind"]
    return [
        row["name"],
        str(row["year"] or "-"),
        f"{row['capacity_bytes'] / 1e9:,.1f}",
        f"{row['rotation_speed_rpm']:,.0f}",
        "-".join(dict.fromkeys(rates)),
        f"{row['average_seek_s'] * 1e3:.1f}",
        str(row["n_actuators"]),
        *(form.format(row["power_w"][state]) for state in ("idle", "seek")),
        price if kind == "material" else "-",
        price if kind == "retail" else "-",
        row["title"],
    ]


#: What stands for the source of a value that nobody gave.
DEFAULT = "default: the file does not say it"


def _summary(info: Mapping[str, Any]) -> Iterator[str]:
    """Yield the derived values: capacity, rate, seek, power by state, cost."""
    from headstack import drives
    from headstack.show import table

    rates = info["sustained_bytes_per_s"]
    yield (
        f"capacity {info['capacity_bytes'] / 1e9:,.2f} GB, "
        f"long reads {rates['outer'] / 1e6:,.1f} MB/s outside, {rates['inner'] / 1e6:,.1f} inside, "
        f"average seek {info['average_seek_s'] * 1e3:.2f} ms, {info['n_actuators']} actuator(s)"
    )
    watts = [f"{k} {w:.2f} W" for k, w in info["power_w"].items() if not k.endswith("_s")]
    seconds = info["power_w"].get("spin_up_s")
    if seconds is not None:
        watts.append(f"ready after {seconds:g} s")
    lacking = drives.not_given(info).get("power")
    of = "no power" if lacking == [] else f"no {', '.join(lacking or ())}"
    default = "" if lacking is None else f" (defaults of the power model: the file has {of})"
    yield f"power {', '.join(watts)}{default}"
    yield from _surfaces(info.get("surfaces") or [])
    cost = info.get("cost_usd")
    if cost:
        year = f", drive of {info['year']}" if info.get("year") else ""
        yield f"cost {cost['low']:,.2f} to {cost['high']:,.2f} USD{year}"
    said = table.not_given_of(info)
    if said:
        yield f"the file does not say: {', '.join(said)}"
    if info["missing"]:
        yield f"parts of which the file says nothing: {', '.join(info['missing'])}"


def _surfaces(surfaces: Sequence[Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    """Give the format of each surface in its first and last zone."""
    for head, zones in enumerate(surfaces):
        first, last = zones[0], zones[-1]
        parts = [
            f"tracks of {first['rate_bytes_per_s'] / 1e6:,.1f} MB/s outside, "
            f"{last['rate_bytes_per_s'] / 1e6:,.1f} inside"
        ]
        for key, name in (("bits_per_inch", "kBPI"), ("tracks_per_inch", "kTPI")):
            if key in first:
                ends = dict.fromkeys(f"{z[key] / 1e3:,.1f}" for z in (first, last))
                parts.append(f"{'-'.join(ends)} {name}")
        yield f"surface {head}: {', '.join(parts)}"


def new(
    name: Annotated[str, Argument("NAME", help="What the drive and its file are called.")],
    sheet: Annotated[
        Path | None, Option("--from", metavar="SHEET", help="A TOML file with values by the names below.")
    ] = None,
    capacity: Annotated[str | None, Option(metavar="SIZE", help='As in "4 TB".')] = None,
    rpm: Annotated[str | None, Option(metavar="N", help="Turns per minute, as in 7200.")] = None,
    heads: Annotated[int | None, Option(metavar="N", help="Heads; or give --platters.")] = None,
    platters: Annotated[int | None, Option(metavar="N", help="Platters of two heads.")] = None,
    rate: Annotated[
        str | None, Option(metavar="OUT/IN", help='Sustained rate outside and inside, as in "175/83 MB/s".')
    ] = None,
    seek: Annotated[
        str | None,
        Option(metavar="A/T/F", help='Seek: average, track to track, full, as in "8.5/0.8/17 ms"; or the average.'),
    ] = None,
    write_seek: Annotated[str | None, Option(metavar="TIME", help="Average seek before a write.")] = None,
    head_switch: Annotated[str | None, Option(metavar="TIME", help="To another head.")] = None,
    cache: Annotated[str | None, Option(metavar="SIZE", help="Buffer.")] = None,
    write_cache: Annotated[bool | None, Option(help="Whether writes are done when they are in the buffer.")] = None,
    power: Annotated[
        str | None, Option(metavar="IDLE/ACTIVE", help='Idle and in random reads, as in "8/11.3 W".')
    ] = None,
    standby: Annotated[str | None, Option(metavar="POWER", help="Power in standby.")] = None,
    link: Annotated[str | None, Option(metavar="RATE", help="The link's.")] = None,
    sector: Annotated[str | None, Option(metavar="SIZE", help="On the medium.")] = None,
    queue_depth: Annotated[int | None, Option(metavar="N", help="Commands; 0: all.")] = None,
    random_reads: Annotated[
        str | None, Option(metavar="N", help="Of 4 KiB per second at depth 16: fits the queue's order.")
    ] = None,
    diameter: Annotated[str | None, Option(metavar="LENGTH", help="Of the platters.")] = None,
    zones: Annotated[int | None, Option(metavar="N", help="How many to make.")] = None,
    price: Annotated[str | None, Option(metavar="LOW/HIGH", help="In US dollars.")] = None,
    year: Annotated[int | None, Option(metavar="N", help="When it came on the market.")] = None,
    title: Annotated[str | None, Option(metavar="TEXT", help="Maker, family, model.")] = None,
    source: Annotated[str | None, Option(metavar="TEXT", help="The data sheet's name.")] = None,
    out: Annotated[
        Path | None, Option("--out", "-o", metavar="FILE", help="NAME.toml or a folder; else ./NAME.toml.")
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Make a drive file from a data sheet: tracks, zones, skews and power are solved.

    Values given here replace those of the sheet. Required are capacity, rpm, heads or platters,
    rate and seek. See headstack docs drives for the derivation of the others.

    Example:
      headstack drives new nearline-4tb --capacity "4 TB" --rpm 7200 --heads 10
        --rate "175/83 MB/s" --seek "8.5/0.8/17 ms" --cache "128 MB" --power "8/11.3 W"
    """
    given = {key: value for key, value in locals().items() if value is not None}
    file, replace = given.pop("out", Path()), given.pop("force")
    from headstack import drives
    from headstack.drives import datasheet

    path = given.pop("sheet", None)
    values = {} if path is None else drives.read_toml(path)
    if values.get("name", name) != name:
        raise ConfigError(f'{path}: name: got "{values["name"]}", need "{name}"')
    try:
        drive = datasheet.solve({**values, **given})
    except ConfigError as e:
        raise ConfigError(f"drives new: {e}" if path is None else f"{path}: {e}") from None
    _terminal.say_written([_save(file, name, drive.text(), replace)], False)


def _save(file: Path, name: str, text: str, replace: bool) -> Path:
    """Write a drive file, whose name is the drive's; `file` may be a folder."""
    from headstack.runs import outputs

    file = file / f"{name}.toml" if file.is_dir() else file
    if file.name != f"{name}.toml":
        raise ConfigError(f'--out: got "{file}", need a file {name}.toml: the name is the file\'s')
    if file.exists() and not replace:
        raise ConfigError(f'--out: got "{file}", which exists, need another file or --force')
    with outputs.whole_file(file) as part:
        part.write_text(text, encoding="utf-8")
    return file


def depopulate(
    drive: Annotated[str, Argument("DRIVE", help="A drive's name or its file.", suggest=drive_names)],
    head: Annotated[
        int | None, Option(metavar="N", help="From 0. By default the one that the file's faults name.")
    ] = None,
    out: Annotated[
        Path | None, Option("--out", "-o", metavar="FILE", help="NAME-without-head-N.toml or a folder.")
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace a file that is there.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Tell what remains of a drive without one of its heads; with --out, write it as a drive file.

    Capacity, rates by zone, the time of one write of the whole medium, and which zones of a
    host-managed drive keep their data. See headstack docs depopulation.

    Examples:
      headstack drives depopulate helium-20tb --head 7
      headstack drives depopulate helium-20tb --head 7 --out .
    """
    from headstack import drives
    from headstack.drives import depopulation

    spec = drives.load(drive)
    chosen = depopulation.failed_head(spec) if head is None else head
    if chosen is None:
        need = f"a head: {drive} names no failed one, or several"
        raise ConfigError(f"drives depopulate: --head: got nothing, need {need}")
    try:
        found = depopulation.depopulate(spec, chosen)
    except ConfigError as e:
        raise ConfigError(f"drives depopulate: {drive}: {e}") from None
    if as_json:
        _terminal.print_json({**found.document(), "spec": found.spec})
    else:
        for line in depopulation.text(found):
            _terminal.say(line)
    if out is not None:
        file = _save(out, found.spec["name"], depopulation.file_text(found), force)
        _terminal.say_written([file], as_json)


def _names() -> list[str]:
    """Return the words that may follow ``drives``."""
    return [*drive_names(), *SUBCOMMANDS]


#: Commands that follow the word ``drives``.
SUBCOMMANDS = {"new": new, "depopulate": depopulate}


def command(
    name: Annotated[str | None, Argument("NAME", help="A drive's name or its file.", suggest=_names)] = None,
    plot: Annotated[
        Path | None, Option(metavar="DIR", help="Write the seek curve and the zones as PNG and SVG.")
    ] = None,
    form: Form = "text",
    as_json: Annotated[bool, Option("--json", help="Print one JSON document.")] = False,
    sources_anywhere: SourcesAnywhere = False,
) -> None:
    """List the drives, or show one with the source of each value; `drives new` makes one.

    `drives depopulate` tells what remains of one without a head.

    More drives are found in the directories of $HEADSTACK_DRIVES (separated by colons).

    Examples:
      headstack drives
      headstack drives cheetah-10k-19g --plot out/cheetah
      headstack drives new --help
    """
    from headstack import drives

    _terminal.check_form(form, as_json)
    if name is None:
        if plot is not None:
            raise ConfigError("drives: got --plot without a drive, need the name of one")
        _list(drives.rows(), as_json, form)
        return
    file = drives.find(name)
    spec = drives.load(name, sources_anywhere=sources_anywhere)
    info = drives.described(spec, file)
    written: list[Path] = []
    if plot is not None:
        from headstack.show import plots

        # Figures of other drives in the same folder are kept.
        charts = {"seek-curve": plots.seek_curve(info), "zones": plots.zones(info)}
        written += plots.save_of(file, plot, {f"{file.stem}-{k}": c for k, c in charts.items()})
    if as_json:
        _terminal.print_json({"file": str(file), "spec": spec, "info": info})
    else:
        _terminal.say(f"{spec.get('name', name)}: {spec.get('title', '')}", form)
        for line in str(spec.get("description", "")).strip().splitlines():
            _terminal.say(line, form)
        sources, defaults = spec.get("sources", {}), set(info["defaults"])
        told = ("name", "title", "description", "sources")
        shown = {k: v for k, v in info["description"].items() if k not in told}
        _terminal.print_table(
            [("key", True), ("value", True), ("source", True)],
            [[k, v, DEFAULT if k in defaults else drives.source_of(sources, k)] for k, v in _rows(shown)],
            form=form,
        )
        for line in (*_summary(info), f"file {file}"):
            _terminal.say(line, form)
    _terminal.say_written(written, as_json, form)
