"""HC-SD-SA(n): several arm assemblies in one drive, the paper's section 7.2."""

from dataclasses import replace
from typing import Any

import pandas as pd

from headstack.papers.study import Study
from headstack.schema import System

from . import results
from .arrays import Cell
from .bottleneck import limited
from .systems import FULL_RPM, Systems, loads, mean_ms, runs

ARMS = (2, 3, 4)


def designs(study: Study) -> dict[str, pd.DataFrame]:
    """Return figure 5: response times and rotational latencies of SA(n)."""
    parts, s = [], Systems(study.choices)
    for load in loads(study):
        drives = [s.hc_sd(), s.sa(1), *(s.sa(n) for n in ARMS), limited(s, "(1/2)R")]
        r = study.run(runs(load, s.md(load.key), *drives, rotation=True))
        gains = results.marked(
            load,
            r,
            third_ms=mean_ms(r["SA(2)"]) - mean_ms(r["SA(3)"]),
            fourth_ms=mean_ms(r["SA(3)"]) - mean_ms(r["SA(4)"]),
        )
        waits = {k: x for k, x in r.items() if k not in ("MD", "SA(1)")}
        parts.append(
            {
                "runs": results.numbers(load, r).assign(turn_ms=60e3 / FULL_RPM),
                "gains": pd.DataFrame([gains]),
                **results.responses(load, r),
                **results.latencies(load, waits),
            }
        )
    return results.joined(parts)


def _relaxed(arms: int) -> dict[str, dict[str, Any]]:
    """Return the two extensions of SA(n), by the condition that they relax."""
    return {
        "arms move": {"arms_in_motion": arms},
        f"arms move, {arms} channels": {"arms_in_motion": arms, "channels": arms},
    }


def relaxations(study: Study) -> dict[str, pd.DataFrame]:
    """Return the two relaxations: several arms in motion, several channels."""
    parts, s = [], Systems(study.choices)
    for load in loads(study):
        systems = [s.sa(n) for n in (2, 4)]
        systems += [
            s.sa(n, name=f"SA({n}), {what}", parallelism=keys) for n in (2, 4) for what, keys in _relaxed(n).items()
        ]
        r = study.run(runs(load, *systems))
        benefits = [
            results.marked(load, r, **_benefit(load.title, f"SA({n})", what, r)) for n in (2, 4) for what in _relaxed(n)
        ]
        tables = {"runs": results.numbers(load, r), **results.responses(load, r)}
        parts.append({**tables, "benefits": pd.DataFrame(benefits)})
    found = results.joined(parts)
    if not study.varied:
        found["sweep"] = _sweep(study)
    return found


#: Arrays that break even at 8 ms: arm assemblies, drives. Times between arrivals in ms at which
#: their relaxations are compared, down to nearly the least that they can carry.
GAPS_MS = {(2, 2): (32, 16, 8, 6, 4, 3, 2), (4, 1): (32, 16, 8, 6, 4, 3)}


def _sweep(study: Study) -> pd.DataFrame:
    """Compare under the load of section 7.3, beside each the heaviest of its loads."""
    rows = []
    for (arms, count), gaps in GAPS_MS.items():
        name = f"SA({arms})"
        for gap in gaps:
            run = Cell(name, count, gap).run(study.choices, 100_000)
            relaxed = {f"{name}, {what}": keys for what, keys in _relaxed(arms).items()}
            systems: list[System] = [{**run.system, "name": name}]
            systems += [{**run.system, "name": n, "parallelism": k} for n, k in relaxed.items()]
            r = study.run(replace(run, system=s) for s in systems)
            rows += [{**_benefit(f"{count} {name}", name, what, r), "gap": gap} for what in _relaxed(arms)]
    sweep = pd.DataFrame(rows)
    heavy = sweep.groupby(["system", "relaxed"])[["base_ms", "relaxed_ms"]].transform("last")
    times = sweep["base_ms"] / sweep["relaxed_ms"]
    return sweep.join(heavy.add_prefix("heavy_")).assign(times=times)


def _benefit(where: str, name: str, what: str, r: results.Results) -> dict[str, Any]:
    """Return the means: the benefit is the additional time of the base design."""
    return {
        "where": where,
        "system": name,
        "relaxed": what,
        "base_ms": mean_ms(r[name]),
        "relaxed_ms": mean_ms(r[f"{name}, {what}"]),
    }
