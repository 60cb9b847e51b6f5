"""Writes documents as TOML."""

import json
from collections.abc import Mapping
from typing import Any

import tomli_w


def dumps(document: Mapping[str, object]) -> str:
    """Write a document as text; TOML has no null, so keys without a value are left out."""
    return tomli_w.dumps(_without_none(document))


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_none(v) for k, v in value.items() if v is not None}
    return [_without_none(v) for v in value] if isinstance(value, list) else value


def inline(value: object) -> str:
    """Return a value as TOML on one line."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{k} = {inline(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    # A JSON string without raw DEL is a TOML basic string; numbers and booleans are written alike.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
