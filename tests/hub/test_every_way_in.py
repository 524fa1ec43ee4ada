"""Enqueue over the caller's own DB-API connection: the event shares the fate of its transaction, the relay tells of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import psycopg2
import psycopg2.extras
import pytest
from psycopg.rows import dict_row
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from dlq_console import (
    Enqueued,
    Hub,
    IdempotencyConflict,
    NewEvent,
    PayloadRefused,
    PermanentError,
    StoreUnavailable,
)
from dlq_console.workers.steps import relay
from tests.hub.recording import Recorder
from tests.store.making import row, rows, wait_for_a_lock

pytestmark = pytest.mark.usefixtures("recorder")


def address(hub: Hub) -> str:
    """The database of the hub as its driver wants it named."""
    return hub.settings.database_url.replace("+psycopg", "").removeprefix("sqlite:///")


@dataclass(frozen=True)
class Driver:
    """How a caller connects.

    Attributes:
        open: makes a connection to an address.
        begin: what the caller has to say to begin a transaction.
        by_itself: the same connection, committing each statement.
    """

    fixture: str
    open: Callable[[str], Any]
    by_itself: Callable[[str], Any]
    begin: str = ""


DRIVERS = {
    "sqlite3": Driver(
        "sqlite_url", sqlite3.connect, lambda file: sqlite3.connect(file, isolation_level=None)
    ),
    "sqlite3, begins by hand": Driver(
        "sqlite_url",
        lambda file: sqlite3.connect(file, isolation_level=None),
        lambda file: sqlite3.connect(file, isolation_level=None),
        begin="BEGIN",
    ),
    "psycopg": Driver("postgres_url", psycopg.connect, lambda dsn: psycopg.connect(dsn, autocommit=True)),
    "psycopg2": Driver("postgres_url", psycopg2.connect, lambda dsn: _committing(psycopg2.connect(dsn))),
}


def _committing(connection: Any) -> Any:
    connection.autocommit = True
    return connection


@pytest.fixture(params=list(DRIVERS))
def driver(request: pytest.FixtureRequest) -> Driver:
    return DRIVERS[request.param]


@pytest.fixture
def database_url(driver: Driver, request: pytest.FixtureRequest) -> str:
    url: str = request.getfixturevalue(driver.fixture)
    return url


@pytest.fixture
def connection(hub: Hub, driver: Driver) -> Iterator[Any]:
    """The caller's connection, in a transaction in which something has been done."""
    with closing(driver.open(address(hub))) as connection:
        run(connection, "CREATE TABLE business (name TEXT)")
        connection.commit()
        begin(connection, driver)
        run(connection, "INSERT INTO business VALUES ('an order')")
        yield connection


def begin(connection: Any, driver: Driver) -> None:
    if driver.begin:
        run(connection, driver.begin)


def run(connection: Any, sql: str) -> Any:
    cursor = connection.cursor()
    cursor.execute(sql)
    answer = cursor.fetchall() if cursor.description else None
    cursor.close()
    return answer


def enqueue(hub: Hub, session: Any, number: object = 1, **values: Any) -> Enqueued:
    fields: dict[str, Any] = {
        "kind": "order.create",
        "account": "filial-sp",
        "entity_id": str(number),
        "payload": {"number": number, "text": "100 % :sure %(x)s"},
    }
    return hub.enqueue(session=session, **(fields | values))


def new(number: object, **values: Any) -> NewEvent:
    return NewEvent(
        kind="order.create",
        account="filial-sp",
        entity_id=str(number),
        **({"payload": {"number": number}} | values),
    )


def numbers(hub: Hub) -> list[str]:
    return [kept["entity_id"] for kept in rows(hub.store)]


def dead(hub: Hub) -> int:
    """An event that its handler refused for good."""

    def refuse(_event: object) -> None:
        raise PermanentError("no such customer")

    hub.handler("order.create")(refuse)
    made = enqueue(hub, None, "dead")
    assert hub.run(made.id).status == "dead"
    return made.id


# Joined


