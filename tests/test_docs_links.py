"""Relative links in all Markdown files lead to a file or folder of the repository."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from headstack.cli import NAMES

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def markdown_files() -> list[Path]:
    """Every Markdown file that git tracks or would track."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"]
    try:
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        names = [name for name in listed.stdout.split("\0") if name]
        return sorted(ROOT / name for name in names if (ROOT / name).exists())
    except (OSError, subprocess.CalledProcessError):  # an unpacked archive
        skipped = {"target", ".venv", "out"}
        return sorted(p for p in ROOT.rglob("*.md") if not skipped & set(p.relative_to(ROOT).parts))


def anchors(text: str) -> set[str]:
    """The anchors that headings get: lower case, spaces to hyphens, no other punctuation."""
    heads = re.findall(r"^#+\s+(.*)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def test_there_are_markdown_files() -> None:
    assert ROOT / "README.md" in markdown_files()


@pytest.mark.parametrize("page", markdown_files(), ids=lambda p: str(p.relative_to(ROOT)))
def test_relative_links_resolve(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    broken = []
    for target in LINK.findall(FENCE.sub("", text)):
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        name, _, anchor = target.partition("#")
        goal = (page.parent / name).resolve() if name else page
        absent = not goal.is_relative_to(ROOT) or not goal.exists()
        anchored = anchor and not absent and goal.suffix == ".md"
        if absent or (anchored and anchor not in anchors(goal.read_text("utf-8"))):
            broken.append(target)
    assert not broken, f"{page.relative_to(ROOT)}: got links {broken}, need existing targets"


def test_the_reference_has_every_crate_module_and_command(tmp_path: Path) -> None:
    site = runpy.run_path(str(ROOT / "scripts" / "site.py"))
    site["rust"](tmp_path)
    site["python"](tmp_path)
    site["commands"](tmp_path)
    site["schema"](tmp_path, "experiment")
    linked = set(re.findall(r'href="../rust/(\w+)/index.html"', (tmp_path / "rust.md").read_text()))
    crates = [p.name for p in (ROOT / "crates").iterdir() if (p / "Cargo.toml").exists()]
    names = ["_core" if name == "py" else f"headstack_{name}".replace("-", "_") for name in crates]
    assert linked == set(names)
    modules = {p.stem for p in (tmp_path / "python").glob("*.rst")}
    assert {"headstack", "headstack.runs.api", "headstack.results.goal", "headstack.workloads.workload"} <= modules
    for name in modules:
        assert re.match(r"[A-Z].{10,}\.$", (sys.modules[name].__doc__ or "").partition("\n\n")[0], re.S)
    shown = (tmp_path / "commands.md").read_text()
    assert all(f"\n## {name}\n" in shown for name in NAMES)
    keys = (tmp_path / "experiment.md").read_text()
    assert "| `goal` |" in keys
    assert "| `flush_every` |" in keys


@pytest.mark.thorough
def test_the_site_has_no_broken_link(tmp_path: Path) -> None:
    """Sphinx warns of each page, picture and heading that is not there; that is an error."""
    pytest.importorskip("sphinx", reason="sphinx is not installed")
    script = ROOT / "scripts" / "site.py"
    words = [sys.executable, str(script), str(tmp_path / "site")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "docs" / "tutorial.html").read_text()
    assert 'href="guide/traces.html"' in page
