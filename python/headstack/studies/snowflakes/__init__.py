"""Disks are like snowflakes: no two are alike (Krevat, Tucek, Ganger, 2011), claim by claim.

Drives are drawn by `headstack.population` and swept by the drive model (`headstack.streaming`).
"""

from dataclasses import dataclass

from headstack.studies.as_code import Choice, Claim, Paper, Study

from . import implications, statistics, sweeps, zoning
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


SPLIT = Choice(
    "variation of 2008 between heads of a drive and between drives",
    "0.055 and 0.018",
    {
        "0.075 and 0": {"head_sd": 0.075, "drive_sd": 0.0},
        "0.02 and 0.027": {"head_sd": 0.02, "drive_sd": 0.027},
    },
)
TAIL = Choice(
    "the slowest drives of 2008",
    "weak heads, and little damage",
    {
        "no weak drives": {"weak": False},
        "no damage": {"damage": False},
        "neither": {"weak": False, "damage": False},
    },
)

PAPER = Paper(
    name="snowflakes",
    title="E. Krevat, J. Tucek, G. R. Ganger, Disks Are Like Snowflakes: No Two Are Alike, "
    "CMU-PDL-11-102, 2011",
    choices=Choices(),
    about=(
        "The paper measured four sets of drives. Here drives are drawn from a model of head "
        "variation and swept by the drive model. The paper states about twenty numbers. Most were "
        "used to fit the model, or to select a set of drives: they stand here as input and decide "
        "nothing. What decides follows from the model without having been put in.",
        "One set of 25 drives is a sample. Of the drives of 2008 the set is shown, of many seeds, "
        "that is closest to the paper's; beside SNOW-4 stands the share of the seeds that meet "
        "mean, deviation and both extremes. Normal heads alone cannot give the paper's slowest "
        "drive: 7 % of the drives get weak heads, 8 % small damaged areas.",
        "Not decided by the text: MB or MiB (blocks are powers of two here, rates decimal), "
        "average of block rates or bytes over time, order of heads, bands of 2006 and 2008, "
        "whether the slowest drive is weak or damaged.",
    ),
    claims=(
        Claim(
            "SNOW-1",
            "adaptive zoning",
            "figure 1: linear and track density of each surface by its head, at equal areal "
            "density; faster with more sectors on fewer tracks",
            zoning.adaptive,
        ),
        Claim(
            "SNOW-2",
            "sweeps of drives of 2002, 2006 and 2008",
            "figures 2 and 3: one line in 2002, growing variation within and across disks since; "
            "20 % or more between disks; diamonds from aliasing",
            sweeps.evolution,
            (SPLIT, TAIL),
        ),
        Claim(
            "SNOW-3",
            "heads of a drive of 2009",
            "figure 4: fastest head 116 MB/s, slowest 109, four at 113; a switch about every "
            "120 MB; averages of drives fairly similar",
            sweeps.heads,
        ),
        Claim(
            "SNOW-4",
            "averages and extremes of the first quarter",
            "figure 5: 67.8 MB/s with a deviation of 0.2 in 2002; 105.0 with 4.4 in 2008, from "
            "14.5 % below to 5.8 % above; blocks vary considerably more",
            statistics.averages,
            (SPLIT, TAIL),
        ),
        Claim(
            "SNOW-5",
            "implications for systems",
            "equal partitioning is inefficient; stripes run at N times the slowest disk; spindle "
            "synchronization is useless; track-aligned extents need each drive's own map",
            implications.implications,
            (SPLIT,),
        ),
    ),
)
