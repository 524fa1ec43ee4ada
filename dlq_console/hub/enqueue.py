"""How an event gets in: inside the caller's transaction, told to the workers only after commit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection
from sqlalchemy.orm import Session

from dlq_console.store.events import Event

OnDuplicate = Literal["return", "reprocess_dead"]


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


def connection_of(session: object) -> Connection:
    """The SQLAlchemy connection that `session` works on; its transaction is the one the event joins.

    Raises:
        TypeError: it is neither a Session nor a Connection.
    """
    if isinstance(session, Session):
        return session.connection()
    if isinstance(session, Connection):
        return session
    name = type(session).__name__
    raise TypeError(f"enqueue(session=...) takes a SQLAlchemy Session or Connection, not {name}.")
