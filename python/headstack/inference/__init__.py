"""What a drive is, from a sweep of it alone: zones, bands, the heads' rates and density classes.

Method, what it can tell and what not: docs/models/adaptive-zoning.md.

Example:
    >>> from headstack import inference, population
    >>> drawn = population.draw("wd-re3-2009", n=1, seed=4)
    >>> sweep = drawn.sweep(128 * 2**20, trials=10)[0]
    >>> found = inference.infer(sweep, 128 * 2**20, surfaces=6, step=0.031)
    >>> len(found.edges)
    13

"""

from .classes import classes
from .cycle import Cycle, count_surfaces, fit_cycle
from .whole import Found, infer
from .zones import zone_edges

__all__ = ["Cycle", "Found", "classes", "count_surfaces", "fit_cycle", "infer", "zone_edges"]
