"""Writes the Python types of experiments and drives, `headstack.schema`, from their JSON Schema.

python scripts/schema_types.py   writes schema/, results/columns.py and live/servers.py of python/headstack
"""

import json
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from headstack import _bridge

TARGET = Path(__file__).resolve().parents[1] / "python" / "headstack" / "schema"
COLUMNS = TARGET.parent / "results" / "columns.py"
SERVERS = TARGET.parent / "live" / "servers.py"

Schema = dict[str, Any]

#: Keys whose table gets a file of its own, with what is described inside it.
FILES = {
    "workload": "Workloads",
    "system": "Systems",
    "drive": "Drives",
    "geometry": "Geometry of a drive",
    "power": "Power of a drive",
    "seek": "Seek models",
    "mapping": "Mappings of addresses to places",
    "parallelism": "Arms and heads of a drive",
    "layers": "Layers between requests and drives",
    "capping": "Power capping",
}
#: What several files use, and the experiment itself.
COMMON = {
    "quantities": "Quantities",
    "words": "Names of models, and other words",
    "models": "Parameters of models that a key names",
    "experiment": "Experiments",
}

HEAD = '"""{}; written by `scripts/schema_types.py`, do not edit."""\n\n'
#: Besides the values of a file, a run takes paths and DataFrames.
PLAIN = '''
from os import PathLike
from typing import Any, Protocol, TypeAlias

Path: TypeAlias = str | PathLike[str]
"""A path, as text or of `pathlib`."""


class Frame(Protocol):
    """A DataFrame of requests: pandas, Polars, pyarrow and others with Arrow's interface."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return the data as Arrow's stream."""
'''

#: Texts that are paths.
PATHS = ("cap_file", "drive", "trace")

WIDTH = 120

#: What files of types import.
IMPORTED = {"collections.abc": ("Mapping", "Sequence"), "typing": ("Literal", "Required", "TypeAlias", "TypedDict")}


def camel(name: str) -> str:
    """Return a key or the name of a model as the name of a class."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", name))


def singular(name: str) -> str:
    """Return the name of one entry of a list."""
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name


filled = partial(textwrap.fill, break_on_hyphens=False, break_long_words=False)


def comment(text: str, indent: str) -> str:
    """Return a text as a documentation string."""
    text = text.replace("\\", "\\\\").replace('"""', "'''")
    if text.endswith('"'):
        text += " "
    if len(indent) + len(text) + 6 <= WIDTH:
        return f'{indent}"""{text}"""\n'
    first, _, rest = filled(f'{text}"""', WIDTH - len(indent) - 3).partition("\n")
    rest = textwrap.indent(filled(rest, WIDTH - len(indent)), indent)
    return f'{indent}"""{first}\n{rest}\n'


def about_class(text: str) -> str:
    """Return the documentation string of a class: its first sentence is a paragraph."""
    if len(text) + 10 <= WIDTH:
        return comment(text, "    ")
    first, _, rest = text.partition(". ")
    rest = textwrap.indent(filled(rest, WIDTH - 4), "    ")
    return f'    """{first}.\n\n{rest}\n    """\n'


def described(schema: Schema) -> str:
    """Return what is known of a parameter: sentence, unit or meaning of words, length, default."""
    texts = [schema.get("description", "")]
    about = schema.get("$comment", "")
    if "unit:" in about:
        texts.append(f"Unit: {about.partition('unit: ')[2]}.")
    elif "enum" in schema:
        texts.append(meanings(schema))
    elif about:
        texts.append(f"Form: {about}.")
    inner = schema.get("items")
    if isinstance(inner, dict):
        unsaid = ("description", "default")
        each = described({k: v for k, v in inner.items() if k not in unsaid})
        texts.append(f"Each: {each.removeprefix('Each: ')}" if each else "")
    if "minItems" in schema:
        texts.append(f"{schema['minItems']} entries.")
    default = schema.get("default")
    if default not in (None, "", [], {}) and len(json.dumps(default)) < 60:
        texts.append(f"Default: {json.dumps(default)}.")
    return " ".join(text for text in texts if text)


def meanings(schema: Schema) -> str:
    """Return what each of several words means."""
    about = schema.get("$comment", "")
    if not about or about.startswith("the name of"):
        return ""
    words = "|".join(map(re.escape, schema["enum"]))
    parts = re.split(rf" (?=(?:{words}): )", about)
    return "; ".join(f"`{p.partition(':')[0]}`:{p.partition(':')[2]}".rstrip(".") for p in parts) + "."


