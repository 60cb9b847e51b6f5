import contextlib
import importlib.util
import io
import os
import pickle
import random
import re
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import needs
import pytest

import headstack
from headstack.cli import main

# What was started in the background may ignore signals, and what it starts would do so too.
for _signal in (signal.SIGHUP, signal.SIGTERM):
    signal.signal(_signal, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("HEADSTACK_SHARED", ROOT.parent / "shared"))

#: Factor of seeds, cases and requests: 1 in `make test`, more in `make test-all`.
THOROUGH = int(os.environ.get("HEADSTACK_THOROUGH", "1"))

#: Whether studies run with fewer requests than their papers.
QUICK = THOROUGH <= 1

#: A part of the long tests: the commit whose hash draws their order, and the seconds in which
#: they begin.
DRAWN_BY = os.environ.get("HEADSTACK_DRAWN_BY")
BEGIN_WITHIN_S = float(os.environ.get("HEADSTACK_BEGIN_WITHIN_S", "inf"))
_began_s = time.monotonic()


#: Where tests need real time: `test-all` runs them after all others, in two processes.
REAL_TIME = ("live/", "docs/test_docs_servers.py", "test_servers_without_a_disk")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs real time; put tests in an order of chance, if one is asked for.

    So each of them is a first one sooner or later.
    """
    for item in items:
        if any(part in item.nodeid for part in REAL_TIME):
            item.add_marker("quiet")
    if DRAWN_BY is not None:
        random.Random(DRAWN_BY).shuffle(items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that begins too late or whose needs are not met, before any fixture is made."""
    if time.monotonic() - _began_s > BEGIN_WITHIN_S:
        pytest.skip("not in this part of the long tests")
    if item.get_closest_marker("linux") and sys.platform != "linux":
        pytest.skip("real time needs Linux")
    for mark in item.iter_markers("needs"):
        for reason in map(needs.absent, mark.args):
            if reason is not None:
                pytest.skip(reason)


class Once:
    """Results that several tests read: each is made once a session, by one of its processes.

    Attributes:
        folder: a folder of the session.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self._known: dict[str, Any] = {}

    def __call__(self, key: str, make: Callable[[], Any]) -> Any:
        """Return what `make` returns, not to be changed; `key` names all that decides it."""
        if key not in self._known:
            import fcntl  # needs a Unix

            file = self.folder / f"{key}.pickle"
            with file.with_suffix(".lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not file.exists():
                    file.write_bytes(pickle.dumps(make()))
            self._known[key] = pickle.loads(file.read_bytes())
        return self._known[key]


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """What tests share over the processes of a session."""
    base = tmp_path_factory.getbasetemp()
    return Once((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "once")


def command(*args: object, **env: str) -> "subprocess.CompletedProcess[str]":
    """Run the command line in this process, as a new one in the repository's folder would do.

    A new process spends up to two seconds on imports. Tests of the process itself start one.
    """
    given = [str(a) for a in args]
    texts = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2)]
    with (
        contextlib.chdir(ROOT),
        mock.patch.dict(os.environ, env),
        contextlib.redirect_stdout(texts[0]),
        contextlib.redirect_stderr(texts[1]),
    ):
        code = main(given)
    shown = []
    for text in texts:
        text.flush()
        shown.append(text.buffer.getvalue().decode())  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(given, code, *shown)


#: The command line as a process of its own.
HEADSTACK = (sys.executable, "-m", "headstack")


def process(*args: object, **more: Any) -> "subprocess.CompletedProcess[Any]":
    """Run the command line in a process of its own, from the repository's folder."""
    given = {"capture_output": True, "text": True, "cwd": ROOT, "timeout": 240, **more}
    return subprocess.run([*HEADSTACK, *map(str, args)], check=False, **given)


