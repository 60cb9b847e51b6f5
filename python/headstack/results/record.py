"""A table of a result document as an object whose attributes have types."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from headstack.suggest import need_one_of

#: Most characters of a value in the `repr` of a record.
_MOST_BRIEF = 60


class Record(Mapping[str, Any]):
    """A table of a result document; its entries are also attributes.

    Example:
        >>> system = Record({"name": "one", "response_time_s": {"p99": 0.02}})
        >>> system.response_time_s.p99 == system["response_time_s"]["p99"]  # type: ignore[attr-defined]
        True
    """

    def __init__(self, entries: Mapping[str, Any]) -> None:
        self._entries = entries

    def __getitem__(self, key: str) -> Any:
        return _record(self._entries[key], _kinds(type(self)).get(key, Free))

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    # Type checkers know the entries that are declared, and no others.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # Names with an underscore are Python's own and never entries, also while an object is
            # copied.
            if name.startswith("_"):
                raise AttributeError(name)
            if name not in self._entries:
                raise AttributeError(need_one_of("result", name, self._entries))
            return self[name]

    def __dir__(self) -> Iterable[str]:
        # The names that begin with an underscore are Python's own.
        return [*(n for n in super().__dir__() if not n.startswith("_")), *self._entries]

    def __repr__(self) -> str:
        """Return one line for each entry; tables and lists are not written out."""
        width = max(map(len, self._entries), default=0)
        lines = (f"  {key:<{width}}  {_brief(value)}" for key, value in self._entries.items())
        return "\n".join([f"headstack.Record of {_entries(self._entries)}", *lines])


class Free(Record):
    """A table whose entries depend on models or names, so that no type lists them."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


def _entries(table: Mapping[str, Any]) -> str:
    return f"{len(table)} entr{'y' if len(table) == 1 else 'ies'}"


def _brief(value: object) -> str:
    """Return a value in one short line."""
    if isinstance(value, Mapping):
        text = f"{_entries(value)}: {', '.join(map(str, value))}"
    elif isinstance(value, list):
        text = f"list of {len(value)}"
    else:
        text = repr(value)
    return text if len(text) <= _MOST_BRIEF else f"{text[: _MOST_BRIEF - 3]}..."


def _record(value: Any, kind: type[Record]) -> Any:
    if isinstance(value, Mapping):
        return kind(value)
    if isinstance(value, list):
        return [_record(v, kind) for v in value]
    return value


@cache
def _kinds(table: type[Record]) -> dict[str, type[Record]]:
    """Return the kind of the tables under each key of a table that declares one."""
    found = {}
    for key, hint in get_type_hints(table).items():
        # `Times`, `list[Drive]`, `Confidence | None`.
        for part in (hint, *get_args(hint)):
            if isinstance(part, type) and issubclass(part, Record):
                found[key] = part
    return found
