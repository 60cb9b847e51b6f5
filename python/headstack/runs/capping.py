"""Power capping in simulation: policies beside each other, and the page of a capped run.

An experiment has a table ``[capping]``, or ``[system.capping]`` for each system: policy,
parameters, caps over time, meter. ``headstack.run`` runs it like any other; what capping did is
under ``capping`` of each system of the result.
"""

import itertools
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from headstack import _bridge, drives
from headstack.errors import ConfigError
from headstack.results import answer, paired
from headstack.results.warned import of_document
from headstack.runs import api, outputs
from headstack.show import plots, report
from headstack.show.plots import capping as figures
from headstack.show.table import note
from headstack.suggest import need_one_of

#: The page that ``headstack cap-sim`` writes.
PAGE = "capping.html"

#: Columns of the comparison: key, title, form; times in seconds.
COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("name", "system", "{}"),
    ("workload", "workload", "{}"),
    ("policy", "policy", "{}"),
    ("violation_s", "over (s)", "{:.0f}"),
    ("over_cap_j", "over (W s)", "{:.0f}"),
    ("worst_over_cap_w", "most over (W)", "{:.2f}"),
    ("power_mean_w", "mean (W)", "{:.2f}"),
    ("throughput_iops", "IOPS", "{:.1f}"),
    ("lost_share", "lost", "{:.1%}"),
    ("p50_s", "p50 (ms)", "{:.0f}"),
    ("p99_s", "p99 (ms)", "{:.0f}"),
    ("max_s", "max (ms)", "{:.0f}"),
    ("submitted_p99_s", "p99 submitted (ms)", "{:.0f}"),
    ("settling_s", "settles (s)", "{:.1f}"),
    ("never_settled", "never", "{:.0f}"),
    ("power_deviation_w", "swings (W)", "{:.2f}"),
    ("n_changes", "changes", "{:.0f}"),
)

#: Columns of text.
TEXTS = ("name", "workload", "policy")

#: Columns that a terminal has no room for.
WIDE = ("policy", "worst_over_cap_w", "submitted_p99_s", "never_settled", "n_changes")


