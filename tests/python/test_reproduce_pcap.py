"""`headstack reproduce pcap`: the claims, and what each verdict stands on."""

from pathlib import Path

import pytest

from headstack.errors import ConfigError
from headstack.paired import difference, interval
from headstack.studies import load
from headstack.studies.pcap import arms
from headstack.studies.study import reproduce

PAPER = load("pcap")


def test_every_claim_of_the_ledger_is_there() -> None:
    assert [c.id for c in PAPER.claims] == [f"PCAP-{i}" for i in range(1, 11)]


def test_figure_2_and_what_the_paper_contradicts(tmp_path: Path) -> None:
    document, _ = reproduce(PAPER, tmp_path, ids=["PCAP-2"], quick=True)
    row = next(r for r in document["claims"] if r["id"] == "PCAP-2")
    parts = {p["what"]: p for p in row["parts"]}
    assert parts["random: rate of the highest power"]["values"]["ours"] in (80, 90, 100)
    assert parts["random: highest power"]["verdict"] == "reproduced"
    assert parts["sequential: power at the highest rate"]["kind"] == "input"
    # The sequential rate of the drive is the paper's.
    assert parts["sequential: highest rate"]["values"]["ours"] == pytest.approx(170, rel=0.05)
    idle = parts["idle for more than 45 % of the time below 90 requests per second"]
    assert idle["verdict"] == "deviates"
    assert "inconsistent" in idle["note"]
    assert row["verdict"] == "deviates"
    assert (tmp_path / row["figure"]).exists()


def test_confidence_intervals_by_hand() -> None:
    # Mean 2, standard deviation 1, t = 4.303 for 2 degrees of freedom, over the root of 3.
    middle, half = interval([1.0, 2.0, 3.0])
    assert middle == 2
    assert half == pytest.approx(4.303 / 3**0.5)
    # Differences of 1 and 2 have a standard deviation of the root of 1/2; t = 12.706.
    middle, half = difference([0.0, 10.0], [1.0, 12.0])
    assert middle == 1.5
    assert half == pytest.approx(12.706 * 0.5)
    with pytest.raises(ValueError, match="argument"):
        difference([1.0], [1.0, 2.0])


def test_policies_are_compared_over_seeds(tmp_path: Path) -> None:
    document, _ = reproduce(PAPER, tmp_path, quick=True, seeds=2)
    assert {c["why"] for c in document["claims"]} == {"not asked for"}
    compared = document["compared"]
    assert compared["seeds"] == [1, 2]
    rows = {(r["experiment"], r["other"]): r["values"] for r in compared["rows"]}
    values = rows["Figures 5, 6: throughput", "PCAP from (1, 4)"]
    # The paper's means: 117 with throttling, 154 with PCAP.
    assert values["IOPS"]["reference"] == pytest.approx(117, rel=0.1)
    assert values["IOPS"]["other"] == pytest.approx(154, rel=0.1)
    ours = rows["Figures 5, 6: throughput", "feed-forward"]
    assert ours["IOPS"]["change"] > 15
    assert ours["IOPS"]["change"] == pytest.approx(
        ours["IOPS"]["other"] - ours["IOPS"]["reference"]
    )
    table = compared["table"]
    assert all(len(row) == len(table["headings"]) for row in table["rows"])
    assert "± " in table["rows"][0][table["headings"].index("IOPS")]


def test_what_the_second_arm_costs_under_a_cap() -> None:
    table = arms.measure(depths=(1, 32), seconds=40)
    at = {(r["system"], r["depth"]): r for r in table.to_dict("records")}
    one, two = (at[f"shared surfaces, {n}", 32] for n in ("one arm", "two arms"))
    halves = [at["own halves, both arms", d] for d in (1, 32)]
    # The published 304 random reads per second at depth 16, here at twice that depth.
    assert halves[1]["iops"] > 304
    assert two["iops"] > 1.5 * one["iops"]
    assert two["watts"] > one["watts"] + 1
    assert two["p99_ms"] < one["p99_ms"]
    # Each depth has more requests per second than a shorter one, and draws more.
    assert halves[1]["iops"] > halves[0]["iops"]
    # Between the two only one arm may move.
    best = arms.cheapest(table, (one["watts"] + two["watts"]) / 2)
    assert best["system"] != "shared surfaces, two arms" or best["depth"] == 1
    assert arms.cheapest(table, two["watts"] + 0.1)["iops"] >= two["iops"]
    assert arms.cheapest(table, one["watts"] + 0.01)["iops"] >= one["iops"]


def test_a_paper_without_a_comparison_refuses_seeds(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="isca08 compares nothing by seed"):
        reproduce(load("isca08"), tmp_path, seeds=2)
