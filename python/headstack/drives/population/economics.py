"""Cost of scrapped heads and savings of a policy: yield and density, in dollars per TB.

# Model
A lower density is easier for every head. If the logarithm of the areal density is lowered by x, the
margin of each head grows by ``exchange * x``, and the capacity is multiplied by ``exp(-x)``. A
drive has H places for heads. With the yield y at x, each place takes 1/y heads:
``cost per TB = (rest + (H/y) (head + test)) / (capacity exp(-x))``.
The manufacturer chooses the x with the lowest cost. With the classic policy this x is a compromise
between scrapped heads and density; with the adaptive policy few heads are scrapped at any density.

# Source
The trade: CMU-PDL-11-102, section 2 ("a trade-off is made between the aggressiveness of the
predefined density and the number of disk heads that are discarded"). Prices of heads and of the
rest: `cost` model ``components`` (docs/models/cost.md). Costs of tests and the exchange are chosen.

# Limits
Diverted heads are assumed to be worth their cost. Every head is measured once under every policy.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from headstack.errors import ConfigError

from .heads import Floats, HeadModel, Heads
from .policies import Policy

#: Number of heads from which a yield is estimated.
_SAMPLE_DRIVES, _SAMPLE_HEADS = 5000, 8

#: Logarithms by which density is lowered; negative: raised.
_BACKOFF = np.round(np.linspace(-0.1, 0.2, 121), 6)


@dataclass(frozen=True)
class Economics:
    """Prices, US dollars.

    Attributes:
        head_usd: price of a head.
        test_usd: cost of measuring a head.
        adaptive_test_usd: additional cost of finding its class, for time on the tester.
        rest_usd: price of all other material of a drive.
        exchange: gain in margin (logarithm of width) for one unit of the logarithm of density.
    """

    head_usd: float = 3.0
    test_usd: float = 0.5
    adaptive_test_usd: float = 0.1
    rest_usd: float = 50.0
    exchange: float = 1.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ConfigError(f"cost.{field.name}: got {value!r}, need a number")
            if not 0 <= value <= 1e6:
                raise ConfigError(f"cost.{field.name}: got {value:g}, need 0 to 1,000,000")

    def per_head(self, policy: Policy) -> float:
        """Return what a head and its test cost under a policy."""
        more = 0.0 if policy.name == "classic" else self.adaptive_test_usd
        return self.head_usd + self.test_usd + more


@dataclass(frozen=True)
class Trade:
    """One policy at every density.

    Attributes:
        policy: its name.
        backoff: by how much the logarithm of areal density was lowered.
        yields: share of heads that are not scrapped.
        usd_per_tb: price of a drive's material divided by its capacity.
    """

    policy: str
    backoff: Floats
    yields: Floats
    usd_per_tb: Floats

    @property
    def best(self) -> int:
        """Where the cost is lowest."""
        return int(np.argmin(self.usd_per_tb))

    @property
    def nominal(self) -> int:
        """Where density is the nominal one."""
        return int(np.argmin(np.abs(self.backoff)))


def trade(
    model: HeadModel,
    policies: Sequence[Policy],
    surfaces: int,
    capacity_bytes: float,
    prices: Economics | None = None,
    seed: int = 0,
) -> list[Trade]:
    """Return what each policy costs at each density, all on the same heads.

    Args:
        model: distribution of heads.
        policies: the policies to compare.
        surfaces: number of heads of a drive.
        capacity_bytes: capacity of a drive at the nominal density.
        prices: prices and costs.
        seed: seed of the heads.
    """
    usd = prices or Economics()
    shared, _ = model.drives(_SAMPLE_DRIVES, seed)
    heads = model.heads(shared, _SAMPLE_HEADS, seed)
    backoff = _BACKOFF.copy()
    found = []
    for policy in policies:
        yields = np.array([_yield(policy, heads, usd.exchange * x) for x in backoff])
        with np.errstate(divide="ignore"):
            drive = usd.rest_usd + surfaces * usd.per_head(policy) / yields
        cost = drive / (capacity_bytes * 1e-12 * np.exp(-backoff))
        found.append(Trade(policy.name, backoff, yields, cost))
    return found


def _yield(policy: Policy, heads: Heads, more: float) -> float:
    fit = policy.fit(Heads(heads.width, heads.quality + more))
    return float((fit.used | fit.diverted).mean())
