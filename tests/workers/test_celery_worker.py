"""Does a Celery worker run each event once, on its account's queue, and end it whatever its handler does?"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from dlq_console.store import scopes
from dlq_console.store.claim_sql import BULK
from dlq_console.store.dispatching import LOST_AFTER
from dlq_console.workers import steps
from dlq_console.workers.celery_signals import HARD_LIMIT_AFTER
from tests.services.postgres import PostgresServer
from tests.services.process import PROJECT_ROOT, Child, wait_until
from tests.services.redis import RedisServer
from tests.store import closing
from tests.workers.celery_table import CELERYS, CeleryTable, celery_table
from tests.workers.faulty import SHORT_LIMIT
from tests.workers.table import SOON, is_alive

#: Attempts that the policy of the killed handler allows.
ALL_ATTEMPTS = 3

Shared = tuple[CeleryTable, Child]


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    """The broker of this module, whose worker outlives a single test."""
    with RedisServer() as server:
        yield server


@pytest.fixture(scope="module")
def shared(
    postgres_server: PostgresServer,
    _postgres_template: str,
    redis: RedisServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Shared]:
    """A table and the one worker of this module, which begins without knowing any account."""
    folder = tmp_path_factory.mktemp("celery")
    with (
        postgres_server.database(_postgres_template) as url,
        celery_table(url, redis.url, folder) as table,
    ):
        # Leases so long that no test can be saved by one that lapses: a lost process is noticed, not waited for.
        yield table, table.start_celery(program=CELERYS, lease_seconds=30)


@pytest.fixture
def celery(shared: Shared, tmp_path: Path) -> Iterator[CeleryTable]:
    """The table with a folder for the notes of this test only. No test may bring the worker down."""
    table, worker = shared
    table.folder = tmp_path
    yield table
    table.go()
    assert worker.running


def test_events_of_accounts_that_the_worker_has_never_heard_of_are_run(celery: CeleryTable) -> None:
    ids = [celery.enqueue("noop", account=f"new-{n}") for n in range(3) for _ in range(2)]
    for event in map(celery.ended, ids):
        assert (event.status, event.attempts) == ("done", 1)
        assert event.result is not None


def test_twenty_copies_of_a_message_run_it_once_though_two_workers_get_them(
    celery: CeleryTable, redis: RedisServer
) -> None:
    other = celery.start_celery("--no-scheduler")
    id_ = celery.enqueue("waits", account="copies")
    celery.send(id_, copies=10)
    celery.process_of(id_)
    celery.send(id_, copies=10)
    _wait_until_delivered(redis, "erp.copies", but=1)
    celery.go()
    assert celery.ended(id_).status == "done"
    _wait_until_delivered(redis, "erp.copies")
    assert celery.starts(id_) == 1
    assert celery.outcomes(id_) == ["done"]
    assert other.stop() == 0


def test_message_for_which_there_is_no_room_is_refused_and_sent_again_when_there_is(
    celery: CeleryTable,
) -> None:
    scopes.limit_account(celery.hub.store, "narrow", 1)
    first = celery.enqueue("waits", account="narrow")
    celery.process_of(first)
    second = celery.enqueue("noop", account="narrow")
    unsent = "SELECT dispatched_at IS NULL FROM {event} WHERE id = :id"
    assert celery.value(unsent, id=second)
    celery.change("UPDATE {event} SET dispatched_at = {now} WHERE id = :id", id=second)
    celery.send(second)
    wait_until(lambda: celery.value(unsent, id=second), SOON, "the second message to be refused")
    assert celery.hub.get(second).status == "pending"
    celery.go()
    assert celery.ended(first).status == "done"
    assert celery.ended(second).attempts == 1


def test_backlog_without_room_stays_in_the_database_and_what_matters_more_overtakes_it(
    celery: CeleryTable, redis: RedisServer
) -> None:
    scopes.limit_account(celery.hub.store, "backlog", 1)
    first = celery.enqueue("waits", account="backlog")
    celery.process_of(first)
    bulk = [celery.enqueue("noted", account="backlog") for _ in range(10)]
    celery.change(f"UPDATE {{event}} SET priority = {BULK} WHERE account = 'backlog' AND status = 'pending'")
    live = [celery.enqueue("noted", account="backlog") for _ in range(5)]
    with redis.client() as client:
        assert client.llen("erp.backlog") == 0
    celery.go()
    assert {celery.ended(id_).status for id_ in (first, *live, *bulk)} == {"done"}
    runs = celery.rows("SELECT event_id FROM {attempt} WHERE account = 'backlog' ORDER BY id")
    assert [run["event_id"] for run in runs] == [first, *live, *bulk]


def test_long_run_holds_up_no_other_account_and_a_broker_that_forgets_everything_holds_up_nobody(
    celery: CeleryTable, redis: RedisServer
) -> None:
    long = celery.enqueue("waits", account="long")
    celery.process_of(long)
    short = [celery.enqueue("noop", account="short") for _ in range(5)]
    assert {celery.ended(id_).status for id_ in short} == {"done"}
    redis.flush()
    after = celery.enqueue("noop", account="short")
    assert celery.ended(after).status == "done"
    celery.go()
    assert celery.ended(long).status == "done"
    assert celery.outcomes(long) == ["done"]


def test_messages_of_a_paused_account_are_refused_and_its_events_run_once_it_is_open(
    celery: CeleryTable, redis: RedisServer
) -> None:
    with celery.hub.store.write() as connection:
        closing.close(celery.hub.store, connection, "account", "paused", 600, "asked to wait")
    ids = [celery.enqueue("noted", account="paused") for _ in range(5)]
    celery.change("UPDATE {event} SET dispatched_at = {now} WHERE account = 'paused'")
    for id_ in ids:
        celery.send(id_)
    _wait_until_delivered(redis, "erp.paused")
    assert {(celery.hub.get(id_).status, celery.starts(id_)) for id_ in ids} == {("pending", 0)}
    celery.change("UPDATE {scope} SET closed_until = {now} WHERE name = 'paused'")
    assert [celery.ended(id_).attempts for id_ in ids] == [1] * 5


def test_no_message_ever_takes_another_queue_than_its_account_s(
    celery: CeleryTable, redis: RedisServer
) -> None:
    id_ = celery.enqueue("unlucky", account="retried")
    assert celery.ended(id_).reason == "permanent"
    celery.hub.reprocess(id_, actor="maria")
    assert celery.ended(id_).status == "done"
    assert celery.outcomes(id_) == ["failed", "dead", "done"]
    _wait_until_delivered(redis, "erp.retried")
    # Nobody here serves Celery's default queue, so whatever was sent there would still be there.
    with redis.client() as client:
        assert {key for key in client.scan_iter() if not key.startswith("erp.")} <= {"unacked_mutex"}


def test_events_of_the_serial_lane_take_its_own_queue_one_at_a_time_and_in_order_across_retries(
    celery: CeleryTable, shared: Shared
) -> None:
    beside = celery.enqueue("noop", account="ordered")
    kinds = ("noted", "fails_once", "noted", "fails_once", "noted")
    ids = [
        celery.hub.enqueue(
            kind, account="ordered", entity_id=str(n), payload={"folder": str(celery.folder)}, serial=True
        ).id
        for n, kind in enumerate(kinds)
    ]
    assert {celery.ended(id_).status for id_ in (beside, *ids)} == {"done"}
    shared[1].wait_for_line(r"serves erp\.ordered\.serial")
    runs = celery.rows(
        "SELECT * FROM {attempt} WHERE account = 'ordered' AND event_id <> :id ORDER BY id", id=beside
    )
    first, second, third, fourth, fifth = ids
    assert [run["event_id"] for run in runs] == [first, second, second, third, fourth, fourth, fifth]
    assert all(earlier["ended_at"] <= later["started_at"] for earlier, later in pairwise(runs))


def test_message_whose_sender_did_not_know_the_time_limit_is_sent_again_with_it(celery: CeleryTable) -> None:
    id_ = celery.enqueue_unsent("takes_a_second", account="misinformed")
    # By this message, Celery would kill the process after half a second.
    celery.send(id_, time_limit=0.5 - HARD_LIMIT_AFTER)
    assert celery.ended(id_).status == "done"
    assert celery.outcomes(id_) == ["done"]


@pytest.mark.parametrize("kind", ["overtime", "overtime.async", "overtime.swallowed"])
def test_run_past_its_time_limit_is_stopped_and_its_process_lives(celery: CeleryTable, kind: str) -> None:
    # An account each: five failures in a row would close one.
    id_ = celery.enqueue(kind, account=f"late.{kind}")
    event = celery.ended(id_)
    assert (event.reason, event.attempts) == ("exhausted", 2)
    assert event.last_error == f"The run was stopped at its time limit of {SHORT_LIMIT} seconds."
    assert celery.outcomes(id_) == ["failed", "dead"]
    assert is_alive(celery.process_of(id_, epoch=2))


@pytest.mark.parametrize("how", ["stubborn", "deaf", "frozen"])
def test_handler_that_ignores_its_time_limit_is_killed_and_the_event_says_so(
    celery: CeleryTable, how: str
) -> None:
    id_ = celery.enqueue(f"overtime.{how}", account=how)
    event = celery.ended(id_)
    assert (event.reason, event.attempts) == ("exhausted", 1)
    assert event.last_error == f"The run was stopped at its time limit of {SHORT_LIMIT} seconds."
    wait_until(lambda: not is_alive(celery.process_of(id_)), SOON, "the process to be gone")


@pytest.mark.parametrize(("kind", "reason"), [("exits", "unclassified"), ("out_of_memory", "exhausted")])
def test_exit_and_lack_of_memory_end_the_event_and_not_the_process(
    celery: CeleryTable, kind: str, reason: str
) -> None:
    id_ = celery.enqueue(kind, account="harsh")
    event = celery.ended(id_)
    assert (event.status, event.reason) == ("dead", reason)
    assert is_alive(celery.process_of(id_))


def test_copy_of_a_process_that_a_handler_forked_ends_however_early_it_is_told_to(
    celery: CeleryTable,
) -> None:
    event = celery.ended(celery.enqueue("ends_its_copy"))
    assert (event.result, event.attempts) == ({"ended_by": signal.SIGTERM}, 1)


def test_event_of_a_killed_process_is_run_again_and_tells_how_the_process_died(celery: CeleryTable) -> None:
    id_ = celery.enqueue("waits", account="killed")
    os.kill(celery.process_of(id_), signal.SIGKILL)
    celery.process_of(id_, epoch=2)
    celery.go()
    assert celery.ended(id_).status == "done"
    lost, done = celery.attempts(id_)
    assert (lost["outcome"], done["outcome"]) == ("lost", "done")
    assert "was killed by SIGKILL" in lost["error"]


@pytest.mark.parametrize(
    ("kind", "how"), [("killed", "was killed by SIGKILL"), ("vanishes", "ended by itself with exit status 0")]
)
def test_event_that_ends_its_process_every_time_is_dead_after_its_last_attempt(
    celery: CeleryTable, kind: str, how: str
) -> None:
    id_ = celery.enqueue(kind, account=kind)
    event = celery.ended(id_, timeout=2 * SOON)
    assert (event.reason, event.attempts) == ("orphaned", ALL_ATTEMPTS)
    assert celery.outcomes(id_) == ["lost"] * ALL_ATTEMPTS
    assert how in (event.last_error or "")


def test_event_whose_producer_dies_between_commit_and_send_is_sent_by_the_relay(celery: CeleryTable) -> None:
    dies = (
        "import os; from dlq_console import Hub; hub = Hub()\n"
        "hub.publisher.publish = lambda messages: os._exit(9)\n"
        "hub.enqueue('noop', account='orphan', entity_id='1', payload={})"
    )
    env = {**os.environ, "PYTHONPATH": str(PROJECT_ROOT)}
    env |= {"DLQ_DATABASE_URL": celery.url, "DLQ_BROKER_URL": celery.broker_url}
    assert subprocess.run([sys.executable, "-c", dies], env=env, check=False).returncode == 9
    id_ = celery.value("SELECT id FROM {event} WHERE account = 'orphan'")
    assert celery.hub.get(id_).status == "pending"
    celery.hub.clock.advance(LOST_AFTER + 1)
    try:
        steps.relay(celery.hub)
    finally:
        celery.hub.clock.advance(-LOST_AFTER - 1)
    assert celery.ended(id_).attempts == 1


def _wait_until_delivered(redis: RedisServer, queue: str, *, but: int = 0) -> None:
    """Wait until every message has been taken from the queue and all `but` so many have been acknowledged."""
    with redis.client() as client:
        wait_until(
            lambda: client.llen(queue) == 0 and client.hlen("unacked") <= but, SOON, f"{queue} to be empty"
        )
