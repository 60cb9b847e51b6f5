"""``headstack docs``."""

import sys
from collections.abc import Iterable
from typing import Annotated

from headstack import shipped
from headstack.cli import _terminal
from headstack.cli._arguments import Argument


def _topics() -> Iterable[str]:
    return shipped.topics()


def command(
    topic: Annotated[str | None, Argument("TOPIC", help="A page; without one all are listed.", suggest=_topics)] = None,
) -> None:
    """Show a page of the documentation, or list the pages.

    On a terminal the page is formatted; in a pipe it is Markdown.

    Examples:
      headstack docs
      headstack docs goals
      headstack docs models/seek | less
    """
    if topic is None:
        rows = [[name, shipped.title(page)] for name, page in shipped.topics().items()]
        _terminal.print_table([("topic", True), ("page", True)], rows)
        return
    text = shipped.page(topic)
    if not sys.stdout.isatty():
        print(text, end="")
        return
    from rich.markdown import Markdown

    _terminal.console().print(Markdown(text, hyperlinks=False))
