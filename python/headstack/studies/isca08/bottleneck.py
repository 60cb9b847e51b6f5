"""Costs of replacing an array by one large drive, and their causes: section 7.1."""

from typing import Any

from headstack.studies.as_code import Outcome, Study
from headstack.studies.rules import Part, Rule, number, relation

from . import charts
from .systems import (
    ORIGINALS,
    Load,
    Systems,
    idle_share,
    loads,
    mean_ms,
    runs,
    watts,
)

MS, W = "{:,.2f} ms", "{:,.1f} W"

#: Mean time between requests of TPC-H (section 7.1), and means on MD and HC-SD, in ms.
TPC_H_GAP_MS, TPC_H_MD_MS, TPC_H_HC_SD_MS = 8.76, 3.99, 4.86

#: End of the axis of the paper's figure 3, in W.
FIGURE_3_W = 350

#: 64 MB in twice as many segments as the 8 MB have. With segments of the same size there would be
#: eight times as many, and more streams would have read-ahead: a different change.
CACHE_64_MB = {"segments": 32, "segment_sectors": 3906, "read_ahead_sectors": 1953}


def _pair(study: Study, workload: Load) -> dict[str, dict[str, Any]]:
    systems = Systems(study.choices)
    return study.run(runs(workload, systems.md(workload.key), systems.hc_sd()))


def gap(study: Study) -> Outcome:
    """Judge figure 2: response times of MD and HC-SD."""
    outcome = Outcome()
    for workload in loads(study):
        r = _pair(study, workload)
        outcome.parts += _gap_parts(workload, r)
        title = f"Figure 2: {workload.title}, the array (MD) and one large drive (HC-SD)"
        outcome.figures += charts.responses(study, f"idp-3-{workload.key}", title, r)
        outcome.tables.append(charts.numbers(workload, r))
    _first(outcome, "idp-3-websearch")
    return outcome


def _gap_parts(workload: Load, r: dict[str, dict[str, Any]]) -> list[Part]:
    of = workload.marks(r)
    array, one = ("MD", mean_ms(r["MD"])), ("HC-SD", mean_ms(r["HC-SD"]))
    if workload.key != "tpc-h":
        what = f"{workload.title}: one large drive loses performance (mean)"
        return [relation(what, "severe loss", one, Rule.FAR_HIGHER, array, MS, **of)]
    between = ("between requests", 1e3 / workload.rate)
    title = workload.title
    return [
        relation(
            f"{title}: little loss (mean)", "very little", one, Rule.LITTLE_HIGHER, array, MS, **of
        ),
        number(f"{title}: MD mean", TPC_H_MD_MS, array[1], MS, **of),
        number(f"{title}: HC-SD mean", TPC_H_HC_SD_MS, one[1], MS, **of),
        *(
            relation(
                f"{title}: {x[0]} serves requests faster than they arrive",
                f"response times below {TPC_H_GAP_MS} ms between requests",
                x,
                Rule.LOWER,
                between,
                MS,
                **of,
            )
            for x in (array, one)
        ),
    ]


def _first(outcome: Outcome, figure: str) -> None:
    outcome.figures.sort(key=lambda f: not f.startswith(figure))


def power(study: Study) -> Outcome:
    """Judge figure 3: power by mode of MD and HC-SD."""
    outcome = Outcome()
    bars: dict[str, dict[str, Any]] = {}
    for workload in loads(study):
        r = _pair(study, workload)
        of = workload.marks(r)
        array, one = ("MD", watts(r["MD"])), ("HC-SD", watts(r["HC-SD"]))
        n, title = ORIGINALS[workload.key].count, workload.title
        outcome.parts += [
            relation(
                f"{title}: HC-SD draws less than the {n} drives of MD",
                "an order of magnitude less",
                one,
                Rule.MAGNITUDE_LOWER,
                array,
                W,
                **of,
            ),
            relation(
                f"{title}: energy that MD draws while idle",
                "a large fraction: most of it",
                ("share of the energy", idle_share(r["MD"])),
                Rule.HIGHER,
                ("half", 0.5),
                "{:.1%}",
                **of,
            ),
        ]
        if workload.key == "financial":
            outcome.parts.append(
                relation(
                    f"{title}: MD's power lies on the figure's axis",
                    f"0 to {FIGURE_3_W} W",
                    array,
                    Rule.NOT_HIGHER,
                    ("end of the axis", FIGURE_3_W),
                    W,
                    **of,
                )
            )
        bars |= {f"{title} {name}": result for name, result in r.items()}
    title = "Figure 3: power by mode of MD and HC-SD"
    outcome.figures.append(
        study.figure("idp-4-power", lambda: charts.power(title, bars, FIGURE_3_W))
    )
    return outcome


