"""Do the five layers work together, in their order, and who is told of what?"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import Any

import pytest
from billiard.exceptions import SoftTimeLimitExceeded

from dlq_console.errors import ConfigurationError, IdempotencyConflict, OutcomeUnknown, PermanentError
from dlq_console.resilience import budget, checks
from dlq_console.resilience.backpressure import QueueGuard
from dlq_console.resilience.breaker import (
    CircuitBreaker,
    CircuitBreakerConfig,
    CircuitBreakerRegistry,
    Window,
)
from dlq_console.resilience.bulkhead import Bulkhead, BulkheadConfig, BulkheadRegistry, LocalBulkhead
from dlq_console.resilience.defaults import Defaults, register_defaults
from dlq_console.resilience.errors import (
    BudgetExceededError,
    BulkheadFullError,
    BulkheadTimeoutError,
    CircuitOpenError,
)
from dlq_console.resilience.guard import guard
from dlq_console.resilience.idempotency import idempotent_node
from dlq_console.resilience.idempotency.inputs import name_of
from dlq_console.resilience.orphans import OrphanScanner
from dlq_console.resilience.recovery import RecoveryConsumer
from dlq_console.resilience.retry import RetryConfig, with_retry
from dlq_console.resilience.services import read_services, services
from dlq_console.resilience.state import MemoryState, SharedState
from dlq_console.resilience.tracing import traced_node
from tests.resilience.states import FrozenClock
from tests.resilience.test_breaker import ServiceError, fail, ok
from tests.resilience.test_retry import Flaky
from tests.services.process import PROJECT_ROOT, wait_until

QUICK = CircuitBreakerConfig(failure_threshold=3, success_threshold=1, recovery_timeout=30)
ROOM = BulkheadConfig(max_concurrent=2, timeout=30, acquire_timeout=0)
AT_ONCE = RetryConfig(max_attempts=3, base_delay=0)


@pytest.fixture
def memory(clock: FrozenClock) -> MemoryState:
    return MemoryState(clock)


def test_a_guarded_function_gets_its_arguments_and_keeps_its_name(memory: MemoryState) -> None:
    @guard("erp", state=memory)
    def send(a: int, *, b: int) -> tuple[int, int]:
        """Send it."""
        return a, b

    assert send(1, b=2) == (1, 2)
    assert (send.__name__, send.__doc__) == ("send", "Send it.")


def test_a_guard_may_be_used_call_by_call(state: SharedState) -> None:
    erp = guard("erp", state=state, retry=AT_ONCE)
    assert erp.call(Flaky(2)) == 3
    stats = erp.stats()
    assert (stats["breaker"]["calls"], stats["breaker"]["failures"], stats["bulkhead"]["calls"]) == (3, 2, 1)
    assert stats["bulkhead"]["in_use"] == 0


@pytest.mark.anyio
async def test_an_async_function_goes_through_the_same_layers(state: SharedState) -> None:
    flaky = Flaky(2)
    erp = guard("erp", state=state, retry=AT_ONCE)

    @erp
    async def send() -> int:
        await asyncio.sleep(0)
        return flaky()

    assert await send() == 3
    stats = erp.stats()
    assert (stats["breaker"]["calls"], stats["breaker"]["failures"], stats["bulkhead"]["calls"]) == (3, 2, 1)


# The order


def test_an_open_circuit_takes_no_slot(memory: MemoryState) -> None:
    erp = guard("erp", breaker=QUICK, bulkhead=ROOM, state=memory)
    for _ in range(3):
        with pytest.raises(ServiceError):
            erp.call(fail)
    with pytest.raises(CircuitOpenError):
        erp.call(ok)
    assert erp.stats()["bulkhead"]["calls"] == 3


def test_a_full_bulkhead_is_no_evidence_and_returns_the_permit_of_a_probe(
    memory: MemoryState, clock: FrozenClock
) -> None:
    bulkhead = Bulkhead("erp", BulkheadConfig(max_concurrent=1, acquire_timeout=0), state=memory)
    erp = guard("erp", breaker=QUICK, bulkhead=bulkhead, state=memory)
    for _ in range(3):
        with pytest.raises(ServiceError):
            erp.call(fail)
    clock.advance(30)
    held = bulkhead.acquire()
    for _ in range(3):
        with pytest.raises(BulkheadFullError):
            erp.call(ok)
    assert erp.stats()["breaker"]["state"] == "half_open"
    held.release()
    assert erp.call(ok) == "answer"
    assert erp.stats()["breaker"]["state"] == "closed"


@pytest.mark.parametrize("bulkhead", [ROOM, False])
def test_a_used_up_budget_is_no_evidence(memory: MemoryState, bulkhead: Any) -> None:
    erp = guard("erp", breaker=CircuitBreakerConfig(failure_threshold=1), bulkhead=bulkhead, state=memory)
    with budget.init_budget(0.5), pytest.raises(BudgetExceededError):
        erp.call(ok)
    assert erp.stats()["breaker"]["calls"] == 0
    assert erp.call(ok) == "answer"


def test_a_sync_call_that_was_cut_short_is_one_failure_and_its_late_end_is_none(memory: MemoryState) -> None:
    leave = threading.Event()
    erp = guard("erp", breaker=QUICK, bulkhead=BulkheadConfig(timeout=0.05), retry=AT_ONCE, state=memory)
    for _ in range(2):
        with pytest.raises(BulkheadTimeoutError):
            erp.call(leave.wait, 20)
    leave.set()
    wait_until(lambda: erp.stats()["bulkhead"]["in_use"] == 0, 10, "the calls to end")
    stats = erp.stats()["breaker"]
    assert (stats["failures"], stats["consecutive_failures"], stats["successes"]) == (2, 2, 0)


def test_a_call_past_its_limit_is_not_tried_again_behind_its_callers_back(memory: MemoryState) -> None:
    leave = threading.Event()
    calls: list[int] = []

    def late() -> None:
        calls.append(1)
        leave.wait(20)
        raise ServiceError

    erp = guard("erp", bulkhead=BulkheadConfig(timeout=0.05), retry=AT_ONCE, state=memory)
    with pytest.raises(BulkheadTimeoutError):
        erp.call(late)
    leave.set()
    wait_until(lambda: erp.stats()["bulkhead"]["in_use"] == 0, 10, "the call to end")
    assert calls == [1]


@pytest.mark.anyio
@pytest.mark.parametrize("bulkhead", [BulkheadConfig(timeout=0.5), False])
async def test_an_async_probe_that_was_cut_short_opens_the_circuit_again(
    memory: MemoryState, clock: FrozenClock, bulkhead: Any
) -> None:
    erp = guard("erp", breaker=QUICK, bulkhead=bulkhead, state=memory)
    for _ in range(3):
        with pytest.raises(ServiceError):
            erp.call(fail)
    clock.advance(30)
    with budget.init_budget(1.05), pytest.raises((BulkheadTimeoutError, BudgetExceededError)):
        await erp.call(asyncio.sleep, 60)
    assert erp.stats()["breaker"]["state"] == "open"


@pytest.mark.anyio
async def test_a_cancelled_call_is_no_evidence_and_frees_everything(
    memory: MemoryState, clock: FrozenClock
) -> None:
    erp = guard("erp", breaker=QUICK, bulkhead=ROOM, retry=AT_ONCE, state=memory)
    with pytest.raises(ServiceError):
        erp.call(fail)
    clock.advance(30)
    inside = asyncio.Event()

    async def hang() -> None:
        inside.set()
        await asyncio.sleep(60)

    task = asyncio.create_task(erp.call(hang))
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    stats = erp.stats()
    assert (stats["breaker"]["state"], stats["breaker"]["probes"], stats["bulkhead"]["in_use"]) == (
        "half_open",
        0,
        0,
    )


def test_a_probe_is_one_attempt_and_its_failure_opens_again(memory: MemoryState, clock: FrozenClock) -> None:
    erp = guard("erp", breaker=QUICK, retry=AT_ONCE, state=memory)
    with pytest.raises(ServiceError):
        erp.call(fail)
    clock.advance(30)
    flaky = Flaky(9)
    with pytest.raises(ServiceError):
        erp.call(flaky)
    assert flaky.calls == 1
    assert erp.stats()["breaker"]["state"] == "open"


def test_slow_calls_are_measured_for_each_attempt_without_the_waits_between(memory: MemoryState) -> None:
    window = Window(calls=10, minimum_calls=2, failure_rate=None, slow_rate=0.1, slow_after=0.2)
    retry = RetryConfig(max_attempts=3, base_delay=0.15, exponential_base=1, jitter="none")
    erp = guard("erp", breaker=CircuitBreakerConfig(window=window), retry=retry, state=memory)
    assert erp.call(Flaky(2)) == 3
    assert erp.stats()["breaker"]["state"] == "closed"


# Idempotent


def test_a_call_that_was_done_is_not_made_again_and_proves_nothing(state: SharedState) -> None:
    made: list[str] = []
    erp = guard("erp", breaker=QUICK, idempotency_key=lambda order, **_: order, state=state)

    @erp
    def send(order: str, *, amount: int = 1) -> dict[str, int]:
        made.append(order)
        return {"number": len(made)}

    assert [send("8841"), send("8841"), send("8842")] == [{"number": 1}, {"number": 1}, {"number": 2}]
    assert erp.stats()["breaker"]["successes"] == 2
    with pytest.raises(IdempotencyConflict):
        send("8841", amount=2)
    assert made == ["8841", "8842"]


def test_a_result_from_before_does_not_close_a_half_open_circuit(
    memory: MemoryState, clock: FrozenClock
) -> None:
    erp = guard("erp", breaker=QUICK, idempotency_key=lambda fn_input=None: "one", state=memory)
    assert erp.call(ok) == "answer"
    erp_failing = guard("erp", breaker=QUICK, state=memory)
    for _ in range(3):
        with pytest.raises(ServiceError):
            erp_failing.call(fail)
    clock.advance(30)
    assert erp.call(ok) == "answer"
    assert erp.stats()["breaker"]["state"] == "half_open"


def test_a_call_refused_because_its_outcome_is_unknown_proves_nothing(
    memory: MemoryState, clock: FrozenClock
) -> None:
    """The service was not asked: its circuit neither opens nor, half-open, takes it for a probe."""
    erp = guard("erp", breaker=QUICK, idempotency_key=lambda *_: "one", state=memory)
    pay = Flaky(1, TimeoutError())
    with pytest.raises(TimeoutError):
        erp.call(pay)
    for _ in range(5):
        with pytest.raises(OutcomeUnknown):
            erp.call(pay)
    assert (erp.stats()["breaker"]["failures"], erp.stats()["breaker"]["state"]) == (1, "closed")
    for _ in range(2):
        with pytest.raises(ServiceError):
            guard("erp", breaker=QUICK, state=memory).call(fail)
    clock.advance(30)
    with pytest.raises(OutcomeUnknown):
        erp.call(pay)
    assert erp.stats()["breaker"]["state"] == "half_open"
    assert guard("erp", breaker=QUICK, state=memory).call(ok) == "answer"


def test_a_call_that_found_no_connection_is_made_again_under_its_key(memory: MemoryState) -> None:
    erp = guard("erp", retry=AT_ONCE, idempotency_key="one", state=memory)
    assert erp.call(Flaky(2, ConnectionRefusedError())) == 3
    assert erp.call(Flaky(0)) == 3


@pytest.mark.anyio
async def test_an_async_call_is_made_once(state: SharedState) -> None:
    made: list[int] = []
    erp = guard("erp", idempotency_key="one", state=state)

    async def send() -> int:
        made.append(1)
        return len(made)

    assert [await erp.call(send), await erp.call(send)] == [1, 1]


@pytest.mark.parametrize("key", ["a:b", "{a} {b}", "ação", "日本 🚚", "%s|*"])
def test_a_key_may_be_any_text_and_no_two_are_the_same_call(state: SharedState, key: str) -> None:
    made: list[str] = []
    erp = guard("erp: {a}", idempotency_key=lambda order: order, state=state)
    for order in (key, key, f"{key} "):
        erp.call(made.append, order)
    assert made == [key, f"{key} "]


def test_one_call_in_two_spellings_is_the_same_call(memory: MemoryState) -> None:
    """By place or by name, with a default or without it; only what has no spelling, such as a session, is left out."""
    made: list[tuple[int, int]] = []

    class Desk:
        @guard("erp", idempotency_key=lambda _desk, order, *_rest, **_named: f"pay {order}", state=memory)
        def pay(self, order: int, amount: int = 1, *, session: object = None) -> int:
            made.append((order, amount))
            return amount

    desk = Desk()
    assert [desk.pay(1), desk.pay(order=1), desk.pay(1, 1), desk.pay(1, session=object())] == [1, 1, 1, 1]
    with pytest.raises(IdempotencyConflict):
        Desk().pay(1, 9999)
    assert made == [(1, 1)]


class Api:
    """Two calls of one service, both of which are known by the number of an order."""

    def charge(self, order: int) -> str:
        return f"charged {order}"

    def refund(self, order: int) -> str:
        return f"refunded {order}"


def test_one_key_for_two_functions_is_refused_and_gives_neither_the_result_of_the_other(
    memory: MemoryState,
) -> None:
    api, erp = Api(), guard("erp", idempotency_key=str, state=memory)
    assert [erp.call(api.charge, 7), erp.call(Api().charge, 7)] == ["charged 7"] * 2
    other = guard("erp", idempotency_key=str, state=memory)
    for protect in (erp, other):
        with pytest.raises(IdempotencyConflict, match="by another function; give what is not the same call"):
            protect.call(api.refund, 7)
    named = guard("erp", idempotency_key=lambda order: f"refund {order}", state=memory)
    assert named.call(api.refund, 7) == "refunded 7"


def test_a_function_has_one_name_in_the_program_that_is_started_and_where_it_is_imported(
    tmp_path: Path,
) -> None:
    file = tmp_path / "payments.py"
    file.write_text(
        "from dlq_console.resilience.idempotency.inputs import name_of\n"
        "def pay(): ...\n"
        "def told(): return name_of(pay)\n"
        "if __name__ == '__main__':\n"
        "    import multiprocessing\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(name_of(pay), pool.apply(told))\n"
    )
    names = {**os.environ, "PYTHONPATH": f"{PROJECT_ROOT}:{tmp_path}"}
    for started in (["payments.py"], ["-m", "payments"]):
        command = [sys.executable, *started]
        told = subprocess.run(
            command, cwd=tmp_path, env=names, capture_output=True, text=True, check=True, timeout=60
        )
        assert told.stdout == "payments.pay payments.pay\n"
    assert name_of(partial(Api().charge, 7)) == f"{__name__}.Api.charge"
    assert name_of(Flaky(1)) == "tests.resilience.test_retry.Flaky"


@pytest.mark.parametrize("key", ["", 7, lambda: None])
def test_a_key_that_is_no_text_is_refused(memory: MemoryState, key: Any) -> None:
    with pytest.raises(ConfigurationError, match="idempotency key"):
        guard("erp", idempotency_key=key, state=memory).call(ok if key == "" else lambda: None)


# What a guard is made of


def test_layers_can_be_handed_in_shared_and_left_out(memory: MemoryState) -> None:
    breaker = CircuitBreaker("shared", QUICK, state=memory)
    erp = guard("erp", breaker=breaker, bulkhead=False, state=memory)
    with pytest.raises(ServiceError):
        erp.call(fail)
    assert breaker.stats()["failures"] == 1
    assert erp.stats()["bulkhead"] is None
    assert guard("erp", breaker=False, state=memory).call(threading.get_ident) != threading.get_ident()
    assert guard("erp", breaker=False, bulkhead=False, state=memory).call(ok) == "answer"


@pytest.mark.parametrize("address", ["redis://localhost", "sqlite:///x.db", MemoryState])
def test_an_address_for_a_state_is_refused_where_it_is_given(address: Any) -> None:
    for make in (
        lambda: guard("erp", state=address),
        lambda: idempotent_node(address, "erp", ["order"]),
        lambda: OrphanScanner(address, "erp", list),
    ):
        with pytest.raises(
            ConfigurationError, match=r"^state must be a shared state, such as RedisState\(url\)"
        ):
            make()


@pytest.mark.parametrize("values", [{"breaker": 3}, {"bulkhead": "ten"}, {"retry": True}])
def test_a_layer_that_is_none_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=f"{next(iter(values))} must be a"):
        guard("erp", **values)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: CircuitBreaker("erp", ROOM), "config must be a CircuitBreakerConfig, not BulkheadConfig("),  # type: ignore[arg-type]  # what is refused
        (lambda: Bulkhead("erp", 5), "config must be a BulkheadConfig, not 5."),  # type: ignore[arg-type]  # what is refused
        (lambda: LocalBulkhead("erp", QUICK), "config must be a BulkheadConfig, not CircuitBreakerConfig("),  # type: ignore[arg-type]  # what is refused
        (lambda: CircuitBreakerRegistry().get("erp", 5), "config must be a CircuitBreakerConfig, not 5."),  # type: ignore[arg-type]  # what is refused
        (lambda: BulkheadRegistry([ROOM]), "The configurations of a registry are a dict by name, not ["),  # type: ignore[arg-type]  # what is refused
        (lambda: with_retry(ok, config=5), "config must be a RetryConfig, not 5."),  # type: ignore[arg-type]  # what is refused
        (lambda: guard("erp", idempotency_key=5), 'The idempotency key of "erp" must be text, not 5.'),  # type: ignore[arg-type]  # what is refused
        (lambda: guard("erp", idempotency_key="k", verify="yes"), "verify must be a function, not 'yes'."),  # type: ignore[arg-type]  # what is refused
        (lambda: guard("erp", verify=ok), 'The guard "erp" has a verifier and no idempotency_key: give both.'),
        (lambda: QueueGuard(MemoryState(), "q", on_full=None), "on_full must be a function, not None."),  # type: ignore[arg-type]  # what is refused
        (lambda: OrphanScanner(MemoryState(), "q", []), "find must be a function, not []."),  # type: ignore[arg-type]  # what is refused
        (lambda: RecoveryConsumer(MemoryState(), "q", 5), "handle must be a function, not 5."),  # type: ignore[arg-type]  # what is refused
        (lambda: RecoveryConsumer(MemoryState(), "q", ok, on_dead=5), "on_dead must be a function, not 5."),  # type: ignore[arg-type]  # what is refused
        (lambda: idempotent_node(MemoryState(), "n", ["a"], ttl=0), "ttl must be a number above 0, not 0."),
        (lambda: CircuitBreakerConfig(recovery_timeout=1e300), "recovery_timeout must be ten years (315360000 s) at most"),
        (lambda: BulkheadConfig(timeout=1e10), "timeout must be ten years (315360000 s) at most"),
        (lambda: BulkheadConfig(lease=1e300), "lease must be ten years (315360000 s) at most"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused_in_one_sentence_where_it_is_given(
    make: Callable[[], object], sentence: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make()
    assert str(caught.value).startswith(sentence)


def test_ten_years_are_kept_by_every_state(state: SharedState) -> None:
    config = CircuitBreakerConfig(failure_threshold=1, recovery_timeout=checks.LONGEST_TIME)
    breaker = CircuitBreaker("erp", config, state=state)
    with pytest.raises(ServiceError):
        breaker.call(fail)
    assert (breaker.state, breaker.stats()["degraded"]) == ("open", False)


def generating() -> Iterator[int]:
    yield 1


async def generating_async() -> AsyncIterator[int]:
    yield 1


class Generating:
    """An object whose call is a generator."""

    def __call__(self) -> Iterator[int]:
        yield 1


@pytest.mark.parametrize(
    "function",
    [
        generating,
        generating_async,
        partial(generating),
        Generating(),
        contextmanager(generating),
        asynccontextmanager(generating_async),
    ],
    ids=["sync", "async", "partial", "object", "context manager", "async context manager"],
)
def test_a_generator_is_refused_where_it_is_decorated(memory: MemoryState, function: Any) -> None:
    erp = guard("erp", state=memory)
    for protect in (
        erp,
        erp.call,
        idempotent_node(memory, "erp", ["order"]),
        traced_node("erp"),
        CircuitBreaker("erp", state=memory).call,
        Bulkhead("erp", state=memory).run,
        partial(with_retry, service_name="erp"),
    ):
        with pytest.raises(
            ConfigurationError, match=r'^"erp" was given a generator function, .* a result\.$'
        ):
            protect(function)


def test_a_function_that_only_wraps_a_generator_is_none(memory: MemoryState) -> None:
    @wraps(generating)
    def collected() -> list[int]:
        return list(generating())

    assert guard("erp", state=memory).call(collected) == [1]


@pytest.mark.anyio
@pytest.mark.parametrize("bulkhead", [None, False])
@pytest.mark.parametrize("breaker", [None, False])
async def test_an_awaitable_is_refused_and_counts_neither_as_a_success_nor_as_a_failure(
    memory: MemoryState, breaker: Any, bulkhead: Any
) -> None:
    begun: list[int] = []

    async def send() -> None:
        begun.append(1)

    erp = guard("erp", breaker=breaker, bulkhead=bulkhead, retry=AT_ONCE, state=memory)
    for protect in (erp.call, partial(with_retry, service_name="erp")):
        with pytest.raises(ConfigurationError, match=r'^What "erp" was to call gave an awaitable; '):
            protect(lambda: send())  # noqa: PLW0108 - what is refused
    assert begun == []
    counted = erp.stats()["breaker"]
    assert counted is None or (counted["successes"], counted["failures"]) == (0, 0)


async def gives_generator() -> Iterator[int]:
    return generating()


@pytest.mark.anyio
@pytest.mark.parametrize(
    "function",
    [lambda: generating(), lambda: generating_async(), gives_generator],  # noqa: PLW0108 - what is refused
    ids=["generator", "async generator", "generator of an async function"],
)
async def test_a_generator_for_a_result_is_refused_and_returns_the_permit_of_a_probe(
    memory: MemoryState, clock: FrozenClock, function: Any
) -> None:
    async def refused(call: Callable[..., Any]) -> None:
        with pytest.raises(
            ConfigurationError, match=r'^What "erp" was to call gave a generator, .* a result\.$'
        ):
            await _result(call, function)

    erp = guard("erp", breaker=QUICK, retry=AT_ONCE, state=memory)
    with pytest.raises(ServiceError):
        erp.call(fail)
    clock.advance(30)
    breaker = CircuitBreaker("erp", QUICK, state=memory)
    for call in (erp.call, guard("erp", breaker=QUICK, bulkhead=False, state=memory).call, breaker.call):
        await refused(call)
        stats = breaker.stats()
        assert (stats["state"], stats["probes"], stats["successes"]) == ("half_open", 0, 0)
    assert erp.stats()["bulkhead"]["in_use"] == 0
    await refused(partial(with_retry, service_name="erp"))
    paying = guard("erp", breaker=False, idempotency_key="one", state=memory)
    await refused(paying.call)
    with pytest.raises(OutcomeUnknown):
        await _result(paying.call, function)


async def _result(call: Callable[..., Any], function: Any) -> Any:
    return await call(function)


@pytest.mark.parametrize("breaker", [None, False])
def test_a_call_whose_caller_was_interrupted_is_not_tried_again_behind_his_back(
    memory: MemoryState, breaker: Any
) -> None:
    """As Celery does at its soft time limit: the caller is interrupted while another thread makes the call."""
    inside, interrupted, leave = threading.Event(), threading.Event(), threading.Event()
    calls: list[int] = []

    def late() -> None:
        calls.append(1)
        inside.set()
        assert leave.wait(20)
        raise ServiceError

    def interrupt(_number: int, _frame: Any) -> None:
        if not interrupted.is_set():
            interrupted.set()
            raise SoftTimeLimitExceeded

    erp = guard("erp", breaker=breaker, retry=RetryConfig(max_attempts=3, base_delay=0.01), state=memory)

    def interrupt_when_inside() -> None:
        assert inside.wait(20)
        # A signal that comes in the moment before a thread waits does not end its waiting; the next one does.
        while not interrupted.wait(0.05):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    interrupter = threading.Thread(target=interrupt_when_inside)
    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        interrupter.start()
        with pytest.raises(SoftTimeLimitExceeded):
            erp.call(late)
    finally:
        interrupted.set()
        interrupter.join()
        signal.signal(signal.SIGUSR1, before)
    leave.set()
    wait_until(lambda: erp.stats()["bulkhead"]["in_use"] == 0, 20, "the call to end")
    assert calls == [1]


def test_a_guard_without_a_state_uses_what_the_process_registered(memory: MemoryState) -> None:
    made: list[int] = []

    def make() -> Defaults:
        made.append(1)
        return Defaults(
            memory,
            services({"erp": {"breaker": {"failure_threshold": 1}, "bulkhead": {"max_concurrent": 0}}}),
        )

    erp = guard("erp")
    register_defaults(make)
    try:
        assert made == []
        with pytest.raises(BulkheadFullError):
            erp.call(ok)
        assert guard("other").call(ok) == "answer"
        assert made == [1]
    finally:
        register_defaults(None)


# Guards of one name


@pytest.mark.parametrize(
    ("one", "other", "sentence"),
    [
        (
            {"breaker": QUICK},
            {"breaker": CircuitBreakerConfig(failure_threshold=50, success_threshold=1)},
            r'^The guards called "erp" share their circuit, but differ in failure_threshold: 3 and 50; ',
        ),
        (
            {"bulkhead": ROOM},
            {"bulkhead": BulkheadConfig(max_concurrent=9)},
            r'^The guards called "erp" share their slots, but differ in max_concurrent: 2 and 9; ',
        ),
    ],
    ids=["circuit", "slots"],
)
@pytest.mark.parametrize("default", [False, True], ids=["own state", "default state"])
def test_guards_that_share_a_circuit_or_slots_and_contradict_each_other_are_refused(
    memory: MemoryState, one: Any, other: Any, sentence: str, default: bool
) -> None:
    register_defaults(lambda: Defaults(memory))
    try:
        first = guard("erp", state=None if default else memory, **one)
        assert first.call(ok) == "answer"
        second = guard("erp", state=memory, **other)
        with pytest.raises(ConfigurationError, match=sentence):
            second.call(ok)
        third = guard("erp", **other)
        with pytest.raises(ConfigurationError, match=sentence):
            third.call(ok)
    finally:
        register_defaults(None)


def test_guards_that_contradict_each_other_are_refused_at_the_first_call_of_either(
    memory: MemoryState,
) -> None:
    register_defaults(lambda: Defaults(memory))
    try:
        first = guard("erp", breaker=QUICK)
        second = guard("erp", breaker=CircuitBreakerConfig(failure_threshold=50))
        for each in (first, second):
            with pytest.raises(ConfigurationError, match="share their circuit"):
                each.call(ok)
    finally:
        register_defaults(None)


def test_guards_of_one_name_that_agree_or_share_nothing_or_are_gone_do_not_disturb_each_other(
    memory: MemoryState,
) -> None:
    def made(config: Any, **more: Any) -> Any:
        return guard("erp", breaker=config, **{"state": memory, **more})

    def repeated() -> Any:
        return CircuitBreakerConfig(failure_threshold=3, success_threshold=1, recovery_timeout=30)

    otherwise = CircuitBreakerConfig(failure_threshold=50)
    pay = made(QUICK, bulkhead=BulkheadConfig(timeout=5))
    own = CircuitBreakerConfig(3, 1, 30, ignored_exceptions=(ValueError,))
    others = [
        made(repeated()),
        made(own, bulkhead=BulkheadConfig(timeout=60)),
        made(None),
        made(False),
        made(otherwise, state=MemoryState()),
        guard("shop", breaker=otherwise, state=memory),
    ]
    assert [each.call(ok) for each in (pay, *others)] == ["answer"] * 7
    # As where the module is loaded again with another configuration.
    del pay, others
    assert made(otherwise).call(ok) == "answer"


def test_business_answers_are_not_retried_and_do_not_open(memory: MemoryState) -> None:
    erp = guard("erp", breaker=QUICK, retry=AT_ONCE, state=memory)
    for _ in range(10):
        with pytest.raises(PermanentError):
            erp.call(fail, PermanentError("unknown customer"))
    stats = erp.stats()["breaker"]
    assert (stats["state"], stats["calls"], stats["failures"]) == ("closed", 10, 0)


def test_one_slow_service_does_not_take_another_down(memory: MemoryState) -> None:
    """The story of the five layers: a search agent hangs, booking goes on."""
    leave = threading.Event()
    search = guard(
        "search",
        breaker=CircuitBreakerConfig(failure_threshold=4, success_threshold=1, recovery_timeout=60),
        bulkhead=BulkheadConfig(max_concurrent=2, timeout=0.1, acquire_timeout=0),
        state=memory,
    )
    booking = guard("booking", state=memory)
    refused: list[str] = []
    for number in range(20):
        try:
            search.call(leave.wait, 20)
        except (BulkheadTimeoutError, BulkheadFullError, CircuitOpenError) as error:
            refused.append(type(error).__name__)
        assert booking.call(lambda number=number: number) == number
    assert refused[:2] == ["BulkheadTimeoutError"] * 2
    assert set(refused[2:]) == {"BulkheadFullError"}
    leave.set()


# The file of services

TOML = """
[payment_api.breaker]
failure_threshold = 3
success_threshold = 3
recovery_timeout = 60

