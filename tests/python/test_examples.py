import subprocess
import sys

from conftest import ROOT


def test_smallest_array_prints_a_table_and_draws(tmp_path):
    script = ROOT / "examples" / "smallest_array.py"
    figure = tmp_path / "figure"
    asked = ["--requests", "2000", "--originals", "2", "--most", "3", "--figure", figure]
    done = subprocess.run(
        [sys.executable, script, *map(str, asked)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for drive in ("10,000 rpm (original)", "SA(2)", "SA(4)", "dual actuator"):
        assert drive in done.stdout
    assert figure.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_shingled_prints_a_table_and_draws(tmp_path):
    script = ROOT / "examples" / "shingled.py"
    figure = tmp_path / "figure"
    asked = ["--caches", "16 MiB", "--minutes", "1", "--figure", figure]
    done = subprocess.run(
        [sys.executable, script, *map(str, asked)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    conventional, shingled = (
        next(line for line in done.stdout.splitlines() if name in line)
        for name in ("conventional", "media cache of 16 MiB")
    )
    steady, slow = (float(line.split()[-3]) for line in (conventional, shingled))
    assert 0 < slow < steady / 10
    assert figure.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_degraded_raid5_prints_a_table_and_draws(tmp_path):
    script = ROOT / "examples" / "degraded_raid5.py"
    figure = tmp_path / "figure"
    asked = ["--requests", "2000", "--speeds", "1", "2", "--figure", figure]
    done = subprocess.run(
        [sys.executable, script, *map(str, asked)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for array in ("conventional, healthy", "two actuators at once, one member gone"):
        assert done.stdout.count(array) == 2
    assert figure.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
