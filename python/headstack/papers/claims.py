"""The claims of a paper as data: what a folder's ``claims.toml`` may say, and its reader.

docs/design/adding-a-paper.md describes the file. `evaluate` compares its parts with the tables that
the folder's functions return.
"""

import importlib
import importlib.resources
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headstack.errors import ConfigError
from headstack.papers.rules import VERDICTS, Kind, Rule, Tolerance, Verdict
from headstack.papers.schema import read
from headstack.suggest import need_one_of

if TYPE_CHECKING:
    import pandas as pd

    from headstack.papers.study import Study

#: File of a paper's claims in its folder.
FILE = "claims.toml"

Tables = Mapping[str, "pd.DataFrame"]


@dataclass(frozen=True)
class Cell:
    """A number: one cell of a table, or a constant.

    Attributes:
        row: values of columns that select the row, or the value of the part's `key`.
        column: the column; the part's own by default.
        table: the table; the part's own by default.
        name: what the number is called beside its value, a template.
        value: a constant instead of a cell.
    """

    row: dict[str, Any] | str | float | bool = field(default_factory=dict)
    column: str = ""
    table: str = ""
    name: str = ""
    value: float | None = None


@dataclass(frozen=True)
class Falsifier:
    """The nearest world in which the part is false: the rule must fail on its numbers.

    Attributes:
        world: the world in words.
        ours: the number that takes the place of ours; ours by default.
        than: the number that takes the place of the reference; the reference by default.
        times: ours is the reference times this, instead of `ours`: 1 is a world without the effect.
        swapped: the two numbers are exchanged: the effect has the other sign.
    """

    world: str
    ours: Cell | str | float | None = None
    than: Cell | str | float | None = None
    times: float | None = None
    swapped: bool = False


@dataclass(frozen=True)
class Contrary:
    """Another statement of the paper, with which the part's own cannot hold as well.

    Attributes:
        says: the statement in words, and where it is.
        expected: its number, or the column that has it.
        rule: its rule; the part's own by default.
        ours: our number for it; the part's own by default.
        than: the reference of a relation.
    """

    says: str
    expected: float | str | None = None
    rule: Rule | None = None
    ours: Cell | str | float | None = None
    than: Cell | str | float | None = None


@dataclass(frozen=True)
class Place:
    """Where a figure, or a view in one, shows the paper's number of a part: at a place of x, or as a level.

    The words of a place are above it, or below.
    """

    figure: str
    x: str | float = ""
    below: bool = False


@dataclass(frozen=True)
class Statement:
    """One part of a claim: a number of the paper, or a relation between two numbers of ours.

    Texts are templates: ``{column}`` stands for a value of the row of `ours`.

    Attributes:
        what: what is compared.
        rule: the rule that compares.
        table: the table of the numbers.
        key: the column that a row's name is looked up in.
        column: the column of the numbers.
        where: values of columns to which the table is limited.
        ours: our number.
        than: the reference of a relation.
        expected: the paper's number, or the column that has it.
        paper: the paper's words.
        form: writes the numbers with their unit.
        kind: origin of the numbers; the column ``kind`` of the row by default, or `result`.
        note: a remark on the numbers; the column ``note`` by default.
        workload: the workload; the column ``workload`` by default.
        tolerance: a tolerance other than the rule's, and why.
        falsifier: the nearest world in which the part is false.
        contrary: another statement of the paper, if both cannot hold.
        fitted: the constants that were fitted to this number; it never counts.
        missing: why the part was not run if a number is missing; without numbers, always.
        drawn: where figures show the paper's number.
    """

    what: str
    rule: Rule | None = None
    table: str = ""
    key: str = ""
    column: str = ""
    where: dict[str, Any] = field(default_factory=dict)
    ours: Cell | str | float = field(default_factory=Cell)
    than: Cell | str | float | None = None
    expected: float | str | None = None
    paper: str = ""
    form: str = "{:.3g}"
    kind: Kind | None = None
    note: str = ""
    workload: str = ""
    tolerance: Tolerance | None = None
    falsifier: Falsifier | None = None
    contrary: Contrary | None = None
    fitted: str = ""
    missing: str = ""
    drawn: Place | None = None


@dataclass(frozen=True)
class Listing:
    """A printed table.

    Attributes:
        title: title, a template of the first row.
        table: the table that it shows.
        where: values of columns to which the table is limited.
        rows: heading and template of the columns that name a row; rows of equal names are one.
        columns: heading and template of further columns.
        across: a column of the table whose values become columns.
        heading: heading of each, a template.
        cell: each of their cells, a template.
        join: between several rows in one cell.
    """

    title: str
    table: str
    rows: tuple[tuple[str, str], ...]
    where: dict[str, Any] = field(default_factory=dict)
    columns: tuple[tuple[str, str], ...] = ()
    across: str = ""
    heading: str = ""
    cell: str = ""
    join: str = " / "


