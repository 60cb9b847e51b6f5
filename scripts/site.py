"""Write the documentation as one site: guides, models, design, and the reference from the code.

Usage: python scripts/site.py out/docs

The pages are Markdown files of the repository; Sphinx renders a copy of them, in which the
reference of commands, schemas and Python modules is written beside them. A link without a target
is an error.
"""

import contextlib
import html
import inspect
import io
import json
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from page_tables import cell

import headstack
from headstack import _bridge
from headstack.cli import NAMES
from headstack.cli import main as command

ROOT = Path(__file__).resolve().parents[1]

CONF = """
project = "Headstack"
author = "the authors of Headstack"
release = version = {version!r}
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {{".md": "markdown", ".rst": "restructuredtext"}}
root_doc = "index"
html_theme = "furo"
html_title = "Headstack {version}"
html_copy_source = False
# Fonts and scripts are those of the theme: the site opens without a network.
myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]
default_role = "code"
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {{"members": True, "show-inheritance": True}}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
# A name that several modules have is linked to the first; attributes stand with their class, too.
suppress_warnings = ["myst.header", "misc.highlighting_failure", "ref.python"]
exclude_patterns = []


def setup(app):
    from pygments.lexers.special import TextLexer

    for name in ("mermaid", "csv"):
        app.add_lexer(name, TextLexer)
"""

#: Parts of the site, in order, with patterns of their pages.
PARTS = {
    "Begin": [
        "README.md",
        "docs/tutorial.md",
        "docs/README.md",
        "examples/README.md",
        "examples/traces/README.md",
        "docs/scope.md",
    ],
    "Guides": ["docs/guide/*.md"],
    "Studies": ["docs/studies/*.md"],
    "Models": ["docs/models/*.md", "docs/numbers.md"],
    "Reference": ["reference/commands.md", "reference/*.md", "reference/python/*.rst"],
    "Design": ["docs/design/*.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/release-*.md"],
}

#: Kinds of values of which there are lists.
PLURALS = {k: f"{k}s" for k in ("table", "string", "integer", "number", "any value")}

LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s]+)\)")


def stage(source: Path) -> None:
    """Copy the pages, with their pictures, as they lie in the repository."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    for page in pages:
        target = source / page.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(linked(page), encoding="utf-8")
    shutil.copytree(ROOT / "docs" / "img", source / "docs" / "img", dirs_exist_ok=True)


def linked(page: Path) -> str:
    """Return a page without links to files of the repository that are no pages of the site."""

    def link(found: re.Match[str]) -> str:
        shown, target = found.groups()
        path = (page.parent / target.partition("#")[0]).resolve()
        own = target.startswith("#") or re.match(r"[a-z]+:", target) or path.suffix == ".md"
        if own or (path.suffix in (".png", ".svg") and path.is_file()):
            return found[0]
        return shown.strip("[]") if not shown.startswith("!") else ""

    parts = re.split(r"(^```.*?^```)", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return "".join(p if p.startswith("```") else LINK.sub(link, p) for p in parts)


def commands(reference: Path) -> None:
    """Write one page with the help of every command."""
    lines = ["# Commands", "", "What `headstack COMMAND --help` prints."]
    for name in NAMES:
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            command([name, "--help"])
        lines += ["", f"## {name}", "", "```text", text.getvalue().rstrip(), "```"]
    (reference / "commands.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def schema(reference: Path, kind: str) -> None:
    """Write the page of a schema: every table with its keys, defaults and bounds."""
    document = _bridge.call("schema", kind == "experiment")
    lines = [f"# Keys of {'an experiment' if kind == 'experiment' else 'a drive file'}", ""]
    lines.append(f"What `headstack schema {kind}` has for editors and programs, table by table.")
    known: set[str] = set()
    for path, table in tables(document, ""):
        # A table that stands in several places is described at the first one.
        text = json.dumps(table, sort_keys=True)
        if text in known:
            continue
        known.add(text)
        lines += ["", f"## {path or 'The file'}", ""]
        if path and table.get("description"):
            lines += [cell(table["description"]), ""]
        lines += ["| key | value | default | meaning |", "|---|---|---|---|", *keys(table)]
    (reference / f"{kind}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def tables(entry: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every table of a schema with the dotted keys that lead to it."""
    if path.endswith("drive") and path:
        return  # a whole drive, which has a page of its own
    if entry.get("properties"):
        yield path, entry
        for key, value in entry["properties"].items():
            yield from tables(value, f"{path}.{key}" if path else key)
    for part in (entry.get("items"), *entry.get("oneOf", ()), *entry.get("anyOf", ())):
        if isinstance(part, dict):
            fixed = (p.get("enum", [p.get("const")]) for p in part.get("properties", {}).values())
            word = next((w[0] for w in fixed if len(w) == 1 and w[0] is not None), None)
            yield from tables(part, path if word is None else f"{path} ({word})")


