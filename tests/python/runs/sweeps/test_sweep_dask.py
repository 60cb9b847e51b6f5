"""Sweeps on the workers of a Dask scheduler: the same bytes, whoever dies."""

import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from conftest import ROOT, THOROUGH, command
from test_sweep import SWEEP, files, kept, trace

import headstack
from headstack import ConfigError, HeadstackError
from headstack.runs import store, worker
from headstack.runs.sweeps import cluster

pytestmark = pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="distributed is not installed")

#: Seeds of each of three points.
SEEDS = 14 if THOROUGH <= 1 else 100

CLUSTER = """
import sys, time
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1",
                      dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@pytest.fixture(scope="module")
def workers():
    import distributed

    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as found:
        yield found


@pytest.fixture
def client(workers):
    import distributed

    with distributed.Client(workers.scheduler_address, set_as_default=False) as found:
        yield found


@pytest.fixture
def sweep_file(tmp_path: Path) -> Path:
    """A sweep over a trace and a drive file, with enough runs to be interrupted in the middle."""
    trace(tmp_path / "t.csv", 0)
    text = headstack.drives.find("cheetah-10k-19g").read_text()
    (tmp_path / "mine.toml").write_text(text)
    (tmp_path / "small.toml").write_text('[workload]\ntrace = "t.csv"\n[[system]]\nname = "a"\ndrive = "mine.toml"\n')
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP.replace("seeds = 3", f"seeds = {SEEDS}"))
    return path


def killing(sweep: Path, out: Path, address: str, kill, after: int) -> None:
    """Carry out a sweep and call `kill` once, when so many runs are done."""
    called = threading.Event()

    def progress(n: int, total: int | None) -> None:
        if n >= after and not called.is_set():
            called.set()
            kill()

    headstack.sweep(sweep, out=out, dask=address, progress=progress)
    assert called.is_set()


def test_workers_give_the_same_bytes_as_processes(sweep_file, tmp_path, workers):
    here, there = tmp_path / "here", tmp_path / "there"
    headstack.sweep(sweep_file, out=here, jobs=1)
    found = headstack.sweep(sweep_file, out=there, dask=workers.scheduler_address)
    assert found.n_computed == 3 * SEEDS
    assert files(there) == files(here)
    # What was computed there is known here.
    assert headstack.sweep(sweep_file, out=there, jobs=1).n_computed == 0


def test_a_worker_that_is_killed_changes_nothing(sweep_file, tmp_path, workers, client):
    here, there = tmp_path / "here", tmp_path / "there"
    headstack.sweep(sweep_file, out=here, jobs=2)
    pids = client.run(os.getpid)

    def kill() -> None:
        os.kill(next(iter(pids.values())), signal.SIGKILL)

    killing(sweep_file, there, workers.scheduler_address, kill, SEEDS)
    assert files(there) == files(here)
    client.wait_for_workers(2, timeout=240)
    # The one that came in its place has the inputs.
    assert set(client.run(os.getpid).values()) != set(pids.values())
    (tmp_path / "sweep.toml").write_text(SWEEP.replace("seeds = 3", "seeds = [1000, 1001]"))
    assert headstack.sweep(sweep_file, dask=workers.scheduler_address).n_computed == 6


def test_a_sweep_whose_scheduler_died_goes_on_from_disk(sweep_file, tmp_path, workers):
    here, there = tmp_path / "here", tmp_path / "there"
    headstack.sweep(sweep_file, out=here, jobs=2)
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    server = subprocess.Popen(
        [sys.executable, script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        start_new_session=True,
    )
    with server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()

        def kill() -> None:
            os.killpg(server.pid, signal.SIGKILL)

        with pytest.raises(HeadstackError, match=r"--dask .*got a scheduler that is gone"):
            killing(sweep_file, there, address, kill, SEEDS)
    assert kept(there) > 0
    assert not (there / store.TABLE).exists()
    found = headstack.sweep(sweep_file, out=there, dask=workers.scheduler_address)
    assert 0 < found.n_computed <= 2 * SEEDS
    assert files(there) == files(here)


def test_what_has_the_same_path_and_hash_is_not_sent(tmp_path):
    (tmp_path / "t.csv").write_text("a")
    base = {"file": None, "text": '{"workload": {"trace": "%s"}}' % (tmp_path / "t.csv")}
    given = cluster.bundle(base, [])
    assert list(given.files) == cluster.readable(given.files)
    (tmp_path / "t.csv").write_text("b")
    assert cluster.readable(given.files) == []


def test_sent_files_are_kept_by_their_hash(tmp_path):
    (tmp_path / "t.csv").write_text("one")
    base = {"file": None, "text": '{"workload": {"trace": "%s"}}' % (tmp_path / "t.csv")}
    given = cluster.bundle(base, [])
    ((text, file),) = given.files.items()
    sent = given._replace(files={text: file._replace(content=b"one")})
    folder = tmp_path / "worker"
    for _ in range(2):  # a second time changes nothing
        cluster.stage(sent, folder)
        place = Path(cluster._staged[given.key][text])
        assert place.read_text() == "one"
        assert place == folder / file.sha256 / "t.csv"
    assert [p.name for p in place.parent.iterdir()] == ["t.csv"]


def test_workers_that_cannot_read_the_inputs_get_them(sweep_file, tmp_path, workers, monkeypatch):
    here, there = tmp_path / "here", tmp_path / "there"
    headstack.sweep(sweep_file, out=here, jobs=1)
    # As on other machines: no worker finds the files at their path.
    monkeypatch.setattr(cluster, "readable", unreadable)
    headstack.sweep(sweep_file, out=there, dask=workers.scheduler_address)
    assert files(there) == files(here)
    monkeypatch.setattr(cluster, "MOST_SENT", 10)
    with pytest.raises(ConfigError, match="need it on a path that all workers can read"):
        headstack.sweep(sweep_file, dask=workers.scheduler_address)


def unreadable(files: object) -> list[str]:
    return []


def test_workers_of_another_version_are_refused(sweep_file, workers, monkeypatch):
    own = worker.identity()
    for other, want in (
        ({**own, "version": "0.0.9"}, r"worker tcp.*got version .* of headstack, need 0.0.9"),
        ({**own, "build": "0" * 16}, r"got build .*, need 0000000000000000; install the same"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(worker, "identity", lambda other=other: other)
            # The workers answer with their own, by the name of the function.
            patch.setattr(cluster, "_checked", lambda c, a: CHECKED(_Honest(c), a))
            with pytest.raises(ConfigError, match=want):
                headstack.sweep(sweep_file, dask=workers.scheduler_address)
        with pytest.raises(ConfigError, match="worker: got"):
            cluster.simulate("x", other, {}, False)


CHECKED = cluster._checked


class _Honest:
    """A client whose workers are asked for their own identity."""

    def __init__(self, client: object) -> None:
        self._client = client

    def run(self, function, **more):
        return self._client.run(_true_identity, **more)  # type: ignore[attr-defined]

    def nthreads(self):
        return self._client.nthreads()  # type: ignore[attr-defined]


def _true_identity():
    from headstack.runs import worker

    return worker.identity()


def test_wrong_input_is_the_same_error(sweep_file, workers, monkeypatch):
    sweep_file.write_text(SWEEP.replace("[1, 4, 16]", "[1, -4]"))
    with pytest.raises(ConfigError, match="queue_depth = -4"):
        headstack.sweep(sweep_file, dask=workers.scheduler_address)
    with pytest.raises(ConfigError, match="DiskSim file, which is not supported with --dask"):
        headstack.sweep(ROOT / "examples/raid5.parv", seeds=2, dask=workers.scheduler_address)


def test_an_unreachable_cluster_is_an_error(sweep_file, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_S", 1)
    begun = time.monotonic()
    done = command("sweep", sweep_file, "--dask", "tcp://127.0.0.1:9", "--out", tmp_path / "o")
    assert done.returncode == 1
    assert "--dask tcp://127.0.0.1:9: got no answer" in done.stderr
    assert "Traceback" not in done.stderr
    assert time.monotonic() - begun < 100
    assert not (tmp_path / "o" / store.TABLE).exists()
