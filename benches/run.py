"""Measures what the design promises and prints one JSON document (also `out/bench.json`).

Every case runs in a process of its own; speeds are per second of one core and the best of seven
runs, because the machine may be shared. What runs on two threads is wall time. DiskSim 4.0's
speeds on such a machine (`-O2`) are given beside ours for the ratios. Where valgrind is there, the
instructions of one request are counted, which do not depend on other load.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import headstack

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("HEADSTACK_SHARED", ROOT.parent / "shared"))
# Requests per second of DiskSim 4.0 on a machine of this kind, one core.
DISKSIM_FCFS = 67_000
DISKSIM_SPTF = 68_000
# Requests per second with which a queue in the order of today's firmware has a mean length of 17.
AGED_RATE = 205


def bench_binary() -> Path:
    """Build the measuring program."""
    package = ["-p", "headstack-experiment", "--example", "bench"]
    command = ["cargo", "build", "--release", "-q", *package]
    subprocess.run(command, cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "examples" / "bench"


def merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Change nested values of a table."""
    result = dict(base)
    for key, value in changes.items():
        if isinstance(value, dict) and isinstance(result.get(key), dict):
            value = merged(result[key], value)
        result[key] = value
    return result


def full_cache_drive() -> tuple[str, dict[str, Any]]:
    """Give the IBM 18ES with all that was measured of it, or the nearest that is bundled."""
    parameters = SHARED / "data" / "disksim" / "ibm18es.parv"
    if parameters.exists():
        return "ibm18es (DiskSim parameter file)", json.loads(headstack._core.import_disksim(str(parameters)))["spec"]
    base = tomllib.loads((ROOT / "drives" / "ibm-18es.toml").read_text())
    cache = {
        "enabled": True,
        "segments": 11,
        "segment_sectors": 356,
        "read_ahead": "limit",
        "read_ahead_sectors": 356,
        "write_back": True,
        "append_writes": True,
    }
    overhead = {"read_hit": {"after_read": "0.1 ms", "after_write": "0.2 ms"}}
    link = {"rate": "5 MB/s"}
    return "ibm-18es with a cache", merged(base, {"cache": cache, "overhead": overhead, "link": link})


