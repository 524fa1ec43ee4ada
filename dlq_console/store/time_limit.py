"""How is something counted to the end that may be long? Within a time limit, which the database itself keeps."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from dlq_console.clock import monotonic
from dlq_console.store.store import Store

#: Steps of SQLite's machine between two looks at the clock; about a tenth of a millisecond.
_STEPS = 10_000
#: What PostgreSQL calls a statement that it has given up.
_CANCELLED = "57014"


class TookTooLong(Exception):
    """The answer was not there within the time limit; the database has given up looking for it."""


@contextmanager
def reading_within(store: Store, seconds: float) -> Iterator[Connection]:
    """A connection that only reads, each of whose statements (on SQLite: all of them together) ends within some seconds.

    Raises:
        TookTooLong: one did not.
        StoreUnavailable: the database cannot be reached.
    """
    try:
        if store.sqlite:
            with store.read() as connection, _interrupted(connection, monotonic() + seconds):
                yield connection
            return
        with store.write() as connection:
            connection.exec_driver_sql("SET TRANSACTION READ ONLY")
            connection.exec_driver_sql(f"SET LOCAL statement_timeout = {max(1, round(seconds * 1000))}")
            yield connection
    except DBAPIError as error:
        if _is_given_up(error):
            raise TookTooLong from error
        raise


@contextmanager
def _interrupted(connection: Connection, deadline: float) -> Iterator[None]:
    driver: Any = connection.connection.driver_connection
    driver.set_progress_handler(lambda: monotonic() >= deadline, _STEPS)
    try:
        yield
    finally:
        driver.set_progress_handler(None, 0)


def _is_given_up(error: DBAPIError) -> bool:
    if isinstance(error.orig, sqlite3.Error):
        return getattr(error.orig, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT
    return getattr(error.orig, "sqlstate", None) == _CANCELLED
