"""Which events stand beside one: others of its record, the last that was sent, what it corrects, and what waits behind it?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from dlq_console.store.events import EventSummary, read_time
from dlq_console.store.lanes import place
from dlq_console.store.states import Reason
from dlq_console.store.store import Store

#: The newest events of a number that are looked at, whatever their account: a record has few, a number such as "0" many.
LOOKED_AT = 500
#: Most events that are named.
SHOWN = 10
#: Characters of the payload of a success that are still compared.
LONGEST_PAYLOAD = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """An event in few words."""

    id: int
    kind: str
    account: str
    entity_id: str
    version: str | None
    status: str
    reason: str | None
    created_at: datetime
    finished_at: datetime | None
    #: As in `EventSummary`; not asked here.
    waiting_for: str | None = None


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Some events, and whether there are `more`."""

    items: tuple[Neighbour, ...] = ()
    more: bool = False


@dataclass(frozen=True, slots=True)
class LastSuccess:
    """The newest event of a record that was sent; `payload_json` is None where it is too long to be compared."""

    id: int
    finished_at: datetime
    payload_json: str | None


@dataclass(frozen=True, slots=True)
class Correction:
    """The other side of an edit: the event that one took the place of, or the one that took its place.

    `payload_json` is None where it is too long to be compared.
    """

    id: int
    payload_json: str | None


_COLUMNS = "id, kind, account, entity_id, version, status, reason, created_at, finished_at"
#: Sorted as the index of entities is, so that every engine walks it from the newest on.
_OF_NUMBER = f"""
SELECT {_COLUMNS} FROM {{event}} WHERE entity_id = :entity ORDER BY entity_id DESC, id DESC LIMIT {LOOKED_AT}
"""
_SAME_ENTITY = f"""
SELECT * FROM ({_OF_NUMBER}) AS newest WHERE account = :account AND id <> :id ORDER BY id DESC LIMIT {SHOWN + 1}
"""
_COMPARED = f"CASE WHEN length(payload) <= {LONGEST_PAYLOAD} THEN payload END AS payload"
_LAST_SUCCESS = f"""
SELECT id, finished_at, {_COMPARED}
FROM {{event}} WHERE id = (
    SELECT max(id) FROM ({_OF_NUMBER}) AS newest
    WHERE account = :account AND kind = :kind AND id <> :id AND status = 'done'
)
"""
_CORRECTIONS = f"""
SELECT id, {_COMPARED} FROM {{event}} WHERE id IN (:corrected, :correct) AND account = :account
    AND ((superseded_by = :id AND reason = '{Reason.EDITED}') OR parent_id = :id)
ORDER BY id
"""
_BEHIND = f"""
SELECT {_COLUMNS} FROM {{event}} e WHERE e.status = 'blocked' AND e.lane = :lane
ORDER BY e.lane, {place("e")} LIMIT {SHOWN + 1}
"""


def same_entity(store: Store, event: EventSummary) -> Neighbours:
    """Other events of the same account and number, of any kind, newest first; among the LOOKED_AT newest of the number."""
    return _neighbours(store, _SAME_ENTITY, _identity(event))


def last_success(store: Store, event: EventSummary) -> LastSuccess | None:
    """The newest other event of the same account, number and kind that was sent; None where there is none."""
    with store.read() as connection:
        row = connection.execute(
            store.statement(_LAST_SUCCESS), _identity(event) | {"kind": event.kind}
        ).first()
    finished_at = None if row is None else read_time(row.finished_at)
    if row is None or finished_at is None:
        return None
    return LastSuccess(row.id, finished_at, row.payload)


def corrections(store: Store, event: EventSummary) -> tuple[Correction, ...]:
    """What an event corrects, then what corrects it, as far as they are kept."""
    correct = event.superseded_by if event.reason == Reason.EDITED else None
    if event.parent_id is None and correct is None:
        return ()
    asked = {
        "id": event.id,
        "account": event.account,
        "corrected": event.parent_id or 0,
        "correct": correct or 0,
    }
    with store.read() as connection:
        rows = connection.execute(store.statement(_CORRECTIONS), asked).all()
    return tuple(Correction(row.id, row.payload) for row in rows)


def behind(store: Store, lane: str) -> Neighbours:
    """The events that wait in a lane, in their order."""
    return _neighbours(store, _BEHIND, {"lane": lane})


def _identity(event: EventSummary) -> dict[str, Any]:
    return {"entity": event.entity_id, "account": event.account, "id": event.id}


def _neighbours(store: Store, template: str, parameters: dict[str, Any]) -> Neighbours:
    with store.read() as connection:
        rows = connection.execute(store.statement(template), parameters).all()
    return Neighbours(tuple(_neighbour(row) for row in rows[:SHOWN]), len(rows) > SHOWN)


def _neighbour(row: Row[Any]) -> Neighbour:
    created_at = read_time(row.created_at)
    assert created_at is not None, "the column is never empty"  # noqa: S101 - tells the type checker what the schema says
    return Neighbour(
        id=row.id,
        kind=row.kind,
        account=row.account,
        entity_id=row.entity_id,
        version=row.version,
        status=row.status,
        reason=row.reason,
        created_at=created_at,
        finished_at=read_time(row.finished_at),
    )
