"""Power of SA(n), and slower drives with several arms: the end of section 7.2."""

from itertools import pairwise
from typing import Any

import pandas as pd

from headstack import drives
from headstack.papers.rules import Kind
from headstack.papers.study import Study

from . import results
from .designs import described
from .results import Results
from .systems import LARGE, Load, Systems, loads, mean_ms, runs, watts

ARMS = (2, 3, 4)

#: Speeds of the paper's designs with lower power, fastest first.
SPEEDS = (6200, 5200, 4200)

#: Workloads on which slower designs are shown (figure 7).
SLOWER_ON = ("websearch", "tpc-c", "tpc-h")


def power(study: Study) -> dict[str, pd.DataFrame]:
    """Return figure 6: power by mode of SA(n) at four speeds, and shares of requests that seek."""
    s, parts = Systems(study.choices), []
    found: dict[str, tuple[Load, Results]] = {}
    # The idle power of the drive without a workload.
    power_model = {**drives.load(LARGE)["power"], "profile": study.choices.profile.split(",")[0]}
    idle_w = float(described(LARGE, power=power_model)["power_w"]["idle"])
    for load in loads(study):
        slow = [s.sa(n, rpm) for rpm in SPEEDS for n in (2, 4)]
        r = study.run(runs(load, s.md(load.key), s.hc_sd(), s.sa(2), s.sa(4), *slow))
        found[load.key] = load, r
        steps = [
            watts(low) / watts(high)
            for n in (2, 4)
            for high, low in pairwise([r[f"SA({n})"], *(r[f"SA({n})/{rpm}"] for rpm in SPEEDS)])
        ]
        falls = results.marked(load, r, ratio=max(steps))
        # With the paper's labels: configuration, speed.
        shown = {n if "/" in n else f"{n}/7200": x for n, x in r.items() if n != "MD"}
        table = results.numbers(load, r).assign(idle_drive_w=idle_w)
        table["above_w"] = table["power_w"] - watts(r["HC-SD"])
        parts.append(
            {"runs": table, "falls": pd.DataFrame([falls]), **results.power(shown, load=load.key, title=load.title)}
        )
    return {**results.joined(parts), **_across(found)}


def _across(found: dict[str, tuple[Load, Results]]) -> dict[str, pd.DataFrame]:
    """Compare workloads: TPC-C draws least, the seek power of Websearch rises most."""
    tables = {}
    if set(found) >= {"financial", "websearch"}:
        rise = {
            f"{k}_w": watts(found[k][1]["SA(2)"], "seek") - watts(found[k][1]["HC-SD"], "seek")
            for k in ("financial", "websearch")
        }
        row = {**rise, **_mixed(found, "financial", "websearch")}
        tables["rise"] = pd.DataFrame([row])
    if len(found) > 1 and "tpc-c" in found:
        least = [
            {
                "other": found[other][0].title,
                "tpc_c_w": watts(found["tpc-c"][1]["HC-SD"]),
                "other_w": watts(found[other][1]["HC-SD"]),
                **_mixed(found, "tpc-c", other),
            }
            for other in found
            if other != "tpc-c"
        ]
        tables["least"] = pd.DataFrame(least)
    return tables


def _mixed(found: dict[str, tuple[Load, Results]], *keys: str) -> dict[str, Any]:
    """Return the marks of a part of several workloads: it counts if all of them are traces."""
    of = [found[k][0].marks(found[k][1]) for k in keys]
    kinds = {m["kind"] for m in of}
    return {
        "kind": Kind.STAND_IN if Kind.STAND_IN in kinds else Kind.RESULT,
        "workload": ", ".join(m["workload"] for m in of),
        "note": "; ".join(dict.fromkeys(m["note"] for m in of if m["note"])),
    }


def slower_designs(study: Study) -> dict[str, pd.DataFrame]:
    """Return figure 7: slower drives with several arms that perform as well as MD."""
    s, parts = Systems(study.choices), []
    for load in loads(study, *SLOWER_ON):
        slow = [s.sa(n, rpm) for rpm in SPEEDS for n in ARMS]
        r = study.run(runs(load, s.md(load.key), s.hc_sd(), *slow))
        match = {k: v for k, v in r.items() if "/" in k and mean_ms(v) <= mean_ms(r["MD"])}
        best = min(match, key=lambda k: watts(match[k]), default="")
        row = results.marked(
            load,
            r,
            designs=", ".join(match) or "designs",
            count=len(match),
            best=best,
            best_w=watts(match[best]) if match else None,
            md_w=watts(r["MD"]),
            hc_sd_w=watts(r["HC-SD"]),
        )
        parts.append(
            {
                "runs": results.numbers(load, r),
                "match": pd.DataFrame([row]),
                **results.responses(load, {"MD": r["MD"], **match}),
            }
        )
    return results.joined(parts)
