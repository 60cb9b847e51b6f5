"""What a stock kernel makes of a drive that removes a head and takes it back, in a guest."""

import re

import pytest
from test_guest_scsi import boot

import headstack

pytestmark = [pytest.mark.thorough, pytest.mark.needs("guest:backports", "qemu:iscsi"), pytest.mark.linux]

#: The drive file of `conner-cp3100`: 8 surfaces of 776 tracks of 33 sectors of 512 bytes.
SURFACE = 776 * 33
WHOLE, LESS = 8 * SURFACE, 7 * SURFACE
#: What `sg_get_elem_status` says of an element within its limits (health 01h), of one that is
#: being removed (FEh), and of one that was removed (FFh).
GOOD = "within manufacturer's specification limits"
LEAVES = "depopulation operations in progress"
REMOVED = "depopulation completed, no errors"

TOOLS = ("sg_raw", "sg_get_elem_status", "sg_requests", "sg_inq")

#: Functions of the guest's shell. `sg_raw` ends with the sense key of the command (2: not ready,
#: 5: illegal request, 6: unit attention). Places are counted in 4 KiB.
FUNCTIONS = """
disk=/sys/block/sda
key() { sg_raw /dev/sda $* > /dev/null 2>&1; echo $?; }
ready() { key 00 00 00 00 00 00; }
remove() { key 9e 18 00 00 00 00 00 00 00 00 00 00 00 0$1 00 00; }
restore() { key 9e 19 00 00 00 00 00 00 00 00 00 00 00 00 00 00; }
elements() { sg_get_elem_status --maxlen=4096 /dev/sda; }
rescan() { echo 1 > $disk/device/rescan; }
read() { dd if=/dev/sda of=/tmp/back bs=4k count=1 skip=$1 iflag=direct 2>/dev/null; }
write() {
    dd if=/dev/urandom of=/tmp/data bs=4k count=1 2>/dev/null
    dd if=/tmp/data of=/dev/sda bs=4k seek=$1 oflag=direct 2>/dev/null
}
same() { read $1 && cmp /tmp/data /tmp/back && echo same; }
zero() { read $1 && cmp -n 4096 /dev/zero /tmp/back && echo zero; }
logged() { dmesg -c; }
# Repeats a command until it says this; what it said, equal lines once. The kernel logs at most ten
# errors of reads in 5 s.
until_says() {
    wanted=$1; shift; n=0; said=
    while [ "$said" != $wanted ] && [ $n -lt 100 ]; do
        said=$($*); echo $said; n=$((n + 1)); sleep 1
    done | uniq
}
try_to_read() { read $1; echo $?; }
uevent sh -c '[ -n "$SDEV_UA" ] && echo $SDEV_UA >> /out/events' &
events=$!
logged > /dev/null
"""

SCRIPT = f"""{FUNCTIONS}
cat $disk/size > size.whole
write 7; same 7 > data.whole
elements > elements.whole

remove 3 > keys.removal
ready >> keys.removal
sg_requests /dev/sda > sense.removal 2>&1
elements > elements.removal
sg_inq /dev/sda > inquiry || echo failed >> inquiry
# Nobody but reads of the block layer meets the drive when it is back.
until_says 0 try_to_read 7 > reads.removal
logged > log.removal
ready >> keys.removal
cat $disk/size > size.removal
try_to_read {WHOLE // 8 - 1} > reads.past
logged > log.past
rescan; cat $disk/size >> size.removal
logged > log.rescan

zero 7 > data.removal
write {LESS // 8 - 1}; same {LESS // 8 - 1} >> data.removal
try_to_read {LESS // 8} >> reads.past; stat -c %s /tmp/back >> reads.past
elements > elements.removed
remove 3 > keys.removed

restore > keys.restoration
sg_requests /dev/sda > sense.restoration 2>&1
elements > elements.restoration
# The kernel is told to look while the drive is away.
rescan; cat $disk/size > size.restoration
until_says 0 ready >> keys.restoration
cat $disk/size >> size.restoration
rescan; cat $disk/size >> size.restoration
logged > log.restoration

zero {LESS // 8 - 1} > data.restoration
write {WHOLE // 8 - 1}; same {WHOLE // 8 - 1} >> data.restoration
elements > elements.restored
kill $events
"""


