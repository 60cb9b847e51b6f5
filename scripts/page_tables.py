"""Prints the tables of pages from what is declared, between `<!-- KIND WHAT -->` and `<!-- end -->`.

python scripts/page_tables.py   writes docs/, after scripts/schema_types.py

| kind | what | a row for each |
|---|---|---|
| keys | a table by its dotted keys (`mapping=log`: of this model) | key |
| parts | a table by its dotted keys | table in it, with its keys |
| models | a kind of models | model, with its parameters |
| names | a kind of models | model |
| formats | | format of traces, with its units and parameters |
| options | a command | option |
| columns | a table of results | column |
| counters | | counter of drives |

Further words are the only rows, or those that are left out after `-`.
"""

import argparse
import html
import importlib
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from schema_types import Schema, by_key, linked, meanings, said

from headstack import _bridge
from headstack.cli import _arguments

DOCS = Path(__file__).resolve().parents[1] / "docs"
#: What is so where a key is absent, as sentences say it.
ABSENT = re.compile(r"[;,.] (?:([^;,.]*) if absent|(?:if absent|absent:),? ([^;.]*))\.", re.I)
#: Bounds at the end of a sentence.
BOUNDS = re.compile(r" (-?[\d.]+(?: \S+)?) to ([\d.]+(?: \S+)?)\.$")
#: What pages call models of some kinds.
HEADS = {"capping": "policy", "cleaning": "policy", "mapping": "policy"}
#: Most keys of a table that are named in one cell.
NAMED = 12
UNITS = {"TB": 10**12, "GB": 10**9, "MB": 10**6, "TiB": 2**40, "GiB": 2**30, "MiB": 2**20, "KiB": 2**10, "B": 1}

Rows = Iterable[tuple[str, ...]]


def cell(text: str) -> str:
    """Return text for a cell of a table; code keeps its characters."""
    parts = " ".join(text.split()).split("`")
    parts[::2] = [html.escape(part, quote=False) for part in parts[::2]]
    return "`".join(parts).replace("|", "\\|")


def table(head: tuple[str, ...], rows: Rows, some: tuple[str, ...] = ()) -> str:
    """Return a table; the first cell of a row is a name, and `some` of these are printed."""
    rows = [r for r in rows if not some or (r[0].split(" ")[0] in some) != (some[0] == "-")]
    cells = [head, *([f"`{name}`", *map(cell, more)] for name, *more in rows)]
    lines = [f"| {' | '.join(line)} |" for line in cells]
    lines.insert(1, "|---" * len(head) + "|")
    return re.sub(r"\|  (?=\|)", "| ", "\n".join(lines)) + "\n"


