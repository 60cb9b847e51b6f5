"""Capacity and the file system's allocation unit: NG-9, figures 7 to 9."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import altair as alt

from headstack import formulas
from headstack.studies.rules import Kind, Part, Rule, number, relation
from headstack.studies.study import Outcome, Study, Table

from . import charts, fat, runs, today
from .drive import buffered

#: Workloads of the article that stand-ins replace.
LARGE, SMALL = "PC Bench 7.01 throughput test", "PC Bench 9.0 DOS disk mix"

#: Sizes of the host caches in figure 9, in MiB.
CACHES_MIB = (1, 2)

#: Ranges of capacities in MiB in the article, and their cluster sizes in sectors.
BANDS = ((256, 511, 16.0), (512, 1023, 32.0))

#: A large file of the article's benchmark, in sectors.
LARGEST = 32 * 2**20 // formulas.SECTOR_BYTES


def clusters() -> dict[int, int]:
    """Return the cluster size in sectors of each partition, by its size in MiB."""
    return {mib: fat.Layout(mib).unit for mib in fat.PARTITIONS_MIB}


def figure_7(study: Study) -> dict[int, float]:
    """Return the large-file scores in KB/s by partition."""
    starts = 2 if study.quick else 8
    return {mib: fat.figure_7(mib, starts) for mib in fat.PARTITIONS_MIB}


def figure_9(study: Study) -> dict[int, dict[int, float]]:
    """Return the small-file scores in KB/s by host cache and partition."""
    first = study.choices.seed
    seeds = range(first, first + (1 if study.quick else 5))
    return {
        cache: {
            mib: fat.figure_9(mib, cache * 2**20, seeds, median_kb=study.choices.median_kb)
            for mib in fat.PARTITIONS_MIB
        }
        for cache in CACHES_MIB
    }


@dataclass(frozen=True)
class Scores:
    """Scores in KB/s by partition: of the model, and of the simulator with the model's host."""

    model: Mapping[int, float]
    simulator: Mapping[int, float]


def capacity(study: Study) -> Outcome:
    """Judge the effect of larger clusters on large and small files."""
    large = Scores(figure_7(study), played_large(study))
    small = {
        cache: Scores(found, played_small(study, cache)) for cache, found in figure_9(study).items()
    }
    outcome = Outcome([*_table_parts(), *_large_parts(large), *_small_parts(small)])
    outcome.figures = [
        study.figure("ng-9-large-files", lambda: _figure_7(large)),
        study.figure("ng-9-clusters", lambda: charts.files_on_disk((4, 16), 4, 3)),
        study.figure("ng-9-small-files", lambda: _figure_9(small)),
    ]
    columns = {"large files": large}
    columns |= {f"small files, {c} MB cache": found for c, found in small.items()}
    outcome.tables = [_scores(columns)]
    if not study.varied:
        outcome.figures += today.figures(study)
        outcome.tables += today.tables(study)
    return outcome


def played_large(study: Study) -> dict[int, float]:
    """Return the large-file scores of the simulator, for the accesses of the model's host.

    Each of the sixteen measurements is a separate run; the host's time is distributed evenly
    between accesses.
    """
    found = {}
    for mib in fat.PARTITIONS_MIB:
        machine = fat.Machine(fat.Layout(mib))
        fat.large_files(machine)
        rates = [p.size_kb / _played_s(study, machine, p, 0.0) for p in machine.phases]
        found[mib] = len(rates) / sum(1 / r for r in rates)
    return found


def _played_s(study: Study, machine: fat.Machine, phase: fat.Phase, idle_s: float) -> float:
    """Return the simulated time of a measurement without `idle_s`, the pauses between accesses."""
    accesses = machine.accesses[phase.first : phase.end]
    host = phase.calls * fat.CALL_S
    system = fat.DISK.system("played", switches=True, **buffered())
    mean = runs.played(study, accesses, system, (host + idle_s) / len(accesses))
    return mean * len(accesses) + host


def played_small(study: Study, cache_mib: int = 1) -> dict[int, float]:
    """Return the small-file scores of the simulator in the same way, for one host cache."""
    found = {}
    choices = study.choices
    test = fat.small_files(choices.seed, median_kb=choices.median_kb)
    for mib in fat.PARTITIONS_MIB:
        machine = fat.Machine(fat.Layout(mib))
        score = fat.open_files(machine, test, cache_mib * 2**20)
        size_kb = sum(test.sizes[f] for f in test.opens) * formulas.SECTOR_BYTES / formulas.KB
        phase = fat.Phase(size_kb, size_kb / score, machine.calls, 0, len(machine.accesses))
        found[mib] = size_kb / _played_s(study, machine, phase, len(test.opens) * fat.THINK_S)
    return found


