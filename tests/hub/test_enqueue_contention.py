"""Enqueue where transactions stand in each other's way: the caller gets an error it can act on, and nothing is lost."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any

import psycopg
import pytest
from psycopg.errors import SerializationFailure
from sqlalchemy import Connection, create_engine, event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from dlq_console import Enqueued, Hub, NewEvent, StoreUnavailable
from dlq_console.settings import read_settings
from tests.store.making import rows


def enqueue(hub: Hub, session: Any, number: object = 1) -> Enqueued:
    return hub.enqueue(
        "order.create",
        account="filial-sp",
        entity_id=str(number),
        payload={"number": number},
        session=session,
    )


def numbers(hub: Hub) -> list[str]:
    return [kept["entity_id"] for kept in rows(hub.store)]


# Snapshots of PostgreSQL

STRICT = ("REPEATABLE READ", "SERIALIZABLE")


@pytest.fixture
def server_hub(postgres_url: str) -> Iterator[Hub]:
    hub = Hub(read_settings(database_url=postgres_url))
    yield hub
    hub.close()


@pytest.mark.parametrize("level", STRICT)
def test_a_caller_with_a_snapshot_enqueues_as_any_other(server_hub: Hub, level: str) -> None:
    hub = server_hub
    engine = create_engine(hub.settings.database_url, isolation_level=level)
    with Session(engine) as session:
        session.execute(text("SELECT count(*) FROM dlq_event"))
        made = enqueue(hub, session)
        assert enqueue(hub, session).id == made.id
        many = [new(1), new(2)]
        assert [each.created for each in hub.enqueue_many(many, session=session)] == [False, True]
        session.commit()
    assert numbers(hub) == ["1", "2"]
    engine.dispose()


def new(number: int) -> NewEvent:
    return NewEvent(
        kind="order.create", account="filial-sp", entity_id=str(number), payload={"number": number}
    )


@pytest.mark.parametrize("many", [False, True], ids=["one", "many"])
@pytest.mark.parametrize("level", STRICT)
def test_an_event_that_the_callers_snapshot_cannot_see_is_the_callers_own_serialization_failure(
    server_hub: Hub, level: str, many: bool
) -> None:
    hub = server_hub
    engine = create_engine(hub.settings.database_url, isolation_level=level)
    with Session(engine) as session:
        session.execute(text("SELECT 1 FROM dlq_event"))
        made = enqueue(hub, None)
        with pytest.raises(DBAPIError) as caught:
            hub.enqueue_many([new(1)], session=session) if many else enqueue(hub, session)
        assert isinstance(caught.value.orig, SerializationFailure)
        session.rollback()
        # As the caller does with every such failure.
        assert enqueue(hub, session).id == made.id
    engine.dispose()


def test_over_a_raw_connection_the_failure_is_that_of_its_driver(server_hub: Hub) -> None:
    with psycopg.connect(server_hub.settings.database_url.replace("+psycopg", "")) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute("SELECT 1 FROM dlq_event")
        enqueue(server_hub, None)
        with pytest.raises(SerializationFailure):
            enqueue(server_hub, connection)
        connection.rollback()
        assert not enqueue(server_hub, connection).created


# The one writer of SQLite


@pytest.fixture
def file_hub(sqlite_url: str) -> Iterator[Hub]:
    hub = Hub(read_settings(database_url=sqlite_url))
    yield hub
    hub.close()


@contextmanager
def deferred_by_sqlalchemy(file: str) -> Iterator[tuple[Any, Callable[[str], object], Callable[[], object]]]:
    engine = create_engine(f"sqlite:///{file}", connect_args={"timeout": 0.1})

    @event.listens_for(engine, "connect")
    def _leave_transactions_alone(connection: Any, _record: Any) -> None:
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    with Session(engine) as session:
        yield session, lambda sql: session.execute(text(sql)).all(), session.rollback
    engine.dispose()


@contextmanager
def deferred_by_hand(file: str) -> Iterator[tuple[Any, Callable[[str], object], Callable[[], object]]]:
    with closing(sqlite3.connect(file, isolation_level=None, timeout=0.1)) as connection:
        connection.execute("BEGIN")

        def roll_back() -> None:
            connection.rollback()
            connection.execute("BEGIN")

        yield connection, lambda sql: connection.execute(sql).fetchall(), roll_back


Deferred = Callable[[str], AbstractContextManager[tuple[Any, Callable[[str], object], Callable[[], object]]]]


@pytest.fixture(params=[deferred_by_sqlalchemy, deferred_by_hand], ids=["SQLAlchemy", "sqlite3"])
def deferred(request: pytest.FixtureRequest) -> Deferred:
    """Opens a transaction that begins with a plain BEGIN: a session, what reads in it, what ends it."""
    way: Deferred = request.param
    return way


def file_of(hub: Hub) -> str:
    return hub.settings.database_url.removeprefix("sqlite:///")


def test_a_transaction_that_read_before_somebody_else_wrote_is_told_how_to_begin(
    file_hub: Hub, deferred: Deferred
) -> None:
    with deferred(file_of(file_hub)) as (session, read, roll_back):
        read("SELECT 1 FROM dlq_event")
        enqueue(file_hub, None, "somebody else's")
        with pytest.raises(StoreUnavailable, match=r"it has read before.*BEGIN IMMEDIATE or do this before"):
            enqueue(file_hub, session)
        roll_back()
        assert enqueue(file_hub, session).created


def test_a_transaction_that_finds_the_database_locked_is_told_so(file_hub: Hub, deferred: Deferred) -> None:
    with (
        deferred(file_of(file_hub)) as (session, read, _),
        closing(sqlite3.connect(file_of(file_hub), isolation_level=None)) as writer,
    ):
        read("SELECT 1 FROM dlq_event")
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match=r"holds the write lock.*Nothing was written"):
            enqueue(file_hub, session)
        writer.execute("ROLLBACK")
        assert enqueue(file_hub, session).created


def test_a_plain_connection_of_sqlite3_begins_so_that_it_can_write(file_hub: Hub) -> None:
    """Its driver would begin a deferred transaction at the insert, and only if it took the statement for one."""
    with (
        closing(sqlite3.connect(file_of(file_hub))) as connection,
        closing(sqlite3.connect(file_of(file_hub), timeout=0)) as other,
    ):
        connection.execute("SELECT 1 FROM dlq_event").fetchall()
        enqueue(file_hub, None, "somebody else's")
        enqueue(file_hub, connection)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        connection.rollback()
    assert numbers(file_hub) == ["somebody else's"]


# Signals, threads, forks


@contextmanager
def interrupting(hub: Hub, statement: str) -> Iterator[list[Enqueued | StoreUnavailable]]:
    """While `statement` is executed for the first time, a signal handler enqueues; yields what came of it."""
    answers: list[Enqueued | StoreUnavailable] = []
    interrupted = threading.Event()

    def handle(_number: int, _frame: object) -> None:
        try:
            answers.append(enqueue(hub, None, "of the signal handler"))
        except StoreUnavailable as error:
            answers.append(error)

    def interrupt(_connection: object, _cursor: object, executed: str, *_: object) -> None:
        if statement in executed and not interrupted.is_set():
            interrupted.set()
            signal.raise_signal(signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, handle)
    engines = {hub.store.engines.write(), hub.store.engines.read()}
    for engine in engines:
        event.listen(engine, "before_cursor_execute", interrupt)
    yield answers
    signal.signal(signal.SIGUSR1, before)


def test_a_signal_handler_may_enqueue_while_the_thread_reads_what_kinds_there_are(hub: Hub) -> None:
    with interrupting(hub, "dlq_kind") as answers:
        enqueue(hub, None)
    (answer,) = answers
    assert isinstance(answer, Enqueued)
    assert sorted(numbers(hub)) == ["1", "of the signal handler"]


def test_a_signal_handler_may_enqueue_while_the_thread_writes_and_on_sqlite_is_refused_at_once(
    hub: Hub,
) -> None:
    with interrupting(hub, "INSERT INTO dlq_event") as answers:
        hub.enqueue_many([new(1), new(2)])
    (answer,) = answers
    if hub.store.sqlite:
        assert "A signal handler has interrupted an enqueue" in str(answer)
        assert numbers(hub) == ["1", "2"]
    else:
        assert isinstance(answer, Enqueued)
        assert sorted(numbers(hub)) == ["1", "2", "of the signal handler"]
    # Afterwards all is as before.
    assert enqueue(hub, None, 3).created


def test_a_child_forked_while_another_thread_enqueues_can_enqueue_too(server_hub: Hub) -> None:
    """On SQLite it cannot: the library in the child takes the other thread's lock for one of its own."""
    inside, go_on = threading.Event(), threading.Event()

    @event.listens_for(server_hub.store.engines.write(), "before_cursor_execute")
    def _wait(_connection: object, _cursor: object, executed: str, *_: object) -> None:
        if "INSERT INTO dlq_event" in executed:
            inside.set()
            assert go_on.wait(20)

    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(server_hub.enqueue_many, [new(1)])
        assert inside.wait(20)
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                status = 0 if enqueue(server_hub, None, "of the child").created else 1
            finally:
                os._exit(status)
        go_on.set()
        assert made.result(20)[0].created
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert sorted(numbers(server_hub)) == ["1", "of the child"]
