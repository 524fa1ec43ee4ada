"""How is the transaction of a DB-API connection joined?

The statements run through the caller's own driver. A driver tells nobody of a commit, so the relay finds what came in
that way. A connection that commits each statement by itself is given a transaction for the enqueue alone, whose commit
is known.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any

from sqlalchemy import Dialect

from dlq_console.hub.after_commit import perform
from dlq_console.hub.joining import Joined
from dlq_console.store import dbapi
from dlq_console.store.dbapi import DbapiConnection

#: The state of an idle connection, as both drivers of PostgreSQL tell it.
_IDLE = 0


class Transaction(Enum):
    """Whether a connection is in a transaction of its owner."""

    #: It is, or the driver begins one with the next statement, whatever that is.
    OPEN = "open"
    #: The driver of SQLite will begin one, but not before every statement.
    COMING = "coming"
    #: Each statement commits by itself.
    NONE = "none"


@dataclass(frozen=True, slots=True)
class _Driver:
    """What is particular to the connections of one driver.

    Attributes:
        module, class_name: where the class of its connections is.
        cursor: gives a cursor of a connection whose rows are tuples.
        transaction: whether a connection is in a transaction.
        spellings: how its statements are written, for each make of database.
        vendor: the make of the database of a connection; None where there is but one.
    """

    module: str
    class_name: str
    cursor: Callable[[Any], Any]
    transaction: Callable[[Any], Transaction]
    spellings: Mapping[str, Dialect]
    vendor: Callable[[Any], str] | None = None

    def takes(self, connection: object) -> bool:
        """Whether the connection is one of this driver's."""
        return is_instance(connection, self.module, self.class_name)

    def make(self, connection: Any) -> str:
        """The make of the database of a connection."""
        return self.vendor(connection) if self.vendor else next(iter(self.spellings))


def is_instance(value: object, module: str, class_name: str) -> bool:
    """`isinstance` for a class of a module that is not imported here: nobody has an instance who has not loaded it."""
    # Another thread may be loading it right now, so that the class is not there yet.
    return isinstance(value, getattr(sys.modules.get(module), class_name, ()))


class RawConnections:
    """The way in for the connections of psycopg, psycopg2 and sqlite3, and for Django's where its app is not listed."""

    def takes(self, session: object) -> bool:
        """Whether it is a connection of a known driver."""
        return any(driver.takes(session) for driver in _DRIVERS)

    def dialect(self, session: Any) -> str:
        """The make of its database."""
        return _driver(session).make(session)

    @contextmanager
    def join(self, session: Any) -> Iterator[Joined]:
        """Inside the block its transaction is joined, or one of its own where it has none."""
        driver = _driver(session)
        spelling = driver.spellings[driver.make(session)]
        statements = DbapiConnection(partial(driver.cursor, session), spelling)
        # With a deferred BEGIN, SQLite may refuse the write that follows.
        begin = "BEGIN IMMEDIATE" if spelling.name == "sqlite" else "BEGIN"
        transaction = driver.transaction(session)
        if transaction is not Transaction.OPEN:
            statements.run(begin)
        if transaction is not Transaction.NONE:
            yield Joined(statements.as_connection(), None)
            return
        try:
            yield Joined(statements.as_connection(), lambda act: perform([act]), own_transaction=True)
        except BaseException:
            # A connection that is lost has rolled back by itself; what matters is why.
            with suppress(Exception):
                statements.run("ROLLBACK")
            raise
        statements.run("COMMIT")


def _driver(connection: object) -> _Driver:
    return next(driver for driver in _DRIVERS if driver.takes(connection))


def _on_server(connection: Any) -> Transaction:
    # The older driver has no such mode.
    if getattr(getattr(connection, "pgconn", None), "pipeline_status", 0):
        raise TypeError("A psycopg connection in pipeline mode answers later; leave the pipeline first.")
    idle = connection.autocommit and connection.info.transaction_status == _IDLE
    return Transaction.NONE if idle else Transaction.OPEN


def _psycopg_cursor(connection: Any) -> Any:
    return connection.cursor(row_factory=lambda _cursor: tuple)


def _psycopg2_cursor(connection: Any) -> Any:
    return connection.cursor(cursor_factory=sys.modules["psycopg2.extensions"].cursor)


def _sqlite_cursor(connection: Any) -> Any:
    cursor = connection.cursor()
    cursor.row_factory = None
    return cursor


def _in_sqlite(connection: Any) -> Transaction:
    if connection.in_transaction:
        return Transaction.OPEN
    # `autocommit` exists since Python 3.12; where it is true, the older attribute has no meaning.
    commits_by_itself = connection.isolation_level is None or getattr(connection, "autocommit", None) is True
    return Transaction.NONE if commits_by_itself else Transaction.COMING


def _in_django(connection: Any) -> Transaction:
    by_itself = connection.get_autocommit() and not connection.in_atomic_block
    return Transaction.NONE if by_itself else Transaction.OPEN


def _django_cursor(connection: Any) -> Any:
    return connection.cursor()


def _vendor(connection: Any) -> str:
    return str(connection.vendor)


_ON_SERVER = {"postgresql": dbapi.POSTGRESQL}
_OF_DJANGO = {"postgresql": dbapi.POSTGRESQL, "sqlite": dbapi.SQLITE_OF_DJANGO}
_DRIVERS = (
    _Driver("psycopg", "Connection", _psycopg_cursor, _on_server, _ON_SERVER),
    _Driver("psycopg2.extensions", "connection", _psycopg2_cursor, _on_server, _ON_SERVER),
    _Driver("sqlite3", "Connection", _sqlite_cursor, _in_sqlite, {"sqlite": dbapi.SQLITE}),
    # What Django gives for an alias, and what stands for that of the present thread.
    _Driver(
        "django.db.backends.base.base", "BaseDatabaseWrapper", _django_cursor, _in_django, _OF_DJANGO, _vendor
    ),
    _Driver("django.utils.connection", "ConnectionProxy", _django_cursor, _in_django, _OF_DJANGO, _vendor),
)
