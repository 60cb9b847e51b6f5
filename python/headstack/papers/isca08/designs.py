"""The drives themselves: history, taxonomy, faults, cost and freeblock scheduling."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

import pandas as pd

from headstack import drives
from headstack.errors import ConfigError
from headstack.papers.runs import Run
from headstack.papers.seeds import averaged
from headstack.papers.study import Study
from headstack.schema import System, Workload
from headstack.schema.parallelism import Fault
from headstack.schema.system import OrganisationRaid0
from headstack.schema.workload import Synthetic

from .systems import LARGE, Systems, dash, mean_ms

#: Drives of table 1, and their files.
TABLE_1 = {
    "IBM 3380 AK4": "ibm-3380-ak4",
    "Fujitsu M2361A": "fujitsu-m2361a",
    "Conners CP3100": "conner-cp3100",
    "Seagate Barracuda ES": LARGE,
}

#: The mix called "operating" in data sheets of the time: 40 % seek, 40 % read or write, 20 % idle.
OPERATING = {"seek": 0.4, "rotation": 0.4, "idle": 0.2}

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

#: Highest tested degree of each kind of parallelism.
DEGREES = range(1, 5)


def light(requests: int, rate: str = "125/s") -> Synthetic:
    """Return the light load of section 7.3."""
    return {
        "n_requests": requests,
        "reads": 0.6,
        "sequential": 0.2,
        "size": {"distribution": "exponential", "mean": "4 KiB"},
        "rounding": "up",
        "rate": rate,
        "footprint": "100 GB",
    }


def history(study: Study) -> dict[str, pd.DataFrame]:
    """Return Table 1. The drive files were made from it: its values are input."""
    rows = []
    for title, file in TABLE_1.items():
        info, arms = described(file), _arms(file)
        modern = file == LARGE
        megabytes = info["capacity_bytes"] / 1e6
        # The watts of the old drives are for all arms moving, those of the modern drive as defined
        # in its manual; its file has the cost of its components instead of a price.
        power = operating(info["power_w"]) if modern else peak(info["power_w"], arms)
        rate = _sustained(file, info) if modern else info["zones"][0]["rate_bytes_per_s"]
        prices = {} if modern else info["cost_usd"]
        rows.append(
            {
                "drive": title,
                "capacity_mb": megabytes,
                "actuators": arms,
                "power_w": power,
                "mb_per_s": rate / 1e6,
                "low_usd_per_mb": prices["low"] / megabytes if prices else None,
                "high_usd_per_mb": prices["high"] / megabytes if prices else None,
            }
        )
    one = operating(described(LARGE)["power_w"])
    moving = {
        "four_w": peak(described(LARGE, dash=dash(4))["power_w"], 4),
        "three_times_w": 3 * one,
        "hundredth_w": rows[0]["power_w"] / 100,
    }
    return {"drives": pd.DataFrame(rows), "moving": pd.DataFrame([moving])}


def described(file: str, **changes: Any) -> dict[str, Any]:
    """Return the core's description of a drive file with some keys changed."""
    return drives.described({**drives.load(file), **changes}, file)


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


def taxonomy(study: Study) -> dict[str, pd.DataFrame]:
    """Return every design up to D4A4S4H4, and the transfer paths of figure 1."""
    names = [f"D{d}A{a}S{s}H{h}" for d in DEGREES for a in DEGREES for s in DEGREES for h in DEGREES]
    requests = 300 if study.quick else 2000
    load_: Workload = {"synthetic": light(requests)}
    r = study.run(Run(load_, {"name": n, "drive": LARGE, "dash": n, "scheduler": "sptf"}) for n in names)
    done = [n for n in names if r[n]["n_requests"] == requests and r[n]["n_errors"] == 0]
    plain = study.run([Run(load_, {"name": "no dash", "drive": LARGE, "scheduler": "sptf"})])
    designs = {
        "answered": len(done),
        "tried": len(names),
        "named_ms": mean_ms(r["D1A1S1H1"]),
        "plain_ms": mean_ms(plain["no dash"]),
    }
    axes = {
        "disk stacks": "D{}A1S1H1",
        "arm assemblies": "D1A{}S1H1",
        "surfaces at once": "D1A1S{}H1",
        "heads per arm": "D1A1S1H{}",
    }
    by_degree = [
        {"axis": axis, "degree": n, "mean_ms": mean_ms(r[form.format(n)])}
        for axis, form in axes.items()
        for n in DEGREES
    ]
    paths = [{"design": n, "paths": transfer_paths(n)} for n in names]
    return {"designs": pd.DataFrame([designs]), "paths": pd.DataFrame(paths), "degrees": pd.DataFrame(by_degree)}


