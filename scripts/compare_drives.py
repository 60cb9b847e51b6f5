#!/usr/bin/env python3
"""Print what is published about drives beside what their files here do, as a Markdown table.

The table of docs/models/drives.md is this output. Random reads: 4 KiB, or the size published, over
the whole drive, as many outstanding at the drive as published. Sequential reads: 1 MiB from the
first addresses on, one stream for each actuator that has addresses of its own.

    python scripts/compare_drives.py
"""

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import headstack
from headstack import drives


class Fact(NamedTuple):
    """One published number and how to get ours."""

    drive: str
    what: str
    published: float
    source: str
    tuned: bool


CDL_TOOLS = "README of cdl-tools, a 22 TB drive"
TOMS_2X14 = "Tom's Hardware, May 2021"
TOMS_2X18 = "Tom's Hardware, Nov. 2022"
FACTS = (
    Fact("exos-x18", "sequential MB/s", 270, "computerbase.de, Nov. 2022", True),
    Fact("exos-x18", "random reads/s, depth 16", 170, "data sheet DS2045-4", True),
    Fact("exos-x18", "random writes/s, depth 16", 550, "data sheet DS2045-4", False),
    Fact("ultrastar-hc570", "reads of 128 KiB/s, depth 1", 82, CDL_TOOLS, True),
    Fact("ultrastar-hc570", "reads of 128 KiB/s, depth 4", 97, CDL_TOOLS, True),
    Fact("ultrastar-hc570", "reads of 128 KiB/s, depth 16", 141, CDL_TOOLS, True),
    Fact("ultrastar-hc570", "reads of 128 KiB/s, depth 32", 165, CDL_TOOLS, True),
    Fact("ultrastar-hc570", "their p99 in ms, depth 32", 323, CDL_TOOLS, True),
    Fact("exos-2x14", "sequential MB/s", 524, TOMS_2X14, True),
    Fact("exos-2x14", "random reads/s, depth 16", 304, TOMS_2X14, True),
    Fact("exos-2x14", "random writes/s, depth 16", 384, TOMS_2X14, True),
    Fact("exos-2x14", "idle W", 7.2, TOMS_2X14, True),
    Fact("exos-2x14", "random-read W, depth 16", 13.5, TOMS_2X14, True),
    Fact("exos-2x18-sas", "sequential MB/s", 545, TOMS_2X18, True),
    Fact("exos-2x18-sas", "random reads/s, depth 16", 304, TOMS_2X18, True),
    Fact("exos-2x18-sas", "random writes/s, depth 16", 560, TOMS_2X18, True),
    Fact("exos-2x18-sata", "sequential MB/s", 545, "manual: 520 MiB/s", True),
    Fact("exos-2x18-sata", "random reads/s, depth 16", 304, TOMS_2X18, True),
    Fact("exos-2x18-sata", "random writes/s, depth 16", 560, TOMS_2X18, True),
    Fact("ultrastar-hs760", "sequential MB/s", 582, "AnandTech, Jan. 2023", True),
    Fact("ultrastar-hs760", "random reads, times one actuator", 1.7, "AnandTech, Jan. 2023", False),
    Fact("constellation-es3-4tb", "sequential MB/s", 175, "manual, rev. C", True),
    Fact("constellation-es3-4tb", "idle W", 7.97, "manual, rev. C, table 2", True),
    Fact("barracuda-es-750", "sequential MB/s", 72, "ISCA 2008, Table 1", True),
    Fact("barracuda-es-750", "idle W", 9.30, "manual, rev. D", True),
)


def _capacity(system: dict[str, Any]) -> int:
    spec = drives.load(system["drive"])
    blocks = spec["geometry"]["capacity_blocks"] * int(spec.get("dash", "D1")[1])
    return int(blocks) * 512


def _run(workload: dict[str, Any], system: dict[str, Any]) -> dict[str, Any]:
    result = headstack.run(workload=workload, systems=[{"organisation": "concatenate", **system}])
    found: dict[str, Any] = result.document["systems"][0]
    if found["n_errors"]:
        raise SystemExit(f"{system['drive']}: got {found['n_errors']} errors, need none")
    return found


