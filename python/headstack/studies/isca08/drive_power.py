"""Power of SA(n), and slower drives with several arms: the end of section 7.2."""

from itertools import pairwise
from typing import Any

from headstack.studies.as_code import Outcome, Study
from headstack.studies.rules import Kind, Part, Rule, not_run, number, relation

from . import charts
from .bottleneck import W
from .designs import described
from .systems import LARGE, Load, Systems, loads, mean_ms, nonzero_seeks, runs, watts

ARMS = (2, 3, 4)

#: Speeds of the paper's designs with lower power, fastest first.
SPEEDS = (6200, 5200, 4200)

#: Shares of Websearch's requests with a non-zero seek.
NONZERO_SEEKS = {"HC-SD": 0.55, "SA(2)": 0.83, "SA(4)": 0.90}

#: Power of SA(n) above that of HC-SD on Financial, in W.
FINANCIAL_MORE_W = {"SA(2)": 2.0, "SA(4)": 6.0}

#: Workloads on which slower designs are shown (figure 7).
SLOWER_ON = ("websearch", "tpc-c", "tpc-h")

Results = dict[str, dict[str, Any]]


def power(study: Study) -> Outcome:
    """Judge figure 6: power by mode of SA(n) at four speeds, and shares of requests that seek."""
    outcome, s = Outcome(), Systems(study.choices)
    found: dict[str, tuple[Load, Results]] = {}
    for workload in loads(study):
        slow = [s.sa(n, rpm) for rpm in SPEEDS for n in (2, 4)]
        systems = [s.md(workload.key), s.hc_sd(), s.sa(2), s.sa(4), *slow]
        r = study.run(runs(workload, *systems))
        found[workload.key] = workload, r
        outcome.parts += _power_parts(workload, r)
        outcome.figures.append(_figure(study, workload, r))
        outcome.tables.append(charts.numbers(workload, r))
    outcome.parts += _across(found)
    outcome.figures.sort(key=lambda f: f != "idp-7-websearch")
    return outcome


def _figure(study: Study, workload: Load, r: Results) -> str:
    """Draw figure 6 with the paper's labels: configuration, speed."""
    shown = {name if "/" in name else f"{name}/7200": x for name, x in r.items() if name != "MD"}
    title = f"Figure 6: {workload.title}, power of SA(n) by speed"
    return study.figure(f"idp-7-{workload.key}", lambda: charts.power(title, shown))


def _power_parts(workload: Load, r: Results) -> list[Part]:
    of = workload.marks(r)
    special = {"websearch": _websearch, "financial": _financial, "tpc-c": _tpc_c, "tpc-h": _tpc_h}
    steps = [
        watts(low) / watts(high)
        for n in (2, 4)
        for high, low in pairwise([r[f"SA({n})"], *(r[f"SA({n})/{rpm}"] for rpm in SPEEDS)])
    ]
    falls = relation(
        f"{workload.title}: power falls with each step in speed (largest ratio to the step before)",
        "reduced by a lower speed",
        ("ratio", max(steps)),
        Rule.LOWER,
        ("one", 1.0),
        "{:.3f}",
        **of,
    )
    return [*special[workload.key](workload, r, of), falls]


def _more(
    workload: Load,
    r: Results,
    of: dict[str, Any],
    what: str,
    paper: str,
    name: str,
    rule: Rule,
    *,
    mode: str = "mean",
    base: str = "HC-SD",
) -> Part:
    """Compare the power of two systems, or the part of a mode in it."""
    ours, other = (name, watts(r[name], mode)), (base, watts(r[base], mode))
    return relation(f"{workload.title}: {what}, {name}", paper, ours, rule, other, W, **of)


def _websearch(workload: Load, r: Results, of: dict[str, Any]) -> list[Part]:
    parts = [
        number(
            f"{workload.title}: requests with a non-zero seek, {name}",
            share,
            nonzero_seeks(r[name]),
            "{:.1%}",
            **of,
        )
        for name, share in NONZERO_SEEKS.items()
    ]
    for name in FINANCIAL_MORE_W:
        higher = Rule.SIGNIFICANTLY_HIGHER
        parts += [
            _more(workload, r, of, "power", "significantly higher than HC-SD", name, higher),
            _more(workload, r, of, "power while seeking", "higher", name, Rule.HIGHER, mode="seek"),
            _more(
                workload,
                r,
                of,
                "power against MD",
                "roughly an order of magnitude less",
                name,
                Rule.MAGNITUDE_LOWER,
                base="MD",
            ),
        ]
    return parts


def _financial(workload: Load, r: Results, of: dict[str, Any]) -> list[Part]:
    base = watts(r["HC-SD"])
    parts = [
        number(
            f"{workload.title}: power above HC-SD, {name}",
            said,
            watts(r[name]) - base,
            "{:.2f} W",
            **of,
        )
        for name, said in FINANCIAL_MORE_W.items()
    ]
    parts += [
        _more(workload, r, of, "power while seeking", "higher", name, Rule.HIGHER, mode="seek")
        for name in FINANCIAL_MORE_W
    ]
    return parts


