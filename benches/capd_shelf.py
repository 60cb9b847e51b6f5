"""A shelf of emulated drives under fio, and `headstack-capd` on their control directories.

Prints a table: power of a drive, rates and settings of each tier under the caps of Figure 10 of
PCAP, live and in the simulation.

    .venv/bin/python benches/capd_shelf.py [--policy pcap-s] [--step 40]

The drives are `ultrastar-7k4000-pcap` under mq-deadline with 128 places, in three tiers of 5, 5 and
6, in real time, each with 128 requests of fio outstanding over NBD. Their meters are added. The
daemon is the program itself. It needs fio with its NBD engine, and FUSE.
"""

import argparse
import contextlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import capd
import pandas as pd

import headstack

TIERS = (5, 5, 6)
#: Caps of Figure 10 at the drives: there the meter stands before a supply of 83 %.
CAPS = tuple(0.83 * cap for cap in (200, 190, 185, 170, 195, 150, 180, 205))
THREADS = 128
QUEUE = {"name": "host-queue", "elevator": "mq-deadline", "nr_requests": 128, "depth": 32}
#: Seconds without a cap, and those after a change of the cap that are left out.
FREE, SETTLE = 20.0, 15.0
#: Age of what the daemon takes for the power now; see the guide.
DELAY = "1 s"


@dataclass(frozen=True)
class Step:
    """A tier under a cap: watts and requests per second of a drive, and its settings at the end."""

    cap: float | None
    watts: tuple[float, ...]
    rate: tuple[float, ...]
    settings: tuple[tuple[int, int, int], ...]

    @property
    def total(self) -> float:
        """Watts of the shelf."""
        return sum(n * w for n, w in zip(TIERS, self.watts, strict=True))

    @property
    def reads(self) -> float:
        """Requests per second of the shelf."""
        return sum(n * r for n, r in zip(TIERS, self.rate, strict=True))


def tiers() -> Iterator[slice]:
    """Yield the drives of each tier."""
    first = 0
    for n in TIERS:
        yield slice(first, first + n)
        first += n


def by_tier(values: Sequence[float]) -> tuple[float, ...]:
    """Return the mean of each tier."""
    return tuple(fmean(values[tier]) for tier in tiers())


def need() -> None:
    """Raise `AbsentError` where it cannot be run."""
    if shutil.which("fio") is None:
        raise capd.AbsentError("fio is absent")
    said = subprocess.run(["fio", "--enghelp"], capture_output=True, text=True, check=False)
    if "nbd" not in said.stdout:
        raise capd.AbsentError("fio has no NBD engine")
    if not Path("/dev/fuse").exists():
        raise capd.AbsentError("FUSE is absent")
    capd.program()


def config(folder: Path, policy: str, parameters: Mapping[str, Any]) -> str:
    """Return the daemon's configuration."""
    given = ", ".join(f"{key} = {json.dumps(value)}" for key, value in parameters.items())
    text = (
        f'apply = true\noriginals = "{folder}/originals.json"\nsocket = "{folder}/capd"\n'
        f'[[group]]\nname = "shelf"\npolicy = "{policy}"\nparameters = {{ {given} }}\n'
        f'cap_file = "{folder}/cap"\n'
    )
    drive = 0
    for tier, n in enumerate(TIERS, 1):
        for _ in range(n):
            text += f'[[group.drive]]\npath = "{folder}/control/{drive}"\ntier = {tier}\n'
            text += f'[[group.meter]]\nhwmon = "{folder}/control/{drive}/hwmon/power1_average"\n'
            drive += 1
    return text