def capped(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the systems of a result document that were capped.

    Raises:
        ConfigError: none was.
    """
    found = [s for s in document["systems"] if s.get("capping")]
    if not found:
        raise ConfigError("capping: got no system with it, need a table [capping] in the experiment")
    return found


def compare(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one row per capped system: how the cap was kept, and what that cost.

    Response times are from admission to the host's queue, with that from submission beside them.
    ``lost_share`` is the throughput lost against the system with policy ``none`` on the same
    workload, or without one against the one with the highest throughput. ``partial`` systems were
    interrupted: they are compared with none, and what was not begun has no numbers.

    Example:
        >>> import headstack
        >>> jobs = [{"threads": 16, "duration": "30 s", "requests": {"footprint": "4 TB"}}]
        >>> queue = {"name": "host-queue", "elevator": "deadline"}
        >>> system = {"drive": "ultrastar-7k4000-pcap", "layers": [queue]}
        >>> caps = [{"at": "5 s", "cap": "9 W"}]
        >>> r = headstack.run(
        ...     workload={"jobs": jobs},
        ...     systems=[{**system, "capping": {"policy": "pcap-agile", "caps": caps}}],
        ... )
        >>> [row["policy"] for row in compare(r.document)]
        ['pcap-agile']
    """
    systems = capped(document)
    rows = []
    for s in systems:
        c = s["capping"]
        own, all_of_it = c["admitted_response_time_s"], c["response_time_s"]
        begun = not s.get("partial") or c["observed_s"] > 0
        rows.append(
            {
                "name": s["name"],
                "workload": s["workload"],
                "policy": c["policy"],
                "partial": bool(s.get("partial")),
                **{
                    key: c[key] if begun else None
                    for key in (
                        "observed_s",
                        "capped_s",
                        "violation_s",
                        "over_cap_j",
                        "worst_over_cap_w",
                        "power_mean_w",
                        "power_max_w",
                        "power_deviation_w",
                        "n_changes",
                        "within_100_ms",
                    )
                },
                "throughput_iops": s["throughput_iops"],
                "lost_share": _lost(s, systems),
                "mean_s": own["mean"],
                "p50_s": own["p50"],
                "p99_s": own["p99"],
                "max_s": own["max"],
                "submitted_p99_s": all_of_it["p99"],
                "settling_s": c["settling_s"]["mean"],
                "never_settled": c["settling_s"]["never"],
            }
        )
    return rows


#: Intervals of a mean, and intervals for which it must stay below a cap to hold it.
_SMOOTH, _STAY = 5, 10

#: Least step of the search for the lowest cap that is held, in watts.
_LEAST_STEP_W = 0.1

#: The answer for a system that holds its caps.
_HELD = "all caps are held"

#: Keys of the table ``capping``, of which one gives the caps.
_SOURCES = ("caps", "cap_file", "signal")


class Missed(NamedTuple):
    """A cap that a system did not hold, in watts."""

    cap: float
    #: The lowest power under it, and that less the tolerance: no lower cap was within reach.
    lowest: float
    reached: float
    #: The highest power of the run.
    highest: float


def _missed(document: Mapping[str, Any], i: int) -> list[Missed] | None:
    """Return the caps that a system did not hold; None if no cap lasted long enough to say."""
    capping = document["systems"][i]["capping"]
    series = capping["series"]
    caps, power = series["cap_w"], series["power_w"]
    tolerance = _bridge.quantity("power", _given(document, i).get("tolerance", "0 W"))
    # The cap of an interval is that at the end of the one before.
    caps = np.array([*caps[:1], *caps[:-1]], dtype=float)
    starts = [0, *(np.flatnonzero(caps[1:] != caps[:-1]) + 1), len(caps)]
    judged: dict[float, float] = {}
    for a, b in itertools.pairwise(starts):
        means = [float(np.mean(power[max(a, k - _SMOOTH + 1) : k + 1])) for k in range(a, b)]
        if b - a >= _STAY and not math.isnan(caps[a]):
            stays = min(max(means[k : k + _STAY]) for k in range(b - a - _STAY + 1))
            judged[float(caps[a])] = max(stays, judged.get(float(caps[a]), 0.0))
    highest = capping["power_max_w"]
    missed = [
        Missed(cap, lowest, lowest - tolerance, highest) for cap, lowest in judged.items() if lowest > cap + tolerance
    ]
    return missed if judged else None


def _lowest(missed: Sequence[Missed], holds: Callable[[float], bool]) -> dict[str, float] | None:
    """Return the lowest cap that is held, by bisection between what a run has shown.

    Args:
        missed: caps that were not held.
        holds: whether all caps are held if none is below some watts, by a run.

    Returns:
        ``cap_w`` and ``resolution_w``; None if not even the highest power of the run is held.
    """
    highest = max(one.highest for one in missed)
    step = max(_LEAST_STEP_W, 10.0 ** (math.floor(math.log10(highest)) - 2))
    low = max(math.floor(min(one.cap for one in missed) / step), 0)
    low = max([low, *(math.ceil(round(one.reached / step, 6)) - 1 for one in missed)])
    high = most = max(math.ceil(highest / step), low + 1)
    shown = False
    while high - low > 1 or not shown:
        middle = (low + high) // 2 if high - low > 1 else high
        if holds(round(middle * step, 6)):
            high, shown = middle, True
        elif middle == most:
            return None
        else:
            low = middle
    return {"cap_w": round(high * step, 6), "resolution_w": step}


def _raised(document: Mapping[str, Any], i: int, least_w: float) -> dict[str, Any]:
    """Return settings that run entry `i` of the systems alone, with no cap below `least_w`."""
    series, given = document["systems"][i]["capping"]["series"], answer.given(document, i)
    caps: list[dict[str, str]] = [{}]
    for t, cap in zip([0.0, *series["t_s"][1:]], series["cap_w"], strict=True):
        entry = {} if cap is None else {"cap": f"{max(cap, least_w)} W"}
        if entry.get("cap") != caps[-1].get("cap"):
            caps.append({"at": f"{t} s", **entry})
    own = {k: v for k, v in (given.get("capping") or {}).items() if k not in _SOURCES}
    workloads = document["experiment"]["workload"]
    return {"system": [{**given, "capping": {**own, "caps": caps[1:]}}], "workload": [workloads[i % len(workloads)]]}


def _search(
    experiment: Any,
    document: Mapping[str, Any],
    missed: Sequence[Sequence[Missed] | None],
    seeds: Sequence[int | None],
    options: Mapping[str, Any],
) -> list[dict[str, float] | None]:
    """Return for each system the lowest cap that it holds with all seeds; see `cap_sim`.

    Args:
        experiment: as for `headstack.run`.
        document: a result of it.
        missed: the caps that each system did not hold, with any seed.
        seeds: as for `headstack.run`, one after another.
        options: those of the run.
    """
    found: list[dict[str, float] | None] = [None] * len(missed)
    options = {k: v for k, v in options.items() if k not in ("out", "replace")}
    again = document["experiment"] if hasattr(experiment, "read") else experiment
    for i, caps in enumerate(missed):

        def holds(least_w: float, i: int = i) -> bool:
            more = {**(options.get("set") or {}), **_raised(document, i, least_w)}
            for seed in seeds:
                ran = api.run(again, **{**options, "set": more, "seed": seed})
                if ran.partial:
                    raise KeyboardInterrupt
                if _missed(ran.document, 0):
                    return False
            return True

        try:
            found[i] = _lowest(caps, holds) if caps else None
        except KeyboardInterrupt:
            break
    return found


def _given(document: Mapping[str, Any], i: int) -> dict[str, Any]:
    """Return the table ``capping`` of entry `i` of the systems of a result document."""
    whole = document["experiment"].get("capping") or {}
    return {**whole, **(answer.given(document, i).get("capping") or {})}


def _all_missed(document: Mapping[str, Any]) -> list[list[Missed] | None]:
    """Return `_missed` of all systems; None also where no policy is to hold a cap."""
    policies = [(s.get("capping") or {}).get("policy", "none") for s in document["systems"]]
    return [None if name == "none" else _missed(document, i) for i, name in enumerate(policies)]


def _of_seeds(each: Iterable[list[Missed] | None]) -> list[Missed] | None:
    """Return what a system missed with any of some seeds."""
    judged = [missed for missed in each if missed is not None]
    return list(itertools.chain(*judged)) if judged else None


def answers(document: Mapping[str, Any]) -> list[str]:
    """Return in sentences which systems hold their caps, and what the others could hold."""
    held, lines = [], []
    lowest = document.get("lowest_held") or [None] * len(document["systems"])
    for i, missed in enumerate(_all_missed(document)):
        name = f'"{document["systems"][i]["name"]}"'
        if missed:
            lines.append(f"{name}: {_not_held(document, i, missed, lowest[i])}")
        elif missed is not None:
            held.append(name)
    return [*([f"{', '.join(held)}: {_HELD}"] if held else []), *lines]


def _not_held(document: Mapping[str, Any], i: int, missed: Sequence[Missed], lowest: Mapping[str, float] | None) -> str:
    """Return the sentence for a system that did not hold some caps, without its name."""
    cap, power, *_ = min(missed)
    if lowest is None:
        digits = 0 if power >= 100 else 1
        rest = f"with these means the power came down to {power:,.{digits}f} W"
    else:
        least, step = lowest["cap_w"], lowest["resolution_w"]
        rest = f"at least {least:,g} W with these means (to {step:g} W)"
    return f"{cap:g} W is not held: {rest}{_way_out(document, i, cap)}"


def _way_out(document: Mapping[str, Any], i: int, cap_w: float) -> str:
    """Return what would hold a cap, as the end of a sentence."""
    system, given = document["systems"][i], answer.given(document, i)
    efficiency = float(_given(document, i).get("efficiency", 1.0))
    idle = sum(
        drives.described(part["description"], "drive")["power_w"]["idle"] * part["count"] for part in system["drive"]
    )
    if idle / efficiency > cap_w:
        return f"; without any work its drives draw {idle / efficiency:,.1f} W"
    layers = [one if isinstance(one, str) else one["name"] for one in given.get("layers", ())]
    limits = system["capping"]["policy"] in ("throttle", "learning")
    if limits and "throttle" in layers:
        return ""
    return f"; a throttle layer{'' if limits else ' with the policy learning'} would hold it"


def _lost(system: Mapping[str, Any], systems: Iterable[Mapping[str, Any]]) -> float | None:
    """Return the throughput lost against the one to compare with; None if one was interrupted."""
    like = [o for o in systems if o["workload"] == system["workload"]]
    free = [o for o in like if o["capping"]["policy"] == "none"][:1]
    whole = [o["throughput_iops"] for o in free or like if not o.get("partial")]
    if system.get("partial") or not whole:
        return None
    best = max(whole)
    return 1 - system["throughput_iops"] / best if best else 0.0


def columns(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """Return the columns to show; that of the workload only where there are several."""
    several = len({r["workload"] for r in rows}) > 1
    return [c for c in COLUMNS if several or c[0] != "workload"]


def short(columns: Iterable[tuple[str, str, str]]) -> list[int]:
    """Return the indices of the columns that suffice where a terminal has no room for all."""
    return [i for i, (key, _, _) in enumerate(columns) if key not in WIDE]


def cells(rows: Iterable[Mapping[str, Any]], shown: Sequence[tuple[str, str, str]], none: str = "") -> list[list[str]]:
    """Return the rows of `compare` as text, by columns."""

    def cell(row: Mapping[str, Any], key: str, title: str, form: str) -> str:
        value = row[key]
        if value is None:
            return none
        if key == "name" and row["partial"]:
            return f"{value} (partial)"
        return form.format(1e3 * value if "(ms)" in title else value)

    return [[cell(row, *column) for column in shown] for row in rows]


def cap_sim(experiment: Any, *, search: bool = True, **options: Any) -> api.Result:
    """Simulate an experiment with power capping; as `headstack.run`, with its options.

    Args:
        experiment: as for `headstack.run`.
        search: whether further runs with higher caps find the lowest one that a system holds, if it
            did not hold all: ``lowest_held`` of the document has for each system ``cap_w`` and
            ``resolution_w``, or None. Ctrl-C ends this search only.
        options: of `headstack.run`.

    Raises:
        ConfigError: no system is capped, or as `headstack.run`.
    """
    options.setdefault("log_requests", False)
    result = api.run(experiment, **options)
    document = result.document
    capped(document)
    if search and not result.partial:
        seeds = [options.get("seed")]
        lowest = _search(experiment, document, _all_missed(document), seeds, options)
        if any(lowest):
            document["lowest_held"] = lowest
            if result.out is not None:
                with outputs.adding(result.out, document.get("run_id")) as written:
                    text = result.to_json(curves=True) + "\n"
                    (written.path / outputs.RESULTS_FILE).write_text(text, encoding="utf-8")
    return result


#: Columns of the comparison over seeds.
BY_SEED = (
    "violation_s", "over_cap_j", "throughput_iops", "p50_s", "p99_s", "max_s", "settling_s",
    "power_deviation_w",
)  # fmt: skip


def over_seeds(
    experiment: Any, seeds: Sequence[int], *, against: str | None = None, **options: Any
) -> list[dict[str, Any]]:
    """Simulate an experiment once per seed, and compare its systems with one of them.

    All systems get the same requests, caps and noise with a seed, so differences are taken by seed.

    Args:
        experiment: as for `headstack.run`; read again for each seed.
        seeds: one run each.
        against: name of the system that the others are compared with; the first one by default.
        options: of `headstack.run`.

    Returns:
        One row per system and workload: ``name, workload, policy, n_seeds`` and under ``values``
        by key of `compare` the ``mean`` with half of its 95 % confidence interval, ``half``, and
        ``change`` with ``change_half``, the mean difference to the system `against` (times in
        seconds). A value that no run has is left out, a half of one seed is None. ``answer`` says
        which cap is not held with one of the seeds, and the lowest that is held with all; None
        without a policy. After Ctrl-C ``n_seeds`` is the number of seeds that were complete.

    Raises:
        ConfigError: no seed, no system of that name, no system is capped, or as `headstack.run`.
        KeyboardInterrupt: the user stopped before one seed was complete.
    """
    if not seeds:
        raise ConfigError("seeds: got none, need at least one")
    runs, missed = [], []
    document: dict[str, Any] = {}
    for seed in seeds:
        try:
            result = cap_sim(experiment, search=False, seed=seed, **options)
        except KeyboardInterrupt:
            break
        if result.partial:
            break
        runs.append(compare(result.document))
        missed.append(_all_missed(result.document))
        document = document or result.document
    if not runs:
        raise KeyboardInterrupt
    names = list(dict.fromkeys(str(row["name"]) for row in runs[0]))
    if against is not None and against not in names:
        raise ConfigError(need_one_of("against", against, names))
    reference = against or names[0]
    together = [_of_seeds(each) for each in zip(*missed, strict=True)]
    # Who has stopped the runs waits for no search.
    sought = together if len(runs) == len(seeds) else [None] * len(together)
    lowest = _search(experiment, document, sought, seeds, options)
    places = [k for k, s in enumerate(document["systems"]) if s.get("capping")]
    rows = []
    for i, (row, k) in enumerate(zip(runs[0], places, strict=True)):
        caps = together[k]
        said = _not_held(document, k, caps, lowest[k]) if caps else _HELD
        like = next(
            j for j, other in enumerate(runs[0]) if other["workload"] == row["workload"] and other["name"] == reference
        )
        mine, others = [run[i] for run in runs], [run[like] for run in runs]
        values = {key: _paired(key, others, mine) for key in BY_SEED}
        rows.append(
            {
                **{key: row[key] for key in TEXTS},
                "n_seeds": len(runs),
                "against": None if i == like else reference,
                "answer": None if caps is None else said,
                "values": {key: value for key, value in values.items() if value},
            }
        )
    return rows


def _paired(
    key: str, before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> dict[str, float | None] | None:
    """Return means and differences of one value; None where no seed has it."""
    old, new = paired.known((a[key] for a in before), (b[key] for b in after))
    if not new:
        return None
    (mean, half), (change, change_half) = paired.interval(new), paired.difference(old, new)
    many = len(new) > 1
    return {
        "mean": mean,
        "half": half if many else None,
        "change": change,
        "change_half": change_half if many else None,
    }


def seed_cells(rows: Sequence[Mapping[str, Any]], none: str = "") -> tuple[list[tuple[str, bool]], list[list[str]]]:
    """Return headings (title, whether it is text) and rows of `over_seeds` as text.

    Each cell has the mean, and for the others than the system compared with, in brackets the mean
    difference to it with its 95 % confidence interval.
    """
    shown = [c for c in columns(rows) if c[0] in (*TEXTS, *BY_SEED)]

    def cell(row: Mapping[str, Any], key: str, title: str, form: str) -> str:
        if key in TEXTS:
            return str(row[key])
        value = row["values"].get(key)
        if value is None:
            return none
        scale = 1e3 if "(ms)" in title else 1.0
        text = form.format(scale * value["mean"])
        if row["against"] is None:
            return text
        signed = form.replace("{:", "{:+")
        half = value["change_half"]
        within = "" if half is None else f" ± {form.format(scale * half)}"
        return f"{text} ({signed.format(scale * value['change'])}{within})"

    headings = [(title, key in TEXTS) for key, title, _ in shown]
    return headings, [[cell(row, *column) for column in shown] for row in rows]


def _by_workload(document: Mapping[str, Any]) -> list[tuple[str, str, list[Mapping[str, Any]]]]:
    """Return the end of names of figures, name and capped systems of each workload."""
    grouped: dict[str, list[Mapping[str, Any]]] = {}
    for system in capped(document):
        grouped.setdefault(str(system["workload"]), []).append(system)
    one = len(grouped) == 1
    return [("" if one else f"-{i}", *of) for i, of in enumerate(grouped.items(), 1)]


def to_html(document: Mapping[str, Any], title: str, folder: str = "figures") -> str:
    """Return the page: the comparison, and the course of each workload with a brush over time."""
    rows = compare(document)
    listed = columns(rows)
    shown: dict[str, Any] = {}
    groups = []
    for end, workload, mine in _by_workload(document):
        shown[f"course{end}"] = figures.course(mine).to_dict()
        groups.append({"id": f"course{end}", "workload": workload})
    body = report.render(
        "capping.html",
        title=title,
        note=note(document),
        run_id=document.get("run_id"),
        answers=answers(document),
        warnings=of_document(document),
        heads=[title for _, title, _ in listed],
        rows=cells(rows, listed, "–"),  # noqa: RUF001
        texts=sum(key in TEXTS for key, _, _ in listed),
        groups=groups,
    )
    for spec in shown.values():
        spec.pop("title", None)
    return report.page(title, body, shown, folder)


def write(
    document: Mapping[str, Any],
    path: str | os.PathLike[str],
    *,
    title: str = "Power capping",
    with_figures: bool = True,
) -> Path:
    """Write the page to `path` and its figures beside it; return `path`.

    Raises:
        ConfigError: no system is capped, or the folder holds results of another run.
        OSError: page or figures cannot be written.
    """
    path = Path(path)
    folder = report.figures_folder(path.name)
    whole = to_html(document, title, folder)
    with outputs.adding(path.parent, document.get("run_id")) as written:
        (written.path / path.name).write_text(whole, encoding="utf-8")
        if with_figures:
            for name, chart in figures_of(document).items():
                plots.save(chart, written.path / folder / name)
    return path


def figures_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the charts of a capped result, by file name."""
    found = {}
    for end, _, mine in _by_workload(document):
        found[f"capping{end}"] = figures.course(mine, brush=False)
        found[f"capping-queues{end}"] = figures.queues(mine)
    return found
