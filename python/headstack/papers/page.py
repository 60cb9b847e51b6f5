"""A reproduced paper as one HTML page that opens without a network, and as Markdown."""

import hashlib
import html
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from headstack.papers.claims import Paper
from headstack.papers.rules import KINDS, VERDICTS, Verdict
from headstack.papers.study import NOT_ASKED, Study
from headstack.runs import outputs
from headstack.show import report


def _percent(deviation: float | None) -> str:
    return "" if deviation is None else f"{deviation:+.1%}"


def summary_rows(document: Mapping[str, Any]) -> list[list[str]]:
    """Return the table of the selected claims.

    Columns: id, what, verdict, parts reproduced of those that count, largest deviation, why.
    """
    rows = []
    for c in document["claims"]:
        if c["why"] == NOT_ASKED:
            continue
        counted = [p for p in c["parts"] if p["counts"]]
        good = sum(p["verdict"] == Verdict.REPRODUCED for p in counted)
        parts = f"{good} of {len(counted)}" if counted else ""
        # The terminal has no space for long reasons; the page has every part.
        why = "; ".join(filter(None, (_shortened(c["why"]) + _stand_in_note(c), c["beside"])))
        rows.append([c["id"], c["what"], c["verdict"], parts, _percent(c["deviation"]), why])
    return rows


#: Headings of the table of all claims.
ALL_HEADINGS = ("claim", "verdict", "readings", "reason")