class Files:
    """The control directories of the drives."""

    def __init__(self, folder: Path) -> None:
        """Read those in this folder."""
        self.folder = folder

    def numbers(self, name: str) -> list[float]:
        """Return the first number of a file of each drive."""
        files = [self.folder / str(i) / name for i in range(sum(TIERS))]
        return [float(file.read_text().split()[0]) for file in files]

    def clock(self) -> float:
        """Return simulated seconds."""
        page = (self.folder / "metrics").read_text()
        found = re.search(r"(?m)^headstack_simulated_seconds (\S+)", page)
        assert found is not None
        return float(found[1])

    def settings(self) -> tuple[tuple[int, int, int], ...]:
        """Return the settings of the first drive of each tier."""
        names = ("queue/nr_requests", "device/queue_depth", "queue/iosched/read_expire")
        columns = [self.numbers(name) for name in names]
        return tuple((int(columns[0][t.start]), int(columns[1][t.start]), int(columns[2][t.start])) for t in tiers())

    def measure(self, seconds: float, cap: float | None) -> Step:
        """Return means over some seconds."""

        def all_of() -> tuple[float, list[float], list[float]]:
            return self.clock(), self.numbers("hwmon/energy1_input"), self.numbers("stat")

        (begun, joules, done), _ = all_of(), time.sleep(seconds)
        ended, joules_then, done_then = all_of()
        passed = ended - begun
        watts = [(b - a) / 1e6 / passed for a, b in zip(joules, joules_then, strict=True)]
        rates = [(b - a) / passed for a, b in zip(done, done_then, strict=True)]
        return Step(cap, by_tier(watts), by_tier(rates), self.settings())


