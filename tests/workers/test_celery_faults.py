"""Does every event survive a Celery worker that is stopped, killed or frozen, and a broker that forgets everything?"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.services.process import free_port, wait_until
from tests.services.rabbitmq import RabbitServer
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
    # As after a day of silence: it announces itself again.
    celery.change("DELETE FROM {worker}")
    kill(worker.pid, signal.SIGTERM)
    wait_until(lambda: _states(celery) == ["stopping"], SOON, "the worker to say that it stops")
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


def test_worker_outlives_its_broker_also_when_several_of_its_processes_had_died_at_once(
    celery: CeleryTable, redis_server: RedisServer
) -> None:
    worker = celery.start_celery()
    # So that there is a queue that it listens to.
    assert celery.ended(celery.enqueue("noop", account="a")).status == "done"
    main = psutil.Process(worker.pid)
    first = main.children()
    # Frozen, it learns of both deaths in the same moment, as after a memory shortage of the machine.
    worker.send(signal.SIGSTOP)
    for process in first:
        process.kill()
    wait_until(lambda: all(each.status() == psutil.STATUS_ZOMBIE for each in first), SOON, "both to be dead")
    worker.send(signal.SIGCONT)
    wait_until(
        lambda: len(set(main.children()) - set(first)) == len(first), SOON, "processes to take their places"
    )
    redis_server.kill()
    redis_server.start()
    worker.wait_for_line("Connection to broker lost")
    id_ = celery.enqueue("noop", account="a")
    assert celery.ended(id_, timeout=FREE_AGAIN_SECONDS).status == "done"
    assert worker.running


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


def test_messages_that_a_stopping_worker_had_taken_but_not_begun_are_lost_by_nobody_and_run_once(
    celery: CeleryTable,
) -> None:
    worker = celery.start_celery()
    ids = [celery.enqueue("takes_a_second", account=f"account-{n % 4}") for n in range(8)]
    celery.send(ids[-1], copies=3)
    celery.process_of(ids[0])
    worker.send(signal.SIGTERM)
    assert worker.wait_for_exit(2 * SOON) == 0
    celery.start_celery()
    assert [celery.ended(id_, timeout=FREE_AGAIN_SECONDS).attempts for id_ in ids] == [1] * 8
    assert [celery.starts(id_) for id_ in ids] == [1] * 8


def test_worker_goes_on_when_its_redis_was_a_replica_for_a_while(
    celery: CeleryTable, redis_server: RedisServer
) -> None:
    worker = celery.start_celery()
    running = celery.enqueue("waits", account="a")
    celery.process_of(running)
    with redis_server.client() as client:
        # As after a fail-over: reads are answered and writes are refused.
        client.replicaof("127.0.0.1", str(free_port()))
        try:
            worker.wait_for_line("Connection to broker lost")
            waiting = celery.enqueue("noop", account="b")
            celery.go()
            assert celery.ended(running).status == "done"
        finally:
            client.replicaof("NO", "ONE")
    assert celery.ended(waiting, timeout=FREE_AGAIN_SECONDS).status == "done"
    assert celery.outcomes(running) == ["done"]


def test_time_limit_holds_while_the_broker_is_away(celery: CeleryTable, redis_server: RedisServer) -> None:
    celery.start_celery()
    id_ = celery.enqueue("overtime", account="a")
    celery.process_of(id_)
    with redis_server.stopped():
        assert celery.reached(id_, "failed").attempts == 1
    assert celery.ended(id_, timeout=FREE_AGAIN_SECONDS).reason == "exhausted"


@pytest.mark.parametrize(
    ("program", "options"),
    [(CELERYS, ("-Q", "erp.served,erp.served.serial")), (OURS, ("--accounts", "served"))],
    ids=["celery -Q", "dlq-console worker --accounts"],
)
def test_worker_serves_only_the_accounts_that_it_was_given(
    celery: CeleryTable, redis_server: RedisServer, program: tuple[str, ...], options: tuple[str, ...]
) -> None:
    others = celery.enqueue("noop", account="not-served")
    celery.start_celery(*options, program=program)
    ids = [celery.enqueue("noop", account="served") for _ in range(3)]
    ids += [
        celery.hub.enqueue("noop", account="served", entity_id=str(n), payload={}, serial=True).id
        for n in range(2)
    ]
    assert {celery.ended(id_).status for id_ in ids} == {"done"}
    assert celery.value("SELECT accounts FROM {worker}") == '["served"]'
    assert (celery.hub.get(others).status, celery.hub.get(others).waiting_for) == ("pending", "no_worker")
    # Nobody took a message of it, also where it has meanwhile counted as lost and was sent again.
    sent = celery.value(f"SELECT dispatch_count FROM {{event}} WHERE id = {others}")
    with redis_server.client() as client:
        wait_until(lambda: client.llen("erp.not-served") >= sent, SOON, "its messages")


def test_accounts_beyond_those_with_queues_of_their_own_share_some_and_are_served(
    postgres_url: str, redis_url: str, redis_server: RedisServer, tmp_path: Path
) -> None:
    with celery_table(postgres_url, redis_url, tmp_path, max_queues=2) as celery:
        ids = [celery.enqueue_unsent("noop", account=f"account-{n}") for n in range(6)]
        ids += [
            celery.hub.enqueue(
                "noted",
                account="account-5",
                entity_id=str(n),
                payload={"folder": str(celery.folder)},
                serial=True,
            ).id
            for n in range(3)
        ]
        with redis_server.client() as client:
            assert all(name.startswith("erp.shard.") for name in client.scan_iter())
        worker = celery.start_celery()
        assert {celery.ended(id_).status for id_ in ids} == {"done"}
        served = set(re.findall(r"serves (\S+)", worker.output()))
        assert {name for name in served if "shard" not in name} <= {"erp.account-0", "erp.account-1"}


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


def test_handler_that_takes_longer_than_rabbitmq_lets_a_message_be_held_is_run_once(
    postgres_url: str, rabbit_url: str, rabbit_server: RabbitServer, tmp_path: Path
) -> None:
    with celery_table(postgres_url, rabbit_url, tmp_path) as celery, rabbit_server.holding_at_most(1):
        worker = celery.start_celery()
        id_ = celery.enqueue("waits", account="long")
        celery.process_of(id_)
        worker.wait_for_line("Connection to broker lost", timeout=3 * SOON)
        again = celery.enqueue("noop", account="beside")
        assert celery.ended(again, timeout=FREE_AGAIN_SECONDS).status == "done"
        celery.go()
        assert celery.ended(id_).status == "done"
        assert celery.outcomes(id_) == ["done"]


def _states(celery: CeleryTable) -> list[str]:
    return [row["state"] for row in celery.rows("SELECT state FROM {worker}")]