@dataclass
class Record:
    """A table as a TypedDict: its name, sentence, keys with their types, and what it inherits."""

    name: str
    doc: str
    keys: list[str]
    bases: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        bases = self.bases or ["TypedDict"]
        head = listed(f"class {self.name}", "(", [*bases, "total=False"], "):", brackets=True)
        return "\n".join([head + about_class(self.doc), *self.keys])


#: Least lines that tables must have in common more than once, to inherit them from one.
SHARED = 8


@dataclass
class Written:
    """The files of types: what each defines, in order, and where a name is defined."""

    names: dict[str, str] = field(default_factory=dict)
    shapes: dict[str, str] = field(default_factory=dict)
    texts: dict[str, list[str | Record]] = field(default_factory=dict)

    def free(self, *wanted: str) -> str:
        """Return the first name that is not taken."""
        imported = {name for names in IMPORTED.values() for name in names}
        return next(name for name in wanted if name not in self.names.keys() | imported)

    def add(self, file: str, name: str, text: str | Record) -> str:
        """Define a name in a file."""
        self.names[name] = file
        self.texts.setdefault(file, []).append(text)
        return name

    def once(self, schema: Any, make: Callable[[], str]) -> str:
        """Return the type of a schema, made when its shape is first met."""
        unsaid = ("description", "default")
        shape = json.dumps({k: v for k, v in schema.items() if k not in unsaid}, sort_keys=True)
        if shape not in self.shapes:
            self.shapes[shape] = make()
        return self.shapes[shape]

    def share(self) -> None:
        """Let tables inherit the keys that they have in common from one table."""
        inner = ["experiment", *FILES, "models"]
        places: dict[str, list[tuple[str, Record]]] = {}
        for file, texts in self.texts.items():
            for record in texts:
                for key in record.keys if isinstance(record, Record) else ():
                    places.setdefault(key, []).append((file, record))
        groups: dict[tuple[str, ...], tuple[list[tuple[str, Record]], list[str]]] = {}
        for key, found in places.items():
            names = tuple(record.name for _, record in found)
            groups.setdefault(names, (found, []))[1].append(key)
        for found, keys in groups.values():
            if (len(found) - 1) * sum(key.count("\n") + 1 for key in keys) < SHARED:
                continue
            # Files import those that come later: what is inside of their tables.
            file = max((file for file, _ in found), key=inner.index)
            words = [key.partition(":")[0].strip() for key in keys]
            name = self.free(*(f"{camel(word)}Keys" for word in words if word != "name"))
            base = Record(name, "Keys that several tables have.", keys)
            self.names[name] = file
            first = next(record for at, record in found if at == file)
            self.texts[file].insert(self.texts[file].index(first), base)
            for _, record in found:
                record.keys = [key for key in record.keys if key not in keys]
                record.bases.append(name)

    def module(self, file: str, title: str) -> str:
        """Return the text of a file, with imports of what it uses."""
        texts = [str(text) for text in self.texts[file]]
        classes = [text.startswith("class") for text in texts]
        apart = ["\n" * (1 + (a or b)) for a, b in pairwise([False, *classes])]
        body = "".join(map("".join, zip(apart, texts, strict=True))).lstrip("\n")
        used = set(re.findall(r"\b[A-Z]\w+\b", re.sub(r'"""(.|\n)*?"""|"[^"\n]*"', "", body)))
        lines = []
        for module, known in IMPORTED.items():
            if found := sorted(used & set(known)):
                lines.append(f"from {module} import {', '.join(found)}\n")
        lines.append("\n")
        for other in sorted({self.names[n] for n in used & set(self.names)} - {file}):
            found = sorted(n for n in used if self.names.get(n) == other)
            lines.append(listed(f"from headstack.schema.{other} import ", "(", found, ")"))
        start = "\n\n" if body.startswith("class") else "\n"
        return HEAD.format(title) + "".join(lines).strip("\n") + "\n" + start + body


def listed(start: str, left: str, entries: Iterable[str], right: str, *, brackets: bool = False) -> str:
    """Return entries as the formatter breaks them: on one line, on one of their own, one a line.

    Those of lists and imports, without `brackets`, have no line of their own; `(` is left out.
    """
    entries = list(entries)
    short = ", ".join(entries)
    bare = ("", "") if left == "(" and not brackets else (left, right)
    if len(line := f"{start}{bare[0]}{short}{bare[1]}") <= WIDTH:
        return line + "\n"
    if brackets and len(short) + 4 <= WIDTH:
        return f"{start}{left}\n    {short}\n{right}\n"
    return f"{start}{left}\n" + "".join(f"    {e},\n" for e in entries) + f"{right}\n"


def either(entries: Iterable[str]) -> str:
    """Return a union, each type once."""
    return " | ".join(dict.fromkeys(entries))