def all_rows(documents: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return all claims of several papers by verdict, with in how many readings they hold."""
    order = [str(verdict) for verdict in VERDICTS]
    claims = [c for document in documents for c in document["claims"]]
    claims.sort(key=lambda c: order.index(c["verdict"]))
    return [[c["id"], c["verdict"], c["readings"], f"{c['what']}: {c['reason']}"] for c in claims]


def all_document(documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the documents of several papers as one, with the number of claims by verdict."""
    rows = all_rows(documents)
    return {
        "verdicts": {str(v): sum(row[1] == v for row in rows) for v in VERDICTS},
        "claims": [dict(zip(ALL_HEADINGS, row, strict=True)) for row in rows],
        "papers": list(documents),
    }


#: Most characters of a reason on the terminal.
REASON_LENGTH = 240


def _shortened(text: str) -> str:
    if len(text) <= REASON_LENGTH:
        return text
    return text[:REASON_LENGTH].rsplit("; ", 1)[0].rsplit(", ", 1)[0] + " ..."


def _stand_in_note(claim: Mapping[str, Any]) -> str:
    if claim["verdict"] != Verdict.NOT_RUN or claim["stand_in"] is None:
        return ""
    return f"; stand-ins alone: {claim['stand_in']['verdict']}"


def trace_lines(document: Mapping[str, Any]) -> list[str]:
    """Return one line per workload of the paper: the trace that was used, or that there is none."""
    ran = any(c["stand_in"] for c in document["claims"])
    instead = "a synthetic stand-in that decides nothing" if ran else "so what needs it is left out"
    lines = []
    for workload, used in document["traces"].items():
        if used is None:
            lines.append(f"{workload}: no trace, {instead}")
        else:
            size, digest = used["size_bytes"], used["sha256"][:12]
            by = used["found_by"]
            lines.append(f"{workload}: {used['path']} (by {by}; {size:,} bytes, SHA-256 {digest})")
    return lines


def _choice_lines(claim: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return each reading and check, with the verdicts that come out otherwise, by heading."""
    lines = []
    for choice in claim["choices"]:
        others = []
        for other in choice["otherwise"]:
            verdict = other["verdict"]
            if verdict == Verdict.NOT_RUN and other["stand_in"] is not None:
                verdict = f"{verdict} (stand-ins: {other['stand_in']['verdict']})"
            n = len(other["changes"])
            changed = f", {n} part{'s' * (n != 1)} otherwise" if n else ", every part as before"
            others.append(f"{other['taken']}: {verdict}{changed}")
        told = f"{choice['choice']}: {choice['taken']}. Otherwise: {'; '.join(others)}."
        if choice["says"]:
            told += f" Left open by: {choice['says']}."
        if choice["selected"]:
            told += f" Selected by looking at a result: {choice['selected']}."
        lines.append(("Reading" if choice["says"] else "Check", told))
    return lines


def _stand_ins_held(claim: Mapping[str, Any]) -> str:
    """Return in how many variations of the stand-ins the claim holds."""
    others = [o["stand_in"] for c in claim["choices"] for o in c["otherwise"] if o["stand_in"]]
    found = [claim["stand_in"], *others]
    held = sum(s["verdict"] != Verdict.DEVIATES for s in found)
    return f", holds in {held} of {len(found)} variations" if others else ""


def _context(claim: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the texts above a claim's parts, by heading."""
    lines = [("Paper", claim["paper"]), ("Verdict", f"{claim['reason']}.")]
    if claim["why"]:
        lines.append(("Why", claim["why"]))
    if claim["contradictions"] and claim["contradictions"] != claim["why"]:
        lines.append(("The paper contradicts itself", claim["contradictions"]))
    if claim["beside"]:
        lines.append(("Beside the verdict", claim["beside"]))
    if claim["judged_on"]:
        lines.append(("Judged on", ", ".join(claim["judged_on"])))
    if claim["stand_in"] is not None:
        stand_in = claim["stand_in"]
        held = _stand_ins_held(claim)
        said = f"{stand_in['verdict']}{held}. {stand_in['why']}".rstrip(". ")
        lines.append(("Stand-ins, which do not count", said))
    return lines + _choice_lines(claim)


def _cell(text: str, kind: str = "wrap") -> str:
    return f'<td class="{kind}">{html.escape(text)}</td>'


def _kind(part: Mapping[str, Any]) -> str:
    return "" if part["kind"] == "result" else part["kind"]


def _also(part: Mapping[str, Any]) -> str:
    """Return the nearest world in which the part is false, and whether its rule fails there."""
    false = part["falsifier"]
    if not false:
        return f"(counts for nothing: {part['void']})" if part["void"] else ""
    if false["passes"]:
        return f"{false['world']} (so it counts for nothing)"
    also = f"; counts for nothing: {part['void']}" if part["void"] else ""
    return f"not if {false['world']}{also}"


def _paper(part: Mapping[str, Any]) -> str:
    """Return the paper's statement, and its other one if it contradicts itself."""
    other = part["contradiction"]
    return f"{part['paper']}, but also: {other['says']}" if other else part["paper"]


def _note(part: Mapping[str, Any]) -> str:
    fitted = f"fitted: {part['fitted']}" if part["fitted"] else ""
    return "; ".join(filter(None, (fitted, part["note"])))


def _ordered(parts: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the parts that count first."""
    return sorted(parts, key=lambda p: not p["counts"])


#: Columns of the table of a claim's parts: heading, class of its cells, and text.
_PARTS: tuple[tuple[str, str, Callable[[Mapping[str, Any]], str]], ...] = (
    ("compared", "wrap", lambda part: part["what"]),
    ("paper", "wrap", _paper),
    ("ours", "wrap", lambda part: part["ours"]),
    ("deviation", "number", lambda part: _percent(part["deviation"])),
    ("verdict", "text", lambda part: part["verdict"]),
    ("kind", "text", _kind),
    ("note", "wrap", _note),
    ("would also pass if", "wrap", _also),
)


def _parts(claim: Mapping[str, Any]) -> str:
    if not claim["parts"]:
        return ""
    rows = []
    for part in _ordered(claim["parts"]):
        own = {"verdict": f"text {part['verdict']}", "kind": "kind"}
        cells = (_cell(of(part), own.get(title, kind)) for title, kind, of in _PARTS)
        rows.append(f"<tr>{''.join(cells)}</tr>")
    heads = "".join(f'<th scope="col" class="{kind}">{title}</th>' for title, kind, _ in _PARTS)
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _table(table: Mapping[str, Any]) -> str:
    heads = "".join(
        f'<th scope="col" class="{"text" if i == 0 else ""}">{html.escape(h)}</th>'
        for i, h in enumerate(table["headings"])
    )
    rows = "".join(
        f'<tr><th scope="row" class="text">{html.escape(first)}</th>' + "".join(_cell(v, "") for v in others) + "</tr>"
        for first, *others in table["rows"]
    )
    return (
        f'<p class="note">{html.escape(table["title"])}</p><div class="scroll"><table>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


#: Headings of the table of claims at the top of a page.
SUMMARY = ("claim", "verdict", "readings", "what", "reason")


def to_html(document: Mapping[str, Any], paper: Paper, study: Study) -> str:
    """Return the page: the table of claims, then each claim with its parts and figures."""
    body = [f"<h1>{html.escape(paper.name)}: {html.escape(paper.title)}</h1>"]
    kind = "a quick run with fewer requests" if document["quick"] else "the whole run"
    body.append(f'<p class="note">Headstack {html.escape(document["version"])}, {kind}.</p>')
    heads = "".join(f'<th scope="col" class="text">{h}</th>' for h in SUMMARY)
    body.append(f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>')
    for claim in document["claims"]:
        body.append(
            f'<tr><td class="text"><a href="#{claim["id"]}">{claim["id"]}</a></td>'
            + _cell(claim["verdict"], f"text {claim['verdict']}")
            + _cell(claim["readings"], "text")
            + _cell(claim["what"])
            + _cell(claim["reason"])
            + "</tr>"
        )
    body.append("</tbody></table></div>")
    body += [f"<p>{html.escape(text)}</p>" for text in paper.about]
    if document["traces"]:
        body.append(_list("Traces", trace_lines(document)))
    for claim in document["claims"]:
        body.append(
            f'<h2 id="{claim["id"]}">{claim["id"]} {html.escape(claim["what"])}: '
            f'<span class="{claim["verdict"]}">{claim["verdict"]}</span></h2>'
        )
        body += [f"<p><b>{k}:</b> {html.escape(text)}</p>" for k, text in _context(claim)]
        body.append(_parts(claim))
        for name in map(_stem, claim["figures"]):
            caption = f"<figcaption>In the paper: {html.escape(claim['paper'])}.</figcaption>"
            image = f'<div id="{name}" role="img" aria-label="{name}"></div>'
            body.append(f"<figure>{image}{caption}</figure>")
        body += [_table(t) for t in claim["tables"]]
    if "compared" in document:
        body.append(f"<h2>{COMPARED}</h2>")
        body.append(_table(document["compared"]["table"]))
    body.append(_list(WORDS, _rule_lines(document)))
    return report.page(f"Headstack: {paper.name}", "\n".join(body), study.specs)


def _rule_lines(document: Mapping[str, Any]) -> list[str]:
    kinds = [f"{kind}: {text}" for kind, text in KINDS.items()]
    verdicts = [f"{verdict}: {text}" for verdict, text in VERDICTS.items()]
    return [*document["rules"].values(), *kinds, *verdicts]


def _list(heading: str, lines: Sequence[str]) -> str:
    items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
    return f"<details open><summary>{html.escape(heading)}</summary><ul>{items}</ul></details>"


def _stem(figure: str) -> str:
    return Path(figure).stem


def _line(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def to_markdown(document: Mapping[str, Any], paper: Paper) -> str:
    """Return the page in Markdown, with figures as links."""
    lines = [f"# {paper.name}: {paper.title}", ""]
    lines += [f"| {' | '.join(SUMMARY)} |", "|---" * len(SUMMARY) + "|"]
    for c in document["claims"]:
        keys = ("id", "verdict", "readings", "what", "reason")
        lines.append(f"| {' | '.join(_line(c[key]) for key in keys)} |")
    for text in paper.about:
        lines += ["", text]
    if document["traces"]:
        lines += ["", "Traces:", "", *(f"- {line}" for line in trace_lines(document))]
    for claim in document["claims"]:
        lines += ["", f"## {claim['id']} {claim['what']}: {claim['verdict']}", ""]
        for heading, text in _context(claim):
            lines += [f"{heading}: {text}", ""]
        if claim["parts"]:
            lines.append(f"| {' | '.join(title for title, _, _ in _PARTS)} |")
            lines.append("|---" * len(_PARTS) + "|")
        for part in _ordered(claim["parts"]):
            lines.append(f"| {' | '.join(_line(of(part)) for _, _, of in _PARTS)} |")
        lines += ["", *(f"![{_stem(f)}]({f})" for f in claim["figures"])]
        for table in claim["tables"]:
            lines += _table_lines(table)
    if "compared" in document:
        lines += ["", f"## {COMPARED}", *_table_lines(document["compared"]["table"])]
    lines += ["", f"## {WORDS}", "", *(f"- {line}" for line in _rule_lines(document))]
    return "\n".join(lines) + "\n"


#: Heading of the definitions of rules and kinds.
WORDS = "What the words mean, for every part"

#: Heading of what is compared over several seeds.
COMPARED = "Compared over several seeds"

#: Columns of text in its table, before those of numbers.
COMPARED_TEXTS = 2


def _table_lines(table: Mapping[str, Any]) -> list[str]:
    lines = ["", table["title"], "", "| " + " | ".join(table["headings"]) + " |"]
    lines.append("|---" * len(table["headings"]) + "|")
    lines += ["| " + " | ".join(_line(v) for v in row) + " |" for row in table["rows"]]
    return lines


def write(document: Mapping[str, Any], paper: Paper, study: Study, out: Path) -> list[Path]:
    """Write ``NAME.html``, ``NAME.md`` and ``NAME.json`` into `out`; return their paths.

    They and the figures are named in the manifest of `out`, as those of a run are.
    """
    texts = {
        "html": to_html(document, paper, study),
        "md": to_markdown(document, paper),
        "json": json.dumps(document, indent=2) + "\n",
    }
    names = [f"{paper.name}.{suffix}" for suffix in texts]
    figures = [*study.figure_files()]

    def own(name: str) -> bool:
        return name.startswith((f"{paper.name}.", f"figures/{paper.name}/"))

    # Other papers may have their pages in the same folder.
    with outputs.replacing(out, own) as written:
        written.run_id = run_id(document)
        for name, text in zip(names, texts.values(), strict=True):
            (written.path / name).write_text(text, encoding="utf-8")
        for figure in figures:
            (written.path / figure).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(out / figure, written.path / figure)
    return [out / name for name in names]


def run_id(document: Mapping[str, Any]) -> str:
    """Return a short name of what was found: equal documents have the same."""
    text = json.dumps(document, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def load(folder: Path, name: str) -> dict[str, Any]:
    """Return the document of a paper that ``headstack reproduce`` wrote into a folder.

    Raises:
        ConfigError: there is none, or it is not the one that the folder's manifest names.
    """
    need, path = "what headstack reproduce writes", folder / f"{name}.json"
    document: dict[str, Any] = outputs.read_json(path, need, check=True)
    return document
