"""How does a bulkhead behave towards the program that uses it?"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from billiard.exceptions import SoftTimeLimitExceeded

from dlq_console.clock import monotonic
from dlq_console.errors import ConfigurationError
from dlq_console.resilience import budget
from dlq_console.resilience.bulkhead import BULKHEADS, Bulkhead, BulkheadConfig, BulkheadRegistry
from dlq_console.resilience.errors import BudgetExceededError, BulkheadFullError, BulkheadTimeoutError
from dlq_console.resilience.state import SharedState
from tests.resilience.states import until
from tests.services.process import wait_until

ONE = BulkheadConfig(max_concurrent=1, timeout=30, acquire_timeout=0)


class Gate:
    """A call that is under way until the test lets it end."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.open = threading.Event()

    def __call__(self) -> str:
        self.entered.set()
        assert self.open.wait(30)
        return "done"


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open.set()


def occupied(bulkhead: Bulkhead, gate: Gate) -> threading.Thread:
    """A thread whose call holds a slot of the bulkhead until the gate opens."""
    thread = threading.Thread(target=bulkhead.run, args=(gate,), daemon=True)
    thread.start()
    assert gate.entered.wait(10)
    return thread


def test_a_call_gets_its_arguments_and_gives_its_result() -> None:
    assert Bulkhead("erp").run(lambda a, *, b: (a, b), 1, b=2) == (1, 2)


@pytest.mark.parametrize("timeout", [None, 30])
@pytest.mark.parametrize(
    "error", [ValueError("x"), SystemExit(3), KeyboardInterrupt(), SoftTimeLimitExceeded()]
)
def test_whatever_ends_a_call_frees_its_slot(timeout: float | None, error: BaseException) -> None:
    bulkhead = Bulkhead("erp", BulkheadConfig(max_concurrent=1, timeout=timeout, acquire_timeout=0))

    def fail() -> None:
        raise error

    for _ in range(3):
        with pytest.raises(type(error)) as caught:
            bulkhead.run(fail)
        assert caught.value is error
    assert bulkhead.stats()["in_use"] == 0


def test_a_full_bulkhead_refuses_with_its_name(gate: Gate) -> None:
    bulkhead = Bulkhead("erp", ONE)
    occupied(bulkhead, gate)
    with pytest.raises(BulkheadFullError) as caught:
        bulkhead.run(print)
    assert caught.value.name == "erp"
    assert str(caught.value) == '"erp" is not called: all its 1 slots are taken.'
    stats = bulkhead.stats()
    assert (stats["available"], stats["in_use"], stats["max"], stats["rejected"]) == (0, 1, 1, 1)
    assert stats["oldest"]["seconds"] >= 0


def test_a_waiter_gets_the_slot_that_becomes_free(gate: Gate) -> None:
    bulkhead = Bulkhead("erp", BulkheadConfig(max_concurrent=1, acquire_timeout=30))
    occupied(bulkhead, gate)
    answers: list[Any] = []
    waiter = threading.Thread(target=lambda: answers.append(bulkhead.run(lambda: "second")))
    waiter.start()
    wait_until(lambda: bulkhead.stats()["waiting"] == 1, 10, "the waiter")
    gate.open.set()
    waiter.join()
    assert answers == ["second"]
    assert bulkhead.stats()["waiting"] == 0


def test_a_short_wait_does_not_cut_a_long_call() -> None:
    bulkhead = Bulkhead("erp", BulkheadConfig(max_concurrent=1, timeout=30, acquire_timeout=0.01))
    pause = threading.Event()
    assert bulkhead.run(pause.wait, 0.1) is False


def test_a_sync_call_past_its_limit_frees_its_caller_and_keeps_its_slot_until_it_really_ends(
    gate: Gate,
) -> None:
    bulkhead = Bulkhead("erp", BulkheadConfig(max_concurrent=1, timeout=0.05, acquire_timeout=0))
    with pytest.raises(BulkheadTimeoutError) as caught:
        bulkhead.run(gate)
    assert str(caught.value) == 'A call of "erp" took longer than its limit of 0.05 s.'
    with pytest.raises(BulkheadFullError):
        bulkhead.run(print)
    assert bulkhead.stats()["timeouts"] == 1
    gate.open.set()
    wait_until(lambda: bulkhead.stats()["in_use"] == 0, 10, "the real end of the call")
    assert bulkhead.run(lambda: 7) == 7


def test_without_a_limit_a_call_runs_in_the_thread_of_its_caller() -> None:
    bulkhead = Bulkhead("erp", BulkheadConfig(timeout=None))
    assert bulkhead.run(threading.get_ident) == threading.get_ident()


