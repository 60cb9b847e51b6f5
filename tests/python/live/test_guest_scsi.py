"""What a stock kernel and Debian's tools make of emulated SCSI disks, in a guest.

The guest runs the kernel of Debian's backports. Where it, or a tool, is absent, tests are skipped.
"""

import re
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import error_handling
import guest
import pytest
from block_layer import Request
from test_guest import most_at_once
from test_iscsi import zoned

import headstack

pytestmark = [pytest.mark.thorough, pytest.mark.needs("guest:backports", "qemu:iscsi"), pytest.mark.linux]


def boot(
    urls: Sequence[str], script: str, *programs: str, modules: Sequence[str] = (), files: dict[str, bytes] | None = None
) -> dict[str, str]:
    """Run a script in a guest with these disks; the files that it left."""
    left = guest.run(
        urls,
        script,
        programs=programs,
        modules=(*guest.SCSI_MODULES, *modules),
        kernel=guest.BACKPORTS,
        files=files or {},
        memory_mib=768,
    )
    return {name: data.decode().strip() for name, data in left.items()}


def requests(record: Path) -> list[Request]:
    """Return the requests of a record in order of arrival."""
    rows = [line.split(",") for line in record.read_text().splitlines()[1:]]
    times = sorted((int(row[0]), int(row[5])) for row in rows)
    return [Request(at / 1e9, (at + took) / 1e9) for at, took in times]


def shelf(folder: Path, drive: str, count: int) -> Path:
    file = folder / "shelf.toml"
    file.write_text(
        '[workload]\nsynthetic = { n_requests = 1, rate = "1/s" }\n'
        f'[[system]]\nname = "shelf"\ndrive = "{drive}"\ncount = {count}\n'
    )
    return file


TOOLS = ("sg_vpd", "sg_inq", "sg_modes", "sg_logs", "sg_readcap", "sg_opcodes", "sg_luns")


@pytest.mark.needs(*TOOLS, "sdparm", "smartctl")
def test_tools_read_what_they_should():
    """Identity, pages, log and zones of a dual-actuator drive, by tools that nobody here wrote."""
    script = """
    for p in 0 sv di bdc bl cpr; do sg_vpd --page=$p /dev/sda > vpd.$p || exit 1; done
    sg_inq /dev/sda > inq; sg_modes --all /dev/sda > modes; sg_readcap --16 /dev/sda > capacity
    sg_logs --all /dev/sda > logs; sg_opcodes /dev/sda > opcodes; sg_luns /dev/sda > luns
    sdparm --get=WCE /dev/sda > wce; sdparm --set=WCE=0 /dev/sda; sdparm --get=WCE /dev/sda >> wce
    smartctl -d scsi -a /dev/sda > smart; echo $? > smart.code
    """
    with headstack.emulate("exos-2x18-sata", iscsi=True, speed=0) as disk:
        files = boot([disk.url], script, *TOOLS, "sdparm", "smartctl")
    blocks = 35_156_656_128
    assert f"Number of logical blocks={blocks}" in files["capacity"]
    assert "physical block length=4096" in files["capacity"]
    assert "Product identification: exos-2x18-sata" in files["inq"]
    assert "Nominal rotation rate: 7200 rpm" in files["vpd.bdc"]
    # Concurrent positioning ranges: two halves.
    assert re.findall(r"starting LBA: 0x([0-9a-f]+)", files["vpd.cpr"]) == ["0", "417c00000"]
    assert "Caching" in files["modes"]
    assert "Informational exceptions control" in files["modes"]
    assert "READ(16)" in files["opcodes"].replace("Read(16)", "READ(16)")
    assert [int(n) for n in re.findall(r"WCE\s+(\d)", files["wce"])] == [1, 0]
    assert "SMART Health Status: OK" in files["smart"]
    assert "Rotation Rate:        7200 rpm" in files["smart"]
    assert "User Capacity:        18,000,207,937,536 bytes" in files["smart"]
    # 4: it asked for a log page that the disk does not have.
    assert int(files["smart.code"]) & ~4 == 0, files["smart"]


