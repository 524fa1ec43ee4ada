"""Which servers does each set-up of the storm stand on, and what is done to them?"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

import psycopg

from dlq_console.store.migrate import upgrade
from tests.chaos.brokers import Broker, RabbitBroker, RedisBroker
from tests.services.postgres import PostgresServer
from tests.services.rabbitmq import RabbitServer
from tests.services.redis import RedisServer

#: A commit that was answered is in the hands of the operating system and so survives the death of the server, which is
#: all that dies here.
KEPT = {"synchronous_commit": "on"}
_RUNNING = "SELECT id, lease_epoch, lease_owner FROM dlq_event WHERE status = 'running'"


@dataclass
class Servers:
    """The servers of one storm; None where the set-up has none."""

    database_url: str
    database: str
    postgres: PostgresServer | None = None
    broker: Broker | None = None

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


@contextmanager
def servers_of(setup: str, folder: Path) -> Iterator[Servers]:
    """The servers of a set-up with an empty, migrated database, inside the block."""
    database, _, mode = setup.partition("-")
    with ExitStack() as stack:
        broker = _broker(stack, mode)
        if database == "sqlite":
            path = folder / "storm.db"
            servers = Servers(f"sqlite:///{path}", str(path), None, broker)
        else:
            server = stack.enter_context(PostgresServer(KEPT))
            servers = Servers(server.create_database("storm"), "storm", server, broker)
        upgrade(servers.database_url)
        yield servers


def _broker(stack: ExitStack, mode: str) -> Broker | None:
    if mode == "celery":
        return RedisBroker(stack.enter_context(RedisServer()))
    if mode == "rabbitmq":
        return RabbitBroker(stack.enter_context(RabbitServer()))
    return None
