"""Which servers does each set-up of the storm stand on, and what is done to them?"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

import psycopg
import redis

from dlq_console.store.migrate import upgrade
from tests.services.postgres import PostgresServer
from tests.services.process import POLL_SECONDS
from tests.services.redis import RedisServer

#: A commit that was answered is in the hands of the operating system and so survives the death of the server, which is
#: all that dies here.
KEPT = {"synchronous_commit": "on"}
#: Queues of the hub on the broker.
QUEUES = "erp.*"
_RUNNING = "SELECT id, lease_epoch, lease_owner FROM dlq_event WHERE status = 'running'"
#: So often waiting messages are looked for.
LOOKS = 20


@dataclass
class Servers:
    """The servers of one storm; None where the set-up has none."""

    database_url: str
    database: str
    postgres: PostgresServer | None = None
    broker: RedisServer | None = None

    @property
    def settings(self) -> dict[str, str]:
        """Settings of the hub for this set-up."""
        return {
            "DLQ_DATABASE_URL": self.database_url,
            "DLQ_BROKER_URL": self.broker.url if self.broker else "",
        }

    def connect(self) -> psycopg.Connection | sqlite3.Connection:
        """A connection of the bare driver; the caller closes it."""
        if self.postgres is None:
            return sqlite3.connect(self.database)
        return self.postgres.connect(self.database)

    def running(self) -> dict[int, tuple[int, str]]:
        """Event -> epoch and owner of what is run at this moment; empty while the database is away."""
        with (
            suppress(psycopg.OperationalError, sqlite3.OperationalError),
            closing(self.connect()) as connection,
        ):
            return {event: (epoch, owner) for event, epoch, owner in connection.execute(_RUNNING)}
        return {}

    def restore(self) -> None:
        """Everything runs again."""
        for server in (self.postgres, self.broker):
            if server is not None:
                server.restore()

    # What is done to them

    def stop_postgres(self, *, crash: bool) -> None:
        """End it in order or as by a crash."""
        assert self.postgres is not None
        if self.postgres.running:
            self.postgres.kill() if crash else self.postgres.stop()

    def terminate_backends(self, choice: Random) -> int:
        """End some of the sessions at the database; returns how many."""
        if self.postgres is None or not self.postgres.running:
            return 0
        with suppress(psycopg.OperationalError), closing(self.postgres.connect(self.database)) as connection:
            others = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            pids = sorted(pid for (pid,) in connection.execute(others))
            chosen = choice.sample(pids, (len(pids) + 1) // 2)
            connection.execute("SELECT pg_terminate_backend(pid) FROM unnest(%s::int[]) AS t(pid)", [chosen])
            return len(chosen)
        return 0

    def hold_sqlite(self, let_go: threading.Event, seconds: float) -> None:
        """Be another program that writes for so many seconds, so that nobody else can."""
        connection = sqlite3.connect(self.database, timeout=seconds, isolation_level=None)
        with closing(connection), suppress(sqlite3.OperationalError):  # somebody else held it all the time
            connection.execute("BEGIN IMMEDIATE")
            let_go.wait(seconds)
            connection.execute("ROLLBACK")

    def pause_redis(self, seconds: float) -> None:
        """Let it accept and not answer."""
        self._on_redis(lambda client: client.client_pause(int(seconds * 1000)))

    def flush_redis(self) -> None:
        """Let it forget everything."""
        self._on_redis(lambda client: client.flushall())

    def double_messages(self, choice: Random) -> int:
        """Put a copy behind some of the waiting messages; returns how many."""
        return self._with_messages(choice, _double)

    def drop_messages(self, choice: Random) -> int:
        """Take some of the waiting messages away; returns how many."""
        return self._with_messages(choice, _drop)

    def _with_messages(self, choice: Random, act: Callable[[redis.Redis, str], int]) -> int:
        changed = 0

        def some(client: redis.Redis) -> None:
            nonlocal changed
            queues = sorted(client.scan_iter(QUEUES, _type="list"))
            for queue in choice.sample(queues, (len(queues) + 1) // 2):
                changed += act(client, queue)

        # Messages rarely wait for long, so it is looked for them more than once.
        for _ in range(LOOKS):
            self._on_redis(some)
            if changed:
                break
            time.sleep(POLL_SECONDS)
        return changed

    def _on_redis(self, act: Callable[[redis.Redis], object]) -> None:
        assert self.broker is not None
        with suppress(redis.RedisError), self.broker.client(timeout=0.5) as client:
            act(client)


def _double(client: redis.Redis, queue: str) -> int:
    waiting = client.lrange(queue, 0, -1)
    return len(waiting) if waiting and client.rpush(queue, *waiting) else 0


def _drop(client: redis.Redis, queue: str) -> int:
    return int(client.lpop(queue) is not None)


@contextmanager
def servers_of(setup: str, folder: Path) -> Iterator[Servers]:
    """The servers of a set-up with an empty, migrated database, inside the block."""
    database, _, mode = setup.partition("-")
    with ExitStack() as stack:
        broker = stack.enter_context(RedisServer()) if mode == "celery" else None
        if database == "sqlite":
            path = folder / "storm.db"
            servers = Servers(f"sqlite:///{path}", str(path), None, broker)
        else:
            server = stack.enter_context(PostgresServer(KEPT))
            servers = Servers(server.create_database("storm"), "storm", server, broker)
        upgrade(servers.database_url)
        yield servers
