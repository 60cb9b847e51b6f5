"""Makes command-line parsers from functions: annotations of parameters declare the arguments.

``name: Annotated[Path, Argument("FILE", help="...")]`` is positional, ``Option`` has a name, and
``**options: Unpack[...]`` has those of a dictionary's type, as `headstack.live.servers`. Errors in a
command line have the form of all other messages.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, NamedTuple, NoReturn

from headstack.errors import ConfigError
from headstack.suggest import need_one_of

#: Returns values that a shell suggests for an argument; others may also be valid.
Suggest = Callable[[], Iterable[str]]


class Argument(NamedTuple):
    """A positional argument."""

    metavar: str
    help: str
    suggest: Suggest | None = None


class Option:
    """An argument with a name."""

    def __init__(
        self,
        *names: str,
        help: str,
        metavar: str | None = None,
        min: int | None = None,
        max: int | None = None,
        suggest: Suggest | None = None,
        alone: str | None = None,
    ) -> None:
        """Declare an option.

        Args:
            names: its names; by default that of its parameter, and ``--no-...`` for switches.
            help: one sentence.
            metavar: name of its value in the help.
            min: the least number.
            max: the greatest number.
            suggest: returns values that shells suggest.
            alone: the value if it stands without one.
        """
        self.alone = alone
        self.names = names
        self.help = help
        self.metavar = metavar
        self.min = min
        self.max = max
        self.suggest = suggest


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of docstrings, and does not query the terminal, which needs a slow import."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=100)


class _Parser(argparse.ArgumentParser):
    """A parser that raises errors instead of printing them and ending the process."""

    def error(self, message: str) -> NoReturn:
        missing = message.removeprefix("the following arguments are required: ")
        if missing != message:
            message = f"got no {missing.split(', ')[0]}, need it"
        raise ConfigError(f"{self.prog}: {message}; see {self.prog} --help")


def _whole(kind: Any) -> Any:
    """Return a type without ``None``."""
    if isinstance(kind, UnionType):
        (kind,) = (k for k in kind.__args__ if k is not type(None))
    return kind


def _number(kind: type, option: Option) -> Callable[[str], float]:
    """Return a function that reads a number within the option's bounds."""
    name = "an integer" if kind is int else "a number"
    bounds = [
        f"{word} {bound}"
        for word, bound in (("of at least", option.min), ("of at most", option.max))
        if bound is not None
    ]

    def read(text: str) -> float:
        try:
            value: float = kind(text)
        except ValueError:
            value = float("nan")
        below = option.min is not None and not value >= option.min
        above = option.max is not None and not value <= option.max
        if value != value or below or above:
            need = " ".join([name, " and ".join(bounds)]).strip()
            raise argparse.ArgumentTypeError(f'got "{text}", need {need}')
        return value

    return read


def _add(parser: _Parser, name: str, annotation: Any, default: Any) -> argparse.Action:
    kind, (given,) = _whole(annotation.__origin__), annotation.__metadata__
    several = getattr(kind, "__origin__", None) is list
    if isinstance(given, Argument):
        count: dict[str, Any] = {"nargs": "+"} if several else {}
        if default is not ...:
            count = {"nargs": "*" if several else "?", "default": default}
        return parser.add_argument(
            name, metavar=given.metavar, help=given.help, type=Path if kind in (Path, list[Path]) else str, **count
        )
    names = given.names or (f"--{name.replace('_', '-')}",)
    more: dict[str, Any] = {"dest": name, "default": default, "help": given.help}
    if kind is bool:
        more["action"] = "store_true" if given.names else argparse.BooleanOptionalAction
    else:
        more["metavar"] = given.metavar
        more["type"] = _number(kind, given) if kind in (int, float) else kind
        if several:
            more.update(type=str, action="append")
        if given.alone is not None:
            more.update(nargs="?", const=given.alone)
    return parser.add_argument(*names, **more)


def _unpacked(function: Callable[..., int | None]) -> Iterator[tuple[str, Any, None]]:
    """Yield names, annotations and defaults of the options in ``**options``."""
    given = function.__annotations__.get("options")
    for name, annotation in {} if given is None else given.__args__[0].__annotations__.items():
        kinds, (metavar, sentence) = annotation.__origin__.__args__, annotation.__metadata__
        kind = Path if PathLike[str] in kinds else kinds[0]
        kind = list[str] if getattr(kind, "__origin__", None) is Sequence else kind
        least = 0 if kind in (int, float) else None
        yield name, Annotated[kind, Option(help=sentence, metavar=metavar, min=least)], None


