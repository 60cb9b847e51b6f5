"""All exceptions of the package; the Rust core raises them too."""

import errno
import functools
import re
from collections.abc import Callable
from typing import Any

#: Errors of the operating system that mean that the user gave an unusable path.
UNUSABLE = frozenset(
    {
        errno.ENOENT,
        errno.EISDIR,
        errno.ENOTDIR,
        errno.EEXIST,
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ENAMETOOLONG,
        errno.ELOOP,
    }
)

#: Errors of the operating system that mean that there is no space for a file.
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

_REASONS = {
    errno.EISDIR: "a directory",
    errno.ENOTDIR: "a file in place of a directory",
    errno.EEXIST: "a file in place of a directory",
}


def reason_of(error: OSError) -> str:
    """Return the operating system's error for a path, in the words of all messages."""
    return _REASONS.get(error.errno or 0) or (error.strerror or str(error)).lower()


def not_json(error: Exception) -> str:
    """Return in words why text is not JSON: `error` is what the parser raised."""
    import json

    if isinstance(error, json.JSONDecodeError):
        return f"no JSON in line {error.lineno}, column {error.colno} ({error.msg.lower()})"
    return "text that is not JSON"


#: Terminal control characters, line ends, marks of writing direction, and lone surrogates.
_STEERING = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ufeff\\ud800-\\udfff]"
)
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def printable(text: str) -> str:
    r"""Return text from a file with characters that control a terminal escaped.

    Example:
        >>> print(printable("one\x1b[2J"))
        one\u{1b}[2J
    """
    return _STEERING.sub(lambda m: _SHORT.get(m[0], f"\\u{{{ord(m[0]):x}}}"), text)


def guarded(function: Callable[..., Any], panic: type[BaseException], message: Callable[[], str]) -> Callable[..., Any]:
    """Return a function of the core that raises `HeadstackError` where the core fails inside.

    Args:
        function: the function.
        panic: the class of such a failure, which is no `Exception`.
        message: returns the message for it.
    """

    @functools.wraps(function)
    def call(*args: Any, **keys: Any) -> Any:
        try:
            return function(*args, **keys)
        except panic:
            raise HeadstackError(message()) from None

    return call


class HeadstackError(Exception):
    """Any error, with a message of the form ``<where>: got <value>, need <bound>``."""

    def __str__(self) -> str:
        """Return the message with control characters escaped."""
        return printable(super().__str__())


class ConfigError(HeadstackError):
    """An experiment, a drive file or an argument that cannot be used."""


class TraceError(HeadstackError, ValueError):
    """A trace that cannot be read, with file, line and column if known."""


class DeviceError(HeadstackError, OSError):
    """A device or file that the operating system refused to open or use."""

    def __str__(self) -> str:
        """Return the message alone, not ``OSError``'s tuple."""
        return printable(" ".join(str(a) for a in self.args))
