"""Enqueue in the caller's transaction: the event shares its fate, and nobody hears of it before it is committed."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, StaticPool, create_engine, event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session, scoped_session, sessionmaker
from sqlalchemy.pool import NullPool

from dlq_console import Enqueued, Hub, IdempotencyConflict, NewEvent, PayloadRefused, PermanentError
from dlq_console.store import presence
from tests.hub.recording import Recorder
from tests.store.making import row, rows

pytestmark = pytest.mark.usefixtures("recorder")


class Caller(StrEnum):
    """How the caller's own engine is made."""

    SQLITE = "sqlite"
    #: With SQLAlchemy's recipe for transactions on SQLite.
    SQLITE_BEGINS_ITSELF = "sqlite, begins itself"
    POSTGRESQL = "postgresql"


only_on_postgresql = pytest.mark.parametrize("caller", [Caller.POSTGRESQL], indirect=True)
with_true_savepoints = pytest.mark.parametrize(
    "caller", [Caller.SQLITE_BEGINS_ITSELF, Caller.POSTGRESQL], indirect=True
)


@pytest.fixture(params=list(Caller))
def caller(request: pytest.FixtureRequest) -> Caller:
    return Caller(request.param)


@pytest.fixture
def database_url(caller: Caller, request: pytest.FixtureRequest) -> str:
    fixture = "postgres_url" if caller is Caller.POSTGRESQL else "sqlite_url"
    url: str = request.getfixturevalue(fixture)
    return url


@pytest.fixture
def engine(database_url: str, caller: Caller) -> Iterator[Engine]:
    engine = create_engine(database_url)
    if caller is Caller.SQLITE_BEGINS_ITSELF:
        event.listen(engine, "connect", _leave_transactions_alone)
        event.listen(engine, "begin", _begin_immediately)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE business (name TEXT)"))
    yield engine
    engine.dispose()


def _leave_transactions_alone(connection: Any, _record: Any) -> None:
    connection.isolation_level = None