@dataclass(frozen=True)
class Place:
    """Where a schema stands: its file, the class around it and its key."""

    file: str
    owner: str
    key: str


class Types:
    """Python types of a JSON Schema of the core."""

    def __init__(self) -> None:
        self.written = Written()
        #: The type of the first table of each key.
        self.tables: dict[str, str] = {}
        for name in re.findall(r"^(?:class )?([A-Z]\w+)[:(]", PLAIN, re.M):
            self.written.names[name] = "plain"

    def of(self, schema: Schema, at: Place) -> str:
        """Return the type of the values that fit a schema."""
        if "enum" in schema:
            return self.words(schema, at)
        if "properties" in schema:
            return self.table(schema, at)
        if "anyOf" in schema:
            return self.forms(schema["anyOf"], at)
        if "as text with" in schema.get("$comment", ""):
            return self.quantity(schema["$comment"])
        if "examples" in schema:
            return "int | str" if "whole number" in schema["$comment"] else "str"
        match schema.get("type"):
            case "string":
                return "Path" if at.key in PATHS else "str"
            case "integer":
                return "int"
            case "number":
                return "float"
            case "boolean":
                return "bool"
            case "array":
                return f"Sequence[{self.of(schema['items'], at)}]"
            case "object":
                inner = schema.get("additionalProperties", {})
                return f"Mapping[str, {self.of(inner, at) if isinstance(inner, dict) else 'object'}]"
        return "object"

    def quantity(self, about: str) -> str:
        """Return the type of a quantity: text with a unit."""
        what = about.partition(" as text")[0].partition(" ")[2]
        name = camel(what)
        if name not in self.written.names:
            text = f"{name}: TypeAlias = str\n"
            text += comment(f"{what[0].upper()}{what[1:]} as text with its unit.", "")
            self.written.add("quantities", name, text)
        return name

    def words(self, schema: Schema, at: Place) -> str:
        """Return the type of one of several words; long lists get a name."""
        entries = [json.dumps(word) for word in schema["enum"]]
        text = f"Literal[{', '.join(entries)}]"
        about = schema.get("$comment", "")
        if len(text) < 45 or not about:
            return text
        model = re.match(r"the name of an? (.*)", about)

        def make() -> str:
            base = camel(f"{model[1]} name" if model else at.key)
            name = self.written.free(base, at.owner + base)
            doc = comment(meant, "") if (meant := meanings(schema)) else ""
            text = listed(f"{name}: TypeAlias = Literal", "[", entries, "]", brackets=True)
            return self.written.add("words", name, text + doc)

        return self.written.once({"enum": schema["enum"], "$comment": about}, make)

    def forms(self, forms: list[Schema], at: Place) -> str:
        """Return the union of several forms; tables beside a quantity are called after it."""
        types: list[str] = []
        for form in forms:
            tables = "anyOf" in form and "properties" not in form
            quantities = [t for t in types if self.written.names.get(t) == "quantities"]
            here = Place(at.file, at.owner, quantities[0]) if tables and quantities else at
            types.append(self.named(form, here) if tables else self.of(form, at))
        return either(types)

    def named(self, schema: Schema, at: Place) -> str:
        """Return a union of tables that are told apart by the word of one key."""

        def make() -> str:
            parts = []
            for form in schema["anyOf"]:
                # The key that tells them apart has one word in each.
                ((key, word),) = ((k, v) for k, v in form["properties"].items() if "enum" in v)
                parts.append(self.record(camel(at.key) + camel(word["enum"][0]), form, at))
            return self.union(at, key, parts)

        return self.written.once(schema, make)

    def union(self, at: Place, key: str, parts: list[str]) -> str:
        """Name a union of tables, told apart by the word of `key`."""
        parts = list(dict.fromkeys(parts))
        if len(parts) == 1:
            return parts[0]
        base = camel(singular(at.key))
        name = self.written.free(base, base + camel(key), at.owner + base)
        text = wrapped(f"{name}: TypeAlias = ", parts)
        return self.written.add(at.file, name, text + comment(f"One of these, by its key `{key}`.", ""))

    def table(self, schema: Schema, at: Place) -> str:
        """Return the type of a table; one whose key names a model is a union by that key."""
        file = at.key if at.key in FILES else at.file
        at = Place(file, at.owner, at.key)
        found = self.written.once(schema, lambda: self.made(schema, at))
        self.tables.setdefault(at.key, found)
        return found

    def made(self, schema: Schema, at: Place) -> str:
        """Define a table, or a table for each group of models that its key can name."""
        base = camel(singular(at.key))
        models = {key: rules for key, rules in by_key(schema) if "type" in rules[0][1]}
        if not models:
            return self.record(self.written.free(base, at.owner + base), schema, at)
        ((key, rules),) = models.items()
        common = {k: v for k, v in schema["properties"].items() if k != key}
        parent = ""
        if common:
            own = {"properties": common, "required": [k for k in schema.get("required", ()) if k != key]}
            parent = self.record(f"{base}Common", own, at, "Keys that each of these tables has.")
        parts = []
        for words, table, usual in same(rules):
            own = {k: v for k, v in table["properties"].items() if v is not True}
            required = [*table.get("required", ()), *([] if usual else [key])]
            named = {"enum": words, "description": schema["properties"][key].get("description", "")}
            full = {**table, "properties": {key: named, **own}, "required": required}
            doc = table.get("description") or f"Parameters of `{words[0]}`."
            parts.append(self.record(base + camel(words[0]), full, at, doc, parent))
        return self.union(at, key, parts)

    def record(self, name: str, schema: Schema, at: Place, doc: str = "", parent: str = "") -> str:
        """Define a table as a TypedDict."""
        name = self.written.free(name, f"{name}Table", at.owner + name)
        self.written.names[name] = at.file
        parameters = dict(self.parameters(schema, Place(at.file, name, at.key)))
        lines = []
        for key, inner in schema["properties"].items():
            assert key.isidentifier(), key
            here = Place(at.file, name, key)
            type_ = parameters.get(key) or self.key_type(inner, here)
            if key in schema.get("required", ()):
                type_ = f"Required[{type_}]"
            lines.append(wrapped(f"    {key}: ", re.split(r" \| (?![^\[]*\])", type_)))
            lines[-1] += comment(described(inner), "    ") if described(inner) else ""
        doc = doc or schema.get("description") or f"One of `{at.key}`."
        record = Record(name, doc, lines, [parent] if parent else [])
        return self.written.add(at.file, name, record)

    def key_type(self, inner: Schema, at: Place) -> str:
        """Return the type of the value of a key; a trace may also be a DataFrame."""
        found = self.of(inner, at)
        return f"{found} | Frame" if (at.key, found) == ("trace", "Path") else found

    def parameters(self, schema: Schema, at: Place) -> Iterator[tuple[str, str]]:
        """Yield the keys for parameters of a model, with the union over all models."""
        for _, rules in by_key(schema):
            if "type" in rules[0][1]:
                continue
            found = []
            for word, then, _ in rules:
                ((key, own),) = then["properties"].items()
                if own["properties"]:
                    name = f"{camel(word)}Parameters"
                    doc = own.get("description") or f"Parameters of `{word}`."
                    here = Place("models", at.owner, key)
                    found.append(self.written.once(own, partial(self.record, name, own, here, doc)))
            yield key, either(found) or "Mapping[str, object]"


