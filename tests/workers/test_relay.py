"""Does the relay tell the broker of exactly those events that it does not know of and that could run?"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from redis import Redis

from dlq_console import Hub, NewEvent, Policy
from dlq_console.hub.routes import SHARDS
from dlq_console.settings import read_settings
from dlq_console.store import presence
from dlq_console.store.dispatching import LOST_AFTER
from dlq_console.workers import steps
from tests.services.process import wait_until
from tests.services.redis import RedisServer
from tests.store import closing
from tests.workers.table import SOON

ACCOUNT = "filial-sp"


@pytest.fixture
def hub(database_url: str, redis_url: str) -> Iterator[Hub]:
    """A hub with a broker to which nobody listens."""
    made = Hub(read_settings(database_url=database_url, broker_url=redis_url))
    made.handler("noop", policy=Policy(timeout=5))(lambda _event: None)
    made.publish_kinds("test")
    yield made
    made.close()


def test_event_that_becomes_due_is_sent_once(hub: Hub, redis_server: RedisServer) -> None:
    id_ = _enqueue(hub, run_at=datetime.now(UTC) + timedelta(seconds=60))
    assert steps.relay(hub) == 0
    hub.clock.advance(61)
    assert steps.relay(hub) == 1
    assert steps.relay(hub) == 0
    assert _sent(hub, redis_server) == [[id_, 0]]


def test_reprocessed_event_is_sent_with_its_new_epoch(hub: Hub, redis_server: RedisServer) -> None:
    id_ = _enqueue(hub, run_at=datetime.now(UTC) + timedelta(seconds=60))
    with hub.store.write() as connection:
        connection.execute(hub.store.statement("UPDATE {event} SET status = 'dead', finished_at = {now}"))
    epoch = hub.reprocess(id_, actor="maria").lease_epoch
    assert steps.relay(hub) == 1
    assert _sent(hub, redis_server) == [[id_, epoch]]


def test_lost_message_is_sent_again_after_ever_longer_waits(hub: Hub, redis_server: RedisServer) -> None:
    _enqueue(hub)
    sent = [len(_sent(hub, redis_server))]
    # Far apart, so that no slow moment of this machine counts: before and after each wait.
    for wait in (LOST_AFTER, 3 * LOST_AFTER, 9 * LOST_AFTER):
        hub.clock.advance(wait - 5)
        steps.relay(hub)
        sent.append(len(_sent(hub, redis_server)))
        hub.clock.advance(6)
        steps.relay(hub)
        sent.append(len(_sent(hub, redis_server)))
    assert sent == [1, 1, 2, 2, 3, 3, 4]


def test_what_a_broker_that_was_away_did_not_take_is_sent_when_it_is_back(
    hub: Hub, redis_server: RedisServer
) -> None:
    with redis_server.stopped():
        id_ = _enqueue(hub)
        assert steps.relay(hub) == 0
    wait_until(lambda: steps.relay(hub) == 1, SOON, "the relay to find the broker")
    assert [id_, 0] in _sent(hub, redis_server)


def test_message_that_redis_evicted_with_its_whole_queue_is_sent_again(
    hub: Hub, redis_server: RedisServer
) -> None:
    id_ = _enqueue(hub)
    with redis_server.client() as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        client.config_set("maxmemory", "3mb")
        try:
            _fill_until(lambda: not client.exists(hub.store.queue(ACCOUNT)), client)
        finally:
            client.config_set("maxmemory", "0")
            client.config_set("maxmemory-policy", "noeviction")
    assert _sent(hub, redis_server) == []
    hub.clock.advance(LOST_AFTER + 1)
    assert steps.relay(hub) == 1
    assert _sent(hub, redis_server) == [[id_, 0]]


def test_event_of_a_closed_account_is_not_sent(hub: Hub, redis_server: RedisServer) -> None:
    _enqueue(hub, run_at=datetime.now(UTC) + timedelta(seconds=60))
    hub.clock.advance(61)
    with hub.store.write() as connection:
        closing.close(hub.store, connection, "account", ACCOUNT, 600, "too many calls")
    assert steps.relay(hub) == 0
    hub.clock.advance(601)
    # A step comes each second, so what waited is sent again right after.
    assert steps.relay(hub) == 1


def test_account_is_given_what_it_may_run_at_once_and_the_rest_stays_in_the_database(
    hub: Hub, redis_server: RedisServer
) -> None:
    presence.announce(hub.store, "worker", mode="celery", slots=4)
    hub.enqueue_many(NewEvent(kind="noop", account=ACCOUNT, entity_id=str(n), payload={}) for n in range(100))
    assert len(_sent(hub, redis_server)) == 3
    assert steps.relay(hub) == 0
    _enqueue(hub)
    assert len(_sent(hub, redis_server)) == 3


def test_accounts_without_end_are_told_of_in_a_few_statements(hub: Hub, redis_server: RedisServer) -> None:
    due = datetime.now(UTC) + timedelta(seconds=20)
    hub.enqueue_many(
        NewEvent(kind="noop", account=f"account-{n}", entity_id="1", payload={}, run_at=due)
        for n in range(300)
    )
    hub.clock.advance(21)
    assert steps.relay(hub) == 300
    with redis_server.client() as client:
        queues = list(client.scan_iter())
        assert sum(client.llen(queue) for queue in queues) == 300
        # Those beyond the accounts with queues of their own share some.
        assert hub.settings.max_queues < len(queues) <= hub.settings.max_queues + SHARDS


def _enqueue(hub: Hub, *, run_at: datetime | None = None) -> int:
    return hub.enqueue("noop", account=ACCOUNT, entity_id="1", payload={}, run_at=run_at).id


def _fill_until(done: Callable[[], bool], client: Redis) -> None:
    for number in range(10_000):
        if done():
            return
        client.set(f"filler-{number}", "x" * 10_000)
    raise AssertionError("Redis evicted nothing.")


def _sent(hub: Hub, redis_server: RedisServer) -> list[list[int]]:
    """The arguments of every message on the account's queue, oldest first."""
    with redis_server.client() as client:
        messages = client.lrange(hub.store.queue(ACCOUNT), 0, -1)
    assert isinstance(messages, list)
    return [_arguments(message) for message in reversed(messages)]


def _arguments(message: str) -> list[int]:
    arguments, _keywords, _chain = json.loads(base64.b64decode(json.loads(message)["body"]))
    assert isinstance(arguments, list)
    return arguments
