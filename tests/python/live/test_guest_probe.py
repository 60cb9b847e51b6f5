"""A probe's reads of a real kernel's SCSI disk: by its block layer, and by its generic driver."""

import re

import pytest
from needs import BUILT
from test_guest_scsi import boot

import headstack

pytestmark = [
    pytest.mark.linux,
    pytest.mark.thorough,
    pytest.mark.needs("guest:backports", "qemu:iscsi", "examples/reads"),
]

READS = 21


def test_a_scsi_disk_is_read_and_its_buffer_passed_by():
    """A re-read that passes the buffer by costs a turn at least, however late the guest is."""
    reads = next(str(f) for f in (d / "examples/reads" for d in BUILT) if f.exists())
    with headstack.emulate("exos-2x18-sata", iscsi=True) as disk:
        files = boot([disk.url], "reads /dev/sda > found", reads)
    print(files["found"])
    described, *lines = files["found"].splitlines()
    assert "kind: Block, blocks: 35156656128, block_bytes: 512, physical_bytes: 4096" in described
    assert 'model: "HEADSTCK exos-2x18-sata"' in described
    assert "rotational: Some(true), fua: true" in described
    assert "ranges: [0..17578328064, 17578328064..35156656128]" in described
    times = {}
    for line in lines:
        kind, good, us = re.fullmatch(r"(.*): (\d+) good, (\d+) us", line).groups()
        assert int(good) == READS, line
        times[kind] = int(us) * 1e-6
    assert times["forced re-reads"] >= (READS - 1) * 60 / 7200
