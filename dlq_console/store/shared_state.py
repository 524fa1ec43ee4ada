"""How is state shared through the database? One row per record, changed by a guarded UPDATE."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from sqlalchemy import Connection, TextClause, bindparam, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError

from dlq_console.errors import ConfigurationError, StoreUnavailable
from dlq_console.resilience.state import Kind, Loaded, OptimisticState, Swapped
from dlq_console.resilience.state.optimistic import CLOCK_TOLERANCE
from dlq_console.settings import normalise_database_url
from dlq_console.store.impatient import ImpatientEngines, writing_within
from dlq_console.store.queries.readiness import exists
from dlq_console.store.store import Store

#: The longest wait for an answer, in seconds. A database answers late now and then, so it is longer than that of Redis.
TIMEOUT = 0.5

# The time is told also where nothing stands.
LOAD_ALL = """
SELECT name, value, {now} AS now FROM (SELECT 1) AS moment LEFT JOIN {shared} ON kind = :kind AND {standing}
"""
LOAD_NAMED = LOAD_ALL + " AND name IN :names"
LOAD = LOAD_ALL + " AND name = :name"

#: Written only if nothing stands; a row whose time is over counts as nothing.
INSERT = """
INSERT INTO {shared} (kind, name, value, expires_at)
SELECT :kind, :name, :value, {now} + :keep_for WHERE abs({now} - :computed_at) <= :tolerance
ON CONFLICT (kind, name) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at
WHERE {shared}.expires_at <= {now}
"""

UPDATE = """
UPDATE {shared} SET value = :value, expires_at = {now} + :keep_for
WHERE kind = :kind AND name = :name AND value = :seen AND {standing} AND abs({now} - :computed_at) <= :tolerance
"""

DELETE = """
DELETE FROM {shared}
WHERE kind = :kind AND name = :name AND value = :seen AND {standing} AND abs({now} - :computed_at) <= :tolerance
"""

PRUNE = "DELETE FROM {shared} WHERE expires_at <= {now}"


class SqlState(OptimisticState):
    """State shared by every process that uses the same database; opens nothing before first use, safe before a fork.

    On PostgreSQL it has connections of its own, which nobody waits for longer than the time limit. An SQLite file that
    somebody else is writing to is waited for as by every writer, but for circuits and slots no longer than the limit.

    Args:
        store: the hub's store, or the URL of a database.
        table_prefix: begins the name of its table, where a URL is given.
        timeout: the longest wait for an answer of PostgreSQL, or for another writer of SQLite, in seconds.

    Raises:
        ConfigurationError: an argument is not fit.
    """

    refresh_every: ClassVar[float] = 0.2

    def __init__(self, store: Store | str, *, table_prefix: str = "dlq_", timeout: float = TIMEOUT) -> None:
        super().__init__(timeout)
        self._own_store = not isinstance(store, Store)
        self._store = store if isinstance(store, Store) else _store_at(store, table_prefix)
        self._engines = self._store.engines
        if not self._store.sqlite:
            self._engines = ImpatientEngines(self._engines.database_url, timeout=timeout, pool_size=2)
        self.table = self._store.tables.shared
        self._statements: dict[str, TextClause] = {}
        self._store.clock.on_change(self._statements.clear)

    @property
    def place(self) -> str:
        """Where the database is, without user and password."""
        return self._engines.place

    def create_table(self) -> None:
        """Create the table where there is none."""
        with self._store.write() as connection:
            self.table.create(connection, checkfirst=True)

    def prune(self) -> int:
        """Delete the records whose time is over; returns how many.

        Raises:
            StoreUnavailable: the database cannot be used.
        """
        with self._reached(), self._store.single_statement() as connection:
            return connection.execute(self._statement(PRUNE)).rowcount

    def _disconnect(self) -> None:
        if self._engines is not self._store.engines:
            self._engines.dispose()
        # The hub closes its own store.
        if self._own_store:
            self._store.engines.dispose()

    def _load(self, kind: Kind[Any], name: str) -> Loaded:
        with self._reached(), self._reading() as connection:
            row = connection.execute(self._statement(LOAD), {"kind": kind.name, "name": name}).one()
        return Loaded(row.value, row.now)

    def _load_all(self, kind: Kind[Any], names: Collection[str] | None) -> tuple[Mapping[str, str], float]:
        parameters: dict[str, Any] = {"kind": kind.name}
        statement = self._statement(LOAD_ALL)
        if names is not None:
            parameters["names"] = list(names)
            statement = self._statement(LOAD_NAMED)
        with self._reached(), self._reading() as connection:
            rows = connection.execute(statement, parameters).all()
        return {row.name: row.value for row in rows if row.name is not None}, rows[0].now

    def _swap(self, kind: Kind[Any], name: str, seen: Loaded, text: str | None, keep_for: float) -> Swapped:
        template = INSERT if seen.text is None else DELETE if text is None else UPDATE
        parameters = {
            "kind": kind.name,
            "name": name,
            "seen": seen.text,
            "value": text,
            "keep_for": keep_for,
            "computed_at": seen.now,
            "tolerance": CLOCK_TOLERANCE,
        }
        wanted = self._statement(template)
        with self._reached(), self._writing(kind) as connection:
            done = connection.execute(wanted, parameters).rowcount == 1
        return Swapped(done, self.now())

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self._engines.reached(), self._engines.read().connect() as connection:
            yield connection

    @contextmanager
    def _writing(self, kind: Kind[Any]) -> Iterator[Connection]:
        """For one statement, which is a transaction of its own.

        Raises:
            Contended: others were writing to the SQLite file all the time, and the change is a hurried one.
            StoreUnavailable: somebody keeps the file, and the change is a hurried one.
        """
        if self._store.sqlite:
            patience = self._timeout if kind.hurried else None
            with writing_within(self._store, patience) as connection:
                yield connection
            return
        with self._engines.reached(), self._engines.each_statement().connect() as connection:
            yield connection

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """Whatever is wrong with the database, calls go on without it: also where nobody has made the table."""
        if not exists(self._store):
            raise StoreUnavailable(
                f"The shared state cannot be used: there is no database at {self.place}; run: dlq-console db upgrade"
            )
        try:
            yield
        except DBAPIError as error:
            raise StoreUnavailable(
                f"The shared state in the database {self.place} cannot be used: {type(error.orig).__name__}."
            ) from error

    def _statement(self, template: str) -> TextClause:
        prepared = self._statements.get(template)
        if prepared is None:
            now = self._now_sql()
            standing = f"{self.table.name}.expires_at > {now}"
            prepared = text(template.format(shared=self.table.name, now=now, standing=standing))
            if ":names" in template:
                prepared = prepared.bindparams(bindparam("names", expanding=True))
            self._statements[template] = prepared
        return prepared

    def _now_sql(self) -> str:
        moment = self._store.clock.now_sql()
        if self._store.sqlite:
            return f"({moment} / 1000000.0)"
        return f"CAST(extract(epoch FROM {moment}) AS double precision)"


def _store_at(url: Any, table_prefix: str) -> Store:
    try:
        address = normalise_database_url(url)
        make_url(address)
    except (ArgumentError, ValueError, AttributeError, TypeError):
        # The address may hold a password, and the error a part of it.
        raise ConfigurationError(
            "The address of a SqlState cannot be used; write sqlite:///path/to/file.db"
            " or postgresql+psycopg://user:password@host/database."
        ) from None
    return Store(address, table_prefix=table_prefix)
