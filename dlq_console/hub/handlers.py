"""Which function runs which kind of event, and what it is given."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from dlq_console.clock import monotonic
from dlq_console.errors import ConfigurationError, LeaseLost
from dlq_console.hub.policy import Policy
from dlq_console.store.events import Event
from dlq_console.store.kinds import PublishedKind

HandlerFunction = Callable[..., Any]
AnyHandler = TypeVar("AnyHandler", bound=HandlerFunction)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of an event, given to its handler.

    Attributes:
        attempt: which attempt of the present cycle this is, from 1.
        effect_key: hand it to the outside system as its idempotency key: it stays the same whatever happens here.
        log: a logger that names the event.
    """

    attempt: int
    effect_key: str
    log: logging.LoggerAdapter[logging.Logger]
    deadline: float = field(repr=False)
    still_held: Callable[[], bool] = field(repr=False)

    def remaining(self) -> float:
        """Seconds left of the time limit; never below 0."""
        return max(0.0, self.deadline - monotonic())

    def check(self) -> None:
        """Make sure that this run still owns its event; call it right before an effect that cannot be undone.

        Raises:
            LeaseLost: it does not: the lease lapsed and another worker may be running the event.
        """
        if not self.still_held():
            raise LeaseLost


@dataclass(frozen=True, slots=True)
class Handler:
    """A function with its policy, called in one way whatever its form."""

    kind: str
    function: HandlerFunction
    policy: Policy
    wants_run: bool
    is_async: bool

    def __call__(self, event: Event, run: Run) -> Any:
        """Run the function to its end and return what it returns."""
        arguments: tuple[Any, ...] = (event, run) if self.wants_run else (event,)
        if not self.is_async:
            return self.function(*arguments)
        return _loops.get().run(self.function(*arguments), run.remaining())


class Registry:
    """The handlers of one hub."""

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}

    def register(self, kind: str, policy: Policy) -> Callable[[AnyHandler], AnyHandler]:
        """A decorator that makes a function the handler of `kind`.

        Raises:
            ConfigurationError: the kind has a handler already, or the function cannot take an event.
        """
        if not kind.strip():
            raise ConfigurationError("A handler needs the name of its kind, such as order.create.")

        def decorate(function: AnyHandler) -> AnyHandler:
            if kind in self._handlers:
                raise ConfigurationError(
                    f"The kind {kind} has a handler already: {self._handlers[kind].function}."
                )
            self._handlers[kind] = Handler(
                kind, function, policy, _takes_run(kind, function), inspect.iscoroutinefunction(function)
            )
            return function

        return decorate

    def get(self, kind: str) -> Handler | None:
        """The handler of `kind`; None where there is none."""
        return self._handlers.get(kind)

    def kinds(self) -> list[PublishedKind]:
        """What a worker publishes about its handlers."""
        return [
            PublishedKind(
                handler.kind,
                handler.policy.max_attempts,
                handler.policy.timeout,
                handler.policy.provider,
                handler.policy.published(),
            )
            for handler in self._handlers.values()
        ]


def _takes_run(kind: str, function: HandlerFunction) -> bool:
    parameters = inspect.signature(function).parameters.values()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in positional if p.default is p.empty]
    if not positional or len(required) > 2:
        raise ConfigurationError(f"The handler of {kind} must take (event) or (event, run).")
    return len(positional) >= 2


class _EventLoop:
    """One event loop per process, in a thread of its own, for every async handler.

    Clients that an async handler keeps between runs (connection pools) are bound to the loop they were made on; a new
    loop per run would break the second run.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="dlq-console-async", daemon=True).start()

    def run(self, coroutine: Coroutine[Any, Any, Any], seconds: float) -> Any:
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result(timeout=seconds)
        except BaseException:  # also the time limit that Celery raises from a signal
            future.cancel()
            raise


class _Loops:
    """The loop of this process, started at first use."""

    def __init__(self) -> None:
        self.reset()
        # Neither the loop's thread nor a lock that another thread holds survives a fork.
        os.register_at_fork(after_in_child=self.reset)

    def reset(self) -> None:
        self._lock = threading.Lock()
        self._loop: _EventLoop | None = None

    def get(self) -> _EventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = _EventLoop()
            return self._loop


_loops = _Loops()
