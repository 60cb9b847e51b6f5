"""When each logging disk needs cleaning: claim DALD-7.

The paper names two states of the disk but simulates no cleaning. Here both are simulated: a disk
whose written area is far from the end, and one that is nearly full. Each logging disk runs in both
states with and without cleaning. A disk needs cleaning if this makes its writes faster.
"""

from collections.abc import Mapping
from typing import Any

from headstack.studies.as_code import Outcome, Study, Table
from headstack.studies.rules import Rule, relation
from headstack.studies.runs import Run

from .systems import IBM, Choices, system

#: Cylinders of the disk: a tenth of the 18ES, so that it can be filled.
CYLINDERS = 1147

#: Blocks of this disk, and how many are written before the run: the paper's share, and nearly all.
BLOCKS = CYLINDERS * 5 * 39
STATES = {
    "far from the end": BLOCKS * 125_000 // (11_474 * 5 * 39),
    "nearly full": BLOCKS * 19 // 20,
}

#: Requests of a run, with ``--quick`` too: so many that 1 per cent of the full disk stays free.
REQUESTS = 40_000

#: Half of the requests write, and half of the writes are new data.
WRITES, NEW = 0.5, 0.5

#: Cleaning in all idle time, until no cylinder can be emptied any more.
CLEANING = {
    "mapping.cleaning.policy": "greedy",
    "mapping.cleaning.low": 1.0,
    "mapping.cleaning.high": 1.0,
}

#: A run: architecture, state, cleaned or not.
Case = tuple[str, str, bool]


def _disk(name: str, initial: int, *, cleaned: bool, choices: Choices) -> dict[str, Any]:
    zone = {"first_cylinder": 0, "last_cylinder": CYLINDERS - 1, "sectors_per_track": 312}
    made = system(name, IBM, choices)
    made["set"] |= {
        "geometry.cylinders": CYLINDERS,
        "geometry.zones": [zone],
        "mapping.initial_blocks": initial,
    }
    if cleaned:
        made["set"] |= CLEANING
    return made


def _load(initial: int) -> dict[str, Any]:
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


def runs(study: Study) -> dict[Case, Mapping[str, Any]]:
    """Run both logging disks in both states, with and without cleaning; return the results."""
    cases = [(n, s, c) for n in ("log", "DALD") for s in STATES for c in (False, True)]
    names = {case: f"{case[0]}, {case[1]}{', cleaned' if case[2] else ''}" for case in cases}
    found = study.run(
        [
            Run(
                _load(STATES[state]),
                {
                    "name": names[name, state, cleaned],
                    **_disk(name, STATES[state], cleaned=cleaned, choices=study.choices),
                },
                seed=study.choices.seed,
            )
            for name, state, cleaned in cases
        ]
    )
    return {case: found[names[case]] for case in cases}


def write_ms(result: Mapping[str, Any]) -> float:
    """Return the mean access time of the writes in ms."""
    return 1e3 * float(result["operations"]["write"]["service_time_s"]["mean"])


def judge(study: Study) -> Outcome:
    """Judge when the writes of each logging disk gain from cleaning."""
    found = runs(study)
    times = {case: write_ms(result) for case, result in found.items()}
    outcome = Outcome()
    far, full = STATES

    def gain(name: str, state: str, rule: Rule, words: str) -> None:
        outcome.parts.append(
            relation(
                f"{name}, {state}: writes with cleaning and without",
                words,
                ("cleaned", times[name, state, True]),
                rule,
                ("not cleaned", times[name, state, False]),
                "{:.3f} ms",
            )
        )

    gain("log", far, Rule.LOWER, "a single-arm logging system depends on compaction")
    gain("DALD", far, Rule.CLOSE, "cleaning need not be done continuously")
    gain("DALD", full, Rule.LOWER, "only when the active region approaches the end of the disk")
    saved = {
        (name, state): times[name, state, False] - times[name, state, True]
        for name, state, cleaned in times
        if cleaned
    }
    outcome.parts.append(
        relation(
            "far from the end: what cleaning saves of a write",
            "not as much of an issue with the two-arm logging system",
            ("DALD", saved["DALD", far]),
            Rule.LOWER,
            ("log", saved["log", far]),
            "{:.3f} ms",
        )
    )
    outcome.parts.append(
        relation(
            "DALD: what cleaning saves of a write",
            "only when the active region approaches the end of the disk",
            (full, saved["DALD", full]),
            Rule.HIGHER,
            (far, saved["DALD", far]),
            "{:.3f} ms",
        )
    )
    outcome.parts.append(
        relation(
            "nearly full, not cleaned: writes of DALD and of the log",
            "no worse than a single-arm system",
            ("DALD", times["DALD", full, False]),
            Rule.NOT_HIGHER,
            ("log", times["log", full, False]),
            "{:.3f} ms",
        )
    )
    outcome.tables.append(_table(found, times))
    outcome.beside = (
        "The paper runs no cleaning. These are its 18ES with a tenth of the cylinders, w = 0.5 and "
        "eta = 0.5; cleaning is greedy and uses all idle time. A request that meets a move waits "
        "for its end, which is part of the times."
    )
    return outcome


def _table(found: Mapping[Case, Mapping[str, Any]], times: Mapping[Case, float]) -> Table:
    rows = []
    for (name, state, cleaned), result in found.items():
        drive = result["drives"][0]
        rows.append(
            [
                name,
                state,
                "yes" if cleaned else "no",
                f"{times[name, state, cleaned]:.3f}",
                f"{drive['n_moved_blocks']:,}",
                f"{drive['background']['cleaning']['time_s']:,.1f}",
                f"{drive['n_in_place_writes']:,}",
            ]
        )
    return Table(
        "Writes with and without cleaning",
        [
            "disk",
            "state",
            "cleaned",
            "mean write in ms",
            "blocks moved",
            "head time of cleaning in s",
            "written in place",
        ],
        rows,
    )
