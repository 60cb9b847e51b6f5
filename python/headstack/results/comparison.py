"""Compares results: differences and ratios."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from headstack.errors import ConfigError
from headstack.results import warned
from headstack.results.frames import flat
from headstack.runs import prefix
from headstack.show import table

#: A system of a result document.
System = Mapping[str, Any]


class Row(NamedTuple):
    """One system on one workload, in each result."""

    name: str
    workload: str
    #: In the order of the results; None if a result has no such system. If one of them was
    #: interrupted, with the numbers of their common prefix only.
    systems: list[System | None]
    #: Length of the common prefix; None: whole runs are compared. Zero: there is no common prefix.
    prefix_s: float | None = None


class Comparison(NamedTuple):
    """Results with the same systems, or with one each; the first is the base of comparison."""

    labels: list[str]
    documents: list[Mapping[str, Any]]
    rows: list[Row]
    #: Index of a result, and a system of it that was not compared.
    unmatched: list[tuple[int, System]]


def compare(documents: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> Comparison:
    """Match systems with equal name and workload.

    If one of the systems that are compared was interrupted, the numbers are those of their common
    prefix (`headstack.runs.prefix`).

    If no two results have such systems in common, systems with equal names are matched whatever
    their workloads, and results with one system each whatever its name.

    Args:
        documents: the documents of two or more results.
        labels: the label of each.

    Raises:
        ConfigError: fewer than two, or they have no system in common.
    """
    if len(documents) < 2:
        raise ConfigError(f"compare: got {len(documents)} result, need two or more")
    ways: tuple[Callable[[System], tuple[str, ...]], ...] = (
        lambda s: (str(s["name"]), str(s.get("workload", ""))),
        lambda s: (str(s["name"]),),
        lambda s: (),
    )
    for way in ways:
        keyed = [_keyed(d["systems"], way) for d in documents]
        alone = way({"name": ""}) == ()
        if alone and any(len(systems) != 1 for systems in keyed):
            continue
        common = [key for key in keyed[0] if any(key in other for other in keyed[1:])]
        if common:
            rows = [_row([systems.get(key) for systems in keyed]) for key in common]
            left = [
                (i, system) for i, systems in enumerate(keyed) for key, system in systems.items() if key not in common
            ]
            return Comparison(list(labels), list(documents), rows, left)
    names = [", ".join(str(s["name"]) for s in d["systems"]) or "none" for d in documents]
    told = "; ".join(f"{label} has {n}" for label, n in zip(labels, names, strict=True))
    raise ConfigError(f"compare: got no system that two results have, need one: {told}")


def _keyed(systems: Sequence[System], way: Callable[[System], tuple[str, ...]]) -> dict[tuple[Any, ...], System]:
    """Return systems by key; those with equal keys are numbered."""
    number = Counter[tuple[str, ...]]()
    keyed: dict[tuple[Any, ...], System] = {}
    for system in systems:
        key = way(system)
        keyed[(*key, number[key])] = system
        number[key] += 1
    return keyed


def _row(systems: list[System | None]) -> Row:
    there = [s for s in systems if s is not None]
    names = dict.fromkeys(str(s["name"]) for s in there)
    workloads = dict.fromkeys(str(s.get("workload", "")) for s in there)
    row = Row(" / ".join(names), " / ".join(workloads), systems)
    if not any(s.get("partial") for s in there):
        return row
    # Different parts of a workload do not compare.
    found = prefix.common(there)
    if found is None:
        bare: list[System | None] = [None if s is None else {k: s[k] for k in ("name", "workload")} for s in systems]
        return row._replace(systems=bare, prefix_s=0.0)
    parts = iter(found.systems)
    cut: list[System | None] = [None if s is None else next(parts) for s in systems]
    return row._replace(systems=cut, prefix_s=found.seconds)


def to_document(comparison: Comparison) -> dict[str, Any]:
    """Return all numbers of the matched systems, with differences and ratios to the first result.

    Keys are the columns of `Result.summary_wide`. A number that is missing in a result, a ratio to
    zero, and a difference between prices of different kinds is None.
    """
    labels = comparison.labels
    return {
        "results": [
            {"label": label, **{k: d.get(k) for k in ("version", "seed", "partial")}}
            for label, d in zip(labels, comparison.documents, strict=True)
        ],
        "systems": [
            {"name": row.name, "workload": row.workload, "prefix_s": row.prefix_s, "numbers": _numbers(row)}
            for row in comparison.rows
        ],
        "unmatched": [
            {"result": labels[i], "name": s["name"], "workload": s.get("workload")} for i, s in comparison.unmatched
        ],
    }


def _numbers(row: Row) -> dict[str, Any]:
    columns = [{} if s is None else flat(s) for s in row.systems]
    price_kinds = {kind for s in row.systems if s and (kind := table.price_kind(s)) is not None}
    keys = dict.fromkeys(key for column in columns for key in column)
    numbers = {}
    for key in keys:
        values = [_number(column.get(key)) for column in columns]
        if any(v is not None for v in values):
            alike = len(price_kinds) < 2 or not key.startswith("cost_")
            base = values[0] if alike else None
            numbers[key] = {
                "values": values,
                "differences": [difference(base, v) for v in values],
                "ratios": [ratio(base, v) for v in values],
            }
    return numbers


def _number(value: Any) -> float | None:
    """Return a finite number; for a range its middle."""
    if isinstance(value, tuple) and len(value) == 2:
        low, high = map(_number, value)
        return None if low is None or high is None else (low + high) / 2
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and math.isfinite(value) else None


def difference(base: float | None, value: float | None) -> float | None:
    """Return `value` minus `base`; None unless both are given."""
    return None if base is None or value is None else value - base


def ratio(base: float | None, value: float | None) -> float | None:
    """Return `value` divided by `base`; None unless both are given and `base` is not zero."""
    return None if not base or value is None else value / base


def headings(comparison: Comparison, *, marks: bool = True) -> list[tuple[str, bool]]:
    """Return the headings of `cells`, and whether each column is text."""
    first, *others = comparison.labels
    found = [("system", True), *[("workload", True)] * _several(comparison)]
    found += [("what", True), (first, False)]
    for label in others:
        of = f" {label}" if len(others) > 1 else ""
        found += [(label, False), (f"difference{of}", False), (f"ratio{of}", False)]
    return found + [("remarks", True)] * (not marks)


def _several(comparison: Comparison) -> bool:
    return len({row.workload for row in comparison.rows}) > 1


def cells(comparison: Comparison, *, marks: bool = True) -> list[list[str]]:
    """Return a row of texts for each system and column of numbers of the comparison table.

    Ranges of prices are compared by their middles, prices of different kinds not at all. With
    `marks`, numbers have the marks of the table; without, a last column says in words what the
    marks would mean.
    """
    lines = []
    for row in comparison.rows:
        there = [s for s in row.systems if s is not None]
        names = [row.name, *[row.workload] * _several(comparison)]
        for column in (part for c in table.COLUMNS for part in table.by_kind(c, there)):
            if column.text or all(column.value(s) is None for s in there):
                continue
            values = [None if s is None else column.value(s) for s in row.systems]
            behind = ["" if s is None else column.mark(s) for s in row.systems]
            shown = behind if marks else [""] * len(behind)
            line = [*names, column.title, *_compared(values, shown, column.form)]
            lines.append(line if marks else [*line, _remarks(comparison.labels, behind)])
    return lines


def _remarks(labels: Sequence[str], marks: Sequence[str]) -> str:
    """Return what the marks of a line's numbers mean, by result."""
    said = (f"{label}: {table.REMARKS[mark]}" for label, mark in zip(labels, marks, strict=True) if mark)
    return "; ".join(said)


