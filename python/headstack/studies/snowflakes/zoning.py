"""SNOW-1: adaptive zoning, and its use of the heads that classic zoning scraps."""

from dataclasses import replace

import numpy as np

from headstack import population
from headstack.population import Policy
from headstack.population.format import track_bytes
from headstack.studies.as_code import Outcome, Study, Table
from headstack.studies.rules import Kind, Rule, relation

from . import charts, sets

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


def adaptive(study: Study) -> Outcome:
    """Judge SNOW-1."""
    drawn = sets.draw(sets.SPREAD, 25, 0)
    spread = np.ptp(drawn.classes, axis=1)
    drive = int(np.argmax(spread))
    classes = drawn.classes[drive]
    wide, narrow = int(np.argmax(classes)), int(np.argmin(classes))
    size, tracks = track_bytes(drawn.spec, drawn.densities[drive])
    rates = sets.head_rates(drawn)[drive, 0]
    found = {q: yields(q) for q in _QUALITIES}
    held = size[0] * tracks
    parts = [
        relation(
            "rate of the surface with more sectors per track",
            "faster",
            ("more sectors", float(rates[wide]) / 1e6),
            Rule.HIGHER,
            ("fewer sectors", float(rates[narrow]) / 1e6),
            "{:.1f} MB/s",
        ),
        relation(
            "rate against sectors per track",
            "directly proportional",
            ("ratio of rates", float(rates[wide] / rates[narrow])),
            Rule.SAME,
            ("ratio of sectors", float(size[0, wide] / size[0, narrow])),
            "{:.4f}",
        ),
        relation(
            "tracks of the surface with more sectors per track",
            "fewer tracks",
            ("more sectors", float(tracks[wide])),
            Rule.LOWER,
            ("fewer sectors", float(tracks[narrow])),
            "{:.0f} in a band",
        ),
        relation(
            "areal density of the two surfaces",
            "equivalent",
            ("more sectors", float(held[wide]) / 1e6),
            Rule.SAME,
            ("fewer sectors", float(held[narrow]) / 1e6),
            "{:.2f} MB in a band",
            kind=Kind.INPUT,
            note="the menu of formats has equal areal densities; what differs is rounding",
        ),
        *(
            relation(
                f"heads that adaptive zoning can use, at a margin of {q:g}",
                "instead of discarding heads that miss one predefined density",
                ("adaptive", share["adaptive"]),
                Rule.HIGHER,
                ("classic", share["classic"]),
                "{:.0%}",
                note="on the same heads; the paper gives no yield",
            )
            for q, share in found.items()
        ),
    ]
    tables = [
        Table(
            "Yield of heads (spread of 2008, no weak drives)",
            ["mean margin q", *next(iter(found.values()))],
            [[f"{q:g}", *(f"{v:.3f}" for v in share.values())] for q, share in found.items()],
        ),
        economics(),
    ]
    areas = {
        f"{name}: {float(rates[h]) / 1e6:.0f} MB/s": tuple(drawn.densities[drive, h])
        for name, h in (
            ("wide head", wide),
            ("middle head", int(np.argmin(np.abs(classes - (classes.max() + classes.min()) / 2)))),
            ("narrow head", narrow),
        )
    }
    figures = [
        study.figure("snow-1-zoning", lambda: charts.surfaces(areas, _SECTORS, _TRACKS)),
        study.figure("snow-1-cost", cost_figure),
    ]
    return Outcome(parts, figures=figures, tables=tables)


def _trades() -> list[population.Trade]:
    preset = population.preset(sets.SPREAD)
    drawn = sets.draw(sets.SPREAD, 1, 0)
    surfaces = drawn.classes.shape[1]
    return population.trade(preset.heads, policies(), surfaces, drawn.capacity_bytes)


def economics() -> Table:
    """Return what each policy costs at the density that is cheapest for it."""
    rows = []
    for t in _trades():
        i = t.best
        rows.append(
            [
                t.policy,
                f"{np.expm1(-t.backoff[i]):+.1%}",
                f"{t.yields[i]:.1%}",
                f"{t.usd_per_tb[i]:.2f}",
                f"{t.yields[t.nominal]:.1%}",
                f"{t.usd_per_tb[t.nominal]:.2f}",
            ]
        )
    headings = ["policy", "areal density", "yield of heads", "$ per TB"]
    return Table(
        "Material of a drive per TB, where each policy is cheapest, and at nominal density "
        "(prices of docs/models/cost.md; exchange of density against margin chosen)",
        [*headings, "yield at nominal", "$ per TB at nominal"],
        rows,
    )


def cost_figure() -> object:
    """Draw dollars per TB against density."""
    points = {
        t.policy: [
            (100 * (float(np.exp(-x)) - 1), float(usd))
            for x, usd in zip(t.backoff, t.usd_per_tb, strict=True)
            if usd < 2 * t.usd_per_tb[t.best]
        ][::4]
        for t in _trades()
    }
    return charts.lines(
        points,
        "What scrapped heads cost: material per TB against density",
        "areal density against the nominal one (%)",
        "$ per TB",
    )
