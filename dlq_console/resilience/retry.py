"""When is a failed call made again, and after which wait? Only if it may work, soon enough, and not too often in all.

Every failed attempt is told to the breaker that admitted the call, and the retries end as soon as its circuit is no
longer as it was. A wait that would end beyond the budget is not begun.
"""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

import anyio

from dlq_console.clock import monotonic
from dlq_console.errors import (
    ConfigurationError,
    IdempotencyConflict,
    LeaseLost,
    OutcomeUnknown,
    PayloadRefused,
    PermanentError,
)
from dlq_console.resilience import budget, checks
from dlq_console.resilience.breaker import Admission, CircuitBreaker
from dlq_console.resilience.breaker.config import ErrorClasses
from dlq_console.resilience.calls import (
    Replay,
    is_async,
    is_interrupt,
    is_local,
    no_awaitable,
    no_generator,
    no_generator_made,
)
from dlq_console.resilience.errors import Refusal, VerifierFailedError
from dlq_console.resilience.hints import retry_after_of
from dlq_console.resilience.retry_budget import RetryBudget, retry_budget

Jitter = Literal["full", "equal", "proportional", "none"]

#: Half the width of proportional jitter, as a share of the delay.
_PROPORTION = 0.2
#: Logarithm of the largest power that is computed.
_LARGEST_POWER = 700.0

#: Errors after which the same call cannot work, or must not be made again unseen.
_NEVER = (
    Refusal,
    ConfigurationError,
    IdempotencyConflict,
    LeaseLost,
    OutcomeUnknown,
    PayloadRefused,
    PermanentError,
)


@dataclass(frozen=True, slots=True)
class RetryConfig:
    """How a failed call is repeated; times in seconds.

    Attributes:
        max_attempts: calls in all, the first one included.
        base_delay: the wait after the first failure, before jitter.
        max_delay: the longest wait, also where the service asks for more (Retry-After).
        exponential_base: each wait is this many times the one before.
        jitter: True or "full": anything from 0 to the delay; "equal": from half of it; "proportional": a fifth
            either way; False or "none".
        retryable_exceptions: errors after which another attempt may work.
        non_retryable_exceptions: of those, the ones after which it does not.
    """

    max_attempts: int = 3
    base_delay: float = 1.0
    max_delay: float = 30.0
    exponential_base: float = 2.0
    jitter: bool | Jitter = True
    retryable_exceptions: ErrorClasses = (Exception,)
    non_retryable_exceptions: ErrorClasses = ()

    def __post_init__(self) -> None:
        checks.count(self.max_attempts, "max_attempts")
        checks.seconds(self.base_delay, "base_delay")
        checks.seconds(self.max_delay, "max_delay")
        checks.number(self.exponential_base, "exponential_base", at_least=1)
        for field in ("retryable_exceptions", "non_retryable_exceptions"):
            checks.errors(getattr(self, field), field)
        if not isinstance(self.jitter, bool) and self.jitter not in get_args(Jitter):
            raise ConfigurationError(
                f"jitter is True, False, {', '.join(get_args(Jitter))}, not {self.jitter!r}."
            )

    def delay(self, failures: int, draw: float) -> float:
        """Seconds to wait after so many failures.

        Args:
            failures: of this call so far, at least 1.
            draw: a number drawn from 0 to 1.
        """
        whole = self._whole(failures - 1)
        match self.jitter:
            case True | "full":
                return whole * draw
            case "equal":
                return whole / 2 + whole / 2 * draw
            case "proportional":
                return min(whole * (1 - _PROPORTION + 2 * _PROPORTION * draw), self.max_delay)
        return whole

    def _whole(self, steps: int) -> float:
        if self.base_delay == 0 or self.base_delay >= self.max_delay:
            return min(self.base_delay, self.max_delay)
        # Compared as logarithms: the power itself does not fit a number after a thousand steps.
        grown = steps * math.log(self.exponential_base)
        if grown >= min(math.log(self.max_delay) - math.log(self.base_delay), _LARGEST_POWER):
            return self.max_delay
        return min(self.base_delay * self.exponential_base**steps, self.max_delay)


NO_RETRY = RetryConfig(max_attempts=1)


def with_retry(
    fn: Callable[..., Any],
    *args: Any,
    config: RetryConfig | None = None,
    circuit_breaker: CircuitBreaker | None = None,
    service_name: str = "unknown",
    **kwargs: Any,
) -> Any:
    """Call `fn` until it succeeds or may not be tried again; gives an awaitable when `fn` is async.

    Args:
        fn: what to call, with the other arguments.
        args: for `fn`.
        config: how often and after which waits.
        circuit_breaker: admits the call and is told of every attempt.
        service_name: whose retries are limited together.
        kwargs: for `fn`.

    Raises:
        CircuitOpenError: it was not called.
        BaseException: what the last attempt raised.
        ConfigurationError: `fn` is or gave a generator, or is a sync one that gave an awaitable; `config` is none.
    """
    no_generator(fn, service_name)
    config = checks.config(config, "config", RetryConfig)
    call = partial(fn, *args, **kwargs)
    if is_async(fn):
        return _with_retry_async(call, config, circuit_breaker, service_name)
    if circuit_breaker is None:
        return Attempts(config, service_name).run(call)
    admission = circuit_breaker.admit()
    try:
        return Attempts(config, service_name, admission).run(call)
    finally:
        admission.given_back()


