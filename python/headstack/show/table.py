"""The comparison table of a result, for the terminal and the report."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from headstack import drives
from headstack.runs import prefix


class Column(NamedTuple):
    """One column: its heading with the unit, its value, and its format."""

    title: str
    value: Callable[[Any], Any]
    form: Callable[[Any], str] = str
    text: bool = False
    #: Left out if no system has a value.
    optional: bool = False
    #: Left out where a terminal has no room for all columns.
    wide: bool = False
    #: A mark after a number that needs a warning.
    mark: Callable[[Any], str] = lambda system: ""
    #: What it is, in a few words.
    about: str = ""


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


#: Where requests wait: the parts of the queue in a response time.
_WAITS = {
    "place": "mean wait for a place in a host queue, or for a throttle",
    "elevator": "mean wait in an elevator",
    "array": "mean wait in a volume: for its rows, a rebuild, the reads before a write",
    "drive": "mean wait in the drive",
}


def _wait(part: str) -> Callable[[Mapping[str, Any]], Any]:
    """Return what gives a part of the wait, of systems in which requests wait above the drives."""

    def value(system: Mapping[str, Any]) -> Any:
        parts = system.get("queue_parts_s") or {}
        above = sum(wait or 0.0 for name, wait in parts.items() if name != "drive")
        return parts[part] if above else None

    return value


#: Marks: after times and queues that grow with the length of the run, and after defaults.
OVERLOADED, DEFAULT = "!", "*"


def _growing(system: Mapping[str, Any]) -> str:
    return OVERLOADED if system.get("overloaded") else ""


def _default_power(system: Mapping[str, Any]) -> str:
    return DEFAULT if lacks(system, "power") else ""


def lacks(system: Mapping[str, Any], part: str) -> bool:
    """Return whether a part of one of a system's drives is a default, wholly or in part."""
    return any(part in drives.not_given(drive) for drive in system.get("drive") or ())


def _seen(system: Mapping[str, Any]) -> str:
    """Return how much of its workload a system of an interrupted run has seen."""
    covered = system.get("covered")
    if not covered:
        return "all"
    n, whole = covered["n_requests"], covered["n_expected"]
    about = "about " if covered["is_estimate"] else ""
    share = f" ({about}{n / whole:.1%})" if whole else ""
    return f"partial: {n:,} in {covered['seconds']:,.1f} s{share}"


def _time(title: str, key: str = "", *, wide: bool = False) -> Column:
    """Return the column of a quantile or the mean of the response time."""
    value = _part("response_time_s", key or title)
    return Column(f"{title} ms", value, _ms, wide=wide, mark=_growing)


COLUMNS = (
    Column("system", lambda s: s["name"], text=True),
    Column("workload", lambda s: s.get("workload"), text=True),
    Column("seen", _seen, text=True),
    Column("requests", lambda s: s.get("n_requests"), _count, wide=True),
    Column("errors", lambda s: s.get("n_errors"), _count, wide=True),
    Column("IOPS", lambda s: s.get("throughput_iops"), lambda v: f"{v:,.1f}"),
    *map(_time, ("mean", "p50")),
    _time("p90", wide=True),
    _time("p99"),
    Column("queue", lambda s: s.get("queue_depth_mean"), lambda v: f"{v:,.2f}", wide=True, mark=_growing),
    *(Column(f"{part} ms", _wait(part), _ms, optional=True, wide=True, about=what) for part, what in _WAITS.items()),
    Column("busy %", lambda s: s.get("utilisation"), lambda v: f"{100 * v:.1f}", optional=True),
    Column("power W", _part("power_w", "mean"), _watts, mark=_default_power),
    Column("drives $", _price, _span, optional=True),
    Column("energy $", lambda s: s.get("energy_cost_usd"), _dollars, optional=True, wide=True, mark=_default_power),
)

#: What the measures of a response time are.
MEASURES = {
    "mean": "mean response time, from arrival to completion",
    "p50": "half of the requests end sooner",
    "p90": "9 of 10 requests end sooner",
    "p95": "19 of 20 requests end sooner",
    "p99": "99 of 100 requests end sooner",
    "p999": "999 of 1,000 requests end sooner",
    "p9999": "9,999 of 10,000 requests end sooner",
    "max": "the longest response time",
    "power": "mean power of all drives",
    "iops": "requests per second",
}

