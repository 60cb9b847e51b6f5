"""Numbers in guide pages that come from studies are those that the studies give now."""

import re

import pytest
from conftest import ROOT

from headstack.papers.dald import Choices as DaldChoices
from headstack.papers.dald import today
from headstack.papers.ng98 import Choices as NgChoices
from headstack.papers.ng98 import cylinders
from headstack.papers.snowflakes import fleet, implications
from headstack.papers.study import Study

DOCS = ROOT / "docs"


def row(page, start):
    """Return the cells of the one table row of a page that begins like this."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    (line,) = [li for li in lines if li.startswith(start)]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_arrays_of_the_fleet():
    widths = [int(cell) for cell in row("studies/unlike-drives.md", "| drives | 2 |")[1:]]
    found = [fleet.arrays(implications.fleet_rates(), width) for width in widths]
    random = [float(cell) for cell in row("studies/unlike-drives.md", "| 2008 |")[1:]]
    matched = [float(cell) for cell in row("studies/unlike-drives.md", "| 2008, like drives")[1:]]
    assert random == pytest.approx([f.mean for f in found], abs=6e-4)
    assert matched == pytest.approx([f.matched for f in found], abs=6e-4)


def test_what_the_stand_ins_of_the_pc_applications_save(tmp_path):
    study = Study("ng98", tmp_path, quick=False, traces={}, choices=NgChoices())
    saved = cylinders.bigger(study)["saved"]
    pages = {
        cylinders.SCALE_FREE: "| PC applications, scale-free",
        cylinders.APPLICATIONS: "| PC applications, application",
    }
    for name, start in pages.items():
        said = re.findall(r"([\d.]+) %", row("guide/papers.md", start)[2])
        found = saved[saved["workload"] == name]["percent"]
        assert said == [f"{percent:.1f}" for percent in found], name


@pytest.mark.thorough
def test_a_durable_write_on_a_drive_of_today(tmp_path):
    study = Study("dald", tmp_path, quick=False, traces={}, choices=DaldChoices())
    for name, found in today.by_share(study, {**today.KINDS, **today.BARE}).items():
        cells = row("studies/logging-today.md", f"| {name} | {found[0]:.2f} |")[1:]
        assert [float(c) for c in cells] == pytest.approx(found, abs=6e-3), name
