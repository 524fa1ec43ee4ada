"""How does something that found no room come into the store as a dead letter, without having been an event before?"""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

from sqlalchemy import Connection

from dlq_console.store import ingest
from dlq_console.store.ending import Failure
from dlq_console.store.ingest import Ingested, Intention
from dlq_console.store.states import Reason, Status
from dlq_console.store.store import Store

#: What was put in a moment ago by the same transaction, so that nobody else has seen it.
REFUSE = """
UPDATE {event} SET status = 'dead', reason = CAST(:reason AS text), finished_at = {now}, updated_at = {now},
    error_type = CAST(:error_type AS text), last_error = CAST(:error AS text),
    fingerprint = CAST(:fingerprint AS text), died_with = CAST(:fingerprint AS text)
WHERE id = :id AND status IN ('pending', 'blocked') AND attempts = 0
"""


def dead_letter(store: Store, make: Callable[[str | None], Intention], failure: Failure) -> Ingested:
    """Put in a dead letter `queue_full`, or find the event that still stands for the same; committed on return.

    Args:
        store: the store.
        make: makes the event of a version.
        failure: what the dead letter says.
    """
    with store.write() as connection:
        made = ingest.insert_one(store, connection, make(None))
        if made.status in (Status.DONE, Status.DISCARDED):
            # That one is over; this is the same thing once more.
            made = ingest.insert_one(store, connection, make(str(uuid4())))
        if made.created:
            _bury(store, connection, made.id, failure)
        else:
            ingest.count_duplicates(store, connection, {made.id: 1})
        return made


def _bury(store: Store, connection: Connection, event_id: int, failure: Failure) -> None:
    parameters = {
        "id": event_id,
        "reason": Reason.QUEUE_FULL,
        "error_type": failure.type,
        "error": failure.message,
        "fingerprint": failure.fingerprint,
    }
    connection.execute(store.statement(REFUSE), parameters)
