"""How is a function of the caller called and judged? Sync and async alike, and never with its error replaced."""

from __future__ import annotations

import contextlib
import inspect
import os
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from types import AsyncGeneratorType, FunctionType, GeneratorType
from typing import Any, Generic, TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

from dlq_console.errors import (
    ConfigurationError,
    IdempotencyConflict,
    LeaseLost,
    PayloadRefused,
    StoreUnavailable,
)
from dlq_console.resilience.errors import (
    BudgetExceededError,
    BulkheadTimeoutError,
    Refusal,
    UndecidedError,
)
from dlq_console.resilience.state import SharedState

Result = TypeVar("Result")

#: How many threads of one event loop wait for a shared state at most; apart from those of the application.
_WAITING_THREADS = 16
_waiting: RunVar[anyio.CapacityLimiter] = RunVar("dlq_console_waiting")

#: Errors by which a task is told to end. Celery's is an ordinary Exception and known by name, since nobody needs
#: Celery to be guarded.
_INTERRUPTS = frozenset({"SoftTimeLimitExceeded"})

#: Errors of this library itself, which reaches them without asking the service.
_LOCAL = (
    Refusal, ConfigurationError, IdempotencyConflict, LeaseLost, PayloadRefused, StoreUnavailable, UndecidedError,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Replay:
    """A result that was kept from an earlier call: the service was not asked, so it proves nothing."""

    value: Any


def owner() -> str:
    """Who holds a lease: host and process."""
    return f"{_HOST}:{os.getpid()}"


_HOST = socket.gethostname()


def is_async(fn: Callable[..., Any]) -> bool:
    """Whether calling it gives something to be awaited."""
    if type(fn) is FunctionType and not hasattr(fn, "__wrapped__"):
        return bool(fn.__code__.co_flags & inspect.CO_COROUTINE)
    while isinstance(fn, partial):
        fn = fn.func
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(getattr(fn, "__call__", None))  # noqa: B004


def no_generator(fn: Callable[..., Any], name: str) -> None:
    """Refuse a generator function, sync or async: calling it does nothing, its work is done while somebody reads.

    Raises:
        ConfigurationError: it is one.
    """
    if type(fn) is FunctionType:
        generator = _is_generator(fn)
    else:
        while isinstance(fn, partial):
            fn = fn.func
        looked_at = (fn, getattr(fn, "__call__", None))  # noqa: B004 - looked at, not tested for
        generator = any(
            inspect.isgeneratorfunction(each) or inspect.isasyncgenfunction(each) for each in looked_at
        )
    if generator:
        raise ConfigurationError(
            f'"{name}" was given a generator function, whose work begins after the call is over; give it a function that'
            " reads the generator and returns a result."
        )


def _is_generator(fn: FunctionType) -> bool:
    """Whether its work begins when its result is used; so it is with a context manager that is made of a generator."""
    inner = getattr(fn, "__wrapped__", None)
    if fn.__globals__ is vars(contextlib) and isinstance(inner, FunctionType):
        return _is_generator(inner)
    return bool(fn.__code__.co_flags & (inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR))


def no_generator_made(result: Any, name: str) -> Any:
    """Refuse a result that is a generator: what it is to do is done while somebody reads it, after the call.

    Raises:
        ConfigurationError: it is one; it was closed, if that can be done at once.
    """
    if isinstance(result, (GeneratorType, AsyncGeneratorType)):
        if isinstance(result, GeneratorType):
            result.close()
        raise ConfigurationError(
            f'What "{name}" was to call gave a generator, whose work begins after the call is over; give it a function'
            " that reads the generator and returns a result."
        )
    return result


def no_awaitable(result: Any, name: str) -> Any:
    """Refuse a result that has yet to be awaited or read: the call would count as over before its work has begun.

    Raises:
        ConfigurationError: it is one; a coroutine or generator was closed, a task or future cancelled.
    """
    if hasattr(type(result), "__await__"):
        for end in ("close", "cancel"):
            if callable(getattr(result, end, None)):
                getattr(result, end)()
                break
        raise ConfigurationError(
            f'What "{name}" was to call gave an awaitable; hand in the async function itself, or a wrapper of it that is'
            " async too."
        )
    return no_generator_made(result, name)


def is_interrupt(error: BaseException) -> bool:
    """Whether the error ends the task and says nothing about the service: cancelled, stopped, interrupted."""
    return not isinstance(error, Exception) or type(error).__name__ in _INTERRUPTS


def is_local(error: BaseException) -> bool:
    """Whether the call was refused on this side, so that it says nothing about the service."""
    if isinstance(error, BulkheadTimeoutError):
        return False
    if isinstance(error, BudgetExceededError):
        return not error.during_call
    return isinstance(error, _LOCAL)


async def off_the_loop(
    state: SharedState,
    work: Callable[[], Result],
    undo: Callable[[Result], object] | None = None,
) -> Result:
    """Do work that may wait for a shared state without stopping the event loop.

    Args:
        state: what is waited for; a local one never waits, and the work is done at once.
        work: what to do.
        undo: takes its result back when the task was cancelled meanwhile and nobody receives it.
    """
    if state.local:
        return work()
    handover = _Handover(work, undo)
    try:
        return await anyio.to_thread.run_sync(handover.make, limiter=_limiter())
    except BaseException:
        handover.abandon()
        raise


async def to_the_end(state: SharedState, work: Callable[[], Result]) -> Result:
    """As `off_the_loop`, for what must be done whatever becomes of the task, such as giving back what it holds.

    A cancellation that comes meanwhile, of asyncio or of a scope, is raised when the work is over.
    """
    if state.local:
        return work()
    once = _Once(work)
    cancelled: BaseException | None = None
    try:
        # A scope is kept out by the shield; `Task.cancel` passes it, before the work has begun or in its midst.
        with anyio.CancelScope(shield=True):
            while not once.is_over:
                try:
                    await anyio.to_thread.run_sync(once.do, limiter=_limiter())
                except anyio.get_cancelled_exc_class() as error:
                    cancelled = error
    finally:
        if not once.is_over:  # the event loop itself is gone
            threading.Thread(target=once.do, daemon=True).start()
    if cancelled is not None:
        raise cancelled
    return once.result()


def _limiter() -> anyio.CapacityLimiter:
    try:
        return _waiting.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(_WAITING_THREADS)
        _waiting.set(limiter)
        return limiter


class _Once(Generic[Result]):
    """Work that is done once, however often and from however many threads it is asked for."""

    def __init__(self, work: Callable[[], Result]) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._made: Future[Result] = Future()

    @property
    def is_over(self) -> bool:
        """Whether it has been done, or has failed."""
        return self._made.done()

    def do(self) -> None:
        """Do the work, or wait until it is done in another thread."""
        with self._lock:
            if self.is_over:
                return
            try:
                self._made.set_result(self._work())
            except BaseException as error:  # noqa: BLE001 - handed to the task, which judges it
                self._made.set_exception(error)

    def result(self) -> Result:
        """What came of it; raises what it raised."""
        return self._made.result()


class _Handover(Generic[Result]):
    """A result made in a thread for a task that may be gone by then."""

    def __init__(self, work: Callable[[], Result], undo: Callable[[Result], object] | None) -> None:
        self._work = work
        self._undo = undo
        self._lock = threading.Lock()
        self._abandoned = False
        self._made: list[Result] = []

    def make(self) -> Result:
        """Do the work; take it back when its task is gone."""
        result = self._work()
        with self._lock:
            abandoned = self._abandoned
            self._made.append(result)
        if abandoned and self._undo is not None:
            self._undo(result)
        return result

    def abandon(self) -> None:
        """The task is gone: what was made already is taken back, beside the event loop."""
        with self._lock:
            self._abandoned = True
            made = list(self._made)
        if made and self._undo is not None:
            threading.Thread(target=self._undo, args=(made[0],), daemon=True).start()
