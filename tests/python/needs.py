"""What a test needs besides this repository, such as programs of others.

`@pytest.mark.needs("fio", "nbdcopy")` skips a test where one is absent, before any fixture of it is
made: a test that has begun holds drives and files. A word is a program, or one of `MORE`.
"""

import functools
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def _says(word: str, *command: str) -> Callable[[], str | None]:
    """Whether a program has a part of this name, by what it says."""

    def ask() -> str | None:
        if shutil.which(command[0]) is None:
            return f"{command[0]} is absent"
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        has = done.returncode == 0 and word in done.stdout.split()
        return None if has else f"{command[0]} has no {word}"

    return ask


def _bench(module: str, function: str, **given: str) -> Callable[[], str | None]:
    """What a program of `benches/` asks for."""

    def ask() -> str | None:
        # It needs a Unix.
        import guest

        try:
            getattr(__import__(module), function)(**given)
        except guest.AbsentError as reason:
            return str(reason)
        return None

    return ask


def _browser() -> str | None:
    # It needs a Unix.
    import browser

    return None if browser.found() else f"no browser: none of {', '.join(browser.NAMES)}"


def _nbdsh() -> str | None:
    if shutil.which("nbdsh") is None:
        return "nbdsh is absent"
    done = subprocess.run([*NBDSH, "-c", "pass"], capture_output=True, check=False, env=plain())
    return "python3-libnbd is absent" if done.returncode else None


#: libnbd's shell: it belongs to the Python of the system.
NBDSH = ("/usr/bin/python3", "-m", "nbd")


def plain() -> dict[str, str]:
    """Return the environment for a Python that is not ours."""
    return {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}


#: Where `cargo test` leaves the programs of this repository.
_TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
BUILT = (_TARGET / "release", _TARGET / "debug")


def _built(program: str) -> str | None:
    found = any((folder / program).exists() for folder in BUILT) or shutil.which(program)
    return None if found else f"{program} is absent: cargo test builds it"


def _root() -> str | None:
    """Whether we are root, and may do what root may: in a container that is often forbidden."""
    if os.geteuid() != 0:
        return "we are not root"
    if shutil.which("unshare") is None:
        return "unshare is absent"
    alone = ["unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "true"]
    done = subprocess.run(alone, capture_output=True, check=False)
    return "root may not mount" if done.returncode else None


def _fuse() -> str | None:
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "/dev/fuse is absent"
    return absent("fusermount3") if os.geteuid() != 0 else absent("root")


def _postgresql() -> str | None:
    return None if list(Path("/usr/lib/postgresql").glob("*/bin")) else "postgresql is absent"


#: Needs that are more than a program: each says why it is not met.
MORE: dict[str, Callable[[], str | None]] = {
    "browser": _browser,
    "fio:nbd": _says("nbd", "fio", "--enghelp"),
    "fuse": _fuse,
    "guest": _bench("guest", "need"),
    "guest:backports": _bench("guest", "need", kernel="backports"),
    "guest:initiator": _bench("guest", "need_own_initiator"),
    "headstack-capd": _bench("capd", "program"),
    "headstack-target": lambda: _built("headstack-target"),
    "examples/reads": lambda: _built("examples/reads"),
    "nbdkit:spinning": _says("name=spinning", "nbdkit", "spinning", "--dump-filter"),
    "nbdkit:nbd": _says("name=nbd", "nbdkit", "nbd", "--dump-plugin"),
    "nbdsh": _nbdsh,
    "postgresql": _postgresql,
    "qemu:iscsi": _bench("guest", "need_iscsi"),
    "root": _root,
}


@functools.cache
def absent(need: str) -> str | None:
    """Return why a need is not met, if it is not."""
    if need in MORE:
        return MORE[need]()
    return None if shutil.which(need) else f"{need} is absent"
