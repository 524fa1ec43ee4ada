"""What does a peer without the hub get? A bare psycopg connection with the settings of the store's."""

from __future__ import annotations

import psycopg

from dlq_console.store.store import Store


def bare_connection(store: Store) -> psycopg.Connection:
    """A connection taken out of the store's pool for good; each statement commits by itself."""
    pooled = store.engines.each_statement().raw_connection()
    connection = pooled.driver_connection
    pooled.detach()
    assert isinstance(connection, psycopg.Connection)
    return connection
