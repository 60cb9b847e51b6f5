"""A wheel is self-contained: installed in an empty environment, it does the main job from there."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT

#: Most bytes of the wheel.
MOST = 12 << 20


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """A new wheel; the release build that `make` has made is used again."""
    maturin = Path(sys.executable).with_name("maturin")
    out = tmp_path_factory.mktemp("wheel")
    words = [maturin, "build", "-q", "--release", "--strip", "--out", out]
    subprocess.run(words, cwd=ROOT, check=True)
    (built,) = out.glob("*.whl")
    return built


@pytest.mark.thorough
@pytest.mark.needs("cargo")
def test_a_wheel_does_the_main_job_alone(wheel, tmp_path):
    assert wheel.stat().st_size <= MOST
    assert "-abi3-" in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    for name in ("drives/exos-x18.toml", "docs/guide/goals.md", "examples/traces/pgbench.csv.zst"):
        assert f"headstack/{name}" in names
    assert not [n for n in names if n.startswith("headstack/") and n.endswith((".png", ".rs"))]
    place = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    # Other people's packages are those of this environment: a test has no network. Its .pth files,
    # one of which leads to the source tree, are not read in a folder that another .pth names.
    python = place / "bin" / "python"
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(subprocess.check_output([python, "-c", code], text=True).strip())
    zipfile.ZipFile(wheel).extractall(site)
    (site / "others.pth").write_text(sysconfig.get_path("purelib"))
    shutil.rmtree(site / "headstack" / "__pycache__", ignore_errors=True)
    empty = tmp_path / "empty"
    empty.mkdir()

    def command(*words: object) -> str:
        env = {"PATH": "/usr/bin:/bin", "HOME": str(empty), "LANG": "C.UTF-8"}
        line = [python, "-m", "headstack", *words]
        done = subprocess.run(line, cwd=empty, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    code = "import headstack; print(headstack.__file__)"
    where = subprocess.check_output([python, "-c", code], cwd=empty, text=True, env={"PATH": ""})
    assert where.startswith(str(site))
    assert "exos-x18" in command("drives")
    assert command("docs", "goals").startswith("# Goals")
    command("examples", "--copy", ".")
    trace = "examples/traces/pgbench.csv.zst"
    command("init", trace, "--goal", "p99=60ms", "-o", "mine.toml")
    assert "meet p99 <= 60 ms" in command("run", "mine.toml", "--out", "out")
    assert (empty / "out" / "report.html").stat().st_size > 100_000
    document = json.loads(command("run", "examples/demo.toml", "--json"))
    assert len(document["systems"]) == 4
    assert os.access(empty / "mine.toml", os.R_OK)
