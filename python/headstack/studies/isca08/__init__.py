"""Intra-disk parallelism: an idea whose time has come (ISCA 2008), claim by claim."""

from headstack.studies.as_code import Choice, Claim, Paper, Study

from . import arms, arrays, background, bottleneck, designs, drive_power
from .systems import Choices


def _any_trace(study: Study) -> bool:
    return bool(study.traces)


def _no_trace(study: Study) -> bool:
    return not study.traces


def _websearch(study: Study) -> bool:
    return "websearch" in study.traces


ORDER = Choice(
    "order of the queues of drives with one arm assembly (MD, HC-SD, SA(1))",
    "by address (C-LOOK)",
    {"SPTF everywhere": {"conventional": "sptf"}},
)
RATE = Choice(
    "rate of Websearch",
    "297 requests/s, the mean of the whole trace",
    {"the trace's own rate": {"rate": None}},
    _websearch,
)
STRETCH = Choice(
    "stretch of the trace",
    "all of it",
    {
        "first third": {"stretch": (0, 1 / 3)},
        "second third": {"stretch": (1 / 3, 2 / 3)},
        "last third": {"stretch": (2 / 3, 1)},
    },
    _any_trace,
)
SEED = Choice("seed of the stand-ins", "1", {f"seed {n}": {"seed": n} for n in (2, 3)}, _no_trace)
RUN_SEED = Choice("seed", "1", {f"seed {n}": {"seed": n} for n in (2, 3)})
PROFILE = Choice(
    "profile of the power model",
    "main (Table 1 and the drive's manual)",
    {
        "table-1 (motor and voice coils alone)": {"profile": "table-1"},
        "raid-fitted (to the watts of section 7.3)": {"profile": "raid-fitted"},
    },
)
FOOTPRINT = Choice(
    "volume striped over the array",
    "100 GB",
    {
        **{size: {"footprint": size} for size in ("20 GB", "60 GB", "80 GB", "125 GB", "150 GB")},
        **{size: {"footprint": size} for size in ("200 GB", "750 GB")},
        "whole capacity": {"footprint": None},
    },
)
ON_TRACES = (ORDER, RATE, STRETCH, SEED)

PAPER = Paper(
    name="isca08",
    title="S. Sankar, S. Gurumurthi, M. R. Stan, Intra-Disk Parallelism: An Idea Whose Time Has "
    "Come, ISCA 2008",
    workloads={
        "financial": ("[Ff]inancial*",),
        "websearch": ("[Ww]eb[Ss]earch*", "wsrch*.trace*"),
        "tpc-c": ("[Tt][Pp][Cc]-[Cc]*", "[Tt][Pp][Cc][Cc]*"),
        "tpc-h": ("[Tt][Pp][Cc]-[Hh]*", "[Tt][Pp][Cc][Hh]*"),
    },
    choices=Choices(),
    about=(
        "Of the four traces only the first minute of Websearch is commonly at hand; its gaps are "
        "stretched to the mean rate of the whole trace. Where a trace is missing a synthetic "
        "stand-in runs: the array and, where published, the rate are the paper's, all else is "
        "chosen, and what comes out says nothing about the original trace. Stand-ins never decide "
        "a verdict. Give a trace with --trace NAME=PATH, or put it into the folder that "
        "docs/guide/papers.md names.",
        "Drives with one arm assembly (MD, HC-SD, which is SA(1)) order their queues by address "
        "(C-LOOK), drives with several by positioning time (SPTF). The paper names SPTF for the "
        "latter only. What other choices give stands in each claim's sensitivity table. Seek "
        "curves, zones and buffers are typical of the class: the paper prints none. The power "
        "constants are fitted, see docs/models/power.md.",
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
            ON_TRACES,
        ),
        Claim(
            "IDP-4",
            "power by mode of MD and HC-SD",
            "Figure 3: HC-SD draws an order of magnitude less; most of MD's power is idle power",
            bottleneck.power,
            (*ON_TRACES, PROFILE),
        ),
        Claim(
            "IDP-5",
            "limit study: seek times and rotational latencies scaled",
            "Figure 4: rotational latency is the primary bottleneck; a quarter of it beats MD on "
            "Websearch, TPC-C and TPC-H; a 64 MB buffer changes next to nothing",
            bottleneck.limits,
            ON_TRACES,
        ),
        Claim(
            "IDP-6",
            "response times and rotational latencies of SA(n)",
            "Figure 5: SA(2) nearly matches MD on Websearch and TPC-C, SA(3) beats it; returns "
            "diminish past three arms; SA(2) differs from (1/2)R",
            arms.designs,
            ON_TRACES,
        ),
        Claim(
            "IDP-7",
            "power by mode of SA(n) at 7200, 6200, 5200 and 4200 rpm",
            "Figure 6: 55 %, 83 % and 90 % of Websearch's requests seek on SA(1), SA(2), SA(4); "
            "power rises with seeking, and not where rotational waiting dominated",
            drive_power.power,
            (*ON_TRACES, PROFILE),
        ),
        Claim(
            "IDP-8",
            "slower drives with several arms",
            "Figure 7: several slower designs match or beat MD at an order of magnitude less power",
            drive_power.slower_designs,
            (*ON_TRACES, PROFILE),
        ),
        Claim(
            "IDP-9",
            "arrays of 1 to 16 drives",
            "Figure 8: at 8 ms one SA(4) = two SA(2) = four HC-SD in p90, at 1 ms 4 = 8 = 16; "
            "61.4, 37.1, 26.2 W at 8 ms; 41 % and 60 % less power at equal performance",
            arrays.arrays,
            (ORDER, FOOTPRINT, PROFILE, RUN_SEED),
        ),
        Claim(
            "IDP-10",
            "two relaxations: several arms in motion, several channels",
            "little benefit over SA(n)",
            arms.relaxations,
            ON_TRACES,
        ),
        Claim(
            "IDP-11",
            "graceful degradation",
            "a failing head or arm assembly is deconfigured, at once or on a warning, and "
            "the drive goes on with the rest",
            designs.faults,
            (RUN_SEED,),
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
            (RUN_SEED,),
        ),
    ),
)
