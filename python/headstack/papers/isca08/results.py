"""Results of the paper's systems as tables: numbers of a run, distributions, power by mode."""

import bisect
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from .systems import ORIGINALS, Load, idle_share, keeps_up, mean_ms, mode_share, nonzero_seeks, watts, within

#: Results of systems by name.
Results = Mapping[str, Mapping[str, Any]]

#: Classes of response times in ms, and of rotational latencies: those of the statistics file of
#: DiskSim, which the paper used.
RESPONSE_BINS_MS = (5, 10, 20, 40, 60, 90, 120, 150, 200)
ROTATION_BINS_MS = (1, 3, 5, 7, 8, 9, 11, 13, 15)

#: Smallest share in our tails.
RAREST = 1e-4

#: States of the drives in the stacking order of the paper, and the paper's names for them.
STATES = {"idle": "idle", "seek": "seek", "rotation": "rotational latency", "transfer": "transfer"}


def marked(load: Load, results: Results, **values: Any) -> dict[str, Any]:
    """Return values of a workload as a row: with its names, and the marks of its parts."""
    marks = load.marks(results)
    note = f"{marks['note']}; " if marks["note"] else ""
    return {"load": load.key, "title": load.title, **values, **marks, "noted": note}


def numbers(load: Load, results: Results) -> pd.DataFrame:
    """Return one row per system with the values that the paper's text speaks of."""
    rows = []
    for name, r in results.items():
        spent = r["components_s"]
        rotation = r.get("rotation", {})
        rows.append(
            marked(
                load,
                results,
                system=name,
                mean_ms=mean_ms(r),
                p90_ms=r["response_time_s"]["p90"] * 1e3,
                within_20_ms=within(r, 0.020),
                nonzero_seeks=nonzero_seeks(r),
                seeking=mode_share(r, "seek"),
                power_w=watts(r),
                **{f"{mode}_w": watts(r, mode) for mode in STATES},
                idle_share=idle_share(r),
                transfer_ms=1e3 * float(spent["transfer"]),
                positioning_ms=1e3 * (float(spent["seek"]) + float(spent["rotation"])),
                rotation_p99_ms=1e3 * rotation.get("p99_s", np.nan),
                rotation_max_ms=1e3 * rotation.get("max_s", np.nan),
                errors=r["n_errors"],
                keeps_up="yes" if keeps_up(r) else "no: overloaded",
                drives_of_md=ORIGINALS[load.key].count,
                load_note=f", {load.note}" if load.note else "",
            )
        )
    return pd.DataFrame(rows)


def responses(load: Load, results: Results, **of: Any) -> dict[str, pd.DataFrame]:
    """Return response times: shares in DiskSim's classes (figures 2, 4, 5, 7), and all of them."""
    names = [*map(str, RESPONSE_BINS_MS), f"{RESPONSE_BINS_MS[-1]}+"]
    classes, times = [], []
    for system, r in results.items():
        shares = [*(within(r, ms / 1e3) for ms in RESPONSE_BINS_MS), 1.0]
        key = {"load": load.key, "title": load.title, "system": system, **of}
        classes += [{**key, "class": c, "share": s} for c, s in zip(names, shares, strict=True)]
        # A logarithmic axis cannot show zeros.
        times += [
            {**key, "ms": 1e3 * t, "share": s, "overloaded": not keeps_up(r)}
            for t, s in r["response_time_cdf"]
            if t > 0
        ]
    return {"classes": pd.DataFrame(classes), "times": pd.DataFrame(times)}


def latencies(load: Load, results: Results) -> dict[str, pd.DataFrame]:
    """Return rotational latencies: shares per class (figure 5), and the tail."""
    found = {k: r["rotation"] for k, r in results.items()}
    longest = max(float(r["max_s"]) * 1e3 for r in found.values())
    edges = [0, *ROTATION_BINS_MS]
    # Classes that no system reaches are left out.
    edges = edges[: bisect.bisect_left(edges, longest) + 1]
    classes, tails = [], []
    for system, r in found.items():
        key = {"load": load.key, "title": load.title, "system": system}
        counts, width = np.asarray(r["counts"], dtype=float), float(r["bin_s"]) * 1e3
        sums, _ = np.histogram((np.arange(len(counts)) + 0.5) * width, bins=edges, weights=counts)
        classes += [
            {**key, "class": f"{a} to {b}", "share": n / counts.sum()}
            for (a, b), n in zip(pairwise(edges), sums, strict=True)
        ]
        longer = 1 - np.cumsum(counts) / counts.sum()
        tails += [{**key, "ms": (i + 1) * width, "longer": s} for i, s in enumerate(longer) if s >= RAREST]
    return {"waits": pd.DataFrame(classes), "tails": pd.DataFrame(tails)}


def power(results: Results, **of: Any) -> dict[str, pd.DataFrame]:
    """Return power by mode (figures 3, 6, 8), and the sums."""
    modes = [
        {**of, "system": name, "mode": text, "order": i, "watts": watts(r, mode)}
        for name, r in results.items()
        for i, (mode, text) in enumerate(STATES.items())
    ]
    totals = [{**of, "system": name, "power_w": watts(r)} for name, r in results.items()]
    return {"modes": pd.DataFrame(modes), "totals": pd.DataFrame(totals)}


def joined(parts: Iterable[Mapping[str, pd.DataFrame]]) -> dict[str, pd.DataFrame]:
    """Return the tables of several workloads, those of a name together."""
    found: dict[str, list[pd.DataFrame]] = {}
    for tables in parts:
        for name, table in tables.items():
            found.setdefault(name, []).append(table)
    return {name: pd.concat(tables, ignore_index=True) for name, tables in found.items()}
