"""Pages, examples and drive files that come with the package, installed or in a source tree."""

import shutil
from pathlib import Path

from headstack.errors import ConfigError
from headstack.suggest import need_one_of

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parent.parent


def folder(name: str) -> Path:
    """Return the folder ``docs``, ``drives`` or ``examples``.

    In a source tree it is that of the tree; copies that an earlier build left may be old.

    Raises:
        ConfigError: this installation has none.
    """
    own = _ROOT if (_ROOT / "pyproject.toml").is_file() else _HERE
    path = own / name
    if not path.is_dir():
        raise ConfigError(f"{path}: got no such folder, need a complete installation of headstack")
    return path


def topics() -> dict[str, Path]:
    """Return the pages by topic, in the order of the documentation's list.

    The topic of a guide is its name alone: ``goals``; others have their folder before it:
    ``models/seek``.
    """
    docs = folder("docs")
    pages = [docs / "README.md", *sorted(docs.glob("*.md")), *sorted(docs.glob("guide/*.md"))]
    pages += [p for part in ("studies", "models", "design") for p in sorted(docs.glob(f"{part}/*.md"))]
    found: dict[str, Path] = {}
    for page in pages:
        name = page.relative_to(docs).with_suffix("").as_posix()
        found.setdefault(name.removeprefix("guide/"), page)
    found["contents"] = found.pop("README")
    return {"contents": found.pop("contents"), **found}


def page(topic: str) -> str:
    """Return the text of a page.

    Raises:
        ConfigError: there is no such topic.
    """
    known = topics()
    # Pages name each other by their files.
    name = topic.removeprefix("docs/").removeprefix("guide/").removesuffix(".md")
    if name not in known:
        raise ConfigError(need_one_of("topic", topic, known))
    return known[name].read_text(encoding="utf-8")


def title(page: Path) -> str:
    """Return the heading of a page."""
    with page.open(encoding="utf-8") as lines:
        heading = next((line for line in lines if line.startswith("# ")), "")
    return heading.removeprefix("# ").strip().replace("`", "")


def examples() -> list[Path]:
    """Return the files of the examples, sorted."""
    top = folder("examples")
    return sorted(p for p in top.rglob("*") if p.is_file() and "__pycache__" not in p.parts)


def copy_examples(to: Path) -> list[Path]:
    """Copy the examples into the folder ``examples`` of a folder; return the files.

    Files that are there already stay as they are, and are not returned.

    Raises:
        OSError: the folder cannot be written to.
    """
    top, written = folder("examples"), []
    for path in examples():
        target = to / "examples" / path.relative_to(top)
        if target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        written.append(target)
    return written
