"""Reads tables of a TOML document into dataclasses and refuses what does not fit.

The fields of a dataclass are the keys of its table. Their types are checked: texts, numbers, lists,
tables and other dataclasses.
"""

import enum
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from headstack.errors import ConfigError
from headstack.suggest import need_one_of

Read = TypeVar("Read")


def read(kind: type[Read], table: Mapping[str, Any], where: str) -> Read:
    """Return a table as a dataclass.

    Raises:
        ConfigError: a key is unknown or missing, or its value has another type; the message begins
            with `where`.
    """
    known = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    for key in table:
        if key not in known:
            raise ConfigError(need_one_of(f"{where}: key", key, known))
    hints, values = get_type_hints(kind), {}
    for name, f in known.items():
        if name in table:
            values[name] = _value(hints[name], table[name], f"{where}.{name}")
        elif f.default is MISSING and f.default_factory is MISSING:
            raise ConfigError(f"{where}: got no {name}, need one")
    return kind(**values)


def _value(hint: Any, given: Any, where: str) -> Any:
    origin, inside = get_origin(hint), get_args(hint)
    if hint is Any:
        return given
    if origin in (Union, types.UnionType):
        hint = next((h for h in inside if _fits(h, given)), inside[0])
        return _value(hint, given, where)
    if not _fits(hint, given):
        raise ConfigError(f"{where}: got {given!r}, need {_NAMES.get(origin or hint, 'a table')}")
    if origin is tuple:
        each = inside[:1] * len(given) if inside[-1] is Ellipsis else inside
        if len(each) != len(given):
            raise ConfigError(f"{where}: got {len(given)} values, need {len(each)}")
        return tuple(_value(h, g, f"{where}[{i}]") for i, (h, g) in enumerate(zip(each, given, strict=True)))
    if origin is dict:
        return {k: _value(inside[1], v, f"{where}.{k}") for k, v in given.items()}
    if is_dataclass(hint):
        return read(hint, given, where)  # type: ignore[arg-type]
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        known = [str(member.value) for member in hint]
        if given not in known:
            raise ConfigError(need_one_of(where, given, known))
        return hint(given)
    return float(given) if hint is float else given


_NAMES = {str: "a text", float: "a number", int: "a whole number", bool: "true or false",
          tuple: "a list", dict: "a table"}  # fmt: skip


def _fits(hint: Any, given: Any) -> bool:
    """Return whether a value has the form of a type, without looking inside."""
    if hint is Any:
        return True
    form = get_origin(hint) or hint
    if form is tuple:
        return isinstance(given, list)
    if form is dict or is_dataclass(form):
        return isinstance(given, Mapping)
    if form in (int, float):
        numbers = (int, float) if form is float else int
        return isinstance(given, numbers) and not isinstance(given, bool)
    if isinstance(form, type) and issubclass(form, enum.Enum):
        return isinstance(given, str)
    return isinstance(form, type) and isinstance(given, form)
