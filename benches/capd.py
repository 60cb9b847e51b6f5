"""`headstack-capd` in a guest, on emulated SCSI drives whose power the guest reads at a port.

The daemon is the program itself. It writes the kernel's own files in `/sys/block`, and finds the
drives by names below `/dev/disk/by-id`. The meter is that of the emulated drives: once a second
this process writes a line with the mean power of each group of drives since the line before, and a
loop in the guest writes each number to a file, which the daemon's configuration names.

`benches/live_caps.py` and tests use it.
"""

import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import guest

import headstack

DRIVE = "ultrastar-7k4000-pcap"
ROOT = Path(__file__).parents[1]
MODULES = (*guest.SCSI_MODULES, "virtio_console")

#: What every script begins with. `find_drives` makes the names of drives, as udev does; the number
#: of a drive is its address at the adapter. `tell TEXT` notes the time of something.
PRELUDE = """
mkdir -p /run/capd /dev/disk/by-id /var/lib
find_drives() {
    rm -f /dev/disk/by-id/*
    for d in /sys/block/sd*; do
        a=$(readlink $d/device); a=${a##*/}; a=${a#*:*:}; a=${a%:*}
        ln -s ../../${d##*/} /dev/disk/by-id/drive-$a
    done
}
settings() { # NUMBER: the settings of a drive in a line
    d=/sys/block/$(readlink /dev/disk/by-id/drive-$1 | sed 's/.*[/]//')
    echo $(cat $d/queue/nr_requests $d/device/queue_depth $d/queue/iosched/read_expire 2>&1)
}
usual() { # FOLDER: the settings of before; under `none` places are tags of the adapter
    echo none > $1/queue/scheduler; echo 32 > $1/queue/nr_requests
    echo 32 > $1/device/queue_depth; echo mq-deadline > $1/queue/scheduler
    echo 128 > $1/queue/nr_requests
}
n=0; while [ $(ls -d /sys/block/sd* | wc -l) -lt $DRIVES ] && [ $n -lt 100 ]; do
    sleep 0.1; n=$((n + 1))
done
find_drives
for d in /sys/block/sd*; do usual $d; done
p=$(ls /dev/vport* | head -1)
exec 3<>$p
tell() { echo "$*" >&3; }
meter() {
    while read -r line <&3; do
        n=0
        for w in $line; do echo $w 2>/dev/null > /run/watts.$n; n=$((n + 1)); done
    done
}
meter & METER=$!
for c in $(seq 0 15); do : > /run/cap.$c; done
while [ ! -s /run/watts.0 ]; do sleep 0.1; done
"""

#: Random reads of 4 KiB by threads of fio.
FIO = (
    "fio --name=c --direct=1 --rw=randread --bs=4k --size=100% --thread --group_reporting "
    "--norandommap --random_generator=tausworthe64 --output-format=json "
    "--percentile_list=50:80:99"
)


class AbsentError(guest.AbsentError):
    """The daemon is not there and cannot be built."""


def program() -> str:
    """Return the path of `headstack-capd`: that of ``HEADSTACK_CAPD``, else it is built."""
    given = os.environ.get("HEADSTACK_CAPD")
    if given is not None:
        path = Path(given).resolve()
        if path.name != "headstack-capd" or not path.is_file():
            raise AbsentError(f"HEADSTACK_CAPD: got {given}, need a path of headstack-capd")
        return str(path)
    if shutil.which("cargo") is None:
        raise AbsentError("headstack-capd is absent: cargo is, and HEADSTACK_CAPD is not set")
    build = ["cargo", "build", "--release", "-q", "-p", "headstack-host"]
    subprocess.run(build, cwd=ROOT, check=True)
    return str(ROOT / "target" / "release" / "headstack-capd")


