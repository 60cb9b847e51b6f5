"""Experiments to start with: for traces, and for jobs of fio, which is asked what its jobs do."""

import json
import subprocess
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, command

import headstack
from headstack.workloads import start
from headstack.workloads.start import candidates, fio

TRACE = ROOT / "examples" / "traces" / "pgbench.csv.zst"

#: Options of all jobs: the requests go nowhere, and fio logs them.
GLOBAL = "[global]\nioengine=null\ndirect=1\nfilename=disk\nnorandommap\n"
N = 3000


def real(folder: Path, job: str) -> pd.DataFrame:
    """The requests of fio's own run of a job file, in order."""
    path = folder / "job.fio"
    path.write_text(job)
    words = ["fio", path, "--output=/dev/null", f"--write_iolog={folder / 'log'}"]
    subprocess.run(words, check=True, cwd=folder, timeout=60)
    rows = [line.split() for line in (folder / "log").read_text().splitlines()[1:]]
    found = [r for r in rows if len(r) == 5 and r[2] in ("read", "write", "sync", "datasync")]
    frame = pd.DataFrame(found, columns=["t", "file", "op", "offset", "size"])
    frame["op"] = frame["op"].replace({"sync": "flush", "datasync": "flush"})
    return frame.astype({"offset": np.int64, "size": np.int64})


def ours(job: str, **more: str) -> pd.DataFrame:
    """The requests of the jobs of an experiment made of the file, in order of arrival."""
    text = start.from_fio(job, set={"ioengine": "psync", **more}, drives=["exos-x18"])
    workload = tomllib.loads(text)["workload"]
    system = {"drive": "exos-x18", "organisation": "concatenate", "count": 1}
    found = headstack.run(workload=workload, systems=[system]).requests
    found = found.sort_values(["arrival_ns", "id"], ignore_index=True)
    assert not found["error"].any()
    return found.assign(offset=found["lba"] * 512, size=found["blocks"] * 512)


def shares(frame: pd.DataFrame, key: str) -> dict[object, float]:
    data = frame[frame["op"] != "flush"]
    return (data[key].value_counts() / len(data)).to_dict()


def assert_alike(one: pd.DataFrame, two: pd.DataFrame) -> None:
    """Operations, sizes and places of two loads have one distribution."""
    from scipy import stats

    for key in ("op", "size"):
        a, b = shares(one, key), shares(two, key)
        assert a.keys() == b.keys(), key
        for value, share in a.items():
            # Five standard deviations of the difference of two shares.
            room = 5 * np.sqrt(max(share * (1 - share), 1e-9) * 2 / N)
            assert abs(share - b[value]) <= room, (key, value)
    data = [f[f["op"] != "flush"]["offset"] for f in (one, two)]
    assert max(data[0].max(), data[1].max()) < 1 << 30
    assert stats.ks_2samp(*data).pvalue > 1e-4


@pytest.mark.needs("fio")
@pytest.mark.parametrize(
    "options",
    [
        "rw=randread\nbs=4k",
        "rw=randrw\nrwmixread=70\nbs=8k",
        "rw=randrw\nrwmixwrite=10\nbs=16ki",
        "rw=randread\nbs=512kib\nkb_base=1000",
        "rw=randwrite\nbssplit=4k/60:8k/:64k/10",
        "rw=randread\nbsrange=4k-32k",
        "rw=randwrite\nbs=4k,64k",
    ],
)
def test_requests_are_those_of_fio(tmp_path, options):
    job = f"{GLOBAL}[job]\n{options}\nsize=512m\nnumber_ios={N}\n"
    assert_alike(real(tmp_path, job), ours(job))


@pytest.mark.needs("fio")
def test_popular_places_are_as_popular_as_in_fio(tmp_path):
    job = f"{GLOBAL}[job]\nrw=randread\nbs=4k\nsize=64m\nnumber_ios={N}\n"
    job += "random_distribution=zipf:1.1\n"
    found = [f["offset"].value_counts(normalize=True) for f in (real(tmp_path, job), ours(job))]
    for most in (1, 10, 100):
        a, b = (counts.head(most).sum() for counts in found)
        assert a == pytest.approx(b, abs=5 * np.sqrt(a * (1 - a) * 2 / N)), most


