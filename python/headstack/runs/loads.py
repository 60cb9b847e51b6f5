"""The load at which each system of an experiment stops to meet its goal, by further runs."""

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headstack.errors import ConfigError
from headstack.results import answer as answers
from headstack.results import goal as goals

#: Runs an experiment with overrides; returns its result document.
Runs = Callable[[Mapping[str, Any]], dict[str, Any]]


def check_goal(file: str | None, text: str | None, overrides: Mapping[str, Any], *, needed: bool) -> None:
    """Refuse a goal that cannot be read before the run, not after it.

    A file that is not TOML is left to the run, which says what is wrong with it.

    Args:
        file: path of the experiment, or None.
        text: the experiment as TOML or JSON, or None.
        overrides: those of the run.
        needed: whether the run cannot do without a goal.

    Raises:
        ConfigError: the goal is none, or there is none and one is needed.
    """
    given: Any = None
    try:
        if file is not None:
            text = Path(file).read_text(encoding="utf-8-sig")
        # Tables from Python are JSON; it is no TOML, and its goal is read after the run.
        given = tomllib.loads(text or "").get("goal")
    except (OSError, ValueError, RecursionError):
        needed = False
    given = overrides.get("set", {}).get("goal", given)
    if given is not None:
        goals.parse(given, "goal" if file is None else f"{file}: goal")
    elif needed:
        raise ConfigError('headroom: got no goal, need one, such as goal = "p99=20ms"')


def is_closed(workload: Mapping[str, Any]) -> bool:
    """Return whether requests come when others end, so that there is no load to scale."""
    arrivals = workload.get("arrivals") or (workload.get("synthetic") or {}).get("arrivals")
    return bool(workload.get("jobs")) or arrivals == "closed" or isinstance(arrivals, Mapping)


def add_headroom(document: dict[str, Any], run: Runs, overrides: Mapping[str, Any]) -> None:
    """Write into each system of a result document up to which load it meets the goal.

    ``headroom`` of a system has ``goal``, ``meets`` and ``misses`` (loads in times the given one,
    the greatest that was seen to meet it and the least above that was seen to miss it; None: none)
    and ``n_runs``. The load is changed with the key ``time_scale`` of the workload.

    Args:
        document: the result of the experiment.
        run: runs it again.
        overrides: those of the run, which stay in force.

    Raises:
        ConfigError: there is no goal, or no workload has a load that can be scaled.
    """
    goal = goals.of(document)
    if goal is None:
        raise ConfigError('headroom: got no goal, need one, such as goal = "p99=20ms"')
    workloads = document["experiment"]["workload"]
    if all(map(is_closed, workloads)):
        raise ConfigError(
            "headroom: got closed workloads, need open arrivals: the load of a closed loop follows from the system"
        )
    for i, system in enumerate(document["systems"]):
        workload = workloads[i % len(workloads)]
        if is_closed(workload) or system.get("partial"):
            continue
        given = answers.given(document, i)
        found = _headroom(goal, system, given, workload, run, overrides)
        if found is None:
            return  # interrupted: what was found until then stays
        system["headroom"] = found


def _headroom(
    goal: goals.Goal,
    system: Mapping[str, Any],
    given: Mapping[str, Any],
    workload: Mapping[str, Any],
    run: Runs,
    overrides: Mapping[str, Any],
) -> dict[str, Any] | None:
    """Return the entry of one system, or None after an interrupt."""
    scale = float(workload.get("time_scale", 1.0))

    def meets(load: float) -> bool:
        scaled = {**workload, "time_scale": scale / load}
        settings = {**overrides.get("set", {}), "system": [given], "workload": [scaled]}
        answer = run({**overrides, "set": settings})
        if answer.get("partial"):
            raise KeyboardInterrupt
        return goals.met(goal, answer["systems"][0]) is True

    try:
        found = goals.headroom(meets, at_one=goals.met(goal, system) is True)
    except KeyboardInterrupt:
        return None
    most = None if found.misses == float("inf") else found.misses
    return {"goal": str(goal), "meets": found.meets, "misses": most, "n_runs": found.n_runs}
