"""Flushes of several threads through the simulated host queue, against a kernel's.

Measured with Linux 6.1 in QEMU on `headstack emulate exos-x18 --iscsi`, `mq-deadline`, fio with
`--direct=1 --bs=4k --rw=randwrite --fsync=1`, 12 s a case: writes per second as fio says, and the
flushes that `/sys/block/sda/stat` counts for each fsync of fio's. The guest needs 1.1 ms from the
end of a request to the next one.
"""

import pytest

import headstack

#: Threads: writes per second, mean time of an fsync in ms, flushes of the disk for each.
MEASURED = {1: (74.2, 12.2, 891 / 891), 4: (89.4, 43.4, 538 / 1076), 16: (131.2, 119.7, 199 / 1585)}


@pytest.mark.parametrize("threads", MEASURED)
def test_threads_share_flushes_as_in_linux(threads):
    queue = {"name": "host-queue", "nr_requests": 256, "depth": 128, "sync_writes": True}
    requests = {"reads": 0.0, "size": "4 KiB", "sequential": 0.0, "local": 0.0}
    job = {"threads": threads, "duration": "12 s", "flush_every": 1, "requests": {**requests, "footprint": "18000 GB"}}
    result = headstack.run(
        workload={"jobs": [job]}, systems={"drive": "exos-x18", "layers": [{**queue, "completion_time": "1.1 ms"}]}
    )
    log = result.requests
    flushes = log[log["op"] == "flush"]
    took_ms = (flushes["completion_ns"] - flushes["arrival_ns"]).mean() / 1e6
    merged = result.document["systems"][0]["layers"][0]["counts"]["merged_flushes"]
    rate, fsync_ms, share = MEASURED[threads]
    # A run of 12 s has 900 to 1,600 writes: two standard deviations of a rate are 4 %.
    assert (log["op"] == "write").sum() / 12 == pytest.approx(rate, rel=0.06)
    assert took_ms == pytest.approx(fsync_ms, rel=0.08)
    assert 1 - merged / len(flushes) == pytest.approx(share, abs=0.02)
