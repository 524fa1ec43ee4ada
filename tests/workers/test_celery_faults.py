"""Does every event survive a Celery worker that is stopped, killed or frozen, and a broker that forgets everything?"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.services.process import wait_until
from tests.services.redis import RedisServer
from tests.workers.celery_table import CELERYS, OURS, CeleryTable, celery_table
from tests.workers.table import FREE_AGAIN_SECONDS, SOON, is_alive

HASTY = ("tests.workers.celery_hasty",)


@pytest.fixture
def celery(postgres_url: str, redis_url: str, tmp_path: Path) -> Iterator[CeleryTable]:
    """A database and a Redis; the test starts the workers."""
    with celery_table(postgres_url, redis_url, tmp_path) as table:
        yield table


@pytest.mark.parametrize("kill", [os.kill, os.killpg], ids=["the worker alone", "its whole group"])
def test_stopped_worker_ends_what_runs_and_leaves_the_rest_to_others(
    celery: CeleryTable, kill: Callable[[int, int], None]
) -> None:
    worker = celery.start_celery()
    running = celery.enqueue("waits", account="a")
    celery.process_of(running)
    waiting = [celery.enqueue("noop", account="a") for _ in range(3)]
    kill(worker.pid, signal.SIGTERM)
    wait_until(lambda: "stopping" in _states(celery), SOON, "the worker to say that it stops")
    celery.go()
    assert worker.wait_for_exit() == 0
    assert _states(celery) == []
    assert celery.outcomes(running) == ["done"]
    assert {celery.hub.get(id_).status for id_ in waiting} == {"pending"}
    celery.start_celery()
    assert [celery.ended(id_).attempts for id_ in waiting] == [1, 1, 1]


def test_stopped_worker_gives_back_what_does_not_end_and_the_attempt_does_not_count(
    celery: CeleryTable,
) -> None:
    worker = celery.start_celery(program=HASTY)
    id_ = celery.enqueue("waits", account="a")
    celery.process_of(id_)
    worker.send(signal.SIGTERM)
    assert worker.wait_for_exit() == 0
    event = celery.hub.get(id_)
    assert (event.status, event.attempts) == ("pending", 0)
    assert celery.attempts(id_) == []


def test_event_of_a_killed_worker_is_free_again_and_its_processes_die_with_it(celery: CeleryTable) -> None:
    worker = celery.start_celery()
    id_ = celery.enqueue("waits", account="a")
    process = celery.process_of(id_)
    worker.kill()
    wait_until(lambda: not is_alive(process), SOON, "the pool to die with its worker")
    celery.start_celery()
    celery.process_of(id_, epoch=2)
    celery.go()
    assert celery.ended(id_).attempts == 2
    assert celery.outcomes(id_) == ["lost", "done"]


def test_result_of_a_worker_that_was_frozen_past_its_lease_is_refused(celery: CeleryTable) -> None:
    frozen = celery.start_celery("--no-scheduler")
    id_ = celery.enqueue("waits", account="a")
    celery.process_of(id_)
    frozen.pause()
    celery.start_celery()
    celery.process_of(id_, epoch=2)
    celery.go(attempt=2)
    assert celery.ended(id_, timeout=FREE_AGAIN_SECONDS).result == {"attempt": 2}
    frozen.resume()
    celery.go()
    celery.process_of(id_, epoch=1, what="returned")
    frozen.wait_for_line("epoch 1 no longer owns it, its result is refused")
    assert celery.hub.get(id_).result == {"attempt": 2}
    assert celery.outcomes(id_) == ["lost", "done"]


def test_worker_serves_new_accounts_also_after_the_broker_has_forgotten_everything(
    celery: CeleryTable, redis_server: RedisServer
) -> None:
    celery.start_celery()
    first = celery.enqueue("noop", account="found-while-running")
    assert celery.ended(first).status == "done"
    redis_server.kill()
    ids = [celery.enqueue("noop", account=account) for account in ("found-while-running", "new")]
    redis_server.start()
    assert [celery.ended(id_, timeout=FREE_AGAIN_SECONDS).status for id_ in ids] == ["done", "done"]


def test_worker_whose_broker_was_frozen_takes_up_work_again_with_all_its_slots(
    celery: CeleryTable, redis_server: RedisServer
) -> None:
    worker = celery.start_celery()
    running = [celery.enqueue("waits", account=account) for account in ("a", "b")]
    for id_ in running:
        celery.process_of(id_)
    with redis_server.paused():
        celery.go()
        # Both are done, but neither message can be acknowledged until the worker gives up waiting for that.
        assert [celery.ended(id_).status for id_ in running] == ["done", "done"]
        worker.wait_for_line("Connection to broker lost")
    ids = [celery.enqueue("noop", account=account) for account in ("a", "b", "c")]
    assert {celery.ended(id_, timeout=FREE_AGAIN_SECONDS).status for id_ in ids} == {"done"}
    assert [celery.outcomes(id_) for id_ in running] == [["done"], ["done"]]


def test_time_limit_holds_while_the_broker_is_away(celery: CeleryTable, redis_server: RedisServer) -> None:
    celery.start_celery()
    id_ = celery.enqueue("overtime", account="a")
    celery.process_of(id_)
    with redis_server.stopped():
        assert celery.reached(id_, "failed").attempts == 1
    assert celery.ended(id_, timeout=FREE_AGAIN_SECONDS).reason == "exhausted"


@pytest.mark.parametrize(
    ("program", "options"),
    [(CELERYS, ("-Q", "erp.served")), (OURS, ("--accounts", "served"))],
    ids=["celery -Q", "dlq-console worker --accounts"],
)
def test_worker_serves_only_the_accounts_that_it_was_given(
    celery: CeleryTable, redis_server: RedisServer, program: tuple[str, ...], options: tuple[str, ...]
) -> None:
    others = celery.enqueue("noop", account="not-served")
    celery.start_celery(*options, program=program)
    ids = [celery.enqueue("noop", account="served") for _ in range(3)]
    assert {celery.ended(id_).status for id_ in ids} == {"done"}
    assert celery.hub.get(others).status == "pending"
    with redis_server.client() as client:
        assert client.llen("erp.not-served") == 1


def test_whole_way_through_rabbitmq(postgres_url: str, rabbit_url: str, tmp_path: Path) -> None:
    with celery_table(postgres_url, rabbit_url, tmp_path) as celery:
        celery.start_celery()
        ids = [celery.enqueue("noop", account=f"rabbit-{n}") for n in range(3) for _ in range(2)]
        late = celery.enqueue("overtime", account="rabbit-late")
        assert [celery.ended(id_).attempts for id_ in ids] == [1] * 6
        assert celery.ended(late).reason == "exhausted"
        again = celery.enqueue("noop", account="rabbit-0")
        celery.send(again, copies=20)
        assert celery.ended(again).status == "done"
        assert celery.outcomes(again) == ["done"]


def _states(celery: CeleryTable) -> list[str]:
    return [row["state"] for row in celery.rows("SELECT state FROM {worker}")]