#: Text for a missing number.
_NONE = "–"  # noqa: RUF001


def _compared(values: Sequence[Any], marks: Sequence[str], form: Callable[[Any], str]) -> list[str]:
    """Return the first value, then each other with its difference and ratio."""
    shown = [_NONE if v is None else form(v) + mark for v, mark in zip(values, marks, strict=True)]
    base, *others = values
    line = shown[:1]
    for text, other in zip(shown[1:], others, strict=True):
        more, times = (difference(_number(base), _number(other)), ratio(_number(base), _number(other)))
        spans = isinstance(base, tuple) or isinstance(other, tuple)
        line += [
            text,
            _NONE if more is None else _signed(more, str if spans else form, spans),
            _NONE if times is None else f"{times:,.3f}",
        ]
    return line


def _signed(number: float, form: Callable[[Any], str], whole: bool) -> str:
    text = f"{abs(number):,.0f}" if whole else form(abs(number))
    if not any(c in "123456789" for c in text):
        return text
    return f"{'-' if number < 0 else '+'}{text}"


def notes(comparison: Comparison) -> list[str]:
    """Return how the numbers of each result were computed, and what was not compared."""
    lines = []
    for label, document in zip(comparison.labels, comparison.documents, strict=True):
        partial = ", partial" if document.get("partial") else ""
        lines.append(f"{label}: {table.note(document)}{partial}")
    lines += [
        f"{comparison.labels[i]}: {s['name']} on {s.get('workload')} stands in no other result"
        for i, s in comparison.unmatched
    ]
    return lines


def warnings(comparison: Comparison) -> list[str]:
    """Return the warnings of each result, and which rows compare a common prefix."""
    lines = []
    for label, document in zip(comparison.labels, comparison.documents, strict=True):
        groups = warned.of_document(document)
        named = [g._replace(lines=[f"{label}: {line}" for line in g.lines]) for g in groups]
        lines += warned.lines(named)
    for row in comparison.rows:
        if row.prefix_s:
            lines.append(
                f"{row.name}: a run was interrupted: compared are the first {row.prefix_s:,.1f} s "
                "of all results, whose quantiles are not known"
            )
        elif row.prefix_s is not None:
            lines.append(
                f"{row.name}: a run was interrupted before the results have a part in common: they cannot be compared"
            )
    return lines
