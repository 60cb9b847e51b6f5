"""``headstack schema``."""

from typing import Annotated

from headstack import _bridge
from headstack.cli import _terminal
from headstack.cli._arguments import Argument
from headstack.errors import ConfigError
from headstack.suggest import need_one_of

#: What has a schema.
KINDS = ("drive", "experiment")


def command(
    kind: Annotated[str, Argument("KIND", help="Of what: drive or experiment.", suggest=lambda: KINDS)],
) -> None:
    """Print the JSON Schema of experiments or of drive files, for editors and other programs.

    Examples:
      headstack schema experiment > experiment.schema.json
      headstack schema drive > drive.schema.json
    """
    if kind not in KINDS:
        raise ConfigError(need_one_of("kind", kind, KINDS))
    _terminal.print_json(_bridge.call("schema", kind == "experiment"))
