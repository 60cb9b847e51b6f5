"""``headstack init``."""

from pathlib import Path
from typing import Annotated

from headstack.cli import _options, _terminal
from headstack.cli._arguments import Argument, Option
from headstack.cli._options import drive_names, trace_formats
from headstack.errors import ConfigError, reason_of


def command(
    load: Annotated[Path | None, Argument("FILE", help="A trace, or a job file of fio (.fio, .job, .ini).")] = None,
    trace: Annotated[Path | None, Option(metavar="FILE", help="A trace, whatever its name.")] = None,
    fio: Annotated[Path | None, Option(metavar="FILE", help="A job file of fio, whatever its name.")] = None,
    out: Annotated[
        Path | None, Option("--out", "-o", metavar="FILE.toml", help="The experiment; else it is printed.")
    ] = None,
    goal: Annotated[str | None, Option(metavar="GOAL", help='What a system must reach, as in "p99=20ms".')] = None,
    drive: Annotated[
        list[str] | None,
        Option(
            "--drive",
            metavar="NAME",
            help="A drive to propose; may be given several times. Else drives of today.",
            suggest=drive_names,
        ),
    ] = None,
    trace_format: Annotated[
        str | None, Option("--from", metavar="FORMAT", help="The trace's format; else detected.", suggest=trace_formats)
    ] = None,
    settings: Annotated[
        list[str] | None,
        Option(
            "--set", metavar="OPTION=VALUE", help="Replace an option of all jobs of fio, as in size=10g or direct=1."
        ),
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write an experiment for a trace or for a job of fio, ready to run.

    Its systems are drives of today that can hold the load: as many as its space and its rate need.
    Options of fio whose meaning jobs of an experiment do not have are errors with their line.

    Examples:
      headstack init examples/traces/pgbench.csv.zst --goal p99=80ms -o out/mine.toml
      headstack init examples/database.fio --goal p99=50ms
      headstack init --trace day1.csv --from msr --drive exos-x18 --drive exos-2x18-sata
    """
    from headstack.results import goal as goals
    from headstack.runs import outputs
    from headstack.workloads import start

    job, trace = _kinds(load, trace, fio)
    text = None if goal is None else str(goals.parse(goal, "--goal"))
    if out is not None and out.exists() and not force:
        raise ConfigError(f'--out: got "{out}", which exists, need another file or --force')
    if job is not None:
        if trace_format is not None:
            raise ConfigError("--from: got it with a job file, need a trace")
        values = {k: str(v) for k, v in _options.settings(settings).items()}
        read = _read(job)
        whole = start.from_fio(read, str(job), goal=text, drives=drive or (), set=values)
    else:
        assert trace is not None
        if settings:
            raise ConfigError("--set: got it with a trace, need a job file of fio")
        folder = Path() if out is None else out.parent
        whole = start.from_trace(trace, goal=text, format=trace_format, drives=drive or (), folder=folder)
    if out is None:
        print(whole, end="")
        return
    with outputs.whole_file(out) as part:
        part.write_text(whole, encoding="utf-8")
    _terminal.say_written([out], False)
    _terminal.say(f"look at it, then: headstack run {out}")


#: Suffixes of job files.
_JOBS = (".fio", ".job", ".ini")


def _kinds(load: Path | None, trace: Path | None, fio: Path | None) -> tuple[Path | None, Path | None]:
    """Return the job file and the trace, one of which is None."""
    given = [path for path in (load, trace, fio) if path is not None]
    if len(given) != 1:
        got = "nothing" if not given else f"{len(given)} files"
        raise ConfigError(f"headstack init: got {got}, need one trace or one job file of fio")
    if load is not None:
        return (load, None) if load.suffix.lower() in _JOBS else (None, load)
    return fio, trace


def _read(job: Path) -> str:
    try:
        return job.read_text(encoding="utf-8-sig")
    except OSError as e:
        raise ConfigError(f"{job}: got {reason_of(e)}, need a job file of fio") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{job}: got bytes that are not text, need a job file of fio") from None
