"""How a table fits a terminal: which columns, how far apart, headings on one line or two."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

#: Headings with whether their columns are text, and one text for each column of each row.
Headings = Sequence[tuple[str, bool]]
Rows = Sequence[Sequence[str]]

#: Distances of columns in characters, with headings on one line (False) or broken at spaces (True).
_FORMS = ((False, 3), (False, 2), (True, 2), (True, 1))

#: The least width of a column of text that is wrapped, in characters.
LEAST_TEXT = 18


class Layout(NamedTuple):
    """The columns of a table that are printed beside each other.

    Attributes:
        columns: their indices.
        gap: characters between two columns.
        broken: whether headings are broken at spaces.
        text_widths: greatest widths of columns of text that have to be wrapped, by index.
    """

    columns: Sequence[int]
    gap: int
    broken: bool
    text_widths: Mapping[int, int] = {}


def layouts(headings: Headings, rows: Rows, width: int, short: Sequence[int] | None = None) -> list[Layout]:
    """Return the layout of a table that fits, or of as many tables as needed.

    Numbers are never broken. What is tried in this order: all columns, closer to each other; only
    the columns `short`; text that wraps; columns of numbers that do not fit as further tables, each
    with the texts.

    Args:
        headings: of all columns.
        rows: one text for each column.
        width: characters of a line.
        short: indices of the columns that suffice, if not all fit.
    """
    choices = [range(len(headings)), *([] if short is None else [short])]
    for columns in choices:
        for broken, gap in _FORMS:
            widths = [_width(headings[i], rows, i, broken) for i in columns]
            if _line(widths, gap) <= width:
                return [Layout(columns, gap, broken)]
    columns = choices[-1]
    texts = {i: _width(headings[i], rows, i, True) for i in columns if headings[i][1]}
    numbers = [_width(headings[i], rows, i, True) for i in columns if i not in texts]
    room = width - _line([*numbers, *(0 for _ in texts)], 1)
    if texts and room >= sum(min(LEAST_TEXT, w) for w in texts.values()):
        return [Layout(columns, 1, True, _shares(texts, room))]
    groups = _groups(headings, rows, width, columns)
    return [Layout(group, 1, True, dict.fromkeys(texts, LEAST_TEXT)) for group in groups]


def _shares(wanted: Mapping[int, int], room: int) -> dict[int, int]:
    """Distribute the width of a line: who wants less than an equal share gets it whole."""
    shares = {}
    for n, i in enumerate(sorted(wanted, key=lambda i: wanted[i])):
        shares[i] = min(wanted[i], room // (len(wanted) - n))
        room -= shares[i]
    return shares


def _cells(text: str) -> int:
    """Return the columns of a terminal that a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _width(heading: tuple[str, bool], rows: Rows, i: int, broken: bool) -> int:
    title, text = heading
    words = title.split() if broken and not text else [title]
    return max(map(_cells, [*words, *(row[i] for row in rows)]), default=0)


def _line(widths: Sequence[int], gap: int) -> int:
    return sum(widths) + gap * (len(widths) - 1)


def _groups(headings: Headings, rows: Rows, width: int, columns: Sequence[int]) -> list[Sequence[int]]:
    """Distribute the columns of numbers over as many tables as needed, each with the texts."""
    texts = [i for i in columns if headings[i][1]]
    wide = (_width(headings[i], rows, i, True) for i in texts)
    room = width - sum(min(LEAST_TEXT, w) + 1 for w in wide)
    groups: list[list[int]] = [[]]
    used = 0
    for i in columns:
        if i in texts:
            continue
        size = _width(headings[i], rows, i, True) + 1
        if groups[-1] and used + size > room:
            groups.append([])
            used = 0
        groups[-1].append(i)
        used += size
    return [sorted(texts + group) for group in groups]
