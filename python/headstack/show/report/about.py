"""Describes what was simulated: one section per system of a result document.

All values are from the document (``experiment``, ``defaults``, ``inputs``, each system's
``drive``); for a document of an earlier version, without them, the sections state that.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headstack import drives as drive_files

#: Text for a value that the document does not have.
UNKNOWN = "not said in these results"

#: Longer tables of a drive's description are folded.
_LONG = 6


@dataclass(frozen=True)
class Fact:
    """One value of a section: label, text, and whether it is a default."""

    label: str
    value: str
    default: bool = False


@dataclass(frozen=True)
class Rows:
    """Tables with the same keys, shown as one table of text."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Part:
    """One table of a drive's description."""

    title: str
    facts: Sequence[Fact]
    tables: Sequence[Rows]


@dataclass(frozen=True)
class Drive:
    """One kind of drive of a system."""

    name: str
    title: str
    description: str
    sha256: str
    missing: Sequence[str]
    parts: Sequence[Part]


@dataclass(frozen=True)
class Section:
    """A system or a workload, with all values that decided its results."""

    anchor: str
    name: str
    facts: list[Fact]
    summary: str = ""
    drives: Sequence[Drive] = ()
    #: Other values of the experiment.
    others: list[Fact] = field(default_factory=list)
    #: Results that are not in the tables.
    outcome: Sequence[Fact] = ()


def text(value: Any) -> str:
    """Return a value of a description as one line."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        # Numbers such as years are not grouped.
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{k}: {text(v)}" for k, v in value.items() if v is not None)
    if isinstance(value, list | tuple):
        return ", ".join(f"({text(v)})" if isinstance(v, Mapping) else text(v) for v in value)
    return "none" if value is None else str(value)


def size(n: Any) -> str:
    """Return a number of bytes in full, and with its decimal unit if that is shorter."""
    if not isinstance(n, int | float):
        return UNKNOWN
    for factor, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n >= factor:
            return f"{n:,.0f} bytes ({n / factor:.4g} {unit})"
    return f"{n:,.0f} bytes"


class Defaults:
    """The dotted keys of an experiment whose values are defaults."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._keys = {str(k) for k in document.get("defaults") or ()}

    def __call__(self, *keys: str) -> bool:
        """Return whether one of the keys, or a table that contains it, is a default."""
        return any(self._given_by_nobody(key) for key in keys)

    def and_also(self, *keys: str) -> "Defaults":
        """Return these keys and further ones."""
        return Defaults({"defaults": [*self._keys, *keys]})

    def of_drive(self, system: str) -> "Defaults":
        """Return the keys of a system as keys of its drive's description."""
        places = {"scheduler": "queue.scheduler", "queue_depth": "queue.depth", "dash": "general.dash"}
        own = [k.removeprefix(f"{system}.") for k in self._keys if k.startswith(f"{system}.")]
        own = [key for key in own if key in places or key.startswith("cache.")]
        return Defaults({"defaults": [places.get(key, key) for key in own]})

    def _given_by_nobody(self, key: str) -> bool:
        parts = key.split(".")
        return any(".".join(parts[:n]) in self._keys for n in range(1, len(parts) + 1))


def facts(label: str, value: Any, key: str, default: Defaults) -> list[Fact]:
    """Return a value as facts, one for each entry of a table, so that each default is marked."""
    if isinstance(value, Mapping):
        return [
            fact
            for k, v in value.items()
            if v not in (None, [], {})
            for fact in facts(f"{label}, {_words(k)}", v, f"{key}.{k}", default)
        ]
    if isinstance(value, list) and any(isinstance(v, Mapping) for v in value):
        return [fact for i, v in enumerate(value) for fact in facts(f"{label} {i}", v, f"{key}.{i}", default)]
    return [Fact(label, text(value), default(key))]


def _words(key: str) -> str:
    return str(key).replace("_", " ")


def _listed(value: Any) -> list[Mapping[str, Any]]:
    """Return the tables of a key that may contain one or several."""
    listed = value if isinstance(value, list) else [value]
    return [v for v in listed if isinstance(v, Mapping)]


