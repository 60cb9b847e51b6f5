"""Power, throughput and p99 by queue sizes and the expiry of reads, for the map of feed-forward.

``python -m headstack.papers.pcap.expiry`` prints the tables of
``crates/control/src/ultrastar_7k4000.rs`` that have an expiry other than 500 ms. With ``--elevator
mq-deadline --seed 2`` it prints those of the table drive of ``crates/control/tests``.
"""

import argparse
from collections.abc import Mapping
from typing import Any

import headstack
from headstack.schema import System
from headstack.schema.words import ElevatorName

from . import runs

#: Times from a read's arrival to its deadline, in milliseconds.
EXPIRIES_MS = (700, 1000, 2000, 3000)

#: Places of the host's queue, by row; shorter queues are served before the shortest expiry.
PLACES = (16, 24, 32, 64, 96, 128)

#: Depths of the drive's queue, by column.
DEPTHS = (1, 2, 4, 8, 16, 32)

#: Measured seconds of each run, after the warm-up.
SECONDS, WARM_UP_S = 1800, 30


def measure(expiry_ms: float, elevator: ElevatorName, seed: int) -> dict[tuple[int, int], Mapping[str, Any]]:
    """Return the result for each pair of places and depth under random reads of 128 threads."""
    systems: list[System] = []
    for places in PLACES:
        for depth in DEPTHS:
            queue = runs.queue(depth, places, elevator)
            queue["elevator_parameters"] = {"read_expire": f"{expiry_ms} ms"}
            systems.append(
                {"name": f"{places}/{depth}", "drive": runs.DRIVE, "layers": [queue], "capping": {"policy": "none"}}
            )
    jobs = [runs.job(128, duration=f"{SECONDS + WARM_UP_S} s")]
    result = headstack.run(
        workload={"jobs": jobs, "warm_up": f"{WARM_UP_S} s"}, systems=systems, seed=seed, log_requests=False
    )
    found = {s["name"]: s for s in result.document["systems"]}
    return {(n, d): found[f"{n}/{d}"] for n in PLACES for d in DEPTHS}


def table(results: Mapping[tuple[int, int], Mapping[str, Any]], quantity: str, digits: int) -> list[str]:
    """Return the rows of a table: ``power_w``, ``iops`` or ``p99_s``."""

    def value(result: Mapping[str, Any]) -> float:
        if quantity == "power_w":
            return float(result["power_w"]["mean"])
        if quantity == "iops":
            return float(result["throughput_iops"])
        return float(result["capping"]["admitted_response_time_s"]["p99"])

    return ["[" + ", ".join(f"{value(results[n, d]):.{digits}f}" for d in DEPTHS) + "]" for n in PLACES]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--elevator", default="deadline")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for expiry_ms in EXPIRIES_MS:
        results = measure(expiry_ms, given.elevator, given.seed)
        print(f"expiry {expiry_ms} ms")
        for quantity, digits in (("power_w", 2), ("iops", 1), ("p99_s", 3)):
            print(f"    {quantity}: [")
            for row in table(results, quantity, digits):
                print(f"        {row},")
            print("    ],")


if __name__ == "__main__":
    main()
