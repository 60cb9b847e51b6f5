"""Reproductions of papers: one folder per paper, listed in `PAPERS`.

A folder has the paper's claims as data (``claims.toml``, see `claims`), functions that run
simulations and return tables, and a dataclass ``Choices`` of what the paper leaves open. What all
papers share is in `study`, `evaluate`, `rules`, `runs` and `page`.
"""

from typing import TYPE_CHECKING

from headstack.errors import ConfigError
from headstack.suggest import need_one_of

if TYPE_CHECKING:
    from headstack.papers.claims import Paper

#: Folders with the claims of a paper.
PAPERS = ("isca08", "dald", "snowflakes", "ng98", "pcap")


def load(name: str) -> "Paper":
    """Return a paper by name.

    Raises:
        ConfigError: there is no such paper; the message lists the known ones.
    """
    if name not in PAPERS:
        raise ConfigError(need_one_of("paper", name, PAPERS))
    # Imported here: the command line lists the papers without reading one.
    from headstack.papers import claims

    return claims.load(f"headstack.papers.{name}")