def sized(base: dict[str, Any], blocks: int) -> dict[str, Any]:
    """Give a logging disk of so many blocks of 4 KiB, 10,000 in a cylinder, half of it written."""
    cylinders = blocks // 10_000
    zone = {"first_cylinder": 0, "last_cylinder": cylinders - 1, "sectors_per_track": 4000}
    return merged(
        base,
        {
            "geometry": {"surfaces": 20, "cylinders": cylinders, "zones": [zone]},
            "seek": {"single": "0.5 ms", "full": f"{0.5 + (cylinders - 2) * 15e-6:.6f} ms", "cylinders": cylinders},
            "mapping": {"model": "log", "initial_blocks": blocks // 2},
        },
    )


def counted(binary: Path, *args: Any) -> tuple[int, int | None]:
    """Run a case under callgrind; return its instructions, and requests to drives where it says."""
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command = [*tool, str(binary), *map(str, args)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    (found,) = re.findall(r"Collected : (\d+)", done.stderr)
    return int(found), json.loads(done.stdout)["drive_requests"]


def instructions(binary: Path, name: str, sizes: tuple[int, int], *args: Any) -> float:
    """Return the instructions of one request: the difference of two lengths of a run.

    They do not depend on what else the machine does. Requests are those to drives where the case
    counts them.
    """
    (few, started), (many, ended) = (counted(binary, name, n, *args) for n in sizes)
    requests = sizes[1] - sizes[0] if started is None or ended is None else ended - started
    found = (many - few) / requests
    print(f"{name} {sizes[1]}: {found:,.0f} instructions a request", file=sys.stderr)
    return found


def main() -> None:
    """Run every case and report."""
    binary = bench_binary()

    def case(*args: Any, runs: int = 7) -> dict[str, Any]:
        best: dict[str, Any] = {}
        for _ in range(runs):
            done = subprocess.run([binary, *map(str, args)], check=True, capture_output=True, text=True)
            found = json.loads(done.stdout)
            if not best or found["per_s"] > best["per_s"]:
                best = found
        print(f"{' '.join(map(str, args[:2]))}: {best['per_s']:.3g} /s", file=sys.stderr)
        return best

    plain = tomllib.loads((ROOT / "drives" / "ibm-18es.toml").read_text())
    full_name, full = full_cache_drive()
    with tempfile.TemporaryDirectory() as folder:

        def drive(name: str, spec: dict[str, Any], **changes: Any) -> Path:
            path = Path(folder) / f"{name}.json"
            path.write_text(json.dumps(merged(spec, changes)))
            return path

        off = {"enabled": False, "write_back": False}
        fcfs = drive("fcfs", plain, cache=off, queue={"scheduler": "fcfs", "depth": 0})
        cached = drive("cached", full, queue={"scheduler": "fcfs", "depth": 0})
        sptf = drive("sptf", plain, cache=off, queue={"scheduler": "sptf", "depth": 0})
        # As today's firmware: the same queue at a lower rate.
        depth_aged = drive("aged", plain, cache=off, queue={"scheduler": "depth-aged-sptf", "depth": 0})
        four = drive("four-arms", plain, cache=off, queue={"scheduler": "sptf", "depth": 0}, dash="D1A4S1H1")
        # What the array of 16 large drives does at one request a millisecond.
        large_drive = tomllib.loads((ROOT / "drives" / "barracuda-es-750.toml").read_text())
        member = drive("member", large_drive, queue={"scheduler": "sptf", "depth": 0})
        deep = drive("deep", large_drive, cache=off, queue={"scheduler": "sptf", "depth": 0})
        no_cache = case("drive", 1_000_000, fcfs, 40)
        full_cache = case("drive", 1_000_000, cached, 40)
        one_arm = case("drive", 1_000_000, sptf, 258)
        aged = case("drive", 1_000_000, depth_aged, AGED_RATE)
        four_arm = case("drive", 500_000, four, 370)
        raid = case("raid", 1_000_000, member, 1000, 16)
        shallow, full_queue = case("depth", 200_000, deep, 64), case("depth", 200_000, deep, 4096)
        # The logging disk of Chandy's paper; writes only, which is the most work.
        log = {
            "mapping": {
                "model": "log",
                "initial": "written",
                "initial_blocks": 125_000,
                "policy_parameters": {"ties": "any"},
            },
            "positioning": {"settle_before_every_write": True},
        }
        logging = case("log", 1_000_000, drive("log", plain, **log), 0, 125_000)
        # Disks of 10^5 and 10^10 blocks with cylinders alike, half full.
        sizes = [
            case("log", 500_000, drive(f"log-{blocks}", sized(plain, blocks)), 0, 50_000) for blocks in (10**5, 10**10)
        ]
        spc = case("spc", 2_000_000)
        helium = tomllib.loads((ROOT / "drives" / "exos-x18.toml").read_text())
        built = case("build", 1_000, drive("built", helium))
        capped, on_one = (case("cap", 3_300, threads, runs=3) for threads in (2, 1))
        parity = case("raid5", 500_000, runs=3)
        closed = case("closed", 1_000_000, 1_000, 10_000, 2, runs=3)
        opened = case("open", 2_000_000, 10_000, 500_000, 2, runs=3)
        lengths = (50_000, 100_000)
        per_request = (
            {}
            if shutil.which("valgrind") is None
            else {
                "in_order": instructions(binary, "drive", lengths, fcfs, 40),
                "full_cache": instructions(binary, "drive", lengths, cached, 40),
                "sptf_queue17": instructions(binary, "drive", lengths, sptf, 258),
                "depth_aged_sptf_queue17": instructions(binary, "drive", lengths, depth_aged, AGED_RATE),
                "four_arm_sptf_queue17": instructions(binary, "drive", lengths, four, 370),
                "capped_host_path": instructions(binary, "cap", (20, 40), 1),
                "raid5_drive_request": instructions(binary, "raid5", (20_000, 40_000)),
                "closed_1000_drives": instructions(binary, "closed", lengths, 1_000, 10_000, 1),
            }
        )
        sweep = [sys.executable, str(ROOT / "benches" / "sweep.py"), "200"]
        swept = json.loads(subprocess.check_output(sweep, cwd=ROOT))
        small = case("drive", 1_000_000, fcfs, 40, runs=1)
        large = case("drive", 100_000_000, fcfs, 40, runs=1)

    result = {
        "fcfs_no_cache_requests_per_s": no_cache["per_s"],
        "fcfs_full_cache_requests_per_s": full_cache["per_s"],
        "full_cache_drive": full_name,
        "sptf_queue17_requests_per_s": one_arm["per_s"],
        "sptf_queue17_queue_mean": one_arm["queue_mean"],
        "depth_aged_sptf_queue17_requests_per_s": aged["per_s"],
        "depth_aged_sptf_queue17_queue_mean": aged["queue_mean"],
        "four_arm_sptf_queue17_requests_per_s": four_arm["per_s"],
        "four_arm_sptf_queue17_queue_mean": four_arm["queue_mean"],
        "raid_16_drives_1e6_requests_s": 1_000_000 / raid["per_s"],
        "sptf_decision_ratio_depth_4096_to_64": shallow["per_s"] / full_queue["per_s"],
        "log_18es_1e6_writes_s": 1_000_000 / logging["per_s"],
        "log_time_ratio_1e10_to_1e5_blocks": sizes[0]["per_s"] / sizes[1]["per_s"],
        "spc_lines_per_s": spc["per_s"],
        "capped_16_drives_55_minutes_s": 3_300 / capped["per_s"],
        "capped_16_drives_55_minutes_one_thread_s": 3_300 / on_one["per_s"],
        "closed_1000_drives_1e7_requests_s": 10**7 / closed["per_s"],
        "open_10000_drives_1e7_requests_s": 10**7 / opened["per_s"],
        "peak_rss_bytes_10000_drives_open": opened["peak_rss_bytes"],
        "raid5_8_drives_drive_requests_per_s": parity["per_s"],
        "instructions_per_request": per_request or "got no valgrind, need it to count",
        "sweep": swept,
        "build_1000_drives_s": 1_000 / built["per_s"],
        "peak_rss_bytes_1000_drives": built["peak_rss_bytes"],
        "peak_rss_bytes_1e6": small["peak_rss_bytes"],
        "peak_rss_bytes_1e8": large["peak_rss_bytes"],
        "ratio_to_disksim_fcfs_full_cache": full_cache["per_s"] / DISKSIM_FCFS,
        "ratio_to_disksim_sptf": one_arm["per_s"] / DISKSIM_SPTF,
        "ratio_of_four_arms_to_disksim_one_arm": four_arm["per_s"] / DISKSIM_SPTF,
        "disksim_requests_per_s": {"fcfs_full_cache": DISKSIM_FCFS, "sptf": DISKSIM_SPTF},
        "machine": {
            "cpu": platform.processor() or platform.machine(),
            "cores": os.cpu_count(),
            "system": platform.platform(),
        },
        "version": headstack.__version__,
    }
    out = ROOT / "out"
    out.mkdir(exist_ok=True)
    (out / "bench.json").write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