#: A figure: a Vega-Lite specification, with `name` and `title` as templates (`headstack.show.plots.figure`).
Figure = dict[str, Any]

Item = TypeVar("Item", Statement, Listing, Figure)


@dataclass(frozen=True)
class Node(Generic[Item]):
    """An entry, or entries that share settings, repeated for each value of some columns.

    Attributes:
        each: the columns and their values; all values in the order of the table if there are none.
        table: the table of these columns.
        where: values of columns to which the table is limited.
        item: the entry.
        inside: the entries that share settings instead.
        at: where it is in the file.
    """

    each: Mapping[str, Sequence[Any] | None]
    table: str
    where: Mapping[str, Any]
    item: Item | None
    inside: Sequence["Node[Item]"]
    at: str


@dataclass(frozen=True)
class Choice:
    """A value on which a verdict may hang: the choice, and its alternatives.

    With `says` it is a reading: something that the paper leaves open. Without, it is a check of our
    own, such as another seed, which shows how firm a verdict is and changes none.

    Attributes:
        what: what is chosen.
        taken: the chosen value.
        otherwise: changes to the paper's choices, by name.
        says: the paper's words that leave it open, and where they are.
        selected: at which result the chosen value was selected by looking; empty if at none.
        needs: ``trace``, ``no trace`` or the name of a workload: what it can be varied with.
    """

    what: str
    taken: str
    otherwise: dict[str, dict[str, Any]]
    says: str = ""
    selected: str = ""
    needs: str = ""

    def applies(self, study: "Study") -> bool:
        """Return whether it can be varied in a study."""
        if self.needs in ("", "trace", "no trace"):
            return not self.needs or bool(study.traces) is (self.needs == "trace")
        return self.needs in study.traces


@dataclass(frozen=True)
class Claim:
    """One numbered claim of a paper.

    Attributes:
        id: its number, such as ``IDP-3``.
        what: the claim as a heading.
        paper: the paper's value or statement.
        place: where in the paper it is.
        measure: returns its tables; runs the simulations.
        choices: its readings, and checks.
        parts: what is compared.
        figures: its figures, its own first.
        listings: its printed tables.
        beside: what a reader of the verdict must know: a template of the table `beside`, if any.
        because: by verdict, the reason in one sentence; a template as `beside`.
        traces: whether it is judged on traces alone.
    """

    id: str
    what: str
    paper: str
    place: str
    measure: Callable[["Study"], Tables]
    choices: Sequence[Choice] = ()
    parts: Sequence[Node[Statement]] = ()
    figures: Sequence[Node[Figure]] = ()
    listings: Sequence[Node[Listing]] = ()
    beside: str = ""
    because: Mapping[Verdict, str] = field(default_factory=dict)
    traces: bool = False


@dataclass(frozen=True)
class Comparison:
    """Systems against each other over several seeds, beside the claims of a paper.

    Attributes:
        judge: compares them; returns rows for the document and their printed table.
        workloads: patterns of the names of further trace files, by workload; an absent trace
            leaves out what needs it.
    """

    judge: Callable[["Study", Sequence[int]], tuple[list[dict[str, Any]], Any]]
    workloads: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Paper:
    """A paper and its claims.

    Attributes:
        name: name on the command line.
        title: title as cited.
        claims: in the order of the ledger.
        workloads: patterns of the names of trace files, by workload.
        about: paragraphs for the page.
        choices: default choices, a dataclass of the paper's folder.
        compared: what is compared over several seeds, if anything.
    """

    name: str
    title: str
    claims: Sequence[Claim]
    workloads: Mapping[str, Sequence[str]] = field(default_factory=dict)
    about: Sequence[str] = ()
    choices: Any = None
    compared: Comparison | None = None

    def chosen(self, ids: Sequence[str]) -> list[Claim]:
        """Return the claims with these ids, all claims if none are given.

        Raises:
            ConfigError: the paper has no claim with that id.
        """
        known = {c.id: c for c in self.claims}
        for wanted in ids:
            if wanted.upper() not in known:
                raise ConfigError(need_one_of(f"{self.name}: claim", wanted, known))
        asked = {i.upper() for i in ids}
        return [c for c in self.claims if not asked or c.id in asked]


# The file.


@dataclass(frozen=True)
class _Compared:
    """The table ``[compared]``: a function, and patterns of trace files by workload."""

    judge: str
    workloads: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Claim:
    """An entry of ``[[claim]]``."""

    id: str
    what: str
    paper: str
    place: str
    tables: str
    choices: tuple[str, ...] = ()
    beside: str = ""
    because: dict[str, str] = field(default_factory=dict)
    traces: bool = False
    part: tuple[Any, ...] = ()
    figure: tuple[Any, ...] = ()
    listing: tuple[Any, ...] = ()


