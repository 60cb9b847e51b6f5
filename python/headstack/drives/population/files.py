"""Files of a population: tables of drives and of heads, drive files, summary, figures."""

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from headstack._toml import dumps
from headstack.errors import ConfigError
from headstack.runs import outputs
from headstack.show import plots

from .drawn import Population, description, summary
from .figures import figures

#: Names of the files.
SUMMARY, DRIVES, HEADS, DRIVE_FOLDER = ("population.json", "drives.parquet", "heads.parquet", "drives")


def drives_table(population: Population) -> pd.DataFrame:
    """Return one row for each drive.

    Columns: ``drive``, ``factor`` on all times, ``raw_bytes``, ``quarter_rate_bytes_per_s``,
    ``outer_rate_bytes_per_s`` and ``inner_rate_bytes_per_s`` (zones), ``lowest_class``,
    ``highest_class``, ``weak``, ``damaged_bytes``.
    """
    p = population
    damaged = [0] * len(p)
    for area in p.damage:
        damaged[area.drive] += area.last_byte - area.first_byte
    return pd.DataFrame(
        {
            "drive": range(len(p)),
            "factor": p.factors,
            "raw_bytes": p.raw_bytes,
            "quarter_rate_bytes_per_s": p.quarter_rates(),
            "outer_rate_bytes_per_s": p.zone_rates[:, 0],
            "inner_rate_bytes_per_s": p.zone_rates[:, -1],
            "lowest_class": p.classes.min(axis=1),
            "highest_class": p.classes.max(axis=1),
            "weak": p.weak,
            "damaged_bytes": damaged,
        }
    )


def heads_table(population: Population) -> pd.DataFrame:
    """Return one row for each head: its drive, its place, its width and margin, and its format.

    Columns: ``drive``, ``head``, ``width`` and ``margin`` (logarithms), ``class``, ``bpi`` and
    ``tpi`` (factors).
    """
    p = population
    n, surfaces = p.classes.shape
    densities = p.densities.reshape(-1, 2)
    return pd.DataFrame(
        {
            "drive": [d for d in range(n) for _ in range(surfaces)],
            "head": list(range(surfaces)) * n,
            "width": p.heads.width.ravel(),
            "margin": p.heads.quality.ravel(),
            "class": p.classes.ravel(),
            "bpi": densities[:, 0],
            "tpi": densities[:, 1],
        }
    )


def write(population: Population, out: Path, drive_files: int = 0) -> list[Path]:
    """Write a population into a folder; files of an earlier one are replaced. Return the paths.

    Args:
        population: the population.
        out: the folder.
        drive_files: number of drives, counted from the first, for which drive files are written.

    Raises:
        ConfigError: there are fewer drives, or the folder holds something else.
        OSError: a file cannot be written.
    """
    if not 0 <= drive_files <= len(population):
        raise ConfigError(f"--drives: got {drive_files}, need 0 to {len(population)}")
    with outputs.replacing(out) as written:
        folder = written.path
        text = json.dumps(summary(population), indent=2) + "\n"
        (folder / SUMMARY).write_text(text, encoding="utf-8")
        for name, table in ((DRIVES, drives_table(population)), (HEADS, heads_table(population))):
            pq.write_table(pa.Table.from_pandas(table, preserve_index=False), folder / name)
        if drive_files:
            (folder / DRIVE_FOLDER).mkdir()
        for drive in range(drive_files):
            spec = description(population, drive)
            path = folder / DRIVE_FOLDER / f"{spec['name']}.toml"
            path.write_text(dumps(spec), encoding="utf-8")
        for name, chart in figures(population).items():
            for suffix, content in zip((".png", ".svg"), plots.drawn(chart), strict=True):
                (folder / f"{name}{suffix}").write_bytes(content)
        names = sorted(f.relative_to(folder) for f in folder.rglob("*") if f.is_file())
    return [out / name for name in names]
