"""What a real kernel makes of a SCSI disk that fails: messages, time without progress, data.

Prints a table: for each fault, under random reads and writes that fio verifies, what Linux logs,
how long no request ended, the error that fio got, and whether wrong data were read. Then a mirror
of md, one disk of which hangs for ever.

    .venv/bin/python benches/error_handling.py [FAULT...]

The disks are emulated drives over iSCSI, and the guest's kernel is the initiator, so that its
aborts and resets reach the drives; the timeout is 4 s. (Where QEMU is the initiator, it waits
until the drive has ended a command that the guest aborts, and the whole guest with it: a disk that
hangs for ever stops it for ever.) Faults are asked for while fio runs, through a mark that the
guest sends: a read of a size of its own, which is in the record.
"""

import errno
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import guest

import headstack

DRIVE = "exos-x18"
#: Seconds after which the kernel gives up a command, and those that a load lasts.
TIMEOUT, SECONDS = 4, 24
#: Seconds into the load at which the fault begins.
FAULT_AT = 5.0
#: The load goes to these first MiB of the disk.
MIB = 64

Change = Mapping[str, Any]


@dataclass(frozen=True)
class Fault:
    """A fault, and what ends it.

    Attributes:
        name: for people.
        begin: the change that makes it.
        end: the change that ends it.
        lasts: seconds between both.
    """

    name: str
    begin: Change
    end: Change | None = None
    lasts: float = 0.0


def fault(**setting: Any) -> dict[str, Any]:
    """Return a change of the fault layer."""
    return {"layer": "fault", **setting}


#: Blocks in the middle of the load.
BLOCKS = {"block": 40_000, "blocks": 2_000}
FAULTS = {
    "slow": Fault(
        "one request in ten is 300 ms late", fault(slow={"ratio": 0.1, "by": "300 ms"}), fault(slow={"ratio": 0.0}), 8
    ),
    "stuck": Fault("hangs for 2 s", fault(stuck={"lasts": "2 s"})),
    "hang": Fault("hangs for 12 s, three timeouts", fault(stuck={"lasts": "12 s"})),
    "bad": Fault("1 MB cannot be read", fault(bad=BLOCKS)),
    "weak": Fault("1 MB is read after 700 ms", fault(weak={**BLOCKS, "takes": "700 ms"})),
    "busy": Fault("BUSY for 3 s", fault(busy={"lasts": "3 s"})),
    "depth": Fault("places for 2 commands: TASK SET FULL", {"queue_depth": 2}),
    "gone": Fault("gone for 3 s", fault(gone=True), fault(gone=False), 3),
    "predicted": Fault("predicts its failure", fault(predicts_failure=True)),
    "head": Fault("loses a head", {"fail": {"surface": 3}}),
    "arm": Fault("loses its arm", {"fail": {}}),
}


@dataclass(frozen=True)
class Seen:
    """What the guest made of a fault.

    Attributes:
        log: kinds of messages of the kernel with their numbers.
        still: longest time in which no request of the load ended, seconds.
        error: the first one that fio had, by name.
        wrong: whether fio read what it had not written.
        state: of the disk at the end.
    """

    log: dict[str, int]
    still: float
    error: str
    wrong: bool
    state: str


#: Kinds of messages; the first that fits counts.
MESSAGES = {
    "task abort": r"task abort",
    "device reset": r"device reset|SCSI device reset",
    "bus or host reset": r"bus reset|host reset|Host reset",
    "medium error": r"Sense Key : Medium Error",
    "hardware error": r"Sense Key : Hardware Error",
    "not ready": r"Sense Key : Not Ready",
    "recovered error": r"Sense Key : Recovered Error",
    "offline": r"offline",
    "I/O error": r"I/O error|critical \w+ error",
}


def messages(log: str) -> dict[str, int]:
    """Count messages of the kernel by kind."""
    found: dict[str, int] = {}
    for line in log.splitlines():
        for kind, pattern in MESSAGES.items():
            if re.search(pattern, line):
                found[kind] = found.get(kind, 0) + 1
                break
    return found


def named(said: str) -> str:
    """Return the name of the first error that fio says."""
    found = re.search(r"err=\s*(\d+)", said)
    number = int(found[1]) if found else -1
    return "none" if number == 0 else errno.errorcode.get(number, str(number))


def script(disk: str = "sda") -> str:
    """Return what the guest runs: a mark, the load in the background, and what it left."""
    fio = (
        f"fio --name=v --filename=/dev/{disk} --direct=1 --rw=randrw --bs=16k --size={MIB}M "
        "--ioengine=libaio --iodepth=8 --verify=crc32c --verify_backlog=64 --verify_state_save=0 "
        f"--time_based --runtime={SECONDS} --continue_on_error=io --output=fio"
    )
    return f"""
echo {TIMEOUT} > /sys/block/{disk}/device/timeout
# All of it is written once, so that each read finds a sum.
dd if=/dev/zero of=/dev/{disk} bs=1M count={MIB} oflag=direct 2>/dev/null
dmesg -c > /dev/null
dd if=/dev/{disk} of=/dev/null bs=28k count=1 iflag=direct 2>/dev/null
{fio} > /dev/null 2>&1
echo $? > fio.code
dmesg > log
cat /sys/block/{disk}/device/state > state
"""


