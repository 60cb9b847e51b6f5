"""``headstack cap-sim``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from headstack.cli import INTERRUPTED, _options, _terminal
from headstack.cli._arguments import Argument, Option
from headstack.cli._options import Figures, Force, Form, Seed, Settings, Threads, Wide
from headstack.errors import ConfigError


def command(
    experiment: Annotated[Path, Argument("CONFIG", help="An experiment with a table [capping]; - is standard input.")],
    out: Annotated[
        Path | None,
        Option(
            "--out", "-o", metavar="DIR", help="Write capping.html, figures/, result.json and the series as Parquet."
        ),
    ] = None,
    force: Force = False,
    as_json: Annotated[bool, Option("--json", help="Print one JSON document: the comparison of the policies.")] = False,
    settings: Settings = None,
    form: Form = "text",
    wide: Wide = False,
    figures: Figures = True,
    seed: Seed = None,
    seeds: Annotated[
        int | None,
        Option(
            min=1,
            max=1000,
            help="Run once with each seed from 1 to this; the table has means, and differences to "
            "the first system with confidence intervals.",
        ),
    ] = None,
    against: Annotated[
        str | None, Option(metavar="SYSTEM", help="With --seeds: the system to compare the others with.")
    ] = None,
    threads: Threads = None,
) -> int | None:
    """Simulate power capping: policies, caps over time and a meter over simulated drives.

    First it says which policies held their caps, and the lowest caps that the others hold, which
    further runs find; Ctrl-C ends that search only. Each system of the experiment is one policy;
    all get the same requests, caps and noise. The table says how each kept the cap, and what that
    cost in throughput and response time. Ctrl-C keeps the policies, with --seeds the seeds, that
    are complete.

    Examples:
      headstack cap-sim examples/capping.toml
      headstack cap-sim examples/capping.toml --out out/capping
      headstack cap-sim examples/capping.toml --set capping.caps.0.cap="8.5 W" --json
      headstack cap-sim examples/capping.toml --seeds 10 --against throttling
    """
    from headstack.results import warned
    from headstack.runs import capping

    _terminal.check_form(form, as_json)
    given = str(experiment) == "-"
    name = "standard input" if given else experiment.name
    if seeds is not None or against is not None:
        _refuse(seeds, against, seed, out, given)
        options = {"against": against, "set": _options.settings(settings), "threads": threads}
        return _by_seed(experiment, seeds or 0, form, as_json, options)
    with _terminal.progress(name) as progress:
        result = capping.cap_sim(
            _terminal.standard_input() if given else experiment,
            set=_options.settings(settings),
            out=out,
            replace=force,
            seed=seed,
            threads=threads,
            progress=progress,
        )
    rows = capping.compare(result.document)
    written = []
    if out is not None:
        from headstack.show import drawing

        drawing.check_memory()
        title = f"Power capping: {name if given else experiment.stem}"
        page = out / capping.PAGE
        written.append(capping.write(result.document, page, title=title, with_figures=figures))
    if as_json:
        run_id, partial = result.document.get("run_id"), result.partial
        said = capping.answers(result.document)
        answered = {"answers": said, "policies": rows, "run_id": run_id, "partial": partial}
        _terminal.print_json(answered)
    else:
        shown = capping.columns(rows)
        headings = [(title, key in capping.TEXTS) for key, title, _ in shown]
        for line in capping.answers(result.document):
            _terminal.say(line, form)
        for line in warned.lines(warned.of_document(result.document)):
            _terminal.say(line, form)
        cells = capping.cells(rows, shown, _terminal.NONE)
        short = None if wide else capping.short(shown)
        if not _terminal.print_table(headings, cells, form=form, short=short):
            _terminal.say(_terminal.MORE)
    _terminal.say_written(written, as_json, form)
    if not result.partial:
        return None
    whole = sum(not row["partial"] for row in rows)
    text = f"{name}: partial results: {whole} of {len(rows)} systems are complete"
    _terminal.say(text, as_json=True)
    return INTERRUPTED


def _by_seed(experiment: Path, seeds: int, form: str, as_json: bool, options: Mapping[str, Any]) -> int | None:
    """Run once with each seed and print the comparison."""
    from headstack.runs import capping

    with _terminal.progress(experiment.name) as progress:
        rows = capping.over_seeds(experiment, range(1, seeds + 1), progress=progress, **options)
    done = rows[0]["n_seeds"]
    partial = done < seeds
    if as_json:
        _terminal.print_json({"seeds": done, "policies": rows, "partial": partial})
    else:
        for row in rows:
            if row["answer"]:
                _terminal.say(f'"{row["name"]}": {row["answer"]}', form)
        headings, cells = capping.seed_cells(rows, _terminal.NONE)
        _terminal.print_table(headings, cells, form=form)
    if partial:
        _terminal.say(f"{experiment}: partial results, of {done} of {seeds} seeds", as_json=True)
    return INTERRUPTED if partial else None


def _refuse(seeds: int | None, against: str | None, seed: int | None, out: Path | None, given: bool) -> None:
    """Refuse options that do not go together.

    Raises:
        ConfigError: which one, and what it needs.
    """
    if seeds is None:
        raise ConfigError(f'--against: got "{against}" alone, need --seeds N with it')
    if seed is not None:
        raise ConfigError(f"--seed: got {seed} beside --seeds, need one of the two")
    if out is not None:
        raise ConfigError(f'--out: got "{out}" beside --seeds, need none: it writes no files')
    if given:
        raise ConfigError("CONFIG: got - beside --seeds, need a file, which is read for each seed")
