"""What commands print: tables and JSON on standard output, progress on standard error."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from headstack.api import Progress as Report

#: Told the name of a stage, what is done of it and its total, where that is known.
Stages = Callable[[str, int, int | None], None]

#: Columns of output that goes to a file or a pipe: wide enough that no table wraps.
PIPE_WIDTH = 200


def console() -> Console:
    """Return a console on standard output that does not fold lines in pipes."""
    return Console(width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False)


def print_json(document: Any) -> None:
    """Print one JSON document."""
    print(json.dumps(document, indent=2))


def print_table(
    headings: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str]], title: str | None = None
) -> None:
    """Print a table; each heading says whether its column is text (left) or numbers (right)."""
    table = Table(title=title, title_justify="left", header_style="bold")
    for heading, text in headings:
        table.add_column(heading, justify="left" if text else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console().print(table)


@contextmanager
def stages(what: str, unit: str = "requests/s") -> Iterator[Stages | None]:
    """Give a function to report named stages to, or None when standard error is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, rate="")
        now = what

        def report(stage: str, done: int, total: int | None) -> None:
            nonlocal now
            if stage != now:
                now = stage
                bar.reset(task, description=stage, rate="")
            speed = bar.tasks[0].speed
            rate = f"{speed:,.0f} {unit}" if speed else ""
            bar.update(task, completed=done, total=total, rate=rate)

        yield report


@contextmanager
def progress(what: str, unit: str = "requests/s") -> Iterator[Report | None]:
    """Give a function to report progress to, or None when standard error is no terminal."""
    with stages(what, unit) as report:
        yield None if report is None else partial(report, what)


def told(paths: Sequence[Path], as_json: bool) -> None:
    """Say on standard error, where standard output carries JSON, which files were written."""
    for path in paths:
        print(f"wrote {path}", file=sys.stderr if as_json else sys.stdout)
