"""``headstack compare``."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from headstack.cli import INTERRUPTED, _terminal
from headstack.cli._arguments import Argument, Option
from headstack.cli._options import Form

if TYPE_CHECKING:
    from headstack.runs.api import Result


def _result(path: Path) -> "Result":
    """Load the result at `path`, or run the experiment at `path`."""
    import headstack

    if path.is_dir() or path.suffix == ".json":
        return headstack.load(path)
    given = str(path) == "-"
    with _terminal.progress(_name(path)) as progress:
        return headstack.run(_terminal.standard_input() if given else path, log_requests=False, progress=progress)


def _name(path: Path) -> str:
    return "standard input" if str(path) == "-" else path.name


def _labels(paths: Sequence[Path]) -> list[str]:
    """Return the shortest ends of the paths that differ."""
    from headstack.runs.outputs import RESULTS_FILE

    paths = [Path(_name(p)) if str(p) == "-" else p for p in paths]
    shown = [p.parent if p.name == RESULTS_FILE and p.parent.name else p for p in paths]
    most = max(len(p.parts) for p in shown)
    for n in range(1, most + 1):
        ends = [str(Path(*p.parts[-n:])) for p in shown]
        if len(set(ends)) == len(ends):
            return ends
    return [f"{p} ({i})" for i, p in enumerate(shown, 1)]


def command(
    results: Annotated[
        list[Path],
        Argument(
            "RESULT",
            help="Directories that run --out wrote, result.json files, or experiments, which are "
            "run; - is standard input. The others are compared to the first.",
        ),
    ],
    form: Form = "text",
    as_json: Annotated[bool, Option("--json", help="Print one JSON document, with every number.")] = False,
) -> int | None:
    """Compare the systems of two or more results: differences and ratios to the first.

    Systems with equal name and workload are compared; results with one system each are compared
    whatever its name.

    Examples:
      headstack compare out/before out/after
      headstack compare before.toml after.toml --format markdown
      headstack compare out/a/result.json out/b out/c --json
    """
    from headstack.results import comparison

    _terminal.check_form(form, as_json)
    loaded = [_result(path) for path in results]
    found = comparison.compare([r.document for r in loaded], _labels(results))
    if as_json:
        _terminal.print_json(comparison.to_document(found))
    else:
        marks = form != _terminal.CSV
        for line in comparison.warnings(found):
            _terminal.say(line, form)
        _terminal.print_table(comparison.headings(found, marks=marks), comparison.cells(found, marks=marks), form=form)
        for line in comparison.notes(found):
            _terminal.say(line, form)
    return INTERRUPTED if any(r.partial for r in loaded) else None