def _begin_immediately(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _enqueue(hub: Hub, session: Any, number: object = 1, **values: Any) -> Enqueued:
    fields: dict[str, Any] = {
        "kind": "order.create",
        "account": "filial-sp",
        "entity_id": str(number),
        "payload": {"number": number},
    }
    return hub.enqueue(session=session, **(fields | values))


def _many(*numbers: object, **values: Any) -> list[NewEvent]:
    return [
        NewEvent(
            kind="order.create",
            account="filial-sp",
            entity_id=str(number),
            **({"payload": {"number": number}} | values),
        )
        for number in numbers
    ]


def _work(session: Session | Connection, name: str = "an order") -> None:
    session.execute(text("INSERT INTO business VALUES (:name)"), {"name": name})


def _business(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return list(connection.execute(text("SELECT name FROM business")).scalars())


def _events(hub: Hub) -> list[str]:
    return [kept["entity_id"] for kept in rows(hub.store)]


# Commit and rollback


def test_a_session_takes_the_event_along_and_the_broker_hears_of_it_after_the_commit(
    hub: Hub, recorder: Recorder, engine: Engine
) -> None:
    with Session(engine) as session:
        _work(session)
        made = _enqueue(hub, session)
        assert made.created
        assert recorder.sent == []
        assert _events(hub) == []
        session.commit()
        assert recorder.ids == [made.id]
    assert (_events(hub), _business(engine)) == (["1"], ["an order"])
    assert made.event.id == made.id


def test_a_connection_takes_the_event_along(hub: Hub, recorder: Recorder, engine: Engine) -> None:
    with engine.begin() as connection:
        _work(connection)
        made = _enqueue(hub, connection)
        assert recorder.sent == []
    assert (recorder.ids, _events(hub), _business(engine)) == ([made.id], ["1"], ["an order"])


def test_a_scoped_session_as_web_frameworks_have_it_is_taken(
    hub: Hub, recorder: Recorder, engine: Engine
) -> None:
    session = scoped_session(sessionmaker(engine))
    made = _enqueue(hub, session)
    assert recorder.sent == []
    session.commit()
    session.remove()
    assert (recorder.ids, _events(hub)) == ([made.id], ["1"])


@pytest.mark.parametrize("many", [False, True], ids=["one", "many"])
@pytest.mark.parametrize("after", ["nothing", "a read", "a write"])
def test_a_rollback_takes_the_event_with_it_and_nobody_hears_of_it(
    hub: Hub, recorder: Recorder, engine: Engine, after: str, many: bool
) -> None:
    _enqueue(hub, None, "known")
    recorder.sent.clear()
    with Session(engine) as session:
        if after == "a read":
            session.execute(text("SELECT name FROM business")).all()
        if after == "a write":
            _work(session)
        if many:
            hub.enqueue_many(_many(1, "known"), session=session)
        else:
            _enqueue(hub, session)
            _enqueue(hub, session, "known")
        session.rollback()
        _work(session, "afterwards")
        session.commit()
    assert (recorder.sent, _events(hub), _business(engine)) == ([], ["known"], ["afterwards"])
    assert rows(hub.store)[0]["duplicates"] == 0


def test_an_error_of_the_caller_takes_the_event_with_it(hub: Hub, recorder: Recorder, engine: Engine) -> None:
    def work() -> None:
        with Session(engine) as session, session.begin():
            _enqueue(hub, session)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert (recorder.sent, _events(hub)) == ([], [])


def test_a_session_that_is_closed_without_a_commit_leaves_nothing(
    hub: Hub, recorder: Recorder, engine: Engine
) -> None:
    with Session(engine) as session:
        _enqueue(hub, session)
    with Session(engine) as session:
        _work(session)
        session.commit()
    assert (recorder.sent, _events(hub)) == ([], [])


def test_each_transaction_of_a_connection_is_told_by_itself(
    hub: Hub, recorder: Recorder, engine: Engine
) -> None:
    with engine.connect() as connection:
        with connection.begin():
            first = _enqueue(hub, connection, 1)
        transaction = connection.begin()
        assert recorder.ids == [first.id]
        _enqueue(hub, connection, 2)
        transaction.rollback()
        with connection.begin():
            third = _enqueue(hub, connection, 3)
    assert (recorder.ids, _events(hub)) == ([first.id, third.id], ["1", "3"])


def test_a_repeat_is_counted_after_a_commit_although_the_connection_goes_on(
    hub: Hub, recorder: Recorder, engine: Engine
) -> None:
    """The count is a transaction of its own and must not wait for one that the same connection has begun."""
    known = _enqueue(hub, None)
    with engine.connect() as connection:
        with connection.begin():
            _enqueue(hub, connection)
        with connection.begin():
            _work(connection)
            assert row(hub.store, known.id)["duplicates"] == 1


@pytest.mark.parametrize("pool", [NullPool, StaticPool])
def test_any_pool_of_the_caller_will_do(hub: Hub, recorder: Recorder, pool: Any) -> None:
    engine = create_engine(hub.settings.database_url, poolclass=pool)
    with Session(engine) as session:
        made = _enqueue(hub, session)
        session.commit()
    assert recorder.ids == [made.id]
    engine.dispose()


def test_an_engine_with_options_of_its_own_will_do(hub: Hub, recorder: Recorder, engine: Engine) -> None:
    other = engine.execution_options(stream_results=False)
    for number, each in enumerate((engine, other, engine, other)):
        with Session(each) as session:
            _enqueue(hub, session, number)
            session.commit()
    assert len(recorder.ids) == len(set(recorder.ids)) == 4


def test_a_connection_that_commits_by_itself_tells_at_once(hub: Hub, recorder: Recorder) -> None:
    engine = create_engine(hub.settings.database_url)
    known = _enqueue(hub, None, "known")
    recorder.sent.clear()
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        made = _enqueue(hub, connection)
        assert recorder.ids == [made.id]
        _enqueue(hub, connection, "known")
    assert row(hub.store, known.id)["duplicates"] == 1
    engine.dispose()


# Savepoints


# The usual driver of SQLite begins no transaction before a savepoint and commits at its end.
@with_true_savepoints
@pytest.mark.parametrize("kind", ["session", "connection"])
def test_a_savepoint_that_is_rolled_back_takes_only_what_is_inside_it(
    hub: Hub, recorder: Recorder, engine: Engine, kind: str
) -> None:
    known = _enqueue(hub, None, "known")
    recorder.sent.clear()
    with Session(engine) as session, session.begin():
        _work(session)
        target: Session | Connection = session if kind == "session" else session.connection()
        outside = _enqueue(hub, target, "outside")
        with target.begin_nested() as savepoint:
            _enqueue(hub, target, "inside")
            _enqueue(hub, target, "known")
            with target.begin_nested():
                _enqueue(hub, target, "deep inside")
            savepoint.rollback()
        with target.begin_nested():
            kept = _enqueue(hub, target, "kept")
    assert recorder.ids == [outside.id, kept.id]
    assert _events(hub) == ["known", "outside", "kept"]
    assert row(hub.store, known.id)["duplicates"] == 0


def test_a_savepoint_opened_before_the_first_enqueue_is_known_too(
    hub: Hub, recorder: Recorder, engine: Engine
) -> None:
    with Session(engine) as session, session.begin():
        _work(session)
        savepoint = session.begin_nested()
        _enqueue(hub, session, "inside")
        savepoint.rollback()
        outside = _enqueue(hub, session, "outside")
    assert (recorder.ids, _events(hub)) == ([outside.id], ["outside"])


def test_a_session_that_joined_an_outer_transaction_waits_for_that_one(
    hub: Hub, recorder: Recorder, engine: Engine
) -> None:
    with engine.connect() as connection:
        outer = connection.begin()
        _work(connection)
        with Session(connection, join_transaction_mode="create_savepoint") as session:
            made = _enqueue(hub, session)
            session.commit()
        assert recorder.sent == []
        outer.commit()
    assert (recorder.ids, _events(hub)) == ([made.id], ["1"])


def test_a_session_that_joined_an_outer_transaction_shares_its_rollback(
    hub: Hub, recorder: Recorder, engine: Engine
) -> None:
    with engine.connect() as connection:
        outer = connection.begin()
        _work(connection)
        with Session(connection, join_transaction_mode="create_savepoint") as session:
            _enqueue(hub, session)
            session.commit()
        outer.rollback()
    with engine.begin() as connection:
        _work(connection)
    assert (recorder.sent, _events(hub)) == ([], [])


# Refusals inside the caller's transaction

REFUSED: dict[str, dict[str, Any]] = {
    "NUL": {"payload": {"a": "\x00"}},
    "half a character": {"payload": {"a": "\ud800"}},
    "not a number": {"payload": float("nan")},
    "too large": {"payload": "x" * 300_000},
    "NUL in the origin": {"origin": "\x00"},
}


@pytest.mark.parametrize("values", REFUSED.values(), ids=REFUSED)
def test_a_refusal_leaves_the_callers_transaction_as_it_was(
    hub: Hub, recorder: Recorder, engine: Engine, values: dict[str, Any]
) -> None:
    with Session(engine) as session, session.begin():
        _work(session)
        with pytest.raises(PayloadRefused):
            _enqueue(hub, session, "bad", **values)
        made = _enqueue(hub, session, "good")
    assert (recorder.ids, _events(hub), _business(engine)) == ([made.id], ["good"], ["an order"])


@pytest.mark.parametrize("many", [False, True], ids=["one", "many"])
def test_a_conflict_leaves_the_callers_transaction_as_it_was(
    hub: Hub, recorder: Recorder, engine: Engine, many: bool
) -> None:
    _enqueue(hub, None, "known", idempotency_key="mine")
    recorder.sent.clear()
    conflicting = _many("known", idempotency_key="mine", payload="another")
    with Session(engine) as session, session.begin():
        before = _enqueue(hub, session, "before")
        with pytest.raises(IdempotencyConflict):
            hub.enqueue_many(_many(1, 2) * many + conflicting, session=session)
        with pytest.raises(IdempotencyConflict):
            _enqueue(hub, session, "known", idempotency_key="mine", payload="another")
        _work(session)
    assert (recorder.ids, _events(hub), _business(engine)) == ([before.id], ["known", "before"], ["an order"])


# A commit that fails


@pytest.fixture
def strict(database_url: str, caller: Caller) -> Iterator[Engine]:
    """An engine on which a child without a parent is found out at the commit."""
    engine = create_engine(database_url)
    if caller is not Caller.POSTGRESQL:
        event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA foreign_keys=ON"))
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE parent (id int PRIMARY KEY)"))
        connection.execute(
            text("CREATE TABLE child (id int REFERENCES parent DEFERRABLE INITIALLY DEFERRED)")
        )
    yield engine
    engine.dispose()


def test_a_session_whose_commit_fails_sends_and_counts_nothing(
    hub: Hub, recorder: Recorder, strict: Engine
) -> None:
    known = _enqueue(hub, None, "known")
    recorder.sent.clear()
    with Session(strict) as session:
        session.execute(text("INSERT INTO child VALUES (1)"))
        _enqueue(hub, session)
        _enqueue(hub, session, "known")
        with pytest.raises(DBAPIError):
            session.commit()
    assert (recorder.sent, _events(hub)) == ([], ["known"])
    assert row(hub.store, known.id)["duplicates"] == 0


# A commit that fails leaves the transaction of SQLite open, and the next one on the connection would be the same.
@only_on_postgresql
def test_a_connection_whose_commit_fails_sends_nothing_with_its_next_one(
    hub: Hub, recorder: Recorder, strict: Engine
) -> None:
    with strict.connect() as connection:
        connection.execute(text("INSERT INTO child VALUES (1)"))
        _enqueue(hub, connection)
        with pytest.raises(DBAPIError):
            connection.commit()
        connection.rollback()
        connection.execute(text("INSERT INTO parent VALUES (1)"))
        connection.commit()
    assert (recorder.sent, _events(hub)) == ([], [])


@only_on_postgresql
def test_a_connection_lost_at_the_commit_sends_nothing(hub: Hub, recorder: Recorder, engine: Engine) -> None:
    with Session(engine) as session:
        pid = session.execute(text("SELECT pg_backend_pid()")).scalar_one()
        _enqueue(hub, session)
        with hub.store.write() as connection:
            connection.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})
        with pytest.raises(DBAPIError):
            session.commit()
    with engine.begin() as connection:
        _work(connection)
    assert (recorder.sent, _events(hub)) == ([], [])