def ran(*args: object, **more: Any) -> str:
    """Run a program that has to succeed; its standard output."""
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=240, check=False, **more)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def closed_loop(drive: Any, outstanding: int, warm_up: int = 0, **load: Any) -> dict[str, Any]:
    """Return the results of a drive that always has so many random reads of 4 KiB to do."""
    reads = {"n_requests": 3000, "reads": 1.0, "sequential": 0.0, "size": "4 KiB"}
    synthetic = {**reads, "arrivals": "poisson", "rate": "1000/s", **load}
    arrivals = {"closed": {"outstanding": outstanding}}
    workload = {"synthetic": synthetic, "arrivals": arrivals, "warm_up": warm_up}
    systems = [{"name": "s", "drive": drive}]
    result = headstack.run(workload=workload, systems=systems, log_requests=False)
    return result.document["systems"][0]


def loaded(path: Path) -> ModuleType:
    """Return an example or a script as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def printed(example: str, folder: Path, *args: object) -> str:
    """Run an example as a program, in this process; return what it prints beside its figure."""
    script, figure = ROOT / "examples" / f"{example}.py", folder / "figure"
    words = [str(script), *map(str, args), "--figure", str(figure)]
    shown = io.StringIO()
    with mock.patch.object(sys, "argv", words), contextlib.redirect_stdout(shown):
        runpy.run_path(str(script), run_name="__main__")
    assert figure.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    return shown.getvalue()


def check_rows(shown: str, page: str, columns: tuple[int, ...]) -> int:
    """Check that a page of docs has all rows of tables that are printed; return how many."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    rows = [re.split(r"\s{2,}", line.strip()) for line in shown.splitlines()]
    rows = [r for r in rows if len(r) in columns and r[0][0] != "─" and r[0] != "way"]
    for row in rows:
        assert f"| {' | '.join(row)} |" in text
    return len(rows)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser for all tests of a process."""
    import browser  # needs a Unix

    with browser.Browser(tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.fixture
def blank_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are written as files without a picture: drawing takes most of the time of a command.

    Pictures are tested in `test_report.py` and in the commands that run as a process.
    """
    png = b"\x89PNG\r\n\x1a\n"
    monkeypatch.setattr("headstack.show.plots.look.drawn", lambda chart: (png, b"<svg></svg>"))


def system(name: str, scale: float) -> dict[str, object]:
    """A made-up system in the form of results: a test double, not a simulation."""
    quantiles = {q: scale * i * 1e-3 for i, q in enumerate(("mean", "p50", "p90", "p99", "max"), 4)}
    return {
        "name": name,
        "workload": "made up",
        "n_requests": 1000,
        "n_errors": 0,
        "throughput_iops": 100.0,
        "response_time_s": quantiles,
        "components_s": {"queue": scale * 1e-3, "seek": 2e-3, "rotation": 3e-3, "transfer": 1e-4},
        "queue_depth_mean": 1.5,
        "power_w": {"mean": 9.0, "idle": 7.0, "seek": 1.5, "rotation": 0.4, "transfer": 0.1},
        "drives": [],
        "quantile_method": "exact",
        "response_time_cdf": [[scale * 1e-4 * i, i / 100] for i in range(1, 101)],
        "series": {"t_s": [0.0, 1.0, 2.0], "queue_depth": [1.0, 2.0, 1.5], "power_w": [9.0, 8.0, 9.5]},
    }


def made_up() -> dict[str, Any]:
    """Results of two systems that were not simulated."""
    systems = [system("one <drive>", 1.0), system("</script> two", 2.0)]
    return {"systems": systems, "seed": 1, "version": "0", "partial": False}


@pytest.fixture
def document() -> dict[str, Any]:
    return made_up()


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(
        """
[workload]
synthetic = { n_requests = 300, reads = 0.6, sequential = 0.2, size = "4 KiB", \
arrivals = "poisson", rate = "50/s", footprint = "10 GB" }

[[system]]
name = "fcfs"
drive = "barracuda-es-750"
scheduler = "fcfs"
"""
    )
    return path
