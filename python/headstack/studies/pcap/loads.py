"""Batch and bursty loads, and a shelf of drives: PCAP-8 to PCAP-10."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from headstack.studies.as_code import Outcome, Study, Table
from headstack.studies.rules import Part, Rule, number, relation

from . import charts, runs
from .control import curves
from .power import IOPS, W

#: The drive of the batch job always works, so it starts with the queues of its system.
MAX_QUEUES = ("pcap-agile", {"mode": "throughput"})

#: Caps of Figure 8 in watts; none first.
BATCH_CAPS = (None, 9.0, 8.75, 8.5, 8.25, 8.0)
BATCH_BYTES = 122_070 * 4096

#: Caps of Figure 10 in watts: the first ten minutes are without one.
SHELF_CAPS = tuple(
    zip(range(600, 3301, 300), (200, 190, 185, 170, 195, 150, 150, 180, 205), strict=False)
)
SHELF_END = 3300
TIERS = (5, 5, 6)

#: Efficiency of the power supply: without a cap 16 drives draw 205 W at the meter.
EFFICIENCY = 0.83


def _name(cap: float | None) -> str:
    return "no cap" if cap is None else f"{cap:g} W"


def batch(study: Study) -> Outcome:
    """Judge Figure 8: the time of a batch job under caps."""
    volume = BATCH_BYTES // (4 if study.quick else 1)
    jobs = [runs.job(study.choices.threads, volume=f"{volume} B")]
    wanted = [
        runs.capped(
            _name(cap),
            *MAX_QUEUES,
            () if cap is None else ((0.0, cap),),
            jobs=jobs,
            seed=study.choices.seed,
        )
        for cap in BATCH_CAPS
    ]
    found = study.run(wanted)
    time = {n: float(r["duration_s"]) for n, r in found.items()}
    power = {n: float(r["capping"]["power_mean_w"]) for n, r in found.items()}
    rate = {n: float(r["throughput_iops"]) for n, r in found.items()}
    ratio = {n: t / time["no cap"] for n, t in time.items()}
    minutes = time["no cap"] * BATCH_BYTES / volume / 60
    outcome = Outcome(
        [
            number("power without a cap", 9.2, power["no cap"], W, note="fitted"),
            number(
                "time without a cap",
                10.5,
                minutes,
                "{:.1f} min",
                note="fitted through the throughput",
            ),
            number(
                "time at 8 W over that without a cap",
                1.33,
                ratio["8 W"],
                "{:.2f}",
                note="the throughput at the lowest setting, 148 requests per second, was derived "
                "from this number and fitted",
            ),
            relation(
                "the time grows as the cap falls",
                "increases",
                ("8 W", ratio["8 W"]),
                Rule.HIGHER,
                ("9 W", ratio["9 W"]),
                "{:.2f}",
            ),
            relation(
                "not linear in the cap",
                "nonlinear",
                ("step from 8.25 to 8 W", ratio["8 W"] - ratio["8.25 W"]),
                Rule.FAR_HIGHER,
                ("step from 9 to 8.75 W", max(ratio["8.75 W"] - ratio["9 W"], 1e-3)),
                "{:.3f}",
                note="the paper's large step lies between 9 and 8.75 W",
            ),
            number("throughput at 9 W", 195.0, rate["9 W"], IOPS),
            number("throughput at 8.75 W", 167.0, rate["8.75 W"], IOPS),
            number("throughput at 8.5 W", 165.0, rate["8.5 W"], IOPS),
        ]
    )
    curve = {"throughput mode": [(cap, ratio[_name(cap)]) for cap in BATCH_CAPS if cap]}
    outcome.figures = [
        study.figure(
            "pcap-8-batch",
            lambda: charts.lines(
                curve, "Figure 8: time of a batch job", "cap (W)", "time over that without a cap"
            ),
        )
    ]
    rows = [
        [n, f"{time[n]:.0f}", f"{ratio[n]:.3f}", f"{rate[n]:.1f}", f"{power[n]:.2f}"] for n in found
    ]
    heads = ["cap", "time (s)", "ratio", "requests/s", "power (W)"]
    outcome.tables = [Table("Figure 8", heads, rows)]
    return outcome


def _bursts(together: bool) -> list[dict[str, Any]]:
    """Return the three parts of the load: a constant one, and bursts of 40 MB and 20 MB."""
    more: dict[str, Any] = {"rate": "1/s", "together": together, "duration": "3300 s"}
    constant = runs.job(64, name="constant", **more)
    first = runs.job(60, name="40 MB", start="300 s", volume="40 MB", every="900 s", bursts=3)
    second = runs.job(60, name="20 MB", start="600 s", volume="20 MB", every="900 s", bursts=3)
    return [constant, first, second]


def bursty(study: Study) -> Outcome:
    """Judge Figure 9: bursts under caps."""
    jobs = _bursts(study.choices.together)
    watts = (None, 9.0, 8.5, 8.0)
    wanted = [
        runs.capped(_name(cap), *MAX_QUEUES, () if cap is None else ((0.0, cap),), jobs=jobs)
        for cap in watts
    ]
    found = study.run(wanted)
    busy = {n: _in_bursts(r) for n, r in found.items()}
    total = {n: sum(b.values()) for n, b in busy.items()}
    lasts = {n: _length(r, "40 MB") for n, r in found.items()}
    cut = {j: 100 * (1 - busy["8 W"][j] / busy["no cap"][j]) for j in ("40 MB", "20 MB")}
    trough = runs.mean(found["8 W"], "power_w", 150, 290)
    outcome = Outcome(
        [
            number("throughput in bursts without a cap", 190.0, total["no cap"], IOPS),
            number(
                "throughput in bursts at 8 W",
                170.0,
                total["8 W"],
                IOPS,
                note="8 W needs the lowest setting, whose throughput Figure 8 fixes at"
                " 148; we have "
                f"{total['8.5 W']:.0f} at 8.5 W",
            ),
            number(
                "cut of the 40 MB bursts at 8 W", 11.0, cut["40 MB"], "{:.0f} %", rule=Rule.POINTS
            ),
            number(
                "cut of the 20 MB bursts at 8 W", 17.0, cut["20 MB"], "{:.0f} %", rule=Rule.POINTS
            ),
            relation(
                "bursts take longer under a cap",
                "results in longer times",
                ("8 W", lasts["8 W"]),
                Rule.HIGHER,
                ("no cap", lasts["no cap"]),
                "{:.0f} s",
            ),
            relation(
                "the troughs absorb it: the burst is over before the next one",
                "perfectly absorbed",
                ("burst at 8 W", lasts["8 W"]),
                Rule.LOWER,
                ("to the next burst", 300.0),
                "{:.0f} s",
            ),
            relation(
                "all end at the same time",
                "finish at the exact time of 55 minute",
                ("8 W", found["8 W"]["duration_s"]),
                Rule.SAME,
                ("no cap", found["no cap"]["duration_s"]),
                "{:.0f} s",
            ),
            relation(
                "below the cap between bursts",
                "the actual power is below the cap",
                ("8 W, between bursts", trough),
                Rule.NOT_HIGHER,
                ("cap and tolerance", 8.0 + runs.EPSILON_W),
                W,
                note="only with threads that are due at the same moments",
            ),
            relation(
                "the constant part keeps its throughput",
                "(the bursts share the cut)",
                ("8 W", busy["8 W"]["constant"]),
                Rule.SAME,
                ("no cap", busy["no cap"]["constant"]),
                IOPS,
            ),
        ]
    )
    two = {n: found[n] for n in ("no cap", "8 W")}
    outcome.figures = [
        study.figure(
            "pcap-9a-throughput",
            lambda: charts.over_time(
                curves(two, "throughput_iops"), "Figure 9a: throughput", "requests per second"
            ),
        ),
        study.figure(
            "pcap-9b-parts",
            lambda: charts.bars(
                busy, "Figure 9b: throughput while bursts last", "requests per second"
            ),
        ),
    ]
    return outcome


def _in_bursts(result: Mapping[str, Any]) -> dict[str, float]:
    """Return the throughput of each part during bursts; for a burst, during this burst only."""
    iops = result["capping"]["series"]["job_iops"]
    seconds = range(len(iops["constant"]))
    lasting = {j: [i for i in seconds if iops[j][i] > 20] for j in ("40 MB", "20 MB")}
    either = sorted({*lasting["40 MB"], *lasting["20 MB"]})
    whole = {j: sum(iops[j][i] for i in at) / max(1, len(at)) for j, at in lasting.items()}
    weight: dict[str, float] = {j: len(at) / max(1, len(either)) for j, at in lasting.items()}
    constant = sum(iops["constant"][i] for i in either) / max(1, len(either))
    return {"constant": constant, **{j: whole[j] * weight[j] for j in whole}}


def _length(result: Mapping[str, Any], job: str) -> float:
    """Return the mean length of the bursts of a part in seconds."""
    series = result["capping"]["series"]
    return float(sum(v > 0 for v in series["job_iops"][job]) / 3)


def shelf(study: Study) -> Outcome:
    """Judge Figure 10: PCAP/S over sixteen drives in three tiers."""
    found = study.run([shelf_run(study.choices.seed)])["pcap-s"]
    series, power = found["capping"]["series"], _tiers(found)
    spans = [*SHELF_CAPS, (SHELF_END, 0)]
    settled = {}
    for (start, cap), (end, _) in pairwise(spans):
        at = [i for i, t in enumerate(series["t_s"]) if start + 100 < t <= end]
        settled[start] = (cap, [sum(p[i] for i in at) / len(at) for p in power])
    at = [i for i, t in enumerate(series["t_s"]) if 100 < t <= 600]
    free = [sum(p[i] for i in at) / len(at) for p in power]
    lowest = runs.mean(found, "power_w", 2250, 2700)
    whole = runs.mean(found, "power_w", 100, 600)
    parts: list[Part] = [
        number(
            "power without a cap",
            205.0,
            whole,
            "{:.0f} W",
            note="the power supply's efficiency was fitted",
        ),
        number("power at the cap of 150 W", 160.0, lowest, "{:.0f} W"),
        number("largest cut", 22.0, 100 * (1 - lowest / whole), "{:.1f} %", rule=Rule.POINTS),
    ]
    parts += _order(settled, free)
    drives = found["capping"]["drives"]
    shares, p80 = _by_tier(drives, "within_100_ms"), _by_tier(drives, "admitted_p80_s")
    for i, (share, ms) in enumerate(zip((80.0, 70.0, 55.0), (104.0, 151.0, 172.0), strict=True)):
        parts.append(
            number(
                f"tier {i + 1}: share under 100 ms",
                share,
                100 * shares[i],
                "{:.0f} %",
                rule=Rule.POINTS,
            )
        )
        note = (
            "the two numbers of a tier belong to one distribution; ours has a longer middle"
            if i
            else ""
        )
        parts.append(
            number(f"tier {i + 1}: 80th percentile", ms, 1e3 * p80[i], "{:.0f} ms", note=note)
        )
    parts.append(
        relation(
            "higher tiers suffer less",
            "fewer performance penalties",
            ("tier 1", shares[0]),
            Rule.HIGHER,
            ("tier 3", shares[2]),
            "{:.0%}",
        )
    )
    outcome = Outcome(parts)
    lines = {f"tier {i + 1}": (series["t_s"], p) for i, p in enumerate(power)}
    outcome.figures = [
        study.figure(
            "pcap-10a-tiers",
            lambda: charts.over_time(lines, "Figure 10a: power of one drive by tier", "power (W)"),
        ),
        study.figure(
            "pcap-10-power",
            lambda: charts.over_time(
                {
                    "power": (series["t_s"], series["power_w"]),
                    "cap": (series["t_s"], series["cap_w"]),
                },
                "Figure 10a: power of all drives at the meter",
                "power (W)",
            ),
        ),
    ]
    rows = [
        [f"{start // 60}", f"{cap}", *(f"{w:.2f}" for w in watts)]
        for start, (cap, watts) in settled.items()
    ]
    heads = ["from minute", "cap (W)", *(f"tier {i} (W/drive)" for i in (1, 2, 3))]
    outcome.tables = [Table("Figure 10: settled power", heads, rows)]
    return outcome


def shelf_run(seed: int = 1, **more: Any) -> Any:
    """Return the run of Figure 10."""
    jobs = [runs.job(128, devices=sum(TIERS), duration=f"{SHELF_END} s")]
    capping = {
        "policy": "pcap-s",
        "parameters": {"tiers": list(TIERS)},
        "efficiency": EFFICIENCY,
        "tolerance": "1 W",
        "caps": runs.caps(SHELF_CAPS),
    }
    return runs.run("pcap-s", jobs, capping=capping, count=sum(TIERS), seed=seed, **more)


def _tiers(result: Mapping[str, Any]) -> list[list[float]]:
    """Return the power of one drive of each tier over time."""
    drives, first, found = result["capping"]["series"]["drive_power_w"], 0, []
    for n in TIERS:
        mine = drives[first : first + n]
        found.append([sum(at) / n for at in zip(*mine, strict=True)])
        first += n
    return found


def _by_tier(drives: Sequence[Mapping[str, Any]], key: str) -> list[float]:
    first, found = 0, []
    for n in TIERS:
        found.append(sum(float(d[key]) for d in drives[first : first + n]) / n)
        first += n
    return found


def _order(settled: Mapping[int, tuple[float, list[float]]], free: Sequence[float]) -> list[Part]:
    """Judge which tiers lose power under each cap; the caps begin at these seconds."""
    at = {start: watts for start, (_, watts) in settled.items()}
    kept, cut = Rule.SAME, Rule.LOWER
    wanted = (
        (600, "200 W", 0, kept, "tier 3 alone is cut"),
        (600, "200 W", 1, kept, "tier 3 alone is cut"),
        (600, "200 W", 2, cut, "reducing the consumption of Tier 3"),
        (1200, "185 W", 0, kept, "Tier 2 takes a cut too"),
        (1200, "185 W", 1, cut, "Tier 2 takes a cut too"),
        (1500, "170 W", 0, cut, "Tiers 1-3 contribute"),
        (1800, "195 W", 0, kept, "Tier 1 regains its maximum"),
        (1800, "195 W", 2, cut, "Tier 3 still observes a cut"),
    )
    parts = []
    for start, cap, tier, rule, words in wanted:
        reference = free[tier] - (0.3 if rule is cut else 0.0)
        parts.append(
            relation(
                f"tier {tier + 1} at {cap}, minute {start // 60}",
                words,
                ("power of a drive", at[start][tier]),
                rule,
                ("without a cap" if rule is kept else "without a cap, less 0.3 W", reference),
                W,
            )
        )
    second = relation(
        "at 185 W tier 2 is cut less than tier 3",
        "at a lesser degree",
        ("tier 2", at[1200][1]),
        Rule.HIGHER,
        ("tier 3", at[1200][2]),
        W,
    )
    return [*parts, second]
