"""Quantities; written by `scripts/schema_types.py`, do not edit."""

from typing import TypeAlias

Size: TypeAlias = str
"""Size as text with its unit."""

Rate: TypeAlias = str
"""Rate as text with its unit."""

LengthOfTime: TypeAlias = str
"""Length of time as text with its unit."""

Angle: TypeAlias = str
"""Angle as text with its unit."""

RotationSpeed: TypeAlias = str
"""Rotation speed as text with its unit."""

Length: TypeAlias = str
"""Length as text with its unit."""

Acceleration: TypeAlias = str
"""Acceleration as text with its unit."""

Speed: TypeAlias = str
"""Speed as text with its unit."""

DataRate: TypeAlias = str
"""Data rate as text with its unit."""

Power: TypeAlias = str
"""Power as text with its unit."""

Energy: TypeAlias = str
"""Energy as text with its unit."""
