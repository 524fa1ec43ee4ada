"""What a person does to an event: a guarded UPDATE with its audit row, in one transaction.

The table of what is allowed is `states.py`; the guards are made of it. No row changed means that the event is not, or not
any more, as the person saw it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from dlq_console.store.claim_sql import RETRY
from dlq_console.store.cursors import MAX_ID
from dlq_console.store.lanes import promote
from dlq_console.store.origins import origin_of
from dlq_console.store.states import ALLOWED, Action, Reason, Status
from dlq_console.store.store import Store

#: Characters of the name of whoever acts.
MAX_ACTOR = 200

#: What one row of the audit says, by the names of its columns.
Record = dict[str, Any]
_NOTHING_MORE: Record = dict.fromkeys(
    ("event_id", "subject", "note", "before", "after", "account", "bulk_id", "filter")
)

AUDIT = """
INSERT INTO {audit} (at, actor, action, event_id, subject, note, before, after, via, address, bulk_id, filter, account)
VALUES ({now}, :actor, :action, CAST(:event_id AS bigint), :subject, :note, :before, :after, :via, :address,
    :bulk_id, :filter,
    coalesce(CAST(:account AS text), (SELECT e.account FROM {event} e WHERE e.id = CAST(:event_id AS bigint))))
"""


def _allowed(action: Action) -> str:
    return ", ".join(f"'{status}'" for status in ALLOWED[action])


#: Kept so that the act can be taken back.
_FORMER = "former_status = status, former_reason = reason, former_finished_at = finished_at"
_SOON = "{now} + {interval[after]}"
#: What a reprocess writes, of one event and of many.
PUT_BACK = f"""status = CASE WHEN lane IS NULL THEN 'pending' ELSE 'blocked' END, reason = NULL, cycle = cycle + 1, attempts = 0,
    priority = CAST(:priority AS smallint), lease_epoch = lease_epoch + 1, finished_at = NULL, died_again = NULL,
    dispatched_at = NULL, dispatch_count = 0, max_attempts = CAST(:max_attempts AS integer), expires_at = NULL,
    due_at = {_SOON}, next_run_at = {_SOON}, give_up_at = {_SOON} + {{interval[max_wait]}}, updated_at = {{now}}, {_FORMER}"""
#: What a discard writes, of one event and of many.
PUT_ASIDE = f"""status = 'discarded', reason = '{Reason.OPERATOR}', finished_at = {{now}}, updated_at = {{now}},
    lease_epoch = lease_epoch + 1, {_FORMER}"""

REPROCESS = f"""
UPDATE {{event}} SET {PUT_BACK} WHERE id = :id AND status IN ({_allowed(Action.REPROCESS)}) RETURNING lease_epoch, lane
"""
#: At a moment that somebody named: counted from now, it would be off by what the counting took.
REPROCESS_AT = REPROCESS.replace(_SOON, "CAST(:run_at AS {time})")
DISCARD = f"""
UPDATE {{event}} SET {PUT_ASIDE} WHERE id = :id AND status IN ({_allowed(Action.DISCARD)}) RETURNING lease_epoch, lane
"""
_AFTER = {
    Action.REPROCESS: Status.PENDING,
    Action.DISCARD: Status.DISCARDED,
    Action.CANCEL_SEND: Status.DEAD,
}
#: Whoever puts an event back to work wants to see it should it die again.
WAKE = "UPDATE {desk} SET snoozed_until = NULL WHERE event_id = :id AND snoozed_until IS NOT NULL"
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
    at: datetime | None = None,
    max_wait: float,
    seen_epoch: int | None = None,
) -> int | None:
    """dead -> pending (blocked behind an earlier event of its lane), a new cycle; due `after` seconds, or `at` a moment.

    Returns the new epoch, or None when the event is not (any more) as seen.
    """
    when: dict[str, Any]
    statement, when = (REPROCESS, {"after": after}) if at is None else (REPROCESS_AT, {"run_at": at})
    parameters = {"max_attempts": max_attempts, "max_wait": max_wait, "priority": RETRY} | when
    epoch = act(store, connection, statement, Action.REPROCESS, event_id, actor, note, seen_epoch, parameters)
    if epoch is not None:
        connection.execute(store.statement(WAKE), {"id": event_id})
    return epoch


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
    return act(store, connection, DISCARD, Action.DISCARD, event_id, actor, note, seen_epoch, {})


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
    account: str | None = None,
    bulk_id: int | None = None,
    filter_: str | None = None,
) -> None:
    """Write down who did what and from where, in the transaction that does it.

    Args:
        store: the store.
        connection: its transaction.
        actor: who.
        action: what.
        event_id: with which event.
        subject: with what, where it was no event.
        note: why.
        before: how it was.
        after: how it is since.
        account: whose act it is to see; that of the event where there is one.
        bulk_id: the run that it belongs to.
        filter_: what that run selected, as a query string.
    """
    about: Record = {"event_id": event_id, "subject": subject, "note": note, "before": before, "after": after}
    about |= {"account": account, "bulk_id": bulk_id, "filter": filter_}
    record_many(store, connection, actor=actor, action=action, each=[about])


def record_many(
    store: Store, connection: Connection, *, actor: str, action: str, each: Sequence[Record]
) -> None:
    """The same for an act upon many; `each` holds what `record` takes, `filter_` as `filter`."""
    if not each:
        return
    via, address = origin_of(actor)
    common = _NOTHING_MORE | {"actor": actor, "action": action, "via": via, "address": address}
    connection.execute(store.statement(AUDIT), [common | one for one in each])


def lock(store: Store, connection: Connection, event_id: int) -> str | None:
    """The status of an event, which nobody else changes until this transaction ends; None where there is none."""
    status = store.statement(STATUS if store.sqlite else STATUS_LOCKED)
    return connection.execute(status, {"id": event_id}).scalar()


def as_seen(template: str, seen_epoch: int | None) -> str:
    """A guarded UPDATE that also asks for the epoch that the person saw, the parameter `seen`, where there is one."""
    if seen_epoch is None:
        return template
    return template.replace("WHERE id = :id", "WHERE id = :id AND lease_epoch = :seen")


def act(
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
    """One act upon one event: its guarded UPDATE, its lane, and its row of the audit; the new epoch, or None."""
    if not 0 < event_id <= MAX_ID:
        return None
    parameters |= {"id": event_id, "seen": seen_epoch}
    before = lock(store, connection, event_id)
    changed = connection.execute(store.statement(as_seen(template, seen_epoch)), parameters).first()
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
