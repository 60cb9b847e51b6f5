"""Rotational waits of a drive at several speeds."""

import pandas as pd

from headstack.papers.runs import Run
from headstack.papers.study import Study

SPEEDS_RPM = (5400, 7200, 10000)


def waits(study: Study) -> dict[str, pd.DataFrame]:
    """Return the mean rotational wait of single random reads, one row for each speed."""
    load = {
        "synthetic": {
            "n_requests": 2_000 if study.quick else 20_000,
            "reads": 1.0,
            "size": "4 KiB",
            "arrivals": "closed",
            "footprint": "100 GB",
        }
    }
    systems = [
        {
            "name": str(rpm),
            "drive": "barracuda-es-750",
            "set": {"geometry.rotation_speed": f"{rpm} rpm", "cache.enabled": False},
        }
        for rpm in SPEEDS_RPM
    ]
    found = study.run(Run(load, system, seed=study.choices.seed) for system in systems)
    rows = [{"rpm": rpm, "wait_ms": 1e3 * found[str(rpm)]["components_s"]["rotation"]} for rpm in SPEEDS_RPM]
    return {"waits": pd.DataFrame(rows)}
