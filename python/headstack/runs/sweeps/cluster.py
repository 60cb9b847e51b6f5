"""Runs of a sweep on the workers of a Dask scheduler, behind `concurrent.futures`' interface.

# Model
Each task is a pure function of its arguments, the seed among them, and its key is a hash of them:
asked twice, it is computed once, and a task whose worker died is computed again elsewhere with the
same result. Inputs (traces, drive files, files of caps) are known by their hash. A worker reads
them at their own path if the file there has that hash, as on a shared file system; else it gets
their content once and keeps it under its hash. A worker of another version or build of Headstack
is refused, because its numbers may differ.

Results come back as records and are stored where the sweep was started, so a sweep whose scheduler
died goes on from there.

# Source
The interface is that of `distributed`, https://distributed.dask.org.
"""

import asyncio
import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Executor, Future
from pathlib import Path
from typing import Any, NamedTuple

from headstack import drives
from headstack.errors import ConfigError, HeadstackError, TraceError
from headstack.runs import outputs, worker
from headstack.runs.sweeps import plan

#: Most bytes of inputs that are sent to workers; larger ones must be on a path that all can read.
MOST_SENT = 256 << 20

#: How often a task is tried again after an error that is not the input's.
RETRIES = 2

#: Seconds in which the scheduler must answer.
CONNECT_S = 10

#: Keys of an experiment whose value is the path of a file.
PATHS = ("trace", "drive", "cap_file")


class File(NamedTuple):
    """An input file.

    Attributes:
        path: where it is on the machine that asks.
        name: its name without folders.
        sha256: hash of its content.
        content: its bytes, unless all workers can read it at `path`.
    """

    path: str
    name: str
    sha256: str
    content: bytes | None


class Bundle(NamedTuple):
    """What a worker needs for all runs of a sweep.

    Attributes:
        key: the base's hash.
        document: the experiment's tables, as JSON.
        files: input files by their path as the experiment writes it.
        sources_anywhere: whether DiskSim's files may name files outside their folder.
    """

    key: str
    document: str
    files: dict[str, File]
    sources_anywhere: bool


#: Places of input files on this worker, by the paths in the experiment, for each bundle.
_staged: dict[str, dict[str, str]] = {}

#: The tables of the experiments on this worker.
_documents: dict[str, Bundle] = {}


