"""Where requests wait: in results, tables, figures and logs."""

import json

import pytest

import headstack
from headstack.show import plots, table

LOAD = {
    "jobs": [{"threads": 12, "duration": "2 s", "requests": {"reads": 0.3, "sequential": 0.5,
              "size": "16 KiB", "footprint": "1 GB"}}]
}  # fmt: skip
QUEUE = {"name": "host-queue", "elevator": "mq-deadline", "nr_requests": 4, "depth": 2}
SYSTEMS = [
    {"name": "array", "drive": "exos-x18", "count": 4, "organisation": "raid5", "layers": [QUEUE]},
    {"name": "drive", "drive": "exos-x18"},
]


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    out = tmp_path_factory.mktemp("parts") / "out"
    systems = [{**s, "cache": {"write_back": False}} for s in SYSTEMS]
    return headstack.run(workload=LOAD, systems=systems, out=out)


def test_the_parts_add_up_to_the_queue(result):
    """Of the means and of each request, in whole nanoseconds; without layers all is the drive's."""
    array, drive = result.document["systems"]
    for system in (array, drive):
        want = system["components_s"]["queue"]
        assert sum(system["queue_parts_s"].values()) == pytest.approx(want, rel=1e-12)
    assert all(wait > 0 for wait in array["queue_parts_s"].values())
    assert [p for p, wait in drive["queue_parts_s"].items() if wait] == ["drive"]
    log = result.requests
    parts = [f"queue_{part}_s" for part in array["queue_parts_s"]]
    whole = (log[[*parts, "queue_s"]] * 1e9).round().astype(int)
    assert (whole[parts].sum(axis=1) == whole["queue_s"]).all()
    means = log[log["system"] == "array"][parts].mean()
    assert list(means) == pytest.approx(list(array["queue_parts_s"].values()))


def test_tables_and_figures_have_the_parts_where_requests_wait_above_the_drives(result):
    array, drive = result.document["systems"]
    titles = {f"{part} ms" for part in array["queue_parts_s"]}
    shown = [c.title for c in table.columns(result.document)]
    assert titles <= set(shown)
    assert not titles & {c.title for c in table.columns({"systems": [drive]})}
    figure = json.dumps(plots.components(result.document).to_dict())
    assert all(f'"part": "{part}"' in figure for part in ("place", "elevator", "array", "queue"))
