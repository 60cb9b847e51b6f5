"""The intra-disk parallelism paper: relations that its text states, closed forms, the command.

Bounds are those within which the paper's statements hold; brackets in comments give what a separate
simulator of the same model found. Stand-in workloads are never asserted on.
"""

import json
import math

import numpy as np
import pytest
from test_cli import run as command

import headstack
from headstack import drives, studies
from headstack._bridge import call
from headstack.errors import ConfigError
from headstack.studies.isca08 import arrays, background, bottleneck, designs, systems
from headstack.studies.isca08.arrays import Cell, p90_ms
from headstack.studies.isca08.systems import (
    hc_sd,
    md,
    mean_ms,
    mode_share,
    nonzero_seeks,
    sa,
    watts,
    within,
)
from headstack.studies.runs import Run
from headstack.studies.study import Part, Study, Verdict, number, relation, reproduce

PAPER = studies.load("isca08")
IDS = [f"IDP-{n}" for n in range(1, 14)]
TURN_MS = 60e3 / 7200


@pytest.fixture(scope="session")
def study(tmp_path_factory):
    return Study("isca08", tmp_path_factory.mktemp("isca08"), quick=True, traces={})


@pytest.fixture(scope="session")
def websearch(study):
    """Every system of the Websearch relations, on the prefix at the whole trace's rate."""
    if systems.shared_prefix() is None:
        pytest.skip("the Websearch prefix is absent: set HEADSTACK_SHARED")
    load = systems.load(study, "websearch")
    assert load.table["time_scale"] == pytest.approx(1.39)
    large = [
        md("websearch"),
        hc_sd(),
        *(sa(n) for n in (2, 3, 4)),
        *bottleneck.LIMITS,
        hc_sd("64 MB", cache=bottleneck.CACHE_64_MB),
        hc_sd("HC-SD, SPTF", "sptf"),
        sa(4, 5200),
    ]
    return study.run(systems.runs(load, *large, rotation=True))


@pytest.fixture(scope="session")
def raid(study):
    """Arrays of powers of two of each kind of drive on the three loads."""
    counts = (1, 2, 4, 8, 16)
    cells = [Cell(kind, n, gap) for gap in arrays.LOADS for kind in arrays.KINDS for n in counts]
    found = arrays.simulate(study, cells, 100_000)
    assert all(r["n_requests"] == 100_000 and r["n_errors"] == 0 for r in found.values())
    return found


def ms(results):
    return {name: mean_ms(r) for name, r in results.items()}


# The command.


def test_all_claims_are_in_the_document(tmp_path):
    done = command("reproduce", "isca08", "IDP-12", "--quick", "--json", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["paper"] == "isca08"
    assert [c["id"] for c in document["claims"]] == IDS
    for claim in document["claims"]:
        assert {"what", "paper", "ours", "deviation", "verdict", "figure", "why"} <= claim.keys()
        assert claim["verdict"] in list(Verdict)
        assert claim["verdict"] == "reproduced" or claim["why"]
    (cost,) = [c for c in document["claims"] if c["id"] == "IDP-12"]
    assert (tmp_path / cost["figure"]).read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / cost["figure"]).with_suffix(".svg").is_file()
    assert "IDP-12" in (tmp_path / "isca08.html").read_text()


