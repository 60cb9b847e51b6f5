"""Presets of populations: the four sets of drives of the paper, and a set of today.

docs/models/adaptive-zoning.md lists which values are stated, fitted or chosen.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from headstack.drives.streaming import Noise
from headstack.errors import ConfigError
from headstack.suggest import need_one_of

from .heads import HeadModel
from .policies import Policy

#: Of sweeps: a revolution is lost for each 400 MB read, and the speed of a sweep varies by 0.05 %.
NOISE = Noise(lost_turns_per_byte=1 / 400e6, trial_factor=0.0005)


@dataclass(frozen=True)
class Damage:
    """Areas that some drives read slowly: disjoint extents near the beginning.

    Attributes:
        probability: probability that a drive has them.
        extents: number of areas in such a drive.
        least_share: smallest share of the first quarter that they cover together.
        most_share: largest share.
        least_rate: smallest factor on the rate in an area.
        most_rate: largest factor.
    """

    probability: float = 0.0
    extents: int = 3
    least_share: float = 0.02
    most_share: float = 0.12
    least_rate: float = 0.3
    most_rate: float = 0.7


@dataclass(frozen=True)
class Preset:
    """How drives of a model are drawn.

    Attributes:
        drive: name of the nominal drive's file, or its path.
        n: number of drives in the set.
        heads: distribution of heads.
        policy: the manufacturer's policy.
        factor_sd: standard deviation of each drive's factor on all times.
        damage: slow areas.
        noise: noise of sweeps.
    """

    drive: str
    n: int = 25
    heads: HeadModel = field(default_factory=HeadModel)
    policy: Policy = field(default_factory=Policy)
    factor_sd: float = 0.003
    damage: Damage = field(default_factory=Damage)
    noise: Noise = NOISE


#: By the name of the nominal drive.
PRESETS: Mapping[str, Preset] = {
    p.drive: p
    for p in (
        Preset(
            "cheetah-10k6-2002",
            9,
            HeadModel(head_sd=0.03, drive_sd=0.01, quality_mean=0.10, quality_sd=0.015),
            Policy("classic", lowest=0, highest=0),
        ),
        Preset(
            "barracuda-7200.9-2006",
            9,
            HeadModel(head_sd=0.035, drive_sd=0.010),
            Policy("adaptive", lowest=-5, highest=3),
        ),
        Preset(
            "barracuda-es2-2008",
            25,
            HeadModel(head_sd=0.055, drive_sd=0.018, weak_probability=0.07),
            Policy("adaptive", lowest=-8, highest=3),
            damage=Damage(probability=0.08),
        ),
        Preset(
            "wd-re3-2009",
            25,
            HeadModel(head_sd=0.016, drive_sd=0.004),
            Policy("binned", lowest=-1, highest=1),
            factor_sd=0.002,
        ),
        Preset(
            "helium-20tb",
            100,
            HeadModel(head_sd=0.04, drive_sd=0.012, quality_mean=0.02, quality_sd=0.003),
            Policy("adaptive", step=0.02, lowest=-6, highest=5),
            factor_sd=0.002,
        ),
    )
}


def preset(name: str) -> Preset:
    """Return a preset by name.

    Raises:
        ConfigError: there is none of that name; the message lists those there are.
    """
    if name not in PRESETS:
        raise ConfigError(need_one_of("preset", name, PRESETS))
    return PRESETS[name]
