"""When is a failed call made again, and after which wait?"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Callable
from typing import Any

import pytest
from billiard.exceptions import SoftTimeLimitExceeded
from hypothesis import given
from hypothesis import strategies as st

from dlq_console.clock import monotonic
from dlq_console.errors import (
    ConfigurationError,
    IdempotencyConflict,
    OutcomeUnknown,
    PermanentError,
    RateLimited,
    TransientError,
)
from dlq_console.resilience import budget
from dlq_console.resilience.breaker import CircuitBreaker, CircuitBreakerConfig
from dlq_console.resilience.errors import BudgetExceededError, BulkheadFullError, CircuitOpenError
from dlq_console.resilience.retry import Attempts, RetryConfig, with_retry
from dlq_console.resilience.retry_budget import RetryBudget, retry_budget
from dlq_console.resilience.state import MemoryState
from tests.resilience.states import FrozenClock
from tests.resilience.test_breaker import ServiceError, state_of
from tests.services.process import StartChild

AT_ONCE = RetryConfig(max_attempts=3, base_delay=0)

services = (f"service {number}" for number in range(10**9))


@pytest.fixture
def service() -> str:
    """A service that no other test has retried."""
    return next(services)


class Flaky:
    """Fails so many times, then answers; counts its calls."""

    def __init__(self, failures: int, error: BaseException | None = None) -> None:
        self.failures = failures
        self.error = error or ServiceError()
        self.calls = 0

    def __call__(self) -> int:
        self.calls += 1
        if self.calls <= self.failures:
            raise self.error
        return self.calls


def note_waits(monkeypatch: pytest.MonkeyPatch, waits: list[float]) -> None:
    """Write down how long is waited between attempts, and wait for nothing."""

    def waited(_attempts: Attempts, seconds: float) -> bool:
        waits.append(seconds)
        return True

    monkeypatch.setattr(Attempts, "_waited", waited)


def test_a_call_is_made_again_until_it_succeeds(service: str) -> None:
    assert with_retry(Flaky(2), config=AT_ONCE, service_name=service) == 3


def test_after_the_last_attempt_its_own_error_is_raised(service: str) -> None:
    flaky = Flaky(9)
    with pytest.raises(ServiceError) as caught:
        with_retry(flaky, config=AT_ONCE, service_name=service)
    assert caught.value is flaky.error
    assert flaky.calls == 3


def test_arguments_are_passed_each_time(service: str) -> None:
    assert with_retry(lambda a, *, b: (a, b), 1, service_name=service, b=2) == (1, 2)


@pytest.mark.parametrize(
    "error",
    [
        CircuitOpenError(),
        BulkheadFullError(),
        BudgetExceededError(),
        PermanentError(),
        OutcomeUnknown(),
        IdempotencyConflict(),
        SystemExit(),
        KeyboardInterrupt(),
        asyncio.CancelledError(),
        SoftTimeLimitExceeded(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_cannot_work_again_or_must_not_is_not_tried_again(error: BaseException, service: str) -> None:
    flaky = Flaky(1, error)
    with pytest.raises(type(error)):
        with_retry(flaky, config=AT_ONCE, service_name=service)
    assert flaky.calls == 1


@pytest.mark.parametrize(
    ("error", "calls"),
    [(TimeoutError(), 2), (ConnectionRefusedError(), 1), (ValueError(), 1), (TransientError(), 2)],
)
def test_only_named_errors_are_worth_another_attempt(error: Exception, calls: int, service: str) -> None:
    config = RetryConfig(
        max_attempts=2,
        base_delay=0,
        retryable_exceptions=(OSError, TransientError),
        non_retryable_exceptions=ConnectionRefusedError,
    )
    flaky = Flaky(9, error)
    with pytest.raises(type(error)):
        with_retry(flaky, config=config, service_name=service)
    assert flaky.calls == calls


# Waits


def test_the_delay_doubles_up_to_its_limit_and_full_jitter_draws_from_nothing_to_all_of_it() -> None:
    config = RetryConfig(base_delay=1, max_delay=10)
    assert [config.delay(failures, 1.0) for failures in range(1, 7)] == [1, 2, 4, 8, 10, 10]
    assert config.delay(3, 0.0) == 0
    assert config.delay(3, 0.25) == 1


@pytest.mark.parametrize(
    ("jitter", "low", "high"),
    [("full", 0, 8), ("equal", 4, 8), ("proportional", 6.4, 9.6), ("none", 8, 8), (False, 8, 8)],
)
def test_each_jitter_stays_within_its_bounds(jitter: Any, low: float, high: float) -> None:
    config = RetryConfig(base_delay=8, jitter=jitter)
    assert (config.delay(1, 0.0), config.delay(1, 1.0)) == pytest.approx((low, high))


@given(
    base=st.floats(0, 1e6),
    longest=st.floats(0, 1e6),
    factor=st.floats(1, 1e6),
    failures=st.integers(1, 10**9),
    draw=st.floats(0, 1),
    jitter=st.sampled_from(["full", "equal", "proportional", "none"]),
)
def test_no_delay_is_ever_longer_than_the_longest_however_often_it_failed(
    base: float, longest: float, factor: float, failures: int, draw: float, jitter: Any
) -> None:
    config = RetryConfig(base_delay=base, max_delay=longest, exponential_base=factor, jitter=jitter)
    assert 0 <= config.delay(failures, draw) <= longest


def test_delays_of_many_callers_are_spread(monkeypatch: pytest.MonkeyPatch, service: str) -> None:
    waits: list[float] = []
    note_waits(monkeypatch, waits)
    random.seed(7)
    for number in range(200):
        with_retry(Flaky(1), config=RetryConfig(base_delay=1), service_name=f"{service} {number}")
    assert min(waits) < 0.1
    assert max(waits) > 0.9
    assert 0.4 < sum(waits) / len(waits) < 0.6


FORKED = """
import os
from dlq_console.resilience import RetryConfig, with_retry
from dlq_console.resilience.retry import Attempts

