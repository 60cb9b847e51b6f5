"""A stock Debian kernel under QEMU, with emulated drives as its SATA or SCSI disks.

The kernel's own block layer (elevators, ``nr_requests``, ``device/queue_depth``) then works on a
drive of this project. It needs neither root nor KVM, and nothing of the machine's own kernel. The
kernel and its modules are kept in ``out/guest`` of the clone.

QEMU's NBD client has at most 16 requests in flight. QEMU 7.2 (Debian 12) also passes a reply on
only when the next one arrives, if three or more requests are in flight: of each three or more, one
is late. Where that matters, the disk goes through ``nbdfuse`` (`mounted`): at most 10 in flight.
"""

import contextlib
import fcntl
import functools
import gzip
import io
import lzma
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from urllib.parse import unquote

CACHE = Path(__file__).resolve().parents[3] / "out" / "guest"
#: The kernel of this Debian release, and that of its backports: Linux 6.1 and 6.12 in Debian 12.
STABLE, BACKPORTS = "stable", "backports"
QEMU = "qemu-system-x86_64"
#: Modules that every guest loads, with all that they depend on.
MODULES = ("ahci", "sd_mod", "bfq")
#: Modules for SCSI disks of `iscsi://` URLs.
SCSI_MODULES = ("virtio_pci", "virtio_scsi", "sg")
#: As an adapter: the guest's kernel itself is the initiator of `iscsi://` URLs.
OWN_INITIATOR = "iscsi_tcp"
_OWN_MODULES = ("virtio_pci", "virtio_net", "crc32c_generic", "iscsi_tcp", "sg")
#: The address of this machine's loopback for guests, as QEMU's user network has it.
_HOST = "10.0.2.2"


class AbsentError(Exception):
    """Something that a guest needs is absent here; the message says what."""


#: What runs first in the guest. Files in /out are handed back through the second serial port.
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc p /proc; mount -t sysfs s /sys; mount -t devtmpfs d /dev
for m in $(cat /modules/order); do insmod /modules/$m; done
[ -f /connect ] && sh /connect > /connected 2>&1
n=0; while [ ! -b /dev/sda ] && [ $n -lt 300 ]; do sleep 0.1; n=$((n + 1)); done
mkdir -p /out /mnt; cd /out
sh /script > /out/said 2>&1; echo $? > /out/code
stty -F /dev/ttyS1 raw
tar c -C /out . > /dev/ttyS1
poweroff -f
"""


def need(*programs: str, kernel: str = STABLE) -> None:
    """Raise `AbsentError` where a guest with these programs and this kernel cannot be run."""
    for program in (QEMU, "busybox", "fio", *programs):
        if shutil.which(program) is None:
            raise AbsentError(f"{program} is absent")
    said = subprocess.run(["ldd", _path("busybox")], capture_output=True, text=True, check=False)
    if "=>" in said.stdout:
        raise AbsentError("busybox is not linked statically (Debian: busybox-static)")
    reason = _kernel_or_reason(kernel)
    if isinstance(reason, str):
        raise AbsentError(reason)


def need_iscsi() -> None:
    """Raise `AbsentError` where QEMU cannot have SCSI disks of `iscsi://` URLs."""
    if shutil.which("qemu-img") is None:
        raise AbsentError("qemu-img is absent")
    said = subprocess.run(["qemu-img", "--help"], capture_output=True, text=True, check=False)
    formats = said.stdout.partition("Supported formats:")[2]
    if " iscsi" not in formats:
        raise AbsentError("QEMU has no iSCSI (Debian: qemu-block-extra)")


def need_own_initiator() -> None:
    """Raise `AbsentError` where the guest's kernel cannot be the initiator."""
    if shutil.which("iscsistart") is None:
        raise AbsentError("iscsistart is absent (Debian: open-iscsi)")


def _connects(urls: Iterable[str]) -> str:
    """Return the shell script with which the guest's kernel logs in to the targets of URLs."""
    lines = [
        "ip link set lo up; ip addr add 10.0.2.15/24 dev eth0; ip link set eth0 up",
        "mkdir -p /run/lock/iscsi /etc/iscsi",
    ]
    targets = dict.fromkeys(tuple(url.split("/")[2:4]) for url in urls)
    for address, target in targets:
        port = address.rpartition(":")[2]
        name = "iqn.2026-11.org.headstack:guest"
        lines.append(f"iscsistart -i {name} -t {target} -g 1 -a {_HOST} -p {port}")
    return "\n".join(lines) + "\n"


