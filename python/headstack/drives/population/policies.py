"""Policies of a manufacturer: which format a head gets. `POLICIES` lists them by name.

# Model
A menu has formats of equal areal density. Class k has the factors ``exp(k s)`` in bits per inch and
``exp(-k s)`` in tracks per inch; s is the menu's step. A head of width u and margin q fits class k
if ``|u - k s| <= q``. A policy decides which class a head gets, and whether it can be used.

- ``classic``: class 0 for all heads; heads that do not fit it are scrapped.
- ``adaptive``: the class nearest to the head, within the menu. A head that is wider than the
  highest class always fits, because it runs below its limit.
- ``binned``: as adaptive, with few classes; heads beyond the menu go into another product.

# Source
Krevat, Tucek and Ganger, CMU-PDL-11-102, section 2, and the patents that it cites; the quantized
menu from section 3 ("the densities of each head appear to be quantized").
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstack.errors import ConfigError
from headstack.suggest import need_one_of

from .heads import Floats, Heads

Bools = NDArray[np.bool_]

#: Bounds of a menu: largest number of a class, and largest step.
_MOST_CLASS, _MOST_STEP = 100, 0.5


class Fit(NamedTuple):
    """How heads are used; each array has the shape of the heads.

    Attributes:
        classes: class of the format that each head gets.
        used: whether it goes into a drive of this product.
        diverted: whether it goes into another product; all other heads are scrapped.
    """

    classes: NDArray[np.int16]
    used: Bools
    diverted: Bools


@dataclass(frozen=True)
class Policy:
    """A policy with its menu.

    Attributes:
        name: one of `POLICIES`.
        step: logarithm of the ratio of bits per inch of neighbouring classes.
        lowest: class with the fewest bits per inch.
        highest: class with the most bits per inch, at the limit of the channel's data rate.
    """

    name: str = "adaptive"
    step: float = 0.031
    lowest: int = -5
    highest: int = 3

    def __post_init__(self) -> None:
        if self.name not in POLICIES:
            raise ConfigError(need_one_of("policy.name", str(self.name), POLICIES))
        if isinstance(self.step, bool) or not isinstance(self.step, int | float):
            raise ConfigError(f"policy.step: got {self.step!r}, need a number")
        if not 0 < self.step <= _MOST_STEP:
            raise ConfigError(f"policy.step: got {self.step:g}, need above 0 and at most {_MOST_STEP}")
        for key, least, most in (("lowest", -_MOST_CLASS, 0), ("highest", 0, _MOST_CLASS)):
            value = getattr(self, key)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise ConfigError(f"policy.{key}: got {value!r}, need an integer {least} to {most}")
        if max(-self.lowest, self.highest) * self.step > 1:
            raise ConfigError(
                f"policy.step: got {self.step:g} with classes {self.lowest} to {self.highest}, "
                "need formats that differ by at most a factor of e from the nominal one"
            )

    def fit(self, heads: Heads) -> Fit:
        """Return how heads are used."""
        return POLICIES[self.name](self, heads)

    def density(self, classes: NDArray[np.int16]) -> Floats:
        """Return the factors of bits and of tracks per inch, along a last axis of two."""
        log = self.step * classes.astype(np.float64)
        return np.stack([np.exp(log), np.exp(-log)], axis=-1)

    def document(self) -> dict[str, Any]:
        """Return the policy and its menu."""
        return asdict(self)


def _classic(policy: Policy, heads: Heads) -> Fit:
    used = np.abs(heads.width) <= heads.quality
    return Fit(np.zeros(used.shape, np.int16), used, np.zeros_like(used))


def _adaptive(policy: Policy, heads: Heads) -> Fit:
    nearest = np.rint(heads.width / policy.step)
    classes = np.clip(nearest, policy.lowest, policy.highest)
    fits = np.abs(heads.width - classes * policy.step) <= heads.quality
    used = fits | (heads.width > policy.highest * policy.step)
    return Fit(classes.astype(np.int16), used, np.zeros_like(used))


def _binned(policy: Policy, heads: Heads) -> Fit:
    nearest = np.rint(heads.width / policy.step)
    beyond = (nearest < policy.lowest) | (nearest > policy.highest)
    fit = _adaptive(policy, heads)
    return Fit(fit.classes, fit.used & ~beyond, beyond)


#: Policies by name. A new policy is a function of the menu and the heads, and a line here.
POLICIES: Mapping[str, Callable[[Policy, Heads], Fit]] = {"classic": _classic, "adaptive": _adaptive, "binned": _binned}