def elements(said: str) -> dict[int, str]:
    """Return the health of each element, and which one is being removed as that of 0."""
    # Its number may follow, and whether it may be restored.
    found = re.findall(r"identifier: 0x(\w+) .*health: ([^<\[\n]*)", said)
    away = re.search(r"being depopulated: (\d+)", said)
    assert away is not None, said
    return {0: away[1], **{int(number, 16): health.strip() for number, health in found}}


def all_but_third(away: int, third: str) -> dict[int, str]:
    return {0: f"{away}", **dict.fromkeys(range(1, 9), GOOD), 3: third}


@pytest.mark.needs(*TOOLS)
def test_a_kernel_follows_the_capacity():
    """It says that the capacity has changed, and takes the new one when it is told to look.

    Linux: `scsi_report_sense` of `drivers/scsi/scsi_error.c` logs and announces the unit attention;
    `scsi_io_completion_action` of `scsi_lib.c` ends with an error what comes while the drive is
    away ("Do not retry I/Os during depopulation", 6.14 and stable kernels).
    """
    # The drive writes itself anew in 98 and 111 s of its time: 776 tracks of 7 and 8 surfaces, a
    # turn and its share of the skews each.
    with headstack.emulate("conner-cp3100", iscsi=True, speed=10) as disk:
        files = boot([disk.url], SCRIPT, *TOOLS)
    for name, text in sorted(files.items()):
        print(f"== {name}\n{text}")
    listed = {name: text.split() for name, text in files.items()}
    assert listed["size.whole"] == [f"{WHOLE}"]
    assert listed["data.whole"] == ["same"]
    assert elements(files["elements.whole"]) == all_but_third(0, GOOD)

    # Taken at once; then it is not ready, and ready without a unit attention for the tool, because
    # the block layer had it.
    assert listed["keys.removal"] == ["0", "2", "0"]
    assert "Depopulation in progress" in files["sense.removal"]
    assert "conner-cp3100" in files["inquiry"]
    assert "failed" not in files["inquiry"]
    assert elements(files["elements.removal"]) == all_but_third(3, LEAVES)
    assert listed["reads.removal"] == ["1", "0"]
    assert "Add. Sense: Depopulation in progress" in files["log.removal"]
    assert files["log.removal"].count("Capacity data has changed") == 1
    assert "detected capacity change" not in files["log.removal"]
    assert listed["size.removal"] == [f"{WHOLE}", f"{LESS}"]
    assert f"detected capacity change from {WHOLE} to {LESS}" in files["log.rescan"]
    # Past the end: the drive refuses before the kernel has looked, and the kernel afterwards.
    assert listed["reads.past"] == ["1", "0", "0"]
    assert "Logical block address out of range" in files["log.past"]
    assert listed["data.removal"] == ["zero", "same"]
    assert elements(files["elements.removed"]) == all_but_third(0, REMOVED)
    assert files["elements.removed"].count("allowed") == 1
    # It is removed already.
    assert listed["keys.removed"] == ["5"]

    assert listed["keys.restoration"] == ["0", "2", "6", "0"]
    assert "Depopulation restoration in progress" in files["sense.restoration"]
    # FCh, which not all versions of the tool know.
    third = elements(files["elements.restoration"])[3]
    assert third not in (GOOD, LEAVES, REMOVED)
    # A drive that does not tell its capacity has none, for this kernel.
    assert listed["size.restoration"] == ["0", "0", f"{WHOLE}"]
    assert files["log.restoration"].count("Capacity data has changed") == 1
    assert listed["data.restoration"] == ["zero", "same"]
    assert elements(files["elements.restored"]) == all_but_third(0, GOOD)
    assert listed["events"] == ["CAPACITY_DATA_HAS_CHANGED"] * 2