def systems(document: Mapping[str, Any]) -> list[Section]:
    """Return one section per system of the experiment, in its order."""
    resolved = document.get("experiment")
    given = _listed(resolved.get("system")) if isinstance(resolved, Mapping) else []
    ran = _by_name(document["systems"])
    default = Defaults(document)
    if not given:
        return [_system(i, {}, runs, document, default) for i, runs in enumerate(ran.values())]
    # Systems are in the experiment's order, also if several have equal names.
    found = list(ran.values())
    return [_system(i, one, found[i] if i < len(found) else [], document, default) for i, one in enumerate(given)]


def _by_name(ran: Iterable[Mapping[str, Any]]) -> dict[tuple[str, int], list[Mapping[str, Any]]]:
    """Return the runs of each system, one per workload; systems with equal names are separate."""
    grouped: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    seen: dict[tuple[str, Any], int] = {}
    for run in ran:
        name = str(run["name"])
        number = seen.get((name, run.get("workload")), 0)
        seen[name, run.get("workload")] = number + 1
        grouped.setdefault((name, number), []).append(run)
    return grouped


def _system(
    index: int,
    given: Mapping[str, Any],
    runs: Sequence[Mapping[str, Any]],
    document: Mapping[str, Any],
    default: Defaults,
) -> Section:
    key = f"system.{index}"
    first = runs[0] if runs else {}
    drives = _listed(first.get("drive"))
    name = str(given.get("name") or first.get("name") or f"system {index + 1}")
    first_facts = _decided(given, drives, key, default)
    seed = given.get("seed")
    run_seed = document.get("seed")
    first_facts += [
        Fact(
            "workload",
            ", ".join(dict.fromkeys(str(w) for r in runs if (w := r.get("workload")) is not None)) or UNKNOWN,
        ),
        Fact(
            "seed",
            _or_unknown(run_seed if seed is None else seed),
            default("run.seed") if seed is None else default(f"{key}.seed"),
        ),
        Fact("simulated by", f"Headstack {document.get('version') or UNKNOWN}"),
    ]
    shown = {"name", "drive", "count", "scheduler", "queue_depth", "seed", "cache"}
    others = [
        fact
        for k, v in given.items()
        if k not in shown and v not in (None, [], {})
        for fact in facts(_words(k), v, f"{key}.{k}", default)
        if fact.label not in ("organisation", "organisation, name")
    ]
    summary = ", ".join(f.value for f in first_facts[:2] if f.value != UNKNOWN)
    about = [_drive(d, default.of_drive(key)) for d in drives]
    outcome = [fact for run in runs for fact in _outcome(run, several=len(runs) > 1)]
    return Section(f"system-{index}", name, first_facts, summary, about, others, outcome)


def _outcome(run: Mapping[str, Any], *, several: bool) -> list[Fact]:
    on = f" on {run['workload']}" if several and run.get("workload") is not None else ""
    said = []
    if run.get("overloaded"):
        why = _mapping(run["overloaded"]).get("why")
        said.append(Fact(f"cannot keep up{on}", text(why or "yes")))
    mean = _mapping(run.get("response_time_s")).get("mean")
    confidence = _mapping(run.get("confidence_s"))
    interval = confidence.get("mean")
    if mean is not None:
        value = f"{mean * 1e3:,.2f} ms"
        if isinstance(interval, list) and len(interval) == 2 and None not in interval:
            low, high = (f"{v * 1e3:,.2f}" for v in interval)
            value += f", confidence interval {low} to {high} ms"
            value += f" ({text(confidence['method'])})" if confidence.get("method") else ""
        said.append(Fact(f"mean response time{on}", value))
    for key, label in (("utilisation", "utilisation"), ("cache_hit_ratio", "cache hits")):
        if run.get(key) is not None:
            said.append(Fact(f"{label}{on}", f"{run[key]:.1%}"))
    rate = run.get("throughput_bytes_per_s")
    if rate is not None:
        said.append(Fact(f"bandwidth{on}", f"{rate / 1e6:,.2f} MB/s"))
    return said


