"""Each command that the pages on servers print is run as printed.

A section (`##`) is run in a folder of its own, one block `sh` after another in one shell. A block
that ends with a server is that of another terminal: what follows begins when it has said its
address. A block `text` right after one has what it prints. `needs=` names what must be here, and
`guest=` the test that runs the block's commands in a guest. A command in a sentence is a part of a
line of such a block, or one of `ELSEWHERE`, or one of cargo.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import needs
import pytest
from conftest import ROOT

pytestmark = pytest.mark.linux

NAMES = ("emulation", "capd", "database-on-a-drive")
BLOCK = re.compile(r"^```(\w+)(?: (\w+)=(\S+))?\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.M | re.S)
SERVER = re.compile(r"headstack(-nbd|-iscsi| emulate) [^\n]*[^&]\Z")

#: A command in a sentence: a program and more. A word in capitals stands for any.
COMMAND = re.compile(r"`([a-z][\w.-]+ (?!=)[^`\n]+)`")
#: Commands in sentences that no block has: where a test runs them, and what it has of them.
ELSEWHERE = {
    "kill -9": ("tests/python/live/test_kill.py", "survives_kill_9"),
    "umount DIR": ("tests/python/live/test_emulate_process.py", '["umount", control]'),
    "fusermount3 -u DIR": ("tests/python/live/test_emulate_process.py", "fusermount3 -u {control}"),
    "make test": (".ci/run", "\nmake test\n"),
    "make test-all": ("Makefile", "\ntest-all: "),
    "headstack-target --speed 0 --nbd ... --iscsi ...": ("crates/target/tests/it/iscsi/load.rs", '"--speed", "0"'),
    "ulimit -Hn": ("crates/target/tests/it/iscsi/load.rs", "ulimit -Hn"),
    "mkfs.btrfs -O zoned": ("tests/python/live/test_guest_scsi.py", "mkfs.btrfs -O zoned"),
    "mdadm --failfast": ("benches/error_handling.py", "mdadm --create"),
    "python benches/error_handling.py": ("tests/python/live/test_guest_scsi.py", "error_handling."),
    "python benches/iscsi_peers.py": ("tests/python/live/test_iscsi.py", "iscsi_peers."),
    "python benches/capd_shelf.py": ("tests/python/live/test_capd_shelf.py", "capd_shelf."),
    "ipmitool dcmi power reading": (
        "tests/python/live/test_guest_systemd.py",
        '"ipmitool", "dcmi", "power", "reading"',
    ),
    "systemd-analyze security": ("tests/python/test_package.py", '"systemd-analyze", "security"'),
}

#: Sections that need these run in `make test-all`.
LONG = {"root", "headstack-target", "headstack-capd"}
WAIT = """n=0; until [ -s out{0} ]; do
sleep 0.1; n=$((n + 1)); [ $n -lt 1200 ] || {{ cat err{0}; exit 1; }}; done
"""


def page(name: str) -> str:
    """Return the text of a page."""
    return (ROOT / "docs" / "guide" / f"{name}.md").read_text("utf-8")


def in_sentences() -> dict[str, str]:
    """Return the commands in sentences, each with a page that has it."""
    found = {}
    for name in NAMES:
        text = re.sub(r"^```.*?^```", "", page(name), flags=re.M | re.S)
        found.update(dict.fromkeys(COMMAND.findall(text), name))
    return found


def sections() -> Iterator[object]:
    """Every section with a block `sh`: its blocks, what each needs and what it prints."""
    for name in NAMES:
        for section in re.split(r"^(?=##? )", page(name), flags=re.M):
            found = [b for b in BLOCK.findall(section) if b[0] == "sh" and b[1] != "guest"]
            wanted = dict.fromkeys(w for b in found for w in b[2].split(",") if w)
            marks = [pytest.mark.needs(*wanted)] if wanted else []
            marks += [pytest.mark.thorough] if LONG & set(wanted) else []
            if found:
                title = section.partition("\n")[0].strip("# ")
                yield pytest.param(found, marks=marks, id=f"{name}: {title}")


def script(blocks: list[tuple[str, ...]]) -> str:
    """One shell for a section; what block 2 prints is in `out2`."""
    text = "set -ex\n"
    for i, (*_, block, _) in enumerate(blocks):
        if SERVER.search(block.strip()):
            text += f"(\n{block}) > out{i} 2> err{i} &\n" + WAIT.format(i)
        else:
            text += f"{{\n{block}}} > out{i}\n"
    return text


def alone(script: str) -> list[str]:
    """Return the command that runs it, for root without other processes, mounts and sockets."""
    if needs.absent("root") or needs.absent("fuse"):
        return ["sh", "-c", script]
    network = [] if needs.absent("ip") else ["--net"]
    up = "ip link set lo up\n" if network else ""
    apart = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return ["unshare", *network, *apart, "sh", "-c", up + script]


def end(shell: "subprocess.Popen[bytes]") -> None:
    """End its servers, which unmount their folders. A namespace ends with its first process."""
    for kind in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, kind)
            for _ in range(50):
                shell.poll()
                os.killpg(shell.pid, 0)
                time.sleep(0.1)


@pytest.mark.parametrize("blocks", list(sections()))
def test_commands_run_as_printed(blocks):
    programs = [Path(sys.executable).parent, *needs.BUILT, "/usr/sbin", "/sbin"]
    env = {**os.environ, "PATH": ":".join(map(str, [*programs, os.environ["PATH"]]))}
    folder = Path(tempfile.mkdtemp(prefix="headstack-page-"))
    # Another user's database may be in it.
    folder.chmod(0o755)
    for name in ("drives", "scripts"):
        (folder / name).symlink_to(ROOT / name)
    try:
        with (folder / "said").open("w+") as said:
            done = subprocess.Popen(
                alone(script(blocks)), cwd=folder, env=env, stdout=said, stderr=said,
                start_new_session=True,
            )  # fmt: skip
            try:
                code = done.wait(timeout=240)
            finally:
                end(done)
        assert code == 0, (folder / "said").read_text()
        for i, (*_, shown) in enumerate(blocks):
            printed = (folder / f"out{i}").read_text().replace(str(folder), "/srv/try")
            assert printed.startswith(shown), (i, printed, shown)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_blocks_that_are_not_run_name_a_test_in_a_guest():
    found = []
    for name in NAMES:
        assert page(name).count("\n```") % 2 == 0, name
        for language, key, value, text, _ in BLOCK.findall(page(name)):
            # Prompts mean that it is not run.
            assert language in ("sh", "console") or not key, (name, text)
            if language == "console" or key == "guest":
                assert key == "guest", (name, text)
                found.append(value)
                tests = (ROOT / "tests" / "python" / "live" / value).read_text("utf-8")
                assert 'needs("guest' in tests, (name, value)
    assert len(found) <= 4, found


def test_commands_in_sentences_are_run():
    lines = [
        line
        for name in NAMES
        for block in BLOCK.findall(page(name))
        if block[0] == "sh"
        for line in block[3].splitlines()
    ]
    found = in_sentences()
    print(*found, sep="\n")
    for command, name in found.items():
        if command.startswith("cargo ") or command in ELSEWHERE:
            continue
        words = (r"\S+" if w.isupper() else re.escape(w) for w in command.split())
        part = re.compile(r"(?<!\S)" + r"\s+".join(words) + r"(?!\S)")
        assert any(part.search(line) for line in lines), (name, command)
    assert ELSEWHERE.keys() <= found.keys()
    for command, (file, text) in ELSEWHERE.items():
        assert text in (ROOT / file).read_text("utf-8"), command


@pytest.mark.thorough
@pytest.mark.needs("cargo", "cargo-deb")
@pytest.mark.parametrize("command", [c for c in in_sentences() if c.startswith("cargo ")])
def test_commands_of_cargo_run_as_printed(command):
    subprocess.run(command, shell=True, cwd=ROOT, check=True)