def wrapped(start: str, parts: list[str]) -> str:
    """Return a union after `start`, in lines as the formatter breaks them."""
    whole = " | ".join(parts)
    if len(start) + len(whole) <= WIDTH:
        return f"{start}{whole}\n"
    inside = " " * (len(start) - len(start.lstrip()) + 4)
    if len(inside) + len(whole) > WIDTH:
        whole = f"\n{inside}| ".join(parts)
    return f"{start}(\n{inside}{whole}\n{inside[4:]})\n"


def by_key(schema: Schema) -> Iterator[tuple[str, list[tuple[str, Schema, bool]]]]:
    """Yield the keys that name models: of each model its name, rule, and whether it is usual."""
    keys: dict[str, list[tuple[str, Schema, bool]]] = {}
    for rule in schema.get("allOf", ()):
        if "if" not in rule:
            continue
        ((key, named),) = rule["if"]["properties"].items()
        usual = "required" not in rule["if"]
        keys.setdefault(key, []).append((named["const"], rule["then"], usual))
    yield from keys.items()


def same(rules: list[tuple[str, Schema, bool]]) -> Iterator[tuple[list[str], Schema, bool]]:
    """Yield models with the same table together."""
    found: dict[str, tuple[list[str], Schema, list[bool]]] = {}
    for word, table, usual in rules:
        shape = json.dumps({k: v for k, v in table.items() if k != "description"}, sort_keys=True)
        words, _, all_usual = found.setdefault(shape, ([], table, []))
        words.append(word)
        all_usual.append(usual)
    for words, table, all_usual in found.values():
        yield words, table, any(all_usual)


