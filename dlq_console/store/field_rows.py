"""How are the values of payloads kept by which events are listed and found?

One row per event and configured field, written when the event comes in, and when it dies without having them: its kind may
have been unknown to whoever sent it. What was dead before its kind had a field is seen to by `field_filling.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection

from dlq_console.store.field_values import Pairs, values_of
from dlq_console.store.store import Store

_KEEP_POSTGRES = """
INSERT INTO {event_field} (value, path, event_id)
SELECT value, path, event_id
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r(value text, path text, event_id bigint)
ON CONFLICT DO NOTHING
"""
_KEEP_SQLITE = """
INSERT INTO {event_field} (value, path, event_id)
SELECT json_extract(r.value, '$.value'), json_extract(r.value, '$.path'), json_extract(r.value, '$.event_id')
FROM json_each(:rows) AS r WHERE true
ON CONFLICT DO NOTHING
"""
_POLICY = "SELECT policy FROM {kind} WHERE name = :kind"
_PAYLOAD = "SELECT payload FROM {event} WHERE id = :id"
_FORGET = "DELETE FROM {event_field} WHERE event_id = :event_id"


@dataclass(frozen=True, slots=True)
class Kept:
    """The values to keep of one event."""

    event_id: int
    pairs: Pairs


def keep(store: Store, connection: Connection, events: Iterable[Kept]) -> None:
    """Write the values of events that have none yet; values that stand already stay."""
    rows = [
        {"value": value, "path": path, "event_id": one.event_id}
        for one in events
        for path, value in one.pairs
    ]
    if rows:
        template = _KEEP_SQLITE if store.sqlite else _KEEP_POSTGRES
        connection.execute(store.statement(template), {"rows": json.dumps(rows)})


def keep_configured(
    store: Store, connection: Connection, event_id: int, kind: str, *, changed: bool = False
) -> None:
    """Write the values of the fields that its kind has configured by now, as workers have published it.

    Args:
        store: the store.
        connection: its transaction.
        event_id: of the event.
        kind: of the event.
        changed: whether the payload is another one now, so that what stood there is wrong.
    """
    policy = connection.execute(store.statement(_POLICY), {"kind": kind}).scalar()
    paths = tuple(json.loads(policy).get("columns", {}).values()) if policy else ()
    if changed:
        connection.execute(store.statement(_FORGET), {"event_id": event_id})
    if paths:
        # As it stands now: whoever ends a run may hold the one from before a refresh.
        payload = connection.execute(store.statement(_PAYLOAD), {"id": event_id}).scalar_one()
        keep(store, connection, [Kept(event_id, values_of(payload, paths))])
