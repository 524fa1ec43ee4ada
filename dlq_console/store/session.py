"""How a connection to the database is made, and why it survives a fork.

SQLite: WAL, and every transaction of the hub begins with BEGIN IMMEDIATE, because a deferred transaction that reads
before it writes fails at once with "database is locked", whatever the busy timeout. Reads go through a second engine
that can never write and never waits for the writer.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from typing import Any

from sqlalchemy import Engine, create_engine, event

from dlq_console.errors import ConfigurationError

#: How long a SQLite writer waits for its turn, in milliseconds. Writers queue unfairly, so it is generous.
BUSY_TIMEOUT_MS = 30_000
#: Older ones lack RETURNING and partial-index fixes.
SQLITE_MINIMUM = (3, 35, 0)


def make_engine(database_url: str, *, read_only: bool = False, pool_size: int = 5) -> Engine:
    """A new engine for `database_url`; connects at first use."""
    if database_url.startswith("sqlite"):
        return _sqlite_engine(database_url, read_only=read_only, pool_size=pool_size)
    return _postgres_engine(database_url, pool_size=pool_size)


def _postgres_engine(database_url: str, *, pool_size: int) -> Engine:
    return create_engine(
        database_url,
        pool_size=pool_size,
        max_overflow=5,
        pool_pre_ping=True,
        pool_recycle=1800,
        pool_use_lifo=True,
        connect_args={
            "application_name": "dlq-console",
            "connect_timeout": 10,
            # Short index look-ups only: compiling them costs more than running them.
            "options": "-c jit=off -c random_page_cost=1.1",
        },
    )


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
        connect_args={"timeout": BUSY_TIMEOUT_MS / 1000, "check_same_thread": False},
    )
    begin = "BEGIN" if read_only else "BEGIN IMMEDIATE"

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
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
        self._lock = threading.Lock()
        self._pid = 0
        self._write: Engine | None = None
        self._read: Engine | None = None

    def write(self) -> Engine:
        """The engine for transactions that change rows."""
        self._after_fork()
        if self._write is None:
            with self._lock:
                if self._write is None:
                    self._write = make_engine(self.database_url, pool_size=self._pool_size)
        return self._write

    def read(self) -> Engine:
        """The engine for transactions that only read."""
        self._after_fork()
        if self.dialect != "sqlite":
            return self.write()
        if self._read is None:
            with self._lock:
                if self._read is None:
                    self._read = make_engine(self.database_url, read_only=True, pool_size=self._pool_size)
        return self._read

    def dispose(self) -> None:
        """Close every connection; the next use opens new ones."""
        for engine in (self._write, self._read):
            if engine is not None:
                engine.dispose()

    def _after_fork(self) -> None:
        if self._pid == os.getpid():
            return
        # A lock held by another thread of the parent at the moment of the fork would never be released here.
        self._lock = threading.Lock()
        for engine in (self._write, self._read):
            if engine is not None:
                engine.dispose(close=False)
        self._write = self._read = None
        self._pid = os.getpid()
