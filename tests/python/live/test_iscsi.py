"""Emulated drives as SCSI disks: programs and a kernel that nobody here wrote, over iSCSI.

They are Debian's `libiscsi-bin`, `qemu-utils` with `qemu-block-extra`, and a stock kernel under
QEMU; tests of absent ones are skipped.
"""

import os
import random
import re
from collections.abc import Sequence
from pathlib import Path

import guest
import iscsi_peers
import pytest
from conftest import ROOT, ran

import headstack
from headstack.errors import ConfigError

pytestmark = pytest.mark.linux

MIB = 1 << 20
SMALL = "ibm-18es"


@pytest.mark.parametrize(("family", "tests"), [("SCSI", 215), ("iSCSI", 15)])
@pytest.mark.needs("iscsi-test-cu")
def test_libiscsi_finds_no_fault(family, tests):
    """The figures are those of libiscsi 1.19. The guide has the table of what is skipped."""
    with headstack.emulate(SMALL, iscsi=True, speed=0) as disk:
        found = iscsi_peers.conformance(disk.url, family)
    assert (found.ran, found.passed, found.failed) == (found.tests, found.tests, 0), found.said
    assert found.tests >= tests
    guide = (ROOT / "docs/guide/emulation.md").read_text().partition("\n## Conformance\n")[2]
    listed = set(re.findall(r"^\| `([A-Za-z0-9]+)` \|", guide.partition("\n## ")[0], re.MULTILINE))
    assert {name.partition(".")[0] for name in found.skipped} <= listed, found.skipped


@pytest.mark.needs("qemu:iscsi")
def test_qemu_finds_what_it_wrote(tmp_path):
    image, back = tmp_path / "image", tmp_path / "back"
    with image.open("wb") as file:
        file.write(random.Random(1).randbytes(3 * MIB))
        file.seek(20 * MIB)
        file.write(b"end".ljust(512))
    with headstack.emulate("conner-cp3100", iscsi=True, speed=0) as disk:
        os.truncate(image, disk.size_bytes)
        ran("qemu-img", "convert", "-n", "-f", "raw", "-O", "raw", image, disk.url)
        said = ran("qemu-img", "compare", "-f", "raw", "-F", "raw", image, disk.url)
        assert "Images are identical" in said
        ran("qemu-img", "convert", "-f", "raw", "-O", "raw", disk.url, back)
    assert back.read_bytes() == image.read_bytes()


@pytest.mark.needs("qemu:iscsi")
def test_both_front_ends_serve_one_drive(tmp_path):
    """What is written over NBD is read over iSCSI; the record has both, and a simulation agrees."""
    image, record = tmp_path / "image", tmp_path / "session.csv"
    socket = tmp_path / "socket"
    image.write_bytes(random.Random(3).randbytes(MIB))
    with headstack.emulate("conner-cp3100", iscsi=True, nbd=f"unix:{socket}", speed=0, seed=3, record=record) as disk:
        assert disk.uri.startswith("nbd+unix")
        os.truncate(image, disk.size_bytes)
        ran("qemu-img", "convert", "-n", "-f", "raw", "-O", "raw", image, disk.uri)
        said = ran("qemu-img", "compare", "-f", "raw", "-F", "raw", image, disk.url)
        assert "Images are identical" in said
        assert len(disk.commands()) == 8
    rows = [line.split(",") for line in record.read_text().splitlines()[1:]]
    result = headstack.run(workload={"trace": str(record)}, systems={"drive": "conner-cp3100", "seed": 3})
    log = result.requests
    times = log["completion_ns"] - log["arrival_ns"]
    assert len(rows) > 40
    assert sorted(times) == sorted(int(row[5]) for row in rows)


def test_a_drive_without_iscsi_has_no_url():
    with headstack.emulate(SMALL) as disk, pytest.raises(ConfigError, match="need iscsi=True"):
        assert disk.url


def booted(drive: str | Path, script: str, programs: Sequence[str] = (), modules: Sequence[str] = ()) -> dict[str, str]:
    """Run a script in a guest whose only disk is this drive; the files that it left."""
    with headstack.emulate(drive, iscsi=True) as disk:
        files = guest.run([disk.url], script, programs=programs, modules=(*guest.SCSI_MODULES, *modules))
    return {name: data.decode().strip() for name, data in files.items()}