def _table_parts() -> list[Part]:
    parts = [
        number(
            f"cluster of a drive of {mib} Mbytes, formula",
            cluster,
            float(formulas.cluster_sectors(mib)),
            "{:.0f} sectors",
            rule=Rule.PRINTED,
        )
        for low, high, cluster in BANDS
        for mib in (low, high)
    ]
    parts += [
        number(
            f"figure 8: four files of 3 sectors in {c}-sector clusters, formula",
            paper,
            4 * float(formulas.allocated_sectors(3, c)),
            "{:.0f} sectors",
            rule=Rule.PRINTED,
        )
        for c, paper in ((4, 16.0), (16, 64.0))
    ]
    parts.append(number("entries of a FAT sector, formula", 256.0, formulas.FAT_ENTRIES, "{:.0f}",
                        rule=Rule.PRINTED))  # fmt: skip
    few, many = (float(formulas.fat_sectors(LARGEST, c)) for c in (64, 4))
    parts.append(
        relation(
            "FAT sectors of a file of 32 Mbytes, formula",
            "fewer with larger clusters",
            ("clusters of 64", few),
            Rule.LOWER,
            ("of 4", many),
            "{:.0f}",
        )
    )
    parts.append(_counted())
    return parts


def _counted() -> Part:
    """Compare the number of FAT sectors for reading the file in the file-system model."""
    read = {}
    for mib in fat.PARTITIONS_MIB:
        machine = fat.Machine(fat.Layout(mib))
        # Starts at a cluster whose entry is the first of its sector.
        file = fat.File(formulas.FAT_ENTRIES - 2, LARGEST)
        fat.stream(machine, file, write=False)
        read[machine.layout.unit] = machine.table_reads
    return relation(
        "FAT sectors read in reading it in order, model of the file system",
        "fewer FAT accesses",
        ("clusters of 64", read[64]),
        Rule.LOWER,
        ("of 4", read[4]),
        "{:.0f}",
    )


def _large_parts(large: Scores) -> list[Part]:
    parts = []
    for how, found in (("model", large.model), ("simulator", large.simulator)):
        first, last = min(found), max(found)
        parts.append(
            relation(
                f"figure 7: clusters of {clusters()[last]} against {clusters()[first]}, {how}, "
                "stand-in",
                "better performance if the cluster is bigger",
                (f"{last} MiB", found[last]),
                Rule.HIGHER,
                (f"{first} MiB", found[first]),
                "{:.0f} KB/s",
                kind=Kind.STAND_IN,
                workload=LARGE,
            )
        )
    return parts


def _small_parts(small: Mapping[int, Scores]) -> list[Part]:
    cases = [
        (cache, how, found)
        for cache, scores in small.items()
        for how, found in (("model", scores.model), ("simulator", scores.simulator))
    ]
    return [
        relation(
            f"figure 9: {high} against {low} MiB, {cache} MB of host cache, {how}, stand-in",
            "disk scores drop as capacity and cluster increase",
            (f"{high} MiB", found[high]),
            Rule.LOWER,
            (f"{low} MiB", found[low]),
            "{:.0f} KB/s",
            kind=Kind.STAND_IN,
            workload=SMALL,
        )
        for cache, how, found in cases
        for low, high in pairwise(sorted(found))
    ]


def _scores(columns: Mapping[str, Scores]) -> Table:
    rows = []
    for mib, cluster in clusters().items():
        cells = [
            f"{found[mib]:.0f} ({found[mib] / found[min(found)]:.3f})"
            for scores in columns.values()
            for found in (scores.model, scores.simulator)
        ]
        rows.append([f"{mib}", f"{cluster}", *cells])
    headings = [f"{name}, {how}" for name in columns for how in ("model", "simulator")]
    title = "Scores in KB/s, and against the first partition"
    return Table(title, ["partition, MiB", "cluster, sectors", *headings], rows)


def _drawn(lines: Mapping[str, Scores], title: Any, y: str) -> Any:
    """Draw scores against cluster size: lines for the model, marks for the simulator."""
    names = [f"{c} ({mib} MiB)" for mib, c in clusters().items()]
    x = alt.X("x:Q", title="sectors in a cluster (partition)").axis(
        labelExpr=f"{names}[datum.value]", labelAngle=0, values=list(range(len(names))), grid=False
    )
    model = {n: list(enumerate(s.model.values())) for n, s in lines.items()}
    simulator = {n: list(enumerate(s.simulator.values())) for n, s in lines.items()}
    scale = alt.Scale(zero=False)
    return charts.points(model, simulator, title, x, alt.Y("y:Q", title=y, scale=scale))


def _figure_7(large: Scores) -> Any:
    title = [
        "Figure 7: large files, stand-in for PC Bench 7.01",
        "line: model; marks: the simulator below the model's host",
    ]
    return _drawn({"large files": large}, title, "disk harmonic (KB/s, higher is better)")


def _figure_9(small: Mapping[int, Scores]) -> Any:
    title = [
        "Figure 9: small files, stand-in for PC Bench 9.0; lines: model, marks: simulator",
        "higher is better, as the text has it; the article's caption says the reverse",
    ]
    lines = {f"{c} MB of host cache": scores for c, scores in small.items()}
    return _drawn(lines, title, "disk score (KB/s, higher is better)")