def test_the_event_is_committed_with_the_work_and_told_by_the_relay(
    hub: Hub, recorder: Recorder, connection: Any
) -> None:
    at = datetime.now(UTC) - timedelta(hours=1)
    made = enqueue(hub, connection, run_at=at)
    assert (made.created, made.status, numbers(hub)) == (True, "pending", [])
    connection.commit()
    assert recorder.sent == []
    assert relay(hub) == 1
    assert recorder.ids == [made.id]
    event = made.event
    assert event.payload == {"number": 1, "text": "100 % :sure %(x)s"}
    assert event.next_run_at == event.created_at
    assert run(connection, "SELECT name FROM business") == [("an order",)]


def test_a_rollback_takes_the_event_with_it(hub: Hub, recorder: Recorder, connection: Any) -> None:
    enqueue(hub, connection)
    hub.enqueue_many([new(2), new(3)], session=connection)
    connection.rollback()
    assert (numbers(hub), relay(hub), recorder.sent) == ([], 0, [])
    assert run(connection, "SELECT name FROM business") == []


def test_a_savepoint_takes_only_what_is_inside_it(hub: Hub, connection: Any) -> None:
    enqueue(hub, connection, "outside")
    run(connection, "SAVEPOINT here")
    enqueue(hub, connection, "inside")
    run(connection, "ROLLBACK TO SAVEPOINT here")
    connection.commit()
    assert numbers(hub) == ["outside"]


def test_the_enqueue_may_come_first_in_the_transaction(hub: Hub, driver: Driver) -> None:
    with closing(driver.open(address(hub))) as connection:
        begin(connection, driver)
        enqueue(hub, connection)
        connection.rollback()
        assert numbers(hub) == []
        begin(connection, driver)
        enqueue(hub, connection)
        connection.commit()
    assert numbers(hub) == ["1"]


def test_a_repeat_and_many_are_answered_in_their_order(hub: Hub, connection: Any) -> None:
    first = enqueue(hub, connection)
    again = enqueue(hub, connection)
    assert (again.id, again.created) == (first.id, False)
    made = hub.enqueue_many([new(3), new(2), new(3)], session=connection)
    assert [each.created for each in made] == [True, True, False]
    connection.commit()
    assert [hub.get(each.id).entity_id for each in made] == ["3", "2", "3"]


def test_a_refusal_or_a_conflict_leaves_the_transaction_as_it_was(hub: Hub, connection: Any) -> None:
    enqueue(hub, connection, "known", idempotency_key="mine")
    with pytest.raises(PayloadRefused):
        enqueue(hub, connection, payload="\x00")
    with pytest.raises(IdempotencyConflict):
        enqueue(hub, connection, "known", idempotency_key="mine", payload=2)
    with pytest.raises(IdempotencyConflict):
        hub.enqueue_many([new(1), new("known", idempotency_key="mine", payload=3)], session=connection)
    connection.commit()
    assert numbers(hub) == ["known"]
    assert run(connection, "SELECT name FROM business") == [("an order",)]


def test_a_dead_event_is_run_again_when_the_transaction_is_committed(
    hub: Hub, recorder: Recorder, connection: Any, driver: Driver
) -> None:
    connection.rollback()
    id_ = dead(hub)
    recorder.sent.clear()
    for end, status in ((connection.rollback, "dead"), (connection.commit, "pending")):
        begin(connection, driver)
        assert enqueue(hub, connection, "dead", on_duplicate="reprocess_dead").status == "pending"
        end()
        assert hub.get(id_).status == status
    relay(hub)
    assert (recorder.ids, hub.get(id_).cycle) == ([id_], 1)


def test_rows_may_look_as_the_caller_likes(hub: Hub, driver: Driver, connection: Any) -> None:
    if driver.open is psycopg2.connect:
        connection.cursor_factory = psycopg2.extras.RealDictCursor
    else:
        connection.row_factory = dict_row if driver.open is psycopg.connect else sqlite3.Row
    if isinstance(connection, sqlite3.Connection):
        connection.text_factory = bytes
    made = enqueue(hub, connection)
    assert enqueue(hub, connection).id == made.id
    connection.commit()
    assert numbers(hub) == ["1"]


# A connection that commits each statement by itself