@only_on_postgresql
@pytest.mark.parametrize("nested", [False, True], ids=["plain", "in a savepoint"])
def test_a_connection_lost_before_the_commit_is_told_as_what_it_is(
    hub: Hub, recorder: Recorder, engine: Engine, nested: bool
) -> None:
    with Session(engine) as session:
        pid = session.execute(text("SELECT pg_backend_pid()")).scalar_one()
        _enqueue(hub, session)
        if nested:
            session.begin_nested()
        with hub.store.write() as connection:
            connection.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})
        with pytest.raises(DBAPIError, match="terminating connection"):
            _enqueue(hub, session, 2)
        session.rollback()
        if nested:
            session.rollback()
        made = _enqueue(hub, session, 3)
        session.commit()
    assert (recorder.ids, _events(hub)) == ([made.id], ["3"])


# Two-phase commit


@only_on_postgresql
@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_a_two_phase_transaction_is_told_when_it_is_committed(
    hub: Hub, recorder: Recorder, engine: Engine, end: str
) -> None:
    with engine.connect() as connection:
        transaction = connection.begin_twophase()
        made = _enqueue(hub, connection)
        getattr(transaction, end)()
    told = [made.id] if end == "commit" else []
    assert recorder.ids == told
    with engine.begin() as connection:
        _work(connection)
    assert recorder.ids == told


