"""Advances in disk technology: performance issues (S. W. Ng, 1998), claim by claim.

Each figure is computed by formula (`headstack.formulas`), and by the simulator on the same drive.
"""

from dataclasses import dataclass

from headstack.studies.study import Choice, Claim, Paper

from . import cylinders, files, times, tracks
from .drive import SETTLE_S, SINGLE_S, WIDE_TRACK_SECTORS


@dataclass(frozen=True)
class Choices:
    """Choices that the article leaves open and that affect verdicts.

    Attributes:
        single_s: seek to the next cylinder; the mean stays 10 ms.
        track_sectors: sectors per track of the hypothetical drive in figures 3 and 4.
        used_mb: space of the scale-free stand-in, in the article's Mbytes.
        settle_s: settling for each factor of e in track density.
        median_kb: median size of the small files.
        seed: seed of every random stream.

    """

    single_s: float = SINGLE_S
    track_sectors: int = WIDE_TRACK_SECTORS
    used_mb: int = 1000
    settle_s: float = SETTLE_S
    median_kb: float = 2.0
    seed: int = 1


SINGLE = Choice(
    "seek to the next cylinder",
    "3 ms",
    {f"{ms:g} ms": {"single_s": ms / 1e3} for ms in (2.0, 2.5, 3.5)},
)
TRACK = Choice(
    "track of the hypothetical drive", "160 sectors", {"111 sectors": {"track_sectors": 111}}
)
USED = Choice(
    "space of the scale-free stand-in",
    "1000 Mbytes",
    {f"{mb} Mbytes": {"used_mb": mb} for mb in (250, 500, 2000)},
)
SETTLE = Choice(
    "settling for each doubling of tpi",
    "0.2 ms",
    {f"{ms:g} ms": {"settle_s": SETTLE_S * ms / 0.2} for ms in (0.1, 0.4)},
)
MEDIAN = Choice(
    "median size of the small files",
    "2 KB",
    {f"{kb:g} KB": {"median_kb": kb} for kb in (1.0, 4.0, 24.0)},
)
SEED = Choice("seed", "1", {f"seed {n}": {"seed": n} for n in (2, 3)})

PAPER = Paper(
    name="ng98",
    title="S. W. Ng, Advances in Disk Technology: Performance Issues, IEEE Computer 31(5), 1998",
    choices=Choices(),
    about=(
        "Each number by formula (headstack.formulas), and by the simulator on the same drive. The "
        "article counts in KB = 1024 bytes, MB = 1000 KB and GB = 1000 MB, its FAT capacities in "
        "MiB. It prints no seek curve and no number of cylinders; those are chosen.",
        "The trace of PC applications (figures 3 and 4) and the PC Bench programs (figures 7 and "
        "9) are not published. Stand-ins run for them, which never decide a verdict: a scale-free "
        "trace, an application trace, and a model of the FAT file system. What is in them, and "
        "how they were chosen, is in docs/guide/papers.md.",
        "What the article contradicts itself in: the formula for head switches is printed with a "
        "misplaced parenthesis; 60 % a year is 26 % each for bpi and tpi, not 27; the caption of "
        "figure 9 says that higher scores are worse, the text the reverse (the text is followed). "
        "Figure 6 shows formats without numbers; here ID fields and their gaps take 15 % of the "
        "track, which is chosen. The simulator takes one zone of whole sectors, so "
        "factors in sectors are rounded; zones by radius, which figures here do not need, and ID "
        "fields as such cannot be put into a drive file: tracks get fewer sectors instead.",
    ),
    claims=(
        Claim(
            "NG-1",
            "components of the time of a request",
            "random 4 KB: 0.5 + 10 + 5.6 + 0.8 = 16.9 ms; local: 0.5 + 10/3 + 5.6 + 0.8 = 10.2 ms; "
            "buffer hit: 0.1 + 0.4 = 0.5 ms; figure 1: latency is the greatest share in local "
            "access",
            times.components,
        ),
        Claim(
            "NG-2",
            "media data rate",
            "111 sectors at 5,400 rpm: 5 MB/s; figure 2: 30 % more gains the more the larger the "
            "block; a channel of 25 MB/s limits the speed",
            times.data_rate,
        ),
        Claim(
            "NG-3",
            "head switches",
            "(request size - 1)/track size x switch time on average; fewer with more bpi",
            tracks.switches,
        ),
        Claim(
            "NG-4",
            "bigger cylinders",
            "30 % more sectors: 77 % of the cylinders, 23 % less distance; 16 MB in cylinders of "
            "480 KB: 3 % chance of no seek; figures 3 and 4: twice the sectors, 7 % fewer seeks, "
            "17 % less time in seeks",
            cylinders.bigger,
            (SINGLE, TRACK, USED, SEED),
        ),
        Claim(
            "NG-5",
            "track density",
            "seek time = A + B sqrt(distance) + C log(tpi): shorter ways, longer settling; bad for "
            "local access",
            cylinders.density,
            (SETTLE,),
        ),
        Claim(
            "NG-6",
            "sustained data rate",
            "figure 5 (10 ms rotation, 2 ms track switch, 4 ms cylinder switch): falls with fewer "
            "heads",
            tracks.sustained,
        ),
        Claim(
            "NG-7",
            "fewer heads at equal capacity; volumetric density",
            "five platters become three at 67 % more density; lower share of the media rate, "
            "smaller cylinder, more seeks, the same physical distance; more heads: the reverse",
            cylinders.fewer_heads,
            (SEED,),
        ),
        Claim(
            "NG-8",
            "no-ID format",
            "more sectors on a track: higher data rate, fewer head switches, fewer and shorter "
            "seeks, no constraint on rpm",
            tracks.no_id,
            (SEED,),
        ),
        Claim(
            "NG-9",
            "larger capacity, larger FAT clusters",
            "clusters of 16 and 32 sectors at 256-511 and 512-1,023 MB; 256 entries in a FAT "
            "sector; figure 7: large files gain; figures 8 and 9: small files lose",
            files.capacity,
            (MEDIAN, SEED),
        ),
    ),
)
