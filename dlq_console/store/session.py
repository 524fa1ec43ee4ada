"""How is a connection to the database made, what if there is none, and why does a fork break nothing?

SQLite: WAL, and every transaction of the hub begins with BEGIN IMMEDIATE, because a deferred transaction that reads
before it writes fails at once with "database is locked", whatever the busy timeout. Reads go through a second engine
that can never write and never waits for the writer.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, create_engine, event, make_url
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from dlq_console.errors import ConfigurationError, StoreUnavailable
from dlq_console.store.liveness import replace_dead_connections
from dlq_console.store.small_letters import SMALL_LETTERS, small_letters

#: How long a SQLite writer waits for its turn, in milliseconds. Writers queue unfairly, so it is generous.
BUSY_TIMEOUT_MS = 30_000
#: Older ones lack RETURNING and partial-index fixes.
SQLITE_MINIMUM = (3, 35, 0)

_POSTGRES_OPTIONS = " ".join(
    (
        # Short index look-ups only: compiling them costs more than running them.
        "-c jit=off",
        "-c random_page_cost=1.1",
        # One plan per statement, whatever its values: planning the larger ones costs more than running them.
        "-c plan_cache_mode=force_generic_plan",
        # Guards are repeated in every write; a stricter level, set for the host's own sake, would refuse some of them.
        r"-c default_transaction_isolation=read\ committed",
    )
)
#: Beginnings of what SQLite says when it is not the statement that is at fault.
_SQLITE_AWAY = (
    "unable to open",
    "database is locked",
    "disk I/O error",
    "attempt to write a readonly",
    "file is not a database",
    "database disk image is malformed",
    "database or disk is full",
)
#: PostgreSQL: the connection failed, or an administrator ended it.
_POSTGRES_AWAY = ("08", "57P")


def make_engine(database_url: str, *, read_only: bool = False, pool_size: int = 5) -> Engine:
    """A new engine for `database_url`; connects at first use."""
    if database_url.startswith("sqlite"):
        return _sqlite_engine(database_url, read_only=read_only, pool_size=pool_size)
    return _postgres_engine(database_url, pool_size=pool_size)


def _postgres_engine(database_url: str, *, pool_size: int) -> Engine:
    engine = create_engine(
        database_url,
        isolation_level="AUTOCOMMIT",
        pool_size=pool_size,
        max_overflow=5,
        pool_recycle=1800,
        pool_use_lifo=True,
        hide_parameters=True,
        connect_args={
            "application_name": "dlq-console",
            "connect_timeout": 10,
            "options": _POSTGRES_OPTIONS,
        },
    )
    replace_dead_connections(engine)
    return engine


def _sqlite_engine(database_url: str, *, read_only: bool, pool_size: int) -> Engine:
    if sqlite3.sqlite_version_info < SQLITE_MINIMUM:
        found = sqlite3.sqlite_version
        raise ConfigurationError(
            f"SQLite {found} is too old: Python must be linked with SQLite 3.35 or newer."
        )
    engine = create_engine(
        database_url,
        pool_size=pool_size,
        max_overflow=10,
        hide_parameters=True,
        connect_args={"timeout": BUSY_TIMEOUT_MS / 1000, "check_same_thread": False},
    )
    begin = "BEGIN" if read_only else "BEGIN IMMEDIATE"

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        connection.create_function(SMALL_LETTERS, 1, small_letters, deterministic=True)
        connection.isolation_level = None  # the driver shall not begin transactions behind our back
        cursor = connection.cursor()
        # The busy timeout comes first: switching to WAL may itself have to wait.
        cursor.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.execute("PRAGMA temp_store=MEMORY")
        cursor.execute("PRAGMA cache_size=-64000")
        cursor.execute("PRAGMA journal_size_limit=67108864")
        if read_only:
            cursor.execute("PRAGMA query_only=ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        connection.exec_driver_sql(begin)

    return engine


class Engines:
    """The engines of one process: made at first use, and made anew in a forked child.

    A connection that crosses a fork is shared by two processes and breaks both; the child therefore forgets the
    parent's pool without closing it.
    """

    def __init__(self, database_url: str, *, pool_size: int = 5) -> None:
        self.database_url = database_url
        self.dialect = "sqlite" if database_url.startswith("sqlite") else "postgresql"
        self._pool_size = pool_size
        # A signal handler may come in while its own thread is inside.
        self._lock = threading.RLock()
        self._write: Engine | None = None
        self._read: Engine | None = None
        self._each: Engine | None = None
        self._of_the_parent: list[Engine] = []
        _living.add(self)

    def write(self) -> Engine:
        """The engine for transactions that change rows."""
        each = self.each_statement()
        if self.dialect == "sqlite":
            return each
        with self._lock:
            if self._write is None:
                # The same pool. What is done most often is what costs no change of the connection's state.
                self._write = each.execution_options(isolation_level="READ COMMITTED")
            return self._write

    def read(self) -> Engine:
        """The engine for reading: on SQLite a transaction, on PostgreSQL each statement by itself."""
        if self.dialect != "sqlite":
            return self.each_statement()
        with self._lock:
            if self._read is None:
                self._read = make_engine(self.database_url, read_only=True, pool_size=self._pool_size)
            return self._read

    def each_statement(self) -> Engine:
        """The engine on which each statement is a transaction of its own; on SQLite that of `write`."""
        with self._lock:
            if self._each is None:
                self._each = make_engine(self.database_url, pool_size=self._pool_size)
            return self._each

    @contextmanager
    def reached(self) -> Iterator[None]:
        """Inside the block, a database that is away is told in one sentence.

        Raises:
            StoreUnavailable: it cannot be reached, or it has no tables.
        """
        try:
            yield
        except PoolTimeoutError as error:
            raise StoreUnavailable(
                f"All connections of this process to the database {self.place} are in use; "
                "use fewer threads per process. Nothing was changed.",
                for_everybody="The database has too much to do at once; nothing was changed, try again in a moment.",
            ) from error
        except DBAPIError as error:
            unavailable = _unavailable(error, self.place)
            if unavailable is None:
                raise
            raise unavailable from error

    @property
    def place(self) -> str:
        """Where the database is, without user and password."""
        url = make_url(self.database_url)
        if self.dialect == "sqlite":
            return str(url.database)
        return f"{url.database} on {url.host or 'localhost'}:{url.port or 5432}"

    def dispose(self) -> None:
        """Close every connection; the next use opens new ones."""
        for engine in (self._each, self._read):
            if engine is not None:
                engine.dispose()

    def after_fork(self) -> None:
        """Forget the parent's connections; called in every child before anything else runs there."""
        # Another thread of the parent may have held the lock at the moment of the fork.
        self._lock = threading.RLock()
        # Kept, because letting go of a connection would close it under the parent.
        self._of_the_parent += [engine for engine in (self._each, self._read) if engine is not None]
        self._write = self._read = self._each = None