def random_reads(drive: str, outstanding: int = 16, size: str = "4 KiB", **changes: Any) -> dict[str, Any]:
    """Return the result of random reads of a size with so many outstanding."""
    return _random({"drive": drive, **changes}, outstanding, 1000, reads=1.0, size=size)


def random_writes(drive: str) -> dict[str, Any]:
    """Return the result of random writes of 4 KiB at depth 16, counted after the buffer is full.

    The largest buffer holds 32,768 unwritten blocks. It is full when twice as many were written.
    """
    return _random({"drive": drive}, 16, 70_000, reads=0.0, size="4 KiB", n_requests=100_000)


def _random(system: dict[str, Any], outstanding: int, warm_up: int, **requests: Any) -> dict[str, Any]:
    synthetic = {
        "n_requests": 11_000,
        "sequential": 0.0,
        "arrivals": "poisson",
        "rate": "1000/s",
        "footprint": f"{_capacity(system) // 4096 * 4096} B",
        **requests,
    }
    closed = {"closed": {"outstanding": outstanding}}
    return _run({"synthetic": synthetic, "arrivals": closed, "warm_up": warm_up}, system)


def sequential_reads(drive: str) -> dict[str, Any]:
    """Return the result of sequential 1 MiB reads on every actuator."""
    spec = drives.load(drive)
    own = spec.get("parallelism", {}).get("arm_share") == "own-share"
    streams = int(spec["dash"].split("A")[1].split("S")[0]) if own else 1
    part = _capacity({"drive": drive}) // streams
    size = 1 << 20
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "sequential.csv"
        lines = ["time_s,op,offset_bytes,size_bytes"]
        for i in range(1000):
            lines += [f"0,R,{s * part // 4096 * 4096 + i * size},{size}" for s in range(streams)]
        trace.write_text("\n".join(lines) + "\n")
        workload = {"trace": str(trace), "arrivals": {"closed": {"outstanding": 4 * streams}}, "warm_up": 100 * streams}
        return _run(workload, {"drive": drive})


def ours(fact: Fact) -> float:
    """Return our number for a published one."""
    if fact.what == "sequential MB/s":
        return float(sequential_reads(fact.drive)["throughput_bytes_per_s"]) * 1e-6
    if fact.what == "random reads/s, depth 16":
        return float(random_reads(fact.drive)["throughput_iops"])
    if fact.what == "random writes/s, depth 16":
        return float(random_writes(fact.drive)["throughput_iops"])
    if fact.what.startswith("reads of 128 KiB/s, depth "):
        depth = int(fact.what.split()[-1])
        return float(random_reads(fact.drive, depth, "128 KiB")["throughput_iops"])
    if fact.what == "their p99 in ms, depth 32":
        return float(random_reads(fact.drive, 32, "128 KiB")["response_time_s"]["p99"]) * 1e3
    if fact.what == "random-read W, depth 16":
        return float(random_reads(fact.drive)["power_w"]["mean"])
    if fact.what == "random reads, times one actuator":
        one = random_reads(fact.drive, dash="D1A1S1H1")["throughput_iops"]
        return float(random_reads(fact.drive)["throughput_iops"] / one)
    # Next to nothing to do: one read a minute.
    idle = {
        "n_requests": 10,
        "reads": 1.0,
        "sequential": 0.0,
        "size": "4 KiB",
        "arrivals": "poisson",
        "rate": "1/min",
        "footprint": "1 GB",
    }
    return float(_run({"synthetic": idle}, {"drive": fact.drive})["power_w"]["mean"])


def row(fact: Fact) -> str:
    """Return one line of the table."""
    value = ours(fact)
    deviation = 100 * (value / fact.published - 1)
    cells = (
        f"`{fact.drive}`",
        fact.what,
        fact.source,
        f"{fact.published:g}",
        f"{value:.3g}",
        f"{deviation:+.1f} %",
        "yes" if fact.tuned else "no",
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    print("| drive | what | source | published | ours | deviation | tuned to it |")
    print("|---|---|---|---|---|---|---|")
    for fact in FACTS:
        print(row(fact))