def _tpc_c(workload: Load, r: Results, of: dict[str, Any]) -> list[Part]:
    # The idle power of the drive without a workload.
    idle = ("idle drive", float(described(LARGE)["power_w"]["idle"]))
    parts = []
    for name in FINANCIAL_MORE_W:
        little, lower = Rule.LITTLE_HIGHER, Rule.FAR_LOWER
        ours = (name, watts(r[name]))
        waiting = "power in rotational latency"
        parts += [
            _more(workload, r, of, "power", "comparable to HC-SD", name, little),
            _more(workload, r, of, waiting, "large reduction", name, lower, mode="rotation"),
            relation(
                f"{workload.title}: power against the idle drive, {name}",
                "close to the idle power",
                ours,
                Rule.LITTLE_HIGHER,
                idle,
                W,
                **of,
            ),
        ]
    return parts


def _tpc_h(workload: Load, r: Results, of: dict[str, Any]) -> list[Part]:
    parts = []
    for name in FINANCIAL_MORE_W:
        base, ours = ("HC-SD", watts(r["HC-SD"])), (name, watts(r[name]))
        parts += [
            _more(workload, r, of, "power", "reduced", name, Rule.LOWER),
            relation(
                f"{workload.title}: reduction of power, {name}",
                "small",
                base,
                Rule.LITTLE_HIGHER,
                ours,
                W,
                **of,
            ),
        ]
    return parts


def _across(found: dict[str, tuple[Load, Results]]) -> list[Part]:
    """Compare workloads: TPC-C draws least, the seek power of Websearch rises most."""
    parts = []
    if set(found) >= {"financial", "websearch"}:
        rise = {
            k: watts(r["SA(2)"], "seek") - watts(r["HC-SD"], "seek") for k, (_, r) in found.items()
        }
        parts.append(
            relation(
                "rise of the power while seeking from HC-SD to SA(2)",
                "less pronounced for Financial than for Websearch",
                ("Financial", rise["financial"]),
                Rule.LOWER,
                ("Websearch", rise["websearch"]),
                W,
                **_mixed(found, "financial", "websearch"),
            )
        )
    if len(found) > 1 and "tpc-c" in found:
        parts += [
            relation(
                f"power of HC-SD on TPC-C and on {found[other][0].title}",
                "TPC-C draws least",
                ("TPC-C", watts(found["tpc-c"][1]["HC-SD"])),
                Rule.LOWER,
                (found[other][0].title, watts(found[other][1]["HC-SD"])),
                W,
                **_mixed(found, "tpc-c", other),
            )
            for other in found
            if other != "tpc-c"
        ]
    return parts


def _mixed(found: dict[str, tuple[Load, Results]], *keys: str) -> dict[str, Any]:
    """Return the marks of a part of several workloads: it counts if all of them are traces."""
    of = [found[k][0].marks(found[k][1]) for k in keys]
    kinds = {m["kind"] for m in of}
    return {
        "kind": Kind.STAND_IN if Kind.STAND_IN in kinds else Kind.RESULT,
        "workload": ", ".join(m["workload"] for m in of),
        "note": "; ".join(dict.fromkeys(m["note"] for m in of if m["note"])),
    }


def slower_designs(study: Study) -> Outcome:
    """Judge figure 7: slower drives with several arms that perform as well as MD."""
    outcome, s = Outcome(), Systems(study.choices)
    for workload in loads(study, *SLOWER_ON):
        slow = [s.sa(n, rpm) for rpm in SPEEDS for n in ARMS]
        r = study.run(runs(workload, s.md(workload.key), s.hc_sd(), *slow))
        array = r["MD"]
        match = {k: v for k, v in r.items() if "/" in k and mean_ms(v) <= mean_ms(array)}
        outcome.parts += _slower_parts(workload, r, match)
        title = f"Figure 7: {workload.title}, slower designs that match the array (MD)"
        shown = {"MD": array, **match}
        outcome.figures += charts.responses(study, f"idp-8-{workload.key}", title, shown)
        outcome.tables.append(charts.numbers(workload, r))
    return outcome


def _slower_parts(workload: Load, r: Results, match: Results) -> list[Part]:
    of, title = workload.marks(r), workload.title
    several = relation(
        f"{title}: slower designs that match or surpass MD (mean)",
        "several design points",
        (", ".join(match) or "designs", float(len(match))),
        Rule.HIGHER,
        ("one design", 1.0),
        "{:.0f}",
        **of,
    )
    against_md = f"{title}: the slower design that matches MD and draws least"
    against_one = f"{title}: that design against one conventional drive"
    if not match:
        marks = {k: v for k, v in of.items() if k != "note"}
        reason = "no slower design matches MD"
        return [several, not_run(against_md, "an order of magnitude less", reason, **marks)]
    best = min(match, key=lambda k: watts(match[k]))
    ours = (best, watts(match[best]))
    parts = [
        several,
        relation(
            against_md,
            "an order of magnitude less",
            ours,
            Rule.MAGNITUDE_LOWER,
            ("MD", watts(r["MD"])),
            W,
            **of,
        ),
    ]
    if workload.key != "websearch":
        hc_sd = ("HC-SD", watts(r["HC-SD"]))
        close = "close to or less than"
        parts.append(relation(against_one, close, ours, Rule.LITTLE_HIGHER, hc_sd, W, **of))
    return parts
