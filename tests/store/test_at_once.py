"""What nobody shall wait for is written at once or not at all."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from sqlalchemy import text

from dlq_console.store import people
from dlq_console.store.at_once import write_at_once
from dlq_console.store.people.sessions import SEEN_EVERY
from dlq_console.store.session import BUSY_TIMEOUT_MS
from dlq_console.store.store import Store


def _seen_at(store: Store) -> Any:
    with store.read() as connection:
        return connection.execute(store.statement("SELECT seen_at FROM {sessions}")).scalar_one()


def test_a_session_is_known_while_somebody_else_writes_and_noted_afterwards(store: Store) -> None:
    person = people.add_user(store, "maria", "correct horse battery", role="operator")
    token = people.open_session(store, person)
    opened_at = _seen_at(store)
    store.clock.advance(SEEN_EVERY + 1)
    with store.write():  # on SQLite there is one writer at a time
        assert people.session_person(store, token) == person
        assert (_seen_at(store) == opened_at) == store.sqlite
    assert people.session_person(store, token) == person
    assert _seen_at(store) > opened_at


def test_a_token_is_known_while_somebody_else_writes_and_noted_afterwards(store: Store) -> None:
    token = people.add_token(store, "ci", role="operator")
    with store.write():
        assert people.token_person(store, token) is not None
        assert (people.list_tokens(store)[0].last_used_at is None) == store.sqlite
    assert people.token_person(store, token) is not None
    assert people.list_tokens(store)[0].last_used_at is not None


def test_who_did_not_wait_this_time_waits_for_later_writes(sqlite_url: str) -> None:
    store = Store(sqlite_url)
    with store.write() as connection:
        connection.execute(text("CREATE TABLE note (id integer)"))
        assert not write_at_once(store, text("INSERT INTO note VALUES (1)"), {})
    assert write_at_once(store, text("INSERT INTO note VALUES (2)"), {})
    with ExitStack() as stack:
        both = [stack.enter_context(store.engines.write().connect()) for _ in range(2)]
        drivers: list[Any] = [one.connection.driver_connection for one in both]
        timeouts = {driver.execute("PRAGMA busy_timeout").fetchone()[0] for driver in drivers}
        assert timeouts == {BUSY_TIMEOUT_MS}
        assert both[0].execute(text("SELECT id FROM note")).scalars().all() == [2]
    store.engines.dispose()