@pytest.mark.needs("fio")
@pytest.mark.parametrize("key", ["fsync", "fdatasync"])
def test_flushes_come_where_fio_has_them(tmp_path, key):
    job = f"{GLOBAL}[log]\nrw=write\nbs=8k\nsize=512m\nnumber_ios=60\n{key}=4\n"
    for frame in (real(tmp_path, job), ours(job)):
        ops = "".join(op[0] for op in frame["op"])
        # The flush after the last write is fio's, too, or the job has ended before it.
        assert (ops + "f").startswith("wwwwf" * 15)
        writes = frame[frame["op"] == "write"]["offset"]
        assert (np.diff(writes) == 8192).all()


@pytest.mark.needs("fio")
def test_partly_random_jobs_are_as_sequential_as_those_of_fio(tmp_path):
    job = f"{GLOBAL}[j]\nrw=randread\nbs=4k\nsize=512m\nnumber_ios={N}\npercentage_random=30\n"
    found = [(f["offset"].diff() == 4096).mean() for f in (real(tmp_path, job), ours(job))]
    assert found[0] == pytest.approx(found[1], abs=5 * np.sqrt(0.21 * 2 / N))


@pytest.mark.needs("fio")
def test_fio_flushes_between_reads_so_that_mixed_jobs_are_refused(tmp_path):
    """One flush follows every second write, and one each read until the next write."""
    job = f"{GLOBAL}[j]\nrw=randrw\nbs=4k\nsize=512m\nnumber_ios={N}\nfsync=2\n"
    counts = real(tmp_path, job)["op"].value_counts()
    assert counts["flush"] > 0.8 * counts["write"]
    message = r"job\.fio:11: fsync: got \"2\", need jobs that only write"
    with pytest.raises(headstack.ConfigError, match=message):
        ours(job)


def test_rates_think_times_and_bursts_are_kept():
    """200/s for 10 s after 2 s, by two jobs of two requests each; and a pause of 50 ms."""
    job = (
        "[global]\ndirect=1\nfilename=/dev/sda\nsize=1g\ntime_based\nruntime=10\n"
        "[paced]\nrw=randrw\nrwmixread=80\nrate_iops=80\nnumjobs=2\niodepth=2\nioengine=libaio\n"
        "startdelay=2\n[slow]\nrw=read\nthinktime=50ms\nbs=8k\n"
    )
    read = fio.read(job, "x", {})
    paced, slow = read.jobs
    # At 80 reads/s, which are 80 %, a job does 100 requests/s: 50 on each of its two threads.
    assert (paced["threads"], paced["rate"], paced["start"]) == (4, "50/s", "2 s")
    assert (slow["threads"], slow["think_time"], slow["duration"]) == (1, "50 ms", "10 s")
    text = start.from_fio(job, set={}, drives=["exos-x18"])
    r = headstack.run(workload=tomllib.loads(text)["workload"], systems={"drive": "exos-x18"})
    times = r.requests["arrival_ns"] * 1e-9
    of_paced = r.requests["blocks"] == 8
    # Each thread is due at the multiples of 20 ms after a beginning of its own.
    assert times[of_paced].between(2, 12).sum() == of_paced.sum() == pytest.approx(2000, abs=4)
    assert times[~of_paced].diff().min() >= 0.050


