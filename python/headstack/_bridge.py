"""Calls into the Rust core: JSON in and out, with one clear error where a part is not built in."""

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
    """Whether the core that is installed has `name`."""
    return hasattr(_core, name)
