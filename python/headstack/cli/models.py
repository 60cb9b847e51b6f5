"""``headstack models``."""

from typing import Annotated

from headstack.cli._arguments import Argument, Option
from headstack.cli._options import Form


def _kinds() -> list[str]:
    from headstack import _bridge

    return sorted(_bridge.call("plugins"))


def command(
    kind: Annotated[
        str | None,
        Argument("KIND", help="Only these: seek, scheduler, reader, ...", suggest=_kinds),
    ] = None,
    form: Form = "text",
    as_json: Annotated[bool, Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """List the models, schedulers, layouts, organisations, capping policies and trace readers.

    Examples:
      headstack models
      headstack models scheduler
      headstack models seek --json

    """
    from headstack import _bridge
    from headstack.cli import _terminal
    from headstack.errors import ConfigError
    from headstack.suggest import need_one_of

    _terminal.check_form(form, as_json)
    kinds = _bridge.call("plugins")
    if kind is not None and kind not in kinds:
        raise ConfigError(need_one_of("kind", kind, sorted(kinds)))
    shown = {k: v for k, v in sorted(kinds.items()) if kind in (None, k)}
    if as_json:
        _terminal.print_json(shown)
        return
    _terminal.print_table(
        [("kind", True), ("name", True), ("what", True)],
        [[k, entry["name"], entry["summary"]] for k, entries in shown.items() for entry in entries],
        form=form,
    )
