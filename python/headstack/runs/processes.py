"""Processes of this machine behind the interface of `concurrent.futures`.

`concurrent.futures.ProcessPoolExecutor` either copies this process with its threads, or imports the
main module again, which scripts and notebooks do not expect; and after one process has died it does
nothing more. Here each thread of a pool has a process, started by name, which ends with its parent.
One that dies is replaced, and its call is repeated.
"""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from headstack.errors import HeadstackError

#: The program of a process.
_START = "from headstack.runs.processes import main; main()"

#: How often a call is tried if the process dies.
MOST_TRIES = 3


#: What a process is asked to do: a function and its arguments.
Call = tuple[Callable[..., Any], Sequence[Any]]


class Processes(ThreadPoolExecutor):
    """A pool of processes; functions are known by their names, arguments and results are pickled."""

    def __init__(self, jobs: int, initializer: Callable[..., Any] | None = None, initargs: Sequence[Any] = ()) -> None:
        """Prepare the pool; processes start when they are needed.

        Args:
            jobs: number of processes.
            initializer: called first in each process, with `initargs`.
            initargs: its arguments.
        """
        super().__init__(jobs)
        self._first: list[Call] = [] if initializer is None else [(initializer, initargs)]
        #: By the thread that it belongs to.
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        self._ended = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Have a process call a function of a module; keyword arguments are not supported."""
        if kwargs:
            raise TypeError("submit: got keyword arguments, need positional ones")
        return super().submit(self._tried, (fn, args))

    def _tried(self, call: Call) -> Any:
        codes: list[str] = []
        thread = threading.get_ident()
        while len(codes) < MOST_TRIES and not self._ended:
            child = self._children.get(thread)
            calls = [call] if child is not None else [*self._first, call]
            if child is None:
                child = self._children[thread] = subprocess.Popen(
                    [sys.executable, "-c", _START], stdin=subprocess.PIPE, stdout=subprocess.PIPE
                )
            if self._ended:  # since this thread looked
                child.kill()
            try:
                answers = [_asked(child, one) for one in calls]
            except (OSError, EOFError, pickle.UnpicklingError):
                codes.append(str(_end(self._children.pop(thread))))
                continue
            if isinstance(answers[-1], HeadstackError):
                raise answers[-1]
            return answers[-1]
        raise HeadstackError(
            f"sweep: got a process that ended {len(codes)} times in one run (exit code "
            f"{', '.join(codes) or 'none'}), need one that stays; hint: is there enough memory?"
        )

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes; with `cancel_futures` at once, in the middle of their work."""
        if cancel_futures:
            self._ended = True
            for child in list(self._children.values()):
                child.kill()
        super().shutdown(wait or cancel_futures, cancel_futures=cancel_futures)
        for thread in list(self._children) if wait or cancel_futures else ():
            _end(self._children.pop(thread))


def _asked(child: "subprocess.Popen[bytes]", call: Call) -> Any:
    """Return what a function returns in a process, or its error."""
    assert child.stdin is not None
    assert child.stdout is not None
    pickle.dump(call, child.stdin)
    child.stdin.flush()
    return pickle.load(child.stdout)


def _end(child: "subprocess.Popen[bytes]") -> int:
    """End a process, whatever it does; return its exit code."""
    child.kill()
    # What a process that died did not read is still to be written.
    with contextlib.suppress(BrokenPipeError), child:
        pass
    return child.returncode


def main() -> None:
    """Answer calls until standard input ends."""
    # Ctrl-C reaches all processes of a terminal; the one that started this one decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(EOFError), os.fdopen(os.dup(1), "wb") as out:
        # Whatever else is printed must not be taken for an answer.
        os.dup2(2, 1)
        while True:
            function, args = pickle.load(sys.stdin.buffer)
            try:
                answer = function(*args)
            except HeadstackError as e:
                answer = e
            except MemoryError:
                answer = HeadstackError("sweep: got no more memory, need more of it")
            pickle.dump(answer, out)
            out.flush()
