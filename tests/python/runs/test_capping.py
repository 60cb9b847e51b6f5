"""`headstack cap-sim` and `headstack.runs.capping`: the comparison, the page, the files."""

import hashlib
import json
import math
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import headstack
from headstack import _toml
from headstack.cli import main
from headstack.runs import capping

JOBS = {"threads": 128, "think_time": "60 us", "duration": "60 s", "requests": {"reads": 1.0, "footprint": "4 TB"}}
LAYERS = ["throttle", {"name": "host-queue", "elevator": "deadline", "wake_time": "50 us"}]


def system(name: str, policy: str, **parameters: object) -> dict[str, object]:
    table = {"policy": policy, "parameters": parameters}
    return {"name": name, "drive": "ultrastar-7k4000-pcap", "layers": LAYERS, "capping": table}


def capped(*systems: dict[str, object], at: str, lasts: str, cap: str = "8 W") -> dict[str, Any]:
    """Return an experiment: systems under a cap from then on, and how long their load lasts."""
    caps = {"tolerance": "0.2 W", "caps": [{"at": at, "cap": cap}]}
    return {"workload": {"jobs": [{**JOBS, "duration": lasts}]}, "system": list(systems), "capping": caps}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> headstack.Result:
    systems = [system("free", "none"), system("pcap", "pcap-agile", mode="throughput")]
    experiment = capped(*systems, at="20 s", lasts="60 s")
    return capping.cap_sim(experiment, out=tmp_path_factory.mktemp("capped"))


def test_the_table_tells_what_a_cap_costs(result: headstack.Result) -> None:
    free, pcap = capping.compare(result.document)
    # Without a policy 9.15 W are drawn under a cap of 8 W for 40 s; the last interval may be cut.
    assert free["over_cap_j"] == pytest.approx(40 * 1.15, rel=0.1)
    assert free["violation_s"] == pytest.approx(40, abs=1)
    assert free["lost_share"] == 0
    assert 0 < pcap["over_cap_j"] < free["over_cap_j"]
    assert 0 < pcap["lost_share"] < 0.34
    assert pcap["n_changes"] > 0
    assert free["n_changes"] == 0
    # From submission a request waits for its place too.
    assert pcap["submitted_p99_s"] >= pcap["p99_s"]