@dataclass(frozen=True)
class Group:
    """Drives behind a meter.

    Attributes:
        policy: its name.
        parameters: its parameters.
        tiers: numbers of drives of each tier, the best first.
        efficiency: of the power supply between the meter and the drives.
    """

    policy: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    tiers: tuple[int, ...] = (1,)
    efficiency: float = 1.0

    @property
    def drives(self) -> int:
        """How many there are."""
        return sum(self.tiers)

    def toml(self, number: int, first: int) -> str:
        """Return its part of the configuration; its drives have numbers from `first` on."""
        values = {str: lambda v: f'"{v}"', bool: lambda v: str(v).lower()}
        parameters = ", ".join(f"{k} = {values.get(type(v), str)(v)}" for k, v in self.parameters.items())
        text = (
            f'[[group]]\nname = "g{number}"\npolicy = "{self.policy}"\n'
            f'parameters = {{ {parameters} }}\ncap_file = "/run/cap.{number}"\n'
            f'meter = [{{ file = "/run/watts.{number}" }}]\ntolerance = "0.2 W"\n'
        )
        for tier, n in enumerate(self.tiers, 1):
            for _ in range(n):
                cgroup = '\ncgroup = "/sys/fs/cgroup/load"' if self.policy == "throttle" else ""
                text += f'[[group.drive]]\nid = "drive-{first}"\ntier = {tier}{cgroup}\n'
                first += 1
        return text


def config(groups: Sequence[Group]) -> str:
    """Return the daemon's configuration."""
    text = 'apply = true\noriginals = "/run/capd/originals.json"\nsocket = "/run/capd/socket"\n'
    first = 0
    for n, group in enumerate(groups):
        text += group.toml(n, first)
        first += group.drives
    return text


@dataclass(frozen=True)
class Note:
    """What the drives have used and done until a simulated time.

    Attributes:
        time: seconds.
        joules: of each drive.
        requests: of each drive.
    """

    time: float
    joules: tuple[float, ...]
    requests: tuple[float, ...]


@dataclass
class Live:
    """What happened in a guest, by the clock of the emulated drives.

    Attributes:
        notes: four in a second.
        events: what the guest told, and when.
        files: what it left in /out.
        record: rows of the recorded requests: arrival in ns, drive, response in ns.
    """

    notes: list[Note] = field(default_factory=list)
    events: list[tuple[float, str]] = field(default_factory=list)
    files: Mapping[str, bytes] = field(default_factory=dict)
    record: list[tuple[int, int, int]] = field(default_factory=list)

    def at(self, text: str) -> float:
        """Return when the guest told this first."""
        return next(time for time, told in self.events if told == text)

    def means(self, begin: float, end: float) -> tuple[list[float], list[float]]:
        """Return power and requests per second of each drive between two times."""
        inside = [note for note in self.notes if begin <= note.time <= end]
        a, b = inside[0], inside[-1]
        passed = b.time - a.time

        def rates(before: Sequence[float], after: Sequence[float]) -> list[float]:
            return [(y - x) / passed for x, y in zip(before, after, strict=True)]

        return rates(a.joules, b.joules), rates(a.requests, b.requests)

    def mean_gap(self, begin: float, end: float, drives: range | None = None) -> float:
        """Return the mean time from an end to the next arrival, one command at a time.

        The mean and not the median, which says nothing about the rate: some gaps are ten times as
        long as most. Arrivals while another command is in the drive do not count.
        """
        gaps = []
        last: dict[int, int] = {}
        for arrival, drive, response in sorted(self.record):
            if drives is not None and drive not in drives:
                continue
            if begin <= arrival / 1e9 < end and last.get(drive, arrival + 1) <= arrival:
                gaps.append(arrival - last[drive])
            last[drive] = max(arrival + response, last.get(drive, 0))
        return fmean(gaps) / 1e9