async def _with_retry_async(
    call: Callable[[], Awaitable[Any]], config: RetryConfig, breaker: CircuitBreaker | None, service: str
) -> Any:
    if breaker is None:
        return await Attempts(config, service).arun(call)
    admission = await breaker.aadmit()
    try:
        return await Attempts(config, service, admission).arun(call)
    finally:
        await admission.agiven_back()


class Attempts:
    """The attempts of one call.

    Whoever asked for the admission gives it back afterwards: an attempt that was interrupted tells nothing, because
    only he knows whether it was cut short or called off.

    Args:
        config: how often and after which waits.
        service: whose retries are limited together.
        admission: is told of every attempt.
        until: no attempt begins after this moment of the monotonic clock.
        called_off: once it is set no other attempt is made: whoever waited for the result is gone.
        repeats: whether the call itself may be made again after an error; None: after each that `config` names.
    """

    def __init__(
        self,
        config: RetryConfig,
        service: str,
        admission: Admission | None = None,
        *,
        until: float = math.inf,
        called_off: threading.Event | None = None,
        repeats: Callable[[BaseException], bool] | None = None,
    ) -> None:
        self._config = config
        self._service = service
        self._called_off = called_off or threading.Event()
        self._repeats = repeats
        self._budget: RetryBudget = retry_budget(service)
        self._admission = admission
        self._until = until
        self._failures = 0
        self._earlier: BaseException | None = None

    def run(self, call: Callable[[], Any]) -> Any:
        """Make the attempts; the result of the one that succeeded."""
        self._budget.called()
        while True:
            self._begin()
            try:
                result = no_awaitable(call(), self._service)
            except BaseException as error:
                if self._admission is not None and not is_interrupt(error):
                    self._admission.failed(error)
                wait = self._wait_after(error)
                if wait is None or not self._waited(wait):
                    self._raise_earlier(error)
                    raise
            else:
                return self._succeeded(result)

    async def arun(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """As `run`, for async code."""
        self._budget.called()
        while True:
            self._begin()
            try:
                result = no_generator_made(await call(), self._service)
            except BaseException as error:
                if self._admission is not None and not is_interrupt(error):
                    await self._admission.afailed(error)
                wait = self._wait_after(error)
                if wait is None:
                    self._raise_earlier(error)
                    raise
            else:
                return await self._asucceeded(result)
            await anyio.sleep(wait)

    def _waited(self, seconds: float) -> bool:
        """Wait until the next attempt; False when it was called off meanwhile."""
        return not self._called_off.wait(seconds)

    def _begin(self) -> None:
        if self._admission is not None:
            self._admission.begin()

    def _succeeded(self, result: Any) -> Any:
        self._earlier, replay = None, isinstance(result, Replay)
        if self._admission is not None:
            (self._admission.given_back if replay else self._admission.succeeded)()
        return result.value if replay else result

    async def _asucceeded(self, result: Any) -> Any:
        self._earlier, replay = None, isinstance(result, Replay)
        if self._admission is not None:
            await (self._admission.agiven_back if replay else self._admission.asucceeded)()
        return result.value if replay else result

    def _wait_after(self, error: BaseException) -> float | None:
        """Seconds until the next attempt; None when there is none."""
        self._failures += 1
        if self._failures >= self._config.max_attempts or not may_work_again(error, self._config):
            return None
        if self._repeats is not None and not self._repeats(error):
            return None
        if self._admission is not None and not self._admission.stands:
            return None
        wait = self._config.delay(self._failures, random.random())  # noqa: S311 - spreads retries, keeps no secret
        wait = max(wait, min(retry_after_of(error) or 0.0, self._config.max_delay))
        if monotonic() + wait >= self._last_moment() or not self._budget.take():
            return None
        self._earlier = error
        return wait

    def _raise_earlier(self, error: BaseException) -> None:
        """A verifier that failed does not hide from the caller what happened to the attempt it was asked about."""
        earlier, self._earlier = self._earlier, None
        if earlier is not None and isinstance(error, VerifierFailedError):
            raise earlier

    def _last_moment(self) -> float:
        """When the last attempt may begin: with a little time left to run."""
        if not budget.is_set():
            return self._until
        return min(self._until, monotonic() + budget.remaining_budget() - budget.RESERVE)


def may_work_again(error: BaseException, config: RetryConfig) -> bool:
    """Whether another attempt after this error is worth it."""
    if is_interrupt(error) or is_local(error) or isinstance(error, _NEVER):
        return False
    if isinstance(error, config.non_retryable_exceptions):
        return False
    return isinstance(error, config.retryable_exceptions)
