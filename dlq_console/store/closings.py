"""When did a provider or a person keep a door closed? Written down with every change of a door, for what is drawn over time.

A row is made when a closing begins, with the end that is known then, and moved when that changes. The door's own row is
locked by whoever changes it, so no two write about the same closing at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from dlq_console.store.clock import from_seconds
from dlq_console.store.scope_names import Scope
from dlq_console.store.store import Store

#: Days for which a closing is kept after its end; what is drawn goes back 30.
KEPT_DAYS = 31
#: Rows of one transaction that forgets.
CHUNK = 1_000

BEGIN = """
INSERT INTO {scope_closing} (type, name, cause, began_at, until_at, reason)
VALUES (:type, :name, :cause, :began_at, :until_at, :reason)
"""
MOVE = """
UPDATE {scope_closing} SET until_at = :until_at, reason = :reason WHERE id = (
    SELECT id FROM {scope_closing} WHERE type = :type AND name = :name AND cause = :cause
    ORDER BY type, name, began_at DESC LIMIT 1
) AND (until_at IS NULL OR until_at > :now_at)
"""
FORGET = f"""
DELETE FROM {{scope_closing}} WHERE id IN (
    SELECT id FROM {{scope_closing}} WHERE until_at < {{now}} - {{interval[{KEPT_DAYS * 86_400}]}}
    ORDER BY until_at LIMIT {CHUNK}
)
"""


@dataclass(frozen=True, slots=True)
class Held:
    """What keeps a door closed, other than a circuit by itself; in seconds since 1970, `until` None where nothing ends it."""

    cause: str
    since: float
    until: float | None
    reason: str | None


def note(
    store: Store, connection: Connection, scope: Scope, before: Held | None, after: Held | None, now: float
) -> None:
    """Write down that a closing begins, changes its end, or ends, in the transaction that changes the door."""
    if before is not None and (after is None or after.cause != before.cause):
        _move(store, connection, scope, before, now, now)
    if after is None or after == before:
        return
    moved = before is not None and before.cause == after.cause
    if not (moved and _move(store, connection, scope, after, after.until, now)):
        values = _values(scope, after, after.until) | {"began_at": from_seconds(after.since)}
        connection.execute(store.statement(BEGIN), values)


def forget(store: Store) -> int:
    """Delete some of those that ended long ago; returns how many."""
    with store.write() as connection:
        return connection.execute(store.statement(FORGET)).rowcount


def _move(
    store: Store, connection: Connection, scope: Scope, held: Held, until: float | None, now: float
) -> bool:
    values = _values(scope, held, until) | {"now_at": from_seconds(now)}
    return connection.execute(store.statement(MOVE), values).rowcount > 0


def _values(scope: Scope, held: Held, until: float | None) -> dict[str, object]:
    return {
        "type": scope.type,
        "name": scope.name,
        "cause": held.cause,
        "until_at": from_seconds(until),
        "reason": held.reason,
    }
