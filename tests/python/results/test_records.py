"""`headstack.results.records`: the types of results are those of the results that runs give."""

import types
import typing
from collections.abc import Iterator, Mapping

import pytest
from conftest import ROOT

import headstack
from headstack.results.record import Free, Record
from headstack.results.records import Cost, System

#: Runs that together have every table.
RUNS = {
    "demo": {"experiment": ROOT / "examples" / "demo.toml", "set": {"run.max_requests": 200}},
    "capped": {
        "workload": {"jobs": [{"threads": 4, "duration": "3 s", "name": "reader"}]},
        "systems": {
            "drive": "ultrastar-7k4000-pcap",
            "layers": ["host-queue"],
            "capping": {"policy": "pcap-agile", "caps": [{"at": "0 s", "cap": "9 W"}]},
            "change": [{"at": "1 s", "queue_depth": 2}],
        },
    },
    "parts": {
        "workload": {"synthetic": {"n_requests": 10_000, "rate": "20/s"}},
        "systems": {
            "drive": "exos-x18",
            "dash": "D1A2S1H1",
            "set": {
                "parallelism.faults": [{"at": "1 s", "surface": 0, "warning": True}],
                "parallelism.roles": {"policy": "adaptive"},
                "power.conditions.idle_a.timer": "0.01 s",
            },
        },
    },
    "log": {
        "workload": {"synthetic": {"n_requests": 300, "rate": "20/s", "footprint": "1 GB"}},
        "systems": {
            # Its file says nothing of its power.
            "drive": "barracuda-7200.9-2006",
            "set": {"mapping": {"model": "log", "recovery": {"model": "headers"}}},
        },
    },
    "overloaded": {
        "workload": {"synthetic": {"n_requests": 9000, "rate": "300/s", "footprint": "1 TB"}},
        "systems": {"drive": "exos-x18", "scheduler": "fcfs"},
    },
    "limited": {"experiment": ROOT / "examples" / "duration-limits.toml", "set": {"run.max_requests": 2000}},
    "enough": {
        "workload": {"synthetic": {"n_requests": 1000, "rate": "20/s", "footprint": "1 TB"}},
        "systems": {"drive": "exos-x18"},
        "goal": "p99=50ms",
        "headroom": True,
        "seeds": 2,
        "jobs": 1,
    },
}


@pytest.fixture(scope="module")
def systems(tmp_path_factory) -> list[System]:
    out = tmp_path_factory.mktemp("records")
    return [s for name, given in RUNS.items() for s in headstack.run(**given, out=out / name)]


def tables(value: object) -> Iterator[Record]:
    """Every table in a result whose entries are declared."""
    if isinstance(value, Record):
        if type(value) is not Free:
            yield value
            for one in value.values():
                yield from tables(one)
    elif isinstance(value, list):
        for one in value:
            yield from tables(one)


def fits(value: object, hint: object) -> bool:
    """Whether a value is of a type of `headstack.results.records`."""
    origin = typing.get_origin(hint)
    if origin is types.UnionType:
        return any(fits(value, part) for part in typing.get_args(hint))
    if origin is list:
        (of,) = typing.get_args(hint)
        return isinstance(value, list) and all(fits(one, of) for one in value)
    # The core writes no fraction of a whole number, but a float always as one.
    return type(value) is hint


def declared_by(kind: type[Record]) -> Iterator[type[Record]]:
    """The types that no other one extends."""
    if not kind.__subclasses__():
        yield kind
    for more in kind.__subclasses__():
        yield from declared_by(more)


def test_results_have_the_declared_entries(systems):
    found = [table for system in systems for table in tables(system)]
    for table in found:
        hints = typing.get_type_hints(type(table))
        for key, value in table.items():
            assert key in hints, (type(table), key)
            assert fits(value, hints[key]), (type(table), key, value)
    # Every declared entry is in some result; only interrupted runs have `covered`.
    kinds = {type(table) for table in found}
    declared = set(declared_by(Record)) - {Free}
    assert {k.__name__ for k in declared - kinds} == {"Covered"}
    for kind in kinds:
        keys = {key for table in found if type(table) is kind for key in table}
        missing = typing.get_type_hints(kind).keys() - keys
        # A price has a day only if a table of prices was given.
        absent = {System: {"covered"}, Cost: {"as_of"}}
        assert missing == absent.get(kind, set()), kind


def test_attributes_are_the_entries(systems):
    for system in systems:
        for table in tables(system):
            assert all(getattr(table, key) == table[key] for key in table)
            assert isinstance(table, Mapping)
    with pytest.raises(AttributeError, match='did you mean "power_w"'):
        _ = systems[0].power_v
