"""Tests of `headstack.papers.rules`, which all papers share, and of traces and choices."""

from dataclasses import dataclass, replace
from itertools import product

import pandas as pd
import pytest
import verdicts
from conftest import ROOT

from headstack import drives
from headstack.errors import ConfigError
from headstack.papers import rules, study
from headstack.papers.claims import Choice, Claim, Falsifier, Node, Paper, Statement
from headstack.papers.rules import (
    Contradiction,
    Falsified,
    Kind,
    Part,
    Rule,
    Tolerance,
    Verdict,
    holds,
    not_run,
    number,
    relation,
)
from headstack.papers.runs import Run
from headstack.papers.study import Outcome, Study, reproduce
from headstack.papers.traces import FOLDER, SHARED, VARIABLE, find

YES, NO = Verdict.REPRODUCED, Verdict.DEVIATES


def part(verdict, kind=Kind.RESULT, what="a"):
    return Part(what, "said", "got", verdict, kind, workload="X")


@pytest.mark.parametrize(
    ("rule", "reference", "met", "missed"),
    [
        (Rule.NUMBER, 100, [90, 100, 110], [89.9, 110.1]),
        (Rule.PRINTED, 16.9, [16.85001, 16.9, 16.949], [16.84, 16.951]),
        (Rule.PRINTED, 77.0, [76.51, 77.49], [76.49, 77.51]),
        (Rule.PRINTED, 60.0, [59.51, 60.49], [59.49, 60.51]),
        (Rule.POINTS, 7, [5, 7, 9], [4.99, 9.01]),
        (Rule.IDENTICAL, 100, [100], [100.0001, 99.9999]),
        (Rule.SAME, 100, [91, 100, 110], [90, 110.1]),
        (Rule.HIGHER, 100, [100.1], [100, 99]),
        (Rule.LOWER, 100, [99.9], [100, 101]),
        (Rule.NOT_HIGHER, 100, [100, 1], [100.1]),
        (Rule.LITTLE_HIGHER, 100, [1, 100, 125], [125.1]),
        (Rule.CLOSE, 100, [80, 100, 125], [79.9, 125.1]),
        (Rule.SIGNIFICANTLY_HIGHER, 100, [125.1, 900], [125, 100, 1]),
        (Rule.SIGNIFICANTLY_LOWER, 100, [79.9, 1], [80, 100, 200]),
        (Rule.FAR_HIGHER, 100, [200, 900], [199.9, 1]),
        (Rule.FAR_LOWER, 100, [50, 1], [50.1, 200]),
        (Rule.MAGNITUDE_LOWER, 100, [11.3, 1], [11.4, 200]),
    ],
)
def test_a_word_has_one_meaning(rule, reference, met, missed):
    assert all(holds(rule, ours, reference) for ours in met)
    assert not any(holds(rule, ours, reference) for ours in missed)


def test_little_and_significant_exclude_each_other_and_leave_no_gap():
    """A difference is either little or significant, in both directions."""
    for ours in range(1, 300):
        significant = holds(Rule.SIGNIFICANTLY_HIGHER, ours, 100)
        assert significant is not holds(Rule.LITTLE_HIGHER, ours, 100)
        either = significant or holds(Rule.SIGNIFICANTLY_LOWER, ours, 100)
        assert either is not holds(Rule.CLOSE, ours, 100)


def test_every_rule_and_kind_stands_in_the_guide():
    guide = (ROOT / "docs" / "guide" / "papers.md").read_text(encoding="utf-8")
    flat = " ".join(guide.split())
    assert set(rules.RULES) == set(Rule)
    for text in (*rules.RULES.values(), *rules.KINDS.values(), *rules.VERDICTS.values()):
        assert text in flat, text
    assert f"`{VARIABLE}`" in guide
    assert f"`{FOLDER}/`" in guide


@pytest.mark.parametrize(("verdict", "kind"), list(product((YES, NO), sorted(set(Kind) - {Kind.RESULT}))))
def test_what_does_not_count_never_decides(verdict, kind):
    beside = part(verdict, kind)
    assert not beside.counts
    assert rules.verdict([beside]) == "not-run"
    for counted in (YES, NO):
        assert rules.verdict([part(counted), beside]) == counted
        assert rules.verdict([beside, part(counted)]) == counted


def test_one_part_that_fails_decides():
    assert rules.verdict([part(YES), part(NO), part(YES)]) == "deviates"
    assert rules.verdict([part(YES), not_run("b", "said", "no trace")]) == "reproduced"
    assert rules.verdict([not_run("b", "said", "no trace")]) == "not-run"
    assert rules.verdict([]) == "not-run"


