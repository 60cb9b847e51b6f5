"""The article's question for today's drives: effects of density on accesses and rebuild times.

All values are those of the drive files, with their sources in the table; the first drive is the
article's. By formula, one random access at a time takes a seek and half a turn, and reading a whole
drive takes its capacity divided by the mean of its outermost and innermost rates. The simulator
reads the same drives at random places.
"""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from headstack import drives
from headstack.drives import formulas
from headstack.drives.formulas import GB
from headstack.papers.runs import Run
from headstack.papers.study import Study
from headstack.schema import System, Workload

from . import runs
from .drive import AVERAGE, RPM, SEEK_S

#: Drives in the order of their years, with dual-actuator ones, to show the effect of a second arm.
DRIVES = ("barracuda-es-750", "ultrastar-7k4000", "exos-x18", "exos-2x18-sas", "ultrastar-hs760")

#: The article's year, and the capacity of the drive in its section "Fewer heads".
ARTICLE_YEAR, ARTICLE_BYTES = 1998, 4 * GB

#: Names of older drives are to the left of their marks, so that they do not meet the newest ones.
NEWEST = 2023

#: Random reads per drive in the simulator.
READS = 2000


@dataclass(frozen=True)
class Point:
    """A drive in a year.

    Attributes:
        name: name of its file.
        title: the maker's name.
        year: year of its introduction.
        capacity_bytes: capacity of the drive.
        seek_s: mean seek time.
        rpm: speed.
        rate: mean rate of long reads, all actuators together, bytes/s.
        actuators: number of independent actuators.
        source: source of capacity, seek and rate.
    """

    name: str
    title: str
    year: int
    capacity_bytes: float
    seek_s: float
    rpm: float
    rate: float
    actuators: int
    source: str

    @property
    def accesses(self) -> float:
        """Random accesses per second per 10^12 bytes, one at a time for each arm."""
        found = formulas.access_density_per_s_per_tb(self.capacity_bytes, self.seek_s, self.rpm)
        return self.actuators * float(found)

    @property
    def rebuild_h(self) -> float:
        """Least time to read the drive, in hours."""
        return float(formulas.rebuild_time_s(self.capacity_bytes, self.rate)) / 3600


def article() -> Point:
    """Return the article's average drive, with the capacity of its example."""
    source = 'Ng, IEEE Computer 31(5), 1998: "Performance factors"; capacity: "Fewer heads"'
    title = "the article's average drive"
    rate = AVERAGE.media_rate
    return Point("article", title, ARTICLE_YEAR, ARTICLE_BYTES, SEEK_S, RPM, rate, 1, source)


def points() -> list[Point]:
    """Return the drives, oldest first."""
    rows = {d["name"]: d for d in drives.rows() if d["name"] in DRIVES}
    found = [_point(rows[name]) for name in DRIVES]
    return sorted([article(), *found], key=lambda p: (p.year, p.capacity_bytes))


def _point(row: dict[str, Any]) -> Point:
    ends = row["sustained_bytes_per_s"]
    sources = drives.load(row["name"])["sources"]
    said = [
        f"{what}: {drives.source_of(sources, key)}"
        for what, key in (
            ("capacity", "geometry.capacity_blocks"),
            ("seek", "seek.average"),
            ("rate", "geometry.zones"),
        )
    ]
    return Point(
        row["name"],
        row["title"],
        row["year"],
        row["capacity_bytes"],
        row["average_seek_s"],
        row["rotation_speed_rpm"],
        (ends["outer"] + ends["inner"]) / 2,
        row["n_actuators"],
        "; ".join(said),
    )


def simulated(study: Study) -> dict[str, float]:
    """Return simulated random 4-KiB reads per second per 10^12 bytes, for single actuators."""
    single = [p for p in points() if p.actuators == 1 and p.name != "article"]
    found = {}
    for point in single:
        # The whole drive except its end, so that every read fits.
        load: Workload = {
            "name": "random",
            "synthetic": {
                "n_requests": READS,
                "reads": 1.0,
                "size": "4 KiB",
                "arrivals": "closed",
                "footprint": f"{int(point.capacity_bytes) // 4096 * 4096} B",
            },
        }
        system: System = {"name": point.name, "drive": point.name, "queue_depth": 1}
        result = study.run([Run(load, system, seed=study.choices.seed)])[point.name]
        found[point.name] = 1 / runs.mean_s(result) / (point.capacity_bytes / 1e12)
    return found


def tables(study: Study) -> dict[str, pd.DataFrame]:
    """Return the drives with their sources, and the formula compared with the simulator."""
    first = article()
    kinds = {1: "one actuator", 2: "two actuators, both at work"}
    rows = [
        {
            "name": p.name.replace("article", "the article's drive"),
            "title": p.title,
            "year": p.year,
            "gb": p.capacity_bytes / 1e9,
            "seek_ms": 1e3 * p.seek_s,
            "rpm": p.rpm,
            "mb_per_s": p.rate / 1e6,
            "actuators": p.actuators,
            "kind": kinds[p.actuators],
            "accesses_per_s_per_tb": p.accesses,
            "of_article": p.accesses / first.accesses,
            "rebuild_h": p.rebuild_h,
            "source": p.source,
            "side": "right" if p.year < NEWEST and p.name != "article" else "left",
            "first_year": ARTICLE_YEAR,
        }
        for p in points()
    ]
    by_formula = {p.name: p for p in points()}
    both = {name: (by_formula[name].accesses, v) for name, v in simulated(study).items()}
    return {"today": pd.DataFrame(rows), "today both": runs.beside(both, "1/s/TB")}
