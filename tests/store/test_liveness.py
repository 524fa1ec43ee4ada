"""A connection that died in the pool is replaced before anybody uses it, and one that lives is not asked each time."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy import text

from dlq_console.store import liveness
from dlq_console.store.store import Store
from tests.services.postgres import PostgresServer
from tests.services.process import wait_until

PROCESS = text("SELECT pg_backend_pid()")


@pytest.fixture
def store(postgres_url: str) -> Iterator[Store]:
    store = Store(postgres_url)
    yield store
    store.engines.dispose()


@pytest.fixture
def server(postgres_server: PostgresServer) -> Iterator[psycopg.Connection]:
    """A connection of an administrator."""
    with postgres_server.connect() as connection:
        yield connection


def process_of(store: Store) -> int:
    """The server process behind the connection that the pool gives next."""
    with store.read() as connection:
        return int(connection.execute(PROCESS).scalar_one())


def last_question(server: psycopg.Connection, process: int) -> str:
    found = server.execute("SELECT query FROM pg_stat_activity WHERE pid = %s", [process]).fetchone()
    assert found is not None
    return str(found[0])


def end(server: psycopg.Connection, process: int) -> None:
    server.execute("SELECT pg_terminate_backend(%s)", [process])
    gone = "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = %s)"
    wait_until(lambda: (server.execute(gone, [process]).fetchone() or (False,))[0], 10, "the end of it")


@pytest.mark.parametrize("use", ["read", "write", "single_statement"])
def test_a_connection_that_the_server_closed_is_replaced(
    store: Store, server: psycopg.Connection, use: str
) -> None:
    ended = process_of(store)
    end(server, ended)

    with getattr(store, use)() as connection:
        assert connection.execute(PROCESS).scalar_one() != ended


def test_all_connections_of_the_pool_are_replaced_when_one_was_closed(
    store: Store, server: psycopg.Connection
) -> None:
    with store.read() as first, store.read() as second:
        ended = {connection.execute(PROCESS).scalar_one() for connection in (first, second)}
    for process in ended:
        end(server, process)

    with store.read() as first, store.read() as second:
        assert ended.isdisjoint(connection.execute(PROCESS).scalar_one() for connection in (first, second))


def test_a_connection_that_lives_is_not_asked(store: Store, server: psycopg.Connection) -> None:
    process = process_of(store)

    with store.read():
        assert last_question(server, process) == str(PROCESS)


def test_a_connection_that_was_idle_for_long_is_asked(
    store: Store, server: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = process_of(store)
    monkeypatch.setattr(liveness, "BELIEVED", -1.0)

    with store.read():
        assert last_question(server, process) != str(PROCESS)
    assert process_of(store) == process


def test_a_connection_with_news_from_a_living_server_is_kept(
    store: Store, server: psycopg.Connection, postgres_server: PostgresServer
) -> None:
    with store.read() as connection:
        process = connection.execute(PROCESS).scalar_one()
        connection.execute(text("LISTEN something"))
        pooled = connection.connection.driver_connection
        database = connection.engine.url.database
    assert isinstance(pooled, psycopg.Connection)
    with postgres_server.connect(str(database)) as other:
        other.execute("NOTIFY something")
        wait_until(lambda: liveness.has_something_to_read(pooled), 10, "the news")

    assert process_of(store) == process