def test_what_was_put_in_is_input_whatever_it_is():
    for ours in (100.0, 1.0):
        given = number("watts", 100, ours, kind=Kind.INPUT)
        assert (given.verdict, given.counts) == ("input", False)
    other = relation("a", "b", ("x", 1), Rule.HIGHER, ("y", 2), kind=Kind.INPUT)
    assert other.verdict == "input"


def test_stand_ins_are_told_beside_a_claim_that_was_not_run():
    parts = [part(YES, Kind.STAND_IN), part(NO, Kind.STAND_IN, "tail")]
    assert rules.verdict(parts) == "not-run"
    assert rules.why(parts) == "no trace was given: X"
    assert rules.stand_in(parts) == {"verdict": "deviates", "why": "tail: got, paper: said"}
    assert rules.stand_in([part(YES)]) is None


def test_a_reason_is_made_of_the_parts_that_count_and_fail():
    late = relation("mean", "little", ("A", 30.0), Rule.LITTLE_HIGHER, ("B", 10.0), "{:.1f} ms")
    fine = relation("power", "less", ("A", 1.0), Rule.LOWER, ("B", 2.0), "{:.1f} W")
    parts = [late, fine, part(NO, Kind.CONTROL, "control"), number("n", 10, 5, note="why not")]
    said = rules.why(parts)
    assert said == (
        "mean: A 30.0 ms, B 10.0 ms (3.00 times), paper: little (a little higher at most); n: 5, paper: 10 (why not)"
    )
    assert rules.why([fine]) == ""


def test_a_number_says_how_far_it_is_off():
    close = number("a", 50, 46, "{:.0f} W")
    assert (close.verdict, close.ours, close.paper) == ("reproduced", "46 W", "50 W")
    assert close.deviation == pytest.approx(-0.08)
    assert Outcome([close, number("b", 50, 10)]).deviation == pytest.approx(-0.8)


# Traces.

WORKLOADS = {"one": ("one*",), "two": ("two*.trace",)}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for variable in (VARIABLE, SHARED):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "one.spc").write_text("here")
    return tmp_path


def test_traces_come_from_the_working_folder_the_variable_or_the_user(folder, monkeypatch):
    assert {k: f.by for k, f in find(WORKLOADS).items()} == {"one": "traces/"}
    other = folder / "elsewhere"
    other.mkdir()
    (other / "two-b.trace").write_text("elsewhere")
    monkeypatch.setenv(VARIABLE, str(other))
    assert {k: f.by for k, f in find(WORKLOADS).items()} == {"two": VARIABLE}
    given = find(WORKLOADS, {"two": folder / FOLDER / "one.spc"})
    assert (given["two"].by, given["two"].path.name) == ("--trace", "one.spc")


def test_what_was_used_is_named_with_size_and_hash(folder):
    used = find(WORKLOADS)["one"].document()
    assert used["path"] == str((folder / FOLDER / "one.spc").resolve())
    assert used["size_bytes"] == 4
    # printf here | sha256sum
    assert used["sha256"] == "fcec91509759ad995c2cd14bcb26b2720993faf61c29d379b270d442d92290eb"


def test_traces_that_cannot_be_told_apart_are_refused(folder, monkeypatch):
    (folder / FOLDER / "one-again.spc").write_text("x")
    with pytest.raises(ConfigError, match=r"got one-again.spc, one.spc, need one file of one"):
        find(WORKLOADS)
    assert find(WORKLOADS, {"one": folder / FOLDER / "one.spc"})["one"].by == "--trace"
    monkeypatch.setenv(VARIABLE, str(folder / "absent"))
    with pytest.raises(ConfigError, match=f"{VARIABLE}: got .*absent.*, need a folder"):
        find(WORKLOADS)


# Choices.


@dataclass(frozen=True)
class Choices:
    speed: int = 1


def of_speed(measure, *choices):
    """A paper with one claim of two numbers, and its table `speeds`."""
    parts = [
        Statement("speed", Rule.NUMBER, "speeds", column="speed", expected=1.0, form="{:.0f} m/s",
                  falsifier=Falsifier("standstill", 0.0)),
        Statement("length", Rule.NUMBER, "speeds", column="length", expected=5.0,
                  falsifier=Falsifier("a point", 0.0)),
    ]  # fmt: skip
    nodes = [Node({}, "speeds", {}, part, (), "at") for part in parts]
    figure = Node({}, "speeds", {}, {"name": "f", "data": {"name": "absent"}, "mark": "bar"}, (), "at")
    claim = Claim("C-1", "speeds", "fast", "1", measure, choices, nodes, [figure])
    return Paper("p", "title", [claim], choices=Choices())


