"""Checks whether figures can be drawn in this process.

The drawing library runs V8 (in ``vl_convert``), which reserves tens of gigabytes of address space.
If a memory limit forbids that, it ends the process at once, and no handler can prevent it. So a
small drawing in a separate process tests it first.
"""

import functools
import resource
import subprocess
import sys

from headstack.errors import HeadstackError, printable

#: Names of the properties of every JavaScript object: a scale that looks up such a label finds
#: them.
_TAKEN = frozenset(
    {"constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf"}
)

_SMALL = """
import vl_convert
vl_convert.vegalite_to_svg({"data": {"values": []}, "mark": "point"})
"""


@functools.cache
def check_memory() -> None:
    """Refuse to draw if a memory limit would end the process.

    Raises:
        HeadstackError: the limit is too low for the drawing library.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    tried = subprocess.run([sys.executable, "-c", _SMALL], capture_output=True, check=False)
    if tried.returncode:
        raise HeadstackError(
            f"drawing: got a limit of {limit / 2**30:.1f} GiB on this process's memory, need "
            "about 100 GiB of addresses, though little memory (ulimit -v unlimited)"
        )


def label(text: str) -> str:
    r"""Return text that figures can display, with line ends and control characters escaped.

    Example:
        >>> label("one\u2028two"), label("constructor") == "constructor"
        ('one\\u{2028}two', False)
    """
    text = printable(text)
    taken = text in _TAKEN or text.startswith("__")
    return f"{text}\N{NO-BREAK SPACE}" if taken else text
