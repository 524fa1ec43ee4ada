"""Does the publisher hand messages over, tell truly which, and never hold its caller up, whatever the broker does?"""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from celery import Celery, current_app
from kombu import Connection

from dlq_console import Hub
from dlq_console.clock import monotonic
from dlq_console.hub.dispatch import Message
from dlq_console.settings import read_settings
from dlq_console.workers import steps
from dlq_console.workers.celery_publisher import CeleryPublisher
from tests.services.process import PROJECT_ROOT, free_port, wait_until
from tests.services.rabbitmq import RabbitServer
from tests.services.redis import RedisServer
from tests.workers.table import SOON

#: The longest that a caller may be held up (seconds).
PROMISED = 3
QUEUE = "erp.filial-sp"


@pytest.fixture(params=["redis", "rabbit"])
def broker(request: pytest.FixtureRequest) -> RedisServer | RabbitServer:
    """A broker that the test may freeze or stop; the test runs once on each."""
    request.getfixturevalue(f"{request.param}_url")
    server: RedisServer | RabbitServer = request.getfixturevalue(f"{request.param}_server")
    return server


@pytest.fixture
def connect() -> Iterator[Callable[[str], CeleryPublisher]]:
    """Makes publishers that are closed after the test."""
    with ExitStack() as stack:

        def make(url: str) -> CeleryPublisher:
            publisher = CeleryPublisher(url)
            stack.callback(publisher.close)
            return publisher

        yield make


Connect = Callable[[str], CeleryPublisher]


def _messages(count: int, queue: str = QUEUE) -> list[Message]:
    return [Message(number, 7, queue, 60.0) for number in range(1, count + 1)]


@contextmanager
def _silent_server() -> Iterator[str]:
    """An address at which connections are accepted by the kernel and nobody ever reads or writes."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(16)
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def test_message_names_event_epoch_and_limits_and_nothing_else(
    redis_url: str, redis_server: RedisServer, connect: Connect
) -> None:
    assert connect(redis_url).publish(_messages(2)) == [1, 2]
    with redis_server.client() as client:
        newest, oldest = client.lrange(QUEUE, 0, -1)
    message = json.loads(oldest)
    assert message["headers"]["task"] == "dlq_console.run_event"
    assert message["headers"]["timelimit"] == [63.0, None]
    assert message["headers"]["eta"] is message["headers"]["expires"] is None
    assert message["headers"]["ignore_result"] is True
    arguments, keywords, _ = json.loads(base64.b64decode(message["body"]))
    assert (arguments, keywords) == ([1, 7], {})
    assert json.loads(newest)["headers"]["id"] != message["headers"]["id"]


def test_redis_holds_one_key_per_account_and_no_bindings(
    redis_url: str, redis_server: RedisServer, connect: Connect
) -> None:
    queues = [f"erp.filial-{n}" for n in range(5)]
    publisher = connect(redis_url)
    for queue in queues:
        publisher.publish(_messages(1, queue))
    with redis_server.client() as client:
        assert sorted(client.scan_iter()) == queues


def test_rabbitmq_keeps_queue_and_messages_through_a_restart_and_is_found_again(
    rabbit_url: str, rabbit_server: RabbitServer, connect: Connect
) -> None:
    queue = "erp.durable"
    publisher = connect(rabbit_url)
    assert publisher.publish(_messages(2, queue)) == [1, 2]
    with rabbit_server.stopped():
        # The connection is open still, for all that its client library knows.
        assert publisher.publish(_messages(1, queue)) == []
    wait_until(lambda: publisher.publish(_messages(1, queue)) == [1], SOON, "messages to be taken again")
    with Connection(rabbit_url) as connection:
        channel: Any = connection.default_channel
        assert channel.queue_delete(queue) == 3


def test_queue_deleted_behind_the_publisher_s_back_costs_no_message(
    rabbit_url: str, connect: Connect
) -> None:
    queue = "erp.deleted"
    publisher = connect(rabbit_url)
    publisher.publish(_messages(1, queue))
    with Connection(rabbit_url) as connection:
        channel: Any = connection.default_channel
        channel.queue_delete(queue)
        assert publisher.publish(_messages(1, queue)) == [1]
        assert channel.queue_delete(queue) == 1


def test_broker_that_refuses_holds_nobody_up(connect: Connect) -> None:
    for scheme in ("redis", "amqp"):
        _expect_nothing_sent_in_time(connect(f"{scheme}://127.0.0.1:{free_port()}/"))


@pytest.mark.parametrize("scheme", ["redis", "amqp"])
def test_broker_that_never_answers_holds_nobody_up(connect: Connect, scheme: str) -> None:
    with _silent_server() as address:
        _expect_nothing_sent_in_time(connect(f"{scheme}://{address}/"))


def test_frozen_broker_holds_nobody_up_and_is_found_again(
    broker: RedisServer | RabbitServer, connect: Connect
) -> None:
    publisher = connect(broker.url)
    assert publisher.publish(_messages(1)) == [1]
    with broker.paused():
        _expect_nothing_sent_in_time(publisher)
    wait_until(lambda: publisher.publish(_messages(1)) == [1], SOON, "messages to be taken again")


def test_message_that_rabbitmq_did_not_confirm_is_not_called_sent(
    rabbit_url: str, rabbit_server: RabbitServer, connect: Connect
) -> None:
    publisher = connect(rabbit_url)
    # Out of memory, the broker reads nothing more and says so to nobody who does not wait for its confirmation.
    with rabbit_server.alarmed():
        _expect_nothing_sent_in_time(publisher)
    wait_until(lambda: publisher.publish(_messages(1)) == [1], SOON, "messages to be taken again")


def test_connection_that_died_while_it_was_idle_is_replaced(
    redis_url: str, redis_server: RedisServer, connect: Connect
) -> None:
    publisher = connect(redis_url)
    assert publisher.publish(_messages(1)) == [1]
    with redis_server.stopped():
        pass
    assert publisher.publish(_messages(1)) == [1]


def test_batch_that_takes_too_long_is_broken_off_and_the_rest_is_not_called_sent(
    redis_url: str, redis_server: RedisServer, connect: Connect
) -> None:
    sent = connect(redis_url).publish(_messages(100_000))
    assert 0 < len(sent) < 100_000
    assert sent == list(range(1, len(sent) + 1))
    with redis_server.client() as client:
        assert client.llen(QUEUE) >= len(sent)


def test_closed_publisher_opens_again_when_it_is_used(redis_url: str, connect: Connect) -> None:
    publisher = connect(redis_url)
    publisher.publish(_messages(1))
    publisher.close()
    assert publisher.publish(_messages(1)) == [1]


def test_forked_child_sends_over_a_connection_of_its_own(redis_url: str, redis_server: RedisServer) -> None:
    program = f"""
