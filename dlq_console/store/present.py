"""What time is it? By the database's clock, which tells all times that are kept."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from dlq_console.store.events import read_time
from dlq_console.store.store import Store


def present(store: Store, connection: Connection) -> datetime:
    """The present moment; on PostgreSQL that of this statement, not of its transaction."""
    now = read_time(connection.execute(store.statement("SELECT {now} AS now")).scalar_one())
    assert now is not None, "the database tells the time"  # noqa: S101 - tells the type checker
    return now