def test_jobs_without_a_name_of_a_file_have_files_of_their_own():
    job = "[global]\ndirect=1\nsize=100m\nrw=randread\n[a]\nnumjobs=2\n[b]\nfilename=/dev/sdb\n"
    read = fio.read(job, "x", {})
    assert [j["name"] for j in read.jobs] == ["a-0", "a-1", "b"]
    assert [j.get("offset") for j in read.jobs] == [None, "100 MiB", None]
    assert [j.get("first_device", 0) for j in read.jobs] == [0, 0, 1]
    assert read.devices == [200 << 20, 100 << 20]
    text = start.from_fio(job, drives=["exos-x18"])
    done = headstack.run(**{k: v for k, v in _whole(text).items()}, log_requests=False)
    assert all(s.n_errors == 0 and s.n_requests == 3 * (100 << 20) // 4096 for s in done)


def _whole(text):
    document = tomllib.loads(text)
    return {"workload": document["workload"], "systems": document["system"]}


def test_a_stonewall_is_a_beginning():
    job = "[global]\ndirect=1\nfilename=/dev/a\nsize=1m\nruntime=5\ntime_based\n"
    job += "[a]\n[b]\nstonewall\n[c]\n"
    assert [j.get("start") for j in fio.read(job, "x", {}).jobs] == [None, "5 s", "5 s"]
    # What is missing may be given.
    assert fio.read("[x]\n", "x.fio", {"direct": "1", "size": "1g"}).devices == [1 << 30]


def test_systems_have_room_and_can_carry_the_rate():
    rows = candidates.of_today()
    assert 2 <= len(rows) <= 8
    assert {row["n_actuators"] for row in rows} >= {1, 2}
    size = 50 * 10**12
    for one in candidates.propose(candidates.Need([size], 2000.0), rows):
        (row,) = (r for r in rows if r["name"] == one.drive)
        assert one.n_drives * row["capacity_bytes"] >= size
        # A drive serves a random request in a seek and half a turn.
        half_turn = 30 / row["rotation_speed_rpm"]
        alone = row["n_actuators"] / (row["average_seek_s"] + half_turn)
        if "do at random" in one.why:
            assert 2000 / (one.n_drives * alone) <= 0.6 < 2000 / ((one.n_drives - 1) * alone)
    with pytest.raises(headstack.ConfigError, match="need at most 64 drives"):
        candidates.propose(candidates.Need([10**16], None), rows)


def test_a_trace_becomes_an_experiment_that_runs(tmp_path):
    out = tmp_path / "new" / "mine.toml"
    done = command("init", TRACE, "--goal", "p99=80ms", "-o", out)
    assert done.returncode == 0, done.stderr
    text = out.read_text()
    assert "42,613 requests in 240.0 s, format csv: 35% reads, 47% writes, 18% flushes." in text
    assert command("check", out).returncode == 0
    ran = command("run", out, "--json", "--set", "run.max_requests=2000")
    document = json.loads(ran.stdout)
    assert document["experiment"]["goal"] == "p99 <= 80 ms"
    assert len(document["systems"]) >= 4
    assert all(s["n_errors"] == 0 for s in document["systems"])
    again = command("init", TRACE, "-o", out)
    assert (again.returncode, "which exists" in again.stderr) == (2, True)


def test_a_trace_of_several_devices_and_odd_places(tmp_path):
    trace = tmp_path / "t.csv"
    lines = [f"{i * 10000},{i % 3},{7 + 800 * i},{5 + i % 2},R" for i in range(300)]
    trace.write_text("time_us,device,lba,blocks,op\n" + "\n".join(lines) + "\n")
    text = start.from_trace(trace, folder=tmp_path, drives=["exos-x18"])
    assert "100% of the requests do not fill whole sectors of 4 KiB" in text
    systems = {s["name"]: s for s in tomllib.loads(text)["system"]}
    assert systems["exos-x18"]["organisation"] == "concatenate"
    assert systems["3 x exos-x18"] == {
        "name": "3 x exos-x18",
        "drive": "exos-x18",
        "count": 3,
        "organisation": "independent",
    }
    (tmp_path / "x.toml").write_text(text)
    assert all(s.n_errors == 0 for s in headstack.run(tmp_path / "x.toml", log_requests=False))
    empty = tmp_path / "empty.csv"
    empty.write_text("time_us,lba,blocks,op\n")
    with pytest.raises(headstack.TraceError, match="got no requests"):
        start.from_trace(empty)


def test_the_example_of_a_job_file_runs(tmp_path):
    out = tmp_path / "x.toml"
    assert command("init", "examples/database.fio", "-o", out).returncode == 0
    ran = json.loads(command("run", out, "--json").stdout)
    for system in ran["systems"]:
        operations = system["operations"]
        # fdatasync=4 of the log; the pages' writes have none.
        assert operations["flush"]["n_requests"] > 100
        assert system["n_errors"] == 0
