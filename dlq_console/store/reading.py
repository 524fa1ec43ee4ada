"""How does a read reach the database in as few round trips as possible?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection

from dlq_console.store.store import Store


@contextmanager
def reading(store: Store) -> Iterator[Connection]:
    """A connection for statements that need not see the same moment.

    On PostgreSQL each is a transaction of its own, which saves the round trips of beginning and ending one. On SQLite
    it is an ordinary read, which never waits for a writer.
    """
    with store.read() if store.sqlite else store.single_statement() as connection:
        yield connection
