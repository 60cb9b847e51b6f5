"""`headstack reproduce pcap`: the claims, and what each verdict stands on."""

from pathlib import Path

import pytest

from headstack.studies.pcap import PAPER
from headstack.studies.pcap.ours import interval
from headstack.studies.study import reproduce


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
    # Mean 2, standard deviation 1, t = 4.30 for 2 degrees of freedom, over the root of 3.
    middle, half = interval([1.0, 2.0, 3.0])
    assert middle == 2
    assert half == pytest.approx(4.30 / 3**0.5)
