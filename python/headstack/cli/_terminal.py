"""Output of commands: tables and JSON on standard output, progress on standard error."""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from headstack.cli._layout import Headings, Layout, Rows, layouts
from headstack.errors import ConfigError, printable
from headstack.suggest import need_one_of

# Importing Rich takes longer than a small run, so it is imported only for terminals.
if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from headstack.runs.api import Progress as Report

#: Called with the name of a stage, the part done and its total, if known.
Stages = Callable[[str, int, int | None], None]

#: Forms of tables.
FORMS = TEXT, MARKDOWN, CSV = "text", "markdown", "csv"

#: Text for a missing number.
NONE = "–"  # noqa: RUF001

#: What is said if columns were left out.
MORE = "some columns are left out: --wide prints all"

#: Columns of output to a file or a pipe: wide enough that no table wraps.
PIPE_WIDTH = 200


def console() -> "Console":
    """Return a console on standard output that does not wrap lines in pipes."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False)


def print_json(document: Any) -> None:
    """Print one JSON document."""
    print(json.dumps(document, indent=2))


def print_table(
    headings: Sequence[tuple[str, bool]],
    rows: Sequence[Sequence[str]],
    title: str | None = None,
    form: str = TEXT,
    short: Sequence[int] | None = None,
) -> bool:
    """Print a table; each heading states whether its column is text (left) or numbers (right).

    Numbers are never broken: on a narrow terminal headings and texts are, and columns of numbers
    that do not fit are printed as a second table with the same texts.

    Args:
        headings: heading of each column, and whether it is text.
        rows: one text for each column.
        title: printed above the table.
        form: one of `FORMS`, from ``--format``.
        short: indices of the columns that suffice where a terminal has no room for all.

    Returns:
        Whether all columns were printed.
    """
    if form == MARKDOWN:
        _print_markdown(headings, rows, title)
        return True
    # In a file or a pipe CSV is data; on a terminal, control characters from files are escaped.
    if form == CSV and not sys.stdout.isatty():
        _print_csv(headings, rows)
        return True
    rows = [[printable(cell) for cell in row] for row in rows]
    title = None if title is None else printable(title)
    if form == CSV:
        _print_csv(headings, rows)
        return True
    if not sys.stdout.isatty() and _print_plain(headings, rows, title):
        return True
    output = console()
    found = layouts(headings, rows, output.width, short)
    for n, layout in enumerate(found):
        if n:
            output.print()
        output.print(_rich_table(headings, rows, layout, title if n == 0 else None))
    return {i for layout in found for i in layout.columns} == set(range(len(headings)))


#: Rich's padding for each gap: it puts one space between columns besides.
_PADDING: dict[int, tuple[int, int, int, int]] = {3: (0, 1, 0, 1), 2: (0, 1, 0, 0), 1: (0, 0, 0, 0)}


def _rich_table(headings: Headings, rows: Rows, layout: Layout, title: str | None) -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    padding = _PADDING[layout.gap]
    table = Table(
        title=title,
        title_justify="left",
        header_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=padding,
    )
    for i in layout.columns:
        heading, text = headings[i]
        if text:
            most = layout.text_widths.get(i)
            table.add_column(heading, overflow="fold", vertical="top", no_wrap=most is None, max_width=most)
        else:
            shown = heading.replace(" ", "\n") if layout.broken else heading
            table.add_column(shown, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(row[i]) for i in layout.columns))
    return table


def _print_markdown(headings: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str]], title: str | None) -> None:
    """Print a table in GitHub's Markdown; characters with a meaning in Markdown are escaped."""

    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cells)} |"

    def cell(text: str) -> str:
        # An underscore within a word has no meaning in Markdown.
        marks = r"([\\`*|<>\[\]~]|(?<!\w)_|_(?!\w))"
        return re.sub(marks, r"\\\1", printable(" ".join(text.split())))

    if title is not None:
        print(f"**{cell(title)}**\n")
    print(line(cell(heading) for heading, _ in headings))
    print(f"|{'|'.join('---' if text else '---:' for _, text in headings)}|")
    for row in rows:
        print(line(map(cell, row)))
    print()