def _path(program: str) -> str:
    found = shutil.which(program)
    assert found is not None, f"{program} is absent"
    return found


@dataclass(frozen=True)
class Kernel:
    """A kernel that was unpacked.

    Attributes:
        image: the file that QEMU starts.
        modules: the folder of its modules.
    """

    image: Path
    modules: Path

    @property
    def version(self) -> str:
        """Its version as Debian names it, such as ``6.1.0-30-amd64``."""
        return self.image.name.removeprefix("vmlinuz-")


@functools.cache
def _kernel_or_reason(which: str) -> "Kernel | str":
    """Return the kernel; or why there is none."""
    folder = CACHE / ("kernel" if which == STABLE else f"kernel-{which}")
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not list(folder.glob("boot/vmlinuz-*")):
            reason = _download(folder, which)
            if reason is not None:
                return reason
    (image,) = folder.glob("boot/vmlinuz-*")
    (modules,) = folder.glob("lib/modules/*")
    return Kernel(image, modules)


def _said(*command: str | Path, folder: Path | None = None) -> str | None:
    """Return the standard output of a command; nothing if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    return done.stdout if done.returncode == 0 else None


def _backports(folder: Path) -> list[str] | None:
    """Return options with which apt knows the backports of this release, without changing it.

    Lists and cache of packages are in `folder`. Nothing if that is not possible.
    """
    form = "$(CODENAME) $(REPO_URI)"
    known = _said("apt-get", "indextargets", "--format", form, "Created-By: Packages")
    release = re.search(r"(?m)^VERSION_CODENAME=(\w+)", Path("/etc/os-release").read_text())
    if known is None or release is None:
        return None
    uris = re.findall(rf"(?m)^{release[1]} (\S+)", known)
    if not uris:
        return None
    keys = "signed-by=/usr/share/keyrings/debian-archive-keyring.gpg"
    (folder / "list").write_text(f"deb [{keys}] {uris[0]} {release[1]}-backports main\n")
    own = {
        "Dir::Etc::SourceList": "list",
        "Dir::Etc::SourceParts": "-",
        "Dir::State::Lists": "lists",
        "Dir::Cache": "cache",
    }
    for name in ("lists", "cache"):
        (folder / name / "partial").mkdir(parents=True)
    options = [f"-o{key}={value if value == '-' else folder / value}" for key, value in own.items()]
    return options if _said("apt-get", *options, "update", "-qq") is not None else None


def _download(to: Path, which: str) -> str | None:
    """Unpack a kernel of this Debian release; return what prevents it."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        return "no kernel: apt-get or dpkg-deb is absent"
    with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
        folder = Path(temporary)
        options = _backports(folder) if which == BACKPORTS else []
        if options is None:
            return "no kernel: the backports of this release could not be listed"
        depends = _said("apt-cache", *options, "depends", "linux-image-amd64") or ""
        found = re.search(r"Depends: (linux-image-[0-9]\S*)", depends)
        if found is None:
            return "no kernel: apt-cache knows no linux-image-amd64"
        got = _said("apt-get", *options, "download", "-qq", found[1], folder=folder)
        packages = list(folder.glob("*.deb"))
        if got is None or len(packages) != 1:
            return f"no kernel: {found[1]} could not be downloaded"
        packed = subprocess.run(["dpkg-deb", "--fsys-tarfile", packages[0]], capture_output=True, check=True)
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as tar:
            # Since Debian 13 modules are in /usr/lib.
            wanted = ("./boot/vmlinuz-", "./lib/modules/", "./usr/lib/modules/")
            tar.extractall(folder / "kernel", [m for m in tar.getmembers() if m.name.startswith(wanted)], filter="data")
        if (folder / "kernel/usr/lib").is_dir():
            (folder / "kernel/usr/lib").rename(folder / "kernel/lib")
        (folder / "kernel").rename(to)
    return None