#: Columns of one operation of a system; before them are columns of system and operation.
OPERATION_COLUMNS = (
    Column("requests", lambda o: o.get("n_requests"), _count, wide=True),
    Column("errors", lambda o: o.get("n_errors") or None, _count, optional=True),
    Column("IOPS", lambda o: o.get("throughput_iops"), lambda v: f"{v:,.1f}"),
    Column("MB/s", lambda o: o.get("throughput_bytes_per_s"), lambda v: f"{v / 1e6:,.2f}"),
    _time("mean"),
    Column("± ms", lambda o: _half_width(o), _ms, optional=True),
    _time("p50"),
    _time("p90", wide=True),
    _time("p99"),
    _time("p99.9", "p999"),
    _time("p99.99", "p9999", wide=True),
    _time("max", wide=True),
)


def _half_width(operation: Mapping[str, Any]) -> float | None:
    """Return half the width of the mean's confidence interval, in seconds."""
    ends = (operation.get("confidence_s") or {}).get("mean")
    return None if ends is None else float(ends[1] - operation["response_time_s"]["mean"])


def used(columns: Iterable[Column], tables: Sequence[Any]) -> list[Column]:
    """Return the columns without the optional ones of which no table has a value."""
    return [c for c in columns if not c.optional or any(c.value(t) is not None for t in tables)]


def _apart(
    document: Mapping[str, Any],
    word: str,
    parts: Callable[[Mapping[str, Any]], Iterable[tuple[str, Mapping[str, Any]]]],
    columns: Sequence[Column],
) -> tuple[list[Column], list[list[str]]]:
    """Return columns and rows of the parts of each system, by name under the heading `word`."""
    systems = document["systems"]
    heads = ["system", *(["workload"] if len(_workloads(systems)) > 1 else []), word]
    found: list[tuple[list[str], Mapping[str, Any]]] = []
    for name, system in zip(names(systems), systems, strict=True):
        workload = [str(system.get("workload"))] if len(heads) > 2 else []
        found += [([name, *workload, kind], part) for kind, part in parts(system)]
    shown = used(columns, [part for _, part in found])
    texts = [Column(head, str, text=True) for head in heads]
    return [*texts, *shown], [head + cells(part, shown) for head, part in found]


