"""The experiment of a result, as a file that can be run again."""

from collections.abc import Mapping
from typing import Any

from headstack.errors import ConfigError

#: TOML's integers have 64 bits with a sign.
_MOST = 2**63 - 1


def experiment_toml(document: Mapping[str, Any]) -> str:
    """Return the experiment of a result document as TOML, with every value filled in.

    Run with the same version it gives the same result, byte for byte. Its list ``defaults`` names
    the values that were filled in. Paths are those of the original, so the file must be in the same
    folder.

    Args:
        document: the output of ``headstack run --json``, or `Result.document`.

    Raises:
        ConfigError: the document has no experiment, or an integer too large for TOML.
    """
    import tomli_w

    experiment = document.get("experiment")
    if not isinstance(experiment, Mapping):
        raise ConfigError("experiment: got none, need a result of this version: earlier ones did not keep it")
    _check(experiment)
    defaults = list(document.get("defaults") or [])
    table = {"defaults": defaults, **experiment} if defaults else dict(experiment)
    head = f"# Headstack {document.get('version', '')}, run {document.get('run_id', '')}.\n"
    if defaults:
        head += "# What stands in defaults was given by nobody.\n"
    return head + tomli_w.dumps(table)


def _check(experiment: Mapping[str, Any]) -> None:
    """Refuse integers outside the range of TOML."""
    rest: list[tuple[str, Any]] = [("", experiment)]
    while rest:
        key, value = rest.pop()
        if isinstance(value, int) and not isinstance(value, bool) and value > _MOST:
            raise ConfigError(f"{key}: got {value}, need at most 2^63 - 1: TOML holds no more")
        if isinstance(value, Mapping):
            rest += [(f"{key}.{k}".lstrip("."), v) for k, v in value.items()]
        elif isinstance(value, list):
            rest += [(f"{key}.{i}", v) for i, v in enumerate(value)]
