"""Reproductions of papers: one module or package per paper, named in `PAPERS`.

A paper is a list of claims. Each has a function that simulates what it needs and compares what the
paper says with what came out; what all papers share is in `study`, `runs` and `page`.
"""

import importlib
from typing import TYPE_CHECKING

from headstack.errors import ConfigError
from headstack.suggest import need_one_of

if TYPE_CHECKING:
    from headstack.studies.study import Paper

#: Modules of this folder that hold a constant `PAPER`.
PAPERS = ("isca08", "ng98", "pcap")


def load(name: str) -> "Paper":
    """Return a paper by name.

    Raises:
        ConfigError: there is none of that name; the message lists those there are.

    """
    if name not in PAPERS:
        raise ConfigError(need_one_of("paper", name, PAPERS))
    paper: Paper = importlib.import_module(f"headstack.studies.{name}").PAPER
    return paper
