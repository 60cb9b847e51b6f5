"""The command line: one file per command in this folder, each with a function `command`.

To add a command: write ``cli/NAME.py`` with a function `command` whose docstring is its help, and
add the word to `COMMANDS`.
"""

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import typer

from headstack.errors import ConfigError, HeadstackError, TraceError
from headstack.suggest import need_one_of

#: The modules of this folder that hold a command, in the order of the help.
COMMANDS = (
    "run",
    "report",
    "drives",
    "validate",
    "calibrate",
    "convert",
    "trace_info",
    "reproduce",
)

DONE, FAILED, WRONG_INPUT = 0, 1, 2


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
    application.callback()(_root)
    for module in COMMANDS:
        command = importlib.import_module(f"headstack.cli.{module}").command
        application.command(module.replace("_", "-"))(command)
    return application


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
    context = getattr(error, "ctx", None)
    where = f"headstack {context.info_name}" if context and context.parent else "headstack"
    missing = getattr(error, "param", None)
    if type(error).__name__ == "MissingParameter" and missing is not None:
        shown = missing.opts[0] if missing.param_type_name == "option" else missing.name.upper()
        return f"{where}: got no {shown}, need it; see {where} --help"
    if type(error).__name__ == "NoSuchOption":
        option = getattr(error, "option_name", "")
        known = [o for p in context.command.params for o in p.opts] if context else []
        return need_one_of(where, option, [o for o in known if o.startswith("--")] + ["--help"])
    parameter = getattr(missing, "opts", None)
    prefix = f"{where}: {parameter[0]}" if parameter else where
    return f"{prefix}: {message[:1].lower()}{message[1:]}; see {where} --help"


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code: 0 done, 1 failed, 2 wrong input."""
    given = list(sys.argv[1:] if args is None else args)
    try:
        code = app()(given, prog_name="headstack", standalone_mode=False)
        # Buffered output that cannot be written must not look like success.
        sys.stdout.flush()
        return int(code or DONE)
    except (ConfigError, TraceError) as e:
        print(e, file=sys.stderr)
        return WRONG_INPUT
    except HeadstackError as e:
        print(e, file=sys.stderr)
        return FAILED
    except (KeyboardInterrupt, typer.Abort):
        print("headstack: got an interrupt, stopped", file=sys.stderr)
        return FAILED
    except BrokenPipeError:
        # The reader (head, less) has what it wanted; keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as e:
        where = e.filename or "headstack"
        print(f"{where}: got {(e.strerror or str(e)).lower()}", file=sys.stderr)
        return FAILED
    except _USAGE_ERRORS as e:
        if type(e).__name__ == "NoArgsIsHelpError":
            print(getattr(e, "ctx", None) and e.ctx.get_help())
            return WRONG_INPUT
        print(_usage(e, given), file=sys.stderr)
        return WRONG_INPUT
