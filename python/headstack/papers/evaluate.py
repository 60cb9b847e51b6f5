"""Compares the parts of a claim with the tables of its function, and fills its printed tables."""

import itertools
import math
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headstack.errors import ConfigError
from headstack.papers import rules
from headstack.papers.claims import Cell, Claim, Contrary, Falsifier, Item, Listing, Node, Statement, Tables
from headstack.papers.rules import NOTHING, Kind, Part, Verdict
from headstack.suggest import need_one_of

#: A row of a table, and the tables of a claim as rows.
Row = Mapping[str, Any]
Rows = Mapping[str, Sequence[Row]]


@dataclass(frozen=True)
class Table:
    """Numbers shown beside a claim: headings, then rows of text."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


class _Formatter(string.Formatter):
    """As ``str.format``; a number that is missing is shown as such."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return NOTHING
        return str(super().format_field(value, format_spec))


_WRITE = _Formatter()


def text(template: str, names: Row, at: str = "") -> str:
    """Fill a template.

    Raises:
        ConfigError: it names a column that the row does not have.
    """
    if "{" not in template:
        return template
    try:
        return _WRITE.vformat(template, (), names)
    except KeyError as e:
        raise ConfigError(need_one_of(f'{at}: "{template}"', str(e.args[0]), names)) from None


class _RowsOf(Mapping[str, Sequence[Row]]):
    """Tables as rows, each made when it is first read: other readings draw no figures."""

    def __init__(self, tables: Tables) -> None:
        self._tables, self._made = tables, dict[str, Sequence[Row]]()

    def __getitem__(self, name: str) -> Sequence[Row]:
        if name not in self._made:
            records = self._tables[name].to_dict("records")
            self._made[name] = [{str(k): v for k, v in r.items()} for r in records]
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


def rows_of(tables: Tables) -> Rows:
    """Return tables as rows, once for all parts, figures and printed tables."""
    return _RowsOf(tables)


def select(rows: Sequence[Row], where: Mapping[str, Any]) -> list[Row]:
    """Return the rows with these values; a list stands for any of its values.

    Columns that the table does not have are ignored: a value may be for other tables.
    """
    if not rows:
        return []
    wanted = {k: v if isinstance(v, list) else [v] for k, v in where.items() if k in rows[0]}
    return [r for r in rows if all(r[k] in v for k, v in wanted.items())]


def expand(nodes: Sequence[Node[Item]], tables: Rows, *, partial: bool = False) -> list[tuple[Item, Row, str]]:
    """Return the entries of a claim with the values that each is for.

    Args:
        nodes: the entries.
        tables: the claim's tables.
        partial: whether tables or rows may be absent: a study with other choices has fewer.

    Raises:
        ConfigError: there is no such table, or an entry for which there is no row at all.
    """
    seen: set[str] = set()
    found = list(_expanded(nodes, tables, {}, seen, partial=partial))
    if not partial:
        _need_all(nodes, seen)
    return found


def _expanded(
    nodes: Sequence[Node[Item]], tables: Rows, scope: Row, seen: set[str], *, partial: bool
) -> Iterator[tuple[Item, Row, str]]:
    for node in nodes:
        if node.table and node.table not in tables:
            if partial:
                continue
            raise ConfigError(need_one_of(f"{node.at}.table", node.table, tables))
        for inner in _scopes(node, tables, scope):
            seen.add(node.at)
            if node.item is not None:
                yield node.item, inner, node.at
            else:
                yield from _expanded(node.inside, tables, inner, seen, partial=partial)


def _need_all(nodes: Sequence[Node[Item]], seen: set[str]) -> None:
    for node in nodes:
        if node.at not in seen:
            raise ConfigError(f"{node.at}: got no row for {dict(node.each)}, need one or more")
        _need_all(node.inside, seen)


def _scopes(node: Node[Any], tables: Rows, scope: Row) -> Iterator[Row]:
    if not node.each:
        yield scope
        return
    rows = select(tables[node.table], {**scope, **node.where})
    values = []
    for column, listed in node.each.items():
        every = list(dict.fromkeys(r[column] for r in rows)) if listed is None else listed
        # A value that is already chosen stays: an entry inside may be for some values alone.
        values.append([v for v in every if column not in scope or v == scope[column]])
    for combination in itertools.product(*values):
        own = dict(zip(node.each, combination, strict=True))
        if select(rows, own):
            yield {**scope, **own}


def parts(claim: Claim, tables: Rows, *, partial: bool = False) -> list[Part]:
    """Return the compared parts of a claim."""
    return [
        _part(statement, tables, {**scope, **statement.where}, at, partial=partial)
        for statement, scope, at in expand(claim.parts, tables, partial=partial)
    ]


@dataclass(frozen=True)
class Number:
    """A number of a part: its name, value, row, and half of its confidence interval, if any."""

    name: str
    value: float
    names: Row
    half: float = 0.0