def begun(record: Path, give_up: threading.Event) -> bool:
    """Wait until the record has the mark: a request of 56 blocks."""
    while not give_up.wait(0.1):
        if re.search(r"(?m)^[^,]*,[^,]*,[^,]*,56,", record.read_text()):
            return True
    return False


def happens(disk: Any, record: Path, fault: Fault, give_up: threading.Event) -> threading.Thread:
    """Make the fault happen at its time after the mark, in a thread."""

    def act() -> None:
        if not begun(record, give_up):
            return
        time.sleep(FAULT_AT)
        disk.change(**fault.begin)
        if fault.end is not None:
            time.sleep(fault.lasts)
            disk.change(**fault.end)

    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    return thread


def observed(files: dict[str, bytes], record: Path) -> Seen:
    """Read the files of a guest and the recorded session."""
    rows = [line.split(",") for line in record.read_text().splitlines()[1:]]
    ends = sorted((int(row[0]) + int(row[5])) / 1e9 for row in rows if row[3] == "32")
    said = files["fio"].decode()
    return Seen(
        messages(files["log"].decode()),
        max((b - a for a, b in pairwise(ends)), default=0.0),
        named(said),
        "verify:" in said or "bad magic" in said,
        files["state"].decode().strip(),
    )


def run(which: Fault) -> Seen:
    """Run the load with a fault in a guest."""
    give_up = threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "session.csv"
        with headstack.emulate(DRIVE, iscsi=True, record=record) as disk:
            thread = happens(disk, record, which, give_up)
            files = guest.run([disk.url], script(), adapter=guest.OWN_INITIATOR,
                              kernel=guest.BACKPORTS, seconds=300)  # fmt: skip
            give_up.set()
            thread.join()
        return observed(files, record)


def mirror() -> Seen:
    """Run the load on a mirror of two disks of which one hangs for ever.

    Each disk is a target, so a host of its own: Linux stops all disks of a host whose errors it
    handles. Without ``--failfast`` md writes what has failed again, sector by sector, for its list
    of bad blocks, and each of these writes takes 30 s to fail.
    """
    load = script("md0").replace(f"echo {TIMEOUT} > /sys/block/md0/device/timeout", f"""
for n in sda sdb; do echo {TIMEOUT} > /sys/block/$n/device/timeout; done
mdadm --create /dev/md0 --run --assume-clean --bitmap=none --level=1 --failfast \\
    --raid-devices=2 --size={MIB * 2048} /dev/sda /dev/sdb > mdadm 2>&1
""")  # fmt: skip
    load = load.replace(
        "cat /sys/block/md0/device/state > state",
        "cat /proc/mdstat > state\n"
        # A kernel that powers off waits for the cache of each disk.
        "echo offline > /sys/block/sda/device/state",
    )
    load = load.replace(f"--runtime={SECONDS}", "--runtime=60")
    give_up = threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "session.csv"
        shelf = Path(folder) / "shelf.toml"
        shelf.write_text(
            '[workload]\nsynthetic = { n_requests = 1, rate = "1/s" }\n'
            f'[[system]]\nname = "pair"\ndrive = "{DRIVE}"\ncount = 2\n'
        )
        hang = Fault("hangs for ever", fault(stuck={"lasts": "800000 h"}, instances=[0]))
        with headstack.emulate(shelf, iscsi=True, iscsi_apart=True, record=record) as disk:
            thread = happens(disk, record, hang, give_up)
            files = guest.run(disk.urls, load, programs=("fio", "mdadm"), modules=("raid1",),
                              adapter=guest.OWN_INITIATOR, kernel=guest.BACKPORTS,
                              seconds=400)  # fmt: skip
            give_up.set()
            thread.join()
        return observed(files, record)


def row(name: str, seen: Seen) -> str:
    """Return a row of the table."""
    log = ", ".join(f"{kind} x {n}" for kind, n in seen.log.items()) or "nothing"
    wrong = "yes" if seen.wrong else "no"
    return f"| {name} | {log} | {seen.still:.1f} | {seen.error} | {wrong} | {seen.state} |"


def main(names: Sequence[str]) -> None:
    """Print the table."""
    print("| fault | the kernel logs | longest pause, s | error | wrong data | state |")
    print("|---|---|---|---|---|---|")
    runs: dict[str, Callable[[], Seen]] = {
        **{name: (lambda which=which: run(which)) for name, which in FAULTS.items()},
        "mirror": mirror,
    }
    for name in names or list(runs):
        title = FAULTS[name].name if name in FAULTS else "mirror: one of two disks hangs for ever"
        print(row(title, runs[name]()), flush=True)


if __name__ == "__main__":
    try:
        guest.need("fio", "mdadm", kernel=guest.BACKPORTS)
        guest.need_own_initiator()
        main(sys.argv[1:])
    except guest.AbsentError as reason:
        sys.exit(str(reason))
