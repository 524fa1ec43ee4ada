"""What happens when more work comes than can be done, and to work that has lost its process?"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from dlq_console.errors import ConfigurationError, PayloadRefused, StoreUnavailable
from dlq_console.resilience import orphans, queue_rules
from dlq_console.resilience.backpressure import QueueGuard
from dlq_console.resilience.errors import StillRunningError
from dlq_console.resilience.orphans import WORK, OrphanScanner, WorkRegister
from dlq_console.resilience.queue_rules import QUEUES
from dlq_console.resilience.recovery import RecoveryConsumer
from dlq_console.resilience.redis_state import RedisState
from dlq_console.resilience.retry import RetryConfig
from dlq_console.resilience.state import MemoryState, SharedState
from tests.resilience.conftest import OpenState
from tests.resilience.crowd import in_threads
from tests.resilience.states import FrozenClock, until
from tests.services.process import StartChild, wait_until
from tests.services.redis import RedisServer

AT_ONCE = RetryConfig(max_attempts=3, base_delay=0)


@pytest.fixture
def memory(clock: FrozenClock) -> MemoryState:
    return MemoryState(clock)


@pytest.fixture
def letters() -> list[Any]:
    """The dead letters of this test."""
    return []


@pytest.fixture
def queue(state: SharedState, letters: list[Any]) -> QueueGuard:
    return QueueGuard(state, "recovery", max_size=3, on_full=letters.append)


# The queue


def test_a_full_queue_makes_a_dead_letter_of_the_newest_and_says_so(
    queue: QueueGuard, letters: list[Any]
) -> None:
    assert [queue.safe_enqueue({"thread": number}) for number in range(5)] == [True, True, True, False, False]
    assert letters == [{"thread": 3}, {"thread": 4}]
    stats = queue.stats()
    assert (stats["size"], stats["max"], stats["refused"]) == (3, 3, 2)


def test_the_same_item_is_in_the_queue_once(queue: QueueGuard, letters: list[Any]) -> None:
    assert all(queue.safe_enqueue({"a": 1, "b": 2.0}) for _ in range(3))
    assert queue.safe_enqueue({"b": 2, "a": 1})
    assert (queue.stats()["size"], letters) == (1, [])


def test_many_producers_fill_the_queue_exactly(state: SharedState) -> None:
    letters: list[Any] = []
    numbers = iter(range(10**6))
    lock = threading.Lock()
    queue = QueueGuard(state, "recovery", max_size=20, on_full=letters.append)

    def produce() -> int:
        accepted = 0
        for _ in range(10):
            with lock:
                number = next(numbers)
            accepted += queue.safe_enqueue(number)
        return accepted

    assert sum(in_threads(6, produce)) == 20
    assert (queue.stats()["size"], len(letters)) == (20, 40)


def test_fifty_producers_of_five_thousand_items_fill_a_hundred_places(memory: MemoryState) -> None:
    letters: list[Any] = []
    queue = QueueGuard(memory, "recovery", on_full=letters.append)
    numbers = iter(range(5_000))
    accepted = in_threads(50, lambda: sum(queue.safe_enqueue(next(numbers)) for _ in range(100)))
    assert (sum(accepted), queue.stats()["size"], len(letters)) == (100, 100, 4_900)


def test_when_no_dead_letter_can_be_made_the_caller_is_told(memory: MemoryState) -> None:
    def on_full(_item: Any) -> None:
        raise StoreUnavailable

    queue = QueueGuard(memory, "recovery", max_size=1, on_full=on_full)
    assert queue.safe_enqueue(1)
    with pytest.raises(StoreUnavailable):
        queue.safe_enqueue(2)


def test_from_seventy_percent_on_there_is_a_warning(
    memory: MemoryState, caplog: pytest.LogCaptureFixture
) -> None:
    queue = QueueGuard(memory, "recovery", max_size=10, on_full=print)
    for number in range(6):
        queue.safe_enqueue(number)
    assert caplog.records == []
    for number in range(6, 10):
        queue.safe_enqueue(number)
    assert [record.getMessage() for record in caplog.records] == [
        "queue recovery holds 7 of at most 10 items"
    ]


def test_while_the_state_is_away_new_items_become_dead_letters(
    redis_server: RedisServer, redis_url: str, letters: list[Any]
) -> None:
    state = RedisState(redis_url, timeout=0.3)
    queue = QueueGuard(state, "recovery", on_full=letters.append)
    with redis_server.stopped():
        assert queue.safe_enqueue(1) is False
    assert letters == [1]
    state.close()


@pytest.mark.anyio
async def test_async_code_may_make_its_dead_letters_async(memory: MemoryState, letters: list[Any]) -> None:
    async def on_full(item: Any) -> None:
        await asyncio.sleep(0)
        letters.append(item)

    queue = QueueGuard(memory, "recovery", max_size=1, on_full=on_full)
    assert [await queue.asafe_enqueue(number) for number in range(2)] == [True, False]
    assert letters == [1]


async def async_letter(*_item: Any) -> None:
    raise AssertionError("nobody awaits it")


def hidden_async(*item: Any) -> Any:
    return async_letter(*item)


@pytest.mark.parametrize("on_full", [async_letter, hidden_async])
def test_a_sync_caller_is_never_told_of_a_dead_letter_that_nobody_awaited(
    memory: MemoryState, on_full: Any
) -> None:
    filled(memory, 1)
    queue = QueueGuard(memory, "recovery", max_size=1, on_full=on_full)
    with pytest.raises(ConfigurationError, match="async"):
        queue.safe_enqueue(2)
    assert (queue.stats()["size"], queue.stats()["refused"]) == (1, 0)


def test_contents_are_refused_where_references_belong(memory: MemoryState) -> None:
    queue = QueueGuard(memory, "recovery", on_full=print)
    with pytest.raises(PayloadRefused, match="queue a reference instead"):
        queue.safe_enqueue("x" * 5000)
    with pytest.raises(PayloadRefused, match="no stable spelling"):
        queue.safe_enqueue(object())


@pytest.mark.parametrize("values", [{"max_size": 0}, {"warn_at": 0}, {"warn_at": 1.1}, {"max_size": 1.5}])
def test_a_queue_that_cannot_work_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        QueueGuard(MemoryState(), "recovery", on_full=print, **values)


def test_a_damaged_queue_is_not_taken_for_an_empty_one(redis_server: RedisServer, redis_url: str) -> None:
    state = RedisState(redis_url, timeout=5)
    with redis_server.client() as client:
        client.set("dlq:{queue}:recovery", "damaged")
    with pytest.raises(ValueError, match=r"damaged|Expecting"):
        QueueGuard(state, "recovery", on_full=print).safe_enqueue(1)
    state.close()


# The consumer


def filled(state: SharedState, *items: Any) -> QueueGuard:
    queue = QueueGuard(state, "recovery", on_full=print)
    for item in items:
        assert queue.safe_enqueue(item)
    return queue


def test_every_item_is_done_once(state: SharedState) -> None:
    queue = filled(state, *range(7))
    done: list[int] = []
    assert RecoveryConsumer(state, "recovery", done.append).run_once() == 7
    assert sorted(done) == list(range(7))
    assert queue.stats()["size"] == 0
    assert RecoveryConsumer(state, "recovery", done.append).run_once() == 0


def test_no_more_than_three_are_under_way_in_all_consumers_together(state: SharedState) -> None:
    filled(state, *range(9))
    now, most = Counter[str](), Counter[str]()
    lock = threading.Lock()
    pause = threading.Event()

    def handle(_item: int) -> None:
        with lock:
            now["inside"] += 1
            most["inside"] = max(most["inside"], now["inside"])
        pause.wait(0.02)
        with lock:
            now["inside"] -= 1

    consumers = [RecoveryConsumer(state, "recovery", handle) for _ in range(3)]
    turns = iter(consumers)
    in_threads(3, lambda: next(turns).run_once())
    wait_until(lambda: sum(consumer.run_once() for consumer in consumers) == 0, 20, "the rest")
    assert most["inside"] == 3


def test_an_item_that_fails_is_tried_again_and_parked_in_the_end(
    memory: MemoryState, clock: FrozenClock
) -> None:
    queue = filled(memory, "thread-1")
    attempts: list[str] = []

    def handle(item: str) -> None:
        attempts.append(item)
        raise TimeoutError

    retry = RetryConfig(max_attempts=3, base_delay=10, jitter="none")
    consumer = RecoveryConsumer(memory, "recovery", handle, retry=retry)
    for expected in (1, 1, 2):
        assert consumer.run_once() == 0
        assert len(attempts) == expected
        clock.advance(9.9)
    clock.advance(60)
    consumer.run_once()
    clock.advance(3600)
    consumer.run_once()
    assert len(attempts) == 3
    assert (queue.stats()["parked"], queue.stats()["size"]) == (1, 1)


def test_a_clock_that_was_set_back_does_not_hold_up_an_item(memory: MemoryState, clock: FrozenClock) -> None:
    filled(memory, 1)
    retry = RetryConfig(max_attempts=3, base_delay=10, jitter="none")
    RecoveryConsumer(memory, "recovery", lambda _item: 1 / 0, retry=retry).run_once()
    clock.advance(-86_400)
    assert RecoveryConsumer(memory, "recovery", lambda _item: None).run_once() == 1


def test_an_item_that_has_failed_too_often_becomes_a_dead_letter_before_it_leaves(
    memory: MemoryState, letters: list[Any]
) -> None:
    queue = filled(memory, {"thread": 1})
    seen: list[int] = []
    attempts: list[Any] = []

    def handle(item: Any) -> None:
        attempts.append(item)
        raise ConnectionError

    def on_dead(item: Any, error: str) -> None:
        seen.append(queue.stats()["size"])
        letters.append((item, error))

    RecoveryConsumer(memory, "recovery", handle, retry=AT_ONCE, on_dead=on_dead).run_once()
    assert letters == [({"thread": 1}, "ConnectionError")]
    assert len(attempts) == AT_ONCE.max_attempts
    assert (seen, queue.stats()["size"]) == ([1], 0)


def test_an_item_whose_dead_letter_cannot_be_made_stays_parked(memory: MemoryState) -> None:
    queue = filled(memory, 1)

    def handle(_item: Any) -> None:
        raise ConnectionError

    def on_dead(_item: Any, _error: str) -> None:
        raise StoreUnavailable

    RecoveryConsumer(memory, "recovery", handle, retry=AT_ONCE, on_dead=on_dead).run_once()
    assert queue.stats()["parked"] == 1


def test_an_async_dead_letter_is_refused_where_the_handler_is_sync(memory: MemoryState) -> None:
    with pytest.raises(ConfigurationError, match="on_dead"):
        RecoveryConsumer(memory, "recovery", always_fails, on_dead=async_letter)


def test_an_item_whose_dead_letter_nobody_awaited_stays_parked(
    memory: MemoryState, caplog: pytest.LogCaptureFixture
) -> None:
    queue = filled(memory, 1)
    consumer = RecoveryConsumer(memory, "recovery", always_fails, retry=AT_ONCE, on_dead=hidden_async)
    assert consumer.run_once() == 0
    assert (queue.stats()["parked"], queue.stats()["size"]) == (1, 1)
    assert "it stays parked" in caplog.text


def test_a_handler_whose_work_nobody_awaited_has_not_done_its_item(memory: MemoryState) -> None:
    queue = filled(memory, 1)
    consumer = RecoveryConsumer(memory, "recovery", hidden_async, retry=AT_ONCE)
    assert consumer.run_once() == 0
    assert [item.error for item in consumer.parked()] == ["ConfigurationError"]
    assert queue.stats()["size"] == 1


async def fails_async(_item: Any) -> None:
    await asyncio.sleep(0)
    raise ConnectionError


@pytest.mark.anyio
async def test_an_async_dead_letter_is_made_before_its_item_leaves(
    state: SharedState, letters: list[Any]
) -> None:
    queue = filled(state, {"thread": 1})

    async def on_dead(item: Any, error: str) -> None:
        await asyncio.sleep(0.01)
        letters.append((item, error, queue.stats()["size"]))

    consumer = RecoveryConsumer(state, "recovery", fails_async, retry=AT_ONCE, on_dead=on_dead)
    assert await consumer.arun_once() == 0
    assert letters == [({"thread": 1}, "ConnectionError", 1)]
    assert queue.stats()["size"] == 0


def test_an_async_dead_letter_is_awaited_for_sync_code_too(memory: MemoryState, letters: list[Any]) -> None:
    queue = filled(memory, 1)

    async def on_dead(item: Any, _error: str) -> None:
        await asyncio.sleep(0)
        letters.append(item)

    RecoveryConsumer(memory, "recovery", fails_async, retry=AT_ONCE, on_dead=on_dead).run_once()
    assert (letters, queue.stats()["size"]) == ([1], 0)


@pytest.mark.anyio
@pytest.mark.parametrize("failure", [StoreUnavailable, SystemExit, asyncio.CancelledError])
async def test_an_item_whose_async_dead_letter_cannot_be_made_stays_parked(
    memory: MemoryState, failure: type[BaseException]
) -> None:
    queue = filled(memory, 1)

    async def on_dead(_item: Any, _error: str) -> None:
        raise failure

    await RecoveryConsumer(memory, "recovery", fails_async, retry=AT_ONCE, on_dead=on_dead).arun_once()
    assert queue.stats()["parked"] == 1


def test_work_that_is_under_way_elsewhere_is_looked_at_later_and_costs_no_attempt(
    memory: MemoryState, clock: FrozenClock
) -> None:
    queue = filled(memory, 1)
    elsewhere = [True] * 10
    done: list[int] = []

    def handle(item: int) -> None:
        if elsewhere:
            elsewhere.pop()
            raise StillRunningError(retry_after=7)
        done.append(item)

    consumer = RecoveryConsumer(memory, "recovery", handle, retry=AT_ONCE)
    for _ in range(10):
        assert consumer.run_once() == 0
        assert consumer.run_once() == 0
        clock.advance(7)
    assert consumer.run_once() == 1
    assert (done, queue.stats()["size"]) == ([1], 0)


@pytest.mark.anyio
async def test_an_async_item_past_its_limit_is_cancelled_and_tried_again(memory: MemoryState) -> None:
    queue = filled(memory, 1, 2)
    ended: list[Any] = []

    async def handle(item: int) -> None:
        try:
            await asyncio.sleep(0 if item == 2 else 60)
        finally:
            ended.append(item)

    consumer = RecoveryConsumer(memory, "recovery", handle, timeout=0.05)
    assert await consumer.arun_once() == 1
    assert sorted(ended) == [1, 2]
    assert queue.stats()["size"] == 1


def test_async_items_can_be_done_from_sync_code(memory: MemoryState) -> None:
    filled(memory, 1, 2)
    done: list[int] = []

    async def handle(item: int) -> None:
        await asyncio.sleep(0)
        done.append(item)

    assert RecoveryConsumer(memory, "recovery", handle).run_once() == 2
    assert sorted(done) == [1, 2]


def test_a_sync_item_past_its_limit_stays_taken_until_it_really_ends(memory: MemoryState) -> None:
    queue = filled(memory, 1)
    leave = threading.Event()
    consumer = RecoveryConsumer(memory, "recovery", lambda _item: leave.wait(20), timeout=0.05)
    assert consumer.run_once() == 0
    assert queue.stats()["running"] == 1
    assert consumer.run_once() == 0
    leave.set()
    wait_until(lambda: queue.stats()["size"] == 0, 10, "the item to end")


def test_an_item_of_a_killed_process_is_taken_up_by_another(
    open_redis: OpenState, start_child: StartChild
) -> None:
    state = open_redis()
    filled(state, "thread-1")
    code = (
        "import sys, time\n"
        "from dlq_console.resilience.recovery import RecoveryConsumer\n"
        "from tests.resilience.crowd import open_by_address\n"
        "def handle(item):\n    print('inside', item, flush=True)\n    time.sleep(60)\n"
        "RecoveryConsumer(open_by_address(sys.argv[1]), 'recovery', handle, lease=1).run_once()\n"
    )
    child = start_child([sys.executable, "-c", code, open_redis.address])
    child.wait_for_line("inside thread-1")
    done: list[str] = []
    consumer = RecoveryConsumer(state, "recovery", done.append)
    assert consumer.run_once() == 0
    child.kill()
    wait_until(consumer.run_once, 20, "the lease to be over")
    assert done == ["thread-1"]


def test_an_item_that_kills_its_processes_is_not_begun_for_ever(
    memory: MemoryState, clock: FrozenClock
) -> None:
    queue = filled(memory, 1)
    for number in range(AT_ONCE.max_attempts):
        taken = memory.change(
            QUEUES,
            "recovery",
            lambda record, now, number=number: queue_rules.take(  # type: ignore[misc]  # a change with its own number
                record, now, token=f"t{number}", owner="h:1", lease=30, max_concurrent=3
            ),
        )
        assert taken is not None
        clock.advance(31)
    done: list[int] = []
    RecoveryConsumer(memory, "recovery", done.append, retry=AT_ONCE).run_once()
    assert (done, queue.stats()["parked"]) == ([], 1)


def always_fails(_item: Any) -> None:
    raise ZeroDivisionError


def test_a_person_sees_parked_items_and_resumes_or_discards_them(state: SharedState) -> None:
    queue = filled(state, {"thread": 1}, {"thread": 2})
    consumer = RecoveryConsumer(state, "recovery", always_fails, retry=AT_ONCE)
    consumer.run_once()
    first, second = sorted(consumer.parked(), key=lambda item: item.value)
    assert (first.queue, first.value, first.error) == ("recovery", '{"thread":1}', "ZeroDivisionError")
    assert first.attempts == AT_ONCE.max_attempts
    assert RecoveryConsumer(state, "other", always_fails).parked() == []

    assert consumer.resume(first.id)
    assert not consumer.resume(first.id)
    assert not consumer.discard(first.id)
    assert consumer.discard(second.id)
    assert not consumer.resume(second.id)
    assert (consumer.parked(), queue.stats()["size"]) == ([], 1)
    done: list[Any] = []
    assert RecoveryConsumer(state, "recovery", done.append).run_once() == 1
    assert done == [{"thread": 1}]


def test_a_resumed_item_has_all_of_its_attempts(memory: MemoryState) -> None:
    filled(memory, 1)
    attempts: list[int] = []

    def handle(item: int) -> None:
        attempts.append(item)
        raise ZeroDivisionError

    consumer = RecoveryConsumer(memory, "recovery", handle, retry=AT_ONCE)
    consumer.run_once()
    assert consumer.resume(consumer.parked()[0].id)
    consumer.run_once()
    assert len(attempts) == 2 * AT_ONCE.max_attempts


def test_a_discarded_item_is_not_brought_back_by_a_scan_that_began_before(
    memory: MemoryState, clock: FrozenClock
) -> None:
    filled(memory, "a")
    consumer = RecoveryConsumer(memory, "recovery", always_fails, retry=AT_ONCE)
    consumer.run_once()

    def slow_find() -> list[str]:
        clock.advance(1)
        assert consumer.discard(consumer.parked()[0].id)
        return ["a"]

    assert OrphanScanner(memory, "recovery", slow_find).scan() == 0


def test_a_consumer_goes_on_when_the_state_was_away(redis_server: RedisServer, redis_url: str) -> None:
    state = RedisState(redis_url, timeout=0.3)
    done, stop = list[int](), threading.Event()
    with redis_server.stopped():
        consumer = RecoveryConsumer(state, "recovery", done.append)
        thread = threading.Thread(target=consumer.run_forever, args=(stop,))
        thread.start()
        with pytest.raises(StoreUnavailable):
            consumer.run_once()
    filled(state, 1)
    wait_until(lambda: done == [1], 20, "the item")
    stop.set()
    thread.join()
    state.close()


@pytest.mark.anyio
async def test_an_async_consumer_runs_until_it_is_cancelled(memory: MemoryState) -> None:
    filled(memory, 1)
    done: list[int] = []

    async def handle(item: int) -> None:
        done.append(item)

    task = asyncio.create_task(RecoveryConsumer(memory, "recovery", handle).arun_forever())
    await until(lambda: done == [1])
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def stopped(consumer: RecoveryConsumer, is_inside: Callable[[], bool]) -> None:
    """Run a consumer until an item of it is under way, then stop it."""
    task = asyncio.create_task(consumer.arun_forever())
    await until(is_inside)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.anyio
@pytest.mark.parametrize("what_it_makes_of_it", [None, RuntimeError])
async def test_stopping_a_consumer_spends_no_attempt(
    state: SharedState, letters: list[Any], what_it_makes_of_it: type[Exception] | None
) -> None:
    queue = filled(state, "long")
    begun: list[str] = []

    async def handle(item: str) -> None:
        begun.append(item)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            if what_it_makes_of_it is None:
                raise
            raise what_it_makes_of_it from None

    for number in range(1, AT_ONCE.max_attempts + 3):
        consumer = RecoveryConsumer(
            state, "recovery", handle, retry=AT_ONCE, on_dead=lambda *item: letters.append(item)
        )
        await stopped(consumer, lambda number=number: len(begun) == number)  # type: ignore[misc]  # with its own number
        assert (queue.stats()["running"], queue.stats()["size"]) == (0, 1)
    assert letters == []
    done: list[str] = []
    assert RecoveryConsumer(state, "recovery", done.append, retry=AT_ONCE).run_once() == 1
    assert done == ["long"]


@pytest.mark.anyio
async def test_a_consumer_that_is_stopped_while_a_dead_letter_is_made_gives_its_item_back(
    memory: MemoryState,
) -> None:
    queue = filled(memory, 1)
    inside: list[Any] = []

    async def on_dead(item: Any, _error: str) -> None:
        inside.append(item)
        await asyncio.sleep(60)

    once = RetryConfig(max_attempts=1)
    await stopped(
        RecoveryConsumer(memory, "recovery", fails_async, retry=once, on_dead=on_dead), lambda: inside == [1]
    )
    assert (queue.stats()["running"], queue.stats()["parked"], queue.stats()["size"]) == (0, 0, 1)


@pytest.mark.anyio
@pytest.mark.parametrize("error", [SystemExit, asyncio.CancelledError])
async def test_an_async_handler_that_wants_to_end_its_process_has_failed(
    memory: MemoryState, error: type[BaseException]
) -> None:
    filled(memory, 1, 2)
    done: list[int] = []

    async def handle(item: int) -> None:
        if item == 1:
            raise error
        done.append(item)

    consumer = RecoveryConsumer(memory, "recovery", handle, retry=AT_ONCE)
    assert await consumer.arun_once() == 1
    assert done == [2]
    assert [(item.attempts, item.error) for item in consumer.parked()] == [(3, error.__name__)]


def test_a_sync_handler_that_wants_to_end_its_process_has_failed(memory: MemoryState) -> None:
    filled(memory, 1)
    consumer = RecoveryConsumer(memory, "recovery", lambda _item: sys.exit(3), retry=AT_ONCE)
    assert consumer.run_once() == 0
    assert [(item.attempts, item.error) for item in consumer.parked()] == [(3, "SystemExit")]


# Orphans


def test_after_the_clock_was_set_back_the_item_of_a_dead_process_is_taken_up_when_its_lease_is_over(
    memory: MemoryState, clock: FrozenClock
) -> None:
    filled(memory, 1)
    take = partial(queue_rules.take, token="dead", owner="h:1", lease=30, max_concurrent=3)
    assert memory.change(QUEUES, "recovery", take) is not None
    clock.advance(-3600)
    consumer = RecoveryConsumer(memory, "recovery", lambda _item: None)
    assert consumer.run_once() == 0
    clock.advance(31)
    assert consumer.run_once() == 1


def test_after_the_clock_was_set_back_the_next_scan_finds_again_what_was_done_before(
    memory: MemoryState, clock: FrozenClock
) -> None:
    filled(memory, "a")
    RecoveryConsumer(memory, "recovery", lambda _item: None).run_once()
    clock.advance(-3600)
    scanner = OrphanScanner(memory, "recovery", lambda: ["a"])
    assert scanner.scan() == 0
    clock.advance(1)
    assert scanner.scan() == 1


def test_after_the_clock_was_set_back_dead_work_is_an_orphan_when_its_lease_is_over(
    memory: MemoryState, clock: FrozenClock
) -> None:
    begun = partial(orphans._begun, id_="thread-1", token="dead", lease=30)
    memory.change(WORK, "threads", begun)
    clock.advance(-3600)
    work = WorkRegister(memory, "threads")
    assert work.orphans() == []
    clock.advance(31)
    assert work.orphans() == ["thread-1"]


def test_after_the_clock_was_set_back_dead_work_may_be_begun_when_its_lease_is_over(
    memory: MemoryState, clock: FrozenClock
) -> None:
    begun = partial(orphans._begun, id_="thread-1", token="dead", lease=30)
    memory.change(WORK, "threads", begun)
    clock.advance(-3600)
    work = WorkRegister(memory, "threads")
    with pytest.raises(StillRunningError) as caught, work.hold("thread-1"):
        pass
    assert caught.value.retry_after == 30
    clock.advance(31)
    with work.hold("thread-1"):
        pass


def test_orphans_are_found_and_queued_once_by_any_number_of_scanners(state: SharedState) -> None:
    scanners = [OrphanScanner(state, "recovery", lambda: ["a", "b", "c"]) for _ in range(4)]
    turns = iter(scanners)
    assert sum(in_threads(4, lambda: next(turns).scan())) == 3
    assert scanners[0].scan() == 0
    done: list[str] = []
    RecoveryConsumer(state, "recovery", done.append).run_once()
    assert sorted(done) == ["a", "b", "c"]


def test_what_was_done_while_a_scanner_searched_is_not_brought_back(
    memory: MemoryState, clock: FrozenClock
) -> None:
    filled(memory, "a")
    done: list[str] = []

    def slow_find() -> list[str]:
        clock.advance(1)
        RecoveryConsumer(memory, "recovery", done.append).run_once()
        return ["a"]

    assert OrphanScanner(memory, "recovery", slow_find).scan() == 0
    clock.advance(1)
    assert OrphanScanner(memory, "recovery", lambda: ["a"]).scan() == 1


def test_orphans_that_find_no_room_wait_for_the_next_scan(
    memory: MemoryState, caplog: pytest.LogCaptureFixture
) -> None:
    scanner = OrphanScanner(memory, "recovery", lambda: range(5), max_size=3)
    assert scanner.scan() == 3
    assert "orphans wait for the next scan" in caplog.text
    RecoveryConsumer(memory, "recovery", lambda _item: None).run_once()


@pytest.mark.anyio
async def test_a_search_may_be_async(memory: MemoryState) -> None:
    async def find() -> list[str]:
        await asyncio.sleep(0)
        return ["a"]

    scanner = OrphanScanner(memory, "recovery", find)
    assert await scanner.ascan() == 1
    with pytest.raises(ConfigurationError, match="async"):
        scanner.scan()


def test_work_is_under_way_once_and_leaves_no_orphan_however_it_ends(state: SharedState) -> None:
    work = WorkRegister(state, "threads")
    other = WorkRegister(state, "threads")
    with work.hold("thread-1"), pytest.raises(StillRunningError), other.hold("thread-1"):
        pass
    with pytest.raises(ZeroDivisionError), work.hold("thread-1"):
        raise ZeroDivisionError
    with other.hold("thread-1"):
        assert work.orphans() == []


@pytest.mark.anyio
async def test_async_work_is_held_as_well(state: SharedState) -> None:
    work = WorkRegister(state, "threads")
    async with work.ahold("thread-1"):
        with pytest.raises(StillRunningError):
            async with work.ahold("thread-1"):
                pass
    async with work.ahold("thread-1"):
        pass


def test_the_work_of_a_killed_process_is_an_orphan_and_is_recovered_once(
    open_redis: OpenState, start_child: StartChild
) -> None:
    state = open_redis()
    code = (
        "import sys, time\n"
        "from dlq_console.resilience.orphans import WorkRegister\n"
        "from tests.resilience.crowd import open_by_address\n"
        "with WorkRegister(open_by_address(sys.argv[1]), 'threads', lease=1).hold('thread-1'):\n"
        "    print('inside', flush=True)\n    time.sleep(60)\n"
    )
    child = start_child([sys.executable, "-c", code, open_redis.address])
    child.wait_for_line("inside")
    work = WorkRegister(state, "threads", lease=1)
    scanner = OrphanScanner(state, "recovery", work.orphans)
    assert scanner.scan() == 0
    child.kill()
    wait_until(scanner.scan, 20, "the orphan to be found")
    done: list[str] = []

    def handle(id_: str) -> None:
        with work.hold(id_):
            done.append(id_)

    assert RecoveryConsumer(state, "recovery", handle).run_once() == 1
    assert (done, scanner.scan(), work.orphans()) == (["thread-1"], 0, [])


# Whatever happens in whatever order


class Queue(RuleBasedStateMachine):
    """Producers, consumers that finish, fail and die, and a clock that jumps: nothing is lost, nothing is done by two."""

    tokens = Bundle("tokens")

    def __init__(self) -> None:
        super().__init__()
        self.clock = FrozenClock()
        self.state = MemoryState(self.clock)
        self.number = 0
        self.waiting: set[str] = set()

    def _change(self, function: Any, **arguments: Any) -> Any:
        return self.state.change(QUEUES, "q", lambda record, now: function(record, now, **arguments))

    @rule(id_=st.sampled_from("abcdef"))
    def somebody_puts_in(self, id_: str) -> None:
        pushed = self._change(queue_rules.push, id_=id_, value='"v"', max_size=4)
        assert pushed.accepted == (id_ in self.waiting or len(self.waiting) < 4)
        assert pushed.new == (pushed.accepted and id_ not in self.waiting)
        if pushed.accepted:
            self.waiting.add(id_)

    @rule(target=tokens)
    def somebody_takes(self) -> str:
        self.number += 1
        before = self.state.read(QUEUES, "q").record or queue_rules.BLANK
        running = {item.id for item in queue_rules.under_way(before, self.clock.now)}
        item = self._change(
            queue_rules.take, token=str(self.number), owner="h:1", lease=30.0, max_concurrent=2
        )
        assert item is None or (item.id not in running and len(running) < 2 and not item.parked)
        return str(self.number)

    @rule(token=consumes(tokens))
    def somebody_finishes(self, token: str) -> None:
        record = self.state.read(QUEUES, "q").record or queue_rules.BLANK
        held = [item.id for item in record.items if item.lease is not None and item.lease.token == token]
        assert self._change(queue_rules.finish, token=token) is bool(held)
        self.waiting.difference_update(held)

    @rule(token=consumes(tokens), park=st.booleans())
    def somebody_fails(self, token: str, park: bool) -> None:
        self._change(queue_rules.put_back, token=token, error="E", delay=5.0, park=park)

    @rule(token=tokens)
    def somebody_shows_a_sign_of_life(self, token: str) -> None:
        self._change(queue_rules.renew, token=token)

    @rule(seconds=st.sampled_from([1.0, 5.0, 31.0, 3600.0, -10.0, -86_400.0]))
    def time_jumps(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @invariant()
    def nothing_is_lost_and_nothing_is_there_twice(self) -> None:
        record = self.state.read(QUEUES, "q").record or queue_rules.BLANK
        ids = [item.id for item in record.items]
        assert len(ids) == len(set(ids)) <= 4
        assert set(ids) == self.waiting
        assert queue_rules.decode(queue_rules.encode(record)) == record


Queue.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestQueue = Queue.TestCase
