"""``headstack view``."""

from pathlib import Path
from typing import Annotated

from headstack.cli import _terminal
from headstack.cli._arguments import Argument, Option
from headstack.cli._options import SourcesAnywhere


def command(
    run: Annotated[Path, Argument("RUN", help="An experiment, or a directory or result.json that run --out wrote.")],
    at: Annotated[
        str | None,
        Option(
            metavar="TIME",
            help="When the window begins, from the start of the run, as in 12.3s; by default when "
            "most requests were in the first system, and 0s for an experiment.",
        ),
    ] = None,
    length: Annotated[str, Option("--for", metavar="TIME", help="Its length.")] = "200ms",
    systems: Annotated[
        list[str] | None,
        Option(
            "--system",
            metavar="NAME",
            help="Name or number of a system; given twice, two are beside each other. By default the first two.",
        ),
    ] = None,
    workload: Annotated[str | None, Option(metavar="NAME", help="Name or number of the workload.")] = None,
    drive: Annotated[
        int | None, Option(min=0, help="Number of the drive in each system; by default that with most commands.")
    ] = None,
    out: Annotated[Path, Option("--out", "-o", metavar="FILE", help="The page to write.")] = Path("view.html"),
    base: Annotated[
        Path | None,
        Option(metavar="DIR", help="With results: the folder of their experiment, if its files are not found."),
    ] = None,
    sources_anywhere: SourcesAnywhere = False,
) -> None:
    """Draw what drives do in a window of a run: one animated page that opens without a network.

    Arms, heads, seeks, rotational waits, transfers, queue, buffer and power, at their true times
    and places. The run is repeated up to the end of the window.

    Examples:
      headstack view examples/side-by-side.toml --at 2s
      headstack view out/demo --at 12.3s --for 100ms --system 0 --system 3 -o demo-view.html
    """
    from headstack.show import view

    with _terminal.progress(run.name) as progress:
        records = view.record(
            run,
            at=at,
            length=length,
            systems=systems,
            workload=workload,
            base=base,
            progress=progress,
            sources_anywhere=sources_anywhere,
        )
    _terminal.say_written([view.write(records, out, drive=drive)], as_json=False)
