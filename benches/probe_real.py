"""Probes of emulated drives in real time, over NBD and iSCSI, held against the truth.

`python benches/probe_real.py [--drives wd-re3-2009 ...] [--wires nbd iscsi] [--budget 10min]`
serves each drive, probes it, and prints a row of errors; with `--logs LOG ...`, of probes that were
kept, named WIRE-DRIVE.log. Server and probe should have real-time priority and a quiet machine:
`chrt -f 10 python benches/probe_real.py`.
"""

import argparse
import tempfile
from pathlib import Path

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


def main() -> None:
    """Probe, or work logs out, and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drives", nargs="+", default=["wd-re3-2009", "exos-x18", "conner-cp3100"])
    parser.add_argument("--wires", nargs="+", default=["nbd", "iscsi"])
    parser.add_argument("--budget", default="10min")
    parser.add_argument("--logs", nargs="+", type=Path, default=[])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for log in given.logs:
            wire, drive = log.stem.split("-", 1)
            found = probe.probe(None, from_log=log)
            print(wire, drive, *judged(found, drive, folder), sep=" | ", flush=True)
        for drive in [] if given.logs else given.drives:
            for wire in given.wires:
                with headstack.emulate(drive, iscsi=wire == "iscsi") as disk:
                    target = disk.url if wire == "iscsi" else disk.uri
                    found = probe.probe(target, budget=given.budget)
                print(wire, drive, *judged(found, drive, folder), sep=" | ", flush=True)


if __name__ == "__main__":
    main()
