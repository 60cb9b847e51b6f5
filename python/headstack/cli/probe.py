"""``headstack probe``."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from headstack.cli import _terminal
from headstack.cli._arguments import Argument, Option
from headstack.cli._options import drive_names
from headstack.errors import ConfigError

if TYPE_CHECKING:
    from headstack.probe import Probed


def _targets() -> list[str]:
    return [f"sim:{name}" for name in drive_names()]


def command(
    target: Annotated[
        str | None,
        Argument(
            "TARGET",
            help="A block device, nbd://HOST/EXPORT, iscsi://HOST/NAME/LUN, sim:DRIVE or sim:FILE.toml.",
            suggest=_targets,
        ),
    ] = None,
    budget: Annotated[str, Option(metavar="TIME", help="Time of the target that may be used.")] = "10min",
    out: Annotated[Path | None, Option("--out", "-o", metavar="FILE", help="The drive file to write.")] = None,
    page: Annotated[Path | None, Option(metavar="FILE", help="The page to write.")] = None,
    log: Annotated[Path | None, Option(metavar="FILE", help="Keep every call and its answer in this file.")] = None,
    resume: Annotated[bool, Option("--resume", help="Go on with the file of --log.")] = False,
    from_log: Annotated[
        Path | None, Option("--from", metavar="LOG", help="Work out a log again, without a target.")
    ] = None,
    steps: Annotated[
        list[str] | None,
        Option(
            "--steps",
            metavar="STEP",
            help="Only this step after the geometry: seek, switches, buffer, actuators, queue, "
            "idle, power, writes or replay; may be given several times.",
        ),
    ] = None,
    maps: Annotated[
        Path | None, Option("--map", metavar="DIR", help="Write a map of ddrescue for each head: head-N.map.")
    ] = None,
    compare: Annotated[str | None, Option(metavar="DRIVE", help="Say what differs from this drive.")] = None,
    sweep: Annotated[
        str | None, Option(metavar="SIZE", help="Instead, read all in blocks of this size. It takes hours.")
    ] = None,
    sibling: Annotated[
        str | None, Option(metavar="TARGET", help="Instead, tell whether this other unit is of the same spindle.")
    ] = None,
    trials: Annotated[int, Option(min=1, help="With --sweep: how often.")] = 10,
    lateness: Annotated[str | None, Option(metavar="TIME", help="Lateness of a simulated target's host.")] = None,
    disturbed: Annotated[float, Option(help="Share of a simulated target's reads that wait for others.")] = 0.0,
    beside: Annotated[float, Option(help="Share of a simulated target's time that another client takes.")] = 0.0,
    seed: Annotated[int, Option(min=0, help="Seed of addresses and of simulated targets.")] = 0,
    allow_writes: Annotated[
        str | None, Option(metavar="FIRST+BLOCKS", help="Also write into these blocks, with what they contain.")
    ] = None,
    confirm: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="With --allow-writes: model and serial number of the target, or its address if it has none.",
        ),
    ] = None,
    change_settings: Annotated[
        list[str] | None,
        Option(
            "--change-settings",
            metavar="NAME=on|off",
            help="For the time of the probe: write-cache, read-cache, read-ahead or idle of a SCSI "
            "disk; may be given several times.",
        ),
    ] = None,
    meter: Annotated[
        str | None,
        Option(
            metavar="METER",
            help="Also measure power: file:PATH, hwmon:PATH, 'command:PROGRAM ARGUMENTS', a table "
            "as headstack-capd has it, or sim for a simulated drive's own.",
        ),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Measure a disk and write a drive file that the simulator loads.

    It only reads, unless writes are allowed. Every value is measured, declared, a default of the
    class or not identifiable, with its interval. A simulated drive takes seconds: it has a clock
    of its own.

    Examples:
      headstack probe sim:wd-re3-2009 -o mine.toml --page mine.html
      headstack probe /dev/sdb --budget 10min --log sdb.log -o sdb.toml
      headstack probe --from sdb.log -o sdb.toml
    """
    from headstack import probe

    if allow_writes is not None and confirm is None and sys.stdin.isatty():
        confirm = input("model and serial number of the disk that is written: ")
    if out is not None and out.suffix != ".toml":
        raise ConfigError(f'--out: got "{out}", need a name that ends in .toml')
    if sweep is not None or sibling is not None:
        simulated = (lateness, disturbed, beside, seed)
        _instead(target, sibling, (sweep, trials), budget, simulated, as_json)
        return

    def told(step: str, left_s: float, known: str) -> None:
        if sys.stderr.isatty():
            so_far = f"; so far: {known}" if known else ""
            print(f"{step}: {left_s:.0f} s left{so_far}", file=sys.stderr)

    found = probe.probe(
        target,
        budget=budget,
        log=log,
        resume=resume,
        from_log=from_log,
        steps=steps,
        lateness=lateness,
        disturbed=disturbed,
        beside=beside,
        seed=seed,
        told=told,
        allow_writes=allow_writes,
        confirm=confirm,
        change_settings=change_settings or (),
        meter=meter,
    )
    written = []
    if out is not None:
        written.append(found.write_drive(out))
    if page is not None:
        written.append(found.write_page(page))
    if maps is not None:
        written += _maps(found, maps)
    if as_json:
        _terminal.print_json(found.document())
    else:
        _print(found)
    if compare is not None:
        _compare(found, compare, as_json)
    _terminal.say_written(written, as_json)


