"""Intra-disk parallelism: an idea whose time has come (ISCA 2008), claim by claim."""

from .systems import Choices

__all__ = ["Choices"]