@dataclass(frozen=True)
class _Figure:
    """What is read of a figure before it is drawn; then Vega-Lite's schema checks the rest."""

    name: str
    title: str | tuple[str, ...] = ""
    data: dict[str, str] = field(default_factory=dict)
    encoding: dict[str, Any] = field(default_factory=dict)
    where: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _File:
    """The whole file; ``shared`` has settings that entries take over with ``like``."""

    title: str
    claim: tuple[_Claim, ...]
    about: tuple[str, ...] = ()
    workloads: dict[str, tuple[str, ...]] = field(default_factory=dict)
    reading: dict[str, Choice] = field(default_factory=dict)
    check: dict[str, Choice] = field(default_factory=dict)
    shared: dict[str, dict[str, Any]] = field(default_factory=dict)
    compared: _Compared | None = None


def load(package: str) -> Paper:
    """Return the paper of a package: its `FILE`, its functions and its class ``Choices``.

    Raises:
        ConfigError: the file says something that does not fit.
    """
    name = package.rpartition(".")[2]
    where = f"{name}/{FILE}"
    text = importlib.resources.files(package).joinpath(FILE).read_text(encoding="utf-8")
    file = read(_File, tomllib.loads(text), where)
    module = importlib.import_module(package)
    chosen = getattr(module, "Choices", None)
    compared = None
    if file.compared is not None:
        judge = _function(package, file.compared.judge, where)
        compared = Comparison(judge, file.compared.workloads)
    return Paper(
        name=name,
        title=file.title,
        claims=[_claim(c, file, package, f"{where}: {c.id}") for c in file.claim],
        workloads=file.workloads,
        about=file.about,
        choices=chosen and chosen(),
        compared=compared,
    )


def _claim(given: _Claim, file: _File, package: str, where: str) -> Claim:
    choices = {**file.reading, **file.check}
    for name in given.choices:
        if name not in choices:
            raise ConfigError(need_one_of(f"{where}.choices", name, choices))
        if (name in file.reading) != bool(choices[name].says):
            kind = "reading" if name in file.reading else "check"
            need = "the words that leave it open" if kind == "reading" else "none"
            raise ConfigError(f"{where}: {kind}.{name}.says: got {choices[name].says!r}, need {need}")
    verdicts = [str(v) for v in VERDICTS]
    for name in given.because:
        if name not in verdicts:
            raise ConfigError(need_one_of(f"{where}.because", name, verdicts))

    def nodes(kind: type[Item], entries: Sequence[Any], word: str) -> list[Node[Item]]:
        return [_node(kind, e, {}, file.shared, f"{where}: {word} {i + 1}", word)
                for i, e in enumerate(entries)]  # fmt: skip

    return Claim(
        given.id,
        given.what,
        given.paper,
        given.place,
        _function(package, given.tables, where),
        [choices[name] for name in given.choices],
        nodes(Statement, given.part, "part"),
        nodes(dict, given.figure, "figure"),
        nodes(Listing, given.listing, "listing"),
        given.beside,
        {Verdict(name): said for name, said in given.because.items()},
        given.traces,
    )


def _function(package: str, named: str, where: str) -> Any:
    """Return a function of the paper's folder, named as ``module.function``."""
    module, _, function = named.rpartition(".")
    try:
        return getattr(importlib.import_module(f"{package}.{module}"), function)
    except (ImportError, AttributeError, ValueError):
        raise ConfigError(f'{where}: got "{named}", need a function of the folder') from None


def _node(
    kind: type[Item],
    given: Mapping[str, Any],
    outer: Mapping[str, Any],
    shared: Mapping[str, Mapping[str, Any]],
    at: str,
    word: str,
) -> Node[Item]:
    """Read an entry; settings around it hold for those inside it, unless these say otherwise."""
    like = given.get("like", "")
    if like and like not in shared:
        raise ConfigError(need_one_of(f"{at}.like", like, shared))
    own = _within(shared.get(like, {}), given)
    each = own.get("each", {})
    if isinstance(each, list):
        each = dict.fromkeys(each)
    settings: Any = _within(outer, {k: v for k, v in own.items() if k not in (word, "each", "like")})
    inside = [_node(kind, e, settings, shared, f"{at}.{i + 1}", word) for i, e in enumerate(own.get(word, ()))]
    item: Any = None
    if not inside and kind is dict:
        read(_Figure, {k: v for k, v in settings.items() if k in _Figure.__dataclass_fields__}, at)
        item = settings
    elif not inside:
        item = read(kind, settings, at)
    table = settings.get("table", "") or settings.get("data", {}).get("name", "")
    return Node(each, table, settings.get("where", {}), item, inside, at)


def _within(outer: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings over those around them; the two tables of `where` and of `encoding` become one."""
    pairs = {k: (outer.get(k), own.get(k)) for k in ("where", "encoding")}
    both = {k: {**a, **b} for k, (a, b) in pairs.items() if isinstance(a, Mapping) and isinstance(b, Mapping)}
    return {**outer, **own, **both}
