"""Counters in results; written by `scripts/schema_types.py`, do not edit."""


class Counters:
    """What drives count, the warm-up included."""
