"""What replacing an array by one large drive costs, and why: the paper's section 7.1."""

from typing import Any

from headstack.studies.study import Outcome, Part, Study, number, relation

from . import charts
from .systems import ORIGINALS, Load, hc_sd, load, md, mean_ms, mode_share, runs, watts

#: A tenfold mean counts as a severe loss, and a quarter more as hardly any.
SEVERE, HARDLY = 10.0, 1.25

#: "An order of magnitude", taken at its word.
MAGNITUDE = 10.0

FEW_DRIVES = (
    "Websearch's array has six drives of about 14 W each, which is six times the one drive and not "
    "ten; arrays of fifteen and more drives pass."
)

#: 64 MB in twice as many segments as the 8 MB have. With the segments' size kept there would be
#: eight times as many, and more streams would find their read-ahead: another change altogether.
CACHE_64_MB = {"segments": 32, "segment_sectors": 3906, "read_ahead_sectors": 1953}


def _pair(study: Study, key: str) -> tuple[Load, dict[str, dict[str, Any]]]:
    workload = load(study, key)
    return workload, study.run(runs(workload, md(key), hc_sd()))


def gap(study: Study) -> Outcome:
    """Judge figure 2: response times of MD and HC-SD."""
    outcome = Outcome()
    for key in ORIGINALS:
        workload, r = _pair(study, key)
        array, one = mean_ms(r["MD"]), mean_ms(r["HC-SD"])
        ours = f"MD {array:.2f} ms, HC-SD {one:,.2f} ms"
        if key == "tpc-h":
            outcome.parts += [
                relation(
                    f"{workload.title}: hardly any loss (means within {HARDLY - 1:.0%})",
                    "3.99 ms on MD, 4.86 ms on HC-SD",
                    ours,
                    one <= HARDLY * array,
                    **workload.marks,
                ),
                number(
                    f"{workload.title}: MD mean", 3.99, array, 0.2, "{:.2f} ms", **workload.marks
                ),
                number(
                    f"{workload.title}: HC-SD mean", 4.86, one, 0.2, "{:.2f} ms", **workload.marks
                ),
            ]
        else:
            outcome.parts.append(
                relation(
                    f"{workload.title}: severe loss (mean at least {SEVERE:g} times)",
                    "HC-SD far slower than MD",
                    ours,
                    one >= SEVERE * array,
                    **workload.marks,
                )
            )
        title = f"Figure 2: {workload.title}, the array (MD) and one large drive (HC-SD)"
        outcome.figures.append(study.figure(f"idp-3-{key}", charts.cdf(title, r)))
        outcome.tables.append(charts.numbers(workload, r))
    _first(outcome, "idp-3-websearch")
    return outcome


def _first(outcome: Outcome, figure: str) -> None:
    outcome.figures.sort(key=lambda f: f != figure)


def power(study: Study) -> Outcome:
    """Judge figure 3: power by mode of MD and HC-SD."""
    outcome = Outcome()
    bars: dict[str, dict[str, Any]] = {}
    for key in ORIGINALS:
        workload, r = _pair(study, key)
        ratio = watts(r["MD"]) / watts(r["HC-SD"])
        n = ORIGINALS[key].count
        outcome.parts.append(
            relation(
                f"{workload.title}: {n} drives (MD) draw {MAGNITUDE:g} times HC-SD's power or more",
                "an order of magnitude less",
                f"{watts(r['MD']):.1f} W over {watts(r['HC-SD']):.1f} W = {ratio:.1f}",
                ratio >= MAGNITUDE,
                **workload.marks,
            )
        )
        if key == "financial":
            outcome.parts.append(
                relation(
                    f"{workload.title}: at most the 350 W of the figure's axis",
                    "0 to 350 W",
                    f"{watts(r['MD']):.0f} W",
                    watts(r["MD"]) <= 350,
                    **workload.marks,
                )
            )
        share = watts(r["MD"], "idle") / watts(r["MD"])
        outcome.parts.append(
            relation(
                f"{workload.title}: most of MD's power is drawn while idle (above 50 %)",
                "a large fraction",
                f"{share:.0%} of the energy, {mode_share(r['MD'], 'idle'):.0%} of the time",
                share > 0.5,
                **workload.marks,
            )
        )
        for name, result in r.items():
            bars[f"{workload.title} {name}"] = {**result, "name": f"{workload.title} {name}"}
    same = [{**b, "workload": ""} for b in bars.values()]
    outcome.figures.append(
        study.figure(
            "idp-4-power",
            charts.power("Figure 3: power by mode of MD and HC-SD", {b["name"]: b for b in same}),
        )
    )
    if outcome.verdict == "deviates":
        outcome.why = FEW_DRIVES
    return outcome