def keys(table: dict[str, Any]) -> list[str]:
    """Return a row for each key of a table."""
    needed = table.get("required", [])
    rows = []
    for key, entry in (table.get("properties") or {}).items():
        usual = "needed" if key in needed else ""
        if "default" in entry:
            usual = f"`{json.dumps(entry['default'], ensure_ascii=False)}`"
        about = cell(entry.get("description", ""))
        rows.append(f"| `{key}` | {form(entry)} | {cell(usual)} | {about} |")
    return rows


def form(entry: dict[str, Any]) -> str:
    """Return what a value may be, in words."""
    for word in ("oneOf", "anyOf"):
        if word in entry:
            return cell(" or ".join(dict.fromkeys(form(part) for part in entry[word])))
    if "enum" in entry:
        return cell(", ".join(f"`{value}`" for value in entry["enum"]))
    if "const" in entry:
        return f"`{entry['const']}`"
    if "properties" in entry:
        return "table"
    if entry.get("type") == "array":
        of = form(entry.get("items", {}))
        return f"list of {PLURALS.get(of, of)}"
    return str(entry.get("type", "any value"))


def python(reference: Path) -> None:
    """Write one page for each public module of the package."""
    folder = reference / "python"
    folder.mkdir()
    found = [getattr(headstack, name) for name in dir(headstack)]
    for name in ["headstack", *(m.__name__ for m in found if inspect.ismodule(m))]:
        title = name if name == "headstack" else name.removeprefix("headstack.")
        # What the package itself offers is described where it is defined.
        more = "   :no-index:\n" if name == "headstack" else ""
        text = f"{title}\n{'=' * len(title)}\n\n.. automodule:: {name}\n{more}"
        (folder / f"{name}.rst").write_text(text, encoding="utf-8")


def rust(reference: Path) -> None:
    """Write the page that leads to the reference of the crates, which cargo writes."""
    lines = ["# Rust crates", "", "Written by `cargo doc`.", ""]
    for file in sorted(ROOT.glob("crates/*/Cargo.toml")):
        crate = tomllib.loads(file.read_text(encoding="utf-8"))
        name = crate.get("lib", {}).get("name") or crate["package"]["name"].replace("-", "_")
        about = html.escape(crate["package"]["description"])
        lines.append(f'- <a href="../rust/{name}/index.html">{name}</a>: {about}')
    (reference / "rust.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def index(source: Path) -> None:
    """Write the page that all others hang from."""
    lines = ["# Headstack", "", "A laboratory for hard-disk storage.", ""]
    # Pages come in the order of the page that lists them all, others after them by name.
    listed = [t for _, t in LINK.findall((ROOT / "docs" / "README.md").read_text(encoding="utf-8"))]
    order = {(ROOT / "docs" / t).resolve(): n for n, t in reversed([*enumerate(listed)])}

    def place(page: Path) -> tuple[int, Path]:
        return order.get(ROOT / page.relative_to(source), len(order)), page

    for part, patterns in PARTS.items():
        found: dict[str, None] = {}
        for pattern in patterns:
            pages = sorted(source.glob(pattern), key=place)
            found |= dict.fromkeys(p.relative_to(source).with_suffix("").as_posix() for p in pages)
        lines += ["```{toctree}", f":caption: {part}", ":maxdepth: 1", "", *found, "```", ""]
    (source / "index.md").write_text("\n".join(lines), encoding="utf-8")


def main(out: Path) -> int:
    """Build the site into a folder; return the exit code."""
    source = out.with_name(f"{out.name}-source")
    shutil.rmtree(source, ignore_errors=True)
    reference = source / "reference"
    reference.mkdir(parents=True)
    stage(source)
    commands(reference)
    for kind in ("experiment", "drive"):
        schema(reference, kind)
    python(reference)
    rust(reference)
    index(source)
    (source / "conf.py").write_text(CONF.format(version=headstack.__version__), encoding="utf-8")
    from sphinx.cmd.build import build_main

    options = ["-q", "-W", "--keep-going", "-b", "html", "-d", str(source / ".trees")]
    return build_main([*options, str(source), str(out)])


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