def test_a_call_sees_the_context_of_its_caller() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="lost")
    variable.set("here")
    assert Bulkhead("erp").run(variable.get) == "here"


def test_a_call_may_enter_another_bulkhead() -> None:
    outer, inner = Bulkhead("outer", ONE), Bulkhead("inner", ONE)
    assert outer.run(inner.run, lambda: 7) == 7


def test_a_bulkhead_without_slots_refuses_at_once() -> None:
    bulkhead = Bulkhead("erp", BulkheadConfig(max_concurrent=0, acquire_timeout=1000))
    with pytest.raises(BulkheadFullError):
        bulkhead.run(print)


def test_a_bulkhead_can_be_made_smaller_and_larger(gate: Gate) -> None:
    bulkhead = Bulkhead("erp", BulkheadConfig(max_concurrent=2, acquire_timeout=0))
    occupied(bulkhead, gate)
    bulkhead.resize(0)
    assert (bulkhead.stats()["available"], bulkhead.stats()["in_use"]) == (0, 1)
    with pytest.raises(BulkheadFullError):
        bulkhead.run(print)
    bulkhead.resize(2)
    assert bulkhead.run(lambda: 7) == 7
    with pytest.raises(ConfigurationError):
        bulkhead.resize(-1)


def test_a_slot_taken_by_hand_is_given_back_once(state: SharedState) -> None:
    bulkhead = Bulkhead("erp", ONE, state=state)
    held = bulkhead.acquire()
    with pytest.raises(BulkheadFullError):
        bulkhead.acquire(wait=0.05)
    held.release()
    held.release()
    other = bulkhead.acquire()
    held.release()
    assert bulkhead.stats()["in_use"] == 1
    other.release()


# Interrupts


def test_a_slot_that_nobody_can_give_back_any_more_is_free_again(state: SharedState) -> None:
    """As after an interrupt between two steps of the library, whose caller never got what it should give back."""
    bulkhead = Bulkhead("erp", ONE, state=state)
    held = bulkhead.acquire()
    with pytest.raises(BulkheadFullError):
        bulkhead.acquire()
    del held
    assert bulkhead.acquire(wait=20).token


def test_a_slot_whose_giving_back_was_interrupted_is_free_again(
    state: SharedState, monkeypatch: pytest.MonkeyPatch
) -> None:
    bulkhead = Bulkhead("erp", ONE, state=state)
    held = bulkhead.acquire()

    def interrupted(_token: str) -> bool:
        raise SoftTimeLimitExceeded

    with monkeypatch.context() as patched:
        patched.setattr(bulkhead, "_free", interrupted)
        with pytest.raises(SoftTimeLimitExceeded):
            held.release()
    assert bulkhead.acquire(wait=20).token


# Budget


def test_a_budget_shortens_one_call_and_no_other(gate: Gate) -> None:
    bulkhead = Bulkhead("erp", BulkheadConfig(max_concurrent=2, timeout=30))
    with budget.init_budget(1.05), pytest.raises(BulkheadTimeoutError):
        bulkhead.run(gate)
    assert bulkhead.config.timeout == 30
    pause = threading.Event()
    assert bulkhead.run(pause.wait, 0.2) is False


def test_a_call_does_not_begin_without_a_second_left() -> None:
    bulkhead = Bulkhead("erp", ONE)
    called: list[int] = []
    with budget.init_budget(0.9), pytest.raises(BudgetExceededError) as caught:
        bulkhead.run(called.append, 1)
    assert caught.value.during_call is False
    assert called == []
    assert bulkhead.stats()["in_use"] == 0


def test_nobody_waits_for_a_slot_beyond_the_budget(gate: Gate) -> None:
    bulkhead = Bulkhead("erp", BulkheadConfig(max_concurrent=1, acquire_timeout=1000))
    occupied(bulkhead, gate)
    began = monotonic()
    with budget.init_budget(1.05), pytest.raises(BulkheadFullError):
        bulkhead.run(print)
    assert monotonic() - began < 500


# Async


@pytest.mark.anyio
async def test_an_async_call_past_its_limit_is_cancelled_and_frees_its_slot(state: SharedState) -> None:
    bulkhead = Bulkhead("erp", BulkheadConfig(max_concurrent=1, timeout=0.05, acquire_timeout=0), state=state)
    with pytest.raises(BulkheadTimeoutError):
        await bulkhead.run(asyncio.sleep, 60)
    assert bulkhead.stats()["in_use"] == 0


