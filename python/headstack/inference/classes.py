"""Density classes from the rates of heads: rates of one drive are points of a lattice."""

import numpy as np
from numpy.typing import NDArray

from headstack.errors import ConfigError

Floats = NDArray[np.float64]


def classes(rates: Floats, step: float) -> NDArray[np.int64]:
    """Return the class of each head, relative to the slowest one, which is 0.

    Which class is the nominal one cannot be told from rates.

    Args:
        rates: of the heads in one zone.
        step: logarithm of the ratio of neighbouring classes.

    """
    if not step > 0:
        raise ConfigError(f"inference.step: got {step:g}, need above 0")
    places = np.log(np.asarray(rates, np.float64)) / step
    # The offset that all points are nearest to: the direction of their mean on a circle.
    offset = np.angle(np.exp(2j * np.pi * places).sum()) / (2 * np.pi)
    found = np.rint(places - offset).astype(np.int64)
    return np.asarray(found - found.min())
