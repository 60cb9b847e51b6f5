"""SNOW-1: adaptive zoning, and its use of the heads that classic zoning scraps."""

from dataclasses import replace

import numpy as np
import pandas as pd

from headstack.drives import population
from headstack.drives.population import Policy
from headstack.drives.population.format import track_bytes
from headstack.papers.study import Study

from . import sets

#: Number of heads from which yields are computed, and the margins of quality.
_DRIVES, _QUALITIES = 5000, (0.0155, 0.02, 0.03, 0.05, 0.08)

#: The area of Figure 1, at nominal density.
_SECTORS, _TRACKS = 16, 18


def policies() -> list[Policy]:
    """Return the classic policy, and that of the drives of 2008."""
    return [Policy("classic", lowest=0, highest=0), population.preset(sets.SPREAD).policy]


def yields(quality: float) -> dict[str, float]:
    """Return the share of heads that each policy can use, at a mean margin; no weak drives."""
    model = population.preset(sets.SPREAD).heads
    model = replace(model, quality_mean=quality, quality_sd=0.2 * quality, weak_probability=0.0)
    shared, _ = model.drives(_DRIVES, 0)
    heads = model.heads(shared, 8, 0)
    return {p.name: float(p.fit(heads).used.mean()) for p in policies()}


def adaptive(study: Study) -> dict[str, pd.DataFrame]:
    """Return the surfaces of figure 1, the yields of the policies and what they cost."""
    drawn = sets.draw(sets.SPREAD, 25, 0)
    drive = int(np.argmax(np.ptp(drawn.classes, axis=1)))
    classes = drawn.classes[drive]
    wide, narrow = int(np.argmax(classes)), int(np.argmin(classes))
    middle = int(np.argmin(np.abs(classes - (classes.max() + classes.min()) / 2)))
    size, tracks = track_bytes(drawn.spec, drawn.densities[drive])
    rates = sets.head_rates(drawn)[drive, 0]
    held = size[0] * tracks
    surfaces = [
        {"surface": name, "mb_per_s": rates[h] / 1e6, "tracks": tracks[h], "band_mb": held[h] / 1e6}
        for name, h in (("more sectors", wide), ("fewer sectors", narrow))
    ]
    ratios = {"rates": rates[wide] / rates[narrow], "sectors": size[0, wide] / size[0, narrow]}
    shown = {"wide head": wide, "middle head": middle, "narrow head": narrow}
    areas = [
        _area(f"{name}: {float(rates[h]) / 1e6:.0f} MB/s", *drawn.densities[drive, h]) for name, h in shown.items()
    ]
    return {
        "surfaces": pd.DataFrame(surfaces),
        "ratios": pd.DataFrame([ratios]),
        "yields": pd.DataFrame([{"margin": q, **yields(q)} for q in _QUALITIES]),
        "area": pd.concat(areas),
        **_economics(),
    }


def _area(title: str, bpi: float, tpi: float) -> pd.DataFrame:
    """Return the sectors of the same area of a surface, as rectangles."""
    along = round(_SECTORS * bpi)
    # Tracks for the same capacity as a nominal surface; rounding both numbers would hide this.
    across = round(_SECTORS * _TRACKS * bpi * tpi / along)
    said = f"{title}\n{along} sectors on each of {across} tracks: {along * across}"
    return pd.DataFrame(
        [
            {"surface": said, "left": s / along, "right": (s + 1) / along, "bottom": t / across,
             "top": (t + 1) / across}
            for t in range(across)
            for s in range(along)
        ]
    )  # fmt: skip


def _trades() -> list[population.Trade]:
    preset = population.preset(sets.SPREAD)
    drawn = sets.draw(sets.SPREAD, 1, 0)
    surfaces = drawn.classes.shape[1]
    return population.trade(preset.heads, policies(), surfaces, drawn.capacity_bytes)


def _economics() -> dict[str, pd.DataFrame]:
    """Return what each policy costs, at the density that is cheapest for it and at all others."""
    best, curve = [], []
    for t in _trades():
        i = t.best
        best.append(
            {
                "policy": t.policy,
                "density_change": np.expm1(-t.backoff[i]),
                "yield": t.yields[i],
                "usd_per_tb": t.usd_per_tb[i],
                "nominal_yield": t.yields[t.nominal],
                "nominal_usd_per_tb": t.usd_per_tb[t.nominal],
            }
        )
        points = [
            {"policy": t.policy, "density_percent": 100 * (float(np.exp(-x)) - 1), "usd_per_tb": usd}
            for x, usd in zip(t.backoff, t.usd_per_tb, strict=True)
            if usd < 2 * t.usd_per_tb[i]
        ]
        curve += points[::4]
    return {"best": pd.DataFrame(best), "cost": pd.DataFrame(curve)}
