"""Which accounts, methods and providers are closed for now, and how much may run at once.

A scope is a row only where there is something to say about it; no row means open. Its name is the account itself,
`<account>/<kind>` for one method of an account, or the provider.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import Connection

from dlq_console.store.events import read_time
from dlq_console.store.store import Store

ScopeType = Literal["account", "method", "provider"]

CLOSE = """
INSERT INTO {scope} (type, name, closed_until, closed_since, closed_reason, created_at, updated_at)
VALUES (:type, :name, {now} + {interval[seconds]}, {now}, :reason, {now}, {now})
ON CONFLICT (type, name) DO UPDATE SET
    closed_until = {greatest}(coalesce({scope}.closed_until, excluded.closed_until), excluded.closed_until),
    closed_since = CASE WHEN {scope}.closed_until > {now} THEN {scope}.closed_since ELSE {now} END,
    closed_reason = CASE WHEN {scope}.closed_until > excluded.closed_until THEN {scope}.closed_reason
        ELSE excluded.closed_reason END,
    updated_at = {now}
"""

LIMIT = """
INSERT INTO {scope} (type, name, max_running, created_at, updated_at)
VALUES ('account', :name, :max_running, {now}, {now})
ON CONFLICT (type, name) DO UPDATE SET max_running = excluded.max_running, updated_at = {now}
"""

CLOSED = """
SELECT type, name, closed_since, closed_until, closed_reason FROM {scope} WHERE closed_until > {now} ORDER BY type, name
"""

#: Condition on `e`, an event row: no closed method and no closed provider stands in its way.
METHOD_AND_PROVIDER_OPEN = """
NOT EXISTS (
    SELECT 1 FROM {scope} m WHERE m.type = 'method' AND m.closed_until > {now}
        AND m.name = replace(replace(e.account, '%', '%25'), '/', '%2F') || '/' || e.kind
) AND NOT EXISTS (
    SELECT 1 FROM {scope} p JOIN {kind} k ON k.provider = p.name
    WHERE p.type = 'provider' AND p.closed_until > {now} AND k.name = e.kind
)
"""


@dataclass(frozen=True, slots=True)
class ClosedScope:
    """A door that is closed for now: since when, until when and why."""

    type: str
    name: str
    since: datetime
    until: datetime
    reason: str | None


def method_name(account: str, kind: str) -> str:
    """Name of the scope of one kind of one account; "/" and "%" in the account are escaped."""
    return f"{account.replace('%', '%25').replace('/', '%2F')}/{kind}"


def close(
    store: Store, connection: Connection, type_: ScopeType, name: str, seconds: float, reason: str
) -> None:
    """Let nothing of a scope start for `seconds`; a longer closure that stands already is kept with its reason."""
    parameters = {"type": type_, "name": name, "seconds": seconds, "reason": reason}
    connection.execute(store.statement(CLOSE), parameters)


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