def _parser(
    name: str,
    function: Callable[..., int | None],
    parser: _Parser | None = None,
    complete: Callable[[argparse.Action, Any, Argument | Option], None] | None = None,
    *,
    only_options: bool = False,
) -> _Parser:
    """Return the parser of a command; its help is the function's docstring.

    Args:
        name: name of the command.
        function: the command.
        parser: an empty one, or none.
        complete: called with each argument that is added, its type and its declaration.
        only_options: whether to leave out positional arguments.
    """
    code = function.__code__
    defaults = function.__defaults__ or ()
    parameters = code.co_varnames[: code.co_argcount]
    values = (*[...] * (len(parameters) - len(defaults)), *defaults)
    parser = parser or _Parser(
        prog=f"headstack {name}",
        description=help_of(function),
        formatter_class=_Formatter,
        allow_abbrev=False,
        exit_on_error=False,
    )
    declared = [
        (parameter, function.__annotations__[parameter], default)
        for parameter, default in zip(parameters, values, strict=True)
    ]
    for parameter, annotation, default in [*declared, *_unpacked(function)]:
        if only_options and isinstance(annotation.__metadata__[0], Argument):
            continue
        action = _add(parser, parameter, annotation, default)
        if complete is not None:
            complete(action, _whole(annotation.__origin__), annotation.__metadata__[0])
    return parser


def whole_parser(
    commands: Mapping[str, Callable[..., int | None]],
    complete: Callable[[argparse.Action, Any, Argument | Option], None],
    subcommands: Callable[[Callable[..., int | None]], Mapping[str, Callable[..., int | None]]],
) -> argparse.ArgumentParser:
    """Return one parser for all commands, for descriptions of the whole command line.

    Args:
        commands: by name.
        complete: called with each argument that is added, its type and its declaration.
        subcommands: returns those of a command. Known values of its first argument are added
            as if they were subcommands too, because the further arguments depend on the value.
    """
    whole = _Parser(prog="headstack")
    whole.add_argument("--version", action="store_true", help="Print the version")
    below = whole.add_subparsers(dest="command")
    for name, function in commands.items():
        more, own = subcommands(function), below.add_parser(name, help=_summary(function))
        _parser(name, function, own, complete, only_options=bool(more))
        if more:
            words = own.add_subparsers()
            for word in _first_words(function):
                meant = more.get(word, function)
                known = words.add_parser(word, help=_summary(meant))
                _parser(word, meant, known, complete, only_options=word not in more)
    return whole


def _summary(function: Callable[..., Any]) -> str:
    """Return the first line of a command's help."""
    return help_of(function).partition("\n")[0]


def _first_words(function: Callable[..., int | None]) -> list[str]:
    """Return the known values of a command's first argument."""
    declared = (a.__metadata__[0] for a in function.__annotations__.values() if a is not None)
    first = next((d for d in declared if isinstance(d, Argument)), None)
    return [] if first is None or first.suggest is None else sorted(first.suggest())


def help_of(function: Callable[..., Any]) -> str:
    """Return a docstring without its indentation."""
    first, _, rest = (function.__doc__ or "").partition("\n")
    return "\n".join([first, *(line.removeprefix("    ") for line in rest.splitlines())]).strip()


def call(name: str, function: Callable[..., int | None], args: Sequence[str]) -> int | None:
    """Call the command `name` with the arguments of the command line.

    Raises:
        ConfigError: the command line is wrong.
    """
    parser = _parser(name, function)
    try:
        known, more = parser.parse_known_intermixed_args(args)
    except argparse.ArgumentError as e:
        option = e.argument_name or ""
        message = e.message.replace("expected one argument", "got nothing, need a value")
        longest = max(option.split("/"), key=len)
        raise ConfigError(f"{parser.prog}: {longest}: {message}; see {parser.prog} --help") from None
    unknown = next((a for a in more if a.startswith("-") and a != "-"), None)
    if unknown is not None:
        options = [o for action in parser._actions for o in action.option_strings]
        long = [o for o in options if o.startswith("--")]
        raise ConfigError(need_one_of(parser.prog, unknown.partition("=")[0], long))
    if more:
        too_much = " ".join(more)
        parser.error(f'got "{too_much}" too much, need no more arguments')
    return function(**vars(known))
