"""Who owns the events that run, and whose lease has lapsed?"""

from __future__ import annotations

from dlq_console.store.claim_sql import LONGEST_RUN
from dlq_console.store.events import EVENT_COLUMNS, Event, event_from_row
from dlq_console.store.store import Store

HEARTBEAT = f"""
UPDATE {{event}} AS e SET lease_until = {{least}}(
    {{now}} + {{interval[lease_seconds]}},
    e.started_at + CAST({{second}} * {LONGEST_RUN} AS {{duration}})
)
WHERE e.id = :id AND e.status = 'running' AND e.lease_epoch = :epoch
"""
LAPSED = f"""
SELECT {", ".join(EVENT_COLUMNS)} FROM {{event}} WHERE status = 'running' AND lease_until < {{now}}
ORDER BY id LIMIT :limit
"""
RUNNING_AS = f"""
SELECT {", ".join(EVENT_COLUMNS)} FROM {{event}} WHERE id = :id AND status = 'running' AND lease_owner = :owner
"""
HOLDS = "SELECT 1 FROM {event} WHERE id = :id AND status = 'running' AND lease_epoch = :epoch"


def extend(store: Store, held: list[tuple[int, int]], *, lease_seconds: float) -> list[int]:
    """Keep the leases of (event id, epoch) pairs alive; returns the ids that are no longer held."""
    lost = []
    with store.write() as connection:
        # In the order of ids, as every writer of several rows, so that none can deadlock.
        for id_, epoch in sorted(held):
            parameters = {"id": id_, "epoch": epoch, "lease_seconds": lease_seconds}
            if connection.execute(store.statement(HEARTBEAT), parameters).rowcount == 0:
                lost.append(id_)
    return lost


def holds(store: Store, event_id: int, epoch: int) -> bool:
    """Whether the claim with this epoch still owns the event."""
    with store.read() as connection:
        return (
            connection.execute(store.statement(HOLDS), {"id": event_id, "epoch": epoch}).first() is not None
        )


def lapsed(store: Store, limit: int = 500) -> list[Event]:
    """Running events whose lease has lapsed: their worker died or froze."""
    with store.read() as connection:
        rows = connection.execute(store.statement(LAPSED), {"limit": limit}).mappings().all()
    return [event_from_row(row, store.queue(row["account"], row["lane"])) for row in rows]


def running_as(store: Store, event_id: int, owner: str) -> Event | None:
    """The event as `owner` claimed it; None when it is not, or not any more, run by that one."""
    with store.read() as connection:
        row = (
            connection.execute(store.statement(RUNNING_AS), {"id": event_id, "owner": owner})
            .mappings()
            .first()
        )
    return None if row is None else event_from_row(row, store.queue(row["account"], row["lane"]))
