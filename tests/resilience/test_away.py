"""What becomes of what is held, and of the log, while the state is away?"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator

import pytest

from dlq_console.errors import StoreUnavailable
from dlq_console.resilience.backpressure import QueueGuard
from dlq_console.resilience.bulkhead import Bulkhead, BulkheadConfig
from dlq_console.resilience.errors import StillRunningError
from dlq_console.resilience.idempotency import IdempotentCalls
from dlq_console.resilience.link import FIRST_RETRY, link_to
from dlq_console.resilience.orphans import WorkRegister
from dlq_console.resilience.recovery import RecoveryConsumer
from dlq_console.resilience.redis_state import RedisState
from dlq_console.resilience.state import SharedState
from tests.services.process import wait_until
from tests.services.redis import RedisServer

#: Longer than any test: what is free has been given back.
FOR_EVER = 3600.0


@pytest.fixture
def redis_state(redis_url: str) -> Iterator[RedisState]:
    state = RedisState(redis_url, timeout=0.3)
    yield state
    state.close()


def free(work: WorkRegister, id_: str) -> bool:
    """Whether somebody else may do the work now."""
    try:
        with work.hold(id_):
            return True
    except (StillRunningError, StoreUnavailable):
        return False


def test_the_error_of_work_reaches_its_caller_and_its_end_is_kept_later(
    redis_state: RedisState, redis_server: RedisServer
) -> None:
    work = WorkRegister(redis_state, "threads", lease=FOR_EVER)

    def fail() -> None:
        with work.hold("thread-1"):
            redis_server.pause()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    redis_server.resume()
    wait_until(lambda: free(work, "thread-1"), 20, "the work to be free")


@pytest.mark.anyio
async def test_the_result_of_async_work_reaches_its_caller_and_its_end_is_kept_later(
    redis_state: RedisState, redis_server: RedisServer
) -> None:
    work = WorkRegister(redis_state, "threads", lease=FOR_EVER)

    async def run() -> int:
        async with work.ahold("thread-1"):
            redis_server.pause()
            return 7

    assert await run() == 7
    redis_server.resume()
    wait_until(lambda: free(work, "thread-1"), 20, "the work to be free")


def test_a_slot_that_is_given_back_while_the_state_is_away_is_free_when_it_is_back(
    redis_state: RedisState, redis_server: RedisServer, redis_url: str
) -> None:
    config = BulkheadConfig(max_concurrent=1, lease=FOR_EVER)
    held = Bulkhead("erp", config, state=redis_state).acquire()
    with redis_server.paused():
        held.release()
    elsewhere = RedisState(redis_url, timeout=5.0)
    other = Bulkhead("erp", config, state=elsewhere)
    wait_until(lambda: other.stats()["in_use"] == 0, 20, "the slot to be free")
    elsewhere.close()


def call(state: SharedState, hang: Callable[[], object]) -> None:
    """An idempotent call under way."""
    IdempotentCalls("book", state, lease=1).run("k", "f", hang)


def work(state: SharedState, hang: Callable[[], object]) -> None:
    """Work of a register under way."""
    with WorkRegister(state, "threads", lease=1).hold("thread-1"):
        hang()


def item(state: SharedState, hang: Callable[[], object]) -> None:
    """An item of a queue under way."""
    QueueGuard(state, "recovery", on_full=print).safe_enqueue(1)
    RecoveryConsumer(state, "recovery", lambda _: hang(), max_concurrent=1, lease=1).run_once()


@pytest.mark.parametrize("begin", [call, work, item])
def test_the_log_tells_once_that_signs_of_life_find_no_state_and_once_that_it_is_back(
    redis_state: RedisState,
    redis_server: RedisServer,
    caplog: pytest.LogCaptureFixture,
    begin: Callable[[SharedState, Callable[[], object]], None],
) -> None:
    caplog.set_level(logging.INFO, logger="dlq_console.resilience.link")
    inside, end = threading.Event(), threading.Event()

    def hang() -> None:
        inside.set()
        assert end.wait(60)

    thread = threading.Thread(target=begin, args=(redis_state, hang), daemon=True)
    thread.start()
    assert inside.wait(20)
    link = link_to(redis_state)
    redis_server.pause()
    wait_until(lambda: link._retry_after > FIRST_RETRY * 2, 20, "two looks that found nothing")
    redis_server.resume()
    wait_until(lambda: link.away is None, 20, "the state")
    end.set()
    thread.join(20)
    told = [record.levelname for record in caplog.records if record.name == "dlq_console.resilience.link"]
    assert told == ["WARNING", "INFO"]
