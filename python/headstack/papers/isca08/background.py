"""Background reads: freeblock scheduling against a separate arm, the paper's section 5."""

from collections.abc import Mapping
from statistics import fmean
from typing import Any

import pandas as pd

from headstack.papers.evaluate import HALF
from headstack.papers.runs import Run
from headstack.papers.seeds import averaged
from headstack.papers.study import Study
from headstack.schema import System

from .designs import light
from .systems import LARGE, dash, mean_ms, watts

#: Foreground loads, requests/s.
RATES = (5, 25, 50, 75, 100, 125)

#: Ways to read the whole medium in the background: arm assemblies, scan mode and channels.
WAYS: dict[str, tuple[int, str, int]] = {
    "no background": (1, "none", 1),
    "freeblock": (1, "freeblock", 1),
    "own arm": (2, "own-arm", 1),
    "own arm, own channel": (2, "own-arm", 2),
    "SA(2), no background": (2, "none", 1),
}


def _run(way: str, rate: int, seconds: int, seed: int = 1) -> Run:
    """Return a run of about this length, equal for all loads, so that all scan the same zones."""
    arms, mode, channels = WAYS[way]
    system: System = {
        "name": f"{way}, {rate}/s",
        "drive": LARGE,
        "dash": dash(arms),
        "parallelism": {"channels": channels},
        "scheduler": "sptf",
        "set": {"media_scan.mode": mode},
    }
    return Run({"synthetic": light(rate * seconds, f"{rate}/s")}, system, seed=seed)


def megabytes_per_s(result: Mapping[str, Any]) -> float:
    """Return the rate of the background reads, 10^6 bytes per second."""
    scanned = sum(d["scanned_bytes"] for d in result["drives"])
    return float(scanned) / 1e6 / float(result["duration_s"])


def _ways(study: Study) -> dict[str, pd.DataFrame]:
    """Return the rates and the foreground's means of each way by load, with the study's seed."""
    r = _results(study)
    rows = [
        {
            "reads": way,
            "rate": rate,
            "mb_per_s": megabytes_per_s(r[way][i]),
            "mean_ms": mean_ms(r[way][i]),
            "alone_ms": mean_ms(r["no background"][i]),
            "power_w": watts(r[way][i]),
            "background": mode != "none",
        }
        for way, (_, mode, _) in WAYS.items()
        for i, rate in enumerate(RATES)
    ]
    return {"ways": pd.DataFrame(rows)}


def freeblock(study: Study) -> dict[str, pd.DataFrame]:
    """Return background work in rotational gaps and by an idle second arm."""
    table = averaged(study, _ways, ("ways",))["ways"]
    scans = table[table["background"]]
    largest = [
        max(group, key=lambda x: abs(x["mean_ms"] / x["alone_ms"] - 1))
        for _, group in ((w, g.to_dict("records")) for w, g in scans.groupby("reads", sort=False))
    ]
    # The load for which freeblock scheduling comes nearest to a separate arm.
    free, own = (scans[scans["reads"] == w].to_dict("records") for w in ("freeblock", "own arm"))
    pair = max(zip(free, own, strict=True), key=lambda p: p[0]["mb_per_s"] / p[1]["mb_per_s"])
    least = min(free, key=lambda x: x["mb_per_s"])
    nearest = {"rate": pair[0]["rate"]}
    for name, row in zip(("free", "own", "least"), (*pair, least), strict=True):
        nearest |= {name: row["mb_per_s"], f"{name}{HALF}": row.get(f"mb_per_s{HALF}")}
    return {
        "ways": table,
        "scans": scans,
        "largest": pd.DataFrame(largest),
        "nearest": pd.DataFrame([nearest]),
        "rates": _rates(study),
    }


def _rates(study: Study) -> pd.DataFrame:
    """Return the rates of each way by load: means of all seeds, and their range."""
    every = [_results(study.choosing(seed=seed)) for seed in study.seeds()]
    rows = []
    for way in (way for way, (_, mode, _) in WAYS.items() if mode != "none"):
        for i, rate in enumerate(RATES):
            found = [megabytes_per_s(r[way][i]) for r in every]
            rows.append({"reads": way, "rate": rate, "mb_per_s": fmean(found), "low": min(found),
                         "high": max(found), "seeds": len(every)})  # fmt: skip
    return pd.DataFrame(rows)


def _results(study: Study) -> dict[str, list[dict[str, Any]]]:
    """Return the results of each way, in order of the loads."""
    seconds = 100 if study.quick else 400
    wanted = [_run(way, rate, seconds, study.choices.seed) for rate in RATES for way in WAYS]
    found = study.run(wanted)
    return {way: [found[f"{way}, {rate}/s"] for rate in RATES] for way in WAYS}