#: The arms that fail, in this order. When two remain, they are opposite, as in SA(2).
FAULT_ARMS = (1, 3, 2)

#: The run in which they fail.
ONE_BY_ONE = "arms fail one by one"

#: Times of the failures, in seconds after the first request, and the end of the run.
FAULT_TIMES_S, FAULT_END_S = (100, 200, 300), 400

#: Seconds after a failure in which delayed requests are still answered.
SETTLE_S = 5


def _phase_ms(result: dict[str, Any], start: float, end: float) -> float:
    """Mean response time of the requests completed in a span of the run."""
    series = result["series"]
    total = weight = 0.0
    rows = zip(series["t_s"], series["response_time_mean_s"], series["throughput_iops"], strict=True)
    for t, mean, rate in rows:
        if mean is not None and start <= t < end:
            total += mean * rate
            weight += rate
    return 1e3 * total / weight if weight else math.nan


#: A drive with one arm and the scheduler of the failing drive; SA(1), which is HC-SD, has another.
ONE_ARM = "one arm, SPTF"


def _failing() -> dict[str, tuple[Fault, ...]]:
    """Return the drives of four arms with failures, by name, with their faults."""
    first = FAULT_TIMES_S[0]

    def arm(n: int, at: float, warning: bool) -> Fault:
        return {"at": f"{at:g} s", "arm": n, "warning": warning}

    heads: Iterator[Fault] = ({"at": f"{first} s", "arm": 1, "surface": s, "warning": True} for s in range(4))
    one_by_one = (arm(n, t, True) for n, t in zip(FAULT_ARMS, FAULT_TIMES_S, strict=True))
    return {
        ONE_BY_ONE: tuple(one_by_one),
        "one arm, warned": (arm(1, first, True),),
        "one arm, unannounced": (arm(1, first, False),),
        "four heads of one arm": tuple(heads),
    }


def faults(study: Study) -> dict[str, pd.DataFrame]:
    """Return graceful degradation: arms and heads that fail during the run."""
    found = averaged(study, _faults, ("remaining", "after"))
    return {**found, "course": _course([_faulty(study.choosing(seed=n)) for n in study.seeds()])}


def _faulty(study: Study) -> dict[str, dict[str, Any]]:
    """Return the results of drives whose parts fail, and of drives with fewer parts."""
    s = Systems(study.choices)
    whole = [s.sa(n, organisation="independent") for n in (2, 3, 4)]
    whole.append(s.sa(1, name=ONE_ARM, organisation="independent", scheduler="sptf"))
    failing = [
        s.sa(4, name=name, organisation="independent", parallelism={"faults": list(failed)})
        for name, failed in _failing().items()
    ]
    load_: Workload = {"synthetic": light(round(FAULT_END_S / 8e-3))}
    return study.run(Run(load_, x, seed=study.choices.seed) for x in [*whole, *failing])