class Meter(threading.Thread):
    """The meters of groups of emulated drives, at a socket; takes what the guest tells there."""

    def __init__(self, disk: Any, groups: Sequence[Group], path: Path, told: Callable[[Any, str], None]) -> None:
        """Listen there; `told` gets the emulation and what the guest tells."""
        super().__init__(daemon=True)
        self._disk, self._groups, self._told = disk, groups, told
        self._ends = threading.Event()
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(os.fspath(path))
        self._server.listen(1)
        self._server.settimeout(60)
        self.live = Live()
        self.start()

    def _note(self) -> Note:
        page = self._disk.metrics
        now = re.search(r"(?m)^headstack_simulated_seconds (\S+)", page)
        assert now is not None
        joules = re.findall(r"(?m)^headstack_energy_joules_total\S* (\S+)", page)
        done = re.findall(r'(?m)^headstack_requests_total\{device="\d+",op="read"\} (\S+)', page)
        return Note(float(now[1]), tuple(map(float, joules)), tuple(map(float, done)))

    def run(self) -> None:
        """Note four times a second, and write a line at each fourth."""
        try:
            guest_end, _ = self._server.accept()
        except TimeoutError:
            return
        guest_end.settimeout(0.05)
        rest, said = b"", None
        while not self._ends.wait(0.2):
            note = self._note()
            self.live.notes.append(note)
            if said is None or note.time - said.time > 0.97:
                if said is not None:
                    self._say(guest_end, said, note)
                said = note
            try:
                rest += guest_end.recv(4096)
            except TimeoutError:
                continue
            except OSError:
                return
            *lines, rest = rest.split(b"\n")
            for line in lines:
                self.live.events.append((note.time, line.decode().strip()))
                self._told(self._disk, line.decode().strip())

    def _say(self, guest_end: socket.socket, before: Note, now: Note) -> None:
        first, watts = 0, []
        for group in self._groups:
            mine = slice(first, first + group.drives)
            joules = sum(now.joules[mine]) - sum(before.joules[mine])
            watts.append(joules / (now.time - before.time) / group.efficiency)
            first += group.drives
        try:
            guest_end.sendall((" ".join(f"{w:.3f}" for w in watts) + "\n").encode())
        except OSError:
            # The guest does not read, or has ended.
            self.live.events.append((now.time, "a reading was lost"))

    def stop(self) -> None:
        """Note no more."""
        self._ends.set()
        self.join()
        self._server.close()


def run(
    groups: Sequence[Group],
    script: str,
    *,
    seconds: float = 400,
    more: Sequence[str] = (),
    speed: float = 1.0,
    memory_mib: int = 768,
    told: Callable[[Any, str], None] = lambda disk, text: None,
) -> Live:
    """Boot a guest with these groups of drives and the daemon; run a script after `PRELUDE`.

    The configuration is `/etc/capd.toml`; drive and group numbers are those of the order given.
    `told` is called with the emulation and each text that the script tells.
    """
    daemon = program()
    drives = sum(group.drives for group in groups)
    with tempfile.TemporaryDirectory() as folder:
        shelf, record = Path(folder) / "shelf.toml", Path(folder) / "record.csv"
        shelf.write_text(
            '[workload]\nsynthetic = { n_requests = 1, rate = "1/s" }\n'
            f'[[system]]\nname = "shelf"\ndrive = "{DRIVE}"\ncount = {drives}\n'
        )
        with headstack.emulate(shelf, iscsi=True, record=record, speed=speed) as disk:
            meter = Meter(disk, groups, Path(folder) / "meter", told)
            meter.live.files = guest.run(
                disk.urls,
                f"DRIVES={drives}\n{PRELUDE}{script}",
                programs=("fio", daemon, *more),
                modules=MODULES,
                seconds=seconds,
                kernel=guest.BACKPORTS,
                files={"etc/capd.toml": config(groups).encode()},
                memory_mib=memory_mib,
                port=Path(folder) / "meter",
            )
            meter.stop()
        rows = [line.split(",") for line in record.read_text().splitlines()[1:]]
    meter.live.record = [(int(r[0]), int(r[1]), int(r[5])) for r in rows]
    return meter.live
