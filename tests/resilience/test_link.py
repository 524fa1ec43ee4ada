"""What does a process believe of a state that it shares, and what becomes of work whose task is gone?"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, ClassVar

import pytest

from dlq_console.resilience.background import Background
from dlq_console.resilience.breaker import BREAKERS, BreakerRecord, CircuitBreaker
from dlq_console.resilience.calls import _Handover, off_the_loop
from dlq_console.resilience.link import link_to
from dlq_console.resilience.redis_state import RedisState
from dlq_console.resilience.state import Change, Kind, MemoryState, Record
from tests.resilience.states import until
from tests.resilience.test_breaker import failing
from tests.resilience.test_redis_faults import CONFIG
from tests.services.process import StartChild, wait_until
from tests.services.redis import RedisServer


class SlowState(MemoryState):
    """A state that counts as shared, and whose background looks arrive when the test lets them."""

    local: ClassVar[bool] = False
    refresh_every: ClassVar[float] = 0.01

    def __init__(self) -> None:
        super().__init__()
        self.looked = threading.Event()
        self.arrive = threading.Event()
        self.looks = 0

    def read_all(
        self, kind: Kind[Record], names: Collection[str] | None = None
    ) -> tuple[Mapping[str, Record], float]:
        """Look now, and tell later what was seen."""
        seen = super().read_all(kind, names)
        self.looked.set()
        assert self.arrive.wait(20)
        self.looks += 1
        return seen


@pytest.fixture
def slow() -> Iterator[SlowState]:
    state = SlowState()
    yield state
    state.arrive.set()
    state.close()


def test_a_look_that_began_before_a_change_does_not_undo_what_is_known_of_it(slow: SlowState) -> None:
    link = link_to(slow)
    link.look(BREAKERS, "erp")
    assert slow.looked.wait(20)
    link.change(BREAKERS, "erp", lambda _record, _now: Change(None, BreakerRecord(failures=7)))
    believed: list[int] = []
    learn = link._learn

    def noting(kind: Any, name: str, record: Any, at: float) -> None:
        learn(kind, name, record, at)
        seen = link.at_hand(BREAKERS, "erp")
        believed.append(-1 if seen is None or seen.record is None else seen.record.failures)

    link._learn = noting  # type: ignore[method-assign]  # told whenever something is learned
    slow.arrive.set()
    wait_until(lambda: len(believed) > 2, 20, "some looks")
    assert set(believed) == {7}


def test_a_call_admitted_by_the_shared_state_is_no_evidence_for_the_local_one(
    redis_url: str, redis_server: RedisServer
) -> None:
    state = RedisState(redis_url, timeout=0.5)
    breaker = CircuitBreaker("erp", CONFIG, state=state)
    earlier = [breaker.admit() for _ in range(5)]
    with redis_server.stopped():
        failing(breaker, 1)
        for admission in earlier:
            admission.failed(TimeoutError())
        assert breaker.stats()["consecutive_failures"] == 1
        assert breaker.stats()["failures"] == 6
    state.close()


def test_a_link_belongs_to_its_state() -> None:
    state = MemoryState()
    assert link_to(state) is link_to(state)
    assert link_to(MemoryState()) is not link_to(state)


FORKING = """
import os
from dlq_console.resilience import Bulkhead, BulkheadConfig, CircuitBreaker, MemoryState
from dlq_console.resilience.link import link_to
from tests.resilience.test_link import SlowState

local, shared = MemoryState(), SlowState()
shared.arrive.set()
held = Bulkhead("erp", BulkheadConfig(max_concurrent=1), state=local).acquire()
CircuitBreaker("erp", state=shared).call(int)
link = link_to(shared)
assert link._background.is_running and link._seen
if os.fork() == 0:
    assert not link._background.is_running and not link._seen
    assert Bulkhead("erp", BulkheadConfig(max_concurrent=1), state=local).run(lambda: 7) == 7
    CircuitBreaker("erp", state=shared).call(int)
    assert link._background.is_running
    os._exit(7)
assert os.wait()[1] >> 8 == 7
"""


def test_a_forked_child_begins_anew_and_holds_nothing_of_its_parent(start_child: StartChild) -> None:
    assert start_child([sys.executable, "-c", FORKING]).wait_for_exit() == 0


# Work beside the event loop


@pytest.mark.anyio
async def test_a_result_that_its_task_does_not_wait_for_is_taken_back(slow: SlowState) -> None:
    begun, finish = threading.Event(), threading.Event()
    undone: list[int] = []

    def work() -> int:
        begun.set()
        assert finish.wait(20)
        return 7

    task = asyncio.create_task(off_the_loop(slow, work, undo=undone.append))
    await until(begun.is_set)
    task.cancel()
    await asyncio.sleep(0)
    finish.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: undone == [7])


def test_a_result_that_was_there_before_its_task_was_cancelled_is_taken_back_too() -> None:
    undone: list[int] = []
    handover = _Handover(lambda: 7, undone.append)
    assert handover.make() == 7
    handover.abandon()
    wait_until(lambda: undone == [7], 20, "the result to be taken back")


@pytest.mark.anyio
async def test_what_work_raises_reaches_its_task_and_nothing_is_taken_back(slow: SlowState) -> None:
    undone: list[int] = []

    def work() -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await off_the_loop(slow, work, undo=undone.append)
    assert await off_the_loop(slow, lambda: 7, undo=undone.append) == 7
    assert await off_the_loop(MemoryState(), threading.get_ident) == threading.get_ident()
    assert undone == []


# Jobs in the background


class Repeated:
    """A job that does what the test says."""

    def __init__(self, do: Callable[[int], bool]) -> None:
        self.times = 0
        self._do = do

    def tick(self) -> bool:
        """Once more."""
        self.times += 1
        return self._do(self.times)


def test_a_job_that_goes_on_failing_is_told_once_and_once_that_it_is_done_again(
    slow: SlowState, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="dlq_console.resilience.background")
    job = Repeated(lambda times: times < 6 and 1 // (times > 4) > 0)
    link_to(slow).keep(job)
    wait_until(lambda: len(caplog.records) > 1 and job.times == 6, 20, "the last time")
    assert [record.levelname for record in caplog.records] == ["ERROR", "INFO"]


def test_looks_that_fail_are_told_once_and_the_jobs_are_done_meanwhile(
    caplog: pytest.LogCaptureFixture,
) -> None:
    looks: list[int] = []

    def look() -> bool:
        looks.append(1)
        raise ZeroDivisionError

    background = Background(0.001, look)
    job = Repeated(lambda times: times < 5)
    background.keep(job)
    wait_until(lambda: job.times == 5 and len(looks) > 5, 20, "the last time")
    assert background.is_running
    background.stop()
    assert [record.levelname for record in caplog.records] == ["ERROR"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_has_ended_is_begun_again() -> None:
    ends = iter([SystemExit()])

    def look() -> bool:
        for end in ends:
            raise end
        return False

    background = Background(0.001, look)
    background.start()
    wait_until(lambda: not background.is_running, 20, "the end")
    job = Repeated(lambda times: times < 5)
    background.keep(job)
    wait_until(lambda: job.times == 5, 20, "the last time")


def test_a_job_that_is_asked_for_while_it_ends_is_done_once_more(slow: SlowState) -> None:
    link = link_to(slow)

    def asked_for_meanwhile(times: int) -> bool:
        if times < 3:
            link.keep(job)
        return False

    job = Repeated(asked_for_meanwhile)
    link.keep(job)
    wait_until(lambda: job.times == 3, 20, "the third time")
