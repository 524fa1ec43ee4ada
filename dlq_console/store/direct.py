"""How do the few statements that every event costs reach PostgreSQL? Through the driver alone.

An event is claimed by one statement, completed by another, and a third asks what may be sent next. What SQLAlchemy does
around a statement takes longer than all that the driver does for it; here it lends its connection and its errors, and
nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from dlq_console.store.store import Store


def execute(store: Store, connection: Connection, template: str, parameters: Mapping[str, Any]) -> Any:
    """Run a statement of the store on `connection`, in its transaction; returns the driver's cursor.

    PostgreSQL only. The parameters go to the driver as they are.

    Raises:
        DBAPIError: what SQLAlchemy would have raised.
    """
    statement = store.driver_statement(template)
    driver, pooled = connection.dialect.loaded_dbapi, connection.connection
    cursor = pooled.cursor()
    # Who listens to the statements of an engine hears of these too.
    for tell in connection.dispatch.before_cursor_execute:
        tell(connection, cursor, statement, parameters, None, False)
    try:
        cursor.execute(statement, parameters)
    except driver.Error as error:
        lost = connection.dialect.is_disconnect(error, pooled.dbapi_connection, cursor)
        if lost:
            connection.invalidate(error)
        raise DBAPIError.instance(
            statement,
            None,
            error,
            driver.Error,
            hide_parameters=True,
            connection_invalidated=lost,
            dialect=connection.dialect,
        ) from error
    return cursor
