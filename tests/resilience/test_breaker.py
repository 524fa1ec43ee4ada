"""How does a circuit breaker behave towards the program that uses it?"""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from billiard.exceptions import SoftTimeLimitExceeded

from dlq_console.errors import (
    ConfigurationError,
    DLQError,
    LeaseLost,
    PermanentError,
    RateLimited,
    StoreUnavailable,
)
from dlq_console.resilience.breaker import (
    BREAKERS,
    CircuitBreaker,
    CircuitBreakerConfig,
    CircuitBreakerRegistry,
    CircuitState,
    Transition,
    Window,
)
from dlq_console.resilience.bulkhead import Bulkhead
from dlq_console.resilience.errors import (
    BudgetExceededError,
    BulkheadFullError,
    BulkheadTimeoutError,
    CircuitOpenError,
)
from dlq_console.resilience.state import A_WEEK, MemoryState
from tests.resilience.states import FrozenClock

CONFIG = CircuitBreakerConfig(failure_threshold=3, success_threshold=1, recovery_timeout=30)


class Response:
    """What the clients of HTTP attach to their errors."""

    def __init__(self, hint: str) -> None:
        self.headers = {"Retry-After": hint}


class ServiceError(Exception):
    """What the invented service fails with."""

    response: Response | None = None


def fail(error: BaseException | None = None) -> None:
    raise error or ServiceError


def ok(value: Any = "answer") -> Any:
    return value


@pytest.fixture
def breaker(clock: FrozenClock) -> CircuitBreaker:
    return CircuitBreaker("erp", CONFIG, state=MemoryState(clock))


def failing(breaker: CircuitBreaker, times: int, error: type[Exception] = ServiceError) -> None:
    for _ in range(times):
        with pytest.raises(error):
            breaker.call(fail, error())


def state_of(breaker: CircuitBreaker) -> str:
    return str(breaker.state)


def test_a_call_gets_its_arguments_and_gives_its_result(breaker: CircuitBreaker) -> None:
    assert breaker.call(lambda a, *, b: (a, b), 1, b=2) == (1, 2)


def test_the_original_error_reaches_the_caller_also_when_it_opens_the_circuit(
    breaker: CircuitBreaker,
) -> None:
    error = ServiceError("as it was")
    for _ in range(3):
        with pytest.raises(ServiceError) as caught:
            breaker.call(fail, error)
        assert caught.value is error
    assert breaker.state is CircuitState.OPEN


def test_an_open_circuit_refuses_with_name_and_time(breaker: CircuitBreaker, clock: FrozenClock) -> None:
    failing(breaker, 3)
    clock.advance(10)
    called: list[int] = []
    with pytest.raises(CircuitOpenError) as caught:
        breaker.call(called.append, 1)
    assert (caught.value.name, caught.value.retry_after) == ("erp", 20.0)
    assert '"erp"' in str(caught.value)
    assert called == []


def test_a_refusal_can_be_sent_to_another_process(breaker: CircuitBreaker) -> None:
    failing(breaker, 3)
    with pytest.raises(CircuitOpenError) as caught:
        breaker.call(ok)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.name, copy.retry_after, str(copy)) == ("erp", 30.0, str(caught.value))


def test_after_the_open_time_one_good_call_closes_it(breaker: CircuitBreaker, clock: FrozenClock) -> None:
    failing(breaker, 3)
    clock.advance(30)
    assert state_of(breaker) == "half_open"
    assert breaker.call(ok) == "answer"
    assert state_of(breaker) == "closed"


def test_looking_at_a_circuit_that_is_due_changes_nothing(
    breaker: CircuitBreaker, clock: FrozenClock
) -> None:
    failing(breaker, 3)
    clock.advance(30)
    before = breaker.shared_state.read(BREAKERS, "erp").record
    for _ in range(3):
        assert breaker.state is CircuitState.HALF_OPEN
        assert breaker.stats()["state"] == "half_open"
    assert breaker.shared_state.read(BREAKERS, "erp").record is before


