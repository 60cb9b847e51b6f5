"""Simulated drives in real time: block devices and SCSI disks that behave as modelled drives do.

Example:
    >>> import headstack
    >>> with headstack.emulate("barracuda-es-750") as disk:
    ...     disk.uri.startswith("nbd+unix:///?socket=")
    True
"""

import json
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Unpack

from headstack import _bridge, drives
from headstack.live.servers import ServerOptions

#: Bytes of an address of a Unix socket, with the zero at its end.
_SOCKET_BYTES = 108

#: The address of the command line: of NBD sockets passed by systemd, else the protocol's port.
STANDARD = "standard"

#: Removes the folder of a socket when its standard input ends: however this process ends.
_REMOVE = 'cat >/dev/null; rm -f "$0/disk"; rmdir "$0"'


class _Folder:
    """A folder for a socket, which goes with this process, also if that is killed."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="headstack-"))
        self.socket = self.path / "disk"
        self._remover = subprocess.Popen(
            ["/bin/sh", "-c", _REMOVE, str(self.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Ctrl-C in a terminal is for all of a session.
            start_new_session=True,
        )

    def remove(self) -> None:
        """Remove it now."""
        shutil.rmtree(self.path, ignore_errors=True)
        # A process that was forked may hold the other end of the pipe.
        self._remover.kill()
        self._remover.communicate()


@dataclass(frozen=True)
class Device:
    """One device of an emulation.

    Attributes:
        name: its name at the server; the first one is also the default.
        description: the drive or the system, and the device's number if there are several.
        size_bytes: its size.
    """

    name: str
    description: str
    size_bytes: int


class Emulation:
    """A server of simulated drives, in a thread of this process; use it as a context manager.

    Attributes:
        uri: what clients of NBD are given, such as ``nbd+unix:///?socket=/tmp/x``; empty without
            NBD.
        urls: what initiators of iSCSI are given, for each device, such as
            ``iscsi://127.0.0.1:3260/iqn.2026-11.org.headstack:exos-x18/0``.
        devices: what it serves.
    """

    def __init__(self, core: Any, folder: _Folder | None, is_encrypted: bool) -> None:
        """Take a server that was started; `folder` is removed with it."""
        self.uri: str = core.uri or ""
        self.urls: tuple[str, ...] = tuple(core.urls)
        self.devices = tuple(Device(*export) for export in core.exports)
        self._core, self._folder, self._is_encrypted = core, folder, is_encrypted
        self._served: dict[str, Any] = {}

    @property
    def url(self) -> str:
        """What initiators of iSCSI are given for the first device."""
        if not self.urls:
            from headstack.errors import ConfigError

            raise ConfigError("url: got an emulation without iSCSI, need iscsi=True")
        return self.urls[0]

    @property
    def size_bytes(self) -> int:
        """Size of the first device in bytes."""
        return self.devices[0].size_bytes

    @property
    def served(self) -> Mapping[str, Any]:
        """What was done, once it has ended.

        ``requests``, ``clients``, ``errors`` by kind, ``power_losses``, ``unwritten_sectors``, and
        ``lateness_s``: the time from the simulated end of a request until its reply was handed to
        the socket, ``p50``, ``p99``, ``p999`` and ``max`` in seconds. ``late_ratio`` is the share
        of replies that were later than 1 ms, and ``warning`` a text if that is too much.
        """
        return self._served

    @property
    def metrics_address(self) -> str | None:
        """Where metrics for Prometheus are served, if that was asked for."""
        address: str | None = self._core.metrics
        return address

    @property
    def metrics(self) -> str:
        """The page of metrics, as Prometheus reads it."""
        page: str = self._core.read_metrics()
        return page

    def change(self, **change: Any) -> None:
        """Change the system now: an entry of ``[[system.change]]`` of an experiment, without `at`.

        Faults of a drive are among them: ``slow``, ``stuck``, ``bad`` and ``gone`` with
        ``layer="fault"``, and ``fail`` for a head or an arm.

        Raises:
            ConfigError: a change that does not fit.

        Example:
            >>> import headstack
            >>> with headstack.emulate("exos-x18", speed=0) as disk:
            ...     disk.change(layer="fault", slow={"ratio": 0.01, "by": "300 ms"})
        """
        self._core.change(json.dumps({"at": "0 s", **change}))

    def lose_power(self) -> tuple[int, int]:
        """Lose power now; needs ``torn_writes=True``.

        Returns:
            Of the sectors that were written and not yet on the medium, how many kept the new data,
            and how many lost them.
        """
        kept, lost = self._core.lose_power()
        return kept, lost

    def commands(self) -> list[str]:
        """Return commands of usual clients that connect to the first device."""
        return [*(self._nbd_commands() if self.uri else []), *self._iscsi_commands()]

    def _iscsi_commands(self) -> list[str]:
        if not self.urls:
            return []
        url = self.urls[0]
        portal, target, _ = url.removeprefix("iscsi://").split("/")
        return [
            f"qemu-system-x86_64 ... -drive file={url},if=none,id=d,format=raw "
            "-device virtio-scsi-pci -device scsi-generic,drive=d",
            f"iscsiadm -m discovery -t sendtargets -p {portal}",
            f"iscsiadm -m node -T {target} -p {portal} --login",
            f"iscsi-inq {url}",
        ]

    def _nbd_commands(self) -> list[str]:
        uri = self.uri
        if self._is_encrypted:
            # DIR is a folder with the client's certificates.
            uri += ("&" if "?" in uri else "?") + "tls-certificates=DIR"
        uri = shlex.quote(uri)
        tls = ",tls-creds=t" if self._is_encrypted else ""
        qemu_tls = "-object tls-creds-x509,id=t,endpoint=client,dir=DIR " if tls else ""
        client_tls = " -enable-tls -cacertfile DIR/ca-cert.pem" if tls else ""
        return [
            f"nbdinfo {uri}",
            f"fio --name=r --ioengine=nbd --uri={uri} --rw=randread --bs=4k --iodepth=32 --time_based --runtime=10",
            f"qemu-system-x86_64 ... {qemu_tls}-blockdev "
            f"driver=nbd,node-name=d,{self._qemu()}{tls} -device ide-hd,drive=d",
            f"nbd-client {self._nbd_client()} /dev/nbd0{client_tls}",
        ]

    def _qemu(self) -> str:
        path = self._path()
        if path is not None:
            return f"server.type=unix,server.path={shlex.quote(path)}"
        host, port = self._port()
        return f"server.type=inet,server.host={host},server.port={port}"

    def _nbd_client(self) -> str:
        path = self._path()
        if path is not None:
            return f"-unix {shlex.quote(path)}"
        return " ".join(self._port())

    def _port(self) -> tuple[str, str]:
        host, _, port = self.uri.partition("://")[2].rpartition(":")
        return host.strip("[]"), port

    def _path(self) -> str | None:
        from urllib.parse import unquote

        scheme, _, socket = self.uri.partition(":///?socket=")
        return unquote(socket) if scheme.endswith("+unix") else None

    def wait(self) -> Mapping[str, Any]:
        """Wait until it has ended; return what it did. Ctrl-C interrupts the wait alone."""
        said = self._core.wait()
        if said is not None:
            self._served = json.loads(said)
            if self._folder is not None:
                self._folder.remove()
        return self._served

    def stop(self) -> Mapping[str, Any]:
        """Answer what is outstanding, end, and return what was done."""
        self._core.stop()
        return self.wait()

    def __enter__(self) -> "Emulation":
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        self.stop()


def _words(options: ServerOptions) -> Iterator[str]:
    """Yield the words of a command line that give these options."""
    for name, given in options.items():
        option = f"--{name.replace('_', '-')}"
        if given is True:
            yield option
        elif isinstance(given, str | os.PathLike | int | float) and given is not False:
            yield f"{option}={os.fspath(given) if isinstance(given, os.PathLike) else given}"
        elif isinstance(given, Sequence):
            yield from (f"{option}={each}" for each in given)
        elif given:
            raise TypeError(f"{name}: got {type(given).__name__}, need a number, text or path")


def emulate(
    target: str | os.PathLike[str],
    *,
    nbd: str | None = None,
    iscsi: bool | str = False,
    **options: Unpack[ServerOptions],
) -> Emulation:
    """Serve a drive, or a system of an experiment, over NBD or iSCSI in real time.

    Args:
        target: a drive's name, a path to a drive, or an experiment; its workloads are not used.
        nbd: ``unix:PATH`` or ``HOST:PORT``; by default a Unix socket in a folder of its own,
            which goes when the emulation or this process ends. ``systemd``: sockets that were
            passed to this process. ``standard``: those if there are any, else port 10809 of this
            machine.
        iscsi: serve SCSI disks over iSCSI, at a free port of this machine or at this ``HOST:PORT``.
            NBD is then served only if `nbd` is given.
        options: those of `headstack.live.servers.ServerOptions`, such as ``speed=0``.

    Raises:
        ConfigError: a drive, experiment or argument that does not fit, with what is needed.
        HeadstackError: the address or a file cannot be used; the installation has no servers.
    """
    _bridge.need_live("emulate")
    folder = None
    serves_nbd = nbd is not None or not iscsi
    if nbd is None and serves_nbd:
        folder = _Folder()
        nbd = f"unix:{folder.socket}"
        if len(os.fsencode(folder.socket)) >= _SOCKET_BYTES:
            nbd = "127.0.0.1:0"
    words = [f"--drives={folder}" for folder in drives.drive_dirs()]
    if serves_nbd:
        words.append(f"--nbd={nbd}")
    if iscsi:
        words.append(f"--iscsi={'127.0.0.1:0' if iscsi is True else iscsi}")
    try:
        core = _bridge.call("emulate", [*words, *_words(options), "--", os.fspath(target)])
    except BaseException:
        if folder is not None:
            folder.remove()
        raise
    return Emulation(core, folder, (core.uri or "").startswith("nbds"))
