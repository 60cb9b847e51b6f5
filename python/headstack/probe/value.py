"""A result of a probe: a number with its interval, and where it is from."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

Origin: TypeAlias = Literal["measured", "declared", "default of the class", "not identifiable"]


@dataclass(frozen=True)
class Value:
    """A number with its interval.

    Attributes:
        value: the number, or a word.
        low: lower end of the interval that holds it with 95 %; the value itself if it is exact.
        high: upper end.
        origin: how it is known.
        reads: reads from which it was estimated.
        step: step of the probe.
        unit: SI unit, or nothing for a number without one.
    """

    value: Any
    low: Any
    high: Any
    origin: Origin
    reads: int
    step: str
    unit: str = ""

    @property
    def shown(self) -> str:
        """The value as a person reads it."""
        if not isinstance(self.value, float):
            return str(self.value)
        if self.unit == "B/s":
            return f"{self.value / 1e6:,.2f} MB/s"
        if self.unit == "s":
            return f"{self.value * 1e3:.6f} ms"
        if self.unit == "W":
            return f"{self.value:.2f} W"
        return f"{self.value:,.0f} {self.unit}".rstrip()

    def as_dict(self) -> dict[str, Any]:
        """Return it as a dictionary for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        """Return the origin and the interval, as a comment of a drive file."""
        if self.origin != "measured" or self.low == self.high:
            return self.origin
        return f"measured: {self.low:.6g} to {self.high:.6g} {self.unit}".rstrip() + (f", {self.reads} reads")


def measured(triple: Iterable[float], reads: int, step: str, unit: str = "") -> Value:
    """Return a measured value from itself and the two ends of its interval."""
    value, low, high = triple
    return Value(value, low, high, "measured", reads, step, unit)


def less(value: Value, seconds: float, least: float = 0.0) -> Value:
    """Return a measured value less a part that is known, but no less than the least one."""
    triple = (max(float(x) - seconds, least) for x in (value.value, value.low, value.high))
    return measured(triple, value.reads, value.step, value.unit)


def exact(value: Any, step: str, reads: int = 0, unit: str = "") -> Value:
    """Return a measured value without an interval: a count."""
    return Value(value, value, value, "measured", reads, step, unit)


def default(value: Any, step: str, unit: str = "") -> Value:
    """Return what drives of the class have, where nothing was measured."""
    return Value(value, value, value, "default of the class", 0, step, unit)
