"""The hint ``; did you mean "x"?`` of error messages."""

from collections.abc import Iterable


def did_you_mean(got: str, known: Iterable[str]) -> str:
    """Return the hint, or an empty text if no known name is near."""
    # Imported here, because most commands have no errors.
    import difflib

    names = {name.lower(): name for name in known}
    near = difflib.get_close_matches(got.lower(), names, n=3, cutoff=0.6)
    # Two letters in each other's place are the most frequent slip.
    near.sort(key=lambda name: sorted(name) != sorted(got.lower()))
    return f'; did you mean "{names[near[0]]}"?' if near else ""


def listed(names: Iterable[str]) -> str:
    """Return names one after the other, in quotes if one of them has a comma or a space.

    Example:
        >>> listed(["raid0", "raid5"]), listed(["one", "two, in order"])
        ('raid0, raid5', '"one", "two, in order"')
    """
    all_names = list(names)
    quoted = any("," in name or " " in name or not name for name in all_names)
    return ", ".join(f'"{name}"' for name in all_names) if quoted else ", ".join(all_names)


def need_one_of(where: str, got: str, known: Iterable[str]) -> str:
    """Return the whole message for a name that is not one of `known`."""
    names = list(known)
    if not names:
        return f'{where}: got "{got}", need none: there is nothing of that kind here'
    return f'{where}: got "{got}", need one of {listed(names)}{did_you_mean(got, names)}'
