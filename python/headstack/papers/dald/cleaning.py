"""When each logging disk needs cleaning: claim DALD-7.

The paper names two states of the disk but simulates no cleaning. Here both are simulated: a disk
whose written area is far from the end, and one that is nearly full. Each logging disk runs in both
states with and without cleaning, with several seeds. A disk needs cleaning if this makes its writes
faster.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from headstack.papers.runs import Run
from headstack.papers.study import Study
from headstack.schema import System, Workload

from .systems import IBM, READINGS, Choices, Spread, choices_by_seed, system

#: The logging disks: DALD by both readings of its rule for writes.
DISKS = ("log", *READINGS.values())

#: Cylinders of the disk: a tenth of the 18ES, so that it can be filled.
CYLINDERS = 1147

#: Blocks of this disk, and how many are written before the run, in order and without holes, which
#: the paper's compaction leaves: so many that requests reach far from the first cylinders, and
#: nearly all.
BLOCKS = CYLINDERS * 5 * 39
STATES = {"far from the end": BLOCKS * 3 // 10, "nearly full": BLOCKS * 19 // 20}

#: Requests of a run, with ``--quick`` too: so many that 1 per cent of the full disk stays free.
REQUESTS = 40_000

#: Half of the requests write, and half of the writes are new data.
WRITES, NEW = 0.5, 0.5

#: Cleaning in all idle time, until no cylinder can be emptied any more.
CLEANING = {"mapping.cleaning.policy": "greedy", "mapping.cleaning.low": 1.0, "mapping.cleaning.high": 1.0}

#: A run: architecture, state, cleaned or not.
Case = tuple[str, str, bool]


def _disk(name: str, initial: int, *, cleaned: bool, choices: Choices) -> System:
    zone = {"first_cylinder": 0, "last_cylinder": CYLINDERS - 1, "sectors_per_track": 312}
    made = system(name, IBM, choices)
    made["set"] = {
        **made["set"],
        "geometry.cylinders": CYLINDERS,
        "geometry.zones": [zone],
        "mapping.initial": "in-order",
        "mapping.initial_blocks": initial,
        **(CLEANING if cleaned else {}),
    }
    return made


def _load(initial: int) -> Workload:
    return {
        "synthetic": {
            "n_requests": REQUESTS,
            "reads": 1 - WRITES,
            "rate": "10/s",
            "size": "4 KiB",
            "footprint": f"{4 * BLOCKS} KiB",
            "growth": {"initial": initial, "new": NEW},
        }
    }


def runs(study: Study, choices: Choices | None = None) -> dict[Case, Mapping[str, Any]]:
    """Run the logging disks in both states, with and without cleaning; return the results."""
    taken = choices or study.choices
    cases = [(n, s, c) for n in DISKS for s in STATES for c in (False, True)]
    names = {case: f"{case[0]}, {case[1]}{', cleaned' if case[2] else ''}" for case in cases}
    found = study.run(
        [
            Run(
                _load(STATES[state]),
                {"name": names[name, state, cleaned], **_disk(name, STATES[state], cleaned=cleaned, choices=taken)},
                seed=taken.seed,
            )
            for name, state, cleaned in cases
        ]
    )
    return {case: found[names[case]] for case in cases}


def write_ms(result: Mapping[str, Any]) -> float:
    """Return the mean access time of the writes in ms."""
    return 1e3 * float(result["operations"]["write"]["service_time_s"]["mean"])


def judge(study: Study) -> dict[str, pd.DataFrame]:
    """Return the writes of each logging disk with and without cleaning, and what it saves."""
    every = [runs(study, choices) for choices in choices_by_seed(study)]
    times = {case: [write_ms(found[case]) for found in every] for case in every[0]}
    rows = []
    for (name, state, cleaned), result in every[0].items():
        drive, spread = result["drives"][0], Spread.of(times[name, state, cleaned])
        rows.append(
            {
                "disk": name,
                "state": state,
                "cleaned": "yes" if cleaned else "no",
                "write_ms": spread.mean,
                "write_ms_half": spread.half,
                "moved": drive["n_moved_blocks"],
                "cleaning_s": drive["background"]["cleaning"]["time_s"],
                "in_place": drive["n_in_place_writes"],
            }
        )
    saved = []
    for name in DISKS:
        for state in STATES:
            both = zip(times[name, state, False], times[name, state, True], strict=True)
            spread = Spread.of([a - b for a, b in both])
            saved.append({"disk": name, "state": state, "ms": spread.mean, "ms_half": spread.half})
    return {"writes": pd.DataFrame(rows), "saved": pd.DataFrame(saved)}
