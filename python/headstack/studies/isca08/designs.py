"""The drives themselves: history, taxonomy, faults, cost and freeblock scheduling."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import altair as alt
import pandas as pd

from headstack import _bridge, drives, plots
from headstack.errors import ConfigError
from headstack.studies.runs import Run
from headstack.studies.study import Outcome, Study, Table, not_run, number, relation

from .systems import LARGE, dash, mean_ms, sa

#: Table 1: drive file, capacity in MB, actuators, power in W, transfer rate in MB/s, $ per MB.
TABLE_1 = (
    ("IBM 3380 AK4", "ibm-3380-ak4", 7_500, 4, 6_600, 3.0, (10, 18)),
    ("Fujitsu M2361A", "fujitsu-m2361a", 600, 1, 640, 2.5, (17, 20)),
    ("Conners CP3100", "conner-cp3100", 100, 1, 10, 1.0, (7, 10)),
    ("Seagate Barracuda ES", LARGE, 750_000, 1, 13, 72.0, (0.00034, 0.00042)),
)

#: The mix that data sheets of the time call "operating": 40 % seek, 40 % read or write, 20 % idle.
OPERATING = {"seek": 0.4, "rotation": 0.4, "idle": 0.2}

#: Table 9(a): low and high cost in dollars of a drive with so many arm assemblies.
COSTS = {1: (67.7, 80.8), 2: (100.4, 116.6), 4: (165.8, 188.2)}

#: Highest degree of each kind of parallelism that is tried.
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
    """Judge Table 1: the drives, and the power of one and of four moving arms."""
    outcome = Outcome()
    rows = []
    for title, file, capacity, arms, power, rate, (low, high) in TABLE_1:
        info = described(file)
        own_arms = _arms(file)
        megabytes = info["capacity_bytes"] / 1e6
        modern = file == LARGE
        bytes_per_s = _sustained(file, info) if modern else info["zones"][0]["rate_bytes_per_s"]
        # The old boxes' watts are taken with all arms moving, the modern drive's as its manual
        # defines them.
        own_power = operating(info["power_w"]) if modern else peak(info["power_w"], own_arms)
        dollars = info["cost_usd"]
        rows.append(
            [
                title,
                f"{megabytes:,.0f}",
                str(own_arms),
                f"{own_power:,.1f}",
                f"{bytes_per_s / 1e6:.1f}",
                "–"  # noqa: RUF001
                if modern
                else f"{dollars['low'] / megabytes:.3g}-{dollars['high'] / megabytes:.3g}",
            ]
        )
        outcome.parts += [
            number(f"{title}: capacity", capacity, megabytes, 0.05, "{:,.0f} MB"),
            relation(f"{title}: actuators", str(arms), rows[-1][2], own_arms == arms),
            number(f"{title}: power", power, own_power, 0.02, "{:,.1f} W"),
            number(
                f"{title}: transfer rate{', sustained outside' if modern else ''}",
                rate,
                bytes_per_s / 1e6,
                0.15,
                "{:.1f} MB/s",
            ),
        ]
        if not modern:  # the costs of the modern one are its material, see IDP-12
            outcome.parts += [
                number(f"{title}: {end} price per MB", said, got / megabytes, 0.05, "${:.2f}")
                for end, said, got in (
                    ("low", low, dollars["low"]),
                    ("high", high, dollars["high"]),
                )
            ]
    modern_watts = described(LARGE)["power_w"]
    four = peak(described(LARGE, dash=dash(4))["power_w"], 4)
    outcome.parts += [
        number("Barracuda ES with four arm assemblies, all moving", 34, four, 0.02, "{:.1f} W"),
        relation(
            "its peak is within three times the conventional drive's power",
            "within 3X",
            f"{four / operating(modern_watts):.2f} times",
            four < 3 * operating(modern_watts),
        ),
    ]
    headings = ["drive", "capacity MB", "actuators", "power W", "rate MB/s", "$ per MB"]
    outcome.tables.append(Table("Table 1, from the drive files", headings, rows))
    return outcome


def described(file: str, **changes: Any) -> dict[str, Any]:
    """Return the core's description of a drive file with some keys changed."""
    spec = {**drives.load(file), **changes}
    info: dict[str, Any] = _bridge.call("drive_info", json.dumps(spec))
    return info


