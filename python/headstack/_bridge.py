"""Calls into the Rust core with JSON in and out; one clear error if a function is missing."""

import json
from typing import Any

from headstack import _core
from headstack.errors import HeadstackError


def call(name: str, *args: Any) -> Any:
    """Call `name` of the core and decode the JSON that it returns."""
    function = getattr(_core, name, None)
    if function is None:
        raise HeadstackError(
            f"headstack._core.{name}: got a core built without it, need one of this version; "
            "rebuild with make demo"
        )
    answer = function(*args)
    return json.loads(answer) if isinstance(answer, str) else answer


def known(name: str) -> bool:
    """Return whether the installed core has `name`."""
    return hasattr(_core, name)
