"""``headstack report``."""

from pathlib import Path
from typing import Annotated

from headstack.cli import _terminal
from headstack.cli._arguments import Argument, Option
from headstack.cli._options import Figures


def command(
    results: Annotated[Path, Argument("RESULTS", help="A directory that run --out wrote.")],
    out: Annotated[Path, Option("--out", "-o", metavar="FILE", help="The page to write.")] = Path("report.html"),
    title: Annotated[str, Option(help="The page's title.")] = "Headstack report",
    figures: Figures = True,
) -> None:
    """Write the report of an earlier run: one HTML page that opens without a network.

    Example:
      headstack report out/demo -o demo.html --title "Two drives or one"
    """
    import headstack
    from headstack.show import drawing

    result = headstack.load(results)
    # This check must come before libraries are loaded that may not fit into memory.
    drawing.check_memory()
    from headstack.show import report

    path = report.write(result.document, out, title=title, with_figures=figures)
    _terminal.say_written([path], as_json=False)
