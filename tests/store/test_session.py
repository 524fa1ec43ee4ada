"""Connections: one engine for all threads, none across a fork, no lock error, and one sentence when the database is away."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from dlq_console.errors import ConfigurationError, StoreUnavailable
from dlq_console.store import session
from dlq_console.store.session import Engines, make_engine
from dlq_console.store.store import Store
from tests.services.postgres import PostgresServer
from tests.services.process import StartChild
from tests.store.making import add, rows

SECRET = "s3cret-of-the-database"


def _unavailable(store: Store) -> str:
    with pytest.raises(StoreUnavailable) as caught:
        add(store)
    sentence = str(caught.value)
    assert SECRET not in sentence
    assert "\n" not in sentence
    return sentence


def _crowd(
    start_child: StartChild, url: str, seconds: float, claimers: int, readers: int, producers: int
) -> list[dict[str, object]]:
    child = start_child(
        [sys.executable, "-W", "error", "-m", "tests.store.crowd", url]
        + [str(number) for number in (seconds, claimers, readers, producers)]
    )
    assert child.wait_for_exit(seconds + 60) == 0, child.output()
    answers = [json.loads(line) for line in child.output().splitlines()]
    assert len(answers) == claimers + readers + producers + 1
    return answers


def _assert_no_error_and_no_double(url: str, answers: list[dict[str, object]]) -> None:
    assert [answer["errors"] for answer in answers if answer["errors"]] == []
    store = Store(url)
    attempts = [row["event_id"] for row in rows(store, "attempt")]
    assert len(attempts) == len(set(attempts)) == sum(int(str(a.get("claimed", 0))) for a in answers)
    assert len(attempts) == sum(int(str(a.get("completed", 0))) for a in answers) > 0
    assert all(int(str(answer.get("turns", 1))) > 0 for answer in answers)
    # Both producers, the one before the fork and the one after it.
    assert len(rows(store)) == sum(int(str(a.get("created", 0))) for a in answers) + 2
    store.engines.dispose()


def test_eight_claimers_four_readers_and_two_producers_meet_no_lock_error_and_no_double(
    sqlite_url: str, start_child: StartChild
) -> None:
    _assert_no_error_and_no_double(sqlite_url, _crowd(start_child, sqlite_url, 5, 8, 4, 2))


@pytest.mark.chaos
def test_the_same_crowd_for_half_a_minute(database_url: str, start_child: StartChild) -> None:
    _assert_no_error_and_no_double(database_url, _crowd(start_child, database_url, 30, 8, 4, 2))


def test_a_store_used_before_a_fork_works_in_four_children_and_in_the_parent(
    database_url: str, start_child: StartChild
) -> None:
    _assert_no_error_and_no_double(database_url, _crowd(start_child, database_url, 2, 2, 1, 1))


def test_threads_that_come_first_at_once_share_one_engine(database_url: str) -> None:
    engines = Engines(database_url)
    together = Barrier(16)

    def first_use(_: int) -> tuple[int, int]:
        together.wait(10)
        return id(engines.write()), id(engines.read())

    with ThreadPoolExecutor(16) as pool:
        assert len(set(pool.map(first_use, range(16)))) == 1
    engines.dispose()


def test_connections_are_opened_anew_after_they_were_closed(store: Store) -> None:
    first = add(store)
    store.engines.dispose()
    assert not add(store).created
    assert [row["id"] for row in rows(store)] == [first.id]


def test_a_read_can_never_write(sqlite_url: str) -> None:
    store = Store(sqlite_url)
    with pytest.raises(StoreUnavailable, match="readonly"), store.read() as connection:
        connection.execute(text("DELETE FROM dlq_event"))
    store.engines.dispose()


def test_a_reader_does_not_wait_for_a_writer(sqlite_url: str) -> None:
    store = Store(sqlite_url)
    add(store)
    with store.write() as connection:
        connection.execute(text("DELETE FROM dlq_event"))
        assert len(rows(store)) == 1
    assert rows(store) == []
    store.engines.dispose()


def test_an_error_takes_the_whole_transaction_back(store: Store) -> None:
    add(store)

    def work() -> None:
        with store.write() as connection:
            connection.execute(text("DELETE FROM dlq_event"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert len(rows(store)) == 1


def test_writes_are_read_committed_whatever_the_database_prefers(postgres_url: str) -> None:
    database = postgres_url.rpartition("/")[2]
    store = Store(postgres_url)
    with store.write() as connection:
        connection.execute(
            text(f"ALTER DATABASE {database} SET default_transaction_isolation = 'serializable'")
        )
    store.engines.dispose()
    with store.write() as connection:
        assert connection.execute(text("SHOW transaction_isolation")).scalar() == "read committed"
    store.engines.dispose()


def test_an_error_of_a_statement_shows_no_values(store: Store) -> None:
    with pytest.raises(DBAPIError) as caught, store.write() as connection:
        connection.execute(text("SELECT :value FROM dlq_event WHERE nothing = 1"), {"value": SECRET})
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "break_it",
    [
        pytest.param(lambda file: file.parent.rename(file.parent.with_name("moved")), id="no folder"),
        pytest.param(lambda file: (file.unlink(), file.mkdir()), id="a folder"),
        pytest.param(lambda file: file.write_bytes(b"no database at all" * 100), id="another file"),
    ],
)
def test_a_sqlite_file_that_cannot_be_used_is_told_in_one_sentence(
    break_it: Callable[[Path], object], tmp_path: Path
) -> None:
    file = tmp_path / "folder" / "events.db"
    file.parent.mkdir()
    sqlite3.connect(file).close()
    break_it(file)
    store = Store(f"sqlite:///{file}")
    sentence = _unavailable(store)
    assert sentence.startswith(f"The database {file} cannot be reached: ")
    assert sentence.endswith(". Nothing was changed.")
    store.engines.dispose()


def test_a_sqlite_writer_that_never_ends_is_told_in_one_sentence(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "BUSY_TIMEOUT_MS", 50)
    impatient, blocker = Store(sqlite_url), Store(sqlite_url)
    with blocker.write():
        assert "database is locked" in _unavailable(impatient)
    for store in (impatient, blocker):
        store.engines.dispose()


def test_a_server_that_is_away_is_told_in_one_sentence_without_the_password(
    postgres_server: PostgresServer,
) -> None:
    with PostgresServer() as server:
        url = f"postgresql+psycopg://postgres:{SECRET}@127.0.0.1:{server.port}/postgres"
        store = Store(url)
        store.engines.write().connect().close()
        server.stop()
        sentence = _unavailable(store)
        assert sentence.startswith(f"The database postgres on 127.0.0.1:{server.port} cannot be reached: ")
        assert sentence.endswith(". Nothing was changed.")
        store.engines.dispose()


def test_a_connection_lost_in_mid_transaction_says_that_the_outcome_is_open(postgres_url: str) -> None:
    store, other = Store(postgres_url), Store(postgres_url)

    def work() -> None:
        with store.write() as connection:
            pid = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
            with other.write() as second:
                second.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})
            connection.execute(text("SELECT 1"))

    with pytest.raises(StoreUnavailable, match="was lost"):
        work()
    # The next transaction has a new connection.
    assert add(store).created
    for each in (store, other):
        each.engines.dispose()


def test_a_database_without_tables_says_which_command_makes_them(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    with postgres_server.database() as url:
        for store in (Store(url), Store(f"sqlite:///{tmp_path / 'empty.db'}")):
            assert _unavailable(store).endswith("run: dlq-console db upgrade")
            store.engines.dispose()


def test_more_threads_than_connections_are_told_in_one_sentence(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(database_url, pool_size=1)
    pool = store.engines.write().pool
    monkeypatch.setattr(pool, "_max_overflow", 0)
    monkeypatch.setattr(pool, "_timeout", 0.05)
    with store.write():
        assert "connections of this process" in _unavailable(store)
    store.engines.dispose()


def test_a_too_old_sqlite_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(ConfigurationError, match=r"3\.35 or newer"):
        make_engine(f"sqlite:///{tmp_path / 'events.db'}")


def test_an_error_of_a_statement_is_not_taken_for_a_database_that_is_away(store: Store) -> None:
    with pytest.raises(DBAPIError), store.write() as connection:
        connection.execute(text("SELECT nothing FROM dlq_event"))
