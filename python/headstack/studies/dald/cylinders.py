"""Why the Cheetah gains less: claim DALD-6 says cylinders and surfaces, not rotation."""

from collections.abc import Mapping
from typing import Any

from headstack.studies.as_code import Outcome, Study, Table
from headstack.studies.rules import Kind, Rule, relation

from .latency import MS, TABLES
from .systems import CHEETAH, ETAS, IBM, WRITES, measured

#: Write frequencies over which the difference is averaged.
BETWEEN = WRITES[1:-1]

#: Surfaces of drives of about the 18ES's capacity.
SURFACES = (20, 12, 8, 5, 2)


def mean_gap(
    study: Study, drive: str, eta: float, changes: Mapping[str, Any] | None = None
) -> float:
    """Return by how much DALD is faster than the log in ms, on average over w between 0 and 1."""
    found = measured(study, drive, [(n, w, eta) for n in ("log", "DALD") for w in BETWEEN], changes)
    gaps = [found["log", w, eta].mean - found["DALD", w, eta].mean for w in BETWEEN]
    return sum(gaps) / len(gaps)


def geometry(cylinders: int, surfaces: int, *, slope: bool) -> dict[str, Any]:
    """Return the changes that give the 18ES other cylinders and surfaces.

    With `slope` a seek over a number of cylinders takes as long as before. Otherwise a seek over
    the whole disk does.
    """
    single, full, _, _, before, _, sectors = TABLES[IBM]
    if slope:
        full = single + (full - single) / (before - 2) * (cylinders - 2)
    zone = {
        "first_cylinder": 0,
        "last_cylinder": cylinders - 1,
        "sectors_per_track": sectors,
    }
    return {
        "geometry.cylinders": cylinders,
        "geometry.surfaces": surfaces,
        "geometry.zones": [zone],
        "seek.cylinders": cylinders,
        "seek.full": f"{full:.6f} ms",
    }


def reason(study: Study) -> Outcome:
    """Judge how the difference between the logging disks depends on the drive."""
    outcome = Outcome()
    cylinders, surfaces = TABLES[CHEETAH][4:6]
    variants = {
        "IBM 18ES": (IBM, None),
        "Cheetah 9LP": (CHEETAH, None),
        "18ES at 10045 rpm": (IBM, {"geometry.rotation_speed": "10045 rpm"}),
        "18ES, Cheetah's cylinders, slope kept": (IBM, geometry(cylinders, surfaces, slope=True)),
        "18ES, Cheetah's cylinders, stroke kept": (IBM, geometry(cylinders, surfaces, slope=False)),
    }
    etas = ETAS[1:]
    gaps = {
        name: [mean_gap(study, drive, eta, changes) for eta in etas]
        for name, (drive, changes) in variants.items()
    }
    base, cheetah, fast, slope, stroke = gaps
    for i, eta in enumerate(etas):
        at = f"eta = {eta:g}, mean over w from 0.1 to 0.9"

        def part(what: str, words: str, ours: str, rule: Rule, kind: Kind, i: int = i) -> None:
            outcome.parts.append(
                relation(
                    what, words, (ours, gaps[ours][i]), rule, (base, gaps[base][i]), MS, kind=kind
                )
            )

        part(
            f"difference between log and DALD, {at}: Cheetah",
            "not as substantial as with the 18ES",
            cheetah,
            Rule.LOWER,
            Kind.RESULT,
        )
        part(
            f"difference, {at}: fewer cylinders, as long a seek over each",
            "due to fewer cylinders",
            slope,
            Rule.LOWER,
            Kind.RESULT,
        )
        part(
            f"difference, {at}: fewer cylinders, as long a seek over all",
            "due to fewer cylinders",
            stroke,
            Rule.LOWER,
            Kind.CONTROL,
        )
        outcome.parts.append(
            relation(
                f"difference, {at}: faster rotation does not reduce it",
                "not due to the rotational speed",
                (base, gaps[base][i]),
                Rule.LITTLE_HIGHER,
                (fast, gaps[fast][i]),
                MS,
            )
        )
    outcome.tables.append(
        Table(
            "Mean access latency of log minus DALD in ms, mean over w from 0.1 to 0.9",
            ["drive", *(f"eta = {e:g}" for e in etas)],
            [[name, *(f"{g:.3f}" for g in row)] for name, row in gaps.items()],
        )
    )
    outcome.tables.append(_sweep(study))
    return outcome


def _sweep(study: Study) -> Table:
    """Vary the cylinders alone, at equal capacity."""
    tracks = TABLES[IBM][4] * TABLES[IBM][5]
    rows = []
    for surfaces in SURFACES:
        cylinders = tracks // surfaces
        row = [f"{cylinders}", f"{surfaces}"]
        for slope in (True, False):
            changes = geometry(cylinders, surfaces, slope=slope)
            found = measured(study, IBM, [("log", 0.5, 1.0), ("DALD", 0.5, 1.0)], changes)
            row.append(f"{found['log', 0.5, 1.0].mean - found['DALD', 0.5, 1.0].mean:.3f}")
        rows.append(row)
    return Table(
        "18ES with other cylinders at equal capacity, eta = 1, w = 0.5: log minus DALD in ms",
        ["cylinders", "surfaces", "seek over each cylinder kept", "full stroke kept"],
        rows,
    )
