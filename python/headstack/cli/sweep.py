"""``headstack sweep``, and ``headstack run`` with ``--scan``."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from headstack.cli import INTERRUPTED, _options, _terminal
from headstack.cli._arguments import Argument, Option
from headstack.cli._options import Figures, Form, Jobs, Json, Measure, Seeds, Settings, Wide
from headstack.errors import ConfigError

if TYPE_CHECKING:
    from headstack.runs.sweeps import Swept

#: Most rows that are printed as text; all are in the results.
MOST_ROWS = 100


def command(
    sweep: Annotated[Path, Argument("SWEEP.toml", help="What to run, with which values.")],
    out: Annotated[
        Path | None, Option("--out", "-o", metavar="DIR", help="Folder of the results; out/SWEEP unless said.")
    ] = None,
    jobs: Jobs = None,
    dask: Annotated[
        str | None,
        Option(metavar="ADDRESS", help="Run on the workers of this scheduler of Dask, as in tcp://host:8786."),
    ] = None,
    seeds: Seeds = None,
    settings: Settings = None,
    measure: Measure = None,
    as_json: Json = False,
    form: Form = "text",
    wide: Wide = False,
    figures: Figures = True,
) -> int | None:
    """Run an experiment with many values and seeds.

    The folder gets results.parquet, with one row for each run, system and workload, and a figure
    for one or two axes. What it has already is not computed again: an interrupted sweep goes on, a
    changed one computes what is new.

    Examples:
      headstack sweep examples/sweep.toml
      headstack sweep examples/sweep.toml --seeds 20 --jobs 2 --out out/more
      headstack sweep examples/sweep.toml --dask tcp://localhost:8786
      headstack run examples/demo.toml --scan system.1.queue_depth=1,8,32 --seeds 10
    """
    from headstack.runs.sweeps import plan

    _terminal.check_form(form, as_json)
    given = plan.read(sweep)
    base = given.pop("base")
    given |= {k: v for k, v in (("seeds", seeds), ("measure", measure)) if v is not None}
    whole = plan.make(base, given.pop("axes"), settings=_options.settings(settings), **given)
    folder = Path("out") / sweep.stem if out is None else out
    return carry_out(
        whole, sweep.name, folder, jobs=jobs, dask=dask, figures=figures, as_json=as_json,
        form=form, wide=wide,
    )  # fmt: skip


def scan(
    experiment: Path,
    scans: Sequence[str],
    *,
    seeds: int | None,
    seed: int | None,
    settings: Mapping[str, Any],
    measure: str | None,
    sources_anywhere: bool,
    **shown: Any,
) -> int | None:
    """Carry out ``headstack run --scan``: a sweep over an experiment; `shown` as `carry_out`."""
    from headstack.runs.sweeps import plan

    given = str(experiment) == "-"
    base: dict[str, Any] = {"file": str(experiment), "sources_anywhere": sources_anywhere}
    if given:
        from headstack.runs import api

        name, text = api._text(_terminal.standard_input())
        base |= {"file": name, "text": text}
    whole = plan.make(
        base, [scanned(one) for one in scans], seeds=seeds, first_seed=seed, settings=settings, measure=measure
    )
    return carry_out(whole, "standard input" if given else experiment.name, **shown)


def scanned(text: str) -> Any:
    """Return the axis of ``--scan KEY=A,B,C`` or ``KEY=FROM:TO:STEPS``.

    Raises:
        ConfigError: it is neither.
    """
    from headstack.runs.sweeps.axes import read_axis

    key, equals, given = (part.strip() for part in text.partition("="))
    if not key or not equals or not given:
        raise ConfigError(f'--scan: got "{text}", need KEY=A,B,C or KEY=FROM:TO:STEPS')
    ends = given.split(":")
    if len(ends) == 3 and ends[2].isdecimal():
        low, high, steps = (_options._value(end.strip(), f"--scan {key}") for end in ends)
        table = {"key": key, "from": low, "to": high, "steps": steps}
    else:
        table = {"key": key, "values": _values(given, f"--scan {key}")}
    try:
        return read_axis(table, f"--scan {key}")
    except ConfigError as e:
        raise ConfigError(f"{e} (--scan {text})") from None


def _values(text: str, where: str) -> list[Any]:
    """Return values between commas: TOML, or else text."""
    try:
        (values,) = tomllib.loads(f"values = [{text}]").values()
        return list(values)
    except (ValueError, RecursionError):
        parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise ConfigError(f"{where}: got an empty value, need one between commas")
    return [_options._value(part, where) for part in parts]


def carry_out(
    whole: Any,
    name: str,
    out: Path | None,
    *,
    jobs: int | None,
    dask: str | None = None,
    figures: bool,
    as_json: bool,
    form: str,
    wide: bool,
) -> int | None:
    """Carry out a sweep, print its table and what was written."""
    from headstack.runs import store, sweeps

    if out is not None and figures:
        from headstack.show import drawing

        drawing.check_memory()
    done: list[int] = [0]
    try:
        with _terminal.progress(name, "runs/s") as bar:

            def progress(n: int, total: int | None) -> None:
                done[0] = n
                if bar is not None:
                    bar(n, total)

            found = sweeps.carry_out(whole, out=out, jobs=jobs, dask=dask, progress=progress, figure=figures)
    except KeyboardInterrupt:
        total = len(whole.points) * len(whole.seeds)
        kept = "nothing is kept without --out" if out is None else f"{out} keeps them"
        text = f"{name}: interrupted after {done[0]:,} of {total:,} runs; {kept}"
        _terminal.say(text if out is None else f"{text}, the same command goes on", as_json=True)
        return INTERRUPTED
    if as_json:
        _terminal.print_json(document(found))
    else:
        _print(found, form, wide)
    if out is not None:
        written = [out / store.TABLE]
        written += [out / f for f in store.FIGURES if figures and (out / f).exists()]
        _terminal.say_written(written, as_json, form)
    return None


def document(found: "Swept") -> dict[str, Any]:
    """Return the document of ``--json``."""
    from headstack import __version__

    return {
        "axes": [list(axis.keys) for axis in found.sweep.axes],
        "seeds": list(found.sweep.seeds),
        "measure": found.sweep.measure,
        "n_computed": found.n_computed,
        "rows": found.rows,
        "version": __version__,
    }


def _print(found: "Swept", form: str, wide: bool) -> None:
    """Print means over seeds with their intervals, one line for each point, system and workload."""
    from headstack.runs.sweeps import figures
    from headstack.runs.sweeps.running import shown_value

    chosen = figures.column(found.sweep.measure, found.rows)
    usual = ("response_time_mean_s", "response_time_p99_s", "throughput_iops", "power_mean_w")
    measures = list(dict.fromkeys([chosen, *usual]))
    rows = found.averaged(*measures)
    several = len({r.get("workload") for r in rows}) > 1
    keys = found.sweep.keys
    headings = [(key, True) for key in keys] + [("system", True)]
    headings += [("workload", True)] if several else []
    headings += [("seeds", False), *((figures.titled(m), False) for m in measures)]
    lines = []
    for row in rows if form == _terminal.CSV else rows[:MOST_ROWS]:
        line = [shown_value(row[key]) for key in keys]
        line += [str(row["name"] or "")]
        line += [str(row["workload"] or "")] if several else []
        late = "!" if row["overloaded"] else ""
        line += [f"{row['n_seeds']:,}", *(_cell(row, m) + late for m in measures)]
        lines.append(line)
    short = None if wide else [*range(len(headings) - len(measures) + 1)]
    if not _terminal.print_table(headings, lines, form=form, short=short):
        _terminal.say(_terminal.MORE, form)
    if any(r["overloaded"] for r in rows):
        _terminal.say("!: cannot keep up with its requests; its times grow with the run", form)
    wrong = [r for r in rows if r["error"] is not None]
    if wrong:
        _terminal.say(f"{len(wrong):,} points could not be run; the first: {wrong[0]['error']}", form)
    if form != _terminal.CSV and len(rows) > MOST_ROWS:
        _terminal.say(f"the first {MOST_ROWS} of {len(rows):,} rows; the table of results has all", form)
    if max((r["n_seeds"] for r in rows), default=1) > 1:
        _terminal.say("means over seeds, with half of their 95 % intervals", form)
    total = len(found.sweep.points) * len(found.sweep.seeds)
    _terminal.say(f"{total:,} runs, {found.n_computed:,} of them computed now", form)


def _cell(row: Mapping[str, Any], measure: str) -> str:
    from headstack.runs.sweeps import figures

    _, _, factor = figures.unit(measure)
    middle, half = row[measure], row[f"{measure}_half"]
    if middle is None:
        return _terminal.NONE
    if half is None:
        return f"{middle * factor:,.2f}"
    return f"{middle * factor:,.2f} ± {half * factor:,.2f}"