def _sustained(file: str, info: Mapping[str, Any]) -> float:
    """Return the rate of long reads outside: each track costs one turn and the skew behind it."""
    geometry = drives.load(file)["geometry"]
    zone, surfaces = geometry["zones"][0], geometry["surfaces"]
    skew = ((surfaces - 1) * zone["track_skew"] + zone["cylinder_skew"]) / surfaces
    return float(info["zones"][0]["rate_bytes_per_s"]) / (1 + float(skew))


def _arms(file: str) -> int:
    """Return the arm assemblies of all stacks that a drive file declares."""
    stacks, arms, _, _ = degrees(str(drives.load(file).get("dash", dash(1))))
    return stacks * arms


def operating(watts: Mapping[str, float]) -> float:
    """Return the power at work by the mix of data sheets."""
    return sum(share * watts[mode] for mode, share in OPERATING.items())


def peak(watts: Mapping[str, float], arms: int) -> float:
    """Return the power with all arms moving: each adds what the first one adds to idle."""
    return watts["idle"] + arms * (watts["seek"] - watts["idle"])


def degrees(name: str) -> tuple[int, int, int, int]:
    """Return the stacks, arms, surfaces and heads of a name such as ``D1A2S1H1``.

    Raises:
        ConfigError: it is not such a name.

    """
    found = re.fullmatch(r"D(\d+)A(\d+)S(\d+)H(\d+)", name)
    if found is None:
        raise ConfigError(f'dash: got "{name}", need a name such as "D1A2S1H1"')
    stacks, arms, surfaces, heads = map(int, found.groups())
    return stacks, arms, surfaces, heads


def transfer_paths(name: str) -> int:
    """Return how many transfers at once a design's mechanism offers: one per head that may work.

    Example:
        >>> transfer_paths("D1A2S1H1"), transfer_paths("D1A2S1H2")
        (2, 4)

    """
    return math.prod(degrees(name))


def taxonomy(study: Study) -> Outcome:
    """Judge the taxonomy: every design up to D4A4S4H4 runs; figure 1's transfer paths."""
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
    same = plain["no dash"]["response_time_s"] == r["D1A1S1H1"]["response_time_s"]
    outcome.parts += [
        relation(
            f"designs up to D4A4S4H4 that answer all of {requests} requests",
            "any point can be configured",
            f"{len(done)} of {len(names)}",
            len(done) == len(names),
        ),
        relation(
            "the conventional drive is D1A1S1H1",
            "D1A1S1H1",
            "the same response times" if same else "other response times",
            same,
        ),
    ]
    for name, paths in (("D1A1S1H1", 1), ("D1A2S1H1", 2), ("D1A2S1H2", 4)):
        ours = transfer_paths(name)
        outcome.parts.append(
            relation(f"{name}: transfer paths", str(paths), str(ours), ours == paths)
        )
    axes = [
        ("disk stacks", "D{}A1S1H1"),
        ("arm assemblies", "D1A{}S1H1"),
        ("surfaces at once", "D1A1S{}H1"),
        ("heads per arm", "D1A1S1H{}"),
    ]
    points = {
        axis: [(float(n), mean_ms(r[form.format(n)])) for n in DEGREES] for axis, form in axes
    }
    chart = plots.lines(
        points,
        alt.X("x:Q", title="degree of parallelism", axis=alt.Axis(values=list(DEGREES))),
        alt.Y("y:Q", title="mean response time (ms)", scale=alt.Scale(zero=True)),
        "The taxonomy's four axes, one at a time (125 requests/s, 100 GB)",
        series="axis",
        markers=True,
    )
    outcome.figures.append(study.figure("idp-2-axes", chart))
    rows = [[axis, *(f"{ms:.2f}" for _, ms in pairs)] for axis, pairs in points.items()]
    outcome.tables.append(
        Table("Mean response time in ms by degree", ["axis", *map(str, DEGREES)], rows)
    )
    return outcome


