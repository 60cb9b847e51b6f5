"""Caps held on a real kernel by `headstack-capd`, and the same in the simulation: PCAP's figures.

Prints tables and writes figures: caps that change (Figures 5 and 6 of PCAP), a batch job under each
of several caps (Figure 8), and a shelf in three tiers (Figure 10), with PCAP and with `learning`.

    .venv/bin/python benches/live_caps.py {modes,batch,shelf} [--rows FILE] [--figure PATH]
    .venv/bin/python benches/live_caps.py {show,again} --rows FILE [--figure PATH]

Linux 6.12 in a guest, `ultrastar-7k4000-pcap` as SCSI disks, mq-deadline, threads of fio that read
4 KiB at random. Times are shorter than the paper's; `MODES`, `BATCH` and `SHELF` have them. The
simulation has the same policy, drives, threads and meter, the caps at the times at which the guest
set them, and as `completion_time` the mean time from the end of a request to the next one, as
measured under the same load with one command at a time in each drive; where a policy leaves it at
one, that of the run itself.
"""

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from typing import Any

import altair as alt
import capd
import guest
import pandas as pd
from capd import Group

import headstack
from headstack.show import plots

#: Seconds: fio starts its threads; one command in each drive; the daemon runs, without a cap.
BEGIN, ALONE, FREE = 8.0, 6.0, 16.0
#: Of the time without a cap the part before the daemon, which must not learn from what was before.
BEFORE = 4.0
#: Seconds after a change of the cap that are left out of means.
SETTLE = 15.0
#: Seconds of a point of a curve.
POINT = 4.0

THROUGHPUT = Group("pcap-agile", {"mode": "throughput", "start_nr_requests": 128, "start_queue_depth": 32})
#: The paper's start, which the daemon takes without a cap only where it is asked for.
SHORT = {"start_nr_requests": 4, "start_queue_depth": 1}
TAIL = Group("pcap-agile", {"mode": "tail-latency", **SHORT})
LEARNING = Group("learning")
THROTTLE = Group("throttle")

#: The caps of Figures 4 to 6 of the paper, 300 s each there.
MODES_CAPS, MODES_STEP = (9.0, 8.5, 7.5, 10.5, 9.5, 9.0, 10.0), 32.0
#: Those of Figure 8. The paper's job of 500 MB takes 630 s or more; here each cap has some seconds.
BATCH_CAPS, BATCH_STEP = ((9.0, 8.75, 8.5), (8.25, 8.0)), 80.0
#: Some of those of Figure 10, 300 s each there, for 16 drives.
SHELF_CAPS, SHELF_STEP = (200.0, 185.0, 170.0, 150.0, 205.0), 48.0


@dataclass(frozen=True)
class Case:
    """Groups of drives in one boot, each with its caps.

    Attributes:
        name: of the run.
        labels: of the groups.
        groups: the groups.
        caps: for each group, caps that follow each other.
        step: seconds of each cap.
        threads: of fio, for each drive.
    """

    name: str
    labels: tuple[str, ...]
    groups: tuple[Group, ...]
    caps: tuple[tuple[float, ...], ...]
    step: float
    threads: int = 128

    @property
    def drives(self) -> int:
        """How many there are."""
        return sum(group.drives for group in self.groups)

    @property
    def seconds(self) -> float:
        """Of the load."""
        return BEGIN + ALONE + FREE + self.step * len(self.caps[0]) + 2


@dataclass(frozen=True)
class Step:
    """What a group did under a cap.

    Attributes:
        case: name of the run.
        group: its label.
        who: ``kernel`` or ``simulation``.
        cap: in watts; none at first.
        begin: seconds after the load began.
        watts: mean power of a drive of each tier.
        rate: requests per second of a drive of each tier.
        settings: of each tier at the end: places of the host, of the drive, ms to a read's expiry.
    """

    case: str
    group: str
    who: str
    cap: float | None
    begin: float
    watts: tuple[float, ...]
    rate: tuple[float, ...]
    settings: tuple[str, ...]


