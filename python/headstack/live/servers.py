"""Options of servers; written by `scripts/schema_types.py`, do not edit."""

from collections.abc import Sequence
from os import PathLike
from typing import Annotated, TypedDict


class ServerOptions(TypedDict, total=False):
    """What servers of simulated drives take; also options of the command line.

    Each type has the name of its value on the command line, and what it does.
    """

    tls: Annotated[
        str | None, "MODE", "NBD with TLS: off, on (if the client asks) or require (default if there are certificates)."
    ]
    tls_certificates: Annotated[
        str | PathLike[str] | None,
        "DIR",
        "Folder of server-cert.pem, server-key.pem and, to verify clients, ca-cert.pem.",
    ]
    tls_verify_peer: Annotated[bool | None, "", "Clients need a certificate of an authority in ca-cert.pem."]
    iscsi_initiator: Annotated[
        Sequence[str] | None, "NAME", "Only initiators of this name may log in; may be repeated."
    ]
    iscsi_chap: Annotated[
        str | PathLike[str] | None,
        "FILE",
        "Initiators must know a secret (CHAP): a file in TOML with name and secret, for mutual authentication also "
        "mutual_name and mutual_secret, each secret of 12 characters or more.",
    ]
    iscsi_apart: Annotated[
        bool | None, "", "Each device is a target, instead of a unit of one target (16 drives: LUNs 0 to 15)."
    ]
    iscsi_window: Annotated[
        int | None,
        "N",
        "Commands that a session may have at once; by default what the drives hold. With more, drives answer TASK SET "
        "FULL.",
    ]
    allow_remote: Annotated[bool | None, "", "Let other machines connect."]
    store: Annotated[
        str | PathLike[str] | None,
        "FILE",
        "Keep the data in a sparse file, several devices in FILE-0, FILE-1; a shorter file is made longer, one that "
        "another server uses is refused; without it, in memory.",
    ]
    speed: Annotated[
        float | None,
        "X",
        "Simulated seconds in a second, 1 unless given; 0: as fast as possible, and the times exist only in the "
        "record.",
    ]
    busy: Annotated[
        bool | None, "", "Watch clock and sockets without sleeping while there is work: more exact, takes a processor."
    ]
    system: Annotated[
        str | None,
        "NAME",
        "Of an experiment with several systems, the one to serve: a shelf has a device for each drive, a RAID one.",
    ]
    seed: Annotated[
        int | None, "N", "Replaces the experiment's seed, from which follow the angles at which the platters start."
    ]
    record: Annotated[
        str | PathLike[str] | None,
        "FILE.csv",
        "Write all requests as a trace, in order of arrival and with their response times (column response_ns); if "
        "that is no longer possible, the record ends and the server goes on.",
    ]
    control: Annotated[str | PathLike[str] | None, "DIR", "Show files as of /sys/block/DEVICE there (FUSE)."]
    metrics: Annotated[str | None, "ADDRESS", "Serve metrics for Prometheus, as /metrics of HOST:PORT or unix:PATH."]
    torn_writes: Annotated[bool | None, "", "Power may be lost: what is not on the medium then is lost in part."]
    power_loss_at: Annotated[
        Sequence[str] | None, "TIME", 'Lose power at this simulated time, such as "2 s"; may be repeated.'
    ]
    power_loss_at_write: Annotated[
        Sequence[int] | None,
        "N",
        "Lose power when the N-th write or flush, counted from 1, is at the drive; may be repeated.",
    ]
    power_loss_seed: Annotated[int | None, "N", "Chooses what survives; 0 unless given."]
    after_power_loss: Annotated[
        str | None,
        "WORD",
        "disconnect clients (the default), or continue: what is outstanding fails, and clients go on.",
    ]
    exit_with_parent: Annotated[bool | None, "", "End with the process that started this one."]
