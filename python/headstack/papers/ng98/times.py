"""The time of a request and the data rate: NG-1 and NG-2."""

import numpy as np
import pandas as pd

from headstack.drives import formulas
from headstack.drives.formulas import KB, MB
from headstack.papers.runs import Run
from headstack.papers.study import Study
from headstack.schema import Workload

from . import runs, workloads
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

#: Number of random places in a simulation.
COUNT, QUICK_COUNT = 100_000, 20_000

#: Seeks of the two kinds of access in the article.
ACCESS = {"random": SEEK_S, "local": SEEK_S * LOCAL}


def count(study: Study) -> int:
    """Return the number of requests in a simulation."""
    return QUICK_COUNT if study.quick else COUNT


def shares(seek_s: float) -> dict[str, float]:
    """Return the shares of a 4-Kbyte request's time by component (figure 1)."""
    parts = {
        "overhead": OVERHEAD_S,
        "seek": seek_s,
        "latency": float(formulas.mean_latency_s(RPM)),
        "transfer": float(formulas.transfer_time_s(REQUEST_BYTES, AVERAGE.media_rate)),
    }
    whole = sum(parts.values())
    return {k: v / whole for k, v in parts.items()}


def components(study: Study) -> dict[str, pd.DataFrame]:
    """Return the sums of "How it adds up" and figure 1."""
    media, link = (
        float(formulas.transfer_time_s(REQUEST_BYTES, rate)) for rate in (AVERAGE.media_rate, INTERFACE_BYTES_PER_S)
    )
    hit = float(formulas.buffer_hit_time_s(HIT_OVERHEAD_S, REQUEST_BYTES, INTERFACE_BYTES_PER_S))
    seconds = {
        "latency": float(formulas.mean_latency_s(RPM)),
        "media transfer": media,
        "interface transfer": link,
        "random": access_s(),
        "local": access_s(SEEK_S * LOCAL),
        "hit": hit,
        # Worlds in which what the article says of a hit is false.
        "hit, overhead of a miss": hit - HIT_OVERHEAD_S + OVERHEAD_S,
        "hit, half a turn": hit + float(formulas.mean_latency_s(RPM)),
    }
    bars = [
        {"access": f"{access} access", "component": name, "share": share, "order": i}
        for access, seek_s in ACCESS.items()
        for i, (name, share) in enumerate(shares(seek_s).items())
    ]
    found = pd.DataFrame(bars)
    found["middle"] = found.groupby("access")["share"].cumsum() - found["share"] / 2
    local = found[(found["access"] == "local access") & (found["component"] != "latency")]
    exact = {"random": access_s(), "local (stand-in)": access_s(SEEK_S * LOCAL), "hit": hit}
    rows = {k: (1e3 * exact[k], 1e3 * v) for k, v in simulated(study).items()}
    return {
        "times": pd.DataFrame([{"time": k, "ms": 1e3 * s} for k, s in seconds.items()]),
        "shares": found,
        "next": local.nlargest(1, "share"),
        "simulated": runs.beside(rows, "ms"),
    }


def simulated(study: Study) -> dict[str, float]:
    """Return the simulated times of a request in seconds."""
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
    load: Workload = {
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


# NG-2.

#: Sizes of figure 2 in KB, and the track sizes nearest to 30 % more.
SIZES_KB = (4, 8, 16, 32, 64, 128, 256)
FASTER = 1.3
FASTER_TRACK = round(FASTER * TRACK_SECTORS)


def gain(seek_s: float, size_bytes: float, factor: float = FASTER) -> float:
    """Return the share of a request's time that a higher data rate saves."""
    media = AVERAGE.media_rate
    return float(formulas.rate_gain_ratio(OVERHEAD_S, seek_s, RPM, size_bytes, media, factor))


def data_rate(study: Study) -> dict[str, pd.DataFrame]:
    """Return the media rate, the speed that the channel allows, and figure 2."""
    sizes = SIZES_KB[::3] if study.quick else SIZES_KB
    found = {k: simulated_gain(study, k) for k in sizes}
    both = "random access with head switches"
    rows = [
        {"access": access, "line": f"{access} access", "how": "formula", "kb": k,
         "gain": gain(seek, k * KB)}
        for access, seek in ACCESS.items()
        for k in SIZES_KB
    ]  # fmt: skip
    for how, gains in (("formula", {k: gain_with_switches(k) for k in SIZES_KB}),
                       ("simulator", found)):  # fmt: skip
        rows += [{"access": both, "line": both, "how": how, "kb": k, "gain": v}
                 for k, v in gains.items()]  # fmt: skip
    rates = {
        "media_mb_per_s": AVERAGE.media_rate / MB,
        "at_3600_mb_per_s": AVERAGE.media_rate / MB * 3600 / RPM,
        "growth_percent": 100 * float(np.sqrt(1.6) - 1),
        "highest_rpm": float(formulas.highest_rotation_rpm(CHANNEL_BYTES_PER_S, 10 * TRACK_SECTORS)),
        "highest_now_rpm": float(formulas.highest_rotation_rpm(CHANNEL_BYTES_PER_S, TRACK_SECTORS)),
        "rpm": RPM,
    }
    compared = {f"{k} Kbytes": (100 * gain_with_switches(k), 100 * found[k]) for k in sizes}
    return {
        "rates": pd.DataFrame([rates]),
        "gains": pd.DataFrame(rows),
        "simulated": runs.beside(compared, "%").assign(faster=FASTER_TRACK, track=TRACK_SECTORS),
    }


def _denser() -> Disk:
    return Disk(track_sectors=FASTER_TRACK)


def simulated_gain(study: Study, size_kb: int) -> float:
    """Return the gain in the simulator, at random places of the whole drive."""
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


def gain_with_switches(size_kb: int) -> float:
    """Return the gain of random reads by formula, with head switches (NG-3)."""
    slow, fast = (_random_s(d, size_kb * KB) for d in (AVERAGE, _denser()))
    return 1 - fast / slow


def _random_s(disk: Disk, size_bytes: int) -> float:
    """Return the time of a random read by formula, with the switches of the drive's skew."""
    sectors = size_bytes // formulas.SECTOR_BYTES
    time = formulas.access_time_s(OVERHEAD_S, SEEK_S, disk.rpm, size_bytes, disk.media_rate)
    switch = formulas.switch_time_s(sectors, disk.track_sectors, disk.switch_s)
    return float(time + switch)
