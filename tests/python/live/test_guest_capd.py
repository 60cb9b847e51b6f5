"""`headstack-capd` on a real kernel's settings, in a guest on emulated SCSI drives.

The guest runs the kernel of Debian's backports. Where it, or a tool, is absent, tests are skipped.
"""

import capd
import capd_faults
import live_caps
import pytest
from capd import Group

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.needs("guest:backports", "qemu:iscsi", "headstack-capd"),
    pytest.mark.linux,
]


def test_a_cap_is_held_as_in_the_simulation():
    """PCAP and `learning` on a drive each, under 128 threads: power within 3 %, rates within 5 %.

    At this cap both choose alike where the power differs by a tenth of a watt; see the study.
    """
    groups, caps = (live_caps.THROUGHPUT, live_caps.LEARNING), ((8.75,), (8.75,))
    case = live_caps.Case("step", ("PCAP", "learning"), groups, caps, 60.0)
    found = live_caps.evaluate(case, live_caps.measure(case))
    print(found.facts)
    print(live_caps.table(found.steps))
    for label in case.labels:
        real, ours = (
            next(s for s in found.steps if (s.group, s.who) == (label, who) and s.cap is not None)
            for who in ("kernel", "simulation")
        )
        assert real.watts == pytest.approx(ours.watts, rel=0.03), label
        assert real.rate == pytest.approx(ours.rate, rel=0.05), label
        assert real.watts[0] < 8.75 + 0.2, label
        # Something was set: without a cap the places are 128 and 32.
        assert real.settings != ("128, 32, 500",), label


def hang(disk: object, told: str) -> None:
    """Let a drive hang for three seconds when the guest asks for it."""
    if told.startswith("hang "):
        stuck = {"layer": "fault", "stuck": {"lasts": "3 s"}, "instances": [int(told.split()[1])]}
        disk.change(**stuck)  # type: ignore[attr-defined]


def faults(script: str, seconds: float) -> capd.Live:
    """Run a script with faults; two groups of two drives, whose policies act each second."""
    quick = {"period": "1 s", "lost_after": "3 s"}
    groups = [
        Group("pcap-s", {**quick, "efficiency": 1.0, "tolerance": "0.2 W"}, (1, 1)),
        Group("learning", quick, (2,)),
    ]
    return capd.run(groups, capd_faults.SHELL + script, seconds=seconds, told=hang)


def test_each_fault_is_answered_as_documented():
    live = faults(capd_faults.EACH, 900)
    print(live.files["log"].decode()[-4000:])
    assert live.files["each"] == b"all\n"


def test_settings_are_restored_after_two_hundred_random_faults():
    """In one boot: after each eight faults, all drives have their settings of before."""
    seed = 1
    print(f"seed {seed}")
    script, wanted = "", 0
    for text, n in capd_faults.rounds(seed, 200):
        script, wanted = script + text, wanted + n
    live = faults(script, 2400)
    done = live.files["rounds"].split()
    print(len(done), "rounds;", len(live.files.get("restores", b"").split()), "restored late")
    assert wanted == 200
    assert len(done) == 25
