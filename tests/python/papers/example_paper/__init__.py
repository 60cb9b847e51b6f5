"""A made-up paper with one claim: the example of docs/design/adding-a-paper.md."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Choices:
    """What the paper leaves open.

    Attributes:
        seed: seed of every random stream.
    """

    seed: int = 1
