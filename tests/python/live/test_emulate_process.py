"""Emulations in tests of other programs: nothing stays behind, whatever happens to the test."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT
from test_emulate import Client, path_of, started

import headstack

pytestmark = pytest.mark.linux

PAGE = (ROOT / "docs/guide/emulation.md").read_text("utf-8")
ENV = {**os.environ, "PYTHONPATH": str(ROOT / "python")}


def gone(path: Path) -> bool:
    """Whether it goes within a minute."""
    end = time.monotonic() + 60
    while path.exists():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.needs("nbdinfo")
def test_the_fixture_of_the_guide(tmp_path):
    (code,) = re.findall(r"^```python\n([^`]*@pytest.*?)^```", PAGE, re.M | re.S)
    (tmp_path / "test_mine.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path,
         "test_mine.py"],
        capture_output=True, text=True, cwd=tmp_path, check=False, timeout=240,
        env={**ENV, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    assert not list(tmp_path.glob("headstack-*"))


@pytest.mark.parametrize("name", ["KILL", "TERM", "INT"])
def test_the_folder_goes_with_its_process(name, tmp_path):
    code = (
        "import headstack, time\n"
        "disk = headstack.emulate('exos-x18', speed=0)\n"
        "print(disk.uri, flush=True)\n"
        "time.sleep(600)\n"
    )
    env = {**ENV, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env
    ) as process:
        path = Path(path_of(process.stdout.readline().decode().strip()))
        assert path.is_socket()
        assert path.parent.parent == tmp_path
        Client(str(path)).ask(1, 0, 4, b"data")
        process.send_signal(getattr(signal, f"SIG{name}"))
        process.wait(timeout=60)
    assert gone(path.parent)


def test_the_folder_goes_although_a_child_lives(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with headstack.emulate("exos-x18", speed=0) as disk:
        folder = Path(path_of(disk.uri)).parent
        assert folder.parent == tmp_path
        child = os.fork()
        if child == 0:
            time.sleep(600)
            os._exit(0)
    try:
        assert not folder.exists()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_the_command_ends_with_sigterm_and_with_its_parent(tmp_path):
    path = tmp_path / "disk"
    with started("exos-x18", "--nbd", f"unix:{path}", "--speed", 0) as server:
        assert server.stdout.readline()
        Client(str(path)).ask(0, 0, 4096)
        server.terminate()
        _, said = server.communicate(timeout=60)
    assert server.returncode == 0, said
    assert "1 requests of 1 clients" in said
    assert not path.exists()
    # A shell that waits, and does not replace itself with the command.
    command = f"{sys.executable} -m headstack emulate exos-x18 --nbd unix:{path}"
    with subprocess.Popen(
        ["sh", "-c", f"{command} --exit-with-parent & wait"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENV, cwd=ROOT,
    ) as shell:  # fmt: skip
        assert shell.stdout.readline().startswith(b"nbd+unix")
        shell.kill()
        # The last process that holds standard output has ended.
        assert shell.stdout.read() == b""
    assert not path.exists()


@pytest.mark.needs("root", "fuse")
def test_the_folder_of_a_killed_server_says_how_it_is_unmounted(tmp_path):
    control = tmp_path / "control"
    asked = ("conner-cp3100", "--nbd", f"unix:{tmp_path / 'disk'}", "--control", control)
    try:
        with started(*asked) as server:
            assert server.stdout.readline()
            server.kill()
        with started(*asked) as server:
            _, said = server.communicate(timeout=60)
        assert server.returncode == 1
        assert f"(umount {control}, or fusermount3 -u {control})" in said
    finally:
        subprocess.run(["umount", control], check=True)


@pytest.mark.needs("root", "ip")
@pytest.mark.parametrize(
    ("more", "said"), [((), "nbd://[::1]:10809"), (("--iscsi",), "iscsi://[::1]:3260/iqn.2026-11.org")]
)
def test_default_addresses_of_a_host_with_ipv6_alone(more, said):
    alone = "ip link set lo up; ip address del 127.0.0.1/8 dev lo; "
    command = shlex.join([sys.executable, "-m", "headstack", "emulate", "conner-cp3100", *more])
    with subprocess.Popen(
        ["unshare", "--net", "sh", "-c", f"{alone} exec {command}"],
        stdout=subprocess.PIPE, text=True, env=ENV,
    ) as server:  # fmt: skip
        try:
            assert server.stdout.readline().startswith(said)
        finally:
            server.terminate()


@pytest.mark.parametrize("warning", [None, "too slow: 5 %"])
def test_a_warning_at_the_end_is_a_line_of_its_own(warning, monkeypatch, capsys):
    from headstack.cli import emulate as cli

    with headstack.emulate("conner-cp3100", speed=0) as disk:
        pass
    monkeypatch.setattr(disk, "_served", {**disk.served, "warning": warning})
    monkeypatch.setattr(disk, "wait", lambda: None)
    cli.serve(disk)
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "warning: too slow: 5 %" if warning else last.endswith("us at most")


@pytest.mark.needs("systemd-analyze")
def test_the_units_of_the_guide(tmp_path):
    units = re.findall(r"^```ini\n# (\S+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert {name for name, _ in units} == {"headstack-target.socket", "headstack-target.service"}
    for name, text in units:
        # The program need not be installed here.
        (tmp_path / name).write_text(text.replace("/usr/local/bin/headstack-target", "/bin/true"))
    verify = ["systemd-analyze", "verify", *(tmp_path / name for name, _ in units)]
    done = subprocess.run(verify, capture_output=True, text=True, check=False, timeout=120)
    ours = [line for line in done.stderr.splitlines() if "headstack" in line]
    assert (done.returncode, ours) == (0, []), done.stderr
