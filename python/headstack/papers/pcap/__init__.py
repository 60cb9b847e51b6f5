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
        start: sizes of the queues where the throughput mode begins in Figures 4 to 6, as (drive,
            host); the other modes begin at (1, 4) everywhere.
        open_start: the same for Figures 7 to 9.
        snap_back: the parameter of `pcap-agile`, where it is not its own.
        shelf_threads: number of threads of each drive of Figure 10.
        law: the law of the energy of seeks: one of `runs.LAWS`.
        channel: the time for which the channel stays on after a command.
    """

    seed: int = 1
    threads: int = 128
    rounding: str = "down"
    together: bool = True
    start: tuple[int, int] = (1, 4)
    open_start: tuple[int, int] = (32, 128)
    snap_back: str = "drive"
    shelf_threads: int = 16
    law: str = "coast from the end of acceleration"
    channel: str = "1 s"
