"""``headstack completion``."""

from typing import TYPE_CHECKING, Annotated, Any

from headstack.cli._arguments import Argument, Option
from headstack.errors import ConfigError
from headstack.suggest import need_one_of

# Only this command needs shtab.
if TYPE_CHECKING:
    import argparse

SHELLS = ("bash", "zsh", "fish")


def _complete(action: "argparse.Action", kind: Any, given: Argument | Option) -> None:
    """Set shtab's completion of an argument: known values, folders or files."""
    from pathlib import Path

    import shtab

    if given.suggest is not None:
        action.choices = sorted(given.suggest())
    elif kind in (Path, list[Path]):
        action.complete = shtab.DIRECTORY if given.metavar == "DIR" else shtab.FILE  # type: ignore[attr-defined]


def script(shell: str) -> str:
    """Return the completion script for `shell`, one of `SHELLS`."""
    import shtab

    from headstack import cli
    from headstack.cli._arguments import whole_parser

    commands = {name: cli._command(name) for name in cli.NAMES}
    text: str = shtab.complete(whole_parser(commands, _complete, cli._subcommands), shell)
    return text


def command(shell: Annotated[str, Argument("SHELL", help="bash, zsh or fish.", suggest=lambda: SHELLS)]) -> None:
    """Print a script that completes commands, options and names in your shell.

    The names of drives, models and formats are the current ones; print the script again when they
    change.

    Examples:
      headstack completion bash > ~/.local/share/bash-completion/completions/headstack
      headstack completion zsh > ~/.zfunc/_headstack
      headstack completion fish > ~/.config/fish/completions/headstack.fish
    """
    if shell not in SHELLS:
        raise ConfigError(need_one_of("shell", shell, SHELLS))
    print(script(shell))
