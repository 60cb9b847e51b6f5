"""Options that several commands have."""

from typing import Annotated

import typer

#: ``--on-error``
OnError = Annotated[
    str, typer.Option(metavar="WHAT", help="A bad record: fail, or skip and count it.")
]

#: ``--order``
Order = Annotated[
    str,
    typer.Option(
        metavar="HOW",
        help="Times that run backwards: strict (a bad record), sort or sort:N (hold N records "
        "back; what is later still is moved and counted), or what the format is known for.",
    ),
]
