"""Several seeds of one experiment: their numbers stand beside the result of the first seed.

A result with several seeds has ``over_seeds`` in each system: one entry for each seed, in order,
with the numbers that goals and rankings use, under the keys of the system itself. All other numbers
of the result are of the first seed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, as_completed
from typing import Any

from headstack.errors import ConfigError
from headstack.plain import plain, shown, whole

#: What is kept of each seed.
KEPT = ("n_requests", "n_errors", "throughput_iops", "response_time_s", "overloaded")

#: Most seeds of one run; a sweep takes more.
MOST = 10_000


class Bar:
    """Progress of several seeds as that of one run: the requests of all seeds are its total."""

    def __init__(self, report: Callable[[int, int | None], None] | None, n_seeds: int) -> None:
        """Prepare it; without a `report` nothing is told."""
        self._report, self._n_seeds = report, n_seeds
        self._done, self._total = 0, 0
        #: For the run of the first seed.
        self.requests = None if report is None else self._requests

    def _requests(self, done: int, total: int | None) -> None:
        assert self._report is not None
        self._done, self._total = done, total or 0
        self._report(done, None if total is None else total * self._n_seeds)

    def seeds(self, done: int) -> None:
        """Tell how many seeds are done."""
        if self._report is not None:
            each = self._total or self._done
            self._report(each * done, each * self._n_seeds)


def count(given: object, jobs: object = None) -> int | None:
    """Return the number of seeds that was asked for; None if none was.

    Raises:
        ConfigError: it is no number of seeds, or `jobs` no number of processes for them.
    """
    from headstack.runs.sweeps import running

    if given is None:
        if jobs is not None:
            raise ConfigError(f"jobs: got {shown(plain(jobs, 'jobs'))} for one run, need seeds")
        return None
    running.check_jobs(jobs)
    return whole(given, "seeds", 1, MOST)


def kept(system: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Return what is kept of a system for one seed."""
    found = {"seed": seed, **{key: system[key] for key in KEPT if key in system}}
    if "power_w" in system:
        found["power_w"] = {"mean": system["power_w"]["mean"]}
    operations = system.get("operations")
    if operations:
        found["operations"] = {name: {k: one[k] for k in KEPT if k in one} for name, one in operations.items()}
    return found


def numbers(base: str, overrides: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Run one seed in a process of its own; return what is kept of each system.

    Args:
        base: hash of what `headstack.runs.worker.prepare` was given.
        overrides: those of the run, with its seed.
    """
    from headstack.runs import worker

    document = worker.document(base, overrides)
    return [kept(system, overrides["seed"]) for system in document["systems"]]


def add(
    document: dict[str, Any],
    n_seeds: int,
    base: Mapping[str, Any],
    overrides: Mapping[str, Any],
    *,
    jobs: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> None:
    """Run the seeds after the first, and write the numbers of all of them into a result document.

    After Ctrl-C the seeds that are complete stay, and the document is marked as partial.

    Args:
        document: the result of the first seed.
        n_seeds: the number of seeds, the first one included.
        base: the experiment, as `headstack.runs.worker.prepare` takes it.
        overrides: those of the run.
        jobs: number of processes; as many as processors by default.
        progress: called with the number of seeds that are done.
    """
    first = int(document["seed"])
    systems = document["systems"]
    found = {first: [kept(system, first) for system in systems]}
    if document.get("partial"):
        return  # interrupted: the first seed is not whole
    progress(1)
    try:
        others = range(first + 1, first + n_seeds)
        for seed, answer in _computed(base, overrides, others, jobs):
            found[seed] = answer
            progress(len(found))
    except KeyboardInterrupt:
        document["partial"] = True
    document["seeds"] = sorted(found)
    for i, system in enumerate(systems):
        system["over_seeds"] = [found[seed][i] for seed in sorted(found)]


def _computed(
    base: Mapping[str, Any], overrides: Mapping[str, Any], seeds: Sequence[int], jobs: int | None
) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Yield the numbers of each seed as they are done."""
    from headstack.runs import worker
    from headstack.runs.processes import Processes
    from headstack.runs.sweeps import running

    if not seeds:
        return
    n = min(running.default_jobs() if jobs is None else jobs, len(seeds))
    key = worker.hash_of(base)
    pool = Processes(n, worker.prepare, (base,))
    try:
        asked: dict[Future[Any], int] = {pool.submit(numbers, key, {**overrides, "seed": seed}): seed for seed in seeds}
        for future in as_completed(asked):
            yield asked[future], future.result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def said(document: Mapping[str, Any]) -> str:
    """Return one sentence on the seeds of a result; nothing if it has one seed.

    Example:
        >>> said({"seeds": [1, 2, 3]}).partition(",")[0]
        '± is half of the 95 % interval of the mean over 3 seeds'
    """
    seeds: Sequence[int] = document.get("seeds") or []
    if len(seeds) < 2:
        return ""
    return (
        f"± is half of the 95 % interval of the mean over {len(seeds)} seeds, left out if its "
        f"digits are 0; all other numbers are of seed {seeds[0]}"
    )
