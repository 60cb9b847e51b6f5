"""Response times that other programs have measured: read, fitted and compared."""

import json
import random
import re
import shutil
import subprocess

import numpy as np
import pytest
from test_emulate import READ, Client, path_of

import headstack
from headstack import drives
from headstack.drives import calibration, validation

#: Two overheads of the drive that is measured, which are those of most commands.
TRUE_MS = {"miss_r": 1.3, "hit_r": 0.3}


def with_overheads(ms: dict[str, float]) -> dict:
    return calibration.with_numbers(drives.load("exos-x18"), tuple(ms), list(ms.values()))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A folder with a drive and its emulation's record; and another drive with the same times."""
    folder, rng = tmp_path_factory.mktemp("measured"), random.Random(7)
    calibration.write_drive(with_overheads(TRUE_MS), folder / "true.toml")
    calibration.write_drive(with_overheads(dict.fromkeys(TRUE_MS, 0.8)), folder / "other.toml")
    record = folder / "true.trace"
    with headstack.emulate(folder / "true.toml", speed=0, record=record) as disk:
        client, offset = Client(path_of(disk.uri)), 0
        for _ in range(2000):
            length = 4096 * rng.randint(1, 16)
            if rng.random() < 0.7:
                offset = 4096 * rng.randrange(client.bytes // 4096 - 20)
            client.ask(READ, offset, length)
            offset += length
    shutil.copy(record, folder / "other.trace")
    return folder


def test_the_drive_of_a_record_is_found_again(recorded):
    given, record = drives.load(recorded / "other.toml"), recorded / "true.trace"
    before = calibration.demerits(given, record)
    fit = calibration.calibrate(given, record, numbers=7, policies=("as-given",), runs=0)
    found = {name: fit.numbers[name] * 1e3 for name in TRUE_MS}
    assert found == pytest.approx(TRUE_MS, abs=0.1)
    assert fit.test_demerit_s < before[1] / 4


def test_a_record_validates_its_drive(recorded):
    document = validation.validate(recorded)
    assert document["errors"] == []
    other, true = document["drives"]
    assert (true["name"], true["n_requests"]) == ("true", 2000)
    # The first angle alone differs.
    assert 10 * true["demerit_s"] < other["demerit_s"]
    measured, simulated = validation.response_times(recorded, "true")
    assert np.mean(np.abs(measured - simulated) < 2e-9) > 0.9


def test_pauses_past_the_end_of_simulated_time_are_refused(tmp_path):
    """Four requests, 2e9 s apart: the third pause ends at 6e18 ns."""
    rows = [f"{2 * i}e9,R,{8 * i},8,0.01" for i in range(4)]
    (tmp_path / "x.trace").write_text("\n".join(["time_s,op,lba,blocks,response_s", *rows, ""]))
    shutil.copy(drives.find("exos-x18"), tmp_path / "x.toml")
    (error,) = validation.validate(tmp_path)["errors"]
    said = r"request 3: got a pause that ends at [56]\d{18} ns, need at most 2\^62 ns"
    assert re.search(said, error["message"])


@pytest.mark.needs("fio")
def test_a_latency_log_of_fio_says_what_fio_says(tmp_path):
    log = ["--write_lat_log=x", "--log_offset=1", "--output-format=json"]
    job = ["--name=x", "--filename=f", "--size=2M", "--rw=randrw", "--bs=4k,8k", "--ioengine=psync"]
    done = subprocess.run(["fio", *job, *log], cwd=tmp_path, capture_output=True, check=True)
    (told,) = json.loads(done.stdout[done.stdout.index(b"{") :])["jobs"]
    trace = calibration.read_trace(tmp_path / "x_lat.1.log")
    for write, name, blocks in ((False, "read", 8), (True, "write", 16)):
        of = trace.write == write
        assert of.sum() == told[name]["total_ios"]
        assert set(trace.blocks[of]) == {blocks}
        measured, said = trace.measured_s[of] * 1e9, told[name]["lat_ns"]
        shown = (measured.min(), measured.mean(), measured.max())
        assert shown == pytest.approx((said["min"], said["mean"], said["max"]))
    # fio's offsets are multiples of the size.
    assert (trace.lba % trace.blocks == 0).all()
    assert trace.lba.max() < 4096
