"""``headstack run``."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from headstack.cli._arguments import Argument, Option
from headstack.cli._options import (
    Figures,
    Force,
    Form,
    Jobs,
    Measure,
    Seeds,
    Settings,
    SourcesAnywhere,
    Wide,
)
from headstack.errors import ConfigError

if TYPE_CHECKING:
    from headstack.table import Column


def command(
    experiment: Annotated[
        Path,
        Argument(
            "EXPERIMENT.toml", help="What to run, or a DiskSim file (.parv); - is standard input."
        ),
    ],
    out: Annotated[
        Path | None,
        Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Write report.html, figures/, result.json and series as Parquet.",
        ),
    ] = None,
    force: Force = False,
    as_json: Annotated[
        bool, Option("--json", help="Print one JSON document instead of the table.")
    ] = False,
    settings: Settings = None,
    form: Form = "text",
    wide: Wide = False,
    requests: Annotated[
        bool,
        Option(
            help="With --out: write one row per request and system as Parquet, about 40 MB for a "
            "million of them.",
        ),
    ] = False,
    figures: Figures = True,
    seed: Annotated[int | None, Option(min=0, help="Replaces the experiment's seed.")] = None,
    threads: Annotated[
        int | None, Option(min=1, help="Threads to use; results do not depend on it.")
    ] = None,
    sources_anywhere: SourcesAnywhere = False,
    scan: Annotated[
        list[str] | None,
        Option(
            "--scan",
            metavar="KEY=VALUES",
            help="Run with each of several values: KEY=A,B,C, or KEY=FROM:TO:STEPS; several make a "
            "grid. See headstack sweep.",
        ),
    ] = None,
    seeds: Seeds = None,
    jobs: Jobs = None,
    measure: Measure = None,
) -> int | None:
    """Simulate the systems of an experiment on its workload and compare them.

    Relative paths start from the experiment's folder, on standard input from the working directory.
    Ctrl-C ends the run with the results until then, marked as partial; a second one ends it at
    once.

    Examples:
      headstack run examples/demo.toml
      headstack run examples/demo.toml --out out/demo
      headstack run examples/demo.toml --out out/requests --requests --no-figures
      headstack run examples/demo.toml --set system.0.scheduler=sptf --format markdown
      headstack run examples/demo.toml --scan system.1.queue_depth=1,8,32 --seeds 10
      generate | headstack run - --set run.max_requests=1000
      headstack run examples/demo.toml --json | jq '.systems[].response_time_s.p99'

    """
    import headstack
    from headstack import table, warned
    from headstack.cli import INTERRUPTED, _options, _terminal

    _terminal.check_form(form, as_json)
    if scan or seeds is not None:
        _check_of_one(requests=requests, threads=threads, force=force)
        from headstack.cli import sweep

        return sweep.scan(
            experiment, scan or (), seeds=seeds, seed=seed, settings=_options.settings(settings),
            out=out, jobs=jobs, measure=measure, figures=figures, as_json=as_json, form=form,
            wide=wide, sources_anywhere=sources_anywhere,
        )  # fmt: skip
    if jobs is not None or measure is not None:
        option = "--jobs" if jobs is not None else "--measure"
        raise ConfigError(f"headstack run: {option}: got it for one run, need --scan or --seeds")
    given = str(experiment) == "-"
    name = "standard input" if given else str(experiment)
    with _terminal.progress(name if given else experiment.name) as progress:
        result = headstack.run(
            _terminal.standard_input() if given else experiment,
            set=_options.settings(settings),
            out=out,
            replace=force,
            log_requests=requests and out is not None,
            seed=seed,
            threads=threads,
            progress=progress,
            sources_anywhere=sources_anywhere,
        )
    written = []
    if out is not None:
        from headstack import drawing

        # This check must come before libraries are loaded that may not fit into memory.
        drawing.check_memory()
        from headstack import report

        title = f"Headstack: {name if given else experiment.stem}"
        page = out / "report.html"
        written.append(report.write(result.document, page, title=title, with_figures=figures))
    if as_json:
        print(result.to_json())
    else:
        data = form == _terminal.CSV
        columns = (table.data_columns if data else table.columns)(result.document)
        document = result.document
        for line in warned.lines(warned.of_document(document)):
            _terminal.say(line, form)
        whole = _print(columns, table.rows(document, columns), document, form, wide)
        for title, shown, rows in () if data else table.prefixes(document):
            _terminal.between(form)
            _terminal.say(title, form)
            if rows:
                whole &= _print(shown, rows, document, form, wide)
        columns, rows = table.operations(result.document)
        # CSV is limited to one table.
        if rows and not data:
            _terminal.between(form)
            whole &= _print(columns, rows, document, form, wide)
        if not whole:
            _terminal.say(_terminal.MORE)
        _terminal.say(table.note(document), form)
    _terminal.say_written(written, as_json, form)
    if result.partial:
        text = f"{name}: partial results, of the requests completed until the interrupt"
        _terminal.say(text, as_json=True)
        return INTERRUPTED
    return None


def _check_of_one(**given: bool | int | None) -> None:
    """Refuse options that are only for a single run.

    Raises:
        ConfigError: one of them was given.

    """
    for name, value in given.items():
        if value:
            raise ConfigError(
                f"headstack run: --{name}: got it with --scan or --seeds, which does not support it"
            )


def _print(
    columns: "Sequence[Column]",
    rows: Sequence[Sequence[str]],
    document: Mapping[str, Any],
    form: str,
    wide: bool,
) -> bool:
    """Print a table of results; return whether all columns had room."""
    from headstack import table
    from headstack.cli import _terminal

    short = None if wide else table.short(columns, document["systems"])
    headings = [(c.title, c.text) for c in columns]
    return _terminal.print_table(headings, rows, form=form, short=short)
