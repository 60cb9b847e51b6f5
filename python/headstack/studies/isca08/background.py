"""Background reads: freeblock scheduling against a separate arm, the paper's section 5."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import altair as alt

from headstack import plots
from headstack.studies.as_code import Outcome, Study, Table
from headstack.studies.rules import Part, Rule, relation
from headstack.studies.runs import Run

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
    system = {
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


def freeblock(study: Study) -> Outcome:
    """Judge background work in rotational gaps against an idle second arm."""
    outcome = Outcome()
    seconds = 100 if study.quick else 400
    every = [_results(study, seconds, seed) for seed in study.seeds()]
    r = every[0]
    speed = {way: [megabytes_per_s(x) for x in results] for way, results in r.items()}
    outcome.parts += [*_foreground_parts(r), *_speed_parts(speed)]
    outcome.tables += [
        Table(
            "Background reads in MB/s by foreground load in requests/s",
            ["reads", *map(str, RATES)],
            [[w, *(f"{s:.2f}" for s in speed[w])] for w in WAYS if WAYS[w][1] != "none"],
        ),
        Table(
            "Mean response time of the foreground in ms: what the second arm would do instead",
            ["reads", *map(str, RATES)],
            [[w, *(f"{mean_ms(x):.2f}" for x in r[w])] for w in WAYS],
        ),
        Table(
            "Mean power in W",
            ["reads", *map(str, RATES)],
            [[w, *(f"{watts(x):.2f}" for x in r[w])] for w in WAYS],
        ),
    ]
    outcome.figures.append(study.figure("idp-13-background", lambda: _chart(every)))
    return outcome


def _results(study: Study, seconds: int, seed: int) -> dict[str, list[dict[str, Any]]]:
    """Return the results of each way, in order of the loads."""
    found = study.run(_run(way, rate, seconds, seed) for rate in RATES for way in WAYS)
    return {way: [found[f"{way}, {rate}/s"] for rate in RATES] for way in WAYS}


def _foreground_parts(r: Mapping[str, list[dict[str, Any]]]) -> list[Part]:
    """Compare the foreground's means with and without background reads."""
    used = {"freeblock": "rotational latency periods are used"}
    parts = []
    for way in ("freeblock", "own arm", "own arm, own channel"):
        pairs = [(mean_ms(x), mean_ms(y)) for x, y in zip(r[way], r["no background"], strict=True)]
        # The load with the largest difference.
        with_, without = max(pairs, key=lambda pair: abs(pair[0] / pair[1] - 1))
        parts.append(
            relation(
                f"{way}: background reads leave the foreground's mean as it is (largest change)",
                used.get(way, "independent hardware"),
                (way, with_),
                Rule.SAME,
                ("no background", without),
                "{:,.4f} ms",
            )
        )
    return parts


def _speed_parts(speed: Mapping[str, list[float]]) -> list[Part]:
    """Compare the rates of background reads."""
    free, own = speed["freeblock"], speed["own arm"]
    low, high = RATES[0], RATES[-1]
    # The load for which freeblock scheduling comes nearest to a separate arm.
    nearest = max(range(len(RATES)), key=lambda i: free[i] / own[i])

    def part(what: str, paper: str, a: tuple[str, float], b: tuple[str, float]) -> Part:
        return relation(what, paper, a, Rule.LOWER, b, "{:.2f} MB/s")

    return [
        part(
            f"freeblock reads something at every load from {low} to {high} requests/s",
            "background requests are served",
            ("nothing", 0.0),
            ("least of all loads", min(free)),
        ),
        part(
            "freeblock reads less than an arm of its own at every load",
            "restricted by its deadline",
            (f"freeblock at {RATES[nearest]}/s", free[nearest]),
            ("own arm", own[nearest]),
        ),
        part(
            "freeblock reads less where the foreground works less",
            "only in rotational latencies of foreground requests",
            (f"at {low}/s", free[0]),
            (f"at {RATES[len(RATES) // 2]}/s", free[len(RATES) // 2]),
        ),
        part(
            "an arm of its own reads more where the foreground works less",
            "independent hardware",
            (f"at {high}/s", own[-1]),
            (f"at {low}/s", own[0]),
        ),
    ]


def _chart(every: Sequence[Mapping[str, list[dict[str, Any]]]]) -> Any:
    """Draw the rates of each way by load: means of all seeds, and their range."""
    points, spread = {}, {}
    for way in (way for way, (_, mode, _) in WAYS.items() if mode != "none"):
        of_loads = [[megabytes_per_s(r[way][i]) for r in every] for i in range(len(RATES))]
        pairs = list(zip(map(float, RATES), of_loads, strict=True))
        points[way] = [(rate, fmean(rates)) for rate, rates in pairs]
        spread[way] = [(rate, min(rates), max(rates)) for rate, rates in pairs]
    return plots.lines(
        points,
        alt.X("x:Q", title="foreground load (requests/s)", axis=alt.Axis(values=list(RATES))),
        alt.Y("y:Q", title="background reads (MB/s)", scale=alt.Scale(zero=True)),
        f"Reading the whole medium beside the foreground; mean and range of {len(every)} seeds",
        series="reads with",
        markers=True,
        spread=spread,
    )
