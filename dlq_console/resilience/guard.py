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
from dlq_console.errors import ConfigurationError
from dlq_console.resilience import budget, checks
from dlq_console.resilience.agreement import Configured
from dlq_console.resilience.breaker import Admission, CircuitBreaker, CircuitBreakerConfig
from dlq_console.resilience.bulkhead import Bulkhead, BulkheadConfig, LocalBulkhead
from dlq_console.resilience.calls import is_async, no_generator
from dlq_console.resilience.defaults import lasting_state, process_defaults
from dlq_console.resilience.errors import BudgetExceededError, BulkheadTimeoutError
from dlq_console.resilience.forks import forget_in_child
from dlq_console.resilience.idempotency import IdempotentCalls
from dlq_console.resilience.idempotency.doubt import leaves_doubt
from dlq_console.resilience.idempotency.inputs import arguments_of, fingerprint_of, name_of, without_defaults
from dlq_console.resilience.idempotency.verifying import Verifier, asking, asking_async, checked_verifier
from dlq_console.resilience.leases import new_token
from dlq_console.resilience.retry import NO_RETRY, Attempts, RetryConfig
from dlq_console.resilience.services import Services
from dlq_console.resilience.spelling import digest
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
    """The five layers around the calls of one service.

    With an `idempotency_key`, an attempt that left a doubt about its effect is not followed by another one, unless
    `verify` says that there was none.

    Args:
        name: of the service.
        breaker: its circuit, or the configuration of one; None for the default, False for none.
        bulkhead: its slots, likewise.
        retry: how failed attempts are repeated; None: not at all.
        idempotency_key: what makes two calls the same one: text, or a function of the arguments that gives it. Guards of
            one name share their keys; another function under the same key is refused.
        verify: called with the arguments of a call whose outcome is unknown; asks the service and answers "applied",
            "not_applied", "unknown", or a dict: the result of a call that was applied.
        state: shared by all processes that call the service; None for the default of the process.

    Raises:
        ConfigurationError: an argument is not fit.
    """

    def __init__(
        self,
        name: str,
        *,
        breaker: CircuitBreaker | CircuitBreakerConfig | bool | None = None,
        bulkhead: Bulkhead | LocalBulkhead | BulkheadConfig | bool | None = None,
        retry: RetryConfig | None = None,
        idempotency_key: Key | None = None,
        verify: Verifier | None = None,
        state: SharedState | None = None,
    ) -> None:
        self.name = checks.name(name, "guard")
        _check("breaker", breaker, (CircuitBreaker,), CircuitBreakerConfig)
        _check("bulkhead", bulkhead, (Bulkhead, LocalBulkhead), BulkheadConfig)
        if retry is not None:
            checks.config(retry, "retry", RetryConfig)
        if idempotency_key is not None and not callable(idempotency_key):
            self._checked_key(idempotency_key)
        if verify is not None:
            checks.function(verify, "verify")
            if idempotency_key is None:
                raise ConfigurationError(
                    f'The guard "{name}" has a verifier and no idempotency_key: give both.'
                )
        self._breaker = breaker
        self._bulkhead = bulkhead
        self._retry = retry
        self._key = idempotency_key
        self._verify = verify
        self._state = None if state is None else checked_state(state)
        self._configured = Configured(name, breaker, bulkhead, self._state)
        self._made: _Layers | None = None
        self.forget()
        forget_in_child(self)

    def forget(self) -> None:
        """Wait for no thread of another process, as in a forked child; what was made stays."""
        self._lock = threading.Lock()

    def __call__(self, function: Function) -> Function:
        """Decorate a function, sync or async.

        Raises:
            ConfigurationError: it is a generator function, or its verifier is async and it is not.
        """
        no_generator(function, self.name)
        checked_verifier(self._verify, function, self.name)

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
            ConfigurationError: `fn` is or gave a generator, or is a sync one that gave an awaitable; another guard of this
                name says otherwise about the circuit or the slots that both share.
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
        attempts = self._attempts(layers, admission)
        try:
            if layers.bulkhead is not None:
                return layers.bulkhead.run(attempts.run, call)
            if budget.is_set():
                budget.child_limit(name=self.name)
            return attempts.run(call)
        except BaseException as error:
            # A call that goes on without its caller is not made again behind his back.
            attempts.call_off()
            if admission is not None:
                if attempts.was_cut_short_by(error):
                    admission.failed(error)
                admission.given_back()
            raise

    async def _arun(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        layers = self._layers()
        call = self._aonce(layers, fn, args, kwargs)
        admission = None if layers.breaker is None else await layers.breaker.aadmit(_limit(layers))
        attempts = self._attempts(layers, admission)
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

    def _attempts(self, layers: _Layers, admission: Admission | None) -> _Attempts:
        asks_nobody = layers.idempotent is not None and self._verify is None
        repeats = _leaves_no_doubt if asks_nobody else None
        return _Attempts(layers, partial(Attempts, layers.retry, self.name, admission, repeats=repeats))

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
        self._configured.check(state)
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
        key, fingerprint, about = self._identity(fn, args, kwargs)
        verify = asking(checked_verifier(self._verify, fn, self.name), self.name, args, kwargs)
        run = layers.idempotent.run
        return partial(run, key, fingerprint, call, token=new_token(), about=about, verify=verify)

    def _aonce(
        self, layers: _Layers, fn: Callable[..., Any], args: Any, kwargs: Any
    ) -> Callable[[], Awaitable[Any]]:
        call = partial(fn, *args, **kwargs)
        if layers.idempotent is None:
            return call
        key, fingerprint, about = self._identity(fn, args, kwargs)
        verify = asking_async(self._verify, args, kwargs)
        run = layers.idempotent.arun
        return partial(run, key, fingerprint, call, token=new_token(), about=about, verify=verify)

    def _identity(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> tuple[str, str, str]:
        """The key of a call, the fingerprint of its function and arguments, and the key as the caller wrote it."""
        arguments = without_defaults(fn, arguments_of(fn, args, kwargs))
        key = self._checked_key(self._key(*args, **kwargs) if callable(self._key) else self._key)
        return digest(self.name, key), fingerprint_of(arguments, name_of(fn)), key

    def _checked_key(self, key: Any) -> str:
        if not isinstance(key, str) or not key:
            raise ConfigurationError(f'The idempotency key of "{self.name}" must be text, not {key!r}.')
        return key


guard = Guard


def _leaves_no_doubt(error: BaseException) -> bool:
    return not leaves_doubt(error)


class _Attempts:
    """The attempts of one call inside its slot."""

    def __init__(self, layers: _Layers, make: Callable[..., Attempts]) -> None:
        self._limit = _limit(layers)
        self._make = make
        self._called_off = threading.Event()
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

    def call_off(self) -> None:
        """The caller is gone: the attempt under way is the last one."""
        self._called_off.set()

    def was_cut_short_by(self, error: BaseException) -> bool:
        """Whether the layer around the attempts ended them: then no attempt has told the breaker."""
        cut = isinstance(error, BulkheadTimeoutError) or (
            isinstance(error, BudgetExceededError) and error.during_call
        )
        return cut and error is not self._own

    def _begin(self) -> Attempts:
        until = monotonic() + self._limit if self._limit is not None else float("inf")
        return self._make(until=until, called_off=self._called_off)


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