@pytest.mark.parametrize(
    "error",
    [
        KeyError("not in expected_exception"),
        FileNotFoundError("ignored"),
        LeaseLost(),
        StoreUnavailable(),
        CircuitOpenError(name="another"),
        BulkheadFullError(name="another"),
        BudgetExceededError(),
        SystemExit(1),
        KeyboardInterrupt(),
        asyncio.CancelledError(),
        SoftTimeLimitExceeded(),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("probing", [False, True], ids=["closed", "probe"])
def test_an_error_that_proves_nothing_moves_nothing(
    error: BaseException, probing: bool, clock: FrozenClock
) -> None:
    config = CircuitBreakerConfig(
        failure_threshold=1,
        success_threshold=1,
        expected_exception=(OSError, ServiceError, DLQError),
        ignored_exceptions=FileNotFoundError,
    )
    breaker = CircuitBreaker("erp", config, state=MemoryState(clock))
    if probing:
        failing(breaker, 1)
        clock.advance(30)
    before = breaker.state
    for _ in range(3):
        with pytest.raises(type(error)):
            breaker.call(fail, error)
        assert breaker.state is before
    assert breaker.stats()["ignored"] == 3
    assert breaker.call(ok) == "answer"


@pytest.mark.parametrize(
    "error", [BulkheadTimeoutError(), BudgetExceededError(during_call=True), TimeoutError()]
)
def test_a_call_that_was_cut_short_is_a_failure(breaker: CircuitBreaker, error: Exception) -> None:
    for _ in range(3):
        with pytest.raises(type(error)):
            breaker.call(fail, error)
    assert breaker.state is CircuitState.OPEN


def test_a_business_answer_proves_the_service_alive(breaker: CircuitBreaker, clock: FrozenClock) -> None:
    failing(breaker, 2)
    failing(breaker, 10, PermanentError)
    assert breaker.stats()["consecutive_failures"] == 0
    failing(breaker, 3)
    clock.advance(30)
    failing(breaker, 1, PermanentError)
    assert breaker.state is CircuitState.CLOSED


def test_a_business_answer_that_the_program_ignores_proves_nothing(clock: FrozenClock) -> None:
    config = CircuitBreakerConfig(
        failure_threshold=1, success_threshold=1, ignored_exceptions=(PermanentError,)
    )
    breaker = CircuitBreaker("erp", config, state=MemoryState(clock))
    failing(breaker, 1)
    clock.advance(30)
    failing(breaker, 1, PermanentError)
    assert breaker.state is CircuitState.HALF_OPEN
    assert (breaker.stats()["successes"], breaker.stats()["ignored"]) == (0, 1)


def test_failures_to_which_none_was_added_for_a_week_are_forgotten(
    breaker: CircuitBreaker, clock: FrozenClock
) -> None:
    failing(breaker, breaker.config.failure_threshold - 1)
    clock.advance(A_WEEK + 1)
    failing(breaker, 1)
    assert breaker.stats()["consecutive_failures"] == 1
    assert state_of(breaker) == "closed"


def test_a_service_that_asks_to_be_left_alone_is(breaker: CircuitBreaker) -> None:
    for _ in range(3):
        with pytest.raises(RateLimited):
            breaker.call(fail, RateLimited(7))
    assert breaker.stats()["retry_after"] == 7


@pytest.mark.parametrize(
    ("hint", "low", "high"),
    [
        ("7", 7, 7),
        ("86400", 600, 600),
        ("-1", 30, 30),
        ("soon", 30, 30),
        ("nan", 30, 30),
        ("inf", 30, 30),
        ("1e309", 30, 30),
        ("\u0663", 30, 30),
        ("", 30, 30),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 30, 30),
        ("Fri, 01 Jan 9999 00:00:00 GMT", 600, 600),
    ],
)
def test_the_header_of_an_answer_counts_when_it_makes_sense(
    breaker: CircuitBreaker, hint: str, low: float, high: float
) -> None:
    error = ServiceError()
    error.response = Response(hint)
    for _ in range(3):
        with pytest.raises(ServiceError):
            breaker.call(fail, error)
    assert low <= breaker.stats()["retry_after"] <= high


class UnreadableError(ServiceError):
    """As of a client whose properties raise while there is nothing in them."""

    @property
    def retry_after(self) -> float:
        raise RuntimeError("nothing was set")


class AnswerlessError(ServiceError):
    """The same for the answer of the service."""

    @property
    def response(self) -> Response | None:  # type: ignore[override]  # read-only, as clients have it
        raise RuntimeError("nothing was set")


@pytest.mark.parametrize("error", [UnreadableError, AnswerlessError])
def test_an_error_that_cannot_be_read_reaches_the_caller_and_its_probe_gives_the_permit_back(
    error: type[ServiceError],
) -> None:
    clock = FrozenClock()
    breaker = CircuitBreaker("erp", CONFIG, state=MemoryState(clock))
    for _ in range(3):
        with pytest.raises(error):
            breaker.call(fail, error())
    clock.advance(31)
    with pytest.raises(error):
        breaker.call(fail, error())
    assert (breaker.stats()["state"], breaker.stats()["probes"]) == ("open", 0)


def test_no_lock_is_held_during_the_call(breaker: CircuitBreaker) -> None:
    both = threading.Barrier(2, timeout=10)
    threads = [threading.Thread(target=breaker.call, args=(both.wait,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert breaker.stats()["successes"] == 2


def test_a_circuit_may_be_asked_from_within_its_own_call(breaker: CircuitBreaker) -> None:
    assert breaker.call(partial(breaker.call, ok)) == "answer"


def test_every_transition_is_told_once_and_a_listener_cannot_harm_the_call(clock: FrozenClock) -> None:
    told: list[tuple[str, Transition]] = []

    def listen(name: str, transition: Transition) -> None:
        told.append((name, transition))
        raise ZeroDivisionError

    breaker = CircuitBreaker("erp", CONFIG, state=MemoryState(clock), on_transition=listen)
    failing(breaker, 3)
    clock.advance(30)
    breaker.call(ok)
    assert [(name, str(each.before), str(each.after)) for name, each in told] == [
        ("erp", "closed", "open"),
        ("erp", "open", "half_open"),
        ("erp", "half_open", "closed"),
    ]


def test_figures_count_what_happened_here(breaker: CircuitBreaker) -> None:
    breaker.call(ok)
    failing(breaker, 3)
    with pytest.raises(CircuitOpenError):
        breaker.call(ok)
    stats = breaker.stats()
    assert {name: stats[name] for name in ("state", "calls", "successes", "failures", "short_circuits")} == {
        "state": "open",
        "calls": 4,
        "successes": 1,
        "failures": 3,
        "short_circuits": 1,
    }
    assert stats["history"][-1]["why"] == "3 failures in a row, the last: ServiceError"


def test_the_text_of_an_error_is_kept_nowhere(breaker: CircuitBreaker) -> None:
    for _ in range(3):
        with pytest.raises(ServiceError):
            breaker.call(fail, ServiceError("password=hunter2"))
    record = breaker.shared_state.read(BREAKERS, "erp").record
    assert record is not None
    assert "hunter2" not in BREAKERS.encode(record)


def test_slow_calls_are_measured_by_the_breaker(clock: FrozenClock) -> None:
    window = Window(calls=4, minimum_calls=2, failure_rate=None, slow_rate=1.0, slow_after=0.001)
    breaker = CircuitBreaker("erp", CircuitBreakerConfig(window=window), state=MemoryState(clock))
    pause = threading.Event()
    for _ in range(2):
        breaker.call(pause.wait, 0.01)
    assert breaker.state is CircuitState.OPEN


def test_successes_count_in_a_window(clock: FrozenClock) -> None:
    breaker = CircuitBreaker("erp", CircuitBreakerConfig(window=Window(calls=10)), state=MemoryState(clock))
    for _ in range(6):
        breaker.call(ok)
    failing(breaker, 4)
    assert state_of(breaker) == "closed"
    failing(breaker, 1)
    assert state_of(breaker) == "open"


# Overrides


def test_a_person_may_force_it_open_and_closed_and_reset_it(
    breaker: CircuitBreaker, clock: FrozenClock
) -> None:
    breaker.force_open(actor="ana", note="ERP move", seconds=60)
    with pytest.raises(CircuitOpenError) as caught:
        breaker.call(ok)
    assert caught.value.retry_after == 60
    assert breaker.stats()["override"]["actor"] == "ana"
    breaker.force_closed(actor="ana")
    failing(breaker, 5)
    assert (breaker.stats()["state"], breaker.stats()["computed_state"]) == ("closed", "open")
    breaker.reset(actor="ana")
    assert breaker.call(ok) == "answer"
    assert breaker.stats()["override"] is None


# Async


@pytest.mark.anyio
async def test_an_async_function_is_awaited(breaker: CircuitBreaker) -> None:
    async def answer(value: int) -> int:
        await asyncio.sleep(0)
        return value

    class Answerer:
        async def __call__(self) -> int:
            return 9

    assert await breaker.call(answer, 7) == 7
    assert await breaker.call(partial(answer, 8)) == 8
    assert await breaker.call(Answerer()) == 9
    assert await breaker.call(lambda: answer(10)) == 10
    assert await breaker.call(Bulkhead("erp").run, answer, 11) == 11
    assert breaker.stats()["successes"] == 5


def returning(fn: Callable[[], Any]) -> Callable[[], Any]:
    """A plain function that gives what an async one gives."""

    def call() -> Any:
        return fn()

    return call


@pytest.mark.anyio
@pytest.mark.parametrize("wrap", [lambda fn: fn, returning], ids=["async def", "returns a coroutine"])
async def test_a_failure_counts_when_it_happens(
    breaker: CircuitBreaker, wrap: Callable[[Any], Callable[[], Any]]
) -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise ServiceError

    for _ in range(3):
        with pytest.raises(ServiceError):
            await breaker.call(wrap(fails))
    with pytest.raises(CircuitOpenError):
        await breaker.call(wrap(fails))


@pytest.mark.anyio
async def test_a_cancelled_probe_returns_its_permit(breaker: CircuitBreaker, clock: FrozenClock) -> None:
    failing(breaker, 3)
    clock.advance(30)
    called = asyncio.Event()

    async def hang() -> None:
        called.set()
        await asyncio.sleep(60)

    task = asyncio.create_task(breaker.call(hang))
    await called.wait()
    with pytest.raises(CircuitOpenError):
        breaker.call(ok)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (breaker.state, breaker.stats()["probes"]) == (CircuitState.HALF_OPEN, 0)
    assert breaker.call(ok) == "answer"


# Configuration


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"failure_threshold": 0}, "failure_threshold must be a whole number of at least 1, not 0."),
        ({"failure_threshold": 2.5}, "failure_threshold must be a whole number of at least 1, not 2.5."),
        ({"failure_threshold": True}, "failure_threshold must be a whole number of at least 1, not True."),
        ({"success_threshold": 0}, "success_threshold must be a whole number of at least 1, not 0."),
        (
            {"success_threshold": 10**9},
            "success_threshold must be a number of at least 1 and at most 1000, not 1000000000.",
        ),
        (
            {"recovery_timeout": 10**400},
            "recovery_timeout must be a number of at least 0, not a number of so many digits.",
        ),
        (
            {"failure_threshold": -(10**5000)},
            "failure_threshold must be a whole number of at least 1, not a number of so many digits.",
        ),
        ({"half_open_max_calls": 0}, "half_open_max_calls must be a whole number of at least 1, not 0."),
        ({"recovery_timeout": -1}, "recovery_timeout must be a number of at least 0, not -1."),
        ({"recovery_timeout": float("nan")}, "recovery_timeout must be a number of at least 0, not nan."),
        ({"recovery_timeout": float("inf")}, "recovery_timeout must be a number of at least 0, not inf."),
        ({"recovery_multiplier": 0.5}, "recovery_multiplier must be a number of at least 1, not 0.5."),
        ({"max_recovery_timeout": "10"}, "max_recovery_timeout must be a number of at least 0, not '10'."),
        (
            {"recovery_timeout": 60, "max_recovery_timeout": 30, "recovery_multiplier": 2},
            "max_recovery_timeout (30 s) is shorter than recovery_timeout (60 s), so it could never grow.",
        ),
        (
            {"expected_exception": "Exception"},
            "expected_exception must be an error class or a tuple of them, not 'Exception'.",
        ),
        ({"window": 10}, "window must be a Window, not 10."),
    ],
)
def test_a_configuration_that_cannot_work_is_refused_in_one_sentence(
    values: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        CircuitBreakerConfig(**values)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "give one of them"),
        ({"calls": 10, "seconds": 10}, "give one of them"),
        ({"calls": 5, "minimum_calls": 6}, "never holds more than 5 calls"),
        ({"calls": 100_000}, "at most 1000"),
        ({"seconds": 0}, "above 0"),
        ({"seconds": 10, "minimum_calls": 0}, "at least 1"),
        ({"calls": 10, "failure_rate": 0}, "above 0 and at most 1"),
        ({"calls": 10, "failure_rate": 1.1}, "above 0 and at most 1"),
        ({"calls": 10, "failure_rate": None}, "never opens"),
        ({"calls": 10, "slow_rate": 0.5}, "belong together"),
        ({"calls": 10, "slow_rate": 0.5, "slow_after": -1}, "slow_after must be a number above 0"),
    ],
)
def test_a_window_that_cannot_work_is_refused(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        Window(**values)


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "a\x00b", "x" * 201, None, 7])
def test_a_name_is_text_on_one_line(name: Any) -> None:
    with pytest.raises(ConfigurationError, match="name of a circuit breaker"):
        CircuitBreaker(name)


def test_a_registry_gives_one_breaker_for_each_name() -> None:
    registry = CircuitBreakerRegistry({"payment": CONFIG})
    assert registry.get("payment") is registry.get("payment")
    assert registry.get("payment").config == CONFIG
    assert registry.get("search").config == CircuitBreakerConfig()
    own = CircuitBreakerConfig(failure_threshold=1)
    assert registry.get("mail", own) is registry.get("mail", own)
    with pytest.raises(ConfigurationError, match="configured already"):
        registry.get("payment", own)
    assert sorted(registry.stats()) == ["mail", "payment", "search"]


def test_two_breakers_without_a_state_know_nothing_of_each_other() -> None:
    one, other = CircuitBreaker("same", CONFIG), CircuitBreaker("same", CONFIG)
    failing(one, 3)
    assert (one.state, other.state) == (CircuitState.OPEN, CircuitState.CLOSED)
