"""The Debian package of `headstack-capd`: its systemd unit, manual page and content."""

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT

DEBIAN = ROOT / "crates" / "host" / "debian"
GUIDE = ROOT / "docs" / "guide" / "capd.md"

#: The exposure of the unit by `systemd-analyze security`, as the guide has it.
EXPOSURE = 2.2


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a program; what it says is text."""
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """Return the unit, with a program that is there in place of the daemon."""
    text = (DEBIAN / "headstack-capd.service").read_text()
    assert "/usr/bin/headstack-capd" in text
    copy = tmp_path / "headstack-capd.service"
    copy.write_text(text.replace("/usr/bin/headstack-capd", "/bin/true"))
    return copy


@pytest.mark.needs("systemd-analyze")
def test_the_unit_is_valid(unit):
    """`systemd-analyze verify` finds nothing wrong, and names a key that does not exist."""
    done = run("systemd-analyze", "verify", "--man=no", unit)
    assert (done.returncode, done.stderr) == (0, "")
    unit.write_text(unit.read_text().replace("WatchdogSec=90", "WatchDogSecs=90"))
    assert "WatchDogSecs" in run("systemd-analyze", "verify", "--man=no", unit).stderr


@pytest.mark.needs("systemd-analyze")
def test_the_unit_is_as_exposed_as_the_guide_says(unit):
    """The score of the sandbox is that of the guide, and a unit without it has a higher one."""
    assert f"`systemd-analyze security`: {EXPOSURE}" in GUIDE.read_text()
    score = ["systemd-analyze", "security", "--offline=true", "--no-pager"]
    threshold = f"--threshold={round(10 * EXPOSURE)}"
    done = run(*score, threshold, unit)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr
    assert f"{EXPOSURE} OK" in done.stdout
    unit.write_text(unit.read_text().replace("CapabilityBoundingSet=\n", ""))
    assert run(*score, threshold, unit).returncode != 0


@pytest.mark.needs("systemd-analyze")
@pytest.mark.parametrize(
    ("name", "opens", "exposure"),
    [
        ("ipmi", "char-ipmidev:rw", EXPOSURE),
        ("redfish", "non-localhost entries", EXPOSURE),
        ("smart", "block-sd:rw", 2.4),
    ],
)
def test_drop_ins_open_what_a_meter_needs_and_no_more(unit, name, opens, exposure):
    """With each the unit is valid, what it opens is open, and its exposure is as the guide says."""
    score = ["systemd-analyze", "security", "--offline=true", "--no-pager", unit]
    assert opens not in run(*score).stdout
    folder = unit.parent / f"{unit.name}.d"
    folder.mkdir()
    shutil.copy(DEBIAN / "drop-ins" / f"{name}.conf", folder)
    done = run("systemd-analyze", "verify", "--man=no", unit)
    assert (done.returncode, done.stderr) == (0, "")
    said = run(*score).stdout
    assert opens in said
    assert f"{unit.name}: {exposure} OK" in said
    assert f"`{name}.conf`" in GUIDE.read_text()


@pytest.mark.needs("groff")
def test_the_manual_page_is_clean():
    """Groff has no warning, and each command of the program is on the page."""
    page = DEBIAN / "headstack-capd.8"
    done = run("groff", "-man", "-ww", "-z", page)
    assert (done.returncode, done.stderr) == (0, "")
    text = page.read_text()
    assert all(f"headstack-capd {word}" in text for word in ("run", "check", "status", "cap"))


@pytest.mark.thorough
@pytest.mark.needs("cargo", "cargo-deb", "dpkg-deb")
def test_the_package_installs_into_a_root_of_its_own(tmp_path):
    """`cargo deb` builds it; unpacked, it has the program, unit, page and configuration."""
    manifest = ROOT / "crates" / "host" / "Cargo.toml"
    done = run("cargo-deb", "deb", "--manifest-path", manifest, "--output", tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    (package,) = tmp_path.glob("headstack-capd_*.deb")
    root = tmp_path / "root"
    assert run("dpkg-deb", "-x", package, root).returncode == 0
    program = root / "usr/bin/headstack-capd"
    assert run(program, "--version").stdout.startswith("headstack-capd ")
    assert (root / "usr/lib/systemd/system/headstack-capd.service").is_file()
    assert (root / "usr/share/man/man8/headstack-capd.8.gz").is_file()
    # The example is one that the program reads; its drive is not there.
    checked = run(program, "check", root / "etc/headstack/capd.toml")
    assert checked.returncode == 1, checked.stderr
    assert "not there" in checked.stdout
    drop_ins = (root / "usr/share/headstack-capd/drop-ins").glob("*.conf")
    assert {file.stem for file in drop_ins} == {"ipmi", "redfish", "smart"}
    assert run("dpkg-deb", "-f", package, "Package").stdout.strip() == "headstack-capd"
    files = run("dpkg-deb", "-I", package, "conffiles").stdout
    assert files.split() == ["/etc/headstack/capd.toml"]
