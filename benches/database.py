"""A database on a real kernel and file system, on a conventional and on a dual-actuator drive.

SQLite on ext4 in a guest under QEMU: each database is in a partition of its own, one at the
beginning of each half of the drive, which on a dual-actuator drive are served by different arms. A
transaction updates three random rows and is durable (WAL, `synchronous = FULL`). Prints
transactions per second, and the mean response time at the drive, as emulated, and as simulated from
the recorded session.

    .venv/bin/python benches/database.py
"""

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import guest

import headstack

DRIVES = ("exos-x18", "exos-2x18-sata")
PROGRAMS = ("sqlite3", "mkfs.ext4", "sfdisk")
TRANSACTIONS = 150
ROWS = 20_000

#: Makes the table, and the transactions of one database.
PREPARE = f"""
for n in 1 2; do
  mkfs.ext4 -q -F /dev/sda$n 2>/dev/null && mkdir -p /mnt/$n || exit 1
  mount -t ext4 /dev/sda$n /mnt/$n || exit 1
  sqlite3 /mnt/$n/db "PRAGMA journal_mode=WAL;
    CREATE TABLE t(id INTEGER PRIMARY KEY, v INTEGER, x BLOB);
    WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<{ROWS})
    INSERT INTO t SELECT i, 0, randomblob(300) FROM c; PRAGMA wal_checkpoint(TRUNCATE);" > /dev/null
done
row="abs(random()) % {ROWS} + 1"; one="UPDATE t SET v = v + 1 WHERE id IN ($row, $row, $row);"
echo "PRAGMA synchronous=FULL;" > /tmp/load
for i in $(seq {TRANSACTIONS}); do echo "$one" >> /tmp/load; done
now() {{ cut -d ' ' -f 1 /proc/uptime; }}
rest() {{ sync; sleep 8; echo 3 > /proc/sys/vm/drop_caches; }}
"""
#: One database alone, then two at once, each after the drive has rested and with nothing cached.
LOAD = """
rest; echo "one $(now)" >> /out/times
sqlite3 /mnt/1/db < /tmp/load; echo "end $(now)" >> /out/times
rest; echo "two $(now)" >> /out/times
sqlite3 /mnt/1/db < /tmp/load & sqlite3 /mnt/2/db < /tmp/load; wait; echo "end $(now)" >> /out/times
for n in 1 2; do
  sqlite3 /mnt/$n/db "SELECT sum(v) FROM t; PRAGMA integrity_check;" >> /out/sums; umount /mnt/$n
done
"""


@dataclass(frozen=True)
class Ran:
    """What one drive gave.

    Attributes:
        one: transactions per second of one database alone.
        two: of two databases together, one in each half of the drive.
        record: the recorded session.
        response_s: the response time of each of its requests, in order of arrival.
    """

    one: float
    two: float
    record: Path
    response_s: list[float]


def partitions(size_bytes: int) -> str:
    """Return the input of sfdisk: 4 GiB at the beginning of each half, in blocks of 512 bytes."""
    half = size_bytes // 2 // 512 // 2048 * 2048 + 2048
    return f"label: gpt\\nstart=2048, size=8388608\\nstart={half}, size=8388608\\n"


def ran(drive: str, folder: Path) -> Ran:
    """Run both loads on a drive."""
    record = folder / f"{drive}.csv"
    with headstack.emulate(drive, record=record) as disk, guest.mounted(disk.uri) as file:
        parts = f"printf '{partitions(disk.size_bytes)}' | sfdisk -q /dev/sda; sleep 1\n"
        files = guest.run(
            [file], parts + PREPARE + LOAD, programs=PROGRAMS, modules=("ext4", "crc32c_generic"), seconds=280
        )
    words = [line.split() for line in files["times"].decode().splitlines()]
    one, one_end, two, two_end = (float(at) for _, at in words)
    sums = files["sums"].decode().split()
    assert sums[1::2] == ["ok", "ok"], sums
    rows = [line.split(",") for line in record.read_text().splitlines()[1:]]
    rows.sort(key=lambda row: int(row[0]))
    return Ran(
        TRANSACTIONS / (one_end - one), 2 * TRANSACTIONS / (two_end - two), record, [int(row[5]) / 1e9 for row in rows]
    )


def replayed(record: Path, drive: str) -> list[float]:
    """Return the response times of a recorded session in a simulation, in order of arrival."""
    # The record has the order of completions.
    workload = {"trace": str(record), "order": "sort"}
    result = headstack.run(workload=workload, systems={"drive": drive})
    log = result.requests.sort_values("id")
    return [float(t) for t in (log["completion_ns"] - log["arrival_ns"]) / 1e9]


def main() -> None:
    """Print the table."""
    print("| drive | one database | two databases | requests | emulated | simulated |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for drive in DRIVES:
            got = ran(drive, Path(folder))
            both = (got.response_s, replayed(got.record, drive))
            emulated, simulated = (f"{fmean(times) * 1e3:.3f} ms" for times in both)
            cells = f"{got.one:.1f}/s | {got.two:.1f}/s | {len(got.response_s)}"
            print(f"| {drive} | {cells} | {emulated} | {simulated} |", flush=True)


if __name__ == "__main__":
    try:
        guest.need(*PROGRAMS)
        main()
    except guest.AbsentError as reason:
        sys.exit(str(reason))
