"""How does a statement end that a database does not answer? By a time limit of the caller, whatever the database does.

A PostgreSQL that is frozen keeps its connections open and enforces no time limit of its own, and the driver waits for
ever. Work that must not be held up by its database uses these connections: they give up, close, and say so.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import OperationalError

from dlq_console.clock import monotonic
from dlq_console.errors import StoreUnavailable
from dlq_console.resilience.state import Contended
from dlq_console.store.session import BUSY_TIMEOUT_MS, Engines
from dlq_console.store.store import Store

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import DBAPIConnection, Dialect
    from sqlalchemy.pool import ConnectionPoolEntry

#: The driver knows no shorter limit for connecting, in seconds.
CONNECT_WITHIN = 2
#: The driver looks at its clock so often while it waits, in seconds.
_LOOK_EVERY = 0.05


class ImpatientEngines(Engines):
    """Engines for a PostgreSQL each of whose statements ends within some seconds; on SQLite ordinary ones.

    Args:
        database_url: where the database is.
        timeout: the longest wait for an answer, in seconds.
        pool_size: connections that are kept.
    """

    def __init__(self, database_url: str, *, timeout: float, pool_size: int = 5) -> None:
        super().__init__(database_url, pool_size=pool_size)
        self._timeout = timeout

    def each_statement(self) -> Engine:
        """The engine on which each statement is a transaction of its own, and bounded."""
        with self._lock:
            made = self._each is None
            engine = super().each_statement()
            if made and self.dialect != "sqlite":
                _bound(engine, self._timeout)
            return engine


@contextmanager
def writing_within(store: Store, seconds: float | None) -> Iterator[Connection]:
    """A transaction on SQLite that waits so long for another writer, or as every writer does (None).

    Raises:
        Contended: others were writing all the time; nothing was changed.
        StoreUnavailable: nobody has written anything either, for one of them keeps the file; nothing was changed.
    """
    if seconds is None:
        with store.write() as connection:
            yield connection
        return
    with store.engines.reached(), store.engines.write().connect() as connection:
        driver: Any = connection.connection.driver_connection
        driver.execute(f"PRAGMA busy_timeout={max(1, round(seconds * 1000))}")
        try:
            with _not_held_up(store.engines.place, driver, seconds), connection.begin():
                yield connection
        finally:
            driver.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")


@contextmanager
def _not_held_up(place: str, driver: sqlite3.Connection, seconds: float) -> Iterator[None]:
    before = _changes_of_others(driver)
    try:
        yield
    except OperationalError as error:
        code = getattr(error.orig, "sqlite_errorcode", None)
        if code is None or code & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        if _changes_of_others(driver) != before:
            raise Contended(f"Others are writing to the database {place}; nothing was changed.") from error
        raise StoreUnavailable(
            f"Another program has kept the database {place} from being written to for {seconds:g} s."
        ) from error


def _changes_of_others(driver: sqlite3.Connection) -> int | None:
    """A number that is another one after somebody else has written; None where even that cannot be told."""
    try:
        number: int = driver.execute("PRAGMA data_version").fetchone()[0]
    except sqlite3.OperationalError:
        return None
    return number


def _bound(engine: Engine, timeout: float) -> None:
    """Let every connection of the engine give up after so many seconds."""
    milliseconds = max(1, round(timeout * 1000))

    @event.listens_for(engine, "do_connect")
    def _connecting(
        _dialect: Dialect, _record: ConnectionPoolEntry, _arguments: Any, parameters: dict[str, Any]
    ) -> None:
        parameters["connect_timeout"] = CONNECT_WITHIN
        parameters["tcp_user_timeout"] = milliseconds
        # What its caller has given up must not go on in the database, such as waiting for a lock.
        parameters["options"] += f" -c statement_timeout={milliseconds}"

    @event.listens_for(engine, "connect")
    def _connected(connection: DBAPIConnection, _record: ConnectionPoolEntry) -> None:
        _give_up_after(connection, timeout)


def _give_up_after(connection: Any, seconds: float) -> None:
    """Bound what the connection waits for: the driver does all its waiting through this one method."""
    wait = connection.wait

    def bounded(work: Generator[Any, Any, Any], *_arguments: Any, **_options: Any) -> Any:
        return wait(_until(monotonic() + seconds, work, connection), interval=_LOOK_EVERY)

    connection.wait = bounded


def _until(deadline: float, work: Generator[Any, Any, Any], connection: Any) -> Generator[Any, Any, Any]:
    """The same work, which fails when nothing has come by the deadline."""
    try:
        wanted = next(work)
        while True:
            ready = yield wanted
            if not ready and monotonic() >= deadline:
                connection.close()
                raise connection.OperationalError("it gave no answer in time")
            wanted = work.send(ready)
    except StopIteration as end:
        return end.value