def shown(value: Any) -> str:
    """Return a value as pages show it: sizes in the unit that makes them short, words as code."""
    if isinstance(value, bool) or (isinstance(value, list) and value):
        return f"`{json.dumps(value)}`"
    if isinstance(value, float | int):
        return f"{value:,}".removesuffix(".0")
    if not isinstance(value, str):
        return ""
    if size := re.fullmatch(r"([1-9]\d*) B", value):
        unit = min(UNITS, key=lambda u: (int(size[1]) % UNITS[u] > 0, int(size[1]) // UNITS[u]))
        return f"{int(size[1]) // UNITS[unit]:,} {unit}"
    return f"`{value}`" if re.match(r"[^-\d]", value) else value


def bounds(found: re.Match[str]) -> str:
    """Return bounds as pages show them; nobody reaches those that need many digits."""
    least, most = map(shown, found.groups())
    return f" {least} to {most}." if max(len(least), len(most)) < 10 else ""


def halves(sentence: str, default: Any, is_needed: bool) -> tuple[str, str]:
    """Return what a sentence says of a value, and what is so where the key is absent."""
    absent = "needed" if is_needed else shown(default)
    found = ABSENT.search(sentence)
    if found is None or absent:
        return sentence, absent
    return ABSENT.sub(".", sentence), found[1] or found[2]


def tables(schema: Schema) -> Iterator[Schema]:
    """Yield the tables that a value may be, or that its entries may be."""
    if "properties" in schema:
        yield schema
    for form in (*schema.get("anyOf", ()), schema.get("items")):
        yield from tables(form) if form else ()


def inside(schema: Schema, key: str) -> Iterator[Schema]:
    """Yield the tables at a key of a table; `key=word`: the parameters of this model."""
    key, _, word = key.partition("=")
    rules = [then["properties"] for _, of in by_key(schema) for _, then, _ in of]
    for properties in (schema["properties"], *rules):
        for inner in tables(properties[key]) if properties.get(key, True) is not True else ():
            own = (then for _, of in by_key(inner) for named, then, _ in of if named == word)
            yield from own if word else (inner,)


def merged(*parts: Schema) -> Schema:
    """Return one table with the keys of several."""
    keys = {k: v for part in parts for k, v in part["properties"].items() if v is not True}
    return {**parts[0], "properties": keys, "required": [k for part in parts for k in part.get("required", ())]}


def at(path: str) -> Schema:
    """Return the table at dotted keys, of an experiment or of `drive`."""
    first, *keys = path.split(".")
    whole = _bridge.call("schema", first != "drive")
    found = [whole] if first == "drive" else [*inside(whole, first)]
    for key in keys:
        found = [inner for schema in found for inner in inside(schema, key)]
    return merged(*found)


def entries(schema: Schema) -> Iterator[tuple[str, str, str]]:
    """Yield each key of a table, what it is, and what is so where it is absent; a second name is left out."""
    before: Schema = {}
    for key, entry in schema["properties"].items():
        if entry != before:
            sentence = BOUNDS.sub(bounds, said(entry.get("description", "")))
            yield key, *halves(sentence, entry.get("default"), key in schema.get("required", ()))
        before = entry


def with_keys(sentence: str, inner: Iterable[str]) -> str:
    """Return a sentence with the keys of the table that it is about, if it does not have them and they are few."""
    names = ", ".join(inner)
    if names and names.count(",") < NAMED and "{" not in sentence:
        return f"{sentence.removesuffix('.')}: `{{ {names} }}`."
    return sentence


def forms(entry: Schema, sentence: str) -> str:
    """Return what a key is with the words that its value may be, or with the keys of the table that it may be."""
    if "enum" in entry:
        return f"{sentence} {meanings(entry)}"
    found = [t["properties"] for t in tables(entry) if not t.get("allOf")]
    tags = [(k, v["enum"][0]) for t in found for k, v in t.items() if len(v.get("enum", ())) == 1]
    if len(found) > 1 and len(tags) == len(found):
        return f"{sentence} By `{tags[0][0]}`: {', '.join(f'`{word}`' for _, word in tags)}."
    return with_keys(sentence, found[0] if len(found) == 1 else ())


def keys(path: str, *some: str) -> str:
    """Return the rows of the keys of a table."""
    schema, rows = at(path), []
    for key, sentence, absent in entries(schema):
        about = forms(schema["properties"][key], sentence)
        # The names of distributions once.
        by = about.find(" By `")
        again = by > 0 and about[by:] in str(rows)
        rows.append((key, about[:by] + about[by:].partition(":")[0] + ", too." if again else about, absent))
    return table(("key", "meaning", "if absent"), rows, some)


def listed(parameters: Iterable[tuple[str, str]]) -> str:
    """Return keys with what is so where they are absent, for one cell."""
    return ", ".join(f"`{key}` ({absent})" if absent else f"`{key}`" for key, absent in parameters)


def parts(path: str, *some: str) -> str:
    """Return the rows of the tables in a table."""
    rows = []
    for key, entry in at(path)["properties"].items():
        usual = entry.get("default") if isinstance(entry.get("default"), dict) else {}
        inner = [(k, absent or shown(usual.get(k))) for t in tables(entry) for k, _, absent in entries(t)]
        more = " and its parameters" if [*by_key(entry)] and len(inner) == 1 else ""
        if inner:
            rows.append((key, said(entry["description"]), listed(inner) + more))
    return table(("table", "content", "keys (if absent)"), rows, some)


def parameters(entry: dict[str, Any]) -> str:
    """Return the parameters of a model for one cell."""
    of = ((p["key"], *halves(p["what"], p["default"], p["needed"])) for p in entry["parameters"])
    return listed((key, absent) for key, _, absent in of)


def models(kind: str, *some: str) -> str:
    """Return the rows of models."""
    rows = [(e["name"], e["summary"], parameters(e)) for e in _bridge.call("plugins")[kind]]
    return table((HEADS.get(kind, kind), "description", "parameters (if absent)"), rows, some)


def names(kind: str, *some: str) -> str:
    """Return the rows of models without their parameters."""
    rows = [(e["name"], e["summary"]) for e in _bridge.call("plugins")[kind]]
    return table((HEADS.get(kind, kind), "description"), rows, some)


def formats(*some: str) -> str:
    """Return the rows of formats of traces."""
    of = {e["name"]: parameters(e) for e in _bridge.call("plugins")["reader"]}
    rows = [
        (e["name"], e["summary"], f"{e['time_unit']}; {e['size_unit']}", of[e["name"]]) for e in _bridge.call("formats")
    ]
    return table(("format", "description", "units: times; places, sizes", "parameters (if absent)"), rows, some)


def options(command: str, *some: str) -> str:
    """Return the rows of the options of a command."""
    found: list[argparse.Action] = []
    function = importlib.import_module(f"headstack.cli.{command}").command
    _arguments._parser(command, function, complete=lambda action, *_: found.append(action), only_options=True)
    of = [(o.option_strings[0], f"[{o.metavar}]" if o.nargs == "?" else o.metavar or "", o.help or "") for o in found]
    return table(("option", "meaning"), [(f"{name} {value}".strip(), about) for name, value, about in of], some)


def columns(name: str, *some: str) -> str:
    """Return the rows of the columns of a table of results."""

    def found(kind: Any) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        for word, of in kind.items() if isinstance(kind, dict) else ():
            if word != "table":
                yield from found(of)
                continue
            yield of[0], of[2]
            for column in of[2]:
                yield from found(column["kind"])

    rows = []
    for column in dict(found(_bridge.call("result_columns")))[name]:
        inner = [c["name"] for c in next(found(column["kind"]), ("", []))[1]]
        rows.append((column["name"], with_keys(linked(column["sentence"]), inner)))
    return table(("column", "meaning"), rows, some)


def counters(*some: str) -> str:
    """Return the rows of what drives count."""
    rows = [(c["name"], c["unit"], c["of_several"], c["sentence"]) for c in _bridge.call("counters")]
    return table(("counter", "unit", "of several drives", "what it counts"), rows, some)


KINDS = {f.__name__: f for f in (keys, parts, models, names, formats, options, columns, counters)}
MARKED = re.compile(rf"(<!-- ({'|'.join(KINDS)})\b(.*?) -->\n)(?:(?!<!--).)*(?=<!-- end -->)", re.S)


def printed(page: str) -> str:
    """Return the text of a page with its tables as they are declared."""
    return MARKED.sub(lambda found: found[1] + KINDS[found[2]](*found[3].split()), page)


if __name__ == "__main__":
    for path in sorted(DOCS.rglob("*.md")):
        path.write_text(printed(path.read_text(encoding="utf-8")), encoding="utf-8")
