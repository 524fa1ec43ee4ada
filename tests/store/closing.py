"""How does a test close a door as a provider would, and see which doors are closed?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from dlq_console.store import doors
from dlq_console.store.door_acts import asks_to_wait
from dlq_console.store.events import read_time
from dlq_console.store.scope_names import ScopeType, named_scope
from dlq_console.store.store import Store

CLOSED = """
SELECT type, name, closed_since, closed_until, closed_reason FROM {scope} WHERE closed_until > {now} ORDER BY type, name
"""


@dataclass(frozen=True, slots=True)
class ClosedScope:
    """A door that is closed for now: since when, until when and why."""

    type: str
    name: str
    since: datetime
    until: datetime
    reason: str | None


def close(
    store: Store, connection: Connection, type_: ScopeType, name: str, seconds: float, reason: str
) -> None:
    """Let nothing of a scope start for `seconds`."""
    doors.change(store, connection, named_scope(type_, name), asks_to_wait(seconds, reason))


def closed_scopes(store: Store) -> tuple[ClosedScope, ...]:
    """Every scope that is closed at this moment."""
    with store.read() as connection:
        rows = connection.execute(store.statement(CLOSED)).all()
    return tuple(
        ClosedScope(row.type, row.name, _time(row.closed_since), _time(row.closed_until), row.closed_reason)
        for row in rows
    )


def _time(value: object) -> datetime:
    moment = read_time(value)
    assert moment is not None
    return moment
