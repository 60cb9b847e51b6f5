"""A reproduced paper as one HTML page that opens without a network, and as Markdown."""

import html
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headstack import outputs, report
from headstack.studies.study import NOT_ASKED, Paper, Study, Verdict


def _percent(deviation: float | None) -> str:
    return "" if deviation is None else f"{deviation:+.1%}"


def summary_rows(document: Mapping[str, Any]) -> list[list[str]]:
    """Return the table of the claims that were asked for.

    Columns: id, what, verdict, parts reproduced of those that count, largest deviation, why.
    """
    rows = []
    for c in document["claims"]:
        if c["why"] == NOT_ASKED:
            continue
        counted = [p for p in c["parts"] if p["counts"]] or c["parts"]
        good = sum(p["verdict"] == Verdict.REPRODUCED for p in counted)
        parts = f"{good} of {len(counted)}" if counted else ""
        rows.append([c["id"], c["what"], c["verdict"], parts, _percent(c["deviation"]), c["why"]])
    return rows


def _cell(text: str, kind: str = "wrap") -> str:
    return f'<td class="{kind}">{html.escape(text)}</td>'


def _verdict(verdict: str) -> str:
    return f'<td class="text {verdict}">{verdict}</td>'


def _parts(claim: Mapping[str, Any]) -> str:
    if not claim["parts"]:
        return ""
    rows = []
    for part in claim["parts"]:
        note = part["note"] + ("" if part["counts"] else " (does not count for the verdict)")
        rows.append(
            "<tr>"
            + _cell(part["what"])
            + _cell(part["paper"])
            + _cell(part["ours"])
            + _cell(_percent(part["deviation"]), "number")
            + _verdict(part["verdict"])
            + _cell(note.strip())
            + "</tr>"
        )
    heads = "".join(
        f'<th scope="col" class="{kind}">{title}</th>'
        for title, kind in (
            ("compared", "wrap"),
            ("paper", "wrap"),
            ("ours", "wrap"),
            ("deviation", "number"),
            ("verdict", "text"),
            ("note", "wrap"),
        )
    )
    return (
        f'<div class="scroll"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _table(table: Mapping[str, Any]) -> str:
    heads = "".join(
        f'<th scope="col" class="{"text" if i == 0 else ""}">{html.escape(h)}</th>'
        for i, h in enumerate(table["headings"])
    )
    rows = "".join(
        "<tr>" + "".join(_cell(v, "text" if i == 0 else "") for i, v in enumerate(row)) + "</tr>"
        for row in table["rows"]
    )
    return (
        f'<p class="note">{html.escape(table["title"])}</p><div class="scroll"><table>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def to_html(document: Mapping[str, Any], paper: Paper, study: Study) -> str:
    """Return the page: the table of claims, then each claim with its parts and figures."""
    body = [f"<h1>{html.escape(paper.name)}: {html.escape(paper.title)}</h1>"]
    kind = "a quick run with fewer requests" if document["quick"] else "the whole run"
    body.append(f'<p class="note">Headstack {html.escape(document["version"])}, {kind}.</p>')
    body += [f"<p>{html.escape(text)}</p>" for text in paper.about]
    body.append('<div class="scroll"><table><tbody>')
    for claim in document["claims"]:
        body.append(
            f'<tr><td class="text"><a href="#{claim["id"]}">{claim["id"]}</a></td>'
            + _verdict(claim["verdict"])
            + _cell(claim["what"])
            + "</tr>"
        )
    body.append("</tbody></table></div>")
    for claim in document["claims"]:
        body.append(
            f'<h2 id="{claim["id"]}">{claim["id"]} {html.escape(claim["what"])}: '
            f'<span class="{claim["verdict"]}">{claim["verdict"]}</span></h2>'
            f"<p><b>Paper:</b> {html.escape(claim['paper'])}</p>"
        )
        if claim["why"]:
            body.append(f"<p><b>Why:</b> {html.escape(claim['why'])}</p>")
        body.append(_parts(claim))
        for name in map(_stem, claim["figures"]):
            body.append(f'<figure><div id="{name}" role="img" aria-label="{name}"></div></figure>')
        body += [_table(t) for t in claim["tables"]]
    return report.page(f"Headstack: {paper.name}", "\n".join(body), study.specs)


def _stem(figure: str) -> str:
    return Path(figure).stem


def _line(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def to_markdown(document: Mapping[str, Any], paper: Paper) -> str:
    """Return the same in Markdown, figures as links."""
    lines = [f"# {paper.name}: {paper.title}", ""]
    for text in paper.about:
        lines += [text, ""]
    lines += ["| claim | verdict | what |", "|---|---|---|"]
    lines += [f"| {c['id']} | {c['verdict']} | {_line(c['what'])} |" for c in document["claims"]]
    for claim in document["claims"]:
        lines += ["", f"## {claim['id']} {claim['what']}: {claim['verdict']}", ""]
        lines += [f"Paper: {claim['paper']}", ""]
        if claim["why"]:
            lines += [f"Why: {claim['why']}", ""]
        if claim["parts"]:
            lines += ["| compared | paper | ours | deviation | verdict | note |", "|---" * 6 + "|"]
        for p in claim["parts"]:
            note = p["note"] + ("" if p["counts"] else " (does not count)")
            cells = (p["what"], p["paper"], p["ours"], _percent(p["deviation"]), p["verdict"], note)
            lines.append("| " + " | ".join(_line(c) for c in cells) + " |")
        lines += ["", *(f"![{_stem(f)}]({f})" for f in claim["figures"])]
        for table in claim["tables"]:
            lines += ["", table["title"], "", "| " + " | ".join(table["headings"]) + " |"]
            lines.append("|---" * len(table["headings"]) + "|")
            lines += ["| " + " | ".join(_line(v) for v in row) + " |" for row in table["rows"]]
    return "\n".join(lines) + "\n"


def write(document: Mapping[str, Any], paper: Paper, study: Study, out: Path) -> list[Path]:
    """Write ``NAME.html``, ``NAME.md`` and ``NAME.json`` into `out`; return their paths."""
    texts = {
        "html": to_html(document, paper, study),
        "md": to_markdown(document, paper),
        "json": json.dumps(document, indent=2) + "\n",
    }
    paths = []
    for suffix, text in texts.items():
        path = out / f"{paper.name}.{suffix}"
        with outputs.whole_file(path) as part:
            part.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths
