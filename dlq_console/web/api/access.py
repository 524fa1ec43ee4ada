"""Which program is asking, and what may it see and do?"""

from __future__ import annotations

from flask import abort, g, request

from dlq_console.errors import EventNotFound
from dlq_console.store import people
from dlq_console.store.events import Event
from dlq_console.store.people import Person
from dlq_console.web.hub import hub


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
