"""The hint ``; did you mean "x"?`` of error messages."""

from collections.abc import Iterable


def did_you_mean(got: str, known: Iterable[str]) -> str:
    """Return the hint, or an empty text if no known name is near."""
    # Imported here, because most commands have no errors.
    import difflib

    near = difflib.get_close_matches(got, list(known), n=1, cutoff=0.6)
    return f'; did you mean "{near[0]}"?' if near else ""


def need_one_of(where: str, got: str, known: Iterable[str]) -> str:
    """Return the whole message for a name that is not one of `known`."""
    names = list(known)
    return f'{where}: got "{got}", need one of {", ".join(names)}{did_you_mean(got, names)}'
