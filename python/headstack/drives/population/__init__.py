"""Populations of drives that share a design and differ in their heads.

`draw` draws heads from a `HeadModel`, applies a manufacturer's `Policy` to them, and returns the
drives. Presets are named after the nominal drives. Model, sources and limits:
docs/models/adaptive-zoning.md.

Example:
    >>> from headstack import population
    >>> drawn = population.draw("wd-re3-2009", n=3, seed=1)
    >>> drawn.classes.shape
    (3, 6)
"""

from .drawn import FIRST_QUARTER, Counts, Population, description, draw, nominal, summary, zone_bytes
from .economics import Economics, Trade, trade
from .heads import HeadModel, Heads
from .policies import POLICIES, Fit, Policy
from .presets import PRESETS, Damage, Preset, preset

__all__ = [
    "FIRST_QUARTER",
    "POLICIES",
    "PRESETS",
    "Counts",
    "Damage",
    "Economics",
    "Fit",
    "HeadModel",
    "Heads",
    "Policy",
    "Population",
    "Preset",
    "Trade",
    "description",
    "draw",
    "nominal",
    "preset",
    "summary",
    "trade",
    "zone_bytes",
]