def _decided(given: Mapping[str, Any], drives: Sequence[Mapping[str, Any]], key: str, default: Defaults) -> list[Fact]:
    """Return the main settings: drives, scheduler, depth, organisation, buffer."""
    count = Fact("drive", _kinds(given, drives) or UNKNOWN, default(f"{key}.drive"))
    organisation = Fact("organisation", _or_unknown(_name(given.get("organisation"))), default(f"{key}.organisation"))
    said = []
    for i, one in enumerate(_listed(given.get("drives")) or [given]):
        at = f"{key}.drives.{i}" if given.get("drives") else key
        which = f" of {_name(one.get('drive'))}" if given.get("drives") else ""
        tables = _mapping(drives[min(i, len(drives) - 1)].get("description")) if drives else {}
        queue = _mapping(tables.get("queue"))
        cache = {**_mapping(tables.get("cache")), **_mapping(one.get("cache"))}
        depth = queue.get("depth") if one.get("queue_depth") is None else one["queue_depth"]
        known = bool(one or drives)
        said += [
            Fact(
                f"scheduler{which}",
                _or_unknown(one.get("scheduler") or queue.get("scheduler")),
                default(f"{at}.scheduler"),
            ),
            Fact(f"queue depth{which}", _depth(depth), default(f"{at}.queue_depth")),
        ]
        said += _buffer(cache, which, f"{at}.cache", default) if known else [Fact(f"cache policy{which}", UNKNOWN)]
    return [count, *said, organisation]


