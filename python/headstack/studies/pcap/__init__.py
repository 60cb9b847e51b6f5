"""PCAP: performance-aware power capping for the disk drive in the cloud (Khatib and Bandic, 2016).

Each figure is simulated with the drive, queues, threads and meter of the paper's set-up.
"""

from dataclasses import dataclass

from headstack.studies.as_code import Choice, Claim, Comparison, Paper

from . import control, loads, ours, power


@dataclass(frozen=True)
class Choices:
    """What the paper leaves open.

    Attributes:
        seed: seed of every random stream.
        threads: number of threads of fio, where the paper says "enough" or "multiple".
        rounding: rounding of the steps of equations 1 and 2.
        together: whether threads of limited rate submit at the same moments.

    """

    seed: int = 1
    threads: int = 128
    rounding: str = "down"
    together: bool = True


SEED = Choice("seed", "1", {f"seed {n}": {"seed": n} for n in (2, 3)})
THREADS = Choice("threads of fio", "128", {"64 threads": {"threads": 64}})
ROUNDING = Choice("rounding of the steps of queues", "cut off", {"up": {"rounding": "up"}})
TOGETHER = Choice("threads of limited rate", "due together", {"apart": {"together": False}})

PAPER = Paper(
    name="pcap",
    title="M. G. Khatib and Z. Bandic, PCAP: Performance-aware Power Capping for the Disk Drive in "
    "the Cloud, FAST 2016",
    choices=Choices(),
    about=(
        "The text of the paper was available, but not its figures. So each part compares with a "
        "number or a relation that the text states. Some values of the drive were fitted to these "
        "numbers: overhead, order of commands, energy of seeks. The file "
        "drives/ultrastar-7k4000-pcap.toml says to which numbers. A part whose value was fitted "
        "says so. Static powers are those of the text. All else is a result: where the peak of "
        "power lies, how power changes with both queues, and what the controllers do.",
        "Response times count from the admission to the host's queue, like fio's completion "
        "latency. The time that a thread sleeps before its request exists is not part of them. "
        "Counted from submission, almost none of the requests of 128 threads would take less than "
        "100 ms, whatever the policy.",
        "Where the paper leaves something open, a value was chosen: 128 threads, the caps after "
        "minute 25, how fractions of a step are rounded, which queue changes first, and a start "
        "with queues of (1, 4). Where the paper contradicts itself, the part says inconsistent: "
        "idle power of 8 W or 6.5 W; 45 % idle time below 90 requests per second; 9.5 W or 9.2 W "
        "at the highest throughput; 10 W with two threads; low throughput during the base "
        "controller's delay; and 10 % under 100 ms with throttling.",
    ),
    claims=(
        Claim(
            "PCAP-1",
            "dynamic power of four drives",
            "figure 1: up to 4 W sequential, 5 W random",
            power.four_drives,
        ),
        Claim(
            "PCAP-2",
            "power over a throttled rate",
            "figure 2, observations 1 and 2: sequential 7 to 8 W, rising; random "
            "7 to 10.5 W, rising to about 90 "
            "requests per second, then falling towards 200",
            power.throttling,
        ),
        Claim(
            "PCAP-3",
            "power over the sizes of both queues",
            "figure 3, observations 3 to 5: falls with the host's queue; with the drive's falls at "
            "small and rises at large host queues; 150 requests per second at (8,"
            " 32), 200 at (32, 128)",
            power.queues,
        ),
        Claim(
            "PCAP-4",
            "base and agile controller",
            "figure 4, table 1: without bounds the host's queue grows to 219 and releases slowly",
            control.controllers,
            (SEED, ROUNDING),
        ),
        Claim(
            "PCAP-5",
            "throughput and tail-latency mode",
            "figure 5: 200 requests per second and 2.7 s against 140 and 1.3 s; 60 % against 20 % "
            "under 100 ms",
            control.modes,
            (SEED, THREADS, ROUNDING),
        ),
        Claim(
            "PCAP-6",
            "PCAP against throttling",
            "figure 6: 117 requests per second against 154 and 102; 10 % under 100 ms; 2.5 s",
            control.throttled,
            (SEED, THREADS),
        ),
        Claim(
            "PCAP-7",
            "threads and load",
            "figure 7: no capping below 4 threads; 9 W at 32 threads, 8 W at 64, and at 16 and 32 "
            "in tail-latency mode; 8 W violated at 40 to 95 % utilisation",
            control.concurrency,
            (TOGETHER,),
        ),
        Claim(
            "PCAP-8",
            "batch job",
            "figure 8: 33 % longer at 8 W, not linear in the cap",
            loads.batch,
            (SEED,),
        ),
        Claim(
            "PCAP-9",
            "bursty load",
            "figure 9: 190 to 170 requests per second; bursts share the cut (11 "
            "%, 17 %), troughs absorb it",
            loads.bursty,
        ),
        Claim(
            "PCAP-10",
            "PCAP/S over three tiers",
            "figure 10: tier 3 cut first; 160 W at the cap of 150 W, up to 22 %; 80, 70 and 55 % "
            "under 100 ms",
            loads.shelf,
            (SEED,),
        ),
    ),
    compared=Comparison(ours.policies, {"websearch": ("[Ww]eb[Ss]earch*", "wsrch*.trace*")}),
)