def _modules(kernel: Kernel, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield modules with their contents, each after those that it depends on."""
    files = {p.name.partition(".ko")[0].replace("-", "_"): p for p in kernel.modules.rglob("*.ko*")}
    done: set[str] = set()

    def add(name: str) -> Iterator[tuple[str, bytes]]:
        name = name.replace("-", "_")
        # What is built into the kernel has no file.
        if name in done or name not in files:
            return
        done.add(name)
        data = files[name].read_bytes()
        if files[name].suffix == ".xz":
            data = lzma.decompress(data)
        # Each module names what it depends on, in its section `.modinfo`.
        needs = re.search(rb"\0depends=([^\0]*)\0", data)
        soft = re.findall(rb"\0softdep=pre: ([^\0]*)\0", data)
        listed = needs[1].decode().split(",") if needs else []
        for other in (*listed, *b" ".join(soft).decode().split()):
            yield from add(other)
        yield f"{name}.ko", data

    for name in names:
        yield from add(name)


def libraries(*programs: str | os.PathLike[str]) -> set[str]:
    """Return the shared libraries that programs or libraries need."""
    said = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False)
    return set(re.findall(r"(?:=>\s+|^\s+)(/\S+)", said.stdout, re.MULTILINE))


class _Archive:
    """Files of the guest's first file system, as `cpio -H newc` writes them."""

    def __init__(self) -> None:
        self.out = bytearray()
        self._folders: set[str] = set()
        self._n = 0

    def add(self, path: str, data: bytes = b"", mode: int = 0o100644) -> None:
        parent = os.path.dirname(path)
        if parent:
            self.folder(parent)
        self._n += 1
        name = path.encode() + b"\0"
        numbers = (self._n, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
        self.out += b"070701" + b"".join(b"%08x" % n for n in numbers)
        # Both parts begin at multiples of four bytes.
        for part in (name, data):
            self.out += part
            self.out += bytes(-len(self.out) % 4)

    def folder(self, path: str) -> None:
        if path not in self._folders:
            self._folders.add(path)
            self.add(path, mode=0o040755)


def _closed(entries: bytes) -> bytes:
    """Return an archive with the entry that ends it."""
    archive = _Archive()
    archive.out += entries
    archive.add("TRAILER!!!")
    return bytes(archive.out)


@functools.cache
def _system(which: str, programs: tuple[str, ...], modules: tuple[str, ...]) -> bytes:
    """Return all files of the guest but its script."""
    kernel = _kernel_or_reason(which)
    assert isinstance(kernel, Kernel), kernel
    archive = _Archive()
    for folder in ("bin", "proc", "sys", "dev", "tmp", "mnt"):
        archive.folder(folder)
    archive.add("init", INIT.encode(), 0o100755)
    archive.add("bin/busybox", Path(_path("busybox")).read_bytes(), 0o100755)
    order = []
    for name, data in _modules(kernel, modules):
        archive.add(f"modules/{name}", data)
        order.append(name)
    archive.add("modules/order", "\n".join(order).encode())
    paths = [_path(program) for program in programs]
    for path in paths:
        archive.add(f"bin/{os.path.basename(path)}", Path(path).read_bytes(), 0o100755)
    for library in sorted(libraries(*paths)):
        archive.add(library.lstrip("/"), Path(library).read_bytes(), 0o100755)
    return bytes(archive.out)


def socket_of(uri: str) -> str:
    """Return the path of the Unix socket of a URI."""
    return unquote(uri.partition("socket=")[2])


@contextlib.contextmanager
def mounted(uri: str) -> Iterator[str]:
    """Make an export a file of this machine; raise `AbsentError` where that is not possible."""
    if shutil.which("nbdfuse") is None:
        raise AbsentError("nbdfuse is absent")
    if os.geteuid() != 0 or not Path("/dev/fuse").exists():
        raise AbsentError("mounting an export needs root and /dev/fuse")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "disk"
        # A thread of nbdfuse waits for its connection: no two of its threads share one.
        server = subprocess.Popen(["nbdfuse", "-C", "64", file, uri], stdout=subprocess.DEVNULL)
        try:
            for _ in range(100):
                if file.exists():
                    break
                time.sleep(0.1)
            yield str(file)
        finally:
            subprocess.run(["umount", "-l", folder], check=False)
            server.terminate()
            server.wait(10)


def run(
    sockets: Sequence[str],
    script: str,
    *,
    programs: Sequence[str] = ("fio",),
    modules: Sequence[str] = (),
    seconds: float = 240,
    memory_mib: int = 512,
    adapter: str = "virtio-scsi-pci",
    kernel: str = STABLE,
    files: Mapping[str, bytes] = MappingProxyType({}),
    port: str | os.PathLike[str] | None = None,
    devices: Sequence[str] = (),
) -> Mapping[str, bytes]:
    """Boot a guest whose disks sda, sdb, ... are these exports, and run a shell script in it.

    Args:
        sockets: Unix sockets of NBD servers, files with the contents of disks, or URLs of iSCSI.
            A URL becomes a SCSI disk whose commands reach the server unchanged.
        script: what the guest's shell runs, in the folder /out.
        programs: programs of this machine that the guest gets, with their libraries.
        modules: modules of the kernel that it loads besides.
        seconds: the guest is stopped after this time.
        memory_mib: its memory.
        adapter: QEMU's device to which SCSI disks are attached. Linux's driver of the usual one
            lets no command time out; that of ``pvscsi`` does (module ``vmw_pvscsi``). With both,
            QEMU waits until the server has ended a command, also when the guest aborts it.
            `OWN_INITIATOR`: the guest's kernel connects over a network of its own, through QEMU's
            user network, and its aborts and resets reach the server.
        kernel: `STABLE` or `BACKPORTS`.
        files: more files of the guest, by path.
        port: a Unix socket that somebody listens at; the guest has it as a virtual serial port
            ``/dev/vport*`` (module ``virtio_console``).
        devices: more devices of QEMU.

    Returns:
        The files that the script left in /out, by name.
    """
    found = _kernel_or_reason(kernel)
    assert isinstance(found, Kernel), found
    archive = _Archive()
    archive.add("script", script.encode())
    connects = adapter == OWN_INITIATOR
    if connects:
        programs, modules = (*programs, "iscsistart"), (*_OWN_MODULES, *modules)
        archive.add("connect", _connects(sockets).encode())
    for path, data in files.items():
        archive.add(path, data, 0o100755)
    with tempfile.TemporaryDirectory() as folder:
        initrd, out = Path(folder) / "initrd", Path(folder) / "out"
        # The kernel unpacks archives one after another.
        initrd.write_bytes(
            gzip.compress(_closed(_system(kernel, tuple(programs), (*MODULES, *modules))), 1)
            + gzip.compress(_closed(bytes(archive.out)), 1)
        )
        command = [QEMU, "-accel", "tcg", "-cpu", "max", "-M", "q35", "-m", str(memory_mib),
                   "-smp", "1", "-display", "none", "-no-reboot",
                   "-nic", "user,model=virtio-net-pci" if connects else "none",
                   "-serial", "stdio", "-serial", f"file:{out}",
                   "-kernel", found.image, "-initrd", initrd,
                   "-append", "console=ttyS0 quiet panic=-1 mitigations=off"]  # fmt: skip
        if not connects and any(socket.startswith("iscsi://") for socket in sockets):
            command += ["-device", f"{adapter},id=scsi"]
        if port is not None:
            command += ["-chardev", f"socket,id=port,path={os.fspath(port)}"]
            command += ["-device", "virtio-serial-pci", "-device", "virtserialport,chardev=port"]
        for device in devices:
            command += ["-device", device]
        for n, socket in enumerate(() if connects else sockets):
            if socket.startswith("iscsi://"):
                drive = f"file={socket},if=none,id=d{n},format=raw,cache=none"
                device = f"scsi-generic,bus=scsi.0,drive=d{n}"
                command += ["-drive", drive, "-device", device]
                continue
            disk = f"driver=nbd,node-name=d{n},server.type=unix,server.path={socket}"
            if not Path(socket).is_socket():
                disk = f"driver=file,node-name=d{n},filename={socket},aio=threads,cache.direct=on"
            device = f"ide-hd,drive=d{n},bus=ide.{n},rotation_rate=7200"
            command += ["-blockdev", disk, "-device", device]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds, check=False
        )
        assert done.returncode == 0, done.stderr + done.stdout
        with tarfile.open(out) as tar:
            left = {
                m.name.removeprefix("./"): (tar.extractfile(m) or io.BytesIO()).read()
                for m in tar.getmembers()
                if m.isfile()
            }
    assert left["code"].strip() == b"0", left["said"].decode() + done.stdout
    return left