def _or_unknown(value: Any) -> str:
    return UNKNOWN if value is None else text(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _name(value: Any) -> Any:
    """Return the name of a component, given as a name or as a table with name and parameters."""
    return value.get("name") if isinstance(value, Mapping) else value


def _depth(depth: Any) -> str:
    if depth is None:
        return UNKNOWN
    return "0: the scheduler sees all commands" if depth == 0 else text(depth)


def _kinds(given: Mapping[str, Any], drives: Sequence[Mapping[str, Any]]) -> str:
    """Return the number and names of a system's drives."""
    listed = drives or [
        {"name": _name(one.get("drive")), "count": one.get("count")} for one in _listed(given.get("drives")) or [given]
    ]
    kinds = [
        f"{one['count']} x {one.get('name')}" if (one.get("count") or 1) != 1 else one.get("name") for one in listed
    ]
    return " and ".join(str(kind) for kind in kinds if kind is not None)


def cache_policy(cache: Mapping[str, Any]) -> str:
    """Return a description of how a drive with this ``cache`` table treats writes.

    Example:
        >>> cache_policy({"enabled": True, "segments": 16, "segment_sectors": 512})
        'write-through: done when on the medium'
        >>> cache_policy({})
        'none: every request goes to the medium'
    """
    if not cache.get("enabled"):
        return "none: every request goes to the medium"
    if not cache.get("write_back"):
        return "write-through: done when on the medium"
    destage = f" (destaging: {text(cache['destage'])})" if cache.get("destage") else ""
    return f"write-back: done when in the buffer{destage}"


def _buffer(cache: Mapping[str, Any], which: str, key: str, default: Defaults) -> list[Fact]:
    """Return the settings of a drive's buffer, each marked if it is a default."""
    enabled = bool(cache.get("enabled"))
    decides = "write_back" if enabled else "enabled"
    said = [Fact(f"cache policy{which}", cache_policy(cache), default(f"{key}.{decides}"))]
    if enabled:
        ahead = text(cache.get("read_ahead") or "none")
        said.append(Fact(f"read-ahead{which}", ahead, default(f"{key}.read_ahead")))
        segments, sectors = cache.get("segments"), cache.get("segment_sectors")
        if segments and sectors:
            size = f"{text(segments)} segments of {text(sectors)} sectors"
            said.append(Fact(f"buffer{which}", size, default(f"{key}.segments")))
    return said


def _drive(drive: Mapping[str, Any], default: "Defaults") -> Drive:
    tables = _mapping(drive.get("description"))
    top = {k: v for k, v in tables.items() if not isinstance(v, Mapping)}
    missing = [str(m) for m in drive.get("missing") or ()]
    default = default.and_also(*(str(key) for key in drive.get("defaults") or ()))
    said = {"name", "title", "description"}
    parts = [_part("general", {k: v for k, v in top.items() if k not in said}, default)]
    for name, table in tables.items():
        if isinstance(table, Mapping):
            # If the file lacks a part, all its values are defaults.
            parts.append(_part(name, table, default.and_also(name) if name in missing else default))
    return Drive(
        name=str(drive.get("name") or tables.get("name") or UNKNOWN),
        title=str(tables.get("title") or ""),
        description=str(tables.get("description") or "").strip(),
        sha256=str(drive.get("sha256") or ""),
        missing=[*missing, *(k for keys in drive_files.not_given(drive).values() for k in keys)],
        parts=[p for p in parts if p.facts or p.tables],
    )


def _part(title: str, table: Mapping[str, Any], default: Defaults) -> Part:
    said, tables = [], []
    for key, value in table.items():
        if isinstance(value, list) and len(value) > _LONG:
            tables.append(_rows(key, value))
        elif value is not None:
            said += facts(_words(key), value, f"{title}.{key}", default)
    return Part(title, said, tables)


def _rows(title: str, values: Sequence[Any]) -> Rows:
    title = f"{title.replace('_', ' ')}: {len(values):,}"
    if all(isinstance(v, Mapping) for v in values):
        headings = list(dict.fromkeys(k for v in values for k in v))
        body = [["" if v.get(k) is None else text(v[k]) for k in headings] for v in values]
        return Rows(title, [h.replace("_", " ") for h in headings], body)
    body = [[text(x) for x in v] if isinstance(v, list) else [text(v)] for v in values]
    return Rows(title, [""] * max(map(len, body)), body)


def run(document: Mapping[str, Any]) -> Section | None:
    """Return the experiment's settings of the run and prices; None for older results."""
    resolved, default = _mapping(document.get("experiment")), Defaults(document)
    said = [fact for key in ("run", "cost") for fact in facts(key, _mapping(resolved.get(key)), key, default)]
    return Section("run", "Run and prices", said) if said else None


#: Keys of a workload that transform requests, in the order of application.
TRANSFORMATIONS = (
    "devices",
    "start",
    "end",
    "skip",
    "count",
    "start_at_zero",
    "remap",
    "concatenate",
    "space_scale",
    "time_scale",
)


def workloads(document: Mapping[str, Any]) -> list[Section]:
    """Return one section per workload of the experiment, in its order."""
    resolved = document.get("experiment")
    value = _mapping(resolved).get("workload")
    default = Defaults(document)
    return [_workload(i, one, f"workload.{i}", document, default) for i, one in enumerate(_listed(value))]


def _workload(
    index: int, given: Mapping[str, Any], key: str, document: Mapping[str, Any], default: Defaults
) -> Section:
    trace = given.get("trace")
    transform = {**_mapping(given.get("transform")), **given}
    changes = {k: transform[k] for k in TRANSFORMATIONS if transform.get(k) not in (None, [], {})}
    said = []
    if trace is not None:
        said += _trace(str(trace), given, document, default(f"{key}.format"))
    said += facts("synthetic", _mapping(given.get("synthetic")), f"{key}.synthetic", default)
    said.append(Fact("transformations", text(changes) if changes else "none"))
    shown = {"name", "trace", "format", "synthetic", "transform", *TRANSFORMATIONS}
    for k, v in given.items():
        if k not in shown and v not in (None, [], {}):
            said += facts(_words(k), v, f"{key}.{k}", default)
    name = str(given.get("name") or f"workload {index + 1}")
    return Section(f"workload-{index}", name, said, str(trace or "synthetic"))


def _trace(path: str, given: Mapping[str, Any], document: Mapping[str, Any], detected: bool) -> list[Fact]:
    one = next((i for i in _listed(document.get("inputs")) if i.get("kind") == "trace" and _is(i, path)), {})
    return [
        Fact("trace", path),
        Fact("format", _or_unknown(given.get("format") or one.get("format")), detected),
        Fact("size", size(one.get("bytes"))),
        Fact("SHA-256", str(one.get("sha256") or UNKNOWN)),
    ]


def _is(one: Mapping[str, Any], path: str) -> bool:
    """Return whether an input is the file of a workload."""
    known = {str(one[k]) for k in ("path", "name") if one.get(k) is not None}
    return path in known or any(k.endswith(f"/{path.removeprefix('./')}") for k in known)
