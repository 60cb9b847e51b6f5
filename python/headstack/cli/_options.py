"""Options that several commands have."""

from typing import Annotated

from headstack.cli._arguments import Option

#: ``--on-error``
OnError = Annotated[str, Option(metavar="WHAT", help="A bad record: fail, or skip and count it.")]

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


def format_parameters(given: list[str] | None) -> str:
    """Return the parameters of a trace's format as JSON; values are TOML, or else text.

    Raises:
        ConfigError: one is no pair, or is there twice.

    """
    import json
    import tomllib

    from headstack.errors import ConfigError

    parameters: dict[str, object] = {}
    for pair in given or ():
        key, equals, text = pair.partition("=")
        key = key.strip()
        if not key or not equals:
            raise ConfigError(f'--format-parameter: got "{pair}", need KEY=VALUE')
        if key in parameters:
            raise ConfigError(f'--format-parameter: got "{key}" twice, need it once')
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except (ValueError, RecursionError):
            value = text.strip()
        parameters[key] = value if isinstance(value, bool | int | float | str) else text.strip()
    return json.dumps(parameters)


#: ``--sources-anywhere``
SourcesAnywhere = Annotated[
    bool,
    Option(
        "--sources-anywhere",
        help="Let DiskSim's drive files name files outside their folder.",
    ),
]
