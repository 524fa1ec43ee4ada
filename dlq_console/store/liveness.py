"""Is a pooled connection still alive? Asked without a round trip wherever that is possible.

A server that goes away closes its end, and a closed connection has something to read; one that is well and idle has
not. That look costs microseconds, where a question to the server would double the time of a short statement. Only a
connection that has something to read, or that lay idle so long that something between may have dropped it silently,
is asked.
"""

from __future__ import annotations

import select
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.exc import InvalidatePoolError

from dlq_console.clock import monotonic

#: A connection that was idle for longer is asked, in seconds.
BELIEVED = 30.0

_IDLE_SINCE = "dlq_console.idle_since"


def replace_dead_connections(engine: Engine) -> None:
    """Let the pool of `engine` replace what died in it, as after a restart of the database."""

    @event.listens_for(engine, "checkin")
    def _returned(_connection: Any, record: Any) -> None:
        record.info[_IDLE_SINCE] = monotonic()

    @event.listens_for(engine, "checkout")
    def _taken(connection: Any, record: Any, _proxy: Any) -> None:
        idle_since = record.info.get(_IDLE_SINCE)
        if idle_since is None:  # a new one
            return
        if monotonic() - idle_since > BELIEVED or has_something_to_read(connection):
            _ask(engine, connection)


def has_something_to_read(connection: Any) -> bool:
    """Whether the server has sent something to a connection that asked for nothing; its farewell counts too."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def _ask(engine: Engine, connection: Any) -> None:
    try:
        engine.dialect.do_ping(connection)
    except engine.dialect.loaded_dbapi.Error as error:
        raise InvalidatePoolError("the connection was closed while it was idle") from error
