"""The time of a request and the data rate: NG-1 and NG-2."""

from typing import Any

import altair as alt
import numpy as np

from headstack import formulas
from headstack.formulas import KB, MB
from headstack.studies.rules import Kind, Part, Rule, number, relation
from headstack.studies.runs import Run
from headstack.studies.study import Outcome, Study

from . import charts, runs, workloads
from .drive import (
    AVERAGE,
    CHANNEL_BYTES_PER_S,
    HIT_OVERHEAD_S,
    INTERFACE_BYTES_PER_S,
    LOCAL,
    OVERHEAD_S,
    REQUEST_BYTES,
    RPM,
    SEEK_S,
    TRACK_SECTORS,
    Disk,
    access_s,
    buffered,
)

MS = "{:.4g} ms"

#: Number of random places in a simulation.
COUNT, QUICK_COUNT = 100_000, 20_000

#: Names of the article's "random" and "sequential" workloads.
RANDOM, LOCALITY = "random reads of 4 Kbytes", "PC applications"


def count(study: Study) -> int:
    """Return the number of requests in a simulation."""
    return QUICK_COUNT if study.quick else COUNT


def shares(seek_s: float) -> dict[str, float]:
    """Return the shares of a 4-Kbyte request's time by component (figure 1)."""
    parts = {
        "overhead": OVERHEAD_S,
        "seek": seek_s,
        "rotation": float(formulas.mean_latency_s(RPM)),
        "transfer": float(formulas.transfer_time_s(REQUEST_BYTES, AVERAGE.media_rate)),
    }
    whole = sum(parts.values())
    return {k: v / whole for k, v in parts.items()}


def components(study: Study) -> Outcome:
    """Judge the sums of "How it adds up" and figure 1."""
    simulated = _simulated(study)
    hit = float(formulas.buffer_hit_time_s(HIT_OVERHEAD_S, REQUEST_BYTES, INTERFACE_BYTES_PER_S))
    outcome = Outcome(_sums(hit) + _simulated_parts(simulated))
    bars = {"random access": shares(SEEK_S), "local access": shares(SEEK_S * LOCAL)}
    title = "Figure 1: components of the time of a 4-Kbyte request"
    outcome.figures = [study.figure("ng-1-components", lambda: charts.shares(bars, title))]
    formula = {"random": access_s(), "local (stand-in)": access_s(SEEK_S * LOCAL), "hit": hit}
    rows = {k: (1e3 * formula[k], 1e3 * v) for k, v in simulated.items()}
    outcome.tables = [runs.beside("Time of a 4-Kbyte request in ms", rows)]
    return outcome


def _sums(hit: float) -> list[Part]:
    latency = float(formulas.mean_latency_s(RPM))
    media, link = (
        float(formulas.transfer_time_s(REQUEST_BYTES, rate))
        for rate in (AVERAGE.media_rate, INTERFACE_BYTES_PER_S)
    )
    local = shares(SEEK_S * LOCAL)
    exact: dict[str, tuple[float, float]] = {
        "rotational latency at 5,400 rpm": (5.6, latency),
        "media transfer of 4 Kbytes": (0.8, media),
        "interface transfer of 4 Kbytes": (0.4, link),
        "random access": (16.9, access_s()),
        "local access": (10.2, access_s(SEEK_S * LOCAL)),
        "buffer hit": (0.5, hit),
    }
    parts = [
        number(f"{what}, formula", paper, 1e3 * ours, MS, rule=Rule.PRINTED)
        for what, (paper, ours) in exact.items()
    ]
    biggest = max((k for k in local if k != "rotation"), key=lambda k: local[k])
    parts.append(
        relation(
            "local access: latency has the greatest share, formula",
            "greatest share",
            ("latency", local["rotation"]),
            Rule.HIGHER,
            (f"{biggest}, the next", local[biggest]),
            "{:.1%}",
        )
    )
    parts.append(
        relation(
            "a buffer hit against the medium, formula",
            "an order of magnitude faster",
            ("hit", 1e3 * hit),
            Rule.MAGNITUDE_LOWER,
            ("medium, local", 1e3 * access_s(SEEK_S * LOCAL)),
            MS,
        )
    )
    return parts


def _simulated(study: Study) -> dict[str, float]:
    n = count(study)
    everywhere = workloads.uniform(n, study.choices.seed, AVERAGE.sectors * formulas.SECTOR_BYTES)
    near = workloads.scale_free(n, study.choices.seed)
    found = {
        name: runs.mean_s(runs.reads(study, places, {name: AVERAGE})[name])
        for name, places in (("random", everywhere), ("local (stand-in)", near))
    }
    return {**found, "hit": _hits(study)}


def _hits(study: Study) -> float:
    """Return the time of reads that follow one another slowly enough to be buffer hits."""
    load = {
        "name": "sequential",
        "synthetic": {
            "n_requests": 2000,
            "reads": 1.0,
            "sequential": 1.0,
            "size": "4 KiB",
            "arrivals": "constant",
            "rate": "20/s",
            "footprint": "100 MB",
        },
        "warm_up": 10,
    }
    system = AVERAGE.system("hit", **buffered())
    result = study.run([Run(load, system, seed=study.choices.seed)])["hit"]
    return float(result["response_time_s"]["p50"])


def _simulated_parts(simulated: dict[str, float]) -> list[Part]:
    return [
        number(
            "random access, simulator",
            16.9,
            1e3 * simulated["random"],
            MS,
            workload=RANDOM,
            note="requests that cross the end of a cylinder are in it",
        ),
        number("buffer hit, simulator", 0.5, 1e3 * simulated["hit"], MS, workload=RANDOM),
        number(
            "local access, simulator, scale-free stand-in",
            10.2,
            1e3 * simulated["local (stand-in)"],
            MS,
            kind=Kind.STAND_IN,
            workload=LOCALITY,
        ),
    ]


