"""Which events were not started in time, and how are they given up?"""

from __future__ import annotations

from dlq_console.store.ending import Failure
from dlq_console.store.events import EVENT_COLUMNS, Event, event_from_row
from dlq_console.store.lanes import promote
from dlq_console.store.states import Reason
from dlq_console.store.store import Store

GIVE_UP = """
UPDATE {event} SET status = 'dead', reason = CAST(:reason AS text), finished_at = {now}, updated_at = {now},
    error_type = CAST(:error_type AS text), last_error = CAST(:error AS text),
    fingerprint = CAST(:fingerprint AS text), verdict = NULL,
    died_again = CASE WHEN cycle = 0 THEN NULL
        WHEN died_with = CAST(:fingerprint AS text) THEN 'same' ELSE 'different' END,
    died_with = CAST(:fingerprint AS text)
WHERE id = :id AND status IN ('pending', 'failed') AND give_up_at < {now}
RETURNING lane
"""
OVERDUE = f"""
SELECT {", ".join(EVENT_COLUMNS)} FROM {{event}}
WHERE status IN ('pending', 'failed') AND give_up_at IS NOT NULL AND give_up_at < {{now}} ORDER BY give_up_at LIMIT :limit
"""


def overdue(store: Store, limit: int = 500) -> list[Event]:
    """Events that were not started in time."""
    with store.read() as connection:
        rows = connection.execute(store.statement(OVERDUE), {"limit": limit}).mappings().all()
    return [event_from_row(row, store.queue(row["account"], row["lane"])) for row in rows]


def give_up(store: Store, event_id: int, failure: Failure) -> bool:
    """pending or failed -> dead `expired`, if it is too late to start."""
    parameters = {
        "id": event_id,
        "reason": Reason.EXPIRED,
        "error_type": failure.type,
        "error": failure.message,
        "fingerprint": failure.fingerprint,
    }
    with store.write() as connection:
        row = connection.execute(store.statement(GIVE_UP), parameters).first()
        if row is not None and row.lane is not None:
            promote(store, connection, row.lane)
        return row is not None