def _scaled(what: str, factor: float) -> tuple[str, dict[str, Any]]:
    letter = {"seek": "S", "rotation": "R"}[what]
    name = f"{letter}=0" if factor == 0 else f"(1/{round(1 / factor)}){letter}"
    return name, {f"positioning.{what}_scale": factor}


#: The drives of the limit study: seek or rotational latency times a half, a quarter, zero.
LIMITS = dict(_scaled(what, f) for what in ("seek", "rotation") for f in (0.5, 0.25, 0.0))


def limited(systems: Systems, name: str) -> dict[str, Any]:
    """Return a drive of the limit study by its name in the paper: ``(1/2)R``, ``S=0``."""
    return systems.hc_sd(name, set=LIMITS[name])


def limits(study: Study) -> Outcome:
    """Judge figure 4: the costs of seeks, rotation and buffer size."""
    outcome, systems = Outcome(), Systems(study.choices)
    for workload in loads(study):
        drives = [limited(systems, name) for name in LIMITS]
        big = systems.hc_sd("64 MB", cache=CACHE_64_MB)
        md = systems.md(workload.key)
        r = study.run(runs(workload, md, systems.hc_sd(), *drives, big, rotation=True))
        outcome.parts += _limit_parts(workload, r)
        for letter, row in (("S", "scaled seek times"), ("R", "scaled rotational latencies")):
            shown = {n: r[n] for n in ("MD", "HC-SD", *(s for s in LIMITS if letter in s))}
            title = f"Figure 4: {workload.title}, {row}"
            name = f"idp-5-{workload.key}-{letter.lower()}"
            outcome.figures += charts.responses(study, name, title, shown)
        outcome.tables.append(charts.numbers(workload, r))
    _first(outcome, "idp-5-websearch-r")
    return outcome


def _limit_parts(workload: Load, r: dict[str, dict[str, Any]]) -> list[Part]:
    of, title, key = workload.marks(r), workload.title, workload.key
    ms = {name: (name, mean_ms(x)) for name, x in r.items()}

    def part(what: str, paper: str, a: str, rule: Rule, b: str) -> Part:
        return relation(f"{title}: {what}", paper, ms[a], rule, ms[b], MS, **of)

    bottleneck = "rotational latency is the primary bottleneck"
    less = Rule.LOWER
    parts = [
        part(f"{bottleneck}, halved", "gains more than seek times", "(1/2)R", less, "(1/2)S"),
        part(f"{bottleneck}, left out", "gains more than seek times", "R=0", less, "S=0"),
        part("a buffer of 64 MB instead of 8 MB", "negligible impact", "64 MB", Rule.SAME, "HC-SD"),
        _transfer_part(workload, r["HC-SD"], of),
    ]
    if key in ("financial", "tpc-c"):
        parts += [
            part("no seeks at all", "no significant boost", "HC-SD", Rule.LITTLE_HIGHER, "S=0"),
            part("no rotational latency", "large benefits", "R=0", Rule.FAR_LOWER, "HC-SD"),
        ]
    if key in ("websearch", "tpc-c"):
        halved = "half of the rotational latency"
        parts.append(part(halved, "significant boost", "(1/2)R", Rule.SIGNIFICANTLY_LOWER, "HC-SD"))
    if key != "financial":
        quarter = "a quarter of the rotational latency"
        parts.append(part(quarter, "surpasses MD", "(1/4)R", Rule.LOWER, "MD"))
    if key == "tpc-h":
        parts.append(part("quicker seeks help too", "match MD", "S=0", Rule.NOT_HIGHER, "MD"))
    return parts


def _transfer_part(workload: Load, r: dict[str, Any], of: dict[str, Any]) -> Part:
    spent = r["components_s"]
    positioning = 1e3 * (float(spent["seek"]) + float(spent["rotation"]))
    return relation(
        f"{workload.title}: transfer times on HC-SD",
        "much smaller than positioning",
        ("transfer", 1e3 * float(spent["transfer"])),
        Rule.FAR_LOWER,
        ("positioning", positioning),
        MS,
        **of,
    )
