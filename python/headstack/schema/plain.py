"""Values that descriptions contain; written by `scripts/schema_types.py`, do not edit."""

from os import PathLike
from typing import Any, Protocol, TypeAlias

Path: TypeAlias = str | PathLike[str]
"""A path, as text or of `pathlib`."""


class Frame(Protocol):
    """A DataFrame of requests: pandas, Polars, pyarrow and others with Arrow's interface."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return the data as Arrow's stream."""
