"""Names of models, and other words; written by `scripts/schema_types.py`, do not edit."""

from typing import Literal, TypeAlias

Wait: TypeAlias = Literal["milliseconds-since-start", "microseconds-since-wait"]
"""`milliseconds-since-start`: Milliseconds since the start, as in fio's code; `microseconds-since-wait`: Microseconds,
those under 100 left out, as in fio's manual."""

TraceFormatName: TypeAlias = Literal[
    "alibaba",
    "blkparse",
    "blktrace",
    "csv",
    "disksim",
    "fio-iolog",
    "mqsim",
    "msr",
    "oracle-general",
    "parquet",
    "spc",
    "srt",
    "systor17",
    "tencent",
    "thesios",
    "validate",
    "vscsi",
]

Arrivals: TypeAlias = Literal["poisson", "constant", "uniform", "closed"]
"""`poisson`: Poisson arrivals: independent, at `rate` on average; `constant`: Evenly spaced at `rate`; `uniform`: Gaps
uniformly distributed from zero to twice the mean; `closed`: Closed arrivals: times are zero, and `outstanding` requests
circulate, each issued `think` after a completion."""

IoprioClass: TypeAlias = Literal["none", "real-time", "best-effort", "idle"]
"""`none`: None: that of the process; `real-time`: Real time; with priorities of native command queueing enabled, the
high one; `best-effort`: Best effort, as usual; `idle`: Idle: only when no one else asks for the device."""

Sparing: TypeAlias = Literal[
    "none",
    "tracks",
    "cylinder-end",
    "track-end",
    "cylinder-end-slip-to-zone-end",
    "cylinder-front",
    "cylinder-front-slip-to-zone-end",
    "disk-end",
    "range",
    "zone-end",
    "zone-end-slip-to-disk-end",
]
"""`none`: No spares, no slips; `tracks`: Spare tracks at the end of the zone; whole tracks are slipped. (1);
`cylinder-end`: Spare sectors at the end of each cylinder; slips shift data inside it. (2); `track-end`: Spare sectors
at the end of each track; slips shift data inside it. (3); `cylinder-end-slip-to-zone-end`: As `cylinder-end`, but slips
shift data up to the end of the zone. (4); `cylinder-front`: Spare sectors at the front of each cylinder; slips shift
data inside it. (5); `cylinder-front-slip-to-zone-end`: As `cylinder-front`, but slips shift data up to the end of the
zone. (6); `disk-end`: Spares at the end of the disk. (7); `range`: Spares at the end of each range of cylinders. (8);
`zone-end`: Spares at the end of the zone. (9); `zone-end-slip-to-disk-end`: As `zone-end`, but slips use spares at the
end of the disk. (10)."""

WritingPolicyName: TypeAlias = Literal["eager", "current-cylinder", "current-or-frontier", "append"]

CleaningPolicyName: TypeAlias = Literal["none", "greedy", "cost-benefit", "hole-plugging"]

ReadAhead: TypeAlias = Literal["none", "track-end", "cylinder-end", "limit", "next-track"]
"""`none`: Not at all; `track-end`: To the end of the track; `cylinder-end`: To the end of the cylinder; `limit`: Until
`read_ahead_sectors` are read or the segment is full; `next-track`: To the end of the track of the next sector, and one
track more if the segment's data begin on an earlier track."""

SchedulerName: TypeAlias = Literal[
    "fcfs", "sstf", "scan", "look", "c-look", "vscan", "sptf", "satf", "aged-sptf", "depth-aged-sptf", "deadline-sptf"
]

InactivePolicy: TypeAlias = Literal[
    "complete-earliest", "continue-next-limit", "continue-no-limit", "complete-unavailable", "abort-recovery", "abort"
]
"""`complete-earliest`: It goes on, and ends as early as it can. (0h); `continue-next-limit`: It goes on under the limit
with the next number. (1h); `continue-no-limit`: It goes on without a limit. (2h); `complete-unavailable`: It ends
without an error and without data. (Dh); `abort-recovery`: It fails, perhaps during the recovery from an error. (Eh);
`abort`: It fails. (Fh)."""

OrganisationName: TypeAlias = Literal["independent", "concatenate", "raid0", "raid1", "raid10", "raid5"]

ReadPolicy: TypeAlias = Literal[
    "first", "round-robin", "nearest", "fewest-pending", "md-raid1", "md-raid10-near", "md-raid10-far"
]
"""`first`: The first copy that can be read; `round-robin`: The copies in turn; `nearest`: The nearest head; of equal
ones the first; `fewest-pending`: The fewest requests; of equal ones the first; `md-raid1`: The copy that continues the
member's last read, or begins at its head; else the first idle member; else the nearest head; `md-raid10-near`: The
first copy whose member is idle; else the nearest head; `md-raid10-far`: The lowest address on the member."""

Layout: TypeAlias = Literal["left-asymmetric", "right-asymmetric", "left-symmetric", "right-symmetric"]
"""`left-asymmetric`: Parity moves to the left; data begin at the first member; `right-asymmetric`: Parity moves to the
right; data begin at the first member; `left-symmetric`: Parity moves to the left; data begin behind the parity;
`right-symmetric`: Parity moves to the right; data begin behind the parity."""

LayerName: TypeAlias = Literal[
    "independent", "concatenate", "raid0", "raid1", "raid10", "raid5", "host-queue", "link", "throttle", "fault"
]

ElevatorName: TypeAlias = Literal["none", "deadline", "mq-deadline", "ranges", "bfq"]

PowerCondition: TypeAlias = Literal["active", "idle_a", "idle_b", "idle_c", "standby"]
"""`active`: Ready for commands; `idle_a`: Part of the electronics is off; `idle_b`: Heads unloaded as well; `idle_c`:
Lower spindle speed as well; `standby`: Spun down."""

CappingPolicyName: TypeAlias = Literal[
    "feed-forward", "learning", "none", "pcap-agile", "pcap-base", "pcap-s", "throttle"
]
