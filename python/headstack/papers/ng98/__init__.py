"""Advances in disk technology: performance issues (S. W. Ng, 1998), claim by claim.

Each figure is computed by formula (`headstack.drives.formulas`), and by the simulator on the same drive.
"""

from dataclasses import dataclass

from .drive import SETTLE_S, SINGLE_S, WIDE_TRACK_SECTORS


@dataclass(frozen=True)
class Choices:
    """Choices that the article leaves open and that affect verdicts.

    Attributes:
        single_s: seek to the next cylinder; the mean stays 10 ms.
        track_sectors: sectors per track of the hypothetical drive in figures 3 and 4.
        used_mb: space of the scale-free stand-in, in the article's Mbytes.
        settle_ms: settling for each doubling of tpi.
        median_kb: median size of the small files.
        seed: seed of every random stream.
    """

    single_s: float = SINGLE_S
    track_sectors: int = WIDE_TRACK_SECTORS
    used_mb: int = 1000
    settle_ms: float = 0.2
    median_kb: float = 2.0
    seed: int = 1

    @property
    def settle_s(self) -> float:
        """Settling for each factor of e in track density."""
        return SETTLE_S * self.settle_ms / 0.2
