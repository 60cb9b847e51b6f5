"""The comparison table of a result, the same on the terminal and in the report."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple


class Column(NamedTuple):
    """One column: its heading with the unit, how to get the number, and how to write it."""

    title: str
    value: Callable[[Mapping[str, Any]], Any]
    form: Callable[[Any], str] = str
    text: bool = False
    #: Left out where no system has it.
    optional: bool = False


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:,.2f}"


def _count(n: float) -> str:
    return f"{n:,.0f}"


def _watts(w: float) -> str:
    return f"{w:,.2f}"


def _dollars(usd: float) -> str:
    return f"{usd:,.0f}"


def _price(system: Mapping[str, Any]) -> tuple[float, float] | None:
    cost = system.get("cost_usd") or {}
    low, high = cost.get("low"), cost.get("high")
    return None if low is None or high is None else (low, high)


def _span(price: tuple[float, float]) -> str:
    low, high = map(_dollars, price)
    return low if low == high else f"{low} to {high}"


def _part(key: str, part: str) -> Callable[[Mapping[str, Any]], Any]:
    return lambda system: (system.get(key) or {}).get(part)


COLUMNS = (
    Column("system", lambda s: s["name"], text=True),
    Column("workload", lambda s: s.get("workload"), text=True),
    Column("requests", lambda s: s.get("n_requests"), _count),
    Column("errors", lambda s: s.get("n_errors"), _count),
    Column("IOPS", lambda s: s.get("throughput_iops"), lambda v: f"{v:,.1f}"),
    Column("mean ms", _part("response_time_s", "mean"), _ms),
    Column("p50 ms", _part("response_time_s", "p50"), _ms),
    Column("p90 ms", _part("response_time_s", "p90"), _ms),
    Column("p99 ms", _part("response_time_s", "p99"), _ms),
    Column("queue", lambda s: s.get("queue_depth_mean"), lambda v: f"{v:,.2f}"),
    Column("power W", _part("power_w", "mean"), _watts),
    Column("drives $", _price, _span, optional=True),
    Column("energy $", lambda s: s.get("energy_cost_usd"), _dollars, optional=True),
)


def columns(document: Mapping[str, Any]) -> list[Column]:
    """Return the columns that a document has something to say in.

    A workload that all systems have is in the note, not in a column.
    """
    systems = document["systems"]
    found = [c for c in COLUMNS if not c.optional or any(c.value(s) is not None for s in systems)]
    return [c for c in found if c.title != "workload" or len(_workloads(systems)) > 1]


def _workloads(systems: Iterable[Mapping[str, Any]]) -> set[str]:
    return {str(s["workload"]) for s in systems if s.get("workload") is not None}


def cells(system: Mapping[str, Any], columns: Sequence[Column] = COLUMNS) -> list[str]:
    """Return the row of one system, one text per column; a dash where there is no number."""
    row = []
    for column in columns:
        value = column.value(system)
        row.append("–" if value is None else column.form(value))  # noqa: RUF001
    return row


def names(systems: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the systems' names; those of one name and workload are numbered."""
    given = [(str(s["name"]), s.get("workload")) for s in systems]
    several, number = Counter(given), Counter[tuple[str, Any]]()
    result = []
    for one in given:
        number[one] += 1
        result.append(f"{one[0]} ({number[one]})" if several[one] > 1 else one[0])
    return result


def rows(document: Mapping[str, Any], columns: Sequence[Column] = COLUMNS) -> list[list[str]]:
    """Return the table of a result document: one row per system, one text per column."""
    systems = document["systems"]
    named = zip(systems, names(systems), strict=True)
    return [cells({**system, "name": name}, columns) for system, name in named]


def warnings(document: Mapping[str, Any]) -> list[str]:
    """Return one line for each system whose numbers must not be compared as they are.

    Systems with failed requests, traces with records left out or moved, then parts of drives that
    were taken out of use, and writes that cost a turn because they do not cover whole sectors.
    """
    failed = [
        f"{s['name']}: {s['n_errors']:,} of {s['n_requests']:,} requests failed: "
        "its times and rate cannot be compared"
        for s in document["systems"]
        if s.get("n_errors")
    ]
    faults = [
        f"{s['name']}: {drive['name']}: {_part_of_drive(fault)} out of use from "
        f"{fault['deconfigured_s']:,.3f} s"
        for s in document["systems"]
        for drive in s.get("drives") or ()
        for fault in drive.get("faults") or ()
    ]
    return failed + _records(document) + faults + _partial_sectors(document)


#: More sectors written in part, per request, are worth a line.
PARTIAL_SECTORS_RATIO = 0.03


def _partial_sectors(document: Mapping[str, Any]) -> list[str]:
    lines = []
    for s in document["systems"]:
        drives = s.get("drives") or ()
        sectors = sum(d.get("n_read_modify_writes", 0) for d in drives)
        requests = sum(d.get("n_requests", 0) for d in drives)
        if sectors > PARTIAL_SECTORS_RATIO * requests:
            lines.append(
                f"{s['name']}: {sectors:,} sectors of 4 KiB were written in part and cost a turn "
                "each: the writes are not aligned to them, see docs/guide/drives.md"
            )
    return lines


def _records(document: Mapping[str, Any]) -> list[str]:
    said = {
        "n_skipped": "wrong records left out",
        "n_clamped": "requests moved to the time of the one before",
        "n_zero_sized": "requests of no bytes left out",
    }
    lines = [
        f"{s.get('workload', 'workload')}: {n:,} {what}"
        for s in document["systems"]
        for key, what in said.items()
        if (n := (s.get("trace_records") or {}).get(key))
    ]
    # Every system reads the same trace.
    return list(dict.fromkeys(lines))


def _part_of_drive(fault: Mapping[str, Any]) -> str:
    arm = f"stack {fault['stack']}, arm {fault['arm']}"
    return arm if fault["surface"] is None else f"{arm}, head of surface {fault['surface']}"


def note(document: Mapping[str, Any]) -> str:
    """Return one line on how the numbers were made."""
    methods = {str(s["quantile_method"]) for s in document["systems"] if s.get("quantile_method")}
    parts = [f"Headstack {document.get('version', '')}".strip()]
    workloads = _workloads(document["systems"])
    if len(workloads) == 1:
        parts.append(f"workload {workloads.pop()}")
    if document.get("seed") is not None:
        parts.append(f"seed {document['seed']}")
    if methods:
        parts.append(f"quantiles: {', '.join(sorted(methods))}")
    cost = document.get("cost")
    if cost:
        parts.append(
            f"energy: {cost['years']:g} years at {cost['energy_usd_per_kwh']:g} $/kWh, "
            f"PUE {cost['pue']:g}"
        )
    return ", ".join(parts)
