"""Related designs under the paper's workload: Loge and Mime, Trail, a shingled drive's media cache.

Each design is built from models of the simulator:

- **Loge, Mime**: a log that writes each block to the free slot which the heads reach first. 3 % of
  the slots are free.
- **Trail**: a mirror. The first disk serves reads. It takes writes into its buffer and writes them
  in place when it is idle. The second disk only logs: it writes at the place under its heads. A
  write is complete when it is on the log.
- **media cache**: a drive-managed shingled drive. Its cache lies at the outer edge.
"""

import pandas as pd

from headstack.papers.runs import Run
from headstack.papers.study import Study
from headstack.schema import System

from .systems import IBM, Access, Choices, access, load, system

#: Write frequencies of the table, without new writes.
FEW = (0.1, 0.5, 0.9)

#: A buffer from which an idle disk writes: all sizes as on drives of the time.
BUFFER = {
    "cache.enabled": True,
    "cache.write_back": True,
    "cache.destage": "idle",
    "cache.segments": 16,
    "cache.segment_sectors": 256,
}


def designs(choices: Choices) -> dict[str, System]:
    """Return the systems by name."""
    every = {"positioning.settle_before_every_write": choices.every}
    capacity = 11474 * 5 * 312 // 8
    loge = {
        "mapping.model": "log",
        "mapping.reserve": 0.03,
        "mapping.initial": "spread",
        "mapping.initial_blocks": int(capacity * 0.96),
    }
    log = {"mapping.model": "log", "mapping.policy": "append"}
    shingled = {
        "mapping.model": "media-cache",
        "mapping.cache_size": "200 MB",
        "mapping.band_size": "10 MiB",
        "mapping.initial": "full",
    }
    return {
        "normal": system("normal", IBM, choices),
        "normal, write cache": {"drive": IBM, "set": {**every, **BUFFER}},
        "log": system("log", IBM, choices),
        "DALD": system("DALD", IBM, choices),
        "Loge-like, 96 % full": {"drive": IBM, "set": {**every, **loge}},
        "Trail-like, two disks": {
            "drives": [{"drive": IBM, "set": {**every, **BUFFER}}, {"drive": IBM, "set": {**every, **log}}],
            "organisation": "concatenate",
            "layers": [{"name": "raid1", "read_policy": "first"}],
        },
        "media cache (shingled)": {"drive": IBM, "set": {**every, **shingled}},
    }


def compared(study: Study) -> dict[str, list[Access]]:
    """Return access times of each design at each write frequency of `FEW`."""
    found: dict[str, list[Access]] = {}
    for name, made in designs(study.choices).items():
        found[name] = []
        for w in FEW:
            run = Run(load(study, w, 0.0), {"name": name, **made}, seed=study.choices.seed)
            found[name].append(access(study.run([run])[name], "response_time_s"))
    return found


def table(study: Study) -> pd.DataFrame:
    """Return mean response times of reads and writes."""
    return pd.DataFrame(
        [
            {"design": name, "w": w, "read_ms": found.read, "write_ms": found.write}
            for name, row in compared(study).items()
            for w, found in zip(FEW, row, strict=True)
        ]
    )
