"""The systemd unit of `headstack-capd` with and without its drop-ins, on the kernel of a guest.

systemd is the first process of a container there: a namespace of processes with the tree of control
groups, whose BPF programs guard devices and addresses. QEMU emulates the BMC and a SATA disk; the
drive that is controlled is an emulated SCSI disk.
"""

import json
from pathlib import Path

import capd
import guest
import pytest
from conftest import ROOT

import headstack

SYSTEM = Path("lib/systemd/system")
TOOLS = ("systemd", "systemctl", "curl", "sg_sat_identify", "sg_start")

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.needs("guest:backports", "qemu:iscsi", "headstack-capd", *TOOLS),
    pytest.mark.linux,
]

DEBIAN = ROOT / "crates" / "host" / "debian"

#: The address is the example of `redfish.conf`.
CONFIG = """apply = true
[[group]]
name = "g"
cap = "20 W"
policy = "pcap-s"
unreachable_after = "1 s"
drive = [{ path = "/sys/block/DISK" }]
"""
METERS = {
    "ipmi": '{ command = ["ipmitool", "dcmi", "power", "reading"], after = "power reading:" }',
    "redfish": '{ command = ["curl", "-sSf", "http://192.0.2.10/power"], json = "/Watts" }',
    "smart": '{ command = ["smartctl"] }',
}
EMERGENCY = 'emergency = { condition = "idle_b", after = "15 s" }'
#: They open what the programs of these names open; ATA PASS-THROUGH needs CAP_SYS_RAWIO.
PROGRAMS = {
    "ipmitool": "exec 3<>/dev/ipmi0 && echo 'Instantaneous power reading:    31 Watts'",
    "smartctl": "sg_sat_identify -r /dev/SATA > /dev/null && exec 3<>/dev/sg0 && echo 33",
}
WATTS = {"ipmi": 31, "redfish": 32, "smart": 33}

SCRIPT = """
mkdir -p /run /var/lib /etc/systemd/system
mount -t tmpfs t /run; mount -t cgroup2 c /sys/fs/cgroup
for d in /sys/block/sd*; do
    grep -q ATA $d/device/vendor && sata=${d##*/} || disk=${d##*/}
done
sed -i "s/DISK/$disk/" /etc/headstack/* /try; sed -i "s/SATA/$sata/" /bin/smartctl
ip link set lo up; ip addr add 192.0.2.10/32 dev lo; httpd -p 192.0.2.10:80 -h /www
export container=test
timeout -s KILL 400 unshare -m -p -f --mount-proc \\
    systemd --system --unit=try.service --show-status=0
true # There is no systemd-shutdown.
"""
TRY = """
read() { dd if=/dev/DISK of=/dev/null bs=4k count=1 iflag=direct skip=$1; }
folder=/etc/systemd/system/headstack-capd.service.d
mkdir $folder
for meter in ipmi redfish smart; do
    cp /etc/headstack/$meter.toml /etc/headstack/capd.toml
    for with in nothing $meter; do
        rm -f $folder/*; cp /drop-ins/nothing.conf /drop-ins/$with.conf $folder
        systemctl daemon-reload; systemctl restart headstack-capd
        [ $with = nothing ] && want=': (exit|took)' || want='"power_w":[0-9]'
        until headstack-capd status --json > /out/$meter.$with \\
            && grep -qE "$want" /out/$meter.$with; do sleep 0.5; done
    done
done
until grep -q 'pc=2 --mod=1' /out/log; do sleep 0.5; done
sleep 2; read 1000; read 2000
systemctl stop headstack-capd; read 3000
"""
UNITS = {
    "try.service": """[Unit]
DefaultDependencies=no
SuccessAction=exit-force
FailureAction=exit-force
[Service]
Type=oneshot
ExecStart=/bin/sh /try
StandardOutput=file:/out/tried
StandardError=inherit
""",
    "headstack-capd.service": (DEBIAN / "headstack-capd.service").read_text().replace("/usr", ""),
}


def test_meters_and_the_emergency_action_need_their_drop_ins(tmp_path):
    """Each meter is read with its drop-in and fails without; at last the drive is sent to `idle_b`.

    The read that wakes it takes its recovery of 0.4 s in simulated time, and no other does.
    """
    texts = {f"etc/headstack/{k}.toml": f"{CONFIG}meter = [{v}]\n" for k, v in METERS.items()}
    texts["etc/headstack/smart.toml"] += EMERGENCY
    texts |= {f"bin/{name}": f"#!/bin/sh\n{text}\n" for name, text in PROGRAMS.items()}
    texts |= {str(SYSTEM / name): text for name, text in UNITS.items()}
    targets = [SYSTEM / f"{name}.target" for name in ("sysinit", "basic", "shutdown")]
    texts |= {str(file): ("/" / file).read_text() for file in targets}
    texts |= {f"drop-ins/{f.name}": f.read_text() for f in (DEBIAN / "drop-ins").iterdir()}
    texts["drop-ins/nothing.conf"] = "[Service]\nStandardError=append:/out/log\n"
    texts |= {"www/power": '{"Watts": 32}', "try": TRY}
    sata, record = tmp_path / "sata", tmp_path / "record.csv"
    sata.write_bytes(bytes(1 << 20))
    with headstack.emulate("exos-x18", iscsi=True, record=record) as disk:
        left = guest.run(
            [disk.urls[0], str(sata)],
            SCRIPT,
            programs=(*TOOLS, capd.program()),
            modules=(*guest.SCSI_MODULES, "ipmi_si", "ipmi_devintf"),
            kernel=guest.BACKPORTS,
            files={path: text.encode() for path, text in texts.items()},
            seconds=600,
            memory_mib=1024,
            devices=("ipmi-bmc-sim,id=bmc", "isa-ipmi-kcs,bmc=bmc"),
        )
    log = left["log"].decode()
    print(log, left["tried"].decode(), left["said"].decode())
    for meter, watts in WATTS.items():
        without, with_it = (json.loads(left[f"{meter}.{name}"])["groups"][0]["power_w"] for name in ("nothing", meter))
        assert (without, with_it) == (None, watts), meter
    assert "ERROR" not in log.rpartition("--pc=2 --mod=1")[2]
    rows = [line.split(",") for line in record.read_text().splitlines()[1:]]
    *before, woken, after, last = (int(row[5]) / 1e9 for row in rows if row[4] == "R")
    assert woken > 0.4 > max(*before, after, last)
