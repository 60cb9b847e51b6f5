"""Probes of emulated drives in real time, over NBD and iSCSI, held against the truth.

`python benches/probe_real.py [--drives wd-re3-2009 ...] [--wires nbd iscsi] [--budget 10min]`
serves each drive, probes it, and prints a row of errors; with `--logs LOG ...`, of probes that were
kept, named WIRE-DRIVE.log. Server and probe should have real-time priority and a quiet machine:
`chrt -f 10 python benches/probe_real.py`. With `--wires guest` the drive is a SCSI disk of Linux in
an emulated machine (QEMU, busybox, e2fsprogs), and the probe runs there.
"""

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import guest
import probe_oracle as oracle

import headstack
from headstack import drives, probe


def judged(found: probe.Probed, drive: str, folder: Path) -> list[str]:
    """Return errors: turn, heads, bands, edges, rates, access, reads per second, p99, replays."""
    # Old drives have no overhead of their own.
    spec = {"overhead": {"read_miss": {"after_read": "0 ms"}}, **drives.load(drive)}
    rpm = float(spec["geometry"]["rotation_speed"].split()[0])
    row = [f"{(found.period.turn_s * rpm / 60 - 1) * 1e6:.2f} ppm"]
    heads = found.geometry.heads if found.heads.heads.measured else "?"
    row.append(f"{heads} of {spec['geometry']['surfaces']}")
    figures = oracle.figures(found, spec)
    row += [f"{figures.n_exact:.1%}", f"{figures.ends:.1%}", f"{figures.rates:.3%}"]
    if found.found is None:
        return row
    mine = folder / "mine.toml"
    found.write_drive(mine)
    row.append(f"{oracle.access_off(found, spec, dict(drives.load(str(mine)))):.2f} bounds")
    if found.found.queue is not None:
        iops, p99 = oracle.queue_off(found, f"sim:{drive}", mine)
        row += [f"{iops:.1%}", f"{p99:.1%}"]
    if found.replay is not None:
        row += [f"{v.value:.1%}" for v in (found.replay.closed, found.replay.open)]
    return row


#: In the guest: a probe from a disk with Python, whose folders have the names that they have here.
SCRIPT = """
for d in sda sdb; do
    case $(cat /sys/block/$d/device/model) in QEMU*) root=$d;; *) disk=$d;; esac
done
mount -t ext4 -o ro /dev/$root /mnt || exit 3
for f in dev proc sys; do mount --bind /$f /mnt/$f; done
mount -t tmpfs tmpfs /mnt/tmp
PYTHONPATH={path} chrt -f 10 chroot /mnt {python} -B -m headstack probe /dev/$disk \\
    --budget {budget} --log /tmp/log -o /tmp/drive.toml > probe 2>&1
cp /mnt/tmp/log .
"""


@contextlib.contextmanager
def python_disk() -> Iterator[Path]:
    """Make a file system with this Python, its packages and their libraries."""
    package = Path(headstack.__file__).parent
    packages = Path(sysconfig.get_path("purelib"))
    without = shutil.ignore_patterns("__pycache__", "test", "tests", "config-*", "pyarrow*", "*.a")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "root")
        for tree in (Path(sys.base_prefix, "lib"), packages, package):
            copy = folder / tree.relative_to("/")
            shutil.copytree(tree, copy, symlinks=True, ignore=without, dirs_exist_ok=True)
        shutil.copytree(package.parents[1] / "drives", folder / package.parents[1].relative_to("/") / "drives")
        python = Path(sys.executable).resolve()
        for library in (str(python), *guest.libraries(python, *folder.rglob("*.so*"))):
            if not library.startswith(name):
                copy = folder / library.lstrip("/")
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(library, copy)
        for empty in ("dev", "proc", "sys", "tmp"):
            (folder / empty).mkdir()
        image = Path(name, "image")
        subprocess.run(["mkfs.ext4", "-q", "-d", folder, image, "1200M"], check=True)
        yield image


def in_guest(drive: str, budget: str, log: Path) -> probe.Probed:
    """Probe a drive as a SCSI disk of a guest's kernel."""
    packages = sysconfig.get_path("purelib")
    script = SCRIPT.format(
        path=f"{Path(headstack.__file__).parents[1]}:{packages}", python=Path(sys.executable).resolve(), budget=budget
    )
    with headstack.emulate(drive, iscsi=True) as disk, python_disk() as image:
        policy, priority = os.sched_getscheduler(0), os.sched_getparam(0).sched_priority
        if policy == os.SCHED_FIFO and priority > 1:
            # The emulated processor never rests: the server's threads come before it.
            os.sched_setscheduler(0, policy, os.sched_param(priority - 1))
        left = guest.run(
            [disk.url, str(image)],
            script,
            programs=("chroot", "chrt"),
            modules=(*guest.SCSI_MODULES, "ext4", "crc32c_generic"),
            kernel=guest.BACKPORTS,
            memory_mib=1200,
            seconds=1500,
        )
    print(*(left[name].decode() for name in ("said", "probe")), sep="\n", file=sys.stderr)
    log.write_bytes(left["log"])
    return probe.probe(None, from_log=log)


def on_wire(wire: str, drive: str, budget: str, log: Path) -> probe.Probed:
    """Probe a drive over NBD or iSCSI, or in a guest."""
    if wire == "guest":
        return in_guest(drive, budget, log)
    with headstack.emulate(drive, iscsi=wire == "iscsi") as disk:
        return probe.probe(disk.url if wire == "iscsi" else disk.uri, budget=budget, log=log)


def main() -> None:
    """Probe, or work logs out, and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drives", nargs="+", default=["wd-re3-2009", "exos-x18", "conner-cp3100"])
    parser.add_argument("--wires", nargs="+", default=["nbd", "iscsi"])
    parser.add_argument("--budget", default="10min")
    parser.add_argument("--logs", nargs="+", type=Path, default=[])
    parser.add_argument("--keep", type=Path, help="folder for the logs of these probes")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for log in given.logs:
            wire, drive = log.stem.split("-", 1)
            found = probe.probe(None, from_log=log)
            print(wire, drive, *judged(found, drive, folder), sep=" | ", flush=True)
        for drive in [] if given.logs else given.drives:
            for wire in given.wires:
                log = (given.keep or folder) / f"{wire}-{Path(drive).stem}.log"
                found = on_wire(wire, drive, given.budget, log)
                print(wire, drive, *judged(found, drive, folder), sep=" | ", flush=True)


if __name__ == "__main__":
    main()
