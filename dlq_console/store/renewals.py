"""Which payload does a run send? The one that came in, until it is rebuilt after a reprocess; never one that a person wrote.

The rebuilt payload and its effect key are stored before anything is called with them, by a write that names the epoch of
the claim. The hash that tells repeats from conflicts stays that of what came in.
"""

from __future__ import annotations

from datetime import datetime

from dlq_console.store import acts
from dlq_console.store.events import Event, read_time
from dlq_console.store.field_rows import keep_configured
from dlq_console.store.states import Action
from dlq_console.store.store import Store

#: What the audit calls it.
REFRESH = "refresh"

#: Read along the index of the audit by event, so `id` is the order of what happened.
_LAST = f"""
SELECT action, at FROM {{audit}}
WHERE event_id = :id AND action IN ('{Action.REPROCESS}', '{REFRESH}')
    AND NOT EXISTS (SELECT 1 FROM {{audit}} x WHERE x.event_id = :id AND x.action = '{Action.EDIT}')
ORDER BY event_id DESC, id DESC LIMIT 1
"""
_LAST_REPROCESS = f"""
SELECT at FROM {{audit}} WHERE event_id = :id AND action = '{Action.REPROCESS}'
ORDER BY event_id DESC, id DESC LIMIT 1
"""
_REPLACE = """
UPDATE {event} SET payload = CAST(:payload AS text), effect_key = CAST(:effect_key AS text), updated_at = {now}
WHERE id = :id AND status = 'running' AND lease_epoch = :epoch
"""


def reprocessed_at(store: Store, event_id: int) -> datetime | None:
    """When it was last put back to work; None where it never was."""
    with store.read() as connection:
        return read_time(connection.execute(store.statement(_LAST_REPROCESS), {"id": event_id}).scalar())


def is_due(store: Store, event_id: int) -> bool:
    """Whether it was put back to work and its payload not looked at since; never where a person wrote that payload."""
    with store.read() as connection:
        last = connection.execute(store.statement(_LAST), {"id": event_id}).first()
    return last is not None and last.action == Action.REPROCESS


def keep(store: Store, event: Event, *, payload: str, effect_key: str, before: str, after: str) -> bool:
    """Store the payload that this run sends, and under which effect key; `before` and `after` are hashes for the audit.

    Returns:
        False when this run no longer owns the event; then nothing was changed.
    """
    values = {"id": event.id, "epoch": event.lease_epoch, "payload": payload, "effect_key": effect_key}
    with store.write() as connection:
        if connection.execute(store.statement(_REPLACE), values).rowcount == 0:
            return False
        keep_configured(store, connection, event.id, event.kind, changed=True)
        acts.record(
            store,
            connection,
            actor="hub",
            action=REFRESH,
            event_id=event.id,
            before=before,
            after=after,
        )
    return True
