"""How is the transaction of SQLAlchemy's sessions and connections joined?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from sqlalchemy import Connection
from sqlalchemy.orm import Session, scoped_session

from dlq_console.hub.after_commit import after_commit, commits_by_itself
from dlq_console.hub.joining import Joined
from dlq_console.hub.raw_connections import RawConnections


class SqlAlchemySessions:
    """The way in for a Session, a `scoped_session` or a Connection."""

    def __init__(self) -> None:
        self._raw = RawConnections()

    def takes(self, session: object) -> bool:
        """Whether it is one of SQLAlchemy's."""
        return isinstance(session, (Session, scoped_session, Connection))

    def dialect(self, session: Session | scoped_session[Session] | Connection) -> str:
        """The make of its database."""
        return _connection(session).dialect.name

    @contextmanager
    def join(self, session: Session | scoped_session[Session] | Connection) -> Iterator[Joined]:
        """Inside the block its transaction is joined."""
        connection = _connection(session)
        by_itself = commits_by_itself(connection)
        if by_itself and self._raw.takes(connection.connection.driver_connection):
            with self._raw.join(connection.connection.driver_connection) as joined:
                yield joined
        else:
            yield Joined(connection, partial(after_commit, connection), own_transaction=by_itself)


def _connection(session: Session | scoped_session[Session] | Connection) -> Connection:
    return session if isinstance(session, Connection) else session.connection()