@pytest.mark.parametrize(
    ("args", "need"),
    [
        (["isca80"], 'paper: got "isca80", need one of isca08; did you mean "isca08"?'),
        (["isca08", "IDP-14"], 'claim: got "IDP-14", need one of IDP-1'),
        (["isca08", "--trace", "tpch=x"], 'did you mean "tpc-h"?'),
        (["isca08", "--trace", "financial"], "need NAME=PATH"),
        (["isca08", "--trace", "financial=absent.spc"], "need a file that exists"),
    ],
)
def test_wrong_input_says_what_is_needed(args, need):
    done = command("reproduce", *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert need in done.stderr


def test_finished_runs_are_not_done_again(tmp_path):
    load = {"synthetic": {"n_requests": 500, "rate": "50/s", "footprint": "10 GB"}}
    runs = [Run(load, hc_sd(f"depth {n}", queue_depth=n)) for n in (1, 2, 4)]
    studies_ = [Study("x", tmp_path, quick=True, traces={}) for _ in range(2)]
    first, second = (s.run(runs) for s in studies_)
    assert first == second
    assert [s.store.simulated for s in studies_] == [3, 0]
    # One that was cut short while it was written is run anew.
    victim = sorted((tmp_path / "runs").iterdir())[0]
    victim.write_text(victim.read_text()[:100])
    third = Study("x", tmp_path, quick=True, traces={})
    assert third.run(runs) == first
    assert third.store.simulated == 1


def test_an_interrupt_keeps_what_is_finished(tmp_path):
    def report(label, done, total):
        if "run 2" in label:
            raise KeyboardInterrupt

    short = {"synthetic": {"n_requests": 100_000, "rate": "50/s", "footprint": "10 GB"}}
    long = {"synthetic": {"n_requests": 50_000_000, "rate": "50/s", "footprint": "10 GB"}}
    study = Study("x", tmp_path, quick=True, traces={}, report=report)
    with pytest.raises(KeyboardInterrupt):
        study.run([Run(short, hc_sd("short")), Run(long, hc_sd("long"))])
    again = Study("x", tmp_path, quick=True, traces={})
    again.run([Run(short, hc_sd("short"))])
    assert again.store.simulated == 0


def test_a_claim_that_cannot_run_leaves_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(systems, "LARGE", "no-such-drive")
    document, _ = reproduce(PAPER, tmp_path, ids=["idp-4", "IDP-1"], quick=True)
    rows = {c["id"]: c for c in document["claims"]}
    assert rows["IDP-4"]["verdict"] == "not-run"
    assert 'got "no-such-drive"' in rows["IDP-4"]["why"]
    assert rows["IDP-1"]["verdict"] == "reproduced"
    assert rows["IDP-12"]["why"] == "not asked for"


def test_verdicts_follow_the_parts_that_count():
    from headstack.studies.study import Outcome

    yes = relation("a", "b", "c", True)
    no = relation("a", "b", "c", False)
    beside = Part("a", "b", "c", Verdict.DEVIATES, counts=False)
    assert Outcome([yes, beside]).verdict == "reproduced"
    assert Outcome([yes, no]).verdict == "deviates"
    assert Outcome([beside]).verdict == "deviates"
    assert Outcome([]).verdict == "not-run"
    close = number("a", 100, 96, 0.05)
    assert (close.verdict, round(close.deviation, 3)) == ("reproduced", -0.04)
    assert number("a", 100, 94, 0.05).verdict == "deviates"


def test_stand_ins_are_marked_and_decide_nothing(tmp_path):
    document, _ = reproduce(PAPER, tmp_path, ids=["IDP-3"], quick=True)
    parts = document["claims"][2]["parts"]
    marked = [p for p in parts if "stand-in" in p["what"]]
    assert {"Financial", "TPC-C", "TPC-H"} <= {p["what"].split(" (")[0] for p in marked}
    assert all("not the paper's trace" in p["note"] and not p["counts"] for p in marked)


def test_a_users_trace_counts(tmp_path):
    """Device i is drive i of the original array; nothing is scaled."""
    trace = tmp_path / "tpch.spc"
    lines = [f"{i % 15},{1000 * (i % 50)},8192,r,{i * 8.76e-3:.6f}\n" for i in range(600)]
    trace.write_text("".join(lines))
    given = {"tpc-h": trace}
    document, study = reproduce(PAPER, tmp_path, ids=["IDP-3"], quick=True, traces=given)
    parts = [p for p in document["claims"][2]["parts"] if p["what"].startswith("TPC-H:")]
    assert len(parts) == 3
    assert all(p["counts"] and "stand-in" not in p["what"] for p in parts)
    table = systems.load(study, "tpc-h").table
    assert table["trace"] == str(trace)
    assert "time_scale" not in table


# Closed forms and the paper's own arithmetic.


@pytest.mark.parametrize(
    ("drive", "single", "average", "full"),
    [("barracuda-es-750", 0.8, 8.5, 17.0), ("cheetah-10k-19g", 0.7, 5.2, 11.0)],
)
def test_seeks_are_those_of_the_drives(drive, single, average, full):
    info = call("drive_info", json.dumps(drives.load(drive)))
    assert info["average_seek_s"] * 1e3 == pytest.approx(average, rel=0.01)
    times = [t for _, t in info["seek_curve"]]
    assert times == sorted(times)
    assert times[0] * 1e3 == pytest.approx(single, rel=0.01)
    assert times[-1] * 1e3 == pytest.approx(full, rel=0.01)


@pytest.mark.parametrize("arms", [1, 2, 3, 4])
def test_arms_side_by_side_share_the_turn(arms):
    """In order of arrival, with all arms on one cylinder, the wait is a turn over 2n on average."""
    load = {"synthetic": {"n_requests": 40_000, "rate": "5/s", "size": "4 KiB", "reads": 1.0}}
    load["synthetic"]["footprint"] = "700 GB"
    together = {"parking": "follow", "arm_choice": "rotation"}
    system = sa(arms, scheduler="fcfs", organisation="independent", parallelism=together)
    system["cache"] = {"enabled": False}  # no read-ahead that would have to be left first
    r = headstack.run(workload=load, systems=[system], seed=7)
    waits = r.requests["rotation_s"].to_numpy() * 1e3
    assert waits.mean() == pytest.approx(TURN_MS / 2 / arms, rel=0.02)
    assert waits.max() <= TURN_MS / arms * 1.001


def test_fcfs_waits_as_pollaczek_and_khinchine_say():
    """M/G/1: the mean wait follows from the moments of the measured service times."""
    load = {"n_requests": 200_000, "rate": "40/s", "size": "4 KiB", "reads": 1.0}
    load["footprint"] = "700 GB"
    plain = {"name": "x", "drive": systems.LARGE, "scheduler": "fcfs", "cache": {"enabled": False}}
    r = headstack.run(workload={"synthetic": load}, systems=[plain], seed=3)
    q = r.requests
    service = (q["seek_s"] + q["rotation_s"] + q["transfer_s"] + q["overhead_s"]).to_numpy()
    rate, load_ = 40.0, 40.0 * service.mean()
    assert 0.3 < load_ < 0.65
    expected = service.mean() + rate * np.mean(service**2) / 2 / (1 - load_)
    assert q["response_time_s"].mean() == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("scale", [0.5, 0.25, 0.0])
def test_scaled_waits_keep_below_their_share_of_a_turn(websearch, scale):
    name = {0.5: "(1/2)R", 0.25: "(1/4)R", 0.0: "R=0"}[scale]
    # A read that goes on at the next cylinder waits there for what the skew leaves to settling.
    zone = drives.load(systems.LARGE)["geometry"]["zones"][0]
    turns = 1 + zone["cylinder_skew"] - zone["track_skew"]
    most = scale * turns * TURN_MS
    assert websearch[name]["rotation"]["max_s"] * 1e3 <= most * 1.001 + 1e-9


def test_one_arm_is_the_conventional_drive(study):
    load = {"synthetic": designs.light(5000)}
    named = sa(1, organisation="independent")
    plain = {k: v for k, v in named.items() if k != "dash"} | {"name": "plain"}
    r = study.run([Run(load, named), Run(load, plain)])
    assert r["SA(1)"]["response_time_cdf"] == r["plain"]["response_time_cdf"]
    assert r["SA(1)"]["energy_j"] == r["plain"]["energy_j"]


def test_costs_are_those_of_table_9(study):
    outcome = designs.cost(study)
    assert outcome.verdict == "reproduced", outcome.parts
    saved = [float(p.ours.rstrip("%")) for p in outcome.parts if "cheaper" in p.what]
    assert saved == pytest.approx([26.9, 40.4], abs=0.1)


def test_power_meets_the_manual_and_table_1():
    watts_ = designs.described(systems.LARGE)["power_w"]
    assert watts_["idle"] == pytest.approx(9.30, abs=0.01)
    assert designs.operating(watts_) == pytest.approx(13.0, abs=0.1)
    assert designs.peak(watts_, 4) == pytest.approx(34.0, abs=0.1)


def test_the_spindle_slows_nearly_with_the_cube(study):
    """6.24 W of 9.30 W are the spindle's; 6200 rpm leave (6200 / 7200)^2.8 = .658 of them."""
    load = {"synthetic": designs.light(500, "1/s")}
    r = study.run([Run(load, sa(1, 6200, organisation="independent"))])["SA(1)/6200"]
    (drive,) = r["drives"]
    seconds = sum(drive["time_s"].values())
    idle = drive["power_w"]["idle"] * seconds / drive["time_s"]["idle"]
    assert (idle - 3.06) / 6.24 == pytest.approx(0.658, abs=0.002)


def test_transfer_paths_are_those_of_figure_1():
    assert designs.transfer_paths("D1A2S1H1") == 2
    assert designs.transfer_paths("D1A2S1H2") == 4
    with pytest.raises(ConfigError, match="need a name such as"):
        designs.transfer_paths("A2")


def test_slower_drives_keep_skews_that_cover_a_switch():
    changes = systems.slower(5200)
    turn_ms = 60e3 / 5200
    # A head switch; a seek of one cylinder and the settling before a write.
    assert changes["geometry.zones[3].track_skew"] * turn_ms == pytest.approx(0.8)
    assert changes["geometry.zones[3].cylinder_skew"] * turn_ms == pytest.approx(0.8 + 1.0)
    # At full speed the same rule gives the drive file's own offsets.
    own = drives.load(systems.LARGE)["geometry"]["zones"]
    full = systems.slower(7200)
    for i, zone in enumerate(own):
        offset = full[f"geometry.zones[{i}].offset"] % 1
        assert math.isclose(offset, zone["offset"] % 1, abs_tol=1e-6)


# Websearch at the whole trace's rate; C-LOOK for MD and HC-SD, SPTF for SA(n).


def test_shares_of_nonzero_seeks(websearch):
    """Figure 6's text: 55 %, 83 %, 90 % [56, 87, 88]."""
    hc, two, four = (nonzero_seeks(websearch[n]) for n in ("HC-SD", "SA(2)", "SA(4)"))
    assert 0.50 <= hc <= 0.62
    assert 0.82 <= two <= 0.90
    assert 0.84 <= four <= 0.92
    assert hc <= two - 0.20


def test_one_large_drive_is_far_slower(websearch):
    m = ms(websearch)
    assert m["HC-SD"] >= 10 * m["MD"]  # [21]


def test_two_arms_nearly_match_and_three_beat_the_array(websearch):
    m = ms(websearch)
    assert 0.85 <= m["SA(2)"] / m["MD"] <= 1.30  # [1.13]
    gap = within(websearch["SA(2)"], 0.020) - within(websearch["MD"], 0.020)
    assert abs(gap) <= 0.06  # [-.02]
    assert m["SA(3)"] < 0.9 * m["MD"]  # [.77]
    assert m["SA(2)"] - m["SA(3)"] > m["SA(3)"] - m["SA(4)"]  # [4.2 > 1.6]


def test_rotation_is_the_bottleneck(websearch):
    m = ms(websearch)
    assert m["(1/2)R"] < 0.4 * m["(1/2)S"]  # [.21]
    assert m["R=0"] < 0.2 * m["S=0"]  # [.06]
    assert m["(1/4)R"] <= m["MD"]  # [.86]
    assert m["SA(2)"] < 0.7 * m["(1/2)R"]  # [.43]


def test_a_large_buffer_changes_nothing(websearch):
    m = ms(websearch)
    assert m["64 MB"] == pytest.approx(m["HC-SD"], rel=0.02)


def test_more_arms_seek_more(websearch):
    assert mode_share(websearch["SA(2)"], "seek") >= 1.8 * mode_share(websearch["HC-SD"], "seek")


def test_tails_of_rotational_latency(websearch):
    """SA(2) waits up to 7 ms, which half a turn (4.17 ms) would not allow."""
    two, four = (websearch[n]["rotation"] for n in ("SA(2)", "SA(4)"))
    assert TURN_MS / 2 < two["max_s"] * 1e3 < TURN_MS  # [7.57]
    assert four["max_s"] * 1e3 < 7  # [5.60]


def test_slow_four_armed_drive_beats_the_array(websearch):
    slow = websearch["SA(4)/5200"]
    assert mean_ms(slow) <= mean_ms(websearch["MD"])
    assert watts(slow) < watts(websearch["HC-SD"])  # [9.6 < 12.95]
    assert 5 <= watts(websearch["MD"]) / watts(websearch["HC-SD"]) <= 9  # [6.3]


def test_with_sptf_everywhere_the_paper_does_not_hold(websearch):
    """The negative control: a conventional drive under SPTF is not bound by rotation."""
    sptf = websearch["HC-SD, SPTF"]
    assert nonzero_seeks(sptf) > 0.75
    assert mode_share(sptf, "seek") == pytest.approx(
        mode_share(websearch["SA(2)"], "seek"), rel=0.1
    )


@pytest.mark.parametrize("name", ["HC-SD", "SA(2)", "SA(3)", "SA(4)"])
def test_power_rises_by_modes_only(websearch, name):
    """With one arm moving: above idle by at most the voice coil's 6.175 W."""
    assert 9.30 <= watts(websearch[name]) <= 9.30 + 6.175


# Arrays with one volume of 100 GB.


def test_break_even_arrays(raid):
    """Figure 8: 4 = 2 = 1, 8 = 4 = 2, 16 = 8 = 4 drives."""
    for gap, n in arrays.LOADS.items():
        assert arrays.break_even(raid, "SA(2)", gap) == n // 2, gap
        assert arrays.break_even(raid, "SA(4)", gap) == n // 4, gap


def test_p90_falls_with_drives_and_with_arms(raid):
    for cell, result in raid.items():
        more = Cell(cell.kind, 2 * cell.count, cell.gap_ms)
        if more in raid:
            assert p90_ms(raid[more]) < p90_ms(result), cell
        for kind in {"HC-SD": ["SA(2)"], "SA(2)": ["SA(4)"]}.get(cell.kind, []):
            assert p90_ms(raid[Cell(kind, cell.count, cell.gap_ms)]) < p90_ms(result), cell


def test_four_conventional_drives_are_steady_at_the_light_load(raid):
    four, eight = (p90_ms(raid[Cell("HC-SD", n, 8)]) for n in (4, 8))
    assert four * 0.9 <= eight <= four  # [.92]


def test_savings_at_equal_performance(study, raid):
    """41 % and 60 % less power, or more; 61.4, 37.1, 26.2 W by the profile fitted to them."""
    for gap, n in arrays.LOADS.items():
        for profile in arrays.PROFILES:
            cells = {Cell(k, n // a, gap): profile for k, a in arrays.KINDS.items()}
            w = {c.kind: watts(r) for c, r in arrays.simulate(study, cells, 100_000).items()}
            two, four = (1 - w[k] / w["HC-SD"] for k in ("SA(2)", "SA(4)"))
            if profile == "raid-fitted":
                assert 0.39 <= two <= 0.42
                assert 0.57 <= four <= 0.62
                if gap == 8:
                    assert list(w.values()) == pytest.approx([61.4, 37.1, 26.2], rel=0.05)
            else:
                assert 0.41 <= two <= 0.49
                assert 0.60 <= four <= 0.73


def test_over_the_whole_capacity_the_ratio_is_lost(study):
    rows = dict(tuple(r) for r in arrays._other_footprint(study).rows)
    p90 = {k: float(v.replace(",", "")) for k, v in rows.items()}
    assert p90["4 SA(4)"] > 2 * p90["16 HC-SD"]


# Background reads.


def test_an_idle_arm_does_what_freeblock_scheduling_does(study):
    outcome = background.freeblock(study)
    assert outcome.verdict == "reproduced", [p for p in outcome.parts if p.verdict != "reproduced"]
    # An arm of its own reads track after track: a turn and the skew for each. It scans before the
    # first request arrives too, which the duration does not count.
    load = background._run("own arm, own channel", 5, 100)
    (result,) = study.run([load]).values()
    # A track holds whole blocks only, so that none lies across two tracks and is left out. The skew
    # of tracks is what a movement takes; the longer one of cylinders is no loss, because blocks are
    # read as they pass.
    zone = drives.load(systems.LARGE)["geometry"]["zones"][0]
    assert zone["sectors_per_track"] % 32 == 0
    fastest = zone["sectors_per_track"] * 512 * 120 / (1 + zone["track_skew"]) / 1e6
    assert background.megabytes_per_s(result) == pytest.approx(fastest, rel=0.01)
