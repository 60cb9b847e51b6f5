"""``headstack examples``."""

from pathlib import Path
from typing import Annotated

from headstack import shipped
from headstack.cli import _terminal
from headstack.cli._arguments import Option


def command(
    copy: Annotated[
        Path | None, Option(metavar="DIR", help="Copy them into the folder examples of this folder.")
    ] = None,
) -> None:
    """List the examples, or copy them: experiments, scripts and a recorded trace.

    The examples in the help of commands run where the copies are. Files that are there already are
    not replaced.

    Examples:
      headstack examples
      headstack examples --copy .
    """
    if copy is not None:
        written = shipped.copy_examples(copy)
        _terminal.say_written(written, False)
        if not written:
            _terminal.say(f"{copy / 'examples'}: all examples are there")
        return
    top = shipped.folder("examples")
    for path in shipped.examples():
        _terminal.say(f"examples/{path.relative_to(top).as_posix()}")
    _terminal.say("headstack examples --copy . puts them into ./examples")
