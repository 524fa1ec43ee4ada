"""A statement that goes past SQLAlchemy keeps its transaction, its errors and its silence about values."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import IntegrityError

from dlq_console.errors import StoreUnavailable
from dlq_console.store.direct import execute
from dlq_console.store.store import Store
from tests.services.postgres import PostgresServer
from tests.store.making import add, row

RENAME = "UPDATE {event} SET kind = :kind WHERE id = :id"


@pytest.fixture
def store(postgres_url: str) -> Iterator[Store]:
    store = Store(postgres_url)
    yield store
    store.engines.dispose()


def test_it_belongs_to_the_transaction_of_its_connection(store: Store) -> None:
    id_ = add(store).id

    with store.write() as connection:
        assert rename(store, connection, id_) == 1
        connection.rollback()
    assert row(store, id_)["kind"] == "order.create"

    with store.write() as connection:
        assert rename(store, connection, id_) == 1
    assert row(store, id_)["kind"] == "invoice.issue"


def test_a_refused_statement_is_the_error_that_sqlalchemy_would_raise_and_shows_no_values(
    store: Store,
) -> None:
    id_ = add(store).id
    template = "UPDATE {event} SET status = :kind WHERE id = :id"

    with store.single_statement() as connection, pytest.raises(IntegrityError) as refused:
        execute(store, connection, template, {"id": id_, "kind": "no such status"})

    assert refused.value.params is None
    assert not refused.value.connection_invalidated


def test_a_connection_that_ends_in_between_is_told_and_replaced(
    store: Store, postgres_server: PostgresServer
) -> None:
    id_ = add(store).id

    with pytest.raises(StoreUnavailable, match="was lost"):
        rename_after_the_end(store, postgres_server, id_)

    with store.single_statement() as connection:
        assert rename(store, connection, id_) == 1


def rename(store: Store, connection: Connection, id_: int) -> int:
    return int(execute(store, connection, RENAME, {"id": id_, "kind": "invoice.issue"}).rowcount)


def rename_after_the_end(store: Store, server: PostgresServer, id_: int) -> None:
    with server.connect() as administrator, store.single_statement() as connection:
        process = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        administrator.execute("SELECT pg_terminate_backend(%s, 10000)", [process])
        rename(store, connection, id_)
