"""Capacity and the file system's allocation unit: NG-9, figures 7 to 9."""

import pandas as pd

from headstack.drives import formulas
from headstack.papers.study import Study

from . import fat, runs, today
from .drive import buffered

#: Sizes of the host caches in figure 9, in MiB.
CACHES_MIB = (1, 2)

#: Capacities in MiB at the ends of ranges in the article.
ENDS_MIB = (256, 511, 512, 1023)

#: Of figure 8: files, their sectors, and the clusters.
FILES, FILE_SECTORS, DRAWN_CLUSTERS = 4, 3, (4, 16)

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


def capacity(study: Study) -> dict[str, pd.DataFrame]:
    """Return the effect of larger clusters on large and small files."""
    scores = {"large files": (figure_7(study), played_large(study))}
    for cache, found in figure_9(study).items():
        scores[f"small files, {cache} MB cache"] = (found, played_small(study, cache))
    rows = [
        {
            "files": files,
            "column": f"{files}, {how}",
            "cache_mb": int(files.split()[2]) if "cache" in files else 0,
            "how": how,
            "mib": mib,
            "cluster": cluster,
            "place": i,
            "kb_per_s": found[mib],
            "of_first": found[mib] / found[min(found)],
        }
        for files, both in scores.items()
        for how, found in zip(("model", "simulator"), both, strict=True)
        for i, (mib, cluster) in enumerate(clusters().items())
    ]
    tables = {
        "scores": pd.DataFrame(rows),
        "clusters": pd.DataFrame([{"mib": mib, "sectors": float(formulas.cluster_sectors(mib))} for mib in ENDS_MIB]),
        "allocated": pd.DataFrame(
            [
                {"cluster": c, "sectors": FILES * float(formulas.allocated_sectors(FILE_SECTORS, c))}
                for c in DRAWN_CLUSTERS
            ]
        ),
        "fat": _table_sectors(),
        "on disk": _on_disk(),
    }
    if not study.varied:
        tables |= today.tables(study)
    return tables


def _on_disk() -> pd.DataFrame:
    """Return figure 8: small files in clusters, sector by sector."""
    return pd.DataFrame(
        [
            {
                "clusters": f"{cluster}-sector clusters",
                "holds": f"file {file + 1}" if i < FILE_SECTORS else "unused",
                "sector": file * cluster + i,
                "end": file * cluster + i + 1,
            }
            for cluster in DRAWN_CLUSTERS
            for file in range(FILES)
            for i in range(cluster)
        ]
    )


def _table_sectors() -> pd.DataFrame:
    """Return the FAT sectors of a large file by cluster: by formula, and counted in reading it."""
    rows = []
    for mib in fat.PARTITIONS_MIB:
        machine = fat.Machine(fat.Layout(mib))
        # Starts at a cluster whose entry is the first of its sector.
        file = fat.File(formulas.FAT_ENTRIES - 2, LARGEST)
        fat.stream(machine, file, write=False)
        unit = machine.layout.unit
        rows.append(
            {
                "cluster": unit,
                "entries": formulas.FAT_ENTRIES,
                "formula": float(formulas.fat_sectors(LARGEST, unit)),
                "read": float(machine.table_reads),
            }
        )
    # Partitions are in the order of their clusters, each of twice the sectors of the one before.
    found = pd.DataFrame(rows)
    return found.assign(formula_before=found["formula"].shift(), read_before=found["read"].shift())


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