[search_agent.breaker]
window = { seconds = 30, minimum_calls = 5, slow_rate = 0.5, slow_after = 2 }

[search_agent.bulkhead]
max_concurrent = 4
timeout = 5

[search_agent.retry]
max_attempts = 2
jitter = "equal"
"""


def test_services_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "services.toml"
    file.write_text(TOML)
    found = read_services(file)
    assert found.breakers["payment_api"] == CircuitBreakerConfig(3, 3, 60)
    assert found.breakers["search_agent"].window == Window(
        seconds=30, minimum_calls=5, slow_rate=0.5, slow_after=2
    )
    assert found.bulkheads == {"search_agent": BulkheadConfig(4, 5)}
    assert found.retries == {"search_agent": RetryConfig(2, jitter="equal")}
    assert read_services("").breakers == {}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "[a.breaker]\nfailure_threshold = 0",
            "[a.breaker] failure_threshold must be a whole number of at least 1, not 0.",
        ),
        ("[a.breaker]\nthreshold = 3", "[a.breaker] has no 'threshold'; there are failure_threshold, "),
        ("[a.breaker]\nexpected_exception = 'X'", "[a.breaker] has no 'expected_exception'"),
        ("[a.breaker]\nwindow = { calls = 3 }", "[a.breaker.window] minimum_calls is 10, but the window"),
        ("[a.breaker]\nwindow = 3", "a.breaker.window must be a table"),
        ("[a.brake]\nx = 1", "[a.brake] is no layer; there are breaker, bulkhead, retry."),
        ("a = 3", "a must be a table, written [a]."),
        ("[[a.breaker]]\nfailure_threshold = 3", "a.breaker must be a table, written [a.breaker]."),
        ("['']", "The name of a service is text of 1 to 200 characters, not ''."),
        ("[a.retry]\nmax_attempts = 'many'", "[a.retry] max_attempts must be a whole number"),
        ("[a", "cannot be read"),
    ],
)
def test_a_file_that_cannot_work_is_refused_in_one_sentence_that_says_where(
    tmp_path: Path, text: str, sentence: str
) -> None:
    file = tmp_path / "services.toml"
    file.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        read_services(file)
    assert str(caught.value).startswith("DLQ_SERVICES: ")
    assert sentence in str(caught.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_services(tmp_path / "missing.toml")
