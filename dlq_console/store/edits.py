"""How does an edited payload take the place of the one that failed? A new event holds it; the old one is discarded `edited`.

The new event stands in the old one's place of its lane: what waited behind that one waits behind it. Its idempotency key
is that of its content, so that the same content from its producer is a repeat. Where an event of that key exists which
may still run, has run, or waits for a person, nothing is changed and that event is named: two would be the same order
twice. Where it was discarded, as the first one is when an edit is taken back by a second, the new event has a key of
its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from dlq_console.store import acts, desk, keys
from dlq_console.store.canonical import PayloadText
from dlq_console.store.claim_sql import RETRY
from dlq_console.store.events import Event
from dlq_console.store.field_rows import keep_configured
from dlq_console.store.ingest import EXISTING, MAX_ORIGIN
from dlq_console.store.lanes import make_way, place, promote
from dlq_console.store.states import ALLOWED, Action, Reason, Status
from dlq_console.store.store import Store

_EDITABLE = ", ".join(f"'{status}'" for status in ALLOWED[Action.EDIT])
#: Nobody may change what the outside system may hold already.
PUT_ASIDE = f"""
UPDATE {{event}} SET status = '{Status.DISCARDED}', reason = '{Reason.EDITED}', finished_at = {{now}}, updated_at = {{now}},
    lease_epoch = lease_epoch + 1, former_status = status, former_reason = reason, former_finished_at = finished_at
WHERE id = :id AND lease_epoch = :epoch AND status IN ({_EDITABLE}) AND doubts = 0 AND reason <> '{Reason.IN_DOUBT}'
"""
TAKE_PLACE = f"""
INSERT INTO {{event}} (kind, account, entity_id, idempotency_key, payload_hash, effect_key, version, payload, ordering_key,
    lane, on_dead, origin, trace_context, parent_id, place, status, priority, due_at, next_run_at, give_up_at,
    created_at, updated_at)
SELECT o.kind, o.account, o.entity_id, CAST(:key AS text), CAST(:hash AS text), CAST(:effect_key AS text), o.version,
    CAST(:payload AS text), o.ordering_key, o.lane, CAST(:on_dead AS text), CAST(:origin AS text), o.trace_context, o.id,
    {place("o")}, CASE WHEN o.lane IS NULL THEN '{Status.PENDING}' ELSE '{Status.BLOCKED}' END, {RETRY},
    {{now}}, {{now}}, {{now}} + {{interval[max_wait]}}, {{now}}, {{now}}
FROM {{event}} o WHERE o.id = :id
ON CONFLICT (idempotency_key) DO NOTHING RETURNING id
"""
REPLACED_BY = "UPDATE {event} SET superseded_by = :new WHERE id = :id"


@dataclass(frozen=True, slots=True)
class Made:
    """What came of an edit: the new event; or the event that holds this very content already, in its status."""

    id: int = 0
    holder: int = 0
    holder_status: str = ""


def edit(
    store: Store,
    connection: Connection,
    event: Event,
    payload: PayloadText,
    *,
    actor: str,
    note: str | None,
    on_dead: str | None,
    max_wait: float,
    before: str,
) -> Made | None:
    """Put `event`, as it was read, aside and let one with `payload` take its place.

    Args:
        store: the store.
        connection: its transaction; to be rolled back unless a new event was made.
        event: the event as its payload was read; nothing is done when it has moved on since.
        payload: the edited one.
        actor: who.
        note: why.
        on_dead: what the death of the new one means for its lane.
        max_wait: how long it may wait to be started, in seconds.
        before: hash of the payload that failed, for the audit.

    Returns:
        None when the event may not be edited, or not any more.
    """
    asked = {"id": event.id, "epoch": event.lease_epoch}
    if connection.execute(store.statement(PUT_ASIDE), asked).rowcount == 0:
        return None
    made = _take_place(store, connection, event, payload, on_dead, max_wait, actor)
    if not made.id:
        return made
    connection.execute(store.statement(REPLACED_BY), {"id": event.id, "new": made.id})
    desk.carry_over(store, connection, event.id, made.id)
    keep_configured(store, connection, made.id, event.kind)
    if event.lane is not None:
        make_way(store, connection, made.id)
        promote(store, connection, event.lane)
    acts.record_many(
        store,
        connection,
        actor=actor,
        action=Action.EDIT,
        each=[
            _said(event.id, made.id, note, Status.DEAD, Status.DISCARDED),
            # Whose payload a person wrote: no refresh ever replaces it.
            _said(made.id, event.id, note, before, payload.digest),
        ],
    )
    return made


def _said(event_id: int, other: int, note: str | None, before: str, after: str) -> acts.Record:
    return {"event_id": event_id, "subject": str(other), "note": note, "before": before, "after": after}


def _take_place(
    store: Store,
    connection: Connection,
    event: Event,
    payload: PayloadText,
    on_dead: str | None,
    max_wait: float,
    actor: str,
) -> Made:
    content: dict[str, Any] = {
        "kind": event.kind,
        "account": event.account,
        "entity_id": event.entity_id,
        "version": event.version,
        "canonical": payload.canonical,
    }
    key = keys.canonical_content_key(**content)
    values = {
        "id": event.id,
        "hash": keys.content_hash(**content),
        "payload": payload.stored,
        "on_dead": on_dead,
        "origin": actor[:MAX_ORIGIN],
        "max_wait": max_wait,
    }
    made = Made()
    for one in (key, keys.edited_key(key, event.id)):
        named = values | {"key": one, "effect_key": keys.effect_key(one)}
        new = connection.execute(store.statement(TAKE_PLACE), named).scalar()
        if new is not None:
            return Made(new)
        holder = connection.execute(store.statement(EXISTING), {"key": one}).first()
        # None: it was pruned between the two statements.
        if holder is not None and holder.status != Status.DISCARDED:
            return Made(holder=holder.id, holder_status=holder.status)
    return made