def _print_csv(headings: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str]]) -> None:
    """Print a table as CSV: numbers without thousands separators, missing numbers empty."""
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([heading for heading, _ in headings])
    for row in rows:
        cells = zip(row, headings, strict=True)
        writer.writerow([cell if text else _bare(cell) for cell, (_, text) in cells])


def _bare(number: str) -> str:
    return "" if number in (NONE, "-") else re.sub(r"(?<=\d),(?=\d{3})", "", number)


def say(line: str = "", form: str = TEXT, *, as_json: bool = False) -> None:
    """Print a line that belongs to a table; beside JSON and CSV on standard error.

    In Markdown it is a paragraph.
    """
    print(printable(line), file=sys.stderr if as_json or form == CSV else sys.stdout)
    if form == MARKDOWN:
        print()


def between(form: str = TEXT) -> None:
    """Print the empty line between two tables, unless the form has its own."""
    if form != MARKDOWN:
        print()


def _print_plain(headings: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str]], title: str | None) -> bool:
    """Print a table as Rich does when nothing wraps; return whether that was possible.

    It is not possible if a character may be wider or narrower than a column.
    """
    lines = [[heading for heading, _ in headings], *rows]
    if not all(cell.isascii() and cell.isprintable() for line in lines for cell in line):
        return False
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    width = sum(widths) + 3 * (len(widths) - 1)
    if width > PIPE_WIDTH or len(title or "") > width:
        return False
    texts = [text for _, text in headings]
    shown = [
        "   ".join(
            cell.ljust(size) if text else cell.rjust(size) for cell, size, text in zip(line, widths, texts, strict=True)
        )
        for line in lines
    ]
    above = [] if title is None else [title.ljust(width)]
    print("\n".join([*above, shown[0], "\N{BOX DRAWINGS LIGHT HORIZONTAL}" * width, *shown[1:]]))
    return True


@contextmanager
def stages(what: str, unit: str = "requests/s") -> Iterator[Stages | None]:
    """Yield a function that reports named stages, or None if standard error is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    what = printable(what).replace("[", r"\[")  # no markup
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
def progress(what: str, unit: str = "requests/s") -> "Iterator[Report | None]":
    """Yield a function that reports progress, or None if standard error is no terminal."""
    with stages(what, unit) as report:
        yield None if report is None else partial(report, what)


def say_written(paths: Sequence[Path], as_json: bool, form: str = TEXT) -> None:
    """Print which files were written; on standard error if standard output has data."""
    for path in paths:
        say(f"wrote {path}", form, as_json=as_json)


def check_form(form: str, as_json: bool = False) -> None:
    """Refuse a wrong value of ``--format``, or one beside ``--json``.

    Raises:
        ConfigError: it is not in `FORMS`, or two forms are requested.
    """
    if form not in FORMS:
        raise ConfigError(need_one_of("--format", form, FORMS))
    if as_json and form != TEXT:
        raise ConfigError(f"--format: got {form} and --json, need one of them")


def standard_input() -> BinaryIO:
    """Return standard input.

    Raises:
        ConfigError: the process was started without one.
    """
    # The declared type of `sys.stdin` does not include None, although it may be None.
    stream: Any = sys.stdin
    if stream is None:
        raise ConfigError("standard input: got none, need an experiment")
    buffer: BinaryIO = stream.buffer
    return buffer


def check_on_error(value: str) -> None:
    """Refuse a wrong value of ``--on-error``.

    Raises:
        ConfigError: it is neither ``fail`` nor ``skip``.
    """
    if value not in ("fail", "skip"):
        raise ConfigError(need_one_of("--on-error", value, ["fail", "skip"]))


def check_format(option: str, value: str | None) -> None:
    """Refuse a trace format that no reader has.

    Raises:
        ConfigError: `value` is not the name of a format; the message has `option` and the names.
    """
    from headstack.cli._options import trace_formats

    names = trace_formats()
    if value is not None and value not in names:
        raise ConfigError(need_one_of(option, value, names))