# NG-2.

#: Sizes of figure 2 in KB, and the track sizes nearest to 30 % more.
SIZES_KB = (4, 8, 16, 32, 64, 128, 256)
FASTER = 1.3
FASTER_TRACK = round(FASTER * TRACK_SECTORS)


def gain(seek_s: float, size_bytes: float, factor: float = FASTER) -> float:
    """Return the share of a request's time that a higher data rate saves."""
    media = AVERAGE.media_rate
    return float(formulas.rate_gain_ratio(OVERHEAD_S, seek_s, RPM, size_bytes, media, factor))


def data_rate(study: Study) -> Outcome:
    """Judge the media rate and figure 2."""
    outcome = Outcome(_rate_parts())
    sizes = SIZES_KB[::3] if study.quick else SIZES_KB
    exact = {k: _gain_with_switches(k) for k in sizes}
    simulated = {k: _simulated_gain(study, k) for k in sizes}
    outcome.parts.append(
        relation(
            "larger blocks gain more, simulator",
            "take greater advantage",
            ("gain at 256 Kbytes", simulated[256]),
            Rule.HIGHER,
            ("at 4 Kbytes", simulated[4]),
            "{:.1%}",
            workload="random reads",
        )
    )
    outcome.figures = [study.figure("ng-2-data-rate", lambda: _figure_2(simulated))]
    rows = {f"{k} Kbytes": (100 * exact[k], 100 * simulated[k]) for k in sizes}
    outcome.tables = [
        runs.beside(
            f"Gain in % by {FASTER_TRACK} instead of {TRACK_SECTORS} sectors on a track, random "
            "reads, with head switches (NG-3) on either side",
            rows,
        )
    ]
    return outcome


def _rate_parts() -> list[Part]:
    local = SEEK_S * LOCAL
    denser = float(formulas.highest_rotation_rpm(CHANNEL_BYTES_PER_S, 10 * TRACK_SECTORS))
    each = 100 * (np.sqrt(1.6) - 1)
    parts = [
        number(
            "media rate of 111 sectors at 5,400 rpm, formula",
            5.0,
            AVERAGE.media_rate / MB,
            "{:.4g} Mbytes/s",
            rule=Rule.PRINTED,
        ),
        number(
            "growth of bpi and of tpi, each, for 60 % a year",
            27.0,
            float(each),
            "{:.3g} %",
            note="27 % each would be 61 %",
        ),
        relation(
            "bpi x 10 under the channel's 25 Mbytes/s, formula",
            "reduce the rotational speed",
            ("highest speed", denser),
            Rule.LOWER,
            ("now", float(RPM)),
            "{:.0f} rpm",
        ),
    ]
    for name, seek in (("random", SEEK_S), ("local", local)):
        what = f"larger blocks gain more, {name} access, formula"
        parts.append(
            relation(
                what,
                "take greater advantage",
                ("gain at 256 Kbytes", gain(seek, 256 * KB)),
                Rule.HIGHER,
                ("at 4 Kbytes", gain(seek, 4 * KB)),
                "{:.1%}",
            )
        )
    return parts


def _denser() -> Disk:
    return Disk(track_sectors=FASTER_TRACK)


def _simulated_gain(study: Study, size_kb: int) -> float:
    sectors = size_kb * KB // formulas.SECTOR_BYTES
    space = (AVERAGE.sectors - sectors) * formulas.SECTOR_BYTES
    places = workloads.uniform(count(study), study.choices.seed, space)
    both = {"slow": AVERAGE, "fast": _denser()}
    # The same share of the stroke on both drives, so that only the rate differs.
    slow, fast = (
        runs.mean_s(runs.reads(study, _scaled(places, d), {name: d}, sectors, switches=True)[name])
        for name, d in both.items()
    )
    return 1 - fast / slow


def _scaled(places: workloads.Places, disk: Disk) -> workloads.Places:
    return (places * (disk.sectors / AVERAGE.sectors)).astype(np.int64)


def _gain_with_switches(size_kb: int) -> float:
    slow, fast = (_random_s(d, size_kb * KB) for d in (AVERAGE, _denser()))
    return 1 - fast / slow


def _random_s(disk: Disk, size_bytes: int) -> float:
    """Return the time of a random read by formula, with the switches of the drive's skew."""
    sectors = size_bytes // formulas.SECTOR_BYTES
    time = formulas.access_time_s(OVERHEAD_S, SEEK_S, disk.rpm, size_bytes, disk.media_rate)
    switch = formulas.switch_time_s(sectors, disk.track_sectors, disk.switch_s)
    return float(time + switch)


def _figure_2(simulated: dict[int, float]) -> Any:
    lines = {
        name: [(k, gain(seek, k * KB)) for k in SIZES_KB]
        for name, seek in (("random access", SEEK_S), ("local access", SEEK_S * LOCAL))
    }
    both = "random access with head switches"
    lines[both] = [(k, _gain_with_switches(k)) for k in SIZES_KB]
    marks = {both: list(simulated.items())}
    x = alt.X("x:Q", title="block size (Kbytes)", scale=alt.Scale(type="log", base=2)).axis(
        values=list(SIZES_KB)
    )
    y = alt.Y("y:Q", title="I/O time saved", axis=alt.Axis(format=".0%"))
    return charts.points(
        lines,
        marks,
        "Figure 2: 30 percent higher data rate (lines: formula, marks: simulator)",
        x,
        y,
    )
