"""``headstack run``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from headstack.cli import FAILED, INTERRUPTED, _options, _result, _terminal
from headstack.cli._arguments import Argument, Option
from headstack.cli._options import (
    Figures,
    Force,
    Form,
    Jobs,
    Json,
    Measure,
    Seed,
    Seeds,
    Settings,
    SourcesAnywhere,
    Threads,
    Wide,
)
from headstack.errors import ConfigError

if TYPE_CHECKING:
    from headstack.runs.api import Result


def command(
    experiment: Annotated[
        Path, Argument("EXPERIMENT.toml", help="What to run, or a DiskSim file (.parv); - is standard input.")
    ],
    out: Annotated[
        Path | None,
        Option("--out", "-o", metavar="DIR", help="Write report.html, figures/, result.json and series as Parquet."),
    ] = None,
    force: Force = False,
    as_json: Json = False,
    settings: Settings = None,
    form: Form = "text",
    wide: Wide = False,
    goal: Annotated[
        str | None,
        Option(
            metavar="GOAL",
            help='What a system must reach, as in "p99=20ms" or "mean<8ms, read.p99<15ms, '
            "power<12W\"; replaces the experiment's.",
        ),
    ] = None,
    headroom: Annotated[
        bool,
        Option(
            "--headroom",
            help="Also find up to which load each system meets the goal, by some 12 runs of each with the first seed.",
        ),
    ] = False,
    prices: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Prices of drives, with their day; else $HEADSTACK_PRICES, else those that drive files know.",
        ),
    ] = None,
    requests: Annotated[
        bool,
        Option(help="With --out: write one row per request and system as Parquet, about 40 MB for a million of them."),
    ] = False,
    figures: Figures = True,
    seed: Seed = None,
    threads: Threads = None,
    sources_anywhere: SourcesAnywhere = False,
    scan: Annotated[
        list[str] | None,
        Option(
            "--scan",
            metavar="KEY=VALUES",
            help="Run with each of several values: KEY=A,B,C, or KEY=FROM:TO:STEPS; several make a "
            "grid. See headstack sweep.",
        ),
    ] = None,
    seeds: Seeds = None,
    jobs: Jobs = None,
    measure: Measure = None,
) -> int | None:
    """Simulate the systems of an experiment on its workload, and say which meet the goal.

    The answer comes first: one sentence, then the systems in order. On a terminal the other
    numbers are left out, unless --wide asks for them. With --seeds the answer is of means over
    seeds, with their 95 % intervals; all other numbers, files and figures are of the first seed.

    The exit code is 1 if all systems miss the goal, as that of headstack advise.

    Relative paths start from the experiment's folder, on standard input from the working directory.
    Ctrl-C ends the run with the results until then, marked as partial; a second one ends it at
    once.

    Examples:
      headstack run examples/demo.toml
      headstack run examples/demo.toml --goal p99=80ms --headroom
      headstack run examples/demo.toml --goal p99=80ms --seeds 5
      headstack run examples/demo.toml --out out/demo
      headstack run examples/demo.toml --out out/requests --requests --no-figures
      headstack run examples/demo.toml --set system.0.scheduler=sptf --format markdown
      headstack run examples/demo.toml --scan system.1.queue_depth=1,8,32 --seeds 10
      generate | headstack run - --set run.max_requests=1000
      headstack run examples/demo.toml --json | jq '.systems[].response_time_s.p99'
    """
    import headstack
    from headstack.results import answer
    from headstack.results import goal as goals

    _terminal.check_form(form, as_json)
    if scan:
        _check_of_one(requests=requests, threads=threads, force=force, headroom=headroom, prices=bool(prices))
        from headstack.cli import sweep

        more = _options.settings(settings)
        if goal is not None:
            more["goal"] = str(goals.parse(goal, "--goal"))
        return sweep.scan(
            experiment, scan or (), seeds=seeds, seed=seed, settings=more,
            out=out, jobs=jobs, measure=measure, figures=figures, as_json=as_json, form=form,
            wide=wide, sources_anywhere=sources_anywhere,
        )  # fmt: skip
    if measure is not None:
        raise ConfigError("headstack run: --measure: got it without --scan, need both")
    if jobs is not None and seeds is None:
        raise ConfigError("headstack run: --jobs: got it for one run, need --scan or --seeds")
    given = str(experiment) == "-"
    name = "standard input" if given else str(experiment)
    with _terminal.progress(name if given else experiment.name) as progress:
        result = headstack.run(
            _terminal.standard_input() if given else experiment,
            set=_options.settings(settings),
            out=out,
            replace=force,
            log_requests=requests and out is not None,
            seed=seed,
            goal=None if goal is None else goals.parse(goal, "--goal"),
            headroom=headroom,
            seeds=seeds,
            jobs=jobs,
            prices=prices,
            threads=threads,
            progress=progress,
            sources_anywhere=sources_anywhere,
        )
    title = f"Headstack: {name if given else experiment.stem}"
    written = [] if out is None else [_report(result, out, name, title, figures)]
    if as_json:
        print(result.to_json())
    else:
        _result.print_result(result.document, form, wide)
    _terminal.say_written(written, as_json, form)
    if result.partial:
        text = f"{name}: partial results, of the requests completed until the interrupt"
        _terminal.say(text, as_json=True)
        return INTERRUPTED
    return FAILED if answer.none_meets(result.document) else None


def _report(result: "Result", out: Path, name: str, title: str, figures: bool) -> Path:
    """Write the report of a run; return its path."""
    from headstack.show import drawing

    if result.partial:
        text = f"{name}: got an interrupt; the report is made of what was done until then"
        _terminal.say(f"{text}, a second Ctrl-C ends it", as_json=True)
    # This check must come before libraries are loaded that may not fit into memory.
    drawing.check_memory()
    from headstack.show import report

    return report.write(result.document, out / "report.html", title=title, with_figures=figures)


def _check_of_one(**given: bool | int | None) -> None:
    """Refuse options that are only for a run without a scan.

    Raises:
        ConfigError: one of them was given.
    """
    for name, value in given.items():
        if value:
            raise ConfigError(f"headstack run: --{name}: got it with --scan, which does not support it")
