"""Workloads from Python: tables, paths and DataFrames give the same requests as a file."""

import pandas as pd
import pyarrow as pa
import pytest

from headstack import _bridge
from headstack.runs import api
from headstack.workloads import workload

ROWS = {
    "time_us": [0, 1870, 1905, 4000],
    "device": [0, 0, 1, 0],
    "lba": [264192, 8421376, 0, 16],
    "blocks": [16, 8, 0, 1],
    "op": ["R", "write-through", "F", "W"],
}
DRIVE = [{"name": "one", "drive": "barracuda-es-750", "count": 2, "organisation": "independent"}]


def info(table):
    return _bridge.call("trace_info", table["trace"], table.get("format"), "fail", "format", "{}")


def without_place(answer):
    return {k: v for k, v in answer.items() if k != "opened"}


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "rows.csv"
    pd.DataFrame(ROWS).to_csv(path, index=False)
    return path


class Stream:
    """A DataFrame of an unknown library."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


FRAMES = {
    "pandas": pd.DataFrame,
    "pandas with categories": lambda rows: pd.DataFrame(rows).astype({"op": "category"}),
    "pyarrow": pa.table,
    "record batch": lambda rows: pa.RecordBatch.from_pydict(rows),
    "stream": lambda rows: Stream(pa.table(rows)),
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_any_frame_holds_what_its_file_holds(make, csv):
    with workload.as_spec(make(ROWS)) as table:
        got = info(table)
    with workload.as_spec(csv) as table:
        assert table == {"trace": str(csv)}
        assert without_place(got) == without_place(info(table))
    assert got["n_requests"] == 4
    assert got["duration_s"] == pytest.approx(4e-3)


def test_polars_frames(csv):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    with workload.as_spec(polars.DataFrame(ROWS)) as table, workload.as_spec(csv) as file:
        assert without_place(info(table)) == without_place(info(file))


@pytest.mark.parametrize(
    "times",
    [
        pd.to_timedelta(ROWS["time_us"], unit="us"),
        pd.Timestamp("2007-02-22 17:08") + pd.to_timedelta(ROWS["time_us"], unit="us"),
    ],
    ids=["lengths", "dates"],
)
def test_times_that_carry_their_unit(times):
    rows = {k: v for k, v in ROWS.items() if k != "time_us"}
    with workload.as_spec(pd.DataFrame({"time": times, **rows})) as table:
        got = info(table)
    with workload.as_spec(pd.DataFrame(ROWS)) as table:
        assert got == info(table)


def test_a_table_keeps_its_keys_and_its_file_is_gone_afterwards():
    from pathlib import Path

    with workload.as_spec({"trace": pd.DataFrame(ROWS), "time_scale": 2}) as table:
        assert table["time_scale"] == 2
        file = Path(table["trace"])
        assert file.is_file()
    assert not file.exists()
    given = {"synthetic": {"n_requests": 3}}
    with workload.as_spec(given) as table:
        assert table == given


def test_the_simulation_sees_the_frame(csv):
    with workload.as_spec(pd.DataFrame(ROWS)) as table:
        frame = api.run(workload=table, systems=DRIVE).requests
    file = api.run(workload={"trace": str(csv)}, systems=DRIVE).requests
    pd.testing.assert_frame_equal(frame.drop(columns="workload"), file.drop(columns="workload"), check_exact=True)


def test_results_do_not_say_where_the_file_of_a_frame_was(tmp_path):
    frames = [pd.DataFrame(ROWS), {"trace": pd.DataFrame(ROWS), "time_scale": 2}]
    first, second = (api.run(workload=frames, systems=DRIVE, out=tmp_path / n) for n in "ab")
    assert first.to_json(curves=True) == second.to_json(curves=True)
    traces = [w["trace"] for w in first.document["experiment"]["workload"]]
    assert traces == ["requests-0.parquet", "requests-1.parquet"]
    assert [i["path"] for i in first.document["inputs"] if i["kind"] == "trace"] == traces


def test_the_experiment_of_a_frame_runs_again_from_its_results(tmp_path):
    result = api.run(workload=pd.DataFrame(ROWS), systems=DRIVE)
    folder = result.save(tmp_path / "kept")
    (folder / "again.toml").write_text(result.experiment_toml())
    again = api.run(folder / "again.toml")
    assert again.to_json(curves=True) == result.to_json(curves=True)
