"""``headstack reproduce``."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from headstack.cli import _terminal
from headstack.cli._arguments import Argument, Option
from headstack.cli._options import Form
from headstack.errors import ConfigError
from headstack.papers import PAPERS

if TYPE_CHECKING:
    from headstack.papers.claims import Paper


def command(
    paper: Annotated[str, Argument("PAPER", help=f"Which paper: {', '.join(PAPERS)}.", suggest=lambda: PAPERS)] = "",
    claims: Annotated[list[str] | None, Argument("CLAIM-ID", help="All claims by default.")] = None,
    every: Annotated[bool, Option("--all", help="All papers: one table of all claims by verdict.")] = False,
    quick: Annotated[bool, Option("--quick", help="Fewer requests: minutes become seconds.")] = False,
    out: Annotated[
        Path,
        Option(
            "--out",
            "-o",
            metavar="DIR",
            help="For PAPER.html, .md, .json, figures/ and runs/; runs found there are kept.",
        ),
    ] = Path("out/reproduce"),
    trace: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=PATH",
            help="The trace of one of the paper's workloads; without it the one in the folder "
            "HEADSTACK_TRACES or traces/, or else a stand-in that decides nothing.",
        ),
    ] = None,
    stand_ins: Annotated[
        bool,
        Option(
            "--stand-ins",
            help="Without traces, run the claims that need them on synthetic loads, which decide "
            "nothing; claims that are named always run.",
        ),
    ] = False,
    seeds: Annotated[
        int,
        Option(
            min=0,
            max=1000,
            help="Compare systems over so many seeds with confidence intervals, where the paper "
            "has such a comparison (pcap: the policies); claims only those that are named.",
        ),
    ] = 0,
    form: Form = "text",
    as_json: Annotated[bool, Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Regenerate the figures and tables of a paper, and judge its claims one by one.

    Interrupt it when you like: started again with the same --out, it goes on where it stopped.

    Examples:
      headstack reproduce isca08 --quick
      headstack reproduce --all --quick
      headstack reproduce isca08 IDP-5 IDP-6 --out out/isca08
      headstack reproduce ng98 NG-4
      headstack reproduce pcap PCAP-5
      headstack reproduce pcap --seeds 10
      headstack reproduce isca08 --trace financial=Financial1.spc --json
    """
    _terminal.check_form(form, as_json)
    traces = _traces(trace or ())
    given: dict[str, Any] = {"quick": quick, "traces": traces, "stand_ins": stand_ins}
    if every:
        if paper or traces or seeds:
            got = paper or ("--trace" if traces else "--seeds")
            raise ConfigError(f"--all: got {got} too, need --all alone, or one paper")
        _all(out, form, as_json, quick=quick, stand_ins=stand_ins)
    elif not paper:
        raise ConfigError(f"PAPER: got none, need one of {', '.join(PAPERS)}, or --all")
    else:
        _one(paper, out, form, as_json, ids=claims or (), seeds=seeds, **given)


def _traces(given: Sequence[str]) -> dict[str, Path]:
    traces = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or not path:
            raise ConfigError(f'--trace: got "{text}", need NAME=PATH')
        traces[name] = Path(path)
    return traces


def _say_what_is_not_run(paper: "Paper", traces: Mapping[str, Path], ids: Sequence[str], stand_ins: bool) -> None:
    """Print, before anything is simulated, which claims cannot be judged without traces."""
    from headstack.papers.study import without_traces
    from headstack.papers.traces import find, looked

    found = find(paper.workloads, traces)
    none = f"{paper.name}: no trace was found ({', '.join(paper.workloads)}); {looked()}"
    names = [c.id for c in without_traces(paper, found, ids, stand_ins)]
    if names:
        said = f"{len(names)} of {len(paper.claims)} claims are not run: {', '.join(names)}"
    else:
        asked = [c.id for c in paper.claims if c.traces and (not ids or c.id in ids)]
        said = f"{', '.join(asked)}: run on synthetic stand-ins, which decide nothing"
        if not asked or found:
            return
    print(f"{none}; {said}; see --trace, --stand-ins", file=sys.stderr, flush=True)


def _all(out: Path, form: str, as_json: bool, *, quick: bool, stand_ins: bool) -> None:
    """Judge all papers, print one table of their claims."""
    from headstack import papers
    from headstack.papers import page
    from headstack.papers.study import reproduce

    documents, written = [], []
    for name in PAPERS:
        asked = papers.load(name)
        _say_what_is_not_run(asked, {}, (), stand_ins)
        with _terminal.stages(f"reproduce {name}") as report:
            document, study = reproduce(asked, out, quick=quick, report=report, stand_ins=stand_ins)
        written += page.write(document, asked, study, out)
        documents.append(document)
    if as_json:
        _terminal.print_json(page.all_document(documents))
    else:
        headings = [(h, True) for h in page.ALL_HEADINGS]
        _terminal.print_table(headings, page.all_rows(documents), form=form)
    _terminal.say_written(written, as_json, form)


def _one(paper: str, out: Path, form: str, as_json: bool, *, ids: Sequence[str], seeds: int, **given: Any) -> None:
    """Judge the claims of one paper, print their table."""
    from headstack import papers

    asked = papers.load(paper)
    # The figures' library takes a second to import, which wrong arguments need not wait for.
    from headstack.papers import page
    from headstack.papers.study import reproduce

    if ids or not seeds:
        _say_what_is_not_run(asked, given["traces"], ids, given["stand_ins"])
    with _terminal.stages(f"reproduce {paper}") as report:
        document, study = reproduce(asked, out, ids=ids, seeds=seeds, report=report, **given)
    written = page.write(document, asked, study, out)
    for line in page.trace_lines(document):
        print(line, file=sys.stderr)
    if as_json:
        _terminal.print_json(document)
    elif ids or not seeds:
        _terminal.print_table(
            [("claim", True), ("what", True), ("verdict", True), ("parts", False), ("deviation", False), ("why", True)],
            page.summary_rows(document),
            form=form,
        )
    if "compared" in document and not as_json:
        table = document["compared"]["table"]
        headings = [(h, i < page.COMPARED_TEXTS) for i, h in enumerate(table["headings"])]
        _terminal.print_table(headings, table["rows"], form=form)
    _terminal.say_written(written, as_json, form)
