"""``headstack emulate``."""

from typing import TYPE_CHECKING, Annotated, Unpack

from headstack import _bridge
from headstack.cli import _terminal
from headstack.cli._arguments import Argument, Option
from headstack.live.servers import ServerOptions

if TYPE_CHECKING:
    from headstack.live.emulation import Emulation


def command(
    target: Annotated[str, Argument("DRIVE|EXPERIMENT", help="A drive's name or file, or an experiment (.toml).")],
    nbd: Annotated[
        str | None,
        Option(
            metavar="ADDRESS",
            help="unix:PATH, HOST:PORT (port 0 is any free one) or systemd; by default systemd if "
            "sockets were passed to this process, else 127.0.0.1:10809.",
        ),
    ] = None,
    iscsi: Annotated[
        str | None,
        Option(
            metavar="ADDRESS",
            alone="standard",
            help="Serve SCSI disks over iSCSI at HOST:PORT, by default 127.0.0.1:3260; NBD then only with --nbd.",
        ),
    ] = None,
    **options: Unpack[ServerOptions],
) -> None:
    """Serve a simulated drive as a network block device or SCSI disk, in real time.

    Clients see a disk whose answers take as long as those of the modelled drive: seeks, rotation,
    queue, cache, arms. All clients share the drive. Standard output gets the URI of NBD, and of
    iSCSI one line for each device; Ctrl-C and SIGTERM end it once what is outstanding is answered.

    Examples:
      headstack emulate exos-2x18-sata
      headstack emulate constellation-es3-4tb --nbd unix:/tmp/disk --store /tmp/disk.img
      headstack emulate exos-2x18-sata --iscsi
      headstack emulate examples/demo.toml --system "18 TB helium" --record session.csv
    """
    import signal

    from headstack.live import emulation

    if _bridge.known("become_server"):
        _bridge.call("become_server")
    # Before anybody knows the address.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        serve(
            emulation.emulate(
                target, nbd=nbd or (None if iscsi else emulation.STANDARD), iscsi=iscsi or False, **options
            )
        )
    finally:
        signal.signal(signal.SIGTERM, before)


def serve(disk: "Emulation") -> None:
    """Say what is served, until it ends or a signal ends it."""
    try:
        lines = [disk.uri] if disk.uri else []
        print("\n".join([*lines, *disk.urls]), flush=True)
        for device in disk.devices:
            size = f"{device.size_bytes:,} bytes"
            _terminal.say(f"device {device.name}: {device.description}, {size}", as_json=True)
        if disk.metrics_address is not None:
            _terminal.say(f"metrics: {disk.metrics_address}", as_json=True)
        for line in disk.commands():
            _terminal.say(f"  {line}", as_json=True)
        disk.wait()
    except KeyboardInterrupt:
        _terminal.say("answering what is outstanding", as_json=True)
        disk.stop()
    for line in summary(disk):
        _terminal.say(line, as_json=True)


def summary(disk: "Emulation") -> list[str]:
    """Return what was done, in one line, and a second one if the machine was too slow."""
    done = disk.served
    late = done["lateness_s"]
    warning = [f"warning: {done['warning']}"] if done["warning"] else []
    return [
        f"{done['requests']:,} requests of {done['clients']} clients; replies late by "
        f"{late['p50'] * 1e6:.0f} us (half of them), {late['p999'] * 1e6:.0f} us (99.9 %), "
        f"{late['max'] * 1e6:.0f} us at most",
        *warning,
    ]
