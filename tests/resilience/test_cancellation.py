"""What becomes of what a task holds when the task is cancelled while it gives it back?

`Task.cancel` and `asyncio.timeout` reach a task inside a shielded scope, too; many tasks at once make some of them
wait for a thread at that moment.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dlq_console.resilience.breaker import CircuitBreaker, CircuitBreakerConfig
from dlq_console.resilience.bulkhead import Bulkhead, BulkheadConfig
from dlq_console.resilience.calls import to_the_end
from dlq_console.resilience.idempotency import IdempotentCalls
from dlq_console.resilience.idempotency.rules import Status
from dlq_console.resilience.orphans import WorkRegister
from dlq_console.resilience.state import SharedState
from tests.resilience.states import until
from tests.resilience.test_link import SlowState

pytestmark = pytest.mark.anyio

#: More than threads that wait for a state.
MANY = 24
#: Seconds after the end of a call at which its task is cancelled.
MOMENTS = (0.0, 0.001, 0.003, 0.01)


class Crowd:
    """Many calls that are under way at the same time and end together."""

    def __init__(self) -> None:
        self.inside = 0
        self._end = asyncio.Event()

    async def __call__(self) -> int:
        """One of the calls."""
        self.inside += 1
        await self._end.wait()
        return self.inside

    async def cancelled_at_its_end(self, call: Callable[[int], Awaitable[Any]], moment: float) -> None:
        """Begin all calls, let them end, and cancel their tasks so many seconds later."""

        async def one(number: int) -> None:
            await call(number)

        tasks = [asyncio.create_task(one(number)) for number in range(MANY)]
        await until(lambda: self.inside == MANY)
        self._end.set()
        await asyncio.sleep(0)
        await asyncio.sleep(moment)
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task


@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_task_cancelled_while_it_gives_its_slot_back_gives_it_back(
    state: SharedState, moment: float
) -> None:
    bulkhead = Bulkhead("erp", BulkheadConfig(max_concurrent=MANY, acquire_timeout=30), state=state)
    crowd = Crowd()
    await crowd.cancelled_at_its_end(lambda _: bulkhead.run(crowd), moment)
    assert bulkhead.stats()["in_use"] == 0


@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_probe_cancelled_while_it_tells_its_result_holds_no_permit(
    state: SharedState, moment: float
) -> None:
    config = CircuitBreakerConfig(
        failure_threshold=1, recovery_timeout=0, half_open_max_calls=MANY, success_threshold=1000
    )
    breaker = CircuitBreaker("erp", config, state=state)
    with contextlib.suppress(ZeroDivisionError):
        await asyncio.to_thread(breaker.call, lambda: 1 / 0)
    crowd = Crowd()
    await crowd.cancelled_at_its_end(lambda _: breaker.call(crowd), moment)
    assert (breaker.stats()["state"], breaker.stats()["probes"]) == ("half_open", 0)


@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_call_cancelled_while_its_result_is_kept_is_done(state: SharedState, moment: float) -> None:
    calls = IdempotentCalls("book", state)
    crowd = Crowd()
    await crowd.cancelled_at_its_end(lambda number: calls.arun(f"k{number}", "f", crowd), moment)
    claims = [calls.look(f"k{number}") for number in range(MANY)]
    assert {claim and claim.status for claim in claims} == {Status.DONE}


@pytest.mark.parametrize("moment", MOMENTS)
async def test_work_cancelled_while_it_ends_is_not_under_way_any_more(
    state: SharedState, moment: float
) -> None:
    work = WorkRegister(state, "threads")
    crowd = Crowd()

    async def one(number: int) -> None:
        async with work.ahold(f"thread-{number}"):
            await crowd()

    await crowd.cancelled_at_its_end(one, moment)
    for number in range(MANY):
        with work.hold(f"thread-{number}"):
            pass


async def test_who_is_cancelled_again_and_again_is_told_when_the_work_is_over() -> None:
    state, made = SlowState(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def work() -> None:
        asyncio.run_coroutine_threadsafe(cancelled_often(), loop).result(20)
        loop.call_soon_threadsafe(made.set)

    async def cancelled_often() -> None:
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0.001)

    task = asyncio.create_task(to_the_end(state, work))
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0)
    assert made.is_set()


async def test_a_time_limit_around_the_giving_back_is_told_as_such() -> None:
    limit: list[asyncio.Timeout] = []
    loop = asyncio.get_running_loop()

    async def run_out() -> None:
        limit[0].reschedule(loop.time())
        await until(limit[0].expired)

    async def limited() -> None:
        async with asyncio.timeout(20) as timeout:
            limit.append(timeout)
            await to_the_end(
                SlowState(), lambda: asyncio.run_coroutine_threadsafe(run_out(), loop).result(20)
            )

    with pytest.raises(TimeoutError):
        await limited()
