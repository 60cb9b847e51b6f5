"""``headstack report``."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    results: Annotated[
        Path, typer.Argument(metavar="RESULTS", help="A directory that run --out wrote.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The page to write.")
    ] = Path("report.html"),
    title: Annotated[str, typer.Option(help="The page's title.")] = "Headstack report",
    figures: Annotated[
        bool, typer.Option(help="Also write figures/*.png and *.svg beside the page.")
    ] = True,
) -> None:
    r"""Write the report of an earlier run: one HTML page that opens without a network.

    \b
    Example:
      headstack report out/demo -o demo.html --title "Two drives or one"
    """
    import headstack
    from headstack import report
    from headstack.cli import _terminal

    result = headstack.load(results)
    path = report.write(result.document, out, title=title, with_figures=figures)
    _terminal.told([path], as_json=False)