@contextlib.contextmanager
def load(uris: Sequence[str]) -> Iterator[None]:
    """Keep requests outstanding at each drive."""
    words = "--name=r --ioengine=nbd --rw=randread --bs=4k --size=4000g --time_based --runtime=3600"
    fio = ["fio", *words.split(), f"--iodepth={THREADS}", "--random_generator=tausworthe64"]
    running = [
        subprocess.Popen(
            [*fio, f"--uri={uri}", f"--randseed={n}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for n, uri in enumerate(uris, 1)
    ]
    try:
        yield
    finally:
        for one in running:
            one.terminate()
        for one in running:
            one.wait()


@contextlib.contextmanager
def daemon(config: Path, log: Path) -> Iterator[None]:
    """Run the daemon; at its end it must have restored all."""
    with log.open("w") as said:
        running = subprocess.Popen([capd.program(), "run", config], stderr=said)
        try:
            yield
        finally:
            running.terminate()
            code = running.wait(60)
    assert code == 0, log.read_text()[-2000:]


def live(policy: str, parameters: Mapping[str, Any], caps: Sequence[float], step: float) -> list[Step]:
    """Return what the shelf did: first without a cap, then under each for so many seconds."""
    found = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        shelf = folder / "shelf.toml"
        queue = ", ".join(f"{key} = {json.dumps(value)}" for key, value in QUEUE.items())
        shelf.write_text(
            '[workload]\nsynthetic = { n_requests = 1, rate = "1/s" }\n[[system]]\nname = "shelf"\n'
            f'drive = "{capd.DRIVE}"\ncount = {sum(TIERS)}\nlayers = [{{ {queue} }}]\n'
        )
        file = folder / "capd.toml"
        file.write_text(config(folder, policy, parameters))
        (folder / "cap").write_text("")
        socket = folder / "disk"
        with headstack.emulate(shelf, nbd=f"unix:{socket}", control=folder / "control"):
            uris = [f"nbd+unix:///{i}?socket={socket}" for i in range(sum(TIERS))]
            files = Files(folder / "control")
            before = files.settings()
            with load(uris):
                # The daemon is not to learn from drives whose load has only begun.
                time.sleep(FREE / 2)
                with daemon(file, folder / "log"):
                    time.sleep(FREE / 4)
                    found.append(files.measure(FREE / 2, None))
                    for cap in caps:
                        (folder / "cap").write_text(f"{cap:.2f}")
                        time.sleep(SETTLE)
                        found.append(files.measure(step - SETTLE, cap))
            assert files.settings() == before
    return found


def simulated(
    policy: str, parameters: Mapping[str, Any], caps: Sequence[float], step: float, seed: int = 1, delay: str = DELAY
) -> list[Step]:
    """Return the same of the simulation."""
    ends = [FREE + step * n for n in range(len(caps) + 1)]
    requests = {"reads": 1.0, "size": "4 KiB", "footprint": "4000 GB"}
    job = {"threads": THREADS, "devices": sum(TIERS), "duration": f"{ends[-1]} s", "requests": requests}
    schedule = [{"at": f"{t} s", "cap": f"{cap:.2f} W"} for t, cap in zip(ends, caps, strict=False)]
    system = {
        "name": "shelf",
        "drive": capd.DRIVE,
        "count": sum(TIERS),
        "layers": [QUEUE],
        "capping": {
            "policy": policy,
            "parameters": {**parameters, "tiers": list(TIERS)},
            "caps": schedule,
            "delay": delay,
        },
    }
    with tempfile.TemporaryDirectory() as out:
        headstack.run(workload={"jobs": [job]}, systems=system, seed=seed, out=out, log_requests=False)
        (file,) = Path(out).glob("capping-drives-*.parquet")
        rows = pd.read_parquet(file)
    found = []
    for n, end in enumerate(ends):
        begin = FREE / 2 if n == 0 else ends[n - 1] + SETTLE
        inside = rows[(rows.t_s > begin) & (rows.t_s <= end)]
        means = inside.groupby("drive")[["power_w", "throughput_iops"]].mean()
        # At the very end the next cap is there.
        before = inside[inside.t_s < end]
        last = before[before.t_s == before.t_s.max()].set_index("drive")
        told = [last.loc[tier.start] for tier in tiers()]
        settings = [(int(row.nr_requests), int(row.queue_depth), round(row.read_expire_s * 1e3)) for row in told]
        found.append(
            Step(
                None if n == 0 else caps[n - 1],
                by_tier(list(means.power_w)),
                by_tier(list(means.throughput_iops)),
                tuple(settings),
            )
        )
    return found


def table(real: Sequence[Step], ours: Sequence[Step]) -> str:
    """Return means under each cap, live and simulated."""
    lines = [
        "| cap, W | power, W | of a drive, by tier | reads/s of a drive | settings | simulated |",
        "|---|---|---|---|---|---|",
    ]
    for a, b in zip(real, ours, strict=True):
        cap = "none" if a.cap is None else f"{a.cap:.1f}"
        watts = "; ".join(f"{x:.2f}, {y:.2f}" for x, y in zip(a.watts, b.watts, strict=True))
        rates = "; ".join(f"{x:.0f}, {y:.0f}" for x, y in zip(a.rate, b.rate, strict=True))
        told = " | ".join("; ".join(f"{s}" for s in step.settings) for step in (a, b))
        lines.append(f"| {cap} | {a.total:.1f}, {b.total:.1f} | {watts} | {rates} | {told} |")
    return "\n".join(lines)


PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    # The paper's start, which the daemon takes without a cap only where it is asked for.
    "pcap-s": {"efficiency": 1.0, "period": "5 s", "start_nr_requests": 4, "start_queue_depth": 1},
    "learning": {},
}


def main() -> None:
    """Measure, simulate, print the table."""
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    ask.add_argument("--policy", choices=list(PARAMETERS), default="pcap-s")
    ask.add_argument("--step", type=float, default=40.0)
    ask.add_argument("--caps", type=float, nargs="*", default=list(CAPS))
    asked = ask.parse_args()
    parameters = PARAMETERS[asked.policy]
    real = live(asked.policy, parameters, asked.caps, asked.step)
    print(table(real, simulated(asked.policy, parameters, asked.caps, asked.step)))


if __name__ == "__main__":
    try:
        need()
        main()
    except capd.AbsentError as reason:
        sys.exit(str(reason))
