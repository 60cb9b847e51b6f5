"""The drives themselves: history, taxonomy, faults, cost and freeblock scheduling."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import altair as alt
import pandas as pd

from headstack import _bridge, drives, plots
from headstack.errors import ConfigError
from headstack.studies.as_code import Outcome, Study, Table
from headstack.studies.rules import Kind, Part, Rule, not_run, number, relation
from headstack.studies.runs import Run

from .systems import LARGE, Systems, dash, mean_ms

#: Table 1: drive file, capacity in MB, actuators, power in W, transfer rate in MB/s, $ per MB.
TABLE_1 = (
    ("IBM 3380 AK4", "ibm-3380-ak4", 7_500, 4, 6_600, 3.0, (10, 18)),
    ("Fujitsu M2361A", "fujitsu-m2361a", 600, 1, 640, 2.5, (17, 20)),
    ("Conners CP3100", "conner-cp3100", 100, 1, 10, 1.0, (7, 10)),
    ("Seagate Barracuda ES", LARGE, 750_000, 1, 13, 72.0, (0.00034, 0.00042)),
)

#: The mix called "operating" in data sheets of the time: 40 % seek, 40 % read or write, 20 % idle.
OPERATING = {"seek": 0.4, "rotation": 0.4, "idle": 0.2}

#: Table 1's peak power in W of the Barracuda ES with four actuators, all moving.
FOUR_MOVING_W = 34

#: Table 9(a) by row: components of the cost model, low and high dollars for 1, 2 and 4 actuators.
COMPONENTS: dict[str, tuple[tuple[str, ...], tuple[tuple[float, float], ...]]] = {
    "media": (("media",), ((24, 28), (24, 28), (24, 28))),
    "spindle motor": (("spindle-motor",), ((5, 10), (5, 10), (5, 10))),
    "voice-coil motor": (("voice-coil-motor",), ((1, 2), (2, 4), (4, 8))),
    "head suspension": (("head-suspension",), ((2, 3.6), (4, 7.2), (8, 14.4))),
    "head": (("head",), ((24, 24), (48, 48), (96, 96))),
    "pivot bearing": (("pivot-bearing",), ((3, 3), (6, 6), (12, 12))),
    "disk controller": (("disk-controller",), ((4, 5), (4, 5), (4, 5))),
    "motor driver": (("motor-driver", "motor-driver-channel"), ((3.5, 4), (5, 6), (8, 10))),
    "preamplifier": (("preamplifier",), ((1.2, 1.2), (2.4, 2.4), (4.8, 4.8))),
}

#: Table 9(a): low and high cost in dollars of a drive, by number of arm assemblies.
COSTS = {1: (67.7, 80.8), 2: (100.4, 116.6), 4: (165.8, 188.2)}

#: Figure 9(b): how much cheaper drives are than four conventional ones, by number of arms.
SAVED = {2: 0.27, 4: 0.40}

#: Highest tested degree of each kind of parallelism.
DEGREES = range(1, 5)


def light(requests: int, rate: str = "125/s") -> dict[str, Any]:
    """Return the light load of section 7.3."""
    return {
        "n_requests": requests,
        "reads": 0.6,
        "sequential": 0.2,
        "size": {"distribution": "exponential", "mean": "4 KiB"},
        "rate": rate,
        "footprint": "100 GB",
    }


def history(study: Study) -> Outcome:
    """Judge Table 1. The drive files were made from it: its values are input."""
    outcome = Outcome()
    rows = []
    for title, file, capacity, arms, power, rate, prices in TABLE_1:
        info, own_arms = described(file), _arms(file)
        modern = file == LARGE
        # The watts of the old drives are for all arms moving, those of the modern drive as defined
        # in its manual.
        own_power = operating(info["power_w"]) if modern else peak(info["power_w"], own_arms)
        own_rate = _sustained(file, info) if modern else info["zones"][0]["rate_bytes_per_s"]
        megabytes = info["capacity_bytes"] / 1e6
        outcome.parts += [
            _given(f"{title}: capacity", capacity, megabytes, "{:,.0f} MB"),
            _given(f"{title}: actuators", arms, own_arms, "{:.0f}"),
            _given(f"{title}: power", power, own_power, "{:,.1f} W"),
            _given(f"{title}: transfer rate", rate, own_rate / 1e6, "{:.1f} MB/s"),
            *_prices(title, prices, info, megabytes, modern),
        ]
        shown = (f"{megabytes:,.0f}", str(own_arms), f"{own_power:,.1f}", f"{own_rate / 1e6:.1f}")
        rows.append([title, *shown])
    outcome.parts += _four_arms()
    headings = ["drive", "capacity MB", "actuators", "power W", "rate MB/s"]
    outcome.tables.append(Table("Table 1, from the drive files", headings, rows))
    return outcome


def _given(what: str, paper: float, ours: float, form: str) -> Part:
    return number(what, paper, ours, form, kind=Kind.INPUT)


def _prices(
    title: str, said: tuple[float, float], info: Mapping[str, Any], megabytes: float, modern: bool
) -> list[Part]:
    what = f"{title}: price per MB"
    if modern:
        reason = "the drive file has the cost of its components, not the retail price (see IDP-12)"
        text = "${:g} to ${:g}".format(*said)
        return [not_run(what, text, reason, kind=Kind.INPUT)]
    ends = ("low", "high")
    return [
        _given(f"{what}, {end}", value, info["cost_usd"][end] / megabytes, "${:.2f}")
        for end, value in zip(ends, said, strict=True)
    ]


def _four_arms() -> list[Part]:
    """Compare the drive with four arm assemblies: the power model was fitted to 13 W and 34 W."""
    one = operating(described(LARGE)["power_w"])
    four = peak(described(LARGE, dash=dash(4))["power_w"], 4)
    old = peak(described("ibm-3380-ak4")["power_w"], _arms("ibm-3380-ak4"))
    title = "Barracuda ES with four arm assemblies, all moving"

    def part(what: str, paper: str, rule: Rule, name: str, other: float) -> Part:
        ours = ("four arms", four)
        return relation(
            f"{title}: {what}", paper, ours, rule, (name, other), "{:,.1f} W", kind=Kind.INPUT
        )

    return [
        _given(f"{title}: power", FOUR_MOVING_W, four, "{:.1f} W"),
        part("against one arm", "within 3X", Rule.NOT_HIGHER, "three times one arm", 3 * one),
        part(
            "against the IBM 3380",
            "two orders of magnitude lower",
            Rule.NOT_HIGHER,
            "a hundredth of the IBM 3380",
            old / 100,
        ),
    ]


def described(file: str, **changes: Any) -> dict[str, Any]:
    """Return the core's description of a drive file with some keys changed."""
    spec = {**drives.load(file), **changes}
    info: dict[str, Any] = _bridge.call("drive_info", json.dumps(spec))
    return info


