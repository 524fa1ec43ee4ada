"""How an event gets in: inside the caller's transaction, told to the workers only after commit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from sqlalchemy import Connection
from sqlalchemy.orm import Session, scoped_session

from dlq_console.store.events import Event

OnDuplicate = Literal["return", "reprocess_dead"]


class DatabaseConnection(Protocol):
    """A DB-API connection, such as psycopg's, sqlite3's or Django's."""

    @property
    def cursor(self) -> Callable[..., Any]:
        """Makes a cursor."""

    @property
    def commit(self) -> Callable[..., Any]:
        """Commits."""

    @property
    def rollback(self) -> Callable[..., Any]:
        """Rolls back."""


AnySession = Session | scoped_session[Any] | Connection | DatabaseConnection


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
    ordering_key: str | None = None
    serial: bool | None = None


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
