"""Which doors are closed, by which causes, and what has a circuit gone through while an event was waiting?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from dlq_console.resilience.breaker import rules
from dlq_console.store import doors
from dlq_console.store.doors import NEVER, Cause, Door
from dlq_console.store.events import Attempt, Event, read_time
from dlq_console.store.queries.routes import Accounts
from dlq_console.store.scope_names import Scope, account_scope, method_scope
from dlq_console.store.store import Store

#: Most transitions of one circuit that are read; the newest ones.
MAX_CHANGES = 200
#: A run's transition is written in the transaction that ends it, after the attempt; at most so many seconds after it.
WRITTEN_WITHIN = 5

CHANGES = f"""
SELECT c.at, c.before, c.after, (
    SELECT a.id FROM {{attempt}} a WHERE a.ended_at <= c.at AND a.ended_at > c.at - {{interval[{WRITTEN_WITHIN}]}}
        AND a.worker = c.actor AND a.account = :account ORDER BY a.ended_at DESC, a.id DESC LIMIT 1
) AS attempt_id
FROM {{scope_change}} c
WHERE c.type = :type AND c.name = :name AND c.at >= :first_at AND c.at <= :last_at
ORDER BY c.generation DESC LIMIT {MAX_CHANGES}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedDoor:
    """One cause that keeps one door closed; a door may have several.

    Attributes:
        type: `account`, `method` (one kind of one account) or `provider`.
        name: of the scope.
        account: of an account or a method.
        kind: of a method.
        cause: `provider` (it asked for it), `circuit`, `pause`, or `auth` (the log-in was refused).
        until: None where it does not end by itself.
        reason: in the words of the provider or the person; None where there are none, or they are not for the asker.
        by: who decided it, where a person or the hub itself did.
        last_failure: of a circuit, the class of the last error that counted.
    """

    type: str
    name: str
    account: str | None
    kind: str | None
    cause: str
    until: datetime | None
    reason: str | None
    by: str | None
    last_failure: str | None = None


@dataclass(frozen=True, slots=True)
class CircuitChange:
    """A circuit changed: when, from what to what, and the attempt that ended right before, by the same worker."""

    at: datetime
    before: str
    after: str
    attempt_id: int | None


def closed_doors(store: Store, *, accounts: Accounts = None) -> tuple[ClosedDoor, ...]:
    """Everything that keeps a door closed at this moment, by scope, the longest cause of each first."""
    return tuple(
        told(door, cause, now, accounts)
        for door, now in doors.read_eventful(store)
        if concerns(door.scope, accounts)
        for cause in doors.causes(door, now)
    )


def paused_account(store: Store, account: str) -> ClosedDoor | None:
    """The pause of an account that stands at this moment."""
    door, now = doors.read(store, account_scope(account))
    pauses = [cause for cause in doors.causes(door, now) if cause.name in ("pause", "auth")]
    return told(door, pauses[0], now, None) if pauses else None


def concerns(scope: Scope, accounts: Accounts) -> bool:
    """Whether a door may be shown to somebody who sees these accounts; a provider concerns everybody."""
    return accounts is None or scope.account is None or scope.account in accounts


def told(door: Door, cause: Cause, now: float, accounts: Accounts) -> ClosedDoor:
    """One cause in plain values."""
    # What a provider said was said to one account, and names what that account was about.
    hidden = accounts is not None and door.scope.account is None
    return ClosedDoor(
        type=door.scope.type,
        name=door.scope.name,
        account=door.scope.account,
        kind=door.scope.kind,
        cause=cause.name,
        until=None if cause.until >= NEVER else datetime.fromtimestamp(cause.until, UTC),
        reason=None if hidden else cause.reason or None,
        by=_by(door, cause, now),
        last_failure=door.circuit.last_failure or None if cause.name == "circuit" else None,
    )


def _by(door: Door, cause: Cause, now: float) -> str | None:
    if cause.name in ("pause", "auth"):
        return door.pause.by if door.pause else None
    override = rules.standing_override(door.circuit, now) if cause.name == "circuit" else None
    return override.actor if override else None


def circuit_changes(store: Store, event: Event, attempts: Iterable[Attempt]) -> tuple[CircuitChange, ...]:
    """What the circuits that hear this event went through between its first attempt and its last, newest first."""
    known = list(attempts)
    if not known:
        return ()
    bounds = {
        "first_at": min(attempt.started_at for attempt in known),
        "last_at": max(attempt.ended_at for attempt in known) + timedelta(seconds=WRITTEN_WITHIN),
    }
    found = []
    with store.read() as connection:
        for scope in (account_scope(event.account), method_scope(event.account, event.kind)):
            named = {"type": scope.type, "name": scope.name, "account": event.account}
            for row in connection.execute(store.statement(CHANGES), named | bounds):
                at = read_time(row.at)
                if at is not None:
                    found.append(CircuitChange(at, row.before, row.after, row.attempt_id))
    return tuple(sorted(found, key=lambda change: change.at, reverse=True))
