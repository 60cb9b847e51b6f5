"""Disks are like snowflakes: no two are alike (Krevat, Tucek, Ganger, 2011), claim by claim.

Drives are drawn by `headstack.drives.population` and swept by the drive model (`headstack.drives.streaming`).
"""

from dataclasses import dataclass

from headstack.papers.study import Study

from .sets import SEEDS, Changes


@dataclass(frozen=True)
class Choices:
    """Properties of the drives of 2008 that the paper leaves open and that affect its statements.

    Attributes:
        head_sd: standard deviation among the heads of a drive.
        drive_sd: standard deviation of what these heads have in common.
        weak: whether some drives have weak heads.
        damage: whether some drives have damaged areas.
    """

    head_sd: float | None = None
    drive_sd: float | None = None
    weak: bool = True
    damage: bool = True

    def changes(self) -> Changes | None:
        """Return these as changes of the preset; None if there are none."""
        made = Changes(self.head_sd, self.drive_sd, self.weak, self.damage)
        return None if made == Changes() else made

    def seeds(self, study: Study) -> int:
        """Return how many sets are drawn to find the closest one."""
        return SEEDS // 4 if study.quick else SEEDS
