"""What do lists show of payloads, and by which of their values are events found?

What is kept of them is written by `field_rows.py`; which values that are is decided in `field_values.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from dlq_console.store.columns import columns
from dlq_console.store.cursors import MAX_ID
from dlq_console.store.field_values import shown
from dlq_console.store.finding import MAX_HITS, Hit, find
from dlq_console.store.id_lists import as_ids, ids_sql
from dlq_console.store.store import Store

__all__ = ["MAX_HITS", "Hit", "columns", "find", "read"]

_READ = "SELECT event_id, path, value FROM {event_field} WHERE event_id IN"


def read(store: Store, event_ids: Sequence[int]) -> dict[int, dict[str, str]]:
    """The values of events as lists may show them: by event id, path -> value; personal ones are masked."""
    ids = [event_id for event_id in event_ids if 0 < event_id <= MAX_ID]
    if not ids:
        return {}
    template = f"{_READ} {ids_sql(store, 'event_ids')}"
    found: dict[int, dict[str, str]] = {}
    with store.read() as connection:
        for row in connection.execute(store.statement(template), {"event_ids": as_ids(ids)}):
            found.setdefault(row.event_id, {})[row.path] = shown(row.path, row.value)
    return found