def _sustained(file: str, info: Mapping[str, Any]) -> float:
    """Return the outer rate of long reads: each track costs one turn and the skew after it."""
    geometry = drives.load(file)["geometry"]
    zone, surfaces = geometry["zones"][0], geometry["surfaces"]
    skew = ((surfaces - 1) * zone["track_skew"] + zone["cylinder_skew"]) / surfaces
    return float(info["zones"][0]["rate_bytes_per_s"]) / (1 + float(skew))


def _arms(file: str) -> int:
    """Return the number of arm assemblies of all stacks in a drive file."""
    stacks, arms, _, _ = degrees(str(drives.load(file).get("dash", dash(1))))
    return stacks * arms


def operating(watts: Mapping[str, float]) -> float:
    """Return the power at work, for the mix of data sheets."""
    return sum(share * watts[mode] for mode, share in OPERATING.items())


def peak(watts: Mapping[str, float], arms: int) -> float:
    """Return the power with all arms moving: each adds as much to idle as the first one."""
    return watts["idle"] + arms * (watts["seek"] - watts["idle"])


def degrees(name: str) -> tuple[int, int, int, int]:
    """Return the stacks, arms, surfaces and heads in a name such as ``D1A2S1H1``.

    Raises:
        ConfigError: it is not such a name.

    """
    found = re.fullmatch(r"D(\d+)A(\d+)S(\d+)H(\d+)", name)
    if found is None:
        raise ConfigError(f'dash: got "{name}", need a name such as "D1A2S1H1"')
    stacks, arms, surfaces, heads = map(int, found.groups())
    return stacks, arms, surfaces, heads


def transfer_paths(name: str) -> int:
    """Return the number of transfers at once in a design: one per head that may work.

    Example:
        >>> transfer_paths("D1A2S1H1"), transfer_paths("D1A2S1H2")
        (2, 4)

    """
    return math.prod(degrees(name))


