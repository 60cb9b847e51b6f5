"""``headstack advise``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from headstack.cli import FAILED, INTERRUPTED, _options, _terminal
from headstack.cli._arguments import Option
from headstack.cli._options import Figures, Form, Jobs, Settings, Wide
from headstack.errors import ConfigError
from headstack.paths import output_directory

if TYPE_CHECKING:
    from headstack.advice import Advice

#: What is not of the question.
_SHOWN = ("settings", "as_json", "form", "wide", "figures")

#: Settings of which several may be tried.
_TRIED = ("dash", "schedulers", "caches", "chunks")


def command(
    trace: Annotated[str | None, Option("--trace", metavar="TRACE", help="The load; needed.")] = None,
    goal: Annotated[
        str | None, Option("--goal", metavar="GOAL", help='What must be kept, as in "p99<30ms"; needed.')
    ] = None,
    capacity: Annotated[str | None, Option(metavar="SIZE", help='Least usable capacity, as in "200 TB".')] = None,
    power: Annotated[str | None, Option(metavar="POWER", help='Most mean power of all drives, as in "2 kW".')] = None,
    budget: Annotated[float | None, Option(metavar="USD", min=0, help="Most dollars for the drives.")] = None,
    growth: Annotated[float, Option(metavar="FACTOR", help="Load and capacity grow by this factor.")] = 1.0,
    survives: Annotated[int, Option(metavar="N", min=0, max=1, help="Failed drives that the data must survive.")] = 0,
    drives: Annotated[
        str | None, Option(metavar="A,B", help="Drives to choose from; those of recent years unless said.")
    ] = None,
    dash: Annotated[str | None, Option(metavar="A,B", help="Arms and heads to try, as in D1A1S1H1,D1A2S1H1.")] = None,
    organisations: Annotated[
        str | None, Option(metavar="A,B", help="Of raid0, raid10, raid5; all unless said.")
    ] = None,
    depths: Annotated[str | None, Option(metavar="A,B", help="Queue depths to try; the drive's unless said.")] = None,
    schedulers: Annotated[str | None, Option(metavar="A,B", help="Schedulers to try; the drive's unless said.")] = None,
    caches: Annotated[
        str | None, Option(metavar="A,B", help="Of write-through and write-back; as in the drive's file unless said.")
    ] = None,
    chunks: Annotated[
        str | None, Option(metavar="A,B", help='Chunks to try, as in "64 KiB,512 KiB"; run\'s unless said.')
    ] = None,
    group: Annotated[
        int, Option(metavar="N", min=3, help="Most drives of one RAID-5 group; more are groups, striped.")
    ] = 16,
    prices: Annotated[
        Path | None, Option(metavar="FILE", help="Table of prices of drives; else that of $HEADSTACK_PRICES.")
    ] = None,
    minimise: Annotated[
        str | None,
        Option(
            metavar="WHAT",
            help="drives, power, or cost: price and energy. Cost unless a price is unknown, then drives.",
            suggest=lambda: ("drives", "power", "cost"),
        ),
    ] = None,
    years: Annotated[float, Option(metavar="N", help="Years of energy in costs.")] = 5.0,
    most: Annotated[int, Option(min=1, max=1000, help="Most drives.")] = 64,
    seeds: Annotated[int, Option(min=1, max=100, help="Seeds of a system near the limit.")] = 3,
    settings: Settings = None,
    out: Annotated[
        Path | None,
        Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Write page, answer, the recommended experiment and its report; keeps all runs.",
        ),
    ] = None,
    jobs: Jobs = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON document instead of text.")] = False,
    form: Form = "text",
    wide: Wide = False,
    figures: Figures = True,
) -> int | None:
    """Choose drives, their number and organisation for a trace and a goal.

    Says how sure the answer is, what binds, why others are worse, and what would change it. The
    exit code is 1 if no system meets the goal.

    Examples:
      headstack advise --trace examples/traces/pgbench.csv.zst --goal p99=30ms --capacity "20 TB"
      headstack advise --trace TRACE --goal "p99<30ms" --survives 1 --power "200 W" --out out/advice
    """
    given: dict[str, Any] = {k: v for k, v in locals().items() if k not in _SHOWN}
    from headstack import advice

    _terminal.check_form(form, as_json)
    for name, value in (("--trace", trace), ("--goal", goal)):
        if value is None:
            raise ConfigError(f"headstack advise: {name}: got none, need it")
    if out is not None:
        from headstack.show import drawing

        drawing.check_memory()
        output_directory(out, "--out")
    try:
        with _terminal.progress("advise", "runs/s") as bar:
            listed = {key: _listed(given[key]) for key in ("drives", "organisations")}
            tried = {key: _listed(given[key]) or (None,) for key in _TRIED}
            answer = advice.advise(
                **{**given, **listed, **tried, "depths": _whole(depths) or (None,)},
                set=_options.settings(settings),
                progress=bar,
            )
    except KeyboardInterrupt:
        kept = "" if out is None else "; the same command goes on from there"
        _terminal.say(f"advise: interrupted{kept}", as_json=True)
        return INTERRUPTED
    if as_json:
        _terminal.print_json(answer.document())
    else:
        _print(answer, form, wide)
    if out is not None:
        from headstack.advice import page

        written = page.write(answer, out, figures_too=figures)
        _terminal.say_written(written, as_json, form)
    return None if answer.best is not None else FAILED


def _listed(text: str | None) -> list[str] | None:
    """Return the names between commas; None if there are none."""
    if text is None:
        return None
    names = [part.strip() for part in text.split(",")]
    if not all(names):
        raise ConfigError(f'headstack advise: got "{text}", need names between commas')
    return names


def _whole(text: str | None) -> list[int] | None:
    names = _listed(text)
    if names is None:
        return None
    if not all(n.isdecimal() for n in names):
        raise ConfigError(f'--depths: got "{text}", need whole numbers between commas')
    return [int(n) for n in names]


def _print(answer: "Advice", form: str, wide: bool) -> None:
    """Print the answer: system, certainty, front, counterfactuals, other designs."""
    from headstack.advice import page
    from headstack.advice.answer import row

    _terminal.say(page.headline(answer), form)
    for line in (page.certainty(answer), f"what binds: {answer.binds}" if answer.binds else ""):
        if line:
            _terminal.say(line, form)
    for note in answer.notes:
        _terminal.say(f"note: {note}", form)
    if answer.front:
        _terminal.between(form)
        bounds = [(b, b.name, b.unit) for b in answer.question.goal if b.measure != "power"]
        headings = [("design", True), ("drives", False), ("settings", True)]
        headings += [(f"{name} {unit}", False) for _, name, unit in bounds]
        headings += [("power W", False), ("dollars", False), ("energy $", False), ("rebuild h", False)]
        rows = []
        for found in answer.front:
            assert found.best is not None
            numbers = row(answer.question, found.best)
            values = [numbers[n.replace(".", "_") + {"ms": "_s"}.get(u, "")] for _, n, u in bounds]
            rows.append(
                [
                    found.design.label,
                    str(found.best.count),
                    numbers["settings"],
                    *(b.number(v) for (b, _, _), v in zip(bounds, values, strict=True)),
                    f"{numbers['power_mean_w']:,.1f}",
                    _terminal.NONE if numbers["usd"] is None else f"{numbers['usd']:,.0f}",
                    f"{numbers['energy_usd']:,.0f}",
                    _terminal.NONE if numbers["rebuild_s"] is None else f"{numbers['rebuild_s'] / 3600:,.1f}",
                ]
            )
        title = "none of these is worse than another one in everything"
        _terminal.print_table(headings, rows, title=title, form=form)
    if form == _terminal.CSV:
        return
    for title, heads, lines in (
        ("what would change it", ("instead", "numbers", "goal"), page.counterfactuals(answer)),
        ("the other designs", ("design", "why not"), page.losers(answer)),
    ):
        if lines:
            _terminal.between(form)
            _terminal.print_table([(h, True) for h in heads], lines, title=title, form=form)
    said = f"{answer.n_runs:,} runs, {answer.n_simulated:,} simulated requests"
    _terminal.say(said, form)