#: Ending of the column with half of the 95 % confidence interval of a column.
HALF = "_half"


def _cell(given: Cell | str | float, said: Statement, tables: Rows, scope: Row, at: str) -> Number:
    """Return a number that an entry names."""
    if isinstance(given, float):
        given = Cell(value=given)
    elif isinstance(given, str):
        given = Cell(row=given)
    if given.value is not None:
        return Number(text(given.name, scope, at), given.value, scope)
    row, table, column = given.row, given.table or said.table, given.column or said.column
    if not isinstance(row, dict):
        row = {said.key: row}
    if table not in tables:
        raise ConfigError(need_one_of(f"{at}.table", table, tables))
    found = select(tables[table], {**scope, **row})
    if len(found) != 1:
        raise ConfigError(f"{at}: got {len(found)} rows of {table} for {row or scope}, need one")
    names = {**scope, **found[0]}
    if column not in names:
        raise ConfigError(need_one_of(f"{at}.column", column, names))
    default = str(next(iter(row.values()), "")) or "ours"
    value = names[column]
    number = math.nan if value is None else float(value)
    half = float(found[0].get(column + HALF) or 0.0)
    # One seed has no interval.
    half = 0.0 if math.isnan(half) else half
    return Number(text(given.name or default, names, at), number, names, half)


def _part(said: Statement, tables: Rows, scope: Row, at: str, *, partial: bool = False) -> Part:
    if said.rule is None:
        what, paper, why = (text(t, scope, at) for t in (said.what, said.paper, said.missing))
        return rules.not_run(what, paper, why, kind=said.kind or Kind.RESULT)
    ours = _cell(said.ours, said, tables, scope, at)
    # The part's own values, not those of another row that it compares.
    names = {**ours.names, **{k: v for k, v in scope.items() if not isinstance(v, list)}}
    kind = said.kind or Kind(names.get("kind", Kind.RESULT))
    if said.rule is rules.Rule.PRINTED and kind is Kind.RESULT:
        # A formula of the paper with its own numbers is arithmetic.
        kind = Kind.INPUT
    of: dict[str, Any] = {
        "kind": Kind.FITTED if said.fitted and kind is Kind.RESULT else kind,
        "workload": text(said.workload, names, at) or names.get("workload", ""),
    }
    note = text(said.note, names, at) or names.get("note", "")
    what, paper = text(said.what, names, at), text(said.paper, names, at)
    than = _reference(said, names, tables, scope, at)
    if math.isnan(ours.value) or math.isnan(than.value):
        why = text(said.missing, names, at) or "its numbers are missing"
        shown = said.form.format(than.value) if said.expected is not None else paper
        return rules.not_run(what, shown, why, **of)
    half = (ours.half, than.half) if ours.half or than.half else None
    of |= {"note": note, "half": half, "tolerance": said.tolerance}
    if said.expected is not None:
        part = rules.number(what, than.value, ours.value, said.form, rule=said.rule, **of)
    else:
        pair = (ours.name, ours.value), (than.name, than.value)
        part = rules.relation(what, paper, pair[0], said.rule, pair[1], said.form, **of)
    part = replace(part, fitted=said.fitted)
    if said.contrary is not None:
        other = _contradiction(said.contrary, said, ours.value, names, tables, scope, at)
        part = rules.contradicted(part, other)
    if said.falsifier is not None:
        values = ours.value, than.value
        false: rules.Falsified | None
        if partial and _lacks_rows(said.falsifier, said, tables, scope):
            # Whether the part can fail is known from the study with all rows.
            false = rules.Falsified(text(said.falsifier.world, scope, at), *values, passes=False)
        else:
            false = _falsified(said.falsifier, said, values, names, tables, scope, at)
        part = replace(part, falsifier=false)
    if said.drawn is not None:
        place = said.drawn
        # A template that is one column stands for its value: a number stays one.
        column = place.x.strip("{}") if isinstance(place.x, str) else ""
        x = names[column] if column in names and place.x == f"{{{column}}}" else place.x
        part = replace(part, drawn=(text(place.figure, names, at), x, place.below))
    return rules.counted(part)


def _reference(said: Statement, names: Row, tables: Rows, scope: Row, at: str) -> Number:
    """Return what our number is compared with: the paper's, or another one of ours."""
    expected = said.expected
    if isinstance(expected, str):
        if expected not in names:
            raise ConfigError(need_one_of(f"{at}.expected", expected, names))
        expected = names[expected]
    if expected is not None:
        return Number("paper", float(expected), names)
    if said.than is None:
        raise ConfigError(f"{at}: got a rule alone, need expected or than")
    return _cell(said.than, said, tables, scope, at)


