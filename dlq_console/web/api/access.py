"""Which program is asking, and what of the hub may it reach?"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Protocol, cast

from flask import abort, g, request

from dlq_console.errors import EventNotFound
from dlq_console.store import people
from dlq_console.store.events import Event
from dlq_console.store.people import Person
from dlq_console.web.hub import ConsoleHub, hub


class Made(Protocol):
    """What became of an enqueue."""

    @property
    def id(self) -> int:
        """The event's id."""

    @property
    def created(self) -> bool:
        """False when it was folded into an event that exists."""

    @property
    def status(self) -> str:
        """The event's status at that moment."""


class ApiHub(ConsoleHub, Protocol):
    """The part of the hub that the API uses beyond what the console does."""

    def known_kinds(self) -> dict[str, Any]:
        """The kinds that workers have published."""

    def enqueue(
        self,
        kind: str,
        *,
        account: str,
        entity_id: str,
        payload: Any,
        idempotency_key: str | None = None,
        version: str | None = None,
        run_at: datetime | None = None,
        expires_at: datetime | None = None,
        origin: str | None = None,
    ) -> Made:
        """Put an event in, or find the one that exists."""

    def reprocess(self, event_id: int, *, actor: str, note: str | None = None, after: float = 0) -> Event:
        """Put a dead event back to work."""


def api_hub() -> ApiHub:
    """The hub of this application."""
    return cast(ApiHub, hub())


def require_token() -> None:
    """Guard of the API: a valid bearer token, else 401."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    person = people.token_person(hub().store, token.strip()) if scheme.lower() == "bearer" else None
    if person is None:
        abort(401)
    g.caller = person


def caller() -> Person:
    """The program that asks, behind the guard."""
    person: Person = g.caller
    return person


def demand(permission: str) -> Person:
    """The program that asks, which must have `permission`; else 403."""
    asking = caller()
    if not people.may(asking, permission):
        abort(403, f"The role {asking.role} may not {permission}.")
    return asking


def found(event: Event | None, event_id: int) -> Event:
    """The event, if there is one that the program may see.

    Raises:
        EventNotFound: there is none.
    """
    if event is None:
        raise EventNotFound(f"There is no event {event_id}; it may have been pruned.")
    return event
