"""PCAP: performance-aware power capping for the disk drive in the cloud (Khatib and Bandic, 2016).

Each figure is simulated with the drive, queues, threads and meter of the paper's set-up.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Choices:
    """What the paper leaves open.

    Attributes:
        seed: seed of every random stream; of several, the first.
        threads: number of threads of fio, where the paper says "enough" or "multiple".
        rounding: rounding of the steps of equations 1 and 2.
        together: whether threads of limited rate submit at the same moments.
        start: sizes of the queues where the throughput mode begins, as (drive, host), in every
            figure; the other modes begin at (1, 4).
        shelf_threads: number of threads of each drive of Figure 10.

    """

    seed: int = 1
    threads: int = 128
    rounding: str = "down"
    together: bool = True
    start: tuple[int, int] = (32, 128)
    shelf_threads: int = 128