#: Which arms fail, in this order: two are left that face each other, as those of SA(2) do.
FAULT_ARMS = (1, 3, 2)

#: When the parts of the drive fail, seconds after the first request, and how long to go on.
FAULT_TIMES_S, FAULT_END_S = (100, 200, 300), 400


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


def faults(study: Study) -> Outcome:
    """Judge graceful degradation: arms and heads that fail while the drive works."""
    outcome = Outcome()
    every = 8e-3
    requests = round(FAULT_END_S / every)
    load_ = {"synthetic": light(requests)}

    def failing(name: str, arms: int, *failed: dict[str, Any]) -> dict[str, Any]:
        return sa(arms, name=name, organisation="independent", parallelism={"faults": list(failed)})

    def arm(n: int, at: float, warning: bool) -> dict[str, Any]:
        return {"at": f"{at:g} s", "arm": n, "warning": warning}

    first = FAULT_TIMES_S[0]
    heads = [{"at": f"{first} s", "arm": 1, "surface": s, "warning": True} for s in range(4)]
    systems = [
        *(sa(n, organisation="independent") for n in range(1, 5)),
        failing(
            "arms fail one by one",
            4,
            *(arm(n, t, True) for n, t in zip(FAULT_ARMS, FAULT_TIMES_S, strict=True)),
        ),
        failing("one arm, warned", 4, arm(1, first, True)),
        failing("one arm, unannounced", 4, arm(1, first, False)),
        failing("four heads of one arm", 4, *heads),
    ]
    r = study.run(Run(load_, s) for s in systems)
    errors = {k: v["n_errors"] for k, v in r.items()}
    outcome.parts.append(
        relation(
            "requests that failed because of a failed part",
            "the drive goes on with the rest",
            f"{sum(errors.values())} of {requests:,} in each of {len(r)} runs",
            not any(errors.values()),
        )
    )
    one_by_one = r["arms fail one by one"]
    taken_out = one_by_one["drives"][0]["faults"]
    outcome.parts.append(
        relation(
            "arm assemblies taken out of use as they fail",
            "handled by deconfiguring the failing component",
            ", ".join(f"arm {f['arm']} at {f['deconfigured_s']:.0f} s" for f in taken_out),
            [round(f["deconfigured_s"]) for f in taken_out] == list(FAULT_TIMES_S),
        )
    )
    edges = [0, *FAULT_TIMES_S, FAULT_END_S]
    settle = 5  # seconds in which the requests that a failure delayed are still answered
    for left, start, end in zip((4, 3, 2, 1), edges, edges[1:], strict=False):
        start_ = start + settle
        ours = _phase_ms(one_by_one, start_, end)
        whole = _phase_ms(r[f"SA({left})"], start_, end)
        outcome.parts.append(
            relation(
                f"arms left: {left}; as fast as SA({left}) (means within 10 %)",
                "goes on with the rest",
                f"{ours:.2f} and {whole:.2f} ms",
                abs(ours / whole - 1) < 0.1,
            )
        )
    span = first + settle, FAULT_END_S
    ms = {k: _phase_ms(v, *span) for k, v in r.items()}
    outcome.parts += [
        relation(
            "failing heads cost less than the whole arm (means after the failure)",
            "the failing head is deconfigured",
            f"SA(4) {ms['SA(4)']:.2f}, four heads gone {ms['four heads of one arm']:.2f}, "
            f"arm gone {ms['one arm, warned']:.2f} ms",
            ms["SA(4)"] <= ms["four heads of one arm"] <= ms["one arm, warned"],
        ),
        relation(
            "a warning spares the requests that an unannounced failure delays (maximum)",
            "deconfigured on data of SMART sensors",
            f"warned {1e3 * r['one arm, warned']['response_time_s']['max']:.0f} ms, "
            f"unannounced {1e3 * r['one arm, unannounced']['response_time_s']['max']:.0f} ms",
            r["one arm, warned"]["response_time_s"]["max"]
            < r["one arm, unannounced"]["response_time_s"]["max"],
        ),
    ]
    outcome.figures.append(study.figure("idp-11-degradation", _degradation(r)))
    return outcome


