"""Converts Python values to tables of an experiment, which JSON can represent."""

import json
import math
import os
from collections.abc import Mapping
from typing import Any

from headstack.errors import ConfigError

#: Deepest nesting of tables in an experiment.
_MOST_LEVELS = 64

#: The integers that descriptions can contain: 64 bits, with or without a sign.
_LEAST, _GREATEST = -(2**63), 2**64 - 1

#: Most characters of a key or value in messages.
_SHOWN = 80


def plain(value: object, key: str = "", level: int = 0) -> Any:
    """Return `value` converted to tables, lists, text, numbers and None only.

    Takes mappings, lists, tuples, ranges, paths, dates, and NumPy's scalars and arrays.

    Args:
        value: a table or a value of an experiment.
        key: its dotted key, for messages.
        level: number of tables and lists around it.

    Raises:
        ConfigError: a value of another kind, a number that is not finite or too large, a key that
            is not text, text that is not Unicode, too many levels; with its key.

    Example:
        >>> from pathlib import Path
        >>> plain({"drive": Path("a.toml"), "count": 2})
        {'drive': 'a.toml', 'count': 2}
    """
    if level > _MOST_LEVELS:
        raise ConfigError(f"{_cut(key)}: got more levels, need at most {_MOST_LEVELS}")
    if isinstance(value, Mapping):
        return {_name(k, key): plain(v, f"{key}.{k}" if key else str(k), level + 1) for k, v in value.items()}
    if isinstance(value, list | tuple | range):
        return [plain(v, f"{key}[{i}]", level + 1) for i, v in enumerate(value)]
    # NumPy scalars and arrays, pandas columns.
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return plain(value.tolist(), key, level + 1)
    return _scalar(value, key)


def whole(value: object, where: str, least: int, most: int | None = None) -> int:
    """Return a whole number within its bounds.

    Raises:
        ConfigError: it is none; the message begins with `where`.
    """
    number = plain(value, where)
    is_whole = isinstance(number, int) and not isinstance(number, bool)
    if is_whole and least <= number <= (number if most is None else most):
        return int(number)
    bounds = f"{least} or more" if most is None else f"{least} to {most:,}"
    raise ConfigError(f"{where}: got {shown(number)}, need a whole number, {bounds}")


def shown(value: object) -> str:
    """Return a plain value as displayed in messages."""
    return _cut(json.dumps(value))


def _cut(text: str) -> str:
    return text if len(text) < _SHOWN else f"{text[:_SHOWN]}..."


def _name(name: object, key: str) -> str:
    if not isinstance(name, str):
        raise ConfigError(f"{_place(key)}: got key {_cut(repr(name))}, need text")
    return _text(name, f"{_place(key)}: key")


def _place(key: str) -> str:
    return _cut(key) or "experiment"


def _text(text: str, place: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        shown = _cut(text.encode("ascii", "backslashreplace").decode())
        raise ConfigError(f'{place}: got "{shown}", need text in Unicode') from None
    # The text without the class of a subclass, such as NumPy's.
    return str.__str__(text)


def _scalar(value: object, key: str) -> str | int | float | None:
    import datetime
    import numbers

    place = _place(key)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value, place)
    if isinstance(value, os.PathLike):
        return _text(os.fsdecode(value), place)
    if isinstance(value, numbers.Integral):
        whole = int(value)
        if not _LEAST <= whole <= _GREATEST:
            bits = whole.bit_length()
            raise ConfigError(f"{place}: got an integer of {bits} bits, need one of at most 64")
        return whole
    if isinstance(value, numbers.Real):
        number = float(value)
        if not math.isfinite(number):
            raise ConfigError(f"{place}: got {number}, need a finite number")
        return number
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    raise ConfigError(f"{place}: got a {type(value).__name__}, need text, numbers or tables")
