"""Do the figures of the broker tell what lies there, beside the table's, and never a zero for what nobody knows?"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from uuid import uuid4

import pytest
from kombu import Connection, Queue

from dlq_console import Event, Hub, Policy
from dlq_console.health.findings import BROKER, TOTAL
from dlq_console.store import snapshots
from dlq_console.watch.broker_figures import SEPARATOR, BrokerAway, read_broker, take_snapshot
from dlq_console.workers import steps
from tests.services.redis import RedisServer
from tests.watch.examined import hub_on

#: What is kept of one queue of Redis in which nothing lies.
EMPTY = {"ready": 0, "consumers": None, "missing": False}


def _nothing(_event: Event) -> None:
    return


@pytest.fixture
def brokered(sqlite_url: str, redis_url: str) -> Iterator[Hub]:
    made = hub_on(sqlite_url, broker_url=redis_url)
    made.handler("order.create", policy=Policy(timeout=5))(_nothing)
    made.handler("order.ship", policy=Policy(timeout=5, order="account"))(_nothing)
    made.publish_kinds("test")
    yield made
    made.close()


def _send(hub: Hub, number: int, *, account: str = "filial-sp", kind: str = "order.create") -> None:
    for entity in range(number):
        hub.enqueue(kind, account=account, entity_id=str(entity), payload={})


def test_depth_counts_every_priority_and_what_workers_hold(brokered: Hub, redis_server: RedisServer) -> None:
    _send(brokered, 3)
    _send(brokered, 2, account="filial-rj")
    _send(brokered, 2, account="filial-rj", kind="order.ship")
    with redis_server.client() as client:
        client.rpush(f"erp.filial-sp{SEPARATOR}9", "of another program")
        client.hset("unacked", "tag", "held by a worker")
    assert steps.read_broker(brokered) > 0
    kept = snapshots.look(brokered.store, BROKER)
    # Of a serial lane one message at a time is on its way.
    assert {name: value["ready"] for name, value in kept.values.items()} == {
        "erp.filial-rj": 2,
        "erp.filial-rj.serial": 1,
        "erp.filial-sp": 4,
        TOTAL: 7,
    }
    assert kept.values[TOTAL] == {
        "ready": 7,
        "unacked": 1,
        "sent": 6,
        "running": 0,
        "difference": 2,
        "complete": True,
    }


def test_emptied_queue_is_told_as_empty_and_the_difference_says_what_is_missing(
    brokered: Hub, redis_server: RedisServer
) -> None:
    _send(brokered, 3)
    take_snapshot(brokered)
    redis_server.flush()
    take_snapshot(brokered)
    values = snapshots.look(brokered.store, BROKER).values
    assert values["erp.filial-sp"] == EMPTY
    assert (values[TOTAL]["ready"], values[TOTAL]["sent"], values[TOTAL]["difference"]) == (0, 3, -3)


def test_broker_that_is_away_keeps_its_last_figures_and_their_age(
    brokered: Hub, redis_server: RedisServer
) -> None:
    _send(brokered, 3)
    take_snapshot(brokered)
    with redis_server.stopped():
        brokered.clock.advance(60)
        assert take_snapshot(brokered) == 0
        kept = snapshots.look(brokered.store, BROKER)
    assert kept.away
    assert kept.age >= 60
    assert kept.values[TOTAL]["ready"] == 3


def test_broker_that_was_never_reached_has_no_figures_at_all(sqlite_url: str) -> None:
    hub = hub_on(sqlite_url, broker_url="redis://127.0.0.1:1/0")
    take_snapshot(hub)
    kept = snapshots.look(hub.store, BROKER)
    assert (kept.values, bool(kept.away), kept.is_stale) == ({}, True, True)
    hub.close()


@pytest.mark.parametrize("scheme", ["redis", "amqp"])
def test_broker_that_never_answers_is_left_within_seconds(scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"{scheme}://guest:hidden@127.0.0.1:{silent.getsockname()[1]}//"
        url = url.removesuffix("/") if scheme == "redis" else url
        began = time.monotonic()
        with pytest.raises(BrokerAway) as raised:
            read_broker(url, ["erp.filial-sp"])
    assert time.monotonic() - began < 6
    assert "hidden" not in str(raised.value)


def test_without_a_broker_nothing_is_asked_or_kept(hub: Hub) -> None:
    assert steps.read_broker(hub) == 0
    assert snapshots.look(hub.store, BROKER) is snapshots.NOTHING


def test_rabbitmq_tells_depth_and_consumers_and_a_missing_queue_hides_no_other(rabbit_url: str) -> None:
    known, missing, last = (f"t{uuid4().hex[:12]}" for _ in range(3))
    with Connection(rabbit_url) as connection:
        channel = connection.channel()
        for name in (known, last):
            Queue(name, channel=channel).declare()
        with connection.Producer() as producer:
            producer.publish("one", routing_key=known)
            producer.publish("two", routing_key=last)
        time.sleep(0.1)
        found = read_broker(rabbit_url, [known, missing, last]).queues
        assert [(found[name].ready, found[name].consumers) for name in (known, last)] == [(1, 0), (1, 0)]
        assert found[missing].missing
        for name in (known, last):
            Queue(name, channel=channel).delete()