@pytest.mark.needs("guest", "qemu:iscsi")
def test_a_kernel_sees_a_dual_actuator_drive():
    files = booted(
        "exos-2x18-sata",
        """
        d=/sys/block/sda
        cat $d/size > size
        for i in 0 1; do cat $d/queue/independent_access_ranges/$i/sector; done > sectors
        for f in rotational physical_block_size logical_block_size write_cache fua; do
            echo $f $(cat $d/queue/$f)
        done > queue
        cat $d/device/model > model
        dd if=/dev/urandom of=data bs=1M count=1 2>/dev/null
        dd if=data of=/dev/sda bs=64k seek=100 oflag=direct conv=fsync 2>/dev/null
        dd if=/dev/sda of=back bs=64k skip=100 count=16 iflag=direct 2>/dev/null
        cmp data back && echo same > compared
        rm data back
        """,
    )
    # The drive file: 35,156,656,128 blocks, half of them for each actuator.
    assert int(files["size"]) == 35_156_656_128
    assert files["sectors"].split() == ["0", str(35_156_656_128 // 2)]
    queue = dict(line.split(maxsplit=1) for line in files["queue"].splitlines())
    assert queue["rotational"] == "1"
    assert (queue["physical_block_size"], queue["logical_block_size"]) == ("4096", "512")
    assert (queue["write_cache"], queue["fua"]) == ("write back", "1")
    assert files["model"] == "exos-2x18-sata"
    assert files["compared"] == "same"


def zoned(folder: Path) -> Path:
    """Write a host-managed drive of 18 GiB: 64 conventional zones of 16 MiB, 1,088 others."""
    text = (ROOT / "drives/exos-x18.toml").read_text()
    text = re.sub(r"(?m)^name = .*", 'name = "smr"', text, count=1)
    text = re.sub(r"(?m)^capacity_blocks = .*", "capacity_blocks = 37748736", text)
    file = folder / "smr.toml"
    file.write_text(
        text + '\n[mapping]\nmodel = "zoned"\nzone_size = "16 MiB"\nconventional_zones = 64\n'
        "unrestricted_reads = true\n"
    )
    return file


@pytest.mark.thorough
@pytest.mark.needs("guest", "qemu:iscsi", "blkzone", "mkfs.f2fs")
def test_a_kernel_makes_a_file_system_on_a_shingled_drive(tmp_path):
    """Writes at and beside a write pointer, a reset, and f2fs: data survive a mount."""
    files = booted(
        zoned(tmp_path),
        """
        for f in zoned nr_zones max_open_zones zone_write_granularity; do
            cat /sys/block/sda/queue/$f >> queue
        done
        write() { dd if=/dev/zero of=/dev/sda bs=4k count=1 seek=$1 oflag=direct 2>/dev/null; }
        write 262144; echo $? >> codes
        write 262146; echo $? >> codes
        blkzone report -o 2097152 -c 1 /dev/sda > written
        blkzone reset -o 2097152 -c 1 /dev/sda
        blkzone report -o 2097152 -c 1 /dev/sda > reset
        dmesg | grep "Add. Sense" > sense
        mkfs.f2fs -m -f /dev/sda > made 2>&1 && mount -t f2fs /dev/sda /mnt
        dd if=/dev/urandom of=/mnt/file bs=1M count=16 2>/dev/null
        md5sum /mnt/file > sums
        umount /mnt && mount -t f2fs /dev/sda /mnt && md5sum /mnt/file >> sums
        umount /mnt
        """,
        programs=("blkzone", "mkfs.f2fs"),
        modules=("crc32_generic", "f2fs"),
    )
    assert files["queue"].split() == ["host-managed", "1152", "128", "4096"]
    assert files["codes"].split() == ["0", "1"]
    assert "Unaligned write command" in files["sense"]
    # Written: 8 blocks, implicitly open. After the reset: empty.
    assert "wptr 0x000008" in files["written"]
    assert "2(oi)" in files["written"]
    assert "wptr 0x000000" in files["reset"]
    assert "1(em)" in files["reset"]
    first, second = files["sums"].splitlines()
    assert first == second
