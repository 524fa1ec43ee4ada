"""Which accounts, methods and providers are closed for now, and how much may run at once.

A scope is a row only where there is something to say about it; no row means open. Its name is the account itself,
`<account>/<kind>` for one method of an account, or the provider.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from dlq_console.store import doors
from dlq_console.store.door_acts import asks_to_wait
from dlq_console.store.events import read_time
from dlq_console.store.scope_names import ScopeType, method_name, named_scope
from dlq_console.store.store import Store

LIMIT = """
INSERT INTO {scope} (type, name, account, max_running, created_at, updated_at)
VALUES ('account', :name, :name, :max_running, {now}, {now})
ON CONFLICT (type, name) DO UPDATE SET max_running = excluded.max_running, updated_at = {now}
"""

CLOSED = """
SELECT type, name, closed_since, closed_until, closed_reason FROM {scope} WHERE closed_until > {now} ORDER BY type, name
"""

__all__ = ["ClosedScope", "ScopeType", "close", "closed_scopes", "limit_account", "method_name"]


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
    """Let nothing of a scope start for `seconds`; a longer closure that stands already is kept with its reason."""
    doors.change(store, connection, named_scope(type_, name), asks_to_wait(seconds, reason))


def limit_account(store: Store, account: str, max_running: int | None) -> None:
    """Let at most `max_running` events of `account` run at once; None goes back to the default share."""
    with store.write() as connection:
        connection.execute(store.statement(LIMIT), {"name": account, "max_running": max_running})


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
    if moment is None:
        raise ValueError("a closed scope has both times")
    return moment