@pytest.mark.anyio
async def test_a_time_limit_of_the_call_itself_is_not_taken_for_the_bulkheads() -> None:
    async def slow() -> None:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(60)

    with pytest.raises(TimeoutError):
        await Bulkhead("erp").run(slow)


@pytest.mark.anyio
async def test_async_waiters_are_served_in_the_order_in_which_they_came(state: SharedState) -> None:
    bulkhead = Bulkhead("erp", BulkheadConfig(max_concurrent=1, acquire_timeout=30), state=state)
    held = await bulkhead.aacquire()
    order: list[int] = []

    async def work(number: int) -> None:
        order.append(number)

    tasks = []
    for number in range(5):
        tasks.append(asyncio.create_task(bulkhead.run(work, number)))
        await until(lambda: bulkhead.stats()["waiting"] == len(tasks))
    await held.arelease()
    await asyncio.gather(*tasks)
    assert order == [0, 1, 2, 3, 4]


@pytest.mark.anyio
async def test_a_cancelled_call_frees_its_slot_and_a_cancelled_waiter_leaves_the_line(
    state: SharedState,
) -> None:
    bulkhead = Bulkhead("erp", BulkheadConfig(max_concurrent=1, acquire_timeout=30), state=state)
    inside = asyncio.Event()

    async def hang() -> None:
        inside.set()
        await asyncio.sleep(60)

    running = asyncio.create_task(bulkhead.run(hang))
    await inside.wait()
    waiting = asyncio.create_task(bulkhead.run(hang))
    await until(lambda: bulkhead.stats()["waiting"] == 1)
    for task in (waiting, running):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await until(lambda: (bulkhead.stats()["waiting"], bulkhead.stats()["in_use"]) == (0, 0))


@pytest.mark.anyio
async def test_a_task_cancelled_at_any_moment_of_taking_a_slot_leaves_none_behind(state: SharedState) -> None:
    bulkhead = Bulkhead("erp", BulkheadConfig(max_concurrent=1, acquire_timeout=30), state=state)
    for wait in range(20):
        task = asyncio.create_task(bulkhead.aacquire())
        await asyncio.sleep(wait / 4000)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await (await task).arelease()
    await until(lambda: bulkhead.stats()["in_use"] == 0)


@pytest.mark.anyio
async def test_threads_and_tasks_share_the_slots() -> None:
    bulkhead = Bulkhead("erp", ONE)
    held = await bulkhead.aacquire()
    with pytest.raises(BulkheadFullError):
        await asyncio.to_thread(bulkhead.run, print)
    await held.arelease()


def test_an_awaitable_from_a_sync_function_is_refused_because_its_slot_would_be_free_too_early() -> None:
    async def work() -> None:
        """Never begun."""

    bulkhead = Bulkhead("erp", ONE)
    with pytest.raises(ConfigurationError, match="hand in the async function itself"):
        bulkhead.run(lambda: work())  # noqa: PLW0108 - the mistake
    assert bulkhead.stats()["in_use"] == 0


# Configuration


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"max_concurrent": -1}, "max_concurrent must be a whole number of at least 0, not -1."),
        ({"timeout": 0}, "timeout must be a number above 0, not 0."),
        ({"timeout": float("inf")}, "timeout must be a number above 0, not inf."),
        ({"timeout": 10**400}, "timeout must be a number above 0, not a number of so many digits."),
        ({"acquire_timeout": -0.1}, "acquire_timeout must be a number of at least 0, not -0.1."),
        ({"lease": 0.5}, "lease must be a number of at least 1, not 0.5."),
        ({"local_max_concurrent": -1}, "local_max_concurrent must be a whole number of at least 0, not -1."),
    ],
)
def test_a_configuration_that_cannot_work_is_refused_in_one_sentence(
    values: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        BulkheadConfig(**values)
    assert str(caught.value) == sentence


def test_a_registry_gives_one_bulkhead_for_each_name_and_no_caller_changes_it_for_the_others() -> None:
    registry = BulkheadRegistry({"payment": ONE})
    assert registry.get("payment") is registry.get("payment", ONE)
    with pytest.raises(ConfigurationError, match="configured already"):
        registry.get("payment", BulkheadConfig(max_concurrent=2))
    assert registry.stats()["payment"]["max"] == 1


def test_making_a_bulkhead_writes_nothing(state: SharedState) -> None:
    Bulkhead("erp", state=state).stats()
    assert state.read(BULKHEADS, "erp").record is None
