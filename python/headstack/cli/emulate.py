"""``headstack emulate``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from headstack.cli._arguments import Argument, Option

if TYPE_CHECKING:
    from headstack.emulation import Emulation


def command(
    target: Annotated[
        str,
        Argument("DRIVE|EXPERIMENT", help="A drive's name or file, or an experiment (.toml)."),
    ],
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
            help="Serve SCSI disks over iSCSI at HOST:PORT, by default 127.0.0.1:3260; NBD then "
            "only with --nbd.",
        ),
    ] = None,
    iscsi_initiator: Annotated[
        list[str] | None,
        Option(metavar="NAME", help="Only initiators of this name may log in; again."),
    ] = None,
    iscsi_chap: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Initiators must know the secret in this file (TOML: name, secret; mutual_name, "
            "mutual_secret).",
        ),
    ] = None,
    iscsi_apart: Annotated[
        bool, Option(help="Each device is a target, instead of a unit (LUN) of one target.")
    ] = False,
    iscsi_window: Annotated[
        int | None,
        Option(
            metavar="N",
            min=1,
            help="Commands that a session may have at once; by default what the drives hold.",
        ),
    ] = None,
    allow_remote: Annotated[bool, Option(help="Let other machines connect.")] = False,
    store: Annotated[
        Path | None,
        Option(metavar="FILE", help="Keep the data in a sparse file; without it, in memory."),
    ] = None,
    speed: Annotated[
        float,
        Option(min=0, metavar="X", help="Simulated seconds in a second; 0: as fast as possible."),
    ] = 1.0,
    busy: Annotated[
        bool,
        Option(help="Watch clock and sockets without sleeping: more exact, takes a processor."),
    ] = False,
    system: Annotated[
        str | None, Option(metavar="NAME", help="Of an experiment, the system to serve.")
    ] = None,
    seed: Annotated[int | None, Option(min=0, help="Replaces the experiment's seed.")] = None,
    record: Annotated[
        Path | None,
        Option(metavar="FILE.csv", help="Write all requests as a trace, with response times."),
    ] = None,
    tls: Annotated[
        str | None,
        Option(
            metavar="MODE",
            help="off, on (if the client asks) or require (default if there are certificates).",
        ),
    ] = None,
    tls_certificates: Annotated[
        Path | None,
        Option(metavar="DIR", help="Folder of server-cert.pem, server-key.pem, ca-cert.pem."),
    ] = None,
    tls_verify_peer: Annotated[
        bool, Option(help="Clients need a certificate of an authority in ca-cert.pem.")
    ] = False,
    exit_with_parent: Annotated[
        bool, Option(help="End with the process that started this one.")
    ] = False,
    control: Annotated[
        Path | None,
        Option(metavar="DIR", help="Show files as of /sys/block/DEVICE there (FUSE)."),
    ] = None,
    metrics: Annotated[
        str | None,
        Option(metavar="ADDRESS", help="Serve metrics for Prometheus: HOST:PORT or unix:PATH."),
    ] = None,
    torn_writes: Annotated[
        bool, Option(help="Power may be lost: what is not on the medium is lost in part.")
    ] = False,
    power_loss_at: Annotated[
        list[str] | None,
        Option(metavar="TIME", help='Lose power at this simulated time, such as "2 s"; again.'),
    ] = None,
    power_loss_at_write: Annotated[
        list[str] | None,
        Option(metavar="N", help="Lose power when the N-th write or flush arrives; again."),
    ] = None,
    power_loss_seed: Annotated[int, Option(min=0, help="Chooses what survives.")] = 0,
    after_power_loss: Annotated[
        str, Option(metavar="WORD", help="disconnect clients, or continue.")
    ] = "disconnect",
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

    from headstack import _bridge, emulation

    if _bridge.known("become_server"):
        _bridge.call("become_server", exit_with_parent)
    # Before anybody knows the address.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        serve(
            emulation.emulate(
                target,
                nbd=nbd or (None if iscsi else emulation.STANDARD),
                iscsi=iscsi or False,
                iscsi_initiators=iscsi_initiator or (),
                iscsi_chap=iscsi_chap,
                iscsi_apart=iscsi_apart,
                iscsi_window=iscsi_window,
                allow_remote=allow_remote,
                store=store,
                speed=speed,
                busy=busy,
                system=system,
                seed=seed,
                record=record,
                tls=tls,
                tls_certificates=tls_certificates,
                tls_verify_peer=tls_verify_peer,
                control=control,
                metrics=metrics,
                torn_writes=torn_writes,
                power_loss_at=power_loss_at or (),
                power_loss_at_write=[_number(text) for text in power_loss_at_write or ()],
                power_loss_seed=power_loss_seed,
                after_power_loss=after_power_loss,
            )
        )
    finally:
        signal.signal(signal.SIGTERM, before)


def serve(disk: "Emulation") -> None:
    """Say what is served, until it ends or a signal ends it."""
    from headstack.cli import _terminal

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


def _number(text: str) -> int:
    if not text.isdecimal():
        from headstack.errors import ConfigError

        raise ConfigError(f'--power-loss-at-write: got "{text}", need a whole number')
    return int(text)


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