def test_a_connection_without_a_transaction_gets_one_for_the_enqueue_and_tells_at_once(
    hub: Hub, recorder: Recorder, driver: Driver
) -> None:
    with closing(driver.by_itself(address(hub))) as connection:
        made = enqueue(hub, connection)
        assert recorder.ids == [made.id]
        with pytest.raises(IdempotencyConflict):
            hub.enqueue_many(
                [new(2), new(3, idempotency_key="a", payload=1), new(3, idempotency_key="a", payload=2)],
                session=connection,
            )
        enqueue(hub, connection)
        assert run(connection, "SELECT 1") == [(1,)]
    assert (numbers(hub), recorder.ids) == (["1"], [made.id])
    assert row(hub.store, made.id)["duplicates"] == 1


def test_a_transaction_begun_on_such_a_connection_is_joined(
    hub: Hub, recorder: Recorder, driver: Driver
) -> None:
    with closing(driver.by_itself(address(hub))) as connection:
        run(connection, "BEGIN")
        enqueue(hub, connection)
        run(connection, "ROLLBACK")
        assert (numbers(hub), recorder.sent) == ([], [])
        run(connection, "BEGIN")
        enqueue(hub, connection)
        run(connection, "COMMIT")
    assert (numbers(hub), recorder.ids) == (["1"], [])
    assert relay(hub) == 1


def test_many_over_sqlalchemys_connection_without_a_transaction_are_all_or_none(
    hub: Hub, recorder: Recorder
) -> None:
    engine = create_engine(hub.settings.database_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        with pytest.raises(IdempotencyConflict):
            hub.enqueue_many(
                [new(1), new(2, idempotency_key="a", payload=1), new(2, idempotency_key="a", payload=2)],
                session=connection,
            )
        assert numbers(hub) == []
        connection.exec_driver_sql("BEGIN")
        hub.enqueue_many([new(1), new(2)], session=connection)
        connection.exec_driver_sql("ROLLBACK")
        assert (numbers(hub), recorder.sent) == ([], [])
        hub.enqueue_many([new(1), new(2)], session=connection)
    assert (numbers(hub), len(recorder.sent)) == (["1", "2"], 2)
    engine.dispose()


# Several at once


def test_of_two_transactions_with_one_key_the_second_gets_in_when_the_first_rolls_back(
    hub: Hub, driver: Driver
) -> None:
    with ThreadPoolExecutor(1) as pool, closing(driver.open(address(hub))) as first:
        begin(first, driver)
        assert enqueue(hub, first).created
        second = pool.submit(_enqueue_and_commit, hub, driver)
        if not hub.store.sqlite:
            wait_for_a_lock(hub.store)
        first.rollback()
        made = second.result(20)
        assert made.created
        begin(first, driver)
        repeat = enqueue(hub, first)
        first.commit()
    assert (repeat.id, repeat.created, numbers(hub)) == (made.id, False, ["1"])


def _enqueue_and_commit(hub: Hub, driver: Driver) -> Enqueued:
    with closing(driver.open(address(hub))) as connection:
        begin(connection, driver)
        made = enqueue(hub, connection)
        connection.commit()
    return made


# What is no way in


def test_an_async_connection_of_a_driver_is_refused_by_name(hub: Hub) -> None:
    connection: Any = psycopg.AsyncConnection.__new__(psycopg.AsyncConnection)
    with pytest.raises(TypeError, match="not AsyncConnection"):
        enqueue(hub, connection)


def test_a_connection_that_answers_later_is_refused(hub: Hub) -> None:
    if hub.store.sqlite:
        return  # its driver has no such mode
    with psycopg.connect(address(hub)) as connection:
        with connection.pipeline(), pytest.raises(TypeError, match="leave the pipeline first"):
            enqueue(hub, connection)
        assert enqueue(hub, connection).created


def test_a_session_on_a_database_without_the_tables_is_told_where_they_belong(
    hub: Hub, tmp_path: Any
) -> None:
    if hub.store.sqlite:
        with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
            _refused_for_want_of_tables(hub, connection)
    else:
        with psycopg.connect(address(hub)) as connection:
            connection.execute("SET search_path TO pg_temp")
            _refused_for_want_of_tables(hub, connection)
        engine = create_engine(hub.settings.database_url, connect_args={"options": "-csearch_path=pg_temp"})
        with Session(engine) as session:
            _refused_for_want_of_tables(hub, session)
        engine.dispose()


def _refused_for_want_of_tables(hub: Hub, session: Any) -> None:
    with pytest.raises(StoreUnavailable, match=r"has no tables of DLQ Console.*db upgrade"):
        enqueue(hub, session)