def script(case: Case) -> str:
    """Return what the guest does."""
    drives = range(case.drives)
    cgroup = any(group.policy == "throttle" for group in case.groups)
    text = "ulimit -n 4096\n"
    if cgroup:
        text += (
            "mount -t cgroup2 c /sys/fs/cgroup; echo +io > /sys/fs/cgroup/cgroup.subtree_control\n"
            "mkdir /sys/fs/cgroup/load\n"
        )
    move = "echo 0 > /sys/fs/cgroup/load/cgroup.procs; " if cgroup else ""
    load = (
        f"{capd.FIO} --numjobs={case.threads} --time_based --runtime={case.seconds:.0f} "
        "--filename=/dev/disk/by-id/drive-$i --output=fio.$i"
    )
    text += f"""
depth() {{ for d in /sys/block/sd*; do echo $1 > $d/device/queue_depth; done; }}
depth 1
for i in $(seq 0 {case.drives - 1}); do sh -c "{move}exec {load}" & done
tell load
sleep {BEGIN}
tell alone
sleep {ALONE}
depth 32
tell free
sleep {BEFORE}
tell daemon
headstack-capd run /etc/capd.toml > log 2>&1 & D=$!
sleep {FREE - BEFORE}
"""
    for n, caps in enumerate(zip(*case.caps, strict=True)):
        for g, cap in enumerate(caps):
            text += f"echo {cap:g} > /run/cap.{g}\n"
        text += f"tell step {n}\nsleep {case.step}\n"
    text += "tell end\nkill $D; wait $D; code=$?\n"
    text += "".join(f"settings {i} >> restored\n" for i in drives)
    return text + (
        "n=0; while pidof fio > /dev/null && [ $n -lt 60 ]; do sleep 1; n=$((n + 1)); done\n"
        "kill $METER\n[ $code = 0 ]\n"
    )


def settings_of(log: str, group: int, place: int) -> list[tuple[float, str]]:
    """Return what a drive of a group was told to have, with the guest's time of day of each."""
    found = []
    pattern = rf'(?m)^(\S+) .* set group="g{group}" .*settings="([^"]*)"'
    for time, settings in re.findall(pattern, log):
        at = datetime.fromisoformat(time).timestamp()
        parts = re.findall(r"(\d+) x \((\d+), (\d+)(?:, (\d+) ms)?", settings)
        drives = [f"{a}, {b}, {c}" for n, a, b, c in parts for _ in range(int(n))]
        found.append((at, drives[place]))
    return found


def tiers(group: Group) -> Iterator[slice]:
    """Yield the drives of each tier."""
    first = 0
    for n in group.tiers:
        yield slice(first, first + n)
        first += n


def windows(case: Case, times: Sequence[float], end: float) -> list[tuple[float, float, int | None]]:
    """Return begin and end of what is averaged, and the number of the cap set at these times."""
    found: list[tuple[float, float, int | None]] = [(times[0] - FREE + BEFORE, times[0], None)]
    bounds = [*times, end]
    found += [(begin + min(SETTLE, case.step / 2), stop, n) for n, (begin, stop) in enumerate(pairwise(bounds))]
    return found


@dataclass
class Found:
    """All that a case gave: its steps, courses, and response times by who and group."""

    steps: list[Step]
    course: list[dict[str, Any]]
    response: list[dict[str, Any]]
    facts: dict[str, Any]


def measure(case: Case) -> capd.Live:
    """Run a case in a guest."""
    most = case.seconds + 240
    return capd.run(case.groups, script(case), seconds=most, memory_mib=512 + 96 * case.drives)


