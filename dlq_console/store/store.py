"""The store of one process: where it connects, how it spells time, and its prepared statements."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, TextClause, bindparam, text
from sqlalchemy.exc import InterfaceError, OperationalError

from dlq_console.errors import StoreUnavailable
from dlq_console.store.clock import DatabaseClock
from dlq_console.store.models import tables
from dlq_console.store.queues import queue_name
from dlq_console.store.session import Engines
from dlq_console.store.types import UtcTime

_TIME_PARAMETER = re.compile(r":([a-z_]+_(?:at|until))\b")


class Store:
    """Connections, clock, tables and statements that every module of the store works with.

    Opens nothing before first use; usable again in a forked child.
    """

    def __init__(
        self,
        database_url: str,
        *,
        table_prefix: str = "dlq_",
        queue_prefix: str = "erp",
        pool_size: int = 5,
    ) -> None:
        self.engines = Engines(database_url, pool_size=pool_size)
        self.tables = tables(table_prefix)
        self.queue_prefix = queue_prefix
        self.clock = DatabaseClock(self.engines.dialect)
        self._statements: dict[str, TextClause] = {}
        self.clock.on_change(self._statements.clear)

    @property
    def sqlite(self) -> bool:
        """Whether the database is SQLite."""
        return self.engines.dialect == "sqlite"

    def queue(self, account: str) -> str:
        """The queue on which the work of `account` travels."""
        return queue_name(self.queue_prefix, account)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that changes rows; committed at the end, rolled back on an error.

        Raises:
            StoreUnavailable: the database cannot be reached.
        """
        with _connected(), self.engines.write().begin() as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that only reads."""
        with _connected(), self.engines.read().connect() as connection:
            yield connection

    @contextmanager
    def single_statement(self) -> Iterator[Connection]:
        """A connection on which each statement is a transaction of its own: one round trip instead of three.

        On SQLite this is an ordinary write transaction.
        """
        if self.sqlite:
            with self.write() as connection:
                yield connection
            return
        engine = self.engines.write().execution_options(isolation_level="AUTOCOMMIT")
        with _connected(), engine.connect() as connection:
            yield connection

    def statement(self, template: str) -> TextClause:
        """The prepared form of a named SQL template.

        `{event}`, `{attempt}` ... are the tables; `DatabaseClock.words` lists the words for times. Parameters whose
        names end in `_at` or `_until` are times.
        """
        prepared = self._statements.get(template)
        if prepared is None:
            prepared = self._statements[template] = self._prepare(template)
        return prepared

    def _prepare(self, template: str) -> TextClause:
        names = {name: table.name for name, table in vars(self.tables).items() if hasattr(table, "columns")}
        clause = text(template.format(**self.clock.words(), **names))
        times = set(_TIME_PARAMETER.findall(template))
        return clause.bindparams(*(bindparam(name, type_=UtcTime) for name in times))


@contextmanager
def _connected() -> Iterator[None]:
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        if _connection_failed(error):
            raise StoreUnavailable(
                f"The database cannot be reached: {_reason(error)}. Nothing was changed."
            ) from error
        raise


def _connection_failed(error: OperationalError | InterfaceError) -> bool:
    if error.connection_invalidated:
        return True
    if isinstance(error.orig, sqlite3.Error):
        return str(error.orig).startswith("unable to open")
    state = getattr(error.orig, "sqlstate", None)
    return state is None or state.startswith(("08", "57P"))


def _reason(error: OperationalError | InterfaceError) -> str:
    lines = str(error.orig).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error.orig).__name__