def files() -> dict[str, str]:
    """Return the files of `headstack.schema` with their text."""
    types = Types()
    types.of(_bridge.call("schema", True), Place("experiment", "", "experiment"))
    types.written.share()
    titles = FILES | COMMON
    written = types.written
    found = {f"{file}.py": written.module(file, titles[file]) for file in written.texts}
    found["plain.py"] = HEAD.format("Values that descriptions contain") + PLAIN.lstrip()
    # The tables that have a file, and those of an experiment; others are found in their files.
    names = [types.tables[key] for key in FILES]
    names = sorted({*names, *(n for n, of in written.names.items() if of == "experiment")})
    lines = []
    for file in sorted({written.names[n] for n in names}):
        inside = [n for n in names if written.names[n] == file]
        lines.append(listed(f"from headstack.schema.{file} import ", "(", inside, ")"))
    every = listed("__all__ = ", "[", map(json.dumps, names), "]")
    title = "Types of experiments and drives"
    found["__init__.py"] = HEAD.format(title) + "".join(lines) + "\n" + every
    return found


#: Kinds of columns of results, as types.
SIMPLE = {"whole": "int", "number": "float", "flag": "bool", "text": "str", "free": "Free"}


def column_type(kind: Any, known: dict[str, str]) -> str:
    """Return the type of a column; add the classes of its tables to `known`, each after those in it."""
    if isinstance(kind, str):
        return SIMPLE[kind]
    ((word, of),) = kind.items()
    if word == "maybe":
        return f"{column_type(of, known)} | None"
    if word == "list":
        return f"list[{column_type(of, known)}]"
    name, sentence, columns = of
    text = f"class {name}(Record):\n" + about_class(said(sentence))
    after = "\n"
    for column in columns:
        text += f"{after}    {column['name']}: {column_type(column['kind'], known)}\n"
        doc = comment(said(column["sentence"]), "    ") if column["sentence"] else ""
        text, after = text + doc, "\n" if doc else ""
    if known.setdefault(name, text) != text:
        raise SystemExit(f"{name}: got two tables of this name, need one")
    return str(name)


def linked(sentence: str) -> str:
    """Return a sentence of Rust's documentation without its links: they are names."""
    return re.sub(r"\[(`[^`]+`)\](\([^)]*\))?", r"\1", sentence)


def said(sentence: str) -> str:
    """Return a sentence of Rust's documentation in the words of Python's."""
    return linked(sentence).replace("`null`", "None").replace("::", ".")


def columns() -> str:
    """Return `headstack.results.columns`: the tables of results, as classes."""
    known: dict[str, str] = {}
    column_type(_bridge.call("result_columns"), known)
    imports = "from headstack.results.record import Free, Record\n\n\n"
    return HEAD.format("Tables of results") + imports + "\n\n".join(known.values())


#: Kinds of values of options, as types.
KINDS = {"flag": "bool", "text": "str", "path": "str | PathLike[str]", "number": "float", "whole": "int"}


def quoted(text: str) -> str:
    """Return a text in the quotes that the formatter prefers."""
    return repr(text) if '"' in text else json.dumps(text)


def servers() -> str:
    """Return `headstack.live.servers`: the options of servers."""
    text = """from collections.abc import Sequence
from os import PathLike
from typing import Annotated, TypedDict


class ServerOptions(TypedDict, total=False):
    \"\"\"What servers of simulated drives take; also options of the command line.

    Each type has the name of its value on the command line, and what it does.
    \"\"\"

"""
    for name, kind, is_repeated, value, sentence in _bridge.call("server_options"):
        of = f"Sequence[{KINDS[kind]}]" if is_repeated else KINDS[kind]
        start = f"    {name.replace('-', '_')}: Annotated["
        whole = f"{of} | None, {json.dumps(value)}, {quoted(sentence)}"
        if len(start) + len(whole) < WIDTH:
            text += f"{start}{whole}]\n"
        elif len(whole) + 8 <= WIDTH:
            text += f"{start}\n        {whole}\n    ]\n"
        else:
            pieces = textwrap.wrap(sentence, WIDTH - 11, drop_whitespace=False, break_on_hyphens=False)
            lines = [f"{of} | None,", json.dumps(value) + ",", *map(quoted, pieces)]
            text += f"{start}\n" + "".join(f"        {line}\n" for line in lines)[:-1] + ",\n    ]\n"
    return HEAD.format("Options of servers") + text


if __name__ == "__main__":
    TARGET.mkdir(exist_ok=True)
    for old in TARGET.glob("*.py"):
        old.unlink()
    for name, text in files().items():
        (TARGET / name).write_text(text, encoding="utf-8")
    COLUMNS.write_text(columns(), encoding="utf-8")
    SERVERS.write_text(servers(), encoding="utf-8")
