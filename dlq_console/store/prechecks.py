"""Who has asked whether a dead event would pass now, and what was the answer?

Each question is an event of the hub's own, on the same account: it waits for closed doors, and counts among what runs, like
any other. It names the event and the epoch it is about, so that an answer from before the last death is not taken for
one of today. An act that was taken back has brought back the same death, and what was said about it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from dlq_console.store import acts, ingest
from dlq_console.store.claim_sql import METHOD_AND_PROVIDER_OPEN
from dlq_console.store.events import Event, EventSummary, read_time
from dlq_console.store.internal import PRECHECK
from dlq_console.store.states import OPEN, Action
from dlq_console.store.store import Store

#: Answers of a precheck. What it does not say counts as not known.
LIKELY, UNCHANGED, GONE, UNKNOWN = "likely", "unchanged", "gone", "unknown"
ANSWERS = (LIKELY, UNCHANGED, GONE, UNKNOWN)

#: Along the index of entities, under a name of its own, so that no search for the event's number finds it.
_LATEST = """
SELECT id, status, payload, result, created_at, finished_at FROM {event}
WHERE entity_id = :entity_id ORDER BY entity_id DESC, id DESC LIMIT 1
"""
#: It waits for as long as it takes: it must never become a dead letter itself.
_WAITS = """
UPDATE {event} SET give_up_at = NULL, parent_id = CAST(:parent AS bigint) WHERE id = :id
"""
_OPEN_FOR = f"SELECT 1 FROM {{event}} e WHERE e.id = :id AND {METHOD_AND_PROVIDER_OPEN}"


@dataclass(frozen=True, slots=True)
class Precheck:
    """A question: `answer` is None as long as there is none. `epoch` is that of the event it is about."""

    id: int
    status: str
    epoch: int
    answer: str | None
    asked_at: datetime
    answered_at: datetime | None

    @property
    def is_open(self) -> bool:
        """Whether an answer may still come."""
        return self.status in OPEN

    def is_about(self, event: EventSummary) -> bool:
        """Whether it is about the death of which `event` is dead now."""
        return is_same_death(event, self.epoch, self.asked_at)


def last_precheck(store: Store, event_id: int) -> Precheck | None:
    """The last question about an event."""
    with store.read() as connection:
        return _last_in(store, connection, event_id)


def is_same_death(event: EventSummary, epoch: int, asked_at: datetime) -> bool:
    """Whether `event`, which is dead, has not died again since a question about its `epoch` was asked.

    Every act upon it makes a new epoch; one that is taken back brings back the time of its death.
    """
    return event.lease_epoch == epoch or (event.finished_at is not None and event.finished_at <= asked_at)


def _last_in(store: Store, connection: Connection, event_id: int) -> Precheck | None:
    """`last_precheck` as the transaction of `connection` sees it."""
    row = connection.execute(store.statement(_LATEST), {"entity_id": _entity(event_id)}).first()
    if row is None:
        return None
    asked_at = read_time(row.created_at)
    assert asked_at is not None, "the column is never empty"  # noqa: S101 - tells the type checker what the schema says
    result = json.loads(row.result) if row.result else {}
    epoch = int(json.loads(row.payload)["epoch"])
    return Precheck(row.id, row.status, epoch, result.get("answer"), asked_at, read_time(row.finished_at))


def ask(store: Store, connection: Connection, event: Event, *, actor: str) -> int:
    """Ask about an event whose row this transaction has locked, unless that is being done; returns the id of the question."""
    last = _last_in(store, connection, event.id)
    if last is not None and last.is_open and last.is_about(event):
        return last.id
    new = ingest.intention(
        kind=PRECHECK,
        account=event.account,
        entity_id=_entity(event.id),
        payload={"event": event.id, "epoch": event.lease_epoch},
        version=str(last.id if last else 0),
        origin=actor[: ingest.MAX_ORIGIN],
    )
    made = ingest.insert_one(store, connection, new)
    connection.execute(store.statement(_WAITS), {"id": made.id, "parent": event.id})
    acts.record(store, connection, actor=actor, action=Action.PRECHECK, event_id=event.id)
    return made.id


def may_call(store: Store, event_id: int) -> bool:
    """Whether the doors of the event's kind and of its provider are open; that of its account let the question through."""
    with store.read() as connection:
        return connection.execute(store.statement(_OPEN_FOR), {"id": event_id}).first() is not None


def subject(question: Event) -> tuple[int, int]:
    """The id of the event that a question is about, and the epoch it had."""
    payload: Any = question.payload
    return int(payload["event"]), int(payload["epoch"])


def _entity(event_id: int) -> str:
    return f"{PRECHECK}/{event_id}"
