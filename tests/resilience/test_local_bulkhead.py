"""Does the bulkhead of one event loop let in as many as it should, in their order, and give every slot back?"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import anyio
import pytest

from dlq_console.errors import ConfigurationError
from dlq_console.resilience import (
    BudgetExceededError,
    BulkheadConfig,
    BulkheadFullError,
    BulkheadTimeoutError,
    CircuitBreaker,
    CircuitBreakerConfig,
    LocalBulkhead,
    MemoryState,
    init_budget,
)
from dlq_console.resilience.guard import guard
from tests.resilience.states import until

pytestmark = pytest.mark.anyio

PATIENT = BulkheadConfig(max_concurrent=2, timeout=None, acquire_timeout=60)


class Room:
    """Calls that go on until they are let go, and the order in which they began."""

    def __init__(self) -> None:
        self.began: list[Any] = []
        self.inside = 0
        self.most = 0
        self.go = anyio.Event()

    async def call(self, number: Any = None) -> Any:
        self.began.append(number)
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await self.go.wait()
        finally:
            self.inside -= 1
        return number


async def test_no_more_are_inside_than_there_are_slots_and_all_come_in_in_their_order() -> None:
    bulkhead, room = LocalBulkhead("search", PATIENT), Room()
    async with asyncio.TaskGroup() as tasks:
        for number in range(20):
            tasks.create_task(bulkhead.run(room.call, number))
            await asyncio.sleep(0)
        await until(lambda: bulkhead.stats()["waiting"] == 18)
        assert (bulkhead.stats()["in_use"], bulkhead.stats()["available"]) == (2, 0)
        assert bulkhead.stats()["oldest"]["seconds"] >= 0
        room.go.set()
    assert room.most == 2
    assert room.began == list(range(20))
    assert (bulkhead.stats()["in_use"], bulkhead.stats()["oldest"], bulkhead.stats()["calls"]) == (
        0,
        None,
        20,
    )


async def test_who_finds_no_slot_in_time_is_refused_and_was_not_called() -> None:
    bulkhead, room = LocalBulkhead("search", BulkheadConfig(max_concurrent=1, acquire_timeout=0.01)), Room()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(bulkhead.run(room.call, "first"))
        await until(lambda: bulkhead.stats()["in_use"] == 1)
        with pytest.raises(BulkheadFullError) as refused:
            await bulkhead.run(room.call, "second")
        assert (refused.value.name, room.began) == ("search", ["first"])
        room.go.set()
    assert bulkhead.stats()["rejected"] == 1


async def test_a_bulkhead_of_no_slots_refuses_at_once() -> None:
    bulkhead = LocalBulkhead("search", BulkheadConfig(max_concurrent=0, acquire_timeout=60))
    with pytest.raises(BulkheadFullError):
        await bulkhead.run(Room().call)
    bulkhead.resize(1)
    assert await bulkhead.run(_answer) == "answer"


async def _answer() -> str:
    return "answer"


async def test_a_call_past_its_limit_is_cancelled_and_its_slot_is_free() -> None:
    bulkhead, room = LocalBulkhead("search", BulkheadConfig(max_concurrent=1, timeout=0.01)), Room()
    with pytest.raises(BulkheadTimeoutError, match=r"longer than its limit of 0\.01 s"):
        await bulkhead.run(room.call)
    assert (room.inside, bulkhead.stats()["in_use"], bulkhead.stats()["timeouts"]) == (0, 0, 1)


async def test_a_sync_function_past_its_limit_frees_its_caller_and_keeps_its_slot_until_it_ends() -> None:
    bulkhead = LocalBulkhead("search", BulkheadConfig(max_concurrent=1, timeout=0.05, acquire_timeout=0))
    go = threading.Event()
    with pytest.raises(BulkheadTimeoutError):
        await bulkhead.run(go.wait, 60)
    assert bulkhead.stats()["in_use"] == 1
    with pytest.raises(BulkheadFullError):
        await bulkhead.run(_answer)
    go.set()
    await until(lambda: bulkhead.stats()["in_use"] == 0)
    assert await bulkhead.run(_answer) == "answer"


def _raise() -> None:
    raise SystemExit(3)


@pytest.mark.parametrize(("call", "error"), [(_raise, SystemExit), (lambda: 1 / 0, ZeroDivisionError)])
async def test_a_slot_is_free_however_its_call_ends(
    call: Callable[[], Any], error: type[BaseException]
) -> None:
    bulkhead = LocalBulkhead("search", PATIENT)
    with pytest.raises(error):
        await bulkhead.run(call)
    assert bulkhead.stats()["in_use"] == 0


async def test_a_cancelled_call_and_a_cancelled_wait_hold_nothing() -> None:
    bulkhead, room = LocalBulkhead("search", BulkheadConfig(max_concurrent=1, acquire_timeout=60)), Room()
    inside = asyncio.create_task(bulkhead.run(room.call))
    await until(lambda: bulkhead.stats()["in_use"] == 1)
    waiting = asyncio.create_task(bulkhead.run(room.call))
    await until(lambda: bulkhead.stats()["waiting"] == 1)
    for task in (waiting, inside):
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    assert (bulkhead.stats()["in_use"], bulkhead.stats()["waiting"]) == (0, 0)
    assert await bulkhead.run(_answer) == "answer"


async def test_more_slots_wake_whoever_waits_and_fewer_take_none_away() -> None:
    bulkhead, room = LocalBulkhead("search", PATIENT), Room()
    async with asyncio.TaskGroup() as tasks:
        for number in range(4):
            tasks.create_task(bulkhead.run(room.call, number))
        await until(lambda: bulkhead.stats()["waiting"] == 2)
        bulkhead.resize(3)
        await until(lambda: room.inside == 3)
        bulkhead.resize(1)
        assert (bulkhead.stats()["in_use"], bulkhead.stats()["available"]) == (3, 0)
        room.go.set()
    assert room.most == 3


async def test_no_call_begins_with_too_little_of_the_budget_and_none_outlives_it() -> None:
    bulkhead, room = LocalBulkhead("search", BulkheadConfig(max_concurrent=1)), Room()
    with init_budget(0.5), pytest.raises(BudgetExceededError):
        await bulkhead.run(room.call)
    assert (room.began, bulkhead.stats()["in_use"]) == ([], 0)
    with init_budget(1.5), pytest.raises(BulkheadTimeoutError):
        await bulkhead.run(room.call)


async def test_a_guard_takes_it_for_async_functions_only() -> None:
    bulkhead = LocalBulkhead("search", BulkheadConfig(max_concurrent=1, timeout=0.01))
    breaker = CircuitBreaker("search", CircuitBreakerConfig(failure_threshold=1))
    guarded = guard("search", bulkhead=bulkhead, breaker=breaker, state=MemoryState())
    with pytest.raises(ConfigurationError, match="LocalBulkhead, which is for async functions"):
        guarded.call(int)
    with pytest.raises(BulkheadTimeoutError):
        await guarded.call(Room().call)
    assert str(breaker.state) == "open"


async def test_an_awaitable_from_a_sync_function_is_refused() -> None:
    def answer() -> Any:
        return _answer()

    bulkhead = LocalBulkhead("search", PATIENT)
    with pytest.raises(ConfigurationError, match="hand in the async function itself"):
        await bulkhead.run(answer)
    assert bulkhead.stats()["in_use"] == 0