def _print(found: "Probed") -> None:
    """Print the result in one sentence, the values, and what stays unknown."""
    from headstack.probe import lines

    _terminal.say(found.sentence)
    _terminal.between()
    _terminal.print_table(
        [("value", True), ("found", True), ("how", True)],
        [[name, v.shown, str(v)] for name, v in found.values().items()],
    )
    _terminal.between()
    if found.found is not None:
        for line in lines.text(found.found, found.replay):
            _terminal.say(line)
        _terminal.between()
    for note in found.notes:
        _terminal.say(f"note: {note}")


def _maps(found: "Probed", folder: Path) -> list[Path]:
    """Write a map of ddrescue for each head."""
    from headstack.probe import lines
    from headstack.runs import outputs

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for head in range(found.geometry.heads):
        path = folder / f"head-{head}.map"
        text = lines.rescue_map(found.geometry, head, int(found.described["block_bytes"]))
        with outputs.whole_file(path) as part:
            part.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


def _compare(found: "Probed", drive: str, as_json: bool) -> None:
    from headstack import drives
    from headstack.probe import compare, drive_file

    if found.found is None:
        raise ConfigError("--compare: got no step seek, need it")
    mine, _ = drive_file.spec(found.found)
    told = compare.text(compare.differences(mine, drives.load(drive)))
    for line in told.splitlines():
        _terminal.say(line, as_json=as_json)


def _instead(
    target: str | None,
    sibling: str | None,
    sweep: tuple[str | None, int],
    budget: str,
    simulated: tuple[str | None, float, float, int],
    as_json: bool,
) -> None:
    """Read the whole target in blocks, or tell whether another unit is of the same spindle."""
    from headstack import _bridge, probe
    from headstack.probe import spindle
    from headstack.probe import sweep as sweeps

    size, trials = sweep
    if target is None:
        option = "--sibling" if size is None else "--sweep"
        raise ConfigError(f"{option}: got no target, need one")
    with ExitStack() as stack:
        names = [target] if size is not None or sibling is None else [target, sibling]
        units = [stack.enter_context(probe.opened(name, *simulated)) for name in names]
        if size is not None:
            block = int(_bridge.call("quantity", "size", size))
            found = sweeps.measure(units[0], block, trials=trials).summary
            lines = [f"{key}: {value}" for key, value in found.items()]
        else:
            seconds = float(_bridge.call("quantity", "time", budget))
            both = spindle.compare(units[0], units[1], seconds)
            found, lines = {**both._asdict(), "apart": both.apart.as_dict()}, [both.sentence]
    if as_json:
        _terminal.print_json(found)
        return
    for line in lines:
        _terminal.say(line)
