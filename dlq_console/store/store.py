"""The store of one process: where it connects, how it spells time, and its prepared statements."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy import Connection, TextClause, bindparam, text
from sqlalchemy.exc import DBAPIError

from dlq_console.store.clock import DatabaseClock
from dlq_console.store.lane_names import SERIAL_LANE
from dlq_console.store.models import tables
from dlq_console.store.queues import queue_name
from dlq_console.store.session import Engines
from dlq_console.store.types import UtcTime

Answer = TypeVar("Answer")

#: How often a transaction is tried that the database breaks off for the sake of another one.
TRIES = 4
#: What PostgreSQL then says: a deadlock, or no serial order.
_IN_THE_WAY = ("40P01", "40001")
_TIME_PARAMETER = re.compile(r":([a-z_]+_(?:at|until))\b")

#: Prepared statements that are kept. Those of the lists vary with the shape of the filter, so there must be an end.
MOST_STATEMENTS = 1000


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
        self._driver_statements: dict[str, str] = {}
        self.clock.on_change(self._statements.clear)
        self.clock.on_change(self._driver_statements.clear)

    @property
    def sqlite(self) -> bool:
        """Whether the database is SQLite."""
        return self.engines.dialect == "sqlite"

    def queue(self, account: str, lane: str | None = None) -> str:
        """The queue on which an event of `account` in `lane` travels."""
        return queue_name(self.queue_prefix, account, serial=lane is not None and lane.endswith(SERIAL_LANE))

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that changes rows; committed at the end, rolled back on an error.

        Raises:
            StoreUnavailable: the database cannot be reached.
        """
        with self.engines.reached(), self.engines.write().begin() as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that only reads.

        On PostgreSQL each statement sees its own moment, which saves the round trips of a transaction; ending one by
        a rollback would also cost the connection its prepared statements.
        """
        with self.engines.reached(), self.engines.read().connect() as connection:
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
        with self.engines.reached(), self.engines.each_statement().connect() as connection:
            yield connection

    def transact(self, work: Callable[[Connection], Answer]) -> Answer:
        """Do `work` in a write transaction; again from the start where two transactions stood in each other's way.

        Raises:
            StoreUnavailable: the database cannot be reached.
        """
        for _ in range(TRIES - 1):
            try:
                with self.write() as connection:
                    return work(connection)
            except DBAPIError as error:
                if getattr(error.orig, "sqlstate", None) not in _IN_THE_WAY:
                    raise
        with self.write() as connection:
            return work(connection)

    def statement(self, template: str) -> TextClause:
        """The prepared form of a named SQL template.

        `{event}`, `{attempt}` ... are the tables; `DatabaseClock.words` lists the words for times. Parameters whose
        names end in `_at` or `_until` are times.
        """
        prepared = self._statements.get(template)
        if prepared is None and len(self._statements) >= MOST_STATEMENTS:
            self._statements.clear()
        if prepared is None:
            prepared = self._statements[template] = self._prepare(template)
        return prepared

    def driver_statement(self, template: str) -> str:
        """The same as the database driver takes it."""
        text_ = self._driver_statements.get(template)
        if text_ is None:
            text_ = str(self.statement(template).compile(self.engines.each_statement()))
            self._driver_statements[template] = text_
        return text_

    def _prepare(self, template: str) -> TextClause:
        names = {name: table.name for name, table in vars(self.tables).items() if hasattr(table, "columns")}
        clause = text(template.format(**self.clock.words(), **names))
        times = set(_TIME_PARAMETER.findall(template))
        return clause.bindparams(*(bindparam(name, type_=UtcTime) for name in times))
