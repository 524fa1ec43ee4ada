"""A mark and the effect it stands for: kept together or not at all, and once, whoever else comes at the same moment."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import psycopg
import psycopg2
import pytest
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from dlq_console import Event, Hub, PayloadRefused, StoreUnavailable, TransientError, once
from dlq_console.hub.once import _prefix
from dlq_console.settings import read_settings
from dlq_console.store import migrate
from dlq_console.store.once import prune
from dlq_console.store.states import Status
from dlq_console.store.store import Store
from dlq_console.workers import steps
from tests.store.making import add_in, rows, wait_for_a_lock

#: Seconds in which anything must have happened on a busy machine.
SOON = 20


@pytest.fixture
def engine(store: Store) -> Iterator[Engine]:
    """The engine of an application whose own table is in the same database."""
    engine = create_engine(store.engines.database_url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE booking (name TEXT)"))
    yield engine
    engine.dispose()


def book(session: Session | Connection, name: str = "a booking") -> None:
    session.execute(text("INSERT INTO booking VALUES (:name)"), {"name": name})


def booked(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return list(connection.execute(text("SELECT name FROM booking")).scalars())


def marks(store: Store) -> list[tuple[str, str]]:
    return [(row["scope"], row["key"]) for row in rows(store, "once")]


# One after the other


def test_what_was_committed_is_not_done_again(store: Store, engine: Engine) -> None:
    for wanted in (True, False, False):
        with Session(engine) as session, session.begin():
            to_do = once(session, "booking-1")
            assert to_do is wanted
            if to_do:
                book(session)
    assert booked(engine) == ["a booking"]
    assert marks(store) == [("", "booking-1")]


def test_what_was_rolled_back_is_still_to_be_done(store: Store, engine: Engine) -> None:
    with Session(engine) as session:
        assert once(session, "booking-1")
        book(session)
        session.rollback()
        assert (booked(engine), marks(store)) == ([], [])
        assert once(session, "booking-1")
        session.commit()


def test_a_second_call_in_the_same_transaction_has_nothing_to_do(engine: Engine) -> None:
    with engine.begin() as connection:
        assert [once(connection, "booking-1") for _ in range(3)] == [True, False, False]


def test_scopes_and_keys_are_apart(store: Store, engine: Engine) -> None:
    names = [
        ("", "1"),
        ("a", "1"),
        ("1", "a"),
        ("", "a1"),
        ("", "2"),
        ("", "É"),
        ("", "x" * 300),
        ("", "x" * 301),
    ]
    with engine.begin() as connection:
        assert [once(connection, key, scope=scope) for scope, key in names] == [True] * len(names)
        assert [once(connection, key, scope=scope) for scope, key in names] == [False] * len(names)
    assert len(marks(store)) == len(names)
    assert max(len(key) for _, key in marks(store)) <= 200


def test_a_key_that_cannot_be_stored_is_refused_and_the_transaction_lives_on(engine: Engine) -> None:
    with engine.begin() as connection:
        for key in ("", "\x00", "\ud800", None, 1.5):
            with pytest.raises(PayloadRefused, match=r"^key: "):
                once(connection, key)  # type: ignore[arg-type]  # what a careless caller gives
        with pytest.raises(PayloadRefused, match=r"^scope: "):
            once(connection, "1", scope="s" * 121)
        assert once(connection, "1")


def test_a_savepoint_that_is_rolled_back_takes_the_mark_along(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        assert once(session, "outer")
        inner = session.begin_nested()
        assert once(session, "inner")
        book(session, "inner")
        inner.rollback()
        assert not once(session, "outer")
        with session.begin_nested():
            assert once(session, "inner")
            book(session, "inner again")
    with Session(engine) as session:
        assert [once(session, key) for key in ("outer", "inner")] == [False, False]
    assert booked(engine) == ["inner again"]


# Two at once


@pytest.mark.parametrize("first_commits", [True, False])
def test_the_second_of_two_waits_for_the_first_and_does_what_that_did_not(
    store: Store, engine: Engine, first_commits: bool
) -> None:
    with engine.connect() as first, ThreadPoolExecutor(1) as pool:
        assert once(first, "booking-1")
        book(first, "first")
        asks = _asks(engine)
        second = pool.submit(_book_once, engine, "second")
        assert asks.wait(SOON)
        if not store.sqlite:  # where nothing tells who waits
            wait_for_a_lock(store)
        assert not second.done()
        first.commit() if first_commits else first.rollback()
        assert second.result(SOON) is not first_commits
    assert booked(engine) == ["first" if first_commits else "second"]


def test_of_many_at_once_exactly_one_does_it(engine: Engine) -> None:
    at_once = threading.Barrier(8)

    def work(name: int) -> int:
        done = 0
        for number in range(10):
            at_once.wait(SOON)
            done += _book_once(engine, str(name), f"booking-{number}")
        return done

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(work, range(8))) == 10
    assert len(booked(engine)) == 10


def _book_once(engine: Engine, name: str, key: str = "booking-1") -> bool:
    with engine.begin() as connection:
        if not once(connection, key):
            return False
        book(connection, name)
        return True


def _asks(engine: Engine) -> threading.Event:
    """Is set when the next one asks whether something has been done."""
    asks = threading.Event()

    @event.listens_for(engine, "before_cursor_execute")
    def _look(_connection: object, _cursor: object, executed: str, *_: object) -> None:
        if "dlq_once" in executed:
            asks.set()

    return asks


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_a_stricter_transaction_that_comes_second_is_repeated_by_its_caller_as_ever(
    postgres_url: str, level: str
) -> None:
    store = Store(postgres_url)
    engine = create_engine(postgres_url, isolation_level=level)
    with engine.connect() as first, engine.connect() as second, ThreadPoolExecutor(1) as pool:
        # Both see the database as it is now.
        for each in (first, second):
            each.execute(text("SELECT count(*) FROM dlq_once"))
        assert once(first, "booking-1")
        answer = pool.submit(once, second, "booking-1")
        wait_for_a_lock(store)
        first.commit()
        with pytest.raises(OperationalError) as raised:
            answer.result(SOON)
        assert isinstance(raised.value.orig, psycopg.errors.SerializationFailure)
        second.rollback()
        assert not once(second, "booking-1")
    engine.dispose()
    store.engines.dispose()


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_a_stricter_transaction_alone_has_its_answer_at_once(postgres_url: str, level: str) -> None:
    engine = create_engine(postgres_url, isolation_level=level)
    for wanted in ([True, False], [False, False]):
        with engine.begin() as connection:
            assert [once(connection, "booking-1") for _ in range(2)] == wanted
    engine.dispose()


def test_sqlite_that_has_read_what_has_changed_since_says_what_to_do(sqlite_url: str) -> None:
    file = sqlite_url.removeprefix("sqlite:///")
    with (
        closing(sqlite3.connect(file, isolation_level=None)) as reader,
        closing(sqlite3.connect(file)) as writer,
    ):
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM dlq_once").fetchall()
        assert once(writer, "booking-1")
        writer.commit()
        with pytest.raises(StoreUnavailable, match="begin it with BEGIN IMMEDIATE"):
            once(reader, "booking-1")
        reader.rollback()
        reader.execute("BEGIN IMMEDIATE")
        assert not once(reader, "booking-1")


# Whose session

RAW: dict[str, tuple[str, Callable[[str], Any]]] = {
    "psycopg": ("postgres_url", psycopg.connect),
    "psycopg2": ("postgres_url", psycopg2.connect),
    "sqlite3": ("sqlite_url", sqlite3.connect),
}


def _address(url: str) -> str:
    return url.replace("+psycopg", "").removeprefix("sqlite:///")


@pytest.mark.parametrize("driver", RAW)
def test_connections_of_drivers_are_joined(driver: str, request: pytest.FixtureRequest) -> None:
    fixture, connect = RAW[driver]
    with closing(connect(_address(request.getfixturevalue(fixture)))) as connection:
        for ends, wanted in [("rollback", True), ("commit", True), ("commit", False)]:
            assert once(connection, "booking-1", scope="book") is wanted
            getattr(connection, ends)()


def test_sessions_of_every_kind_are_joined(engine: Engine) -> None:
    registry = scoped_session(sessionmaker(engine))
    with Session(engine) as session, engine.connect() as connection:
        every: tuple[Session | scoped_session[Session] | Connection, ...] = (session, registry, connection)
        for number, each in enumerate(every):
            assert once(each, str(number))
            each.commit()
            assert not once(each, str(number))
            each.rollback()
    registry.remove()


@pytest.mark.parametrize("driver", ["aiosqlite", "asyncpg", "psycopg"])
def test_a_session_for_asyncio_is_joined_by_run_sync(driver: str, request: pytest.FixtureRequest) -> None:
    url: str = request.getfixturevalue("sqlite_url" if driver == "aiosqlite" else "postgres_url")
    url = url.replace("sqlite:", "sqlite+aiosqlite:").replace("+psycopg:", f"+{driver}:")

    async def work() -> list[bool]:
        engine = create_async_engine(url)
        answers = []
        for _ in range(2):
            async with AsyncSession(engine) as session, session.begin():
                with pytest.raises(TypeError, match=r"use: await session\.run_sync\(once, key\)"):
                    once(session, "booking-1")  # type: ignore[arg-type]  # the mistake to be explained
                answers.append(await session.run_sync(once, "booking-1"))
        await engine.dispose()
        return answers

    assert asyncio.run(work()) == [True, False]


def test_a_connection_that_commits_each_statement_is_refused_and_nothing_is_marked(store: Store) -> None:
    url = store.engines.database_url
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    raw: Any = (
        sqlite3.connect(_address(url), isolation_level=None)
        if store.sqlite
        else psycopg.connect(_address(url), autocommit=True)
    )
    with engine.connect() as connection, closing(raw):
        for each in (connection, raw):
            with pytest.raises(ValueError, match="needs a transaction"):
                once(each, "booking-1")
        assert marks(store) == []
        # The same connection in a transaction that its owner has begun.
        raw.execute("BEGIN IMMEDIATE" if store.sqlite else "BEGIN")
        assert once(raw, "booking-1")
        raw.execute("ROLLBACK")
    assert marks(store) == []
    engine.dispose()


def test_what_is_no_session_is_told() -> None:
    with pytest.raises(TypeError, match=r"^once\(session, key\) takes a SQLAlchemy Session or Connection"):
        once("booking-1", "x")  # type: ignore[arg-type]  # the mistake to be explained


def test_a_database_without_the_tables_is_told() -> None:
    with (
        closing(sqlite3.connect(":memory:")) as connection,
        pytest.raises(StoreUnavailable, match="dlq-console db upgrade"),
    ):
        once(connection, "booking-1")


def test_the_prefix_is_that_of_the_environment_and_a_hub_has_its_own(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DLQ_TABLE_PREFIX", "mine_")
    _prefix.cache_clear()
    migrate.upgrade(sqlite_url, "mine_")
    hub = Hub(read_settings(database_url=sqlite_url, table_prefix="dlq_", broker_url=""))
    with closing(sqlite3.connect(_address(sqlite_url))) as connection:
        assert once(connection, "booking-1")
        assert hub.once(connection, "booking-1", scope="")
        connection.commit()
        found = [
            connection.execute(f"SELECT key FROM {prefix}once").fetchall() for prefix in ("mine_", "dlq_")
        ]
    assert found == [[("booking-1",)], [("booking-1",)]]
    hub.close()
    monkeypatch.undo()
    _prefix.cache_clear()


# In a handler


def test_an_effect_of_a_handler_that_fails_afterwards_is_kept_and_not_repeated(
    database_url: str, engine: Engine
) -> None:
    hub = Hub(read_settings(database_url=database_url, broker_url=""))
    tries: list[bool] = []

    @hub.handler("booking.create")
    def create(created: Event) -> None:
        with Session(engine) as session, session.begin():
            tries.append(once(session, created.effect_key, scope="booking"))
            if tries[-1]:
                book(session)
        if len(tries) == 1:
            raise TransientError("the line was cut after the commit")

    made = hub.enqueue("booking.create", account="filial-sp", entity_id="1", payload={})
    assert hub.run(made.id).status == "failed"
    hub.clock.advance(3600)
    assert hub.run(made.id).status == "done"
    assert (tries, booked(engine)) == ([True, False], ["a booking"])
    hub.close()


# Forgotten


def _mark(store: Store, key: str) -> None:
    with store.write() as connection:
        assert once(connection, key)


def test_marks_go_when_they_are_old_and_no_event_is_left_that_could_need_them(store: Store) -> None:
    _mark(store, "old")
    assert prune(store, days=90) == 0
    add_in(store, Status.DEAD)
    _mark(store, "of the event")
    store.clock.advance(100 * 86_400)
    # The event is still there, and whatever it has marked must be remembered; what is older than it is not needed.
    with store.write() as connection:
        shift = 2 * 86_400 * 1_000_000 if store.sqlite else "interval '2 days'"
        connection.execute(
            store.statement(f"UPDATE {{once}} SET created_at = created_at - {shift} WHERE key = 'old'")
        )
    assert prune(store, days=90) == 1
    assert marks(store) == [("", "of the event")]
    with store.write() as connection:
        connection.execute(store.tables.event.delete())
    assert prune(store, days=90) == 1


def test_the_prune_step_forgets_marks_in_turns(database_url: str) -> None:
    hub = Hub(read_settings(database_url=database_url, broker_url="", retention_days=1))
    for number in range(3):
        _mark(hub.store, str(number))
    assert steps.prune(hub) == 0
    hub.clock.advance(2 * 86_400)
    assert prune(hub.store, days=1, limit=2) == 2
    assert steps.prune(hub) == 1
    assert marks(hub.store) == []
    hub.close()
