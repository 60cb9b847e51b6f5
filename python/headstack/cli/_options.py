"""Options that several commands share."""

import json
import tomllib
from collections.abc import Sequence
from typing import Annotated, Any

from headstack import _bridge
from headstack.cli._arguments import Option
from headstack.errors import ConfigError
from headstack.plain import plain


def drive_names() -> list[str]:
    """Return the names of all drives."""
    from headstack import drives

    return drives.names()


def trace_formats() -> list[str]:
    """Return the names of the trace formats."""
    return [str(f["name"]) for f in _bridge.call("formats")]


#: ``--format`` of commands that print tables
Form = Annotated[
    str,
    Option(
        "--format",
        metavar="FORM",
        help="How tables are printed: text, markdown or csv.",
        suggest=lambda: ("text", "markdown", "csv"),
    ),
]

#: ``--wide``
Wide = Annotated[
    bool, Option("--wide", help="Print all columns, also where the terminal has no room for them beside each other.")
]

#: ``--set``
Settings = Annotated[
    list[str] | None,
    Option(
        "--set",
        metavar="KEY=VALUE",
        help="Replace a value of the experiment, as in system.0.scheduler=sptf; values are TOML. "
        "May be given several times.",
    ),
]

#: ``--force`` of commands that write results
Force = Annotated[bool, Option("--force", help="With --out: replace the earlier results in the folder.")]

#: ``--no-figures`` of commands that write a page
Figures = Annotated[bool, Option(help="With a page, also write its figures as PNG and SVG, into a folder beside it.")]

#: ``--on-error``
OnError = Annotated[
    str, Option(metavar="WHAT", help="A bad record: fail, or skip and count it.", suggest=lambda: ("fail", "skip"))
]

#: ``--order``
Order = Annotated[
    str,
    Option(
        metavar="HOW",
        help="Times that run backwards: strict (a bad record), sort or sort:N (hold N records "
        "back; what is later still is moved and counted), or what the format is known for.",
    ),
]

#: ``--format-parameter``
FormatParameters = Annotated[
    list[str] | None,
    Option(
        "--format-parameter",
        "-p",
        metavar="KEY=VALUE",
        help="What the format's reader takes, as in action=issue; may be given several times.",
    ),
]


class Pairs(dict[str, Any]):
    """The pairs of an option as a table; `option` is its name, for messages."""

    option = ""


def settings(given: Sequence[str] | None, option: str = "--set") -> Pairs:
    """Return pairs of the form ``KEY=VALUE`` as a table; values are TOML, or else text.

    Raises:
        ConfigError: one is not a pair, occurs twice, or begins like TOML and is invalid.
    """
    table = Pairs()
    table.option = option
    for pair in given or ():
        key, equals, text = (part.strip() for part in pair.partition("="))
        if not key or not equals:
            raise ConfigError(f'{option}: got "{pair}", need KEY=VALUE')
        if key in table:
            raise ConfigError(f'{option}: got "{key}" twice, need it once')
        table[key] = _value(text, f"{option} {key}")
    return table


def _value(text: str, place: str) -> Any:
    try:
        (value,) = tomllib.loads(f"value = {text}").values()
    # RecursionError: nested too deeply.
    except (ValueError, RecursionError):
        if text.startswith(("[", "{", '"', "'")):
            raise ConfigError(f"{place}: got {text}, need valid TOML") from None
        return text
    return value


def format_parameters(given: list[str] | None) -> str:
    """Return the parameters of a trace's format as JSON; values are TOML, or else text.

    Raises:
        ConfigError: one is not a pair, or occurs twice.
    """
    return json.dumps(plain(settings(given, "--format-parameter")))


#: ``--sources-anywhere``
SourcesAnywhere = Annotated[
    bool, Option("--sources-anywhere", help="Let DiskSim's drive files name files outside their folder.")
]

#: ``--seed`` and ``--threads`` of commands that run an experiment
Seed = Annotated[int | None, Option(min=0, help="Replaces the experiment's seed.")]
Threads = Annotated[int | None, Option(min=1, help="Threads to use; results do not depend on it.")]

#: ``--json`` of commands that print a table of results
Json = Annotated[bool, Option("--json", help="Print one JSON document instead of the table.")]

#: ``--jobs``
Jobs = Annotated[int | None, Option(min=1, help="Processes of this machine; as many as processors unless said.")]

#: ``--seeds``
Seeds = Annotated[
    int | None, Option(min=1, help="Runs, or runs of each point, with seeds from the experiment's own on.")
]

#: ``--measure``
Measure = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="What is shown first and drawn: a column of the results, or mean, p50, p90, p95, p99, p999, iops, power.",
        suggest=lambda: ("mean", "p50", "p90", "p95", "p99", "p999", "iops", "power"),
    ),
]
