"""HC-SD-SA(n): several arm assemblies in one drive, the paper's section 7.2."""

from dataclasses import replace
from typing import Any

from headstack.studies.as_code import Outcome, Study
from headstack.studies.rules import Kind, Part, Rule, number, relation

from . import charts
from .arrays import Cell
from .bottleneck import MS, limited
from .systems import FULL_RPM, Load, Systems, loads, mean_ms, runs

ARMS = (2, 3, 4)

#: Ends of the distributions of rotational latencies in ms: of (1/2)R and of SA(2).
TAILS_MS = {"websearch": (11.0, 7.0), "tpc-c": (9.5, 7.0)}


def designs(study: Study) -> Outcome:
    """Judge figure 5: response times and rotational latencies of SA(n)."""
    outcome, s = Outcome(), Systems(study.choices)
    for workload in loads(study):
        drives = [s.hc_sd(), s.sa(1), *(s.sa(n) for n in ARMS), limited(s, "(1/2)R")]
        r = study.run(runs(workload, s.md(workload.key), *drives, rotation=True))
        outcome.parts += _design_parts(workload, r)
        shown = {k: v for k, v in r.items() if k not in ("(1/2)R", "SA(1)")}
        title = f"Figure 5: {workload.title}, response times of SA(n)"
        outcome.figures += charts.responses(study, f"idp-6-{workload.key}", title, shown)
        shown = {k: v for k, v in r.items() if k not in ("MD", "SA(1)")}
        title = f"Figure 5: {workload.title}, rotational latencies of SA(n)"
        name = f"idp-6-{workload.key}-rotation"
        outcome.figures += charts.latencies(study, name, title, shown)
        outcome.tables.append(charts.numbers(workload, r))
    outcome.figures.sort(key=lambda f: not f.startswith("idp-6-websearch"))
    return outcome


def _design_parts(workload: Load, r: dict[str, dict[str, Any]]) -> list[Part]:
    of, title, key = workload.marks(r), workload.title, workload.key
    ms = {name: (name, mean_ms(x)) for name, x in r.items()}

    def part(what: str, paper: str, a: str, rule: Rule, b: str) -> Part:
        return relation(f"{title}: {what}", paper, ms[a], rule, ms[b], MS, **of)

    parts = [part("SA(1) is HC-SD (mean)", "the same as HC-SD", "SA(1)", Rule.IDENTICAL, "HC-SD")]
    if key in ("websearch", "tpc-c"):
        large = "large boost"
        parts += [
            part("from one to two arm assemblies", large, "SA(2)", Rule.FAR_LOWER, "HC-SD"),
            part("SA(2) against MD", "nearly matches", "SA(2)", Rule.LITTLE_HIGHER, "MD"),
            part("SA(3) against MD", "outperforms", "SA(3)", Rule.LOWER, "MD"),
            part("SA(2) gains more than (1/2)R", "(1/2)R: less", "SA(2)", Rule.LOWER, "(1/2)R"),
        ]
    if key == "tpc-h":
        slight = "SA(2) improves on HC-SD by a little"
        parts += [
            part("SA(2) improves on HC-SD", "improvement", "SA(2)", Rule.LOWER, "HC-SD"),
            part(slight, "slight improvement", "HC-SD", Rule.LITTLE_HIGHER, "SA(2)"),
            part("SA(2) against MD", "better than MD", "SA(2)", Rule.LOWER, "MD"),
        ]
    if key == "financial":
        parts.append(part("three arm assemblies", "large boost", "SA(3)", Rule.FAR_LOWER, "HC-SD"))
    third, fourth = ms["SA(2)"][1] - ms["SA(3)"][1], ms["SA(3)"][1] - ms["SA(4)"][1]
    parts += [
        relation(
            f"{title}: returns diminish past three arm assemblies",
            "diminishing returns",
            ("the fourth gains", fourth),
            Rule.LOWER,
            ("the third gains", third),
            MS,
            **of,
        ),
        part("SA(3) and SA(4)", "close curves", "SA(4)", Rule.CLOSE, "SA(3)"),
        *_shifts(workload, r, of),
        *_tails(workload, r, of),
    ]
    return parts