import os
from dlq_console.hub.dispatch import Message
from dlq_console.workers.celery_publisher import CeleryPublisher
publisher = CeleryPublisher({redis_url!r})
assert publisher.publish([Message(1, 0, {QUEUE!r}, 60.0)]) == [1]
children = []
for number in (2, 3):
    pid = os.fork()
    if pid == 0:
        os._exit(publisher.publish([Message(number, 0, {QUEUE!r}, 60.0)]) != [number])
    children.append(pid)
assert [os.waitpid(pid, 0)[1] for pid in children] == [0, 0]
assert publisher.publish([Message(4, 0, {QUEUE!r}, 60.0)]) == [4]
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=PROJECT_ROOT, env=dict(os.environ))
    with redis_server.client() as client:
        assert client.llen(QUEUE) == 4


def test_publisher_leaves_the_host_s_own_celery_application_alone(redis_url: str, connect: Connect) -> None:
    host = Celery("host", broker="memory://")
    host.set_current()
    try:
        connect(redis_url).publish(_messages(1))
        assert current_app.main == "host"
    finally:
        host.close()


@pytest.mark.parametrize("fault", ["refuses", "never answers", "is frozen"])
def test_enqueue_returns_while_the_broker_is_away_and_the_relay_sends_later(
    sqlite_url: str, redis_url: str, redis_server: RedisServer, fault: str
) -> None:
    with ExitStack() as stack:
        if fault == "refuses":
            url = f"redis://127.0.0.1:{free_port()}/0"
        elif fault == "never answers":
            url = f"redis://{stack.enter_context(_silent_server())}/0"
        else:
            url = redis_url
            stack.enter_context(redis_server.paused())
        hub = Hub(read_settings(database_url=sqlite_url, broker_url=url))
        stack.callback(hub.close)
        began = monotonic()
        id_ = hub.enqueue("noop", account="filial-sp", entity_id="1", payload={}).id
        assert monotonic() - began < PROMISED
        assert hub.get(id_).status == "pending"
    hub = Hub(read_settings(database_url=sqlite_url, broker_url=redis_url))
    assert steps.relay(hub) == 1
    hub.close()
    with redis_server.client() as client:
        assert client.llen(QUEUE) >= 1


def _expect_nothing_sent_in_time(publisher: CeleryPublisher) -> None:
    began = monotonic()
    assert publisher.publish(_messages(1)) == []
    # Known to be away by now: a thousand more callers do not wait for it one after the other.
    for _ in range(1_000):
        assert publisher.publish(_messages(1)) == []
    assert monotonic() - began < PROMISED