def _faults(study: Study) -> dict[str, pd.DataFrame]:
    """Return what is compared, with the study's seed."""
    r = _faulty(study)
    taken_out = r[ONE_BY_ONE]["drives"][0]["faults"]
    late = [f["deconfigured_s"] - t for f, t in zip(taken_out, FAULT_TIMES_S, strict=False)]
    survival = {
        "errors": sum(x["n_errors"] for x in r.values()),
        "deconfigured": len(taken_out),
        "failed": len(FAULT_TIMES_S),
        "delay_s": max(late, default=math.inf),
    }
    edges, remaining = [0, *FAULT_TIMES_S, FAULT_END_S], []
    for left, start, end in zip((4, 3, 2, 1), edges, edges[1:], strict=False):
        name = ONE_ARM if left == 1 else f"SA({left})"
        means = (_phase_ms(r[n], start + SETTLE_S, end) for n in (ONE_BY_ONE, name))
        remaining.append({"left": left, "whole": name, **dict(zip(("failing_ms", "whole_ms"), means, strict=True))})
    span = FAULT_TIMES_S[0] + SETTLE_S, FAULT_END_S
    after = [
        {"run": k, "mean_ms": _phase_ms(v, *span), "max_ms": 1e3 * v["response_time_s"]["max"]} for k, v in r.items()
    ]
    return {"survival": pd.DataFrame([survival]), "remaining": pd.DataFrame(remaining), "after": pd.DataFrame(after)}


def _course(every: Sequence[dict[str, dict[str, Any]]], width: int = 10) -> pd.DataFrame:
    """Return means over ten seconds each: the drive that loses its arms, and drives with fewer.

    They are means of all seeds, with their range.
    """
    rows = []
    for name in (ONE_BY_ONE, "SA(4)", "SA(3)", "SA(2)", ONE_ARM):
        for t in range(0, FAULT_END_S, width):
            ms = [_phase_ms(r[name], t, t + width) for r in every]
            rows.append({"drive": name, "t_s": t + width / 2, "mean_ms": fmean(ms),
                         "low": min(ms), "high": max(ms), "seeds": len(every)})  # fmt: skip
    return pd.DataFrame(rows)


#: Kinds of drives by arm assemblies.
KINDS = {1: "HC-SD", 2: "SA(2)", 4: "SA(4)"}


def cost(study: Study) -> dict[str, pd.DataFrame]:
    """Return Table 9(a) and figure 9(b): costs of drives and of equally fast arrays."""
    s = Systems(study.choices)
    load_: Workload = {"synthetic": light(1000)}
    raid: OrganisationRaid0 = {"name": "raid0", "footprint": "100 GB"}

    def system(arms: int, count: int) -> System:
        name = f"{count} {KINDS[arms]}"
        return {**s.sa(arms, name=name), "count": count, "organisation": raid}

    wanted = [system(n, 1) for n in KINDS] + [system(n, 4 // n) for n in (1, 2)]
    r = study.run(Run(load_, x) for x in wanted)
    rows = [
        {
            "system": name,
            "low": x["cost_usd"]["low"],
            "high": x["cost_usd"]["high"],
            "middle": (x["cost_usd"]["low"] + x["cost_usd"]["high"]) / 2,
        }
        for name, x in r.items()
    ]
    table = pd.DataFrame(rows)
    four = float(table.set_index("system")["middle"]["4 HC-SD"])
    equal = [f"{4 // n} {name}" for n, name in KINDS.items()]
    return {
        "costs": table.assign(saved=1 - table["middle"] / four),
        "arrays": table.set_index("system").loc[equal].reset_index(),
        "components": pd.DataFrame([_components()]),
    }


def _components() -> dict[str, int]:
    """Return how many cells of Table 9(a) the cost model has; it has these prices as input."""
    every = {c for components, _ in COMPONENTS.values() for c in components}
    met = total = 0
    for components, cells in COMPONENTS.values():
        free = {c: [0, 0] for c in every - set(components)}
        for arms, said in zip(KINDS, cells, strict=True):
            model = {"model": "components", "usd": free}
            got = described(LARGE, dash=dash(arms), cost=model)["cost_usd"]
            met += math.isclose(got["low"], said[0]) and math.isclose(got["high"], said[1])
            total += 1
    return {"met": met, "total": total}