def _shifts(workload: Load, r: dict[str, dict[str, Any]], of: dict[str, Any]) -> list[Part]:
    """Compare the 99th percentiles of the rotational latencies."""
    p99 = {n: (n, r[n]["rotation"]["p99_s"] * 1e3) for n in ("HC-SD", "SA(2)", "SA(3)", "SA(4)")}
    # In the paper, Financial's tail becomes shorter only with the third arm assembly.
    shorter = "SA(3)" if workload.key == "financial" else "SA(2)"
    what = f"{workload.title}: tail of rotational latencies (99th percentile)"
    lower = Rule.SIGNIFICANTLY_LOWER
    return [
        relation(
            f"{what}, {shorter}",
            "substantially shorter",
            p99[shorter],
            lower,
            p99["HC-SD"],
            MS,
            **of,
        ),
        relation(
            f"{what}, SA(3) and SA(4)", "close", p99["SA(4)"], Rule.CLOSE, p99["SA(3)"], MS, **of
        ),
    ]


def _tails(workload: Load, r: dict[str, dict[str, Any]], of: dict[str, Any]) -> list[Part]:
    if workload.key not in TAILS_MS:
        return []
    half, two = TAILS_MS[workload.key]
    longest = {name: r[name]["rotation"]["max_s"] * 1e3 for name in ("(1/2)R", "SA(2)")}
    turn = 60e3 / FULL_RPM
    note = f"half of the waits of at most a turn of {turn:.2f} ms cannot end at {half:g} ms"
    title = f"{workload.title}: end of the tail of rotational latencies"
    notes = {**of, "note": "; ".join(filter(None, (of["note"], note)))}
    return [
        number(f"{title}, (1/2)R", half, longest["(1/2)R"], MS, **notes),
        number(f"{title}, SA(2)", two, longest["SA(2)"], MS, **of),
    ]


def _relaxed(arms: int) -> dict[str, dict[str, Any]]:
    """Return the two extensions of SA(n), by the condition that they relax."""
    return {
        "arms move": {"arms_in_motion": arms},
        f"arms move, {arms} channels": {"arms_in_motion": arms, "channels": arms},
    }


def relaxations(study: Study) -> Outcome:
    """Judge the two relaxations: several arms in motion, several channels."""
    outcome, s = Outcome(), Systems(study.choices)
    for workload in loads(study):
        systems = [s.sa(n) for n in (2, 4)]
        systems += [
            s.sa(n, name=f"SA({n}), {what}", parallelism=keys)
            for n in (2, 4)
            for what, keys in _relaxed(n).items()
        ]
        r = study.run(runs(workload, *systems))
        outcome.parts += [
            _benefit(workload.title, f"SA({n})", what, r, workload.marks(r))
            for n in (2, 4)
            for what in _relaxed(n)
        ]
        title = f"Relaxations on {workload.title}"
        outcome.figures += charts.responses(study, f"idp-10-{workload.key}", title, r)
        outcome.tables.append(charts.numbers(workload, r))
    outcome.figures.sort(key=lambda f: not f.startswith("idp-10-websearch"))
    if not study.varied:
        outcome.parts += _light(study)
    return outcome


def _light(study: Study) -> list[Part]:
    """Compare on the light load of section 7.3, for which arrays of these drives break even."""
    parts = []
    for name, arms, count in (("SA(2)", 2, 2), ("SA(4)", 4, 1)):
        run = Cell(name, count, 8).run(study.choices, 100_000)
        relaxed = {f"{name}, {what}": keys for what, keys in _relaxed(arms).items()}
        systems = [{**run.system, "name": name}]
        systems += [{**run.system, "name": n, "parallelism": k} for n, k in relaxed.items()]
        r = study.run(replace(run, system=s) for s in systems)
        where = f"{count} {name} under the light load of section 7.3"
        parts += [_benefit(where, name, what, r, {"kind": Kind.CONTROL}) for what in _relaxed(arms)]
    return parts


def _benefit(
    where: str, name: str, what: str, r: dict[str, dict[str, Any]], of: dict[str, Any]
) -> Part:
    """Compare the means: the benefit is the additional time of the base design."""
    return relation(
        f"{where}: benefit of {name} where {what}",
        "little benefit",
        (name, mean_ms(r[name])),
        Rule.LITTLE_HIGHER,
        (what, mean_ms(r[f"{name}, {what}"])),
        MS,
        **of,
    )
