"""Systems of a result: their labels, and those that cannot keep up."""

from collections.abc import Mapping, Sequence
from typing import Any

from headstack.show import drawing, table


def labels(systems: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return one label per system, all different: its name, and the workload if there are more."""
    several = len({s.get("workload") for s in systems}) > 1
    named = zip(systems, table.names(systems), strict=True)
    texts = (f"{name} · {s['workload']}" if several else name for s, name in named)
    return [drawing.label(text) for text in texts]


def workloads(document: Mapping[str, Any]) -> list[Any]:
    """Return the workloads of a result document in their order, each once."""
    return list(dict.fromkeys(s.get("workload") for s in document["systems"]))


def of_workload(document: Mapping[str, Any], workload: Any) -> dict[str, Any]:
    """Return a result document with the systems of one workload alone."""
    systems = [s for s in document["systems"] if s.get("workload") == workload]
    return {**document, "systems": systems}