# Together


def test_a_repeat_inside_one_transaction_is_folded_and_counted_at_its_end(
    hub: Hub, recorder: Recorder, engine: Engine
) -> None:
    with Session(engine) as session, session.begin():
        made = [_enqueue(hub, session) for _ in range(3)]
        made += hub.enqueue_many(_many(1, 2, 1), session=session)
    assert [each.created for each in made] == [True, False, False, False, True, False]
    assert recorder.ids == [made[0].id, made[4].id]
    assert [(kept["entity_id"], kept["duplicates"]) for kept in rows(hub.store)] == [("1", 4), ("2", 0)]


def test_a_dead_event_is_revived_with_the_callers_transaction_and_not_without(
    hub: Hub, recorder: Recorder, engine: Engine
) -> None:
    def refuse(_event: object) -> None:
        raise PermanentError("no such customer")

    hub.handler("order.create")(refuse)
    dead = hub.run(_enqueue(hub, None).id)
    recorder.sent.clear()
    with Session(engine) as session:
        assert _enqueue(hub, session, on_duplicate="reprocess_dead").status == "pending"
        session.rollback()
    assert (hub.get(dead.id).status, recorder.sent) == ("dead", [])
    with Session(engine) as session:
        _enqueue(hub, session, on_duplicate="reprocess_dead")
        session.commit()
    assert (hub.get(dead.id).status, recorder.ids) == ("pending", [dead.id])
    assert len(rows(hub.store, "audit")) == 1


@only_on_postgresql
def test_many_callers_at_once_lose_and_double_nothing(hub: Hub, recorder: Recorder, engine: Engine) -> None:
    # Slots for all of them, or the rest would be kept for later.
    presence.announce(hub.store, "worker", mode="celery", slots=100)

    def work(place: int) -> None:
        for turn in range(10):
            with Session(engine) as session:
                _enqueue(hub, session, f"{place}-{turn}")
                _enqueue(hub, session, "shared")
                (session.commit if turn % 2 else session.rollback)()

    with ThreadPoolExecutor(5) as pool:
        list(pool.map(work, range(5)))
    assert sorted(_events(hub)) == sorted(
        [f"{p}-{t}" for p in range(5) for t in (1, 3, 5, 7, 9)] + ["shared"]
    )
    assert sorted(recorder.ids) == sorted(kept["id"] for kept in rows(hub.store))
    assert sum(kept["duplicates"] for kept in rows(hub.store)) == 24
