"""The command line: one file per command in this folder, each with a function `command`.

To add a command: write ``cli/NAME.py`` with a function `command` whose docstring is its help, and
add the word to `COMMANDS`.
"""

import importlib
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from headstack import paths
from headstack.errors import NO_ROOM, UNUSABLE, ConfigError, HeadstackError, TraceError, printable, reason_of
from headstack.suggest import need_one_of

#: The modules of this folder that define a command, in the order of the help.
COMMANDS = (
    "init",
    "run",
    "sweep",
    "advise",
    "cap_sim",
    "emulate",
    "compare",
    "report",
    "view",
    "drives",
    "population",
    "models",
    "schema",
    "check",
    "validate",
    "calibrate",
    "probe",
    "convert",
    "trace_info",
    "reproduce",
    "docs",
    "examples",
    "completion",
)

#: The names of commands on the command line.
NAMES = tuple(module.replace("_", "-") for module in COMMANDS)

#: Exit codes; the last one is what shells give a command that Ctrl-C ended.
DONE, FAILED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130

#: Exit code of a command that a signal ended, less the number of the signal.
SIGNALLED = 128


#: The text of the general help.
ABOUT = """Simulate hard-disk storage: response times, power and cost of drives and arrays.

Examples:
  headstack examples --copy .
  headstack run examples/demo.toml --goal p99=80ms --out out/demo
  headstack init my-trace.csv --goal p99=20ms -o mine.toml
  headstack docs
"""


def _command(name: str) -> Callable[..., int | None]:
    """Return the function of a command, by its name on the command line."""
    module = importlib.import_module(f"headstack.cli.{name.replace('-', '_')}")
    command: Callable[..., int | None] = module.command
    return command


def _subcommands(command: Callable[..., int | None]) -> dict[str, Callable[..., int | None]]:
    """Return the subcommands of a command by name: `SUBCOMMANDS` of its module."""
    return getattr(sys.modules[command.__module__], "SUBCOMMANDS", {})


def _help() -> str:
    from headstack.cli._arguments import help_of

    lines = []
    for name in NAMES:
        short = help_of(_command(name)).partition("\n")[0].rstrip(".")
        lines.append(f"  {name:<12}  {short}")
    options = "  -h, --help    Show this message, or a command's\n  --version     Print the version"
    commands = "\n".join(lines)
    return f"usage: headstack COMMAND ...\n\n{ABOUT}\ncommands:\n{commands}\n\noptions:\n{options}"


def _run(args: Sequence[str]) -> int:
    """Run the command of the arguments; return the exit code."""
    if not args or args[0] in ("-h", "--help"):
        print(_help())
        return DONE if args else WRONG_INPUT
    if args[0] == "--version":
        from headstack import __version__

        print(f"headstack {__version__}")
        return DONE
    if args[0] not in NAMES:
        place = "headstack" if args[0].startswith("-") else "command"
        known = ["--help", "--version"] if args[0].startswith("-") else NAMES
        raise ConfigError(need_one_of(place, args[0], known))
    from headstack.cli import _arguments

    name, function, rest = args[0], _command(args[0]), args[1:]
    more = _subcommands(function)
    if rest and rest[0] in more:
        name, function, rest = f"{name} {rest[0]}", more[rest[0]], rest[1:]
    return _arguments.call(name, function, rest) or DONE


@contextmanager
def _second_interrupt_ends() -> Iterator[None]:
    """End the process at once on a second Ctrl-C, also in the core, which handles the first."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def first(signum: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.default_int_handler(signum, frame)

    try:
        signal.signal(signal.SIGINT, first)
    except ValueError:  # only the main thread may
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class _Ended(BaseException):
    """A signal asked the process to end; its argument is the signal."""


@contextmanager
def _ends_in_order() -> Iterator[None]:
    """Turn the signals that end a process into an exception, so that no part of a file is left.

    A second one ends it at once.
    """

    def first(signum: int, frame: Any) -> None:
        signal.signal(signum, signal.SIG_DFL)
        raise _Ended(signal.Signals(signum))

    taken = []
    try:
        for number in (signal.SIGTERM, signal.SIGHUP):
            # One that is ignored stays so: nohup.
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, first)
                taken.append(number)
    except ValueError:  # only the main thread may
        pass
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _show_warning(message: Warning | str, *_: Any) -> None:
    """Print a warning on standard error, without the place in our code."""
    print(f"warning: {printable(str(message))}", file=sys.stderr)


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code.

    0: done, 1: failed, 2: wrong input, 130: interrupted, 128 and a signal's number: ended by it.
    """
    given = list(sys.argv[1:] if args is None else args)
    paths.command_line = given
    with _ends_in_order(), _second_interrupt_ends(), warnings.catch_warnings():
        warnings.showwarning = _show_warning  # type: ignore[assignment]
        try:
            return _main(given)
        except _Ended as e:
            (number,) = e.args
            print(f"headstack: got the signal {number.name}, stopped", file=sys.stderr)
            return SIGNALLED + int(number)


def _leave_stdout() -> None:
    """Keep Python from writing, at its exit, the output that could not be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _main(given: Sequence[str]) -> int:
    try:
        code = _run(given)
        # Buffered output that cannot be written must not look like success.
        sys.stdout.flush()
    except (ConfigError, TraceError) as e:
        print(e, file=sys.stderr)
        # The lines of the file that the error is about.
        for note in getattr(e, "__notes__", ()):
            print("\n".join(printable(line) for line in note.splitlines()), file=sys.stderr)
        return WRONG_INPUT
    except HeadstackError as e:
        print(e, file=sys.stderr)
        return FAILED
    except SystemExit:
        # A command's --help was printed.
        code = DONE
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        # The reading program (head, less) has closed the pipe.
        _leave_stdout()
        return FAILED
    except (MemoryError, ImportError) as e:
        # A library that does not fit into memory appears as one that cannot be imported.
        if isinstance(e, ImportError) and "failed to map segment" not in str(e):
            raise
        print("headstack: got no more memory, need more of it (ulimit -v)", file=sys.stderr)
        return FAILED
    except OSError as e:
        if e.filename is None:
            _leave_stdout()
        where = "standard output" if e.filename is None else printable(os.fsdecode(e.filename))
        need = "room for what is written" if e.errno in NO_ROOM else "a path that can be used"
        print(f"{where}: got {reason_of(e)}, need {need}", file=sys.stderr)
        return WRONG_INPUT if e.errno in UNUSABLE else FAILED
    if code == INTERRUPTED:
        print("headstack: got an interrupt, stopped", file=sys.stderr)
    return code