def fail():
    raise ConnectionError

def show_waits():
    waits = []
    Attempts._waited = lambda _attempts, seconds: not waits.append(seconds)
    try:
        with_retry(fail, config=RetryConfig(max_attempts=3), service_name=str(os.getpid()))
    except ConnectionError:
        print(*waits, flush=True)

show_waits()
for _ in range(2):
    if os.fork() == 0:
        show_waits()
        os._exit(0)
    os.wait()
"""


def test_forked_workers_do_not_wait_in_step(start_child: StartChild) -> None:
    child = start_child([sys.executable, "-c", FORKED])
    assert child.wait_for_exit() == 0
    drawn = child.output().split()
    assert len(drawn) == 6
    assert len(set(drawn)) == 6


@pytest.mark.parametrize(
    ("asked", "expected"), [(5, 5), (86_400, 30), (-1, 0), (float("nan"), 0), (float("inf"), 0)]
)
def test_the_service_may_ask_for_a_longer_wait_but_not_for_more_than_the_longest(
    monkeypatch: pytest.MonkeyPatch, asked: float, expected: float, service: str
) -> None:
    waits: list[float] = []
    note_waits(monkeypatch, waits)
    with_retry(Flaky(1, RateLimited(asked)), config=RetryConfig(base_delay=0), service_name=service)
    assert waits == [expected]


def test_no_wait_is_begun_that_would_end_beyond_the_budget(
    monkeypatch: pytest.MonkeyPatch, service: str
) -> None:
    waits: list[float] = []
    note_waits(monkeypatch, waits)
    config = RetryConfig(max_attempts=10, base_delay=3, exponential_base=1, jitter="none")
    flaky = Flaky(9)
    with budget.init_budget(5), pytest.raises(ServiceError):
        with_retry(flaky, config=config, service_name=service)
    assert waits == [3.0] * len(waits)
    flaky = Flaky(9)
    with budget.init_budget(3.5), pytest.raises(ServiceError):
        with_retry(flaky, config=config, service_name=service)
    assert flaky.calls == 1


# With a breaker


def breaker(clock: FrozenClock, **values: Any) -> CircuitBreaker:
    config = CircuitBreakerConfig(**{"failure_threshold": 5, "success_threshold": 1, **values})
    return CircuitBreaker("erp", config, state=MemoryState(clock))


def test_every_failed_attempt_is_told_to_the_breaker(clock: FrozenClock, service: str) -> None:
    circuit = breaker(clock)
    with_retry(Flaky(2), config=AT_ONCE, circuit_breaker=circuit, service_name=service)
    stats = circuit.stats()
    assert (stats["calls"], stats["failures"], stats["successes"]) == (3, 2, 1)


def test_retries_end_as_soon_as_the_circuit_opens(clock: FrozenClock, service: str) -> None:
    circuit = breaker(clock, failure_threshold=2)
    flaky = Flaky(99)
    config = RetryConfig(max_attempts=50, base_delay=0)
    with pytest.raises(ServiceError):
        with_retry(flaky, config=config, circuit_breaker=circuit, service_name=service)
    assert flaky.calls == 2
    with pytest.raises(CircuitOpenError):
        with_retry(flaky, config=config, circuit_breaker=circuit, service_name=service)
    assert flaky.calls == 2


def test_retries_end_when_somebody_else_opened_the_circuit(clock: FrozenClock, service: str) -> None:
    circuit = breaker(clock)
    flaky = Flaky(99)

    def call() -> int:
        if flaky.calls == 1:
            circuit.force_open(actor="ana")
        return flaky()

    with pytest.raises(ServiceError):
        with_retry(call, config=AT_ONCE, circuit_breaker=circuit, service_name=service)
    assert flaky.calls == 2


def test_a_probe_is_one_attempt(clock: FrozenClock, service: str) -> None:
    circuit = breaker(clock, failure_threshold=1)
    with pytest.raises(ServiceError):
        circuit.call(Flaky(1))
    clock.advance(30)
    flaky = Flaky(99)
    with pytest.raises(ServiceError):
        with_retry(flaky, config=AT_ONCE, circuit_breaker=circuit, service_name=service)
    assert flaky.calls == 1
    assert state_of(circuit) == "open"


def test_a_breaker_inside_the_call_ends_the_retries_too(clock: FrozenClock, service: str) -> None:
    circuit = breaker(clock, failure_threshold=2)
    flaky = Flaky(99)
    with pytest.raises(CircuitOpenError):
        with_retry(
            circuit.call, flaky, config=RetryConfig(max_attempts=9, base_delay=0), service_name=service
        )
    assert flaky.calls == 2


# Async


@pytest.mark.anyio
async def test_an_async_call_is_retried_and_told_as_a_sync_one(clock: FrozenClock, service: str) -> None:
    circuit = breaker(clock)
    flaky = Flaky(2)

    async def call() -> int:
        await asyncio.sleep(0)
        return flaky()

    assert await with_retry(call, config=AT_ONCE, circuit_breaker=circuit, service_name=service) == 3
    assert circuit.stats()["failures"] == 2


@pytest.mark.anyio
async def test_a_task_can_be_cancelled_while_it_waits_for_its_next_attempt(service: str) -> None:
    failed = asyncio.Event()

    async def call() -> None:
        failed.set()
        raise ServiceError

    config = RetryConfig(base_delay=1000, max_delay=1000, jitter="none")
    task = asyncio.create_task(with_retry(call, config=config, service_name=service))
    await failed.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# The budget of retries


def test_retries_are_a_fifth_of_the_calls_and_always_three(clock: FrozenClock) -> None:
    extra = RetryBudget(clock)
    assert [extra.take() for _ in range(5)] == [True, True, True, False, False]
    for _ in range(100):
        extra.called()
    assert sum(extra.take() for _ in range(100)) == 17
    clock.advance(11)
    assert [extra.take() for _ in range(5)] == [True, True, True, False, False]


def test_a_service_in_trouble_gets_few_retries(service: str) -> None:
    calls = 0
    for _ in range(100):
        flaky = Flaky(9)
        with pytest.raises(ServiceError):
            with_retry(flaky, config=RetryConfig(max_attempts=5, base_delay=0), service_name=service)
        calls += flaky.calls
    assert 100 < calls <= 123
    assert retry_budget(service) is retry_budget(service)


# Configuration


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"max_attempts": 0}, "max_attempts must be a whole number of at least 1, not 0."),
        ({"base_delay": -1}, "base_delay must be a number of at least 0, not -1."),
        ({"base_delay": 1e300}, "base_delay must be ten years (315360000 s) at most, not 1e+300."),
        (
            {"base_delay": 10**400},
            "base_delay must be a number of at least 0, not a number of so many digits.",
        ),
        ({"max_delay": float("inf")}, "max_delay must be a number of at least 0, not inf."),
        ({"exponential_base": 0.5}, "exponential_base must be a number of at least 1, not 0.5."),
        ({"jitter": "some"}, "jitter is True, False, full, equal, proportional, none, not 'some'."),
        (
            {"retryable_exceptions": (1,)},
            "retryable_exceptions must be an error class or a tuple of them, not (1,).",
        ),
    ],
)
def test_a_configuration_that_cannot_work_is_refused_in_one_sentence(
    values: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        RetryConfig(**values)
    assert str(caught.value) == sentence


def test_the_first_call_is_not_delayed(service: str) -> None:
    began = monotonic()
    make: Callable[[], int] = Flaky(0)
    with_retry(make, config=RetryConfig(base_delay=1000), service_name=service)
    assert monotonic() - began < 100
