"""What is forgotten of bulk runs, and when? Those that have been over for long, with their items; the audit stays."""

from __future__ import annotations

from dlq_console.store.store import Store

#: Items per transaction.
CHUNK = 1_000

_OLD = "SELECT id FROM {bulk_run} WHERE finished_at < {now} - {interval[age]}"
_FORGET_ITEMS = f"""
DELETE FROM {{bulk_item}} WHERE (bulk_id, event_id) IN (
    SELECT bulk_id, event_id FROM {{bulk_item}} WHERE bulk_id IN ({_OLD}) LIMIT :limit
)
"""
_FORGET_RUNS = f"""
DELETE FROM {{bulk_run}} WHERE id IN ({_OLD})
    AND NOT EXISTS (SELECT 1 FROM {{bulk_item}} i WHERE i.bulk_id = {{bulk_run}}.id)
"""


def forget(store: Store, *, days: float, limit: int = CHUNK) -> int:
    """Delete up to `limit` items of runs that were over `days` ago, and those runs once they have none; how many items."""
    parameters = {"age": days * 86_400, "limit": limit}
    with store.write() as connection:
        items = connection.execute(store.statement(_FORGET_ITEMS), parameters).rowcount
        if items < limit:
            connection.execute(store.statement(_FORGET_RUNS), parameters)
    return items
