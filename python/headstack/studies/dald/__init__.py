"""J. A. Chandy, "A Dual Actuator Logging Disk Architecture": claims DALD-1 to DALD-8."""

from headstack.studies.as_code import Choice, Claim, Paper

from . import adaptive, cleaning, cylinders, latency, today
from .systems import Choices

TIES = Choice(
    "slot of several that pass at the same time",
    "that at any distance",
    {"that of the nearest cylinder": {"ties": "nearest"}},
)
INITIAL = Choice(
    "how the first 1,000,000 sectors were written",
    "by the logging disk itself",
    {"in order, without gaps": {"initial": "in-order"}},
)
SETTLE = Choice("write settling", "before every write", {"after movements only": {"every": False}})
POLICY = Choice(
    "free slot that a write takes",
    "the soonest one of the disk",
    {
        "own cylinder, or the frontier": {"policy": "current-or-frontier"},
        "end of the written area": {"policy": "append"},
    },
)
SEED = Choice("seed", "1", {f"seed {n}": {"seed": n} for n in (2, 3)})

PAPER = Paper(
    name="dald",
    title="J. A. Chandy, A Dual Actuator Logging Disk Architecture",
    choices=Choices(),
    workloads=today.WORKLOADS,
    about=(
        "The paper prints curves and sentences, and no value of a curve, so its words are judged. "
        "Access latency is the time from the start of service to its end.",
        "What the paper leaves open was chosen: blocks of 8 aligned sectors; a write takes the "
        "free slot that the heads reach soonest on the whole disk; the logging disks have written "
        "the first 1,000,000 sectors in the same way; write settling before every write; the array "
        "splits each request over two synchronised disks; in DALD the first arm writes and the "
        "second, half a turn further, reads; one arm works at a time.",
        "Slots of many cylinders pass at the same moment, because seeks over neighbouring "
        "distances differ by a microsecond and slots by 200. Which one is taken decides how dense "
        "the written area becomes. One at any distance, all alike probable, leaves about 30 per "
        "cent of it free, which fits the paper's words on free slots; the nearest leaves 4.",
    ),
    claims=(
        Claim(
            "DALD-1",
            "the drives of tables 1 and 2 under the paper's workload",
            "linear seeks, one zone, write settling; 1,000,000 sectors, 500,000 requests of 4 KB, "
            "Poisson, 10/s",
            latency.setting,
            (SEED,),
        ),
        Claim(
            "DALD-2",
            "figures 2-4 and 10-12: access latency by write frequency",
            "clear advantage of two arms and of logging over a normal disk and an array; a second "
            "arm roughly halves the access time",
            latency.figures,
            (TIES, INITIAL, SETTLE, POLICY),
        ),
        Claim(
            "DALD-3",
            "figures 5-9: access latency by new write frequency",
            "no difference at w = 0 and w = 1; DALD better between when eta > 0; equal at eta = 0",
            latency.new_writes,
            (TIES, INITIAL, SETTLE, POLICY, SEED),
        ),
        Claim(
            "DALD-4",
            "reads and writes of DALD; what is best when",
            "reads as a normal disk, writes near zero; DAD best for reads; the breakeven is lower "
            "for DALD than for the log",
            latency.reads_and_writes,
            (TIES, INITIAL, SETTLE, POLICY),
        ),
        Claim(
            "DALD-5",
            "the array",
            "response times comparable to a single disk",
            latency.array,
        ),
        Claim(
            "DALD-6",
            "why the Cheetah gains less",
            "fewer cylinders, not faster rotation",
            cylinders.reason,
            (TIES, SETTLE),
        ),
        Claim(
            "DALD-7",
            "cleaning",
            "needed continuously by the single-arm log, by DALD only near the end of the disk",
            cleaning.judge,
        ),
        Claim(
            "DALD-8",
            "adaptive drive",
            "never worse than the better of DALD and DAD by more than a switch costs",
            adaptive.judged,
            (SEED,),
        ),
    ),
)
