"""Capacity and the file system's allocation unit: NG-9, figures 7 to 9."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from headstack import formulas, plots
from headstack.formulas import KB
from headstack.studies.rules import Kind, Part, Rule, number, relation
from headstack.studies.study import Outcome, Study, Table

from . import charts, fat, today

#: Workloads of the article that stand-ins replace.
LARGE, SMALL = "PC Bench 7.01 throughput test", "PC Bench 9.0 DOS disk mix"

#: Host caches of figure 9, in MiB.
CACHES_MIB = (1, 2)

#: Bounds of the article's capacities in MiB, and the cluster between them.
BANDS = ((256, 511, 16.0), (512, 1023, 32.0))

#: A large file of the article's benchmark, in sectors.
LARGEST = 32 * 2**20 // formulas.SECTOR_BYTES


def clusters() -> dict[int, int]:
    """Return the cluster in sectors of each partition, by its size in MiB."""
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


def capacity(study: Study) -> Outcome:
    """Judge what larger clusters do to large and to small files."""
    large, small = figure_7(study), figure_9(study)
    outcome = Outcome([*_table_parts(), *_large_parts(large), *_small_parts(small)])
    outcome.figures = [
        study.figure("ng-9-large-files", lambda: _figure_7(large)),
        study.figure("ng-9-clusters", lambda: charts.files_on_disk((4, 16), 4, 3)),
        study.figure("ng-9-small-files", lambda: _figure_9(small)),
        *today.figures(study),
    ]
    outcome.tables = [_scores(large, small), *today.tables(study)]
    return outcome


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
    """Compare the FAT sectors that reading the file takes in the model of the file system."""
    read = {}
    for mib in fat.PARTITIONS_MIB:
        machine = fat.Machine(fat.Layout(mib))
        # From a cluster whose entry is the first of its sector.
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


def _large_parts(large: Mapping[int, float]) -> list[Part]:
    first, last = min(large), max(large)
    of: dict[str, Any] = {"kind": Kind.STAND_IN, "workload": LARGE}
    return [
        relation(
            f"figure 7: clusters of {clusters()[last]} against {clusters()[first]}, stand-in",
            "better performance if the cluster is bigger",
            (f"{last} MiB", large[last]),
            Rule.HIGHER,
            (f"{first} MiB", large[first]),
            "{:.0f} KB/s",
            **of,
        )
    ]


def _small_parts(small: Mapping[int, Mapping[int, float]]) -> list[Part]:
    parts = []
    for cache, scores in small.items():
        sizes = sorted(scores)
        for low, high in zip(sizes, sizes[1:], strict=False):
            parts.append(
                relation(
                    f"figure 9: {high} against {low} MiB, {cache} MB of host cache, stand-in",
                    "disk scores drop as capacity and cluster increase",
                    (f"{high} MiB", scores[high]),
                    Rule.LOWER,
                    (f"{low} MiB", scores[low]),
                    "{:.0f} KB/s",
                    kind=Kind.STAND_IN,
                    workload=SMALL,
                )
            )
    return parts


def _scores(large: Mapping[int, float], small: Mapping[int, Mapping[int, float]]) -> Table:
    rows = []
    for mib in large:
        scores = [large[mib], *(found[mib] for found in small.values())]
        firsts = [large[min(large)], *(found[min(large)] for found in small.values())]
        cells = (f"{s:.0f} ({s / f:.3f})" for s, f in zip(scores, firsts, strict=True))
        rows.append([f"{mib}", f"{clusters()[mib]}", *cells])
    headings = ["partition, MiB", "cluster, sectors", "large files"]
    caches = [f"small files, {c} MB cache" for c in small]
    return Table("Scores in KB/s, and against the first partition", [*headings, *caches], rows)


def _axis() -> alt.X:
    names = [f"{mib} MiB: {c}" for mib, c in clusters().items()]
    return alt.X("x:O", title="partition: sectors in a cluster").axis(
        labelExpr=f"{names}[datum.value]", labelAngle=0
    )


def _line(scores: Mapping[int, float]) -> Sequence[tuple[float, float]]:
    return list(enumerate(scores.values()))


def _figure_7(large: Mapping[int, float]) -> Any:
    y = alt.Y("y:Q", title="disk harmonic (KB/s)", scale=alt.Scale(zero=False))
    title = "Figure 7: large files, stand-in for PC Bench 7.01 (higher is better)"
    return plots.lines({"large files": _line(large)}, _axis(), y, title, markers=True)


def _figure_9(small: Mapping[int, Mapping[int, float]]) -> Any:
    lines = {f"{c} MB of host cache": _line(scores) for c, scores in small.items()}
    y = alt.Y("y:Q", title="disk score (KB/s)", scale=alt.Scale(zero=False))
    title = [
        "Figure 9: small files, stand-in for PC Bench 9.0 (higher is better: the article's",
        "caption says degraded, its text that scores drop with performance)",
    ]
    chart = plots.lines(lines, _axis(), y, "", markers=True)
    return chart.properties(title=title)


