"""Which function runs which kind of event, and what it is given."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from dlq_console.classify import RuleSet
from dlq_console.clock import monotonic
from dlq_console.errors import ConfigurationError, LeaseLost, PayloadRefused
from dlq_console.hub.channels import Channels
from dlq_console.hub.limits import limits_of
from dlq_console.hub.policy import Policy
from dlq_console.hub.surroundings import around_coroutine, around_function
from dlq_console.store import limits
from dlq_console.store.events import Event
from dlq_console.store.internal import ALERT, PRECHECK, check_kind_name
from dlq_console.store.kinds import PublishedKind
from dlq_console.store.limits import KindLimits

#: By which workers publish that a kind has a precheck, beside its policy.
PRECHECK_FLAG = "precheck"

HandlerFunction = Callable[..., Any]
AnyHandler = TypeVar("AnyHandler", bound=HandlerFunction)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of an event, given to its handler.

    Attributes:
        attempt: which attempt of the present cycle this is, from 1.
        effect_key: hand it to the outside system as its idempotency key: it changes only when it is known
            that the last call was not applied, or with another payload.
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


class TimeLimitReached(BaseException):
    """The run is at its time limit.

    Workers that share a process with the handler raise it into the handler; `except Exception` cannot swallow it.
    """


@dataclass(frozen=True, slots=True)
class Handler:
    """A function with its policy, called in one way whatever its form."""

    kind: str
    function: HandlerFunction
    policy: Policy
    wants_run: bool
    #: Answers whether the provider has it already; None where nobody can tell.
    verifier: Helper | None = None
    #: Rebuilds the payload before it is sent again; None where it stays as it came in.
    refresher: Helper | None = None

    def __call__(self, event: Event, run: Run) -> Any:
        """Run the function to its end and return what it returns.

        Raises:
            TimeLimitReached: an async function was stopped at its time limit.
        """
        return _call(self.function, self.wants_run, event, run)

    def verify(self, event: Event, run: Run) -> Any:
        """Ask the verifier; raises as a call of the handler does."""
        if self.verifier is None:
            raise LookupError(f"The kind {self.kind} has no verifier.")
        return _call(self.verifier.function, self.verifier.wants_run, event, run)

    def rebuild(self, event: Event, run: Run) -> Any:
        """Ask for the payload that is true now; raises as a call of the handler does."""
        if self.refresher is None:
            raise LookupError(f"The kind {self.kind} has no refresh.")
        return _call(self.refresher.function, self.refresher.wants_run, event, run)


@dataclass(frozen=True, slots=True)
class Helper:
    """A function that a kind has besides its handler: its verifier, its refresh, or its precheck."""

    function: HandlerFunction
    wants_run: bool

    def __call__(self, event: Event, run: Run) -> Any:
        """Call it; raises as a call of a handler does."""
        return _call(self.function, self.wants_run, event, run)


def _call(function: HandlerFunction, wants_run: bool, event: Event, run: Run) -> Any:
    arguments: tuple[Any, ...] = (event, run) if wants_run else (event,)
    with around_function():
        returned = function(*arguments)
    # Asked of what it returns: a decorated or wrapped async function does not look like one.
    if inspect.isawaitable(returned):
        return _loops.get().run(around_coroutine(returned), run.remaining())
    return returned


def _built_in(_event: Event) -> None:
    raise LookupError("What the hub does by itself is done in hub/prechecking.py and hub/alerting.py.")


#: What workers run by themselves: only its policy counts. How each ends is decided where it is done.
BUILT_IN = {
    kind: Handler(kind, _built_in, Policy(max_attempts=1, timeout=timeout, writes=False), wants_run=False)
    for kind, timeout in ((PRECHECK, 30), (ALERT, 60))
}


class Registry:
    """The handlers of one hub."""

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}
        self._verifiers: dict[str, Helper] = {}
        self._refreshers: dict[str, Helper] = {}
        self._prechecks: dict[str, Helper] = {}
        #: Rules for classification beside those of the package: a file or a folder.
        self.rules_path: Path | None = None
        #: The largest payload that a refresh may make, in bytes.
        self.payload_max_bytes = 256_000
        #: Where messages of alerts go.
        self.channels = Channels(dict)

    def register(self, kind: str, policy: Policy) -> Callable[[AnyHandler], AnyHandler]:
        """A decorator that makes a function the handler of `kind`.

        Raises:
            ConfigurationError: the kind is no name, it has a handler already, or the function cannot take an event.
        """
        name = _kind_name(kind, "handler")
        if not isinstance(policy, Policy):
            raise ConfigurationError(
                f"The policy of {name} is no Policy but {type(policy).__name__}: write Policy(...)."
            )

        def decorate(function: AnyHandler) -> AnyHandler:
            if name in self._handlers:
                raise ConfigurationError(
                    f"The kind {name} has a handler already: {self._handlers[name].function}."
                )
            self._handlers[name] = Handler(name, function, policy, _takes_run(name, function))
            self._join(name)
            return function

        return decorate

    def register_verifier(self, kind: str) -> Callable[[AnyHandler], AnyHandler]:
        """A decorator that makes a function the verifier of `kind`; before or after its handler.

        Raises:
            ConfigurationError: the kind is no name, it has a verifier already, or the function cannot take an event.
        """
        return self._register_helper(kind, "verifier", self._verifiers)

    def register_refresh(self, kind: str) -> Callable[[AnyHandler], AnyHandler]:
        """A decorator that makes a function the refresh of `kind`; before or after its handler.

        Raises:
            ConfigurationError: the kind is no name, it has a refresh already, or the function cannot take an event.
        """
        return self._register_helper(kind, "refresh", self._refreshers)

    def register_precheck(self, kind: str) -> Callable[[AnyHandler], AnyHandler]:
        """A decorator that makes a function the precheck of `kind`; before or after its handler.

        Raises:
            ConfigurationError: the kind is no name, it has a precheck already, or the function cannot take an event.
        """
        return self._register_helper(kind, "precheck", self._prechecks)

    def precheck(self, kind: str) -> Helper | None:
        """The precheck of `kind`; None where there is none."""
        return self._prechecks.get(kind)

    def _register_helper(
        self, kind: str, what: str, helpers: dict[str, Helper]
    ) -> Callable[[AnyHandler], AnyHandler]:
        name = _kind_name(kind, what)

        def decorate(function: AnyHandler) -> AnyHandler:
            if name in helpers:
                raise ConfigurationError(f"The kind {name} has a {what} already: {helpers[name].function}.")
            helpers[name] = Helper(function, _takes_run(name, function, what))
            self._join(name)
            return function

        return decorate

    def _join(self, kind: str) -> None:
        """Let a handler know its verifier and its refresh."""
        handler, verifier = self._handlers.get(kind), self._verifiers.get(kind)
        if handler is None:
            return
        policy = handler.policy
        if verifier is not None and policy.on_unknown is None:
            policy = replace(policy, on_unknown="verify")
        refresher = self._refreshers.get(kind)
        self._handlers[kind] = replace(handler, policy=policy, verifier=verifier, refresher=refresher)

    @cached_property
    def rules(self) -> RuleSet:
        """The rules by which errors are classified.

        Raises:
            ConfigurationError: a rule file is wrong.
        """
        return RuleSet.load(self.rules_path)

    def limits(self, policy: Policy) -> KindLimits:
        """What limits the events of a policy: its own `max_running`, and what the rules know of its provider."""
        return limits_of(policy, self.rules.limits(policy.provider) if policy.provider else None)

    def get(self, kind: str) -> Handler | None:
        """The handler of `kind`; None where there is none."""
        return BUILT_IN.get(kind) or self._handlers.get(kind)

    def kinds(self) -> list[PublishedKind]:
        """What a worker publishes about its handlers.

        Raises:
            ConfigurationError: a policy wants a verifier that does not exist, or a rule file is wrong.
        """
        # A wrong rule file must keep a worker from starting, not an event from ending.
        _ = self.rules
        return [self._published(handler) for handler in self._handlers.values()]

    def _published(self, handler: Handler) -> PublishedKind:
        policy = handler.policy
        if policy.on_unknown == "verify" and handler.verifier is None:
            raise ConfigurationError(
                f'Policy.on_unknown of {handler.kind} is "verify", but it has no verifier: '
                f'write one with @hub.verifier("{handler.kind}").'
            )
        return PublishedKind(
            handler.kind,
            policy.max_attempts,
            policy.timeout,
            policy.provider,
            policy.published() | {PRECHECK_FLAG: handler.kind in self._prechecks},
            limits.encode(self.limits(policy)),
        )


def _kind_name(kind: str, what: str) -> str:
    try:
        # Written as `enqueue` writes it, so that the two meet.
        return check_kind_name(kind)
    except PayloadRefused as error:
        raise ConfigurationError(f"A {what} needs the name of its kind. {error}") from None


def _takes_run(kind: str, function: HandlerFunction, what: str = "handler") -> bool:
    """Whether the function takes `run` besides the event: as its second argument, or as one with a default by name."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ConfigurationError(
            f"The {what} of {kind} must return its result; with `yield` it would never run."
        )
    parameters = list(inspect.signature(function).parameters.values())
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [
        p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    if not positional or len(required) > 2 or any(p.kind is p.KEYWORD_ONLY for p in required):
        raise ConfigurationError(f"The {what} of {kind} must take (event) or (event, run).")
    return len(positional) >= 2 and (positional[1] in required or positional[1].name == "run")


class _EventLoop:
    """One event loop per process, in a thread of its own, for every async handler.

    Clients that an async handler keeps between runs (connection pools) are bound to the loop they were made on; a new
    loop per run would break the second run.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="dlq-console-async", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """False when something that a handler left behind has ended the loop, as sys.exit does."""
        return self._thread.is_alive()

    def answers(self, seconds: float) -> bool:
        """Whether it gets round to anything within that time; a handler that blocks keeps it from that."""
        future = asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self._loop)
        try:
            future.result(timeout=seconds)
        except TimeoutError:
            future.cancel()
            return False
        return True

    def run(self, awaitable: Awaitable[Any], seconds: float) -> Any:
        future = asyncio.run_coroutine_threadsafe(_outcome(awaitable), self._loop)
        try:
            result, error = future.result(timeout=seconds)
        except TimeoutError:
            if future.cancel():
                raise TimeLimitReached from None
            result, error = future.result()  # it has ended after all
        except BaseException:  # what a worker raises into this thread
            future.cancel()
            raise
        if error is not None:
            raise error
        return result


async def _outcome(awaitable: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    """What came of a handler. An error is returned, because some, such as sys.exit, would end the loop for all."""
    try:
        return await awaitable, None
    except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits for it
        return None, error


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
            if self._loop is None or not self._loop.running:
                self._loop = _EventLoop()
            return self._loop

    def answer(self, seconds: float) -> bool:
        loop = self._loop
        return loop is None or not loop.running or loop.answers(seconds)


_loops = _Loops()


def loop_answers(seconds: float = 2.0) -> bool:
    """Whether the event loop of this process, if it has one, is free for async handlers.

    An async handler that blocks goes on after its run was stopped, and holds up every other one.
    """
    return _loops.answer(seconds)