def taxonomy(study: Study) -> Outcome:
    """Judge the taxonomy: every design up to D4A4S4H4 runs; transfer paths of figure 1."""
    outcome = Outcome()
    names = [
        f"D{d}A{a}S{s}H{h}" for d in DEGREES for a in DEGREES for s in DEGREES for h in DEGREES
    ]
    requests = 300 if study.quick else 2000
    load_ = {"synthetic": light(requests)}
    r = study.run(
        Run(load_, {"name": n, "drive": LARGE, "dash": n, "scheduler": "sptf"}) for n in names
    )
    done = [n for n in names if r[n]["n_requests"] == requests and r[n]["n_errors"] == 0]
    plain = study.run([Run(load_, {"name": "no dash", "drive": LARGE, "scheduler": "sptf"})])
    outcome.parts += [
        relation(
            "designs up to D4A4S4H4 that answer all requests",
            "any point can be configured",
            ("answered all", float(len(done))),
            Rule.IDENTICAL,
            ("tried", float(len(names))),
            "{:.0f}",
        ),
        relation(
            "D1A1S1H1 and a drive without a DASH name (mean)",
            "the conventional drive is D1A1S1H1",
            ("D1A1S1H1", mean_ms(r["D1A1S1H1"])),
            Rule.IDENTICAL,
            ("no name", mean_ms(plain["no dash"])),
            "{:.3f} ms",
        ),
        # The product of the degrees is a definition in the paper, not a result.
        *(
            _given(f"{name}: transfer paths", paths, transfer_paths(name), "{:.0f}")
            for name, paths in (("D1A1S1H1", 1), ("D1A2S1H1", 2), ("D1A2S1H2", 4))
        ),
    ]
    axes = [
        ("disk stacks", "D{}A1S1H1"),
        ("arm assemblies", "D1A{}S1H1"),
        ("surfaces at once", "D1A1S{}H1"),
        ("heads per arm", "D1A1S1H{}"),
    ]
    points = {
        axis: [(float(n), mean_ms(r[form.format(n)])) for n in DEGREES] for axis, form in axes
    }
    outcome.figures.append(study.figure("idp-2-axes", lambda: _axes(points)))
    rows = [[axis, *(f"{ms:.2f}" for _, ms in pairs)] for axis, pairs in points.items()]
    outcome.tables.append(
        Table("Mean response time in ms by degree", ["axis", *map(str, DEGREES)], rows)
    )
    return outcome


def _axes(points: Mapping[str, list[tuple[float, float]]]) -> Any:
    return plots.lines(
        points,
        alt.X("x:Q", title="degree of parallelism", axis=alt.Axis(values=list(DEGREES))),
        alt.Y("y:Q", title="mean response time (ms)", scale=alt.Scale(zero=True)),
        "The taxonomy's four axes, one at a time (125 requests/s, 100 GB)",
        series="axis",
        markers=True,
    )


#: The arms that fail, in this order. When two remain, they are opposite, as in SA(2).
FAULT_ARMS = (1, 3, 2)

#: Times of the failures, in seconds after the first request, and the end of the run.
FAULT_TIMES_S, FAULT_END_S = (100, 200, 300), 400

#: Seconds after a failure in which delayed requests are still answered.
SETTLE_S = 5

MS = "{:,.2f} ms"


def _phase_ms(result: dict[str, Any], start: float, end: float) -> float:
    """Mean response time of the requests completed in a span of the run."""
    series = result["series"]
    total = weight = 0.0
    rows = zip(
        series["t_s"], series["response_time_mean_s"], series["throughput_iops"], strict=True
    )
    for t, mean, rate in rows:
        if mean is not None and start <= t < end:
            total += mean * rate
            weight += rate
    return 1e3 * total / weight if weight else math.nan


#: A drive with one arm and the scheduler of the failing drive; SA(1), which is HC-SD, has another.
ONE_ARM = "one arm, SPTF"


def _failing() -> dict[str, tuple[dict[str, Any], ...]]:
    """Return the drives of four arms with failures, by name, with their faults."""
    first = FAULT_TIMES_S[0]

    def arm(n: int, at: float, warning: bool) -> dict[str, Any]:
        return {"at": f"{at:g} s", "arm": n, "warning": warning}

    heads = ({"at": f"{first} s", "arm": 1, "surface": s, "warning": True} for s in range(4))
    one_by_one = (arm(n, t, True) for n, t in zip(FAULT_ARMS, FAULT_TIMES_S, strict=True))
    return {
        "arms fail one by one": tuple(one_by_one),
        "one arm, warned": (arm(1, first, True),),
        "one arm, unannounced": (arm(1, first, False),),
        "four heads of one arm": tuple(heads),
    }


