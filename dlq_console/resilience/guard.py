"""How is a call protected by all five layers at once? In one fixed order, each as cheap as its place allows.

breaker      is the service worth a call now?
bulkhead     is there room for one more?
budget       is there time left for it?
retry        once more, if that may help; each attempt is told to the breaker
idempotent   not again, if it was done
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial, update_wrapper
from typing import Any, TypeVar, cast

import anyio

from dlq_console.clock import monotonic
from dlq_console.errors import ConfigurationError, PayloadRefused
from dlq_console.resilience import budget, checks
from dlq_console.resilience.breaker import Admission, CircuitBreaker, CircuitBreakerConfig
from dlq_console.resilience.bulkhead import Bulkhead, BulkheadConfig, LocalBulkhead
from dlq_console.resilience.calls import is_async, no_generator
from dlq_console.resilience.defaults import lasting_state, process_defaults
from dlq_console.resilience.errors import BudgetExceededError, BulkheadTimeoutError
from dlq_console.resilience.idempotency import IdempotentCalls
from dlq_console.resilience.leases import new_token
from dlq_console.resilience.retry import NO_RETRY, Attempts, RetryConfig
from dlq_console.resilience.services import Services
from dlq_console.resilience.spelling import digest, spelled
from dlq_console.resilience.state import SharedState, checked_state

Function = TypeVar("Function", bound=Callable[..., Any])
Key = str | Callable[..., str]


@dataclass(frozen=True)
class _Layers:
    """What a guard is made of; None: this layer is left out."""

    breaker: CircuitBreaker | None
    bulkhead: Bulkhead | LocalBulkhead | None
    retry: RetryConfig
    idempotent: IdempotentCalls | None


class Guard:
    """The five layers around the calls of one service; see `guard`."""

    def __init__(
        self,
        name: str,
        *,
        breaker: CircuitBreaker | CircuitBreakerConfig | bool | None = None,
        bulkhead: Bulkhead | LocalBulkhead | BulkheadConfig | bool | None = None,
        retry: RetryConfig | None = None,
        idempotency_key: Key | None = None,
        state: SharedState | None = None,
    ) -> None:
        self.name = checks.name(name, "guard")
        _check("breaker", breaker, (CircuitBreaker,), CircuitBreakerConfig)
        _check("bulkhead", bulkhead, (Bulkhead, LocalBulkhead), BulkheadConfig)
        if retry is not None and not isinstance(retry, RetryConfig):
            raise ConfigurationError(f"retry must be a RetryConfig, not {retry!r}.")
        self._breaker = breaker
        self._bulkhead = bulkhead
        self._retry = retry
        self._key = idempotency_key
        self._state = None if state is None else checked_state(state)
        self._lock = threading.Lock()
        self._made: _Layers | None = None

    def __call__(self, function: Function) -> Function:
        """Decorate a function, sync or async.

        Raises:
            ConfigurationError: it is a generator function.
        """
        no_generator(function, self.name)

        def run(*args: Any, **kwargs: Any) -> Any:
            return self._run(function, args, kwargs)

        async def arun(*args: Any, **kwargs: Any) -> Any:
            return await self._arun(function, args, kwargs)

        return cast(Function, update_wrapper(arun if is_async(function) else run, function))

    def call(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call `fn` once through all layers; gives an awaitable when `fn` is async.

        Raises:
            CircuitOpenError, BulkheadFullError, BudgetExceededError: it was not called.
            BulkheadTimeoutError: it took too long.
            StillRunningError, IdempotencyConflict, OutcomeUnknown, StoreUnavailable: see `IdempotentCalls.run`.
            ConfigurationError: `fn` is a generator function.
            BaseException: what the last attempt raised.
        """
        no_generator(fn, self.name)
        if is_async(fn):
            return self._arun(fn, args, kwargs)
        return self._run(fn, args, kwargs)

    def stats(self) -> dict[str, Any]:
        """The figures of its breaker and its bulkhead."""
        layers = self._layers()
        return {
            "breaker": None if layers.breaker is None else layers.breaker.stats(),
            "bulkhead": None if layers.bulkhead is None else layers.bulkhead.stats(),
        }

    def _run(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        layers = self._layers()
        if isinstance(layers.bulkhead, LocalBulkhead):
            raise ConfigurationError(
                f'The guard "{self.name}" has a LocalBulkhead, which is for async functions; use a Bulkhead for this one.'
            )
        call = self._once(layers, fn, args, kwargs)
        admission = None if layers.breaker is None else layers.breaker.admit(_limit(layers))
        attempts = _Attempts(layers, self.name, admission)
        try:
            if layers.bulkhead is not None:
                return layers.bulkhead.run(attempts.run, call)
            if budget.is_set():
                budget.child_limit(name=self.name)
            return attempts.run(call)
        except BaseException as error:
            if admission is not None:
                if attempts.was_cut_short_by(error):
                    admission.failed(error)
                admission.given_back()
            raise

    async def _arun(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        layers = self._layers()
        call = self._aonce(layers, fn, args, kwargs)
        admission = None if layers.breaker is None else await layers.breaker.aadmit(_limit(layers))
        attempts = _Attempts(layers, self.name, admission)
        try:
            if layers.bulkhead is not None:
                return await layers.bulkhead.run(attempts.arun, call)
            return await self._within_budget(attempts, call)
        except BaseException as error:
            if admission is not None:
                if attempts.was_cut_short_by(error):
                    await admission.afailed(error)
                await admission.agiven_back()
            raise

    async def _within_budget(self, attempts: _Attempts, call: Callable[[], Awaitable[Any]]) -> Any:
        """What the bulkhead does otherwise: end the call when the budget is used up."""
        limit = budget.child_limit(name=self.name) if budget.is_set() else None
        with anyio.move_on_after(limit):
            return await attempts.arun(call)
        raise budget.exceeded(self.name, limit or 0.0)

    # Layers

    def _layers(self) -> _Layers:
        """The layers, made at the first call, when the program has said which state there is."""
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made

    def _make(self) -> _Layers:
        state, services = self._state, Services()
        if state is None:
            defaults = process_defaults()
            state, services = defaults.state, defaults.services
        breaker, bulkhead = self._breaker, self._bulkhead
        if not isinstance(breaker, CircuitBreaker):
            breaker_config = (
                breaker if isinstance(breaker, CircuitBreakerConfig) else services.breakers.get(self.name)
            )
            breaker = None if breaker is False else CircuitBreaker(self.name, breaker_config, state=state)
        if not isinstance(bulkhead, (Bulkhead, LocalBulkhead)):
            bulkhead_config = (
                bulkhead if isinstance(bulkhead, BulkheadConfig) else services.bulkheads.get(self.name)
            )
            bulkhead = None if bulkhead is False else Bulkhead(self.name, bulkhead_config, state=state)
        retry = self._retry or services.retries.get(self.name) or NO_RETRY
        idempotent = None
        if self._key is not None:
            idempotent = IdempotentCalls(
                self.name, self._state if self._state is not None else lasting_state()
            )
        return _Layers(breaker, bulkhead, retry, idempotent)

    def _once(self, layers: _Layers, fn: Callable[..., Any], args: Any, kwargs: Any) -> Callable[[], Any]:
        """The innermost layer: all attempts of one call are the same holder."""
        call = partial(fn, *args, **kwargs)
        if layers.idempotent is None:
            return call
        key, fingerprint, about = self._identity(args, kwargs)
        return partial(layers.idempotent.run, key, fingerprint, call, token=new_token(), about=about)

    def _aonce(
        self, layers: _Layers, fn: Callable[..., Any], args: Any, kwargs: Any
    ) -> Callable[[], Awaitable[Any]]:
        call = partial(fn, *args, **kwargs)
        if layers.idempotent is None:
            return call
        key, fingerprint, about = self._identity(args, kwargs)
        return partial(layers.idempotent.arun, key, fingerprint, call, token=new_token(), about=about)

    def _identity(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, str, str]:
        """The key of a call, the fingerprint of its arguments, and the key as the caller wrote it."""
        key = self._key(*args, **kwargs) if callable(self._key) else self._key
        if not isinstance(key, str) or not key:
            raise ConfigurationError(f'The idempotency key of "{self.name}" must be text, not {key!r}.')
        try:
            fingerprint = digest(spelled([list(args), kwargs]))
        except PayloadRefused:
            # The key is the caller's own; an argument that cannot be spelled, such as a session, is not compared.
            fingerprint = ""
        return digest(self.name, key), fingerprint, key


guard = Guard


class _Attempts:
    """The attempts of one call inside its slot."""

    def __init__(self, layers: _Layers, service: str, admission: Admission | None) -> None:
        self._limit = _limit(layers)
        self._make = partial(Attempts, layers.retry, service, admission)
        self._own: BaseException | None = None

    def run(self, call: Callable[[], Any]) -> Any:
        """Make the attempts; a result that was kept from before is given as it is."""
        try:
            return self._begin().run(call)
        except BaseException as error:
            self._own = error
            raise

    async def arun(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """As `run`, for async code."""
        try:
            return await self._begin().arun(call)
        except BaseException as error:
            self._own = error
            raise

    def was_cut_short_by(self, error: BaseException) -> bool:
        """Whether the layer around the attempts ended them: then no attempt has told the breaker."""
        cut = isinstance(error, BulkheadTimeoutError) or (
            isinstance(error, BudgetExceededError) and error.during_call
        )
        return cut and error is not self._own

    def _begin(self) -> Attempts:
        return self._make(until=monotonic() + self._limit if self._limit is not None else float("inf"))


def _limit(layers: _Layers) -> float | None:
    """The longest a call can take, as far as it is known."""
    own = None if layers.bulkhead is None else layers.bulkhead.config.timeout
    if not budget.is_set():
        return own
    left = budget.remaining_budget()
    return left if own is None else min(own, left)


def _check(layer: str, value: Any, things: tuple[type[Any], ...], config: type[Any]) -> None:
    if value is not None and not isinstance(value, (bool, *things, config)):
        raise ConfigurationError(
            f"{layer} must be a {config.__name__}, a {things[0].__name__}, or False to leave the layer out, not {value!r}."
        )
