"""Figures and page of an answer."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headstack.advice.answer import Advice, row, said, why
from headstack.advice.search import Found

if TYPE_CHECKING:
    from headstack.show.plots.look import Chart

#: Files of an answer in its folder.
ANSWER, SYSTEM, PAGE = "answer.json", "recommended.toml", "advice.html"

#: Folder of the recommended system's own results and report.
RESULTS = "recommended"


def _time(answer: Advice) -> tuple[str, Any] | None:
    """Return name and bound of the goal's first time, or None."""
    bound = answer.question.bound or next((b for b in answer.question.goal if b.unit == "ms"), None)
    return None if bound is None else (f"{bound.name} response time", bound)


def figures(answer: Advice) -> "dict[str, Chart]":
    """Return the figures by file name: the front, and the number of drives of each design."""
    found: dict[str, Chart] = {}
    timed = _time(answer)
    if timed is None or answer.best is None:
        return found
    found["front"] = _front(answer, *timed)
    drawn = _counts(answer, *timed)
    if drawn is not None:
        found["drives"] = drawn
    return found


def _front(answer: Advice, name: str, bound: Any) -> "Chart":
    import altair as alt
    import pandas as pd

    from headstack.show.plots import look

    rows = []
    for found in answer.found:
        if found.best is None:
            continue
        numbers = row(answer.question, found.best)
        rebuild = numbers["rebuild_s"]
        place = "recommended" if found is answer.chosen else "not dominated"
        if not any(found is f for f in answer.front):
            place = "dominated"
        rows.append(
            {
                "x": numbers["power_mean_w"],
                "y": (found.best.bounded(bound) or 0.0) * 1e3,
                "system": place,
                "what": f"{found.best.count} x {found.design.label}",
                "settings": numbers["settings"],
                "drives": found.best.count,
                "cost": _dollars(numbers),
                "rebuild": "none: data lost" if rebuild is None else f"{rebuild / 3600:,.1f} h",
            }
        )
    names = [n for n in ("recommended", "not dominated", "dominated") if any(r["system"] == n for r in rows)]
    base = alt.Chart(pd.DataFrame(rows))
    x = alt.X("x:Q", title="mean power (W)")
    y = alt.Y("y:Q", title=f"{name} (ms)", scale=dict(zero=False, padding=20))
    points = base.mark_point(filled=True, opacity=0.9).encode(
        x=x,
        y=y,
        color=look.colour(names, "among all"),
        size=alt.Size("drives:Q", scale=dict(range=[60, 400]), legend=None),
        tooltip=[
            alt.Tooltip("what:N", title="system"),
            alt.Tooltip("settings:N", title="settings"),
            alt.Tooltip("y:Q", title=f"{name} (ms)", format=",.4~g"),
            alt.Tooltip("x:Q", title="power (W)", format=",.4~g"),
            alt.Tooltip("cost:N", title="dollars"),
            alt.Tooltip("rebuild:N", title="rebuild"),
        ],
    )
    # Beside the point, on the side where the middle of the figure is.
    right = f"datum.x > {max(r['x'] for r in rows) / 2}"
    align, dx = dict(expr=f"{right} ? 'right' : 'left'"), dict(expr=f"{right} ? -14 : 14")
    words = base.mark_text(align=align, dx=dx, fontSize=11, color=look.FAINT_INK)
    words = words.encode(x=x, y=y, text=alt.Text("what:N"))
    heading = "Smallest system of each design that meets the goal"
    chart = alt.layer(points, words, title=heading, description=heading)
    return look.style(chart.properties(width=look.WIDTH, height=look.HEIGHT))


def _dollars(numbers: Mapping[str, Any]) -> str:
    price = numbers["usd"]
    bought = "price unknown" if price is None else f"{price:,.0f}"
    return f"{bought}, energy {numbers['energy_usd']:,.0f}"


def _counts(answer: Advice, name: str, bound: Any) -> "Chart | None":
    import altair as alt

    from headstack.show import plots

    lines: dict[str, list[tuple[float, float]]] = {}
    for found in answer.found:
        best: dict[int, float] = {}
        for tried in found.tried:
            number = tried.bounded(bound)
            if number is not None:
                best[tried.count] = min(best.get(tried.count, number), number)
        if len(best) > 1:
            lines[found.design.label] = [(float(n), t * 1e3) for n, t in sorted(best.items())]
    if not lines:
        return None
    most = plots.MOST_LINES
    return plots.lines(
        dict(list(lines.items())[:most]),
        alt.X("x:Q", title="drives", scale=dict(zero=False), axis=dict(format="d")),
        plots.logarithmic_ms(name),
        "How many drives? What was simulated",
        series="design",
        markers=True,
        levels={f"goal: {bound}": bound.limit * 1e3},
    )


