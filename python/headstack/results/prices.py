"""Prices of drives from a table of the user's: what a drive costs today is in no model.

A table is a TOML file with the day on which its prices were seen, and US dollars for each drive::

    as_of = 2026-11-01
    source = "quotation of our supplier"

    [drives]
    exos-x18 = 289
    exos-2x18-sata = { low = 395, high = 450 }

It replaces the prices of the drives that it names, for all systems whose drives it all names. For
other systems the prices of drive files stay, which have dates and kinds of their own and are never
compared with those of the table. What no file says stays unknown.
"""

import datetime
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from headstack import drives
from headstack.errors import ConfigError
from headstack.suggest import did_you_mean

#: Environment variable with the path of a table that is used where none is named.
VARIABLE = "HEADSTACK_PRICES"

#: Kind of price, in results, of systems with prices from a table.
KIND = "table"


class Prices(NamedTuple):
    """A table of prices."""

    #: The day of the prices, as in ``2026-11-01``.
    as_of: str
    #: Where they are from, in words; may be empty.
    source: str
    #: The least and the greatest price of each drive, in US dollars.
    usd: Mapping[str, tuple[float, float]]

    def of(self, system: Mapping[str, Any]) -> tuple[float, float] | None:
        """Return the price of all drives of a system; None unless the table has each of them."""
        low = high = 0.0
        parts = system.get("drive") or []
        for part in parts:
            price = self.usd.get(str(part.get("name")))
            if price is None:
                return None
            low += price[0] * part.get("count", 1)
            high += price[1] * part.get("count", 1)
        return (low, high) if parts else None


def load(path: str | os.PathLike[str]) -> Prices:
    """Return the table of a file.

    Raises:
        ConfigError: the file is no such table, or names a drive that is not known.
    """
    where = Path(path)
    table = drives.read_toml(where)
    known = ("as_of", "source", "drives")
    for key in table:
        if key not in known:
            need = f"one of {', '.join(known)}{did_you_mean(key, known)}"
            raise ConfigError(f'{where}: got key "{key}", need {need}')
    given = table.get("drives")
    if not isinstance(given, Mapping) or not given:
        raise ConfigError(f"{where}: drives: got {_kind(given)}, need a table of US dollars by drive")
    names = drives.names()
    for name in given:
        if name not in names and not name.endswith(".toml"):
            hint = did_you_mean(name, names) or "; headstack drives lists them"
            raise ConfigError(f'{where}: drives: got "{name}", need the name of a drive{hint}')
    usd = {name: _range(value, f"{where}: drives.{name}") for name, value in given.items()}
    return Prices(_day(table.get("as_of"), where), str(table.get("source") or ""), usd)


def _day(given: Any, where: Path) -> str:
    try:
        return datetime.date.fromisoformat(str(given)[:10]).isoformat()
    except ValueError:
        need = "the day of the prices, such as 2026-11-01"
        raise ConfigError(f"{where}: as_of: got {_kind(given)}, need {need}") from None


def _range(value: Any, where: str) -> tuple[float, float]:
    if isinstance(value, Mapping) and set(value) == {"low", "high"}:
        low, high = value["low"], value["high"]
    else:
        low = high = value
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (low, high))
    if not numbers or not 0 < low <= high < float("inf"):
        need = "US dollars, as a number or { low = ..., high = ... }"
        raise ConfigError(f"{where}: got {_kind(value)}, need {need}")
    return float(low), float(high)


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    return f'"{value}"' if isinstance(value, str) else str(value)


def chosen(given: str | os.PathLike[str] | Prices | None) -> Prices | None:
    """Return a table that is given, else that of the environment; None without either.

    Raises:
        ConfigError: the file is no table of prices.
    """
    if isinstance(given, Prices):
        return given
    path = given or os.environ.get(VARIABLE)
    return load(path) if path else None


def apply(document: dict[str, Any], prices: Prices) -> None:
    """Replace the costs of systems in a result document by the prices of a table.

    ``cost_usd`` of a system then has the kind ``table`` and ``as_of``.
    """
    for system in document["systems"]:
        price = prices.of(system)
        if price is not None:
            low, high = price
            cost = {"low": low, "high": high, "price_kind": KIND, "as_of": prices.as_of}
            system["cost_usd"] = cost
    used = {"as_of": prices.as_of, "source": prices.source}
    document["prices"] = used
