"""How is what a person did to an event taken back? A reprocess that has not started, and a discard.

Both acts keep what the event was before (`former_...`), so it comes back to where it stood: a dead letter under its reason
and the time of its death. What was discarded while it waited to be sent waits again, in its place of its lane.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from dlq_console.store import acts
from dlq_console.store.cursors import MAX_ID
from dlq_console.store.field_rows import keep_configured
from dlq_console.store.lanes import later_started, make_way, promote
from dlq_console.store.states import ALLOWED, Action, Reason, Status
from dlq_console.store.store import Store

_FORGET = "former_status = NULL, former_reason = NULL, former_finished_at = NULL"
_WAITS = ", ".join(f"'{status}'" for status in ALLOWED[Action.CANCEL_SEND])
#: Since it was put back to work; a run that was given back is a start as well.
_NOT_STARTED = "(started_at IS NULL OR started_at <= due_at)"
_ATTEMPTS = "FROM {attempt} a WHERE a.event_id = {event}.id"
#: Also what a reprocess has reset is as it was, as far as its attempts tell.
CANCEL_SEND = f"""
UPDATE {{event}} SET status = '{Status.DEAD}', reason = former_reason, finished_at = former_finished_at, cycle = cycle - 1,
    attempts = coalesce((SELECT max(a.number) {_ATTEMPTS} AND a.cycle = {{event}}.cycle - 1), 0),
    max_attempts = (SELECT k.max_attempts FROM {{kind}} k WHERE k.name = {{event}}.kind),
    died_again = CASE WHEN cycle < 2 THEN NULL WHEN died_with = (
        SELECT a.fingerprint {_ATTEMPTS} AND a.cycle < {{event}}.cycle - 1 ORDER BY a.event_id DESC, a.id DESC LIMIT 1
    ) THEN 'same' ELSE 'different' END,
    lease_epoch = lease_epoch + 1, dispatched_at = NULL, dispatch_count = 0, updated_at = {{now}}, {_FORGET}
WHERE id = :id AND status IN ({_WAITS}) AND former_status = '{Status.DEAD}' AND {_NOT_STARTED}
RETURNING lease_epoch, lane
"""
MAY_CANCEL = f"""
SELECT 1 FROM {{event}} WHERE id = :id AND status IN ({_WAITS}) AND former_status = '{Status.DEAD}' AND {_NOT_STARTED}
"""

_WAS_DEAD = f"former_status = '{Status.DEAD}'"
_SOON = "{greatest}(next_run_at, {now})"
_GIVE_UP = f"{_SOON} + {{interval[max_wait]}}"
_STARTED_BEHIND = later_started("e", "e.finished_at")
#: Of those that a person has discarded; what a newer event or an edited payload has replaced stays so. The status is
#: spelled so that no index of discarded events fits it: it is looked up by its id.
RESTORE = f"""
UPDATE {{event}} AS e SET
    status = CASE WHEN {_WAS_DEAD} THEN '{Status.DEAD}' WHEN lane IS NULL THEN '{Status.PENDING}' ELSE '{Status.BLOCKED}' END,
    reason = CASE WHEN {_WAS_DEAD} THEN former_reason END,
    finished_at = CASE WHEN {_WAS_DEAD} THEN former_finished_at END,
    due_at = CASE WHEN {_WAS_DEAD} THEN due_at ELSE {_SOON} END,
    next_run_at = CASE WHEN {_WAS_DEAD} THEN next_run_at ELSE {_SOON} END,
    give_up_at = CASE WHEN {_WAS_DEAD} THEN give_up_at ELSE {{least}}(coalesce(expires_at, {_GIVE_UP}), {_GIVE_UP}) END,
    lease_epoch = lease_epoch + 1, dispatched_at = NULL, dispatch_count = 0, updated_at = {{now}}, {_FORGET}
WHERE id = :id AND status || '' = '{Status.DISCARDED}' AND reason = '{Reason.OPERATOR}' AND former_status IS NOT NULL
    AND NOT {_STARTED_BEHIND}
RETURNING lease_epoch, lane
"""
KIND = "SELECT kind FROM {event} WHERE id = :id"
STANDS = f"""
SELECT status, reason, lease_epoch, superseded_by, former_status, {_STARTED_BEHIND} AS started_behind
FROM {{event}} e WHERE id = :id
"""


@dataclass(frozen=True, slots=True)
class Discarded:
    """How an event stands that somebody wants back.

    `started_behind`: a later event of its lane has been started since it was discarded.
    """

    status: str
    reason: str | None
    lease_epoch: int
    superseded_by: int | None
    former_status: str | None
    started_behind: bool


def may_cancel_send(store: Store, event_id: int) -> bool:
    """Whether a person has put it back to work and it has not started since."""
    with store.read() as connection:
        return connection.execute(store.statement(MAY_CANCEL), {"id": event_id}).first() is not None


def cancel_send(
    store: Store,
    connection: Connection,
    event_id: int,
    *,
    actor: str,
    note: str | None,
    seen_epoch: int | None = None,
) -> int | None:
    """pending or blocked -> dead, as it was before it was put back to work; None when it has started, or is not as seen."""
    epoch = acts.act(
        store, connection, CANCEL_SEND, Action.CANCEL_SEND, event_id, actor, note, seen_epoch, {}
    )
    if epoch is not None:
        _keep_fields(store, connection, event_id)
    return epoch


def restore(
    store: Store,
    connection: Connection,
    event_id: int,
    *,
    actor: str,
    note: str | None,
    max_wait: float,
    seen_epoch: int | None = None,
) -> int | None:
    """discarded -> dead, or waiting to be sent, as it was; None when it may not be, or is not as seen.

    `max_wait` is in seconds. Returns the new epoch.
    """
    if not 0 < event_id <= MAX_ID:
        return None
    # Its own row first: every act locks in the order of ids.
    acts.lock(store, connection, event_id)
    make_way(store, connection, event_id)
    seen: dict[str, Any] = {"id": event_id, "seen": seen_epoch, "max_wait": max_wait}
    changed = connection.execute(store.statement(acts.as_seen(RESTORE, seen_epoch)), seen).first()
    if changed is None:
        return None
    if changed.lane is not None:
        promote(store, connection, changed.lane)
    _keep_fields(store, connection, event_id)
    acts.record(
        store,
        connection,
        actor=actor,
        action=Action.RESTORE,
        event_id=event_id,
        note=note,
        before=Status.DISCARDED,
        after=acts.status_of(store, connection, event_id),
    )
    epoch: int = changed.lease_epoch
    return epoch


def _keep_fields(store: Store, connection: Connection, event_id: int) -> None:
    """It was no dead letter when those of its kind were last given the values of its fields."""
    kind = connection.execute(store.statement(KIND), {"id": event_id}).scalar_one()
    keep_configured(store, connection, event_id, kind)


def discarded(store: Store, connection: Connection, event_id: int) -> Discarded | None:
    """How an event stands that somebody wants back; None where there is none."""
    if not 0 < event_id <= MAX_ID:
        return None
    row = connection.execute(store.statement(STANDS), {"id": event_id}).mappings().first()
    return None if row is None else Discarded(**{**row, "started_behind": bool(row["started_behind"])})