def _operations(system: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    own = system.get("operations") or {}
    marked = {"overloaded": system.get("overloaded")}
    parts = [(kind, {**own[kind], **marked}) for kind in ("read", "write", "flush") if kind in own]
    return [*parts, ("all", system)] if len(parts) > 1 else [*parts]


def operations(document: Mapping[str, Any]) -> tuple[list[Column], list[list[str]]]:
    """Return columns and rows of reads, writes and flushes, and of all operations.

    There are no rows if the document has no results by operation.
    """
    return _apart(document, "operation", _operations, OPERATION_COLUMNS)


#: Columns of one class of requests of a system; before them are columns of system and class.
CLASS_COLUMNS = (
    Column("requests", lambda c: c.get("n_requests"), _count),
    Column("errors", lambda c: c.get("n_errors"), _count),
    Column("missed", lambda c: c.get("n_missed"), _count),
    Column("IOPS", lambda c: c.get("throughput_iops"), lambda v: f"{v:,.1f}"),
    *map(_time, ("mean", "p50", "p99", "max")),
)


def classes(document: Mapping[str, Any]) -> tuple[list[Column], list[list[str]]]:
    """Return columns and rows of the classes of requests; no rows if there are no classes."""

    def parts(system: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
        return [(one["name"], one) for one in system.get("classes") or ()]

    return _apart(document, "class", parts, CLASS_COLUMNS)


#: The table of a common prefix: numbers that are known of a part of a run.
PREFIX_TITLES = ("system", "workload", "requests", "IOPS", "mean ms", "queue", "power W")


def prefixes(document: Mapping[str, Any]) -> Iterator[tuple[str, list[Column], list[list[str]]]]:
    """Yield title, columns and rows of the common prefix of each workload of an interrupted run.

    Without a common prefix there are no rows, and the title says so.
    """
    systems = document["systems"]
    for workload in dict.fromkeys(s.get("workload") for s in systems):
        own = [s for s in systems if s.get("workload") == workload]
        if len(own) < 2 or not any(s.get("covered") for s in own):
            continue
        found = prefix.common(own)
        if found is None:
            yield f"{workload}: the systems have no common prefix to compare", [], []
            continue
        part = {"systems": found.systems}
        shown = [c for c in columns(part) if c.title in PREFIX_TITLES]
        title = f"{workload}: the first {found.seconds:,.1f} s, which all systems have seen"
        yield title, shown, rows(part, shown)


def columns(document: Mapping[str, Any]) -> list[Column]:
    """Return the columns for which a document has values.

    A workload that all systems share is in the note, not in a column. How much of the workload the
    systems have seen is a column of interrupted runs.
    """
    systems = document["systems"]
    found = used(COLUMNS, systems)
    found = [c for c in found if c.title != "workload" or len(_workloads(systems)) > 1]
    found = [c for c in found if c.title != "seen" or any(s.get("covered") for s in systems)]
    return [part for c in found for part in (by_kind(c, systems))]


def short(columns: Sequence[Column], systems: Iterable[Mapping[str, Any]]) -> list[int]:
    """Return the indices of the columns that suffice where there is no room for all.

    That of errors is one of them only if there are some.
    """
    errors = any(s.get("n_errors") for s in systems)
    return [i for i, c in enumerate(columns) if not c.wide or (errors and c.title == "errors")]


def price_kind(system: Mapping[str, Any]) -> str | None:
    """Return what kind of price a system's is, and the years of drives with a shop's price."""
    kind = (system.get("cost_usd") or {}).get("price_kind")
    if kind is None:
        return None
    years = {(d.get("description") or {}).get("year") for d in system.get("drive") or ()}
    as_of = (system.get("cost_usd") or {}).get("as_of")
    if as_of is not None:
        return f"as of {as_of}"
    # Components have prices of one year, whatever the drive's; a shop's are of the drive's time.
    known = sorted(str(year) for year in years if year is not None and kind == "price")
    return drives.PRICE_KINDS.get(str(kind), str(kind)) + (f", {', '.join(known)}" if known else "")


def by_kind(column: Column, systems: Iterable[Mapping[str, Any]]) -> list[Column]:
    """Return one column for each kind of price, because different kinds cannot be compared.

    Other columns are returned unchanged.
    """
    if column.value is not _price:
        return [column]
    kinds = sorted({kind for s in systems if (kind := price_kind(s)) is not None})
    if len(kinds) < 2:
        return [column]

    def of_kind(kind: str) -> Callable[[Mapping[str, Any]], Any]:
        return lambda system: _price(system) if price_kind(system) == kind else None

    return [column._replace(title=f"{column.title} ({k})", value=of_kind(k)) for k in kinds]


#: The marks in words, for programs.
REMARKS = {OVERLOADED: "cannot keep up", DEFAULT: "power by default"}


def _remarks(system: Mapping[str, Any]) -> str:
    marks = (_growing(system), _default_power(system))
    return ", ".join(REMARKS[mark] for mark in marks if mark)


def data_columns(document: Mapping[str, Any]) -> list[Column]:
    """Return the columns of a document for programs: marks are in a column of their own."""
    found = [c._replace(mark=lambda system: "") for c in columns(document)]
    remarks = Column("remarks", _remarks, text=True)
    return [*found, *([remarks] if any(map(_remarks, document["systems"])) else [])]


def _workloads(systems: Iterable[Mapping[str, Any]]) -> set[str]:
    return {str(s["workload"]) for s in systems if s.get("workload") is not None}


def cells(system: Any, columns: Sequence[Column] = COLUMNS) -> list[str]:
    """Return the row of one system, one text per column; a dash for a missing number."""
    row = []
    for column in columns:
        value = column.value(system)
        text = "–" if value is None else column.form(value) + column.mark(system)  # noqa: RUF001
        row.append(text)
    return row


def names(systems: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the systems' names; systems with equal name and workload are numbered."""
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


def not_given_of(drive: Mapping[str, Any]) -> list[str]:
    """Return what was taken for each part or value that decides and that nobody gave.

    Example:
        >>> not_given_of({"unsaid": [{"part": "queue", "key": None, "taken": "order of arrival"}]})
        ['queue (taken: order of arrival)']
    """
    return [f"{u['key'] or u['part']} (taken: {u['taken']})" for u in drive.get("unsaid") or ()]


def note(document: Mapping[str, Any]) -> str:
    """Return one line on how the numbers were computed."""
    methods = {str(s["quantile_method"]) for s in document["systems"] if s.get("quantile_method")}
    parts = [f"Headstack {document.get('version', '')}".strip()]
    workloads = _workloads(document["systems"])
    if len(workloads) == 1:
        parts.append(f"workload {workloads.pop()}")
    if document.get("seed") is not None:
        parts.append(f"seed {document['seed']}")
    if methods:
        parts.append(f"quantiles: {', '.join(sorted(methods))}")
    kinds = {kind for s in document["systems"] if (kind := price_kind(s)) is not None}
    if len(kinds) == 1:
        parts.append(f"drives $: {kinds.pop()}")
    cost = document.get("cost")
    if cost:
        parts.append(f"energy: {cost['years']:g} years at {cost['energy_usd_per_kwh']:g} $/kWh, PUE {cost['pue']:g}")
    return ", ".join(parts)
