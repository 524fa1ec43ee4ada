"""How an event gets in: inside the caller's transaction, told to the workers only after commit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection
from sqlalchemy.orm import Session, scoped_session

from dlq_console.store.events import Event

OnDuplicate = Literal["return", "reprocess_dead"]
AnySession = Session | scoped_session[Any] | Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """One event for `Hub.enqueue_many`; the fields are the arguments of `Hub.enqueue`."""

    kind: str
    account: str
    entity_id: str
    payload: Any
    idempotency_key: str | None = None
    version: str | None = None
    run_at: datetime | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Enqueued:
    """What became of an enqueue.

    Attributes:
        id: the event's id.
        created: False when it was folded into an event that exists.
        status: the event's status at that moment; look at it when `created` is False: a duplicate of a dead event
            does not run by itself.
    """

    id: int
    created: bool
    status: str
    load: Callable[[int], Event] = field(repr=False, compare=False)

    @property
    def event(self) -> Event:
        """The event as it is now; inside an open transaction only that transaction can see it."""
        return self.load(self.id)


def connection_of(session: object, dialect: str) -> Connection:
    """The SQLAlchemy connection that `session` works on; its transaction is the one the event joins.

    Args:
        session: a Session, a `scoped_session` or a Connection.
        dialect: name of the hub's own database; the tables can only be in a database of that make.

    Raises:
        TypeError: it is something else, or a connection to a database of another make.
    """
    if isinstance(session, scoped_session):
        session = session()
    connection = session.connection() if isinstance(session, Session) else session
    if not isinstance(connection, Connection):
        name = type(session).__name__
        raise TypeError(f"enqueue(session=...) takes a SQLAlchemy Session or Connection, not {name}.")
    if connection.dialect.name != dialect:
        raise TypeError(
            f"enqueue(session=...) joins a transaction of the hub's own {dialect} database, "
            f"not of one on {connection.dialect.name}."
        )
    return connection
