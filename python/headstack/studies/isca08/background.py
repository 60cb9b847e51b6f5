"""Background reads: freeblock scheduling against an arm of their own, the paper's section 5."""

from collections.abc import Mapping
from typing import Any

import altair as alt

from headstack import plots
from headstack.studies.runs import Run
from headstack.studies.study import Outcome, Study, Table, relation

from .designs import light
from .systems import LARGE, dash, mean_ms, watts

#: Foreground loads, requests/s.
RATES = (5, 25, 50, 75, 100, 125)

#: Ways to read the whole medium beside the foreground; dash, scan and channels of each.
WAYS: dict[str, tuple[int, str, int]] = {
    "no background": (1, "none", 1),
    "freeblock": (1, "freeblock", 1),
    "own arm": (2, "own-arm", 1),
    "own arm, own channel": (2, "own-arm", 2),
    "SA(2), no background": (2, "none", 1),
}

#: Foreground means are the same if they differ by less than this share.
SAME = 0.001


def _run(way: str, rate: int, seconds: int) -> Run:
    """Return a run of about so long: the same for all loads, so that all scan the same zones."""
    arms, mode, channels = WAYS[way]
    system = {
        "name": f"{way}, {rate}/s",
        "drive": LARGE,
        "dash": dash(arms),
        "parallelism": {"channels": channels},
        "scheduler": "sptf",
        "set": {"media_scan.mode": mode},
    }
    return Run({"synthetic": light(rate * seconds, f"{rate}/s")}, system)


def megabytes_per_s(result: Mapping[str, Any]) -> float:
    """Return the rate of the background reads, 10^6 bytes per second."""
    scanned = sum(d["scanned_bytes"] for d in result["drives"])
    return float(scanned) / 1e6 / float(result["duration_s"])


def freeblock(study: Study) -> Outcome:
    """Judge background work in rotational gaps against an idle second arm."""
    outcome = Outcome()
    seconds = 100 if study.quick else 400
    found = study.run(_run(way, rate, seconds) for rate in RATES for way in WAYS)
    r = {way: [found[f"{way}, {rate}/s"] for rate in RATES] for way in WAYS}
    speed = {way: [megabytes_per_s(x) for x in results] for way, results in r.items()}
    plain = [mean_ms(x) for x in r["no background"]]
    low, high = RATES[0], RATES[-1]

    def shown(way: str) -> str:
        return f"{speed[way][0]:.2f} MB/s at {low}/s, {speed[way][-1]:.2f} MB/s at {high}/s"

    for way in ("freeblock", "own arm", "own arm, own channel"):
        changes = [abs(mean_ms(x) / m - 1) for x, m in zip(r[way], plain, strict=True)]
        outcome.parts.append(
            relation(
                f"{way}: background reads leave the foreground's means as they are",
                "rotational latency periods are used" if way == "freeblock" else "other hardware",
                f"largest change {max(changes):.2%}",
                max(changes) < SAME,
            )
        )
    outcome.parts += [
        relation(
            f"freeblock reads something at every load from {low} to {high} requests/s",
            "background requests are served",
            shown("freeblock"),
            min(speed["freeblock"]) > 0,
        ),
        relation(
            "an arm of its own reads more at every load",
            "the same functionality without the deadline",
            shown("own arm"),
            all(a > b for a, b in zip(speed["own arm"], speed["freeblock"], strict=True)),
        ),
        relation(
            "freeblock's deadline: it has less to give the less the foreground works",
            "restricted to the rotational latency of a foreground request",
            ", ".join(f"{s:.2f}" for s in speed["freeblock"]) + " MB/s",
            speed["freeblock"][0] < speed["freeblock"][len(RATES) // 2],
        ),
        relation(
            "an own arm has more to give the less the foreground works",
            "independent hardware",
            ", ".join(f"{s:.2f}" for s in speed["own arm"]) + " MB/s",
            speed["own arm"][0] > speed["own arm"][-1],
        ),
    ]
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
    outcome.figures.append(study.figure("idp-13-background", _chart(speed)))
    return outcome


def _chart(speed: Mapping[str, list[float]]) -> Any:
    points = {
        way: list(zip(map(float, RATES), speed[way], strict=True))
        for way, (_, mode, _) in WAYS.items()
        if mode != "none"
    }
    return plots.lines(
        points,
        alt.X("x:Q", title="foreground load (requests/s)", axis=alt.Axis(values=list(RATES))),
        alt.Y("y:Q", title="background reads (MB/s)", scale=alt.Scale(zero=True)),
        "Reading the whole medium beside the foreground",
        series="reads with",
        markers=True,
    )
