"""What advice is asked: workload, goal, limits, and what may be bought."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headstack import _bridge, drives
from headstack.advice import space
from headstack.errors import ConfigError
from headstack.plain import shown
from headstack.results import goal as goals
from headstack.results import prices as price_tables
from headstack.suggest import need_one_of

#: What the answer has least of, among those that meet the goal.
OBJECTIVES = ("drives", "power", "cost")

#: Years from the newest drive's back within which drives are considered unless some are named.
YEARS = 6

#: Keys of a workload that move addresses: sizes of devices are then measured by each run.
_MOVING = ("shift", "space_scale", "align", "concatenate", "remap", "devices", "device_blocks")


@dataclass(frozen=True)
class Question:
    """A question.

    Attributes:
        workload: the table of the workload, with growth in its times.
        goal: what must be reached.
        capacity_bytes: least usable capacity, growth included; 0: none.
        power_w: most mean power of all drives; None: no limit.
        budget_usd: most dollars for the drives, at the low end of their price; None: no limit.
        survives: failed drives that the data must survive.
        most: most drives.
        seeds: seeds of each system.
        objective: one of `OBJECTIVES`.
        years: years of energy in costs.
        growth: factor of load and capacity that is in them.
        load: what closed forms know of the workload.
        designs: what may be bought.
        depths: queue depths that are tried.
        schedulers: schedulers that are tried.
        caches: cache policies that are tried.
        chunks: sizes of chunks that are tried; None: the default of the organisation.
    """

    workload: Mapping[str, Any]
    goal: goals.Goal
    capacity_bytes: float
    power_w: float | None
    budget_usd: float | None
    survives: int
    most: int
    seeds: tuple[int, ...]
    objective: str
    years: float
    growth: float
    load: space.Load
    designs: tuple[space.Design, ...]
    depths: tuple[int | None, ...] = (None,)
    schedulers: tuple[str | None, ...] = (None,)
    caches: tuple[str | None, ...] = (None,)
    chunks: tuple[str | None, ...] = (None,)
    notes: tuple[str, ...] = field(default=())

    @property
    def base(self) -> dict[str, Any]:
        """The experiment of all runs, as the core takes it; its system is replaced."""
        import json

        first = self.designs[0].drive
        document = {
            "workload": dict(self.workload),
            "system": [{"name": "candidate", "drive": first}],
            "cost": {"years": self.years},
            # Candidates that are too small are an answer, not an error.
            "run": {"allowed_errors": 0},
        }
        return {"file": None, "text": json.dumps(document), "places": {}}

    @property
    def bound(self) -> goals.Bound | None:
        """The bound of a quantile whose certainty is said; None if the goal has none."""
        quantiles = (b for b in self.goal if b.measure in goals.TIMES and b.measure[0] == "p")
        return next(quantiles, None)

    @property
    def share(self) -> float | None:
        """The share of requests of that quantile."""
        return None if self.bound is None else float(f"0.{self.bound.measure[1:]}")


def amount(kind: str, given: object, where: str) -> float | None:
    """Return a quantity in SI units; None if there is none.

    Raises:
        ConfigError: it is no quantity above 0.
    """
    if given is None:
        return None
    if not isinstance(given, str):
        raise ConfigError(f"{where}: got {shown(given)}, need text with a unit")
    value = _bridge.quantity(kind, given, where)
    if value <= 0:
        raise ConfigError(f"{where}: got {given}, need more than 0")
    return value


def default_drives() -> list[str]:
    """Return the drives of recent years that can be used."""
    listed = [d for d in drives.rows() if d.get("year")]
    newest = max(int(d["year"]) for d in listed)
    return [str(d["name"]) for d in listed if int(d["year"]) > newest - YEARS]


def load_of(trace: str, workload: Mapping[str, Any]) -> tuple[space.Load, list[int]]:
    """Return what closed forms need of a trace, and the sizes of its devices in blocks.

    Raises:
        ConfigError: the trace has no reads or writes.
        TraceError: it cannot be read.
    """
    info = _bridge.call("trace_info", trace, workload.get("format"), workload.get("on_error", "fail"))
    counted = info["n_reads"] + info["n_writes"]
    if not counted or not info["duration_s"]:
        raise ConfigError(f"{trace}: got a trace without times or without reads and writes")
    scale = float(workload.get("time_scale", 1.0))
    ends = {d["device"]: int(d["end_lba"]) for d in info["devices"]}
    sizes = [ends.get(i, 8) for i in range(max(ends) + 1)]
    count = workload.get("count")
    n = info["n_requests"] if count is None else min(int(count), info["n_requests"])
    load = space.Load(
        counted / info["duration_s"] / scale,
        info["n_reads"] / counted,
        (info["read_bytes"] + info["write_bytes"]) / counted,
        n,
        512 * sum(sizes),
    )
    return load, sizes


def make(
    trace: str | os.PathLike[str],
    goal: object,
    *,
    capacity: object = None,
    power: object = None,
    budget: float | None = None,
    growth: float = 1.0,
    survives: int = 0,
    drives: Iterable[str] | None = None,
    dash: Sequence[str | None] = (None,),
    organisations: Iterable[str] | None = None,
    depths: Sequence[int | None] = (None,),
    schedulers: Sequence[str | None] = (None,),
    caches: Sequence[str | None] = (None,),
    chunks: Sequence[str | None] = (None,),
    group: int = space.GROUP,
    prices: "str | os.PathLike[str] | price_tables.Prices | None" = None,
    set: Mapping[str, Any] | None = None,
    most: int = 64,
    seeds: int = 3,
    minimise: str | None = None,
    years: float = 5.0,
) -> Question:
    """Return a question; arguments as of `headstack.advise`.

    Raises:
        ConfigError: an argument cannot be used.
        TraceError: the trace cannot be read.
    """
    bounds = goals.parse(goal)
    _numbers(growth=growth, budget=budget, most=most, seeds=seeds, years=years)
    organisations = list(space.ORGANISATIONS) if organisations is None else list(organisations)
    for name in organisations:
        if name not in space.ORGANISATIONS:
            raise ConfigError(need_one_of("organisations", name, space.ORGANISATIONS))
    for policy in caches:
        if policy is not None and policy not in space.CACHES:
            raise ConfigError(need_one_of("caches", policy, space.CACHES))
    for chunk in chunks:
        amount("size", chunk, "chunks")
    if group < (least := space.ORGANISATIONS["raid5"][1]):
        raise ConfigError(f"group: got {group}, need {least} drives or more")
    if survives not in (0, 1):
        raise ConfigError(f"survives: got {survives}, need 0 or 1: more is not supported")
    kept = [o for o in organisations if space.ORGANISATIONS[o][0] >= survives]
    if not kept:
        got = ", ".join(organisations)
        raise ConfigError(f"organisations: got {got}, need raid10 or raid5 to survive a failure")
    listed = default_drives() if drives is None else list(drives)
    table = price_tables.chosen(prices)
    designs = space.designs(listed, dash, kept, {} if table is None else table.usd, group)
    for design in designs:
        design.capacity_bytes  # noqa: B018  a drive that cannot be used is an error here
    workload, load = _workload(os.fspath(trace), set or {}, growth)
    kinds = {d.price_kind for d in designs}
    usual = "cost" if None not in kinds and len(kinds) == 1 else "drives"
    objective = usual if minimise is None else minimise
    if objective not in OBJECTIVES:
        raise ConfigError(need_one_of("minimise", objective, OBJECTIVES))
    if objective == "cost" or budget is not None:
        _check_prices("budget" if budget is not None else "minimise", designs)
    asked = amount("size", capacity, "capacity")
    return Question(
        workload, bounds, (asked or 0.0) * growth, amount("power", power, "power"), budget,
        survives, most, tuple(range(1, seeds + 1)), objective, years, growth, load,
        tuple(designs), tuple(depths), tuple(schedulers), tuple(caches),
        tuple(chunks), _notes(load, asked),
    )  # fmt: skip


def _check_prices(where: str, designs: Sequence[space.Design]) -> None:
    """Refuse to compare dollars that are unknown or of different kinds."""
    unknown = sorted({d.drive for d in designs if d.usd is None})
    need = "a table of prices for all drives (--prices), or other drives"
    if unknown:
        raise ConfigError(f"{where}: got drives without a price ({', '.join(unknown)}), need {need}")
    kinds = sorted({str(d.price_kind) for d in designs})
    if len(kinds) > 1:
        raise ConfigError(f"{where}: got prices of the kinds {', '.join(kinds)}, need {need}")


def _numbers(**given: float | None) -> None:
    for name, value in given.items():
        if value is not None and not value > 0:
            raise ConfigError(f"{name}: got {value}, need a number above 0")


def _workload(trace: str, settings: Mapping[str, Any], growth: float) -> tuple[dict[str, Any], space.Load]:
    """Return the table of the workload, and what is known of it."""
    workload: dict[str, Any] = {"trace": trace}
    for key, value in settings.items():
        stem, _, rest = key.partition(".")
        rest = rest.removeprefix("0.")
        if stem != "workload" or not rest or "." in rest or rest == "trace":
            raise ConfigError(f'set: got "{key}", need a key of the workload: workload.KEY')
        workload[rest] = value
    load, sizes = load_of(trace, workload)
    if not any(key in workload for key in _MOVING):
        workload["device_blocks"] = sizes
    workload["time_scale"] = float(workload.get("time_scale", 1.0)) / growth
    return workload, replace(load, rate_per_s=load.rate_per_s * growth)


def _notes(load: space.Load, capacity: float | None) -> tuple[str, ...]:
    """Return what makes the answer mislead, of the question alone."""
    if capacity and load.span_bytes < capacity / 10:
        return (
            f"the trace uses addresses up to {load.span_bytes / 1e9:,.1f} GB, the capacity is "
            f"{capacity / 1e9:,.0f} GB: its seeks are shorter than those of full drives; "
            "--set workload.space_scale spreads the addresses",
        )
    return ()
