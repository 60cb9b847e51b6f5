"""The command line: one file per command in this folder, each with a function `command`.

To add a command: write ``cli/NAME.py`` with a function `command` whose docstring is its help, and
add the word to `COMMANDS`.
"""

import importlib
import inspect
import itertools
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer

from headstack.errors import UNUSABLE, ConfigError, HeadstackError, TraceError, told
from headstack.suggest import need_one_of

#: The modules of this folder that hold a command, in the order of the help.
COMMANDS = (
    "run",
    "report",
    "drives",
    "models",
    "validate",
    "calibrate",
    "convert",
    "trace_info",
    "reproduce",
)

#: Exit codes; the last one is what shells give a command that Ctrl-C ended.
DONE, FAILED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130


def _version(wanted: bool) -> None:
    if wanted:
        from headstack import __version__

        print(f"headstack {__version__}")
        raise typer.Exit


def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    r"""Simulate hard-disk storage: response times, power and cost of drives and arrays.

    \b
    Examples:
      headstack run examples/demo.toml --out out/demo
      headstack drives
    """


def app() -> typer.Typer:
    """Return the application with every command of this folder."""
    application = typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    application.callback(help=_help(_root))(_root)
    for module in COMMANDS:
        command = importlib.import_module(f"headstack.cli.{module}").command
        text = _help(command)
        # Given as it is, the line of the list of commands is not cut.
        short = text.partition("\n")[0].rstrip(".")
        application.command(module.replace("_", "-"), help=text, short_help=short)(command)
    return application


def _help(function: Callable[..., Any]) -> str:
    r"""Return a docstring whose marks ``\b`` keep the paragraph after them as it is written."""
    return inspect.cleandoc(function.__doc__ or "").replace("\\b\n", "\b\n")


# Typer moved the base of its usage errors between releases; its own BadParameter always has it.
_USAGE_ERRORS: Any = next(
    c for c in typer.BadParameter.__mro__ if c.__name__ in ("ClickException", "TyperException")
)


def _usage(error: Exception, args: Sequence[str]) -> str:
    """Return a usage error in the form of all other messages."""
    message = str(getattr(error, "message", error)).rstrip(".")
    names = [m.replace("_", "-") for m in COMMANDS]
    first = next((a for a in args if not a.startswith("-")), None)
    if "No such command" in message and first is not None:
        return need_one_of("command", first, names)
    where = f"headstack {first}" if first in names else "headstack"
    see = f"; see {where} --help"
    kind = type(error).__name__
    context = getattr(error, "ctx", None)
    parameter = getattr(error, "param", None)
    if kind == "MissingParameter" and parameter is not None:
        return f"{where}: got no {_shown(parameter)}, need it{see}"
    option = getattr(error, "option_name", "")
    if kind == "NoSuchOption":
        known = [o for p in context.command.params for o in p.opts] if context else []
        return need_one_of(where, option, [o for o in known if o.startswith("--")] + ["--help"])
    if kind == "BadOptionUsage":
        return f"{where}: {option}: got nothing, need a value{see}"
    extra = re.search(r"unexpected extra arguments?(?:\(s\))? \((.*)\)", message)
    if extra:
        return f'{where}: got "{extra[1]}" too much, need no more arguments{see}'
    if parameter is None:
        return f"{where}: {message[:1].lower()}{message[1:]}{see}"
    got = _given(parameter.opts, args)
    need = message.partition(", unable")[0]
    need = re.sub(r"^input should be (greater|less)", r"a value \1", need[:1].lower() + need[1:])
    need = need.removeprefix("input should be ")
    return f'{where}: {_shown(parameter)}: got "{got}", need {need}{see}'


def _shown(parameter: Any) -> str:
    """Return how the help names a parameter."""
    if parameter.param_type_name == "option":
        return str(max(parameter.opts, key=len))
    return str(parameter.metavar or parameter.name.upper()).strip("[]")


def _given(options: Sequence[str], args: Sequence[str]) -> str:
    """Return the value that the last of `options` among the arguments got."""
    values = [b for a, b in itertools.pairwise(args) if a in options]
    values += [a.partition("=")[2] for a in args if a.partition("=")[0] in options and "=" in a]
    return values[-1] if values else ""


@contextmanager
def _second_interrupt_ends() -> Iterator[None]:
    """Let a second Ctrl-C end the process at once, also inside the core, which finishes its own."""
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


def _show_warning(message: Warning | str, *_: Any) -> None:
    """Say on standard error what was tolerated; where in our code is nobody's concern."""
    print(f"warning: {message}", file=sys.stderr)


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code.

    0: done, 1: failed, 2: wrong input, 130: interrupted.
    """
    given = list(sys.argv[1:] if args is None else args)
    with _second_interrupt_ends(), warnings.catch_warnings():
        warnings.showwarning = _show_warning  # type: ignore[assignment]
        return _main(given)


def _main(given: Sequence[str]) -> int:
    try:
        code = int(app()(given, prog_name="headstack", standalone_mode=False) or DONE)
        # Buffered output that cannot be written must not look like success.
        sys.stdout.flush()
    except (ConfigError, TraceError) as e:
        print(e, file=sys.stderr)
        return WRONG_INPUT
    except HeadstackError as e:
        print(e, file=sys.stderr)
        return FAILED
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has what it wanted; keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as e:
        where = e.filename or "headstack"
        print(f"{where}: got {told(e)}, need a path that can be used", file=sys.stderr)
        return WRONG_INPUT if e.errno in UNUSABLE else FAILED
    except _USAGE_ERRORS as e:
        if type(e).__name__ == "NoArgsIsHelpError":
            print(getattr(e, "ctx", None) and e.ctx.get_help())
            return WRONG_INPUT
        print(_usage(e, given), file=sys.stderr)
        return WRONG_INPUT
    if code == INTERRUPTED:
        print("headstack: got an interrupt, stopped", file=sys.stderr)
    return code
