"""Intra-disk parallelism: an idea whose time has come (ISCA 2008), claim by claim."""

from headstack.studies.study import Claim, Paper

from . import arms, arrays, background, bottleneck, designs
from .systems import ORIGINALS

PAPER = Paper(
    name="isca08",
    title="S. Sankar, S. Gurumurthi, M. R. Stan, Intra-Disk Parallelism: An Idea Whose Time Has "
    "Come, ISCA 2008",
    workloads=tuple(ORIGINALS),
    about=(
        "Of the four traces only the first minute of Websearch is commonly at hand; its gaps are "
        "stretched to the mean rate of the whole trace. Workloads marked stand-in are synthetic: "
        "the array and, where published, the rate are the paper's, all else is chosen, and what "
        "comes out says nothing about the original trace. They never decide a verdict that a trace "
        "can decide. Give a trace with --trace NAME=PATH.",
        "MD and the conventional large drive order their queues by address (C-LOOK), drives with "
        "several arms by positioning time (SPTF). The paper names SPTF for the latter only; its "
        "statements on seeks and rotation hold in no other way; controls with SPTF everywhere are "
        "shown beside. Seek curves, zones and buffers are typical of the class: the paper prints "
        "none. The volume of its arrays (100 GB) and the power constants are fitted, see "
        "docs/models/power.md.",
    ),
    claims=(
        Claim(
            "IDP-1",
            "drives then and now, and the power of four moving arms",
            "Table 1: four drives with capacity, actuators, power and rate; 34 W with all four arm "
            "assemblies moving against 13 W of the conventional drive, within 3X",
            designs.history,
        ),
        Claim(
            "IDP-2",
            "the DASH taxonomy",
            "any point D_k A_l S_m H_n can be built; D1A1S1H1 is the conventional drive; D1A2S1H1 "
            "offers two transfer paths, D1A2S1H2 four",
            designs.taxonomy,
        ),
        Claim(
            "IDP-3",
            "response times of the original array (MD) and of one large drive (HC-SD)",
            "Figure 2: severe loss for Financial, Websearch and TPC-C; hardly any for TPC-H "
            "(8.76 ms between arrivals; 3.99 ms on MD, 4.86 ms on HC-SD)",
            bottleneck.gap,
        ),
        Claim(
            "IDP-4",
            "power by mode of MD and HC-SD",
            "Figure 3: HC-SD draws an order of magnitude less; most of MD's power is idle power",
            bottleneck.power,
        ),
        Claim(
            "IDP-5",
            "limit study: seek times and rotational latencies scaled",
            "Figure 4: rotational latency is the primary bottleneck; a quarter of it beats MD on "
            "Websearch, TPC-C and TPC-H; a 64 MB buffer changes next to nothing",
            bottleneck.limits,
        ),
        Claim(
            "IDP-6",
            "response times and rotational latencies of SA(n)",
            "Figure 5: SA(2) nearly matches MD on Websearch and TPC-C, SA(3) beats it; returns "
            "diminish past three arms; SA(2) differs from (1/2)R",
            arms.designs,
        ),
        Claim(
            "IDP-7",
            "power by mode of SA(n) at 7200, 6200, 5200 and 4200 rpm",
            "Figure 6: 55 %, 83 % and 90 % of Websearch's requests seek on SA(1), SA(2), SA(4); "
            "power rises with seeking, and not where rotational waiting dominated",
            arms.power,
        ),
        Claim(
            "IDP-8",
            "slower drives with several arms",
            "Figure 7: several slower designs match or beat MD at an order of magnitude less power",
            arms.slower_designs,
        ),
        Claim(
            "IDP-9",
            "arrays of 1 to 16 drives",
            "Figure 8: at 8 ms one SA(4) = two SA(2) = four HC-SD in p90, at 1 ms 4 = 8 = 16; "
            "61.4, 37.1, 26.2 W at 8 ms; 41 % and 60 % less power at equal performance",
            arrays.arrays,
        ),
        Claim(
            "IDP-10",
            "two relaxations: several arms in motion, several channels",
            "little benefit over SA(n)",
            arms.relaxations,
        ),
        Claim(
            "IDP-11",
            "graceful degradation",
            "a failing head or arm assembly is deconfigured, at once or on a warning, and "
            "the drive goes on with the rest",
            designs.faults,
        ),
        Claim(
            "IDP-12",
            "material cost",
            "Table 9(a): $67.7-80.8, $100.4-116.6, $165.8-188.2 for 1, 2, 4 actuators; figure "
            "9(b): two SA(2) 27 % and one SA(4) 40 % cheaper than four conventional drives",
            designs.cost,
        ),
        Claim(
            "IDP-13",
            "freeblock scheduling against an idle second arm",
            "an idle arm can do what freeblock scheduling does, without its deadline: background "
            "reads must fit into the rotational gap of a foreground request",
            background.freeblock,
        ),
    ),
)