def evaluate(case: Case, live: capd.Live) -> Found:
    """Return what happened in the guest, and in a simulation of the same."""
    zero = live.at("load")
    late = live.mean_gap(live.at("alone") + 1, live.at("free"))
    times = [live.at(f"step {n}") - zero for n in range(len(case.caps[0]))]
    end = live.at("end") - zero
    found = Found([], [], [], _facts(case, [*times, end]))
    log = live.files["log"].decode()
    started = re.search(r"(?m)^(\S+) .*found drive=", log)
    assert started is not None, log
    clock = datetime.fromisoformat(started[1]).timestamp()
    restored = live.files["restored"].decode().split("\n")[: case.drives]
    assert set(restored) == {"128 32 500"}, restored
    first = 0
    for g, group in enumerate(case.groups):
        label, caps = case.labels[g], case.caps[g]
        mine = slice(first, first + group.drives)
        for begin, stop, n in windows(case, times, end):
            watts, rates = live.means(zero + begin, zero + stop)
            told = []
            for tier in tiers(group):
                all_of = settings_of(log, g, tier.start)
                before = [s for at, s in all_of if at - clock + live.at("daemon") < zero + stop - 1]
                told.append(before[-1] if before else "128, 32, 500")
            found.steps.append(_step(case, label, "kernel", None if n is None else caps[n], begin,
                                     group, watts[mine], rates[mine], told))  # fmt: skip
        t = times[0] - FREE
        while t + POINT <= end:
            watts, rates = live.means(zero + t, zero + t + POINT)
            found.course.append(
                {"case": case.name, "group": label, "who": "kernel", "t": t + POINT / 2,
                 "watts": sum(watts[mine]), "rate": sum(rates[mine]),
                 "tiers": [fmean(watts[mine][tier]) for tier in tiers(group)]})  # fmt: skip
            t += POINT
        clat = [json.loads(live.files[f"fio.{i}"])["jobs"][0]["read"]["clat_ns"]
                for i in range(mine.start, mine.stop)]  # fmt: skip
        found.response.append(
            {"case": case.name, "group": label, "who": "kernel",
             **{f"p{q}": median(c["percentile"][f"{q}.000000"] for c in clat) / 1e9
                for q in (50, 80, 99)},
             "max": max(c["max"] for c in clat) / 1e9})  # fmt: skip
        own = late
        if is_alone(group):
            own = live.mean_gap(zero + times[0], zero + end, range(mine.start, mine.stop))
        found.facts["late_ms"].append(own * 1e3)
        simulate(case, g, own, times, end, found)
        first += group.drives
    return found


def is_alone(group: Group) -> bool:
    """Whether its drives have one command at a time for most of a run."""
    return group.policy == "pcap-s" or group.parameters.get("mode") == "tail-latency"


def _facts(case: Case, times: Sequence[float]) -> dict[str, Any]:
    """Return what a simulation needs to be repeated: ms, and seconds of each cap and of the end."""
    return {"case": case.name, "labels": case.labels, "late_ms": [], "times": times}


def _without(kept: dict[str, list[Any]], case: Case, *who: str) -> None:
    """Drop what is kept of a case."""
    for name, rows in kept.items():
        if name != "facts":
            kept[name] = [
                r for r in rows if (r["case"], r["who"] in who, r["group"] in case.labels) != (case.name, True, True)
            ]


def again(kept: dict[str, list[Any]]) -> None:
    """Repeat the simulations of cases that were measured."""
    cases = {(case.name, case.labels): case for make in CASES.values() for case in make()}
    for facts in kept["facts"]:
        case = cases[facts["case"], tuple(facts["labels"])]
        *times, end = facts["times"]
        found = Found([], [], [], facts)
        for g in range(len(case.groups)):
            simulate(case, g, facts["late_ms"][g] / 1e3, times, end, found)
        _without(kept, case, "simulation")
        _add(kept, found)


def _add(kept: dict[str, list[Any]], found: Found) -> None:
    kept["steps"] += [asdict(step) for step in found.steps]
    kept["course"] += found.course
    kept["response"] += found.response


