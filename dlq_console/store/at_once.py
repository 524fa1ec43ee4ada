"""How is something written that nobody shall wait for? At once or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Executable

from dlq_console.errors import StoreUnavailable
from dlq_console.store.session import BUSY_TIMEOUT_MS
from dlq_console.store.store import Store


def write_at_once(store: Store, statement: Executable, parameters: Mapping[str, Any]) -> bool:
    """Run one statement as a transaction of its own; False where that is not possible now, and nothing was written.

    On SQLite it is not possible while anybody else writes. On PostgreSQL only those wait who change the same row.
    """
    try:
        with _impatient(store) as connection:
            connection.execute(statement, parameters)
    except StoreUnavailable:
        return False
    return True


@contextmanager
def _impatient(store: Store) -> Iterator[Connection]:
    if not store.sqlite:
        with store.single_statement() as connection:
            yield connection
        return
    with store.engines.reached(), store.engines.write().connect() as connection:
        driver: Any = connection.connection.driver_connection
        driver.execute("PRAGMA busy_timeout=0")
        try:
            with connection.begin():
                yield connection
        finally:
            driver.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