def test_swings_are_those_of_means_of_five_intervals() -> None:
    """By the definition: of each time under one cap the second half, if that has two means."""
    experiment = capped(system("free", "none"), at="0 s", lasts="60 s")
    # 20, 12 and 20 intervals under a cap; half of the second one has but one mean.
    experiment["capping"]["caps"] = [
        {"at": "0 s", "cap": "8 W"},
        {"at": "20 s", "cap": "9 W"},
        {"at": "32 s"},
        {"at": "40 s", "cap": "8.5 W"},
    ]
    found = headstack.run(experiment).document["systems"][0]["capping"]
    power, caps = (np.array(found["series"][key], float) for key in ("power_w", "cap_w"))
    # A point has the cap at its end, so it was under that of the point before.
    under = np.concatenate([[8.0], caps[:-1]])
    means = []
    for cap in (8.0, 9.0, 8.5):
        (where,) = np.nonzero(under == cap)
        half = power[where[len(where) // 2] : where[-1] + 1]
        means.append([chunk.mean() for chunk in np.split(half, range(5, len(half), 5)) if len(chunk) == 5])
    assert [len(of) for of in means] == [2, 1, 2]
    squares = [(x - np.mean(of)) ** 2 for of in means if len(of) > 1 for x in of]
    assert found["power_deviation_w"] == pytest.approx(np.sqrt(np.mean(squares)), rel=1e-9)
    assert found["power_deviation_w"] > 0


def test_what_cannot_be_held_is_answered_first() -> None:
    """PCAP does not reach 7.6 W, and without work the drive draws more than 4 W."""

    def answered(cap: str, *systems: dict[str, object]) -> tuple[list[str], headstack.Result]:
        result = capping.cap_sim(capped(*systems, at="20 s", lasts="3 min", cap=cap))
        return capping.answers(result.document), result

    pcap = {**system("pcap", "pcap-agile"), "layers": LAYERS[1:]}
    (held, missed), result = answered("7.6 W", pcap, system("limited", "learning"))
    assert held == '"limited": all caps are held'
    found = re.fullmatch(
        r'"pcap": 7.6 W is not held: at least (.*) W with these means \(to 0.1 W\); '
        "a throttle layer with the policy learning would hold it",
        missed,
    )
    assert found
    # Some ten means of five readings were within it or above: no lower cap was within reach.
    power = result.document["systems"][0]["capping"]["series"]["power_w"]
    means = np.convolve(power[21:], np.ones(5) / 5, "valid")
    lowest = min(max(means[i : i + 10]) for i in range(len(means) - 9))
    assert 7.6 < lowest - 0.2 <= float(found[1])
    assert answered(f"{found[1]} W", pcap)[0] == ['"pcap": all caps are held']
    assert "is not held" in answered(f"{float(found[1]) - 0.1:.1f} W", pcap)[0][0]
    (idle,), _ = answered("4 W", pcap)
    assert "; without any work its drives draw" in idle


def test_the_lowest_cap_that_idle_drives_hold_is_what_they_draw(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a read every half minute they draw their idle power, whatever a policy does."""
    shelf = {**system("shelf", "pcap-s"), "drive": "exos-x18", "count": 3, "layers": LAYERS[1:]}
    reads = {"footprint": "4 TB"}
    load = {"threads": 1, "think_time": "30 s", "duration": "2 min", "requests": reads}
    table = {"efficiency": 0.8, "caps": [{"at": "5 s", "cap": "19 W"}, {"at": "60 s", "cap": "8 W"}]}
    experiment = {"workload": {"jobs": [load]}, "system": [shelf], "capping": table}
    result = capping.cap_sim(experiment, out=tmp_path / "out")
    series = result.document["systems"][0]["capping"]["series"]
    # Its maker's 5.3 W, spindle and electronics, behind a supply.
    idle = 3 * 5.3 / 0.8
    assert np.median(series["power_w"]) == pytest.approx(idle, rel=1e-9)
    lowest = math.ceil(10 * idle) / 10
    (said,) = capping.answers(headstack.load(tmp_path / "out").document)
    assert f"8 W is not held: at least {lowest:g} W with these means (to 0.1 W)" in said
    for cap, is_held in ((lowest, True), (lowest - 0.1, False)):
        both = {**table, "caps": [{"at": "5 s", "cap": f"{cap:.1f} W"}]}
        (said,) = capping.answers(capping.cap_sim({**experiment, "capping": both}).document)
        assert said.endswith("all caps are held") == is_held
    file = tmp_path / "e.toml"
    file.write_text(_toml.dumps(experiment), encoding="utf-8")
    assert main(["cap-sim", str(file), "--seeds", "2"]) == 0
    assert f"at least {lowest:g} W with these means" in capsys.readouterr().out


def test_the_search_finds_the_lowest_cap_that_is_held() -> None:
    """Runs came down to 201 W and drew at most 231 W: steps of 1 W, five halvings and the end."""
    missed = [capping.Missed(170, 200.3, 199.3, 230.0), capping.Missed(180, 201.0, 200.5, 231.0)]
    tried: list[float] = []

    def holds(least: float) -> Callable[[float], bool]:
        tried.clear()
        return lambda watts: tried.append(watts) or watts >= least

    for least in (201, 207, 211, 231):
        assert capping._lowest(missed, holds(least)) == {"cap_w": least, "resolution_w": 1.0}
        assert len(tried) <= 6
    assert capping._lowest(missed, holds(232)) is None


def test_caps_hold_with_duration_limits() -> None:
    """Policies keep the cap as they do without limits, and the class with a limit stays faster.

    The drive has counted its commands: limits reached it through throttle and host queue.
    """
    jobs = [{**JOBS, "name": name, "threads": n} for name, n in (("web", 8), ("bulk", 24))]
    limits = {"enabled": "limits", "reads": [{"guideline": "50 ms"}]}
    mean, over = {}, {}
    for enabled in (True, False):
        systems = [
            {**system(policy, policy), "scheduler": "depth-aged-sptf"}
            | ({"set": {"duration_limits": limits}} if enabled else {})
            for policy in ("throttle", "feed-forward")
        ]
        result = capping.cap_sim(
            {
                "workload": {"jobs": jobs, "classes": [{"name": "web", "jobs": ["web"], "ioprio_hint": 1}]},
                "system": systems,
                "capping": {"tolerance": "0.2 W", "caps": [{"at": "20 s", "cap": "8 W"}]},
            }
        )
        for found, row in zip(result.document["systems"], capping.compare(result.document), strict=True):
            web, _ = found["classes"]
            mean[found["name"], enabled] = web["response_time_s"]["mean"]
            over[found["name"], enabled] = row["violation_s"]
            counts = found["drives"][0].get("duration_limits")
            assert (counts is not None) == enabled
            if enabled:
                assert counts["reads"][0]["n_commands"] >= web["n_requests"]
    for policy in ("throttle", "feed-forward"):
        # 9.1 W and more are drawn without a cap: it is held from its first seconds on.
        assert over[policy, True] <= 5
        assert over[policy, False] <= 5
        assert mean[policy, True] < 0.7 * mean[policy, False]


def test_series_agree_with_the_files(result: headstack.Result) -> None:
    assert result.out is not None
    for found in result.document["systems"]:
        series = found["capping"]["series"]
        table = pq.read_table(result.out / found["capping"]["series_file"]).to_pydict()
        assert table["power_w"] == series["power_w"]
        assert table["cap_w"] == series["cap_w"]
        drives = pq.read_table(result.out / found["capping"]["drives_file"]).to_pydict()
        assert drives["power_w"] == series["drive_power_w"][0]
        assert drives["nr_requests"] == series["nr_requests"]


def test_the_page_draws_with_a_brush(result: headstack.Result, tmp_path: Path) -> None:
    page = capping.write(result.document, tmp_path / capping.PAGE).read_text(encoding="utf-8")
    assert '"brush"' in page
    assert "pcap" in page
    assert "https://" not in page.split("<script")[0]
    figures = tmp_path / "capping-figures"
    assert (figures / "capping.png").stat().st_size > 10_000
    assert (figures / "capping-queues.svg").exists()


def test_the_command_prints_the_comparison(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = Path("examples/capping.toml").read_text(encoding="utf-8")
    head, _, systems = text.partition("caps = [")
    systems = systems.partition("[[system]]")[2]
    caps = 'caps = [{ at = "10 s", cap = "9 W" }]'
    text = f"{head.replace('20 min', '30 s')}{caps}\n[[system]]{systems}"
    config = tmp_path / "short.toml"
    config.write_text(text, encoding="utf-8")
    assert main(["cap-sim", str(config), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["policies"]
    assert [r["policy"] for r in rows] == [
        "none", "throttle", "pcap-agile", "pcap-agile", "feed-forward",
    ]  # fmt: skip
    assert main(["cap-sim", str(config)]) == 0
    assert "feed-forward" in capsys.readouterr().out


def test_the_table_without_an_elevator_is_that_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cap-sim", "examples/capping-no-elevator.toml", "--json"]) == 0
    rows = {r["name"]: r for r in json.loads(capsys.readouterr().out)["policies"]}
    page = Path("docs/models/capping.md").read_text(encoding="utf-8")
    for name, r in rows.items():
        line = (
            f"| {name} | {r['power_mean_w']:.2f} W | {r['throughput_iops']:.0f}"
            f" | {r['violation_s']:.0f} s | {r['over_cap_j']:.0f} J |"
        )
        assert line in page, line
    # What the page says of them.
    for trusting in ("PCAP", "feed-forward"):
        assert rows[trusting]["power_mean_w"] > rows["learning"]["power_mean_w"] + 0.5
        assert rows[trusting]["throughput_iops"] < 0.6 * rows["learning"]["throughput_iops"]
    # For each of the two caps: `tries` periods of 5 s, then `limit_after`.
    assert rows["learning, with a throttle"]["violation_s"] < 2 * (6 * 5 + 30)
    assert rows["learning, with an elevator"]["violation_s"] <= 10


def test_policies_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "capping", "--json"]) == 0
    names = {p["name"] for p in json.loads(capsys.readouterr().out)["capping"]}
    assert {"none", "throttle", "pcap-base", "pcap-agile", "pcap-s", "feed-forward"} <= names


def test_a_policy_is_shown_with_its_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "capping", "pcap-agile"]) == 0
    text = capsys.readouterr().out
    # Table 1 of the paper.
    for parameter, default in (("period", "5 s"), ("nr_requests", "[4, 32]"), ("tolerance", "0.2")):
        line = next(line for line in text.splitlines() if line.startswith(parameter))
        assert default in line
    assert main(["models", "capping", "pcap-agile", "--json"]) == 0
    entry = json.loads(capsys.readouterr().out)
    found = {p["key"]: p for p in entry["parameters"]}
    assert found["mode"] == {
        "key": "mode",
        "default": "tail-latency",
        "needed": False,
        "bounds": "one of tail-latency, throughput",
        "what": "Which sizes of the queues are used: short ones for tail latency, or long ones for throughput.",
    }
    assert main(["models", "seek", "linear"]) == 0
    assert "Example" in capsys.readouterr().out


def test_seeds_give_paired_differences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    systems = [system("free", "none"), system("pcap", "pcap-agile", mode="throughput")]
    experiment = capped(*systems, at="10 s", lasts="30 s")
    free, pcap = capping.over_seeds(experiment, range(1, 4))
    assert free["against"] is None
    assert pcap["against"] == "free"
    singles = [capping.compare(capping.cap_sim(experiment, seed=seed).document) for seed in (1, 2, 3)]
    for key in ("throughput_iops", "over_cap_j"):
        gaps = [b[key] - a[key] for a, b in singles]
        assert pcap["values"][key]["change"] == pytest.approx(sum(gaps) / 3)
        assert pcap["values"][key]["mean"] == pytest.approx(sum(b[key] for _, b in singles) / 3)
        # The same requests: differences vary less than their size.
        assert 0 < pcap["values"][key]["change_half"] < abs(pcap["values"][key]["change"])
    file = tmp_path / "e.toml"
    result = capping.cap_sim(experiment)
    file.write_text(result.experiment_toml(), encoding="utf-8")
    if main(["cap-sim", str(file), "--seeds", "1", "--against", "pcap", "--json"]) != 0:
        pytest.fail(capsys.readouterr().err)
    rows = json.loads(capsys.readouterr().out)["policies"]
    assert [r["against"] for r in rows] == ["pcap", None]
    assert rows[0]["values"]["p99_s"]["change_half"] is None


def test_a_result_holds_the_meter_and_the_file_of_caps(tmp_path: Path) -> None:
    caps = tmp_path / "caps.csv"
    experiment = {
        "workload": {"jobs": [{**JOBS, "duration": "4 s"}]},
        "system": [system("pcap", "pcap-agile")],
        "capping": {"cap_file": str(caps), "noise": "0.05 W"},
    }
    ids = []
    for text in ("0,9\n", "0,8.5\n"):
        caps.write_text(text, encoding="utf-8")
        document = capping.cap_sim(experiment).document
        ids.append(document["run_id"])
        listed = [i for i in document["inputs"] if i["kind"] == "caps"]
        assert [(i["path"], i["bytes"]) for i in listed] == [(str(caps), len(text))]
        assert listed[0]["sha256"] == hashlib.sha256(text.encode()).hexdigest()
        meter = document["experiment"]["capping"]
        assert (meter["noise"], meter["interval"]) == ("0.05 W", "1 s")
        assert "capping.interval" in document["defaults"]
        assert "capping.noise" not in document["defaults"]
        found = document["experiment"]["system"][0]["capping"]["parameters"]
        assert (found["raise_factor"], found["lower_factor"]) == (2, 8)
        assert "system.0.capping.parameters.lower_factor" in document["defaults"]
    # Other caps are another run, also in a file of the same name.
    assert ids[0] != ids[1]


@pytest.fixture
def interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of an experiment of three policies, and Ctrl-C in the middle of the third one's run.

    The progress of a run on one thread counts requests of one policy after the other.
    """
    done: list[int] = []
    systems = [system(name, "none") for name in ("one", "two", "three")]
    experiment = capped(*systems, at="10 s", lasts="20 min")
    single = capping.cap_sim({**experiment, "system": systems[:1]}).document["systems"][0]

    @contextmanager
    def progress(*_: object) -> Iterator[Callable[[int, int | None], None]]:
        def report(n: int, total: int | None) -> None:
            if n > 2 * single["n_requests"] and not done:
                done.append(n)
                signal.raise_signal(signal.SIGINT)

        yield report

    monkeypatch.setattr("headstack.cli._terminal.progress", progress)
    file = tmp_path / "e.toml"
    file.write_text(_toml.dumps(experiment), encoding="utf-8")
    return file


def test_an_interrupt_keeps_the_policies_that_are_complete(
    interrupted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    args = ["cap-sim", str(interrupted), "--threads", "1", "--out", str(out), "--no-figures"]
    assert main([*args, "--json"]) == 130
    shown = capsys.readouterr()
    assert "e.toml: partial results: 2 of 3 systems are complete" in shown.err
    document = json.loads(shown.out)
    assert document["partial"] is True
    rows = document["policies"]
    assert [row["partial"] for row in rows] == [False, False, True]
    assert [row["lost_share"] for row in rows] == [0, 0, None]
    assert rows[0]["violation_s"] > 0
    assert headstack.load(out).partial
    assert (out / capping.PAGE).exists()
    table = capping.cells(rows, capping.columns(rows), "-")
    assert [cells[0] for cells in table] == ["one", "two", "three (partial)"]


def test_an_interrupt_keeps_the_seeds_that_are_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "e.toml"
    systems = [system("free", "none"), system("pcap", "pcap-agile")]
    experiment = capped(*systems, at="1 s", lasts="4 s")
    file.write_text(_toml.dumps(experiment), encoding="utf-8")
    run, seeds = capping.cap_sim, []

    def counted(*args: object, **options: object) -> headstack.Result:
        seeds.append(options["seed"])
        if len(seeds) == last:
            signal.raise_signal(signal.SIGINT)
        return run(*args, **options)

    monkeypatch.setattr(capping, "cap_sim", counted)
    last = 3
    assert main(["cap-sim", str(file), "--seeds", "9", "--json"]) == 130
    shown = capsys.readouterr()
    assert "partial results, of 2 of 9 seeds" in shown.err
    document = json.loads(shown.out)
    assert (document["seeds"], document["partial"], seeds) == (2, True, [1, 2, 3])
    assert document["policies"][1]["values"]["throughput_iops"]["half"] is not None
    # Without one that is complete there is nothing to show.
    last, seeds[:] = 1, []
    assert main(["cap-sim", str(file), "--seeds", "9"]) == 130
    assert capsys.readouterr().out == ""
