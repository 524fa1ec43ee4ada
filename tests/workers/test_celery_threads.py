"""Does a worker of threads come back to life after a handler that goes on past its time limit?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dlq_console.workers.celery_signals import EXIT_AT_LIMIT
from tests.services.process import Child
from tests.workers.celery_table import GUEST, CeleryTable, celery_table
from tests.workers.faulty import FOREVER, SHORT_LIMIT
from tests.workers.table import FREE_AGAIN_SECONDS, SOON

TIMED_OUT = f"The run was stopped at its time limit of {SHORT_LIMIT} seconds."
#: Leases so long that nothing here is saved by one that lapses (seconds).
LONG = 30


@pytest.fixture
def celery(postgres_url: str, redis_url: str, tmp_path: Path) -> Iterator[CeleryTable]:
    """A database and a Redis; the test starts the workers."""
    with celery_table(postgres_url, redis_url, tmp_path) as table:
        yield table


def _start(celery: CeleryTable, *options: str, pool: str = "threads", patience: float = FOREVER) -> Child:
    return celery.start_celery(
        "--pool",
        pool,
        *options,
        program=GUEST,
        lease_seconds=LONG,
        env={"GUEST_PATIENCE": str(patience)},
    )


def test_worker_with_a_thread_past_its_time_limit_takes_nothing_more_lets_the_rest_end_and_leaves(
    celery: CeleryTable,
) -> None:
    worker = _start(celery)
    beside = celery.enqueue("waits", account="a")
    celery.process_of(beside)
    late = celery.enqueue("overtime.returns", account="b")
    event = celery.ended(late)
    assert (event.reason, event.last_error) == ("exhausted", TIMED_OUT)
    worker.wait_for_line(rf"event {late} ran past its time limit in a thread.*exit status {EXIT_AT_LIMIT}")
    worker.wait_for_line("this worker takes no more messages", timeout=2 * SOON)
    after = celery.enqueue("noted", account="b")
    # What the handler finds out after all is refused.
    (celery.folder / "late").touch()
    worker.wait_for_line(f"event {late}: epoch 1 no longer owns it, its result is refused")
    assert celery.hub.get(late).reason == "exhausted"
    assert worker.running
    celery.go()
    assert celery.ended(beside).status == "done"
    assert worker.wait_for_exit(FREE_AGAIN_SECONDS) == EXIT_AT_LIMIT
    assert celery.value("SELECT count(*) FROM {worker}") == 0
    assert celery.starts(after) == 0
    # As whatever has started it does now.
    _start(celery)
    assert celery.ended(after, timeout=FREE_AGAIN_SECONDS).attempts == 1


def test_worker_that_leaves_a_thread_behind_waits_a_bounded_time_and_gives_the_rest_back(
    celery: CeleryTable,
) -> None:
    worker = _start(celery, patience=1)
    beside = celery.enqueue("waits", account="a")
    celery.process_of(beside)
    late = celery.enqueue("overtime", account="b")
    assert worker.wait_for_exit(FREE_AGAIN_SECONDS) == EXIT_AT_LIMIT
    assert "leaves 1 thread behind" in worker.output()
    given_back, timed_out = celery.hub.get(beside), celery.hub.get(late)
    assert (given_back.status, given_back.attempts) == ("pending", 0)
    assert (timed_out.status, timed_out.last_error) == ("failed", TIMED_OUT)
    assert celery.value("SELECT count(*) FROM {worker}") == 0


def test_worker_whose_only_thread_is_past_its_time_limit_leaves(celery: CeleryTable) -> None:
    worker = _start(celery, pool="solo")
    late = celery.enqueue("overtime", account="a")
    assert worker.wait_for_exit(FREE_AGAIN_SECONDS) == EXIT_AT_LIMIT
    event = celery.hub.get(late)
    assert (event.status, event.last_error) == ("failed", TIMED_OUT)


def test_worker_of_threads_whose_event_loop_is_held_up_leaves(celery: CeleryTable) -> None:
    worker = _start(celery)
    late = celery.enqueue("overtime.blocks_loop", account="a")
    worker.wait_for_line("an async handler went on past its time limit and holds up all others")
    assert worker.wait_for_exit(FREE_AGAIN_SECONDS) == EXIT_AT_LIMIT
    assert celery.hub.get(late).last_error == TIMED_OUT


def test_process_whose_event_loop_is_held_up_is_replaced(celery: CeleryTable) -> None:
    celery.start_celery("--concurrency", "1", lease_seconds=LONG)
    late = celery.enqueue("overtime.blocks_loop", account="a")
    first = celery.process_of(late)
    assert celery.ended(late).last_error == TIMED_OUT
    after = celery.ended(celery.enqueue("noop.async", account="a"))
    assert (after.status, after.attempts) == ("done", 1)
    assert after.result is not None
    assert after.result["pid"] not in (first, celery.process_of(late, epoch=2))