def _contradiction(
    other: Contrary, said: Statement, ours: float, names: Row, tables: Rows, scope: Row, at: str
) -> rules.Contradiction:
    """Compare ours with the paper's other statement; `names` are the values of the part's row."""
    rule = other.rule or said.rule
    assert rule is not None
    if other.ours is not None:
        ours = _cell(other.ours, said, tables, scope, at).value
    as_part = replace(said, expected=other.expected, than=other.than)
    than = _reference(as_part, names, tables, scope, f"{at}.contrary").value
    tolerance = said.tolerance if rule is said.rule else None
    met = rules.holds(rule, ours, than, tolerance)
    return rules.Contradiction(text(other.says, names, at), ours, than, met)


def _lacks_rows(false: Falsifier, said: Statement, tables: Rows, scope: Row) -> bool:
    """Return whether the world of a part needs rows that a study with fewer runs does not have."""
    for cell in (false.ours, false.than):
        if not isinstance(cell, Cell) or not isinstance(cell.row, dict):
            continue
        if not select(tables.get(cell.table or said.table, ()), {**scope, **cell.row}):
            return True
    return False


def _falsified(
    false: Falsifier, said: Statement, values: tuple[float, float], names: Row, tables: Rows, scope: Row, at: str
) -> rules.Falsified | None:
    """Run the rule in the world in which the part is false; None if its numbers are missing."""
    assert said.rule is not None
    if false.ours is None and false.than is None and false.times is None and not false.swapped:
        raise ConfigError(f"{at}.falsifier: got a world alone, need ours, than, times or swapped")
    ours, than = (
        value if given is None else _cell(given, said, tables, scope, at).value
        for given, value in zip((false.ours, false.than), values, strict=True)
    )
    if false.times is not None:
        ours = false.times * than
    if false.swapped:
        ours, than = than, ours
    if math.isnan(ours) or math.isnan(than):
        return None
    passes = rules.holds(said.rule, ours, than, said.tolerance)
    if said.contrary is not None and not passes:
        # In a world in which the part is false, the paper's other statement must not hold either.
        own = None if said.contrary.ours is not None else ours
        passes = own is not None and (_contradiction(said.contrary, said, own, names, tables, scope, at).holds)
    return rules.Falsified(text(false.world, scope, at), ours, than, passes)


def listings(claim: Claim, tables: Rows) -> list[Table]:
    """Return the printed tables of a claim."""
    found = []
    for listing, scope, at in expand(claim.listings, tables):
        rows = select(tables[listing.table], {**scope, **listing.where})
        if not rows and tables[listing.table]:
            raise ConfigError(f"{at}: got no row of {listing.table}, need one or more")
        found.append(_listing(listing, rows, scope, at))
    return found


def _listing(listing: Listing, rows: Sequence[Row], scope: Row, at: str) -> Table:
    rows = [{**scope, **r} for r in rows]
    headings = [heading for heading, _ in (*listing.rows, *listing.columns)]
    across = list(dict.fromkeys(r[listing.across] for r in rows)) if listing.across else []
    firsts = [next(r for r in rows if r[listing.across] == value) for value in across]
    headings += [text(listing.heading, first, at) for first in firsts]
    groups: dict[tuple[str, ...], list[Row]] = {}
    for i, row in enumerate(rows):
        key = tuple(text(template, row, at) for _, template in listing.rows)
        # Without columns across, each row of the table is one of the printed table.
        groups.setdefault(key if across else (*key, str(i)), []).append(row)
    printed = []
    for group in groups.values():
        cells = [text(template, group[0], at) for _, template in (*listing.rows, *listing.columns)]
        for value in across:
            own = [text(listing.cell, r, at) for r in group if r[listing.across] == value]
            cells.append(listing.join.join(own))
        printed.append(cells)
    return Table(text(listing.title, rows[0] if rows else scope, at), headings, printed)


def beside(claim: Claim, tables: Rows) -> str:
    """Return what a reader of the verdict must know."""
    names = tables["beside"][0] if "beside" in tables else {}
    return text(claim.beside, names, claim.id)


def because(claim: Claim, tables: Rows) -> dict[Verdict, str]:
    """Return the claim's own sentences for verdicts."""
    names = tables["beside"][0] if "beside" in tables else {}
    return {verdict: text(said, names, claim.id) for verdict, said in claim.because.items()}


def paper_points(found: Sequence[Part]) -> dict[str, list[dict[str, Any]]]:
    """Return the paper's numbers that figures show, by figure: ``x, y, what, text, below``."""
    points: dict[str, list[dict[str, Any]]] = {}
    for part in found:
        if part.drawn and part.verdict is not Verdict.NOT_RUN:
            figure, x, below = part.drawn
            own = {"x": x, "y": part.values["paper"], "what": part.what, "text": part.paper, "below": below}
            points.setdefault(figure, []).append(own)
    return points
