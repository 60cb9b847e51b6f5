"""Printing of results: the answer, its ranking and warnings, then all numbers."""

import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headstack.cli import _terminal
from headstack.errors import printable

if TYPE_CHECKING:
    from headstack.show.table import Column

#: Most characters of a line of prose.
_PROSE = 100

#: What is said where the numbers below the ranking are left out.
ALL_NUMBERS = "all numbers: --wide prints them, --out DIR writes a report, --json is for programs"


def print_result(document: Mapping[str, Any], form: str, wide: bool) -> None:
    """Print a result document.

    On a terminal the answer is what fits one screen; `wide`, files and pipes have all numbers.
    """
    from headstack.results import warned
    from headstack.show import table

    text = form == _terminal.TEXT
    print_answer(document, form, wide)
    warnings = warned.lines(warned.of_document(document))
    if warnings and form != _terminal.CSV:
        _terminal.between(form)
    for line in warnings:
        prose(line, form, pipes=False)
    if text and sys.stdout.isatty() and not wide:
        prose(ALL_NUMBERS, form)
    else:
        if text:
            _terminal.between(form)
        _print_numbers(document, form, wide)
    prose(table.note(document), form, pipes=False)


def print_answer(document: Mapping[str, Any], form: str, wide: bool = False) -> None:
    """Print the sentence and the ranking; beside CSV only the sentence, on standard error.

    Where a terminal has no room for all columns, those that follow from others are left out.
    """
    from headstack.results import answer

    prose(answer.sentence(document), form)
    if form == _terminal.CSV:
        return
    _terminal.between(form)
    shown = answer.columns(document)
    headings = [(c.title, c.text) for c in shown]
    short = None if wide else [i for i, c in enumerate(shown) if not c.wide]
    _terminal.print_table(headings, answer.rows(document), form=form, short=short)
    prose(answer.explained(shown, document), form)


def prose(text: str, form: str, *, pipes: bool = True) -> None:
    """Print a text in lines that fit the terminal; without `pipes` it stays one line there."""
    if form != _terminal.TEXT or not (pipes or sys.stdout.isatty()):
        _terminal.say(text, form)
        return
    width, indent = _PROSE, " " * (len(text) - len(text.lstrip()))
    if sys.stdout.isatty():
        width = min(_PROSE, _terminal.console().width)
    lines = textwrap.wrap(printable(text), width, subsequent_indent=indent, break_on_hyphens=False)
    for line in lines:
        _terminal.say(line)


def _print_numbers(document: Mapping[str, Any], form: str, wide: bool) -> None:
    """Print all systems, what all have seen of an interrupted run; operations, classes apart."""
    from headstack.show import table

    data = form == _terminal.CSV
    columns = (table.data_columns if data else table.columns)(document)
    whole = _print(columns, table.rows(document, columns), document, form, wide)
    for title, shown, rows in () if data else table.prefixes(document):
        _terminal.between(form)
        _terminal.say(title, form)
        if rows:
            whole &= _print(shown, rows, document, form, wide)
    for columns, rows in (table.operations(document), table.classes(document)):
        # CSV is limited to one table.
        if rows and not data:
            _terminal.between(form)
            whole &= _print(columns, rows, document, form, wide)
    if not whole:
        _terminal.say(_terminal.MORE)


def _print(
    columns: "Sequence[Column]", rows: Sequence[Sequence[str]], document: Mapping[str, Any], form: str, wide: bool
) -> bool:
    """Print a table of results; return whether all columns had room."""
    from headstack.show import table

    short = None if wide else table.short(columns, document["systems"])
    headings = [(c.title, c.text) for c in columns]
    return _terminal.print_table(headings, rows, form=form, short=short)
