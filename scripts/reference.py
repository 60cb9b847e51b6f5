"""Write the reference of the Python package, and the page that leads to it.

Usage: python scripts/reference.py docs/index.html out/docs

The modules are those that ``dir(headstack)`` lists. Their first sentences take the place of the
line ``<!-- modules -->`` of the page.
"""

import html
import inspect
import sys
from pathlib import Path

import pdoc

import headstack

MARK = "<!-- modules -->"


def modules() -> list[str]:
    """Return the full names of the package and its public modules."""
    # To ask for them also imports them, so that pdoc finds what is imported at first use.
    found = [getattr(headstack, name) for name in dir(headstack)]
    return ["headstack", *(m.__name__ for m in found if inspect.ismodule(m))]


def line(name: str) -> str:
    """Return the entry of a module in the page."""
    sentence = (sys.modules[name].__doc__ or "").strip().partition("\n\n")[0].replace("\n", " ")
    shown = name.removeprefix("headstack.")
    link = f"python/{name.replace('.', '/')}.html"
    return f'<dt><a href="{link}">{shown}</a></dt><dd>{html.escape(sentence)}</dd>'


def main(page: Path, out: Path) -> None:
    """Write the pages into a folder."""
    names = modules()
    pdoc.render.configure(docformat="google")
    pdoc.pdoc(*names, output_directory=out / "python")
    text = page.read_text(encoding="utf-8")
    if MARK not in text:
        sys.exit(f"{page}: got no {MARK}, need its place")
    text = text.replace(MARK, "\n".join(map(line, names)))
    (out / page.name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