_living: weakref.WeakSet[Engines] = weakref.WeakSet()


def _after_fork() -> None:
    for engines in list(_living):
        engines.after_fork()


os.register_at_fork(after_in_child=_after_fork)


def _unavailable(error: DBAPIError, place: str) -> StoreUnavailable | None:
    """What is said of a database that is away or has no tables; None when the statement is at fault."""
    lines = str(error.orig).strip().splitlines()
    reason = lines[0].rstrip(".") if lines else type(error.orig).__name__
    state = getattr(error.orig, "sqlstate", None)
    if state == "42P01" or reason.startswith("no such table"):
        missing = "has no tables of DLQ Console yet"
        return StoreUnavailable(
            f"The database {place} {missing}; run: dlq-console db upgrade",
            for_everybody=f"The database {missing}; whoever runs it has to call dlq-console db upgrade.",
        )
    if error.connection_invalidated:
        look = "Look whether the last change was kept before you repeat it."
        return StoreUnavailable(
            f"The connection to the database {place} was lost: {reason}. {look}",
            for_everybody=f"The connection to the database was lost. {look}",
        )
    if isinstance(error.orig, sqlite3.Error):
        away = reason.startswith(_SQLITE_AWAY)
    else:
        # A failed attempt to connect has no state of a statement.
        away = isinstance(error, (OperationalError, InterfaceError)) and (
            state is None or state.startswith(_POSTGRES_AWAY)
        )
    if not away:
        return None
    return StoreUnavailable(f"The database {place} cannot be reached: {reason}. Nothing was changed.")