def test_the_write_cache_is_switched(tmp_path):
    """Without it a write of 4 KiB waits for its place on the medium; with it, for nothing."""
    record = tmp_path / "session.csv"
    script = """
    t=$(ls -d /sys/class/scsi_disk/*)
    cat $t/cache_type /sys/block/sda/queue/write_cache > before
    fio --name=a --filename=/dev/sda --direct=1 --rw=randwrite --bs=4k --size=10G --io_size=160k > a
    echo "write through" > $t/cache_type
    cat $t/cache_type /sys/block/sda/queue/write_cache > after
    fio --name=b --filename=/dev/sda --direct=1 --rw=randwrite --bs=8k --size=10G --io_size=320k > b
    """
    with headstack.emulate("exos-x18", iscsi=True, record=record) as disk:
        files = boot([disk.url], script, "fio")
    assert files["before"].splitlines() == ["write back", "write back"]
    assert files["after"].splitlines() == ["write through", "write through"]
    rows = [line.split(",") for line in record.read_text().splitlines()[1:]]
    took = {size: sorted(int(r[5]) / 1e6 for r in rows if r[3] == size) for size in ("8", "16")}
    cached, forced = took["8"], took["16"]
    print(cached, forced)
    # A turn takes 8.3 ms: without the cache the median is seek and half a turn.
    assert cached[len(cached) // 2] < 1 < 4 < forced[len(forced) // 2]


@pytest.mark.needs("sg_start", "sdparm")
def test_power_conditions_by_command_and_by_timer(tmp_path):
    """START STOP UNIT and the timers of the mode page: the next read takes the recovery longer."""
    record = tmp_path / "session.csv"
    script = """
    read() { dd if=/dev/sda of=/dev/null bs=$1 count=1 skip=$2 iflag=direct 2>/dev/null; }
    read 4k 1000
    sg_start --pc=3 /dev/sda || exit 1
    sleep 1; read 12k 5000
    # IDLE_C after a second without work.
    sdparm --page=po --set=IDLE_C=1,ICCT=10 /dev/sda || exit 1
    sleep 0.3; read 20k 9000
    sleep 3; read 28k 12000
    sdparm --page=po --get=ICCT /dev/sda > timer
    """
    with headstack.emulate("exos-x18", iscsi=True, record=record) as disk:
        boot([disk.url], script, "sg_start", "sdparm")
        spec = headstack.drives.load("exos-x18")["power"]["conditions"]
    rows = [line.split(",") for line in record.read_text().splitlines()[1:]]
    took = {int(row[3]) // 2: int(row[5]) / 1e9 for row in rows}
    print(took)
    # The drive file: standby takes 23 s to enter and 11 to leave, idle_c 2 s each. A read that
    # comes while the spindle stops waits for both; the guest needs up to a second more.
    assert spec["standby"]["enter_time"] == "23 s"
    assert spec["standby"]["recovery_time"] == "11 s"
    assert spec["idle_c"]["recovery_time"] == "2 s"
    assert 23 + 11 - 3 < took[12] < 23 + 11 - 1 + 0.05
    # No timer has ended yet; a seek and a turn.
    assert took[20] < 0.05
    assert 2 < took[28] < 2.05


def test_sixteen_disks_of_a_shelf(tmp_path):
    script = """
    n=0; while [ ! -b /dev/sdp ] && [ $n -lt 100 ]; do sleep 0.1; n=$((n+1)); done
    ls /sys/block | grep sd > names
    for d in $(cat names); do
        dd if=/dev/urandom of=data.$d bs=64k count=1 2>/dev/null
        dd if=data.$d of=/dev/$d bs=64k seek=7 oflag=direct 2>/dev/null
    done
    for d in $(cat names); do
        dd if=/dev/$d of=back bs=64k skip=7 count=1 iflag=direct 2>/dev/null
        cmp data.$d back && echo same >> compared
        rm data.$d back
    done
    """
    with headstack.emulate(shelf(tmp_path, "ibm-18es", 16), iscsi=True, speed=0) as disk:
        files = boot(disk.urls, script)
    assert len(files["names"].split()) == 16
    assert files["compared"].split() == ["same"] * 16


def test_more_commands_than_the_drive_has_places(tmp_path):
    """128 at once against 32 places: TASK SET FULL is no error, and the drive never has more."""
    record = tmp_path / "session.csv"
    script = """
    cat /sys/block/sda/device/queue_depth > depth
    all="--filename=/dev/sda --direct=1 --ioengine=libaio --iodepth=128"
    fio --name=v $all --rw=randwrite --bs=16k --size=8M --verify=crc32c --verify_state_save=0 \\
        --output=v || exit 1
    fio --name=r $all --rw=randread --bs=4k --size=1000G --runtime=8 --time_based \\
        --output=r || exit 1
    cat /sys/block/sda/device/queue_depth >> depth
    """
    with headstack.emulate("exos-x18", iscsi=True, iscsi_window=128, record=record) as disk:
        files = boot([disk.url], script, "fio")
    assert "err= 0" in files["v"]
    assert "err= 0" in files["r"]
    print(files["depth"])
    most = most_at_once(requests(record))
    assert 16 <= most <= 32


def zonefs(label: bytes = b"headstack") -> bytes:
    """Return the first block of a file system zonefs, which has only one.

    Source: `fs/zonefs/zonefs.h` of Linux, `struct zonefs_super`.
    """
    head = struct.Struct("<II64s16sQIII")
    rest = bytes(4096 - head.size)
    blank = head.pack(0x5A4F4653, 0, label, b"0123456789abcdef", 0, 0, 0, 0o640) + rest
    # The kernel's crc32 begins with ones and does not invert its end.
    crc = zlib.crc32(blank) ^ 0xFFFFFFFF
    return head.pack(0x5A4F4653, crc, label, b"0123456789abcdef", 0, 0, 0, 0o640) + rest


@pytest.mark.needs("blkzone")
def test_zonefs_on_a_shingled_drive(tmp_path):
    """A file for each zone: appended to, read back, cut to nothing."""
    script = """
    dd if=/super of=/dev/sda bs=4k count=1 oflag=direct 2>/dev/null
    mount -t zonefs /dev/sda /mnt || { dmesg | tail -5; exit 1; }
    ls /mnt/cnv | wc -l > files; ls /mnt/seq | wc -l >> files
    dd if=/dev/urandom of=data bs=64k count=4 2>/dev/null
    dd if=data of=/mnt/seq/3 bs=64k oflag=append,direct conv=notrunc 2>/dev/null || exit 1
    stat -c %s /mnt/seq/3 > size
    dd if=/mnt/seq/3 of=back bs=64k iflag=direct 2>/dev/null; cmp data back && echo same > compared
    umount /mnt; mount -t zonefs /dev/sda /mnt; stat -c %s /mnt/seq/3 >> size
    truncate -s 0 /mnt/seq/3; stat -c %s /mnt/seq/3 >> size
    umount /mnt; rm data back
    """
    with headstack.emulate(zoned(tmp_path), iscsi=True, speed=0) as disk:
        files = boot([disk.url], script, "blkzone", modules=("zonefs",), files={"super": zonefs()})
    # The first conventional zone has the superblock.
    assert files["files"].split() == ["63", "1088"]
    assert files["size"].split() == ["262144", "262144", "0"]
    assert files["compared"] == "same"


@pytest.mark.needs("mkfs.btrfs")
def test_btrfs_on_a_shingled_drive(tmp_path):
    script = """
    mkfs.btrfs -O zoned -d single -m single -f /dev/sda > made 2>&1 || { cat made; exit 1; }
    mount -t btrfs /dev/sda /mnt || { dmesg | tail -20; exit 1; }
    dd if=/dev/urandom of=/mnt/file bs=1M count=8 2>/dev/null; md5sum /mnt/file > sums
    umount /mnt; mount -t btrfs /dev/sda /mnt; md5sum /mnt/file >> sums; umount /mnt
    """
    with headstack.emulate(zoned(tmp_path), iscsi=True, speed=0) as disk:
        files = boot(
            [disk.url],
            script,
            "mkfs.btrfs",
            modules=("crc32c_generic", "xor", "raid6_pq", "blake2b_generic", "xxhash_generic",
                     "sha256_generic", "btrfs"),
        )  # fmt: skip
    first, second = files["sums"].splitlines()
    assert first == second


@pytest.mark.parametrize("fault", ["busy", "depth", "hang"])
@pytest.mark.needs("guest:initiator")
def test_a_kernel_tries_again(fault):
    """BUSY, TASK SET FULL and commands that time out are no errors for those who use the disk."""
    seen = error_handling.run(error_handling.FAULTS[fault])
    assert (seen.error, seen.wrong, seen.state) == ("none", False, "running")
    # The disk hangs for 12 s, and what is tried again waits with it; BUSY lasts 3 s.
    assert seen.still < {"busy": 4.5, "depth": 3.0, "hang": 14.0}[fault]


@pytest.mark.needs("guest:initiator", "mdadm")
def test_a_mirror_survives_a_disk_that_hangs_for_ever():
    """md drops it at the first command that has timed out; nobody gets an error or wrong data."""
    seen = error_handling.mirror()
    assert (seen.error, seen.wrong) == ("none", False)
    assert "sda[0](F)" in seen.state
    assert "[2/1] [_U]" in seen.state
    # A timeout of 4 s, the abort, and as much again for what was sent meanwhile.
    assert seen.still < 30
