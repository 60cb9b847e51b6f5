"""Binary records of blktrace, made by a C program with the kernel's own `blktrace_api.h`."""

import csv
import subprocess
from pathlib import Path

import pytest

from headstack.cli import main

HEADER = Path("/usr/include/linux/blktrace_api.h")

#: Each event: ns, sector, bytes, action, bytes of payload.
PROGRAM = """
#include <linux/blktrace_api.h>
#include <stdio.h>
#include <string.h>

static __u32 number;

static void put(__u64 time, __u64 sector, __u32 bytes, __u32 action, __u16 payload)
{
    struct blk_io_trace t = { .magic = BLK_IO_TRACE_MAGIC | BLK_IO_TRACE_VERSION,
        .sequence = ++number, .time = time, .sector = sector, .bytes = bytes, .action = action,
        .pid = 42, .device = 8u << 20, .cpu = 1, .error = 5, .pdu_len = payload };
    char more[64];
    memset(more, 0x65, sizeof more);
    fwrite(&t, sizeof t, 1, stdout);
    fwrite(more, payload, 1, stdout);
}

int main(void)
{
    __u32 queue = __BLK_TA_QUEUE | BLK_TC_ACT(BLK_TC_QUEUE);
    put(50, 0, 0, BLK_TN_PROCESS, 16);
    put(100, 2048, 4096, queue | BLK_TC_ACT(BLK_TC_READ), 0);
    put(120, 2048, 4096, __BLK_TA_ISSUE | BLK_TC_ACT(BLK_TC_ISSUE | BLK_TC_READ), 0);
    put(200, 8, 512, queue | BLK_TC_ACT(BLK_TC_WRITE | BLK_TC_SYNC), 0);
    put(300, 16, 1024, queue | BLK_TC_ACT(BLK_TC_WRITE | BLK_TC_FUA), 0);
    put(400, 0, 0, queue | BLK_TC_ACT(BLK_TC_WRITE | BLK_TC_FLUSH), 0);
    put(500, 64, 65536, queue | BLK_TC_ACT(BLK_TC_WRITE | BLK_TC_DISCARD), 0);
    put(600, 72, 8192, __BLK_TA_REMAP | BLK_TC_ACT(BLK_TC_WRITE), 16);
    put(700, 80, 4096, queue | __BLK_TA_CGROUP | BLK_TC_ACT(BLK_TC_READ | BLK_TC_META), 8);
    put(800, 2048, 4096, __BLK_TA_COMPLETE | BLK_TC_ACT(BLK_TC_COMPLETE | BLK_TC_READ), 0);
    return 0;
}
"""


@pytest.mark.needs("cc")
@pytest.mark.skipif(not HEADER.exists(), reason="the kernel's headers are absent")
def test_records_of_the_kernels_header_are_read(tmp_path: Path) -> None:
    """What is queued comes out, also with a control group; all else is passed over."""
    source, program, target = (tmp_path / name for name in ("p.c", "p", "out.csv"))
    source.write_text(PROGRAM, encoding="utf-8")
    subprocess.run(["cc", "-o", program, source], check=True)
    trace = tmp_path / "trace.blktrace"
    trace.write_bytes(subprocess.run([program], check=True, capture_output=True).stdout)
    assert main(["convert", str(trace), str(target)]) == 0
    with target.open(encoding="utf-8") as file:
        rows = [(r["time_ns"], r["op"], r["lba"], r["blocks"]) for r in csv.DictReader(file)]
    assert rows == [
        ("100", "read", "2048", "8"),
        ("200", "write", "8", "1"),
        ("300", "write-through", "16", "2"),
        ("400", "flush", "0", "0"),
        ("700", "read", "80", "8"),
    ]
