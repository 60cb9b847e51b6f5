"""Processes of this machine behind the interface of `concurrent.futures`.

`concurrent.futures.ProcessPoolExecutor` either copies this process with its threads, or imports the
main module again, which scripts and notebooks do not expect. These processes are started by name,
take JSON, and end with their parent. One that dies is replaced, and its call is repeated.
"""

import contextlib
import json
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from typing import Any

from headstack.errors import HeadstackError
from headstack.runs import worker

#: The program of a process.
_START = "from headstack.runs.worker import main; main()"

#: How often a call is tried if the process dies.
MOST_TRIES = 3


class _DiedError(Exception):
    """The process ended before it answered; the argument is its exit code."""


class _Process:
    """One process, started at its first call."""

    def __init__(self, first: tuple[Callable[..., Any], Sequence[Any]] | None) -> None:
        self._first = first
        self._child: subprocess.Popen[str] | None = None

    def call(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Return what the function returns in the process.

        Raises:
            _DiedError: the process ended.
            HeadstackError: the function raised it.
        """
        if self._child is None:
            self._child = subprocess.Popen(
                [sys.executable, "-c", _START],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
            )
            if self._first is not None:
                self._exchange(self._child, *self._first)
        return self._exchange(self._child, function, args)

    def _exchange(self, child: "subprocess.Popen[str]", function: Callable[..., Any], args: Sequence[Any]) -> Any:
        asked = {"call": f"{function.__module__}:{function.__qualname__}", "args": list(args)}
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write(json.dumps(asked) + "\n")
            child.stdin.flush()
            line = child.stdout.readline()
        except OSError:
            line = ""
        if not line.endswith("\n"):
            code = self.end()
            raise _DiedError(code)
        answer = json.loads(line)
        if "error" not in answer:
            return answer["value"]
        error = worker.ERRORS[answer["error"]](answer["text"])
        for note in answer.get("notes", ()):
            error.add_note(note)
        raise error

    def end(self) -> int:
        """End the process, whatever it does; return its exit code."""
        child, self._child = self._child, None
        if child is None:
            return 0
        with contextlib.suppress(OSError):
            child.kill()
        code = child.wait()
        for stream in (child.stdin, child.stdout):
            # The buffer may hold what a process that died did not read.
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        return code


class Processes(Executor):
    """A pool of processes; functions are named, arguments and results are what JSON represents."""

    def __init__(self, jobs: int, initializer: Callable[..., Any] | None = None, initargs: Sequence[Any] = ()) -> None:
        """Prepare the pool; processes start when they are needed.

        Args:
            jobs: number of processes.
            initializer: called first in each process, with `initargs`.
            initargs: its arguments.
        """
        first = None if initializer is None else (initializer, initargs)
        self._calls: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._processes = [_Process(first) for _ in range(jobs)]
        self._ended = False
        self._threads = [threading.Thread(target=self._serve, args=(p,), daemon=True) for p in self._processes]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Have a process call a function of a module; keyword arguments are not supported."""
        if kwargs:
            raise TypeError("submit: got keyword arguments, need positional ones")
        future: Future[Any] = Future()
        self._calls.put((future, fn, args))
        return future

    def _serve(self, process: _Process) -> None:
        while (call := self._calls.get()) is not None:
            future, function, args = call
            if self._ended or not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(self._tried(process, function, args))
            except BaseException as e:
                future.set_exception(e)
        process.end()

    def _tried(self, process: _Process, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        codes: list[str] = []
        while len(codes) < MOST_TRIES and not self._ended:
            try:
                return process.call(function, args)
            except _DiedError as e:
                codes.append(str(e))
        raise HeadstackError(
            f"sweep: got a process that ended {len(codes)} times in one run (exit code "
            f"{', '.join(codes) or 'none'}), need one that stays; hint: is there enough memory?"
        )

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes; with `cancel_futures` at once, in the middle of their work."""
        if cancel_futures:
            self._ended = True
            for process in self._processes:
                process.end()
        for _ in self._threads:
            self._calls.put(None)
        if wait:
            for thread in self._threads:
                thread.join()
