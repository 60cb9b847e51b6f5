"""``headstack population``."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from headstack.cli import _options, _terminal
from headstack.cli._arguments import Argument, Option
from headstack.cli._options import Form
from headstack.errors import ConfigError
from headstack.paths import output_directory
from headstack.suggest import need_one_of

if TYPE_CHECKING:
    from headstack.drives.population import Population


def _names() -> list[str]:
    from headstack.drives import population

    return list(population.PRESETS)


def command(
    drive: Annotated[
        str, Argument("DRIVE", help="A preset, or the name or file of a drive with layout adaptive.", suggest=_names)
    ],
    n: Annotated[int | None, Option("--n", metavar="N", min=1, help="Drives to draw.")] = None,
    seed: Annotated[int, Option(metavar="S", min=0, help="Of the random streams.")] = 0,
    policy: Annotated[
        str | None, Option(metavar="NAME", help="What the maker does with heads: classic, adaptive, binned.")
    ] = None,
    changes: Annotated[
        list[str] | None,
        Option("--set", metavar="KEY=VALUE", help="Change the preset, as in heads.head_sd=0.05 or policy.highest=2."),
    ] = None,
    out: Annotated[
        Path | None, Option("--out", "-o", metavar="DIR", help="Write tables, summary, figures, drive files.")
    ] = None,
    files: Annotated[int, Option("--drives", metavar="K", min=0, help="Drive files to write into DIR/drives.")] = 0,
    form: Form = "text",
    as_json: Annotated[bool, Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Draw drives that share a design and differ by their heads; tell how they differ.

    Heads are drawn from a distribution, the maker's policy gives each a density or scraps it, and
    what results are drives of one capacity and unlike speed. The presets are the drives of "Disks
    are like snowflakes" and one of today; see headstack docs models/adaptive-zoning.

    Examples:
      headstack population barracuda-es2-2008
      headstack population helium-20tb --n 1000 --seed 7 --out out/fleet --drives 10
      headstack population wd-re3-2009 --policy classic --set heads.head_sd=0.05
    """
    from headstack.drives import population

    _terminal.check_form(form, as_json)
    if files and out is None:
        raise ConfigError("--drives: got it without --out, need a folder for the files")
    preset = population.PRESETS.get(drive, population.Preset(drive))
    chosen = _changed(preset, changes)
    if policy is not None:
        chosen = replace(chosen, policy=replace(chosen.policy, name=policy))
    drawn = population.draw(chosen, n, seed)
    if files > len(drawn):
        raise ConfigError(f"--drives: got {files}, need at most the {len(drawn)} that are drawn")
    said = population.summary(drawn)
    written: list[Path] = []
    if out is not None:
        from headstack.drives.population import files as writer

        output_directory(out, "--out")
        written = writer.write(drawn, out, files)
    if as_json:
        _terminal.print_json(said)
    else:
        _print(drawn, said, form)
    _terminal.say_written(written, as_json, form)


def _changed(preset: Any, given: list[str] | None) -> Any:
    """Return a preset with what ``--set`` changes: keys ``heads.NAME`` and ``policy.NAME``."""
    tables = {"heads": preset.heads, "policy": preset.policy}
    known = [f"{table}.{key}" for table, has in tables.items() for key in has.document()]
    for key, value in _options.settings(given).items():
        if key not in known:
            raise ConfigError(need_one_of("--set", key, known))
        table, _, name = key.partition(".")
        tables[table] = replace(tables[table], **{name: value})
    return replace(preset, **tables)


def _print(drawn: "Population", said: Mapping[str, Any], form: str) -> None:
    title = f"{said['drive']}: {said['n_drives']:,} drives of {said['n_heads']} heads, seed "
    _terminal.say(f"{title}{said['seed']}, {said['policy']['name']} zoning", form)
    rows = [
        _row("rate over the first quarter, MB/s", said["between_drives"], 1e-6, "{:,.1f}"),
        _row("fastest head over slowest of a drive, %", said["within_drive"], 100, "{:.1f}"),
        _row("format over the capacity, %", _over(said), 100, "{:.2f}"),
        _row("outermost zone, MB/s", said["zone_rates"][0], 1e-6, "{:,.1f}"),
        _row("innermost zone, MB/s", said["zone_rates"][-1], 1e-6, "{:,.1f}"),
    ]
    headings = ("mean", "deviation", "least", "5 %", "median", "95 %", "most")
    _terminal.print_table([("of drives", True), *((h, False) for h in headings)], rows, form=form)
    between, heads = said["between_drives"], said["yield"]
    _terminal.say(
        f"drives from {100 * between['slowest_below_mean']:.1f} % below to "
        f"{100 * between['fastest_above_mean']:.1f} % above the mean; capacity "
        f"{said['capacity_bytes'] / 1e9:,.0f} GB each; {said['weak_drives']} weak, "
        f"{said['damaged_drives']} with damaged areas",
        form,
    )
    _terminal.say(
        f"heads: {heads['heads_taken']:,} taken, {heads['heads_scrapped']:,} scrapped, "
        f"{heads['heads_diverted']:,} diverted, yield {100 * heads['head_yield']:.1f} %, "
        f"{heads['heads_usd_per_drive']:.2f} $ a drive; "
        f"classes {', '.join(f'{k}: {v:,}' for k, v in said['classes'].items())}",
        form,
    )


def _over(said: Mapping[str, Any]) -> dict[str, float]:
    """Return by how much the formats hold more than the capacity, as a share."""
    capacity = said["capacity_bytes"]
    raw = said["raw_bytes"]
    return {k: v / capacity - (k != "sd") for k, v in raw.items()}


def _row(what: str, values: Mapping[str, float], unit: float, form: str) -> list[str]:
    keys = ("mean", "sd", "min", "p5", "median", "p95", "max")
    return [what, *(form.format(unit * values[k]) for k in keys)]