def _document(base: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of an experiment.

    Raises:
        ConfigError: it is a DiskSim file, which workers cannot be sent.
    """
    file = base.get("file")
    try:
        found = plan.tables(base)
    except ValueError as e:
        raise ConfigError(f"{file}: got no TOML ({e}), need an experiment") from None
    if found is None:
        raise ConfigError(
            f"{file}: got a DiskSim file, which is not supported with --dask, need an "
            "experiment in TOML; hint: headstack convert"
        )
    return found


def named_files(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield key and value of everything in a document that may name a file.

    Example:
        >>> list(named_files({"system": [{"drive": "a.toml", "name": "x"}]}))
        [('drive', 'a.toml')]
    """
    if isinstance(value, Mapping):
        for k, v in value.items():
            # A setting's key is dotted.
            yield from named_files(v, str(k).rpartition(".")[2])
    elif isinstance(value, list | tuple):
        for v in value:
            yield from named_files(v, key)
    elif isinstance(value, str) and key in PATHS:
        yield key, value


def _located(base: Mapping[str, Any], asked: list[tuple[str, str]]) -> dict[str, Path]:
    """Return the input files by their path as it is written."""
    folder = Path(base["file"]).parent if base.get("file") is not None else Path()
    places = base.get("places") or {}
    found: dict[str, Path] = {}
    for key, text in asked:
        if key == "drive":
            path = drives.find(text, folder)
            if path.suffix in drives.DISKSIM_SUFFIXES:
                raise ConfigError(
                    f"drive: got {text}, a DiskSim file, which is not supported with --dask, need "
                    "a drive in TOML; hint: headstack convert"
                )
            # Each worker has those of Headstack.
            if path.stem == text and path.parent == drives.drive_dirs()[-1]:
                continue
        else:
            path = Path(places.get(text, folder / text))
        if not path.is_file():
            raise ConfigError(f'{key}: got "{text}", need a file that exists')
        found[text] = path.absolute()
    return found


def bundle(base: Mapping[str, Any], settings: Sequence[Mapping[str, Any]]) -> Bundle:
    """Return what workers need: the experiment's tables and all files that its runs name.

    Args:
        base: the experiment.
        settings: the settings of all points, which may name further files.

    Raises:
        ConfigError: a file does not exist, or cannot be sent.
    """
    document = _document(base)
    asked = list(dict.fromkeys([*named_files(document), *named_files(settings)]))
    files = {
        text: File(str(path), path.name, outputs.sha256(path), None) for text, path in _located(base, asked).items()
    }
    key = worker.hash_of(base)
    return Bundle(key, json.dumps(document), files, bool(base.get("sources_anywhere")))


def readable(files: Mapping[str, File]) -> list[str]:
    """Return the files that this worker can read at their own path, with the same content."""
    found = []
    for text, file in files.items():
        with contextlib.suppress(OSError):
            if outputs.sha256(Path(file.path)) == file.sha256:
                found.append(text)
    return found


def stage(given: Bundle, folder: Path) -> None:
    """Put the input files of a bundle where this worker reads them; can be repeated."""
    at_home = readable({t: f for t, f in given.files.items() if f.content is None})
    places = {text: given.files[text].path for text in at_home}
    for text, file in given.files.items():
        if file.content is None:
            continue
        own = folder / file.sha256
        path = own / file.name
        if not path.is_file():
            own.mkdir(parents=True, exist_ok=True)
            descriptor, part = tempfile.mkstemp(dir=own)
            with os.fdopen(descriptor, "wb") as out:
                out.write(file.content)
            os.replace(part, path)
        places[text] = str(path)
    _staged[given.key] = places
    _documents[given.key] = given._replace(files={})


def _translated(value: Any, places: Mapping[str, str], key: str = "") -> Any:
    """Return a document with the paths of its files replaced by those on this worker."""
    if isinstance(value, Mapping):
        return {k: _translated(v, places, str(k).rpartition(".")[2]) for k, v in value.items()}
    if isinstance(value, list):
        return [_translated(v, places, key) for v in value]
    if isinstance(value, str) and key in PATHS:
        return places.get(value, value)
    return value


def simulate(base: str, identity: Mapping[str, str], overrides: Mapping[str, Any], keep_going: bool) -> dict[str, Any]:
    """Carry out one run on a worker; like `headstack.runs.worker.simulate`.

    Raises:
        ConfigError: the worker is another version.
        HeadstackError: it has not got the inputs, or the run failed.
    """
    own = worker.identity()
    if own != identity:
        raise ConfigError(f"worker: {_other(own, identity)}")
    if base not in _documents:
        raise HeadstackError("worker: got no inputs of this sweep, need them from the scheduler")
    given, places = _documents[base], _staged[base]
    document = _translated(json.loads(given.document), places)
    prepared = worker.prepare({"file": None, "text": json.dumps(document), "sources_anywhere": given.sources_anywhere})
    changed = {**overrides, "set": _translated(overrides.get("set", {}), places)}
    record = worker.simulate(prepared, changed, keep_going)
    back = {place: text for text, place in places.items()}
    record["inputs"] = [[kind, back.get(name, name), sha] for kind, name, sha in record["inputs"]]
    return record


def _other(got: Mapping[str, str], need: Mapping[str, str]) -> str:
    if got["version"] != need["version"]:
        return f"got version {got['version']} of headstack, need {need['version']}"
    return f"got build {got['build']} of headstack {got['version']}, need {need['build']}; install the same wheel"


class Cluster(Executor):
    """Workers of a scheduler, as an executor of `headstack.runs.worker.simulate` alone."""

    def __init__(self, client: Any, address: str, n_workers: int) -> None:
        self._client = client
        self._executor = client.get_executor(pure=True, retries=RETRIES)
        self._address = address
        self._ended = False
        #: Threads of all workers when it was connected.
        self.n_workers = n_workers

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Have a worker do a run; the key of the task contains all that decides it."""
        if fn is not worker.simulate or kwargs:
            raise TypeError("submit: got another function, need that of a run of a sweep")
        base, overrides, keep_going = args
        identity = worker.identity()
        key = f"headstack-{worker.hash_of([base, identity, overrides, keep_going])}"
        asked = self._executor.submit(simulate, base, identity, overrides, keep_going, key=key)
        future: Future[Any] = Future()

        def done(given: "Future[Any]") -> None:
            try:
                future.set_result(given.result())
            except (ConfigError, TraceError) as e:
                future.set_exception(e)
            except (Exception, CancelledError, asyncio.CancelledError) as e:
                future.set_exception(e if isinstance(e, HeadstackError) else self._failed(e))

        asked.add_done_callback(done)
        return future

    def _failed(self, error: BaseException) -> HeadstackError:
        """Return the error of a task that was lost with its worker or scheduler."""
        name = type(error).__name__
        if name == "KilledWorker":
            got = "a run whose workers died again and again"
            need = "workers that stay; hint: is there enough memory?"
        elif "ancelled" in name or isinstance(error, OSError):
            got, need = "a scheduler that is gone", "one that stays; what was done is kept"
        else:
            got, need = f"{name}: {error}".splitlines()[0], "workers that can do a run"
        return HeadstackError(f"--dask {self._address}: got {got}, need {need}")

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the scheduler; with `cancel_futures` outstanding tasks are taken back."""
        if self._ended:
            return
        self._ended = True
        with contextlib.suppress(Exception):
            self._executor.shutdown(wait=wait and not cancel_futures)
        with contextlib.suppress(Exception):
            self._client.close(timeout=2)


def connect(address: str, base: Mapping[str, Any], settings: Sequence[Mapping[str, Any]]) -> Cluster:
    """Connect to a scheduler, check its workers, and give them the inputs of a sweep.

    Args:
        address: of the scheduler, as in ``tcp://host:8786``.
        base: the experiment, as `headstack.runs.worker.prepare` takes it.
        settings: the settings of all points.

    Raises:
        ConfigError: a worker has another version, or inputs that cannot be sent.
        HeadstackError: the scheduler does not answer, or has no workers.
    """
    try:
        import distributed
    except ImportError:
        raise ConfigError("--dask: got no package distributed, need it: pip install headstack[dask]") from None
    given = bundle(base, settings)
    make: Any = distributed.Client
    try:
        client = make(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as e:
        said = str(e).splitlines()[0] if str(e) else type(e).__name__
        raise HeadstackError(
            f"--dask {address}: got no answer ({said}), need the address of a scheduler that runs"
        ) from None
    try:
        n_workers = _checked(client, address)
        _send(client, given, address)
    except BaseException:
        client.close(timeout=2)
        raise
    return Cluster(client, address, n_workers)


def _checked(client: Any, address: str) -> int:
    """Refuse workers of another version; return the number of threads of all.

    Raises:
        ConfigError: a worker is another version or lacks the package.
        HeadstackError: there are no workers.
    """
    own = worker.identity()
    found = client.run(worker.identity, on_error="return")
    if not found:
        raise HeadstackError(f"--dask {address}: got a scheduler without workers, need some")
    for place, identity in sorted(found.items()):
        if not isinstance(identity, Mapping):
            raise ConfigError(
                f"--dask {address}: worker {place}: got {str(identity).splitlines()[0]}, need "
                f"headstack {own['version']} there"
            )
        if identity != own:
            raise ConfigError(f"--dask {address}: worker {place}: {_other(identity, own)}")
    return max(sum(int(n) for n in client.nthreads().values()), 1)


def _send(client: Any, given: Bundle, address: str) -> None:
    """Give all workers, also those that come later, what they need.

    Raises:
        ConfigError: the inputs are too large to be sent, and some worker cannot read them.
    """
    everywhere = set(given.files)
    if given.files:
        for found in client.run(readable, given.files).values():
            everywhere &= set(found)
    files = {}
    size = 0
    for text, file in given.files.items():
        if text in everywhere:
            files[text] = file
            continue
        size += Path(file.path).stat().st_size
        if size > MOST_SENT:
            raise ConfigError(
                f"--dask {address}: got {text}, which some workers cannot read, and inputs of more "
                f"than {MOST_SENT >> 20} MiB, need it on a path that all workers can read"
            )
        files[text] = file._replace(content=Path(file.path).read_bytes())
    client.register_plugin(inputs_plugin(given._replace(files=files)))


def inputs_plugin(given: Bundle) -> Any:
    """Return the plugin that stages the inputs on each worker."""
    import distributed

    class Inputs(distributed.WorkerPlugin):
        """Stages the inputs of a sweep."""

        name = f"headstack-{given.key}"
        idempotent = False

        def setup(self, worker: Any) -> None:
            """Write the files that have to be written."""
            stage(given, Path(worker.local_directory) / "headstack-inputs")

    return Inputs()
