"""Writes documents as TOML."""

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
