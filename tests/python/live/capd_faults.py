"""What goes wrong around `headstack-capd` in a guest, as a script of its shell.

The daemon is started again whenever it ends, after `restore`, as its systemd unit does. A *fault*
is one of `FAULTS`; some last until they are ended. After each round all faults end, then the
daemon, and every drive must have its settings of before.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

DRIVES, GROUPS = 4, 2
#: Settings of before: places of the host, places of the drive, ms to the expiry of reads.
BEFORE = "128 32 500"

SHELL = """
mount -t tmpfs -o size=64k t /run/capd
HOST=$(readlink /sys/block/sda/device); HOST=${HOST##*/}; HOST=${HOST%%:*}
dev() { readlink /dev/disk/by-id/drive-$1 | sed 's/.*[/]//'; }
folder() { echo /sys/block/$(dev $1); }
is_saved() { grep -q "drive-$1\\"" /run/capd/originals.json 2>/dev/null; }
load() {
    while :; do
        fio --name=c --direct=1 --rw=randread --bs=4k --size=100% --thread --norandommap \\
            --numjobs=8 --allow_file_create=0 --time_based --runtime=3000 \\
            --filename=/dev/disk/by-id/drive-$1
        sleep 0.5
    done > /dev/null 2>&1
}
for i in 0 1 2 3; do load $i & done
supervise() {
    while [ -e /run/on ]; do
        headstack-capd run /etc/capd.toml >> log 2>&1
        headstack-capd restore /etc/capd.toml >> log 2>&1
        sleep 0.5
    done
}
begin() { : > /run/on; supervise & S=$!; }
end() {
    rm -f /run/on
    # Between two runs there is no daemon to end.
    while kill -0 $S 2>/dev/null; do kill $(pidof headstack-capd) 2>/dev/null; sleep 0.5; done
    wait $S
    # What could not be restored while a fault lasted.
    if [ -s /run/capd/originals.json ]; then
        echo late >> restores; headstack-capd restore /etc/capd.toml >> log 2>&1
    fi
}
state() {
    headstack-capd status --json --socket /run/capd/socket 2>/dev/null | tr ',' '\\n' |
        grep '"state"'
}
# Looks for a text in what the daemon has said since `mark`, for a minute: a refused write is tried
# again after 30 s.
mark() { MARK=$(wc -l < log 2>/dev/null || echo 0); tell "$MARK lines"; }
expect() {
    tell expect $*; n=0
    until tail -n +$((MARK + 1)) log | grep -q "$*"; do
        n=$((n + 1))
        if [ $n -gt 300 ]; then
            echo "not said: $*"; tail -40 log; state; exit 1
        fi
        sleep 0.2
    done
}
# Waits until a drive has settings, for a minute or more.
settles() {
    n=0
    until [ "$(settings $1)" = "$2" ] || [ $n -gt 60 ]; do n=$((n + 1)); sleep 0.2; done
    must "$(settings $1)" "$2" "drive $1"
}
must() { [ "$1" = "$2" ] || { echo "$3: got $1, need $2"; tail -40 log; exit 1; }; }

meter() { until rm -f /run/watts.$1 && mkdir /run/watts.$1 2>/dev/null; do :; done; }
end_meter() { rmdir /run/watts.$1; }
unplug() { f=$(folder $1); rm /dev/disk/by-id/drive-$1; echo 1 > $f/device/delete; }
end_unplug() {
    # The daemon finds a drive by the name that udev would make: it has its settings first.
    echo "0 $1 0" > /sys/class/scsi_host/host$HOST/scan
    n=0
    until d=$(ls -d /sys/bus/scsi/devices/$HOST:0:$1:0/block/sd* 2>/dev/null) || [ $n -gt 100 ]; do
        sleep 0.1; n=$((n + 1))
    done
    usual /sys/block/${d##*/}; ln -s ../../${d##*/} /dev/disk/by-id/drive-$1
}
# Others write only while the daemon is at work, or killed: of a drive that has its settings again, what
# they write would be those of before.
in_force() {
    is_saved $1 && grep -E 'started config|are restored' log | tail -1 | grep -q started
}
writer() { if in_force $1; then echo 77 > $(folder $1)/queue/nr_requests; fi; }
elevator() { if in_force $1; then echo none > $(folder $1)/queue/scheduler; fi; }
end_elevator() { f=$(folder $1); is_none $f && echo mq-deadline > $f/queue/scheduler; }
is_none() { grep -q '\\[none\\]' $1/queue/scheduler; }
places() { readlink -f $(folder $1)/queue/nr_requests; }
refuse() { f=$(places $1); mount -o bind $f $f; mount -o remount,bind,ro $f; }
end_refuse() { umount $(places $1); }
full() { dd if=/dev/zero of=/run/capd/fill bs=1k 2>/dev/null; }
end_full() { rm -f /run/capd/fill; }
killed() { kill -9 $(pidof headstack-capd) 2>/dev/null; }
stopped() { kill -STOP $(pidof headstack-capd) 2>/dev/null; }
end_stopped() { kill -CONT $(pidof headstack-capd) 2>/dev/null; }
clock() { date -s @$(($(date +%s) + $1)) > /dev/null; }
hang() { tell hang $1; }
cap() { echo $2 > /run/cap.$1; }
"""

#: One of each, and what the daemon must say and do. Caps below what drives draw keep it at work.
EACH = f"""
cap 0 16; cap 1 16
full; mark; begin
expect could not be saved
for i in 0 1 2 3; do must "$(settings $i)" "{BEFORE}" "written without being saved, drive $i"; done
end_full; mark; expect in force again
n=0; while [ "$(settings 0)" = "{BEFORE}" ] && [ $n -lt 100 ]; do n=$((n + 1)); sleep 0.2; done
is_saved 0 || {{ echo "drive 0 is not saved"; exit 1; }}
[ "$(settings 0)" != "{BEFORE}" ] || {{ echo "drive 0 was not set"; exit 1; }}

mark; meter 0; expect 'g0.*state="meter-lost"'
# The safe setting.
settles 0 "32 1 500"
mark; end_meter 0; expect 'g0.*state="[shu]'

mark; unplug 1; expect 'it is gone'
mark; end_unplug 1; expect 'found drive="drive-1"'
# At (32, 1) PCAP/S has nothing more to change: what another one writes stays until it is seen.
settles 0 "32 1 500"; settles 1 "32 1 500"
mark; writer 0; expect 'somebody else has changed it'
n=0
while grep -q 77 $(folder 0)/queue/nr_requests && [ $n -lt 50 ]; do n=$((n + 1)); sleep 0.1; done
grep -q 77 $(folder 0)/queue/nr_requests && {{ echo "77 stays"; exit 1; }}

mark; elevator 2; tags=$(cat $(folder 2)/queue/nr_requests); cap 1 15
expect 'not in force: read_expire.*drive-2'
must "$(cat $(folder 2)/queue/nr_requests)" $tags "tags of the adapter"
end_elevator 2; cap 1 16

refuse 0; mark; cap 0 none; expect 'not in force: nr_requests.*Read-only.*drive-0'
end_refuse 0; mark; expect 'in force again drive="drive-0"'
cap 0 16

before=$(state); clock 86400; sleep 3; clock -200000; sleep 3
must "$(state | grep -c lost)" 0 "after jumps of the clock"

sleep 3; mark; killed
expect 'settings behind; they are restored'
expect 'control begins'

mark; tell hang 0; sleep 4
end
for i in 0 1 2 3; do must "$(settings $i)" "{BEFORE}" "at the end, drive $i"; done
must "$(cat /run/capd/originals.json 2>/dev/null | wc -c)" 0 "what is kept at the end"
echo all > each
"""


@dataclass(frozen=True)
class Fault:
    """One that can be drawn.

    Attributes:
        name: the function of the shell.
        on: what its number is: ``drive``, ``group`` or nothing.
        lasts: whether it must be ended.
    """

    name: str
    on: str = ""
    lasts: bool = False


FAULTS = (
    Fault("meter", "group", lasts=True),
    Fault("unplug", "drive", lasts=True),
    Fault("writer", "drive"),
    Fault("elevator", "drive", lasts=True),
    Fault("refuse", "drive", lasts=True),
    Fault("full", lasts=True),
    Fault("killed"),
    Fault("killed"),
    Fault("stopped", lasts=True),
    Fault("clock"),
    Fault("hang", "drive"),
    Fault("cap", "group"),
)


def rounds(seed: int, faults: int, each: int = 8) -> Iterator[tuple[str, int]]:
    """Yield the script of each round, and the number of its faults."""
    rng = random.Random(seed)
    done = number = 0
    while done < faults:
        text = f"cap 0 {rng.choice((15, 16, 18))}; cap 1 {rng.choice((15, 16, 18))}\nbegin; sleep 2\n"
        lasting: dict[str, str] = {}
        for _ in range(each):
            fault = rng.choice(FAULTS)
            n = {"drive": rng.randrange(DRIVES), "group": rng.randrange(GROUPS), "": 0}[fault.on]
            key = f"{fault.on} {n}" if fault.on else fault.name
            if key in lasting or (fault.name == "killed" and "stopped" in lasting):
                # One at a time for each drive, meter and disk: what lasts ends in its place.
                key = key if key in lasting else "stopped"
                text += f"{lasting.pop(key)}; sleep {rng.uniform(0.2, 1.5):.1f}\n"
            arguments = str(n) if fault.on else ""
            if fault.name == "clock":
                arguments = str(rng.randrange(-100_000, 100_000))
            elif fault.name == "cap":
                arguments = f"{n} {rng.choice((15, 16, 17, 19, 'none', 'much'))}"
            text += f"{fault.name} {arguments}; sleep {rng.uniform(0.2, 1.5):.1f}\n"
            if fault.lasts:
                lasting[key] = f"end_{fault.name} {arguments}"
        text += "".join(f"{ending}\n" for ending in lasting.values())
        text += "sleep 3; end\n"
        for drive in range(DRIVES):
            text += f'must "$(settings {drive})" "{BEFORE}" "round {number}, drive {drive}"\n'
        text += f'must "$(cat /run/capd/originals.json 2>/dev/null | wc -c)" 0 "round {number}, kept"\n'
        yield text + f"echo {number} >> rounds\n", each
        number += 1
        done += each