def _step(
    case: Case, label: str, who: str, cap: float | None, begin: float, group: Group,
    watts: Sequence[float], rates: Sequence[float], told: Sequence[str],
) -> Step:  # fmt: skip
    return Step(
        case.name, label, who, cap, begin,
        tuple(fmean(watts[tier]) for tier in tiers(group)),
        tuple(fmean(rates[tier]) for tier in tiers(group)),
        tuple(told),
    )  # fmt: skip


def simulate(case: Case, g: int, late: float, times: Sequence[float], end: float, found: Found, seed: int = 1) -> None:
    """Add the steps, the course and the response times of the same group in the simulation."""
    group, label, caps = case.groups[g], case.labels[g], case.caps[g]
    queue = {
        "name": "host-queue", "elevator": "mq-deadline", "places": "blk-mq", "nr_requests": 128,
        "depth": 32, "sync_writes": True, "completion_time": f"{late * 1e9:.0f} ns",
    }  # fmt: skip
    limit = [{"name": "throttle"}] if group.policy == "throttle" else []
    requests = {"reads": 1.0, "size": "4 KiB", "footprint": "4000 GB"}
    job = {"threads": case.threads, "duration": f"{end} s", "requests": requests}
    parameters = dict(group.parameters)
    if len(group.tiers) > 1:
        parameters["tiers"] = list(group.tiers)
    if group.drives > 1:
        job["devices"] = group.drives
    schedule = [{"at": f"{t} s", "cap": f"{cap} W"} for t, cap in zip(times, caps, strict=True)]
    system = {
        "name": label, "drive": capd.DRIVE, "count": group.drives, "layers": [*limit, queue],
        "capping": {"policy": group.policy, "parameters": parameters, "caps": schedule,
                    "efficiency": group.efficiency},
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as out:
        result = headstack.run(workload={"jobs": [job]}, systems=system, seed=seed, out=out)
        (file,) = Path(out).glob("capping-drives-*.parquet")
        rows = pd.read_parquet(file)
        log = result.requests
        p80 = float(((log["completion_ns"] - log["arrival_ns"]) / 1e9).quantile(0.8))
    rows["expire_ms"] = (rows["read_expire_s"].fillna(0) * 1e3).round().astype(int)
    for begin, stop, n in windows(case, times, end):
        inside = rows[(rows.t_s > begin + 0.5) & (rows.t_s <= stop)]
        by = inside.groupby("drive")[["power_w", "throughput_iops"]].mean()
        # At the very end the next cap may be there.
        before = inside[inside.t_s < stop - 1]
        last = before[before.t_s == before.t_s.max()].set_index("drive")
        told = [
            f"{row.nr_requests}, {row.queue_depth}, {row.expire_ms}"
            for tier in tiers(group)
            for row in [last.loc[tier.start]]
        ]
        cap = None if n is None else caps[n]
        watts, rates = list(by.power_w), list(by.throughput_iops)
        found.steps.append(_step(case, label, "simulation", cap, begin, group, watts, rates, told))
    rows["point"] = ((rows.t_s - (times[0] - FREE)) // POINT).astype(int)
    for point, part in rows[rows.t_s > times[0] - FREE].groupby("point"):
        drives = part.groupby("drive")[["power_w", "throughput_iops"]].mean()
        watts = list(drives.power_w)
        found.course.append(
            {"case": case.name, "group": label, "who": "simulation",
             "t": times[0] - FREE + (int(str(point)) + 0.5) * POINT,
             "watts": sum(watts), "rate": float(drives.throughput_iops.sum()),
             "tiers": [fmean(watts[tier]) for tier in tiers(group)]})  # fmt: skip
    took = result.document["systems"][0]["capping"]["response_time_s"]
    found.response.append(
        {"case": case.name, "group": label, "who": "simulation", "p50": took["p50"], "p80": p80,
         "p99": took["p99"], "max": took["max"]})  # fmt: skip


def modes() -> list[Case]:
    """Return Figures 5 and 6: caps that change, four policies, two drives in a boot."""
    both = (MODES_CAPS, MODES_CAPS)
    return [
        Case("modes", ("PCAP, throughput", "learning"), (THROUGHPUT, LEARNING), both, MODES_STEP),
        Case("modes", ("PCAP, tail latency", "throttling"), (TAIL, THROTTLE), both, MODES_STEP),
    ]


def batch() -> list[Case]:
    """Return Figure 8: a drive for each cap."""
    return [
        Case("batch", tuple(f"{label}, {cap:g} W" for cap in caps), (group,) * len(caps),
             tuple((cap,) for cap in caps), BATCH_STEP)
        for label, group in (("PCAP", THROUGHPUT), ("learning", LEARNING), ("throttling", THROTTLE))
        for caps in BATCH_CAPS
    ]  # fmt: skip


def shelf(sizes: tuple[int, ...] = (1, 1, 1)) -> list[Case]:
    """Return Figure 10: as many drives as the guest carries, and of the caps their share."""
    n = sum(sizes)
    caps = (tuple(cap * n / 16 for cap in SHELF_CAPS),)
    pcap = {"period": "5 s", "tolerance": f"{n / 16} W", **SHORT}
    return [
        Case("shelf", (label,), (Group(policy, parameters, sizes, 0.83),), caps, SHELF_STEP)
        for label, policy, parameters in (("PCAP/S", "pcap-s", pcap), ("learning", "learning", {"efficiency": 0.83}))
    ]


CASES = {"modes": modes, "batch": batch, "shelf": shelf}


def table(steps: Sequence[Step]) -> str:
    """Return the means under each cap: kernel, simulation, and how far they are apart."""
    lines = [
        "| run | cap, W | power of a drive, W | reads/s of a drive | apart | settings |",
        "|---|---|---|---|---|---|",
    ]
    kernel = [s for s in steps if s.who == "kernel"]
    for real in kernel:
        same = (real.case, real.group, real.begin)
        ours = next(s for s in steps if s.who != "kernel" and (s.case, s.group, s.begin) == same)
        watts = "; ".join(f"{a:.2f}, {b:.2f}" for a, b in zip(real.watts, ours.watts, strict=True))
        rate = "; ".join(f"{a:.0f}, {b:.0f}" for a, b in zip(real.rate, ours.rate, strict=True))
        apart = (
            f"{100 * (fmean(real.watts) / fmean(ours.watts) - 1):+.1f} %, "
            f"{100 * (fmean(real.rate) / fmean(ours.rate) - 1):+.1f} %"
        )
        cap = "none" if real.cap is None else f"{real.cap:g}"
        told = "; ".join(f"({a}), ({b})" for a, b in zip(real.settings, ours.settings, strict=True))
        lines.append(f"| {real.group} | {cap} | {watts} | {rate} | {apart} | {told} |")
    return "\n".join(lines)


def _lines(frame: pd.DataFrame, value: str, title: str) -> alt.LayerChart:
    """Return a value over time: the kernel drawn thick and pale, the simulation thin upon it."""
    base = alt.Chart(frame).encode(
        x=alt.X("t:Q", title="time, s"),
        y=alt.Y(f"{value}:Q", title=title, scale=alt.Scale(zero=False)),
        color=alt.Color("group:N", title=None),
    )
    real = base.transform_filter("datum.who == 'kernel'").mark_line(strokeWidth=4, opacity=0.4)
    ours = base.transform_filter("datum.who == 'simulation'").mark_line(strokeWidth=1.3)
    return alt.layer(real, ours).properties(width=300, height=180)


def figures(kept: Mapping[str, Any]) -> alt.VConcatChart:
    """Return courses under changing caps, the batch job over its cap, and the tiers of a shelf."""
    course, steps = pd.DataFrame(kept["course"]), pd.DataFrame(kept["steps"])
    rows: list[Any] = []
    changing = course[course.case == "modes"]
    if len(changing):
        caps = steps[(steps.case == "modes") & (steps.who == "kernel")].dropna(subset=["cap"])
        caps = caps[caps.group == caps.group.iloc[0]].assign(t=lambda f: f.begin - SETTLE)
        stairs = alt.Chart(caps).mark_line(interpolate="step-after", strokeDash=[4, 3], color="black")
        power = _lines(changing, "watts", "power, W")
        stairs = stairs.encode(x="t:Q", y="cap:Q")
        rows.append(alt.layer(power, stairs) | _lines(changing, "rate", "reads per second"))
    jobs = steps[(steps.case == "batch") & steps.cap.notna()]
    if len(jobs):
        jobs = jobs.assign(
            watts=[w[0] for w in jobs.watts],
            rate=[r[0] for r in jobs.rate],
            group=[g.rsplit(",", 1)[0] for g in jobs.group],
        )
        panels = []
        for value, title in (("rate", "reads per second"), ("watts", "power, W")):
            base = alt.Chart(jobs).encode(
                x=alt.X("cap:Q", title="cap, W", scale=alt.Scale(zero=False)),
                y=alt.Y(f"{value}:Q", title=title, scale=alt.Scale(zero=False)),
                color=alt.Color("group:N", title=None),
            )
            real = base.transform_filter("datum.who == 'kernel'").mark_point(filled=True, size=60)
            ours = base.transform_filter("datum.who == 'simulation'").mark_line()
            panels.append(alt.layer(ours, real).properties(width=300, height=180))
        rows.append(panels[0] | panels[1])
    tiered = course[course.case == "shelf"]
    if len(tiered):
        each = tiered.explode("tiers").assign(watts=lambda f: f.tiers.astype(float))
        each["tier"] = each.groupby(["group", "who", "t"]).cumcount() + 1
        each["policy"], each["group"] = each["group"], [f"tier {n}" for n in each.tier]
        panels = [
            _lines(each[each.policy == policy], "watts", f"{policy}: power of a drive, W")
            for policy in each.policy.unique()
        ]
        rows.append(alt.hconcat(*panels))
    return alt.vconcat(*rows).resolve_scale(color="independent")


def main() -> None:
    """Measure what is asked for, print tables, and draw figures if asked for."""
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    ask.add_argument("what", choices=[*CASES, "show", "again"])
    ask.add_argument("--rows", type=Path, help="add to this file, which `show` reads")
    ask.add_argument("--figure", type=Path, help="write PATH.png and PATH.svg")
    ask.add_argument("--only", type=int, help="of the boots, only this one")
    asked = ask.parse_args()
    kept: dict[str, list[Any]] = {"steps": [], "course": [], "response": [], "facts": []}
    if asked.rows is not None and asked.rows.exists():
        kept = json.loads(asked.rows.read_text())
    cases = CASES[asked.what]() if asked.what in CASES else []
    if asked.what == "again":
        again(kept)
    for case in cases if asked.only is None else [cases[asked.only]]:
        found = evaluate(case, measure(case))
        print(found.facts, file=sys.stderr)
        _without(kept, case, "kernel", "simulation")
        _add(kept, found)
        labels = list(case.labels)
        kept["facts"] = [f for f in kept["facts"] if list(f["labels"]) != labels]
        kept["facts"].append(found.facts)
        if asked.rows is not None:
            asked.rows.write_text(json.dumps(kept) + "\n")
    if asked.what == "again" and asked.rows is not None:
        asked.rows.write_text(json.dumps(kept) + "\n")
    steps = [Step(**{k: tuple(v) if isinstance(v, list) else v for k, v in s.items()}) for s in kept["steps"]]
    print(table(steps))
    for row in kept["response"]:
        print(
            f"{row['case']}, {row['group']}, {row['who']}:",
            *(f"{k} {row[k]:.2f}" for k in ("p50", "p80", "p99", "max")),
        )
    if asked.figure is not None:
        plots.save(figures(kept), asked.figure)


if __name__ == "__main__":
    try:
        guest.need(kernel=guest.BACKPORTS)
        guest.need_iscsi()
        main()
    except guest.AbsentError as reason:
        sys.exit(str(reason))