def headline(answer: Advice) -> str:
    """Return the answer in one sentence."""
    best = answer.best
    if best is None:
        return f"no system meets {answer.question.goal}{_why_none(answer)}"
    d = best.kind.design
    return (
        f"{best.count} x {d.drive}{f' {d.dash}' if d.dash else ''} as {d.arranged(best.count)} "
        f"({best.kind.settings}): {said(answer.question, best)}, "
        f"{best.mean('power_mean_w') or 0:,.1f} W"
    )


def _why_none(answer: Advice) -> str:
    """Return that `--most` alone ruled all out, as the end of a sentence; empty if it did not."""
    short = [(f.enough, f.design) for f in answer.found if f.enough is not None]
    if len(short) < len(answer.found):
        return ""
    least, design = min(short, key=lambda pair: pair[0])
    return (
        f": no run was made, for {answer.question.most} drives, the most that are tried (--most), "
        f"do not hold {answer.question.capacity_bytes / 1e12:,.0f} TB; {least} x {design.label} do"
    )


def certainty(answer: Advice) -> str:
    """Return in one sentence how sure the answer is; empty if there is no quantile."""
    bound, interval = answer.question.bound, answer.interval
    if bound is None or interval is None or interval.low is None or interval.high is None:
        return ""
    ends = f"{bound.number(interval.low)} to {bound.shown(interval.high)}"
    verdict = "all of it keeps the bound" if answer.sure else "it contains the bound"
    return (
        f"{bound.name} of one run {bound.shown(interval.value)}; 95 % interval {ends}, by "
        f"{interval.n_batches} batches: {verdict}"
    )


def counterfactuals(answer: Advice) -> list[tuple[str, str, str]]:
    """Return what differs, its numbers, and whether it meets the goal."""
    return [(o.what, said(answer.question, o.tried), o.verdict) for o in answer.others]


def losers(answer: Advice) -> list[tuple[str, str]]:
    """Return each other design, and why it is not the answer."""
    return [(f.design.label, why(answer, f)) for f in answer.found if f is not answer.chosen]


def settings(answer: Advice) -> list[tuple[str, str]]:
    """Return the settings that were dropped for the chosen design, and by how much."""
    chosen: Found | None = answer.chosen
    if chosen is None:
        return []
    return [
        (k.settings, "cannot be run" if mine == float("inf") else f"{mine / best:.2f} times the best")
        for k, mine, best in chosen.dropped
    ]


#: What figures show, by name.
_CAPTIONS = {
    "front": "Each point is the smallest system of its design that meets the goal. Dominated: "
    "another one is at least as good in time, power, dollars, drives and rebuild time.",
    "drives": "All numbers of drives that ran the whole trace, with their best settings.",
}


def html(answer: Advice, charts: "Mapping[str, Chart]", *, with_results: bool) -> str:
    """Return the page of an answer."""
    from headstack.show import report

    specs, shown = report.drawings(charts, _CAPTIONS)
    title = f"Advice: {answer.question.goal}"
    lines = [certainty(answer), f"What binds: {answer.binds}." if answer.binds else ""]
    lines += [f"Note: {note}." for note in answer.notes]
    body = report.render(
        "advice.html",
        title=title,
        headline=headline(answer),
        lines=[line for line in lines if line],
        results=RESULTS if with_results else None,
        system=SYSTEM,
        figures=shown,
        others=counterfactuals(answer),
        losers=losers(answer),
        dropped=settings(answer),
        cost=f"{answer.n_runs:,} runs, {answer.n_simulated:,} simulated requests",
    )
    return report.page(title, body, specs)


def write(answer: Advice, folder: Path, *, figures_too: bool = True) -> list[Path]:
    """Write answer, experiment, page and the recommended system's own report; return the paths.

    Raises:
        OSError: they cannot be written.
    """
    import json

    import headstack
    from headstack.runs import outputs
    from headstack.show import plots, report

    charts = figures(answer) if figures_too else {}
    own = (ANSWER, SYSTEM, PAGE)
    best = answer.best
    if best is not None:
        results = folder / RESULTS
        experiment = answer.experiment_toml(folder)
        with outputs.whole_file(folder / SYSTEM) as part:
            part.write_text(experiment, encoding="utf-8")
        result = headstack.run(folder / SYSTEM, out=results, log_requests=False)
        report.write(result.document, results / "report.html", with_figures=figures_too)
    with outputs.whole_file(folder / ANSWER) as part:
        part.write_text(json.dumps(answer.document(), indent=2) + "\n", encoding="utf-8")
    with outputs.whole_file(folder / PAGE) as part:
        part.write_text(html(answer, charts, with_results=best is not None), encoding="utf-8")
    written = [folder / name for name in own if (folder / name).exists()]
    for name, chart in charts.items():
        written += plots.save(chart, folder / "figures" / name)
    return written
