"""Whether figures can be drawn in this process.

What draws them, V8 inside ``vl_convert``, reserves tens of gigabytes of addresses. Where a limit on
a process's memory forbids that, it ends the process at once, which nothing can catch: a small
drawing in a process of its own shows it before.
"""

import functools
import resource
import subprocess
import sys

from headstack.errors import HeadstackError, printable

#: What every object of JavaScript has: a scale that looks a label up by its name would find this.
_TAKEN = frozenset(
    {
        "constructor",
        "hasOwnProperty",
        "isPrototypeOf",
        "propertyIsEnumerable",
        "toLocaleString",
        "toString",
        "valueOf",
    }
)

_SMALL = """
import vl_convert
vl_convert.vegalite_to_svg({"data": {"values": []}, "mark": "point"})
"""


@functools.cache
def check_memory() -> None:
    """Refuse to draw where a limit on memory would end the process.

    Raises:
        HeadstackError: the limit is too low for what draws figures.

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
    r"""Return text as figures can show it: without what ends a line or a program's text.

    Example:
        >>> label("one\u2028two"), label("constructor") == "constructor"
        ('one\\u{2028}two', False)

    """
    text = printable(text)
    taken = text in _TAKEN or text.startswith("__")
    return f"{text}\N{NO-BREAK SPACE}" if taken else text
