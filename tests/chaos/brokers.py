"""What is done to the broker of a storm, and to the messages that wait there?"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random
from typing import Any, ClassVar

import redis
from amqp.exceptions import AMQPError, NotFound
from kombu import Connection
from kombu.exceptions import OperationalError

from tests.chaos.documents import ACCOUNTS
from tests.services.process import POLL_SECONDS
from tests.services.rabbitmq import RabbitServer
from tests.services.redis import RedisServer

#: So often waiting messages are looked for: they rarely wait for long.
LOOKS = 20
#: Seconds that a broker may take for an answer; nobody waits for one that is frozen.
PATIENCE = 0.5


class Broker(ABC):
    """A broker under attack. While it does not answer, nothing can be done to its messages.

    Args:
        server: the running server.
    """

    #: What its client raises when it does not answer.
    away: ClassVar[tuple[type[Exception], ...]]

    def __init__(self, server: RedisServer | RabbitServer) -> None:
        self.server = server

    @property
    def url(self) -> str:
        """Its address."""
        return self.server.url

    def restore(self) -> None:
        """It runs and answers again."""
        self.server.restore()

    def double(self, choice: Random) -> int:
        """Put a copy behind some of the waiting messages; returns how many."""
        return self._look(self._double, choice)

    def drop(self, choice: Random) -> int:
        """Take some of the waiting messages away; returns how many."""
        return self._look(self._drop, choice)

    def empty(self) -> bool:
        """Let it forget every message; False if it did not answer."""
        with suppress(*self.away):
            self._empty()
            return True
        return False

    @abstractmethod
    def freeze(self, seconds: float) -> None:
        """Let it accept and not answer, for so long or until it is restored."""

    @abstractmethod
    def _empty(self) -> None: ...

    @abstractmethod
    def _double(self, choice: Random) -> int: ...

    @abstractmethod
    def _drop(self, choice: Random) -> int: ...

    def _look(self, act: Callable[[Random], int], choice: Random) -> int:
        with suppress(*self.away):
            for _ in range(LOOKS):
                if changed := act(choice):
                    return changed
                time.sleep(POLL_SECONDS)
        return 0


class RedisBroker(Broker):
    """Redis, which holds a queue as a list, and forgets all of them when it ends."""

    server: RedisServer
    away = (redis.RedisError,)

    def freeze(self, seconds: float) -> None:
        """CLIENT PAUSE, which ends by itself."""
        with suppress(*self.away), self._client() as client:
            client.client_pause(int(seconds * 1000))

    def _empty(self) -> None:
        with self._client() as client:
            client.flushall()

    def _double(self, choice: Random) -> int:
        doubled = 0
        with self._client() as client:
            for queue in _some_queues(client, choice):
                waiting = client.lrange(queue, 0, -1)
                doubled += len(waiting) if waiting and client.rpush(queue, *waiting) else 0
        return doubled

    def _drop(self, choice: Random) -> int:
        with self._client() as client:
            return sum(client.lpop(queue) is not None for queue in _some_queues(client, choice))

    def _client(self) -> redis.Redis:
        return self.server.client(timeout=PATIENCE)


def _some_queues(client: redis.Redis, choice: Random) -> list[str]:
    queues = sorted(client.scan_iter("erp.*", _type="list"))
    return choice.sample(queues, (len(queues) + 1) // 2)


class RabbitBroker(Broker):
    """RabbitMQ, whose queues and messages outlive a restart."""

    server: RabbitServer
    away = (OSError, AMQPError, OperationalError)

    def freeze(self, seconds: float) -> None:
        """SIGSTOP until it is restored."""
        self.server.pause()

    def _empty(self) -> None:
        self._change(ACCOUNTS, _purge)

    def _double(self, choice: Random) -> int:
        return self._change(choice.sample(ACCOUNTS, len(ACCOUNTS) // 2), _double_first)

    def _drop(self, choice: Random) -> int:
        return self._change(choice.sample(ACCOUNTS, len(ACCOUNTS) // 2), _take_first)

    def _change(self, accounts: Sequence[str], change: Callable[[Any, str], int]) -> int:
        """Change each of their queues that exists; returns how many messages were changed."""
        changed = 0
        with self._connection() as connection:
            for queue in (f"erp.{account}{suffix}" for account in accounts for suffix in ("", ".serial")):
                channel: Any = connection.channel()
                with suppress(NotFound):  # which closes the channel
                    changed += change(channel, queue)
                    channel.close()
        return changed

    def _connection(self) -> Connection:
        limits = {"read_timeout": PATIENCE, "write_timeout": PATIENCE}
        return Connection(self.url, connect_timeout=PATIENCE, transport_options=limits)


def _purge(channel: Any, queue: str) -> int:
    return int(channel.queue_purge(queue))


def _double_first(channel: Any, queue: str) -> int:
    message = channel.basic_get(queue)
    if message is None:
        return 0
    channel.basic_publish(message, routing_key=queue)
    channel.basic_reject(message.delivery_tag, requeue=True)
    return 1


def _take_first(channel: Any, queue: str) -> int:
    return int(channel.basic_get(queue, no_ack=True) is not None)