def _scaled(what: str, factor: float) -> dict[str, Any]:
    letter = {"seek": "S", "rotation": "R"}[what]
    name = f"{letter}=0" if factor == 0 else f"(1/{round(1 / factor)}){letter}"
    return hc_sd(name, set={f"positioning.{what}_scale": factor})


#: The limit study's drives: seek or rotational latency times a half, a quarter, nothing.
LIMITS = [_scaled(what, f) for what in ("seek", "rotation") for f in (0.5, 0.25, 0.0)]


def limits(study: Study) -> Outcome:
    """Judge figure 4: what seeks, rotation and the buffer each cost."""
    outcome = Outcome()
    for key in ORIGINALS:
        workload = load(study, key)
        big = hc_sd("64 MB", cache=CACHE_64_MB)
        r = study.run(runs(workload, md(key), hc_sd(), *LIMITS, big, rotation=True))
        outcome.parts += _limit_parts(key, workload, {k: mean_ms(v) for k, v in r.items()})
        for letter, row in (("S", "seek times"), ("R", "rotational latencies")):
            names = ["MD", "HC-SD", *(s["name"] for s in LIMITS if letter in s["name"])]
            title = f"Figure 4: {workload.title}, scaled {row}"
            chart = charts.cdf(title, {n: r[n] for n in names})
            outcome.figures.append(study.figure(f"idp-5-{key}-{letter.lower()}", chart))
        outcome.tables.append(charts.numbers(workload, r))
    _first(outcome, "idp-5-websearch-r")
    control = load(study, "websearch")
    every = [hc_sd(f"{s['name']}, SPTF", "sptf", set=s["set"]) for s in LIMITS]
    r = study.run(runs(control, hc_sd("HC-SD, SPTF", "sptf"), *every))
    outcome.tables.append(charts.numbers(control, r, "Control: every drive orders by SPTF"))
    return outcome


def _limit_parts(key: str, workload: Load, ms: dict[str, float]) -> list[Part]:
    of = workload.marks
    half_s, half_r, quarter_r = ms["(1/2)S"], ms["(1/2)R"], ms["(1/4)R"]
    parts = [
        relation(
            f"{workload.title}: rotation is the primary bottleneck: (1/2)R gains more than (1/2)S",
            "larger gains from rotational latency",
            f"HC-SD {ms['HC-SD']:,.1f} ms, (1/2)S {half_s:,.1f}, (1/2)R {half_r:,.1f}, "
            f"S=0 {ms['S=0']:,.1f}, R=0 {ms['R=0']:,.1f}",
            half_r < half_s and ms["R=0"] < ms["S=0"],
            **of,
        ),
        relation(
            f"{workload.title}: 64 MB instead of 8 MB change the mean by less than 2 %",
            "negligible",
            f"{ms['HC-SD']:,.2f} ms and {ms['64 MB']:,.2f} ms",
            abs(ms["64 MB"] / ms["HC-SD"] - 1) < 0.02,
            **of,
        ),
    ]
    if key != "financial":
        parts.append(
            relation(
                f"{workload.title}: (1/4)R beats MD",
                "surpasses MD",
                f"{quarter_r:,.1f} ms, MD {ms['MD']:,.1f} ms",
                quarter_r <= ms["MD"],
                **of,
            )
        )
    if key in ("websearch", "tpc-c"):
        parts.append(
            relation(
                f"{workload.title}: (1/2)R is a significant boost (at most half of the mean)",
                "significant boost",
                f"{ms['HC-SD']:,.1f} to {half_r:,.1f} ms",
                half_r <= 0.5 * ms["HC-SD"],
                **of,
            )
        )
    return parts
