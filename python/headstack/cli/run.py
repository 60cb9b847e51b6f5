"""``headstack run``."""

import sys
from pathlib import Path
from typing import Annotated

from headstack.cli._arguments import Argument, Option


def command(
    experiment: Annotated[Path, Argument("EXPERIMENT.toml", help="What to run.")],
    out: Annotated[
        Path | None,
        Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Write report.html, figures/, result.json and Parquet tables.",
        ),
    ] = None,
    as_json: Annotated[
        bool, Option("--json", help="Print one JSON document instead of the table.")
    ] = False,
    requests: Annotated[bool, Option(help="With --out: one row per request as Parquet.")] = True,
    seed: Annotated[int | None, Option(min=0, help="Replaces the experiment's seed.")] = None,
    threads: Annotated[
        int | None, Option(min=1, help="Threads to use; results do not depend on it.")
    ] = None,
) -> int | None:
    """Simulate the systems of an experiment on its workload and compare them.

    Ctrl-C ends the run with the results until then, marked as partial; a second one ends it at
    once.

    Examples:
      headstack run examples/demo.toml
      headstack run examples/demo.toml --out out/demo
      headstack run examples/demo.toml --json | jq '.systems[].response_time_s.p99'

    """
    import headstack
    from headstack import table
    from headstack.cli import INTERRUPTED, _terminal

    with _terminal.progress(experiment.name) as progress:
        result = headstack.run(
            experiment,
            out=out,
            log_requests=requests and out is not None,
            seed=seed,
            threads=threads,
            progress=progress,
        )
    written = []
    if out is not None:
        from headstack import report

        title = f"Headstack: {experiment.stem}"
        written.append(report.write(result.document, out / "report.html", title=title))
    if as_json:
        print(result.to_json())
    else:
        columns = table.columns(result.document)
        headings = [(c.title, c.text) for c in columns]
        _terminal.print_table(headings, table.rows(result.document, columns))
        columns, rows = table.operations(result.document)
        if rows:
            _terminal.print_table([(c.title, c.text) for c in columns], rows)
        print(table.note(result.document))
        for line in table.warnings(result.document):
            print(line)
    _terminal.told(written, as_json)
    if result.partial:
        print(
            f"{experiment}: partial results, of the requests completed until the interrupt",
            file=sys.stderr,
        )
        return INTERRUPTED
    return None