def faults(study: Study) -> Outcome:
    """Judge graceful degradation: arms and heads that fail during the run."""
    outcome, s = Outcome(), Systems(study.choices)
    every = 8e-3
    requests = round(FAULT_END_S / every)
    whole = [s.sa(n, organisation="independent") for n in (2, 3, 4)]
    whole.append(s.sa(1, name=ONE_ARM, organisation="independent", scheduler="sptf"))
    failing = [
        s.sa(4, name=name, organisation="independent", parallelism={"faults": list(failed)})
        for name, failed in _failing().items()
    ]
    load_ = {"synthetic": light(requests)}
    runs = [study.run(Run(load_, x, seed=n) for x in [*whole, *failing]) for n in study.seeds()]
    r = runs[0]
    outcome.parts += [*_survival_parts(r), *_remaining_parts(r), *_fault_parts(r)]
    outcome.figures.append(study.figure("idp-11-degradation", lambda: _degradation(runs)))
    return outcome


def _survival_parts(r: dict[str, dict[str, Any]]) -> list[Part]:
    errors = float(sum(x["n_errors"] for x in r.values()))
    taken_out = r["arms fail one by one"]["drives"][0]["faults"]
    late = [f["deconfigured_s"] - t for f, t in zip(taken_out, FAULT_TIMES_S, strict=False)]
    return [
        relation(
            "requests that failed because of a failed part",
            "the drive goes on with the rest",
            ("failed requests", errors),
            Rule.IDENTICAL,
            ("none", 0.0),
            "{:.0f}",
        ),
        relation(
            "failing arm assemblies that are deconfigured",
            "handled by deconfiguring the failing component",
            ("deconfigured", float(len(taken_out))),
            Rule.IDENTICAL,
            ("failed", float(len(FAULT_TIMES_S))),
            "{:.0f}",
        ),
        relation(
            "time from a warning until the arm assembly is deconfigured (longest)",
            "at runtime, based on data from sensors",
            ("delay", max(late, default=math.inf)),
            Rule.LOWER,
            ("one second", 1.0),
            "{:.3f} s",
        ),
    ]


def _remaining_parts(r: dict[str, dict[str, Any]]) -> list[Part]:
    parts = []
    edges = [0, *FAULT_TIMES_S, FAULT_END_S]
    for left, start, end in zip((4, 3, 2, 1), edges, edges[1:], strict=False):
        name = ONE_ARM if left == 1 else f"SA({left})"
        span = start + SETTLE_S, end
        parts.append(
            relation(
                f"arms left: {left}; mean against a drive that has no more",
                "goes on with the rest: the same",
                ("failing drive", _phase_ms(r["arms fail one by one"], *span)),
                Rule.SAME,
                (name, _phase_ms(r[name], *span)),
                MS,
            )
        )
    return parts


def _fault_parts(r: dict[str, dict[str, Any]]) -> list[Part]:
    span = FAULT_TIMES_S[0] + SETTLE_S, FAULT_END_S
    ms = {k: (k, _phase_ms(v, *span)) for k, v in r.items()}
    most = {k: (k, 1e3 * v["response_time_s"]["max"]) for k, v in r.items()}
    heads, arm = "four heads of one arm", "one arm, warned"
    return [
        relation(
            "failing heads cost less than the whole arm (means after the failure)",
            "the failing head is deconfigured",
            ms[heads],
            Rule.LOWER,
            ms[arm],
            MS,
        ),
        relation(
            "a warning spares requests the failure (longest response)",
            "deconfigured on data of SMART sensors",
            most[arm],
            Rule.LOWER,
            most["one arm, unannounced"],
            MS,
        ),
    ]


def _degradation(every: Sequence[dict[str, dict[str, Any]]]) -> Any:
    """Draw means over ten seconds each: the drive that loses its arms, and drives with fewer.

    Lines are means of all seeds, bars their range.
    """
    width = 10
    points, spread = {}, {}
    for name in ("arms fail one by one", "SA(4)", "SA(3)", "SA(2)", ONE_ARM):
        found = [
            (t + width / 2, [_phase_ms(r[name], t, t + width) for r in every])
            for t in range(0, FAULT_END_S, width)
        ]
        points[name] = [(t, fmean(ms)) for t, ms in found]
        spread[name] = [(t, min(ms), max(ms)) for t, ms in found]
    return plots.lines(
        points,
        alt.X("x:Q", title="simulated time (s)", axis=alt.Axis(values=[0, *FAULT_TIMES_S, 400])),
        alt.Y("y:Q", title="mean response time (ms)", scale=alt.Scale(zero=True)),
        f"An arm fails at 100, 200 and 300 s; mean and range of {len(every)} seeds",
        series="drive",
        spread=spread,
    )


