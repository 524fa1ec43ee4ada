"""How long does a caller wait for a function that cannot be stopped? As long as it wants: the function runs elsewhere.

A thread cannot be ended from outside. So the caller is freed at its limit, and the function goes on to its end in its
own thread; only then does what it holds become free. The threads are daemons: one that hangs never keeps a program
from ending.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from dlq_console.resilience.forks import forget_in_child

Result = TypeVar("Result")

#: A thread without work ends after so many seconds.
_IDLE_FOR = 10.0


class OverrunError(Exception):
    """The function did not end in time; it goes on."""


class _Call(Generic[Result]):
    """A function under way in a thread, and somebody who waits for it, or no more."""

    def __init__(self, fn: Callable[[], Result], ended: Callable[[], object]) -> None:
        self._fn = fn
        self._ended = ended
        self._context = contextvars.copy_context()
        self._over = threading.Event()
        self._free = threading.Event()
        self._result: Result | None = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """In the thread: the function, then what must follow its real end."""
        try:
            self._result = self._context.run(self._fn)
        except BaseException as error:  # noqa: BLE001 - handed to the caller, who judges it
            self._error = error
        self._over.set()
        try:
            self._ended()
        finally:
            self._free.set()

    def wait(self, limit: float | None) -> Result:
        """In the caller: its result, once what it held is free."""
        if not self._over.wait(limit):
            raise OverrunError
        self._free.wait()
        if self._error is not None:
            try:
                raise self._error
            finally:
                # The error holds this frame; a cycle would keep what the caller's frames hold.
                self._error = None
        return self._result  # type: ignore[return-value]  # set, since there was no error


class _Threads:
    """Threads that wait for calls; as many as there are calls at once."""

    def __init__(self) -> None:
        self.forget()
        forget_in_child(self)

    def forget(self) -> None:
        """Have no thread, as in a forked child: those of its parent do not exist there."""
        self._lock = threading.Lock()
        self._idle: list[SimpleQueue[_Call[Any]]] = []

    def start(self, call: _Call[Any]) -> None:
        """Give the call to a thread at once."""
        with self._lock:
            queue = self._idle.pop() if self._idle else None
        if queue is not None:
            queue.put(call)
            return
        threading.Thread(target=self._work, args=(call,), name="dlq-console-call", daemon=True).start()

    def _work(self, call: _Call[Any]) -> None:
        queue: SimpleQueue[_Call[Any]] = SimpleQueue()
        while True:
            call.run()
            del call  # what it holds is free while this thread waits
            with self._lock:
                self._idle.append(queue)
            try:
                call = queue.get(timeout=_IDLE_FOR)
            except Empty:
                with self._lock:
                    if queue in self._idle:
                        self._idle.remove(queue)
                        return
                # A call was given to this thread at the last moment.
                call = queue.get()


_threads = _Threads()


def call_within(limit: float | None, fn: Callable[[], Result], ended: Callable[[], object]) -> Result:
    """Call `fn` in another thread, in a copy of this context, and wait for it at most `limit` seconds.

    Args:
        limit: seconds; None to wait for its end.
        fn: what to call.
        ended: called in that thread when `fn` has really ended, however late.

    Raises:
        OverrunError: it did not end in time.
        BaseException: whatever `fn` raised.
    """
    call = _Call(fn, ended)
    try:
        _threads.start(call)
    except BaseException:
        ended()
        raise
    return call.wait(limit)
