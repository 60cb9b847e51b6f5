"""Reproductions of papers: one module or package per paper, listed in `PAPERS`.

A paper is a list of claims. Each has a function that runs simulations and compares the paper's
values with the results; the parts that all papers share are in `study`, `runs` and `page`.
"""

import importlib
from typing import TYPE_CHECKING

from headstack.errors import ConfigError
from headstack.suggest import need_one_of

if TYPE_CHECKING:
    from headstack.studies.study import Paper

#: Modules of this folder that define a constant `PAPER`.
PAPERS = ("isca08", "dald", "snowflakes", "ng98", "pcap")


def load(name: str) -> "Paper":
    """Return a paper by name.

    Raises:
        ConfigError: there is no such paper; the message lists the known ones.

    """
    if name not in PAPERS:
        raise ConfigError(need_one_of("paper", name, PAPERS))
    paper: Paper = importlib.import_module(f"headstack.studies.{name}").PAPER
    return paper
