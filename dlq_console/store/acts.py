"""What a person does to an event: a guarded UPDATE with its audit row, in one transaction.

The table of what is allowed is `states.py`; the guards are made of it. No row changed means that the event is not, or not
any more, as the person saw it.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from dlq_console.store.claim_sql import RETRY
from dlq_console.store.cursors import MAX_ID
from dlq_console.store.lanes import promote
from dlq_console.store.states import ALLOWED, Action, Reason, Status
from dlq_console.store.store import Store

#: Characters of the name of whoever acts.
MAX_ACTOR = 200

AUDIT = """
INSERT INTO {audit} (at, actor, action, event_id, subject, note, before, after)
VALUES ({now}, :actor, :action, :event_id, :subject, :note, :before, :after)
"""


def _allowed(action: Action) -> str:
    return ", ".join(f"'{status}'" for status in ALLOWED[action])


REPROCESS = f"""
UPDATE {{event}} SET status = CASE WHEN lane IS NULL THEN 'pending' ELSE 'blocked' END, reason = NULL, cycle = cycle + 1, attempts = 0, priority = {RETRY},
    lease_epoch = lease_epoch + 1, finished_at = NULL, died_again = NULL, dispatched_at = NULL, dispatch_count = 0,
    max_attempts = CAST(:max_attempts AS integer), expires_at = NULL,
    due_at = {{now}} + {{interval[after]}}, next_run_at = {{now}} + {{interval[after]}},
    give_up_at = {{now}} + {{interval[after]}} + {{interval[max_wait]}}, updated_at = {{now}}
WHERE id = :id AND status IN ({_allowed(Action.REPROCESS)})
RETURNING lease_epoch, lane
"""
DISCARD = f"""
UPDATE {{event}} SET status = 'discarded', reason = '{Reason.OPERATOR}', finished_at = {{now}}, updated_at = {{now}},
    lease_epoch = lease_epoch + 1
WHERE id = :id AND status IN ({_allowed(Action.DISCARD)})
RETURNING lease_epoch, lane
"""
_AFTER = {Action.REPROCESS: Status.PENDING, Action.DISCARD: Status.DISCARDED}
STATUS = "SELECT status FROM {event} WHERE id = :id"
#: With the row locked until the act is written, so that the audit names the status it was taken from. A transaction
#: on SQLite is the only writer anyway.
STATUS_LOCKED = f"{STATUS} FOR NO KEY UPDATE"


def reprocess(
    store: Store,
    connection: Connection,
    event_id: int,
    *,
    actor: str,
    note: str | None,
    max_attempts: int | None = None,
    after: float = 0,
    max_wait: float,
    seen_epoch: int | None = None,
) -> int | None:
    """dead -> pending (blocked behind an earlier event of its lane), a new cycle.

    Returns the new epoch, or None when the event is not (any more) as seen.
    """
    parameters = {"max_attempts": max_attempts, "after": after, "max_wait": max_wait}
    return _act(store, connection, REPROCESS, Action.REPROCESS, event_id, actor, note, seen_epoch, parameters)


def discard(
    store: Store,
    connection: Connection,
    event_id: int,
    *,
    actor: str,
    note: str | None,
    seen_epoch: int | None = None,
) -> int | None:
    """dead, failed, pending or blocked -> discarded; None when it is not (any more) as seen."""
    return _act(store, connection, DISCARD, Action.DISCARD, event_id, actor, note, seen_epoch, {})


def status_of(store: Store, connection: Connection, event_id: int) -> str | None:
    """The status of an event; None where there is no such event."""
    if not 0 < event_id <= MAX_ID:
        return None
    return connection.execute(store.statement(STATUS), {"id": event_id}).scalar()


def record(
    store: Store,
    connection: Connection,
    *,
    actor: str,
    action: str,
    event_id: int | None = None,
    subject: str | None = None,
    note: str | None = None,
    before: str | None = None,
    after: str | None = None,
) -> None:
    """Write down who did what, in the transaction that does it."""
    row = {"actor": actor, "action": action, "event_id": event_id, "subject": subject}
    connection.execute(store.statement(AUDIT), row | {"note": note, "before": before, "after": after})


def _act(
    store: Store,
    connection: Connection,
    template: str,
    action: Action,
    event_id: int,
    actor: str,
    note: str | None,
    seen_epoch: int | None,
    parameters: dict[str, Any],
) -> int | None:
    if seen_epoch is not None:
        template = template.replace("WHERE id = :id", "WHERE id = :id AND lease_epoch = :seen")
    if not 0 < event_id <= MAX_ID:
        return None
    parameters |= {"id": event_id, "seen": seen_epoch}
    status = store.statement(STATUS if store.sqlite else STATUS_LOCKED)
    before = connection.execute(status, {"id": event_id}).scalar()
    changed = connection.execute(store.statement(template), parameters).first()
    if changed is None:
        return None
    if changed.lane is not None:
        promote(store, connection, changed.lane)
    after = status_of(store, connection, event_id) if changed.lane is not None else _AFTER[action]
    record(
        store,
        connection,
        actor=actor,
        action=action,
        event_id=event_id,
        note=note,
        before=before,
        after=after,
    )
    epoch: int = changed.lease_epoch
    return epoch