def measure(study):
    assert study.varied is (study.choices.speed != 1)
    if study.choices.speed == 3:
        raise ConfigError("x: got 3, need less")
    return {"speeds": pd.DataFrame([{"speed": study.choices.speed, "length": 5}])}


def test_a_claim_is_judged_again_with_each_alternative(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    speed = Choice("speed", "1", {"two": {"speed": 2}, "three": {"speed": 3}})
    never = Choice("depth", "1", {"two": {"speed": 2}}, needs="trace")
    document, study = reproduce(of_speed(measure, speed, never), tmp_path)
    (row,) = document["claims"]
    # The figure is refused in the study itself; with varied choices no figures are drawn.
    assert row["verdict"] == "not-run"
    assert row["why"].startswith('the simulator refused: at.data.name: got "absent"')
    (choice,) = row["choices"]
    two, three = choice["otherwise"]
    assert (choice["choice"], choice["taken"], two["taken"]) == ("speed", "1", "two")
    assert two["verdict"] == "deviates"
    assert (three["verdict"], three["why"]) == ("not-run", "the simulator refused: x: got 3, need less")
    assert study.specs == {}


def test_systems_that_differ_by_name_alone_are_simulated_once(tmp_path):
    load = {"synthetic": {"n_requests": 500, "rate": "50/s", "footprint": "10 GB"}}
    found = Study("x", tmp_path, quick=True, traces={})
    runs = [Run(load, {"name": n, "drive": "barracuda-es-750"}) for n in ("one", "two")]
    one, two = found.run(runs).values()
    assert (one.pop("name"), two.pop("name")) == ("one", "two")
    assert one == two
    assert found.store.simulated == 1


def test_a_run_is_repeated_if_its_trace_or_its_drive_has_changed(tmp_path, monkeypatch):
    trace, drive = tmp_path / "a.csv", tmp_path / "mine.toml"
    monkeypatch.setenv("HEADSTACK_DRIVES", str(tmp_path))
    text = drives.find("barracuda-es-750").read_text()
    load = {"trace": str(trace)}
    runs = [Run(load, {"name": n, "drive": n}) for n in ("mine", "cheetah-10k-19g")]
    simulated = []
    for lba, more in ((8, ""), (8, ""), (16, ""), (16, "\n# other bytes\n")):
        trace.write_text(f"time_ms,lba,blocks,op\n1,{lba},8,R\n")
        drive.write_text(text + more)
        found = Study("x", tmp_path, quick=True, traces={})
        found.run(runs)
        simulated.append(found.store.simulated)
    assert simulated == [2, 0, 2, 1]


def test_what_another_choice_changes_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paper = of_speed(measure, Choice("speed", "1", {"two": {"speed": 2}}))
    claim = replace(paper.claims[0], figures=())
    document, _ = reproduce(replace(paper, claims=[claim]), tmp_path)
    (row,) = document["claims"]
    assert row["verdict"] == "reproduced"
    assert row["choices"][0]["otherwise"][0]["changes"] == ["speed: deviates, 2 m/s"]
    (table,) = row["tables"]
    assert table["headings"] == ["part", "holds in", "as chosen", "two"]
    assert table["rows"] == [["speed", "1 of 2", "1 m/s ✓", "2 m/s ✗"], ["length", "2 of 2", "5 ✓", "5 ✓"]]


def test_a_part_that_is_open_as_chosen_is_told_where_it_is_not():
    def outcome(ours, void=""):
        return Outcome([replace(rules.number("longest", 2.7, ours, "{:.1f} s"), void=void)])

    columns = {"as chosen": outcome(2.9, rules.UNCERTAIN), "64 threads": outcome(3.1)}
    assert study._by_part(columns) == [["longest", "0 of 1", "2.9 s", "3.1 s ✗"]]


@pytest.mark.parametrize(
    ("says", "lengths", "verdict"),
    [
        ("", {1: 5, 2: 5}, "reproduced"),
        ("section 2 gives no speed", {1: 5, 2: 5}, "depends"),
        ("section 2 gives no speed", {1: 9, 2: 9}, "deviates"),
        ("section 2 gives no speed", {1: 5, 2: 5, "speed": 1}, "reproduced"),
    ],
)
def test_a_claim_is_judged_over_its_readings(tmp_path, monkeypatch, says, lengths, verdict):
    """The length is 5 in the paper, the speed 1: speed 2 alone misses it."""
    monkeypatch.chdir(tmp_path)

    def measured(study):
        speed = study.choices.speed
        row = {"speed": lengths.get("speed", speed), "length": lengths[speed]}
        return {"speeds": pd.DataFrame([row])}

    chosen = Choice("speed", "1", {"two": {"speed": 2}}, says=says)
    paper = of_speed(measured, chosen)
    claims = [replace(paper.claims[0], figures=())]
    document, _ = reproduce(replace(paper, claims=claims), tmp_path)
    (row,) = document["claims"]
    verdicts.check(row)
    assert row["verdict"] == verdict
    assert row["choices"][0]["says"] == says
    if verdict == "depends":
        assert row["reason"].startswith("not with two: speed: 2 m/s")
        assert row["readings"] == "1 of 2"


def test_a_tolerance_of_its_own_takes_the_place_of_the_rules():
    for ours, met in ((104, True), (106, False)):
        narrow = Tolerance(0.05, "why")
        assert holds(Rule.NUMBER, ours, 100, narrow) is met
        assert number("a", 100, ours, tolerance=narrow).verdict == (YES if met else NO)
    assert holds(Rule.POINTS, 5.5, 5, Tolerance(0.5, "why"))
    assert not holds(Rule.POINTS, 5.6, 5, Tolerance(0.5, "why"))
    # Of a range of 44 W instead of 160 W.
    of_range = Tolerance(0.1, "why", of=44.0)
    assert holds(Rule.NUMBER, 164.3, 160, of_range)
    assert not holds(Rule.NUMBER, 164.5, 160, of_range)
    # 10.6 and 10.3 W are within 3 %, but a drive's power under caps lies between 8 and 10.7 W.
    assert holds(Rule.SAME, 10.3, 10.6)
    assert not holds(Rule.SAME, 10.3, 10.6, Tolerance(0.1, "why", of=2.7))


# Parts that cannot fail, contradictions, error bars.


def falsified(found, ours, passes):
    return rules.counted(replace(found, falsifier=Falsified("false", ours, 10.0, passes)))


def test_a_part_that_cannot_fail_counts_for_nothing():
    told = number("n", 10, 10)
    assert rules.counted(told).void == rules.NO_WORLD
    assert not rules.counted(told).counts
    assert falsified(told, 20.0, False).counts
    lenient = falsified(told, 10.5, True)
    assert (lenient.counts, lenient.void) == (False, "it would also pass if false")
    assert rules.verdict([lenient]) == "not-run"
    assert "1 of its parts would hold if they were false" in rules.why([lenient])
    # It has failed, so it can.
    missed = rules.counted(number("n", 10, 20))
    assert missed.counts
    assert rules.verdict([missed, lenient]) == "deviates"


def contrary(ours, other):
    """Two numbers of the paper for one quantity, 8 and 6.5."""
    held = Contradiction("6.5 W", ours, 6.5, holds(Rule.NUMBER, ours, 6.5))
    return rules.contradicted(number("idle", 8, ours, "{:.1f} W"), held).verdict


@pytest.mark.parametrize(
    ("ours", "verdict"),
    # 7.2 is within 10 % of 8 (7.2 to 8.8), 6.5 of 6.5 (5.85 to 7.15).
    [(6.5, "inconsistent"), (8.0, "inconsistent"), (5.0, "deviates"), (10.0, "deviates")],
)
def test_what_fits_one_of_two_statements_is_inconsistent(ours, verdict):
    assert contrary(ours, 6.5) == verdict


def test_what_fits_both_statements_is_reproduced():
    held = Contradiction("9.2 W", 9.3, 9.2, True)
    assert rules.contradicted(number("most", 9.5, 9.3), held).verdict == YES


def test_a_miss_is_not_mixed_with_a_contradiction():
    idle = replace(
        number("idle", 8, 6.5, "{:.1f} W"), verdict=Verdict.INCONSISTENT,
        contradiction=Contradiction("6.5 W (section 4)", 6.5, 6.5, True),
    )  # fmt: skip
    assert rules.verdict([idle, part(YES)]) == "inconsistent"
    assert rules.why([idle]) == "idle: the paper says 8.0 W, but also 6.5 W (section 4); ours 6.5 W"
    late = number("late", 10, 20)
    assert rules.verdict([idle, late]) == "deviates"
    assert rules.why([idle, late]) == "late: 20, paper: 10"
    assert rules.contradictions([idle, late]) == rules.why([idle])


def test_a_fitted_number_never_counts():
    for ours in (10.0, 20.0):
        fitted = rules.counted(number("watts", 10, ours, kind=Kind.FITTED))
        assert not fitted.counts
    assert rules.why([fitted]) == "constants were fitted to 1 of its values"


@pytest.mark.parametrize(("half", "counts"), [(0.3, True), (0.6, False)])
def test_a_part_holds_everywhere_within_its_error_bars(half, counts):
    # 10.5 of 10 with a tolerance of 1; the half of 0.6 goes beyond it.
    within = falsified(number("n", 10, 10.5, half=(half, 0.0)), 20.0, False)
    assert within.ours == f"10.5 ± {half}"
    assert within.counts is counts
    pair = relation("r", "more", ("a", 10.5), Rule.HIGHER, ("b", 10), half=(half / 2, 0.25))
    assert falsified(pair, 9.0, False).counts is counts
    # One that deviates is open if it holds somewhere within them.
    assert falsified(number("n", 10, 11.5, half=(half, 0.0)), 20.0, False).counts is counts
    assert falsified(number("n", 10, 13.0, half=(half, 0.0)), 20.0, False).counts


def test_verdicts_that_a_tenth_would_change_are_told():
    assert not rules.narrow(Rule.NUMBER, 100, 100)
    assert rules.narrow(Rule.NUMBER, 105, 100)
    assert rules.narrow(Rule.NUMBER, 115, 100)
    assert not rules.narrow(Rule.NUMBER, 130, 100)
    assert rules.narrow(Rule.HIGHER, 109, 100)
    assert not rules.narrow(Rule.HIGHER, 112, 100)
    assert rules.narrow(Rule.IDENTICAL, 1, 1)


def test_the_reason_is_one_sentence():
    assert rules.sentence([part(YES), part(YES)]) == "all 2 parts that count hold"
    missed = [number("n", 10, 5, note="why"), number("m", 10, 5), part(YES)]
    assert rules.sentence(missed) == "n: 5, paper: 10, and 1 more of 3 parts"


def test_names_of_workloads_are_told_once():
    parts = [
        Part("a", "said", "got", YES, Kind.STAND_IN, workload="X"),
        Part("b", "said", "got", YES, Kind.STAND_IN, workload="X, Y"),
        Part("c", "said", "got", YES, Kind.STAND_IN, workload="Y"),
    ]
    assert rules.why(parts) == "no trace was given: X, Y"


def test_traces_come_from_the_shared_data_if_from_nowhere_else(folder, monkeypatch):
    traces = folder / "shared" / "data" / "traces"
    traces.mkdir(parents=True)
    (traces / "one-c.spc").write_text("shared")
    monkeypatch.setenv(SHARED, str(folder / "shared"))
    assert {k: f.by for k, f in find(WORKLOADS).items()} == {"one": "traces/"}
    (folder / FOLDER / "one.spc").unlink()
    (folder / FOLDER).rmdir()
    found = find(WORKLOADS)["one"]
    assert (found.by, found.path.name) == (SHARED, "one-c.spc")
    monkeypatch.setenv(SHARED, str(folder / "absent"))
    assert find(WORKLOADS) == {}


def test_what_needs_traces_is_not_run_without_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for variable in (VARIABLE, SHARED):
        monkeypatch.delenv(variable, raising=False)
    paper = of_speed(measure)
    claims = [replace(paper.claims[0], id=i, figures=(), traces=i == "C-2") for i in ("C-1", "C-2")]
    paper = replace(paper, claims=claims, workloads=WORKLOADS)

    def verdicts(**more):
        rows = reproduce(paper, tmp_path, **more)[0]["claims"]
        return {r["id"]: (r["verdict"], r["why"]) for r in rows}

    judged = ("reproduced", "")
    assert verdicts() == {"C-1": judged, "C-2": judged}
    missing = ("not-run", "no trace was given: one, two")
    assert verdicts(stand_ins=False) == {"C-1": judged, "C-2": missing}
    assert verdicts(stand_ins=False, ids=["C-2"])["C-2"] == judged
    (tmp_path / "one.spc").write_text("x")
    given = {"one": tmp_path / "one.spc"}
    assert verdicts(stand_ins=False, traces=given)["C-2"] == judged
