"""``headstack models``."""

import json
import textwrap
from collections.abc import Mapping
from typing import Annotated, Any

from headstack import _bridge
from headstack.cli import _terminal
from headstack.cli._arguments import Argument, Option
from headstack.cli._options import Form
from headstack.errors import ConfigError
from headstack.suggest import need_one_of


def _kinds() -> list[str]:
    return sorted(_bridge.call("plugins"))


def _show(entry: Mapping[str, Any], form: Form, as_json: bool) -> None:
    """Print one model: what it is, an example, and its parameters where they are known."""
    if as_json:
        _terminal.print_json(entry)
        return
    if form == "text":
        print(f"{entry['name']}: {entry['summary']}")
        if entry.get("example"):
            print(f"\nExample:\n{textwrap.indent(entry['example'].strip(), '  ')}")
        if entry.get("parameters"):
            print("\nParameters:")
    if "parameters" in entry:
        _terminal.print_table(
            [("parameter", True), ("default", True), ("bounds", True), ("what", True)],
            [[p["key"], _default(p), p["bounds"], p["what"]] for p in entry["parameters"]],
            form=form,
        )


def _default(parameter: Mapping[str, Any]) -> str:
    """Return the default of a parameter as in TOML, without the quotes of a text."""
    value = parameter["default"]
    if value is None:
        return "needed" if parameter["needed"] else "–"  # noqa: RUF001
    return value if isinstance(value, str) else json.dumps(value)


def command(
    kind: Annotated[
        str | None, Argument("KIND", help="Only these: seek, scheduler, reader, ...", suggest=_kinds)
    ] = None,
    name: Annotated[
        str | None, Argument("NAME", help="With a kind: this one, with its example and parameters.")
    ] = None,
    form: Form = "text",
    as_json: Annotated[bool, Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """List models, schedulers, layouts, organisations, policies, trace readers and warnings.

    Examples:
      headstack models
      headstack models scheduler
      headstack models seek --json
      headstack models capping pcap-agile
    """
    _terminal.check_form(form, as_json)
    kinds = _bridge.call("plugins")
    if kind is not None and kind not in kinds:
        raise ConfigError(need_one_of("kind", kind, sorted(kinds)))
    shown = {k: v for k, v in sorted(kinds.items()) if kind in (None, k)}
    if kind is not None and name is not None:
        named = {entry["name"]: entry for entry in kinds[kind]}
        if name not in named:
            raise ConfigError(need_one_of("name", name, sorted(named)))
        _show(named[name], form, as_json)
        return
    if as_json:
        _terminal.print_json(shown)
        return
    _terminal.print_table(
        [("kind", True), ("name", True), ("what", True)],
        [[k, entry["name"], entry["summary"]] for k, entries in shown.items() for entry in entries],
        form=form,
    )