def _degradation(r: dict[str, dict[str, Any]]) -> Any:
    """Draw means over ten seconds each: the drive that loses its arms, and drives with fewer."""
    width = 10
    points = {}
    for name in ("arms fail one by one", "SA(4)", "SA(3)", "SA(2)", "SA(1)"):
        points[name] = [
            (t + width / 2, _phase_ms(r[name], t, t + width)) for t in range(0, FAULT_END_S, width)
        ]
    return plots.lines(
        points,
        alt.X("x:Q", title="simulated time (s)", axis=alt.Axis(values=[0, *FAULT_TIMES_S, 400])),
        alt.Y("y:Q", title="mean response time (ms)", scale=alt.Scale(zero=True)),
        "Graceful degradation: an arm fails at 100, 200 and 300 s",
        series="drive",
    )


def cost(study: Study) -> Outcome:
    """Judge Table 9(a) and figure 9(b): costs of drives and of equally fast arrays."""
    outcome = Outcome()
    load_ = {"synthetic": light(1000)}
    kinds = {1: "HC-SD", 2: "SA(2)", 4: "SA(4)"}

    def system(name: str, arms: int, count: int) -> dict[str, Any]:
        raid = {"name": "raid0", "footprint": "100 GB"}
        return {
            "name": name,
            "drive": LARGE,
            "dash": dash(arms),
            "count": count,
            "organisation": raid,
        }

    singles = [system(f"1 {kinds[n]}", n, 1) for n in COSTS]
    equals = [system(f"{4 // n} {kinds[n]} together", n, 4 // n) for n in COSTS]
    r = study.run(Run(load_, s) for s in [*singles, *equals])
    dollars = {k: (v["cost_usd"]["low"], v["cost_usd"]["high"]) for k, v in r.items()}
    if None in dollars["1 HC-SD"]:
        outcome.parts = [not_run("Table 9(a)", "67.7-80.8 dollars", "no costs in the results")]
        outcome.why = "the simulator that is installed estimates no costs; rebuild with make demo"
        return outcome
    for arms, (low, high) in COSTS.items():
        for end, said, got in zip(
            ("low", "high"), (low, high), dollars[f"1 {kinds[arms]}"], strict=True
        ):
            what = f"{kinds[arms]}: {end} estimate"
            outcome.parts.append(number(what, said, got, 0.001, "${:.1f}"))
    middle = {k: sum(v) / 2 for k, v in dollars.items()}
    base = middle["4 HC-SD together"]
    for arms, said in ((2, 0.27), (4, 0.40)):
        count = 4 // arms
        saved = 1 - middle[f"{count} {kinds[arms]} together"] / base
        what = f"{count} {kinds[arms]} instead of 4 HC-SD: cheaper by"
        outcome.parts.append(number(what, said, saved, 0.02, "{:.1%}"))
    bars = pd.DataFrame(
        {
            "system": [f"{4 // n} {kinds[n]}" for n in COSTS],
            "low": [dollars[f"{4 // n} {kinds[n]} together"][0] for n in COSTS],
            "high": [dollars[f"{4 // n} {kinds[n]} together"][1] for n in COSTS],
        }
    )
    outcome.figures.append(study.figure("idp-12-cost", _cost_chart(bars)))
    return outcome


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