#: Kinds of drives by arm assemblies.
KINDS = {1: "HC-SD", 2: "SA(2)", 4: "SA(4)"}


def cost(study: Study) -> Outcome:
    """Judge Table 9(a) and figure 9(b): costs of drives and of equally fast arrays."""
    outcome, s = Outcome(), Systems(study.choices)
    load_ = {"synthetic": light(1000)}
    raid = {"name": "raid0", "footprint": "100 GB"}

    def system(arms: int, count: int) -> dict[str, Any]:
        name = f"{count} {KINDS[arms]}"
        return {**s.sa(arms, name=name), "count": count, "organisation": raid}

    wanted = [system(n, 1) for n in KINDS] + [system(n, 4 // n) for n in (1, 2)]
    r = study.run(Run(load_, x) for x in wanted)
    dollars = {k: (v["cost_usd"]["low"], v["cost_usd"]["high"]) for k, v in r.items()}
    outcome.parts.append(_component_part())
    for arms, said in COSTS.items():
        for end, value, got in zip(("low", "high"), said, dollars[f"1 {KINDS[arms]}"], strict=True):
            what = f"{KINDS[arms]}: total of the components, {end}"
            outcome.parts.append(number(what, value, got, "${:.1f}"))
    middle = {k: sum(v) / 2 for k, v in dollars.items()}
    for arms, saved in SAVED.items():
        array = f"{4 // arms} {KINDS[arms]}"
        ours = 1 - middle[array] / middle["4 HC-SD"]
        what = f"{array} instead of 4 HC-SD: cheaper by"
        outcome.parts.append(number(what, saved, ours, "{:.1%}"))
    names = [f"{4 // n} {KINDS[n]}" for n in COSTS]
    ends = {"low": [dollars[n][0] for n in names], "high": [dollars[n][1] for n in names]}
    bars = pd.DataFrame({"system": names, **ends})
    outcome.figures.append(study.figure("idp-12-cost", lambda: _cost_chart(bars)))
    return outcome


def _component_part() -> Part:
    """Compare the cells of Table 9(a); the cost model has these prices as input."""
    every = {c for components, _ in COMPONENTS.values() for c in components}
    met = total = 0
    for components, cells in COMPONENTS.values():
        free = {c: [0, 0] for c in every - set(components)}
        for arms, said in zip(KINDS, cells, strict=True):
            model = {"model": "components", "usd": free}
            got = described(LARGE, dash=dash(arms), cost=model)["cost_usd"]
            met += math.isclose(got["low"], said[0]) and math.isclose(got["high"], said[1])
            total += 1
    return relation(
        "cells of Table 9(a), low and high, that the cost model has",
        "every cell",
        ("cells", float(met)),
        Rule.IDENTICAL,
        ("of", float(total)),
        "{:.0f}",
        kind=Kind.INPUT,
    )


def _cost_chart(bars: pd.DataFrame) -> Any:
    bars = bars.assign(middle=(bars["low"] + bars["high"]) / 2)
    order = list(bars["system"])
    x = alt.X("system:N", sort=order, title=None, axis=alt.Axis(labelAngle=0))
    body = (
        alt.Chart(bars)
        .mark_bar(color=plots.PALETTE[0], size=70)
        .encode(x=x, y=alt.Y("middle:Q", title="material cost (US dollars)"))
    )
    ends = (
        alt.Chart(bars)
        .mark_rule(strokeWidth=2.5, color="#222222")
        .encode(x=x, y=alt.Y("low:Q", title="material cost (US dollars)"), y2="high:Q")
    )
    text = (
        alt.Chart(bars)
        .mark_text(dx=-20, dy=-8, fontSize=13, align="right")
        .encode(x=x, y="middle:Q", text=alt.Text("middle:Q", format="$.0f"))
    )
    title = "Figure 9(b): material cost of equally fast arrays, and the range of estimates"
    return plots.style(
        (body + ends + text).properties(title=title, width=plots.WIDTH, height=plots.HEIGHT)
    )
